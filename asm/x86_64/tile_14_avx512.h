/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by kernels of 14 rows x UK_NR columns, which are one vector or two of 16 floats or 8 doubles:
 * storing the sums to C (row i is in zmm registers 2i and 2i + 1, or 2i alone), and the tiles of the kernels
 * that read rows of A in place. Each kernel's file computes the sums. */
#include "element_avx512.h"

/* clang-format off */
#define EACH_ROW(F)                                                                                             \
    F(0, 1) F(2, 3) F(4, 5) F(6, 7) F(8, 9) F(10, 11) F(12, 13) F(14, 15) F(16, 17) F(18, 19)                   \
    F(20, 21) F(22, 23) F(24, 25) F(26, 27)
#if UK_NR == 2 * V
#define SECOND(text) text
#else
#define SECOND(text)
#endif
#define ZERO(x, y)                                                                                              \
    "vpxord %%zmm" #x ", %%zmm" #x ", %%zmm" #x "\n\t"                                                          \
    SECOND("vpxord %%zmm" #y ", %%zmm" #y ", %%zmm" #y "\n\t")
#define STORE(x, y)                                                                                             \
    "vmovu" P " %%zmm" #x ", (%[c])\n\t"                                                                        \
    SECOND("vmovu" P " %%zmm" #y ", 64(%[c])\n\t")                                                              \
    "add %[ld], %[c]\n\t"
#define ADD_STORE(x, y)                                                                                         \
    "vadd" P " (%[c]), %%zmm" #x ", %%zmm" #x "\n\t"                                                            \
    SECOND("vadd" P " 64(%[c]), %%zmm" #y ", %%zmm" #y "\n\t")                                                  \
    STORE(x, y)
/* Stores a row of an edge tile under the masks of its columns and moves %[c] one row up. Without acc the
 * masks of the loads (old0, old1) are empty, so that C is not read. */
#define EDGE_STORE(x, y)                                                                                        \
    "vadd" P " (%[c]), %%zmm" #x ", %%zmm" #x "%{%[old0]%}\n\t"                                                 \
    SECOND("vadd" P " 64(%[c]), %%zmm" #y ", %%zmm" #y "%{%[old1]%}\n\t")                                       \
    "vmovu" P " %%zmm" #x ", (%[c])%{%[new0]%}\n\t"                                                             \
    SECOND("vmovu" P " %%zmm" #y ", 64(%[c])%{%[new1]%}\n\t")                                                   \
    "sub %[ld], %[c]\n\t"
/* Rows are stored upwards from the tile's last row, which %[c] points to. */
#define EDGE_STORES                                                                                             \
    EDGE_STORE(26, 27) EDGE_STORE(24, 25) EDGE_STORE(22, 23) EDGE_STORE(20, 21)                                 \
    EDGE_STORE(18, 19) EDGE_STORE(16, 17) EDGE_STORE(14, 15) EDGE_STORE(12, 13)                                 \
    EDGE_STORE(10, 11) EDGE_STORE(8, 9) EDGE_STORE(6, 7) EDGE_STORE(4, 5)                                       \
    "7:\n\t" EDGE_STORE(2, 3)                                                                                   \
    "9:\n\t" EDGE_STORE(0, 1)
#define EDGE_MASKS                                                                                              \
    [new0] "Yk"((uint16_t)columns), [new1] "Yk"((uint16_t)(columns >> V)),                                      \
    [old0] "Yk"((uint16_t)old), [old1] "Yk"((uint16_t)(old >> V))

#define CLOBBERS                                                                                                \
    "memory", "cc", "zmm0", "zmm1", "zmm2", "zmm3", "zmm4", "zmm5", "zmm6", "zmm7", "zmm8", "zmm9",             \
    "zmm10", "zmm11", "zmm12", "zmm13", "zmm14", "zmm15", "zmm16", "zmm17", "zmm18", "zmm19",                   \
    "zmm20", "zmm21", "zmm22", "zmm23", "zmm24", "zmm25", "zmm26", "zmm27", "zmm28", "zmm29",                   \
    "zmm30", "zmm31"

/* Rows of A in place: four pointers, to rows 0, 3, 5 and 10, and 1, 2, 4 and 8 times the row stride as
 * indices reach all 14 rows. */
#define ROW_POINTERS const element *a3 = a + 3 * lda, *a5 = a + 5 * lda, *a10 = a + 10 * lda
#define MOVING                                                                                                  \
    [k] "+&r"(k), [a] "+&r"(a), [a3] "+&r"(a3), [a5] "+&r"(a5), [a10] "+&r"(a10), [b] "+&r"(b), [c] "+&r"(c)
#define ADVANCE_ROWS(bytes)                                                                                     \
    "add " bytes ", %[a]\n\t"                                                                                   \
    "add " bytes ", %[a3]\n\t"                                                                                  \
    "add " bytes ", %[a5]\n\t"                                                                                  \
    "add " bytes ", %[a10]\n\t"
/* A row of B in place. In an edge tile masks keep the loads from columns that do not exist, so that they
 * cannot fault. */
#define LOAD_B                                                                                                  \
    "vmovu" P " (%[b]), %%zmm28\n\t"                                                                            \
    SECOND("vmovu" P " 64(%[b]), %%zmm29\n\t")
#define LOAD_SOME_B                                                                                             \
    "vmovu" P " (%[b]), %%zmm28%{%[new0]%}%{z%}\n\t"                                                            \
    SECOND("vmovu" P " 64(%[b]), %%zmm29%{%[new1]%}%{z%}\n\t")

/* Adds the products of the element of A at `row` to accumulators x and y; _1: to x alone, from memory. */
#define ROW_IN_PLACE_1(row, x, y, t) "vfmadd231" P " " row "%{1to" VECTOR "%}, %%zmm28, %%zmm" #x "\n\t"
#if UK_NR == 2 * V
#define ROW_IN_PLACE(row, x, y, t)                                                                              \
    "vbroadcast" S " " row ", %%zmm" #t "\n\t"                                                                  \
    "vfmadd231" P " %%zmm28, %%zmm" #t ", %%zmm" #x "\n\t"                                                      \
    "vfmadd231" P " %%zmm29, %%zmm" #t ", %%zmm" #y "\n\t"
#else
#define ROW_IN_PLACE ROW_IN_PLACE_1
#endif
/* The n-th k iteration of an unrolled one, after B is loaded. The code of row i begins at label 10 + i, where
 * an edge tile of i + 1 rows enters. */
#define ROWS_IN_PLACE(n) EACH_ROW_IN_PLACE(ROW_IN_PLACE, n)
#define EACH_ROW_IN_PLACE(ROW, n)                                                                                        \
    "23:\n\t" ROW(BYTES "*" #n "(%[a5], %[lda], 8)", 26, 27, 31)                                       \
    "22:\n\t" ROW(BYTES "*" #n "(%[a10], %[lda], 2)", 24, 25, 30)                                      \
    "21:\n\t" ROW(BYTES "*" #n "(%[a10], %[lda], 1)", 22, 23, 31)                                      \
    "20:\n\t" ROW(BYTES "*" #n "(%[a10])", 20, 21, 30)                                                 \
    "19:\n\t" ROW(BYTES "*" #n "(%[a5], %[lda], 4)", 18, 19, 31)                                       \
    "18:\n\t" ROW(BYTES "*" #n "(%[a], %[lda], 8)", 16, 17, 30)                                        \
    "17:\n\t" ROW(BYTES "*" #n "(%[a5], %[lda], 2)", 14, 15, 31)                                       \
    "16:\n\t" ROW(BYTES "*" #n "(%[a5], %[lda], 1)", 12, 13, 30)                                       \
    "15:\n\t" ROW(BYTES "*" #n "(%[a5])", 10, 11, 31)                                                  \
    "14:\n\t" ROW(BYTES "*" #n "(%[a], %[lda], 4)", 8, 9, 30)                                          \
    "13:\n\t" ROW(BYTES "*" #n "(%[a3])", 6, 7, 31)                                                    \
    "12:\n\t" ROW(BYTES "*" #n "(%[a], %[lda], 2)", 4, 5, 30)                                          \
    "11:\n\t" ROW(BYTES "*" #n "(%[a], %[lda], 1)", 2, 3, 31)                                          \
    "10:\n\t" ROW(BYTES "*" #n "(%[a])", 0, 1, 30)

/* If there are more than 14 k iterations: the first 14, not unrolled, each of which also prefetches the row
 * of C at %[f]; `on` moves the pointers. */
#define FETCH_C(k_iteration, on)                                                                                \
    "cmp $15, %[k]\n\t"                                                                                         \
    "jl 5f\n\t"                                                                                                 \
    "mov %[c], %[f]\n\t"                                                                                        \
    "mov $14, %k[rows]\n\t"                                                                                     \
    "sub $14, %[k]\n\t"                                                                                         \
    ".p2align 5\n"                                                                                              \
    "4:\n\t" k_iteration                                                                                        \
    "add %[ld], %[f]\n\t"                                                                                       \
    on                                                                                                          \
    "dec %k[rows]\n\t"                                                                                          \
    "jnz 4b\n"                                                                                                  \
    "5:\n\t"
/* The loop over k, unrolled by two: `even` and `odd` are the iterations, `back` and `on` move the pointers.
 * An odd k enters in the middle. */
#define UNROLL_2(even, odd, back, on)                                                                           \
    "test $1, %b[k]\n\t"                                                                                        \
    "jz 1f\n\t"                                                                                                 \
    "inc %[k]\n\t"                                                                                              \
    back                                                                                                        \
    "jmp 2f\n\t"                                                                                                \
    ".p2align 5\n"                                                                                              \
    "1:\n\t" even                                                                                               \
    "2:\n\t" odd                                                                                                \
    on                                                                                                          \
    "sub $2, %[k]\n\t"                                                                                          \
    "jnz 1b\n\t"
/* An edge tile. `k_iteration` has a jump to %[t] before the code of its rows, and moves the pointers after
 * it; the table at label 4 has the entry for each mr. `begin` runs before the loop, in which %[skip] is
 * free, and `end` after it. */
#define EDGE_TILE(k_iteration) EDGE_TILE_WITH(, k_iteration, )
#define EDGE_TILE_WITH(begin, k_iteration, end)                                                                 \
    EACH_ROW(ZERO)                                                                                              \
    "test %[k], %[k]\n\t"                                                                                       \
    "jle 3f\n\t"                                                                                                \
    "lea 4f(%%rip), %[t]\n\t"                                                                                   \
    "mov %[up], %[skip]\n\t"                                                                                    \
    "movslq (%[t], %[skip], 4), %[skip]\n\t"                                                                    \
    "add %[skip], %[t]\n\t" begin                                                                               \
    ".p2align 5\n"                                                                                              \
    "1:\n\t" k_iteration                                                                                        \
    "dec %[k]\n\t"                                                                                              \
    "jnz 1b\n\t" end                                                                                            \
    "3:\n\t"                                                                                                    \
    "imul $(9f - 7f), %[up], %[skip]\n\t"                                                                       \
    "lea 9f(%%rip), %[t]\n\t"                                                                                   \
    "sub %[skip], %[t]\n\t"                                                                                     \
    "jmp *%[t]\n"                                                                                               \
    "4:\n\t"                                                                                                    \
    ".long 10b - 4b, 11b - 4b, 12b - 4b, 13b - 4b, 14b - 4b, 15b - 4b, 16b - 4b\n\t"                            \
    ".long 17b - 4b, 18b - 4b, 19b - 4b, 20b - 4b, 21b - 4b, 22b - 4b, 23b - 4b\n\t"                            \
    EDGE_STORES
/* clang-format on */
