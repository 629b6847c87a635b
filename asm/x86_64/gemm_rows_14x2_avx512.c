/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 14 rows x 2 vectors of C, 32 floats or 16 doubles (UK_DOUBLE), in 28 zmm registers, rows of A and rows of B
 * in place. UK_OP_..._rap: the elements read of B are also stored to the micro-panel d, which gemm_ra reads,
 * so that the first row of tiles packs B for the others while it computes (fused packing).
 * UK_OP_sgemm_runs_rab: rows of A that are several runs; what moves the pointers from one to the next is in
 * memory, because a run is long enough to hide the loads.
 *
 *                           b: zmm28 (vector 0)       zmm29 (vector 1)
 *     a: zmm30     row 0       zmm0                     zmm1
 *        zmm31     row 1       zmm2                     zmm3
 *        (alter-   ...         ...                      ...
 *        nating)   row 13      zmm26                    zmm27
 *
 * Four pointers (rows 0, 3, 5, 10) and the stride times 1, 2, 4, 8 reach all rows of A.
 *
 * Bound: 28 FMAs, 16 loads, 2 prefetches, 46 instructions per k iteration; of rap 4 prefetches, 2 stores, 50
 * instructions. At two 512-bit FMAs, two loads and a store a cycle the FMAs take 14 cycles, the loads 9 or
 * 10: 64 flop per cycle (32 of doubles), the peak. This holds while a cache line of each row of A stays in L1
 * for the 16 k iterations (8 of doubles) that read it.
 *
 * B: its rows lie ldb apart, too far for the hardware prefetcher to see a stream. K iteration p prefetches
 * the lines in which the two vectors of row p + n end; lines beyond the last row are prefetched but never
 * read. L3 answers after some 200 cycles, in which a tile of few rows of A reads 16 to 48 rows of B: n is 16,
 * or 48. Rows of B that lie a multiple of 2 KB apart share sets of L1, which have 8 or 12 ways: more than 8
 * rows ahead would be evicted before they are read, and n is 8. Of rap n is 5, and 9 in edge tiles, as rows
 * far apart usually share sets where B is packed. Full tiles also prefetch row p + FAR into L2: FAR
 * k iterations take about the latency of memory. Tiles of few iterations prefetch row p of the next tile
 * instead, as row p + FAR would come too late for the first rows.
 *
 * Edges: the code of a k iteration begins with the last row, and a tile of mr rows jumps into each k
 * iteration at its last row. Columns that the tile does not have are masked out of the loads of B, which then
 * cannot fault; what is stored of them to a micro-panel is 0. Where it has all columns the loads have no
 * masks, as a load under a mask takes an FMA port on Intel's cores. In tiles of up to one vector of columns
 * the FMAs broadcast a from memory: 14 FMAs take 7 cycles, their 16 loads 8.
 *
 * UK_PREFETCHING: a second form, for a B that is usually in L2, for which a prefetch distance of 8 rows is
 * enough; it also prefetches other columns of B, a line of each row, into L2. That leaves 9 of 28 load slots
 * free, in tiles of 7 rows 2 of 14.
 */
#include "registry/kernel_contract.h"
#include "../any/runs.h"
#include "tile_14_avx512.h"

enum { FAR = 32, SHORT = 4 * FAR };

/* clang-format off */
#if defined UK_OP_sgemm_rap || defined UK_OP_dgemm_rap
typedef element other_element;
/* Stores the row of B in zmm28 and zmm29 to row n of the micro-panel at %[other], and advances to the next
 * row of B. */
#define NEXT_B(n, ahead)                                                                                        \
    "add %[ldb], %[b]\n\t"                                                                                      \
    "prefetcht0 60(%[b], %[ldb], " ahead ")\n\t"                                                                \
    "prefetcht0 124(%[b], %[ldb], " ahead ")\n\t"                                                               \
    "vmovu" P " %%zmm28, 128*" #n "(%[other])\n\t"                                                              \
    "vmovu" P " %%zmm29, 64 + 128*" #n "(%[other])\n\t"
#define FETCH_FAR                                                                                               \
    "prefetcht1 60(%[b], %[far])\n\t"                                                                           \
    "prefetcht1 124(%[b], %[far])\n\t"
#define ADVANCE(iterations)                                                                                     \
    ADVANCE_ROWS("$" BYTES "*" #iterations)                                                                     \
    "add $128*" #iterations ", %[other]\n\t"
#define FAR_AWAY , [far] "r"(k > SHORT ? size * FAR * ldb : size * UK_NR)
#else
typedef const element other_element;
/* %[other]: what a k iteration prefetches; the distance to the row of B ahead, or a row of other columns. */
#ifdef UK_PREFETCHING
#define PREFETCH                                                                                                \
    "prefetcht1 (%[other])\n\t"                                                                                 \
    "prefetcht0 60(%[b], %[ldb], 8)\n\t"                                                                        \
    "prefetcht0 124(%[b], %[ldb], 8)\n\t"
#else
#define PREFETCH                                                                                                \
    "prefetcht0 60(%[other])\n\t"                                                                               \
    "prefetcht0 124(%[other])\n\t"
#endif
#define NEXT_B(n, ahead)                                                                                        \
    "add %[ldb], %[b]\n\t"                                                                                      \
    PREFETCH                                                                                                    \
    "add %[ldb], %[other]\n\t"
#define FETCH_FAR
#define ADVANCE(iterations) ADVANCE_ROWS("$" BYTES "*" #iterations)
#define FAR_AWAY
#endif
#ifdef UK_OP_sgemm_runs_rab
/* The loop over runs, whose number is in `count`. */
#define RUN_BEGIN "8:\n\t"
#define COUNT_RUNS(count) "mov %[runs], " count "\n"
#define RUN_END(count)                                                                                          \
    ADVANCE_ROWS("%[a_on]")                                                                                     \
    "add %[b_on], %[b]\n\t"                                                                                     \
    "add %[b_on], %[other]\n\t"                                                                                 \
    "mov %[terms], %[k]\n\t"                                                                                    \
    "decq " count "\n\t"                                                                                        \
    "jnz 8b\n\t"
#define RUN_OUTPUTS , [runs] "+m"(r.runs)
#define RUN_NUMBER [runs] "m"(r.runs),
#define RUN_INPUTS [terms] "m"(r.terms), [a_on] "m"(r.a_on), [b_on] "m"(r.b_on),
#else
#define RUN_BEGIN
#define COUNT_RUNS(count)
#define RUN_END(count)
#define RUN_OUTPUTS
#define RUN_NUMBER
#define RUN_INPUTS
#endif
#define K_ITERATION(n) LOAD_B FETCH_FAR NEXT_B(n, "4") ROWS_IN_PLACE(n)

#define FULL_TILE(OUT)                                                                                          \
    __asm__ volatile(EACH_ROW(ZERO)                                                                             \
                     "test %[k], %[k]\n\t"                                                                      \
                     "jle 3f\n\t" RUN_BEGIN                                                                     \
                     UNROLL_2(K_ITERATION(0), K_ITERATION(1), ADVANCE(-1), ADVANCE(2)) RUN_END("%[runs]")       \
                     "3:\n\t" EACH_ROW(OUT)                                                                     \
                     : MOVING, [other] "+&r"(other) RUN_OUTPUTS                                                 \
                     : RUN_INPUTS [lda] "r"(size * lda), [ldb] "r"(size * ldb), [ld] "r"(size * ldc) FAR_AWAY              \
                     : CLOBBERS)
#define SOME_ROWS(LOAD, ROW)                                                                                    \
    __asm__ volatile(EDGE_TILE_WITH(COUNT_RUNS("%[skip]") RUN_BEGIN,                                            \
                                    LOAD NEXT_B(0, "8") "jmp *%[t]\n\t" EACH_ROW_IN_PLACE(ROW, 0) ADVANCE(1),   \
                                    RUN_END("%[skip]"))                                                         \
                     : MOVING, [other] "+&r"(other), [t] "=&r"(t), [skip] "=&r"(skip)                           \
                     : RUN_NUMBER RUN_INPUTS [lda] "r"(size * lda), [ldb] "r"(size * ldb), [ld] "r"(size * ldc),                      \
                       [up] "m"(up), EDGE_MASKS                                                             \
                     : CLOBBERS)

static inline __attribute__((always_inline)) void edge_tile(int64_t k, const element *a, int64_t lda, const element *b,
                                                            int64_t ldb, element *c, int64_t ldc, int64_t acc,
                                                            int64_t mr, int64_t nr, other_element *other,
                                                            struct runs r) {
    ROW_POINTERS;
    (void)r;
    const uint32_t columns = nr < UK_NR ? (1u << nr) - 1 : ~0u, old = acc ? columns : 0;
    const int64_t up = mr - 1;
    int64_t t, skip;

    c += up * ldc;
    if (nr == UK_NR)
        SOME_ROWS(LOAD_B, ROW_IN_PLACE);
    else if (nr > V)
        SOME_ROWS(LOAD_SOME_B, ROW_IN_PLACE);
    else
        SOME_ROWS(LOAD_SOME_B, ROW_IN_PLACE_1);
}
/* clang-format on */

static inline __attribute__((always_inline)) void tile(int64_t k, const element *a, int64_t lda,
                                                       const element *b, int64_t ldb, element *c, int64_t ldc,
                                                       int64_t acc, int64_t mr, int64_t nr,
                                                       other_element *other, struct runs r) {
    if (mr == 14 && nr == UK_NR) {
        ROW_POINTERS;

        if (acc)
            FULL_TILE(ADD_STORE);
        else
            FULL_TILE(STORE);
    } else {
        edge_tile(k, a, lda, b, ldb, c, ldc, acc, mr, nr, other, r);
    }
}

#if defined UK_OP_sgemm_rap || defined UK_OP_dgemm_rap
void UK_SYMBOL(int64_t k, const element *a, int64_t lda, const element *b, int64_t ldb, element *d,
               element *c, int64_t ldc, int64_t acc, int64_t mr, int64_t nr) {
    tile(k, a, lda, b, ldb, c, ldc, acc, mr, nr, d, (struct runs){0});
}
#elif defined UK_PREFETCHING
#define NAME(symbol) NAME_OF(symbol)
#define NAME_OF(symbol) symbol##_prefetching
void NAME(UK_SYMBOL)(int64_t k, const element *a, int64_t lda, const element *b, int64_t ldb, element *c,
                     int64_t ldc, int64_t acc, int64_t mr, int64_t nr, const element *s);
void NAME(UK_SYMBOL)(int64_t k, const element *a, int64_t lda, const element *b, int64_t ldb, element *c,
                     int64_t ldc, int64_t acc, int64_t mr, int64_t nr, const element *s) {
    tile(k, a, lda, b, ldb, c, ldc, acc, mr, nr, s, (struct runs){0});
}
#elif defined UK_OP_sgemm_runs_rab
void UK_SYMBOL(int64_t runs, int64_t k, const element *a, int64_t lda, int64_t lds, const element *b,
               int64_t ldb, int64_t ldt, element *c, int64_t ldc, int64_t acc, int64_t mr, int64_t nr) {
    const struct runs r = {runs, k, size * (lds - k), size * (ldt - k * ldb), 0, 0};

    tile(runs > 0 ? k : 0, a, lda, b, ldb, c, ldc, acc, mr, nr,
         b + (ldb * size % 2048 == 0 ? 8
              : mr < 8               ? 48
                                     : 16) *
                 ldb,
         r);
}
#else
void UK_SYMBOL(int64_t k, const element *a, int64_t lda, const element *b, int64_t ldb, element *c,
               int64_t ldc, int64_t acc, int64_t mr, int64_t nr) {
    tile(k, a, lda, b, ldb, c, ldc, acc, mr, nr,
         b + (ldb * size % 2048 == 0 ? 8
              : mr < 8               ? 48
                                     : 16) *
                 ldb,
         (struct runs){0});
}
#endif
