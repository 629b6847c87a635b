/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "registry/half.h"
#include "random_data.h"
#include "random_program.h"
#include "same_element.h"

enum { MARGIN_BYTE = 0xa5 };

static size_t room_of(size_t bytes) {
    return (bytes + 3 * RANDOM_DATA_MARGIN - 1) / RANDOM_DATA_MARGIN * RANDOM_DATA_MARGIN;
}

size_t random_data_room(const struct random_data *d, int i) {
    return room_of(d->bytes[i]);
}

static char *block(size_t bytes) {
    const size_t room = room_of(bytes);
    char *p = aligned_alloc(RANDOM_DATA_MARGIN, room);

    assert_non_null(p);
    memset(p, MARGIN_BYTE, room);
    return p;
}

/* Chooses an extent; `which`: 0 small ones, 1 all of them 1, 2 one of them 0. Strides are larger than any
 * row. */
static int64_t size_of(const char *name, uint64_t *x, int which) {
    static const int64_t most[] = {6, 1, 4, 5};

    if (name[0] == 's')
        return 40 + random_below(x, 4);
    if (which == 2 && !random_below(x, 3))
        return 0;
    return 1 + random_below(x, (int)most[which]);
}

void random_data_make(struct random_data *d, struct uk_program *p, uint64_t x, int which) {
    assert_true(uk_program_sizes(p) <= RANDOM_DATA_SIZES);
    for (int i = 0; i < uk_program_sizes(p); i++)
        d->size[i] = size_of(uk_program_size_name(p, i), &x, which);
    random_data_fill(d, p, x);
}

/* Redraws the elements of a tensor of subscripts so that they are within the extent. */
static void fill_indices(const struct random_data *d, const struct uk_program *p, int i, int64_t n,
                         uint64_t *x) {
    const enum uk_type type = uk_program_tensor_type(p, i);
    const struct uk_tensor *t = uk_find_tensor(p, uk_program_tensor_name(p, i));
    int64_t lower, upper;

    if (!uk_element_range(p, t, d->size, &lower, &upper))
        return;
    for (int64_t e = 0; e < n; e++) {
        const int64_t v = lower + (int64_t)(random_next(x) % (uint64_t)(upper - lower));

        memcpy(d->start[i] + RANDOM_DATA_MARGIN + e * (int64_t)uk_type_bytes(type), &v, uk_type_bytes(type));
    }
}

static bool reads(const struct uk_expr *e, const struct uk_tensor *t) {
    if (e->op == UK_E_ACCESS && e->access.tensor == t)
        return true;
    for (int i = 0; i < 3; i++)
        if (e->arg[i] && reads(e->arg[i], t))
            return true;
    return false;
}

/* True if no statement depends on the tensor's contents before the call. */
static bool is_only_written(const struct uk_program *p, const struct uk_tensor *t) {
    bool written = false;

    for (const struct uk_statement *s = p->statements; s; s = s->next) {
        const bool here = s->left.tensor == t;

        if ((here && s->assign != UK_ASSIGN) || reads(s->right, t))
            return false;
        written |= here;
    }
    return written;
}

/* Fills the operand's elements before a call. */
static void fill_operand(const struct random_data *d, const struct uk_program *p, int i, int64_t n,
                         uint64_t *x) {
    const enum uk_type type = uk_program_tensor_type(p, i);
    char *at = d->start[i] + RANDOM_DATA_MARGIN;

    if (is_only_written(p, uk_find_tensor(p, uk_program_tensor_name(p, i))))
        memset(at, 0xff, d->bytes[i]);
    else if (d->small && random_data_mantissa(type) == 0)
        for (int64_t e = 0; e < n; e++) {
            const int64_t v = random_below(x, 8) - (type >= UK_U8 ? 0 : 3);

            memcpy(at + e * (int64_t)uk_type_bytes(type), &v, uk_type_bytes(type));
        }
    else
        random_elements(x, type, at, n);
    fill_indices(d, p, i, n, x);
}

void random_data_fill(struct random_data *d, struct uk_program *p, uint64_t x) {
    d->seed = x;
    d->tensors = uk_program_tensors(p);
    assert_true(d->tensors <= RANDOM_DATA_TENSORS && uk_program_sizes(p) <= RANDOM_DATA_SIZES &&
                uk_program_scalars(p) <= RANDOM_DATA_SCALARS);
    for (int i = 0; i < uk_program_scalars(p); i++)
        d->scalar[i] = random_below(&x, 3);
    for (int i = 0; i < d->tensors; i++) {
        const enum uk_type type = uk_program_tensor_type(p, i);
        const int64_t n = uk_program_tensor_elements(p, i, d->size);

        assert_true(n >= 0);
        d->bytes[i] = (size_t)n * uk_type_bytes(type);
        d->start[i] = block(d->bytes[i]);
        d->wanted[i] = block(d->bytes[i]);
        d->got[i] = block(d->bytes[i]);
        d->allowed[i] = 0;
        fill_operand(d, p, i, n, &x);
        memcpy(d->wanted[i], d->start[i], d->bytes[i] + 2 * RANDOM_DATA_MARGIN);
    }
    if (!d->uninterpreted)
        random_data_interpret(d, p);
}

void random_data_interpret(struct random_data *d, struct uk_program *p) {
    for (int i = 0; i < d->tensors; i++) {
        memcpy(d->wanted[i], d->start[i], d->bytes[i] + 2 * RANDOM_DATA_MARGIN);
        d->origin[i] = d->wanted[i] + RANDOM_DATA_MARGIN;
    }
    d->status = uk_program_interpret(p, d->size, d->scalar, d->origin);
}

bool random_data_is_unchanged(const struct random_data *d) {
    for (int i = 0; i < d->tensors; i++)
        if (memcmp(d->got[i], d->start[i], d->bytes[i] + 2 * RANDOM_DATA_MARGIN))
            return false;
    return true;
}

void random_data_begin(struct random_data *d) {
    for (int i = 0; i < d->tensors; i++) {
        memcpy(d->got[i], d->start[i], d->bytes[i] + 2 * RANDOM_DATA_MARGIN);
        d->origin[i] = d->got[i] + RANDOM_DATA_MARGIN;
    }
}

void random_data_free(struct random_data *d) {
    for (int i = 0; i < d->tensors; i++) {
        free(d->start[i]);
        free(d->wanted[i]);
        free(d->got[i]);
    }
}

int random_data_mantissa(enum uk_type type) {
    static const int bits[UK_TYPES] = {[UK_F64] = 52, [UK_F32] = 23, [UK_F16] = 10, [UK_BF16] = 7};

    return bits[type];
}

double random_data_value(enum uk_type type, const void *from, size_t e) {
    union {
        double d;
        float f;
        uint16_t half;
        int64_t i;
    } v = {.i = 0};
    const size_t bytes = uk_type_bytes(type);
    const int unused = 64 - 8 * (int)bytes;

    memcpy(&v, (const char *)from + e * bytes, bytes);
    switch (type) {
    case UK_F64:
        return v.d;
    case UK_F32:
        return (double)v.f;
    case UK_F16:
        return (double)uk_from_f16(v.half);
    case UK_BF16:
        return (double)uk_from_bf16(v.half);
    case UK_U64:
        return (double)(uint64_t)v.i;
    case UK_U8:
    case UK_U16:
    case UK_U32:
        return (double)v.i;
    default:
        return (double)((int64_t)((uint64_t)v.i << unused) >> unused);
    }
}

void random_data_allow(struct random_data *d, const struct uk_program *p, int i, double ulps,
                       double absolute) {
    const enum uk_type type = uk_program_tensor_type(p, i);
    const int mantissa = random_data_mantissa(type);
    double largest = 0;

    for (size_t e = 0; e < d->bytes[i] / uk_type_bytes(type) && ulps > 0 && mantissa; e++) {
        const double v = fabs(random_data_value(type, d->wanted[i] + RANDOM_DATA_MARGIN, e));

        largest = isfinite(v) && v > largest ? v : largest;
    }
    d->allowed[i] = ulps * ldexp(largest, -mantissa) + absolute;
}

static bool is_same(enum uk_type type, const char *got, const char *wanted, double allowed) {
    return same_element((int)uk_type_bytes(type), random_data_mantissa(type), got, wanted) ||
           (allowed > 0 &&
            fabs(random_data_value(type, got, 0) - random_data_value(type, wanted, 0)) <= allowed);
}

bool random_data_matches(const struct random_data *d, struct uk_program *p, char where[64]) {
    for (int i = 0; i < d->tensors; i++) {
        const enum uk_type type = uk_program_tensor_type(p, i);
        const size_t bytes = uk_type_bytes(type);

        snprintf(where, 64, "the margins of %.20s", uk_program_tensor_name(p, i));
        if (memcmp(d->got[i], d->start[i], RANDOM_DATA_MARGIN) ||
            memcmp(d->got[i] + RANDOM_DATA_MARGIN + d->bytes[i],
                   d->start[i] + RANDOM_DATA_MARGIN + d->bytes[i], RANDOM_DATA_MARGIN))
            return false;
        const char *got = d->got[i] + RANDOM_DATA_MARGIN, *wanted = d->wanted[i] + RANDOM_DATA_MARGIN;
        for (size_t e = 0; e < d->bytes[i] / bytes; e++)
            if (!is_same(type, got + e * bytes, wanted + e * bytes, d->allowed[i])) {
                snprintf(where, 64, "%.10s, element %zu: %.7g, not %.7g", uk_program_tensor_name(p, i), e,
                         random_data_value(type, got, e), random_data_value(type, wanted, e));
                return false;
            }
    }
    return true;
}

void random_data_shape(const struct uk_program *p, const struct random_data *d, char *to, size_t room) {
    size_t n = 0;

    for (int i = 0; i < uk_program_sizes(p) && n < room; i++)
        n += (size_t)snprintf(to + n, room - n, " %s=%" PRId64, uk_program_size_name(p, i), d->size[i]);
}
