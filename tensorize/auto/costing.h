/* SPDX-License-Identifier: Apache-2.0 */
/* Inside room auto: the estimated cycles of a stage, tiled for a kernel with given loops around it, or in
 * plain loops. */
#ifndef UK_COSTING_H
#define UK_COSTING_H

#include "auto.h"
#include "cost/cost.h"

/* blocks.c: the blocking of a product's loops around a kernel. */
struct uk_blocks {
    bool is_column_loop_outer; /* the loop over panels of columns is outside that over panels of rows */
    /* The loop over tiles of rows is outside all others, those that are no axis of the kernel included. */
    bool are_rows_outermost;
    /* Panels of columns, or of rows, are copied one by one, each just before its use; else all those of a
     * block before the block's tiles. */
    bool packs_each_column_panel, packs_each_row_panel;
    int64_t kc, nc, mc; /* terms of the sum, columns and rows of a block; 0: all */
};

/* kernel_cycles.c: the number of k iterations of whole tiles of the fit's kernel whose instructions take as
 * long as all calls in the stage. */
double uk_whole_iterations(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f);
/* kernel_cycles.c: true if the kernel computes a product of any number of rows in one call. */
bool uk_computes_all_rows(const struct uk_kernel *row);
/* kernel_cycles.c: true if several rows share a vector of the kernel, so that its vectors are shuffled or
 * their loads merged, and a call has fewer columns than the stage: kernels whose vectors are columns are
 * faster. */
bool uk_has_too_many_columns(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f);
/* kernel_cycles.c: true if one call of the kernel computes all rows and columns. */
bool uk_is_one_call(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f);
/* kernel_cycles.c: cycles of adding up the lanes of all sums, for kernels whose vectors lie along the sum. */
double uk_lanes_cycles(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f);
/* kernel_cycles.c: values of axis v that the kernel computes at a time: uk_fit.max_extent[v] (0: not limited)
 * or, for the rows of a kernel that takes any number of them in a call, the rows of its tile. */
int64_t uk_rows_at_once(const struct uk_stage *st, const struct uk_fit *f, int v);
/* kernel_cycles.c: if a product has a known number of rows, which are not packed, and as few tiles as
 * possible of about equal heights take less time than full ones and a low last one, sets that height in the
 * fit and returns true. */
bool uk_take_even_rows(const struct uk_schedule *s, const struct uk_stage *st, struct uk_fit *f);

/* kernel_cycles.c: the axis of the rows of a kernel with weights in blocks, for any number of rows of f32;
 * -1: the kernel is another one, or the rows have a limit. */
int uk_weighted_rows(const struct uk_stage *st, const struct uk_fit *f);

/* kernel_cycles.c: if the rows of f32 that a kernel with weights in blocks reads for each panel of weights do
 * not fit half of L2, or their number is open, limits the rows of a call in the fit so that they do, but to
 * at least GEMM_BLOCK_TILES tiles, and returns true. Rows of bytes are a quarter as long. */
bool uk_take_row_blocks(const struct uk_schedule *s, const struct uk_stage *st, struct uk_fit *f);

/* nest.c: the loops around the calls of a fit's kernel, outermost first. A stage's loop may be split
 * into several levels. */
enum { UK_MAX_LEVELS = UK_MAX_LOOPS + 8 };
struct uk_levels {
    /* copied: by operand that is packed, the number of levels around its copy; 0 for constants. */
    int levels, copied[UK_MAX_OPERANDS];
    struct uk_nest_level {
        const struct uk_loop *loop;
        int64_t extent, step; /* trip count; values of `loop` per iteration */
    } level[UK_MAX_LEVELS];
};
/* The inputs of estimates that do not depend on the levels. */
struct uk_costing {
    const struct uk_schedule *s;
    const struct uk_stage *st;
    const struct uk_fit *fit;
    bool by_first_tile; /* the first tile that reads a panel makes it (struct uk_packing) */
    int operands;
    /* By position of the stage's loop: the estimated trip count; and the distance, in bytes, by which one
     * step moves each operand. */
    int64_t size[UK_MAX_LOOPS], stride[UK_NEST_OPERANDS][UK_MAX_LOOPS];
    /* In all tiles together: iterations over k; cycles of their instructions; cycles of their loads. */
    double iterations, instructions, loads;
};
void uk_costing_begin(struct uk_costing *c, const struct uk_schedule *s, const struct uk_stage *st,
                      const struct uk_fit *f, bool by_first_tile);
/* Cycles of all tiles and copies in these levels. */
double uk_costing_cycles(const struct uk_costing *c, const struct uk_levels *l);
/* blocks.c: finds the cheapest blocks; returns their cycles. */
double uk_find_blocks(const struct uk_costing *c, struct uk_blocks *out);
/* blocks.c: the cycles with these blocks. */
double uk_cycles_of_blocks(const struct uk_costing *c, const struct uk_blocks *blocks);
/* tiling_window.c: the cycles in the cheapest order of loops, for a stage that is a window (uk_is_window). */
double uk_window_cycles(const struct uk_costing *c);
/* blocks.c: true if the threads divide the columns among them, because there are enough for all: each packs
 * and uses blocks of columns of its own, and they synchronize only once per block of k. */
bool uk_shares_columns(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f,
                       int columns);
/* cost.c: the cycles of the stage with the fit's kernel; 0 for the program's own kernels, which are
 * preferred. */
double uk_estimate(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f,
                   bool by_first_tile);
/* kernel_cycles.c: cycles of all calls of the kernel besides its multiply-adds: entering it, loading its tile
 * into registers and storing it. */
double uk_call_cycles(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f);
/* kernel_cycles.c: these cycles for one tile; a kernel of any number of rows has several in a call. */
double uk_cycles_of_tile(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f);

/* ---- depthwise.c: depthwise convolutions whose neighbours in memory are channels ---- */

/* The axis over channels of a kernel of rows of pixels; -1: the kernel is another one, or no loop of the
 * stage is over channels. */
int uk_channel_axis(const struct uk_stage *st, const struct uk_fit *f);
/* The same of a kernel of tiles of rows and columns. */
int uk_channel_axis_of_tile(const struct uk_stage *st, const struct uk_fit *f);
/* True if no loop of the stage is over the kernel's channels: it computes one in the time of a whole register
 * of them. */
bool uk_lacks_channels(const struct uk_stage *st, const struct uk_fit *f);
/* True if the kernel computes tiles of rows and columns. */
bool uk_is_depthwise_tile(const struct uk_fit *f);
/* Of such a kernel's axis v of columns or channels: values that a block has. 0: of other axes. */
int64_t uk_depthwise_block(const struct uk_stage *st, const struct uk_fit *f, int v);
/* Factor by which partly filled vectors of channels, partly filled blocks of pixels, and weights that each
 * call prepares, raise the time. */
double uk_depthwise_waste(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f);
/* cost.c: cycles of the stage in plain loops. If these are allowed, a kernel some of whose axes have no
 * loop must take less. */
double uk_plain_cycles(const struct uk_schedule *s, const struct uk_stage *st);
/* cost.c: cycles of copying a single element: a load, a store and the computation of an address. */
double uk_element_cycles(const struct uk_schedule *s);
/* cost.c: cycles of copying the operands whose pad has the value 0, vector by vector. */
double uk_border_cycles(const struct uk_schedule *s, const struct uk_stage *st);

#endif
