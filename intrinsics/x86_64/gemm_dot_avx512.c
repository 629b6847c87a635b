/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UK_MR rows x 32 columns of C from panels of groups of 4 bytes, in i32 (avx512vnni), or of 2 bf16, in f32
 * (avx512bf16): sum[i][0] and sum[i][1] are columns 0-15 and 16-31 of row i. A k iteration multiplies a row's
 * group, broadcast to all lanes, by the groups of 16 columns.
 *
 * vpdpbusd multiplies u8 by i8, UK_OP_igemm's bytes. The others flip the highest bit of b, which adds 128
 * (UK_OP_i8gemm, whose b becomes the u8) or takes 128 away (UK_OP_u8gemm, whose b becomes the i8); of_a is
 * the sum of a, row i in lane i, by a product with ones:
 *
 *     sum of a * b = sum of a * (b + 128) - 128 * sum of a = sum of a * (b - 128) + 128 * sum of a
 *
 * With the rows of A in place it is a that is flipped, row by row (UK_OP_i8gemm_ra, whose a becomes the u8;
 * UK_OP_u8gemm_ra, whose a becomes the i8); of_b is the sums of b, by two products with ones:
 *
 *     sum of a * b = sum of (a + 128) * b - 128 * sum of b = sum of (a - 128) * b + 128 * sum of b
 *
 * All wraps at 2^32, as i32 does.
 *
 * Bound: 28 products and 16 loads per group for 14 rows; 25 products, 15 loads and 2 flips for 12. At two
 * 512-bit products and two loads a cycle the products for 14 rows take 14 cycles: 128 multiply-adds of bytes
 * a cycle, 64 of bf16. Those for 12 rows, with the flips, take 13.5 cycles: 114. 28 accumulators hide the
 * latency of 5 cycles, for which ten would do. 12 rows leave registers for of_a and the constants.
 *
 * UK_OP_..._ra: the rows of A in place. Five pointers, to every third row, and lda as an index reach all
 * rows. Where A is flipped, 12 rows take 26 products, 14 loads and 12 flips. UK_OP_..._runs: the same for
 * rows of several runs, between which the sums stay in registers.
 *
 * Edges: a tile of fewer rows ends each k iteration after its last row; columns are masked.
 */
#include <immintrin.h>
#include "registry/kernel_contract.h"
#include "../any/runs.h"

#if defined(UK_OP_bgemm) || defined(UK_OP_bgemm_ra)
typedef uint16_t left, right;
typedef float total;
typedef __m512 vector;
#define ZERO() _mm512_setzero_ps()
#define MULTIPLY(s, x, y) _mm512_dpbf16_ps(s, (__m512bh)(x), (__m512bh)(y))
#define PART(mask, p) _mm512_maskz_loadu_ps(mask, p)
#define STORE(p, mask, x) _mm512_mask_storeu_ps(p, mask, x)
#define ADD(x, y) _mm512_add_ps(x, y)
#else
#if defined(UK_OP_i8gemm)
typedef int8_t left, right;
#define MULTIPLY(s, x, y) _mm512_dpbusd_epi32(s, y, x)
#define OF_A(s, mask, x, ones) _mm512_mask_dpbusd_epi32(s, mask, ones, x)
#define WITH(s, of_a) _mm512_sub_epi32(s, _mm512_slli_epi32(of_a, 7))
#elif defined(UK_OP_u8gemm)
typedef uint8_t left, right;
#define MULTIPLY(s, x, y) _mm512_dpbusd_epi32(s, x, y)
#define OF_A(s, mask, x, ones) _mm512_mask_dpbusd_epi32(s, mask, x, ones)
#define WITH(s, of_a) _mm512_add_epi32(s, _mm512_slli_epi32(of_a, 7))
#elif defined(UK_OP_i8gemm_ra)
typedef int8_t left, right;
#define MULTIPLY(s, x, y) _mm512_dpbusd_epi32(s, x, y)
#define OF_B(s, y, ones) _mm512_dpbusd_epi32(s, ones, y)
#define WITH(s, of_b) _mm512_sub_epi32(s, _mm512_slli_epi32(of_b, 7))
#elif defined(UK_OP_u8gemm_ra)
typedef uint8_t left, right;
#define MULTIPLY(s, x, y) _mm512_dpbusd_epi32(s, y, x)
#define OF_B(s, y, ones) _mm512_dpbusd_epi32(s, y, ones)
#define WITH(s, of_b) _mm512_add_epi32(s, _mm512_slli_epi32(of_b, 7))
#else
typedef uint8_t left;
typedef int8_t right;
#define MULTIPLY(s, x, y) _mm512_dpbusd_epi32(s, x, y)
#endif
typedef int32_t total;
typedef __m512i vector;
#define ZERO() _mm512_setzero_si512()
#define PART(mask, p) _mm512_maskz_loadu_epi32(mask, p)
#define STORE(p, mask, x) _mm512_mask_storeu_epi32(p, mask, x)
#define ADD(x, y) _mm512_add_epi32(x, y)
#endif
enum { MR = UK_MR, NR = UK_NR, KR = UK_KR, V = 16 };
#if defined(UK_OP_igemm_ra) || defined(UK_OP_i8gemm_ra) || defined(UK_OP_u8gemm_ra) || defined(UK_OP_bgemm_ra)
#define OPERANDS OF_ROWS(left, right)
#define ROW(i) (third[(i) / 3] + (i) % 3 * lda)
#define THIRDS ((MR + 2) / 3)
#else
#define OPERANDS int64_t k, const left *a, const right *b
#define ROW(i) (a + (i) * KR)
#endif

/* The groups of 16 columns of b. */
static inline __attribute__((always_inline)) __m512i columns(const right *b) {
#ifdef OF_A
    return _mm512_xor_si512(_mm512_loadu_si512(b), _mm512_set1_epi8(-128));
#else
    return _mm512_loadu_si512(b);
#endif
}

/* A row's group, broadcast to all lanes. */
static inline __attribute__((always_inline)) __m512i row(const left *a) {
    int32_t group;

    __builtin_memcpy(&group, a, sizeof group);

    __m512i x = _mm512_set1_epi32(group);
#ifdef OF_B
#ifndef UK_IN_C
    __asm__("" : "+v"(x)); /* otherwise the broadcast is not a load: the compiler flips the bits before it */
#endif
    x = _mm512_xor_si512(x, _mm512_set1_epi8(-128));
#endif
    return x;
}

void UK_SYMBOL(OPERANDS, total *c, int64_t ldc, int64_t acc, int64_t mr, int64_t nr) {
    ONE_RUN
    const uint32_t all = nr < NR ? (1u << nr) - 1 : ~0u;
    const __mmask16 low = (__mmask16)all, high = (__mmask16)(all >> 16);
    vector sum[MR][2];
#ifdef OF_A
    __m512i of_a = _mm512_setzero_si512();
#elif defined OF_B
    __m512i of_b[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
#endif
#ifdef THIRDS
    const left *third[THIRDS];

    for (int t = 0; t < THIRDS; t++)
        third[t] = 3 * t < mr ? a + 3 * t * lda : a;
#endif

#pragma GCC unroll 14
    for (int i = 0; i < MR; i++)
        sum[i][0] = sum[i][1] = ZERO();
#pragma GCC unroll 1
    for (int64_t t = 0; t < runs; t++, b += ldb - k * NR) {
#pragma GCC unroll 1
        for (int64_t p = 0; p < k; p += KR, b += NR * KR) {
            const __m512i y = columns(b), z = columns(b + V * KR);

#ifdef OF_A
            of_a = OF_A(of_a, (1 << MR) - 1, _mm512_maskz_loadu_epi32((1 << MR) - 1, a), _mm512_set1_epi8(1));
#elif defined OF_B
            of_b[0] = OF_B(of_b[0], y, _mm512_set1_epi8(1));
            of_b[1] = OF_B(of_b[1], z, _mm512_set1_epi8(1));
#endif
#pragma GCC unroll 14
            for (int i = 0; i < MR; i++) {
                if (i < mr) {
                    const __m512i x = row(ROW(i));

                    sum[i][0] = MULTIPLY(sum[i][0], x, y);
                    sum[i][1] = MULTIPLY(sum[i][1], x, z);
                }
            }
#ifdef THIRDS
#pragma GCC unroll 5
            for (int i = 0; i < THIRDS; i++) {
                third[i] += KR;
                __asm__("" : "+r"(third[i])); /* a pointer to each row would take too many registers */
            }
#else
            a += MR * KR;
#endif
        }
#ifdef THIRDS
#pragma GCC unroll 5
        for (int i = 0; i < THIRDS; i++)
            third[i] += lds - k;
#endif
    }
#pragma GCC unroll 14
    for (int i = 0; i < MR; i++) {
        if (i < mr) {
            total *d = c + i * ldc;
            vector x = sum[i][0], y = sum[i][1];

#ifdef OF_A
            const __m512i more = _mm512_permutexvar_epi32(_mm512_set1_epi32(i), of_a);

            x = WITH(x, more);
            y = WITH(y, more);
#elif defined OF_B
            x = WITH(x, of_b[0]);
            y = WITH(y, of_b[1]);
#endif
            STORE(d, low, acc ? ADD(PART(low, d), x) : x);
            STORE(d + V, high, acc ? ADD(PART(high, d + V), y) : y);
        }
    }
}
