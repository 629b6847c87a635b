/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The choice between short indices, of 32 bits, and wide ones in kernels of a GPU whose sizes are arguments.
 * A GPU needs several instructions and registers for an integer of 64 bits.
 *
 * Short indices suffice if each tensor, from its first to its last element, and each size are small enough.
 * Strides count as sizes. Kernels compare sums of two sizes at most; offsets are exact for all elements that
 * exist (codegen/address.c).
 */
#include "lower.h"

struct condition {
    struct uk_arena *arena;
    struct uk_index *all; /* NULL: no memory */
};

static void add(struct condition *c, enum uk_index_op relation, struct uk_index *l, int64_t r) {
    struct uk_index *one = uk_index_op(c->arena, relation, l, uk_index_int(c->arena, r));

    c->all = uk_index_op(c->arena, UK_I_AND, c->all, one);
}

static void limit_sizes(struct condition *c, struct uk_var *sizes, int64_t max) {
    for (struct uk_var *v = sizes; v; v = v->next) {
        if (v->defined)
            continue;
        add(c, UK_I_LE, uk_index_var(c->arena, v), max);
        if (!v->is_extent)
            add(c, UK_I_GE, uk_index_var(c->arena, v), 0);
    }
}

static void limit_bytes(struct condition *c, const struct uk_tensor *t, struct uk_index *elements,
                        int64_t bytes) {
    add(c, UK_I_LE, elements, (bytes - 1) / (int64_t)uk_type_bytes(t->type));
}

enum uk_status uk_find_short_indices(struct uk_schedule *s, struct uk_function *f) {
    const int64_t bytes = s->context->short_bytes ? s->context->short_bytes : UK_SHORT_BYTES;
    struct condition c = {s->arena, uk_index_int(s->arena, 1)};
    int64_t always;

    if (!s->target->arch->is_device || !uk_has_size_arguments(s->program))
        return UK_OK;
    limit_sizes(&c, s->program->sizes, (bytes - 1) / 2);
    limit_sizes(&c, s->products, (bytes - 1) / 2);
    for (int i = 0; i < f->tensors; i++)
        if (f->tensor[i]->kind == UK_TENSOR_ARGUMENT)
            limit_bytes(&c, f->tensor[i], uk_elements_of(s->arena, f->tensor[i]), bytes);
    for (const struct uk_buffer *b = f->buffers; b; b = b->next)
        if (b->tensor->scope == UK_SCOPE_GLOBAL)
            limit_bytes(&c, b->tensor, b->elements, bytes);
    if (!c.all)
        return uk_out_of_memory(s->context);
    f->fits = uk_index_is_int(c.all, &always) ? NULL : c.all;
    return UK_OK;
}
