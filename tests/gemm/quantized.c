/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the last operations on sums of bytes exactly with plain code: zero points, biases, scales, bounds,
 * each type of C, in all layouts, by 1 and 3 threads, with operands packed beforehand or not. Each element of
 * C that is not the product's must not change, and nothing is written if arguments are refused.
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "bytes_data.h"

enum { THREADS = 3, MOST = 400 };

static const enum uk_c_element c_elements[] = {UK_C_DEFAULT, UK_C_I32, UK_C_I8, UK_C_U8, UK_C_F32};

static int size_of(enum uk_c_element e) {
    return e == UK_C_I8 || e == UK_C_U8 ? 1 : 4;
}

/* Last operations, and their numbers for up to MOST rows and columns. */
struct operations {
    struct uk_igemm_epilogue e;
    int32_t row_bias[MOST], column_bias[MOST], column_zero[MOST];
    float column_scale[MOST];
};

static int32_t zero_of(bool is_signed) {
    return (int32_t)random_below(&seed, 256) - (is_signed ? 128 : 0);
}

static float scale_of(void) {
    static const float powers[] = {0.5f, 0.0001f, 0.002f, 3, 1e-30f, 1e30f};

    return powers[random_below(&seed, 12) % 6 * (random_below(&seed, 4) == 0)] *
           (float)(1 + random_below(&seed, 1000)) / 300;
}

static void draw_operations(const struct shape *s, enum uk_c_element c, struct operations *o) {
    const uint64_t way = random_next(&seed);

    o->e = (struct uk_igemm_epilogue){.flags = 0};
    for (int i = 0; i < MOST; i++) {
        o->row_bias[i] = (int32_t)random_next(&seed) >> (way & 1 ? 0 : 20);
        o->column_bias[i] = (int32_t)random_next(&seed) >> 18;
        o->column_zero[i] = zero_of(s->type->b_is_signed);
        o->column_scale[i] = scale_of();
    }
    o->e.row_bias = way & 2 ? o->row_bias : NULL;
    o->e.column_bias = way & 4 ? o->column_bias : NULL;
    o->e.a_zero = way & 8 ? zero_of(s->type->a_is_signed) : 0;
    o->e.b_zero = way & 16 && !(way & 32) ? zero_of(s->type->b_is_signed) : 0;
    o->e.column_zero = way & 32 ? o->column_zero : NULL;
    if (way & 64) {
        o->e.flags |= UK_EPILOGUE_SCALE;
        o->e.column_scale = way & 128 ? o->column_scale : NULL;
        o->e.scale = way & 128 ? 0 : scale_of();
    }
    o->e.c_zero = c == UK_C_F32 || !(way & 256) ? 0 : zero_of(c != UK_C_U8);
    if (way & 512) {
        o->e.flags |= UK_EPILOGUE_CLAMP;
        o->e.low = way & 1024 ? -INFINITY : -20.5 + (double)random_below(&seed, 40);
        o->e.high = way & 2048 ? INFINITY : 25.25 + (double)random_below(&seed, 40);
    }
}

static int32_t sum_of(const struct shape *s, const struct operands *o, const struct uk_igemm_epilogue *e,
                      int64_t i, int64_t j, int32_t before) {
    const bool a_first = is_by_first(s, s->ta), b_first = is_by_first(s, s->tb);
    const int64_t b_zero = e->column_zero ? e->column_zero[j] : e->b_zero;
    uint64_t sum = s->beta == 0 ? 0 : (uint64_t)s->beta * (uint64_t)(int64_t)before;

    for (int64_t p = 0; p < s->k; p++)
        sum +=
            (uint64_t)((byte_at(o->a.data, s->type->a_is_signed, place(a_first, i, p, s->lda)) - e->a_zero) *
                       (byte_at(o->b.data, s->type->b_is_signed, place(b_first, p, j, s->ldb)) - b_zero));
    sum += e->row_bias ? (uint64_t)e->row_bias[i] : 0;
    sum += e->column_bias ? (uint64_t)e->column_bias[j] : 0;
    return (int32_t)(uint32_t)sum;
}

/* Stores the expected element at c. */
static void expect(const struct uk_igemm_epilogue *e, enum uk_c_element element, int64_t j, int32_t sum,
                   unsigned char *c) {
    const bool scales = e->flags & UK_EPILOGUE_SCALE, clamps = e->flags & UK_EPILOGUE_CLAMP,
               is_float = element == UK_C_F32;
    const float y = (float)sum * (!scales ? 1 : e->column_scale ? e->column_scale[j] : e->scale);
    const double least = is_float             ? -HUGE_VAL
                         : element == UK_C_I8 ? -128
                         : element == UK_C_U8 ? 0
                                              : INT_MIN,
                 most = is_float             ? HUGE_VAL
                        : element == UK_C_I8 ? 127
                        : element == UK_C_U8 ? 255
                                             : INT_MAX;
    double z = is_float ? (double)y : (scales || size_of(element) == 1 ? rint((double)y) : sum) + e->c_zero;

    if (clamps && is_float) {
        z = z < (double)(float)e->low ? (double)(float)e->low : z;
        z = z > (double)(float)e->high ? (double)(float)e->high : z;
    } else if (clamps) {
        z = fmax(z, ceil(e->low));
        z = fmin(z, floor(e->high));
    }
    z = fmin(fmax(z, least), most);
    if (is_float)
        memcpy(c, &(float){(float)z}, sizeof(float));
    else if (size_of(element) == 1)
        *c = (unsigned char)(int)z;
    else
        memcpy(c, &(int32_t){(int32_t)z}, sizeof(int32_t));
}

/* Computes by a plan, with each operand packed beforehand or not. */
static enum uk_status run(const struct shape *s, const struct operands *o, enum uk_c_element element,
                          const struct uk_igemm_epilogue *e, int threads, bool packs_a, bool packs_b,
                          void *c) {
    const struct uk_gemm_options options = {
        .threads = threads, .a_packed = packs_a, .b_packed = packs_b, .c_element = element};
    struct uk_gemm_plan plan;

    assert_int_equal(
        s->type->plan(&plan, s->layout, s->ta, s->tb, s->m, s->n, s->k, s->lda, s->ldb, s->ldc, &options),
        UK_OK);
    struct guarded a = guard(uk_gemm_packed_a_size(&plan)), b = guard(uk_gemm_packed_b_size(&plan)),
                   work = guard((uk_gemm_workspace(&plan) + 63) / 64 * 64);
    if (packs_a)
        assert_int_equal(s->type->pack_a(&plan, o->a.data, a.data), UK_OK);
    if (packs_b)
        assert_int_equal(s->type->pack_b(&plan, o->b.data, b.data), UK_OK);
    const enum uk_status status =
        s->type->run(&plan, packs_a ? a.data : o->a.data, packs_b ? b.data : o->b.data, s->beta, c, e,
                     threads == 1 ? NULL : work.data);

    release(&a);
    release(&b);
    release(&work);
    return status;
}

static void check(struct shape s, enum uk_c_element element, const struct operations *x) {
    const size_t size = (size_t)size_of(element);

    if (element > UK_C_I32)
        s.beta = 0;
    struct operands o = operands_of(&s, false);
    const size_t bytes = (size_t)o.c_count * size;
    unsigned char *before = malloc(bytes + 1), *expected = malloc(bytes + 1);
    struct guarded c = guard(bytes);

    assert_true(before && expected);
    for (size_t i = 0; i < bytes; i++)
        before[i] = expected[i] = (unsigned char)random_next(&seed);
    for (int64_t i = 0; i < s.m; i++)
        for (int64_t j = 0; j < s.n; j++) {
            unsigned char *at = expected + (size_t)place(s.layout == UK_ROW_MAJOR, i, j, s.ldc) * size;
            int32_t was = 0;

            if (s.beta)
                memcpy(&was, at, sizeof was);
            expect(&x->e, element, j, sum_of(&s, &o, &x->e, i, j, was), at);
        }
    for (int way = 0; way < 4; way++) {
        memcpy(c.data, before, bytes);
        assert_int_equal(run(&s, &o, element, &x->e, way % 2 ? THREADS : 1, way & 1, way & 2, c.data), UK_OK);
        if (memcmp(c.data, expected, bytes) != 0)
            fail_msg("%s: layout %d ta %d tb %d, %d x %d x %d, beta %d, C %d, way %d: flags %u, zeros %d %d "
                     "%d, by column %d, scales by column %d, biases %d %d",
                     s.type->name, s.layout, s.ta, s.tb, (int)s.m, (int)s.n, (int)s.k, s.beta, element, way,
                     x->e.flags, x->e.a_zero, x->e.b_zero, x->e.c_zero, x->e.column_zero != NULL,
                     x->e.column_scale != NULL, x->e.row_bias != NULL, x->e.column_bias != NULL);
    }
    free(before);
    free(expected);
    release(&c);
    free_operands(&o);
}

static void small_products(void **state) {
    static const int64_t sizes[] = {1, 2, 3, 5, 6, 7, 12, 17, 31, 33, 65, 80};
    static const int32_t betas[] = {0, 1, -3};
    static struct operations x;

    (void)state;
    for (int i = 0; i < 1200; i++) {
        const struct shape s =
            shape_of(i, i / 3 % 8, sizes[random_below(&seed, 12)], sizes[random_below(&seed, 12)],
                     (int64_t)random_below(&seed, 40), (int)random_below(&seed, 3), betas[i % 3]);
        const enum uk_c_element element = c_elements[random_below(&seed, 5)];

        draw_operations(&s, element, &x);
        check(s, element, &x);
    }
}

/* Several tasks, blocks of columns and of k. */
static void large_products(void **state) {
    static const int64_t sizes[][3] = {{150, 160, 513}, {13, 400, 1200}, {300, 40, 130}, {70, 90, 3000}};
    static struct operations x;

    (void)state;
    for (int i = 0; i < 96; i++) {
        const int64_t *size = sizes[i % 4];
        const struct shape s = shape_of(i, i % 8, size[0], size[1], size[2], i % 3, i % 2);
        const enum uk_c_element element = c_elements[i % 5];

        draw_operations(&s, element, &x);
        check(s, element, &x);
    }
}

/* Ties round to even, also next to a zero point and at the bounds. */
static void ties(void **state) {
    static const uint8_t a[] = {0, 1, 2, 3, 4, 5, 6, 7, 253, 254, 255};
    static const int8_t b[] = {1};
    static const uint8_t expected[] = {3, 3, 4, 5, 5, 5, 6, 7, 129, 130, 131};
    const struct uk_gemm_options options = {.c_element = UK_C_U8};
    const struct uk_igemm_epilogue e = {.flags = UK_EPILOGUE_SCALE, .scale = 0.5f, .c_zero = 3};
    struct uk_gemm_plan plan;
    uint8_t c[sizeof a];

    (void)state;
    assert_int_equal(uk_igemm_plan(&plan, UK_ROW_MAJOR, UK_NO_TRANSPOSE, UK_NO_TRANSPOSE, sizeof a, 1, 1, 1,
                                   1, 1, &options),
                     UK_OK);
    assert_int_equal(uk_igemm_run(&plan, a, b, 0, c, &e, NULL), UK_OK);
    assert_memory_equal(c, expected, sizeof c);
}

static void plans_are_explained(void **state) {
    const struct uk_gemm_options options = {.c_element = UK_C_I8};
    struct uk_gemm_plan plan;
    char text[1024];

    (void)state;
    assert_int_equal(
        uk_u8gemm_plan(&plan, UK_ROW_MAJOR, UK_NO_TRANSPOSE, UK_TRANSPOSE, 64, 65, 66, 66, 66, 65, &options),
        UK_OK);
    assert_true(uk_gemm_explain(&plan, text, sizeof text) < sizeof text);
    assert_non_null(strstr(text, "elements of C: i8\n"));
}

/* ---- refusals ---- */

static void refused(enum uk_c_element element, int32_t beta, const struct uk_igemm_epilogue *e,
                    const char *word) {
    const struct uk_gemm_options options = {.c_element = element};
    uint8_t a[4] = {1, 1, 1, 1};
    int8_t b[4] = {1, 1, 1, 1};
    int32_t c[4] = {5, 5, 5, 5};
    struct uk_gemm_plan plan;

    assert_int_equal(
        uk_igemm_plan(&plan, UK_ROW_MAJOR, UK_NO_TRANSPOSE, UK_NO_TRANSPOSE, 2, 2, 2, 2, 2, 2, &options),
        UK_OK);
    assert_int_equal(uk_igemm_run(&plan, a, b, beta, c, e, NULL), UK_INVALID_ARGUMENT);
    if (!strstr(uk_last_message(), word))
        fail_msg("\"%s\" does not say \"%s\"", uk_last_message(), word);
    for (int i = 0; i < 4; i++)
        assert_int_equal(c[i], 5);
}

static void bad_arguments(void **state) {
    const float scales[] = {1, -1}, nan[] = {NAN, 1};
    const int32_t zeros[] = {0, 128};
    const struct uk_igemm_epilogue none = {.flags = 0};
    const struct {
        enum uk_c_element element;
        int32_t beta;
        struct uk_igemm_epilogue e;
        const char *word;
    } cases[] = {
        {UK_C_U8, 1, none, "beta"},
        {UK_C_F32, 2, none, "beta"},
        {UK_C_DEFAULT, 0, {.flags = UK_EPILOGUE_RESIDUAL}, "flag"},
        {UK_C_DEFAULT, 0, {.flags = 64}, "flag"},
        {UK_C_U8, 0, {.low = 1}, "flag"},
        {UK_C_U8, 0, {.scale = 2}, "UK_EPILOGUE_SCALE"},
        {UK_C_U8, 0, {.column_scale = scales}, "UK_EPILOGUE_SCALE"},
        {UK_C_U8, 0, {.flags = UK_EPILOGUE_SCALE}, "positive"},
        {UK_C_U8, 0, {.flags = UK_EPILOGUE_SCALE, .scale = -1}, "positive"},
        {UK_C_U8, 0, {.flags = UK_EPILOGUE_SCALE, .scale = NAN}, "positive"},
        {UK_C_U8, 0, {.flags = UK_EPILOGUE_SCALE, .scale = INFINITY}, "finite"},
        {UK_C_U8, 0, {.flags = UK_EPILOGUE_SCALE, .scale = 1, .column_scale = scales}, "one of them"},
        {UK_C_U8, 0, {.flags = UK_EPILOGUE_SCALE, .column_scale = scales}, "column_scale[1]"},
        {UK_C_U8, 0, {.flags = UK_EPILOGUE_SCALE, .column_scale = nan}, "column_scale[0]"},
        {UK_C_DEFAULT, 0, {.a_zero = -1}, "a_zero"},
        {UK_C_DEFAULT, 0, {.a_zero = 256}, "a_zero"},
        {UK_C_DEFAULT, 0, {.b_zero = 128}, "b_zero"},
        {UK_C_DEFAULT, 0, {.b_zero = 1, .column_zero = zeros}, "b_zero"},
        {UK_C_DEFAULT, 0, {.column_zero = zeros}, "column_zero[1]"},
        {UK_C_U8, 0, {.c_zero = -1}, "c_zero"},
        {UK_C_I8, 0, {.c_zero = 128}, "c_zero"},
        {UK_C_F32, 0, {.c_zero = 1}, "c_zero"},
        {UK_C_U8, 0, {.flags = UK_EPILOGUE_CLAMP, .low = 5, .high = 4}, "low"},
        {UK_C_U8, 0, {.flags = UK_EPILOGUE_CLAMP, .low = 4.2, .high = 4.8}, "low"},
        {UK_C_U8, 0, {.flags = UK_EPILOGUE_CLAMP, .low = 256, .high = 300}, "low"},
        {UK_C_U8, 0, {.flags = UK_EPILOGUE_CLAMP, .low = NAN, .high = 300}, "low"},
        {UK_C_F32, 0, {.flags = UK_EPILOGUE_CLAMP, .low = 0, .high = NAN}, "high"},
    };
    struct uk_gemm_plan plan;
    const struct uk_gemm_options bytes = {.c_element = UK_C_U8},
                                 unknown = {.c_element = (enum uk_c_element)9};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refused(cases[i].element, cases[i].beta, &cases[i].e, cases[i].word);
    assert_int_equal(
        uk_sgemm_plan(&plan, UK_ROW_MAJOR, UK_NO_TRANSPOSE, UK_NO_TRANSPOSE, 2, 2, 2, 2, 2, 2, &bytes),
        UK_INVALID_ARGUMENT);
    assert_int_equal(
        uk_igemm_plan(&plan, UK_ROW_MAJOR, UK_NO_TRANSPOSE, UK_NO_TRANSPOSE, 2, 2, 2, 2, 2, 2, &unknown),
        UK_INVALID_ARGUMENT);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_products),      cmocka_unit_test(large_products), cmocka_unit_test(ties),
        cmocka_unit_test(plans_are_explained), cmocka_unit_test(bad_arguments),
    };

    if (uk_set_num_threads(THREADS))
        return 1;
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
