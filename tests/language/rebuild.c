/* SPDX-License-Identifier: Apache-2.0 */
/* Walks a program, and makes each part again by the corresponding function of tensorize.h. */
#include "rebuild.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { MAX_MADE = 64 };

struct maker {
    struct uk_program *p;
    int tensors, scalars;
    /* tensors of the original program */
    const struct uk_tensor *tensor[MAX_MADE];
    struct uk_tensor *made_tensor[MAX_MADE];
    const struct uk_scalar *scalar[MAX_MADE];
    struct uk_expr *made_scalar[MAX_MADE];
};

/* ---- integers and values ---- */

static struct uk_tensor *find_tensor(const struct maker *m, const struct uk_tensor *t) {
    int i = 0;

    while (i < m->tensors && m->tensor[i] != t)
        i++;
    assert_true(i < m->tensors);
    return m->made_tensor[i];
}

static struct uk_index *make_index(struct maker *m, const struct uk_index *e);

static struct uk_index *make_index_element(struct maker *m, const struct uk_index *e) {
    const struct uk_access a = uk_element_access(e);
    struct uk_index *list[UK_MAX_DIMS], *made;

    for (int d = 0; d < a.tensor->dims; d++)
        list[d] = make_index(m, a.index[d]);
    made = uk_index_element(m->p, find_tensor(m, a.tensor), list);
    return e->wraps ? uk_index_wrap(m->p, made) : made;
}

static struct uk_index *make_index(struct maker *m, const struct uk_index *e) {
    struct uk_program *p = m->p;

    if (e->op == UK_I_INT)
        return uk_integer(p, e->value);
    if (e->op == UK_I_VAR)
        return e->var->kind == UK_VAR_SIZE ? uk_size(p, e->var->name) : uk_iterator(p, e->var->name);
    if (e->op == UK_I_ELEMENT)
        return make_index_element(m, e);

    struct uk_index *a = make_index(m, e->a), *b = e->b ? make_index(m, e->b) : NULL;

    switch (e->op) {
    case UK_I_NEG:
        return uk_index_subtract(p, uk_integer(p, 0), a);
    case UK_I_ADD:
        return uk_index_add(p, a, b);
    case UK_I_SUB:
        return uk_index_subtract(p, a, b);
    case UK_I_MUL:
        return uk_index_multiply(p, a, b);
    case UK_I_DIV:
        return uk_index_floordiv(p, a, e->b->value);
    case UK_I_MOD:
        return uk_index_mod(p, a, e->b->value);
    case UK_I_AND:
        return uk_index_and(p, a, b);
    default:
        if (e->op < UK_I_EQ || e->op > UK_I_GE)
            fail_msg("no call makes the integer operator %d", e->op);
        return uk_index_compare(p, (enum uk_relation)(e->op - UK_I_EQ), a, b);
    }
}

/* An array of n indices, or NULL if not `given`. */
static struct uk_index *const *make_list(struct maker *m, bool given, int n, struct uk_index *const from[],
                                         struct uk_index *list[]) {
    for (int i = 0; given && i < n; i++)
        list[i] = make_index(m, from[i]);
    return given ? list : NULL;
}

static struct uk_expr *make_scalar_value(const struct maker *m, const struct uk_scalar *s) {
    int i = 0;

    while (i < m->scalars && m->scalar[i] != s)
        i++;
    assert_true(i < m->scalars);
    return m->made_scalar[i];
}

static struct uk_expr *make_leaf(struct maker *m, const struct uk_expr *e) {
    struct uk_index *list[UK_MAX_DIMS];

    switch (e->op) {
    case UK_E_NUMBER:
        if (e->is_integer)
            return uk_integer_number(m->p, e->integer);
        return isinf(e->number) ? uk_number(m->p, e->number) : uk_real_number(m->p, e->number);
    case UK_E_SCALAR:
        return make_scalar_value(m, e->scalar);
    case UK_E_INDEX:
        return uk_index_value(m->p, make_index(m, e->index));
    default:
        return uk_element(m->p, find_tensor(m, e->access.tensor),
                          make_list(m, true, e->access.tensor->dims, e->access.index, list));
    }
}

static struct uk_expr *make_value(struct maker *m, const struct uk_expr *e);

static struct uk_expr *make_operator(struct maker *m, const struct uk_expr *e) {
    static struct uk_expr *(*const binary[])(struct uk_program *, struct uk_expr *, struct uk_expr *) = {
        [UK_E_ADD] = uk_add,         [UK_E_SUB] = uk_subtract,    [UK_E_MUL] = uk_multiply,
        [UK_E_DIV] = uk_divide,      [UK_E_SHL] = uk_shift_left,  [UK_E_SHR] = uk_shift_right,
        [UK_E_BIT_AND] = uk_bit_and, [UK_E_BIT_XOR] = uk_bit_xor, [UK_E_BIT_OR] = uk_bit_or,
        [UK_E_PAD] = uk_pad,         [UK_E_AND] = uk_and,         [UK_E_OR] = uk_or,
    };
    struct uk_expr *arg[3] = {NULL};
    int n = 0;

    for (; n < 3 && e->arg[n]; n++)
        arg[n] = make_value(m, e->arg[n]);
    if (uk_is_function(e->op))
        return uk_call(m->p, uk_function_of(e->op)->name, n, arg);
    if (e->op >= UK_E_EQ && e->op <= UK_E_GE)
        return uk_compare(m->p, (enum uk_relation)(e->op - UK_E_EQ), arg[0], arg[1]);
    switch (e->op) {
    case UK_E_NEG:
        return uk_negate(m->p, arg[0]);
    case UK_E_NOT:
        return uk_not(m->p, arg[0]);
    case UK_E_CAST:
        return uk_cast(m->p, e->type, arg[0]);
    case UK_E_SELECT:
        return uk_select(m->p, arg[0], arg[1], arg[2]);
    default:
        return binary[e->op](m->p, arg[0], arg[1]);
    }
}

static struct uk_expr *make_value(struct maker *m, const struct uk_expr *e) {
    return e->op <= UK_E_INDEX ? make_leaf(m, e) : make_operator(m, e);
}

/* ---- items ---- */

/* Prints a program that has only this item. */
static char *printed(struct uk_program only) {
    struct uk_text t = {0};

    uk_print_program(&t, &only);
    assert_non_null(t.text);
    return t.text;
}

static void make_intrinsic(struct maker *m, const struct uk_intrinsic *i) {
    struct uk_intrinsic alone = *i;

    alone.next = NULL;
    char *text = printed((struct uk_program){.intrinsics = &alone});

    uk_intrinsic(m->p, text);
    uk_text_free(text);
}

static void make_tensor(struct maker *m, const struct uk_tensor *t) {
    struct uk_index *shape[UK_MAX_DIMS], *strides[UK_MAX_DIMS], *over[UK_MAX_DIMS];
    struct uk_index *const *extents = make_list(m, true, t->dims, t->shape, shape);
    struct uk_index *const *steps = make_list(m, t->has_strides, t->stored_dims, t->stride, strides);
    struct uk_tensor *x = (t->kind == UK_TENSOR_TEMP ? uk_temp : uk_tensor)(
        m->p, t->name, t->type, t->dims, extents, t->layout ? NULL : steps);

    if (t->layout) {
        struct uk_text map = {0};

        uk_print_map(&map, t->layout);
        assert_non_null(map.text);
        uk_tensor_layout(m->p, x, map.text, steps);
        uk_text_free(map.text);
    }
    if (t->align)
        uk_tensor_align(m->p, x, t->align);
    if (t->has_over)
        uk_tensor_over(m->p, x, make_list(m, true, t->dims, t->over, over));
    if (t->scope != UK_SCOPE_GLOBAL)
        uk_tensor_scope(m->p, x, t->scope);
    if (t->is_constant)
        uk_tensor_constant(m->p, x);
    if (t->is_finite)
        uk_tensor_finite(m->p, x);
    assert_true(m->tensors < MAX_MADE);
    m->tensor[m->tensors] = t;
    m->made_tensor[m->tensors++] = x;
}

static void make_statement(struct maker *m, const struct uk_statement *s) {
    struct uk_index *left[UK_MAX_DIMS];
    struct uk_reduction r = {.kind = s->reduce, .scan = s->scan, .iterators = s->reduced};
    struct uk_index *const *index = make_list(m, true, s->left.tensor->dims, s->left.index, left);

    for (int i = 0; i < s->reduced; i++)
        r.iterator[i] = uk_iterator(m->p, s->reduced_iterator[i]->name);
    if (s->where)
        r.where = make_index(m, s->where);
    for (int d = 0; d < s->left.tensor->dims; d++)
        if (s->left.index[d]->is_offset)
            left[d] = uk_index_add(m->p, left[d], uk_integer(m->p, 0));
    uk_statement(m->p, s->has_label ? s->label : NULL, find_tensor(m, s->left.tensor), index, s->assign,
                 s->reduce ? &r : NULL, make_value(m, s->right));
    for (int i = 0; i < s->ranges; i++)
        uk_statement_range(m->p, uk_iterator(m->p, s->ranged[i]->name), make_index(m, s->range[i]));
}

static void make_import(struct maker *m, const struct uk_import *i) {
    (i->kind == UK_IMPORT_FILE      ? uk_import_file
     : i->kind == UK_IMPORT_LL_TEXT ? uk_import_llvm
                                    : uk_import_c)(m->p, i->text);
}

/* ---- steps ---- */

enum { NAME = 256 };

/* "stage.loop" */
static const char *loop_name(const struct uk_loop_name *l, char text[NAME]) {
    snprintf(text, NAME, "%s%s%s", l->stage ? l->stage : "", l->stage ? "." : "", l->loop);
    return text;
}

/* Makes steps by uk_step(), from text, if no other function makes them. */
static void make_other_step(struct maker *m, const struct uk_step *s) {
    struct uk_step alone = *s;

    alone.next = NULL;
    char *text = printed((struct uk_program){.steps = &alone});

    uk_step(m->p, text);
    uk_text_free(text);
}

static void make_copy_step(struct maker *m, const struct uk_step *s) {
    const char *name = s->names ? s->name[0] : NULL;
    char place[NAME];

    loop_name(&s->loop[0], place);
    if (s->layout || s->subscripts || (s->kind != UK_STEP_PACK && !s->has_scope))
        make_other_step(m, s);
    else if (s->kind == UK_STEP_PACK)
        uk_pack(m->p, s->subject, place, s->number[0], s->has_along ? (int)s->along : -1, name);
    else
        (s->kind == UK_STEP_CACHE_READ ? uk_cache_read : uk_cache_write)(m->p, s->subject, place, s->scope,
                                                                         name);
}

static void make_loop_step(struct maker *m, const struct uk_step *s) {
    char text[MAX_MADE][NAME];
    const char *loop[MAX_MADE];

    assert_true(s->loops <= MAX_MADE);
    for (int i = 0; i < s->loops; i++)
        loop[i] = loop_name(&s->loop[i], text[i]);
    switch (s->kind) {
    case UK_STEP_SPLIT:
        (s->parts ? uk_split_parts : uk_split)(m->p, loop[0], s->number[0], s->name[0], s->name[1]);
        return;
    case UK_STEP_TILE:
        uk_tile(m->p, loop[0], loop[1], s->number[0], s->number[1], s->name);
        return;
    case UK_STEP_FUSE:
        uk_fuse(m->p, loop[0], loop[1], s->name[0]);
        return;
    case UK_STEP_REORDER:
        uk_reorder(m->p, s->loops, loop);
        return;
    case UK_STEP_UNROLL:
        uk_unroll(m->p, loop[0]);
        return;
    case UK_STEP_VECTORIZE:
        uk_vectorize(m->p, loop[0]);
        return;
    case UK_STEP_PARALLEL:
        uk_parallel(m->p, s->loops, loop);
        return;
    case UK_STEP_PIPELINE:
        uk_pipeline(m->p, loop[0], (int)s->number[0]);
        break;
    case UK_STEP_BIND:
        uk_bind(m->p, loop[0], s->axis);
        return;
    case UK_STEP_COMPUTE_AT:
        uk_compute_at(m->p, s->subject, loop[0]);
        return;
    case UK_STEP_REVERSE_COMPUTE_AT:
        uk_reverse_compute_at(m->p, s->subject, loop[0]);
        return;
    case UK_STEP_COMPUTE_INLINE:
        uk_compute_inline(m->p, s->subject);
        return;
    case UK_STEP_RFACTOR:
        uk_rfactor(m->p, loop[0], s->name[0]);
        return;
    case UK_STEP_TENSORIZE:
        uk_tensorize(m->p, loop[0], s->subject);
        return;
    default:
        make_other_step(m, s);
    }
}

static void make_step(struct maker *m, const struct uk_step *s) {
    if (uk_steps[s->kind].role == UK_STEP_ROLE_COPY)
        make_copy_step(m, s);
    else
        make_loop_step(m, s);
}

static void make_schedules(struct maker *m, const struct uk_program *from) {
    const struct uk_version *v = from->versions;
    int n = 0;

    do {
        if (v)
            uk_schedule_where(m->p, v->condition ? make_index(m, v->condition) : NULL);
        for (const struct uk_step *s = from->steps; s; s = s->next)
            if (s->version == n)
                make_step(m, s);
        n++;
    } while (v && (v = v->next));
}

struct uk_program *rebuild(struct uk_context *c, const struct uk_program *from) {
    struct maker *m = calloc(1, sizeof *m);
    struct uk_program *made;

    assert_non_null(m);
    assert_int_equal(uk_program_create(c, from->name, &m->p), UK_OK);
    for (const struct uk_var *v = from->sizes; v; v = v->next)
        v->has_default ? uk_size_default(m->p, v->name, v->default_value) : uk_size(m->p, v->name);
    for (const struct uk_import *i = from->imports; i; i = i->next)
        make_import(m, i);
    for (const struct uk_intrinsic *i = from->intrinsics; i; i = i->next)
        make_intrinsic(m, i);
    for (const struct uk_tensor *t = from->tensors; t; t = t->next)
        make_tensor(m, t);
    for (const struct uk_scalar *s = from->scalars; s; s = s->next) {
        assert_true(m->scalars < MAX_MADE);
        m->scalar[m->scalars] = s;
        m->made_scalar[m->scalars++] = uk_scalar(m->p, s->name, s->type);
    }
    for (const struct uk_assume *a = from->assumes; a; a = a->next)
        uk_assume(m->p, make_index(m, a->relation));
    for (const struct uk_statement *s = from->statements; s; s = s->next)
        make_statement(m, s);
    make_schedules(m, from);
    /* `schedule` without steps */
    if (from->has_schedule && !from->steps && !from->versions)
        assert_int_equal(uk_program_schedule(m->p, from->name, "schedule", 8), UK_OK);
    if (uk_program_status(m->p))
        fail_msg("%s: %s", from->file, uk_context_message(c));
    made = m->p;
    free(m);
    return made;
}
