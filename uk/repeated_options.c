/* SPDX-License-Identifier: Apache-2.0 */
/* Options that may be repeated. */
#include <string.h>
#include "options.h"

const char *uk_given(const struct uk_arguments *a, const char *option, int i) {
    for (int k = 0; k < a->givens; k++)
        if (!strcmp(a->given[k].option->name, option) && i-- == 0)
            return a->given[k].value;
    return NULL;
}
