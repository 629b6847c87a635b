/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UK_MR rows x 1 to 3 vectors of 16 columns of C from panels of groups of 4 bytes, in i32 (avx512vnni), or of
 * 2 bf16, in f32 (avx512bf16): sum[i][j] is vector j of row i. A k iteration multiplies a row's group,
 * broadcast to all lanes, by the groups of 16 columns.
 *
 * vpdpbusd multiplies u8 by i8, UK_OP_igemm's bytes. The others flip the highest bit of b, which adds 128
 * (UK_OP_i8gemm, whose b becomes the u8) or takes 128 away (UK_OP_u8gemm, whose b becomes the i8); of_a is
 * the sum of a, row i in lane i, by products with ones:
 *
 *     sum of a * b = sum of a * (b + 128) - 128 * sum of a = sum of a * (b - 128) + 128 * sum of a
 *
 * All wraps at 2^32, as i32 does. In panels of A a vector has a group of each row, which one product adds to
 * of_a. Rows in place are read once before the loop, 64 bytes of a row by one product, and the sums begin
 * with the correction: no register keeps it.
 *
 * Bound, for two vectors and 14 rows: 28 products and 18 loads per group, 2 of them prefetches; with flips 2
 * operations more. At two 512-bit products and two loads a cycle the products take 14 cycles: 128
 * multiply-adds of bytes a cycle, 64 of bf16; with flips 15 cycles: 119. 28 accumulators hide the latency of
 * 5 cycles, for which ten would do. Panels of A with flips have 12 rows, which leaves registers for of_a and
 * the ones: 25 products, 17 loads and 2 flips take 13.5 cycles: 114.
 *
 * UK_OP_..._ra: the rows of A in place. Five pointers, to every third row, and lda as an index reach all
 * rows; of the 28 rows of one vector six pointers, to every fifth. UK_OP_..._runs: the same for rows of
 * several runs, between which the sums stay in registers.
 *
 * One vector: 28 products, 29 loads and, for i8 and u8, 1 flip per group for 28 rows. Three: 27 products and
 * 15 loads for 9 rows. A tile that leaves out a vector of columns also leaves out its products.
 *
 * Two and three vectors are prefetched AHEAD bytes before they are read: one page, where the prefetchers of
 * the core end. The panel of the next columns follows in memory, so that few rows are multiplied as fast as
 * the last cache delivers B. One vector has no prefetches: its loads are the bound.
 *
 * At most FEW_ROWS rows in place have at most 8 sums, which do not hide the latency: groups are taken in
 * pairs, and the second ones have sums of their own.
 *
 * The last group of a sum in place may have fewer terms: its bytes are loaded under a mask, which does not
 * fault, and what the panel of B has beyond them is multiplied by 0.
 *
 * Edges: there is a loop for each number of rows, as tests between rows would take a port of products;
 * columns are masked. A full tile has code of its own, without masks and tests.
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
#if defined(UK_OP_i8gemm) || defined(UK_OP_i8gemm_ra)
typedef int8_t left, right;
#define MULTIPLY(s, x, y) _mm512_dpbusd_epi32(s, y, x)
#define OF_A(s, x, ones) _mm512_dpbusd_epi32(s, ones, x)
#define WITH(s, of_a) _mm512_sub_epi32(s, _mm512_slli_epi32(of_a, 7))
#elif defined(UK_OP_u8gemm) || defined(UK_OP_u8gemm_ra)
typedef uint8_t left, right;
#define MULTIPLY(s, x, y) _mm512_dpbusd_epi32(s, x, y)
#define OF_A(s, x, ones) _mm512_dpbusd_epi32(s, x, ones)
#define WITH(s, of_a) _mm512_add_epi32(s, _mm512_slli_epi32(of_a, 7))
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
enum {
    MR = UK_MR,
    NR = UK_NR,
    KR = UK_KR,
    V = 16,
    NV = UK_NR / 16,
    AHEAD = 4096,
    FEW_ROWS = 4,
    PAIRED_GROUPS = 32
};
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
#define A_OPERANDS int64_t runs, int64_t k, const left *a, int64_t lda, int64_t lds
#define ALL_OPERANDS A_OPERANDS, const right *b, int64_t ldb
#define THE_OPERANDS runs, k, a, lda, lds, b, ldb
#define ROWS const left *const *pointer, int64_t lda, int64_t lda3
#define THE_ROWS pointer, lda, lda3
#define MOVING_ROWS const left **pointer, int64_t lda
#define THE_MOVING_ROWS pointer, lda
#else
#define OPERANDS int64_t k, const left *a, const right *b
#define ALL_OPERANDS int64_t runs, OPERANDS, int64_t ldb
#define THE_OPERANDS runs, k, a, b, ldb
#define ROW(i) (a + (i) * KR)
#define ROWS const left *a
#define THE_ROWS a
#define MOVING_ROWS const left *a
#define THE_MOVING_ROWS a
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
static inline __attribute__((always_inline)) __m512i row(const left *a) {
    int32_t group;

    __builtin_memcpy(&group, a, sizeof group);
    return _mm512_set1_epi32(group);
}

#if defined POINTERS && !defined UK_OP_bgemm_ra
/* The last group of a sum, of fewer terms: no byte behind them is read. */
static inline __attribute__((always_inline)) __m512i last_of_row(const left *a, __mmask16 terms) {
    return _mm512_broadcastd_epi32(_mm_maskz_loadu_epi8(terms, a));
}
#define IN_PLACE
#endif

/* Loops over rows and over the vectors of a row, unrolled. */
#define EACH_ROW(i) _Pragma("GCC unroll 28") for (int i = 0; i < MR; i++)
#define EACH_VECTOR(j) _Pragma("GCC unroll 3") for (int j = 0; j < vectors; j++)

struct tile {
    vector sum[MR][NV];
    __m512i of_a;
};

#ifdef POINTERS
/* Moves the pointers to rows. */
static inline __attribute__((always_inline)) void advance(const left **pointer, int64_t by) {
#pragma GCC unroll 6
    for (int i = 0; i < POINTERS; i++) {
        pointer[i] += by;
        __asm__("" : "+r"(pointer[i])); /* a pointer to each row would take too many registers */
    }
}
#endif

#if defined IN_PLACE && defined OF_A
#define SUMS_IN_PLACE
enum { REDUCED = (MR + V - 1) / V * V };

/* Adds 64 bytes of each row to the row's 16 partial sums, or if `terms` is not 0 those that it selects. */
static inline __attribute__((always_inline)) void add_rows(__m512i *sum, ROWS, int64_t mr, __mmask64 terms) {
    (void)lda3;
    EACH_ROW(i) {
        if (i < mr)
            sum[i] = OF_A(sum[i], terms ? _mm512_maskz_loadu_epi8(terms, ROW(i)) : _mm512_loadu_si512(ROW(i)),
                          _mm512_set1_epi8(1));
    }
}

/* Adds lanes that differ in the bit h of their number: those of x where it is 0, those of y where it is 1. */
static inline __attribute__((always_inline)) __m512i fold(__m512i x, __m512i y, int h) {
#define OTHER(l) (((l) ^ h) | ((l) & h ? V : 0))
    const __m512i others = _mm512_setr_epi32(OTHER(0), OTHER(1), OTHER(2), OTHER(3), OTHER(4), OTHER(5),
                                             OTHER(6), OTHER(7), OTHER(8), OTHER(9), OTHER(10), OTHER(11),
                                             OTHER(12), OTHER(13), OTHER(14), OTHER(15));
    const __mmask16 of_y = h == 8 ? 0xff00 : h == 4 ? 0xf0f0 : h == 2 ? 0xcccc : 0xaaaa;

    return _mm512_add_epi32(_mm512_mask_blend_epi32(of_y, x, y), _mm512_permutex2var_epi32(x, others, y));
}

/* Begins the sums of all rows with what the flips of b add to them, the other way. */
static inline __attribute__((always_inline)) void begin(int vectors, struct tile *tile, A_OPERANDS,
                                                        int64_t mr) {
    const left *pointer[POINTERS];
    const int64_t lda3 = 3 * lda;
    __m512i sum[REDUCED];
    int32_t start[REDUCED], *at = start;

#pragma GCC unroll 6
    for (int i = 0; i < POINTERS; i++)
        pointer[i] = STEP * i < mr ? a + STEP * i * lda : a;
#pragma GCC unroll 32
    for (int i = 0; i < REDUCED; i++)
        sum[i] = _mm512_setzero_si512();
#pragma GCC unroll 1
    for (int64_t t = 0; t < runs; t++) {
#pragma GCC unroll 1
        for (int64_t p = 64; p <= k; p += 64) {
            add_rows(sum, THE_ROWS, mr, 0);
            advance(pointer, 64);
        }
        if (k % 64)
            add_rows(sum, THE_ROWS, mr, ((__mmask64)1 << k % 64) - 1);
        advance(pointer, lds - k / 64 * 64);
    }
#pragma GCC unroll 2
    for (int r = 0; r < REDUCED; r += V) {
#pragma GCC unroll 4
        for (int h = V / 2; h > 0; h /= 2)
#pragma GCC unroll 8
            for (int i = 0; i < h; i++)
                sum[r + i] = fold(sum[r + i], sum[r + i + h], h);
        _mm512_storeu_si512(start + r, WITH(_mm512_setzero_si512(), sum[r]));
    }
    EACH_ROW(i) {
        /* Broadcasts from memory, which take no port of the products. */
        __asm__("" : "+r"(at) : : "memory");
        EACH_VECTOR(j) {
            tile->sum[i][j] = _mm512_set1_epi32(at[i]);
        }
    }
}
#endif

/* Adds the products of a group. `terms`: 0, or in a last group of fewer terms the bytes of it that exist. */
static inline __attribute__((always_inline)) void add_group(int vectors, struct tile *t, ROWS, const right *b,
                                                            int64_t mr, __mmask16 terms) {
    __m512i y[NV];

    (void)terms;
#ifdef POINTERS
    (void)lda3;
#endif
    EACH_VECTOR(j) {
        y[j] = columns(b + j * V * KR);
    }
#if defined OF_A && !defined POINTERS
    t->of_a = OF_A(t->of_a, _mm512_maskz_loadu_epi32((1 << MR) - 1, a), _mm512_set1_epi8(1));
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
#ifndef UK_IN_C
                /* Otherwise compilers move products after the tests of later rows, and spill their operands.
                 */
                __asm__ volatile("" : "+v"(t->sum[i][j]));
#endif
            }
        }
    }
}

/* Prefetches what is multiplied a page later. */
static inline __attribute__((always_inline)) void prefetch(int vectors, const right *b) {
    if (vectors > 1)
        EACH_VECTOR(j) {
            _mm_prefetch((const char *)b + AHEAD + 64 * j, _MM_HINT_T0);
        }
}

#ifdef IN_PLACE
/* Pairs of groups, for at most FEW_ROWS rows; the second ones have sums of their own. */
static inline __attribute__((always_inline)) void add_pairs(int vectors, struct tile *t, MOVING_ROWS,
                                                            const right *b, int64_t pairs, int64_t mr) {
    const int64_t lda3 = 3 * lda;
    struct tile second;

    EACH_ROW(i) {
        EACH_VECTOR(j) {
            second.sum[i][j] = ZERO();
        }
    }
#pragma GCC unroll 1
    for (; pairs > 0; pairs--, b += 2 * NR * KR) {
        prefetch(vectors, b);
        add_group(vectors, t, THE_ROWS, b, mr, 0);
        advance(pointer, KR);
        prefetch(vectors, b + NR * KR);
        add_group(vectors, &second, THE_ROWS, b + NR * KR, mr, 0);
        advance(pointer, KR);
    }
    EACH_ROW(i) {
        if (i < mr)
            EACH_VECTOR(j) {
                t->sum[i][j] = ADD(t->sum[i][j], second.sum[i][j]);
            }
    }
}
#endif

/* The products of whole groups. */
static inline __attribute__((always_inline)) void add_groups(int vectors, struct tile *t, MOVING_ROWS,
                                                             const right *b, int64_t groups, int64_t mr) {
#ifdef POINTERS
    const int64_t lda3 = 3 * lda;
#endif
#ifdef IN_PLACE
    if (mr <= FEW_ROWS && groups >= PAIRED_GROUPS) {
        add_pairs(vectors, t, THE_MOVING_ROWS, b, groups / 2, mr);
        b += groups / 2 * 2 * NR * KR;
        groups %= 2;
    }
#endif
#pragma GCC unroll 1
    for (; groups > 0; groups--, b += NR * KR) {
        prefetch(vectors, b);
        add_group(vectors, t, THE_ROWS, b, mr, 0);
#ifdef POINTERS
        advance(pointer, KR);
#else
        a += MR * KR;
#endif
    }
}

/* The same, by a loop for each number of rows. */
static inline __attribute__((always_inline)) void multiply(int vectors, struct tile *t, MOVING_ROWS,
                                                           const right *b, int64_t groups, int64_t mr) {
    switch (mr) {
#define LOOP(n)                                                    \
    case n:                                                        \
        if ((n) <= MR)                                             \
            add_groups(vectors, t, THE_MOVING_ROWS, b, groups, n); \
        break;
#define LOOPS(n) LOOP(n) LOOP((n) + 1) LOOP((n) + 2) LOOP((n) + 3)
        LOOPS(1)
        LOOPS(5)
        LOOPS(9)
        LOOPS(13)
        LOOPS(17)
        LOOPS(21)
        LOOPS(25)
    default:
        break;
    }
}

/* A tile of at most that many vectors of columns. */
static inline __attribute__((always_inline)) void compute(int vectors, ALL_OPERANDS, total *c, int64_t ldc,
                                                          int64_t acc, int64_t mr, int64_t nr) {
    const uint64_t all = ((uint64_t)1 << nr) - 1;
    struct tile tile;
#ifdef POINTERS
    const left *pointer[POINTERS];

    for (int i = 0; i < POINTERS; i++)
        pointer[i] = STEP * i < mr ? a + STEP * i * lda : a;
#endif

#ifdef SUMS_IN_PLACE
    begin(vectors, &tile, runs, k, a, lda, lds, mr);
#else
    tile.of_a = _mm512_setzero_si512();
    EACH_VECTOR(j) {
        EACH_ROW(i) {
            tile.sum[i][j] = ZERO();
        }
    }
#endif
#pragma GCC unroll 1
    for (int64_t t = 0; t < runs; t++, b += ldb - k / KR * KR * NR) {
        multiply(vectors, &tile, THE_MOVING_ROWS, b, k / KR, mr);
        b += k / KR * KR * NR;
#ifndef POINTERS
        a += k / KR * KR * MR;
#endif
#ifdef IN_PLACE
        if (k % KR) {
            const int64_t lda3 = 3 * lda;

            add_group(vectors, &tile, THE_ROWS, b, mr, (__mmask16)((1 << k % KR) - 1));
        }
#endif
#ifdef POINTERS
        advance(pointer, lds - k / KR * KR);
#endif
    }
    EACH_ROW(i) {
#if defined OF_A && !defined POINTERS
        const __m512i more = _mm512_permutexvar_epi32(_mm512_set1_epi32(i), tile.of_a);
#endif
        EACH_VECTOR(j) {
            vector *x = &tile.sum[i][j];

#if defined OF_A && !defined POINTERS
            *x = WITH(*x, more);
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

void UK_SYMBOL(OPERANDS, total *c, int64_t ldc, int64_t acc, int64_t mr, int64_t nr) {
    ONE_RUN
    if (mr == MR && nr == NR)
        compute(NV, THE_OPERANDS, c, ldc, acc, MR, NR);
    else if (NV > 2 && nr > 2 * V)
        compute(3, THE_OPERANDS, c, ldc, acc, mr, nr);
    else if (NV > 1 && nr > V)
        compute(2, THE_OPERANDS, c, ldc, acc, mr, nr);
    else
        compute(1, THE_OPERANDS, c, ldc, acc, mr, nr);
}
