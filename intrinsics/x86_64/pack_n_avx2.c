/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packs k rows of n elements, floats (UK_OP_spack_n) or doubles (UK_OP_dpack_n), into a panel of width UK_NR,
 * a row at a time: vectors of 32 bytes, and a remainder of one vector of 16 and one of 8. The mask of the
 * load zeroes columns from n on. A row of the panel is at most 96 bytes.
 *
 * A row is one or two cache lines, often in a page of its own, which the hardware prefetcher does not reach:
 * the row 8 rows ahead is prefetched.
 *
 * Bound: one load and one store per 32 bytes; at one store a cycle 32 bytes per cycle, as long as the source
 * is in L1.
 */
#include <immintrin.h>
#include "registry/kernel_contract.h"

enum { AHEAD = 8 };

/* MASK(n): the first n elements of a vector. */
#ifdef UK_OP_dpack_n
typedef double element;
typedef __m256d vector;
enum { V = 4 };
#define MASK(n) _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_set_epi64x(3, 2, 1, 0))
#define load(p) _mm256_loadu_pd(p)
#define load_part(p, n) _mm256_maskload_pd(p, MASK(n))
#define store(p, v) _mm256_storeu_pd(p, v)
#define store_half(p, v) _mm_storeu_pd(p, _mm256_castpd256_pd128(v))
#else
typedef float element;
typedef __m256 vector;
enum { V = 8 };
#define MASK(n) _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(n)), _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0))
#define load(p) _mm256_loadu_ps(p)
#define load_part(p, n) _mm256_maskload_ps(p, MASK(n))
#define store(p, v) _mm256_storeu_ps(p, v)
#define store_half(p, v) _mm_storeu_ps(p, _mm256_castps256_ps128(v))
#define store_quarter(p, v) _mm_storel_pi((__m64 *)(p), _mm256_extractf128_ps(v, 1))
#endif

/* Stores the first `width` elements of x, at most V: in parts, as a store under a mask takes 12 cycles on
 * AMD's cores. */
static inline __attribute__((always_inline)) void store_first(element *d, vector x, int width) {
    if (width >= V) {
        store(d, x);
        return;
    }
    store_half(d, x);
#ifdef UK_OP_spack_n
    if (width > V / 2)
        store_quarter(d + V / 2, x);
#endif
}
#ifdef UK_OP_dpack_n
_Static_assert(UK_NR % (V / 2) == 0, "a row ends with a whole or a half vector");
#else
_Static_assert(UK_NR % V == 0 || UK_NR % V == V / 2 || UK_NR % V == V / 2 + 2,
               "a row ends with a whole, half or three-quarter vector");
#endif

void UK_SYMBOL(int64_t k, const element *s, int64_t lds, element *d, int64_t n) {
#pragma GCC unroll 1
    for (int64_t p = 0; p < k; p++, s += lds, d += UK_NR) {
        for (int j = 0; j < UK_NR; j += 2 * V)
            _mm_prefetch((const char *)(s + AHEAD * lds + j), _MM_HINT_T0);
        if (n == UK_NR && UK_NR % V == 0) {
            for (int j = 0; j < UK_NR; j += V)
                store(d + j, load(s + j));
        } else {
            for (int j = 0; j < UK_NR; j += V)
                store_first(d + j, load_part(s + j, n - j), UK_NR - j);
        }
    }
}
