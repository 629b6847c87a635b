/* SPDX-License-Identifier: Apache-2.0 */
/* For gemm_small_transpose_avx512.c: vectors of floats or doubles, and rows of C in their lanes. */
#ifndef GEMM_SMALL_LANES_AVX512_H
#define GEMM_SMALL_LANES_AVX512_H

#include <immintrin.h>
#include "registry/kernel_contract.h"

#define INLINE static inline __attribute__((always_inline))
#ifdef UK_DOUBLE
typedef double element;
typedef __m512d vector;
typedef __m128d lane;
typedef __m256d half;
enum { V = 8, L = 2 };
#define WHOLE(name) _mm512_##name##_pd
#define HALF(name) _mm256_##name##_pd
#define LANE(name) _mm_##name##_pd
#define TWO_HALVES(g, h) _mm512_insertf64x4(_mm512_castpd256_pd512(g), h, 1)
#define SHUFFLE_LANES(v, w, which) _mm512_shuffle_f64x2(v, w, which)
#define LANE_OF(v, q) _mm512_extractf64x2_pd(v, q)
#define LANES_OF(x) _mm512_castpd128_pd512(x)
#define INSERT_LANE(v, x, q) _mm512_insertf64x2(v, x, q)
#define UNROLL_FROM(F) F(0) F(1) F(2) F(3)
#define COLUMNS(F) F(1) F(2) F(3) F(4)
#define ROWS(F) F(1) F(2)
#else
typedef float element;
typedef __m512 vector;
typedef __m128 lane;
typedef __m256 half;
enum { V = 16, L = 4 };
#define WHOLE(name) _mm512_##name##_ps
#define HALF(name) _mm256_##name##_ps
#define LANE(name) _mm_##name##_ps
#define TWO_HALVES(g, h) _mm512_insertf32x8(_mm512_castps256_ps512(g), h, 1)
#define SHUFFLE_LANES(v, w, which) _mm512_shuffle_f32x4(v, w, which)
#define LANE_OF(v, q) _mm512_extractf32x4_ps(v, q)
#define LANES_OF(x) _mm512_castps128_ps512(x)
#define INSERT_LANE(v, x, q) _mm512_insertf32x4(v, x, q)
#define UNROLL_FROM(F) F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7)
#define COLUMNS(F) F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8)
#define ROWS(F) F(1) F(2) F(3) F(4)
#endif
enum { UNROLL = 2 * L, LANES = 4 };

/* Keeps compilers from moving the computation of x, which is interleaved with others on purpose. */
#define PIN(x) __asm__ volatile("" : "+v"(x))

/* Keeps compilers from collecting several pointers in a vector, which would go through memory. */
#define ALONE(p) __asm__ volatile("" : "+r"(p))

/* The sanitizers' checks of each pointer would take a minute to compile. */
__attribute__((no_sanitize("pointer-overflow"))) INLINE element *at(const void *p, int64_t bytes) {
    return (element *)((const char *)p + bytes);
}

/* Interleaves the low and the high elements (or pairs of elements) of each lane of v and w. */
INLINE void shuffle_two(vector *low, vector *high, vector v, vector w, bool pairs) {
#ifdef UK_DOUBLE
    (void)pairs;
    *low = WHOLE(unpacklo)(v, w);
    *high = WHOLE(unpackhi)(v, w);
#else
    const __m512d p = _mm512_castps_pd(v), q = _mm512_castps_pd(w);

    *low = pairs ? _mm512_castpd_ps(_mm512_unpacklo_pd(p, q)) : WHOLE(unpacklo)(v, w);
    *high = pairs ? _mm512_castpd_ps(_mm512_unpackhi_pd(p, q)) : WHOLE(unpackhi)(v, w);
#endif
    PIN(*low);
    PIN(*high);
}

/* Transposes the lanes of v's vectors. */
INLINE void transpose(vector v[L]) {
    shuffle_two(&v[0], &v[1], v[0], v[1], false);
#ifndef UK_DOUBLE
    shuffle_two(&v[2], &v[3], v[2], v[3], false);

    const vector high = v[1];

    shuffle_two(&v[0], &v[1], v[0], v[2], true);
    shuffle_two(&v[2], &v[3], high, v[3], true);
#endif
}

/* Adds C (if acc) to V rows of up to L columns, which are in lanes of L rows. */
INLINE void complete(vector v[L], element *const c[LANES], int64_t ldc, __mmask8 columns, int acc) {
    transpose(v);
    if (acc)
#pragma GCC unroll 4
        for (int i = 0; i < L; i++) {
            vector old = LANES_OF(LANE(maskz_loadu)(columns, at(c[0], i * ldc)));

            old = INSERT_LANE(old, LANE(maskz_loadu)(columns, at(c[1], i * ldc)), 1);
            old = INSERT_LANE(old, LANE(maskz_loadu)(columns, at(c[2], i * ldc)), 2);
            old = INSERT_LANE(old, LANE(maskz_loadu)(columns, at(c[3], i * ldc)), 3);
            v[i] = WHOLE(add)(v[i], old);
        }
}

/* The lane goes through a register: a masked extraction to memory, which gcc would emit, faults at elements
 * that the mask leaves out. */
#define STORE_LANE(i, q)                                       \
    do {                                                       \
        lane part = LANE_OF(v[i], q);                          \
                                                               \
        PIN(part);                                             \
        LANE(mask_storeu)(at(c[q], (i) * ldc), columns, part); \
    } while (0)

INLINE void store(const vector v[L], element *const c[LANES], int64_t ldc, __mmask8 columns) {
#pragma GCC unroll 4
    for (int i = 0; i < L; i++) {
        STORE_LANE(i, 0);
        STORE_LANE(i, 1);
        STORE_LANE(i, 2);
        STORE_LANE(i, 3);
    }
}

/* The mask of the columns from j on, of n; at most L. */
INLINE __mmask8 some_columns(int n, int j) {
    return (__mmask8)((1u << (n - j < L ? n - j : L)) - 1);
}

/* A k iteration of R rows, each with its columns in half a vector. */
INLINE void row_step(const element *a, int64_t lda, const element *b, __mmask8 columns, int R, half *sum) {
    if (!R)
        return;
    const half x = HALF(maskz_loadu)(columns, b);

#pragma GCC unroll 4
    for (int i = 0; i < R; i++)
        sum[i] = HALF(mask_fmadd)(HALF(set1)(*at(a, i * lda)), (__mmask8)-1, x,
                                  sum[i]); /* masked, because gcc has the unmasked intrinsic only with FMA, a
                                              feature apart from AVX-512 */
}

INLINE void store_rows(element *c, int64_t ldc, __mmask8 columns, int acc, int R, const half *sum) {
#pragma GCC unroll 4
    for (int i = 0; i < R; i++) {
        element *to = at(c, i * ldc);

        HALF(mask_storeu)(to, columns, acc ? HALF(add)(sum[i], HALF(maskz_loadu)(columns, to)) : sum[i]);
    }
}

#endif
