/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 14 rows x 64 columns of C, all of f16, two vectors of columns at a time: sum[i][v] is vector v of row i.
 * vfmadd231ph rounds each product and sum together, once.
 *
 * Bound, for a k iteration: 28 multiply-adds, each with a broadcast load of an element of A, and 2
 * loads of B. vpbroadcastw would load each element once, but on Intel's cores it takes port 5, one of the two
 * that multiply-adds of 512 bits use: 21 cycles. At two loads a cycle 30 of them take 15 cycles, the
 * multiply-adds 14: 119 flop a cycle of 128. 28 accumulators hide the latency of 4 cycles.
 *
 * Edges: a tile of fewer rows ends each k iteration after its last row; columns are masked, and up to 32 of
 * them take half of the multiply-adds.
 */
#include <immintrin.h>
#include "registry/kernel_contract.h"

enum { MR = UK_MR, NR = UK_NR, LANES = 32 };
#define INLINE static inline __attribute__((always_inline))
#define EACH_ROW(i) _Pragma("GCC unroll 14") for (int i = 0; i < MR; i++)
#define EACH_VECTOR(v) _Pragma("GCC unroll 2") for (int v = 0; v < vectors; v++)

/* sum + *a * y in one instruction: compilers broadcast an element of two multiply-adds by vpbroadcastw. */
INLINE __m512h multiply_add(const uint16_t *a, __m512h y, __m512h sum) {
    __asm__("vfmadd231ph %2%{1to32%}, %1, %0" : "+v"(sum) : "v"(y), "m"(*a));
    return sum;
}

INLINE __mmask32 first_lanes(int64_t n) {
    return n >= LANES ? 0xffffffff : (1u << n) - 1;
}

INLINE void tile(int rows, int vectors, int64_t k, const uint16_t *a, const uint16_t *b, uint16_t *c,
                 int64_t ldc, int64_t acc, int64_t nr) {
    __m512h sum[MR][2];

    EACH_ROW(i) {
        EACH_VECTOR(v) {
            sum[i][v] = _mm512_setzero_ph();
        }
    }
#pragma GCC unroll 1
    for (int64_t p = 0; p < k; p++, a += MR, b += NR) {
        __m512h y[2];

        EACH_VECTOR(v) {
            y[v] = _mm512_loadu_ph(b + v * LANES);
        }
        EACH_ROW(i) {
            if (i < rows)
                EACH_VECTOR(v) {
                    sum[i][v] = multiply_add(a + i, y[v], sum[i][v]);
                }
        }
    }
    if (acc)
        EACH_ROW(i) {
            if (i < rows)
                EACH_VECTOR(v) {
                    const __m512i old =
                        _mm512_maskz_loadu_epi16(first_lanes(nr - v * LANES), c + i * ldc + v * LANES);

                    sum[i][v] = _mm512_add_ph(_mm512_castsi512_ph(old), sum[i][v]);
                }
        }
    /* After all loads: a load would wait for a store under a mask to any byte of its vector, such as to the
     * row before it where rows are shorter than a vector. */
    __asm__("" : : : "memory");
    EACH_ROW(i) {
        if (i < rows)
            EACH_VECTOR(v) {
                _mm512_mask_storeu_epi16(c + i * ldc + v * LANES, first_lanes(nr - v * LANES),
                                         _mm512_castph_si512(sum[i][v]));
            }
    }
}

INLINE void columns(int rows, int64_t k, const uint16_t *a, const uint16_t *b, uint16_t *c, int64_t ldc,
                    int64_t acc, int64_t nr) {
    if (nr > LANES)
        tile(rows, 2, k, a, b, c, ldc, acc, nr);
    else
        tile(rows, 1, k, a, b, c, ldc, acc, nr);
}

void UK_SYMBOL(int64_t k, const uint16_t *a, const uint16_t *b, uint16_t *c, int64_t ldc, int64_t acc,
               int64_t mr, int64_t nr) {
    if (mr == MR)
        columns(MR, k, a, b, c, ldc, acc, nr);
    else
        columns((int)mr, k, a, b, c, ldc, acc, nr);
}
