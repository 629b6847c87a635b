/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The region of a tensor that a stage accesses inside its first loops, the prefix.
 *
 * In every dimension indices are offset + x. The offset is the contribution of the prefix loops and the
 * sizes; x >= 0 is that of the inner loops. x is a sum over iterators: the stage's bounds give the range of
 * each inside the prefix, and the bounds of x are the sums of one bound of each iterator, in all
 * combinations.
 */
#include <string.h>
#include "stages.h"

/* The contribution of one iterator (or one loop) to x. */
struct share {
    int bounds;
    struct uk_bound bound[UK_MAX_PART_BOUNDS];
};

struct finding {
    struct uk_schedule *s;
    const struct uk_stage *st;
    int prefix;
    const struct uk_affine *f;
    struct uk_part *part;
    const char **why;
    bool taken[UK_MAX_LOOPS]; /* inner loops that are accounted for, by id */
    bool is_loose; /* a loop contributes its full extent, although bounds with other loops may restrict it */
    int backwards; /* number of loops with negative coefficients that contribute so */
};

static const char coarse_inside[] = "the loops inside hold the coarse part of an index and the loops outside "
                                    "the fine part; reorder them";
static const char unbounded[] = "nothing bounds an index of the tensor inside the loop";

static struct uk_index *plus(struct uk_schedule *s, struct uk_index *e, int64_t n) {
    return n ? uk_index_op(s->arena, UK_I_ADD, e, uk_index_int(s->arena, n)) : e;
}

static enum uk_status no(struct finding *g, const char *why) {
    *g->why = why;
    return UK_NO_MATCH;
}

/* ---- one iterator ---- */

/* The maximum number of values of an inner loop. On a GPU tiles are full (fill.c): a bound that involves
 * loops of the prefix, which comes from the tensor, does not count if the tile has a bound of its own. */
static int64_t values_of(const struct finding *g, const struct uk_loop *l) {
    int64_t minimum = -1, n;

    for (int b = 0; b < g->st->bounds && g->s->target->machine.core.device.threads; b++) {
        const struct uk_bound *of = &g->st->bound[b];
        const int64_t c = of->form.coefficient[l->id];
        bool inside = c > 0 && !of->is_guard && uk_index_is_int(of->upper, &n);

        for (int i = 0; i < g->st->loops; i++) {
            const int64_t other = of->form.coefficient[g->st->loop[i]->id];

            inside &= i < g->prefix ? other == 0 : other >= 0;
        }
        if (inside && (minimum < 0 || (n - 1) / c + 1 < minimum))
            minimum = n <= 0 ? 0 : (n - 1) / c + 1;
    }
    return minimum < 0 ? uk_constant_extent(g->st, l) : minimum;
}

/* True if the bound limits floor(y / unit), where y is the part of the iterator inside the prefix. Inner
 * loops that the bound leaves out then add up to *rest < unit. */
static bool bounds_iterator(const struct finding *g, const struct uk_bound *b, const struct uk_affine *it,
                            int64_t *unit, int64_t *rest) {
    const struct uk_stage *st = g->st;

    *unit = *rest = 0;
    if (b->is_guard)
        return false;
    for (int i = g->prefix; i < st->loops; i++) {
        int64_t a = b->form.coefficient[st->loop[i]->id], c = it->coefficient[st->loop[i]->id];

        if (a < 0 || (a && c && (c % a || (*unit && *unit != c / a))))
            return false;
        if (a && c)
            *unit = c / a;
    }
    for (int i = g->prefix; i < st->loops && *unit; i++) {
        int64_t c = it->coefficient[st->loop[i]->id], n, reach;

        if (b->form.coefficient[st->loop[i]->id] || !c)
            continue;
        n = values_of(g, st->loop[i]);
        if (n < 0 || __builtin_mul_overflow(c, n > 0 ? n - 1 : 0, &reach) || reach >= *unit - *rest)
            return false;
        *rest += reach;
    }
    return *unit > 0;
}

/* Appends the bound of times * y that follows from floor(y / unit) + form < upper: y + unit * form < unit *
 * upper - (unit - 1 - rest). */
static enum uk_status add_scaled(struct finding *g, struct share *out, const struct uk_bound *b, int64_t unit,
                                 int64_t rest, int64_t times) {
    struct uk_arena *a = g->s->arena;
    struct uk_index *upper = uk_index_op(a, UK_I_MUL, b->upper, uk_index_int(a, unit));

    if (out->bounds == UK_MAX_PART_BOUNDS)
        return no(g, "the loops that make up an index have too many bounds; split less");
    struct uk_bound *to = &out->bound[out->bounds++];
    upper = plus(g->s, upper, rest + 1 - unit);
    if (times > 1)
        upper = plus(g->s, uk_index_op(a, UK_I_MUL, plus(g->s, upper, -1), uk_index_int(a, times)), 1);
    *to = (struct uk_bound){.upper = upper};
    for (int i = 0; i < g->prefix; i++) {
        int id = g->st->loop[i]->id;

        if (__builtin_mul_overflow(unit * times, b->form.coefficient[id], &to->form.coefficient[id]))
            return no(g, "the coefficients of an index are too large");
    }
    return upper ? UK_OK : uk_out_of_memory(g->s->context);
}

/* True if, of the loops that an iterator was split into, one inside the prefix is coarser than one of the
 * prefix. */
static bool is_coarse_inside(const struct finding *g, const struct uk_affine *it) {
    for (int i = g->prefix; i < g->st->loops; i++)
        for (int o = 0; o < g->prefix; o++) {
            const struct uk_loop *inner = g->st->loop[i], *outer = g->st->loop[o];

            if (inner->stage == outer->stage && g->f->coefficient[outer->id] && it->coefficient[outer->id] &&
                values_of(g, inner) != 1 && it->coefficient[inner->id] >= it->coefficient[outer->id])
                return true;
        }
    return false;
}

/* The iterator's contribution to x. Empty (bounds 0) unless the coefficients of all its inner loops are in
 * one ratio. */
static enum uk_status iterator_share(struct finding *g, int iterator, struct share *out) {
    const struct uk_affine *it = &g->st->iterator[iterator];
    int64_t times = 0, unit, rest;

    out->bounds = 0;
    for (int i = g->prefix; i < g->st->loops; i++) {
        int id = g->st->loop[i]->id;
        int64_t a = it->coefficient[id], c = g->f->coefficient[id];

        if (!a || values_of(g, g->st->loop[i]) == 1)
            continue;
        if (g->taken[id] || a < 0 || c <= 0 || c % a || (times && times != c / a))
            return UK_OK;
        times = c / a;
    }
    if (!times)
        return UK_OK;
    if (is_coarse_inside(g, it))
        return no(g, coarse_inside);
    for (int b = 0; b < g->st->bounds; b++) {
        if (!bounds_iterator(g, &g->st->bound[b], it, &unit, &rest))
            continue;
        enum uk_status status = add_scaled(g, out, &g->st->bound[b], unit, rest, times);
        if (status)
            return status;
    }
    for (int i = g->prefix; i < g->st->loops && out->bounds; i++)
        g->taken[g->st->loop[i]->id] |= it->coefficient[g->st->loop[i]->id] != 0;
    return UK_OK;
}

/* The contribution of a loop of constant extent; with a negative coefficient x counts from the loop's last
 * value. */
static enum uk_status loop_share(struct finding *g, const struct uk_loop *l, struct share *out) {
    int64_t c = g->f->coefficient[l->id], n = values_of(g, l), reach;

    if (n < 0 || __builtin_mul_overflow(c, n > 0 ? n - 1 : 0, &reach))
        return no(g, unbounded);
    if (reach < 0) {
        g->part->begins_before = g->backwards++ > 0;
        struct uk_index *rest = g->part->offset.rest;

        g->part->offset.rest = plus(g->s, rest ? rest : uk_index_int(g->s->arena, 0), reach);
        reach = -reach;
    }
    g->taken[l->id] = g->is_loose = true;
    out->bounds = 1;
    out->bound[0] = (struct uk_bound){.upper = uk_index_int(g->s->arena, reach + 1)};
    return out->bound[0].upper && (c > 0 || g->part->offset.rest) ? UK_OK : uk_out_of_memory(g->s->context);
}

/* Adds a contribution to x: the sum of every pair of bounds, forms and uppers - 1. */
static enum uk_status add_share(struct finding *g, const struct share *with) {
    struct uk_part *p = g->part;
    struct share before = {.bounds = p->bounds};

    memcpy(before.bound, p->bound, sizeof before.bound);
    if (!before.bounds) {
        p->bounds = with->bounds;
        memcpy(p->bound, with->bound, sizeof p->bound);
        return UK_OK;
    }
    if (before.bounds * with->bounds > UK_MAX_PART_BOUNDS)
        return no(g, "the loops that make up an index have too many bounds; split less");
    p->bounds = 0;
    for (int i = 0; i < before.bounds; i++)
        for (int j = 0; j < with->bounds; j++) {
            struct uk_bound *to = &p->bound[p->bounds++];
            const struct uk_bound *b = &with->bound[j];

            *to = before.bound[i];
            to->upper = uk_index_op(g->s->arena, UK_I_ADD, to->upper, plus(g->s, b->upper, -1));
            for (int l = 0; l < UK_MAX_LOOPS; l++)
                to->form.coefficient[l] += b->form.coefficient[l];
            if (!to->upper)
                return uk_out_of_memory(g->s->context);
        }
    return UK_OK;
}

/* ---- one dimension ---- */

static enum uk_status part_of(struct finding *g) {
    const struct uk_stage *st = g->st;
    struct share *share = uk_alloc(g->s->arena, sizeof *share);
    enum uk_status status = UK_OK;

    if (!share)
        return uk_out_of_memory(g->s->context);
    g->part->offset.rest = g->f->rest;
    for (int i = 0; i < g->prefix; i++)
        g->part->offset.coefficient[st->loop[i]->id] = g->f->coefficient[st->loop[i]->id];
    for (int i = g->prefix; i < st->loops; i++) /* loops that stay at 0 */
        g->taken[st->loop[i]->id] = values_of(g, st->loop[i]) == 1;
    for (int k = 0; k < st->iterators && !status; k++)
        if (!(status = iterator_share(g, k, share)) && share->bounds)
            status = add_share(g, share);
    for (int i = g->prefix; i < st->loops && !status; i++)
        if (g->f->coefficient[st->loop[i]->id] && !g->taken[st->loop[i]->id] &&
            !(status = loop_share(g, st->loop[i], share)))
            status = add_share(g, share);
    if (!status && !g->part->bounds) {
        g->part->bounds = 1;
        g->part->bound[0].upper = uk_index_int(g->s->arena, 1);
        status = g->part->bound[0].upper ? UK_OK : uk_out_of_memory(g->s->context);
    }
    return status;
}

/* Covers the whole dimension for indices that no loop bounds, but the tensor's shape does. */
static void use_whole_dimension(struct uk_part *p, struct uk_index *extent) {
    memset(p, 0, sizeof *p);
    p->is_whole = true;
    p->bounds = 1;
    p->bound[0].upper = extent;
}

static bool moves(const struct uk_affine *f, const struct uk_stage *st, int prefix) {
    for (int i = 0; i < prefix; i++)
        if (f->coefficient[st->loop[i]->id])
            return true;
    return false;
}

const struct uk_stage *uk_stage_without_guards(struct uk_schedule *s, const struct uk_stage *st) {
    struct uk_stage *all = NULL;

    for (int b = 0; b < st->bounds && !all; b++)
        if (st->bound[b].is_guard && !(all = uk_alloc(s->arena, sizeof *all)))
            return NULL;
    if (!all)
        return st;
    *all = *st;
    all->bounds = 0;
    for (int b = 0; b < st->bounds; b++)
        if (!st->bound[b].is_guard)
            all->bound[all->bounds++] = st->bound[b];
    return all;
}

bool uk_affine_equal(const struct uk_affine *a, const struct uk_affine *b) {
    struct uk_poly none = {0}, x = a->rest ? uk_poly_of(a->rest) : none,
                   y = b->rest ? uk_poly_of(b->rest) : none;

    if (a->general || b->general)
        return a->general && b->general && uk_index_equal(a->general, b->general);
    return !memcmp(a->coefficient, b->coefficient, sizeof a->coefficient) && uk_poly_equal(&x, &y);
}

static bool constant_difference(const struct uk_index *a, const struct uk_index *b, int64_t *difference) {
    struct uk_poly none = {0}, x = a ? uk_poly_of(a) : none, y = b ? uk_poly_of(b) : none;

    y = uk_poly_add(y, &x, -1);
    return y.terms >= 0 && uk_poly_is_int(&y, difference);
}

/* Adds the bound offset + x < extent, unless it is there already. */
static enum uk_status add_edge(struct uk_schedule *s, struct uk_part *p, struct uk_index *extent) {
    struct uk_bound b = {.form = p->offset, .upper = extent};
    int64_t n;

    if (p->offset.rest)
        b.upper = uk_index_op(s->arena, UK_I_SUB, extent, p->offset.rest);
    b.form.rest = NULL;
    if (!b.upper)
        return uk_out_of_memory(s->context);
    for (int i = 0; i < p->bounds; i++)
        if (uk_affine_equal(&p->bound[i].form, &b.form) &&
            constant_difference(p->bound[i].upper, b.upper, &n) && n == 0)
            return UK_OK;
    p->bound[p->bounds++] = b;
    return UK_OK;
}

enum uk_status uk_region_of(struct uk_schedule *s, const struct uk_stage *stage, const struct uk_operand *o,
                            int prefix, struct uk_region *out, const char **why) {
    const struct uk_stage *st = uk_stage_without_guards(s, stage);

    if (!st)
        return uk_out_of_memory(s->context);
    memset(out, 0, sizeof *out);
    out->prefix = prefix;
    out->dims = o->tensor->dims;
    if (o->tensor->layout) {
        *why = "the tensor has a layout of its own; state none and pack it into this one, or use it as it is";
        return UK_NO_MATCH;
    }
    for (int d = 0; d < out->dims; d++) {
        struct finding g = {
            .s = s, .st = st, .prefix = prefix, .f = &o->index[d], .part = &out->part[d], .why = why};
        enum uk_status status =
            g.f->general ? no(&g, "an index of the tensor is not a sum of loops") : part_of(&g);

        /* After a change of view the shape does not bound the indices. */
        bool bounded = o->pad == UK_PAD_NONE && !stage->inside;
        if (status == UK_NO_MATCH && bounded && *why != coarse_inside && !moves(g.f, st, prefix)) {
            use_whole_dimension(&out->part[d], o->tensor->shape[d]);
            status = UK_OK;
        } else if (!status && g.is_loose && bounded) {
            status = out->part[d].bounds < UK_MAX_PART_BOUNDS
                         ? add_edge(s, &out->part[d], o->tensor->shape[d])
                         : no(&g, "the loops that make up an index have too many bounds; split less");
        }
        if (status)
            return status;
    }
    return UK_OK;
}

/* ---- several accesses ---- */

bool uk_part_equal(const struct uk_part *a, const struct uk_part *b) {
    bool same = uk_affine_equal(&a->offset, &b->offset) && a->bounds == b->bounds;

    for (int i = 0; i < a->bounds && same; i++) {
        bool found = false;
        int64_t n;

        for (int j = 0; j < b->bounds; j++)
            found |= uk_affine_equal(&a->bound[i].form, &b->bound[j].form) &&
                     constant_difference(a->bound[i].upper, b->bound[j].upper, &n) && n == 0;
        same = found;
    }
    return same;
}

/* Keeps the bounds whose forms both parts have, with the larger upper; `by` is the shift of the other's x. */
static bool join_bounds(struct uk_schedule *s, struct uk_part *to, const struct uk_part *other, int64_t by) {
    int kept = 0;

    for (int i = 0; i < to->bounds; i++) {
        bool found = false;
        int64_t n, raise = 0;

        for (int j = 0; j < other->bounds; j++)
            if (uk_affine_equal(&to->bound[i].form, &other->bound[j].form) &&
                constant_difference(to->bound[i].upper, other->bound[j].upper, &n)) {
                raise = !found || n + by < raise ? n + by : raise;
                found = true;
            }
        if (!found)
            continue;
        to->bound[kept] = to->bound[i];
        if (raise > 0)
            to->bound[kept].upper = plus(s, to->bound[kept].upper, raise);
        kept++;
    }
    bool all = kept == to->bounds && kept == other->bounds;
    to->bounds = kept;
    return all;
}

static enum uk_status join_part(struct uk_schedule *s, struct uk_part *to, const struct uk_part *other,
                                struct uk_index *extent, const char **why) {
    struct uk_affine none = {0}, a = to->offset, b = other->offset;
    int64_t by;

    a.rest = b.rest = NULL;
    if (!uk_affine_equal(&a, &b) || !constant_difference(to->offset.rest, other->offset.rest, &by)) {
        *why = "its accesses are not a constant distance apart";
        if (!extent || !uk_affine_equal(&a, &none) || !uk_affine_equal(&b, &none))
            return UK_NO_MATCH;
        use_whole_dimension(to, extent);
        return UK_OK;
    }
    for (int i = 0; i < to->bounds && by < 0; i++)
        to->bound[i].upper = plus(s, to->bound[i].upper, -by);
    if (by < 0)
        to->offset = other->offset;
    bool all = join_bounds(s, to, other, by > 0 ? by : 0);
    for (int i = 0; i < to->bounds; i++)
        if (!to->bound[i].upper)
            return uk_out_of_memory(s->context);
    if (all)
        return UK_OK;
    *why = "its accesses have different bounds";
    if (!extent)
        return to->bounds ? UK_OK : UK_NO_MATCH;
    return to->bounds < UK_MAX_PART_BOUNDS ? add_edge(s, to, extent) : UK_NO_MATCH;
}

enum uk_status uk_region_join(struct uk_schedule *s, struct uk_region *to, const struct uk_region *other,
                              struct uk_index *const *shape, const char **why) {
    enum uk_status status = UK_OK;

    for (int d = 0; d < to->dims && !status; d++)
        status = join_part(s, &to->part[d], &other->part[d], shape ? shape[d] : NULL, why);
    return status;
}

/* ---- properties of a region ---- */

struct uk_index *uk_part_position(struct uk_schedule *s, const struct uk_stage *st,
                                  const struct uk_part *part, const struct uk_affine *f) {
    struct uk_arena *a = s->arena;
    struct uk_index *x = f->general;
    int64_t apart;

    if (x)
        return x; /* is_whole: positions are the indices */
    if (!constant_difference(part->offset.rest, f->rest, &apart)) {
        x = f->rest;
        if (part->offset.rest)
            x = uk_index_op(a, UK_I_SUB, x ? x : uk_index_int(a, 0), part->offset.rest);
        apart = 0;
    } else {
        x = uk_index_int(a, 0);
    }
    for (int i = 0; i < st->loops; i++) {
        const struct uk_loop *l = st->loop[i];
        int64_t c = f->coefficient[l->id] - part->offset.coefficient[l->id];

        if (c)
            x = uk_index_op(a, UK_I_ADD, x,
                            uk_index_op(a, UK_I_MUL, uk_index_int(a, c), uk_index_var(a, l->var)));
    }
    return plus(s, x, apart);
}
