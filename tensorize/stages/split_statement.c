/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `C[m] max= sum(k) ...`: the sum is combined with C by another operation, so it cannot be accumulated in C.
 * A stage with the statement's name computes it into a buffer, and a second stage combines the buffer with C.
 */
#include "stages.h"

static bool grows_in_place(const struct uk_statement *t) {
    static const enum uk_reduce of[] = {[UK_ASSIGN_ADD] = UK_REDUCE_SUM,
                                        [UK_ASSIGN_MULTIPLY] = UK_REDUCE_PROD,
                                        [UK_ASSIGN_MAX] = UK_REDUCE_MAX,
                                        [UK_ASSIGN_MIN] = UK_REDUCE_MIN};

    return t->reduce == UK_REDUCE_NONE || t->assign == UK_ASSIGN || (t->reduce == of[t->assign] && !t->scan);
}

struct uk_tensor *uk_statement_buffer(struct uk_schedule *s, const struct uk_statement *t, const char *name) {
    struct uk_tensor *x = uk_alloc(s->arena, sizeof *x);
    struct uk_buffer *b = uk_alloc(s->arena, sizeof *b);
    struct uk_index *elements = uk_index_int(s->arena, 1);

    if (!x || !b)
        return NULL;
    *x = (struct uk_tensor){.name = name,
                            .type = t->left.tensor->type,
                            .kind = UK_TENSOR_TEMP,
                            .dims = t->left_iterators,
                            .stored_dims = t->left_iterators,
                            .is_written = true,
                            .is_read = true,
                            .at = t->at};
    for (int d = x->dims - 1; d >= 0; d--) {
        x->shape[d] = x->stored[d] = t->extent[d];
        x->stride[d] = elements;
        elements = uk_index_op(s->arena, UK_I_MUL, elements, t->extent[d]);
    }
    *b = (struct uk_buffer){.tensor = x, .elements = elements, .next = s->buffers};
    s->buffers = b;
    return name && elements ? x : NULL;
}

bool uk_statement_element(struct uk_schedule *s, const struct uk_statement *t, struct uk_tensor *x,
                          struct uk_access *out) {
    bool made = true;

    *out = (struct uk_access){.tensor = x, .at = t->at};
    for (int d = 0; d < x->dims; d++)
        made &= (out->index[d] = uk_index_var(s->arena, t->iterator[d])) != NULL;
    return made;
}

struct uk_statement *uk_statement_parts(struct uk_schedule *s, struct uk_statement *t) {
    struct uk_statement *sum = uk_alloc(s->arena, sizeof *sum), *update = uk_alloc(s->arena, sizeof *update);
    struct uk_expr *value = uk_alloc(s->arena, sizeof *value);
    struct uk_tensor *x;

    if (!sum || !update || !value)
        return NULL;
    *sum = *t;
    sum->next = NULL;
    if (grows_in_place(t))
        return sum;
    if (!(x = uk_statement_buffer(s, t, uk_format(s->arena, "%s_value", t->label))))
        return NULL;
    *update = *t;
    update->next = NULL;
    update->label = uk_format(s->arena, "%s_update", t->label);
    update->reduce = UK_REDUCE_NONE;
    update->scan = false;
    update->where = NULL;
    update->reduced = 0;
    update->iterators = t->left_iterators;
    *value = (struct uk_expr){.op = UK_E_ACCESS, .type = x->type, .depth = 1};
    update->right = value;
    sum->assign = UK_ASSIGN;
    sum->next = update;
    return uk_statement_element(s, t, x, &value->access) && uk_statement_element(s, t, x, &sum->left) &&
                   update->label
               ? sum
               : NULL;
}
