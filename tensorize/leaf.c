/* One point of a stage's outer loops in the loop IR: kernel calls, or the statement itself in plain loops. */
#include <math.h>
#include <string.h>
#include "schedule.h"

static struct uk_node *node_of(struct uk_schedule *s, enum uk_node_op op, const struct uk_stage *st) {
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

static struct uk_expr *expression_at(struct uk_schedule *s, const struct uk_stage *st,
                                     const struct uk_expr *e, struct uk_index *const *value) {
    struct uk_expr *r = uk_alloc(s->arena, sizeof *r);
    struct uk_affine f;

    if (!r) {
        uk_out_of_memory(s->context);
        return NULL;
    }
    *r = *e;
    if (e->op == UK_E_ACCESS) {
        for (int o = 1; o < st->operands; o++)
            if (st->operand[o].expr == e)
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
        [UK_REDUCE_NONE] = UK_ASSIGN,    [UK_REDUCE_SUM] = UK_ASSIGN_ADD, [UK_REDUCE_PROD] = UK_ASSIGN_MUL,
        [UK_REDUCE_MAX] = UK_ASSIGN_MAX, [UK_REDUCE_MIN] = UK_ASSIGN_MIN,
    };

    return st->statement->assign == UK_ASSIGN ? of[st->statement->reduce] : st->statement->assign;
}

static struct uk_node *store(struct uk_schedule *s, const struct uk_stage *st, const struct uk_expr *e,
                             struct uk_index *const *value) {
    struct uk_node *n = node_of(s, UK_N_STORE, st);

    if (!n || !access_at(s, st, &st->operand[0], value, &n->target))
        return NULL;
    n->assign = assignment(st);
    n->expr = expression_at(s, st, e, value);
    return n->expr ? n : NULL;
}

/* A pad is the whole right side of a copy: outside the bounds, its other value is stored. */
static struct uk_node *statement_at(struct uk_schedule *s, const struct uk_stage *st,
                                    struct uk_index *const *value) {
    const struct uk_expr *e = st->statement->right;
    struct uk_index *inside = NULL;

    if (e->op != UK_E_PAD)
        return store(s, st, e, value);
    for (int o = 1; o < st->operands; o++)
        for (int b = 0; st->operand[o].expr == e->arg[0] && b < st->operand[o].valid; b++) {
            const struct uk_bound *within = &st->operand[o].within[b];
            struct uk_index *x = uk_affine_value(s, st, &within->form, value);

            x = uk_index_op(s->arena, UK_I_LT, x, within->upper);
            inside = inside ? uk_index_op(s->arena, UK_I_AND, inside, x) : x;
        }
    struct uk_node *n = node_of(s, UK_N_IF, st);
    if (!n || !inside)
        return NULL;
    n->condition = inside;
    n->body = store(s, st, e->arg[0], value);
    n->other = store(s, st, e->arg[1], value);
    return n->body && n->other ? n : NULL;
}

/* The loops from `position` on, in their order. */
static struct uk_node *plain_loops(struct uk_schedule *s, const struct uk_stage *st, int position,
                                   struct uk_index **value) {
    if (position == st->loops)
        return statement_at(s, st, value);
    const struct uk_loop *l = st->loop[position];
    struct uk_node *n = node_of(s, UK_N_FOR, st);

    if (!n)
        return NULL;
    n->var = uk_alloc(s->arena, sizeof *n->var);
    n->step = 1;
    n->loop = l->kind == UK_LOOP_PARALLEL ? UK_LOOP_SERIAL : l->kind;
    n->lower = uk_index_int(s->arena, 0);
    n->upper = uk_extent(s, st, l, value);
    if (!n->var || !n->lower || !n->upper)
        return uk_out_of_memory(s->context), NULL;
    *n->var = (struct uk_var){.name = l->var->name, .kind = UK_VAR_LOOP};
    value[l->id] = uk_index_var(s->arena, n->var);
    n->body = plain_loops(s, st, position + 1, value);
    value[l->id] = NULL;
    return n->body ? n : NULL;
}

/* ---- the call ---- */

/* With `full`, the extents are the kernel's largest, as constants. */
static struct uk_node *call_form(struct uk_schedule *s, const struct uk_stage *st, enum uk_form_kind form,
                                 struct uk_index *const *value, bool full) {
    const struct uk_match *m = st->match;
    struct uk_node *n = node_of(s, UK_N_CALL, st);

    if (!n)
        return NULL;
    n->intrinsic = m->intrinsic;
    n->form = form;
    n->operand = uk_alloc(s->arena, sizeof *n->operand * (size_t)m->tensors);
    n->bind = uk_alloc(s->arena, sizeof(struct uk_index *) * (size_t)(m->sizes + 1));
    if (!n->operand || !n->bind)
        return uk_out_of_memory(s->context), NULL;
    for (int t = 0; t < m->tensors; t++)
        if (!access_at(s, st, &st->operand[m->operand[t]], value, &n->operand[t]))
            return NULL;
    for (int i = 0; i < m->sizes; i++) {
        int64_t most = m->size[i].role == UK_SIZE_EXTENT ? m->most[m->size[i].axis] : 0;

        n->bind[i] = full && most ? uk_index_int(s->arena, most) : uk_match_size(s, st, m, i, value);
        if (!n->bind[i])
            return uk_out_of_memory(s->context), NULL;
    }
    return n;
}

/* Whether all outer loops of the sum are at 0. */
static struct uk_index *is_first(struct uk_schedule *s, const struct uk_stage *st,
                                 struct uk_index *const *value) {
    struct uk_index *all = uk_index_int(s->arena, 1), *zero = uk_index_int(s->arena, 0);

    for (int i = 0; i < st->tile; i++)
        if (uk_is_reduced(st, st->loop[i]))
            all = uk_index_op(s->arena, UK_I_AND, all,
                              uk_index_op(s->arena, UK_I_EQ, value[st->loop[i]->id], zero));
    return all;
}

/* compute, or reset and update where the kernel has no compute */
static struct uk_node *begin(struct uk_schedule *s, const struct uk_stage *st, struct uk_index *const *value,
                             bool full) {
    const struct uk_form *f = st->match->intrinsic->form;

    if (f[UK_FORM_COMPUTE].given)
        return call_form(s, st, UK_FORM_COMPUTE, value, full);
    struct uk_node *reset = call_form(s, st, UK_FORM_RESET, value, full);
    if (reset)
        reset->next = call_form(s, st, UK_FORM_UPDATE, value, full);
    return reset && reset->next ? reset : NULL;
}

static struct uk_node *call(struct uk_schedule *s, const struct uk_stage *st, struct uk_index *const *value,
                            bool full) {
    int64_t always;

    if (st->statement->reduce == UK_REDUCE_NONE)
        return call_form(s, st, UK_FORM_COMPUTE, value, full);
    if (!st->match->first)
        return call_form(s, st, UK_FORM_UPDATE, value, full);
    struct uk_index *first = is_first(s, st, value);
    if (!first)
        return uk_out_of_memory(s->context), NULL;
    if (uk_index_is_int(first, &always))
        return always ? begin(s, st, value, full) : call_form(s, st, UK_FORM_UPDATE, value, full);
    struct uk_node *n = node_of(s, UK_N_IF, st);
    if (!n)
        return NULL;
    n->condition = first;
    n->body = begin(s, st, value, full);
    n->other = call_form(s, st, UK_FORM_UPDATE, value, full);
    return n->body && n->other ? n : NULL;
}

/* Plain loops that stand for a kernel which starts the sum store the 0 themselves. */
static struct uk_node *plain_tile(struct uk_schedule *s, struct uk_stage *st, struct uk_index **value) {
    struct uk_node *body = plain_loops(s, st, st->tile, value);

    if (!body || !st->match->first)
        return body;
    struct uk_node *guard = node_of(s, UK_N_IF, st);
    if (!guard)
        return NULL;
    struct uk_stage *reset = uk_reset_stage(s, st);
    if (!reset)
        return NULL;
    guard->condition = is_first(s, st, value);
    guard->body = plain_loops(s, reset, reset->tile, value);
    guard->next = body;
    return guard->condition && guard->body ? guard : NULL;
}

/* The nest of a sum that starts in its tiles runs once for an empty sum, as if the size were 1; plain copies
 * must not. */
static struct uk_node *guard_bounds(struct uk_schedule *s, const struct uk_stage *st, struct uk_index **value,
                                    struct uk_node *body) {
    struct uk_node *n = node_of(s, UK_N_IF, st);
    struct uk_index *all = uk_index_int(s->arena, 1);

    for (int b = 0; b < st->bounds; b++) {
        struct uk_index *x = uk_affine_value(s, st, &st->bound[b].form, value);

        all = uk_index_op(s->arena, UK_I_AND, all, uk_index_op(s->arena, UK_I_LT, x, st->bound[b].upper));
    }
    if (!n || !body || !all)
        return NULL;
    n->condition = all;
    n->body = body;
    return n;
}

/* Compiled kernels take full tiles in a call of their own, where the extents are constants: inlined, it has
 * none of the code for edges. Assembly is the same text either way, and asks by itself. Copies are not worth
 * a second one. */
static bool wants_full_call(const struct uk_stage *st) {
    const struct uk_kernel *row = st->match->intrinsic->row;

    return !st->is_copy && !(row && (!strcmp(row->impl, "asm") || !strcmp(row->impl, "peachpy")));
}

static struct uk_node *calls(struct uk_schedule *s, const struct uk_stage *st,
                             struct uk_index *const *value) {
    struct uk_index *full = NULL;

    for (int v = 0; v < st->match->axes && wants_full_call(st); v++) {
        struct uk_index *e = uk_extent(s, st, st->match->axis[v], value);

        if (!st->match->most[v] || st->match->fixed[v] || !e || uk_index_is_int(e, NULL))
            continue;
        e = uk_index_op(s->arena, UK_I_EQ, e, uk_index_int(s->arena, st->match->most[v]));
        full = full ? uk_index_op(s->arena, UK_I_AND, full, e) : e;
    }
    if (!full)
        return call(s, st, value, false);
    struct uk_node *n = node_of(s, UK_N_IF, st);
    if (!n)
        return NULL;
    n->condition = full;
    n->body = call(s, st, value, true);
    n->other = call(s, st, value, false);
    return n->body && n->other ? n : NULL;
}

struct uk_node *uk_lower_leaf(struct uk_schedule *s, struct uk_stage *st, struct uk_index **value) {
    struct uk_index *full = NULL;

    if (!st->match) {
        struct uk_node *plain = plain_loops(s, st, st->tile, value);

        return st->parent && st->parent->match && st->parent->match->first ? guard_bounds(s, st, value, plain)
                                                                           : plain;
    }
    struct uk_node *kernel = calls(s, st, value);
    if (!kernel || !st->match->partial)
        return kernel;
    for (int v = 0; v < st->match->axes; v++) {
        if (!st->match->fixed[v] || st->match->always[v])
            continue;
        struct uk_index *e = uk_extent(s, st, st->match->axis[v], value);
        struct uk_index *same =
            uk_index_op(s->arena, UK_I_EQ, e, uk_index_int(s->arena, st->match->fixed[v]));

        full = full ? uk_index_op(s->arena, UK_I_AND, full, same) : same;
    }
    struct uk_node *n = node_of(s, UK_N_IF, st);
    if (!n)
        return NULL;
    n->condition = full;
    n->body = kernel;
    n->other = plain_tile(s, st, value);
    return full && n->other ? n : NULL;
}

/* ---- the initialization of a sum ---- */

static struct uk_expr *identity(struct uk_schedule *s, enum uk_reduce reduce, enum uk_type type) {
    static const int64_t least[UK_TYPES] = {
        [UK_I64] = INT64_MIN, [UK_I32] = INT32_MIN, [UK_I16] = INT16_MIN, [UK_I8] = INT8_MIN, [UK_U8] = 0};
    static const int64_t most[UK_TYPES] = {[UK_I64] = INT64_MAX,
                                           [UK_I32] = INT32_MAX,
                                           [UK_I16] = INT16_MAX,
                                           [UK_I8] = INT8_MAX,
                                           [UK_U8] = UINT8_MAX};
    struct uk_expr *e = uk_alloc(s->arena, sizeof *e);
    bool real = type == UK_F64 || type == UK_F32 || type == UK_F16 || type == UK_BF16;

    if (!e)
        return NULL;
    *e = (struct uk_expr){.op = UK_E_NUMBER, .type = type, .is_integer = true};
    if (reduce == UK_REDUCE_PROD)
        e->integer = 1;
    if (reduce == UK_REDUCE_MAX || reduce == UK_REDUCE_MIN) {
        e->is_integer = !real;
        e->integer = reduce == UK_REDUCE_MAX ? least[type] : most[type];
        e->number = reduce == UK_REDUCE_MAX ? -HUGE_VAL : HUGE_VAL;
    }
    return e;
}

/* A stage that stores the identity wherever st stores its result: st's loops without those of the sum. */
struct uk_stage *uk_reset_stage(struct uk_schedule *s, const struct uk_stage *st) {
    struct uk_stage *r = uk_alloc(s->arena, sizeof *r);
    struct uk_statement *t = uk_alloc(s->arena, sizeof *t);

    if (!r || !t)
        return uk_out_of_memory(s->context), NULL;
    *t = *st->statement;
    t->next = NULL;
    t->reduce = UK_REDUCE_NONE;
    t->iterators = t->left_iterators;
    t->right = identity(s, st->statement->reduce, st->operand[0].tensor->type);
    t->label = uk_format(s->arena, "%s_init", st->name);
    if (!t->right || !t->label)
        return uk_out_of_memory(s->context), NULL;
    *r = *st;
    r->next = NULL;
    r->match = NULL;
    r->name = t->label;
    r->statement = t;
    r->is_reset = true;
    r->operands = 1;
    r->iterators = t->iterators;
    r->loops = r->tile = 0;
    for (int i = 0; i < st->loops; i++)
        if (!uk_is_reduced(st, st->loop[i])) {
            r->tile += i < st->tile;
            r->loop[r->loops++] = st->loop[i];
        }
    r->bounds = 0;
    for (int b = 0; b < st->bounds; b++) {
        bool of_sum = false;

        for (int i = 0; i < st->loops; i++)
            of_sum |= uk_is_reduced(st, st->loop[i]) && st->bound[b].form.coefficient[st->loop[i]->id];
        if (!of_sum)
            r->bound[r->bounds++] = st->bound[b];
    }
    return r;
}
