/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Refuses wrong shapes and operands of convolutions: the status, a message that names the field, and nothing
 * written, neither a plan nor an element of Y.
 */
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "ukernels.h"

static const struct uk_conv2d good = {.n = 1,
                                      .h = 6,
                                      .w = 6,
                                      .c = 4,
                                      .o = 8,
                                      .r = 3,
                                      .s = 3,
                                      .stride_h = 1,
                                      .stride_w = 1,
                                      .dilation_h = 1,
                                      .dilation_w = 1,
                                      .pad_top = 1,
                                      .pad_bottom = 1,
                                      .pad_left = 1,
                                      .pad_right = 1,
                                      .groups = 2};
enum { X = 6 * 6 * 4, F = 3 * 3 * 2 * 8, Y = 6 * 6 * 8, MOST = 4096 };
static _Alignas(64) float x[X], f[F], y[Y + 16], bias[8], packed[MOST];
static _Alignas(64) char workspace[1 << 16];

/* ---- shapes ---- */

static void refuses_shape(const struct uk_conv2d *shape, const struct uk_conv2d_options *options,
                          enum uk_status expected, const char *word) {
    struct uk_conv2d_plan plan, before;

    memset(&plan, 0x5a, sizeof plan);
    before = plan;
    const enum uk_status status = uk_sconv2d_plan(&plan, shape, options);

    if (status != expected || !strstr(uk_last_message(), word))
        fail_msg("%s: %s, \"%s\"", word, uk_status_text(status), uk_last_message());
    assert_memory_equal(&plan, &before, sizeof plan);
}

static void fields_of_the_shape(void **state) {
    static const struct {
        const char *name;
        size_t at;
        int least;
    } fields[] = {{"n", offsetof(struct uk_conv2d, n), 0},
                  {"h", offsetof(struct uk_conv2d, h), 0},
                  {"w", offsetof(struct uk_conv2d, w), 0},
                  {"c", offsetof(struct uk_conv2d, c), 0},
                  {"o", offsetof(struct uk_conv2d, o), 0},
                  {"r", offsetof(struct uk_conv2d, r), 1},
                  {"s", offsetof(struct uk_conv2d, s), 1},
                  {"stride_h", offsetof(struct uk_conv2d, stride_h), 1},
                  {"stride_w", offsetof(struct uk_conv2d, stride_w), 1},
                  {"dilation_h", offsetof(struct uk_conv2d, dilation_h), 1},
                  {"dilation_w", offsetof(struct uk_conv2d, dilation_w), 1},
                  {"pad_top", offsetof(struct uk_conv2d, pad_top), 0},
                  {"pad_bottom", offsetof(struct uk_conv2d, pad_bottom), 0},
                  {"pad_left", offsetof(struct uk_conv2d, pad_left), 0},
                  {"pad_right", offsetof(struct uk_conv2d, pad_right), 0},
                  {"groups", offsetof(struct uk_conv2d, groups), 1},
                  {"x.image", offsetof(struct uk_conv2d, x.image), 0},
                  {"x.row", offsetof(struct uk_conv2d, x.row), 0},
                  {"x.column", offsetof(struct uk_conv2d, x.column), 0},
                  {"x.channel", offsetof(struct uk_conv2d, x.channel), 0},
                  {"y.image", offsetof(struct uk_conv2d, y.image), 0},
                  {"y.row", offsetof(struct uk_conv2d, y.row), 0},
                  {"y.column", offsetof(struct uk_conv2d, y.column), 0},
                  {"y.channel", offsetof(struct uk_conv2d, y.channel), 0}};
    struct uk_conv2d_plan plan;

    (void)state;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        struct uk_conv2d shape = good;
        int64_t *field = (int64_t *)(void *)((char *)&shape + fields[i].at);
        char start[32];

        snprintf(start, sizeof start, "%s = ", fields[i].name);
        const int64_t values[] = {fields[i].least - 1, -1, -(INT64_C(1) << 40), INT64_MIN};

        for (size_t j = 0; j < sizeof values / sizeof *values; j++) {
            *field = values[j];
            refuses_shape(&shape, NULL, UK_INVALID_SIZE, start);
        }
        /* Whatever a large value means, it is computed without overflow. */
        for (int bits = 20; bits < 64; bits += 4) {
            *field = INT64_MAX >> (63 - bits);
            if (!uk_sconv2d_plan(&plan, &shape, NULL))
                uk_conv2d_workspace(&plan);
            shape.h = shape.w = shape.n = 0;
            uk_sconv2d_plan(&plan, &shape, NULL);
            shape = good;
        }
    }
}

static void relations_of_the_shape(void **state) {
    struct uk_conv2d shape = good;

    (void)state;
    shape.r = 9;
    refuses_shape(&shape, NULL, UK_INVALID_SIZE, "rows, 9, are more than the padded image's, 8");
    shape = good;
    shape.dilation_w = 4;
    refuses_shape(&shape, NULL, UK_INVALID_SIZE, "columns, 9, are more");
    shape = good;
    shape.groups = 3;
    refuses_shape(&shape, NULL, UK_INVALID_SIZE, "groups = 3 does not divide c = 4");
    shape.c = 6;
    refuses_shape(&shape, NULL, UK_INVALID_SIZE, "groups = 3 does not divide o = 8");
    shape = good;
    shape.layout = (enum uk_image_layout)7;
    refuses_shape(&shape, NULL, UK_INVALID_ARGUMENT, "layout = 7");
    shape = good;
    shape.filter = (enum uk_filter_layout)2;
    refuses_shape(&shape, NULL, UK_INVALID_ARGUMENT, "filter = 2");
    shape = good;
    shape.x.column = 3;
    refuses_shape(&shape, NULL, UK_INVALID_SIZE, "x.column = 3 is less than 4");
    shape = good;
    shape.x.channel = 2;
    refuses_shape(&shape, NULL, UK_INVALID_SIZE, "x.channel = 2 is neither 0 nor 1");
    shape = good;
    shape.y.row = 47;
    refuses_shape(&shape, NULL, UK_INVALID_SIZE, "y.row = 47 is less than 48");
    shape.layout = UK_NCHW;
    shape.y.channel = 35;
    refuses_shape(&shape, NULL, UK_INVALID_SIZE, "y.channel = 35 is less than");
    shape = good;
    shape.pad_top = INT64_MAX;
    refuses_shape(&shape, NULL, UK_INVALID_SIZE, "h = 6 overflows with its pads");
    shape = good;
    shape.pad_left = shape.stride_w = INT64_C(1) << 60;
    refuses_shape(&shape, NULL, UK_INVALID_SIZE, "columns with the pads, is too large");
    shape = good;
    shape.dilation_h = INT64_MAX;
    refuses_shape(&shape, NULL, UK_INVALID_SIZE, "r = 3 overflows with dilation_h");
    shape = good;
    shape.n = INT64_MAX / 4;
    refuses_shape(&shape, NULL, UK_INVALID_SIZE, "too large to be addressed");
    shape = good;
    shape.h = shape.w = shape.r = shape.s = INT64_C(1) << 40;
    refuses_shape(&shape, NULL, UK_INVALID_SIZE, "the weights, ");
}

/* Extents up to 2^47: a plan is made or refused, and sanitizers find what overflows in estimates. */
static void extents_of_any_size(void **state) {
    uint64_t drawn = 1;

    (void)state;
    for (int i = 0; i < 2000; i++) {
        struct uk_conv2d shape = good;
        int64_t *const fields[] = {&shape.n,          &shape.h,          &shape.w,          &shape.c,
                                   &shape.o,          &shape.r,          &shape.s,          &shape.stride_h,
                                   &shape.stride_w,   &shape.dilation_h, &shape.dilation_w, &shape.pad_top,
                                   &shape.pad_bottom, &shape.pad_left,   &shape.pad_right};
        struct uk_conv2d_plan plan;

        for (int changed = 0; changed < 4; changed++) {
            drawn = drawn * 6364136223846793005u + 1442695040888963407u;
            *fields[(drawn >> 33) % (sizeof fields / sizeof *fields)] = INT64_C(1) << (drawn >> 45) % 48;
        }
        shape.layout = i % 2 ? UK_NCHW : UK_NHWC;
        const enum uk_status status = uk_sconv2d_plan(&plan, &shape, NULL);

        assert_true(status == UK_OK || status == UK_INVALID_SIZE);
    }
}

static void options_and_plans(void **state) {
    struct uk_conv2d_plan plan, none = {{0}};

    (void)state;
    refuses_shape(&good, &(struct uk_conv2d_options){.threads = -1}, UK_INVALID_ARGUMENT,
                  "options.threads = -1");
    refuses_shape(&good, &(struct uk_conv2d_options){.machine = "abacus"}, UK_INVALID_ARGUMENT, "\"abacus\"");
    refuses_shape(NULL, NULL, UK_INVALID_ARGUMENT, "shape is NULL");
    assert_int_equal(uk_sconv2d_plan(NULL, &good, NULL), UK_INVALID_ARGUMENT);
    assert_int_equal(uk_sconv2d_run(&none, x, f, y, NULL, NULL, 0), UK_INVALID_ARGUMENT);
    assert_int_equal(uk_sconv2d_run(NULL, x, f, y, NULL, NULL, 0), UK_INVALID_ARGUMENT);
    assert_int_equal(uk_sconv2d_pack_weights(&none, f, packed), UK_INVALID_ARGUMENT);
    assert_int_equal(uk_conv2d_workspace(&none) + uk_conv2d_packed_weights_size(&none), 0);
    assert_int_equal(uk_conv2d_explain(&none, NULL, 0), 0);
    assert_int_equal(uk_sconv2d_plan(&plan, &good, &(struct uk_conv2d_options){.machine = "zen4"}), UK_OK);
    assert_true(uk_conv2d_explain(&plan, NULL, 0) > 0);
    assert_int_equal(uk_sconv2d_run(&plan, x, f, y, NULL, NULL, 0), UK_INVALID_ARGUMENT);
}

/* ---- runs ---- */

static void refuses_run(const struct uk_conv2d_plan *plan, const float *from, const float *weights, float *to,
                        const struct uk_sgemm_epilogue *e, void *work, size_t bytes, enum uk_status expected,
                        const char *word) {
    for (int i = 0; i < Y + 16; i++)
        y[i] = 7;
    const enum uk_status status = uk_sconv2d_run(plan, from, weights, to, e, work, bytes);

    if (status != expected || !strstr(uk_last_message(), word))
        fail_msg("%s: %s, \"%s\"", word, uk_status_text(status), uk_last_message());
    for (int i = 0; i < Y + 16; i++)
        assert_true(y[i] == 7);
}

static void operands(void **state) {
    struct uk_conv2d_plan plan;
    const size_t all = sizeof workspace;

    (void)state;
    assert_int_equal(uk_sconv2d_plan(&plan, &good, NULL), UK_OK);
    const size_t bytes = uk_conv2d_workspace(&plan);

    assert_true(bytes > 0 && bytes <= all);
    refuses_run(&plan, NULL, f, y, NULL, NULL, 0, UK_INVALID_ARGUMENT, "x is NULL");
    refuses_run(&plan, x, NULL, y, NULL, NULL, 0, UK_INVALID_ARGUMENT, "weights is NULL");
    refuses_run(&plan, x, f, NULL, NULL, NULL, 0, UK_INVALID_ARGUMENT, "y is NULL");
    refuses_run(&plan, x, f, y, NULL, workspace, bytes - 1, UK_INVALID_ARGUMENT, "workspace has");
    refuses_run(&plan, x, f, y, NULL, workspace + 4, all - 4, UK_INVALID_ARGUMENT, "not aligned");
    refuses_run(&plan, y + Y - 1, f, y, NULL, NULL, 0, UK_OVERLAP, "y overlaps x");
    refuses_run(&plan, x, y, y, NULL, NULL, 0, UK_OVERLAP, "y overlaps weights");
    refuses_run(&plan, x, f, (float *)(void *)workspace, NULL, workspace, all, UK_OVERLAP,
                "y overlaps workspace");
    assert_int_equal(uk_sconv2d_run(&plan, x, f, y, NULL, workspace, bytes), UK_OK);
}

static void epilogues(void **state) {
    struct uk_conv2d_plan plan;
    struct uk_sgemm_epilogue e = {.flags = 8};

    (void)state;
    assert_int_equal(uk_sconv2d_plan(&plan, &good, NULL), UK_OK);
    refuses_run(&plan, x, f, y, &e, NULL, 0, UK_INVALID_ARGUMENT, "epilogue.flags = 0x8");
    e = (struct uk_sgemm_epilogue){.flags = UK_EPILOGUE_RESIDUAL};
    refuses_run(&plan, x, f, y, &e, NULL, 0, UK_INVALID_ARGUMENT, "epilogue.residual is NULL");
    e = (struct uk_sgemm_epilogue){.row_bias = bias};
    refuses_run(&plan, x, f, y, &e, NULL, 0, UK_INVALID_ARGUMENT, "epilogue.row_bias");
    e = (struct uk_sgemm_epilogue){.scale = 1};
    refuses_run(&plan, x, f, y, &e, NULL, 0, UK_INVALID_ARGUMENT,
                "epilogue.scale is given without UK_EPILOGUE_SCALE");
    e = (struct uk_sgemm_epilogue){.high = 1};
    refuses_run(&plan, x, f, y, &e, NULL, 0, UK_INVALID_ARGUMENT,
                "epilogue.high is given without UK_EPILOGUE_CLAMP");
    e = (struct uk_sgemm_epilogue){.column_bias = y + 3};
    refuses_run(&plan, x, f, y, &e, NULL, 0, UK_OVERLAP, "y overlaps epilogue.column_bias");
    e = (struct uk_sgemm_epilogue){.flags = UK_EPILOGUE_RESIDUAL, .residual = y};
    refuses_run(&plan, x, f, y, &e, NULL, 0, UK_OVERLAP, "y overlaps epilogue.residual");
    /* Products have no residual. */
    e = (struct uk_sgemm_epilogue){.flags = UK_EPILOGUE_RESIDUAL, .residual = x};
    struct uk_gemm_plan product;

    assert_int_equal(
        uk_sgemm_plan(&product, UK_ROW_MAJOR, UK_NO_TRANSPOSE, UK_NO_TRANSPOSE, 2, 2, 2, 2, 2, 2, NULL),
        UK_OK);
    assert_int_equal(uk_sgemm_run(&product, 1, x, f, 0, y, &e, NULL), UK_INVALID_ARGUMENT);
}

static void packed_weights(void **state) {
    const struct uk_conv2d_options options = {.weights_packed = true};
    struct uk_conv2d other = good;
    struct uk_conv2d_plan plan, another;

    (void)state;
    other.s = 2;
    other.pad_left = 0;
    assert_int_equal(uk_sconv2d_plan(&plan, &good, &options), UK_OK);
    assert_int_equal(uk_sconv2d_plan(&another, &other, &options), UK_OK);
    assert_true(uk_conv2d_packed_weights_size(&plan) <= sizeof packed);
    assert_int_equal(uk_sconv2d_pack_weights(&plan, NULL, packed), UK_INVALID_ARGUMENT);
    assert_int_equal(uk_sconv2d_pack_weights(&plan, f, NULL), UK_INVALID_ARGUMENT);
    assert_int_equal(uk_sconv2d_pack_weights(&plan, packed + 20, packed), UK_OVERLAP);
    refuses_run(&plan, x, packed, y, NULL, NULL, 0, UK_INVALID_ARGUMENT,
                "weights were not packed for this plan");
    assert_int_equal(uk_sconv2d_pack_weights(&another, f, packed), UK_OK);
    refuses_run(&plan, x, packed, y, NULL, NULL, 0, UK_INVALID_ARGUMENT,
                "weights were not packed for this plan");
    assert_int_equal(uk_sconv2d_pack_weights(&plan, f, packed), UK_OK);
    assert_int_equal(uk_sconv2d_run(&plan, x, packed, y, NULL, NULL, 0), UK_OK);
}

/* ---- what is no error ---- */

/* Without elements nothing is read or written; sums without terms are 0, then the epilogue. */
static void empty_shapes(void **state) {
    struct uk_conv2d shape = good;
    struct uk_conv2d_plan plan;
    const struct uk_sgemm_epilogue e = {.flags = UK_EPILOGUE_CLAMP, .low = 2, .high = 3};

    (void)state;
    shape.n = 0;
    assert_int_equal(uk_sconv2d_plan(&plan, &shape, NULL), UK_OK);
    assert_int_equal(uk_sconv2d_run(&plan, NULL, NULL, NULL, NULL, NULL, 0), UK_OK);
    shape = good;
    shape.h = shape.pad_top = shape.pad_bottom = 0;
    assert_int_equal(uk_sconv2d_plan(&plan, &shape, NULL), UK_OK);
    assert_int_equal(uk_sconv2d_run(&plan, NULL, NULL, NULL, NULL, NULL, 0), UK_OK);
    shape = good;
    shape.c = 0;
    assert_int_equal(uk_sconv2d_plan(&plan, &shape, NULL), UK_OK);
    assert_int_equal(uk_sconv2d_run(&plan, NULL, NULL, y, &e, NULL, 0), UK_OK);
    for (int i = 0; i < Y; i++)
        assert_true(y[i] == 2);
    shape = good;
    shape.h = 0;
    shape.pad_top = 3;
    assert_int_equal(uk_sconv2d_plan(&plan, &shape, NULL), UK_OK);
    assert_int_equal(uk_sconv2d_run(&plan, NULL, NULL, y, NULL, NULL, 0), UK_OK);
    for (int i = 0; i < 2 * 6 * 8; i++)
        assert_true(y[i] == 0);
}

/* A scale of 0 reads no operand and needs no workspace, whatever the plan needs. */
static void scale_of_0(void **state) {
    const struct uk_sgemm_epilogue e = {.flags = UK_EPILOGUE_SCALE};
    struct uk_conv2d shape = good;
    struct uk_conv2d_plan plan;

    (void)state;
    shape.layout = UK_NCHW;
    shape.stride_w = 2;
    assert_int_equal(uk_sconv2d_plan(&plan, &shape, NULL), UK_OK);
    assert_true(uk_conv2d_workspace(&plan) > 0);
    y[0] = 7;
    assert_int_equal(uk_sconv2d_run(&plan, NULL, NULL, y, &e, NULL, 0), UK_OK);
    assert_true(y[0] == 0);
}

/* The stride of a single pixel and the dilation of a single tap may be any numbers. */
static void steps_without_effect(void **state) {
    struct uk_conv2d shape = good;
    struct uk_conv2d_plan plan;

    (void)state;
    for (int i = 0; i < X; i++)
        x[i] = 1;
    for (int i = 0; i < F; i++)
        f[i] = 1;
    shape.pad_top = shape.pad_bottom = shape.pad_left = shape.pad_right = 0;
    shape.h = shape.w = 3;
    shape.stride_h = shape.stride_w = INT64_MAX;
    for (int taps = 3; taps > 0; taps -= 2) {
        shape.r = shape.s = taps;
        shape.dilation_h = shape.dilation_w = taps == 1 ? INT64_MAX : 1;
        assert_int_equal(uk_sconv2d_plan(&plan, &shape, NULL), UK_OK);
        assert_int_equal(uk_sconv2d_run(&plan, x, f, y, NULL, NULL, 0), UK_OK);
        for (int o = 0; o < 8; o++)
            assert_true(y[o] == (float)(2 * taps * taps));
    }
}

static void a_plan_in_words(void **state) {
    struct uk_conv2d_plan plan;
    char text[1024], cut[10];

    (void)state;
    assert_int_equal(uk_sconv2d_plan(&plan, &good, NULL), UK_OK);
    const size_t length = uk_conv2d_explain(&plan, text, sizeof text);

    assert_int_equal(length, strlen(text));
    assert_int_equal(uk_conv2d_explain(&plan, cut, sizeof cut), length);
    assert_int_equal(strlen(cut), sizeof cut - 1);
    assert_non_null(strstr(text, "path: "));
    assert_non_null(strstr(text, "weights: "));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(fields_of_the_shape),
                                       cmocka_unit_test(relations_of_the_shape),
                                       cmocka_unit_test(extents_of_any_size),
                                       cmocka_unit_test(options_and_plans),
                                       cmocka_unit_test(operands),
                                       cmocka_unit_test(epilogues),
                                       cmocka_unit_test(packed_weights),
                                       cmocka_unit_test(empty_shapes),
                                       cmocka_unit_test(scale_of_0),
                                       cmocka_unit_test(steps_without_effect),
                                       cmocka_unit_test(a_plan_in_words)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
