/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The maximum (u8max, i8max) or the sum in i32 (u8sum, i8sum) of a window of r x s bytes, for m pixels and n
 * neighbours of each: as channels of NHWC with any stride, or as pixels of a plane with stride 1. A register
 * holds 8 neighbours, at any address. Maximum: umax8 or smax8; UK_WIDE registers of results stay in place for
 * a whole window. Sums: umaqa or smaqa by a word with a 1 in its bytes b and b + 4 adds neighbours b and b +
 * 4 to the halves of sum b: four sums for a register.
 *
 * Bound, per byte of a window: maximum, of 32 neighbours, 4 loads, 4 instructions, 2 of the loop: 0.31; sums,
 * of 16, 2 loads, 8 and 2: 0.75. A store for each 8 maxima, or 1.5 instructions for each sum.
 *
 * Edges: one register at a time; the last one overlaps the one before it. Fewer than 8 neighbours go byte by
 * byte.
 */
#include "any_address_rvp.h"
#include "registry/rvp.h"

#if defined(UK_OP_u8max) || defined(UK_OP_u8sum)
typedef uint8_t element;
enum { MINIMUM = 0 };
#define MAX8 uk_rvp_umax8
#define MAQA uk_rvp_umaqa
#else
typedef int8_t element;
enum { MINIMUM = -128 };
#define MAX8 uk_rvp_smax8
#define MAQA uk_rvp_smaqa
#endif
#if defined(UK_OP_u8max) || defined(UK_OP_i8max)
typedef element result;
enum { SUMS = 0, WIDE = 4 };
#else
typedef int32_t result;
enum { SUMS = 1, WIDE = 2 };
#endif
enum { REGISTER = 8, PARTS = SUMS ? 4 : 1, HALF = 4 };
_Static_assert(UK_NR == WIDE * REGISTER, "the widest block");

struct window {
    int64_t r, s, ldr, lds, acc;
};

/* Adds a register of bytes to the window's result. */
static inline __attribute__((always_inline)) void take(uint64_t part[PARTS], uint64_t v) {
#pragma GCC unroll 4
    for (int b = 0; b < PARTS; b++)
        part[b] = SUMS ? MAQA(part[b], v, (uint64_t)0x0000000100000001 << 8 * b) : MAX8(part[b], v);
}

static inline __attribute__((always_inline)) void put(result *y, int64_t acc, uint32_t sum) {
    *y = (result)((acc ? (uint32_t)*y : 0) + sum);
}

/* Stores the results of one register from neighbour `first` on; the ones before it are already stored. */
static inline __attribute__((always_inline)) void store(const uint64_t part[PARTS], result *y, int64_t acc,
                                                        int64_t first) {
    if (!SUMS) {
        store_8(y, acc ? MAX8(part[0], load_8(y)) : part[0]);
        return;
    }
#pragma GCC unroll 4
    for (int b = 0; b < PARTS; b++) {
        if (b >= first)
            put(y + b, acc, (uint32_t)part[b]);
        if (b + HALF >= first)
            put(y + b + HALF, acc, (uint32_t)(part[b] >> 32));
    }
}

/* `registers` registers of one pixel, a constant. */
static inline __attribute__((always_inline)) void block(const struct window *w, const element *x, result *y,
                                                        int registers, int64_t first) {
    uint64_t part[WIDE][PARTS];

#pragma GCC unroll 4
    for (int i = 0; i < registers; i++)
#pragma GCC unroll 4
        for (int b = 0; b < PARTS; b++)
            part[i][b] = SUMS ? 0 : (uint64_t)(uint8_t)MINIMUM * 0x0101010101010101;
    for (int64_t r = 0; r < w->r; r++) {
        const element *p = x + r * w->ldr;

#pragma GCC unroll 1
        for (int64_t s = 0; s < w->s; s++, p += w->lds)
#pragma GCC unroll 4
            for (int i = 0; i < registers; i++)
                take(part[i], load_8(p + i * REGISTER));
    }
#pragma GCC unroll 4
    for (int i = 0; i < registers; i++)
        store(part[i], y + i * REGISTER, w->acc, first);
}

/* One neighbour. */
static inline __attribute__((always_inline)) void single(const struct window *w, const element *x,
                                                         result *y) {
    int32_t v = SUMS ? 0 : MINIMUM;

#pragma GCC unroll 1
    for (int64_t r = 0; r < w->r; r++)
#pragma GCC unroll 1
        for (int64_t s = 0; s < w->s; s++) {
            const element e = x[r * w->ldr + s * w->lds];

            v = SUMS ? (int32_t)((uint32_t)v + (uint32_t)e) : e > v ? e : v;
        }
    if (SUMS)
        put(y, w->acc, (uint32_t)v);
    else
        *y = (result)(w->acc && *y > v ? *y : v);
}

void UK_SYMBOL(int64_t r, int64_t s, const element *x, int64_t ldi, int64_t ldr, int64_t lds, result *y,
               int64_t ldy, int64_t acc, int64_t m, int64_t n) {
    const struct window w = {r, s, ldr, lds, acc};
    const int64_t by_register = n >= REGISTER ? n : 0;

#pragma GCC unroll 1
    for (int64_t i = 0; i < m; i++, x += ldi, y += ldy) {
        int64_t j = 0;

#pragma GCC unroll 1
        for (; j + UK_NR <= n; j += UK_NR)
            block(&w, x + j, y + j, WIDE, 0);
#pragma GCC unroll 1
        for (; j < by_register; j += REGISTER) {
            const int64_t begin = j + REGISTER <= n ? j : n - REGISTER;

            block(&w, x + begin, y + begin, 1, j - begin);
        }
#pragma GCC unroll 1
        for (; j < n; j++)
            single(&w, x + j, y + j);
    }
}
