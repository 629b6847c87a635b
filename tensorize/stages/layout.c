/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts of buffers: every stored dimension is a digit of one of the region's dimensions. */
#include <string.h>
#include "stages.h"

struct uk_buffer_layout uk_layout_plain(int dims) {
    struct uk_buffer_layout l = {.stored = dims};

    for (int d = 0; d < dims; d++)
        l.digit[d] = (struct uk_digit){.dim = d, .divisor = 1};
    return l;
}

struct uk_buffer_layout uk_layout_panel(int dims, int along, int64_t width) {
    struct uk_buffer_layout l = {.stored = dims + 1};
    int n = 1;

    l.digit[0] = (struct uk_digit){.dim = along, .divisor = width};
    for (int d = 0; d < dims; d++)
        if (d != along)
            l.digit[n++] = (struct uk_digit){.dim = d, .divisor = 1};
    l.digit[dims] = (struct uk_digit){.dim = along, .divisor = 1, .modulus = width};
    return l;
}

bool uk_digit_of(const struct uk_map *map, const struct uk_index *e, struct uk_digit *out) {
    int64_t c;

    if (e->op == UK_I_VAR) {
        *out = (struct uk_digit){.dim = -1, .divisor = 1};
        for (int d = 0; d < map->from_count; d++)
            if (map->from[d] == e->var)
                out->dim = d;
        return out->dim >= 0;
    }
    if ((e->op != UK_I_DIV && e->op != UK_I_MOD) || !uk_index_is_int(e->b, &c) || c < 1 ||
        !uk_digit_of(map, e->a, out))
        return false;
    if (e->op == UK_I_MOD) {
        if (out->modulus && out->modulus % c)
            return false;
        out->modulus = c;
        return true;
    }
    if ((out->modulus && out->modulus % c) || __builtin_mul_overflow(out->divisor, c, &out->divisor))
        return false;
    out->modulus /= c;
    return true;
}

/* The digit of the dimension with this divisor; NULL: there is none, or more than one. */
static struct uk_digit *digit_at(struct uk_buffer_layout *l, int dim, int64_t divisor) {
    struct uk_digit *found = NULL;

    for (int k = 0; k < l->stored; k++) {
        if (l->digit[k].dim != dim || l->digit[k].divisor != divisor)
            continue;
        if (found)
            return NULL;
        found = &l->digit[k];
    }
    return found;
}

const char *uk_layout_of_map(const struct uk_map *map, struct uk_buffer_layout *out) {
    *out = (struct uk_buffer_layout){.stored = map->to_count};
    if (map->lane)
        return "the layout has lanes, which only fragments of matrix cores have";
    for (int k = 0; k < map->to_count; k++)
        if (!uk_digit_of(map, map->to[k], &out->digit[k]))
            return "an index of the layout is not one dimension, its quotient or its remainder by a constant";
    for (int d = 0; d < map->from_count; d++) {
        int64_t divisor = 1;
        int digits = 0, all = 0;
        struct uk_digit *at;

        for (int k = 0; k < out->stored; k++)
            all += out->digit[k].dim == d;
        while (divisor && (at = digit_at(out, d, divisor))) {
            digits++;
            if (at->modulus && __builtin_mul_overflow(divisor, at->modulus, &divisor))
                break;
            divisor = at->modulus ? divisor : 0;
        }
        if (digits != all || divisor)
            return "the layout does not give every element one place; write quotients and remainders that "
                   "belong together, as [i / 4, j, i % 4]";
    }
    return NULL;
}

bool uk_layout_is_split(const struct uk_buffer_layout *l, int dim) {
    int digits = 0;

    for (int k = 0; k < l->stored; k++)
        digits += l->digit[k].dim == dim;
    return digits > 1;
}

struct uk_tensor *uk_layout_buffer(struct uk_schedule *s, const struct uk_region *r,
                                   const struct uk_buffer_layout *l, const struct uk_tensor *of,
                                   enum uk_scope scope, const char *name, struct uk_position at) {
    struct uk_arena *a = s->arena;
    struct uk_tensor *t = uk_alloc(a, sizeof *t);
    struct uk_buffer *buffer = uk_alloc(a, sizeof *buffer);
    struct uk_index *elements = uk_index_int(a, 1);

    if (!t || !buffer)
        return NULL;
    *t = (struct uk_tensor){.name = name,
                            .type = of->type,
                            .kind = UK_TENSOR_PACKED,
                            .scope = scope,
                            .dims = l->stored,
                            .stored_dims = l->stored,
                            .align = 64,
                            .at = at,
                            .is_read = true,
                            .is_written = true};
    for (int k = 0; k < l->stored; k++) {
        const struct uk_digit *digit = &l->digit[k];
        struct uk_index *n = uk_index_int(a, digit->modulus);

        if (!digit->modulus) {
            n = scope == UK_SCOPE_GLOBAL ? uk_part_extent(s, &r->part[digit->dim])
                                         : uk_index_int(a, uk_part_constant_extent(&r->part[digit->dim]));
            if (digit->divisor > 1)
                n = uk_index_op(a, UK_I_DIV, uk_index_op(a, UK_I_ADD, n, uk_index_int(a, digit->divisor - 1)),
                                uk_index_int(a, digit->divisor));
        }
        t->shape[k] = t->stored[k] = n;
    }
    for (int k = t->dims - 1; k >= 0; k--) {
        t->stride[k] = l->stride[k] ? uk_index_int(a, l->stride[k]) : elements;
        elements = uk_index_op(a, UK_I_MUL, t->stride[k], t->shape[k]);
    }
    *buffer = (struct uk_buffer){.tensor = t, .elements = elements, .next = s->buffers};
    if (!elements)
        return NULL;
    s->buffers = buffer;
    return t;
}

enum uk_status uk_layout_redirect(struct uk_schedule *s, const struct uk_stage *st, struct uk_operand *o,
                                  const struct uk_region *r, const struct uk_buffer_layout *l,
                                  struct uk_tensor *buffer) {
    struct uk_arena *a = s->arena;
    struct uk_affine index[UK_MAX_DIMS];

    memset(index, 0, sizeof index);
    for (int k = 0; k < l->stored; k++) {
        const struct uk_digit *digit = &l->digit[k];
        struct uk_index *x = uk_part_position(s, st, &r->part[digit->dim], &o->index[digit->dim]);

        if (digit->divisor > 1)
            x = uk_index_op(a, UK_I_DIV, x, uk_index_int(a, digit->divisor));
        if (digit->modulus)
            x = uk_index_op(a, UK_I_MOD, x, uk_index_int(a, digit->modulus));
        enum uk_status status = uk_affine_of(s, st, x, &index[k]);
        if (status)
            return status;
    }
    o->tensor = buffer;
    memcpy(o->index, index, sizeof index);
    return UK_OK;
}
