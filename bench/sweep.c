/* SPDX-License-Identifier: Apache-2.0 */
/* Draws shapes of products. */
#include "bench.h"
#include "draw.h"
#include <string.h>

enum { GENERAL = 60, ROWS = 40, MULTIPLE = 16, MAX_ROWS = 16 };

static int64_t round_size(double value) {
    return (int64_t)(value + 0.5);
}

/* A size that is a multiple of 16, or none. */
static int64_t draw_size(uint64_t *state, double least, double most, bool is_multiple) {
    const int64_t size = round_size(bench_draw_log(state, least, most));
    if (!is_multiple)
        return size % MULTIPLE ? size : size - 1;
    return (size + MULTIPLE / 2) / MULTIPLE * MULTIPLE;
}

/* Sums of weights in blocks have whole blocks. */
static int64_t whole_blocks(enum bench_type type, int64_t k) {
    const int64_t block = bench_weight_bits(type) ? BENCH_BLOCK : 1;
    return (k + block - 1) / block * block;
}

static void draw_general(uint64_t *state, struct bench_shape *s, enum bench_type type) {
    const bool is_multiple = bench_draw(state) & 1;
    s->m = draw_size(state, 17, 2048, is_multiple);
    s->n = draw_size(state, 33, 4096, is_multiple);
    s->k = whole_blocks(type, draw_size(state, 33, 4096, is_multiple));
}

/* Draws the bytes of B first, so that their logarithm is evenly distributed. */
static void draw_rows(uint64_t *state, struct bench_shape *s, enum bench_type type) {
    const int bits = bench_weight_bits(type);
    const double elements =
        bench_draw_log(state, 4e6, 64e6) / (bits ? bits / 8.0 : (double)bench_elements[type].factor);
    s->m = 1 + (int64_t)(bench_draw(state) % MAX_ROWS);
    s->k = round_size(bench_draw_log(state, 512, 8192));
    if (bench_draw(state) & 1)
        s->k = s->k / MULTIPLE * MULTIPLE;
    s->k = whole_blocks(type, s->k);
    s->n = round_size(elements / (double)s->k);
}

enum uk_status bench_shapes_sweep(struct bench_shapes *shapes, enum bench_type type, int count,
                                  uint64_t seed) {
    const char *const sets[] = {"general", "rows"};
    const int counts[] = {count ? count : GENERAL, count ? count : ROWS};
    enum uk_status status = UK_OK;
    *shapes = (struct bench_shapes){0};
    for (int set = 0; set < 2; set++) {
        uint64_t state = bench_draw_begin(seed, sets[set]);
        for (int i = 0; i < counts[set] && !status; i++) {
            struct bench_shape s = {.form = BENCH_CALL};
            memcpy(s.set, sets[set], strlen(sets[set]) + 1);
            if (set)
                draw_rows(&state, &s, type);
            else
                draw_general(&state, &s, type);
            status = bench_shapes_add(shapes, &s);
        }
    }
    return status;
}
