/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of convolutions, their operands between inaccessible pages, and the definition of the result, for
 * the tests of this folder. */
#ifndef CONV_SHAPE_H
#define CONV_SHAPE_H

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>
#include "arena.h"
#include "conv/conv.h"
#include "random.h"
#include "seed.h"

static uint64_t seed = 1;

/* UK_CONV_SEED=n sets another seed, `new` a new one. */
static inline void begin_seed(void) {
    if (getenv("UK_CONV_SEED"))
        seed = seed_of(getenv("UK_CONV_SEED"));
    print_message("UK_CONV_SEED=%" PRIu64 "\n", seed);
}

/* Bytes from which a fuzzer draws shapes, one byte a number, before `seed` gives the numbers. */
static struct {
    const uint8_t *at;
    size_t left;
} input;

/* A number from 0 to n - 1; n is at most 256. */
static inline int below(int n) {
    if (!input.left)
        return random_below(&seed, n);
    input.left--;
    return *input.at++ % n;
}

/* ---- operands ---- */

/* Between inaccessible pages, which no code crosses; or from the allocator, where an address sanitizer checks
 * both ends, but not in kernels, which it does not instrument. */
enum place { AT_BEGIN, AT_END, ALLOCATED };

struct operand {
    struct arena arena;
    float *data;
    int64_t count;
};

static inline struct operand operand(int64_t count, enum place place) {
    struct operand o = {.count = count};
    const size_t bytes = (size_t)count * sizeof(float);

    if (place == ALLOCATED) {
        void *memory;

        assert_int_equal(posix_memalign(&memory, 64, bytes), 0);
        o.data = memory;
        return o;
    }
    assert_true(arena_make(&o.arena, bytes + 1));
    memset(o.arena.data, 0x5a, o.arena.size);
    o.data = (float *)(void *)(o.arena.data + (place == AT_END ? o.arena.size - bytes : 0));
    return o;
}

static inline void free_operand(struct operand *o) {
    if (o->arena.data)
        arena_free(&o->arena);
    else
        free(o->data);
}

/* Values come from `seed` alone. */
static inline float small_integer(void) {
    return (float)(random_below(&seed, 9) - 4);
}

static inline float fraction(void) {
    return (float)(random_next(&seed) >> 40) / (1 << 23) - 1;
}

static inline void fill(struct operand *o, float (*value)(void)) {
    for (int64_t i = 0; i < o->count; i++)
        o->data[i] = value();
}

/* ---- a case ---- */

struct conv_case {
    struct uk_conv2d shape;
    struct conv_shape v; /* checked */
    struct uk_sgemm_epilogue epilogue;
    bool has_epilogue;
    enum place place;
    struct operand x, f, bias, residual, y;
};

static inline void describe(const struct conv_case *c) {
    const struct uk_conv2d *s = &c->shape;

    print_message("%s %s, n %" PRId64 ", h %" PRId64 ", w %" PRId64 ", c %" PRId64 ", o %" PRId64
                  ", r %" PRId64 ", s %" PRId64 ", strides %" PRId64 " %" PRId64 ", dilations %" PRId64
                  " %" PRId64 ", pads %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 ", groups %" PRId64
                  ", x %" PRId64 " %" PRId64 " %" PRId64 ", y %" PRId64 " %" PRId64 " %" PRId64
                  ", epilogue %d %x\n",
                  s->layout == UK_NHWC ? "NHWC" : "NCHW", s->filter == UK_HWIO ? "HWIO" : "OIHW", s->n, s->h,
                  s->w, s->c, s->o, s->r, s->s, s->stride_h, s->stride_w, s->dilation_h, s->dilation_w,
                  s->pad_top, s->pad_bottom, s->pad_left, s->pad_right, s->groups, s->x.image, s->x.row,
                  s->layout == UK_NHWC ? s->x.column : s->x.channel, s->y.image, s->y.row,
                  s->layout == UK_NHWC ? s->y.column : s->y.channel, c->has_epilogue, c->epilogue.flags);
}

static inline int64_t image_at(const struct uk_image_strides *s, int64_t n, int64_t h, int64_t w, int64_t c) {
    return n * s->image + h * s->row + w * s->column + c * s->channel;
}

/* Elements from the first one of an image operand to its last. */
static inline int64_t span(const struct uk_image_strides *s, int64_t n, int64_t h, int64_t w, int64_t c) {
    return n && h && w && c ? image_at(s, n - 1, h - 1, w - 1, c - 1) + 1 : 0;
}

static inline void make_operands(struct conv_case *c, float (*value)(void)) {
    const struct conv_shape *v = &c->v;

    c->x = operand(span(&v->x, v->n, v->h, v->w, v->c), c->place);
    c->f = operand(v->r * v->s * v->gc * v->o, c->place);
    c->bias = operand(v->o, c->place);
    c->y = operand(span(&v->y, v->n, v->p, v->q, v->o), c->place);
    c->residual = operand(c->y.count, c->place);
    fill(&c->x, value);
    fill(&c->f, value);
    fill(&c->bias, value);
    fill(&c->residual, value);
    if (c->has_epilogue && c->epilogue.flags & UK_EPILOGUE_RESIDUAL)
        c->epilogue.residual = c->residual.data;
    if (c->epilogue.column_bias)
        c->epilogue.column_bias = c->bias.data;
}

static inline void free_operands(struct conv_case *c) {
    free_operand(&c->x);
    free_operand(&c->f);
    free_operand(&c->bias);
    free_operand(&c->y);
    free_operand(&c->residual);
}

/* ---- drawn shapes ---- */

static inline int64_t one_of(const int *values, int count) {
    return values[below(count)];
}
#define ONE_OF(...) \
    one_of((const int[]){__VA_ARGS__}, (int)(sizeof((const int[]){__VA_ARGS__}) / sizeof(int)))

static inline void draw_channels(struct uk_conv2d *s) {
    const int64_t groups = ONE_OF(1, 1, 1, 2, 3, 4);

    switch (below(6)) {
    case 0:
        s->groups = s->c = s->o = ONE_OF(1, 3, 8, 17, 64, 70, 130); /* depthwise */
        break;
    case 1:
        s->groups = 1;
        s->c = ONE_OF(1, 2, 3, 4);
        s->o = ONE_OF(8, 16, 33, 64);
        break;
    case 2:
        s->groups = 1;
        s->c = ONE_OF(5, 16, 40);
        s->o = ONE_OF(1, 2, 3, 8);
        break;
    default:
        s->groups = groups;
        s->c = groups * ONE_OF(0, 1, 2, 5, 16, 24, 70);
        s->o = groups * ONE_OF(0, 1, 7, 16, 30, 33, 65);
    }
}

static inline void draw_shape(struct uk_conv2d *s) {
    do {
        *s = (struct uk_conv2d){.n = ONE_OF(1, 1, 1, 2, 3, 0),
                                .h = ONE_OF(0, 1, 2, 5, 7, 9, 12),
                                .w = ONE_OF(0, 1, 3, 6, 7, 14, 17, 37),
                                .r = ONE_OF(1, 1, 2, 3, 3, 5),
                                .s = ONE_OF(1, 1, 2, 3, 3, 7),
                                .stride_h = ONE_OF(1, 1, 2, 3),
                                .stride_w = ONE_OF(1, 1, 2, 3),
                                .dilation_h = ONE_OF(1, 1, 2),
                                .dilation_w = ONE_OF(1, 1, 2),
                                .layout = below(3) ? UK_NHWC : UK_NCHW,
                                .filter = below(2) ? UK_HWIO : UK_OIHW};
        if (below(3)) {
            s->pad_top = below((int)s->r + 3);
            s->pad_bottom = below((int)s->r + 3);
            s->pad_left = below((int)s->s + 3);
            s->pad_right = below((int)s->s + 3);
        }
        draw_channels(s);
    } while ((below(4) && !(s->n && s->h && s->w && s->c && s->o)) ||
             (s->h + s->pad_top + s->pad_bottom < (s->r - 1) * s->dilation_h + 1) ||
             (s->w + s->pad_left + s->pad_right < (s->s - 1) * s->dilation_w + 1) ||
             s->n * s->h * s->w * s->r * s->s * s->c * s->o / s->groups > 300000);
}

/* ---- the definition ---- */

static inline int64_t weight_at(const struct conv_shape *v, int64_t r, int64_t s, int64_t c, int64_t o) {
    return v->is_oihw ? ((o * v->gc + c) * v->r + r) * v->s + s : ((r * v->s + s) * v->gc + c) * v->o + o;
}

static inline double sum_of(const struct conv_case *t, int64_t n, int64_t p, int64_t q, int64_t o) {
    const struct conv_shape *v = &t->v;
    double sum = 0;

    for (int64_t r = 0; r < v->r; r++)
        for (int64_t s = 0; s < v->s; s++) {
            const int64_t ih = p * v->stride_h + r * v->dilation_h - v->top,
                          iw = q * v->stride_w + s * v->dilation_w - v->left;

            for (int64_t c = 0; c < v->gc && ih >= 0 && ih < v->h && iw >= 0 && iw < v->w; c++)
                sum += (double)t->x.data[image_at(&v->x, n, ih, iw, o / v->go * v->gc + c)] *
                       (double)t->f.data[weight_at(v, r, s, c, o)];
        }
    return sum;
}

/* The element of Y at `at`. */
static inline double element_of(const struct conv_case *t, int64_t n, int64_t p, int64_t q, int64_t o,
                                int64_t at) {
    const struct uk_sgemm_epilogue *e = &t->epilogue;
    double y = t->has_epilogue && e->flags & UK_EPILOGUE_SCALE && e->scale == 0 ? 0 : sum_of(t, n, p, q, o);

    if (!t->has_epilogue)
        return y;
    y *= e->flags & UK_EPILOGUE_SCALE ? (double)e->scale : 1;
    y += e->column_bias ? (double)e->column_bias[o] : 0;
    y += e->flags & UK_EPILOGUE_RESIDUAL ? (double)e->residual[at] : 0;
    if (e->flags & UK_EPILOGUE_CLAMP) {
        y = y < (double)e->low ? (double)e->low : y;
        y = y > (double)e->high ? (double)e->high : y;
    }
    return y;
}

#endif
