/* SPDX-License-Identifier: Apache-2.0 */
/* Stores rows of a tile to C for the kernels of dot products; `total` is f32 (TOTAL_IS_FLOAT) or i32. */
#include <arm_neon.h>
#include "registry/kernel_contract.h"

#ifdef TOTAL_IS_FLOAT
typedef float total;
typedef float sum_element;
#else
typedef int32_t total;
typedef uint32_t sum_element; /* unsigned, as sums wrap */
#endif
typedef total vector __attribute__((vector_size(16), aligned(4), may_alias));
typedef sum_element sums __attribute__((vector_size(16), aligned(4), may_alias));

/* Stores the first nr elements of n vectors, or adds them to C. */
static inline __attribute__((always_inline)) void store_row(total *c, const vector *row, int n, int64_t acc,
                                                            int64_t nr) {
    if (nr == 4 * n) {
#pragma GCC unroll 3
        for (int t = 0; t < n; t++) {
            sums *d = (sums *)c + t, s = (sums)row[t];

            if (acc)
                s += *d;
            *d = s;
        }
        return;
    }
    sums copy[3];
#pragma GCC unroll 3
    for (int t = 0; t < n; t++)
        copy[t] = (sums)row[t];
#pragma GCC unroll 1
    for (int64_t j = 0; j < nr; j++) {
        const sum_element s = ((const sum_element *)copy)[j];

        c[j] = (total)(acc ? (sum_element)c[j] + s : s);
    }
}
