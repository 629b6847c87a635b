/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 6 rows x 8 columns of C, in i32, from panels of groups of 4 bytes: sum[i][0] and sum[i][1] are columns 0-3
 * and 4-7 of row i, two partial sums per element, which are added in the end.
 *
 * Bytes of either sign are widened to 16 bits; vpmaddwd adds two products of them in 32 bits, where -128 *
 * 255 + -128 * 255 fits. (vpmaddubsw, which takes bytes, would saturate.)
 *
 * Bound: 12 products, 12 additions, 6 widenings of A and 8 loads, two of which widen B, per group, 38
 * operations: at four vector operations a cycle 8 cycles, 24 multiply-adds a cycle, at three 10.7 cycles, 18;
 * two products a cycle would allow 32. 12 accumulators hide the additions' latency of one cycle.
 *
 * Edges: a tile of fewer rows ends each k iteration after its last row; columns are masked.
 */
#include "../../asm/x86_64/store_first_avx2.h"
#include "registry/kernel_contract.h"
#include "bytes_avx2.h"

enum { MR = 6, NR = 8, KR = 4 };

/* A row's group of 4 bytes, widened to 16 bits and repeated for four columns. */
static inline __attribute__((always_inline)) __m256i row(const left *a) {
    int32_t group;

    __builtin_memcpy(&group, a, sizeof group);
    return WIDEN_A(_mm_set1_epi32(group));
}

static inline __attribute__((always_inline)) __m256i columns(const right *b) {
    return WIDEN_B(_mm_loadu_si128((const __m128i *)b));
}

void UK_SYMBOL(int64_t k, const left *a, const right *b, int32_t *c, int64_t ldc, int64_t acc, int64_t mr,
               int64_t nr) {
    __m256i sum[MR][2];

#pragma GCC unroll 6
    for (int i = 0; i < MR; i++)
        sum[i][0] = sum[i][1] = _mm256_setzero_si256();
#pragma GCC unroll 1
    for (int64_t p = 0; p < k; p += KR, b += NR * KR) {
        const __m256i y = columns(b), z = columns(b + NR * KR / 2);

#pragma GCC unroll 6
        for (int i = 0; i < MR; i++) {
            if (i < mr) {
                const __m256i x = row(a + i * KR);

                sum[i][0] = _mm256_add_epi32(sum[i][0], _mm256_madd_epi16(x, y));
                sum[i][1] = _mm256_add_epi32(sum[i][1], _mm256_madd_epi16(x, z));
            }
        }
        a += MR * KR;
    }

    const __m256i all =
        _mm256_cmpgt_epi32(_mm256_set1_epi32((int)nr), _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0));
#pragma GCC unroll 6
    for (int i = 0; i < MR; i++) {
        if (i < mr) {
            int32_t *d = c + i * ldc;
            __m256i x = _mm256_permute4x64_epi64(_mm256_hadd_epi32(sum[i][0], sum[i][1]), 0xd8);

            if (acc)
                x = _mm256_add_epi32(x, _mm256_maskload_epi32(d, all));
            if (nr >= NR)
                _mm256_storeu_si256((__m256i *)d, x);
            else
                store_first_ps((float *)d, nr, _mm256_castsi256_ps(x));
        }
    }
}
