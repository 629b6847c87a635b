/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes some elements of a program's result. Backwards, from statement to statement, it marks the elements
 * that these need; forwards, it computes only the marked ones, each with its allowed deviation. It writes to
 * copies.
 */
#include <stdlib.h>
#include <string.h>
#include "interpret.h"

struct demand {
    struct uk_frame *f;
    unsigned char **marks; /* by storage, one byte per element; NULL: the program does not write the tensor */
    struct uk_bounded_sum sum;
    bool matrix_flushes; /* as in struct uk_elements */
};

static unsigned char *marks_of(const struct demand *d, const struct uk_storage *s) {
    return d->marks[s - d->f->storage];
}

/* ---- backwards ---- */

static void mark(struct demand *d, const struct uk_code *c) {
    if (c->op == UK_E_PAD) {
        mark(d, c->arg[uk_inside(d->f, c) ? 0 : 1]);
        return;
    }
    if (c->op == UK_E_ACCESS && marks_of(d, c->storage)) {
        const int64_t at = uk_flat_value(d->f, &c->address);
        if (at >= 0 && at < c->storage->elements)
            marks_of(d, c->storage)[at] = 1;
    }
    for (int i = 0; i < 3 && c->arg[i]; i++)
        mark(d, c->arg[i]);
}

static bool reads_written(const struct demand *d, const struct uk_code *c) {
    bool reads = c->op == UK_E_ACCESS && marks_of(d, c->storage);

    for (int i = 0; i < 3 && c->arg[i]; i++)
        reads = reads || reads_written(d, c->arg[i]);
    return reads;
}

static bool reads(const struct uk_code *c, const struct uk_storage *s) {
    bool found = c->op == UK_E_ACCESS && c->storage == s;

    for (int i = 0; i < 3 && c->arg[i]; i++)
        found = found || reads(c->arg[i], s);
    return found;
}

static bool is_marked(struct uk_visit *v, int64_t at) {
    return marks_of(v->user, v->target)[at];
}

static void mark_term(struct uk_visit *v) {
    mark(v->user, v->right);
}

static void ignore_element(struct uk_visit *v, int64_t at) {
    (void)v;
    (void)at;
}

/* True if a subscript is an element of a tensor, whose value may not be known yet. */
static bool has_loaded_subscript(const struct uk_expr *e) {
    bool found = false;

    for (int i = 0; e->op == UK_E_ACCESS && i < e->access.tensor->dims; i++)
        found = found || e->access.index[i]->op == UK_I_ELEMENT;
    for (int i = 0; i < 3 && e->arg[i]; i++)
        found = found || has_loaded_subscript(e->arg[i]);
    return found;
}

static void mark_tensor(const struct demand *d, const struct uk_tensor *t) {
    const struct uk_storage *s = uk_find_storage(d->f, t);

    if (s && marks_of(d, s))
        memset(marks_of(d, s), 1, (size_t)s->elements);
}

/* Marks all elements of the tensors whose elements are subscripts of the access. */
static void mark_subscripts(const struct demand *d, const struct uk_access *a) {
    for (int i = 0; i < a->tensor->dims; i++)
        if (a->index[i]->op == UK_I_ELEMENT)
            mark_tensor(d, a->index[i]->tensor);
}

/* Marks all elements of all tensors that e reads, subscripts included. */
static void mark_all(const struct demand *d, const struct uk_expr *e) {
    if (e->op == UK_E_ACCESS) {
        mark_subscripts(d, &e->access);
        mark_tensor(d, e->access.tensor);
    }
    for (int i = 0; i < 3 && e->arg[i]; i++)
        mark_all(d, e->arg[i]);
}

/* Marks the elements that the statement needs; returns true if its terms have to be visited for that. A scan,
 * or a statement that reads its target, needs all elements if any is marked. A statement that reads nothing
 * written needs nothing. */
static bool is_element_requested(struct uk_visit *v) {
    struct demand *d = v->user;
    unsigned char *marks = marks_of(d, v->target);
    const size_t n = (size_t)v->target->elements;

    if (!memchr(marks, 1, n))
        return false;
    if (v->statement->scan || reads(v->right, v->target))
        memset(marks, 1, n);
    if (!has_loaded_subscript(v->statement->right) && !uk_scatters(v->statement))
        return reads_written(d, v->right);
    mark_subscripts(d, &v->statement->left);
    mark_all(d, v->statement->right);
    return false;
}

/* Visits the statements in reverse order. */
static enum uk_status go_back(struct demand *d, struct uk_program *p) {
    struct uk_statement **list;
    int n = 0;

    for (struct uk_statement *s = p->statements; s; s = s->next)
        n++;
    if (!(list = uk_alloc(&d->f->arena, ((size_t)n + 1) * sizeof *list)))
        return uk_out_of_memory(p->context);
    n = 0;
    for (struct uk_statement *s = p->statements; s; s = s->next)
        list[n++] = s;
    enum uk_status status = UK_OK;
    while (n-- && !status) {
        struct uk_visit v = {.user = d,
                             .prepare = is_element_requested,
                             .begin = is_marked,
                             .term = mark_term,
                             .end = ignore_element};
        status = uk_visit_statement(d->f, list[n], &v);
    }
    return status;
}

/* ---- forwards ---- */

static bool begin(struct uk_visit *v, int64_t at) {
    struct demand *d = v->user;

    if (!marks_of(d, v->target)[at])
        return false;
    if (!v->continues_scan)
        uk_bounded_sum_begin(&d->sum, v->initial);
    return true;
}

static void add_term(struct uk_visit *v) {
    struct demand *d = v->user;
    const enum uk_type t = v->target->tensor->type;
    const struct uk_bounded_value w = uk_bounded_value_of(d->f, v->right);

    if (v->statement->reduce)
        uk_bounded_sum_add(&d->sum, uk_reduce_op(v->statement->reduce), t, w);
    else
        d->sum.partial = w;
}

/* Combines the result with the present value, which is one more term of a sum. */
static struct uk_bounded_value updated(struct uk_visit *v, int64_t at, struct uk_bounded_value w) {
    struct demand *d = v->user;
    const enum uk_type t = v->target->tensor->type;
    const enum uk_expr_op op = uk_assign_op(v->statement->assign);
    const struct uk_bounded_value before = {uk_load(t, v->target->base, at), v->target->by[at]};
    struct uk_bounded_sum s = d->sum;

    if (v->statement->assign == UK_ASSIGN)
        return w;
    if (op != UK_E_ADD || v->statement->reduce != UK_REDUCE_SUM) {
        uk_bounded_sum_begin(&s, (union uk_value){.i = 0});
        if (op == UK_E_ADD)
            uk_bounded_sum_add(&s, op, t, w);
        else
            s.partial = w;
    }
    uk_bounded_sum_add(&s, op, t, before);
    return uk_bounded_sum_end(d->f, &s, op, t);
}

static void store(struct uk_visit *v, int64_t at) {
    struct demand *d = v->user;
    const enum uk_type t = v->target->tensor->type;
    struct uk_bounded_value w = d->sum.partial;

    if (v->statement->reduce)
        w = uk_bounded_sum_end(d->f, &d->sum, uk_reduce_op(v->statement->reduce), t);
    w = updated(v, at, w);
    uk_store(t, v->target->base, at, w.value);
    v->target->by[at] = w.deviation;
}

/* True if an element that the statement may write is marked. Other statements are skipped: what they read,
 * the elements that are subscripts included, need not have been computed. */
static bool is_needed(const struct demand *d, const struct uk_statement *s) {
    const struct uk_storage *t = uk_find_storage(d->f, s->left.tensor);

    return t && memchr(marks_of(d, t), 1, (size_t)t->elements);
}

static bool has_halves(const struct uk_expr *e) {
    return e && (e->type == UK_F16 || e->type == UK_BF16 || has_halves(e->arg[0]) || has_halves(e->arg[1]) ||
                 has_halves(e->arg[2]));
}

/* True for sums in f32 of products of f16 or bf16. */
static bool may_use_matrix_units(const struct uk_statement *s) {
    return s->reduce == UK_REDUCE_SUM && s->left.tensor->type == UK_F32 && s->right->op == UK_E_MUL &&
           has_halves(s->right->arg[0]) && has_halves(s->right->arg[1]);
}

static enum uk_status go_forward(struct demand *d, struct uk_program *p) {
    enum uk_status status = UK_OK;

    for (struct uk_statement *s = p->statements; s && !status; s = s->next) {
        if (!is_needed(d, s))
            continue;
        d->f->matrix_flushes = d->matrix_flushes && may_use_matrix_units(s);
        struct uk_visit v = {.user = d, .begin = begin, .term = add_term, .end = store};
        status = uk_check_elements(d->f, s);
        if (!status)
            status = uk_visit_statement(d->f, s, &v);
    }
    return status;
}

/* ---- both ---- */

/* Allocates a copy of a tensor that is written; calloc's pages are allocated when they are touched. */
static bool copy_tensor(struct demand *d, const struct uk_tensor *t) {
    struct uk_storage *s = uk_find_storage(d->f, t);
    const size_t n = s ? (size_t)s->elements + 1 : 0, bytes = n * uk_type_bytes(t->type);

    if (!s || marks_of(d, s))
        return s;
    void *copy = malloc(bytes);
    unsigned char *marks = d->marks[s - d->f->storage] = calloc(n, 1);
    s->by = calloc(n, sizeof *s->by);
    if (!copy || !marks || !s->by) {
        free(copy);
        return false;
    }
    memcpy(copy, s->base, bytes - uk_type_bytes(t->type));
    s->base = copy;
    return true;
}

static void free_copies(struct demand *d) {
    for (int i = 0; d->marks && i < d->f->storages; i++) {
        if (!d->marks[i])
            continue;
        free(d->f->storage[i].by);
        free(d->f->storage[i].base);
        free(d->marks[i]);
    }
}

static enum uk_status run(struct demand *d, struct uk_program *p, const struct uk_elements *e) {
    struct uk_storage *s = &d->f->storage[e->tensor];
    enum uk_status status = UK_OK;

    for (int64_t i = 0; i < e->count; i++) {
        if (e->element[i] < 0 || e->element[i] >= s->elements)
            return uk_fail(p->context, UK_INVALID_ARGUMENT, s->tensor->at, "%s has no element %lld",
                           s->tensor->name, (long long)e->element[i]);
        if (d->marks[e->tensor])
            d->marks[e->tensor][e->element[i]] = 1;
    }
    status = go_back(d, p);
    if (!status)
        status = go_forward(d, p);
    for (int64_t i = 0; i < e->count && !status; i++) {
        uk_store(s->tensor->type, e->result, i, uk_load(s->tensor->type, s->base, e->element[i]));
        e->by[i] = s->by ? s->by[e->element[i]] : 0;
    }
    return status;
}

enum uk_status uk_interpret_elements(struct uk_program *p, const struct uk_values *v,
                                     const struct uk_elements *e) {
    struct uk_frame f = {.context = p->context, .size = v->size, .scalar = v->scalar, .flushes = e->flushes};
    struct demand d = {.f = &f, .matrix_flushes = e->matrix_flushes};
    enum uk_status status = uk_check_values(p, v);

    if (!status)
        status = uk_prepare_storage(&f, p, v->tensor, UK_INVALID_SIZE);
    if (!status)
        status = uk_check_overlap(p, v->size);
    d.marks = status ? NULL : uk_alloc(&f.arena, ((size_t)f.storages + 1) * sizeof *d.marks);
    bool owned = d.marks;
    for (const struct uk_statement *s = p->statements; s && owned; s = s->next)
        owned = copy_tensor(&d, s->left.tensor);
    if (!status && !owned)
        status = uk_out_of_memory(p->context);
    if (!status)
        status = run(&d, p, e);
    free_copies(&d);
    uk_arena_free(&f.arena);
    return status;
}
