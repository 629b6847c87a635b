/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packs m rows of length k into a panel of width UK_MR: blocks of 8 rows x 4 k of floats (UK_OP_spack_t), or
 * 4 rows x 2 k of doubles (UK_OP_dpack_t), are transposed in registers. In a block of fewer rows the last row
 * is loaded again for missing ones, which are then zeroed; a block without rows is only zeroed. The last
 * block of a row ends at k and overlaps the one before it; of a row shorter than a block only its own
 * elements are loaded. UK_OP_stranspose and UK_OP_dtranspose store rows of the result ldd apart.
 *
 *     floats    v0: rows 0 4   v1: rows 1 5   v2: rows 2 6   v3: rows 3 7     (4 k in each half)
 *               unpack by floats, then by pairs: half q of the p-th result is rows 4q .. 4q + 3 at k = p.
 *     doubles   v0: rows 0 2   v1: rows 1 3                                   (2 k in each half)
 *               unpack: half q of the p-th result is rows 2q, 2q + 1 at k = p.
 *
 * Bound: a block of floats is 8 loads, 4 of them into upper halves, 8 shuffles and 4 stores; with one port
 * for the shuffles 8 cycles, 4 elements per cycle. One of doubles is 4 loads, 2 of them into upper halves, 2
 * shuffles and 2 stores: 2 cycles, 4 elements per cycle. Both as long as the source is in L1.
 */
#include <immintrin.h>
#include "registry/kernel_contract.h"

#define INLINE static inline __attribute__((always_inline))

#if defined UK_OP_dpack_t || defined UK_OP_dtranspose
typedef double element;
typedef __m256d vector;
typedef __m128d half;
enum { V = 4, DEPTH = 2 };

/* k elements of a row, at most DEPTH. */
INLINE half load(const double *s, int k) {
    return k == DEPTH ? _mm_loadu_pd(s) : _mm_load_sd(s);
}

INLINE vector join(half low, half high) {
    return _mm256_insertf128_pd(_mm256_castpd128_pd256(low), high, 1);
}

/* From rows to columns: v[p] becomes element p of all rows. */
INLINE void unpack(vector *v) {
    const vector first = _mm256_unpacklo_pd(v[0], v[1]);

    v[1] = _mm256_unpackhi_pd(v[0], v[1]);
    v[0] = first;
}

/* The first `left` elements of v; the others become 0. */
INLINE vector keep(vector v, int64_t left) {
    return _mm256_and_pd(
        v, _mm256_castsi256_pd(_mm256_cmpgt_epi64(_mm256_set1_epi64x(left), _mm256_set_epi64x(3, 2, 1, 0))));
}

/* Stores the first `width` elements of v. */
INLINE void store(double *d, int width, vector v) {
    if (width == V)
        _mm256_storeu_pd(d, v);
    else
        _mm_storeu_pd(d, _mm256_castpd256_pd128(v));
}
_Static_assert(UK_MR % 2 == 0, "a block has 4 rows or 2");
#else
typedef float element;
typedef __m256 vector;
typedef __m128 half;
enum { V = 8, DEPTH = 4 };

/* k elements of a row, at most DEPTH. */
INLINE half load(const float *s, int k) {
    return k == DEPTH ? _mm_loadu_ps(s)
           : k == 1   ? _mm_load_ss(s)
                    : _mm_maskload_ps(s, k == 2 ? _mm_set_epi32(0, 0, -1, -1) : _mm_set_epi32(0, -1, -1, -1));
}

INLINE vector join(half low, half high) {
    return _mm256_insertf128_ps(_mm256_castps128_ps256(low), high, 1);
}

/* From rows to columns: v[p] becomes element p of all rows. */
INLINE void unpack(vector *v) {
    const __m256d even01 = _mm256_castps_pd(_mm256_unpacklo_ps(v[0], v[1]));
    const __m256d even23 = _mm256_castps_pd(_mm256_unpacklo_ps(v[2], v[3]));
    const __m256d odd01 = _mm256_castps_pd(_mm256_unpackhi_ps(v[0], v[1]));
    const __m256d odd23 = _mm256_castps_pd(_mm256_unpackhi_ps(v[2], v[3]));

    v[0] = _mm256_castpd_ps(_mm256_unpacklo_pd(even01, even23));
    v[1] = _mm256_castpd_ps(_mm256_unpackhi_pd(even01, even23));
    v[2] = _mm256_castpd_ps(_mm256_unpacklo_pd(odd01, odd23));
    v[3] = _mm256_castpd_ps(_mm256_unpackhi_pd(odd01, odd23));
}

/* The first `left` elements of v; the others become 0. */
INLINE vector keep(vector v, int64_t left) {
    return _mm256_and_ps(v, _mm256_castsi256_ps(_mm256_cmpgt_epi32(
                                _mm256_set1_epi32((int)left), _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0))));
}

/* Stores the first `width` elements of v. */
INLINE void store(float *d, int width, vector v) {
    if (width == V)
        _mm256_storeu_ps(d, v);
    else
        _mm_storeu_ps(d, _mm256_castps256_ps128(v));
    if (width == DEPTH + 2) /* a store under a mask takes 12 cycles on AMD's cores */
        _mm_storel_pi((__m64 *)(d + DEPTH), _mm256_extractf128_ps(v, 1));
}
_Static_assert(UK_MR % V == 0 || UK_MR % V == DEPTH || UK_MR % V == DEPTH + 2, "a block has 8 rows, 6 or 4");
#endif

/* The source's rows: lds apart or, if there are fewer than a panel has, each at its own offset from the
 * first. */
struct rows {
    const element *first;
    int64_t lds;
    const int64_t *offset;
};

INLINE const element *row(struct rows s, int r) {
    return s.first + (s.offset ? s.offset[r] : r * s.lds);
}

/* Packs k elements, at most DEPTH, of `width` rows to d; the first `left` rows exist, the others are 0. */
INLINE void block(struct rows s, int width, int64_t left, int k, element *d, int64_t ldd) {
    vector v[DEPTH];

    for (int r = 0; r < DEPTH; r++)
        v[r] = (vector){0};
    for (int r = 0; r < DEPTH && left > 0; r++) {
        const half low = load(row(s, r), k);

        v[r] = join(low, DEPTH + r < width ? load(row(s, DEPTH + r), k) : low);
    }
    unpack(v);
    for (int p = 0; p < k; p++)
        store(d + p * ldd, width, left >= width ? v[p] : keep(v[p], left));
}

/* A block of k elements of all rows of the panel. */
INLINE void blocks(struct rows s, int64_t m, int k, element *d, int64_t ldd) {
#pragma GCC unroll 8
    for (int i = 0; i < UK_MR; i += V) {
        block(s, UK_MR - i < V ? UK_MR - i : V, m - i, k, d + i, ldd);
        if (s.offset)
            s.offset += V;
        else
            s.first += V * s.lds;
        __asm__("" : "+r"(s.first)); /* keeps compilers from holding a pointer to each row */
    }
}

INLINE void pack(int64_t k, struct rows s, int64_t m, element *d, int64_t ldd) {
    const element *first = s.first;

    if (k == 1)
        blocks(s, m, 1, d, ldd);
    else if (DEPTH > 2 && k == 2)
        blocks(s, m, 2, d, ldd);
    else if (DEPTH > 3 && k == 3)
        blocks(s, m, 3, d, ldd);
    else
#pragma GCC unroll 1
        for (int64_t p = 0; p < k; p += DEPTH) {
            const int64_t q = p < k - DEPTH ? p : k - DEPTH;

            s.first = first + q;
            blocks(s, m, DEPTH, d + q * ldd, ldd);
        }
}

INLINE void transpose(int64_t k, const element *s, int64_t lds, element *d, int64_t ldd, int64_t m) {
    int64_t offset[UK_MR], last = 0;

    if (m == UK_MR) {
        pack(k, (struct rows){s, lds, NULL}, UK_MR, d, ldd);
        return;
    }
    for (int i = 0; i < UK_MR; i++) {
        offset[i] = last;
        last += i + 1 < m ? lds : 0;
    }
    pack(k, (struct rows){s, lds, offset}, m, d, ldd);
}

#if defined UK_OP_stranspose || defined UK_OP_dtranspose
void UK_SYMBOL(int64_t k, const element *s, int64_t lds, element *d, int64_t ldd, int64_t m) {
    transpose(k, s, lds, d, ldd, m);
}
#else
void UK_SYMBOL(int64_t k, const element *s, int64_t lds, element *d, int64_t m) {
    transpose(k, s, lds, d, UK_MR, m);
}
#endif
