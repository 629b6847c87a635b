/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluates an expression at many indices of one iterator at once: the same arithmetic at each index, without
 * walking the expression for each. */
#include <string.h>
#include "interpret.h"

static int64_t step_of(const struct uk_flat *x, int slot) {
    for (int i = 0; i < x->terms; i++)
        if (x->slot[i] == slot)
            return x->coefficient[i];
    return 0;
}

bool uk_pad_is_uniform(const struct uk_code *pad, int slot) {
    for (int i = 0; i < pad->dims; i++)
        if (pad->logical[i].trees || step_of(&pad->logical[i], slot))
            return false;
    return true;
}

bool uk_has_blocks(const struct uk_code *c, int slot) {
    if (c->op == UK_E_SELECT || ((c->op == UK_E_ACCESS || c->op == UK_E_INDEX) && c->address.trees) ||
        (c->op == UK_E_PAD && !uk_pad_is_uniform(c, slot)))
        return false;
    for (int i = 0; i < 3 && c->arg[i]; i++)
        if (!uk_has_blocks(c->arg[i], slot))
            return false;
    return true;
}

/* Goes index by index if an element may be outside its tensor or accesses are recorded. */
static void load_one_by_one(struct uk_frame *f, const struct uk_code *c, int slot, int n,
                            union uk_value *value) {
    const int64_t first = f->slot[slot];

    for (int i = 0; i < n; i++) {
        f->slot[slot] = first + i;
        value[i] = uk_run_value(f, c);
    }
    f->slot[slot] = first;
}

static void repeat(union uk_value v, int n, union uk_value *value) {
    for (int i = 0; i < n; i++)
        value[i] = v;
}

static double bf16_value(uint16_t high) {
    const uint32_t bits = (uint32_t)high << 16;
    float f;

    memcpy(&f, &bits, sizeof f);
    return (double)f;
}

/* value[i] = uk_load(t, base, at + i * step); a step of 1 gives a vectorizable loop. */
static void load_elements(enum uk_type t, const char *base, int64_t at, int64_t step, int n,
                          union uk_value *value) {
#define LOAD(element, member, conversion)                                     \
    do {                                                                      \
        const element *const from = (const element *)(const void *)base + at; \
                                                                              \
        for (int i = 0; step == 1 && i < n; i++)                              \
            value[i].member = conversion(from[i]);                            \
        for (int i = 0; step != 1 && i < n; i++)                              \
            value[i].member = conversion(from[i * step]);                     \
    } while (0)
    switch (t) {
    case UK_F32:
        LOAD(float, d, (double));
        break;
    case UK_BF16:
        LOAD(uint16_t, d, bf16_value);
        break;
    case UK_I32:
        LOAD(int32_t, i, (int64_t));
        break;
    case UK_I8:
        LOAD(int8_t, i, (int64_t));
        break;
    case UK_U8:
        LOAD(uint8_t, i, (int64_t));
        break;
    default:
        for (int i = 0; i < n; i++)
            value[i] = uk_load(t, base, at + i * step);
    }
#undef LOAD
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
    if (step)
        load_elements(c->type, c->storage->base, at, step, n, value);
    else
        repeat(uk_load(c->type, c->storage->base, at), n, value);
}

static int64_t wrap_i32(uint64_t v) {
    return (int32_t)(uint32_t)v;
}

static void combine(const struct uk_code *c, int n, union uk_value *value, const union uk_value *right) {
    if (c->type == UK_F32 && c->op == UK_E_MUL) {
        for (int i = 0; i < n; i++)
            value[i].d = (double)(float)(value[i].d * right[i].d);
    } else if (c->type == UK_F32 && c->op == UK_E_ADD) {
        for (int i = 0; i < n; i++)
            value[i].d = (double)(float)(value[i].d + right[i].d);
    } else if (c->type == UK_I32 && c->op == UK_E_MUL) {
        for (int i = 0; i < n; i++)
            value[i].i = wrap_i32((uint64_t)value[i].i * (uint64_t)right[i].i);
    } else if (c->type == UK_I32 && c->op == UK_E_ADD) {
        for (int i = 0; i < n; i++)
            value[i].i = wrap_i32((uint64_t)value[i].i + (uint64_t)right[i].i);
    } else {
        for (int i = 0; i < n; i++)
            value[i] = uk_binary(c->op, c->type, value[i], right[i]);
    }
}

/* True if every value of `from` is a value of `to`. */
static bool has_all_values(enum uk_type to, enum uk_type from) {
    if (uk_type_is_float(to) != uk_type_is_float(from))
        return false;
    if (uk_type_is_unsigned(to) && !uk_type_is_unsigned(from))
        return false;
    return to == from || (uk_type_bytes(to) > uk_type_bytes(from));
}

/* Applies a unary operation to value[0..n). */
static void apply(const struct uk_code *c, int n, union uk_value *value) {
    if (c->op != UK_E_CAST) {
        for (int i = 0; i < n; i++)
            value[i] = uk_unary(c->op, c->type, value[i]);
    } else if (!has_all_values(c->type, c->from)) {
        for (int i = 0; i < n; i++)
            value[i] = uk_convert(c->from, c->type, value[i]);
    }
}

void uk_run_block(struct uk_frame *f, const struct uk_code *c, int slot, int n, union uk_value *value) {
    union uk_value right[UK_BLOCK];

    switch (c->op) {
    case UK_E_NUMBER:
    case UK_E_SCALAR:
        repeat(c->value, n, value);
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
    apply(c, n, value);
}

void uk_reduce_block(enum uk_expr_op op, enum uk_type t, int n, union uk_value *sum,
                     const union uk_value *term) {
    if (t == UK_F32 && op == UK_E_ADD) {
        for (int i = 0; i < n; i++)
            sum[i].d = (double)(float)(sum[i].d + term[i].d);
    } else if (t == UK_I32 && op == UK_E_ADD) {
        for (int i = 0; i < n; i++)
            sum[i].i = wrap_i32((uint64_t)sum[i].i + (uint64_t)term[i].i);
    } else {
        for (int i = 0; i < n; i++)
            sum[i] = uk_reduced(op, t, sum[i], term[i]);
    }
}
