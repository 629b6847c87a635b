/* SPDX-License-Identifier: Apache-2.0 */
/* A stage's loops: positions, bounds, extents. */
#include <string.h>
#include "stages.h"

/* ---- lookup ---- */

const struct uk_stage *uk_root_of(const struct uk_stage *st) {
    while (st->parent)
        st = st->parent;
    return st;
}

int uk_loop_position(const struct uk_stage *st, const struct uk_loop *l) {
    for (int i = 0; i < st->loops; i++)
        if (st->loop[i] == l)
            return i;
    return -1;
}

bool uk_is_reduced(const struct uk_stage *st, const struct uk_loop *l) {
    return l->stage == st && st->reduced[l->iterator];
}

int uk_own_position(const struct uk_stage *st, const char *name) {
    for (int i = st->prefix; i < st->loops; i++)
        if (!strcmp(st->loop[i]->var->name, name))
            return i;
    return -1;
}

bool uk_is_prefix_of_copy(const struct uk_schedule *s, const struct uk_stage *st, int position) {
    for (const struct uk_stage *c = st->attached ? s->stages : NULL; c; c = c->next)
        if (c->parent == st && position < c->prefix)
            return true;
    return false;
}

bool uk_depends(const struct uk_operand *o, const struct uk_loop *l) {
    for (int d = 0; d < o->tensor->stored_dims; d++)
        if (o->index[d].coefficient[l->id] ||
            (o->index[d].general && uk_mentions(o->index[d].general, l->var)))
            return true;
    return false;
}

bool uk_steps_along(const struct uk_operand *o, const struct uk_loop *l) {
    for (int d = 0; d < o->tensor->stored_dims; d++)
        if (o->index[d].coefficient[l->id])
            return true;
    return false;
}

bool uk_has_guards(const struct uk_stage *st) {
    bool any = st->is_filtered;

    for (int b = 0; b < st->bounds; b++)
        any |= st->bound[b].is_guard;
    return any;
}

static bool is_scanned(const struct uk_stage *st, const struct uk_loop *l) {
    const struct uk_affine *f = &st->iterator[st->scanned];

    return st->previous && (f->coefficient[l->id] || (f->general && uk_mentions(f->general, l->var)));
}

int uk_shared_loops(const struct uk_stage *st, bool is_written, struct uk_loop *const *loop, int n) {
    int k = 0;

    while (k < n && k < st->loops && st->loop[k] == loop[k] &&
           !(is_written && (uk_is_reduced(st, st->loop[k]) || is_scanned(st, st->loop[k]))))
        k++;
    return k;
}

int uk_home_prefix(const struct uk_schedule *s, const struct uk_stage *st) {
    int n = st->loops;

    for (const struct uk_stage *o = s->stages; o; o = o->next)
        for (int i = 0; i < o->operands; i++)
            if (o->operand[i].tensor == st->operand[0].tensor)
                n = uk_shared_loops(o, i == 0, st->loop, n);
    return n;
}

/* ---- bounds and extents ---- */

enum uk_status uk_add_bound(struct uk_schedule *s, struct uk_stage *st, const struct uk_affine *f,
                            struct uk_index *upper) {
    if (st->bounds == UK_MAX_BOUNDS)
        return uk_fail(s->context, UK_REFUSED, st->statement->at,
                       "stage %s has more than %d loop bounds; split less", st->name, UK_MAX_BOUNDS);
    struct uk_bound *b = &st->bound[st->bounds++];
    *b = (struct uk_bound){.form = *f};
    b->upper = f->rest ? uk_index_op(s->arena, UK_I_SUB, upper, f->rest) : upper;
    b->form.rest = NULL;
    return b->upper ? UK_OK : uk_out_of_memory(s->context);
}

/* ceil(e / a) */
static struct uk_index *ceil_div(struct uk_arena *arena, struct uk_index *e, int64_t a) {
    if (a == 1)
        return e;
    e = uk_index_op(arena, UK_I_ADD, e, uk_index_int(arena, a - 1));
    return uk_index_op(arena, UK_I_DIV, e, uk_index_int(arena, a));
}

/* True if a loop other than l without a value lowers the form, which then bounds that loop. */
static bool is_bounded_by_inner(const struct uk_stage *st, const struct uk_bound *b, const struct uk_loop *l,
                                struct uk_index *const *value) {
    for (int i = 0; i < st->loops && b->is_guard; i++)
        if (st->loop[i] != l && b->form.coefficient[st->loop[i]->id] < 0 && !value[st->loop[i]->id])
            return true;
    return false;
}

bool uk_may_begin_above_zero(const struct uk_stage *st, const struct uk_loop *l) {
    for (int i = 0; i < st->bounds; i++)
        if (st->bound[i].form.coefficient[l->id] < 0 && !st->bound[i].in_kernel)
            return true;
    return false;
}

void uk_mark_guards(struct uk_stage *st, uint64_t guards) {
    for (int b = 0; b < st->bounds; b++)
        st->bound[b].in_kernel = guards >> b & 1;
}

struct uk_index *uk_loop_begin_within(struct uk_schedule *s, const struct uk_stage *st,
                                      const struct uk_bound *bound, int bounds, const struct uk_loop *l,
                                      struct uk_index *const *value) {
    struct uk_index *first = uk_index_int(s->arena, 0);

    for (int i = 0; i < bounds; i++) {
        const struct uk_bound *b = &bound[i];
        int64_t a = -b->form.coefficient[l->id];

        if (a <= 0 || b->in_kernel || is_bounded_by_inner(st, b, l, value))
            continue;
        /* others - a*l < upper: l > (others - upper) / a */
        struct uk_index *others = uk_affine_value(s, st, &b->form, value);
        struct uk_index *e = uk_index_op(s->arena, UK_I_SUB, others, b->upper);

        e = uk_index_op(s->arena, UK_I_DIV, e, uk_index_int(s->arena, a));
        e = uk_index_op(s->arena, UK_I_ADD, e, uk_index_int(s->arena, 1));
        first = uk_index_op(s->arena, UK_I_MAX, first, e);
    }
    return first;
}

struct uk_index *uk_loop_begin(struct uk_schedule *s, const struct uk_stage *st, const struct uk_loop *l,
                               struct uk_index *const *value) {
    return uk_loop_begin_within(s, st, st->bound, st->bounds, l, value);
}

/* True if every value of l, with values of the other loops, that one bound allows is allowed by the other: it
 * is a multiple of the other with more terms, and loops are >= 0. */
static bool implies(const struct uk_bound *b, const struct uk_bound *other, const struct uk_loop *l) {
    const int64_t times = b->form.coefficient[l->id] / other->form.coefficient[l->id];
    int64_t more;

    for (int i = 0; i < UK_MAX_LOOPS; i++)
        if (b->form.coefficient[i] < times * other->form.coefficient[i])
            return false;
    if (times < 1 || b->form.general || other->form.general)
        return false;
    struct uk_poly upper = uk_poly_of(other->upper);
    upper = uk_poly_add(uk_poly_of(b->upper), &upper, -times);
    return upper.terms >= 0 && uk_poly_is_int(&upper, &more) && more <= 0;
}

static bool ends_loop(const struct uk_stage *st, const struct uk_bound *b, const struct uk_loop *l,
                      struct uk_index *const *value) {
    return b->form.coefficient[l->id] > 0 && !b->in_kernel && !is_bounded_by_inner(st, b, l, value);
}

/* True if another bound that ends the loop implies this one; of two that imply each other, the first does. */
static bool is_implied(const struct uk_stage *st, const struct uk_bound *b, int bounds, int number,
                       const struct uk_loop *l, struct uk_index *const *value) {
    for (int i = 0; i < bounds; i++)
        if (i != number && ends_loop(st, &b[i], l, value) && implies(&b[i], &b[number], l) &&
            (i < number || !implies(&b[number], &b[i], l)))
            return true;
    return false;
}

struct uk_index *uk_loop_end_within(struct uk_schedule *s, const struct uk_stage *st,
                                    const struct uk_bound *b, int bounds, const struct uk_loop *l,
                                    struct uk_index *const *value) {
    struct uk_index *minimum = NULL;

    for (int i = 0; i < bounds; i++) {
        if (!ends_loop(st, &b[i], l, value) || is_implied(st, b, bounds, i, l, value))
            continue;
        struct uk_index *others = uk_affine_value(s, st, &b[i].form, value);
        struct uk_index *e = ceil_div(s->arena, uk_index_op(s->arena, UK_I_SUB, b[i].upper, others),
                                      b[i].form.coefficient[l->id]);

        if (!e)
            return NULL;
        minimum = minimum ? uk_index_op(s->arena, UK_I_MIN, minimum, e) : e;
    }
    return minimum;
}

struct uk_index *uk_loop_end(struct uk_schedule *s, const struct uk_stage *st, const struct uk_loop *l,
                             struct uk_index *const *value) {
    return uk_loop_end_within(s, st, st->bound, st->bounds, l, value);
}

int64_t uk_constant_extent(const struct uk_stage *st, const struct uk_loop *l) {
    int64_t minimum = -1, n;

    for (int i = 0; i < st->bounds; i++) {
        int64_t a = st->bound[i].form.coefficient[l->id];

        if (st->bound[i].is_guard &&
            st->bound[i].operand) /* a copy of the operand turns this guard into its end */
            continue;
        for (int j = 0; j < st->loops; j++) /* a bound that another loop lowers gives no constant */
            a = st->bound[i].form.coefficient[st->loop[j]->id] < 0 ? 0 : a;
        if (a <= 0 || !uk_index_is_int(st->bound[i].upper, &n))
            continue;
        n = n <= 0 ? 0 : (n - 1) / a + 1;
        if (minimum < 0 || n < minimum)
            minimum = n;
    }
    return minimum;
}

bool uk_has_fused_rows(const struct uk_stage *st) {
    const struct uk_access *x = &st->statement->left;

    for (int d = 0; d < x->tensor->dims && st->inside; d++)
        if (x->index[d]->op == UK_I_INT)
            return true;
    return false;
}

bool uk_has_no_output(const struct uk_stage *st) {
    int64_t c;

    for (int i = 0; i < st->iterators; i++)
        if (!st->reduced[i] && uk_index_is_int(st->statement->extent[i], &c) && c <= 0)
            return true;
    return false;
}

bool uk_is_empty(const struct uk_stage *st) {
    int64_t c;

    for (int i = 0; i < st->iterators; i++)
        if (uk_index_is_int(st->statement->extent[i], &c) && c <= 0)
            return true;
    return false;
}
