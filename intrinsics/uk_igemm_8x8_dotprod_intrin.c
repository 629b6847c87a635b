/*
 * 8 rows x 8 columns of C, in i32, of u8 by i8 in groups of 4, with sdot, which multiplies i8: sum[i][0] and sum[i][1] are
 * columns 0-3 and 4-7 of row i. As 128 less than a, which flips its highest bit, is an i8,
 *
 *     sum of a * b = sum of (a - 128) * b + 128 * sum of b
 *
 * and of_b, a ninth row of ones, gives the sums of b. All wraps at 2^32, as i32 does. (usdot belongs to i8mm, where usmmla
 * does it at once.)
 *
 * Bound: 18 dot products, of which 16 count, 2 flips and 4 loads per group: at two such vector instructions a cycle
 * (Cortex-A76, Neoverse N1) 10 cycles, 51 multiply-adds a cycle, 80 % of what i8 by i8 reaches. 12 columns would need
 * more than 32 registers.
 *
 * Edges cost as the whole tile; rows and columns that it lacks are not stored.
 */
#include "../asm/rows_neon.h"

enum { MR = 8, NR = 8, KR = 4, V = 4 };

static inline __attribute__((always_inline)) int8x16_t flipped(const uint8_t *a) {
    return vreinterpretq_s8_u8(veorq_u8(vld1q_u8(a), vdupq_n_u8(0x80)));
}

void uk_igemm_8x8_dotprod_intrin(int64_t k, const uint8_t *a, const int8_t *b, int32_t *c, int64_t ldc,
                                 int64_t acc, int64_t mr, int64_t nr) {
    int32x4_t sum[MR][2], of_b[2] = {vdupq_n_s32(0), vdupq_n_s32(0)};

#pragma GCC unroll 8
    for (int i = 0; i < MR; i++)
        sum[i][0] = sum[i][1] = vdupq_n_s32(0);
#pragma GCC unroll 1
    for (int64_t p = 0; p < k; p += KR, a += MR * KR, b += NR * KR) {
        const int8x16_t upper = flipped(a), lower = flipped(a + V * KR);
        const int8x16_t y[2] = {vld1q_s8(b), vld1q_s8(b + V * KR)};

#pragma GCC unroll 2
        for (int j = 0; j < 2; j++) {
            of_b[j] = vdotq_s32(of_b[j], y[j], vdupq_n_s8(1));
            sum[0][j] = vdotq_laneq_s32(sum[0][j], y[j], upper, 0);
            sum[1][j] = vdotq_laneq_s32(sum[1][j], y[j], upper, 1);
            sum[2][j] = vdotq_laneq_s32(sum[2][j], y[j], upper, 2);
            sum[3][j] = vdotq_laneq_s32(sum[3][j], y[j], upper, 3);
            sum[4][j] = vdotq_laneq_s32(sum[4][j], y[j], lower, 0);
            sum[5][j] = vdotq_laneq_s32(sum[5][j], y[j], lower, 1);
            sum[6][j] = vdotq_laneq_s32(sum[6][j], y[j], lower, 2);
            sum[7][j] = vdotq_laneq_s32(sum[7][j], y[j], lower, 3);
        }
    }
    of_b[0] = vshlq_n_s32(of_b[0], 7);
    of_b[1] = vshlq_n_s32(of_b[1], 7);
#pragma GCC unroll 8
    for (int i = 0; i < MR; i++)
        if (i < mr)
            store_row(c + i * ldc,
                      (const vector[]){vaddq_s32(sum[i][0], of_b[0]), vaddq_s32(sum[i][1], of_b[1])}, 2, acc,
                      nr);
}
