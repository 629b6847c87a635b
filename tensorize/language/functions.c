/* SPDX-License-Identifier: Apache-2.0 */
/* Table of the language's functions, from functions.def. */
#include <math.h>
#include "language.h"

const struct uk_function_row uk_functions[UK_FUNCTIONS] = {
#define UK_FUNCTION1(id, name, class, ulps, limit, zero, ...) \
    {name, UK_FUNCTION_##class, 1, ulps, limit, zero},
#define UK_FUNCTION2(id, name, class, ulps, limit, zero, ...) \
    {name, UK_FUNCTION_##class, 2, ulps, limit, zero},
#include "functions.def"
};

const char *uk_function_name(int i) {
    return uk_functions[i].name;
}
