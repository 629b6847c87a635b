/* SPDX-License-Identifier: Apache-2.0 */
/* Minima, maxima and quotients, for all rooms. */
#ifndef UK_MINMAX_H
#define UK_MINMAX_H

#include <stdint.h>

static inline int64_t uk_min(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static inline int64_t uk_max(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* n / d rounded up; n >= 0, d > 0, and n + d - 1 does not overflow. */
static inline int64_t uk_ceil_div(int64_t n, int64_t d) {
    return (n + d - 1) / d;
}

/* Unlike fmin and fmax without a call; neither number is NaN. */
static inline double uk_min_real(double a, double b) {
    return a < b ? a : b;
}

static inline double uk_max_real(double a, double b) {
    return a > b ? a : b;
}

#endif
