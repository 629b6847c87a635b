/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of all types in memory, and rounding to them: written for the tests, by other means than the
 * library's. */
#ifndef ELEMENTS_H
#define ELEMENTS_H

#include "language/language.h"

/* An element as C sees it: .d of the float types, .i of the others. */
struct value {
    double d;
    int64_t i;
};

bool is_float(enum uk_type t);
/* To 8 significant bits, ties to even, in one rounding of the exact value. */
double to_bf16(long double v);
/* To the nearest value of a float type; as to_bf16(). */
double rounded(enum uk_type t, long double v);
/* The n-th element of an array: integers wrap, floats are values of their type already. */
void put_value(enum uk_type t, void *to, int n, struct value v);
struct value get_value(enum uk_type t, const void *from, int n);
/* The same value, and sign of zero; or NaN both. */
bool same_value(enum uk_type t, struct value a, struct value b);

#endif
