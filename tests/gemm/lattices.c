/* SPDX-License-Identifier: Apache-2.0 */
/* Compares panels of an image's windows with the same elements computed one by one, and with loop nests that
 * read them: 3 x 3 windows with stride, dilation and border, channels last or first, all channels or one
 * group, and any part of the lines and of k. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "gemm/pack.h"
#include "random.h"

enum { HEIGHT = 9, WIDTH = 11, CHANNELS = 12, GROUP = 4, WINDOW = 3, ELEMENTS = HEIGHT * WIDTH * CHANNELS };

struct image {
    bool channels_last;
    /* mirrored: a row's last pixel is its first line; flipped: a window's last column is its first */
    bool mirrored, flipped;
    int64_t channels, first; /* channels that the product uses */
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

static const unsigned char border[sizeof(double)] = {255, 255, 255, 255, 255, 255, 255, 255};

/* The lattice: lines are pixels, row by row; k runs over windows' rows, columns and channels, or channels
 * first. */
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
        .axis = {{-x->border, HEIGHT}, {first_column(x), WIDTH}},
        .border = border};
}

/* The element's offset in the image; -1: in the border. */
static int64_t expected(const struct image *x, int64_t line, int64_t p) {
    const int64_t c = x->channels_last ? p % x->channels : p / (WINDOW * WINDOW),
                  tap = x->channels_last ? p / x->channels : p % (WINDOW * WINDOW);
    const int64_t h = line / x->columns * x->stride - x->border + tap / WINDOW * x->dilation,
                  w = (x->mirrored ? -x->stride : x->stride) * (line % x->columns) + first_column(x) +
                      tap % WINDOW * (x->flipped ? -x->dilation : x->dilation);

    return h < 0 || h >= HEIGHT || w < 0 || w >= WIDTH ? -1 : place(x, c, h, w);
}

static void compare(const struct gemm_type *t, const struct image *x, struct uk_gemm_part s, int64_t taken,
                    int width) {
    static unsigned char image[ELEMENTS * sizeof(double)], zero[sizeof(double)];
    const size_t size = (size_t)t->size;
    const int kr = t->tile->kr;
    const int64_t panels = (s.n + taken - 1) / taken, padded = gemm_padded(s.iterations, kr);
    const size_t bytes = (size_t)(panels * padded * width) * size;
    unsigned char *packed = malloc(bytes + 1);

    assert_non_null(packed);
    for (size_t i = 0; i < sizeof image; i++)
        image[i] = (unsigned char)(i * 7 % 251 + 1);
    memset(packed, 254, bytes + 1);
    const struct uk_lattice to = uk_lattice_panels(s.from->element, s.n, s.iterations, taken, width, kr);

    assert_int_equal(uk_lattice_room(&to) * t->size, bytes);
    s.array = image;
    s.to = &to;
    uk_gemm_pack(t, &s, packed);
    assert_int_equal(packed[bytes], 254);
    for (int64_t i = 0; i < panels * width; i++)
        for (int64_t p = 0; p < padded; p++) {
            const int64_t panel = i / width, j = i % width, line = panel * taken + j;
            const bool there = j < taken && line < s.n && p < s.iterations;
            const int64_t at = there ? expected(x, s.line + line, s.k + p) : -2;
            const size_t in_panel =
                ((size_t)(panel * padded * width) + (size_t)((p / kr * width + j) * kr + p % kr)) * size;
            const unsigned char *is = packed + in_panel;

            if (there && (uk_lattice_place(&to, packed, line, p) != is ||
                          (at >= 0 && uk_lattice_at(s.from, s.line + line, s.k + p) != at)))
                fail_msg("%s: line %d, element %d is elsewhere by the view", t->name, (int)line, (int)p);

            if (memcmp(is, at == -2 ? zero : at < 0 ? border : image + (size_t)at * size, size) != 0)
                fail_msg("%s, channels %s, stride %d, dilation %d, border %d: line %d, element %d", t->name,
                         x->channels_last ? "last" : "first", (int)x->stride, (int)x->dilation,
                         (int)x->border, (int)(s.line + line), (int)(s.k + p));
        }
    free(packed);
}

static struct image image_of(int turn) {
    struct image x = {.channels_last = turn % 2,
                      .channels = turn / 2 % 2 ? GROUP : CHANNELS,
                      .first = turn / 2 % 2 ? GROUP * (turn / 4 % 3) : 0,
                      .stride = 1 + turn / 4 % 3,
                      .dilation = 1 + turn / 12 % 2,
                      .border = turn / 24 % 3,
                      .mirrored = turn / 72 % 2,
                      .flipped = turn / 144 % 2};
    const int64_t reach = x.dilation * (WINDOW - 1) + 1;

    x.rows = (HEIGHT + 2 * x.border - reach) / x.stride + 1;
    x.columns = (WIDTH + 2 * x.border - reach) / x.stride + 1;
    return x;
}

/* A loop nest over pixels and over windows in the order of k moves by the image's strides, so that cost
 * estimates read what is packed. */
static void nests(void **state) {
    enum { LINES, K, LOOPS = 5 };

    (void)state;
    for (int turn = 0; turn < 288; turn++) {
        const struct image x = image_of(turn);
        const struct uk_lattice map = map_of(&x);
        const int64_t fast = x.channels_last ? x.channels : WINDOW, middle = WINDOW;
        const struct uk_nest_loop loop[LOOPS] = {
            {x.rows, {[LINES] = x.columns}},
            {x.columns, {[LINES] = 1}},
            {x.channels_last ? WINDOW : x.channels, {[K] = middle * fast}},
            {middle, {[K] = fast}},
            {fast, {[K] = 1}}};
        struct uk_loop_nest n = {.operands = 0};
        const struct uk_loop_operand *o =
            uk_nest_add(&n, loop, LOOPS, &(struct uk_nest_access){&map, LINES, K, 1, 1, 0});
        int64_t at[LOOPS] = {0};

        assert_int_equal(n.loops, LOOPS);
        assert_int_equal(o->bytes * o->runs, o->length);
        for (bool more = true; more;) {
            int64_t line = 0, p = 0, place = map.origin * o->bytes;

            for (int i = 0; i < LOOPS; i++) {
                line += at[i] * loop[i].by[LINES];
                p += at[i] * loop[i].by[K];
                place += at[i] * o->stride[i];
            }
            const int64_t is = expected(&x, line, p);

            if (is >= 0)
                assert_int_equal(place, is * o->bytes);
            more = false;
            for (int i = LOOPS - 1; i >= 0 && !more; i--) {
                more = ++at[i] < n.extent[i];
                at[i] = more ? at[i] : 0;
            }
        }
    }
}

static void windows(void **state) {
    const struct gemm_type *const types[] = {uk_gemm_look_up(&uk_gemm_f32), uk_gemm_look_up(&uk_gemm_f64),
                                             uk_gemm_look_up(&uk_gemm_u8_i8)};
    static const int width[] = {4, 6, 14, 16, 32};
    uint64_t seed = 1;

    (void)state;
    for (int turn = 0; turn < 2000; turn++) {
        const struct image x = image_of(turn);
        const int64_t k = WINDOW * WINDOW * x.channels;
        struct uk_lattice map = map_of(&x);
        struct uk_gemm_part s = {.from = &map};
        const int room = width[random_next(&seed) % 5];
        const int64_t taken = 1 + (int64_t)(random_next(&seed) % (uint64_t)room);

        map.element = turn % 3 == 0 ? UK_ELEMENT_F32 : turn % 3 == 1 ? UK_ELEMENT_F64 : UK_ELEMENT_I8;
        if (turn % 5) {
            s.line = (int64_t)(random_next(&seed) % (uint64_t)(x.rows * x.columns));
            s.k = (int64_t)(random_next(&seed) % (uint64_t)k);
        }
        s.n = 1 + (int64_t)(random_next(&seed) % (uint64_t)(x.rows * x.columns - s.line));
        s.iterations = 1 + (int64_t)(random_next(&seed) % (uint64_t)(k - s.k));
        compare(types[turn % 3], &x, s, taken, room);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(windows), cmocka_unit_test(nests)};

    return cmocka_run_group_tests_name("lattices", tests, NULL, NULL);
}
