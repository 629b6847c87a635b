/* Rows of 12 elements of C, of `total`, from three vectors: what the 8 x 12 tiles of dot products end with. */
#include <arm_neon.h>
#include "ukernels.h"

/* f32, or i32, which wraps. */
typedef total vector __attribute__((vector_size(16), aligned(4), may_alias));
#ifdef TOTAL_IS_FLOAT
typedef float sum_element;
#else
typedef uint32_t sum_element;
#endif
typedef sum_element sums __attribute__((vector_size(16), aligned(4), may_alias));

static inline __attribute__((always_inline)) void store_row(total *c, vector x, vector y, vector z,
                                                            int64_t acc, int64_t nr) {
    const sums row[3] = {(sums)x, (sums)y, (sums)z};

    if (nr == 12) {
        for (int t = 0; t < 3; t++) {
            sums *d = (sums *)c + t, s = row[t];

            if (acc)
                s += *d;
            *d = s;
        }
        return;
    }
#pragma GCC unroll 1
    for (int64_t j = 0; j < nr; j++) {
        const sum_element s = (sum_element)((const sum_element *)row)[j];

        c[j] = (total)(acc ? (sum_element)c[j] + s : s);
    }
}
