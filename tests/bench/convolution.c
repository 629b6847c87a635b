/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the convolutions of uk bench: texts of shapes, drawn shapes, the check of results, missing libraries.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "bench.h"

static void texts(void **state) {
    (void)state;
    struct bench_conv_shapes s;
    char message[256] = "", text[BENCH_CONV_TEXT];
    assert_int_equal(bench_conv_shapes_parse("set a # comment\nconv 9 8 4 6 3x1 s2 d3 g2 n5 first\n\nset b\n"
                                             "depthwise 7 7 24 5x5 s2\n",
                                             &s, message, sizeof message),
                     UK_OK);
    assert_int_equal(s.count, 2);
    assert_string_equal(s.shape[0].set, "a");
    assert_string_equal(s.shape[0].label, "first");
    bench_conv_text(&s.shape[0], text, sizeof text);
    assert_string_equal(text, "9x8 4>6 3x1 s2 d3 g2 n5");
    bench_conv_text(&s.shape[1], text, sizeof text);
    assert_string_equal(text, "7x7 24 depthwise 5x5 s2");
    assert_true(bench_conv_is_depthwise(&s.shape[1]) && !bench_conv_is_depthwise(&s.shape[0]));
    assert_int_equal(bench_conv_rows(&s.shape[0]), 5);
    assert_int_equal(bench_conv_columns(&s.shape[0]), 4);
    assert_int_equal(bench_conv_above(&s.shape[0]), 3);
    assert_int_equal(bench_conv_left(&s.shape[0]), 0);
    /* Of the five rows of results the first has one element of its window above, the last one below. */
    assert_float_equal(bench_conv_multiply_adds(&s.shape[0], false), 5 * 5 * 4 * 3 * 2 * 6, 0);
    assert_float_equal(bench_conv_multiply_adds(&s.shape[0], true), 5 * (2 + 2 + 3 + 2 + 2) * 4 * 2 * 6, 0);
    bench_conv_shapes_free(&s);
    assert_int_equal(bench_conv_shapes_parse(bench_conv_shapes_text, &s, message, sizeof message), UK_OK);
    assert_int_equal(s.count, 30);
    bench_conv_shapes_free(&s);
}

static void bad_texts(void **state) {
    (void)state;
    static const char *const bad[][2] = {
        {"conv 9 9 4 4 3x3\n", "line 1: a shape outside of a set"},
        {"set a\nconv 9 9 4 3x3\n", "line 2: conv needs sizes from 1"},
        {"set a\nconv 9 9 4 4 2x3\n", "line 2: conv needs sizes from 1"},
        {"set a\ndepthwise 9 9 0 3x3\n", "line 2: depthwise needs sizes from 1"},
        {"set a\nconv 9 9 4 4 3x3 s0\n", "line 2: 's0' is neither s, d, g or n with a number"},
        {"set a\nconv 9 9 4 4 3x3 two labels\n", "line 2: 'two' is neither"},
        {"set a\nconv 9 9 4 6 3x3 g4\n", "line 2: 4 groups do not divide 4 and 6 channels"},
        {"set a\nconv 10000 10000 512 4 3x3\n", "line 2: an operand of more than 1e9 elements"},
        {"set a b\n", "line 1: expected 'set NAME'"},
        {"gemm 4 4 4\n", "line 1: 'gemm' is none of set, conv, depthwise"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct bench_conv_shapes s;
        char message[256] = "";
        assert_int_equal(bench_conv_shapes_parse(bad[i][0], &s, message, sizeof message),
                         UK_INVALID_ARGUMENT);
        assert_memory_equal(message, bad[i][1], strlen(bad[i][1]));
        bench_conv_shapes_free(&s);
    }
}

static void check_drawn(const struct bench_conv_shape *s, double bytes) {
    int64_t weights, results;
    const double images = (double)bench_conv_elements(s, &weights, &results),
                 adds = bench_conv_multiply_adds(s, false);
    const bool depthwise = bench_conv_is_depthwise(s);
    assert_true(adds >= (depthwise ? 1e5 : 1e6) && adds <= 5e8);
    assert_true(bytes * (images + (double)weights + (double)results) <= 256e6);
    assert_true(s->h >= 7 && s->h <= 112 && s->w >= 7 && s->w <= 112 && (s->n == 1 || s->n == 4));
    assert_true(s->c >= 3 && s->c <= 2048 && s->o >= 3 && s->o <= 2048);
    assert_true((s->stride == 1 || s->stride == 2) && (s->dilation == 1 || s->dilation == 2));
    assert_true(s->c % s->groups == 0 && s->o % s->groups == 0);
    assert_true(depthwise || s->groups == 1 || s->groups == 4);
}

static void drawn_shapes(void **state) {
    (void)state;
    struct bench_conv_shapes a, b, other;
    for (int type = BENCH_CONV_F32; type <= BENCH_CONV_U8I8; type++) {
        const int usual = type == BENCH_CONV_F32 ? 140 : 60;
        assert_int_equal(bench_conv_sweep(&a, type, 0, 5), UK_OK);
        assert_int_equal(bench_conv_sweep(&b, type, 0, 5), UK_OK);
        assert_int_equal(bench_conv_sweep(&other, type, 0, 6), UK_OK);
        assert_int_equal(a.count, usual);
        assert_memory_equal(a.shape, b.shape, (size_t)usual * sizeof *a.shape);
        assert_memory_not_equal(a.shape, other.shape, (size_t)usual * sizeof *a.shape);
        bench_conv_shapes_free(&a);
        bench_conv_shapes_free(&b);
        bench_conv_shapes_free(&other);
        assert_int_equal(bench_conv_sweep(&a, type, 1000, 7), UK_OK);
        for (int i = 0; i < a.count; i++)
            check_drawn(&a.shape[i], type == BENCH_CONV_F32 ? 4 : 1);
        bench_conv_shapes_free(&a);
    }
}

/* Faults of a result: an element of a corner is wrong, nothing is written, or the border is not 0. */
enum fault { NONE, FIRST, ROW_END, LAST_PIXEL, LAST, UNWRITTEN, WRAPS };

static double element(const struct bench_convolution *v, const void *from, int64_t i, bool is_signed) {
    return v->type == BENCH_CONV_F32 ? (double)((const float *)from)[i]
           : is_signed               ? (double)((const int8_t *)from)[i]
                                     : (double)((const uint8_t *)from)[i];
}

static void store(const struct bench_convolution *v, int64_t i, double value) {
    const double rounded = nearbyint(value);
    if (v->type == BENCH_CONV_F32)
        ((float *)v->y)[i] = (float)value;
    else
        ((uint8_t *)v->y)[i] = (uint8_t)(rounded < 0 ? 0 : rounded > 255 ? 255 : rounded);
}

/* Adds one element of the image to the sums that it is part of. */
static void scatter(const struct bench_convolution *v, double *sum, const int64_t at[4], bool wraps) {
    const struct bench_conv_shape *s = v->shape;
    const int64_t channels = s->c / s->groups, outputs = s->o / s->groups, group = at[3] / channels;
    const int64_t rows = bench_conv_rows(s), columns = bench_conv_columns(s);
    for (int64_t r = 0; r < s->r; r++)
        for (int64_t t = 0; t < s->s; t++) {
            const int64_t p = at[1] + bench_conv_above(s) - r * s->dilation,
                          q = at[2] + bench_conv_left(s) - t * s->dilation;
            if (p < 0 || p % s->stride || p / s->stride >= rows || (!wraps && q < 0) || q % s->stride ||
                q / s->stride >= columns)
                continue;
            for (int64_t o = group * outputs; o < (group + 1) * outputs; o++) {
                const int64_t column = q < 0 ? 0 : q / s->stride;
                sum[((at[0] * rows + p / s->stride) * columns + column) * s->o + o] +=
                    element(v, v->x, ((at[0] * s->h + at[1]) * s->w + at[2]) * s->c + at[3], false) *
                    element(v, v->f, ((r * s->s + t) * channels + at[3] % channels) * s->o + o, true);
            }
        }
}

static void repeat_plain(struct bench_call *call, long calls) {
    const struct bench_convolution *v = call->convolution;
    const struct bench_conv_shape *s = v->shape;
    const enum fault fault = *(enum fault *)call->state[0];
    int64_t weights, results, at[4];
    (void)calls;
    bench_conv_elements(s, &weights, &results);
    double *sum = calloc((size_t)results, sizeof *sum);
    assert_non_null(sum);
    for (at[0] = 0; at[0] < s->n; at[0]++)
        for (at[1] = 0; at[1] < s->h; at[1]++)
            for (at[2] = 0; at[2] < s->w; at[2]++)
                for (at[3] = 0; at[3] < s->c; at[3]++)
                    scatter(v, sum, at, fault == WRAPS);
    for (int64_t i = 0; i < results && fault != UNWRITTEN; i++)
        store(v, i, v->scale ? sum[i] * (double)v->scale[i % s->o] : sum[i]);
    free(sum);
    const int64_t corner[] = {[FIRST] = 0,
                              [ROW_END] = s->o * bench_conv_columns(s) - 1,
                              [LAST_PIXEL] = results - s->o * bench_conv_columns(s),
                              [LAST] = results - 1};
    if (fault >= FIRST && fault <= LAST)
        store(v, corner[fault], element(v, v->y, corner[fault], false) < 100 ? 200 : 3);
}

static bool passes(const struct bench_conv_shape *shape, enum bench_conv_type type, enum fault fault) {
    struct bench_library library = {.name = "plain", .repeat = repeat_plain};
    struct bench_convolution v;
    struct bench_call call = {.library = &library, .convolution = &v, .state = {&fault}};
    assert_int_equal(bench_convolution_create(&v, shape, type), UK_OK);
    const bool right = bench_convolution_check(&v, &call);
    bench_convolution_free(&v);
    return right;
}

static void checked_results(void **state) {
    (void)state;
    const struct bench_conv_shape shapes[] = {
        {.n = 2, .h = 7, .w = 6, .c = 8, .r = 3, .s = 5, .o = 4, .stride = 2, .dilation = 1, .groups = 4},
        {.n = 1, .h = 9, .w = 9, .c = 3, .r = 3, .s = 3, .o = 5, .stride = 1, .dilation = 2, .groups = 1},
        {.n = 1, .h = 8, .w = 8, .c = 6, .r = 3, .s = 3, .o = 6, .stride = 1, .dilation = 1, .groups = 6},
        {.n = 1, .h = 40, .w = 40, .c = 32, .r = 3, .s = 3, .o = 64, .stride = 1, .dilation = 1, .groups = 1},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int type = BENCH_CONV_F32; type <= BENCH_CONV_U8I8; type++)
            for (enum fault f = NONE; f <= WRAPS; f++)
                assert_true(passes(&shapes[i], type, f) == (f == NONE));
}

static void missing_libraries(void **state) {
    (void)state;
    struct bench_library l[BENCH_CONV_LIBRARIES];
    bench_conv_libraries_open(l, "/nonexistent", &(struct bench_conv_options){.threads = 1});
    for (int i = 0; i < BENCH_CONV_LIBRARIES - 1; i++) { /* ONNX Runtime may be in .venv-networks */
        assert_true(l[i].missing && *l[i].name);
        assert_non_null(strstr(l[i].detail, "not installed; ./uk-setup peers"));
    }
    assert_true(*l[BENCH_CONV_LIBRARIES - 1].name && *l[BENCH_CONV_LIBRARIES - 1].detail);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts),
        cmocka_unit_test(bad_texts),
        cmocka_unit_test(drawn_shapes),
        cmocka_unit_test(checked_results),
        cmocka_unit_test(missing_libraries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
