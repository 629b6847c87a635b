/* SPDX-License-Identifier: Apache-2.0 */
/* Inside room auto: a stage's tiling, built step by step. */
#ifndef UK_TILING_H
#define UK_TILING_H

#include "costing.h"

struct tiling {
    struct uk_schedule *s;
    struct uk_stage *st;
    const struct uk_fit *fit;
    struct uk_loop *axis[2 * UK_MAX_DIMS]; /* the loop inside the tile */
    struct uk_loop *order[UK_MAX_LOOPS];
    int loops;
    int outside, blocks, tiles; /* order: loops of no axis | blocks | loops over tiles | the tile */
    int rows, columns;          /* the axes of the output's tile; -1: there is none */
    int packs;
    bool window;
    struct uk_blocks blocked;
    struct uk_loop *shared; /* the loop over blocks of columns, or of rows, that the threads take */
};

/* tiling.c: the length of blocks that are all about as long, none longer than most. */
int64_t uk_even_blocks(int64_t n, int64_t most);

/* tiling_window.c: sums over more than the kernel's, and rows of several loops */
bool uk_is_window(const struct uk_stage *st, const struct uk_fit *f);
enum uk_status uk_order_window(struct tiling *t, const struct uk_costing *c);
/* Tiles of each thread, at least: then one thread has at most a quarter more than another. */
enum { UK_TILES_A_THREAD = 4 };
/* The fit's axes of the output's tile; -1: there is none. */
void uk_tile_axes(const struct uk_stage *st, const struct uk_fit *f, int *rows, int *columns);

#endif
