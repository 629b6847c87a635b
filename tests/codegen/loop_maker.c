/* SPDX-License-Identifier: Apache-2.0 */
/* Hand-made programs and loops. Running out of memory fails the test that calls these functions. */
#include <stdlib.h>
#include <string.h>
#include "loop_maker.h"

static void *get(struct maker *m, size_t n) {
    void *p = uk_alloc(&m->program.arena, n);

    if (!p)
        abort();
    return p;
}

void make_begin(struct maker *m, struct uk_context *c, const char *name) {
    memset(m, 0, sizeof *m);
    m->context = m->program.context = c;
    m->program.name = m->function.name = name;
    m->function.program = &m->program;
    uk_context_enter(c, NULL);
}

void make_end(struct maker *m) {
    uk_arena_free(&m->program.arena);
}

struct uk_index *number(struct maker *m, int64_t v) {
    return uk_index_int(&m->program.arena, v);
}

struct uk_index *value(struct maker *m, struct uk_var *v) {
    return uk_index_var(&m->program.arena, v);
}

struct uk_index *op(struct maker *m, enum uk_index_op o, struct uk_index *l, struct uk_index *r) {
    return uk_index_op(&m->program.arena, o, l, r);
}

struct uk_var *make_size(struct maker *m, const char *name, bool is_extent) {
    struct uk_var *v = get(m, sizeof *v), **end = &m->program.sizes;

    *v = (struct uk_var){
        .name = name, .kind = UK_VAR_SIZE, .is_extent = is_extent, .number = m->program.size_count++};
    while (*end)
        end = &(*end)->next;
    return *end = v;
}

struct uk_scalar *make_scalar(struct maker *m, const char *name, enum uk_type type) {
    struct uk_scalar *s = get(m, sizeof *s), **end = &m->program.scalars;

    *s = (struct uk_scalar){.name = name, .type = type};
    while (*end)
        end = &(*end)->next;
    *end = s;
    m->function.scalars = m->program.scalars;
    return s;
}

static struct uk_tensor *new_tensor(struct maker *m, const char *name, enum uk_type type,
                                    struct uk_index *const shape[]) {
    struct uk_tensor *t = get(m, sizeof *t);

    *t = (struct uk_tensor){.name = name, .type = type};
    while (shape[t->dims]) {
        t->shape[t->dims] = shape[t->dims];
        t->dims++;
    }
    t->stored_dims = t->dims;
    for (int d = t->dims - 1; d >= 0; d--)
        t->stride[d] = d == t->dims - 1 ? number(m, 1) : op(m, UK_I_MUL, t->stride[d + 1], t->shape[d + 1]);
    return t;
}

enum { MOST_TENSORS = 64 };

struct uk_tensor *make_tensor(struct maker *m, const char *name, enum uk_type type,
                              struct uk_index *const shape[], bool written) {
    struct uk_tensor *t = new_tensor(m, name, type, shape), **end = &m->program.tensors;

    t->is_written = written;
    while (*end)
        end = &(*end)->next;
    if (!m->function.tensor)
        m->function.tensor = get(m, MOST_TENSORS * sizeof *m->function.tensor);
    if (m->function.tensors == MOST_TENSORS)
        abort();
    m->function.tensor[m->function.tensors++] = t;
    return *end = t;
}

void make_strides(struct uk_tensor *t, struct uk_index *const stride[]) {
    t->has_strides = true;
    for (int d = 0; d < t->dims; d++)
        t->stride[d] = stride[d];
}

struct uk_tensor *make_buffer(struct maker *m, const char *name, enum uk_type type, struct uk_index *elements,
                              bool per_thread) {
    struct uk_tensor *t = new_tensor(m, name, type, (struct uk_index *[]){elements, NULL});
    struct uk_buffer *b = get(m, sizeof *b);

    t->kind = UK_TENSOR_PACKED;
    *b = (struct uk_buffer){
        .tensor = t, .elements = elements, .per_thread = per_thread, .next = m->function.buffers};
    m->function.buffers = b;
    return t;
}

void make_check(struct maker *m, struct uk_index *condition, const char *text) {
    struct uk_entry_check *k = get(m, sizeof *k);

    *k = (struct uk_entry_check){condition, text, m->function.checks};
    m->function.checks = k;
}

struct uk_access at(struct uk_tensor *t, struct uk_index *i, struct uk_index *j) {
    return (struct uk_access){.tensor = t, .index = {i, j}};
}

struct uk_expr *make_expr(struct maker *m, enum uk_expr_op o, enum uk_type type, struct uk_expr *l,
                          struct uk_expr *r) {
    struct uk_expr *e = get(m, sizeof *e);

    *e = (struct uk_expr){.op = o, .type = type, .arg = {l, r}};
    return e;
}

struct uk_expr *element(struct maker *m, struct uk_access a) {
    struct uk_expr *e = make_expr(m, UK_E_ACCESS, a.tensor->type, NULL, NULL);

    e->access = a;
    return e;
}

struct uk_expr *literal(struct maker *m, enum uk_type type, double v) {
    struct uk_expr *e = make_expr(m, UK_E_NUMBER, type, NULL, NULL);

    e->number = v;
    e->is_integer = !uk_type_is_float(type);
    e->integer = e->is_integer ? (int64_t)v : 0;
    return e;
}

struct uk_var *loop_variable(struct maker *m, const char *name) {
    struct uk_var *v = get(m, sizeof *v);

    *v = (struct uk_var){.name = name, .kind = UK_VAR_LOOP};
    return v;
}

static struct uk_node *node(struct maker *m, enum uk_node_op o, struct uk_node *body) {
    struct uk_node *n = get(m, sizeof *n);

    n->op = o;
    n->body = body;
    return n;
}

struct uk_node *make_for(struct maker *m, enum uk_loop_kind kind, struct uk_var *v, struct uk_index *upper,
                         int64_t step, struct uk_node *body) {
    struct uk_node *n = node(m, UK_N_FOR, body);

    n->var = v;
    n->lower = number(m, 0);
    n->upper = upper;
    n->step = step;
    n->loop = kind;
    if (kind == UK_LOOP_PARALLEL)
        m->function.is_parallel = true;
    return n;
}

struct uk_node *make_if(struct maker *m, struct uk_index *c, struct uk_node *body, struct uk_node *other) {
    struct uk_node *n = node(m, UK_N_IF, body);

    n->condition = c;
    n->other = other;
    return n;
}

struct uk_node *make_let(struct maker *m, struct uk_var *v, struct uk_index *i, struct uk_node *body) {
    struct uk_node *n = node(m, UK_N_LET, body);

    n->var = v;
    n->value = i;
    return n;
}

struct uk_node *make_store(struct maker *m, struct uk_access target, enum uk_assign assign,
                           struct uk_expr *e) {
    struct uk_node *n = node(m, UK_N_STORE, NULL);

    n->target = target;
    n->assign = assign;
    n->expr = e;
    return n;
}

struct uk_node *make_row(struct uk_node *first, struct uk_node *second) {
    first->next = second;
    return first;
}

struct uk_intrinsic *make_intrinsic(struct maker *m, const char *symbol, int count) {
    struct uk_intrinsic *in = get(m, sizeof *in),
                        **list = get(m, sizeof *list * (size_t)(m->function.intrinsics + 1));
    struct uk_form *form = &in->form[UK_FORM_COMPUTE];
    struct uk_program *outer = &m->program, *inner = get(m, sizeof *inner);
    struct uk_tensor *kept = outer->tensors;
    const int arguments = m->function.tensors;

    in->name = symbol;
    in->declaration = inner;
    *form =
        (struct uk_form){.is_declared = true, .result = UK_CTYPE_VOID, .symbol = symbol, .arguments = count};
    form->argument = get(m, sizeof *form->argument * (size_t)(count + 1));
    outer->tensors = NULL;
    for (int i = 0; i < count; i++) {
        form->argument[i].ctype = UK_CTYPE_PTR;
        form->argument[i].tensor =
            make_tensor(m, "t", UK_F32, (struct uk_index *[]){number(m, 16), NULL}, i == count - 1);
    }
    inner->tensors = outer->tensors;
    outer->tensors = kept;
    m->function.tensors = arguments;
    in->computes = get(m, sizeof *in->computes);
    in->computes->left.tensor = form->argument[count - 1].tensor;
    in->computes->right = make_expr(m, UK_E_NUMBER, UK_F32, NULL, NULL);
    for (int i = 0; i < m->function.intrinsics; i++)
        list[i] = m->function.intrinsic[i];
    list[m->function.intrinsics++] = in;
    m->function.intrinsic = list;
    return in;
}

struct uk_node *make_call(struct maker *m, struct uk_intrinsic *in, const struct uk_access *operand) {
    struct uk_node *n = node(m, UK_N_CALL, NULL);
    int count = in->form[UK_FORM_COMPUTE].arguments;

    n->intrinsic = in;
    n->form = UK_FORM_COMPUTE;
    n->operand = get(m, sizeof *operand * (size_t)count);
    memcpy(n->operand, operand, sizeof *operand * (size_t)count);
    return n;
}

void make_import(struct maker *m, int kind, const char *text) {
    struct uk_import *i = get(m, sizeof *i), **end = &m->program.imports;

    i->kind = (unsigned)kind;
    i->text = text;
    while (*end)
        end = &(*end)->next;
    *end = i;
}

enum uk_status make_module(struct maker *m, const char *target, struct uk_module **out) {
    const struct uk_target *t;
    struct uk_module *module;
    enum uk_status s;

    *out = NULL;
    uk_context_enter(m->context, NULL);
    s = uk_target_find(m->context, target, &t);
    if (s)
        return s;
    module = uk_module_create();
    if (!module)
        return uk_out_of_memory(m->context);
    m->context->spent = (struct uk_times){0};
    m->context->times = &m->context->spent;
    s = uk_module_build(m->context, &m->function, t, module);
    uk_imports_close(&m->program);
    m->context->times = NULL;
    if (s)
        uk_module_destroy(module);
    else
        *out = module;
    return s;
}
