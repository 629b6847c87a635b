/*
 * 14 rows x UK_NR columns of C, two vectors or one of floats or doubles (UK_OP_d...), in zmm registers; A in place by
 * two strides, one for rows and one for k: a transposed matrix, weights of a convolution, or a panel; rows of B in place.
 *
 *                           b: zmm28 (vector 0)       zmm29 (vector 1)
 *     a: zmm30     row 0       zmm0                     zmm1
 *        zmm31     row 1       zmm2                     zmm3
 *        (by       ...         ...                      ...
 *        turns)    row 13      zmm26                    zmm27
 *
 * With one vector only the first half is there, and its FMAs take A from memory, broadcast.
 * Four pointers (rows 0, 3, 5, 10) and the stride times 1, 2, 4, 8 reach all rows of A.
 *
 * Bound: two vectors take 28 FMAs, 16 loads, 2 prefetches, 54 instructions per k. At two 512-bit FMAs and two loads a
 * cycle the FMAs take 14 cycles, the loads 9: 64 flop per cycle (32 of doubles), the peak. One vector takes 14 FMAs and
 * 15 loads: 7.5 cycles, 60 (30) flop per cycle. It holds while what one k needs of A (14 elements in up to 14 lines, lda apart) comes
 * from the first cache.
 *
 * B: its rows lie ldb apart, too far for the hardware to see a stream. Step p prefetches the lines that the
 * halves of row p + 4 end in; what lies behind the last row is only fetched, never read. Rows 4 KB apart
 * share their sets of the first cache, 12 ways: more would fall out unread.
 *
 * C: its rows lie ldc apart, too far for the hardware to see a stream, and come from memory once per block of k. The first
 * 14 steps ask for one row each, to be written.
 *
 * Edges: rows are coded last row first, and a tile of mr rows enters each step, by a jump, at its last row.
 * Columns that the tile lacks are masked out of the loads of B, which then cannot fault.
 */
#include <immintrin.h>
#include "ukernels.h"

/* An element is a float or, in the kernels of doubles, a double; V of them are a vector. */
#ifdef UK_OP_dgemm_sab
typedef double element;
#define V 8
#define P "pd"
#define S "sd"
#define BROADCAST "{1to8%}"
#else
typedef float element;
#define V 16
#define P "ps"
#define S "ss"
#define BROADCAST "{1to16%}"
#endif

static const int64_t size = sizeof(element);

/* clang-format off */
/* Row at `row`, into accumulators x and y. */
#if UK_NR == 2 * V
#define ROW(row, x, y, t)                                                                                       \
    "vbroadcast" S " " row ", %%zmm" #t "\n\t"                                                                     \
    "vfmadd231" P " %%zmm28, %%zmm" #t ", %%zmm" #x "\n\t"                                                         \
    "vfmadd231" P " %%zmm29, %%zmm" #t ", %%zmm" #y "\n\t"
#define LOAD_B                                                                                                  \
    "vmovu" P " (%[b]), %%zmm28\n\t"                                                                               \
    "vmovu" P " 64(%[b]), %%zmm29\n\t"
#define LOAD_SOME_B                                                                                             \
    "vmovu" P " (%[b]), %%zmm28%{%[new0]%}%{z%}\n\t"                                                               \
    "vmovu" P " 64(%[b]), %%zmm29%{%[new1]%}%{z%}\n\t"
#define NEXT_B                                                                                                  \
    "prefetcht0 60(%[b], %[ldb], 4)\n\t"                                                                        \
    "prefetcht0 124(%[b], %[ldb], 4)\n\t"                                                                       \
    "add %[ldb], %[b]\n\t"
#define FETCH_ROW                                                                                               \
    "prefetchw (%[f])\n\t"                                                                                     \
    "prefetchw 64(%[f])\n\t"                                                                                   \
    "prefetchw 127(%[f])\n\t"                                                                                  \
    "add %[ld], %[f]\n\t"
#define ZERO(x, y)                                                                                              \
    "vpxord %%zmm" #x ", %%zmm" #x ", %%zmm" #x "\n\t"                                                          \
    "vpxord %%zmm" #y ", %%zmm" #y ", %%zmm" #y "\n\t"
#define STORE(x, y)                                                                                             \
    "vmovu" P " %%zmm" #x ", (%[c])\n\t"                                                                           \
    "vmovu" P " %%zmm" #y ", 64(%[c])\n\t"                                                                         \
    "add %[ld], %[c]\n\t"
#define ADD_STORE(x, y)                                                                                         \
    "vadd" P " (%[c]), %%zmm" #x ", %%zmm" #x "\n\t"                                                               \
    "vadd" P " 64(%[c]), %%zmm" #y ", %%zmm" #y "\n\t"                                                             \
    STORE(x, y)
/* Upwards, under the masks of the columns. Without acc the old ones are empty, and C is not read. */
#define EDGE_STORE(x, y)                                                                                        \
    "vadd" P " (%[c]), %%zmm" #x ", %%zmm" #x "%{%[old0]%}\n\t"                                                    \
    "vadd" P " 64(%[c]), %%zmm" #y ", %%zmm" #y "%{%[old1]%}\n\t"                                                  \
    "vmovu" P " %%zmm" #x ", (%[c])%{%[new0]%}\n\t"                                                                \
    "vmovu" P " %%zmm" #y ", 64(%[c])%{%[new1]%}\n\t"                                                              \
    "sub %[ld], %[c]\n\t"
#else
#define ROW(row, x, y, t)                                                                                       \
    "vfmadd231" P " " row "%" BROADCAST ", %%zmm28, %%zmm" #x "\n\t"
#define LOAD_B                                                                                                  \
    "vmovu" P " (%[b]), %%zmm28\n\t"
#define LOAD_SOME_B                                                                                             \
    "vmovu" P " (%[b]), %%zmm28%{%[new0]%}%{z%}\n\t"
#define NEXT_B                                                                                                  \
    "prefetcht0 60(%[b], %[ldb], 4)\n\t"                                                                        \
    "add %[ldb], %[b]\n\t"
#define FETCH_ROW                                                                                               \
    "prefetchw 63(%[f])\n\t"                                                                                   \
    "add %[ld], %[f]\n\t"
#define ZERO(x, y)                                                                                              \
    "vpxord %%zmm" #x ", %%zmm" #x ", %%zmm" #x "\n\t"
#define STORE(x, y)                                                                                             \
    "vmovu" P " %%zmm" #x ", (%[c])\n\t"                                                                           \
    "add %[ld], %[c]\n\t"
#define ADD_STORE(x, y)                                                                                         \
    "vadd" P " (%[c]), %%zmm" #x ", %%zmm" #x "\n\t"                                                               \
    STORE(x, y)
#define EDGE_STORE(x, y)                                                                                        \
    "vadd" P " (%[c]), %%zmm" #x ", %%zmm" #x "%{%[old0]%}\n\t"                                                    \
    "vmovu" P " %%zmm" #x ", (%[c])%{%[new0]%}\n\t"                                                                \
    "sub %[ld], %[c]\n\t"
#endif
/* A step, B loaded. Row i begins at label 1i, where an edge tile of i + 1 rows enters; row 0 at label 10. */
#define ROWS                                                                                                    \
    "23:\n\t" ROW("(%[a5], %[lda], 8)", 26, 27, 31)                                                             \
    "22:\n\t" ROW("(%[a10], %[lda], 2)", 24, 25, 30)                                                            \
    "21:\n\t" ROW("(%[a10], %[lda], 1)", 22, 23, 31)                                                            \
    "20:\n\t" ROW("(%[a10])", 20, 21, 30)                                                                       \
    "19:\n\t" ROW("(%[a5], %[lda], 4)", 18, 19, 31)                                                             \
    "18:\n\t" ROW("(%[a], %[lda], 8)", 16, 17, 30)                                                              \
    "17:\n\t" ROW("(%[a5], %[lda], 2)", 14, 15, 31)                                                             \
    "16:\n\t" ROW("(%[a5], %[lda], 1)", 12, 13, 30)                                                             \
    "15:\n\t" ROW("(%[a5])", 10, 11, 31)                                                                        \
    "14:\n\t" ROW("(%[a], %[lda], 4)", 8, 9, 30)                                                                \
    "13:\n\t" ROW("(%[a3])", 6, 7, 31)                                                                          \
    "12:\n\t" ROW("(%[a], %[lda], 2)", 4, 5, 30)                                                                \
    "11:\n\t" ROW("(%[a], %[lda], 1)", 2, 3, 31)                                                                \
    "10:\n\t" ROW("(%[a])", 0, 1, 30)
#define NEXT_A                                                                                                  \
    "add %[csa], %[a]\n\t"                                                                                      \
    "add %[csa], %[a3]\n\t"                                                                                     \
    "add %[csa], %[a5]\n\t"                                                                                     \
    "add %[csa], %[a10]\n\t"
#define STEP                                                                                                    \
    LOAD_B                                                                                                      \
    NEXT_B                                                                                                      \
    ROWS
#define EDGE_STEP                                                                                               \
    LOAD_SOME_B                                                                                                 \
    NEXT_B                                                                                                      \
    "jmp *%[t]\n\t"                                                                                             \
    ROWS

/* The first 14 steps, if there are more, each with a row of C. */
#define FETCH_C                                                                                                 \
    "cmp $15, %[k]\n\t"                                                                                        \
    "jl 1f\n\t"                                                                                                \
    "mov %[c], %[f]\n\t"                                                                                       \
    "mov $14, %k[rows]\n\t"                                                                                    \
    "sub $14, %[k]\n\t"                                                                                        \
    ".p2align 5\n"                                                                                             \
    "4:\n\t" STEP                                                                                              \
    FETCH_ROW                                                                                                   \
    NEXT_A                                                                                                      \
    "dec %k[rows]\n\t"                                                                                         \
    "jnz 4b\n\t"

#define EACH_ROW(F)                                                                                             \
    F(0, 1) F(2, 3) F(4, 5) F(6, 7) F(8, 9) F(10, 11) F(12, 13) F(14, 15) F(16, 17) F(18, 19)                   \
    F(20, 21) F(22, 23) F(24, 25) F(26, 27)

#define CLOBBERS                                                                                                \
    "memory", "cc", "zmm0", "zmm1", "zmm2", "zmm3", "zmm4", "zmm5", "zmm6", "zmm7", "zmm8", "zmm9",             \
    "zmm10", "zmm11", "zmm12", "zmm13", "zmm14", "zmm15", "zmm16", "zmm17", "zmm18", "zmm19",                   \
    "zmm20", "zmm21", "zmm22", "zmm23", "zmm24", "zmm25", "zmm26", "zmm27", "zmm28", "zmm29",                   \
    "zmm30", "zmm31"

#define FULL_TILE(OUT)                                                                                          \
    __asm__ volatile(EACH_ROW(ZERO)                                                                             \
                     "test %[k], %[k]\n\t"                                                                      \
                     "jle 3f\n\t"                                                                               \
                     FETCH_C                                                                                    \
                     ".p2align 5\n"                                                                             \
                     "1:\n\t" STEP                                                                              \
                     NEXT_A                                                                                     \
                     "dec %[k]\n\t"                                                                             \
                     "jnz 1b\n"                                                                                 \
                     "3:\n\t" EACH_ROW(OUT)                                                                     \
                     : [k] "+&r"(k), [a] "+&r"(a), [a3] "+&r"(a3), [a5] "+&r"(a5), [a10] "+&r"(a10), [b] "+&r"(b),\
                       [c] "+&r"(c), [f] "=&r"(f), [rows] "=&r"(rows)                                           \
                     : [lda] "r"(size * lda), [csa] "r"(size * csa), [ldb] "r"(size * ldb), [ld] "r"(size * ldc) \
                     : CLOBBERS)

static inline __attribute__((always_inline)) void edge_tile(int64_t k, const element *a, int64_t lda, int64_t csa,
                                                            const element *b, int64_t ldb, element *c, int64_t ldc,
                                                            int64_t acc, int64_t mr, int64_t nr) {
    const element *a3 = a + 3 * lda, *a5 = a + 5 * lda, *a10 = a + 10 * lda;
    const uint32_t columns = nr < UK_NR ? (1u << nr % UK_NR) - 1 : ~0u, old = acc ? columns : 0;
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
                     NEXT_A
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
                     : [lda] "r"(size * lda), [csa] "r"(size * csa), [ldb] "r"(size * ldb), [ld] "r"(size * ldc),
                       [up] "r"(mr - 1), [new0] "Yk"((__mmask16)columns), [new1] "Yk"((__mmask16)(columns >> V)),
                       [old0] "Yk"((__mmask16)old), [old1] "Yk"((__mmask16)(old >> V))
                     : CLOBBERS);
}
/* clang-format on */

void UK_SYMBOL(int64_t k, const element *a, int64_t lda, int64_t csa, const element *b, int64_t ldb,
               element *c, int64_t ldc, int64_t acc, int64_t mr, int64_t nr) {
    if (mr == 14 && nr == UK_NR) {
        const element *a3 = a + 3 * lda, *a5 = a + 5 * lda, *a10 = a + 10 * lda;
        int64_t f, rows;

        if (acc)
            FULL_TILE(ADD_STORE);
        else
            FULL_TILE(STORE);
    } else {
        edge_tile(k, a, lda, csa, b, ldb, c, ldc, acc, mr, nr);
    }
}
