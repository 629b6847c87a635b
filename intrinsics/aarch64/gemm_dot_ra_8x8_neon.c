/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 8 rows x 8 columns of C, in i32, from rows of A in place and a panel of B in groups of 4 bytes: sum[i][0]
 * and sum[i][1] are columns 0-3 and 4-7 of row i. A vector of a row is four groups; each lane of it is
 * multiplied by 4 columns by sdot (UK_OP_i8gemm_ra) or udot (UK_OP_u8gemm_ra). The remaining groups are
 * loaded one by one. UK_OP_igemm_ra, u8 by i8, uses sdot too: flipping the highest bit of a gives a - 128, an
 * i8, and
 *
 *     sum of a * b = sum of (a - 128) * b + 128 * sum of b
 *
 * of_b, a ninth row of ones, gives the sums of b.
 *
 * Bound: 64 dot products, 16 loads per 4 groups (igemm_ra: 72, and 8 flips): at two vector instructions a
 * cycle (Cortex-A76, Neoverse N1) 32 cycles, 64 multiply-adds a cycle (40 cycles, 51). 16 sums and 8 vectors
 * of A leave no registers for 12 columns.
 *
 * UK_OP_..._runs: the sums stay in registers from run to run.
 *
 * Edge tiles cost as much as the whole tile: missing rows repeat row 0, and are not stored.
 */
#include "../../asm/aarch64/rows_neon.h"
#include "../any/runs.h"

#ifdef UK_OP_u8gemm_ra
typedef uint8_t left, right;
typedef uint8x16_t bytes;
typedef uint32x4_t words;
#define LOAD_A(p) vld1q_u8(p)
#define LOAD_B(p) vld1q_u8(p)
#define GROUP_OF_A(p) vreinterpretq_u8_u32(vdupq_n_u32(group_at(p)))
#define DOT(s, y, x, lane) vdotq_laneq_u32(s, y, x, lane)
#else
#ifdef UK_OP_igemm_ra
typedef uint8_t left;
#define FLIP vdupq_n_s8(-128)
#else
typedef int8_t left;
#define FLIP vdupq_n_s8(0)
#endif
typedef int8_t right;
typedef int8x16_t bytes;
typedef int32x4_t words;
#define LOAD_A(p) veorq_s8(vld1q_s8((const int8_t *)(p)), FLIP)
#define LOAD_B(p) vld1q_s8(p)
#define GROUP_OF_A(p) veorq_s8(vreinterpretq_s8_u32(vdupq_n_u32(group_at(p))), FLIP)
#define DOT(s, y, x, lane) vdotq_laneq_s32(s, y, x, lane)
#endif
enum { MR = 8, NR = 8, KR = 4, GROUPS = 4 };

static inline __attribute__((always_inline)) uint32_t group_at(const left *a) {
    uint32_t group;

    __builtin_memcpy(&group, a, sizeof group);
    return group;
}

/* GROUP: one group of b times lane `lane` of all rows of a. */
#define ROW(i, lane)                              \
    sum[i][0] = DOT(sum[i][0], y[0], x[i], lane); \
    sum[i][1] = DOT(sum[i][1], y[1], x[i], lane);
#ifdef UK_OP_igemm_ra
#define SUM_OF_B                                       \
    of_b[0] = vdotq_s32(of_b[0], y[0], vdupq_n_s8(1)); \
    of_b[1] = vdotq_s32(of_b[1], y[1], vdupq_n_s8(1));
#else
#define SUM_OF_B
#endif
#define GROUP(lane)                                                                                         \
    {                                                                                                       \
        const bytes y[2] = {LOAD_B(b), LOAD_B(b + 16)};                                                     \
                                                                                                            \
        SUM_OF_B ROW(0, lane) ROW(1, lane) ROW(2, lane) ROW(3, lane) ROW(4, lane) ROW(5, lane) ROW(6, lane) \
            ROW(7, lane) b += NR * KR;                                                                      \
    }

void UK_SYMBOL(OF_ROWS(left, right), int32_t *c, int64_t ldc, int64_t acc, int64_t mr, int64_t nr) {
    ONE_RUN
    const left *row[MR];
    words sum[MR][2];
    bytes x[MR];
    const right *const panels = b;
#ifdef UK_OP_igemm_ra
    words of_b[2] = {vdupq_n_s32(0), vdupq_n_s32(0)};
#endif

#pragma GCC unroll 8
    for (int i = 0; i < MR; i++) {
        row[i] = i < mr ? a + i * lda : a;
        sum[i][0] = sum[i][1] = (words){0};
    }
#pragma GCC unroll 1
    for (int64_t t = 0; t < runs; t++) {
        int64_t p = t * lds;
        const int64_t end = p + k;

        b = panels + t * ldb;
#pragma GCC unroll 1
        for (; p + GROUPS * KR <= end; p += GROUPS * KR) {
#pragma GCC unroll 8
            for (int i = 0; i < MR; i++)
                x[i] = LOAD_A(row[i] + p);
            GROUP(0)
            GROUP(1)
            GROUP(2)
            GROUP(3)
        }
#pragma GCC unroll 1
        for (; p < end; p += KR) {
#pragma GCC unroll 8
            for (int i = 0; i < MR; i++)
                x[i] = GROUP_OF_A(row[i] + p);
            GROUP(0)
        }
        /* The sums of the next run begin in the registers in which this run's end; compilers would otherwise
         * copy them inside the loops. */
#pragma GCC unroll 8
        for (int i = 0; i < MR; i++)
            __asm__("" : "+w"(sum[i][0]), "+w"(sum[i][1]));
    }
#ifdef UK_OP_igemm_ra
    of_b[0] = vshlq_n_s32(of_b[0], 7);
    of_b[1] = vshlq_n_s32(of_b[1], 7);
#pragma GCC unroll 8
    for (int i = 0; i < MR; i++) {
        sum[i][0] = vaddq_s32(sum[i][0], of_b[0]);
        sum[i][1] = vaddq_s32(sum[i][1], of_b[1]);
    }
#endif
#pragma GCC unroll 8
    for (int i = 0; i < MR; i++)
        if (i < mr)
            store_row(c + i * ldc, (const vector[]){(vector)sum[i][0], (vector)sum[i][1]}, 2, acc, nr);
}
