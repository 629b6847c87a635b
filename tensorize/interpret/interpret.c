/* SPDX-License-Identifier: Apache-2.0 */
/* Runs programs and declarations as written; the results are correct by definition. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "interpret.h"
#include "target/target.h"

static bool check_shape(struct uk_frame *f, const struct uk_tensor *t) {
    bool overflow = false;

    for (int i = 0; i < t->dims; i++)
        if (uk_index_eval(t->shape[i], uk_frame_value, f, &overflow) < 0 || overflow)
            return uk_frame_fail(f, UK_INVALID_SIZE, t->at, t->name,
                                 "has an extent that is negative or overflows; use another size");
    for (int i = 0; t->has_over && i < t->dims; i++)
        if (uk_index_eval(t->over[i], uk_frame_value, f, &overflow) <
                uk_index_eval(t->shape[i], uk_frame_value, f, &overflow) ||
            overflow)
            return uk_frame_fail(f, UK_INVALID_SIZE, t->at, t->name,
                                 "has an `over` that is smaller than its shape; use other sizes");
    return true;
}

static bool add_storage(struct uk_frame *f, const struct uk_tensor *t, void *base) {
    struct uk_storage *s = &f->storage[f->storages++];

    if (!check_shape(f, t))
        return false;
    s->tensor = t;
    s->elements = uk_tensor_elements(t, uk_frame_value, f);
    s->base = base;
    if (s->elements < 0)
        return uk_frame_fail(f, UK_INVALID_SIZE, t->at, t->name,
                             "is too large for this address space; use smaller sizes");
    if (t->kind == UK_TENSOR_TEMP && !f->only_checks) {
        s->base = uk_alloc(&f->arena, (size_t)s->elements * uk_type_bytes(t->type) + 1);
        if (!s->base) {
            f->status = uk_out_of_memory(f->context);
            return false;
        }
    }
    if (!s->base && s->elements)
        return uk_frame_fail(f, UK_INVALID_ARGUMENT, t->at, t->name, "is NULL; pass its address");
    return true;
}

static bool check_assumptions(struct uk_frame *f, const struct uk_program *p, enum uk_status broken) {
    for (const struct uk_assume *a = p->assumes; a; a = a->next) {
        struct uk_text t = {0};
        bool overflow = false;

        if (uk_index_eval(a->relation, uk_frame_value, f, &overflow) && !overflow)
            continue;
        uk_print_index(&t, a->relation);
        uk_frame_fail(f, broken, a->at, t.text ? t.text : "an assumption", "does not hold; use other sizes");
        uk_text_free(t.text);
        return false;
    }
    return true;
}

enum uk_status uk_prepare_storage(struct uk_frame *f, struct uk_program *p, void *const *tensor,
                                  enum uk_status broken) {
    size_t n = 0;

    for (const struct uk_tensor *t = p->tensors; t; t = t->next)
        n++;
    f->storage = uk_alloc(&f->arena, (n + 1) * sizeof *f->storage);
    f->slots = 2 * UK_MAX_DIMS;
    f->slot = uk_alloc(&f->arena, (size_t)f->slots * sizeof *f->slot);
    f->scalars = p->scalars;
    if (!f->storage || !f->slot)
        return f->status = uk_out_of_memory(f->context);
    if (!check_assumptions(f, p, broken))
        return f->status;
    n = 0;
    for (const struct uk_tensor *t = p->tensors; t; t = t->next, n++)
        if (!add_storage(f, t, tensor ? tensor[n] : NULL))
            return f->status;
    return UK_OK;
}

enum uk_status uk_prepare(struct uk_frame *f, struct uk_program *p, void *const *tensor,
                          enum uk_status broken) {
    if (uk_prepare_storage(f, p, tensor, broken))
        return f->status;
    for (struct uk_statement *s = p->statements; s; s = s->next)
        if (uk_run_statement(f, s, UK_FORM_COMPUTE, true))
            return f->status;
    return UK_OK;
}

enum uk_status uk_check_values(struct uk_program *p, const struct uk_values *v) {
    if ((!v->size && p->size_count) || (!v->scalar && p->scalars) || (!v->tensor && p->tensors))
        return uk_fail(
            p->context, UK_INVALID_ARGUMENT, (struct uk_position){0, 0},
            "sizes, scalars or tensors are NULL; pass an array for each kind that the program has");
    return UK_OK;
}

enum uk_status uk_interpret(struct uk_program *p, const struct uk_values *v) {
    struct uk_frame f = {.context = p->context, .size = v->size, .scalar = v->scalar};
    enum uk_status status = uk_program_check(p);

    if (!status)
        status = uk_check_values(p, v);
    if (!status)
        status = uk_prepare(&f, p, v->tensor, UK_INVALID_SIZE);
    if (!status)
        status = uk_check_overlap(p, v->size);
    for (struct uk_statement *s = p->statements; s && !status; s = s->next)
        if (!(status = uk_check_elements(&f, s)))
            status = uk_run_statement(&f, s, UK_FORM_COMPUTE, false);
    uk_arena_free(&f.arena);
    return status;
}

/* A reset stores the value of an empty sum, and skips the statements before `computes`; those copy values
 * that the other forms read. */
enum uk_status uk_run_form(struct uk_frame *f, const struct uk_intrinsic *i, enum uk_form_kind form) {
    enum uk_status status = UK_OK;

    for (struct uk_statement *s = i->declaration->statements; s != i->computes && !status; s = s->next)
        if (form != UK_FORM_RESET)
            status = uk_run_statement(f, s, UK_FORM_COMPUTE, false);
    return status ? status : uk_run_statement(f, i->computes, form, false);
}

enum uk_status uk_interpret_form(struct uk_intrinsic *i, enum uk_form_kind form, const struct uk_values *v) {
    struct uk_program *p = i->declaration;
    struct uk_frame f = {.context = p->context, .size = v->size, .scalar = v->scalar};
    enum uk_status status = uk_check_values(p, v);

    if (!status)
        status = uk_prepare(&f, p, v->tensor, UK_INVALID_SIZE);
    if (!status)
        status = uk_run_form(&f, i, form);
    uk_arena_free(&f.arena);
    return status;
}

enum uk_status uk_interpret_points(struct uk_intrinsic *i, enum uk_form_kind form, const struct uk_values *v,
                                   const struct uk_points *points) {
    struct uk_program *p = i->declaration;
    struct uk_frame f = {.context = p->context, .size = v->size, .scalar = v->scalar};
    enum uk_status status = uk_check_values(p, v);

    if (!status)
        status = uk_prepare_storage(&f, p, v->tensor, UK_INVALID_SIZE);
    if (!status)
        status = uk_run_points(&f, i->computes, form, points);
    uk_arena_free(&f.arena);
    return status;
}

/* A caller's inputs, in the form of a run. */
struct given {
    struct uk_arena arena;
    struct uk_values values;
};

static enum uk_status take(struct uk_program *p, const int64_t *sizes, const double *scalars,
                           void *const *tensors, struct given *g) {
    enum uk_status status = uk_program_check(p);
    size_t n = 0, k = 0;

    if (status || (status = uk_check_has_statement(p, (struct uk_position){0, 0})))
        return status;
    if ((!sizes && p->size_count) || (!tensors && uk_program_tensors(p)))
        return uk_fail(p->context, UK_INVALID_ARGUMENT, (struct uk_position){0, 0},
                       "sizes or tensors are NULL; pass an array for each kind that the program has");
    for (const struct uk_tensor *t = p->tensors; t; t = t->next)
        n++;
    int64_t *size = uk_alloc(&g->arena, ((size_t)p->size_count + 1) * sizeof *size);
    void **tensor = uk_alloc(&g->arena, (n + 1) * sizeof *tensor);

    if (!size || !tensor)
        return uk_out_of_memory(p->context);
    for (const struct uk_var *s = p->sizes; s; s = s->next)
        size[s->number] = s->defined ? s->value : sizes[s->number];
    n = 0;
    for (const struct uk_tensor *t = p->tensors; t; t = t->next, n++)
        tensor[n] = t->kind == UK_TENSOR_ARGUMENT ? tensors[k++] : NULL;
    g->values = (struct uk_values){.size = size, .scalar = scalars, .tensor = tensor};
    return UK_OK;
}

enum uk_status uk_program_interpret(struct uk_program *p, const int64_t *sizes, const double *scalars,
                                    void *const *tensors) {
    struct given g = {.arena = {0}};
    enum uk_status status = take(p, sizes, scalars, tensors, &g);

    if (!status)
        status = uk_interpret(p, &g.values);
    uk_arena_free(&g.arena);
    return status;
}

/* Per call; callers with more elements make several calls. */
enum { MAX_ELEMENTS = 1 << 30 };

enum uk_status uk_program_interpret_elements(struct uk_program *p, const struct uk_options *options,
                                             const int64_t *sizes, const double *scalars,
                                             void *const *tensors, int tensor, int64_t count,
                                             const int64_t *element, void *result, double *error) {
    struct given g = {.arena = {0}};
    enum uk_status status = take(p, sizes, scalars, tensors, &g);
    const struct uk_target *target = NULL;

    if (!status)
        status = uk_target_chosen(p->context, options, &target);
    const struct uk_tensor *t = status ? NULL : p->tensors;
    int number = 0;

    for (int i = tensor; t && (i > 0 || t->kind != UK_TENSOR_ARGUMENT); t = t->next, number++)
        i -= t->kind == UK_TENSOR_ARGUMENT;
    if (!status && (tensor < 0 || !t || (count && (!element || !result || !error))))
        status = uk_fail(p->context, UK_INVALID_ARGUMENT, (struct uk_position){0, 0},
                         "elements of tensor %d: no such tensor, or an array is NULL", tensor);
    if (!status && (count < 0 || count > MAX_ELEMENTS))
        status = uk_fail(p->context, UK_INVALID_ARGUMENT, (struct uk_position){0, 0},
                         "%" PRId64 " elements; give 0 to %d at a time", count, MAX_ELEMENTS);
    if (!status)
        status = uk_interpret_elements(p, &g.values,
                                       &(struct uk_elements){number, count, element, result, error,
                                                             target->arch->flushes,
                                                             target->machine.core.device.matrix_flush});
    uk_arena_free(&g.arena);
    return status;
}
