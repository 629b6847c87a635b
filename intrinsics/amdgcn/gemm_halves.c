/* SPDX-License-Identifier: Apache-2.0 */
/*
 * c[i][j] += sum over p of a(i, p) * b(p, j) of a wave's tile of UK_MR x UK_NR by the matrix cores: operands
 * in f16 or bf16, sums in f32. One instruction multiplies 32 rows by 32 columns over eight terms:
 *
 *     lane l has four terms of row l % 32 of A, and the same of column l % 32 of B. Which terms these are is
 * the same for both, so lanes 0 to 31 read terms 0 to 7 of a group of 16, and lanes 32 to 63 terms 8 to 15:
 *     16 bytes, for two instructions.
 *     It also has, of each 32 x 32 sums, those of column l % 32 and rows 8g + 4 (l / 32) + s, for g, s < 4.
 *
 * Bound: an instruction takes a SIMD 64 cycles (16 passes), so 16 terms take 128 * (UK_MR / 32) * (UK_NR /
 * 32) cycles. The reads of 16 bytes take a compute unit 8 cycles for each of UK_MR / 32 + UK_NR / 32: with a
 * wave on each of four SIMDs a quarter of that time for 64 x 64, and half of it for 32 x 32.
 */
#include "registry/gpu_kernel.h"

enum { SIZE = 32, ROWS = UK_MR / SIZE, COLUMNS = UK_NR / SIZE, EACH = UK_KR, TERMS = 2 * EACH, SUMS = 16 };
/* Eight terms as two words, since LLVM 19 would read each half of a vector of eight by itself. */
typedef int64_t eight __attribute__((ext_vector_type(2)));
typedef float sums __attribute__((ext_vector_type(SUMS)));
#if defined(UK_OP_bgemm_w)
typedef short four __attribute__((ext_vector_type(4)));
#define MULTIPLY(x, y, sum) __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(x, y, sum, 0, 0, 0)
#else
typedef _Float16 four __attribute__((ext_vector_type(4)));
#define MULTIPLY(x, y, sum) __builtin_amdgcn_mfma_f32_32x32x8f16(x, y, sum, 0, 0, 0)
#endif

/* Reads a lane's terms; count is a constant. */
static inline __attribute__((always_inline)) void read_terms(eight *x, int count,
                                                             const UK_SHARED uint16_t *s) {
#pragma unroll
    for (int i = 0; i < count; i++)
        x[i] = *(const UK_SHARED eight *)(s + i * SIZE * EACH);
}

/* Clang 19 takes the bits of element 0, whichever element of a vector is converted in place. */
static inline __attribute__((always_inline)) four bits_of(int64_t x) {
    return __builtin_bit_cast(four, x);
}

static inline __attribute__((always_inline)) sums multiply(eight x, eight y, sums sum) {
    sum = MULTIPLY(bits_of(x[0]), bits_of(y[0]), sum);
    return MULTIPLY(bits_of(x[1]), bits_of(y[1]), sum);
}

void UK_SYMBOL(int64_t k, const UK_SHARED uint16_t *a, int64_t lda, const UK_SHARED uint16_t *b, int64_t ldb,
               UK_REGISTER float *c) {
    const int lane = (int)__builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)),
              half = lane / SIZE, line = lane % SIZE * EACH;
    eight x[ROWS], y[COLUMNS];
    sums sum[ROWS][COLUMNS];

#pragma unroll
    for (int i = 0; i < UK_MR / 2 * COLUMNS; i++)
        sum[i / SUMS / COLUMNS][i % COLUMNS][i / COLUMNS % SUMS] = c[i];
    /* Addresses of shared memory have 32 bits, so strides fit an int. */
    a += half * (int)lda + line;
    b += half * (int)ldb + line;
    for (int left = (int)k; left > 0; left -= TERMS, a += 2 * (int)lda, b += 2 * (int)ldb) {
        read_terms(x, ROWS, a);
        read_terms(y, COLUMNS, b);
#pragma unroll
        for (int i = 0; i < ROWS; i++)
#pragma unroll
            for (int j = 0; j < COLUMNS; j++)
                sum[i][j] = multiply(x[i], y[j], sum[i][j]);
    }
#pragma unroll
    for (int i = 0; i < UK_MR / 2 * COLUMNS; i++)
        c[i] = sum[i / SUMS / COLUMNS][i % COLUMNS][i / COLUMNS % SUMS];
}
