/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UK_MR x UK_NR elements of C from panels of groups of UK_KR terms: bytes of either sign, added in 32 bits
 * with wraparound, or bf16 (UK_OP_bgemm) or f16 (UK_OP_hsgemm), added in floats. UK_OP_..._ra: the rows of
 * A are in place; UK_OP_..._runs: and have several runs. Plain C, for machines without a kernel of their own.
 *
 * Bound: compilers emit widening and 32-bit multiplications for the products of a group. A 16-byte vector
 * holds four of these products: at one a cycle 8 operations per cycle.
 */
#include "registry/kernel_contract.h"
#include "runs.h"

#if defined(UK_OP_bgemm) || defined(UK_OP_bgemm_ra)
typedef uint16_t left, right;
typedef float total, value;
#define VALUE(x) uk_from_bf16(x)
#elif defined(UK_OP_hsgemm) || defined(UK_OP_hsgemm_ra)
typedef uint16_t left, right;
typedef float total, value;
#define VALUE(x) uk_from_f16(x)
#else
#if defined(UK_OP_i8gemm) || defined(UK_OP_i8gemm_ra)
typedef int8_t left, right;
#elif defined(UK_OP_u8gemm) || defined(UK_OP_u8gemm_ra)
typedef uint8_t left, right;
#elif defined(UK_OP_i8u8gemm) || defined(UK_OP_i8u8gemm_ra)
typedef int8_t left;
typedef uint8_t right;
#else
typedef uint8_t left;
typedef int8_t right;
#endif
typedef uint32_t value;
typedef int32_t total;
#define VALUE(x) ((uint32_t)(int32_t)(x))
#endif
enum { MR = UK_MR, NR = UK_NR, KR = UK_KR };
#if defined(UK_OP_igemm_ra) || defined(UK_OP_i8gemm_ra) || defined(UK_OP_u8gemm_ra) || \
    defined(UK_OP_i8u8gemm_ra) || defined(UK_OP_bgemm_ra) || defined(UK_OP_hsgemm_ra)
#define OPERANDS OF_ROWS(left, right)
#define ROW(i) ((i) < mr ? a + (i) * lda : a) /* a row that the tile does not have is read as row 0 */
enum { STRIDE = KR };
#else
#define OPERANDS int64_t k, const left *a, const right *b
#define ROW(i) (a + (i) * KR)
enum { STRIDE = MR * KR };
#endif

void UK_SYMBOL(OPERANDS, total *c, int64_t ldc, int64_t acc, int64_t mr, int64_t nr) {
    ONE_RUN
    value sum[MR][NR] = {{0}};
    const left *row[MR];

    for (int i = 0; i < MR; i++)
        row[i] = ROW(i);
    for (int64_t t = 0; t < runs; t++, b += ldb - k * NR) {
        for (int i = 0; t > 0 && i < MR; i++)
            row[i] += lds - k;
        for (int64_t p = 0; p < k; p += KR, b += NR * KR)
            for (int i = 0; i < MR; i++, row[i - 1] += STRIDE)
                for (int j = 0; j < NR; j++)
                    for (int q = 0; q < KR; q++)
                        sum[i][j] += VALUE(row[i][q]) * VALUE(b[j * KR + q]);
    }
    for (int64_t i = 0; i < mr; i++)
        for (int64_t j = 0; j < nr; j++)
            c[i * ldc + j] = (total)(acc ? (value)c[i * ldc + j] + sum[i][j] : sum[i][j]);
}
