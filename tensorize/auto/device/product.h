/* SPDX-License-Identifier: Apache-2.0 */
/* Products on GPUs: what product.c and tile.c share. */
#ifndef UK_DEVICE_PRODUCT_H
#define UK_DEVICE_PRODUCT_H

#include "device.h"
#include "auto/stage.h"

enum {
    /* adjacent rows or columns of a thread: 16 bytes of f32, one access to shared memory */
    UK_GROUP = 4,
};

struct uk_product {
    struct uk_schedule *s;
    struct uk_stage *st;
    /* the operands that move with rows and with columns */
    int a, b;
    /* the tiled loops */
    struct uk_loop *rows, *columns, *sum;
    /* values of the loops over rows and over columns, each together with loops that will be fused with it; of
     * the output's other loops; of the sum's other loops */
    double row_values, column_values, others, more_terms;
    /* place: innermost around a block's tile; k_blocks: over blocks of k; k_inner: inside one */
    struct uk_loop *place, *k_blocks, *k_inner;
    /* the stage's name if the sum is computed in parts */
    const char *parts_name;
    /* name of the draft, if it has no pipeline */
    const char *draft;
};

/* The tile of a block: `threads` x `threads` threads, each with rows x columns elements. */
struct uk_tile {
    int rows, columns, threads;
    int terms;           /* of the sum in shared memory: a step */
    int group;           /* terms that are next to each other in shared memory, for one instruction */
    int64_t parts;       /* of the sum, each computed by other blocks */
    double instructions; /* per thread and k iteration, for arithmetic */
};

/* tile.c: chooses the tile for which the launch takes the fewest cycles by uk_device_time(), among those of
 * the target's kernels and some of plain loops. *found false: all are refused. */
enum uk_status uk_device_choose_tile(const struct uk_product *p, struct uk_tile *out, bool *found);
/* The only kernel that may compute the product, without parts of the sum; an empty string: none; NULL: any.
 */
const char *uk_device_wanted_kernel(const struct uk_product *p);
/* The name of the draft with this tile. */
const char *uk_device_tile_name(const struct uk_product *p, const struct uk_tile *t);

/* window.c: if a or b, the operands of a product, is read in windows, the product reads a matrix in its
 * place, and its sum is one loop; others stay as they are. */
enum uk_status uk_device_im2col(struct uk_schedule *s, struct uk_stage *st, int a, int b);

#endif
