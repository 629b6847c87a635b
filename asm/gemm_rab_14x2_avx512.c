/*
 * 14 rows x 2 vectors of C, 32 floats or 16 doubles (UK_OP_d...), in 28 zmm registers, rows of A and rows of B in place.
 *
 *                           b: zmm28 (vector 0)       zmm29 (vector 1)
 *     a: zmm30     row 0       zmm0                     zmm1
 *        zmm31     row 1       zmm2                     zmm3
 *        (by       ...         ...                      ...
 *        turns)    row 13      zmm26                    zmm27
 *
 * Four pointers (rows 0, 3, 5, 10) and the stride times 1, 2, 4, 8 reach all rows of A.
 *
 * Bound: 28 FMAs, 16 loads, 2 prefetches, 46 instructions per k. At two 512-bit FMAs and two loads a cycle
 * the FMAs take 14 cycles, the loads 9: 64 flop per cycle (32 of doubles), the peak. It holds while a cache line of each row
 * of A stays in the first cache for the 16 k (8 of doubles) it has.
 *
 * B: its rows lie ldb apart, too far for the hardware to see a stream. Step p prefetches the lines that the
 * halves of row p + AHEAD end in; what lies behind the last row is only fetched, never read. The
 * third cache answers after some 200 cycles, in which few rows of A go through 16 or 32 rows of B; rows 2 KB apart by a
 * multiple share their sets of the first cache, 12 ways: more than 4 of them would fall out unread.
 *
 * Edges: rows are coded last row first, and a tile of mr rows enters each step, by a jump, at its last row.
 * Columns that the tile lacks are masked out of the loads of B, which then cannot fault.
 */
#include <immintrin.h>
#include "ukernels.h"
#include "tile_14x2_avx512.h"

/* Row p + AHEAD, for p = 0. */
static inline __attribute__((always_inline)) const element *row_ahead(const element *b, int64_t ldb,
                                                                      int64_t mr) {
    return b + (ldb * size % 2048 == 0 ? 4 : mr < 8 ? 32 : 16) * ldb;
}

/* clang-format off */
#define PREFETCH                                                                                            \
    "prefetcht0 60(%[ahead])\n\t"                                                                           \
    "prefetcht0 124(%[ahead])\n\t"                                                                          \
    "add %[ldb], %[ahead]\n\t"
#define STEP(n)                                                                                             \
    "vmovu" P " (%[b]), %%zmm28\n\t"                                                                        \
    "vmovu" P " 64(%[b]), %%zmm29\n\t"                                                                      \
    "add %[ldb], %[b]\n\t"                                                                                  \
    PREFETCH                                                                                                \
    ROWS_IN_PLACE(n)
#define EDGE_STEP                                                                                           \
    "vmovu" P " (%[b]), %%zmm28%{%[new0]%}%{z%}\n\t"                                                        \
    "vmovu" P " 64(%[b]), %%zmm29%{%[new1]%}%{z%}\n\t"                                                      \
    "add %[ldb], %[b]\n\t"                                                                                  \
    PREFETCH                                                                                                \
    "jmp *%[t]\n\t"                                                                                         \
    ROWS_IN_PLACE(0)
#define ADVANCE(steps)                                                                                      \
    "add $" BYTES "*" #steps ", %[a]\n\t"                                                                   \
    "add $" BYTES "*" #steps ", %[a3]\n\t"                                                                  \
    "add $" BYTES "*" #steps ", %[a5]\n\t"                                                                  \
    "add $" BYTES "*" #steps ", %[a10]\n\t"

/* Two steps a turn; an odd k enters in the middle. */
#define FULL_TILE(OUT)                                                                                      \
    __asm__ volatile(EACH_ROW(ZERO)                                                                         \
                     "test %[k], %[k]\n\t"                                                                  \
                     "jle 3f\n\t"                                                                           \
                     "test $1, %b[k]\n\t"                                                                   \
                     "jz 1f\n\t"                                                                            \
                     "inc %[k]\n\t"                                                                         \
                     ADVANCE(-1)                                                                            \
                     "jmp 2f\n\t"                                                                           \
                     ".p2align 5\n"                                                                         \
                     "1:\n\t" STEP(0)                                                                       \
                     "2:\n\t" STEP(1)                                                                       \
                     ADVANCE(2)                                                                             \
                     "sub $2, %[k]\n\t"                                                                     \
                     "jnz 1b\n"                                                                             \
                     "3:\n\t" EACH_ROW(OUT)                                                                 \
                     : [k] "+&r"(k), [a] "+&r"(a), [a3] "+&r"(a3), [a5] "+&r"(a5), [a10] "+&r"(a10), [b] "+&r"(b), \
                       [c] "+&r"(c), [ahead] "+&r"(ahead)                                                   \
                     : [lda] "r"(size * lda), [ldb] "r"(size * ldb), [ld] "r"(size * ldc)                   \
                     : CLOBBERS)

static inline __attribute__((always_inline)) void edge_tile(int64_t k, const element *a, int64_t lda, const element *b,
                                                            int64_t ldb, element *c, int64_t ldc, int64_t acc,
                                                            int64_t mr, int64_t nr) {
    const element *a3 = a + 3 * lda, *a5 = a + 5 * lda, *a10 = a + 10 * lda, *ahead = row_ahead(b, ldb, mr);
    const uint32_t columns = nr < 32 ? (1u << nr) - 1 : ~0u, old = acc ? columns : 0;
    int64_t t, skip;

    c += (mr - 1) * ldc;
    /* The table at label 4 has, for each mr, where to enter a step. */
    __asm__ volatile(EACH_ROW(ZERO)
                     "test %[k], %[k]\n\t"
                     "jle 3f\n\t"
                     "lea 4f(%%rip), %[t]\n\t"
                     "movslq (%[t], %[up], 4), %[skip]\n\t"
                     "add %[skip], %[t]\n\t"
                     ".p2align 5\n"
                     "1:\n\t" EDGE_STEP
                     ADVANCE(1)
                     "dec %[k]\n\t"
                     "jnz 1b\n\t"
                     "3:\n\t"
                     "imul $(9f - 7f), %[up], %[skip]\n\t"
                     "lea 9f(%%rip), %[t]\n\t"
                     "sub %[skip], %[t]\n\t"
                     "jmp *%[t]\n"
                     "4:\n\t"
                     ".long 10b - 4b, 11b - 4b, 12b - 4b, 13b - 4b, 14b - 4b, 15b - 4b, 16b - 4b\n\t"
                     ".long 17b - 4b, 18b - 4b, 19b - 4b, 20b - 4b, 21b - 4b, 22b - 4b, 23b - 4b\n\t"
                     EDGE_STORE(26, 27) EDGE_STORE(24, 25) EDGE_STORE(22, 23) EDGE_STORE(20, 21)
                     EDGE_STORE(18, 19) EDGE_STORE(16, 17) EDGE_STORE(14, 15) EDGE_STORE(12, 13)
                     EDGE_STORE(10, 11) EDGE_STORE(8, 9) EDGE_STORE(6, 7) EDGE_STORE(4, 5)
                     "7:\n\t" EDGE_STORE(2, 3)
                     "9:\n\t" EDGE_STORE(0, 1)
                     : [k] "+&r"(k), [a] "+&r"(a), [a3] "+&r"(a3), [a5] "+&r"(a5), [a10] "+&r"(a10), [b] "+&r"(b),
                       [c] "+&r"(c), [ahead] "+&r"(ahead), [t] "=&r"(t), [skip] "=&r"(skip)
                     : [lda] "r"(size * lda), [ldb] "r"(size * ldb), [ld] "r"(size * ldc), [up] "r"(mr - 1),
                       [new0] "Yk"((__mmask16)columns), [new1] "Yk"((__mmask16)(columns >> V)),
                       [old0] "Yk"((__mmask16)old), [old1] "Yk"((__mmask16)(old >> V))
                     : CLOBBERS);
}
/* clang-format on */

void UK_SYMBOL(int64_t k, const element *a, int64_t lda, const element *b, int64_t ldb, element *c,
               int64_t ldc, int64_t acc, int64_t mr, int64_t nr) {
    if (mr == 14 && nr == NR) {
        const element *a3 = a + 3 * lda, *a5 = a + 5 * lda, *a10 = a + 10 * lda,
                      *ahead = row_ahead(b, ldb, mr);

        if (acc)
            FULL_TILE(ADD_STORE);
        else
            FULL_TILE(STORE);
    } else {
        edge_tile(k, a, lda, b, ldb, c, ldc, acc, mr, nr);
    }
}
