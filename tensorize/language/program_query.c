/* SPDX-License-Identifier: Apache-2.0 */
/* Queries of a program's arguments, and changes from outside: sizes made constants, another schedule. */
#include <inttypes.h>
#include <string.h>
#include "language.h"

/* Parses the text's steps; a failure is not sticky. */
static enum uk_status read_steps(struct uk_program *p, const char *file, const char *text, size_t length) {
    const char *before = p->schedule_file, *name;

    if (!file || (!text && length))
        return uk_fail(p->context, UK_INVALID_ARGUMENT, (struct uk_position){0, 0},
                       "the text or its file name is NULL; give both");
    if (!(name = uk_strdup(&p->arena, file)))
        return uk_out_of_memory(p->context);
    p->schedule_file = name;
    uk_context_set_program(p->context, p);
    enum uk_status status = uk_parse_steps(p, name, text ? text : "", length, false);

    if (!status)
        status = uk_check_program(p);
    if (status) {
        p->status = UK_OK;
        p->failure = NULL;
        p->schedule_file = before;
    }
    return status;
}

enum uk_status uk_program_schedule(struct uk_program *p, const char *file, const char *text, size_t length) {
    if (!p)
        return UK_INVALID_ARGUMENT;
    struct uk_step *steps = p->steps;
    struct uk_version *versions = p->versions;
    bool had = p->has_schedule;

    p->steps = NULL; /* errors in the old steps do not matter: they are replaced */
    p->versions = NULL;
    p->has_schedule = false;
    enum uk_status status = uk_check_rules(p);
    if (!status)
        status = read_steps(p, file, text, length);
    if (status) { /* restores the old steps */
        p->steps = steps;
        p->versions = versions;
        p->has_schedule = had;
        p->is_checked = false;
    }
    return status;
}

enum uk_status uk_program_print(struct uk_program *p, char **text) {
    struct uk_text t = {0};

    if (text)
        *text = NULL;
    enum uk_status status = uk_check_rules(p);
    if (!status)
        status = uk_require(p->context, text, "the place for the text");
    if (status)
        return status;
    uk_print_program(&t, p);
    if (!t.text)
        uk_put(&t, "%s", "");
    if (!t.text)
        return uk_out_of_memory(p->context);
    *text = t.text;
    return UK_OK;
}

enum uk_status uk_program_define(struct uk_program *p, const char *size, int64_t value) {
    struct uk_position nowhere = {0, 0};
    enum uk_status status = uk_check_rules(p);

    if (status)
        return status;
    struct uk_var *v = size ? uk_find_var(p->sizes, size) : NULL;

    if (!v)
        return uk_fail(p->context, UK_INVALID_ARGUMENT, nowhere,
                       "%s is not a size of the program; define one of its sizes",
                       size && *size ? size
                       : size        ? "\"\""
                                     : "NULL");
    if (value < 0)
        return uk_fail(p->context, UK_INVALID_SIZE, nowhere,
                       "%s = %" PRId64 " is negative; define a value >= 0", size, value);
    v->defined = true;
    v->value = value;
    p->is_checked_for_sizes = false;
    return UK_OK;
}

/* Returns the program, or NULL with the context's message set if it cannot be used. */
static const struct uk_program *usable(const struct uk_program *p) {
    const bool known = p && p->is_checked && !p->status;

    /* A check only fills in parts of the program that callers cannot observe. */
    return known || !uk_check_rules((struct uk_program *)(uintptr_t)p) ? p : NULL;
}

bool uk_has_size_arguments(const struct uk_program *p) {
    const struct uk_var *v = p->sizes;

    while (v && v->defined)
        v = v->next;
    return v;
}

const char *uk_program_name(const struct uk_program *p) {
    return usable(p) ? p->name : NULL;
}

int uk_program_sizes(const struct uk_program *p) {
    return usable(p) ? p->size_count : 0;
}

static const struct uk_var *size_at(const struct uk_program *p, int i) {
    const struct uk_var *v = usable(p) ? p->sizes : NULL;

    while (v && v->number != i)
        v = v->next;
    return v;
}

const char *uk_program_size_name(const struct uk_program *p, int i) {
    const struct uk_var *v = size_at(p, i);

    return v ? v->name : NULL;
}

int64_t uk_program_size_default(const struct uk_program *p, int i) {
    const struct uk_var *v = size_at(p, i);

    return v && v->has_default ? v->default_value : -1;
}

int uk_program_scalars(const struct uk_program *p) {
    int n = 0;

    for (const struct uk_scalar *s = usable(p) ? p->scalars : NULL; s; s = s->next)
        n++;
    return n;
}

static const struct uk_scalar *scalar_at(const struct uk_program *p, int i) {
    const struct uk_scalar *s = usable(p) && i >= 0 ? p->scalars : NULL;

    for (; s && i; s = s->next)
        i--;
    return s;
}

const char *uk_program_scalar_name(const struct uk_program *p, int i) {
    const struct uk_scalar *s = scalar_at(p, i);

    return s ? s->name : NULL;
}

enum uk_type uk_program_scalar_type(const struct uk_program *p, int i) {
    const struct uk_scalar *s = scalar_at(p, i);

    return s ? s->type : UK_TYPES;
}

const struct uk_tensor *uk_argument_at(const struct uk_program *p, int i) {
    const struct uk_tensor *t = usable(p) && i >= 0 ? p->tensors : NULL;

    for (; t; t = t->next)
        if (t->kind == UK_TENSOR_ARGUMENT && !i--)
            return t;
    return NULL;
}

int uk_program_tensors(const struct uk_program *p) {
    int n = 0;

    for (const struct uk_tensor *t = usable(p) ? p->tensors : NULL; t; t = t->next)
        n += t->kind == UK_TENSOR_ARGUMENT;
    return n;
}

const char *uk_program_tensor_name(const struct uk_program *p, int i) {
    const struct uk_tensor *t = uk_argument_at(p, i);

    return t ? t->name : NULL;
}

enum uk_type uk_program_tensor_type(const struct uk_program *p, int i) {
    const struct uk_tensor *t = uk_argument_at(p, i);

    return t ? t->type : UK_TYPES;
}

bool uk_program_tensor_written(const struct uk_program *p, int i) {
    const struct uk_tensor *t = uk_argument_at(p, i);

    return t && t->is_written;
}

static int64_t size_value(const struct uk_var *v, void *sizes) {
    return ((const int64_t *)sizes)[v->number];
}

int64_t uk_tensor_elements(const struct uk_tensor *t, int64_t (*value)(const struct uk_var *, void *),
                           void *user) {
    int64_t last = 0, step;
    bool overflow = false, empty = false;

    for (int i = 0; i < t->stored_dims; i++) {
        int64_t extent = uk_index_eval(t->stored[i], value, user, &overflow);
        int64_t stride = uk_index_eval(t->stride[i], value, user, &overflow);

        if (overflow || extent < 0 || stride < 0)
            return -1;
        empty = empty || extent == 0;
        if (extent > 1 &&
            (__builtin_mul_overflow(extent - 1, stride, &step) || __builtin_add_overflow(last, step, &last)))
            return -1;
    }
    if (empty)
        return 0;
    /* The size in bytes must be representable too. */
    return last < INT64_MAX / 8 ? last + 1 : -1;
}

int64_t uk_program_tensor_elements(const struct uk_program *p, int i, const int64_t *sizes) {
    const struct uk_tensor *t = uk_argument_at(p, i);

    return t && (sizes || !p->size_count) ? uk_tensor_elements(t, size_value, (void *)(uintptr_t)sizes) : -1;
}
