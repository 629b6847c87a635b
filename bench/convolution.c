/* SPDX-License-Identifier: Apache-2.0 */
/* The operands of a convolution, and the check of a library's result. */
#define _POSIX_C_SOURCE 200809L
#include "bench.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bytes before and after an operand: kernels of others may read beyond it. */
enum { ROOM = 4096 };

static size_t element_bytes(const struct bench_convolution *v) {
    return v->type == BENCH_CONV_F32 ? sizeof(float) : 1;
}

static void *allocate(size_t bytes) {
    char *memory = aligned_alloc(4096, (bytes + 2 * ROOM + 4095) / 4096 * 4096);
    if (!memory)
        return NULL;
    memset(memory, 0, bytes + 2 * ROOM);
    return memory + ROOM;
}

/* An element in [least, least + values): in f32 sums of 2048 x 49 products are below 2^24; pairs of products
 * of bytes are below 2^15, which is exact even where they are added in 16 bits. */
static void fill(const struct bench_convolution *v, void *to, int64_t count, uint32_t seed, int least,
                 int values) {
    uint32_t state = seed;
    for (int64_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        const int value = least + (int)((state >> 16) * (uint32_t)values >> 16);
        if (v->type == BENCH_CONV_F32)
            ((float *)to)[i] = (float)value;
        else
            ((unsigned char *)to)[i] = (unsigned char)value;
    }
}

/* The power of two that spreads the results over the values of u8. */
static float scale_for(const struct bench_conv_shape *s, int64_t channel) {
    const double terms = (double)(s->r * s->s * (s->c / s->groups));
    return (float)ldexp(1, (int)floor(log2(255 / (3 * 73 * 37 * sqrt(terms)))) + (int)(channel % 2));
}

enum uk_status bench_convolution_create(struct bench_convolution *v, const struct bench_conv_shape *s,
                                        enum bench_conv_type type) {
    int64_t weights, results;
    const int64_t images = bench_conv_elements(s, &weights, &results);
    const bool bytes = type == BENCH_CONV_U8I8;
    *v = (struct bench_convolution){.type = type, .shape = s};
    v->x_bytes = (size_t)images * element_bytes(v);
    v->f_bytes = (size_t)weights * element_bytes(v);
    v->y_bytes = (size_t)results * element_bytes(v);
    v->x = allocate(v->x_bytes);
    v->f = allocate(v->f_bytes);
    v->y = allocate(v->y_bytes);
    if (bytes)
        v->scale = allocate((size_t)s->o * sizeof(float));
    if (!v->x || !v->f || !v->y || (bytes && !v->scale))
        return UK_OUT_OF_MEMORY;
    fill(v, v->x, images, 1, bytes ? 0 : -8, bytes ? 128 : 17);
    fill(v, v->f, weights, 2, bytes ? -63 : -4, bytes ? 127 : 9);
    for (int64_t o = 0; bytes && o < s->o; o++)
        v->scale[o] = scale_for(s, o);
    return UK_OK;
}

void bench_convolution_free(struct bench_convolution *v) {
    void *const all[] = {v->x, v->f, v->y, v->scale};
    for (int i = 0; i < 4; i++)
        if (all[i])
            free((char *)all[i] - ROOM);
    *v = (struct bench_convolution){0};
}

/* ---- the check ---- */

/* The place of a result. */
struct place {
    int64_t n, p, q, o;
};

static double value_of(const struct bench_convolution *v, const void *from, int64_t i, bool is_signed) {
    if (v->type == BENCH_CONV_F32)
        return (double)((const float *)from)[i];
    return is_signed ? ((const signed char *)from)[i] : ((const unsigned char *)from)[i];
}

static double sum_at(const struct bench_convolution *v, struct place at) {
    const struct bench_conv_shape *s = v->shape;
    const int64_t channels = s->c / s->groups, first = at.o / (s->o / s->groups) * channels;
    double sum = 0;
    for (int64_t r = 0; r < s->r; r++)
        for (int64_t t = 0; t < s->s; t++) {
            const int64_t y = at.p * s->stride + r * s->dilation - bench_conv_above(s),
                          x = at.q * s->stride + t * s->dilation - bench_conv_left(s);
            if (y < 0 || y >= s->h || x < 0 || x >= s->w)
                continue;
            for (int64_t c = 0; c < channels; c++)
                sum += value_of(v, v->x, ((at.n * s->h + y) * s->w + x) * s->c + first + c, false) *
                       value_of(v, v->f, ((r * s->s + t) * channels + c) * s->o + at.o, true);
        }
    return sum;
}

/* The result that all libraries must have. */
static double right_value(const struct bench_convolution *v, struct place at) {
    const double sum = sum_at(v, at);
    if (v->type == BENCH_CONV_F32)
        return sum;
    const double rounded = nearbyint(sum * (double)v->scale[at.o]);
    return rounded < 0 ? 0 : rounded > 255 ? 255 : rounded;
}

static bool is_right(const struct bench_convolution *v, int64_t i) {
    const struct bench_conv_shape *s = v->shape;
    const int64_t rows = bench_conv_rows(s), columns = bench_conv_columns(s);
    const struct place at = {i / s->o / columns / rows, i / s->o / columns % rows, i / s->o % columns,
                             i % s->o};
    /* A NaN is not equal. */
    return value_of(v, v->y, i, false) == right_value(v, at);
}

/* The distance of compared elements: 1, or more if checking all would take longer than some 20 milliseconds.
 * Odd and no multiple of the channels, so that samples cover all of them. */
static int64_t sample_step(const struct bench_conv_shape *s, int64_t all) {
    const int64_t multiply_adds = 10000000, terms = s->r * s->s * (s->c / s->groups);
    const int64_t samples = multiply_adds / (terms + 1) + 256;
    if (samples >= all)
        return 1;
    const int64_t step = all / samples | 1;
    return s->o > 1 && step % s->o == 0 ? step + 2 : step;
}

bool bench_convolution_check(const struct bench_convolution *v, struct bench_call *call) {
    int64_t weights, results;
    bench_conv_elements(v->shape, &weights, &results);
    const int64_t step = sample_step(v->shape, results), o = v->shape->o,
                  row = o * bench_conv_columns(v->shape);
    memset(v->y, 0xff, v->y_bytes); /* NaN in f32 */
    call->library->repeat(call, 1);
    if (call->library->take_result)
        call->library->take_result(call);
    for (int64_t i = 0; i < results; i += step)
        if (!is_right(v, i))
            return false;
    return is_right(v, row - 1) && is_right(v, results - row) && is_right(v, results - 1);
}
