/* SPDX-License-Identifier: Apache-2.0 */
/* The last operation on a tile: min(max(scale * y + bias + residual, low), high). It is compiled for each
 * width of vectors of x86, whose common instructions would take four times as long as those of AVX-512: more
 * than 2 % of a layer with few terms. NaN stays NaN: its comparisons are false. */
#include "conv.h"

/* m lines of n adjacent elements, lines ld apart. */
struct part {
    int64_t m, n, ld;
    float *y;
    const float *residual;       /* as y; or NULL */
    const float *across, *along; /* bias of an element of a line, and of a line; or NULL */
    float scale, low, high;
};

enum { CHUNK = 16 }; /* elements: a vector, or some */

/* Finishes n adjacent elements; n is a constant where this is inlined for whole chunks. */
static inline __attribute__((always_inline)) void finish_some(const struct part *p, int64_t n,
                                                              float *restrict y, const float *restrict across,
                                                              float along, const float *restrict residual) {
    for (int64_t l = 0; l < n; l++) {
        float x = p->scale * y[l] + (across ? across[l] : along);

        if (residual)
            x += residual[l];
        x = x < p->low ? p->low : x;
        y[l] = x > p->high ? p->high : x;
    }
}

/* The same for a line. n, has_across and adds are constants where it is inlined, n for common widths. */
static inline __attribute__((always_inline)) void finish_line(const struct part *p, int64_t i, int64_t n,
                                                              bool has_across, bool adds) {
    float *y = p->y + i * p->ld;
    const float *residual = adds ? p->residual + i * p->ld : NULL;
    const float along = p->along ? p->along[i] : 0;
    int64_t j = 0;

    for (; j + CHUNK <= n; j += CHUNK)
        finish_some(p, CHUNK, y + j, has_across ? p->across + j : NULL, along, adds ? residual + j : NULL);
    finish_some(p, n - j, y + j, has_across ? p->across + j : NULL, along, adds ? residual + j : NULL);
}

static inline __attribute__((always_inline)) void finish_lines(const struct part *p, int64_t n) {
    for (int64_t i = 0; p->across && p->residual && i < p->m; i++)
        finish_line(p, i, n, true, true);
    for (int64_t i = 0; p->across && !p->residual && i < p->m; i++)
        finish_line(p, i, n, true, false);
    for (int64_t i = 0; !p->across && p->residual && i < p->m; i++)
        finish_line(p, i, n, false, true);
    for (int64_t i = 0; !p->across && !p->residual && i < p->m; i++)
        finish_line(p, i, n, false, false);
}

static inline __attribute__((always_inline)) void finish(const struct part *whole) {
    const struct part p = *whole;

    if (p.n == 2 * CHUNK)
        finish_lines(&p, 2 * CHUNK);
    else if (p.n == 4 * CHUNK)
        finish_lines(&p, 4 * CHUNK);
    else
        finish_lines(&p, p.n);
}

typedef void finish_function(const struct part *p);

static void finish_any(const struct part *p) {
    finish(p);
}

#if defined __x86_64__
__attribute__((target("avx2,fma"))) static void finish_avx2(const struct part *p) {
    finish(p);
}

__attribute__((target("avx512f"))) static void finish_avx512(const struct part *p) {
    finish(p);
}

static finish_function *function_for(const struct gemm_type *type) {
    const int bytes = type->tiles ? type->vectors->bytes : 0;

    return bytes == GEMM_LINE ? finish_avx512 : bytes == GEMM_LINE / 2 ? finish_avx2 : finish_any;
}
#else
static finish_function *function_for(const struct gemm_type *type) {
    (void)type;
    return finish_any;
}
#endif

void uk_conv_finish(const struct conv_block *b, const struct conv_row *row, int64_t pixel, int64_t m) {
    const struct conv_epilogue *e = b->o->epilogue;
    const struct conv_shape *v = &b->plan->shape;

    if (!e)
        return;
    float *y = row->y + pixel * v->y.column;
    const bool by_pixels = v->y.channel == 1;
    const float *bias = e->bias ? e->bias + b->group * v->go + b->channel : NULL;
    const struct part p = {.m = by_pixels ? m : b->channels,
                           .n = by_pixels ? b->channels : m,
                           .ld = by_pixels ? v->y.column : v->y.channel,
                           .y = y,
                           .residual = e->residual ? e->residual + (y - b->o->y) : NULL,
                           .across = by_pixels ? bias : NULL,
                           .along = by_pixels ? NULL : bias,
                           .scale = e->scale,
                           .low = e->low,
                           .high = e->high};

    function_for(b->plan->type)(&p);
}
