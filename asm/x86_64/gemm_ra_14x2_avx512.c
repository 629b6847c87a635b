/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 14 rows x 2 vectors of C, 32 floats or 16 doubles (UK_OP_d...), in 28 zmm registers, rows of A in place.
 *
 *                           b: zmm28 (vector 0)       zmm29 (vector 1)
 *     a: zmm30     row 0       zmm0                     zmm1
 *        zmm31     row 1       zmm2                     zmm3
 *        (alter-   ...         ...                      ...
 *        nating)   row 13      zmm26                    zmm27
 *
 * Four pointers (rows 0, 3, 5, 10) and the stride times 1, 2, 4, 8 reach all rows.
 *
 * Bound: 28 FMAs, 16 loads, a prefetch (2 of doubles), 47 instructions per k iteration. At two 512-bit FMAs
 * and two loads a cycle the FMAs take 14 cycles, the loads 9: 64 flop per cycle (32 of doubles), the peak.
 * This holds while a cache line of each row stays in L1 for the 16 k iterations (8 of doubles) that read it;
 * rows a multiple of 4 KiB apart share one set of L1, which has 8 or 12 lines.
 *
 * C: its rows lie ldc apart, too far for the hardware prefetcher to see a stream, and they come from memory
 * once per block of k. The first 14 k iterations prefetch one row each for writing: the lines in which its
 * vectors end.
 *
 * A: the 14 rows that the next row of tiles reads are prefetched into L2, each row at every 14th k iteration,
 * while a line has elements for 16 (for 8 of doubles, where two lines are prefetched): if rows are short, or
 * many lie in a page, the hardware prefetcher sees no streams. What is prefetched lies up to 14 elements
 * back, because the first 14 iterations prefetch C. Beyond the last row of A the prefetched lines are not
 * read.
 *
 * UK_OP_sgemm_runs: rows of A that are several runs. The sums stay in registers from one run to the next;
 * what moves the pointers there is in memory, because a run is long enough to hide the loads. Each k
 * iteration prefetches a line from `next` on into L2, and none of A.
 *
 * Edges: the code of a k iteration begins with the last row, and a tile of mr rows jumps into each k
 * iteration at its last row. Tiles of up to one vector of columns load one vector of b, and the FMAs
 * broadcast a from memory: 14 FMAs take 7 cycles, their 15 loads 7.5.
 *
 * UK_PREFETCHING: a second form, which instead of A prefetches elements [0, k) of three rows of another
 * matrix, spread over its k iterations. A line is prefetched again for each element or each second one, which
 * takes two or three of the 12 load slots that are free per iteration.
 */
#include "registry/kernel_contract.h"
#include "../any/runs.h"
#include "tile_14_avx512.h"

/* clang-format off */
/* The second form, which prefetches another matrix. */
#ifdef UK_PREFETCHING
#define PREFETCH                                                                                                \
    "prefetcht0 (%[s])\n\t"                                                                                     \
    "prefetcht0 (%[s], %[lds])\n\t"                                                                             \
    "prefetcht0 (%[s], %[lds], 2)\n\t"
#define PREFETCH_ON(bytes) "add " bytes ", %[s]\n\t"
#define PREFETCH_OUTPUTS [s] "+&r"(s),
#define PREFETCH_INPUTS [lds] "r"(size * lds),
#else
#define PREFETCH
#define PREFETCH_ON(bytes)
#define PREFETCH_OUTPUTS
#define PREFETCH_INPUTS
#endif
#ifdef UK_OP_sgemm_runs
/* The loop over runs, whose number is in `count`. */
#define RUN_BEGIN(count) "mov %[runs], " count "\n8:\n\t"
#define RUN_END(count)                                                                                          \
    ADVANCE_ROWS("%[a_on]")                                                                                     \
    "add %[b_on], %[b]\n\t"                                                                                     \
    "add %[next_on], %[next]\n\t"                                                                               \
    "mov %[terms], %[k]\n\t"                                                                                    \
    "dec " count "\n\t"                                                                                         \
    "jnz 8b\n\t"
#define RUN_OUTPUTS [next] "+&r"(r.next),
#define RUN_INPUTS [runs] "m"(r.runs), [terms] "m"(r.terms), [a_on] "m"(r.a_on), [b_on] "m"(r.b_on), [next_on] "m"(r.next_on),
#define PREFETCH_NEXT(n) "prefetcht1 64*" #n "(%[next])\n\t"
#define ADVANCE_NEXT(iterations) "add $64*" #iterations ", %[next]\n\t"
#else
#define PREFETCH_NEXT(n)
#define ADVANCE_NEXT(iterations)
#define RUN_BEGIN(count)
#define RUN_END(count)
#define RUN_OUTPUTS
#define RUN_INPUTS
#endif
/* A k iteration, n iterations after the pointers. */
#define K_ITERATION(n, enter)                                                                                   \
    "vmovu" P " 128*" #n "(%[b]), %%zmm28\n\t"                                                                  \
    "vmovu" P " 64 + 128*" #n "(%[b]), %%zmm29\n\t"                                                             \
    PREFETCH_NEXT(n) enter                                                                                      \
    ROWS_IN_PLACE(n)
/* The same for one vector of columns. */
#define NARROW_K_ITERATION(n, enter)                                                                            \
    "vmovu" P " 128*" #n "(%[b]), %%zmm28\n\t"                                                                  \
    PREFETCH_NEXT(n) enter                                                                                      \
    EACH_ROW_IN_PLACE(ROW_IN_PLACE_1, n)
#define ADVANCE(iterations)                                                                                     \
    ADVANCE_ROWS("$" BYTES "*" #iterations)                                                                     \
    PREFETCH_ON("$" BYTES "*" #iterations)                                                                      \
    ADVANCE_NEXT(iterations)                                                                                    \
    "add $128*" #iterations ", %[b]\n\t"
#define FETCH_ROW                                                                                               \
    "prefetchw 60(%[f])\n\t"                                                                                    \
    "prefetchw 124(%[f])\n\t"

/* Prefetches two of the next 14 rows of A in two k iterations; after seven times it restarts with the first
 * two rows. */
#ifdef UK_DOUBLE
#define FETCH_TWO                                                                                               \
    "prefetcht1 (%[f])\n\t"                                                                                     \
    "prefetcht1 64(%[f])\n\t"                                                                                   \
    "prefetcht1 (%[f], %[lda])\n\t"                                                                             \
    "prefetcht1 64(%[f], %[lda])\n\t"
#else
#define FETCH_TWO                                                                                               \
    "prefetcht1 (%[f])\n\t"                                                                                     \
    "prefetcht1 (%[f], %[lda])\n\t"
#endif
#if defined UK_PREFETCHING || defined UK_OP_sgemm_runs
#define FETCH_FIRST
#define FETCH_A
#else
#define FETCH_FIRST                                                                                             \
    "lea -14*" BYTES "(%[a10], %[lda], 4), %[f]\n\t"                                                            \
    "mov $7, %k[rows]\n\t"
#define FETCH_A                                                                                                 \
    FETCH_TWO                                                                                                   \
    "lea (%[f], %[lda], 2), %[f]\n\t"                                                                           \
    "dec %k[rows]\n\t"                                                                                          \
    "jnz 6f\n\t"                                                                                                \
    FETCH_FIRST                                                                                                 \
    "6:\n\t"
#endif

#define FULL_TILE(OUT)                                                                                          \
    __asm__ volatile(EACH_ROW(ZERO)                                                                             \
                     "test %[k], %[k]\n\t"                                                                      \
                     "jle 3f\n\t"                                                                               \
                     FETCH_C(K_ITERATION(0, ) FETCH_ROW, ADVANCE(1))                                            \
                     FETCH_FIRST                                                                                \
                     RUN_BEGIN("%[rows]")                                                                       \
                     UNROLL_2(K_ITERATION(0, ), PREFETCH K_ITERATION(1, ), ADVANCE(-1), FETCH_A ADVANCE(2))     \
                     RUN_END("%[rows]")                                                                         \
                     "3:\n\t" EACH_ROW(OUT)                                                                     \
                     : MOVING, RUN_OUTPUTS PREFETCH_OUTPUTS [f] "=&r"(f), [rows] "=&r"(rows)                    \
                     : RUN_INPUTS PREFETCH_INPUTS [lda] "r"(size * lda), [ld] "r"(size * ldc)                   \
                     : CLOBBERS)

#define TILE_OF(ITERATION)                                                                                      \
    __asm__ volatile(EDGE_TILE_WITH(RUN_BEGIN("%[skip]"), PREFETCH ITERATION(0, "jmp *%[t]\n\t") ADVANCE(1),    \
                                    RUN_END("%[skip]"))                                                         \
                     : MOVING, RUN_OUTPUTS PREFETCH_OUTPUTS [t] "=&r"(t), [skip] "=&r"(skip)                    \
                     : RUN_INPUTS PREFETCH_INPUTS [lda] "r"(size * lda), [ld] "r"(size * ldc), [up] "m"(up), EDGE_MASKS \
                     : CLOBBERS)

static inline __attribute__((always_inline)) void edge_tile(int64_t k, const element *a, int64_t lda, const element *b,
                                                            element *c, int64_t ldc, int64_t acc, int64_t mr,
                                                            int64_t nr, const element *s, int64_t lds,
                                                            struct runs r) {
    ROW_POINTERS;
    (void)s;
    (void)lds;
    (void)r;
    const uint32_t columns = nr < UK_NR ? (1u << nr) - 1 : ~0u, old = acc ? columns : 0;
    const int64_t up = mr - 1;
    int64_t t, skip;

    c += up * ldc;
    if (nr > V)
        TILE_OF(K_ITERATION);
    else
        TILE_OF(NARROW_K_ITERATION);
}
/* clang-format on */

static inline __attribute__((always_inline)) void tile(int64_t k, const element *a, int64_t lda,
                                                       const element *b, element *c, int64_t ldc, int64_t acc,
                                                       int64_t mr, int64_t nr, const element *s, int64_t lds,
                                                       struct runs r) {
    (void)s;
    (void)lds;
    (void)r;
    if (mr == 14 && nr == UK_NR) {
        ROW_POINTERS;
        int64_t f, rows;

        if (acc)
            FULL_TILE(ADD_STORE);
        else
            FULL_TILE(STORE);
    } else {
        edge_tile(k, a, lda, b, c, ldc, acc, mr, nr, s, lds, r);
    }
}

#ifdef UK_PREFETCHING
#define NAME(symbol) NAME_OF(symbol)
#define NAME_OF(symbol) symbol##_prefetching
void NAME(UK_SYMBOL)(int64_t k, const element *a, int64_t lda, const element *b, element *c, int64_t ldc,
                     int64_t acc, int64_t mr, int64_t nr, const element *s, int64_t lds);
void NAME(UK_SYMBOL)(int64_t k, const element *a, int64_t lda, const element *b, element *c, int64_t ldc,
                     int64_t acc, int64_t mr, int64_t nr, const element *s, int64_t lds) {
    tile(k, a, lda, b, c, ldc, acc, mr, nr, s, lds, (struct runs){0});
}
#elif defined UK_OP_sgemm_runs
void UK_SYMBOL(int64_t runs, int64_t k, const element *a, int64_t lda, int64_t lds, const element *b,
               int64_t ldb, element *c, int64_t ldc, int64_t acc, int64_t mr, int64_t nr, int64_t next) {
    const struct runs r = {runs, k, size * (lds - k), size * (ldb - UK_NR * k), next, size * ldb - 64 * k};

    tile(runs > 0 ? k : 0, a, lda, b, c, ldc, acc, mr, nr, NULL, 0, r);
}
#else
void UK_SYMBOL(int64_t k, const element *a, int64_t lda, const element *b, element *c, int64_t ldc,
               int64_t acc, int64_t mr, int64_t nr) {
    tile(k, a, lda, b, c, ldc, acc, mr, nr, NULL, 0, (struct runs){0});
}
#endif
