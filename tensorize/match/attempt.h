/* SPDX-License-Identifier: Apache-2.0 */
/* An attempt to match an intrinsic with a nest: what the files of the matcher share.
 *
 * In comments here "the kernel" is the intrinsic and "a declared tensor" one of its declaration's. Functions
 * that return bool return false if the two sides differ, which uk_record_difference has recorded, or if they
 * fail, which the context has recorded; unless their comment says "True if". */
#ifndef UK_ATTEMPT_H
#define UK_ATTEMPT_H

#include "match.h"

/* UK_UNPACK: a value of uk_panel.width in advice: the operand is packed, but the kernel reads no panels. */
enum { UK_MAX_AXES = 2 * UK_MAX_DIMS, UK_UNPACK = -1 };

/* An access of the declaration with the nest's operand in the same place of the expression. */
struct uk_pair {
    int tensor;   /* number of the declared tensor */
    int declared; /* operand of the declaration's stage */
    int operand;  /* operand of the nest's stage */
};

/* The quality of an assignment of loops to axes: the least effort wins, then the largest sum, then the order
 * of the loops. */
struct uk_rank {
    int effort;  /* a weighted count of packed operands, unused axes and extents that do not fit */
    double sum;  /* product of the estimated trip counts of the summed axes */
    int swapped; /* of a kernel with borders: pairs of the output's axes whose loops are in the other order */
};

struct uk_attempt {
    struct uk_schedule *s;
    struct uk_stage *st;
    int tile;
    const struct uk_intrinsic *k;
    const struct uk_statement *ks; /* the declaration's statement that is matched */
    /* The declaration as a stage: axis a is the loop with the id a. If a layout divides the axis (p / 4,
     * p % 4), this loop is the quotient, and the remainder is the loop with the id axes + a. */
    struct uk_stage *declared;
    int64_t divisor[UK_MAX_AXES]; /* of a divided axis, else 0 */
    /* st, or a copy of it in which the loops for divided axes are split in the same way. */
    struct uk_stage *view;
    const struct uk_loop *quotient[UK_MAX_AXES], *remainder[UK_MAX_AXES]; /* loops of view, by divided axis */
    struct uk_match m;
    struct uk_fit *fit;  /* not NULL: operands may be packed; says which */
    bool is_whole_stage; /* the nest is the whole stage: loops that are no axis stay outside the tile */
    bool is_for_advice;  /* looks for a fit only for advice: packed operands may be packed differently */
    int pairs;
    struct uk_pair pair[2 * UK_MAX_OPERANDS];
    /* By number of the declared tensor: the pair whose access is at the tensor's origin; -1: none yet. */
    int first[UK_MAX_OPERANDS];
    bool padded[UK_MAX_OPERANDS];     /* by number of the declared tensor: it is read under pad */
    bool has_border[UK_MAX_OPERANDS]; /* the same: terms outside of it are left out */
    unsigned swap;                    /* bit n: the operands of the n-th commutative node are swapped */
    /* node: number of commutative nodes met. score: number of parts of the declaration found in the nest so
     * far. best: the score of the difference that *why describes; -1: none. */
    int node, score, best;
    int tried_loops;               /* number of loops that were tried as axes */
    struct uk_chosen_axes *chosen; /* is_whole_stage: the best axes so far; else NULL */
    struct uk_text *why;
};

/* ---- attempt.c ---- */

/* The stage's operand that is this expression, or -1. */
int uk_match_operand_of(const struct uk_stage *st, const struct uk_expr *e);
/* True if the value depends on the loop. */
bool uk_match_depends(struct uk_attempt *t, const struct uk_expr *e, const struct uk_loop *l);
/* True if a value that is bound to a scalar of the kernel depends on the loop. */
bool uk_match_scalars_depend(struct uk_attempt *t, const struct uk_loop *l);
/* Puts the difference into *why if the score is above t->best. Returns false. */
bool uk_record_difference(struct uk_attempt *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- declaration.c ---- */

/* Makes t->declared. */
bool uk_match_declare(struct uk_attempt *t);
/* Splits loop l, which is to be the divided axis, in a new t->view. */
bool uk_match_divide(struct uk_attempt *t, int axis, const struct uk_loop *l);
/* True if an axis is divided. */
bool uk_match_is_divided(const struct uk_attempt *t);
/* True if the kernel may read elements past the operand's last one, along the loop: the operand is contiguous
 * there, in a buffer that the program does not share. */
bool uk_match_may_read_on(const struct uk_attempt *t, const struct uk_operand *o, const struct uk_loop *l);
/* Extends that buffer, so that `elements` elements past the last one may be read. False: no memory. */
bool uk_match_read_on(const struct uk_attempt *t, const struct uk_operand *o, int64_t elements);
/* True if e is 0 wherever `part` of it is 0, since that is a factor of it. */
bool uk_match_is_factor(const struct uk_expr *e, const struct uk_expr *part);
/* True if the extent of a summed axis may be rounded up to the multiple, because the terms that this adds are
 * 0 and their elements are in memory. */
bool uk_match_may_extend(struct uk_attempt *t, int axis, int64_t multiple);

/* True if only other statements of the declaration than ks access the declared tensor. */
bool uk_match_leaves_out(const struct uk_attempt *t, const struct uk_tensor *x);

/* ---- expr.c ---- */

/* Compares the expressions; sets the pairs, and the scalars of t->m. */
bool uk_match_expression(struct uk_attempt *t);

/* ---- axis.c ---- */

/* Assigns loops to axes, binds strides, and checks the origins of the pairs. */
bool uk_match_axes(struct uk_attempt *t);
/* The rank of the axes that t->m has; requires t->fit. */
struct uk_rank uk_match_rank(const struct uk_attempt *t);
/* True if a is better than b. */
bool uk_match_is_better(struct uk_rank a, struct uk_rank b);
/* The maximum extent of the axis: a number in the declaration, or 14 if it assumes `I <= 14` or `I == 14`; 0:
 * not limited. */
int64_t uk_match_max_extent(const struct uk_attempt *t, int axis);

/* The distance, in elements, by which one step along the loop moves the operand's address; terms < 0: it is
 * not the same for all steps. */
struct uk_poly uk_match_step(const struct uk_operand *o, const struct uk_loop *l);
/* p with the values of the strides that are bound so far. */
struct uk_poly uk_match_bound(const struct uk_attempt *t, const struct uk_poly *p);

/* ---- advice.c: texts for messages, in the schedule's arena ---- */

const char *uk_poly_text(struct uk_attempt *t, const struct uk_poly *p);
/* Records, by uk_record_difference, that one step along loop l moves the operand by `have`, but one along the
 * kernel's axis by `want`. step: the step that would change that, or "". */
bool uk_match_differ_in_step(struct uk_attempt *t, const struct uk_pair *p, int axis, const struct uk_loop *l,
                             const struct uk_poly *want, const struct uk_poly *have, const char *step);
/* Records the first difference in the steps along the axes of t->m, with all pack steps that t->fit asks
 * for. */
void uk_match_advise(struct uk_attempt *t);
/* The text "pack A at mo panel 14" for an operand, with a loop at which it can be packed; "": packing does
 * not help. */
const char *uk_pack_step(struct uk_attempt *t, int operand, const struct uk_panel *panel);
/* The text "cache_read A at ko in shared layout .." for an operand in shared memory without the groups that
 * the kernel reads; "": no such step is known. */
const char *uk_shared_step(struct uk_attempt *t, const struct uk_pair *p);
/* True if uk_group_layout can describe the panel of the operand. */
bool uk_may_group(const struct uk_attempt *t, const struct uk_operand *o, const struct uk_panel *p);
/* The layout (k, n) -> [n / 16, k / 4, n % 16, k % 4] of panels of 16 lanes in groups of 4; NULL: no
 * memory. */
struct uk_map *uk_group_layout(struct uk_attempt *t, int operand, const struct uk_panel *panel);

/* ---- scope.c ---- */

/* Checks that the operand is in the memory scope (global, shared, register) of the declared tensor. */
bool uk_match_scope(struct uk_attempt *t, const struct uk_tensor *want, int operand);

/* ---- lane.c ---- */

/* The number of lanes over which the output of the kernel, as one lane sees it, is spread. */
int64_t uk_match_lane_count(const struct uk_intrinsic *k);

/* ---- wave.c ---- */

/* Checks that the nest's loops over thread.x are the lanes of a wave's kernel. */
bool uk_match_lanes(struct uk_attempt *t);

/* ---- forms.c ---- */

/* Checks that the kernel has the forms (compute, reset, update) that the nest needs; sets t->m.begins_sums.
 */
bool uk_match_forms(struct uk_attempt *t);

/* ---- tile.c: conditions on every tile, once axes and operands are known ---- */

/* Finds the role of each of the kernel's sizes. */
bool uk_match_roles(struct uk_attempt *t);
/* Checks that every tile is a box with extents that the kernel takes, that its assumptions hold, and that
 * what it reads is in memory and aligned. */
bool uk_match_tiles(struct uk_attempt *t);
/* The summed axis whose extent P a relation `P % c == 0` of the declaration constrains, or -1. */
int uk_match_divisible_axis(const struct uk_attempt *t, const struct uk_index *r, int64_t *c);

/* ---- memory.c ---- */

/* Checks that operands which the program reads under pad, and the kernel without, are inside their tensors.
 */
bool uk_match_pads(struct uk_attempt *t);
/* Checks that the elements which the kernel reads beyond the tile (`over`) are in memory. */
bool uk_match_check_over(struct uk_attempt *t, const struct uk_pair *p);
/* Checks that every tile of the declared tensor has the alignment that the declaration requires. */
bool uk_match_check_alignment(struct uk_attempt *t, int tensor);

/* ---- borders.c: terms outside of an image, which the kernel leaves out ---- */

/* True if the declaration's pad leaves out terms of its sum. */
bool uk_match_is_border(struct uk_attempt *t, const struct uk_expr *pad);
/* Binds a size that says where a tile is in an image. False: the size says something else, or the operand has
 * no dimension for it. */
bool uk_match_find_border(struct uk_attempt *t, const struct uk_var *v);
/* Marks the guards that the kernel applies, in a copy of the stage that the attempt goes on with. */
bool uk_match_take_borders(struct uk_attempt *t);
/* The value of a size of role UK_SIZE_BEFORE or UK_SIZE_INSIDE for the tile at `value`. */
struct uk_index *uk_match_border_size(struct uk_schedule *s, const struct uk_stage *st,
                                      const struct uk_match *m, const struct uk_size_binding *size,
                                      struct uk_index *const *value);

/* ---- copy_sources.c: operands of copies, which are read under pad ---- */

/* Size v is the extent of a padded dimension that the sum of coefficient[a] * axis a indexes: sets
 * uk_size_binding.sum if more than one of these axes has a loop. */
bool uk_match_keep_sum(struct uk_attempt *t, const struct uk_var *v, const int64_t *coefficient);
/* True if `bound`, the form of one of the operand's bounds `within`, is a positive multiple of the sum of
 * axes of such a size: the kernel then applies the bound itself, by that size. */
bool uk_match_ends_sum(const struct uk_attempt *t, int operand, const struct uk_affine *bound);
/* The value of a size of role UK_SIZE_VALID for the tile at `value`. */
struct uk_index *uk_match_valid_size(struct uk_schedule *s, const struct uk_stage *st,
                                     const struct uk_match *m, const struct uk_size_binding *size,
                                     struct uk_index *const *value);
/* Checks the places at which a copy's source has no element: they are outside every tile, or the kernel
 * stores the value of its pad there because a size of role UK_SIZE_VALID says so. */
bool uk_match_check_copy_source(struct uk_attempt *t, int operand);

/* The declaration's operand, and the nest's, that give a declared tensor's origin. */
static inline const struct uk_operand *uk_match_declared_operand(const struct uk_attempt *t, int tensor) {
    return &t->declared->operand[t->pair[t->first[tensor]].declared];
}

static inline const struct uk_operand *uk_match_operand(const struct uk_attempt *t, int tensor) {
    return &t->view->operand[t->m.operand[tensor]];
}

#endif
