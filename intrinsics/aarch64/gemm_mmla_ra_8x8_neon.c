/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 8 rows x 8 columns of C from rows of A in place and a panel of B in groups that fill 8 bytes: smmla
 * (UK_OP_i8gemm_ra), ummla (UK_OP_u8gemm_ra), usmmla (UK_OP_igemm_ra) in i32, bfmmla (UK_OP_bgemm_ra) in f32.
 * sum[r][s] is a square: rows 2r and 2r + 1 by columns 2s and 2s + 1. A vector of a row is two groups; zips
 * join the groups of two rows. A remaining odd group is loaded alone.
 *
 * Bound: 32 multiplications, 8 zips, 16 loads per 2 groups: at two vector instructions a cycle (Neoverse N2)
 * 20 cycles, at four (Neoverse V1) 10. That is 80 % of the rate of packed rows, which the packing has zipped.
 * 16 sums, 8 vectors of A and 4 of B leave no registers for 12 columns.
 *
 * UK_OP_..._runs: the sums stay in registers from run to run.
 *
 * Edge tiles cost as much as the whole tile: missing rows repeat row 0, and are not stored.
 */
#include "../any/runs.h"
#ifdef UK_OP_bgemm_ra
#define TOTAL_IS_FLOAT
#endif
#include "../../asm/aarch64/rows_neon.h"

#if defined(UK_OP_bgemm_ra)
typedef uint16_t left, right;
typedef bfloat16x8_t of_a, of_b;
#define MMLA(s, x, y) (vector) vbfmmlaq_f32((float32x4_t)(s), x, y)
#elif defined(UK_OP_u8gemm_ra)
typedef uint8_t left, right;
typedef uint8x16_t of_a, of_b;
#define MMLA(s, x, y) (vector) vmmlaq_u32((uint32x4_t)(s), x, y)
#elif defined(UK_OP_i8gemm_ra)
typedef int8_t left, right;
typedef int8x16_t of_a, of_b;
#define MMLA(s, x, y) (vector) vmmlaq_s32((int32x4_t)(s), x, y)
#else
typedef uint8_t left;
typedef int8_t right;
typedef uint8x16_t of_a;
typedef int8x16_t of_b;
#define MMLA(s, x, y) (vector) vusmmlaq_s32((int32x4_t)(s), x, y)
#endif
enum { MR = 8, NR = 8, KR = UK_KR };

/* A group of all rows, in pairs, times 8 columns. */
static inline __attribute__((always_inline)) void group(vector sum[MR / 2][NR / 2],
                                                        const uint64x2_t x[MR / 2], const right *b) {
#pragma GCC unroll 4
    for (int s = 0; s < NR / 2; s++) {
        const uint64x2_t y = vreinterpretq_u64_u8(vld1q_u8((const uint8_t *)(b + 2 * s * KR)));

#pragma GCC unroll 4
        for (int r = 0; r < MR / 2; r++)
            sum[r][s] = MMLA(sum[r][s], (of_a)x[r], (of_b)y);
    }
}

void UK_SYMBOL(OF_ROWS(left, right), total *c, int64_t ldc, int64_t acc, int64_t mr, int64_t nr) {
    ONE_RUN
    const uint8_t *row[MR];
    vector sum[MR / 2][NR / 2];
    uint64x2_t first[MR / 2], second[MR / 2];
    const right *const panels = b;

#pragma GCC unroll 8
    for (int i = 0; i < MR; i++)
        row[i] = (const uint8_t *)(i < mr ? a + i * lda : a);
#pragma GCC unroll 4
    for (int r = 0; r < MR / 2; r++)
#pragma GCC unroll 4
        for (int s = 0; s < NR / 2; s++)
            sum[r][s] = (vector){0};
#pragma GCC unroll 1
    for (int64_t t = 0; t < runs; t++) {
        int64_t p = t * lds;
        const int64_t end = p + k;

        b = panels + t * ldb;
#pragma GCC unroll 1
        for (; p + 2 * KR <= end; p += 2 * KR, b += 2 * NR * KR) {
#pragma GCC unroll 4
            for (int r = 0; r < MR / 2; r++) {
                const uint64x2_t upper = vreinterpretq_u64_u8(vld1q_u8(row[2 * r] + p * (int64_t)sizeof *a));
                const uint64x2_t lower =
                    vreinterpretq_u64_u8(vld1q_u8(row[2 * r + 1] + p * (int64_t)sizeof *a));

                first[r] = vzip1q_u64(upper, lower);
                second[r] = vzip2q_u64(upper, lower);
            }
            group(sum, first, b);
            group(sum, second, b + NR * KR);
        }
        if (p < end) {
#pragma GCC unroll 4
            for (int r = 0; r < MR / 2; r++)
                first[r] =
                    vreinterpretq_u64_u8(vcombine_u8(vld1_u8(row[2 * r] + p * (int64_t)sizeof *a),
                                                     vld1_u8(row[2 * r + 1] + p * (int64_t)sizeof *a)));
            group(sum, first, b);
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < MR; i++) {
        const int64x2_t s0 = (int64x2_t)sum[i / 2][0], s1 = (int64x2_t)sum[i / 2][1];
        const int64x2_t s2 = (int64x2_t)sum[i / 2][2], s3 = (int64x2_t)sum[i / 2][3];
        const vector left_half = (vector)(i % 2 ? vzip2q_s64(s0, s1) : vzip1q_s64(s0, s1));
        const vector right_half = (vector)(i % 2 ? vzip2q_s64(s2, s3) : vzip1q_s64(s2, s3));

        if (i < mr)
            store_row(c + i * ldc, (const vector[]){left_half, right_half}, 2, acc, nr);
    }
}
