/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folds a bias into a kernel's tile. If the following stage reads the tile only as `sum + b`, with one b for
 * the whole tile, the tile is initialized with b, the kernel adds to it, and the addition is removed. In i32
 * the result is the same, since sums wrap. Done only if the tile can be a variable and LLVM sees the kernel's
 * loads (codegen/work.c): then b is a register, and an addition per element is saved.
 */
#include <string.h>
#include "lower.h"

struct folding {
    struct uk_schedule *s;
    const struct uk_tensor *tile;
    const struct uk_var *loop[UK_MAX_LOOPS]; /* loops around the store being examined */
    int loops;
};

/* ---- accesses of the tile ---- */

static int reads_in(const struct uk_expr *e, const struct uk_tensor *t) {
    int n = e->op == UK_E_ACCESS && e->access.tensor == t;

    for (int i = 0; i < 3; i++)
        n += e->arg[i] ? reads_in(e->arg[i], t) : 0;
    return n;
}

static bool is_operand(const struct uk_node *call, const struct uk_tensor *t) {
    int i = 0;

    for (const struct uk_tensor *x = call->intrinsic->declaration->tensors; x; x = x->next, i++)
        if (call->operand[i].tensor == t)
            return true;
    return false;
}

/* Counts calls that use it, stores to it, and stores that read it, in all nodes of the list. */
static int uses(const struct uk_node *n, const struct uk_tensor *t) {
    int all = 0;

    for (; n; n = n->next)
        all += n->op == UK_N_CALL    ? is_operand(n, t)
               : n->op == UK_N_STORE ? (n->target.tensor == t) + (reads_in(n->expr, t) > 0)
                                     : uses(n->body, t) + uses(n->other, t);
    return all;
}

static int uses_in(const struct uk_node *n, const struct uk_tensor *t) {
    struct uk_node alone = *n;

    alone.next = NULL;
    return uses(&alone, t);
}

/* ---- the bias ---- */

static bool is_same_for_all(const struct folding *f, const struct uk_expr *e,
                            const struct uk_tensor *written) {
    if (e->op == UK_E_ACCESS && (e->access.tensor == written || e->access.tensor == f->tile))
        return false;
    for (int l = 0; l < f->loops; l++) {
        for (int d = 0; e->op == UK_E_ACCESS && d < e->access.tensor->stored_dims; d++)
            if (uk_mentions(e->access.index[d], f->loop[l]))
                return false;
        if (e->op == UK_E_INDEX && uk_mentions(e->index, f->loop[l]))
            return false;
    }
    for (int i = 0; i < 3; i++)
        if (e->arg[i] && !is_same_for_all(f, e->arg[i], written))
            return false;
    return true;
}

/* The sum of an element of the tile and a value that is the same for all elements, or NULL. */
static const struct uk_expr *find_sum(const struct folding *f, const struct uk_expr *e,
                                      const struct uk_tensor *written) {
    const struct uk_expr *found = NULL;

    for (int i = 0; i < 2 && e->op == UK_E_ADD; i++)
        if (e->arg[i]->op == UK_E_ACCESS && e->arg[i]->access.tensor == f->tile &&
            is_same_for_all(f, e->arg[1 - i], written))
            return e;
    for (int i = 0; i < 3 && !found; i++)
        found = e->arg[i] ? find_sum(f, e->arg[i], written) : NULL;
    return found;
}

static int element_of(const struct folding *f, const struct uk_expr *sum) {
    return sum->arg[0]->op == UK_E_ACCESS && sum->arg[0]->access.tensor == f->tile ? 0 : 1;
}

/* True for loops and conditions that contain only stores, each of which reads one such sum. */
static bool adds_one(struct folding *f, const struct uk_node *n) {
    for (; n; n = n->next) {
        const bool is_loop = n->op == UK_N_FOR;

        if (n->op == UK_N_STORE) {
            if (n->assign != UK_ASSIGN || reads_in(n->expr, f->tile) != 1 ||
                !find_sum(f, n->expr, n->target.tensor))
                return false;
            continue;
        }
        if ((!is_loop && n->op != UK_N_IF) || (is_loop && n->loop != UK_LOOP_SERIAL) ||
            f->loops == UK_MAX_LOOPS)
            return false;
        f->loop[f->loops] = n->var;
        f->loops += is_loop;
        bool one = adds_one(f, n->body) && adds_one(f, n->other);
        f->loops -= is_loop;
        if (!one)
            return false;
    }
    return true;
}

/* ---- the calls ---- */

static bool can_add(const struct uk_node *call, const struct uk_tensor *tile) {
    const struct uk_intrinsic *k = call->intrinsic;

    return call->form == UK_FORM_COMPUTE && k->row && strncmp(uk_kernel_impl(k->row), "asm", 3) &&
           k->computes->reduce == UK_REDUCE_SUM && k->form[UK_FORM_UPDATE].is_declared &&
           is_operand(call, tile);
}

/* True if the node is one call that initializes the tile's sums, or a condition with one such call on each
 * side. */
static bool all_can_add(const struct uk_node *n, const struct uk_tensor *tile) {
    if (!n || n->next)
        return false;
    return n->op == UK_N_CALL ? can_add(n, tile)
                              : n->op == UK_N_IF && all_can_add(n->body, tile) && all_can_add(n->other, tile);
}

static const struct uk_node *a_call(const struct uk_node *n) {
    return n->op == UK_N_CALL ? n : n->op == UK_N_IF && n->body ? a_call(n->body) : NULL;
}

static const struct uk_tensor *output_of(const struct uk_node *call) {
    const struct uk_program *p = call->intrinsic->declaration;

    return call->operand[uk_tensor_number(p, call->intrinsic->computes->left.tensor)].tensor;
}

static void make_update(struct uk_node *n) {
    if (n->op == UK_N_CALL) {
        n->form = UK_FORM_UPDATE;
        return;
    }
    make_update(n->body);
    make_update(n->other);
}

/* ---- the transformation ---- */

static struct uk_expr *without_sum(const struct folding *f, const struct uk_expr *e,
                                   const struct uk_expr *sum) {
    struct uk_expr *r = uk_alloc(f->s->arena, sizeof *r);

    if (!r || e == sum)
        return r ? e->arg[element_of(f, e)] : NULL;
    *r = *e;
    for (int i = 0; i < 3; i++)
        if (e->arg[i] && !(r->arg[i] = without_sum(f, e->arg[i], sum)))
            return NULL;
    return r;
}

/* Copies the loops, with stores that initialize the tile instead; removes the addition from the original. */
static struct uk_node *take_out(struct folding *f, struct uk_node *n) {
    struct uk_node *r = n ? uk_alloc(f->s->arena, sizeof *r) : NULL;

    if (!r)
        return NULL;
    *r = *n;
    if (n->op == UK_N_STORE) {
        const struct uk_expr *sum = find_sum(f, n->expr, n->target.tensor);
        const int element = element_of(f, sum);

        r->target = sum->arg[element]->access;
        r->expr = sum->arg[1 - element];
        n->expr = without_sum(f, n->expr, sum);
    } else {
        r->body = take_out(f, n->body);
        r->other = take_out(f, n->other);
    }
    r->next = take_out(f, n->next);
    return r;
}

static bool may_be_variable(const struct uk_tensor *t) {
    int64_t bytes = (int64_t)uk_type_bytes(t->type), n;

    for (int d = 0; d < t->stored_dims; d++)
        if (!uk_index_is_int(t->stored[d], &n) || __builtin_mul_overflow(bytes, n, &bytes))
            return false;
    return bytes <= UK_VARIABLE_BYTES;
}

/* Folds if *link initializes the tile and the next node is its only reader. */
static bool fold(struct uk_schedule *s, struct uk_node *all, struct uk_node **link) {
    struct uk_node *n = *link, *after = n->next;
    const struct uk_node *call = a_call(n);
    struct folding f = {.s = s, .tile = call ? output_of(call) : NULL};

    if (!after || !call || f.tile->kind == UK_TENSOR_ARGUMENT || f.tile->type != UK_I32 || f.tile->layout ||
        !may_be_variable(f.tile))
        return true;
    struct uk_node alone = *n, reader = *after;
    alone.next = reader.next = NULL;
    if (!all_can_add(&alone, f.tile) || !adds_one(&f, &reader) ||
        uses(all, f.tile) != uses_in(n, f.tile) + uses_in(after, f.tile))
        return true;
    struct uk_node *begin = take_out(&f, &reader);
    if (!begin)
        return uk_out_of_memory(s->context), false;
    after->body = reader.body;
    after->other = reader.other;
    after->expr = reader.expr;
    make_update(n);
    begin->next = n;
    *link = begin;
    return true;
}

static bool fold_list(struct uk_schedule *s, struct uk_node *all, struct uk_node **list) {
    for (struct uk_node **link = list; *link; link = &(*link)->next) {
        struct uk_node *n = *link;

        if ((n->op != UK_N_CALL && n->op != UK_N_STORE &&
             (!fold_list(s, all, &n->body) || !fold_list(s, all, &n->other))) ||
            !fold(s, all, link))
            return false;
        while (*link != n)
            link = &(*link)->next;
    }
    return true;
}

enum uk_status uk_fold_bias(struct uk_schedule *s, struct uk_node **body) {
    if (s->target->interpreted || s->target->vectors.bytes >= 16 || s->options->threads > 1)
        return UK_OK;
    return fold_list(s, *body, body) ? UK_OK : UK_OUT_OF_MEMORY;
}
