/* SPDX-License-Identifier: Apache-2.0 */
/* Iterates over the logical or the stored indices of an operand, and finds the place of each element. */
#include "verify.h"

static int64_t map_value(const struct uk_var *var, void *box) {
    const struct uk_box *b = box;

    for (int i = 0; i < b->tensor->layout->from_count; i++)
        if (b->tensor->layout->from[i] == var)
            return b->index[i];
    return b->v->size[var->number];
}

int64_t uk_box_offset(struct uk_box *b) {
    const struct uk_tensor *t = b->tensor;
    int64_t at = 0;

    for (int d = 0; d < t->stored_dims; d++) {
        bool overflow = false;
        int64_t i =
            b->logical && t->layout ? uk_index_eval(t->layout->to[d], map_value, b, &overflow) : b->index[d];

        at += i * b->stride[d];
    }
    return at;
}

bool uk_box_begin(struct uk_box *b, struct uk_verifier *v, const struct uk_tensor *t, bool logical) {
    bool any = true;

    *b = (struct uk_box){.v = v, .tensor = t, .logical = logical, .dims = logical ? t->dims : t->stored_dims};
    for (int d = 0; d < t->stored_dims; d++)
        b->stride[d] = uk_verify_value(v, t->stride[d]);
    for (int d = 0; d < b->dims; d++) {
        b->extent[d] = uk_verify_value(v, logical ? t->shape[d] : t->stored[d]);
        any &= b->extent[d] > 0;
    }
    return any;
}

bool uk_box_advance(struct uk_box *b) {
    for (int d = b->dims - 1; d >= 0; d--) {
        if (++b->index[d] < b->extent[d])
            return true;
        b->index[d] = 0;
    }
    return false;
}
