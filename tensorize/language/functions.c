/* SPDX-License-Identifier: Apache-2.0 */
/* The names of the language's functions. */
#include "language.h"

const char *const uk_function_names[UK_FUNCTIONS] = {"min", "max",  "pow", "exp",   "log",   "tanh",
                                                     "erf", "sqrt", "abs", "round", "floor", "ceil"};
