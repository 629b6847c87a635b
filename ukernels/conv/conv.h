/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two-dimensional convolutions of any shape and layout, by the kernels of the registry: uk_sconv2d_plan,
 * uk_sconv2d_run.
 *
 *     conv.c         the functions that programs call; checks of a run's arguments
 *     shape.c        checks a shape, and brings it into the form that all paths read
 *     plan.c         chooses the path; tasks, workspace
 *     blocks.c       blocks of rows; cycles of copies
 *     paths.c        the table of paths; the path of sums without terms
 *     windows.c      the path whose tiles have pixels as rows and output channels as columns
 *     columns.c      the path whose tiles have output channels as rows and pixels as columns
 *     depthwise.c    the paths of one input and one output channel a group
 *     any.c          the path of plain loops, which computes every shape on every architecture
 *     run.c          runs a plan: tasks, blocks of rows, panels of channels
 *     copy.c         copies of rows of an image, with a border or other order; stores of transposed sums
 *     weights.c      packed weights, and the stamp in front of them
 *     epilogue.c     the last operation on a tile
 *
 * A path is an algorithm. A plan is made by the path with the fewest estimated cycles on one thread. As in
 * gemm/, estimates depend only on sizes, strides and the machine's row: the order in which an element's terms
 * are added depends neither on the number of threads nor on whether weights were packed beforehand.
 *
 * All paths share one nest. A *row* is a row of pixels of Y; rows of all images are counted through. A
 * *panel* is some output channels of a group, whose packed weights are contiguous.
 *
 *     for each task, in parallel: a share of the rows and of the panels
 *         for blocks of rows, as many as L2 has room for
 *             copy the rows of X that the block reads, if the plan does so
 *             for panels
 *                 path->panel: the sums of the block's rows, a tile at a time
 *
 * Terms outside of the image are left out: a path computes only with those elements of the window that are
 * inside. Where X is copied, zeros stand for them if all weights are finite, which the stamp says.
 *
 * Uses the folders gemm (kernels by form, messages, the caller's epilogue) and runtime (threads, memory).
 */
#ifndef UK_CONV_H
#define UK_CONV_H

#include <math.h>
#include "gemm/gemm.h"
#include "runtime/runtime.h"

/* A checked shape. Strides count elements. */
struct conv_shape {
    int64_t n, h, w, c, o, r, s;
    int64_t p, q;           /* rows and columns of Y */
    int64_t groups, gc, go; /* groups; input and output channels of each */
    int64_t stride_h, stride_w, dilation_h, dilation_w, top, left;
    struct uk_image_strides x, y;
    /* Pixels of the last row of Y; q, unless the rows are equal parts of all pixels (uk_conv_join_pixels). */
    int64_t last_q;
    bool is_oihw;
};

/* Rows of Y, of all images. */
static inline int64_t conv_rows(const struct conv_shape *v) {
    return v->n * v->p;
}

static inline int64_t conv_terms(const struct conv_shape *v) {
    return v->r * v->s * v->gc;
}

/* What a block of rows of X is read from. */
enum conv_copy {
    CONV_IN_PLACE,
    /* Copies, with the border's columns: */
    CONV_PIXELS,  /* [row][group][column][channel of the group]; depthwise: [row][column][channel] */
    CONV_CHANNELS /* [row][channel][column % stride_w][column / stride_w] */
};

/* Orders of packed weights. Groups are outermost, then panels; depthwise weights have neither. */
enum conv_packing {
    CONV_PANELS,  /* [r][s][c][NR]: output channels of a panel, the last one filled up with zeros */
    CONV_LINES,   /* [s][o][r][c], o of the group: no panels */
    CONV_WINDOWS, /* [r][s][channel], rows conv_window_pitch apart: depthwise */
};

struct conv_path;

struct conv_plan {
    struct conv_shape shape;
    const struct gemm_type *type;
    const struct conv_path *path;
    double cycles; /* estimated, on one thread */
    int threads;
    struct pthreadpool *pool; /* NULL: the library's */
    bool weights_packed;
    int64_t x_elements, y_elements; /* from the first to the last one of X and of Y */
    /* Set by the path: */
    const struct uk_kernel *kernel;
    enum gemm_form form; /* of the kernel, if it computes tiles of pixels by channels */
    enum conv_packing packing;
    enum conv_copy copies;
    bool reads_weights; /* panels are read from the caller's weights, which are neither packed nor to be */
    bool stores;        /* sums are made in a buffer, and then stored to Y transposed */
    int width;          /* output channels of a panel; of a whole one, if the last has fewer */
    int64_t tile;       /* pixels of a tile */
    int64_t box_r, box_s, box_c; /* rows, columns and channels of the window that a tile adds up at a time */
    int64_t block;               /* rows of a block, by uk_conv_set_block */
    /* Set by plan.c: */
    int64_t row_tasks, panel_tasks; /* the grid that threads share */
    size_t copy_bytes, sums_bytes;  /* of each task */
    size_t panel_bytes;  /* of each task, to pack a panel in when it is used; 0: weights are not packed so */
    size_t packed_bytes; /* of packed weights, with the stamp */
    size_t workspace;
};
_Static_assert(sizeof(struct conv_plan) <= sizeof(struct uk_conv2d_plan) &&
                   _Alignof(struct conv_plan) <= _Alignof(struct uk_conv2d_plan),
               "a plan has to fit into the caller's struct uk_conv2d_plan");

/* Panels of a group, and of all groups: a panel of the depthwise path has channels of several groups. */
static inline int64_t conv_group_panels(const struct conv_plan *plan) {
    return plan->packing == CONV_WINDOWS ? 1 : uk_ceil_div(plan->shape.go, plan->width);
}

static inline int64_t conv_panels(const struct conv_plan *plan) {
    return plan->packing == CONV_WINDOWS ? uk_ceil_div(plan->shape.o, plan->width)
                                         : plan->shape.groups * conv_group_panels(plan);
}

/* Elements from the depthwise weights of a term to those of the next: an odd number of cache lines, so that
 * those of a channel are in different sets of a cache. */
static inline int64_t conv_window_pitch(const struct conv_shape *v) {
    const int64_t line = GEMM_LINE / (int)sizeof(float);

    return (uk_ceil_div(v->o, line) | 1) * line;
}

/* Elements from a term of a panel to the next. */
static inline int64_t conv_weight_step(const struct conv_plan *plan) {
    return plan->reads_weights ? plan->shape.o : plan->width;
}

/* Columns of a row of a copy, whose first is the one `left` in front of the image. */
static inline int64_t conv_copied_columns(const struct conv_plan *plan) {
    const struct conv_shape *v = &plan->shape;
    const int64_t read = (v->q - 1) * v->stride_w + (v->s - 1) * v->dilation_w + 1;

    return plan->copies == CONV_CHANNELS ? (read - 1) / v->stride_w * v->stride_w + v->stride_w : read;
}

/* True if the plan copies rows with columns outside of the image. */
static inline bool conv_copies_border(const struct conv_plan *plan) {
    return plan->copies != CONV_IN_PLACE && (plan->shape.left || conv_copied_columns(plan) > plan->shape.w);
}

/* Channels that are adjacent in a copy of pixels. */
static inline int64_t conv_copied_channels(const struct conv_plan *plan) {
    return plan->packing == CONV_WINDOWS ? plan->shape.c : plan->shape.gc;
}

/* The last operation: min(max(scale * y + bias + residual, low), high). */
struct conv_epilogue {
    float scale, low, high;
    const float *bias, *residual; /* by output channel; as Y; NULL: none */
};

/* The operands of a run. */
struct conv_operands {
    const float *x;
    const float *weights; /* packed, without their stamp; or as the caller's */
    bool is_finite;       /* all weights are */
    float *y;
    const struct conv_epilogue *epilogue; /* NULL: none */
};

/* Where rows of an image of X are. Columns [begin, end) may be read, of rows that the window reads. */
struct conv_source {
    const float *x; /* column `first_column` of row `first_row` */
    float *copy;    /* the same place, if it is a copy; else NULL */
    int64_t first_row, first_column;
    int64_t last_row;             /* of a copy: its rows are [first_row, last_row) */
    int64_t row, column, channel; /* strides */
    int64_t begin, end;
};

static inline const float *conv_at(const struct conv_source *s, int64_t row, int64_t column) {
    return s->x + (row - s->first_row) * s->row + (column - s->first_column) * s->column;
}

/* A block of rows and a panel, for a path. */
struct conv_block {
    const struct conv_plan *plan;
    const struct conv_operands *o;
    struct conv_source copy;   /* if X is copied */
    int64_t row, rows;         /* rows [row, row + rows) */
    int64_t group;             /* depthwise: 0 */
    int64_t channel, channels; /* output channels of the panel, counted in the group */
    const float *weights;      /* of the panel */
    const float *next;         /* the weights of the panel that follows; NULL: not known */
    float *sums;               /* plan->stores: the block's sums; else NULL */
};

/* A row of Y, as a path needs it. */
struct conv_row {
    struct conv_source source; /* of its image */
    int64_t index, p;          /* counted over all images, and in its own */
    int64_t q;                 /* pixels */
    int64_t ih;                /* row of X that row 0 of the window reads, perhaps outside */
    int64_t r0, r1;            /* rows of the window that are inside */
    float *sums;               /* where the path writes: the first pixel of the panel's first channel */
    int64_t pixel, channel;    /* strides of sums */
    float *y;                  /* the same element of Y */
};

/* ---- paths ---- */

struct conv_path {
    const char *name;
    /* Estimates cycles on one thread, of a plan in which shape and type are set, and sets the path's fields;
     * HUGE_VAL: the path does not apply. */
    double (*cycles)(struct conv_plan *plan);
    void (*panel)(const struct conv_block *b);
    const char *explanation;
};

extern const struct conv_path uk_conv_none, uk_conv_windows, uk_conv_columns, uk_conv_depthwise_tiles,
    uk_conv_depthwise, uk_conv_any;
/* All paths; then NULL. Ties: the first. */
extern const struct conv_path *const uk_conv_paths[];

/* ---- shape.c ---- */

enum uk_status uk_conv_check(const struct uk_conv2d *shape, struct conv_shape *v);
/* If the convolution is a product of all pixels, makes rows of `pixels` pixels each of it; else false. */
bool uk_conv_join_pixels(struct conv_shape *v, int64_t pixels);
/* Elements from the first to the last of an image operand, both included; 0: there are none. */
int64_t uk_conv_span(const struct uk_image_strides *s, int64_t n, int64_t h, int64_t w, int64_t c);

/* ---- plan.c ---- */

/* wanted: the name of a path, for tests; NULL: the best. UK_NO_MATCH: it does not apply. */
enum uk_status uk_conv_plan(const struct uk_conv2d *shape, const struct uk_conv2d_options *options,
                            const char *wanted, struct conv_plan *plan);
/* ---- blocks.c ---- */

/* Sets the rows of a block, for paths' estimates: after copies, stores and width. The block's part of Y stays
 * in L2 for one panel, or is_whole: for all. */
void uk_conv_set_block(struct conv_plan *plan, bool is_whole);
/* Cycles of copying what the plan copies, and of storing its transposed sums. */
double uk_conv_copy_cycles(const struct conv_plan *plan);
/* Cycles of moving X and Y once from the cache that holds them, or from memory. */
double uk_conv_stream_cycles(const struct conv_plan *plan);
/* Bytes of a x b x c floats, in whole cache lines; SIZE_MAX if they are not addressable. */
size_t uk_conv_whole_lines(int64_t a, int64_t b, int64_t c);

/* ---- run.c ---- */

void uk_conv_run(const struct conv_plan *plan, const struct conv_operands *o, char *workspace);
/* Runs `count` tasks on the plan's threads, and waits for them. */
void uk_conv_parallel(const struct conv_plan *plan,
                      void (*task)(void *context, int64_t index, int64_t thread), void *context,
                      int64_t count);
/* The first row of a block; makes the next one of a row. */
struct conv_row uk_conv_first_row(const struct conv_block *b);
void uk_conv_next_row(const struct conv_block *b, struct conv_row *row);

/* ---- copy.c ---- */

/* Rows of X that a block of the plan copies at most. */
int64_t uk_conv_copied_rows(const struct conv_plan *plan, int64_t rows);
/* Copies the rows of X that rows [row, row + rows) of one image read to source->copy, and sets *source. Rows
 * that are there already, of the block before this one in the same image, are moved. */
void uk_conv_copy(const struct conv_plan *plan, const struct conv_operands *o, int64_t row, int64_t rows,
                  struct conv_source *source);
/* Stores the block's sums to Y, with the epilogue. */
void uk_conv_store(const struct conv_block *b);

/* ---- weights.c ---- */

enum { CONV_STAMP = 64 };
/* Bytes of packed weights with their stamp; SIZE_MAX: more than addresses reach. */
size_t uk_conv_packed_bytes(const struct conv_plan *plan);
void uk_conv_pack(const struct conv_plan *plan, const float *weights, float *packed);
/* Elements of a panel's packed weights; packs those of one, of the packing CONV_PANELS. Rows of the window,
 * its columns and channels are one dimension of the weights as stored, or channels alone are. */
int64_t uk_conv_panel_elements(const struct conv_plan *plan);
void uk_conv_pack_panel(const struct conv_plan *plan, const float *weights, int64_t panel, float *to);
/* True if the plan's weights were packed there; sets *is_finite. */
bool uk_conv_is_packed(const struct conv_plan *plan, const float *packed, bool *is_finite);
/* The weights of a panel. */
const float *uk_conv_panel_weights(const struct conv_plan *plan, const float *packed, int64_t panel);

/* ---- epilogue.c ---- */

/* Applies the epilogue, if there is one, to m pixels of Y in the panel's channels. */
void uk_conv_finish(const struct conv_block *b, const struct conv_row *row, int64_t pixel, int64_t m);

#endif
