/* SPDX-License-Identifier: Apache-2.0 */
/* Inside room auto: a stage's tiling, built step by step. */
#ifndef UK_TILING_H
#define UK_TILING_H

#include "costing.h"

struct tiling {
    struct uk_schedule *s;
    struct uk_stage *st;
    const struct uk_fit *fit;
    struct uk_loop *axis[2 * UK_MAX_DIMS]; /* by the fit's axis: the loop inside the tile */
    struct uk_loop *order[UK_MAX_LOOPS];   /* the final order, outermost first */
    int loops;
    /* Positions in `order`, at which the loops over blocks, those over tiles, and those of the tile begin;
     * the loops before `outside` are no axis of the kernel. */
    int outside, blocks, tiles;
    int rows, columns; /* the fit's axes of the output's tile; -1: there is none */
    bool window;       /* uk_is_window */
    struct uk_blocks blocked;
    /* streams.c: the fit's axis of the sum; the panels of a stream, and the terms that are read of one before
     * the next. panels_of_stream 0: the stage is not read in streams. */
    int sum;
    int64_t panels_of_stream, terms_of_block;
    struct uk_loop
        *shared; /* the loop over blocks of columns, or blocks or tiles of rows, that threads share */
};

/* tiling.c: true if the output's loops outside the fit's have enough iterations for all threads. */
bool uk_has_loops_for_threads(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f);
/* tiling.c: the length of blocks that divide n about evenly, a multiple of 8; `most` if n is at most that. */
int64_t uk_even_block_length(int64_t n, int64_t most);

/* ---- streams.c: products of one row, whose time is that of reading a constant ---- */

/* Returns whether such a product should read its constant in several streams, and sets their lengths. */
bool uk_find_streams(struct tiling *t);
/* Creates the loops around the tile that do so. */
enum uk_status uk_split_streams(struct tiling *t);

/* ---- tiling_window.c: stages with loops that are no axis of the kernel: other sums, other rows ---- */

bool uk_is_window(const struct uk_stage *st, const struct uk_fit *f);
enum uk_status uk_order_window(struct tiling *t, const struct uk_costing *c);
/* Minimum number of tiles per thread: then a thread has at most a quarter more work than another. */
enum { UK_MIN_TILES_PER_THREAD = 4 };
/* Finds the fit's axes of the output's tile; -1: there is none. */
void uk_tile_axes(const struct uk_stage *st, const struct uk_fit *f, int *rows, int *columns);

#endif
