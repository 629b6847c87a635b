/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pipelined loops: the code that fills slots runs n - 1 iterations ahead of the code that reads them, through
 * registers, so that loads have the reader's time to complete.
 *
 *     for L in 0 .. E                     if 0 < E                      (for each of the first n - 1)
 *       fill slot L % n        becomes      fill slot 0
 *       read slot L % n                   for L in 0 .. E
 *                                           barrier
 *                                           if L + n - 1 < E
 *                                             load the data for slot (L + n - 1) % n
 *                                           read slot L % n
 *                                           if L + n - 1 < E
 *                                             store it to the slot
 *
 * The slot being filled was read in the iteration before, and the one being read was filled before this
 * barrier or an earlier one: one barrier per iteration. If a thread's part does not have a constant extent,
 * the slot is filled directly, before the reader.
 */
#include "lower.h"

/* Substitutions for loop variables in a copy of nodes. */
struct renaming {
    const struct renaming *outer;
    const struct uk_var *var;
    struct uk_index *by;
};

static struct uk_index *index_of(struct uk_arena *a, const struct renaming *r, struct uk_index *e) {
    if (!e || e->op == UK_I_INT)
        return e;
    if (e->op == UK_I_VAR) {
        while (r && r->var != e->var)
            r = r->outer;
        return r ? r->by : e;
    }
    if (e->op == UK_I_SELECT)
        return uk_index_select(a, index_of(a, r, e->a), index_of(a, r, e->b), index_of(a, r, e->c));
    struct uk_index *left = index_of(a, r, e->a), *right = index_of(a, r, e->b);

    return left ? uk_index_with_operands(a, e, left, right) : NULL;
}

static bool rename_access(struct uk_arena *a, const struct renaming *r, struct uk_access *x) {
    for (int d = 0; d < x->tensor->stored_dims; d++)
        if (!(x->index[d] = index_of(a, r, x->index[d])))
            return false;
    return true;
}

static struct uk_expr *expr_of(struct uk_arena *a, const struct renaming *r, const struct uk_expr *e) {
    struct uk_expr *to = uk_alloc(a, sizeof *to);

    if (!to)
        return NULL;
    *to = *e;
    to->index = index_of(a, r, e->index);
    if (e->op == UK_E_ACCESS && !rename_access(a, r, &to->access))
        return NULL;
    for (int i = 0; i < 3; i++)
        if (e->arg[i] && !(to->arg[i] = expr_of(a, r, e->arg[i])))
            return NULL;
    return to;
}

static struct uk_node *nodes_of(struct uk_arena *a, const struct renaming *r, const struct uk_node *n);

static bool rename_node(struct uk_arena *a, const struct renaming *r, const struct uk_node *n,
                        struct uk_node *to) {
    struct renaming inner = {.outer = r, .var = n->var};
    struct uk_var *var = NULL;

    *to = *n;
    to->next = NULL;
    to->lower = index_of(a, r, n->lower);
    to->upper = index_of(a, r, n->upper);
    to->value = index_of(a, r, n->value);
    to->condition = index_of(a, r, n->condition);
    if (n->op == UK_N_STORE)
        return rename_access(a, r, &to->target) && (to->expr = expr_of(a, r, n->expr));
    if (n->var) {
        if (!(var = uk_alloc(a, sizeof *var)))
            return false;
        *var = *n->var;
        to->var = var;
        if (!(inner.by = uk_index_var(a, var)))
            return false;
        r = &inner;
    }
    to->body = nodes_of(a, r, n->body);
    to->other = nodes_of(a, r, n->other);
    return (to->body || !n->body) && (to->other || !n->other);
}

/* A copy of the nodes with its own loop variables. NULL: no memory, or no nodes. */
static struct uk_node *nodes_of(struct uk_arena *a, const struct renaming *r, const struct uk_node *n) {
    struct uk_node *first = NULL, **end = &first;

    for (; n; n = n->next) {
        if (!(*end = uk_alloc(a, sizeof **end)) || !rename_node(a, r, n, *end))
            return NULL;
        end = &(*end)->next;
    }
    return first;
}

/* ---- the loop ---- */

bool uk_has_slots(const struct uk_schedule *s, const struct uk_tensor *t, const struct uk_node *loop) {
    for (const struct uk_buffer *b = s->buffers; b; b = b->next)
        if (b->tensor == t)
            return b->slots && b->slots->name == loop->var->name;
    return false;
}

/* The number of statements in the nodes that fill slots; *rest counts the others. one: only the first
 * node. */
static int fills(struct uk_schedule *s, const struct uk_node *n, const struct uk_node *loop, bool one,
                 int *rest) {
    int found = 0;

    for (; n; n = one ? NULL : n->next) {
        if (n->op == UK_N_STORE || n->op == UK_N_CALL) {
            const struct uk_stage *st = uk_stage_find(s, n->stage);

            *(st && st->is_copy && uk_has_slots(s, st->operand[0].tensor, loop) ? &found : rest) += 1;
        }
        found += fills(s, n->body, loop, false, rest) + fills(s, n->other, loop, false, rest);
    }
    return found;
}

/* ---- through registers ---- */

/* One thread's part of a copy: an element for each value of its loops other than those over threads. */
struct part {
    struct uk_schedule *s;
    struct uk_tensor *registers;
    bool stores; /* the second half: stores from the registers */
};

/* The number of elements per thread; 0: not constant, or a form that copies do not have. */
static int64_t elements_of(const struct uk_node *n) {
    int64_t lower, upper, inside;

    if (!n || n->next)
        return 0;
    switch (n->op) {
    case UK_N_STORE:
        return n->assign == UK_ASSIGN;
    case UK_N_IF: /* both sides have the same elements, in the same order */
        inside = elements_of(n->body);
        return inside == elements_of(n->other) ? inside : 0;
    case UK_N_LET:
        return elements_of(n->body);
    case UK_N_FOR:
        inside = elements_of(n->body);
        if (n->loop == UK_LOOP_THREAD || !inside)
            return inside;
        if (!uk_index_is_int(n->lower, &lower) || lower || !uk_index_is_int(n->upper, &upper) ||
            n->step != 1 || upper < 1 || __builtin_mul_overflow(upper, inside, &inside))
            return 0;
        return inside;
    default:
        return 0;
    }
}

static struct uk_access registers_at(const struct part *p, struct uk_index *at) {
    return (struct uk_access){.tensor = p->registers, .index = {at}};
}

/* One half of a copy: loads into the registers, or stores from them; at: the register index from the loops
 * outside. */
static struct uk_node *half(const struct part *p, const struct uk_node *n, struct uk_index *at) {
    struct uk_arena *a = p->s->arena;
    struct uk_node *to = uk_alloc(a, sizeof *to);

    if (!to || !at)
        return NULL;
    *to = *n;
    if (n->op == UK_N_IF && p->stores)
        return half(p, n->body, at);
    if (n->op == UK_N_STORE && p->stores) {
        if (!(to->expr = uk_alloc(a, sizeof *to->expr)))
            return NULL;
        *to->expr = (struct uk_expr){
            .op = UK_E_ACCESS, .type = p->registers->type, .access = registers_at(p, at), .depth = 1};
        return to;
    }
    if (n->op == UK_N_STORE) {
        to->target = registers_at(p, at);
        return to;
    }
    if (n->op == UK_N_FOR && n->loop != UK_LOOP_THREAD) {
        struct uk_index *inside = uk_index_int(a, elements_of(n->body));

        at = uk_index_op(a, UK_I_ADD, at, uk_index_op(a, UK_I_MUL, uk_index_var(a, n->var), inside));
    }
    to->body = half(p, n->body, at);
    to->other = n->other ? half(p, n->other, at) : NULL;
    return to->body && (to->other || !n->other) ? to : NULL;
}

static const struct uk_tensor *filled_by(const struct uk_node *n) {
    while (n->op != UK_N_STORE)
        n = n->body;
    return n->target.tensor;
}

static struct uk_tensor *make_registers(struct uk_schedule *s, const struct uk_tensor *of, int64_t elements) {
    struct uk_tensor *t = uk_alloc(s->arena, sizeof *t);
    struct uk_buffer *b = uk_alloc(s->arena, sizeof *b);

    if (!t || !b)
        return NULL;
    *t = *of;
    t->name = uk_fresh_name(s, of->name, "_ahead");
    t->scope = UK_SCOPE_REGISTER;
    t->is_ahead = true;
    t->dims = t->stored_dims = 1;
    t->shape[0] = t->stored[0] = uk_index_int(s->arena, elements);
    t->stride[0] = uk_index_int(s->arena, 1);
    *b = (struct uk_buffer){.tensor = t, .elements = t->shape[0], .next = s->buffers};
    if (!t->name || !t->shape[0] || !t->stride[0] || uk_name_add(s, t->name))
        return NULL;
    s->buffers = b;
    return t;
}

/* Splits the code that fills slots into loads and stores. UK_NO_MATCH: not possible. */
static enum uk_status halve(struct uk_schedule *s, const struct uk_node *fill, struct uk_node **loads,
                            struct uk_node **stores) {
    for (const struct uk_node *n = fill; n; n = n->next) {
        struct uk_node alone = *n;

        alone.next = NULL;
        if (!elements_of(&alone))
            return UK_NO_MATCH;
    }
    for (const struct uk_node *n = fill; n; n = n->next) {
        struct uk_node alone = *n;
        struct part p = {.s = s};

        alone.next = NULL;
        p.registers = make_registers(s, filled_by(n), elements_of(&alone));
        if (!p.registers || !(*loads = half(&p, &alone, uk_index_int(s->arena, 0))))
            return uk_out_of_memory(s->context);
        p.stores = true;
        if (!(*stores = half(&p, &alone, uk_index_int(s->arena, 0))))
            return uk_out_of_memory(s->context);
        loads = &(*loads)->next;
        stores = &(*stores)->next;
    }
    return UK_OK;
}

/* ---- the transformed loop ---- */

static struct uk_node *if_less(struct uk_schedule *s, const struct uk_node *loop, struct uk_index *at,
                               const struct uk_node *fill) {
    struct uk_node *n = uk_alloc(s->arena, sizeof *n);
    const struct renaming r = {.var = loop->var, .by = at};
    int64_t always;

    if (!n || !at)
        return NULL;
    *n = (struct uk_node){.op = UK_N_IF, .stage = loop->stage, .body = nodes_of(s->arena, &r, fill)};
    n->condition = uk_index_op(s->arena, UK_I_LT, at, loop->upper);
    if (n->condition && uk_index_is_int(n->condition, &always) && always)
        return n->body;
    return n->body && n->condition ? n : NULL;
}

static struct uk_node **last_of(struct uk_node **at) {
    while (*at)
        at = &(*at)->next;
    return at;
}

/* Fills the slots of the first iterations before the loop. */
static bool begin(struct uk_schedule *s, struct uk_node **at, const struct uk_node *fill) {
    struct uk_node *loop = *at;

    for (int i = 0; i < loop->slots - 1; i++) {
        struct uk_index *first = uk_index_op(s->arena, UK_I_ADD, loop->lower, uk_index_int(s->arena, i));
        struct uk_node *n = if_less(s, loop, first, fill);

        if (!n)
            return false;
        *at = n;
        at = last_of(at);
        *at = loop;
    }
    return true;
}

/* Builds the loop's body. */
static bool build_body(struct uk_schedule *s, struct uk_node *loop, const struct uk_node *fill,
                       struct uk_node *others) {
    struct uk_arena *a = s->arena;
    struct uk_index *later =
        uk_index_op(a, UK_I_ADD, uk_index_var(a, loop->var), uk_index_int(a, loop->slots - 1));
    struct uk_node *barrier = uk_alloc(a, sizeof *barrier), *loads = NULL, *stores = NULL, **end;
    const enum uk_status status = halve(s, fill, &loads, &stores);

    if (!barrier || (status && status != UK_NO_MATCH))
        return false;
    *barrier = (struct uk_node){.op = UK_N_BARRIER, .stage = loop->stage};
    loop->body = barrier;
    end = last_of(&loop->body);
    if (!(*end = if_less(s, loop, later, status ? fill : loads)))
        return false;
    end = last_of(end);
    *end = others;
    end = last_of(end);
    return status || (*end = if_less(s, loop, later, stores));
}

static enum uk_status transform(struct uk_schedule *s, struct uk_node **at) {
    struct uk_node *loop = *at, *fill = loop->body, **end = &loop->body;
    int rest = 0;

    while (*end && fills(s, *end, loop, true, &rest) && !rest)
        end = &(*end)->next;
    struct uk_node *others = *end;
    if (fill == others || fills(s, others, loop, false, &rest) || loop->step != 1)
        return uk_fail(s->context, UK_REFUSED, loop->at,
                       "pipeline %s: conditions on sizes separate the copy from its readers; leave the "
                       "step out, or split by factors that divide the sizes",
                       loop->var->name);
    *end = NULL;
    return begin(s, at, fill) && build_body(s, loop, fill, others) ? UK_OK : uk_failure(s->context);
}

enum uk_status uk_make_pipelines(struct uk_schedule *s, struct uk_node **nodes) {
    for (struct uk_node *n; (n = *nodes); nodes = &n->next) {
        const bool is_pipeline = n->op == UK_N_FOR && n->slots;
        enum uk_status status = is_pipeline ? transform(s, nodes) : uk_make_pipelines(s, &n->body);

        if (!status && !is_pipeline)
            status = uk_make_pipelines(s, &n->other);
        if (status)
            return status;
    }
    return UK_OK;
}

/* ---- copies outside of pipelines ---- */

/* True if the node is one half of a copy through registers. */
static bool is_half(const struct uk_node *n) {
    return n->op == UK_N_STORE &&
           (n->target.tensor->is_ahead || (n->expr->op == UK_E_ACCESS && n->expr->access.tensor->is_ahead));
}

/* True if all statements in the node are of copies from global to shared memory, not yet split. */
static bool is_shared_copy(struct uk_schedule *s, const struct uk_node *n) {
    bool all = n->op != UK_N_BARRIER && !is_half(n);

    if (all && (n->op == UK_N_STORE || n->op == UK_N_CALL)) {
        const struct uk_stage *st = uk_stage_find(s, n->stage);

        return st && st->is_copy && st->operand[0].tensor->scope == UK_SCOPE_SHARED &&
               uk_memory_of(&st->operand[1])->scope == UK_SCOPE_GLOBAL;
    }
    for (const struct uk_node *in = n->body; in && all; in = in->next)
        all = is_shared_copy(s, in);
    for (const struct uk_node *in = n->other; in && all; in = in->next)
        all = is_shared_copy(s, in);
    return all;
}

/* Bytes that a thread copies in the node; 0: it makes no such copy, or of an unknown number of elements. */
static int64_t bytes_ahead(struct uk_schedule *s, const struct uk_node *n) {
    struct uk_node alone = *n;
    int64_t bytes;

    alone.next = NULL;
    if (!is_shared_copy(s, n) || !elements_of(&alone) ||
        __builtin_mul_overflow(elements_of(&alone), (int64_t)uk_type_bytes(filled_by(n)->type), &bytes))
        return 0;
    return bytes;
}

enum uk_status uk_load_copies_first(struct uk_schedule *s, struct uk_node **at) {
    while (*at) {
        struct uk_node *first = *at, *loads = NULL, *stores = NULL, **end = at;
        int64_t bytes = 0, more;
        enum uk_status status;

        while (*end && (more = bytes_ahead(s, *end)) && more <= UK_MAX_AHEAD_BYTES - bytes) {
            bytes += more;
            end = &(*end)->next;
        }
        if (end == at) {
            /* LLVM moves the loads of a copy without tests, the first of two forms. */
            const bool is_copy = is_shared_copy(s, first), skips = is_copy && first->other;

            if ((!is_copy || first->op == UK_N_IF) &&
                ((status = skips ? UK_OK : uk_load_copies_first(s, &first->body)) ||
                 (status = uk_load_copies_first(s, &first->other))))
                return status;
            at = &first->next;
            continue;
        }
        struct uk_node *rest = *end;
        *end = NULL;
        if ((status = halve(s, first, &loads, &stores)))
            return status;
        *last_of(&loads) = stores;
        *at = loads;
        at = last_of(at);
        *at = rest;
    }
    return UK_OK;
}
