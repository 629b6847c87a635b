/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the matcher: one attempt to see an intrinsic in a nest. */
#ifndef UK_ATTEMPT_H
#define UK_ATTEMPT_H

#include "match.h"

/* UK_UNPACK, as a panel's width in advice: the kernel reads no panel there. */
enum { UK_MAX_AXES = 2 * UK_MAX_DIMS, UK_UNPACK = -1 };

/* An access of the declaration, and the operand of the nest that stands in its place. */
struct uk_pair {
    int tensor;   /* of the declaration, by number */
    int declared; /* operand of the declaration's stage */
    int operand;  /* of the nest's stage */
};

/* How well loops go with the kernel's axes; the least effort wins, then the longest sum. */
struct uk_rank {
    int effort;
    double sum; /* the estimated extent of the summed axes */
};

struct uk_attempt {
    struct uk_schedule *s;
    struct uk_stage *st;
    int tile;
    const struct uk_intrinsic *k;
    const struct uk_statement *ks;
    /* The declaration as a stage: axis a is the loop with the id a, and where a layout divides it, its
     * remainder is the loop with the id axes + a. */
    struct uk_stage *declared;
    int64_t divisor[UK_MAX_AXES]; /* of a divided axis, else 0 */
    /* st, with the loops of divided axes split in the same way. */
    struct uk_stage *view;
    const struct uk_loop *quotient[UK_MAX_AXES], *remainder[UK_MAX_AXES];
    struct uk_match m;
    struct uk_fit *fit; /* not NULL: operands may be packed, and this says which */
    bool whole;         /* loops may stay outside */
    bool advising;      /* what is packed may be packed in another way */
    int pairs;
    struct uk_pair pair[2 * UK_MAX_OPERANDS];
    int first[UK_MAX_OPERANDS]; /* the pair that gives a tensor's origin, by tensor number */
    bool padded[UK_MAX_OPERANDS];
    unsigned swap; /* which commutative nodes to swap */
    int node, score, best;
    int tries;                /* of assigning axes */
    struct uk_chosen *chosen; /* a fit: the best axes so far */
    struct uk_text *why;
};

/* attempt.c: the stage's operand that is this expression, or -1. */
int uk_match_operand_of(const struct uk_stage *st, const struct uk_expr *e);
/* Does the value change with the loop? */
bool uk_match_depends(struct uk_attempt *t, const struct uk_expr *e, const struct uk_loop *l);
bool uk_match_scalars_depend(struct uk_attempt *t, const struct uk_loop *l);
/* Notes the difference if this attempt got further than the others; false. */
bool uk_differ(struct uk_attempt *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* match_declared.c: both sides with the same loops. False: it differs, or failed. */
bool uk_match_declare(struct uk_attempt *t);
/* view with loop l split for the divided axis. */
bool uk_match_divide(struct uk_attempt *t, int axis, const struct uk_loop *l);
bool uk_match_is_divided(const struct uk_attempt *t);
/* May a kernel read up to so many elements on along the loop, beyond the operand's last one: in a buffer of
 * ours that it is alone in. uk_match_read_on makes room for them. */
bool uk_match_may_read_on(const struct uk_attempt *t, const struct uk_operand *o, const struct uk_loop *l);
bool uk_match_read_on(const struct uk_attempt *t, const struct uk_operand *o, int64_t elements);
/* May the extent along a summed axis be raised to a multiple: are the elements that this adds 0? */
bool uk_match_may_extend(struct uk_attempt *t, int axis, int64_t multiple);

/* Does another statement of the declaration have the tensor, and this one not? */
bool uk_match_leaves_out(const struct uk_attempt *t, const struct uk_tensor *x);

/* match_expr.c */
bool uk_match_expression(struct uk_attempt *t);
/* Does a value that is bound to a scalar of the declaration depend on the loop? */

/* match_axis.c */
bool uk_match_axes(struct uk_attempt *t);
/* Of the axes that t->m has now, in a fit. */
struct uk_rank uk_match_rank(const struct uk_attempt *t);
bool uk_match_is_better(struct uk_rank a, struct uk_rank b);
/* The axis' largest extent: a number in the declaration, or `I <= 14` among its assumptions. */
int64_t uk_match_most(const struct uk_attempt *t, int axis);

/* How far one step along the loop moves the operand's address; terms < 0: not always as far. */
struct uk_poly uk_match_step(const struct uk_operand *o, const struct uk_loop *l);
/* p with the strides that are bound so far. */
struct uk_poly uk_match_bound(const struct uk_attempt *t, const struct uk_poly *p);

/* match_advice.c */
const char *uk_poly_text(struct uk_attempt *t, const struct uk_poly *p);
/* Notes that one step along loop l is another than the declaration's along `axis`; `step` would change that.
 * */
bool uk_match_other_step(struct uk_attempt *t, const struct uk_pair *p, int axis, const struct uk_loop *l,
                         const struct uk_poly *want, const struct uk_poly *have, const char *step);
/* Notes the first difference under the axes of t->m, and the packs of t->fit that would remove all. */
void uk_match_advise(struct uk_attempt *t);
/* "pack A at mo panel 14" for an operand, at a loop where pack can be put; "": no pack would do. */
const char *uk_pack_step(struct uk_attempt *t, int operand, const struct uk_panel *panel);
/* "cache_read A at ko in shared layout .." for an operand that is in shared and has not the groups that the
 * kernel reads; "": nothing is known to do. */
const char *uk_shared_step(struct uk_attempt *t, const struct uk_pair *p);
bool uk_may_group(const struct uk_attempt *t, const struct uk_operand *o, const struct uk_panel *p);
/* (k, n) -> [n / 16, k / 4, n % 16, k % 4] for a panel of groups; NULL: no memory. */
struct uk_map *uk_group_layout(struct uk_attempt *t, int operand, const struct uk_panel *panel);

/* match_scope.c: does the operand lie where the kernel's tensor does? */
bool uk_match_scope(struct uk_attempt *t, const struct uk_tensor *want, int operand);

/* match_forms.c: has the kernel the form that the nest needs? */
bool uk_match_forms(struct uk_attempt *t);

/* match_tile.c: what must hold for every tile, once axes and operands are known. */
bool uk_match_roles(struct uk_attempt *t);
bool uk_match_tiles(struct uk_attempt *t);

/* match_memory.c: do the pads that the program wrote have nothing to do in this nest? */
bool uk_match_pads(struct uk_attempt *t);
/* Is all in memory that the kernel reads of the operand beyond the tile? */
bool uk_match_over(struct uk_attempt *t, const struct uk_pair *p);
/* Is every tile of the declaration's tensor aligned as it says? */
bool uk_match_aligned(struct uk_attempt *t, int tensor);

/* match_valid.c: the index that the size ends, where it is a sum of several axes, which a stage's loops have
 * too. */
bool uk_match_keep_sum(struct uk_attempt *t, const struct uk_var *v, const int64_t *coefficient);
/* Does one of the operand's sizes end the sum that the bound holds? */
bool uk_match_ends_sum(const struct uk_attempt *t, int operand, const struct uk_affine *bound);
/* How much of an operand that is read under pad is there, along an axis or a sum of axes. */
struct uk_index *uk_match_valid(struct uk_schedule *s, const struct uk_stage *st, const struct uk_match *m,
                                const struct uk_size_binding *size, struct uk_index *const *value);
/* Where a copy's source has no element, the kernel stores 0 if that is what its `pad` says of this axis; any
 * other such place must be outside of every tile. */
bool uk_match_within(struct uk_attempt *t, int operand);

/* The declaration's access and the nest's operand that give a tensor's origin. */
static inline const struct uk_operand *uk_match_declared(const struct uk_attempt *t, int tensor) {
    return &t->declared->operand[t->pair[t->first[tensor]].declared];
}

static inline const struct uk_operand *uk_match_operand(const struct uk_attempt *t, int tensor) {
    return &t->view->operand[t->m.operand[tensor]];
}

#endif
