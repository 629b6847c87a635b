/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolutions on GPUs: what depthwise.c and depthwise_tile.c share. */
#ifndef UK_DEVICE_DEPTHWISE_H
#define UK_DEVICE_DEPTHWISE_H

#include "device.h"
#include "auto/stage.h"

enum {
    /* loops over pixels that are tiled: those over rows, and those along a row */
    UK_PIXEL_ROWS,
    UK_PIXEL_COLUMNS,
    UK_PIXEL_AXES,
    /* adjacent channels that a thread copies, and computes at most: 16 bytes of f32 */
    UK_CHANNEL_VECTOR = 4,
};

/* A loop over pixels. Its windows begin `stride` elements apart, the first one `before` elements in front of
 * the image, and extend over `window` elements. */
struct uk_pixels {
    struct uk_loop *loop;
    int64_t stride, window, before;
    double values, extent; /* of the output and of the image, estimated */
};

struct uk_depthwise {
    struct uk_schedule *s;
    struct uk_stage *st;
    int image, weights;                   /* operands */
    struct uk_pixels axis[UK_PIXEL_AXES]; /* rows: loop is NULL if the image has one axis */
    struct uk_loop *channels;             /* contiguous in memory; NULL: a row's pixels are */
    double channel_values, others;        /* values of that loop; of the output's other loops */
    int64_t planes;                       /* of pixels that windows have along further axes */
    double terms, taps[UK_PIXEL_AXES];    /* of a sum; along the axes, 1 without a loop */
};

/* A block's part of the output: `rows` x `columns` pixels of `channels` channels. A thread computes
 * `of_thread` rows at one column, of `vector` channels. */
struct uk_depthwise_tile {
    int rows, of_thread, columns, channels, vector;
};

/* depthwise_tile.c: the tile for which the launch takes the fewest cycles by uk_device_time() and the fewest
 * lines. *found false: none fits. */
enum uk_status uk_depthwise_choose(const struct uk_depthwise *w, struct uk_depthwise_tile *out, bool *found);

#endif
