/* SPDX-License-Identifier: Apache-2.0 */
/* Converts elements of the kernel test's operands to and from double. */
#ifndef CHECK_ELEMENT_H
#define CHECK_ELEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Types; the 16-bit floating-point ones are handled as bits. */
enum element { F32, F64, F16, BF16, U8, I8, I16, I32, I64 };

bool is_integer(enum element type);

size_t bytes_of(enum element type);

/* Read or write n elements of an array from the x-th. */
void get(enum element type, const void *array, int64_t x, double *values, int64_t n);
void put(enum element type, void *array, int64_t x, const double *values, int64_t n);

/* Fills [x, end) with values that no result may depend on. */
void put_nan(enum element type, void *array, int64_t x, int64_t end);

#endif
