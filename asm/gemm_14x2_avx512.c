/*
 * 14 rows x 2 vectors of C, 32 floats or 16 doubles (UK_OP_d...), in 28 zmm registers.
 *
 *                           b: zmm28 (vector 0)       zmm29 (vector 1)
 *     a: zmm30     row 0       zmm0                     zmm1
 *        zmm31     row 1       zmm2                     zmm3
 *        (by       ...         ...                      ...
 *        turns)    row 13      zmm26                    zmm27
 *
 * Bound: 28 FMAs, 16 loads, a prefetch (2 of doubles), 45 instructions per k. At two 512-bit FMAs and two loads a cycle the FMAs
 * take 14 cycles, the loads 9: 64 flop per cycle (32 of doubles), the peak. 28 accumulators cover a latency of 4 at two FMAs a cycle
 * three times over.
 *
 * Of the tiles that fill the registers (12x32, 8x48, 9x48, 6x64 are the others) it needs the fewest columns:
 * widths of 48 leave a narrow tile where N is a multiple of 64.
 *
 * C: its rows lie ldc apart, too far for the hardware to see a stream, and come from memory once per block of k. The first
 * 14 steps ask for one row each, to be written: for the lines that its vectors end in.
 *
 * A: the panel that the next row of tiles reads, behind this one as a rule, is asked into the second cache: the first tile
 * of a row brings it, while the hardware's own stream would end at each page. Where nothing lies there, it is only fetched.
 *
 * Edges: rows are coded last row first, and a tile of mr rows enters each step, by a jump, at its last row:
 * mr cycles per k, and the cost of a jump, which bounds tiles of few rows. Columns of one vector take one vector
 * of b and broadcasts within the FMAs: half the cycles, if it were not for 15 loads in 7 cycles.
 */
#include "ukernels.h"
#include "tile_14_avx512.h"

/* clang-format off */
/* Row i of a step, `at` elements on in a, into accumulators x and y. */
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

/* Row 1 is at label 7; row 0 is at 8, in the second of two steps at 9. All rows but row 0 are 9f - 7f bytes of code. */
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

#define ADVANCE(steps)                                                                                          \
    "add $" BYTES "*14*" #steps ", %[a]\n\t"                                                                    \
    "add $128*" #steps ", %[b]\n\t"
#define FETCH_ROW                                                                                               \
    "prefetchw 60(%[f])\n\t"                                                                                    \
    "prefetchw 124(%[f])\n\t"
/* Where to jump: to row 0, less the rows between. */
#define AIM(t)                                                                                                  \
    "lea 9f(%%rip), " t "\n\t"                                                                                  \
    "imul $(9f - 7f), %[up], %[skip]\n\t"                                                                       \
    "sub %[skip], " t "\n\t"
#define AIM_AT_8(t)                                                                                             \
    "lea 8f(%%rip), " t "\n\t"                                                                                  \
    "sub %[skip], " t "\n\t"

/* What a step of the next panel of A begins in: 56 bytes of floats, 112 of doubles. */
#ifdef UK_DOUBLE
#define FETCH_A(at)                                                                                             \
    "prefetcht1 " BYTES "*" #at "(%[a], %[next])\n\t"                                                           \
    "prefetcht1 64 + " BYTES "*" #at "(%[a], %[next])\n\t"
#else
#define FETCH_A(at)                                                                                             \
    "prefetcht1 " BYTES "*" #at "(%[a], %[next])\n\t"
#endif
#define WIDE_STEP(b_at, a_at)                                                                                   \
    WIDE_B(b_at) ROWS_2_TO_13(a_at) ROW(1, 2, 3, 31, a_at) ROW(0, 0, 1, 30, a_at)

#define FULL_TILE(OUT)                                                                                          \
    __asm__ volatile(EACH_ROW(ZERO)                                                                             \
                     "test %[k], %[k]\n\t"                                                                      \
                     "jle 3f\n\t"                                                                               \
                     FETCH_C(FETCH_A(0) WIDE_STEP(0, 0) FETCH_ROW, ADVANCE(1))                                  \
                     TWO_A_TURN(FETCH_A(0) WIDE_STEP(0, 0), FETCH_A(14) WIDE_STEP(128, 14), ADVANCE(-1), ADVANCE(2)) \
                     "3:\n\t" EACH_ROW(OUT)                                                                     \
                     : [k] "+&r"(k), [a] "+&r"(a), [b] "+&r"(b), [c] "+&r"(c), [f] "=&r"(f), [rows] "=&r"(rows) \
                     : [ld] "r"(size * ldc), [next] "r"(14 * size * k)                                          \
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
                     TWO_A_TURN(NARROW_B(0) "jmp *%[t]\n\t" NARROW_ROWS_2_TO_13(0)
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

void UK_SYMBOL(int64_t k, const element *a, const element *b, element *c, int64_t ldc, int64_t acc,
               int64_t mr, int64_t nr) {
    if (mr == 14 && nr == UK_NR) {
        int64_t f, rows;

        if (acc)
            FULL_TILE(ADD_STORE);
        else
            FULL_TILE(STORE);
    } else {
        edge_tile(k, a, b, c, ldc, acc, mr, nr);
    }
}
