/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UK_MR rows x UK_NR columns of C from panels of groups of 8 bytes (4x5, 4x4, 4x8), or, of UK_OP_..._ra, from
 * rows of A in place and a panel of B (4x4, 4x8); UK_OP_..._runs: rows of A that are several runs of k (4x8).
 * smaqa.su (igemm: i8 of B by u8 of A; i8u8gemm: i8 of A by u8 of B), smaqa (i8gemm), umaqa (u8gemm): a
 * register holds 8 consecutive k of a row or of a column, an instruction multiplies all of them and adds four
 * products to each half of a sum. The halves of a sum belong to one element of C and are added in the end,
 * those of two neighbours at once. Of i16 (i16gemm, panels of groups of 4) smalda adds four products to a
 * whole sum, whose lower half is stored: kmada, which makes two halves, would saturate.
 *
 *     t0..t3   8 bytes of each of four rows of A
 *     t4       8 bytes of a column of B
 *     sums     one for each element: dot_loops_rvp.h has the registers
 *     pointers A (_ra: each row), B, and where A's unrolled part ends
 *
 * Bound per MAC, of r rows, c columns, unrolled by U groups: (r + c + r c) / (8 r c) + (pointers + 1 or 2) /
 * (8 r c U) instructions. 4x5, U = 4: 0.1875; 4x4, U = 4: 0.193, U = 8: 0.190; in place, U = 8: 0.194. 4x5
 * needs 20 sums, 5 values and 2 pointers, which are all 27 registers (32 without zero, sp, gp, tp and s0, a
 * frame pointer): the loop's end is held in an F register, which takes an instruction more for each unrolled
 * iteration. A tile of 4x8 is two of 4x4, unrolled by 8 groups, in one statement: a panel of 8 columns is
 * packed with half the instructions of one of 5; tiles of one or two rows compute 5 to 8 columns at once. In
 * addition a tile of 4x5 takes 20 instructions to begin and 49 to end, one of 4x4 16 and 37, or 5 to 6 more
 * where it is added to C, with which its sums then begin.
 *
 * Rows in place, 4x8: the loop, unrolled by 8 groups, is entered in its middle, so that the remainder of the
 * groups comes first and needs no loop of its own. Each run is entered in the same way: the sums stay in
 * registers from one run to the next, and 17 instructions per run of a tile of 4x4 move the pointers and the
 * end. Edge tiles add each run to C.
 *
 * Edges: each number of rows and of columns has its own loop. That of 4x1 is unrolled by 16 groups, then by 4
 * (0.287 instructions), the others by 4.
 *
 * Loads and stores are of 8 bytes at any address; how fast they are where rows do not begin at a multiple of
 * 8 depends on the core. A column's value is loaded right before its first use: a core that issues in order
 * waits for the load's latency once per column.
 */
#include "registry/kernel_contract.h"
#include "registry/rvp.h"

#if defined(UK_OP_i16gemm)
typedef int16_t left, right;
#define MAQA smalda
#elif defined(UK_OP_i8gemm) || defined(UK_OP_i8gemm_ra) || defined(UK_OP_i8gemm_runs)
typedef int8_t left, right;
#define MAQA smaqa
#elif defined(UK_OP_u8gemm) || defined(UK_OP_u8gemm_ra) || defined(UK_OP_u8gemm_runs)
typedef uint8_t left, right;
#define MAQA umaqa
#elif defined(UK_OP_i8u8gemm) || defined(UK_OP_i8u8gemm_ra) || defined(UK_OP_i8u8gemm_runs)
typedef int8_t left;
typedef uint8_t right;
#define MAQA smaqa_su
#define A_FIRST 1
#else
typedef uint8_t left;
typedef int8_t right;
#define MAQA smaqa_su
#endif
#ifndef A_FIRST
#define A_FIRST 0 /* the signed operand of smaqa.su comes first */
#endif
#if defined(UK_OP_igemm_runs) || defined(UK_OP_i8gemm_runs) || defined(UK_OP_u8gemm_runs) || \
    defined(UK_OP_i8u8gemm_runs)
#define RUNS 1
#else
#define RUNS 0
#endif
#if RUNS || defined(UK_OP_igemm_ra) || defined(UK_OP_i8gemm_ra) || defined(UK_OP_u8gemm_ra) || \
    defined(UK_OP_i8u8gemm_ra)
#define IN_PLACE 1
#else
#define IN_PLACE 0
#endif
/* A sum is either one of 64 bits, whose lower half is stored to C, or two of 32 bits. */
#ifdef UK_OP_i16gemm
#define WHOLE_SUMS 1
#else
#define WHOLE_SUMS 0
#endif
enum { MR = UK_MR, NR = UK_NR, KR = UK_KR };
_Static_assert(KR * sizeof(left) == 8 && sizeof(left) == sizeof(right), "a group fills a register");

struct tile {
    int64_t groups;
    const left *a;
    int64_t lda;
    const right *b;
    int32_t *to;
    int64_t ldc; /* in bytes */
    int64_t acc;
    int64_t runs, lds, ldb; /* unused with a single run */
};

#if defined __riscv && !defined UK_IN_C
#include "dot_loops_rvp.h"
#else
#define CAT(a, b) a##b
#define FUNCTION(name) CAT(uk_rvp_, name)
/* The same loop in C. */
static inline void loop(struct tile t, int r, int n) {
    for (int i = 0; i < r; i++)
        for (int j = 0; j < n; j++) {
            int32_t *const c = (int32_t *)((char *)t.to + i * t.ldc) + j;
            uint64_t sum = 0, x, y;

            for (int64_t g = 0; g < t.groups; g++) {
                __builtin_memcpy(&x, IN_PLACE ? t.a + i * t.lda + g * KR : t.a + (g * MR + i) * KR, sizeof x);
                __builtin_memcpy(&y, t.b + (g * NR + j) * KR, sizeof y);
                sum = A_FIRST ? FUNCTION(MAQA)(sum, x, y) : FUNCTION(MAQA)(sum, y, x);
            }
            *c = (int32_t)((uint32_t)sum + (WHOLE_SUMS ? 0 : (uint32_t)(sum >> 32)) +
                           (t.acc ? (uint32_t)*c : 0));
        }
}
#define LOOP(r, n, t) loop(t, r, n)
static inline void loop_full(struct tile t) {
    for (int64_t s = 0; s < t.runs; s++, t.a += t.lds, t.b += t.ldb, t.acc = 1)
        loop(t, MR, NR);
}
#endif

/* All tiles except the full one, which is tested first. */
/* clang-format off */
#define TILE(r, n) case 8 * r + n: LOOP(r, n, t); break;
#define TILE_OF_4(r) case r: LOOP(r, 4, t); break;
#define TILES(r) TILE(r, 1) TILE(r, 2) TILE(r, 3)
#define OF_8(r) TILE(r, 5) TILE(r, 6) TILE(r, 7) TILE(r, 8)
#define OTHERS_4 TILES(1) TILES(2) TILES(3) TILES(4) TILE(1, 4) TILE(2, 4) TILE(3, 4)
#if UK_NR == 5
#define OTHERS OTHERS_4 TILE(4, 4) TILE(1, 5) TILE(2, 5) TILE(3, 5)
#elif UK_NR == 4
#define OTHERS OTHERS_4
#else
#define OTHERS OTHERS_4 TILE(4, 4) OF_8(1) OF_8(2)
#endif
/* clang-format on */

/* All tiles except the full one. */
static inline __attribute__((always_inline)) void edge(struct tile t, int64_t mr, int64_t nr) {
#if UK_NR == 8
    if (nr > 4 && mr > 2) {
        switch (mr) { TILE_OF_4(3) TILE_OF_4(4) }
        t.b += 4 * KR;
        t.to += 4;
        nr -= 4;
    }
#endif
    switch (8 * mr + nr) { OTHERS }
}

#if RUNS
void UK_SYMBOL(int64_t runs, int64_t k, const left *a, int64_t lda, int64_t lds, const right *b, int64_t ldb,
               int32_t *c, int64_t ldc, int64_t acc, int64_t mr, int64_t nr) {
    struct tile t = {(int64_t)((uint64_t)k / KR), a,   lda,  b,   c,
                     ldc * (int64_t)sizeof *c,    acc, runs, lds, ldb};

    if (runs == 0 || t.groups == 0) { /* computed as one run without terms */
        t.groups = 0;
        t.runs = 1;
    } else if (nr == NR && mr == MR) {
        loop_full(t);
        return;
    }
    for (int64_t s = 0; s < t.runs; s++, t.a += lds, t.b += ldb, t.acc = 1)
        edge(t, mr, nr);
}
#else
#if IN_PLACE
void UK_SYMBOL(int64_t k, const left *a, int64_t lda, const right *b, int32_t *c, int64_t ldc, int64_t acc,
               int64_t mr, int64_t nr) {
#else
void UK_SYMBOL(int64_t k, const left *a, const right *b, int32_t *c, int64_t ldc, int64_t acc, int64_t mr,
               int64_t nr) {
    const int64_t lda = 0;
#endif
    struct tile t = {(int64_t)((uint64_t)k / KR), a, lda, b, c, ldc * (int64_t)sizeof *c, acc, 1, 0, 0};

    if (nr == NR && mr == MR)
        loop_full(t);
    else
        edge(t, mr, nr);
}
#endif
