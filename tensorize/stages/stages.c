/* SPDX-License-Identifier: Apache-2.0 */
/* Creates stages from statements: loops, operands, and the guards from pad and where. */
#include <string.h>
#include "stages.h"

_Static_assert(UK_MAX_LOOPS == 64, "a uint64_t has a bit for every id");

static uint64_t ids_of(struct uk_loop *const *loop, int n) {
    uint64_t ids = 0;

    for (int i = 0; i < n; i++)
        ids |= (uint64_t)1 << loop[i]->id;
    return ids;
}

struct uk_loop *uk_loop_create(struct uk_schedule *s, struct uk_stage *st, const char *name, int iterator) {
    struct uk_loop *l = uk_alloc(s->arena, sizeof *l);
    struct uk_var *v = uk_alloc(s->arena, sizeof *v);

    if (!l || !v) {
        uk_out_of_memory(s->context);
        return NULL;
    }
    if (s->all_loops == UK_MAX_ALL_LOOPS) {
        uk_fail(s->context, UK_REFUSED, st->statement->at,
                "the schedule makes more than %d loops; split less, or make two programs of it",
                UK_MAX_ALL_LOOPS);
        return NULL;
    }
    if (!st->kept_ids && uk_name_add(s, name)) /* the matcher's views have no entries in the table */
        return NULL;
    const uint64_t used = st->kept_ids | ids_of(st->loop, st->loops);
    if (!~used) {
        uk_fail(s->context, UK_REFUSED, st->statement->at,
                "stage %s has more than %d loops, with those that it is attached inside; split less",
                st->name, UK_MAX_LOOPS);
        return NULL;
    }
    *v = (struct uk_var){.name = name, .kind = UK_VAR_LOOP, .number = s->all_loops++};
    *l = (struct uk_loop){.id = __builtin_ctzll(~used), .var = v, .iterator = iterator, .stage = st};
    return l;
}

bool uk_loop_divide(struct uk_schedule *s, struct uk_stage *st, int position, const char *outer,
                    const char *inner) {
    struct uk_loop *l = st->loop[position], **at = &st->loop[position];
    const size_t from_here = sizeof *at * (size_t)(st->loops - position);
    struct uk_loop *first = uk_loop_create(s, st, outer, l->iterator), *second;

    if (!first)
        return false;
    memmove(at + 1, at, from_here);
    at[0] = at[1] = first; /* frees the id of the divided loop for `second` */
    st->loops++;
    second = uk_loop_create(s, st, inner, l->iterator);
    if (second) {
        at[1] = second;
        return true;
    }
    memmove(at, at + 1, from_here);
    st->loops--;
    return false;
}

static void renumber(struct uk_affine *f, const int *id) {
    int64_t c[UK_MAX_LOOPS];

    memcpy(c, f->coefficient, sizeof c);
    memset(f->coefficient, 0, sizeof c);
    for (int l = 0; l < UK_MAX_LOOPS; l++)
        if (c[l])
            f->coefficient[id[l]] = c[l];
}

void uk_separate_loop_ids(struct uk_stage *st, struct uk_loop *const *other, int n) {
    const uint64_t others = ids_of(other, n);
    uint64_t used = others | ids_of(st->loop, st->loops);
    int id[UK_MAX_LOOPS];

    for (int i = 0; i < UK_MAX_LOOPS; i++)
        id[i] = i;
    for (int i = 0; i < st->loops; i++) {
        struct uk_loop *l = st->loop[i];

        if (!(others >> l->id & 1))
            continue;
        id[l->id] = __builtin_ctzll(~used);
        l->id = id[l->id];
        used |= (uint64_t)1 << l->id;
    }
    for (int i = 0; i < st->iterators; i++)
        renumber(&st->iterator[i], id);
    for (int b = 0; b < st->bounds; b++)
        renumber(&st->bound[b].form, id);
    for (int o = 0; o < st->operands; o++) {
        for (int d = 0; d < st->operand[o].tensor->stored_dims; d++)
            renumber(&st->operand[o].index[d], id);
        for (int b = 0; b < st->operand[o].valid; b++)
            renumber(&st->operand[o].within[b].form, id);
    }
}

enum uk_status uk_count_stage(struct uk_schedule *s, struct uk_stage *st, const char *name,
                              struct uk_position at) {
    if (s->all_stages++ < UK_MAX_STAGES)
        return uk_name_add_stage(s, st, name);
    return uk_fail(
        s->context, UK_REFUSED, at,
        "the schedule makes more than %d stages of the statements and copies; make two programs of it",
        UK_MAX_STAGES);
}

static enum uk_status add_subscripts(struct uk_schedule *s, struct uk_stage *st, const struct uk_access *a);

static enum uk_status add_operand(struct uk_schedule *s, struct uk_stage *st, const struct uk_access *a,
                                  const struct uk_expr *e, enum uk_pad pad) {
    if (st->operands == UK_MAX_OPERANDS)
        return uk_fail(s->context, UK_UNSUPPORTED, a->at,
                       "a statement may have at most %d accesses; split it into several", UK_MAX_OPERANDS);
    struct uk_operand *o = &st->operand[st->operands++];
    *o = (struct uk_operand){.tensor = a->tensor, .expr = e, .pad = pad};
    if (a->tensor->layout && a->tensor->layout->lane)
        return uk_fail(s->context, UK_REFUSED, a->at,
                       "%s is spread over the lanes of a wave, which only GPUs have; leave `lane` out",
                       a->tensor->name);
    if (a->tensor->layout && (pad == UK_PAD_VALUE || (pad && st->statement->scan)))
        return uk_fail(s->context, UK_REFUSED, a->at,
                       "pad of %s, which has a layout, is only computed as a factor of a sum; pad the tensor "
                       "beforehand",
                       a->tensor->name);
    for (int d = 0; d < a->tensor->stored_dims; d++) {
        enum uk_status status = uk_affine_of(s, st, uk_stored_index(s->arena, a, d), &o->index[d]);

        if (status)
            return status;
    }
    return add_subscripts(s, st, a);
}

/* Adds the elements that are subscripts of the access, which are read too. */
static enum uk_status add_subscripts(struct uk_schedule *s, struct uk_stage *st, const struct uk_access *a) {
    enum uk_status status = UK_OK;

    for (int d = 0; d < a->tensor->dims && !status; d++) {
        if (a->index[d]->op != UK_I_ELEMENT)
            continue;
        struct uk_expr *e = uk_alloc(s->arena, sizeof *e);
        const int operand = st->operands;

        if (!e)
            return uk_out_of_memory(s->context);
        if (s->target->arch->is_device) {
            s->is_final = true;
            return uk_fail(
                s->context, UK_UNSUPPORTED, a->index[d]->at,
                "an element of %s is a subscript of %s: it has to be tested before it is used, which "
                "programs for GPUs cannot do; compile it for a CPU",
                a->index[d]->tensor->name, a->tensor->name);
        }
        *e = (struct uk_expr){.op = UK_E_ACCESS,
                              .type = a->index[d]->tensor->type,
                              .access = uk_element_access(a->index[d]),
                              .at = a->index[d]->at,
                              .depth = 1};
        status = add_operand(s, st, &e->access, e, UK_PAD_NONE);
        if (!status)
            st->operand[operand].is_subscript = true;
    }
    return status;
}

/* Adds the guard low < high. */
static enum uk_status add_guard(struct uk_schedule *s, struct uk_stage *st, const struct uk_affine *low,
                                struct uk_index *high, int operand) {
    enum uk_status status = uk_add_bound(s, st, low, high);

    if (!status) {
        st->bound[st->bounds - 1].is_guard = true;
        st->bound[st->bounds - 1].operand = operand;
    }
    return status;
}

/* Adds the guards -index <= 0 and index < extent, unless the index satisfies them by itself, as one that is
 * no sum of loops does. */
static enum uk_status guard_index(struct uk_schedule *s, struct uk_stage *st, const struct uk_index *index,
                                  struct uk_index *extent, int operand) {
    struct uk_affine f, negative;
    int64_t rest = 0;
    enum uk_status status = uk_affine_of(s, st, index, &f);

    if (status || f.general)
        return status;
    for (int i = 0; i < st->statement->iterators; i++)
        if (index->op == UK_I_VAR && index->var == st->statement->iterator[i] &&
            uk_index_equal(st->statement->extent[i], extent))
            return UK_OK;
    bool below = f.rest && (!uk_index_is_int(f.rest, &rest) || rest < 0);
    for (int l = 0; l < UK_MAX_LOOPS; l++)
        below |= f.coefficient[l] < 0;
    if (below) {
        struct uk_index minus = {.op = UK_I_NEG, .a = (struct uk_index *)index, .depth = index->depth + 1};

        if ((status = uk_affine_of(s, st, &minus, &negative)) ||
            (status = add_guard(s, st, &negative, uk_index_int(s->arena, 1), operand)))
            return status;
    }
    return add_guard(s, st, &f, extent, operand);
}

struct interval {
    int64_t low, high;
};

static bool is_small(struct interval v) {
    return v.low >= INT32_MIN && v.high <= INT32_MAX;
}

/* The values of an index for all values of iterators, whose extents are constant. False: not known. */
static bool interval_of(const struct uk_stage *st, const struct uk_index *e, struct interval *v) {
    struct interval a, b;
    int64_t n;

    if (uk_index_is_int(e, &n)) {
        *v = (struct interval){n, n};
        return is_small(*v);
    }
    for (int i = 0; e->op == UK_I_VAR && i < st->statement->iterators; i++)
        if (e->var == st->statement->iterator[i] && uk_index_is_int(st->statement->extent[i], &n)) {
            *v = (struct interval){0, n - 1};
            return n > 0 && is_small(*v);
        }
    if (!e->a || !e->b || !interval_of(st, e->a, &a) || !interval_of(st, e->b, &b))
        return false;
    if (e->op == UK_I_ADD)
        *v = (struct interval){a.low + b.low, a.high + b.high};
    else if (e->op == UK_I_SUB)
        *v = (struct interval){a.low - b.high, a.high - b.low};
    else if (e->op == UK_I_MUL && a.low >= 0 && b.low >= 0)
        *v = (struct interval){a.low * b.low, a.high * b.high};
    else if (e->op == UK_I_DIV && a.low >= 0 && b.low > 0)
        *v = (struct interval){a.low / b.high, a.high / b.low};
    else if (e->op == UK_I_MOD && b.low > 0)
        *v = (struct interval){0, b.high - 1};
    else
        return false;
    return is_small(*v);
}

/* True if the index is within a dimension of this extent for all values of iterators. */
static bool is_inside(const struct uk_stage *st, const struct uk_index *index,
                      const struct uk_index *extent) {
    struct interval v;
    int64_t n;

    return uk_index_is_int(extent, &n) && interval_of(st, index, &v) && v.low >= 0 && v.high < n;
}

/* True if the pad leaves out terms: a pad(.., 0) that is a factor of a sum, and each of whose indices is a
 * sum of loops or never outside. */
static bool can_guard(struct uk_schedule *s, const struct uk_stage *st, const struct uk_expr *pad) {
    const struct uk_expr *v = pad->arg[1];
    const struct uk_access *x = &pad->arg[0]->access;
    struct uk_affine f;

    for (int d = 0; d < x->tensor->dims; d++)
        if (uk_affine_of(s, st, x->index[d], &f) ||
            (f.general && !is_inside(st, x->index[d], x->tensor->shape[d])))
            return false;
    return st->statement->reduce == UK_REDUCE_SUM && v->op == UK_E_NUMBER && v->number == 0 &&
           (!v->is_integer || v->integer == 0);
}

/* `factor`: the expression is a factor of a sum's terms. */
static enum uk_status add_operands(struct uk_schedule *s, struct uk_stage *st, const struct uk_expr *e,
                                   bool factor) {
    enum uk_status status = UK_OK;

    if (!e)
        return UK_OK;
    if (e->op == UK_E_ACCESS)
        return add_operand(s, st, &e->access, e, UK_PAD_NONE);
    if (e->op == UK_E_PAD) {
        bool guard = factor && can_guard(s, st, e);
        const struct uk_access *a = &e->arg[0]->access;
        int operand = st->operands;

        status = add_operand(s, st, a, e->arg[0], guard ? UK_PAD_GUARD : UK_PAD_VALUE);
        for (int d = 0; guard && !st->statement->scan && !status && d < a->tensor->dims; d++)
            status = guard_index(s, st, a->index[d], a->tensor->shape[d], operand);
        return status ? status : add_operands(s, st, e->arg[1], false);
    }
    factor = factor && (e->op == UK_E_MUL || e->op == UK_E_CAST);
    for (int i = 0; i < 3 && !status; i++)
        status = add_operands(s, st, e->arg[i], factor);
    return status;
}

enum uk_status uk_add_operands(struct uk_schedule *s, struct uk_stage *st, const struct uk_expr *e) {
    return add_operands(s, st, e, false);
}

/* Adds one relation of a `where` as guards, or sets is_filtered. */
static enum uk_status add_relation(struct uk_schedule *s, struct uk_stage *st, const struct uk_index *r) {
    bool swap = r->op == UK_I_GT || r->op == UK_I_GE, both = r->op == UK_I_EQ;
    bool equal = r->op == UK_I_LE || r->op == UK_I_GE || both;

    for (int turn = 0; turn < 1 + both; turn++, swap = !swap) {
        struct uk_affine f;
        struct uk_index *low = swap ? r->b : r->a, *high = swap ? r->a : r->b;
        struct uk_index *less = uk_index_op(s->arena, UK_I_SUB, low, high);
        enum uk_status status = uk_affine_of(s, st, less, &f);

        if (status)
            return status;
        if (f.general || r->op == UK_I_NE) {
            st->is_filtered = true;
            return UK_OK;
        }
        if ((status = add_guard(s, st, &f, uk_index_int(s->arena, equal), 0)))
            return status;
    }
    return UK_OK;
}

/* True if the relation repeats the range of an iterator, as i < 3. */
static bool is_range(const struct uk_statement *t, const struct uk_index *r) {
    for (int i = 0; i < t->iterators && r->op == UK_I_LT && r->a->op == UK_I_VAR; i++)
        if (r->a->var == t->iterator[i])
            return uk_index_equal(r->b, t->extent[i]);
    return false;
}

static enum uk_status add_where(struct uk_schedule *s, struct uk_stage *st, const struct uk_index *where) {
    if (!where || is_range(st->statement, where))
        return UK_OK;
    if (st->statement->scan) { /* every instance stores, even one that adds nothing */
        st->is_filtered = true;
        return UK_OK;
    }
    if (where->op != UK_I_AND)
        return add_relation(s, st, where);
    enum uk_status status = add_where(s, st, where->a);
    return status ? status : add_where(s, st, where->b);
}

/* Adds the access to the previous element, which a scan reads. */
static enum uk_status add_scan(struct uk_schedule *s, struct uk_stage *st) {
    struct uk_statement *t = st->statement;
    struct uk_expr *e = uk_alloc(s->arena, sizeof *e);

    if (!e)
        return uk_out_of_memory(s->context);
    while (st->scanned < t->left_iterators && t->iterator[st->scanned] != t->reduced_iterator[0])
        st->scanned++;
    *e = (struct uk_expr){.op = UK_E_ACCESS, .type = t->left.tensor->type, .access = t->left, .depth = 1};
    for (int d = 0; d < t->left.tensor->dims; d++)
        if (uk_mentions(t->left.index[d], t->reduced_iterator[0]))
            e->access.index[d] = uk_index_op(s->arena, UK_I_SUB, t->left.index[d], uk_index_int(s->arena, 1));
    st->previous = e;
    return add_operand(s, st, &e->access, e, UK_PAD_NONE);
}

enum uk_status uk_stage_operands(struct uk_schedule *s, struct uk_stage *st) {
    struct uk_statement *t = st->statement;
    enum uk_status status;
    int kept = 0;

    for (int b = 0; b < st->bounds; b++)
        if (!st->bound[b].is_guard)
            st->bound[kept++] = st->bound[b];
    st->bounds = kept;
    st->operands = 0;
    if ((status = add_operand(s, st, &t->left, NULL, UK_PAD_NONE)) ||
        (status = add_operands(s, st, t->right, true)) || (status = add_where(s, st, t->where)))
        return status;
    return t->scan ? add_scan(s, st) : UK_OK;
}

enum uk_status uk_stage_create(struct uk_schedule *s, struct uk_statement *t, struct uk_stage ***end) {
    struct uk_stage *st = uk_alloc(s->arena, sizeof *st);
    enum uk_status status;
    int64_t c;

    if (!st)
        return uk_out_of_memory(s->context);
    if ((status = uk_count_stage(s, st, t->label, t->at)))
        return status;
    st->name = t->label;
    st->statement = t;
    st->source = t;
    st->iterators = t->iterators;
    for (int i = 0; i < t->iterators; i++) {
        struct uk_loop *l = uk_loop_create(s, st, t->iterator[i]->name, i);

        if (!l)
            return uk_failure(s->context);
        st->loop[st->loops++] = l;
        st->iterator[i].coefficient[st->loop[i]->id] = 1;
        st->reduced[i] = i >= t->left_iterators;
        /* An empty sum has one iteration that adds nothing, so that initialization and stores run. */
        bool empty = st->reduced[i] && uk_index_is_int(t->extent[i], &c) && c <= 0;
        if ((status =
                 uk_add_bound(s, st, &st->iterator[i], empty ? uk_index_int(s->arena, 1) : t->extent[i])))
            return status;
    }
    st->tile = st->loops;
    if ((status = uk_stage_operands(s, st)))
        return status;
    **end = st;
    *end = &st->next;
    return UK_OK;
}

static enum uk_status check_scopes(struct uk_schedule *s) {
    static const char *const names[] = {
        [UK_SCOPE_GLOBAL] = "global", [UK_SCOPE_SHARED] = "shared", [UK_SCOPE_REGISTER] = "register"};

    for (const struct uk_tensor *t = s->program->tensors; t; t = t->next)
        if (t->scope != UK_SCOPE_GLOBAL)
            return uk_fail(
                s->context, UK_REFUSED, t->at,
                "%s in %s: the target %s has no memory of that scope, only GPUs have; leave `in %s` out",
                t->name, names[t->scope], s->target->name, names[t->scope]);
    return UK_OK;
}

/* On GPUs a statement without left iterators gets one: every nest needs a loop over blocks. */
static bool add_unit(struct uk_schedule *s, struct uk_statement *t) {
    struct uk_var *v = uk_alloc(s->arena, sizeof *v);
    struct uk_index *extent = uk_index_int(s->arena, 1);
    const char *name = uk_fresh_name(s, "one", "");

    if (!s->target->machine.core.device.threads || t->left_iterators)
        return true;
    if (!v || !extent || !name || uk_name_add(s, name))
        return false;
    *v = (struct uk_var){.name = name, .kind = UK_VAR_ITERATOR, .at = t->at};
    for (int i = t->iterators++; i > 0; i--) {
        t->iterator[i] = t->iterator[i - 1];
        t->extent[i] = t->extent[i - 1];
    }
    t->iterator[0] = v;
    t->extent[0] = extent;
    t->left_iterators = 1;
    return true;
}

enum uk_status uk_stages_create(struct uk_schedule *s) {
    struct uk_stage **end = &s->stages;
    enum uk_status refused = check_scopes(s);

    if (!refused)
        refused = uk_names_begin(s);
    if (refused)
        return refused;
    for (struct uk_statement *t = s->program->statements; t; t = t->next) {
        struct uk_statement *part = uk_statement_parts(s, t);

        if (!part)
            return uk_out_of_memory(s->context);
        for (; part; part = part->next) {
            enum uk_status status =
                add_unit(s, part) ? uk_stage_create(s, part, &end) : uk_failure(s->context);

            if (status)
                return status;
        }
    }
    return UK_OK;
}
