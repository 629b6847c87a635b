/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the estimated lines and pages of a view with those that its elements touch, on average over all
 * positions of the first element: each element of a line, each line of a page.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "view/view.h"

enum { SPAN = 1 << 24, LOOPS = 6 };

struct loops {
    const char *what;
    int bytes, loops;
    int64_t loop[LOOPS][2]; /* extent, stride */
    double tolerance;
};

static unsigned char touched[SPAN / 64];

/* Counts the units that the view touches if its first byte is at `at`. */
static int64_t count(const struct loops *l, int64_t unit, int64_t at) {
    int64_t index[LOOPS] = {0}, units = 0;

    memset(touched, 0, sizeof touched);
    for (;;) {
        int64_t from = at;
        int i = l->loops - 1;

        for (int j = 0; j < l->loops; j++)
            from += index[j] * l->loop[j][1];
        for (int64_t u = from / unit; u <= (from + l->bytes - 1) / unit; u++) {
            units += !touched[u];
            touched[u] = 1;
        }
        while (i >= 0 && ++index[i] == l->loop[i][0])
            index[i--] = 0;
        if (i < 0)
            return units;
    }
}

static void check(const struct loops *l, int64_t unit) {
    struct uk_view v = {.bytes = l->bytes};
    double sum = 0;
    int places = 0;

    for (int i = 0; i < l->loops; i++)
        uk_view_add(&v, l->loop[i][0], l->loop[i][1]);
    for (int64_t at = 0; at < unit; at += unit == 64 ? l->bytes : 64, places++)
        sum += (double)count(l, unit, at + SPAN / 4);
    const struct uk_runs r = uk_view_runs(&v, unit);
    const double expected = sum / places, got = uk_runs_units(&r, unit, unit == 64 ? l->bytes : 64);

    if (got > expected * (1 + l->tolerance) + 1e-6 || got < expected * (1 - l->tolerance) - 1e-6)
        fail_msg("%s: %.2f units of %d bytes, %.2f are touched", l->what, got, (int)unit, expected);
}

/* Tensors of 56 x 56 x 64. NHWC: rows of 56 * 64 elements; NCHW: planes of 56 * 56 elements. */
static const struct loops cases[] = {
    {"an element", 4, 0, {{0}}, 0},
    {"a row", 4, 1, {{100, 4}}, 0.02},
    {"a column", 4, 1, {{100, 400}}, 0.01},
    {"a column of a square of 1024", 4, 1, {{64, 4096}}, 0.01},
    {"a tile", 4, 2, {{6, 4000}, {200, 4}}, 0.01},
    {"a tile, its columns outermost", 4, 2, {{200, 4}, {6, 4000}}, 0.01},
    {"a panel", 4, 2, {{300, 64}, {16, 4}}, 0.01},
    {"backwards", 4, 2, {{6, -4000}, {200, -4}}, 0.01},
    {"the same element again", 4, 3, {{6, 4000}, {7, 0}, {200, 4}}, 0.01},
    {"every other element", 4, 1, {{200, 8}}, 0.02},
    {"NHWC: a window of 3 x 3", 4, 3, {{3, 14336}, {3, 256}, {64, 4}}, 0.01},
    {"NHWC: a row of windows of 3 x 3, stride 2", 4, 4, {{27, 512}, {3, 14336}, {3, 256}, {64, 4}}, 0.01},
    {"NHWC: windows of 3 x 3, stride 2", 4, 5, {{27, 28672}, {27, 512}, {3, 14336}, {3, 256}, {64, 4}}, 0.02},
    {"NHWC: windows of 3 x 3, dilated", 4, 5, {{26, 28672}, {26, 512}, {3, 28672}, {3, 512}, {64, 4}}, 0.02},
    {"NHWC: a group of 16 channels", 4, 5, {{27, 28672}, {27, 512}, {3, 14336}, {3, 256}, {16, 4}}, 0.02},
    {"NCHW: a window of 3 x 3", 4, 3, {{64, 12544}, {3, 224}, {3, 4}}, 0.02},
    {"NCHW: a row of windows of 3 x 3, stride 2", 4, 4, {{64, 12544}, {3, 224}, {3, 4}, {27, 8}}, 0.02},
    {"NCHW: windows of 3 x 3, stride 2", 4, 5, {{64, 12544}, {27, 448}, {3, 224}, {3, 4}, {27, 8}}, 0.02},
    {"NCHW: a window of 3 x 3, dilated", 4, 3, {{64, 12544}, {3, 448}, {3, 8}}, 0.02},
};

static void units_are_counted(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int64_t unit = 64; unit <= 4096; unit *= 64)
            check(&cases[i], unit);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(units_are_counted)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
