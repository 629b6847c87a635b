/* SPDX-License-Identifier: Apache-2.0 */
/* One point of a stage's outer loops in the loop IR: kernel calls, or the statement in plain loops. */
#include <string.h>
#include "lower.h"

struct uk_node *uk_lower_node(struct uk_schedule *s, enum uk_node_op op, const struct uk_stage *st) {
    struct uk_node *n = uk_alloc(s->arena, sizeof *n);

    if (n)
        *n = (struct uk_node){.op = op, .stage = st->name};
    else
        uk_out_of_memory(s->context);
    return n;
}

static bool access_at(struct uk_schedule *s, const struct uk_stage *st, const struct uk_operand *o,
                      struct uk_index *const *value, struct uk_access *out) {
    *out = (struct uk_access){.tensor = o->tensor};
    for (int d = 0; d < o->tensor->stored_dims; d++)
        if (!(out->index[d] = uk_affine_value(s, st, &o->index[d], value)))
            return uk_out_of_memory(s->context), false;
    return true;
}

/* ---- the statement ---- */

/* True if the expression itself tests whether the element of a pad exists. */
static bool tests_existence(const struct uk_stage *st, const struct uk_expr *pad) {
    for (int o = 1; o < st->operands; o++)
        if (st->operand[o].expr == pad->arg[0])
            return st->operand[o].pad == UK_PAD_VALUE;
    return true;
}

static struct uk_expr *expression_at(struct uk_schedule *s, const struct uk_stage *st,
                                     const struct uk_expr *e, struct uk_index *const *value) {
    struct uk_expr *r = uk_alloc(s->arena, sizeof *r);
    struct uk_affine f;

    if (e->op == UK_E_PAD && !tests_existence(st, e))
        return expression_at(s, st, e->arg[0], value);
    if (!r) {
        uk_out_of_memory(s->context);
        return NULL;
    }
    *r = *e;
    if (e->op == UK_E_ACCESS) {
        for (int o = 1; o < st->operands; o++)
            if (st->operand[o].expr == e && st->operand[o].tensor->im2col)
                return uk_lower_im2col(s, st, &st->operand[o], value);
            else if (st->operand[o].expr == e)
                return access_at(s, st, &st->operand[o], value, &r->access) ? r : NULL;
        return NULL;
    }
    if (e->op == UK_E_INDEX) {
        if (uk_affine_of(s, st, e->index, &f))
            return NULL;
        r->index = uk_affine_value(s, st, &f, value);
        return r->index ? r : NULL;
    }
    for (int i = 0; i < 3; i++)
        if (e->arg[i] && !(r->arg[i] = expression_at(s, st, e->arg[i], value)))
            return NULL;
    return r;
}

static enum uk_assign assignment(const struct uk_stage *st) {
    static const enum uk_assign of[] = {
        [UK_REDUCE_NONE] = UK_ASSIGN,          [UK_REDUCE_SUM] = UK_ASSIGN_ADD,
        [UK_REDUCE_PROD] = UK_ASSIGN_MULTIPLY, [UK_REDUCE_MAX] = UK_ASSIGN_MAX,
        [UK_REDUCE_MIN] = UK_ASSIGN_MIN,
    };

    return st->statement->assign == UK_ASSIGN ? of[st->statement->reduce] : st->statement->assign;
}

struct uk_node *uk_lower_store(struct uk_schedule *s, const struct uk_stage *st, const struct uk_expr *e,
                               struct uk_index *const *value) {
    struct uk_node *n = uk_lower_node(s, UK_N_STORE, st);

    if (!n || !access_at(s, st, &st->operand[0], value, &n->target))
        return NULL;
    n->assign = assignment(st);
    n->any_order = st->statement->reduce != UK_REDUCE_NONE;
    n->expr = expression_at(s, st, e, value);
    return n->expr ? n : NULL;
}

struct uk_node *uk_lower_if(struct uk_schedule *s, const struct uk_stage *st, struct uk_index *condition,
                            struct uk_node *body, struct uk_node *other) {
    struct uk_node *n = uk_lower_node(s, UK_N_IF, st);

    if (!n || !condition || !body)
        return NULL;
    n->condition = condition;
    n->body = body;
    n->other = other;
    return n;
}

/* A relation over the stage's iterators at one instance. */
static struct uk_index *relation_at(struct uk_schedule *s, const struct uk_stage *st,
                                    const struct uk_index *r, struct uk_index *const *value) {
    struct uk_affine a, b;

    if (r->op == UK_I_AND)
        return uk_index_op(s->arena, UK_I_AND, relation_at(s, st, r->a, value),
                           relation_at(s, st, r->b, value));
    if (uk_affine_of(s, st, r->a, &a) || uk_affine_of(s, st, r->b, &b))
        return NULL;
    struct uk_index *left = uk_affine_value(s, st, &a, value);
    return uk_index_op(s->arena, r->op, left, uk_affine_value(s, st, &b, value));
}

/* The condition of an instance beyond its bounds: relations of a `where` that are not bounds; in a scan,
 * every instance of which stores, whether the elements under pads exist. */
static struct uk_index *adds_at(struct uk_schedule *s, const struct uk_stage *st,
                                struct uk_index *const *value) {
    struct uk_arena *a = s->arena;
    struct uk_index *all =
        st->is_filtered ? relation_at(s, st, st->statement->where, value) : uk_index_int(a, 1);

    for (int o = 1; o < st->operands && st->previous; o++)
        for (int d = 0; st->operand[o].pad == UK_PAD_GUARD && d < st->operand[o].tensor->dims; d++) {
            struct uk_index *x = uk_affine_value(s, st, &st->operand[o].index[d], value);
            struct uk_index *low = uk_index_op(a, UK_I_GE, x, uk_index_int(a, 0));
            struct uk_index *high = uk_index_op(a, UK_I_LT, x, st->operand[o].tensor->shape[d]);

            all = uk_index_op(a, UK_I_AND, all, uk_index_op(a, UK_I_AND, low, high));
        }
    return all;
}

/* Stores the previous element, or the identity at the beginning; the term is added afterwards. */
static struct uk_node *begin_scan(struct uk_schedule *s, const struct uk_stage *st,
                                  struct uk_index *const *value) {
    struct uk_node *first = uk_lower_store(s, st, uk_identity(s, st), value),
                   *next = uk_lower_store(s, st, st->previous, value);
    struct uk_index *i = uk_affine_value(s, st, &st->iterator[st->scanned], value);

    if (!first || !next)
        return NULL;
    first->assign = next->assign = UK_ASSIGN;
    return uk_lower_if(s, st, uk_index_op(s->arena, UK_I_EQ, i, uk_index_int(s->arena, 0)), first, next);
}

struct uk_node *uk_lower_statement(struct uk_schedule *s, const struct uk_stage *st,
                                   struct uk_index *const *value) {
    int64_t always;

    if (st->is_copy)
        return uk_lower_copy(s, st, value);
    struct uk_node *n = uk_lower_store(s, st, st->statement->right, value);
    struct uk_index *adds = adds_at(s, st, value);
    if (!n || !adds)
        return NULL;
    if (!uk_index_is_int(adds, &always) || !always)
        n = uk_lower_if(s, st, adds, n, NULL);
    if (!st->previous || !n)
        return n;
    struct uk_node *begin = begin_scan(s, st, value);
    if (begin)
        begin->next = n;
    return begin;
}

/* ---- the call ---- */

/* A call in one form; with `full`, the extents are the kernel's maximum, as constants. */
static struct uk_node *call_form(struct uk_schedule *s, const struct uk_stage *st, enum uk_form_kind form,
                                 struct uk_index *const *value, bool full) {
    const struct uk_match *m = st->match;
    struct uk_node *n = uk_lower_node(s, UK_N_CALL, st);
    /* origin of the tile; guards may move it */
    struct uk_index *origin[UK_MAX_LOOPS];

    if (!n)
        return NULL;
    n->intrinsic = m->intrinsic;
    n->form = form;
    n->operand = uk_alloc(s->arena, sizeof *n->operand * (size_t)m->tensors);
    n->bind = uk_alloc(s->arena, sizeof(struct uk_index *) * (size_t)(m->sizes + 1));
    n->scalar = uk_alloc(s->arena, sizeof(struct uk_expr *) * (size_t)(m->scalars + 1));
    if (!n->operand || !n->bind || !n->scalar)
        return uk_out_of_memory(s->context), NULL;
    memcpy(origin, value, sizeof origin);
    if (!uk_match_origin(s, st, m, origin))
        return NULL;
    for (int t = 0; t < m->tensors; t++)
        if (!access_at(s, st, m->at ? &m->at[t] : &st->operand[m->operand[t]], origin, &n->operand[t]) ||
            !uk_match_enter_image(s, st, m->operand[t], &n->operand[t]))
            return NULL;
    for (int i = 0; i < m->sizes; i++) {
        int64_t max_extent = m->size[i].role == UK_SIZE_EXTENT ? m->max_extent[m->size[i].axis] : 0;

        if (!(n->bind[i] = uk_match_size(s, st, m, i, value)))
            return uk_out_of_memory(s->context), NULL;
        if (full && max_extent && !uk_index_is_int(n->bind[i], NULL))
            n->bind[i] = uk_index_int(s->arena, max_extent);
    }
    for (int i = 0; i < m->scalars; i++)
        if (!(n->scalar[i] = expression_at(s, st, m->scalar[i], value)))
            return NULL;
    return uk_lower_hint(s, st, value, n) ? n : NULL;
}

/* The condition that all outer loops of the sum are at 0. */
static struct uk_index *is_first(struct uk_schedule *s, const struct uk_stage *st,
                                 struct uk_index *const *value) {
    struct uk_index *all = uk_index_int(s->arena, 1), *zero = uk_index_int(s->arena, 0);

    for (int i = 0; i < st->tile; i++)
        if (uk_is_reduced(st, st->loop[i]))
            all = uk_index_op(s->arena, UK_I_AND, all,
                              uk_index_op(s->arena, UK_I_EQ, value[st->loop[i]->id], zero));
    return all;
}

/* Begins the sums: compute, or reset and update if the kernel has no compute. */
static struct uk_node *begin(struct uk_schedule *s, const struct uk_stage *st, struct uk_index *const *value,
                             bool full) {
    const struct uk_form *f = st->match->intrinsic->form;

    if (f[UK_FORM_COMPUTE].is_declared)
        return call_form(s, st, UK_FORM_COMPUTE, value, full);
    struct uk_node *reset = call_form(s, st, UK_FORM_RESET, value, full);
    if (reset)
        reset->next = call_form(s, st, UK_FORM_UPDATE, value, full);
    return reset && reset->next ? reset : NULL;
}

/* one: pass the form to a single call if both forms occur, because a copy of the kernel's code for each is
 * not worth it. */
static struct uk_node *call(struct uk_schedule *s, const struct uk_stage *st, struct uk_index *const *value,
                            bool full, bool one) {
    int64_t always;

    if (st->match->intrinsic->computes->reduce == UK_REDUCE_NONE)
        return call_form(s, st, UK_FORM_COMPUTE, value, full);
    if (!st->match->begins_sums)
        return call_form(s, st, UK_FORM_UPDATE, value, full);
    struct uk_index *first = is_first(s, st, value);
    if (!first)
        return uk_out_of_memory(s->context), NULL;
    if (uk_index_is_int(first, &always))
        return always ? begin(s, st, value, full) : call_form(s, st, UK_FORM_UPDATE, value, full);
    struct uk_node *n = uk_lower_node(s, UK_N_IF, st);
    if (!n)
        return NULL;
    n->condition = first;
    n->body = begin(s, st, value, full);
    n->other = call_form(s, st, UK_FORM_UPDATE, value, full);
    n->is_form = one && n->body && !n->body->next;
    return n->body && n->other ? n : NULL;
}

/* Plain loops instead of a kernel that begins the sum initialize it themselves. */
static struct uk_node *plain_tile(struct uk_schedule *s, struct uk_stage *st, struct uk_index **value) {
    struct uk_node *body = uk_lower_plain(s, st, st->tile, value);

    if (!body || !st->match->begins_sums)
        return body;
    struct uk_node *guard = uk_lower_node(s, UK_N_IF, st);
    if (!guard)
        return NULL;
    struct uk_stage *reset = uk_reset_stage(s, st);
    if (!reset)
        return NULL;
    guard->condition = is_first(s, st, value);
    guard->body = uk_lower_plain(s, reset, reset->tile, value);
    guard->next = body;
    return guard->condition && guard->body ? guard : NULL;
}

/* True for a bound on a loop of a sum that the stage follows, which runs once for an empty sum too. */
static bool is_of_sum_before(const struct uk_stage *st, const struct uk_bound *b) {
    for (int i = 0; i < st->prefix; i++) {
        const struct uk_loop *l = st->loop[i];
        const struct uk_stage *child = st;

        if (!b->form.coefficient[l->id] || !uk_is_reduced(l->stage, l))
            continue;
        while (child->parent && child->parent != l->stage)
            child = child->parent;
        if (child->after)
            return true;
    }
    return false;
}

/* True if the bound also limits an extent of the tile: with an extent of 0 the call does nothing. */
static bool is_in_extent(const struct uk_stage *st, const struct uk_bound *b) {
    for (int o = 0; o < st->bounds; o++) {
        const struct uk_bound *other = &st->bound[o];
        bool inner = false, same = uk_index_equal(b->upper, other->upper);

        for (int i = 0; i < st->loops; i++) {
            int id = st->loop[i]->id;

            if (i < st->tile)
                same &= b->form.coefficient[id] == other->form.coefficient[id];
            else
                inner |= other->form.coefficient[id] > 0;
        }
        if (same && inner)
            return true;
    }
    return false;
}

/* True for a bound on a loop of a sum, or on a copy's own loop, which may be that of a sum of its reader. */
static bool is_of_sum(const struct uk_stage *st, const struct uk_bound *b) {
    for (int i = 0; i < st->loops; i++)
        if (b->form.coefficient[st->loop[i]->id] &&
            (uk_is_reduced(st->loop[i]->stage, st->loop[i]) || (st->is_copy && i >= st->prefix)))
            return true;
    return false;
}

/* In a nest with sizes that count as at least 1: the condition that this point exists when they are 0. NULL:
 * it always does, or the extents of the call show it. */
static struct uk_index *exists(struct uk_schedule *s, const struct uk_stage *st, struct uk_index **value) {
    bool by_extent = st->match && (st->is_copy || st->match->begins_sums);
    struct uk_index *all = NULL;

    for (int b = 0; b < st->bounds; b++) {
        bool raised = false;

        for (int i = 0; i < s->raised; i++)
            raised |= uk_mentions(st->bound[b].upper, s->raised_size[i]);
        if (!raised || is_of_sum_before(st, &st->bound[b]) ||
            (by_extent && (!is_of_sum(st, &st->bound[b]) || is_in_extent(st, &st->bound[b]))))
            continue;
        struct uk_index *x = uk_affine_value(s, st, &st->bound[b].form, value);

        x = uk_index_op(s->arena, UK_I_LT, x, st->bound[b].upper);
        all = all ? uk_index_op(s->arena, UK_I_AND, all, x) : x;
    }
    return all;
}

/* For an empty sum only the stages that initialize or follow it run. */
static struct uk_node *guard_bounds(struct uk_schedule *s, const struct uk_stage *st, struct uk_index **value,
                                    struct uk_node *body) {
    struct uk_index *all = body ? exists(s, st, value) : NULL;
    struct uk_node *empty = NULL;

    if (!all)
        return body;
    if (st->match && st->match->begins_sums && !st->is_copy) {
        struct uk_stage *reset = uk_reset_stage(s, st);

        if (!reset || !(empty = uk_lower_plain(s, reset, reset->tile, value)))
            return NULL;
    }
    return uk_lower_if(s, st, all, body, empty);
}

/* Skips a tile of which guards leave nothing. */
static struct uk_node *guard_tile(struct uk_schedule *s, const struct uk_stage *st, struct uk_index **value,
                                  struct uk_node *body) {
    bool asked[UK_MAX_LOOPS] = {false};
    struct uk_index *all = NULL;
    int64_t always;

    for (int b = 0; b < st->bounds; b++) {
        const struct uk_bound *bound = &st->bound[b];
        const struct uk_loop *axis = NULL;
        struct uk_index *some, *x;

        for (int i = st->tile; i < st->loops; i++)
            axis = bound->form.coefficient[st->loop[i]->id] ? st->loop[i] : axis;
        if (!bound->is_guard || bound->in_kernel || (axis && asked[axis->id]))
            continue;
        if (axis)
            asked[axis->id] = true;
        x = axis ? uk_loop_begin(s, st, axis, value) : uk_affine_value(s, st, &bound->form, value);
        some = uk_index_op(s->arena, UK_I_LT, x, axis ? uk_loop_end(s, st, axis, value) : bound->upper);
        all = all ? uk_index_op(s->arena, UK_I_AND, all, some) : some;
    }
    return all && !(uk_index_is_int(all, &always) && always) ? uk_lower_if(s, st, all, body, NULL) : body;
}

/* True for compiled kernels: full tiles get a call of their own with constant extents, which inlines without
 * code for edges and with a fixed destination of the sums. Assembly is the same for both and tests the
 * extents itself. For copies a second call does not pay. */
static bool wants_full_call(const struct uk_stage *st) {
    const struct uk_kernel *row = st->match->intrinsic->row;

    return !st->is_copy &&
           !(row && (!strncmp(uk_kernel_impl(row), "asm", 3) || !strcmp(uk_kernel_impl(row), "peachpy")));
}

static struct uk_index *conjoin(struct uk_schedule *s, struct uk_index *all, struct uk_index *x) {
    return all ? uk_index_op(s->arena, UK_I_AND, all, x) : x;
}

static struct uk_node *calls(struct uk_schedule *s, const struct uk_stage *st,
                             struct uk_index *const *value) {
    struct uk_index *full = NULL;

    for (int v = 0; v < st->match->axes && wants_full_call(st); v++) {
        struct uk_index *e = st->match->axis[v] ? uk_tile_extent(s, st, st->match->axis[v], value) : NULL;

        if (!st->match->max_extent[v] || st->match->fixed_extent[v] || !e || uk_index_is_int(e, NULL))
            continue;
        full = conjoin(s, full,
                       uk_index_op(s->arena, UK_I_EQ, e, uk_index_int(s->arena, st->match->max_extent[v])));
    }
    if (!full)
        return call(s, st, value, false, !wants_full_call(st));
    struct uk_node *other = call(s, st, value, false, true);
    return other ? uk_lower_if(s, st, full, call(s, st, value, true, false), other) : NULL;
}

/* Tiles without the extents that the kernel requires run as plain loops. */
static struct uk_node *fixed_calls(struct uk_schedule *s, struct uk_stage *st, struct uk_index **value) {
    struct uk_node *kernel = calls(s, st, value), *plain;
    struct uk_index *full = NULL;

    for (int v = 0; v < st->match->axes; v++) {
        if (!st->match->fixed_extent[v] || st->match->has_fixed_extent[v])
            continue;
        struct uk_index *e = uk_tile_extent(s, st, st->match->axis[v], value);

        full = conjoin(s, full,
                       uk_index_op(s->arena, UK_I_EQ, e, uk_index_int(s->arena, st->match->fixed_extent[v])));
    }
    if (!kernel || !full)
        return kernel;
    plain = plain_tile(s, st, value);
    return plain ? uk_lower_if(s, st, full, kernel, plain) : NULL;
}

/* The first tiles of a panel are computed by the kernel that also packs it. */
static struct uk_node *packing_calls(struct uk_schedule *s, struct uk_stage *st, struct uk_index **value,
                                     struct uk_node *other) {
    struct uk_index *first = uk_index_int(s->arena, 1), *zero = uk_index_int(s->arena, 0);
    struct uk_match *own = st->match;
    int64_t always;

    for (int i = 0; i < st->packing->loops; i++)
        first = uk_index_op(s->arena, UK_I_AND, first,
                            uk_index_op(s->arena, UK_I_EQ, value[st->packing->loop[i]->id], zero));
    st->match = st->packing->match;
    struct uk_node *body = calls(s, st, value);
    st->match = own;
    if (first && uk_index_is_int(first, &always))
        return always ? body : other;
    return uk_lower_if(s, st, first, body, other);
}

/* Tiles of few columns are computed by the kernel for them. */
static struct uk_node *tail_calls(struct uk_schedule *s, struct uk_stage *st, struct uk_index **value,
                                  struct uk_node *other) {
    struct uk_match *own = st->match, tail = *own;
    struct uk_index *columns = uk_tile_extent(s, st, own->axis[st->tail->axis], value), *few;
    int64_t always;

    tail.intrinsic = st->tail->intrinsic;
    tail.max_extent[st->tail->axis] = st->tail->max_columns;
    few = columns ? uk_index_op(s->arena, UK_I_LT, columns, uk_index_int(s->arena, st->tail->max_columns + 1))
                  : NULL;
    st->match = &tail;
    struct uk_node *body = calls(s, st, value);
    st->match = own;
    if (!few || !body)
        return uk_out_of_memory(s->context), NULL;
    if (uk_index_is_int(few, &always))
        return always ? body : other;
    return uk_lower_if(s, st, few, body, other);
}

struct uk_node *uk_lower_leaf(struct uk_schedule *s, struct uk_stage *st, struct uk_index **value) {
    if (uk_is_empty(st))
        return uk_lower_if(s, st, uk_index_int(s->arena, 0), uk_lower_plain(s, st, st->tile, value), NULL);
    if (!st->match)
        return guard_bounds(s, st, value, uk_lower_versions(s, st, value));
    struct uk_node *n = fixed_calls(s, st, value);

    if (n && st->packing)
        n = packing_calls(s, st, value, n);
    if (n && st->tail)
        n = tail_calls(s, st, value, n);
    if (!n)
        return NULL;
    return guard_bounds(s, st, value, guard_tile(s, st, value, n));
}
