/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small products of fewer columns than the kernel's vectors have: a loop in C over any number of rows, s->half
 * columns and s->unrolled k iterations, which are not unrolled here. It makes the kernels correct for every
 * number of columns; the choice of kernels never takes it, because kernels of fewer vectors are faster.
 */
#include <immintrin.h>

#if V == 16
#define WHOLE(name) _mm512_##name##_ps
typedef __m512 vector;
typedef __mmask16 mask;
#else
#define WHOLE(name) _mm512_##name##_pd
typedef __m512d vector;
typedef __mmask8 mask;
#endif

static inline void few_columns(const struct uk_small_call *s, int64_t rows, const char *a, const char *b,
                               char *c, int acc) {
    const int64_t row = A_COLUMNS ? size : s->lda, step = A_COLUMNS ? s->lda : size;

    for (int64_t j = 0; j < (int64_t)s->half; j += V)
        for (int64_t i = 0; i < rows; i++) {
            const int64_t left = (int64_t)s->half - j;
            const mask columns = (mask)(left < V ? (1u << left) - 1 : (1u << V) - 1);
            element *to = (element *)(c + i * s->ldc) + j;
            vector sum = WHOLE(setzero)();

            for (int64_t p = 0; p < s->unrolled; p++)
                sum = WHOLE(fmadd)(WHOLE(set1)(*(const element *)(a + i * row + p * step)),
                                   WHOLE(maskz_loadu)(columns, b + p * s->ldb + j * size), sum);
            if (acc)
                sum = WHOLE(add)(sum, WHOLE(maskz_loadu)(columns, to));
            WHOLE(mask_storeu)(to, columns, sum);
        }
}
#undef WHOLE

/* Prepares the call for that loop. */
static inline void prepare_few(struct uk_small_call *s, int64_t k, int64_t n) {
    s->unrolled = k;
    s->before = 0;
    s->half = (uint32_t)n;
}
