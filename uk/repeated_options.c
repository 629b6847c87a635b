/* SPDX-License-Identifier: Apache-2.0 */
/* Options that may be repeated. */
#include <string.h>
#include "options.h"

const char *uk_repeated_option(const struct uk_arguments *a, const char *option, int i) {
    for (int k = 0; k < a->option_value_count; k++)
        if (!strcmp(a->option_values[k].option->name, option) && i-- == 0)
            return a->option_values[k].value;
    return NULL;
}
