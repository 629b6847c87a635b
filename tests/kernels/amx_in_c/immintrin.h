/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replaces the compiler's header: the intrinsics of AMX in C, as in the pseudocode of Intel's manual (volume
 * 2: TILELOADD, TILESTORED, TILEZERO, TDPB*), with the configuration of uk_state_load: eight tiles of 16 rows
 * of 64 bytes. A kernel declares the tiles as variables and passes them to its own functions.
 */
#ifndef UK_AMX_IN_C
#define UK_AMX_IN_C
#include <stdbool.h>
#include "../avx512_in_c/immintrin.h"
#include "registry/half.h"

enum { TILE_ROWS = 16, TILE_GROUPS = 16, TILE_LINE = 64 };

struct tile_register {
    unsigned char row[TILE_ROWS][TILE_LINE];
};

#define TILE_VARIABLES struct tile_register tile[8];
#define TILE_REGISTERS struct tile_register *tile,
#define THE_TILES tile,
#define _tile_zero(d) memset(&tile[d], 0, sizeof tile[d])
#define _tile_loadd(d, base, pitch) tile_load(&tile[d], base, pitch)
#define _tile_stored(s, base, pitch) tile_store(&tile[s], base, pitch)
#define _tile_dpbssd(d, a, b) tile_bytes(&tile[d], &tile[a], &tile[b], true, true)
#define _tile_dpbsud(d, a, b) tile_bytes(&tile[d], &tile[a], &tile[b], true, false)
#define _tile_dpbusd(d, a, b) tile_bytes(&tile[d], &tile[a], &tile[b], false, true)
#define _tile_dpbuud(d, a, b) tile_bytes(&tile[d], &tile[a], &tile[b], false, false)
#define _tile_dpbf16ps(d, a, b) tile_bf16(&tile[d], &tile[a], &tile[b])

static inline void tile_load(struct tile_register *d, const void *base, int64_t pitch) {
    for (int i = 0; i < TILE_ROWS; i++)
        memcpy(d->row[i], (const char *)base + i * pitch, TILE_LINE);
}

static inline void tile_store(const struct tile_register *s, void *base, int64_t pitch) {
    for (int i = 0; i < TILE_ROWS; i++)
        memcpy((char *)base + i * pitch, s->row[i], TILE_LINE);
}

static inline int32_t tile_byte(const struct tile_register *t, int row, int column, bool is_signed) {
    return is_signed ? (int8_t)t->row[row][column] : t->row[row][column];
}

/* The sums of row i: each of 16 columns adds the products of 16 groups of 4 bytes. */
static inline void tile_bytes(struct tile_register *d, const struct tile_register *a,
                              const struct tile_register *b, bool a_signed, bool b_signed) {
    for (int i = 0; i < TILE_ROWS; i++)
        for (int j = 0; j < TILE_LINE; j += 4) {
            uint32_t sum;

            memcpy(&sum, &d->row[i][j], sizeof sum);
            for (int p = 0; p < TILE_GROUPS; p++)
                for (int x = 0; x < 4; x++)
                    sum +=
                        (uint32_t)(tile_byte(a, i, 4 * p + x, a_signed) * tile_byte(b, p, j + x, b_signed));
            memcpy(&d->row[i][j], &sum, sizeof sum);
        }
}

/* A subnormal number as 0. */
static inline float tile_flushed(float x) {
    return x > -0x1p-126F && x < 0x1p-126F ? 0 : x;
}

enum { TILE_HALVES = TILE_LINE / 2 };

static inline void tile_halves(const struct tile_register *t, float to[TILE_ROWS][TILE_HALVES]) {
    for (int i = 0; i < TILE_ROWS; i++)
        for (int j = 0; j < TILE_HALVES; j++) {
            uint16_t bits;

            memcpy(&bits, &t->row[i][2 * j], sizeof bits);
            to[i][j] = tile_flushed(uk_from_bf16(bits));
        }
}

/* Products of bf16 are exact in f32, so that adding one rounds once, as the instruction does. */
static inline void tile_bf16(struct tile_register *d, const struct tile_register *a,
                             const struct tile_register *b) {
    float of_a[TILE_ROWS][TILE_HALVES], of_b[TILE_GROUPS][TILE_HALVES];

    tile_halves(a, of_a);
    tile_halves(b, of_b);
    for (int i = 0; i < TILE_ROWS; i++)
        for (int j = 0; j < TILE_GROUPS; j++) {
            float sum[2] = {0, 0}, old;

            for (int p = 0; p < TILE_GROUPS; p++)
                for (int x = 0; x < 2; x++)
                    sum[x] = tile_flushed(sum[x] + of_a[i][2 * p + x] * of_b[p][2 * j + x]);
            memcpy(&old, &d->row[i][4 * j], sizeof old);
            old = tile_flushed(tile_flushed(old) + tile_flushed(sum[0] + sum[1]));
            memcpy(&d->row[i][4 * j], &old, sizeof old);
        }
}

#endif
