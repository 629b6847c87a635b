/* SPDX-License-Identifier: Apache-2.0 */
/* Operands for running a program: allocates, fills and compares them. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "data.h"
#include "shape.h"
#include "uk.h"

enum { GUARD = 256, GUARD_BYTE = 0xA5 };

static int create_array(struct uk_array *a, struct uk_program *p, int i, const int64_t *sizes) {
    const char *name = uk_program_tensor_name(p, i);
    int64_t elements = uk_program_tensor_elements(p, i, sizes);
    size_t element = uk_type_bytes(a->tensor->type), bytes, room;
    if (elements < 0 && uk_program_check_sizes(p, NULL, sizes)) {
        fprintf(stderr, "%s\n", uk_context_message(p->context));
        return UK_EXIT_WRONG;
    }
    if (elements < 0 || __builtin_mul_overflow((size_t)elements, element, &bytes) ||
        __builtin_add_overflow(bytes, (size_t)(2 * GUARD + 63), &room))
        return uk_complain(UK_EXIT_WRONG, "tensor '%s' is too large for 64 bits; choose smaller sizes", name);
    a->elements = (size_t)elements;
    a->is_index = uk_element_range(p, a->tensor, sizes, &a->lower, &a->upper);
    a->bytes = bytes;
    a->memory = aligned_alloc(64, room / 64 * 64);
    if (!a->memory)
        return uk_complain(UK_EXIT_WRONG, "tensor '%s': out of memory for %zu bytes; choose smaller sizes",
                           name, bytes);
    memset(a->memory, GUARD_BYTE, room / 64 * 64);
    a->origin = a->memory + GUARD;
    return UK_EXIT_OK;
}

size_t uk_data_room(const struct uk_array *a) {
    return (a->bytes + 2 * GUARD + 63) / 64 * 64;
}

int uk_data_create(struct uk_data *d, struct uk_program *p, const int64_t *sizes) {
    size_t count = (size_t)uk_program_tensors(p);
    *d = (struct uk_data){.program = p,
                          .array = calloc(count + 1, sizeof *d->array),
                          .origins = calloc(count + 1, sizeof *d->origins)};
    if (!d->array || !d->origins)
        return uk_complain(UK_EXIT_WRONG, "out of memory");
    for (const struct uk_tensor *t = p->tensors; t; t = t->next) {
        if (t->kind != UK_TENSOR_ARGUMENT)
            continue;
        struct uk_array *a = &d->array[d->count];
        a->tensor = t;
        int status = create_array(a, p, d->count, sizes);
        if (status)
            return status;
        d->origins[d->count++] = a->origin;
    }
    return UK_EXIT_OK;
}

void uk_data_free(struct uk_data *d) {
    for (int i = 0; i < d->count; i++)
        free(d->array[i].memory);
    free(d->array);
    free(d->origins);
}

/* Converts to IEEE binary16; exact for integers up to 2^11. */
static uint16_t half_from(double v) {
    int exponent;
    double fraction = frexp(fabs(v), &exponent); /* in [0.5, 1) */
    if (v == 0)
        return 0;
    return (uint16_t)((v < 0 ? 0x8000 : 0) + ((exponent + 14) << 10) + (int)((2 * fraction - 1) * 1024));
}

static double half_to(uint16_t h) {
    int exponent = h >> 10 & 31, fraction = h & 1023;
    double v = exponent == 31  ? (fraction ? NAN : INFINITY)
               : exponent == 0 ? ldexp(fraction, -24)
                               : ldexp(1024 + fraction, exponent - 25);
    return h & 0x8000 ? -v : v;
}

unsigned uk_half_bits(enum uk_type type, double value) {
    float f = (float)value;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return type == UK_F16 ? half_from(value) : bits >> 16;
}

/* Stores a small integer. */
static void set_value(const struct uk_array *a, size_t i, int v) {
    float f = (float)v;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    switch (a->tensor->type) {
    case UK_F64:
        ((double *)a->origin)[i] = v;
        break;
    case UK_F32:
        ((float *)a->origin)[i] = f;
        break;
    case UK_F16:
        ((uint16_t *)a->origin)[i] = half_from(v);
        break;
    case UK_BF16:
        ((uint16_t *)a->origin)[i] = (uint16_t)(bits >> 16);
        break;
    case UK_I64:
        ((int64_t *)a->origin)[i] = v;
        break;
    case UK_I32:
        ((int32_t *)a->origin)[i] = v;
        break;
    case UK_I16:
        ((int16_t *)a->origin)[i] = (int16_t)v;
        break;
    case UK_I8:
        ((int8_t *)a->origin)[i] = (int8_t)v;
        break;
    case UK_U16:
        ((uint16_t *)a->origin)[i] = (uint16_t)abs(v);
        break;
    case UK_U32:
        ((uint32_t *)a->origin)[i] = (uint32_t)abs(v);
        break;
    case UK_U64:
        ((uint64_t *)a->origin)[i] = (uint64_t)abs(v);
        break;
    case UK_U8:
    case UK_TYPES:
        ((uint8_t *)a->origin)[i] = (uint8_t)abs(v);
        break;
    }
}

double uk_data_value(const struct uk_array *a, size_t i) {
    uint32_t bits;
    float f;
    switch (a->tensor->type) {
    case UK_F64:
        return ((const double *)a->origin)[i];
    case UK_F32:
        return ((const float *)a->origin)[i];
    case UK_F16:
        return half_to(((const uint16_t *)a->origin)[i]);
    case UK_BF16:
        bits = (uint32_t)((const uint16_t *)a->origin)[i] << 16;
        memcpy(&f, &bits, sizeof f);
        return f;
    case UK_I64:
        return (double)((const int64_t *)a->origin)[i];
    case UK_I32:
        return ((const int32_t *)a->origin)[i];
    case UK_I16:
        return ((const int16_t *)a->origin)[i];
    case UK_I8:
        return ((const int8_t *)a->origin)[i];
    case UK_U16:
        return ((const uint16_t *)a->origin)[i];
    case UK_U32:
        return ((const uint32_t *)a->origin)[i];
    case UK_U64:
        return (double)((const uint64_t *)a->origin)[i];
    case UK_U8:
    case UK_TYPES:
        break;
    }
    return ((const uint8_t *)a->origin)[i];
}

/* A small integer; for a tensor of subscripts, one within its bounds. */
static int integer_for(const struct uk_array *a, uint32_t random) {
    if (!a->is_index)
        return (int)(random >> 29) - 3;
    const uint64_t all = (uint64_t)a->upper - (uint64_t)a->lower, most = all < INT16_MAX ? all : INT16_MAX;
    const int from = a->lower > INT16_MIN ? (int)a->lower : 0;

    return from + (int)((random >> 16) % most);
}

void uk_data_integers(struct uk_data *d) {
    uint32_t state = 1;
    for (int t = 0; t < d->count; t++)
        for (size_t i = 0; i < d->array[t].elements; i++) {
            state = state * 1664525u + 1013904223u;
            set_value(&d->array[t], i, integer_for(&d->array[t], state));
        }
}

void uk_data_random(struct uk_data *d) {
    for (int t = 0; t < d->count; t++)
        if (d->array[t].tensor->type == UK_F32)
            bench_random(d->array[t].origin, d->array[t].elements, (uint32_t)t + 1);
}

/* Names the element at an offset, such as "C[3, 5]"; false: the offset is in the padding between rows. */
static bool name_element(const struct uk_array *a, size_t offset, const int64_t *sizes,
                         struct uk_text *text) {
    const struct uk_tensor *t = a->tensor;
    int64_t rest = (int64_t)offset, index[UK_MAX_DIMS], taken = -1;
    bool done[UK_MAX_DIMS] = {false};
    for (int round = 0; round < t->stored_dims; round++) {
        int widest = -1;
        for (int d = 0; d < t->stored_dims; d++)
            if (!done[d] && (widest < 0 || uk_value(t->stride[d], sizes) > taken)) {
                widest = d;
                taken = uk_value(t->stride[d], sizes);
            }
        if (widest < 0 || taken <= 0)
            return false;
        done[widest] = true;
        index[widest] = rest / taken;
        rest %= taken;
        if (index[widest] >= uk_value(t->stored[widest], sizes))
            return false;
        taken = -1;
    }
    uk_put(text, "%s%s[", t->name, t->layout ? " as stored, " : "");
    for (int d = 0; d < t->stored_dims; d++)
        uk_put(text, "%s%" PRId64, d ? ", " : "", index[d]);
    uk_put(text, "]");
    return rest == 0;
}

/* True if the values are equal, both NaN, or differ by at most `allowed`. */
static bool same_value(const struct uk_array *x, const struct uk_array *y, size_t i, double allowed) {
    size_t bytes = uk_type_bytes(x->tensor->type);
    const char *p = x->origin, *q = y->origin;
    double a, b;

    if (!memcmp(p + i * bytes, q + i * bytes, bytes))
        return true;
    a = uk_data_value(x, i);
    b = uk_data_value(y, i);
    return a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= allowed;
}

static double allowed_in(const struct uk_array *a, const struct uk_tolerance *tolerance) {
    static const double unit[UK_TYPES] = {
        [UK_F64] = 0x1p-52, [UK_F32] = 0x1p-23, [UK_F16] = 0x1p-10, [UK_BF16] = 0x1p-7};
    double largest = 0;

    if (!tolerance || !a->tensor->is_written)
        return 0;
    for (size_t i = 0; i < a->elements && tolerance->ulps > 0; i++) {
        double v = fabs(uk_data_value(a, i));

        largest = isfinite(v) && v > largest ? v : largest;
    }
    return tolerance->ulps * unit[a->tensor->type] * largest + tolerance->absolute;
}

static bool same_guards(const struct uk_array *x, const struct uk_array *y) {
    return !memcmp(x->memory, y->memory, GUARD) &&
           !memcmp(x->memory + GUARD + x->bytes, y->memory + GUARD + y->bytes, GUARD);
}

/* Advice about a difference. The program's own kernels may be wrong; where rounding is tolerated,
 * cancellation or a comparison may enlarge an error. */
static const char *advice(const struct uk_program *p, const struct uk_tolerance *allowed) {
    if (p->intrinsics)
        return "the program has kernels of its own: `uk verify` compares them with their declarations";
    if (allowed && (allowed->ulps > 0 || allowed->absolute > 0))
        return "that exceeds the tolerance, which covers roundings, but neither cancellation nor comparisons "
               "of nearly equal values; look for these in the program";
    return "please report this program";
}

bool uk_data_equal(const struct uk_data *got, const struct uk_data *expected, const int64_t *sizes,
                   const struct uk_tolerance *each) {
    for (int t = 0; t < got->count; t++) {
        const struct uk_array *x = &got->array[t], *y = &expected->array[t];
        double allowed = allowed_in(y, each ? &each[t] : NULL);
        for (size_t i = 0; i < x->elements; i++) {
            struct uk_text text = {0};
            if (same_value(x, y, i, allowed))
                continue;
            if (name_element(x, i, sizes, &text))
                uk_complain(0, "%s is %.9g, but the interpreter's is %.9g; %s", text.text,
                            uk_data_value(x, i), uk_data_value(y, i),
                            advice(got->program, each ? &each[t] : NULL));
            else
                uk_complain(0, "%s: offset %zu between the rows was changed from %.9g to %.9g; %s",
                            x->tensor->name, i, uk_data_value(x, i), uk_data_value(y, i),
                            advice(got->program, NULL));
            free(text.text);
            return false;
        }
        if (!same_guards(x, y)) {
            uk_complain(0, "%s: memory outside the tensor was written; %s", x->tensor->name,
                        advice(got->program, NULL));
            return false;
        }
    }
    return true;
}
