/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements of all types in memory, and rounding to these types: implemented without the library's functions,
 * so that tests can compare.
 */
#ifndef ELEMENTS_H
#define ELEMENTS_H

#include "language/language.h"

/* An element as a C value: .d for float types, .i for the others. */
struct value {
    double d;
    int64_t i;
};

bool is_float(enum uk_type t);
/* Rounds the exact value once, to 8 significant bits, ties to even. */
double to_bf16(long double v);
/* Rounds to the nearest value of a float type, ties to even. */
double rounded(enum uk_type t, long double v);
/* Write and read the n-th element of an array. Integers wrap; floats must be values of the type. */
void put_value(enum uk_type t, void *to, int n, struct value v);
struct value get_value(enum uk_type t, const void *from, int n);
/* True if the values and the signs of zeros are equal, or both are NaN. */
bool same_value(enum uk_type t, struct value a, struct value b);

#endif
