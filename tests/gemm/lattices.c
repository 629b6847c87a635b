/* SPDX-License-Identifier: Apache-2.0 */
/* Panels of windows of an image, beside the same element by element: 3 x 3 with a stride, a dilation and a border, channels last or first,
 * all of them or one group; any part of the lines and of k. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "gemm/gemm.h"
#include "random.h"

enum { HEIGHT = 9, WIDTH = 11, CHANNELS = 12, GROUP = 4, WINDOW = 3, ELEMENTS = HEIGHT * WIDTH * CHANNELS };

struct image {
    bool channels_last;
    bool mirrored,
        flipped; /* a row's last pixel is its first line; the last column of a window is its first */
    int64_t channels, first; /* those of the product */
    int64_t stride, dilation, border, rows, columns;
};

static int64_t place(const struct image *x, int64_t c, int64_t h, int64_t w) {
    c += x->first;
    return x->channels_last ? (h * WIDTH + w) * CHANNELS + c : (c * HEIGHT + h) * WIDTH + w;
}

static int64_t first_column(const struct image *x) {
    return (x->mirrored ? (x->columns - 1) * x->stride : 0) + (x->flipped ? (WINDOW - 1) * x->dilation : 0) -
           x->border;
}

/* Lines are pixels, row by row; k is windows' rows, columns and channels, or channels first. */
static struct uk_lattice map_of(const struct image *x) {
    const int64_t down = x->channels_last ? WIDTH * CHANNELS : WIDTH, right = x->channels_last ? CHANNELS : 1,
                  toward = x->mirrored ? -x->stride : x->stride,
                  across = x->flipped ? -x->dilation : x->dilation;
    const struct uk_lattice_loop r = {WINDOW, x->dilation * down, 0, x->dilation},
                                 s = {WINDOW, across * right, 1, across},
                                 c = {x->channels, x->channels_last ? 1 : HEIGHT * WIDTH, -1, 0};

    return (struct uk_lattice){
        .origin = place(x, 0, 0, 0) - x->border * down + first_column(x) * right,
        .lines = 2,
        .ks = 3,
        .line = {{x->rows, x->stride * down, 0, x->stride}, {x->columns, toward * right, 1, toward}},
        .k = {x->channels_last ? r : c, x->channels_last ? s : r, x->channels_last ? c : s},
        .axis = {{-x->border, HEIGHT}, {first_column(x), WIDTH}}};
}

/* The place in the image, or -1: in the border. */
static int64_t expected(const struct image *x, int64_t line, int64_t p) {
    const int64_t c = x->channels_last ? p % x->channels : p / (WINDOW * WINDOW),
                  tap = x->channels_last ? p / x->channels : p % (WINDOW * WINDOW);
    const int64_t h = line / x->columns * x->stride - x->border + tap / WINDOW * x->dilation,
                  w = (x->mirrored ? -x->stride : x->stride) * (line % x->columns) + first_column(x) +
                      tap % WINDOW * (x->flipped ? -x->dilation : x->dilation);

    return h < 0 || h >= HEIGHT || w < 0 || w >= WIDTH ? -1 : place(x, c, h, w);
}

static void compare(const struct gemm_type *t, const struct image *x, struct uk_gemm_panels s) {
    static unsigned char image[ELEMENTS * sizeof(double)], border[sizeof(double)], zero[sizeof(double)];
    const size_t size = (size_t)t->size;
    const int64_t panels = (s.n + s.taken - 1) / s.taken, padded = gemm_padded(t, s.k);
    const size_t bytes = (size_t)(panels * padded * s.width) * size;
    unsigned char *packed = malloc(bytes + 1);

    assert_non_null(packed);
    for (size_t i = 0; i < sizeof image; i++)
        image[i] = (unsigned char)(i * 7 % 251 + 1);
    memset(border, 255, sizeof border);
    memset(packed, 254, bytes + 1);
    s.border = border;
    s.from = image;
    uk_gemm_pack_panels(t, &s, (char *)packed);
    assert_int_equal(packed[bytes], 254);
    for (int64_t i = 0; i < panels * s.width; i++)
        for (int64_t p = 0; p < padded; p++) {
            const int64_t panel = i / s.width, j = i % s.width, line = panel * s.taken + j;
            const bool there = j < s.taken && line < s.n && p < s.k;
            const int64_t at = there ? expected(x, s.first_line + line, s.first_k + p) : -2;
            const unsigned char *is = packed + ((size_t)(panel * padded * s.width) +
                                                (size_t)((p / t->kr * s.width + j) * t->kr + p % t->kr)) *
                                                   size;

            if (memcmp(is, at == -2 ? zero : at < 0 ? border : image + (size_t)at * size, size) != 0)
                fail_msg("%s, channels %s, stride %d, dilation %d, border %d: line %d, element %d", t->name,
                         x->channels_last ? "last" : "first", (int)x->stride, (int)x->dilation,
                         (int)x->border, (int)(s.first_line + line), (int)(s.first_k + p));
        }
    free(packed);
}

static void windows(void **state) {
    const struct gemm_type *const types[] = {uk_gemm_type_f32(), uk_gemm_type_f64(), uk_gemm_type_i32()};
    static const int width[] = {4, 6, 14, 16, 32};
    uint64_t seed = 1;

    (void)state;
    for (int turn = 0; turn < 2000; turn++) {
        struct image x = {.channels_last = turn % 2,
                          .channels = turn / 2 % 2 ? GROUP : CHANNELS,
                          .first = turn / 2 % 2 ? GROUP * (turn / 4 % 3) : 0,
                          .stride = 1 + turn / 4 % 3,
                          .dilation = 1 + turn / 12 % 2,
                          .border = turn / 24 % 3,
                          .mirrored = turn / 72 % 2,
                          .flipped = turn / 144 % 2};
        const int64_t reach = x.dilation * (WINDOW - 1) + 1, k = WINDOW * WINDOW * x.channels;

        x.rows = (HEIGHT + 2 * x.border - reach) / x.stride + 1;
        x.columns = (WIDTH + 2 * x.border - reach) / x.stride + 1;
        const struct uk_lattice map = map_of(&x);
        struct uk_gemm_panels s = {.map = &map, .width = width[random_next(&seed) % 5]};

        s.taken = 1 + (int64_t)(random_next(&seed) % (uint64_t)s.width);
        if (turn % 5) {
            s.first_line = (int64_t)(random_next(&seed) % (uint64_t)(x.rows * x.columns));
            s.first_k = (int64_t)(random_next(&seed) % (uint64_t)k);
        }
        s.n = 1 + (int64_t)(random_next(&seed) % (uint64_t)(x.rows * x.columns - s.first_line));
        s.k = 1 + (int64_t)(random_next(&seed) % (uint64_t)(k - s.first_k));
        compare(types[turn % 3], &x, s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(windows)};

    return cmocka_run_group_tests_name("lattices", tests, NULL, NULL);
}
