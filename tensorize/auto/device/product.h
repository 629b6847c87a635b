/* SPDX-License-Identifier: Apache-2.0 */
/* Products on GPUs: what product.c and tile.c share. */
#ifndef UK_DEVICE_PRODUCT_H
#define UK_DEVICE_PRODUCT_H

#include "device.h"
#include "auto/stage.h"

enum {
    /* adjacent rows or columns of a thread: 16 bytes of f32, one access to shared memory */
    UK_GROUP = 4,
    /* adjacent columns of the lanes of a wave, in the layout of matrix instructions */
    UK_LANE_COLUMNS = 32,
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

/* The tile of a block: row_threads x column_threads threads, or waves, each with rows x columns elements. */
struct uk_tile {
    int rows, columns, row_threads, column_threads;
    const struct uk_kernel *wave; /* the kernel, if it is of a whole wave; else NULL */
    int terms;                    /* of the sum in shared memory: a step */
    int group;           /* terms that are next to each other in shared memory, for one instruction */
    int64_t parts;       /* of the sum, each computed by other blocks */
    int part_terms;      /* instead of `parts`: terms of each part except the last one; 0: `parts` counts */
    double instructions; /* per thread and k iteration, for arithmetic */
};

/* The tile of one stage, in one version of the program. */
struct uk_wanted_tile {
    const char *stage;
    struct uk_tile tile;
};

static inline bool uk_device_has_parts(const struct uk_tile *t) {
    return t->part_terms || t->parts > 1;
}

/* Finds the product's axes, operands and counts. False: the stage is no product. */
bool uk_device_find_product(struct uk_product *p);

/* tile.c: chooses the tile for which the launch takes the fewest cycles by uk_device_time(), among those of
 * the target's kernels and some of plain loops. *found false: all are refused. */
enum uk_status uk_device_choose_tile(const struct uk_product *p, struct uk_tile *out, bool *found);
/* The tile of the registry's kernel with this number, for blocks of any size. False: it cannot compute the
 * product. */
bool uk_device_kernel_tile(const struct uk_product *p, int kernel, struct uk_tile *out);
/* What a tile may have, in powers of two: threads, or waves, along either axis of a square block, and terms
 * in a step. */
struct uk_tile_range {
    int min_threads, max_threads, min_terms, max_terms;
};
struct uk_tile_range uk_device_tile_range(const struct uk_tile *t);
/* The only kernel that may compute the product, without parts of the sum; an empty string: none; NULL: any.
 */
const char *uk_device_wanted_kernel(const struct uk_product *p);
/* The name of the draft with this tile. */
const char *uk_device_tile_name(const struct uk_product *p, const struct uk_tile *t);

/* tile_time.c */

/* The estimated cycles of all launches, of which at most `most` blocks, AUTO_COUNTED_BLOCKS or fewer, are
 * added up one by one. DBL_MAX: the tile does not fit; UK_TILE_NO_MEMORY. */
double uk_device_tile_cycles(const struct uk_product *p, const struct uk_tile *t, uint64_t most);
enum { UK_TILE_NO_MEMORY = -1 };
/* Mean number of lines of adjacent bytes in one of many rows, which begin `pitch` bytes apart. */
double uk_device_lines_of_run(const struct uk_device *d, double bytes, double pitch);
/* Cycles of adding the parts of the stage's sums: a launch that reads all of them. */
double uk_device_cycles_of_parts(const struct uk_schedule *s, const struct uk_stage *st, double parts);

/* The loops of a block's tile. */
struct uk_device_loops {
    struct uk_loop *row_block, *column_block;
    int threads, inner_loops; /* numbers of those over threads, and of those of a thread's tile */
    struct uk_loop *thread[UK_MAX_DIMS], *inner[UK_MAX_DIMS];
    int axis[UK_MAX_DIMS]; /* of the block, of each of the loops over threads: 0 for x */
};

/* Number of threads of a block. */
int uk_device_block_threads(const struct uk_product *p, const struct uk_tile *t);
/* A map from that many dimensions to none yet; NULL: no memory. */
struct uk_map *uk_device_empty_map(struct uk_arena *arena, int dims);

/* wave.c: tiles whose `wave` is not NULL. */

/* True if the sum has more terms than one group, so that the terms of a step are several groups. */
bool uk_device_has_groups(const struct uk_product *p, const struct uk_tile *t);
/* Bytes of shared memory, bytes of a thread's buffers in registers, and registers of a thread. */
int64_t uk_device_wave_shared(const struct uk_product *p, const struct uk_tile *t);
int64_t uk_device_wave_register_bytes(const struct uk_product *p, const struct uk_tile *t);
int uk_device_wave_registers(const struct uk_product *p, const struct uk_tile *t);
/* What a block of that many steps uses, without lines. guards: the number of a thread's accesses with a test
 * in a step, and the instructions for all of these; 0: no access has one. */
void uk_device_wave_time(const struct uk_product *p, const struct uk_tile *t, double steps, double guards,
                         double guard_vector, double guard_scalar, struct uk_block_time *out);
/* Splits the loops of rows and columns. */
enum uk_status uk_device_wave_loops(struct uk_product *p, const struct uk_tile *t,
                                    struct uk_device_loops *out);
/* The layout in shared memory of the operand, whose dimensions `along` and `sum` are rows or columns, and the
 * sum: groups of terms, row by row. */
struct uk_map *uk_device_wave_layout(const struct uk_product *p, const struct uk_tile *t, int o, int along,
                                     int sum);
/* Orders the loops of the copy into that layout. */
enum uk_status uk_device_wave_copy(struct uk_product *p, struct uk_stage *copy);

/* window.c. True if the address of operand o moves by other amounts than a matrix's, or it has a border. */
bool uk_device_is_window(const struct uk_stage *st, int o);
/* If a or b, the operands of a product, is read in windows, the product reads a matrix in its
 * place, and its sum is one loop; others stay as they are. */
enum uk_status uk_device_im2col(struct uk_schedule *s, struct uk_stage *st, int a, int b);

#endif
