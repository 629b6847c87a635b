/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include "command.h"
#include "operands/data.h"
#include "uk.h"

void allow_tolerances(struct random_data *d, const struct uk_program *p) {
    struct uk_tolerance *each = uk_tolerances(p, d->size);

    assert_non_null(each);
    for (int i = 0; i < d->tensors; i++)
        if (uk_program_tensor_written(p, i))
            random_data_allow(d, p, i, each[i].ulps, each[i].absolute);
    free(each);
}
