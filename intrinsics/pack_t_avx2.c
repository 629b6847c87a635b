/*
 * Packs m rows of length k into a panel of width UK_MR: blocks of 8 rows x 4 k of floats (UK_OP_spack_t), or 4 rows x
 * 2 k of doubles (UK_OP_dpack_t), are transposed in registers. Rows m and up read row m - 1 again and are zeroed in the
 * block; the last block of a row ends at k, over elements that are already packed.
 *
 *     floats    v0: rows 0 4   v1: rows 1 5   v2: rows 2 6   v3: rows 3 7     (4 k in each half)
 *               unpack by floats, then by pairs: half q of the p-th result is rows 4q .. 4q + 3 at k = p.
 *     doubles   v0: rows 0 2   v1: rows 1 3                                   (2 k in each half)
 *               unpack: half q of the p-th result is rows 2q, 2q + 1 at k = p.
 *
 * Bound: a block of floats is 8 loads, 4 of them into upper halves, 8 shuffles and 4 stores; with one port for the
 * shuffles 8 cycles, 4 elements per cycle. One of doubles is 4 loads, 2 of them into upper halves, 2 shuffles and 2
 * stores: 2 cycles, 4 elements per cycle. Both as long as the source is in the first cache.
 */
#include <immintrin.h>
#include "ukernels.h"

#ifdef UK_OP_dpack_t
typedef double element;
enum { V = 4, STEP = 2 };

/* Rows row[0] .. row[rows - 1] from s, k by k, to d; `left` of them are data, the others 0. */
static inline __attribute__((always_inline)) void block(const double *s, const int64_t *row, int rows,
                                                        int64_t left, double *d) {
    const __m256d keep =
        _mm256_castsi256_pd(_mm256_cmpgt_epi64(_mm256_set1_epi64x(left), _mm256_set_epi64x(3, 2, 1, 0)));
    __m256d v[2];

    for (int r = 0; r < 2; r++) {
        v[r] = _mm256_castpd128_pd256(_mm_loadu_pd(s + row[r]));
        if (2 + r < rows)
            v[r] = _mm256_insertf128_pd(v[r], _mm_loadu_pd(s + row[2 + r]), 1);
    }
    const __m256d at[] = {_mm256_unpacklo_pd(v[0], v[1]), _mm256_unpackhi_pd(v[0], v[1])};

    for (int p = 0; p < 2; p++, d += UK_MR) {
        const __m256d x = left >= rows ? at[p] : _mm256_and_pd(at[p], keep);

        if (rows == 4)
            _mm256_storeu_pd(d, x);
        else
            _mm_storeu_pd(d, _mm256_castpd256_pd128(x));
    }
}
_Static_assert(UK_MR % 2 == 0, "a block has 4 rows or 2");
#else
typedef float element;
enum { V = 8, STEP = 4 };

/* Rows row[0] .. row[rows - 1] from s, k by k, to d; `left` of them are data, the others 0. */
static inline __attribute__((always_inline)) void block(const float *s, const int64_t *row, int rows,
                                                        int64_t left, float *d) {
    const __m256i lanes = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
    const __m256i width = _mm256_cmpgt_epi32(_mm256_set1_epi32(rows), lanes);
    const __m256 keep = _mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_set1_epi32((int)left), lanes));
    __m256 v[4];

    for (int r = 0; r < 4; r++) {
        v[r] = _mm256_castps128_ps256(_mm_loadu_ps(s + row[r]));
        if (4 + r < rows)
            v[r] = _mm256_insertf128_ps(v[r], _mm_loadu_ps(s + row[4 + r]), 1);
    }
    const __m256d even01 = _mm256_castps_pd(_mm256_unpacklo_ps(v[0], v[1]));
    const __m256d even23 = _mm256_castps_pd(_mm256_unpacklo_ps(v[2], v[3]));
    const __m256d odd01 = _mm256_castps_pd(_mm256_unpackhi_ps(v[0], v[1]));
    const __m256d odd23 = _mm256_castps_pd(_mm256_unpackhi_ps(v[2], v[3]));

    v[0] = _mm256_castpd_ps(_mm256_unpacklo_pd(even01, even23));
    v[1] = _mm256_castpd_ps(_mm256_unpackhi_pd(even01, even23));
    v[2] = _mm256_castpd_ps(_mm256_unpacklo_pd(odd01, odd23));
    v[3] = _mm256_castpd_ps(_mm256_unpackhi_pd(odd01, odd23));
    for (int p = 0; p < 4; p++, d += UK_MR) {
        const __m256 x = left >= rows ? v[p] : _mm256_and_ps(v[p], keep);

        if (rows == 8)
            _mm256_storeu_ps(d, x);
        else if (rows == 4)
            _mm_storeu_ps(d, _mm256_castps256_ps128(x));
        else
            _mm256_maskstore_ps(d, width, x);
    }
}
#endif

void UK_SYMBOL(int64_t k, const element *s, int64_t lds, element *d, int64_t m) {
    int64_t row[UK_MR];

    if (k < STEP) {
#pragma GCC unroll 1
        for (int64_t i = 0; i < k * UK_MR; i++)
            d[i] = i % UK_MR < m ? s[i % UK_MR * lds + i / UK_MR] : 0;
        return;
    }
    for (int i = 0; i < UK_MR; i++)
        row[i] = (i < m ? i : m - 1) * lds;
#pragma GCC unroll 1
    for (int64_t p = 0; p < k; p += STEP) {
        const int64_t q = p < k - STEP ? p : k - STEP;

        for (int i = 0; i < UK_MR; i += V)
            block(s + q, row + i, UK_MR - i < V ? UK_MR - i : V, m - i, d + q * UK_MR + i);
    }
}
