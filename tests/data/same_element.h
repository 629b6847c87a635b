/* SPDX-License-Identifier: Apache-2.0 */
/* Equality of elements in tests. */
#ifndef SAME_ELEMENT_H
#define SAME_ELEMENT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* True if two elements are the same number. They are floats with `mantissa` bits, or integers if that is 0,
 * of `bytes` bytes. 0 equals -0, as a sum may start with either, and all NaNs are equal. */
static inline bool same_element(int bytes, int mantissa, const char *a, const char *b) {
    uint64_t x = 0, y = 0;

    memcpy(&x, a, (size_t)bytes);
    memcpy(&y, b, (size_t)bytes);
    if (x == y || !mantissa)
        return x == y;
    const uint64_t magnitude = (UINT64_C(1) << (8 * bytes - 1)) - 1;
    const uint64_t infinite = magnitude & ~((UINT64_C(1) << mantissa) - 1);

    x &= magnitude;
    y &= magnitude;
    return (x == 0 && y == 0) || (x > infinite && y > infinite);
}

#endif
