/* SPDX-License-Identifier: Apache-2.0 */
/*
 * c[i][j] += sum over p of a(i, p) * b(p, j) of a wave's tile of UK_MR x UK_NR by the matrix cores. One
 * instruction multiplies 32 rows by 32 columns over eight terms of f16, bf16 or i8, or two of f32:
 *
 *     lane l has some terms of row l % 32 of A, and the same of column l % 32 of B. Which terms these are is
 *     the same for both, so lanes 0 to 31 read one group of UK_KR terms, 16 bytes, and lanes 32 to 63 the
 * next one, for several instructions. It also has, of each 32 x 32 sums, those of column l % 32 and rows 8g +
 * 4 (l / 32) + s, for g, s < 4.
 *
 * Bound: an instruction takes a SIMD 64 cycles (16 passes); two groups take 2 instructions in f16 and bf16, 4
 * in i8 and f32, for each 32 x 32 sums. The reads of 16 bytes take a compute unit 8 cycles for each of UK_MR
 * / 32 + UK_NR / 32. With a wave on each of four SIMDs that is for f16 a quarter of the instructions' time
 * for 64 x 64, and half of it for 32 x 32; for i8 and f32 half as much.
 */
#include "registry/gpu_kernel.h"

enum { SIZE = 32, ROWS = UK_MR / SIZE, COLUMNS = UK_NR / SIZE, TERMS = 2 * UK_KR, SUMS = 16, BYTES = 16 };

/* element: of A and B; number: of C; word: what a lane has in an instruction. Words of f16 are integers,
 * since LLVM 19 would read each half of a vector of eight by itself. */
#if defined(UK_OP_hgemm_w)
typedef uint16_t element;
typedef float number;
typedef int64_t word;
typedef _Float16 four __attribute__((ext_vector_type(4)));
#define MULTIPLY(x, y, sum) __builtin_amdgcn_mfma_f32_32x32x8f16(bits_of(x), bits_of(y), sum, 0, 0, 0)
#elif defined(UK_OP_bgemm_w)
typedef uint16_t element;
typedef float number;
typedef int64_t word;
typedef short four __attribute__((ext_vector_type(4)));
#define MULTIPLY(x, y, sum) __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(bits_of(x), bits_of(y), sum, 0, 0, 0)
#elif defined(UK_OP_i8gemm_w)
typedef int8_t element;
typedef int32_t number, word;
#define MULTIPLY(x, y, sum) __builtin_amdgcn_mfma_i32_32x32x8i8(x, y, sum, 0, 0, 0)
#else
typedef float element, number, word;
#define MULTIPLY(x, y, sum) __builtin_amdgcn_mfma_f32_32x32x2f32(x, y, sum, 0, 0, 0)
#endif
enum { WORDS = BYTES / sizeof(word) };
typedef word group __attribute__((ext_vector_type(WORDS)));
typedef number sums __attribute__((ext_vector_type(SUMS)));

#if defined(UK_OP_hgemm_w) || defined(UK_OP_bgemm_w)
/* A function, because Clang 19 takes element 0, whichever element of a vector is converted in place. */
static inline __attribute__((always_inline)) four bits_of(word x) {
    return __builtin_bit_cast(four, x);
}
#endif

/* Reads a lane's groups; count is a constant. */
static inline __attribute__((always_inline)) void read_groups(group *x, int count,
                                                              const UK_SHARED element *s) {
#pragma unroll
    for (int i = 0; i < count; i++)
        x[i] = *(const UK_SHARED group *)(s + i * SIZE * UK_KR);
}

/* Each word for all sums in turn, so that no instruction waits for the one before it. */
static inline __attribute__((always_inline)) void multiply(sums (*sum)[COLUMNS], const group *x,
                                                           const group *y) {
#pragma unroll
    for (int w = 0; w < (int)WORDS; w++)
#pragma unroll
        for (int i = 0; i < ROWS; i++)
#pragma unroll
            for (int j = 0; j < COLUMNS; j++)
                sum[i][j] = MULTIPLY(x[i][w], y[j][w], sum[i][j]);
}

void UK_SYMBOL(int64_t k, const UK_SHARED element *a, int64_t lda, const UK_SHARED element *b, int64_t ldb,
               UK_REGISTER number *c) {
    const int lane = (int)__builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)),
              half = lane / SIZE, line = lane % SIZE * UK_KR;
    group x[ROWS], y[COLUMNS];
    sums sum[ROWS][COLUMNS];

#pragma unroll
    for (int i = 0; i < UK_MR / 2 * COLUMNS; i++)
        sum[i / SUMS / COLUMNS][i % COLUMNS][i / COLUMNS % SUMS] = c[i];
    /* Addresses of shared memory have 32 bits, so strides fit an int. */
    a += half * (int)lda + line;
    b += half * (int)ldb + line;
    for (int left = (int)k; left > 0; left -= TERMS, a += 2 * (int)lda, b += 2 * (int)ldb) {
        read_groups(x, ROWS, a);
        read_groups(y, COLUMNS, b);
        multiply(sum, x, y);
    }
#pragma unroll
    for (int i = 0; i < UK_MR / 2 * COLUMNS; i++)
        c[i] = sum[i / SUMS / COLUMNS][i % COLUMNS][i / COLUMNS % SUMS];
}
