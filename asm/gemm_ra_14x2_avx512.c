/*
 * 14 rows x 2 vectors of C, 32 floats or 16 doubles (UK_OP_d...), in 28 zmm registers, rows of A in place.
 *
 *                           b: zmm28 (vector 0)       zmm29 (vector 1)
 *     a: zmm30     row 0       zmm0                     zmm1
 *        zmm31     row 1       zmm2                     zmm3
 *        (by       ...         ...                      ...
 *        turns)    row 13      zmm26                    zmm27
 *
 * Four pointers (rows 0, 3, 5, 10) and the stride times 1, 2, 4, 8 reach all rows.
 *
 * Bound: 28 FMAs, 16 loads, 44 instructions per k. At two 512-bit FMAs and two loads a cycle the FMAs take 14
 * cycles, the loads 8: 64 flop per cycle (32 of doubles), the peak. It holds while a cache line of each row stays in the
 * first cache for the 16 k (8 of doubles) it has; rows a multiple of 4 KiB apart share one set of it, which has 8 or 12
 * lines.
 *
 * C: its rows lie ldc apart, too far for the hardware to see a stream, and come from memory once per block of k. The first
 * 14 steps ask for one row each, to be written: for the lines that its vectors end in.
 *
 * Edges: rows are coded last row first, and a tile of mr rows enters each step, by a jump, at its last row.
 */
#include <immintrin.h>
#include "ukernels.h"
#include "tile_14x2_avx512.h"

/* clang-format off */
/* A step, n steps on. */
#define STEP(n, enter)                                                                                      \
    "vmovu" P " 128*" #n "(%[b]), %%zmm28\n\t"                                                              \
    "vmovu" P " 64 + 128*" #n "(%[b]), %%zmm29\n\t" enter                                                   \
    ROWS_IN_PLACE(n)
#define ADVANCE(steps)                                                                                      \
    "add $" BYTES "*" #steps ", %[a]\n\t"                                                                   \
    "add $" BYTES "*" #steps ", %[a3]\n\t"                                                                  \
    "add $" BYTES "*" #steps ", %[a5]\n\t"                                                                  \
    "add $" BYTES "*" #steps ", %[a10]\n\t"                                                                 \
    "add $128*" #steps ", %[b]\n\t"

/* The first 14 steps, if there are more, one a turn; each asks for a row of C. */
#define FETCH_C                                                                                             \
    "cmp $15, %[k]\n\t"                                                                                     \
    "jl 5f\n\t"                                                                                             \
    "mov %[c], %[f]\n\t"                                                                                    \
    "mov $14, %k[rows]\n\t"                                                                                 \
    "sub $14, %[k]\n\t"                                                                                     \
    ".p2align 5\n"                                                                                          \
    "4:\n\t" STEP(0, )                                                                                     \
    "prefetchw 60(%[f])\n\t"                                                                               \
    "prefetchw 124(%[f])\n\t"                                                                              \
    "add %[ld], %[f]\n\t"                                                                                  \
    ADVANCE(1)                                                                                              \
    "dec %k[rows]\n\t"                                                                                     \
    "jnz 4b\n"                                                                                             \
    "5:\n\t"
/* Two steps a turn; an odd k enters in the middle. */
#define FULL_TILE(OUT)                                                                                      \
    __asm__ volatile(EACH_ROW(ZERO)                                                                         \
                     "test %[k], %[k]\n\t"                                                                  \
                     "jle 3f\n\t"                                                                           \
                     FETCH_C                                                                                \
                     "test $1, %b[k]\n\t"                                                                   \
                     "jz 1f\n\t"                                                                            \
                     "inc %[k]\n\t"                                                                         \
                     ADVANCE(-1)                                                                            \
                     "jmp 2f\n\t"                                                                           \
                     ".p2align 5\n"                                                                         \
                     "1:\n\t" STEP(0, )                                                                     \
                     "2:\n\t" STEP(1, )                                                                     \
                     ADVANCE(2)                                                                             \
                     "sub $2, %[k]\n\t"                                                                     \
                     "jnz 1b\n"                                                                             \
                     "3:\n\t" EACH_ROW(OUT)                                                                 \
                     : [k] "+&r"(k), [a] "+&r"(a), [a3] "+&r"(a3), [a5] "+&r"(a5), [a10] "+&r"(a10), [b] "+&r"(b), \
                       [c] "+&r"(c), [f] "=&r"(f), [rows] "=&r"(rows)                                       \
                     : [lda] "r"(size * lda), [ld] "r"(size * ldc)                                          \
                     : CLOBBERS)

static inline __attribute__((always_inline)) void edge_tile(int64_t k, const element *a, int64_t lda, const element *b,
                                                            element *c, int64_t ldc, int64_t acc, int64_t mr,
                                                            int64_t nr) {
    const element *a3 = a + 3 * lda, *a5 = a + 5 * lda, *a10 = a + 10 * lda;
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
                     "1:\n\t" STEP(0, "jmp *%[t]\n\t")
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
                       [c] "+&r"(c), [t] "=&r"(t), [skip] "=&r"(skip)
                     : [lda] "r"(size * lda), [ld] "r"(size * ldc), [up] "r"(mr - 1),
                       [new0] "Yk"((__mmask16)columns), [new1] "Yk"((__mmask16)(columns >> V)),
                       [old0] "Yk"((__mmask16)old), [old1] "Yk"((__mmask16)(old >> V))
                     : CLOBBERS);
}
/* clang-format on */

void UK_SYMBOL(int64_t k, const element *a, int64_t lda, const element *b, element *c, int64_t ldc,
               int64_t acc, int64_t mr, int64_t nr) {
    if (mr == 14 && nr == NR) {
        const element *a3 = a + 3 * lda, *a5 = a + 5 * lda, *a10 = a + 10 * lda;
        int64_t f, rows;

        if (acc)
            FULL_TILE(ADD_STORE);
        else
            FULL_TILE(STORE);
    } else {
        edge_tile(k, a, lda, b, c, ldc, acc, mr, nr);
    }
}
