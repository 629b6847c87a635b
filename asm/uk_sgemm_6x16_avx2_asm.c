/*
 * 6 rows x 16 columns of C in twelve ymm registers.
 *
 *                    b: ymm12 (columns 0-7)   ymm13 (columns 8-15)
 *     a: ymm14  row 0      c00                      c01
 *      (one     row 1      c10                      c11
 *       row     ...        ...                      ...
 *      at a     row 5      c50                      c51
 *      time)
 *
 * Bound: 12 FMAs, 8 loads, 20 instructions per k. At two 256-bit FMAs and two loads a cycle the FMAs take 6
 * cycles, the loads 4: 32 flop per cycle, the peak. Twelve accumulators cover a latency of 4 at two FMAs a
 * cycle, with 4 over.
 */
#include <immintrin.h>
#include "ukernels.h"

enum { NR = 16 };

#define ROW(i, k)                                           \
    "vbroadcastss 4*(" #i " + 6*" #k ")(%[a]), %%ymm14\n\t" \
    "vfmadd231ps %%ymm12, %%ymm14, %[c" #i "0]\n\t"         \
    "vfmadd231ps %%ymm13, %%ymm14, %[c" #i "1]\n\t"
#define STEP(k)                            \
    "vmovups 64*" #k "(%[b]), %%ymm12\n\t" \
    "vmovups 32 + 64*" #k "(%[b]), %%ymm13\n\t" ROW(0, k) ROW(1, k) ROW(2, k) ROW(3, k) ROW(4, k) ROW(5, k)

/* One row of the tile to memory; low and high select the columns there are. */
static inline __attribute__((always_inline)) void store_row(float *c, __m256 x, __m256 y, int64_t acc,
                                                            int64_t nr, __m256i low, __m256i high) {
    if (nr == NR) {
        _mm256_storeu_ps(c, acc ? _mm256_add_ps(_mm256_loadu_ps(c), x) : x);
        _mm256_storeu_ps(c + 8, acc ? _mm256_add_ps(_mm256_loadu_ps(c + 8), y) : y);
        return;
    }
    if (acc) {
        x = _mm256_add_ps(_mm256_maskload_ps(c, low), x);
        y = _mm256_add_ps(_mm256_maskload_ps(c + 8, high), y);
    }
    _mm256_maskstore_ps(c, low, x);
    _mm256_maskstore_ps(c + 8, high, y);
}

void uk_sgemm_6x16_avx2_asm(int64_t k, const float *a, const float *b, float *c, int64_t ldc, int64_t acc,
                            int64_t mr, int64_t nr) {
    const __m256i columns = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0), count = _mm256_set1_epi32((int)nr);
    const __m256i low = _mm256_cmpgt_epi32(count, columns);
    const __m256i high = _mm256_cmpgt_epi32(count, _mm256_add_epi32(columns, _mm256_set1_epi32(8)));
    __m256 c00 = _mm256_setzero_ps(), c01 = c00, c10 = c00, c11 = c00, c20 = c00, c21 = c00;
    __m256 c30 = c00, c31 = c00, c40 = c00, c41 = c00, c50 = c00, c51 = c00;

    /* k runs below zero: it ends at -2, or at -1 where one step is left. */
    __asm__ volatile("sub $2, %[k]\n\t"
                     "jl 2f\n"
                     "1:\n\t" STEP(0) STEP(1) "add $2*4*6, %[a]\n\t"
                                              "add $2*4*16, %[b]\n\t"
                                              "sub $2, %[k]\n\t"
                                              "jge 1b\n"
                                              "2:\n\t"
                                              "test $1, %[k]\n\t"
                                              "jz 3f\n\t" STEP(0) "3:"
                     : [a] "+r"(a), [b] "+r"(b), [k] "+r"(k), [c00] "+x"(c00), [c01] "+x"(c01),
                       [c10] "+x"(c10), [c11] "+x"(c11), [c20] "+x"(c20), [c21] "+x"(c21), [c30] "+x"(c30),
                       [c31] "+x"(c31), [c40] "+x"(c40), [c41] "+x"(c41), [c50] "+x"(c50), [c51] "+x"(c51)
                     :
                     : "ymm12", "ymm13", "ymm14", "cc", "memory");
    store_row(c, c00, c01, acc, nr, low, high);
    if (mr > 1)
        store_row(c + ldc, c10, c11, acc, nr, low, high);
    if (mr > 2)
        store_row(c + 2 * ldc, c20, c21, acc, nr, low, high);
    if (mr > 3)
        store_row(c + 3 * ldc, c30, c31, acc, nr, low, high);
    if (mr > 4)
        store_row(c + 4 * ldc, c40, c41, acc, nr, low, high);
    if (mr > 5)
        store_row(c + 5 * ldc, c50, c51, acc, nr, low, high);
}
