/* SPDX-License-Identifier: Apache-2.0 */
/* Inside room auto: which operands are copied, where and in what layout: panels, windows, images with
 * borders, transposed tiles. */
#ifndef UK_COPIES_H
#define UK_COPIES_H

#include "auto.h"

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
/* auto_cost.c: whether a convolution's windows are packed. */
bool uk_packs_windows(const struct uk_stage *st, const struct uk_fit *f);

#endif
