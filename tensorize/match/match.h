/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room match: proves that a nest of loops computes what a kernel declares; lists the candidates, their costs,
 * and the reasons why kernels do not fit; applies the steps of a schedule. It uses schedule, registry and
 * cost. Data: struct uk_match, uk_fit, uk_packing, uk_candidate, uk_reason.
 *
 * Words: the *declaration* is the program of an intrinsic; its iterators are the kernel's *axes*. The *nest*
 * is a stage's loops from position `tile` on; the *tile* is one execution of the nest, computed by one call.
 */
#ifndef UK_MATCH_H
#define UK_MATCH_H

#include "schedule/schedule.h"

/* ---- apply.c ---- */

/* Applies the steps in order, and appends a copy of each to s->applied. */
enum uk_status uk_apply_steps(struct uk_schedule *s, struct uk_step *steps);

/* ---- match.c ---- */

/* Meaning of a size of the declaration in a call. */
enum uk_size_role {
    UK_SIZE_EXTENT, /* extent of an axis */
    UK_SIZE_VALID,  /* number of indices, along an axis or a sum of axes, that are inside a padded tensor */
    UK_SIZE_BEFORE, /* number of subscripts of the tile before the first one of the tensor (borders.c) */
    UK_SIZE_INSIDE, /* number of subscripts from the tile's first one in the tensor to the tensor's last one
                     */
    UK_SIZE_STRIDE, /* stride of an operand */
    UK_SIZE_ANY_STRIDE, /* stride along which the nest makes no step: any value would do */
    UK_SIZE_UNUSED,     /* used only by other statements of the declaration than the one matched */
};

struct uk_size_binding {
    enum uk_size_role role;
    /* EXTENT, VALID: number of the axis; ANY_STRIDE: the stored dimension with this stride; BEFORE, INSIDE:
     * the operand's stored dimension. */
    int axis;
    int operand; /* VALID, BEFORE, INSIDE: the stage's operand; ANY_STRIDE: number of the declaration's tensor
                  */
    bool bound;  /* STRIDE: `value` is set */
    /* VALID: the sum of axes that indexes the padded dimension, by axis; NULL: it is the axis alone. */
    const struct uk_affine *sum;
    struct uk_poly value; /* STRIDE: the stride in the nest, in elements */
};

/* A proof: how calls of a kernel compute a nest. Arrays are indexed by the numbers of the declaration's axes,
 * tensors, scalars and sizes. */
struct uk_match {
    struct uk_intrinsic *intrinsic;
    int axes;
    struct uk_loop *axis[2 * UK_MAX_DIMS];  /* the nest's loop for the axis; NULL: none, its extent is 1 */
    int64_t max_extent[2 * UK_MAX_DIMS];    /* maximum extent in one call; 0: not limited */
    int64_t fixed_extent[2 * UK_MAX_DIMS];  /* the extent, if the declaration has a number; else 0 */
    bool has_fixed_extent[2 * UK_MAX_DIMS]; /* every tile has the fixed extent */
    int64_t multiple[2 * UK_MAX_DIMS];      /* extents are rounded up to a multiple of it; 0: they are not */
    int tensors, sizes, scalars;
    int operand[UK_MAX_OPERANDS]; /* the stage's operand that is passed for the tensor; -1: none */
    /* By tensor: operands whose affine forms give the tile's origin. Not NULL if the match has split loops,
     * which the stage's own forms do not show. */
    struct uk_operand *at;
    const struct uk_expr *scalar[UK_MAX_SCALARS]; /* the value in the statement that is passed */
    struct uk_size_binding size[UK_MAX_SIZES];
    bool has_partial_tiles; /* some tiles may lack a fixed extent; they run as plain loops */
    /* The kernel begins the sums: tiles at which all outer reduction loops are 0 call its compute form, or
     * reset and update, and no loops initialize the output. */
    bool begins_sums;
    uint64_t guards;         /* bit b: the kernel applies the guard bound[b] of the stage */
    struct uk_position step; /* of the tensorize step */
};
/* A kernel of two statements, copy and product, that makes a copy's panel while it computes the first tile
 * that reads it. */
struct uk_packing {
    struct uk_match *match; /* of its second statement; `at` has all operands */
    int loops;              /* it is called for the tiles at which all these loops are 0 */
    struct uk_loop *loop[UK_MAX_LOOPS];
};

/* A kernel of the same operation as the match's, for tiles with few columns. */
struct uk_tail {
    struct uk_intrinsic *intrinsic;
    int axis;            /* of the match: that of columns */
    int64_t max_columns; /* tiles of at most that many */
};

/* Matches the nest that begins at loop position `tile`. UK_NO_MATCH: the intrinsic does not compute it, for
 * the reason *why, the difference that the furthest attempt met. */
enum uk_status uk_match(struct uk_schedule *s, struct uk_stage *st, int tile, struct uk_intrinsic *i,
                        struct uk_match **out, struct uk_text *why);
/* uk_match for the declaration's statement ks alone; operands and sizes of other statements stay unbound. */
enum uk_status uk_match_statement(struct uk_schedule *s, struct uk_stage *st, int tile,
                                  struct uk_intrinsic *i, struct uk_statement *ks, struct uk_match **out,
                                  struct uk_text *why);
/* Makes the match the stage's. */
void uk_set_match(struct uk_stage *st, struct uk_match *m);
/* Sets origin[id] of the loops of the tile that guards let begin later than at 0; the loops outside have
 * their values there. */
bool uk_match_origin(struct uk_schedule *s, const struct uk_stage *st, const struct uk_match *m,
                     struct uk_index **origin);
/* Moves the place of the stage's operand at the tile's origin to the first element of the tile that is in the
 * image, if the kernel leaves out terms outside of it. */
bool uk_match_enter_image(struct uk_schedule *s, const struct uk_stage *st, int operand,
                          struct uk_access *place);
/* The value of the declaration's size number `size` in the call for the tile at value[id] of the outer
 * loops. */
struct uk_index *uk_match_size(struct uk_schedule *s, const struct uk_stage *st, const struct uk_match *m,
                               int size, struct uk_index *const *value);
/* The trip count of the loop in the tile: uk_loop_end less uk_loop_begin. */
struct uk_index *uk_tile_extent(struct uk_schedule *s, const struct uk_stage *st, const struct uk_loop *l,
                                struct uk_index *const *value);
/* Position of the tensor in the program's list, or -1. */
int uk_tensor_number(const struct uk_program *p, const struct uk_tensor *t);

/* ---- lane.c ---- */

/* *out: the kernel as one lane sees it, if its output is spread over the lanes of a wave; else i. */
enum uk_status uk_kernel_of_lane(struct uk_schedule *s, struct uk_intrinsic *i, struct uk_intrinsic **out);

/* ---- scope.c ---- */

/* Turns a stage with operands in shared memory or registers into what one thread of a full block computes.
 * *kept: a copy of the original stage, which the caller has to restore; NULL: the stage is unchanged. */
enum uk_status uk_match_as_thread(struct uk_schedule *s, struct uk_stage *st, struct uk_stage **kept);
/* Matches such tensorized stages again, after all steps: buffers in registers have become each thread's, and
 * pipelined buffers have slots. Refuses if a kernel no longer computes its nest. */
enum uk_status uk_match_locals(struct uk_schedule *s);

/* How an operand is packed for a kernel: in panels of `width` adjacent elements, the lanes. */
struct uk_panel {
    int64_t width; /* 0: it is read in place, not packed */
    int along;     /* the tensor's dimension that is cut into panels */
    int lane;      /* the axis that runs over the lanes */
    int64_t group; /* adjacent elements of axis `of` per lane; 0: one */
    int of;
    struct uk_map *layout; /* if group is not 0: the layout for the step pack */
};

/* How a whole stage can be tiled for an intrinsic. */
struct uk_fit {
    struct uk_intrinsic *intrinsic;
    int axes;                              /* number of the kernel's axes that have a loop */
    struct uk_loop *axis[2 * UK_MAX_DIMS]; /* the loop of each */
    int64_t max_extent[2 * UK_MAX_DIMS];   /* maximum extent in one call; 0: not limited */
    int units; /* number of the kernel's axes of the output without a loop: their extent is 1 */
    int64_t unit[2 * UK_MAX_DIMS];          /* maximum extent in one call of each of these; 0: not limited */
    struct uk_panel panel[UK_MAX_OPERANDS]; /* by operand of the stage */
    /* By operand of the stage: the kernel takes any strides of it, also along the innermost dimension. */
    bool any_strides[UK_MAX_OPERANDS];
    const struct uk_map *transposed; /* the layout of a buffer that holds the output's tiles; or NULL */
};
/* UK_NO_MATCH: no tiling of the stage makes it the intrinsic's; *why as for uk_match. */
enum uk_status uk_fits(struct uk_schedule *s, struct uk_stage *st, struct uk_intrinsic *i, struct uk_fit *out,
                       struct uk_text *why);
/* True if the loop is that of an axis of the fit. */
bool uk_is_axis(const struct uk_fit *f, const struct uk_loop *l);

/* ---- first_tile.c ---- */

/* Finds a kernel that makes the copy while it computes the first of the tiles of *reader that read it; *out
 * NULL: there is none. */
enum uk_status uk_find_packing(struct uk_schedule *s, struct uk_stage *copy, struct uk_stage **reader,
                               struct uk_packing **out);
/* Sets *has if a kernel with the same tile as the fit's could pack its only packed operand; nothing has to be
 * packed yet. */
enum uk_status uk_has_packing(struct uk_schedule *s, const struct uk_fit *fit, bool *has);
/* If uk_find_packing finds a kernel, sets it in the reader and removes the copy's stage. */
enum uk_status uk_fuse_copy(struct uk_schedule *s, struct uk_stage *copy);

/* ---- tail.c ---- */

/* If `row` computes all rows in one call: the kernel of the same operation that takes the least time for
 * fewer columns. NULL: `row` itself. *cycles: of one k iteration of all rows by that kernel. */
const struct uk_kernel *uk_tail_kernel(const struct uk_schedule *s, const struct uk_kernel *row, int64_t rows,
                                       int64_t columns, double *cycles);
/* Sets the tail of a stage whose columns are known; NULL: no other kernel takes less time for the last
 * ones. */
enum uk_status uk_set_tail(struct uk_schedule *s, struct uk_stage *st);

/* ---- candidates.c ---- */

/* Bytes of the second-level cache per thread. */
int64_t uk_l2_share(const struct uk_schedule *s);

/* A kernel that was considered, and what uk explain or a message says about it. */
struct uk_reason {
    const char *kernel, *text;
    bool fits;
    double cycles; /* fits: its cost, in cycles per element of the tile */
    /* match_score: if it does not fit, uk_schedule.match_score after the attempt. number: the position in the
     * list before it was sorted. */
    int match_score, number;
};

/* Zero-initialize; lives in the schedule's arena. */
struct uk_reasons {
    struct uk_reason *list;
    int count, room;
};

void uk_reason_add(struct uk_schedule *s, struct uk_reasons *r, const char *kernel, const char *text,
                   bool fits, double cycles);
/* Sorts the kernels that fit by increasing cost; after them those that do not, the best match first. */
void uk_reasons_sort(struct uk_reasons *r);
/* Sorts, and puts a line for each of the first ten, or for all if the options say so, and the number of the
 * others. in_message: for the end of an error message, else for uk explain. */
void uk_reasons_put(const struct uk_schedule *s, struct uk_reasons *r, struct uk_text *t, bool in_message);
/* An iteration over the program's intrinsics, then the registry's rows. Zero-initialize; `reasons` may be set
 * before the first call. */
struct uk_candidate {
    bool started;
    struct uk_intrinsic *own; /* the current one of the program; NULL: the registry's turn */
    /* row: number of the next row of the registry. seen: number of kernels so far that are for the target's
     * architecture or have the wanted name. */
    int row, seen;
    struct uk_intrinsic *intrinsic; /* NULL: there are no more */
    char refused[256];              /* a sentence about the last one that the target cannot run; or "" */
    struct uk_reasons *reasons;     /* where kernels that the target cannot run are added; or NULL */
};
/* Advances to the next kernel that the target can run; only: considers only the kernel of that name; NULL:
 * all, except those that were made for other cores. */
enum uk_status uk_next_candidate(struct uk_schedule *s, const char *only, struct uk_candidate *c);
/* A feature, execution scope or memory that the intrinsic needs and the target lacks, as text; or NULL. */
const char *uk_lacking(const struct uk_schedule *s, const struct uk_intrinsic *i);
/* Tensorizes the nest from position `tile` on by the kernel of that name, or by the cheapest one for "auto".
 * UK_NO_MATCH: no kernel computes it. */
enum uk_status uk_apply_tensorize(struct uk_schedule *s, struct uk_stage *st, int tile, const char *kernel,
                                  struct uk_position at);
/* Estimated cycles of the kernel's inner loop per step of k, by its instruction counts: of an iteration over
 * kr steps, one kr-th; per call if the kernel has no k. */
double uk_kernel_cycles(const struct uk_target *t, const struct uk_kernel *k);
/* The flop/cycle that follow from that for a full tile. */
double uk_kernel_bound(const struct uk_target *t, const struct uk_kernel *k);

/* The declaration of the registry's row, parsed on first use; it lives as long as the context. */
enum uk_status uk_context_intrinsic(struct uk_context *c, const struct uk_kernel *row,
                                    struct uk_intrinsic **out);

#endif
