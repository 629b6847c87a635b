/* SPDX-License-Identifier: Apache-2.0 */
/* Operands of operators. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "operators.h"
#include "registry/half.h"

enum { PAGE = 4096, STAGGER = 9 * 64 };

static double bytes_of(const struct bench_op_call *c, bool written) {
    double bytes = 0;
    for (int t = 0; t < c->tensors; t++)
        if (written ? c->tensor[t].is_written : c->tensor[t].is_read)
            bytes += (double)c->tensor[t].touched * (double)c->tensor[t].element;
    return bytes;
}

double bench_op_bytes_in(const struct bench_op_call *c) {
    return bytes_of(c, false);
}

double bench_op_bytes_out(const struct bench_op_call *c) {
    return bytes_of(c, true);
}

int64_t bench_op_elements(const struct bench_op_call *c) {
    int64_t most = 1;
    for (int t = 0; t < c->tensors; t++)
        most = c->tensor[t].touched > most ? c->tensor[t].touched : most;
    return most;
}

void *bench_op_allocate(size_t bytes, int index) {
    char *memory = aligned_alloc(PAGE, (bytes + (size_t)(index * STAGGER) + 2 * PAGE - 1) / PAGE * PAGE);
    return memory ? memory + index * STAGGER : NULL;
}

void bench_op_deallocate(void *memory, int index) {
    if (memory)
        free((char *)memory - index * STAGGER);
}

/* ---- elements ---- */

static bool is_type(const struct bench_op_tensor *t, const char *type) {
    return !strcmp(t->type, type);
}

static bool is_float(const struct bench_op_tensor *t) {
    return t->type[0] == 'f' || is_type(t, "bf16");
}

static bool is_unsigned(const struct bench_op_tensor *t) {
    return t->type[0] == 'u';
}

double bench_op_value(const struct bench_op_tensor *t, const void *data, int64_t i) {
    const unsigned char *at = (const unsigned char *)data + (size_t)i * t->element;
    uint64_t bits = 0;
    double real;
    memcpy(&bits, at, t->element);
    if (is_type(t, "f32"))
        return (double)uk_float_of_bits((uint32_t)bits);
    if (is_type(t, "f16"))
        return (double)uk_from_f16((uint16_t)bits);
    if (is_type(t, "bf16"))
        return (double)uk_from_bf16((uint16_t)bits);
    if (is_type(t, "f64")) {
        memcpy(&real, at, sizeof real);
        return real;
    }
    const int unused = 64 - 8 * (int)t->element;
    return is_unsigned(t) ? (double)bits : (double)((int64_t)(bits << unused) >> unused);
}

static void set_value(const struct bench_op_tensor *t, int64_t i, double value) {
    const float f = (float)value;
    uint64_t bits = (uint64_t)(int64_t)value;
    if (is_type(t, "f32"))
        bits = uk_bits_of_float(f);
    else if (is_type(t, "f16"))
        bits = uk_to_f16(uk_round_f16(f));
    else if (is_type(t, "bf16"))
        bits = uk_to_bf16(f);
    else if (is_type(t, "f64"))
        memcpy(&bits, &value, sizeof bits);
    memcpy((unsigned char *)t->data + (size_t)i * t->element, &bits, t->element); /* little-endian */
}

/* ---- filling ---- */

/* Sets the range of the tensor's values. False: the table's line is wrong. */
static bool set_range(const struct bench_op_call *c, struct bench_op_tensor *t) {
    const bool real = is_float(t);
    t->least = real ? -1 : is_unsigned(t) ? 0 : -128;
    t->most = real ? 1 : is_unsigned(t) ? 256 : 128;
    for (int i = 0; i < c->op->values; i++) {
        const struct bench_op_words *w = &c->op->value[i];
        int64_t size;
        char *end;
        if (strcmp(w->word[0], t->name))
            continue;
        t->least = strtod(w->word[1], &end);
        if (*end)
            return false;
        if (bench_op_number(c->shape, w->word[2], &size))
            t->most = (double)size;
        else
            t->most = strtod(w->word[2], &end);
        return !*end && t->least < t->most;
    }
    return true;
}

static void fill(struct bench_op_tensor *t, uint32_t seed) {
    const bool real = is_float(t);
    uint32_t state = seed;
    for (int64_t i = 0; i < t->elements; i++) {
        state = state * 1664525u + 1013904223u;
        const double above = (t->most - t->least) * ((state >> 8) * 0x1p-24);
        set_value(t, i, t->least + (real ? above : (double)(int64_t)above));
    }
}

bool bench_op_data_create(struct bench_op_call *c, char *message, size_t size) {
    *message = 0;
    for (int i = 0; i < c->tensors; i++) {
        struct bench_op_tensor *t = &c->tensor[i];
        if (!set_range(c, t)) {
            snprintf(message, size, "values %s: expected a number, then a larger number or a size", t->name);
            return false;
        }
        t->touched = bench_op_touched(c->op, c->shape, t->name, t->elements);
        if (t->touched < 1) {
            snprintf(message, size, "touches %s: expected a product of numbers and sizes", t->name);
            return false;
        }
        t->data = bench_op_allocate((size_t)t->elements * t->element, i);
        if (!t->data)
            return false;
        if (t->is_read)
            fill(t, (uint32_t)i + 1);
    }
    return true;
}

void bench_op_data_free(struct bench_op_call *c) {
    for (int i = 0; i < c->tensors; i++)
        bench_op_deallocate(c->tensor[i].data, i);
    c->tensors = 0;
}

void bench_op_spoil(struct bench_op_call *c) {
    for (int i = 0; i < c->tensors; i++)
        if (c->tensor[i].is_written && !c->tensor[i].is_read)
            memset(c->tensor[i].data, 0xff, (size_t)c->tensor[i].elements * c->tensor[i].element);
}
