/* SPDX-License-Identifier: Apache-2.0 */
/* Draws shapes of convolutions. */
#include "bench.h"
#include "draw.h"
#include <string.h>

enum { DENSE = 80, DEPTHWISE = 60, BYTES = 60 };
/* Multiply-adds of a drawn shape, and the largest sum of its operands in bytes. */
static const double LEAST = 1e6, LEAST_DEPTHWISE = 1e5, MOST = 5e8, MOST_BYTES = 256e6;

/* Networks have multiples of 8, and these: of MobileNet and EfficientNet; and images of three channels. */
static int64_t draw_channels(uint64_t *state, double least, double most) {
    static const int64_t usual[] = {24, 40, 72, 144, 320, 960};
    const double kind = bench_draw_real(state);
    if (kind < 0.3)
        return bench_draw_from(state, usual, 6);
    const int64_t c = (int64_t)bench_draw_log(state, least, most + 1);
    return c < 8 || kind > 0.9 ? c : c / 8 * 8;
}

static void draw_image(uint64_t *state, struct bench_conv_shape *s) {
    static const int64_t batches[] = {1, 1, 1, 4}, strides[] = {1, 1, 2};
    s->h = 7 + (int64_t)(bench_draw(state) % 106);
    s->w = bench_draw_real(state) < 0.75 ? s->h : 7 + (int64_t)(bench_draw(state) % 106);
    s->n = bench_draw_from(state, batches, 4);
    s->stride = bench_draw_from(state, strides, 3);
}

/* Draws the multiply-adds first, and the result's channels to match, so that their logarithm is evenly
 * distributed. */
static void draw_dense(uint64_t *state, struct bench_conv_shape *s) {
    static const int64_t windows[][2] = {{1, 1}, {3, 3}, {5, 5}, {7, 7}, {1, 7}, {7, 1}};
    static const int64_t dilations[] = {1, 1, 1, 1, 2}, groups[] = {1, 1, 1, 1, 4};
    const double wanted = bench_draw_log(state, LEAST, MOST);
    const int window = (int)(bench_draw(state) % 6);
    draw_image(state, s);
    s->r = windows[window][0];
    s->s = windows[window][1];
    s->dilation = window ? bench_draw_from(state, dilations, 5) : 1;
    s->c = draw_channels(state, 3, 2048);
    s->groups = bench_draw_from(state, groups, 5);
    s->o = 1;
    const double each = (double)s->n * (double)bench_conv_rows(s) * (double)bench_conv_columns(s) *
                        (double)(s->r * s->s) * (double)s->c / (double)s->groups;
    s->o = (int64_t)(wanted / each + 0.5);
    if (s->o >= 16 && bench_draw_real(state) < 0.9)
        s->o = s->o / 8 * 8;
}

static void draw_depthwise(uint64_t *state, struct bench_conv_shape *s) {
    static const int64_t windows[] = {3, 5, 7};
    draw_image(state, s);
    s->dilation = 1;
    s->r = s->s = bench_draw_from(state, windows, 3);
    s->c = s->o = s->groups = draw_channels(state, 8, 1152);
}

static bool is_wanted(const struct bench_conv_shape *s, bool depthwise, enum bench_conv_type type) {
    if (s->o < 3 || s->o > 2048 || s->c % s->groups || s->o % s->groups)
        return false;
    int64_t weights, results;
    const double adds = bench_conv_multiply_adds(s, false), size = type == BENCH_CONV_F32 ? 4 : 1;
    const double images = (double)bench_conv_elements(s, &weights, &results);
    return adds >= (depthwise ? LEAST_DEPTHWISE : LEAST) && adds <= MOST &&
           size * (images + (double)weights + (double)results) <= MOST_BYTES;
}

/* `depthwise`: the share of depthwise shapes. */
static enum uk_status add_sweep(struct bench_conv_shapes *shapes, enum bench_conv_type type, const char *set,
                                int count, double depthwise, uint64_t seed) {
    enum uk_status status = UK_OK;
    uint64_t state = bench_draw_begin(seed, set);
    for (int i = 0; i < count && !status; i++) {
        struct bench_conv_shape s;
        const bool is_depthwise = bench_draw_real(&state) < depthwise;
        do {
            s = (struct bench_conv_shape){0};
            (is_depthwise ? draw_depthwise : draw_dense)(&state, &s);
        } while (!is_wanted(&s, is_depthwise, type));
        memcpy(s.set, set, strlen(set) + 1);
        status = bench_conv_shapes_add(shapes, &s);
    }
    return status;
}

enum uk_status bench_conv_sweep(struct bench_conv_shapes *shapes, enum bench_conv_type type, int count,
                                uint64_t seed) {
    *shapes = (struct bench_conv_shapes){0};
    if (type == BENCH_CONV_U8I8)
        return add_sweep(shapes, type, "bytes", count ? count : BYTES, 0.25, seed);
    enum uk_status status = add_sweep(shapes, type, "dense", count ? count : DENSE, 0, seed);
    return status ? status : add_sweep(shapes, type, "depthwise", count ? count : DEPTHWISE, 1, seed);
}
