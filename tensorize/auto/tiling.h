/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the automatic schedules: a stage's tiling, built step by step. */
#ifndef UK_TILING_H
#define UK_TILING_H

#include "auto.h"
#include "cost/cost.h"

/* blocks.c: how the loops of a product's stage are blocked around a kernel. */
struct uk_blocks {
    bool columns_outside; /* panels of columns are outside of those of rows */
    bool near_columns,
        near_rows;      /* a panel is copied just before its use, not in front of the block's tiles */
    int64_t kc, nc, mc; /* terms of the sum, columns and rows of a block; 0: all */
};

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

/* A step on loops of the stage, to be applied as if it had been written; NULL: no memory. */
struct uk_step *uk_step_on(struct uk_schedule *s, enum uk_step_kind kind, struct uk_stage *st,
                           struct uk_loop *const *loops, int n);
enum uk_status uk_apply_one(struct uk_schedule *s, struct uk_step *step);
/* l -> outer, inner of `factor`; *l becomes the inner loop. NULL as outer: the loop is that short already. */
enum uk_status uk_split_by(struct uk_schedule *s, struct uk_stage *st, struct uk_loop **l, int64_t factor,
                           const char *suffix, struct uk_loop **outer);
/* uk_split_by, however short the loop is. */
enum uk_status uk_split_always(struct uk_schedule *s, struct uk_stage *st, struct uk_loop **l, int64_t factor,
                               const char *suffix, struct uk_loop **outer);

/* auto_copy.c: applies a pack or cache_read of the operand; step->layout or the panel is there already.
 * place: NULL is the whole program. A copy that another stage has made is taken again, or will be by stages
 * that follow: `place` is none then. */
enum uk_status uk_copy_operand(struct uk_schedule *s, struct uk_stage *st, int o, struct uk_loop *place,
                               struct uk_step *step);
/* The step's copy is for operand o alone: it names its subscripts if the stage reads the tensor at others
 * too. */
void uk_name_access(const struct uk_stage *st, int o, struct uk_step *step);

/* auto.c: the cheapest kernel for the stage, and its tiling. Without a kernel, plain loops where they are
 * allowed. */
enum uk_status uk_auto_stage(struct uk_schedule *s, struct uk_stage *st);
/* Does any kernel compute it, with copies of its borders if it wants them? */
enum uk_status uk_is_computed_by_kernel(struct uk_schedule *s, struct uk_stage *st, bool *fits);

/* auto_panels.c: chooses panels for operands of the fit that the kernel takes at any strides, where they are
 * scattered. */
enum uk_status uk_pack_scattered(struct uk_schedule *s, const struct uk_stage *st, struct uk_fit *f,
                                 bool *done);
/* Layouts for the panels of constants, if panels of the whole tensor would not be what the kernel reads. */
enum uk_status uk_pack_constants_by_map(struct uk_schedule *s, const struct uk_stage *st, struct uk_fit *f);
/* Chooses panels of the tile's rows or columns for an operand of the fit, whatever the order of its
 * dimensions. */
enum uk_status uk_pack_by_map(struct uk_schedule *s, const struct uk_stage *st, struct uk_fit *f, int o,
                              bool *done);
/* The loops of the copy that was made for it: panel, block of the sum, places in the window, sum, lane. */
enum uk_status uk_order_map_copy(struct uk_schedule *s, struct uk_stage *copy);
double uk_map_cycles(const struct uk_schedule *s, const struct uk_stage *st, int o);

/* auto_windows.c: a copy of the input of strided windows in which the kernel's columns are neighbours, if it
 * is cheap. */
enum uk_status uk_part_windows(struct uk_schedule *s, struct uk_stage *st);
/* The last of the first loops that choose an image of the operand, none of them `columns`; NULL: there is
 * none. */
struct uk_loop *uk_image_loop(const struct uk_stage *st, int operand, const struct uk_loop *columns);
/* auto_program.c */
bool uk_is_elementwise(const struct uk_stage *st);
/* The only stage that reads the temp that st writes, if nothing else writes it. */
struct uk_stage *uk_only_reader(const struct uk_schedule *s, const struct uk_stage *st);
/* Element-wise stages become part of their only reader, if that is one too. */
enum uk_status uk_inline_stages(struct uk_schedule *s);
/* auto_pads.c: copies with a border of what is read under pad with another value than 0: of the rows of a
 * window, of each image, or of the whole. Copies of what is read under pad with 0 are chosen apart: none,
 * those that make sums longer, or all, for a kernel that takes the windows of many pixels. */
enum uk_zeros { UK_ZEROS_LEFT, UK_ZEROS_FOR_SUMS, UK_ZEROS_FOR_WINDOWS };
bool uk_has_borders(struct uk_schedule *s, const struct uk_stage *st);
/* Whether a kernel of windows may compute the stage once the zeros of its pads are in memory: most products
 * are none for it. */
bool uk_may_take_zeros(const struct uk_stage *st);
enum uk_status uk_copy_borders(struct uk_schedule *s, struct uk_stage *st, bool whole, enum uk_zeros zeros);
/* Are there sums of no whole groups, which kernels take from a copy and not from where they are? */
bool uk_wants_groups(struct uk_schedule *s, const struct uk_stage *st);
/* Do copies with zeros pay, where the kernel of the fit would take so many cycles in all? */
bool uk_zeros_pay(struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f, double cycles);

/* auto_long_sums.c: the loop at `position` and the next one become one. */
enum uk_status uk_fuse_pair(struct uk_schedule *s, struct uk_stage *st, int position);
/* Are the loop at `position` and the next one of a sum of products, along which an operand is contiguous, and
 * is the first one's extent a constant? */
bool uk_is_long_sum(const struct uk_stage *st, int position);
/* Such loops that are one in all that is read become one. */
enum uk_status uk_fuse_sums(struct uk_schedule *s, struct uk_stage *st);

/* auto_sums.c: sums that no kernel computes. The loop over a row of the output goes inside of the sum's,
 * where that makes vectors. */
enum uk_status uk_order_sum(struct uk_schedule *s, struct uk_stage *st);
/* How many loops of the sum's nest the reader shares with it if it follows row by row; 0: it cannot. */
int uk_loops_of_row(const struct uk_schedule *s, const struct uk_stage *sum, const struct uk_stage *reader);
/* The sum right before the stage, of whose nest the stage can be a part; NULL: there is none. */
struct uk_stage *uk_sum_before(const struct uk_schedule *s, const struct uk_stage *st);

/* auto_transpose.c: how the stage would access memory if its output's tile were transposed. */
struct uk_transposing {
    struct uk_map *map; /* of the output's buffer; NULL: the stage has no pixels for columns */
    struct uk_operand operand[UK_MAX_OPERANDS];
    int weights;   /* the operand that has to be packed; 0: none */
    double cycles; /* what storing the tiles costs */
};

enum uk_status uk_transpose_tiles(struct uk_schedule *s, const struct uk_stage *st,
                                  struct uk_transposing *transposing);
/* `tiles`: how many loops are outside of the tile. */
enum uk_status uk_apply_transposing(struct uk_schedule *s, struct uk_stage *st, const struct uk_map *map,
                                    int tiles);

/* tiling.c: the length of blocks that are all about as long, none longer than most. */
int64_t uk_even_blocks(int64_t n, int64_t most);

/* tiling_window.c: sums over more than the kernel's, and rows of several loops */
bool uk_is_window(const struct uk_stage *st, const struct uk_fit *f);

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
enum uk_status uk_order_window(struct tiling *t, const struct uk_costing *c);
/* Do threads pack and use blocks of columns of their own? There are columns enough for all: then they meet
 * once for each block of k. */
bool uk_shares_columns(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f,
                       int columns);
/* Tiles of each thread, at least: then one thread has at most a quarter more than another. */
enum { UK_TILES_A_THREAD = 4 };
/* The fit's axes of the output's tile; -1: there is none. */
void uk_tile_axes(const struct uk_stage *st, const struct uk_fit *f, int *rows, int *columns);
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
/* auto_cost.c: whether a convolution's windows are packed. */
bool uk_packs_windows(const struct uk_stage *st, const struct uk_fit *f);

#endif
