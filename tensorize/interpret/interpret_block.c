/* SPDX-License-Identifier: Apache-2.0 */
/* Values of an expression at many indices of one iterator at a time: the same arithmetic for each of them, without walking
 * the expression for each. */
#include "interpret.h"

static int64_t step_of(const struct uk_flat *x, int slot) {
    for (int i = 0; i < x->terms; i++)
        if (x->slot[i] == slot)
            return x->coefficient[i];
    return 0;
}

bool uk_is_inside_alike(const struct uk_code *pad, int slot) {
    for (int i = 0; i < pad->dims; i++)
        if (pad->logical[i].trees || step_of(&pad->logical[i], slot))
            return false;
    return true;
}

bool uk_has_blocks(const struct uk_code *c, int slot) {
    if (c->op == UK_E_SELECT || ((c->op == UK_E_ACCESS || c->op == UK_E_INDEX) && c->address.trees) ||
        (c->op == UK_E_PAD && !uk_is_inside_alike(c, slot)))
        return false;
    for (int i = 0; i < 3 && c->arg[i]; i++)
        if (!uk_has_blocks(c->arg[i], slot))
            return false;
    return true;
}

/* An element outside of its tensor is reported as for a single index, and accesses are recorded likewise. */
static void load_one_by_one(struct uk_frame *f, const struct uk_code *c, int slot, int n,
                            union uk_value *value) {
    const int64_t first = f->slot[slot];

    for (int i = 0; i < n; i++) {
        f->slot[slot] = first + i;
        value[i] = uk_run_value(f, c);
    }
    f->slot[slot] = first;
}

static void load(struct uk_frame *f, const struct uk_code *c, int slot, int n, union uk_value *value) {
    const int64_t at = uk_flat_value(f, &c->address), step = step_of(&c->address, slot),
                  elements = c->storage->elements;
    int64_t last;

    if (c->storage->shadow || __builtin_mul_overflow(step, n - 1, &last) ||
        __builtin_add_overflow(at, last, &last) || at < 0 || at >= elements || last < 0 || last >= elements) {
        load_one_by_one(f, c, slot, n, value);
        return;
    }
    const float *floats = (const float *)(const void *)c->storage->base + at;
    if (c->type == UK_F32 && !step) {
        for (int i = 0; i < n; i++)
            value[i].d = (double)*floats;
    } else if (c->type == UK_F32 && step == 1) {
        for (int i = 0; i < n; i++)
            value[i].d = (double)floats[i];
    } else if (c->type == UK_F32) {
        for (int i = 0; i < n; i++)
            value[i].d = (double)floats[i * step];
    } else {
        for (int i = 0; i < n; i++)
            value[i] = uk_load(c->type, c->storage->base, at + i * step);
    }
}

static void combine(const struct uk_code *c, int n, union uk_value *value, const union uk_value *right) {
    const bool is_f32 = c->type == UK_F32;

    if (is_f32 && c->op == UK_E_MUL) {
        for (int i = 0; i < n; i++)
            value[i].d = (double)(float)(value[i].d * right[i].d);
    } else if (is_f32 && c->op == UK_E_ADD) {
        for (int i = 0; i < n; i++)
            value[i].d = (double)(float)(value[i].d + right[i].d);
    } else {
        for (int i = 0; i < n; i++)
            value[i] = uk_binary(c->op, c->type, value[i], right[i]);
    }
}

void uk_run_block(struct uk_frame *f, const struct uk_code *c, int slot, int n, union uk_value *value) {
    union uk_value right[UK_BLOCK];

    switch (c->op) {
    case UK_E_NUMBER:
    case UK_E_SCALAR:
        for (int i = 0; i < n; i++)
            value[i] = c->value;
        return;
    case UK_E_ACCESS:
        load(f, c, slot, n, value);
        return;
    case UK_E_INDEX:
        load_one_by_one(f, c, slot, n, value);
        return;
    case UK_E_PAD:
        uk_run_block(f, c->arg[uk_inside(f, c) ? 0 : 1], slot, n, value);
        return;
    default:
        break;
    }
    uk_run_block(f, c->arg[0], slot, n, value);
    if (c->arg[1]) {
        uk_run_block(f, c->arg[1], slot, n, right);
        combine(c, n, value, right);
        return;
    }
    for (int i = 0; i < n; i++)
        value[i] =
            c->op == UK_E_CAST ? uk_convert(c->from, c->type, value[i]) : uk_unary(c->op, c->type, value[i]);
}

void uk_reduce_block(enum uk_expr_op op, enum uk_type t, int n, union uk_value *sum,
                     const union uk_value *term) {
    if (t == UK_F32 && op == UK_E_ADD) {
        for (int i = 0; i < n; i++)
            sum[i].d = (double)(float)(sum[i].d + term[i].d);
    } else if (t == UK_I32 && op == UK_E_ADD) {
        for (int i = 0; i < n; i++)
            sum[i].i = (int32_t)(uint32_t)((uint64_t)sum[i].i + (uint64_t)term[i].i);
    } else {
        for (int i = 0; i < n; i++)
            sum[i] = uk_reduced(op, t, sum[i], term[i]);
    }
}
