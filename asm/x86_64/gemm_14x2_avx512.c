/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 14 rows x 2 vectors of C, 32 floats or 16 doubles (UK_OP_d...), in 28 zmm registers.
 *
 *                           b: zmm28 (vector 0)       zmm29 (vector 1)
 *     a: zmm30     row 0       zmm0                     zmm1
 *        zmm31     row 1       zmm2                     zmm3
 *        (alter-   ...         ...                      ...
 *        nating)   row 13      zmm26                    zmm27
 *
 * Bound: 28 FMAs, 16 loads, a prefetch (2 of doubles), 45 instructions per k iteration. At two 512-bit FMAs
 * and two loads a cycle the FMAs take 14 cycles, the loads 9: 64 flop per cycle (32 of doubles), the peak. 28
 * accumulators hide an FMA latency of 4 cycles at two FMAs a cycle, for which eight would do.
 *
 * Of the tiles that fill the registers (the others are 12x32, 8x48, 9x48 and 6x64) it has the fewest columns:
 * tiles 48 wide leave a narrow one where N is a multiple of 64.
 *
 * C: its rows lie ldc apart, too far for the hardware prefetcher to see a stream, and they come from memory
 * once per block of k. ALL_K_ITERATIONS prefetches them.
 *
 * A: the micro-panel that the next row of tiles reads usually follows this one in memory, and is prefetched
 * into L2 by the first tile of a row: the hardware prefetcher would stop at the end of each page. Where
 * another one follows, or none, the prefetch has no effect on the result.
 *
 * UK_PREFETCHING: a second form, in which each tile of a row prefetches a share of that micro-panel: k
 * iterations at two places of it.
 *
 * UK_PACKING: a third form, which also packs two rows of A, k elements of each, into the next micro-panel:
 * the loads of that copy then wait for the LLC or memory while the FMAs go on. It takes 4 moves and 2
 * prefetches more, 54 instructions per k iteration.
 *
 * Edges: the code of a k iteration begins with the last row, and a tile of mr rows jumps into it at its own
 * last row. That takes mr cycles per k iteration and the cost of a jump, which bounds tiles of few rows.
 * Tiles of up to one vector of columns load one vector of b, and the FMAs broadcast a from memory: 14 FMAs
 * take 7 cycles, their 15 loads 7.5.
 */
#include "registry/kernel_contract.h"
#include "tile_14_avx512.h"

/* clang-format off */
/* Row i of a k iteration, whose elements of A begin `at` elements after %[a]: adds its products to
 * accumulators x and y; register t holds the element of A. */
#define ROW(i, x, y, t, at)                                                                                     \
    "vbroadcast" S " " BYTES "*" #i " + " BYTES "*" #at "(%[a]), %%zmm" #t "\n\t"                               \
    "vfmadd231" P " %%zmm28, %%zmm" #t ", %%zmm" #x "\n\t"                                                      \
    "vfmadd231" P " %%zmm29, %%zmm" #t ", %%zmm" #y "\n\t"
#define NARROW_ROW(i, x, at)                                                                                    \
    "vfmadd231" P " " BYTES "*" #i " + " BYTES "*" #at "(%[a])%{1to" VECTOR "%}, %%zmm28, %%zmm" #x "\n\t"
#define WIDE_B(at)                                                                                              \
    "vmovu" P " " #at "(%[b]), %%zmm28\n\t"                                                                     \
    "vmovu" P " 64 + " #at "(%[b]), %%zmm29\n\t"
#define NARROW_B(at)                                                                                            \
    "vmovu" P " " #at "(%[b]), %%zmm28\n\t"

/* The code of row 1 is at label 7, that of row 0 at label 8, or in the second of two k iterations at label 9.
 * Each row but row 0 has 9f - 7f bytes of code. */
#define ROWS_2_TO_13(at)                                                                                        \
    ROW(13, 26, 27, 31, at) ROW(12, 24, 25, 30, at) ROW(11, 22, 23, 31, at) ROW(10, 20, 21, 30, at)             \
    ROW(9, 18, 19, 31, at) ROW(8, 16, 17, 30, at) ROW(7, 14, 15, 31, at) ROW(6, 12, 13, 30, at)                 \
    ROW(5, 10, 11, 31, at) ROW(4, 8, 9, 30, at) ROW(3, 6, 7, 31, at) ROW(2, 4, 5, 30, at)
#define NARROW_ROWS_2_TO_13(at)                                                                                 \
    NARROW_ROW(13, 26, at) NARROW_ROW(12, 24, at) NARROW_ROW(11, 22, at) NARROW_ROW(10, 20, at)                 \
    NARROW_ROW(9, 18, at) NARROW_ROW(8, 16, at) NARROW_ROW(7, 14, at) NARROW_ROW(6, 12, at)                     \
    NARROW_ROW(5, 10, at) NARROW_ROW(4, 8, at) NARROW_ROW(3, 6, at) NARROW_ROW(2, 4, at)
#define NARROW_ROWS_2_TO_13_AGAIN(at)                                                                           \
    NARROW_ROW(13, 27, at) NARROW_ROW(12, 25, at) NARROW_ROW(11, 23, at) NARROW_ROW(10, 21, at)                 \
    NARROW_ROW(9, 19, at) NARROW_ROW(8, 17, at) NARROW_ROW(7, 15, at) NARROW_ROW(6, 13, at)                     \
    NARROW_ROW(5, 11, at) NARROW_ROW(4, 9, at) NARROW_ROW(3, 7, at) NARROW_ROW(2, 5, at)

#define FOLD(x, y)                                                                                              \
    "vadd" P " %%zmm" #y ", %%zmm" #x ", %%zmm" #x "\n\t"

#define ADVANCE(iterations)                                                                                     \
    "add $" BYTES "*14*" #iterations ", %[a]\n\t"                                                               \
    "add $128*" #iterations ", %[b]\n\t"
/* t: the code of the tile's last row, which is row 0's address minus the code of %[up] rows. */
#define AIM(t)                                                                                                  \
    "lea 9f(%%rip), " t "\n\t"                                                                                  \
    "imul $(9f - 7f), %[up], %[skip]\n\t"                                                                       \
    "sub %[skip], " t "\n\t"
#define AIM_AT_8(t)                                                                                             \
    "lea 8f(%%rip), " t "\n\t"                                                                                  \
    "sub %[skip], " t "\n\t"

/* Prefetches one k iteration of the next micro-panel of A: a line for 56 bytes of floats, two for 112 of
 * doubles. The second form prefetches a share of that micro-panel. The third form copies an element of each
 * of two rows, and prefetches the two rows that the next tile copies. */
#if defined UK_PREFETCHING
#define FETCH_A(at)                                                                                             \
    "prefetcht1 (%[s])\n\t"                                                                                     \
    "prefetcht1 (%[s], %[lds])\n\t"                                                                             \
    "add %[step], %[s]\n\t"
#define ON_D(iterations)
#define PREFETCH_OUTPUTS [s] "+&r"(s),
#define PREFETCH_INPUTS [lds] "r"(size * lds), [step] "r"(size * step),
#elif defined UK_PACKING
#ifdef UK_DOUBLE
#define COPIED "%[copied]"
#else
#define COPIED "%k[copied]"
#endif
#define FETCH_A(at)                                                                                             \
    "mov (%[s]), " COPIED "\n\t"                                                                                \
    "mov " COPIED ", " BYTES "*" #at "(%[d])\n\t"                                                               \
    "mov (%[s], %[lds]), " COPIED "\n\t"                                                                        \
    "mov " COPIED ", " BYTES " + " BYTES "*" #at "(%[d])\n\t"                                                   \
    "prefetcht1 (%[s], %[lds], 2)\n\t"                                                                          \
    "prefetcht1 (%[s2], %[lds], 2)\n\t"                                                                         \
    "add $" BYTES ", %[s]\n\t"                                                                                  \
    "add $" BYTES ", %[s2]\n\t"
#define ON_D(iterations) "add $" BYTES "*14*" #iterations ", %[d]\n\t"
#define PREFETCH_OUTPUTS [s] "+&r"(s), [s2] "+&r"(s2), [d] "+&r"(d), [copied] "=&r"(copied),
#define PREFETCH_INPUTS [lds] "r"(size * lds),
#else
#ifdef UK_DOUBLE
#define FETCH_A(at)                                                                                             \
    "prefetcht1 " BYTES "*" #at "(%[a], %[next])\n\t"                                                           \
    "prefetcht1 64 + " BYTES "*" #at "(%[a], %[next])\n\t"
#else
#define FETCH_A(at)                                                                                             \
    "prefetcht1 " BYTES "*" #at "(%[a], %[next])\n\t"
#endif
#define ON_D(iterations)
#define PREFETCH_OUTPUTS
#define PREFETCH_INPUTS [next] "r"(14 * size * all),
#endif
#define WIDE_K_ITERATION(b_at, a_at)                                                                            \
    WIDE_B(b_at) ROWS_2_TO_13(a_at) ROW(1, 2, 3, 31, a_at) ROW(0, 0, 1, 30, a_at)

/* All k iterations of a tile, unrolled by two; an odd count enters the loop in the middle. `even` and `odd`
 * are the two iterations, `back` and `on` move the pointers.
 *
 * Between iterations the rows of C are prefetched for writing: the lines in which their vectors end, two rows
 * at a time because only a few lines can be in flight. A tile of many iterations does so near its end, as A
 * and B bring more lines than L1 holds before that. A tile of few iterations does so first. Operands:
 *
 *     %[k]                  the iterations before the first two rows of C
 *     %[fetches]            7 pairs of rows, or 0
 *     %[between], %[last]   the iterations between pairs, and after the last pair
 *     %[f]                  the next row of C */
#define ALL_K_ITERATIONS(even, odd, back, on)                                                                   \
    "test %[k], %[k]\n\t"                                                                                       \
    "jle 3f\n\t"                                                                                                \
    "8:\n\t"                                                                                                    \
    UNROLL_2(even, odd, back, on)                                                                               \
    "subq $1, %[fetches]\n\t"                                                                                   \
    "js 3f\n\t"                                                                                                 \
    FETCH_C_ROW("(%[f])")                                                                                       \
    FETCH_C_ROW("(%[f], %[ld])")                                                                                \
    "lea (%[f], %[ld], 2), %[f]\n\t"                                                                            \
    "mov %[between], %[k]\n\t"                                                                                  \
    "cmovz %[last], %[k]\n\t"                                                                                   \
    "jmp 8b\n\t"
#define FETCH_C_ROW(at)                                                                                         \
    "prefetchw 60" at "\n\t"                                                                                    \
    "prefetchw 124" at "\n\t"
/* The operands of ALL_K_ITERATIONS for a tile of k iterations. */
#define WHEN_ROWS_ARE_FETCHED                                                                                   \
    const int64_t between = k < 128 ? 2 : 8, last = k < 128 ? (k - 13) & ~1 : 24;                               \
    const element *f = c;                                                                                       \
    int64_t fetches = k < 16 ? 0 : 7;                                                                           \
    k -= fetches ? 6 * between + last : 0
#define FETCHES [between] "m"(between), [last] "m"(last)
#define FULL_TILE(OUT)                                                                                          \
    __asm__ volatile(EACH_ROW(ZERO)                                                                             \
                     ALL_K_ITERATIONS(FETCH_A(0) WIDE_K_ITERATION(0, 0), FETCH_A(14) WIDE_K_ITERATION(128, 14), \
                               ADVANCE(-1) ON_D(-1), ADVANCE(2) ON_D(2))                                        \
                     "3:\n\t" EACH_ROW(OUT)                                                                     \
                     : [k] "+&r"(k), [a] "+&r"(a), [b] "+&r"(b), [c] "+&r"(c), PREFETCH_OUTPUTS [f] "+&r"(f),   \
                       [fetches] "+m"(fetches)                                                                  \
                     : PREFETCH_INPUTS [ld] "r"(size * ldc), FETCHES                                            \
                     : CLOBBERS)

static inline __attribute__((always_inline)) void edge_tile(int64_t k, const element *a, const element *b, element *c,
                                                            int64_t ldc, int64_t acc, int64_t mr, int64_t nr) {
    const uint32_t columns = nr < 32 ? (1u << nr) - 1 : ~0u, old = acc ? columns : 0;
    int64_t t, u, skip;

    c += (mr - 1) * ldc;
    __asm__ volatile(EACH_ROW(ZERO)
                     "test %[k], %[k]\n\t"
                     "jle 6f\n\t"
                     "cmp $" VECTOR ", %[nr]\n\t"
                     "jle 4f\n\t"
                     AIM("%[t]")
                     ".p2align 5\n"
                     "3:\n\t" WIDE_B(0)
                     "jmp *%[t]\n\t"
                     ROWS_2_TO_13(0)
                     "7:\n\t" ROW(1, 2, 3, 31, 0)
                     "9:\n\t" ROW(0, 0, 1, 30, 0)
                     ADVANCE(1)
                     "dec %[k]\n\t"
                     "jnz 3b\n\t"
                     "jmp 6f\n"
                     "4:\n\t" AIM("%[u]") AIM_AT_8("%[t]")
                     UNROLL_2(NARROW_B(0) "jmp *%[t]\n\t" NARROW_ROWS_2_TO_13(0)
                                NARROW_ROW(1, 2, 0) "8:\n\t" NARROW_ROW(0, 0, 0),
                                NARROW_B(128) "jmp *%[u]\n\t" NARROW_ROWS_2_TO_13_AGAIN(14)
                                "7:\n\t" NARROW_ROW(1, 3, 14) "9:\n\t" NARROW_ROW(0, 1, 14),
                                ADVANCE(-1), ADVANCE(2))
                     EACH_ROW(FOLD)
                     "6:\n\t" AIM("%[t]")
                     "jmp *%[t]\n\t"
                     EDGE_STORES
                     : [k] "+&r"(k), [a] "+&r"(a), [b] "+&r"(b), [c] "+&r"(c),
                       [t] "=&r"(t), [u] "=&r"(u), [skip] "=&r"(skip)
                     : [ld] "r"(size * ldc), [up] "r"(mr - 1), [nr] "r"(nr), EDGE_MASKS
                     : CLOBBERS);
}
/* clang-format on */

static inline __attribute__((always_inline)) void tile(int64_t k, const element *a, const element *b,
                                                       element *c, int64_t ldc, int64_t acc, int64_t mr,
                                                       int64_t nr, const element *s, int64_t lds,
                                                       int64_t step, element *d) {
    const element *s2 = s + lds;
    const int64_t all = k;
    int64_t copied;

    (void)s2;
    (void)all;
    (void)copied;
    (void)step;
    (void)d;
    if (mr == 14 && nr == UK_NR) {
        WHEN_ROWS_ARE_FETCHED;

        if (acc)
            FULL_TILE(ADD_STORE);
        else
            FULL_TILE(STORE);
    } else {
        edge_tile(k, a, b, c, ldc, acc, mr, nr);
    }
}

#define NAME(symbol, form) NAME_OF(symbol, form)
#define NAME_OF(symbol, form) symbol##form
#if defined UK_PREFETCHING
void NAME(UK_SYMBOL, _prefetching)(int64_t k, const element *a, const element *b, element *c, int64_t ldc,
                                   int64_t acc, int64_t mr, int64_t nr, const element *s, int64_t lds,
                                   int64_t step);
void NAME(UK_SYMBOL, _prefetching)(int64_t k, const element *a, const element *b, element *c, int64_t ldc,
                                   int64_t acc, int64_t mr, int64_t nr, const element *s, int64_t lds,
                                   int64_t step) {
    tile(k, a, b, c, ldc, acc, mr, nr, s, lds, step, NULL);
}
#elif defined UK_PACKING
void NAME(UK_SYMBOL, _packing)(int64_t k, const element *a, const element *b, element *c, int64_t ldc,
                               int64_t acc, int64_t mr, int64_t nr, const element *s, int64_t lds,
                               element *d);
void NAME(UK_SYMBOL, _packing)(int64_t k, const element *a, const element *b, element *c, int64_t ldc,
                               int64_t acc, int64_t mr, int64_t nr, const element *s, int64_t lds,
                               element *d) {
    tile(k, a, b, c, ldc, acc, mr, nr, s, lds, 0, d);
}
#else
void UK_SYMBOL(int64_t k, const element *a, const element *b, element *c, int64_t ldc, int64_t acc,
               int64_t mr, int64_t nr) {
    tile(k, a, b, c, ldc, acc, mr, nr, a, 0, 0, NULL);
}
#endif
