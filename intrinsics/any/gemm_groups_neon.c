/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UK_MR x UK_NR elements of C, in i32, from panels of groups of 8 bytes, or with the rows of A in place
 * (UK_OP_..._ra), for NEON without dot products: 4 x 4 on AArch64, 2 x 4 on ARMv7, whose 16 registers hold no
 * more. sum[i][j] is a vector of four partial sums of element (i, j):
 *
 *     smull (umull)     8 products of 16 bits = a[i] * b[j]
 *     sadalp (uadalp)   adds pairs of them to sum[i][j]
 *
 * A product of two bytes fits 16 bits: -128 * -128 is 2^14, 255 * 255 is less than 2^16. The sum of two such
 * products does not, so each is widened to 32 bits before it is added. There is no product of u8 by i8
 * (UK_OP_igemm): a - 128, which is a with its highest bit flipped, is an i8, and
 *
 *     sum of a * b = sum of (a - 128) * b + 128 * sum of b
 *
 * One more row, of ones, gives the sums of b; on ARMv7 two additions of pairs, in half a register.
 *
 * Bound: MR NR multiplications and as many additions of pairs per group, 8 terms each. If each of the two has
 * a pipe of its own (Cortex-A76, Neoverse N1) that is 8 multiply-adds a cycle, 4 on cores with vectors of 64
 * bits (Cortex-A53, A7); igemm reaches 16 / 22 of that on AArch64, because of the row of ones and the flips.
 * Loads, of 8 bytes for two products or more, take fewer cycles on any core.
 *
 * UK_OP_..._runs: rows of several runs, between which the sums stay in registers.
 *
 * Edge tiles cost as much as the whole tile; rows and columns that the tile does not have are not stored.
 */
#include <arm_neon.h>
#include "registry/kernel_contract.h"
#include "runs.h"

/* With rows of A in place the loop is the same. */
#if defined(UK_OP_igemm_ra)
#define UK_OP_igemm
#elif defined(UK_OP_u8gemm_ra)
#define UK_OP_u8gemm
#endif
#if defined(UK_OP_igemm_ra) || defined(UK_OP_i8gemm_ra) || defined(UK_OP_u8gemm_ra)
#define OPERANDS OF_ROWS(left, right)
#define ROW(i) ((i) < mr ? a + (i) * lda : a) /* a row that the tile does not have is read as row 0 */
#define STRIDE KR
#else
#define OPERANDS int64_t k, const left *a, const right *b
#define ROW(i) (a + (i) * KR)
#define STRIDE (MR * KR)
#endif

#if defined(UK_OP_u8gemm)
typedef uint8_t left, right;
typedef uint8x8_t bytes;
typedef uint32x4_t sums;
#define LOAD_A(p) vld1_u8(p)
#define LOAD_B(p) vld1_u8(p)
#define ADD_PRODUCTS(s, x, y) vpadalq_u16(s, vmull_u8(x, y))
#define WORDS(s) vreinterpretq_s32_u32(s)
#else
#if defined(UK_OP_igemm)
typedef uint8_t left;
#define LOAD_A(p) vreinterpret_s8_u8(veor_u8(vld1_u8(p), vdup_n_u8(0x80)))
#ifdef __aarch64__
typedef int32x4_t sums_of_b;
#define ADD_BYTES(s, x) ADD_PRODUCTS(s, x, ones)
#define ADDED_UP_OF_B(s) added_up(s)
#else
typedef int32x2_t sums_of_b;
#define ADD_BYTES(s, x) vpadal_s16(s, vpaddl_s8(x))
#define ADDED_UP_OF_B(s) vcombine_s32(vpadd_s32(s[0], s[1]), vpadd_s32(s[2], s[3]))
#endif
#else
typedef int8_t left;
#define LOAD_A(p) vld1_s8(p)
#endif
typedef int8_t right;
typedef int8x8_t bytes;
typedef int32x4_t sums;
#define LOAD_B(p) vld1_s8(p)
#define ADD_PRODUCTS(s, x, y) vpadalq_s16(s, vmull_s8(x, y))
#define WORDS(s) (s)
#endif
enum { MR = UK_MR, NR = UK_NR, KR = UK_KR };

/* Adds up the partial sums of each element of a row. */
static inline __attribute__((always_inline)) int32x4_t added_up(const sums s[NR]) {
#ifdef __aarch64__
    return vpaddq_s32(vpaddq_s32(WORDS(s[0]), WORDS(s[1])), vpaddq_s32(WORDS(s[2]), WORDS(s[3])));
#else
    int32x2_t half[NR];

    for (int j = 0; j < NR; j++)
        half[j] = vadd_s32(vget_low_s32(WORDS(s[j])), vget_high_s32(WORDS(s[j])));
    return vcombine_s32(vpadd_s32(half[0], half[1]), vpadd_s32(half[2], half[3]));
#endif
}

static inline __attribute__((always_inline)) void store_row(int32_t *c, int32x4_t x, int64_t acc,
                                                            int64_t nr) {
    if (nr == NR) {
        vst1q_s32(c, acc ? vaddq_s32(vld1q_s32(c), x) : x);
        return;
    }
    for (int j = 0; j < NR - 1; j++) {
        if (j < nr)
            c[j] = (int32_t)((acc ? (uint32_t)c[j] : 0) + (uint32_t)vgetq_lane_s32(x, 0));
        x = vextq_s32(x, x, 1);
    }
}

void UK_SYMBOL(OPERANDS, int32_t *c, int64_t ldc, int64_t acc, int64_t mr, int64_t nr) {
    ONE_RUN
    const left *row[MR];
    sums sum[MR][NR];
    int32x4_t more = vdupq_n_s32(0);

    for (int i = 0; i < MR; i++) {
        row[i] = ROW(i);
        for (int j = 0; j < NR; j++)
            sum[i][j] = (sums){0};
    }
#ifdef UK_OP_igemm
    sums_of_b of_b[NR];

    for (int j = 0; j < NR; j++)
        of_b[j] = (sums_of_b){0};
#ifdef __aarch64__
    bytes ones = vdup_n_s8(1);

    /* Hides the ones from the compiler, which would replace the multiplication by 1 with an operation of the
     * other pipe. */
    __asm__("" : "+w"(ones));
#endif
#endif
#pragma GCC unroll 1
    for (int64_t t = 0; t < runs; t++, b += ldb - k * NR) {
#pragma GCC unroll 1
        for (int64_t p = 0; p < k; p += KR, b += NR * KR) {
            bytes x[MR], y[NR];

#pragma GCC unroll 4
            for (int i = 0; i < MR; i++, row[i - 1] += STRIDE)
                x[i] = LOAD_A(row[i]);
#pragma GCC unroll 4
            for (int j = 0; j < NR; j++)
                y[j] = LOAD_B(b + j * KR);
#pragma GCC unroll 4
            for (int j = 0; j < NR; j++) {
#ifdef UK_OP_igemm
                of_b[j] = ADD_BYTES(of_b[j], y[j]);
#endif
#pragma GCC unroll 4
                for (int i = 0; i < MR; i++)
                    sum[i][j] = ADD_PRODUCTS(sum[i][j], x[i], y[j]);
#if defined(UK_OP_igemm) && !defined(__aarch64__)
                /* Keeps the compiler from computing the products of all columns first, for which there are no
                 * registers. */
                if (j + 1 < NR)
                    __asm__("" : "+w"(sum[0][j]), "+w"(sum[1][j]), "+w"(y[j + 1]));
#endif
            }
        }
#pragma GCC unroll 4
        for (int i = 0; i < MR; i++)
            row[i] += lds - k;
    }
#ifdef UK_OP_igemm
    more = vshlq_n_s32(ADDED_UP_OF_B(of_b), 7);
#endif
#pragma GCC unroll 4
    for (int i = 0; i < MR; i++)
        if (i < mr)
            store_row(c + i * ldc, vaddq_s32(added_up(sum[i]), more), acc, nr);
}
