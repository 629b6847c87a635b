/* SPDX-License-Identifier: Apache-2.0 */
/* Inside room auto: what a stage costs in cycles with a kernel, in loops around it, or as plain loops. */
#ifndef UK_COSTING_H
#define UK_COSTING_H

#include "auto.h"
#include "cost/cost.h"

/* blocks.c: how the loops of a product's stage are blocked around a kernel. */
struct uk_blocks {
    bool columns_outside; /* panels of columns are outside of those of rows */
    bool near_columns,
        near_rows;      /* a panel is copied just before its use, not in front of the block's tiles */
    int64_t kc, nc, mc; /* terms of the sum, columns and rows of a block; 0: all */
};

/* auto_nest.c: the loops around the calls of a fit's kernel, the outermost first, each in so many iterations
 * of so many of its values. Of operands in panels: how many of the loops are outside of the copy, 0 for
 * constants. */
enum { UK_MOST_LEVELS = UK_MAX_LOOPS + 8 };
struct uk_levels {
    int levels, copied[UK_MAX_OPERANDS];
    struct uk_nest_level {
        const struct uk_loop *loop;
        int64_t extent, step;
    } level[UK_MOST_LEVELS];
};
/* What is known of a stage and a fit before its loops are: by the number of a loop in the stage, estimated.
 * by_first_tile: the first tile that reads a panel makes it. */
struct uk_costing {
    const struct uk_schedule *s;
    const struct uk_stage *st;
    const struct uk_fit *fit;
    bool by_first_tile;
    int operands;
    int64_t size[UK_MAX_LOOPS], stride[UK_NEST_OPERANDS][UK_MAX_LOOPS]; /* values; bytes */
    double iterations, instructions,
        loads; /* k iterations of all tiles, cycles of their instructions, and of those' loads */
};
void uk_costing_begin(struct uk_costing *c, const struct uk_schedule *s, const struct uk_stage *st,
                      const struct uk_fit *f, bool by_first_tile);
/* Cycles of the tiles and of all copies. */
double uk_costing_cycles(const struct uk_costing *c, const struct uk_levels *l);
/* blocks.c: the blocks that cost least, and the cycles. */
double uk_find_blocks(const struct uk_costing *c, struct uk_blocks *out);
/* tiling_window.c: the cycles in the order of loops that costs least, for a kernel of windows; and that
 * order. */
double uk_window_cycles(const struct uk_costing *c);
/* Do threads pack and use blocks of columns of their own? There are columns enough for all: then they meet
 * once for each block of k. */
bool uk_shares_columns(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f,
                       int columns);
/* The cycles of the stage by the kernel that fits; 0: the user's own. */
double uk_estimate(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f,
                   bool by_first_tile);
/* auto_cost.c: what all calls of the kernel cost beside its multiply-adds: entering it, and its tile's way to
 * registers and back. */
double uk_call_cycles(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f);
double uk_cycles_of_call(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f);
/* auto_cost.c: the axis of the channels of a kernel for depthwise convolutions of them; -1: it is of other
 * ones, or no loop goes over channels, of which it computes one as slowly as a whole register. */
int uk_channel_axis(const struct uk_stage *st, const struct uk_fit *f);
bool uk_lacks_channels(const struct uk_stage *st, const struct uk_fit *f);
/* auto_cost.c: cycles of the stage in plain loops: what a kernel must cost less than, if axes of it have no
 * loop here and plain loops are allowed. */
double uk_plain_cycles(const struct uk_schedule *s, const struct uk_stage *st);
/* auto_cost.c: cycles of copying an element by itself: a load, a store and an address. */
double uk_element_cycles(const struct uk_schedule *s);

#endif
