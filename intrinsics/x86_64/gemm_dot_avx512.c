/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UK_MR rows x 1 to 3 vectors of 16 columns of C from panels of groups of 4 bytes, in i32 (avx512vnni), or of
 * 2 bf16, in f32 (avx512bf16): sum[i][j] is vector j of row i. A k iteration multiplies a row's group,
 * broadcast to all lanes, by the groups of 16 columns.
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
 * Bound, for two vectors: 28 products and 16 loads per group for 14 rows; 25 products, 15 loads and 2 flips
 * for 12. At two 512-bit products and two loads a cycle the products for 14 rows take 14 cycles: 128
 * multiply-adds of bytes a cycle, 64 of bf16. Those for 12 rows, with the flips, take 13.5 cycles: 114. 28
 * accumulators hide the latency of 5 cycles, for which ten would do. 12 rows leave registers for of_a and the
 * constants.
 *
 * UK_OP_..._ra: the rows of A in place. Five pointers, to every third row, and lda as an index reach all
 * rows; of the 28 rows of one vector six pointers, to every fifth. Where A is flipped, 12 rows take 26
 * products, 14 loads and 12 flips. UK_OP_..._runs: the same for rows of several runs, between which the sums
 * stay in registers.
 *
 * One vector: 28 products and 29 loads per group for 28 rows, 25 products, 25 loads and 24 flips for 24.
 * Three: 27 products and 12 loads for 9 rows.
 *
 * The last group of a sum in place may have fewer terms: its bytes are loaded under a mask, which does not
 * fault, and what the panel of B has beyond them is multiplied by 0.
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
enum { MR = UK_MR, NR = UK_NR, KR = UK_KR, V = 16, NV = UK_NR / 16 };
#if defined(UK_OP_igemm_ra) || defined(UK_OP_i8gemm_ra) || defined(UK_OP_u8gemm_ra) || defined(UK_OP_bgemm_ra)
#define OPERANDS OF_ROWS(left, right)
#if UK_NR == 16
#define STEP 5
#define ROW(i) (pointer[(i) / STEP] + ((i) % STEP == 3 ? lda3 : (i) % STEP * lda))
#else
#define STEP 3
#define ROW(i) (pointer[(i) / STEP] + (i) % STEP * lda)
#endif
#define POINTERS ((MR + STEP - 1) / STEP)
#define ROWS const left *const *pointer, int64_t lda, int64_t lda3
#define THE_ROWS pointer, lda, lda3
#else
#define OPERANDS int64_t k, const left *a, const right *b
#define ROW(i) (a + (i) * KR)
#define ROWS const left *a
#define THE_ROWS a
#endif

/* The groups of 16 columns of b. */
static inline __attribute__((always_inline)) __m512i columns(const right *b) {
#ifdef OF_A
    return _mm512_xor_si512(_mm512_loadu_si512(b), _mm512_set1_epi8(-128));
#else
    return _mm512_loadu_si512(b);
#endif
}

/* A row's group, in all lanes. */
static inline __attribute__((always_inline)) __m512i to_left(__m512i x) {
#ifdef OF_B
    x = _mm512_xor_si512(x, _mm512_set1_epi8(-128));
#endif
    return x;
}

static inline __attribute__((always_inline)) __m512i row(const left *a) {
    int32_t group;

    __builtin_memcpy(&group, a, sizeof group);

    __m512i x = _mm512_set1_epi32(group);
#if defined OF_B && !defined UK_IN_C
    __asm__("" : "+v"(x)); /* otherwise the broadcast is not a load: the compiler flips the bits before it */
#endif
    return to_left(x);
}

#if defined POINTERS && !defined UK_OP_bgemm_ra
/* The last group of a sum, of fewer terms: no byte behind them is read. */
static inline __attribute__((always_inline)) __m512i last_of_row(const left *a, __mmask16 terms) {
    return to_left(_mm512_broadcastd_epi32(_mm_maskz_loadu_epi8(terms, a)));
}
#define IN_PLACE
#endif

/* Loops over rows and over the vectors of a row, unrolled. */
#define EACH_ROW(i) _Pragma("GCC unroll 28") for (int i = 0; i < MR; i++)
#define EACH_VECTOR(j) _Pragma("GCC unroll 3") for (int j = 0; j < NV; j++)

struct tile {
    vector sum[MR][NV];
    __m512i of_a, of_b[NV];
};

/* Adds the products of a group. `terms`: 0, or in a last group of fewer terms the bytes of it that exist. */
static inline __attribute__((always_inline)) void add_group(struct tile *t, ROWS, const right *b, int64_t mr,
                                                            __mmask16 terms) {
    __m512i y[NV];

    (void)terms;
#ifdef POINTERS
    (void)lda3;
#endif
    EACH_VECTOR(j) {
        y[j] = columns(b + j * V * KR);
#ifdef OF_B
        t->of_b[j] = OF_B(t->of_b[j], y[j], _mm512_set1_epi8(1));
#endif
    }
#ifdef OF_A
    t->of_a = OF_A(t->of_a, (1 << MR) - 1, _mm512_maskz_loadu_epi32((1 << MR) - 1, a), _mm512_set1_epi8(1));
#endif
    EACH_ROW(i) {
        if (i < mr) {
#ifdef IN_PLACE
            const __m512i x = terms ? last_of_row(ROW(i), terms) : row(ROW(i));
#else
            const __m512i x = row(ROW(i));
#endif

            EACH_VECTOR(j) {
                t->sum[i][j] = MULTIPLY(t->sum[i][j], x, y[j]);
            }
        }
    }
}

void UK_SYMBOL(OPERANDS, total *c, int64_t ldc, int64_t acc, int64_t mr, int64_t nr) {
    ONE_RUN
    const uint64_t all = ((uint64_t)1 << nr) - 1;
    struct tile tile;
#ifdef POINTERS
    const left *pointer[POINTERS];
    int64_t lda3 = 3 * lda;

    for (int i = 0; i < POINTERS; i++)
        pointer[i] = STEP * i < mr ? a + STEP * i * lda : a;
#endif

    tile.of_a = _mm512_setzero_si512();
    EACH_VECTOR(j) {
        tile.of_b[j] = _mm512_setzero_si512();
        EACH_ROW(i) {
            tile.sum[i][j] = ZERO();
        }
    }
#pragma GCC unroll 1
    for (int64_t t = 0; t < runs; t++, b += ldb - k / KR * KR * NR) {
#pragma GCC unroll 1
        for (int64_t p = 0; p < k / KR; p++, b += NR * KR) {
            add_group(&tile, THE_ROWS, b, mr, 0);
#ifdef POINTERS
#pragma GCC unroll 6
            for (int i = 0; i < POINTERS; i++) {
                pointer[i] += KR;
                __asm__("" : "+r"(pointer[i])); /* a pointer to each row would take too many registers */
            }
#else
            a += MR * KR;
#endif
        }
#ifdef IN_PLACE
        if (k % KR)
            add_group(&tile, THE_ROWS, b, mr, (__mmask16)((1 << k % KR) - 1));
#endif
#ifdef POINTERS
#pragma GCC unroll 6
        for (int i = 0; i < POINTERS; i++)
            pointer[i] += lds - k / KR * KR;
#endif
    }
    EACH_ROW(i) {
#ifdef OF_A
        const __m512i more = _mm512_permutexvar_epi32(_mm512_set1_epi32(i), tile.of_a);
#endif
        EACH_VECTOR(j) {
            vector *x = &tile.sum[i][j];

#ifdef OF_A
            *x = WITH(*x, more);
#elif defined OF_B
            *x = WITH(*x, tile.of_b[j]);
#endif
            if (acc && i < mr)
                *x = ADD(PART((__mmask16)(all >> V * j), c + i * ldc + V * j), *x);
        }
    }
    /* After all loads: a load would wait for a store to any of its bytes, those outside its mask included,
     * such as to a row beside its own where rows are shorter than a vector. */
    __asm__("" : : : "memory");
    EACH_ROW(i) {
        if (i < mr)
            EACH_VECTOR(j) {
                STORE(c + i * ldc + V * j, (__mmask16)(all >> V * j), tile.sum[i][j]);
            }
    }
}
