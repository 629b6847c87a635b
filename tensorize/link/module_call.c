/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of a module's functions, or of the interpreter, with arguments in arrays. */
#include <stdlib.h>
#include "module.h"
#include "interpret/interpret.h"

/* Largest packed form, in bytes, that is interpreted; for larger ones compiling is faster. */
enum { MOST_INTERPRETED = 1 << 18 };

/* Expands the sizes that are not defined, as callers pass them, to all sizes, as the interpreter numbers
 * them. NULL: out of memory. */
static int64_t *all_sizes(const struct uk_program *p, const int64_t *sizes) {
    int64_t *size = calloc((size_t)p->size_count + 1, sizeof *size);
    int given = 0;

    for (const struct uk_var *v = p->sizes; v && size; v = v->next)
        size[v->number] = v->defined ? v->value : sizes[given++];
    return size;
}

static int interpret(struct uk_function *f, const int64_t *sizes, const double *scalars,
                     void *const *tensors) {
    int64_t *size = all_sizes(f->program, sizes);
    void **tensor = calloc((size_t)f->tensors + 1, sizeof *tensor);
    int s = UK_OUT_OF_MEMORY, given = 0;

    if (size && tensor) {
        for (int i = 0; i < f->tensors; i++)
            if (f->tensor[i]->kind == UK_TENSOR_ARGUMENT)
                tensor[i] = tensors[given++];
        struct uk_values v = {size, scalars, (void *const *)tensor};

        s = (int)uk_interpret_function(f, &v, 0xff);
    }
    free(size);
    free(tensor);
    return s;
}

int uk_module_call(const struct uk_module *m, const int64_t *sizes, const double *scalars,
                   void *const *tensors) {
    if (!m || (!m->call && !m->program) || (m->takes_sizes && !sizes) || (m->takes_scalars && !scalars) ||
        (m->takes_tensors && !tensors))
        return UK_INVALID_ARGUMENT;
    return m->call ? m->call(sizes, scalars, tensors) : interpret(m->function, sizes, scalars, tensors);
}

/* ---- constant tensors ---- */

const struct uk_packed *uk_packed_at(const struct uk_function *f, int i) {
    const struct uk_packed *k = f->packed;
    int t = 0;

    for (; t < f->tensors && (f->tensor[t]->kind != UK_TENSOR_ARGUMENT || i-- > 0); t++)
        ;
    while (k && (t == f->tensors || k->form != f->tensor[t]))
        k = k->next;
    return k;
}

static const struct uk_packed *interpreted_at(const struct uk_module *m, const int64_t *sizes, int tensor) {
    return m && m->program && tensor >= 0 && (sizes || !m->takes_sizes) ? uk_packed_at(m->function, tensor)
                                                                        : NULL;
}

static const struct uk_module_packing *compiled_at(const struct uk_module *m, const int64_t *sizes,
                                                   int tensor) {
    return m && m->packing && tensor >= 0 && tensor < m->arguments && m->packing[tensor].pack &&
                   (sizes || !m->takes_sizes)
               ? &m->packing[tensor]
               : NULL;
}

struct sizes {
    const struct uk_program *program;
    const int64_t *given; /* the sizes that are not defined */
};

static int64_t value(const struct uk_var *v, void *sizes) {
    const struct sizes *s = sizes;
    bool overflow = false;
    int i = 0;

    if (v->definition) /* a size of the schedule; entry checks refuse values that overflow */
        return uk_index_eval(v->definition, value, sizes, &overflow);
    for (const struct uk_var *w = s->program->sizes; w != v; w = w->next)
        i += !w->defined;
    return v->defined ? v->value : s->given[i];
}

/* Computes the bytes as generated code does. */
static int64_t bytes_of(const struct uk_program *p, const struct uk_packed *k, const int64_t *given) {
    struct sizes sizes = {p, given};
    int64_t bytes = -1;
    bool bad = false, overflow = false;

    for (const struct uk_var *v = p->sizes; v && !bad; v = v->next)
        bad = v->is_extent && value(v, &sizes) < 0;
    for (int d = 0; d < k->tensor->dims && !bad; d++)
        bad = uk_index_eval(k->tensor->shape[d], value, &sizes, &overflow) < 0;
    if (!bad)
        bytes = uk_index_eval(k->bytes, value, &sizes, &overflow);
    return overflow || bytes < 0 ? -1 : bytes;
}

int64_t uk_module_packed_bytes(const struct uk_module *m, const int64_t *sizes, int tensor) {
    const struct uk_module_packing *compiled = compiled_at(m, sizes, tensor);
    const struct uk_packed *k = interpreted_at(m, sizes, tensor);

    if (k)
        return bytes_of(m->program, k, sizes);
    return compiled ? compiled->bytes(sizes, NULL, NULL) : -1;
}

static bool calls_kernel(const struct uk_node *n) {
    bool calls = false;

    for (; n && !calls; n = n->next)
        calls = n->op == UK_N_CALL || calls_kernel(n->body) || calls_kernel(n->other);
    return calls;
}

/* Compiles the packing of a large tensor for this process, on behalf of a module that interprets loops of any
 * target. */
static enum uk_status compile_packing(struct uk_module *m, int tensor, const struct uk_packed *k,
                                      const struct uk_module **code) {
    struct uk_context *c = m->program->context;
    const struct uk_target *own;

    if (!m->packs && !(m->packs = calloc((size_t)m->function->tensors, sizeof *m->packs)))
        return uk_out_of_memory(c);
    m->arguments = m->function->tensors;
    if (!m->packs[tensor]) {
        struct uk_module *made = uk_module_create();
        enum uk_status s = made ? uk_target_find(c, "native", &own) : uk_out_of_memory(c);

        if (!s)
            s = uk_module_build(c, k->pack, own, made);
        if (s) {
            uk_module_destroy(made);
            return s;
        }
        m->packs[tensor] = made;
    }
    *code = m->packs[tensor];
    return UK_OK;
}

static int pack(struct uk_module *m, const int64_t *sizes, int tensor, const struct uk_packed *k,
                void *const *operand) {
    struct uk_context *c = m->program->context;
    const int64_t bytes = bytes_of(m->program, k, sizes);
    const struct uk_module *code = NULL;

    uk_context_enter(c, m->program->file);
    if (bytes > 0 && (!operand[0] || !operand[1]))
        return UK_INVALID_ARGUMENT;
    if (m->function->schedule->is_automatic && !m->function->schedule->target->interpreted && k->copies)
        return uk_fail(c, UK_REFUSED, k->tensor->at,
                       "%s cannot be packed for an automatic schedule, as generated code may have another "
                       "one; pass the steps that UK_EMIT_SCHEDULE prints to uk_program_schedule() before",
                       k->tensor->name);
    if (bytes > MOST_INTERPRETED && !calls_kernel(k->pack->body) && !uk_has_imports(m->program)) {
        enum uk_status s = compile_packing(m, tensor, k, &code);

        if (s)
            return s;
    }
    return code ? code->call(sizes, NULL, operand) : interpret(k->pack, sizes, NULL, operand);
}

int uk_module_pack(struct uk_module *m, const int64_t *sizes, int tensor, const void *data, void *packed) {
    const struct uk_module_packing *compiled = compiled_at(m, sizes, tensor);
    const struct uk_packed *k = interpreted_at(m, sizes, tensor);
    void *const operand[] = {(void *)(uintptr_t)data, packed};

    if (k)
        return pack(m, sizes, tensor, k, operand);
    return compiled ? compiled->pack(sizes, NULL, operand) : UK_INVALID_ARGUMENT;
}
