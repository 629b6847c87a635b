/* SPDX-License-Identifier: Apache-2.0 */
/* Inside room auto: the choice of operands to copy, of the places of copies and of their layouts: panels,
 * windows, images with borders, transposed tiles.
 *
 * Words, as in convolutions: an *image* is the part of an operand for one value of the outer output loops; a
 * *window* is the part that one output pixel reads; *columns* and *rows* are the axes of the kernel's tile.
 */
#ifndef UK_COPIES_H
#define UK_COPIES_H

#include "auto.h"

/* ---- panels.c ---- */

/* Chooses panels for operands of the fit that the kernel takes with any strides and that have no contiguous
 * axis. Sets *done if it chose one. */
enum uk_status uk_pack_scattered(struct uk_schedule *s, const struct uk_stage *st, struct uk_fit *f,
                                 bool *done);
/* Chooses panels for the rows of f32 that a kernel with weights in blocks reads, if they share sets of L1 and
 * enough panels of columns read them. True if it chose some. */
bool uk_pack_rows(const struct uk_schedule *s, const struct uk_stage *st, struct uk_fit *f);
/* Chooses layouts for the panels of constants in which a panel has the terms of the sum in the order in which
 * the kernel reads them. Usual panels keep the order of the tensor's dimensions; operands for which that is
 * the right one keep them. */
enum uk_status uk_pack_constants_by_map(struct uk_schedule *s, const struct uk_stage *st, struct uk_fit *f);
/* Chooses panels of the tile's rows or columns for operand o, whatever the order of its dimensions. */
enum uk_status uk_pack_by_map(struct uk_schedule *s, const struct uk_stage *st, struct uk_fit *f, int o,
                              bool *done);
/* Orders the loops of a copy in such panels: panel, block of the sum, positions in the window, sum, lane. */
enum uk_status uk_order_map_copy(struct uk_schedule *s, struct uk_stage *copy);
/* Estimated cycles of such a copy of operand o. */
double uk_map_cycles(const struct uk_schedule *s, const struct uk_stage *st, int o);

/* ---- depthwise_place.c ---- */

/* If a depthwise convolution takes less time than *cycles with blocks of channels, whose pixels stay in L1
 * until the last window uses them, sets the block and *cycles, and returns true. */
bool uk_take_channel_blocks(const struct uk_schedule *s, const struct uk_stage *st, struct uk_fit *f,
                            double *cycles);

/* Limits the columns, or the channels, of a depthwise tile, which otherwise are whole rows of pixels, so that
 * the tile stays in L1 until the next stage has read it. */
void uk_narrow_depthwise_tile(const struct uk_schedule *s, const struct uk_stage *st, struct uk_fit *f);
/* Copies constant weights for a kernel of depthwise tiles, so that the weights of a vector of channels, one
 * per term, are in different sets of L1: with a power of two of channels all of them would be in one. */
enum uk_status uk_spread_weights(struct uk_schedule *s, struct uk_stage *st, const struct uk_fit *f);

/* ---- windows.c ---- */

/* Copies the input of strided windows, if that is cheap, so that adjacent columns of the kernel are adjacent
 * in memory. */
enum uk_status uk_part_windows(struct uk_schedule *s, struct uk_stage *st);
/* A window whose pixels are not adjacent in an operand: `loop`, of the sum, is outside the loop over the
 * channels of a pixel, and moves along the dimension by `apart` pixels; channels of other groups may lie
 * between, or (`by_rows`) other pixels of the row. `pixels`: the loop of the dimension that moves by fewer;
 * NULL: there is none. */
struct uk_spread_window {
    const struct uk_loop *loop;
    struct uk_loop *pixels;
    int dimension;
    int64_t apart;
    bool by_rows;
};
/* True if only this operand moves along the loop. */
bool uk_moves_alone(const struct uk_stage *st, int operand, const struct uk_loop *l);
/* The operand's window of this kind; without `loop` if it has none. */
struct uk_spread_window uk_spread_window_of(const struct uk_stage *st, int operand);
/* Makes x access a tensor in which the window's pixels are adjacent, to see which loops could be fused: only
 * the stride along the window is right. NULL: out of memory. */
struct uk_tensor *uk_as_gathered(struct uk_schedule *s, struct uk_operand *x,
                                 const struct uk_spread_window *w);
/* Gives the step that copies the operand a layout in which they are, [.., g, w % apart, w / apart, c], and
 * splits the loop over pixels so that this layout can be indexed. */
enum uk_status uk_gather_window(struct uk_schedule *s, struct uk_stage *st, int operand,
                                const struct uk_spread_window *w, struct uk_step *copy);
/* A copy of one image belongs inside this loop: the last of the stage's leading loops on which the operand
 * depends, before the first one that moves a window over the image or is `columns`. NULL: the first loop is
 * no such loop. */
struct uk_loop *uk_image_loop(const struct uk_stage *st, int operand, const struct uk_loop *columns);

/* ---- pads.c: copies with a border, for operands that are read under pad ---- */

/* Operands whose pad has the value 0 that are copied. (Those with another value are copied in any case.) */
enum uk_zeros {
    UK_ZEROS_LEFT,       /* none */
    UK_ZEROS_FOR_SUMS,   /* those whose copies make the kernel's sums longer */
    UK_ZEROS_FOR_WINDOWS /* all: for a kernel that computes many pixels' windows in a call */
};
/* True if uk_copy_borders, for UK_ZEROS_FOR_SUMS, would copy an operand. */
bool uk_has_borders(struct uk_schedule *s, const struct uk_stage *st);
/* True if a kernel of windows may be able to compute the stage once its pads' zeros are in memory. Saves the
 * attempt for most products. */
bool uk_may_take_zeros(const struct uk_stage *st);
/* Makes these copies: of the rows that windows read, or of each image, or, if `whole`, of the whole tensor.
 */
enum uk_status uk_copy_borders(struct uk_schedule *s, struct uk_stage *st, bool whole, enum uk_zeros zeros);
/* True if some sums are too short by a few terms for kernels that take terms in groups (uk_kernel.kr), so
 * that these kernels need a copy with zeros at the end of each sum. */
bool uk_has_incomplete_groups(struct uk_schedule *s, const struct uk_stage *st);
/* True if copies with zeros save time for the fit's kernel, which takes `cycles` in all. */
bool uk_has_cheaper_zeros(struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f,
                          double cycles);

/* ---- transpose.c ---- */

/* The map (.., d, .., last) -> [.., .., last, d]; NULL: no memory. */
struct uk_map *uk_transposing_map(struct uk_schedule *s, int dims, int d);
/* The stage with its output's tile transposed: columns are channels instead of pixels, or pixels instead of
 * channels. */
struct uk_transposing {
    struct uk_map *map; /* layout of the buffer for output tiles; NULL: these are stored directly */
    struct uk_operand operand[UK_MAX_OPERANDS];
    int weights;              /* the operand that has to be packed; 0: none */
    int input;                /* the operand that has to be copied; 0: none */
    struct uk_map *input_map; /* the copy's layout */
    double cycles;            /* of storing the tiles to the output, and of the input's copy */
};

/* Fills *transposing for tiles whose columns are to be channels; map is NULL if the stage has no adjacent
 * pixels. */
enum uk_status uk_transpose_tiles(struct uk_schedule *s, const struct uk_stage *st,
                                  struct uk_transposing *transposing);
/* Fills *transposing for tiles whose columns are to be pixels, because there are few channels; input is 0 if
 * there are not. */
enum uk_status uk_transpose_pixels(struct uk_schedule *s, const struct uk_stage *st,
                                   struct uk_transposing *transposing);
/* Copies the input of each image so that pixels are adjacent, by cache_read. */
enum uk_status uk_copy_transposed(struct uk_schedule *s, struct uk_stage *st,
                                  const struct uk_transposing *transposing);
/* True if the loop moves a window, or along one. */
bool uk_is_in_window(const struct uk_stage *st, const struct uk_loop *l);
/* Makes the buffer, by cache_write; `tiles` is the number of loops outside the tile. */
enum uk_status uk_apply_transposing(struct uk_schedule *s, struct uk_stage *st, const struct uk_map *map,
                                    int tiles);
/* cost.c: true if the windows of a convolution are packed, not read in place. */
bool uk_packs_windows(const struct uk_stage *st, const struct uk_fit *f);
/* cost.c: true if the kernel is one for a few rows and a matrix that comes from memory, and the stage has one
 * row or more of them, or reads the matrix again. */
bool uk_wastes_stream(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f);

#endif
