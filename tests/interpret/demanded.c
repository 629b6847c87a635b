/* SPDX-License-Identifier: Apache-2.0 */
/* Compares single elements of a program's result with the whole result, and tests the bounds of their
 * distance from what compiled code computes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "random_program.h"
#include "run_program.h"
#include "same_element.h"
#include "test_context.h"

/* ---- values ---- */

static void compare(struct random_data *d, struct uk_program *p, int tensor, int64_t count,
                    const int64_t *element, uint64_t seed) {
    const enum uk_type type = uk_program_tensor_type(p, tensor);
    const size_t bytes = uk_type_bytes(type);
    char *value = malloc((size_t)count * bytes + 1);
    double *error = malloc(((size_t)count + 1) * sizeof *error);

    if (uk_program_interpret_elements(p, NULL, d->size, d->scalar, d->origin, tensor, count, element, value,
                                      error))
        fail_msg("seed %llu: %s", (unsigned long long)seed, uk_context_message(context));
    for (int64_t i = 0; i < count; i++) {
        const char *wanted = d->wanted[tensor] + RANDOM_DATA_MARGIN + element[i] * (int64_t)bytes;
        if (!same_element((int)bytes, random_data_mantissa(type), value + (size_t)i * bytes, wanted) ||
            !(error[i] >= 0))
            fail_msg("seed %llu: tensor %d, element %lld", (unsigned long long)seed, tensor,
                     (long long)element[i]);
    }
    free(value);
    free(error);
}

/* Computes single elements of random programs, then all of them at once. The operands must not change. */
static void elements_of_random_programs(void **state) {
    int compared = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 250; seed++) {
        struct random_program r = {.x = seed, .scatters = seed % 2};
        struct random_data d = {0};
        struct uk_text text = {0};

        random_program_make(&r);
        uk_put(&text, "%s%s", r.head.text, r.body.text);
        struct uk_program *p = parse_text(text.text);
        random_data_make(&d, p, seed, (int)(seed % RANDOM_DATA_SHAPES));
        const bool good = !d.status;
        random_data_begin(&d);
        for (int t = 0; t < d.tensors && good; t++) {
            const int64_t n = uk_program_tensor_elements(p, t, d.size);
            int64_t *all = malloc(((size_t)n + 1) * sizeof *all);
            if (!uk_program_tensor_written(p, t)) {
                free(all);
                continue;
            }
            for (int64_t i = 0; i < n; i++) {
                all[i] = n - 1 - i;
                if (i % 7 == 0)
                    compare(&d, p, t, 1, &i, seed);
            }
            compare(&d, p, t, n, all, seed);
            compared += (int)n;
            free(all);
        }
        for (int t = 0; t < d.tensors; t++)
            assert_memory_equal(d.got[t], d.start[t], d.bytes[t] + 2 * RANDOM_DATA_MARGIN);
        random_data_free(&d);
        uk_program_destroy(p);
        random_program_free(&r);
        free(text.text);
    }
    assert_true(compared > 5000);
}

/* ---- bounds ---- */

/* Computes element 0 of the third tensor. Returns the bound of its distance from what code for the target
 * computes; target NULL: this CPU. */
static double error_on(const char *target, const char *text, const float *x, const float *y, float *value) {
    const struct uk_options options = {.target = target};
    struct uk_program *p = parse_text(text);
    const enum uk_type type = uk_program_tensor_type(p, 2);
    char result[32] = {0}, got[8];
    double error = -1;

    if (uk_program_interpret_elements(p, &options, NULL, NULL, (void *[]){(void *)x, (void *)y, result}, 2, 1,
                                      (int64_t[]){0}, got, &error))
        fail_msg("%s", uk_context_message(context));
    if (type == UK_F32)
        memcpy(value, got, sizeof *value);
    else
        *value = (float)(signed char)got[0];
    uk_program_destroy(p);
    return error;
}

static double error_of(const char *text, const float *x, const float *y, float *value) {
    return error_on(NULL, text, x, y, value);
}

#define OPERANDS "tensor x f32 [4]\ntensor y f32 [4]\n"
#define FLOATS OPERANDS "tensor z f32 [4]\n"
#define BYTES OPERANDS "tensor z i8 [4]\n"

static void exact_operations_have_no_bound(void **state) {
    const float x[4] = {0.1f, 2, 3, 4}, y[4] = {0.3f, 6, 7, 8}, whole[4] = {1, 2, 3, 4};
    float v;

    (void)state;
    assert_true(error_of(FLOATS "z[i] = (x[i] + y[i]) * x[i] / y[i] - sqrt(x[i])\n", x, y, &v) == 0);
    assert_true(error_of(FLOATS "z[i] = max(k) x[k] * y[i]\n", x, y, &v) == 0);
    assert_true(error_of(FLOATS "z[i] = sum(k) x[k] * y[k]\n", whole, whole, &v) == 0 && v == 30);
    assert_true(error_of(BYTES "z[i] = i8(round(x[i] / y[i]))\n", x, y, &v) == 0);
}

/* On ARMv7 alone, code flushes subnormal numbers to zero, which later factors can make large. */
static void subnormal_numbers_may_be_zeros(void **state) {
    static const struct {
        const char *statement;
        float x, y;
    } small[] = {{"z[i] = x[i] * y[i] * y[1]", 1e-20f, 1e-22f},
                 {"z[i] = x[i] * y[1]", 1e-40f, 1},
                 {"z[i] = x[i] * y[i]", 1e-20f, 1e-22f}};
    const float ones[4] = {1, 1, 1, 1};
    char text[200];
    float v;

    (void)state;
    for (size_t i = 0; i < sizeof small / sizeof *small; i++) {
        const float x[4] = {small[i].x}, y[4] = {small[i].y, 1e30f};

        snprintf(text, sizeof text, FLOATS "%s\n", small[i].statement);
        const double error = error_on("armv7-neon", text, x, y, &v);
        assert_true(v > 0 && error >= v && error < 2 * v);
        assert_true(error_on("aarch64-neon", text, x, y, &v) == 0);
        assert_true(error_of(text, x, y, &v) == 0);
    }
    assert_true(error_on("armv7-neon", FLOATS "z[i] = x[i] * y[2]\n", ones, ones, &v) == 0);
}

/* On gfx90a alone, matrix instructions of 16-bit floats take subnormal factors as zeros, which large other
 * factors make large errors, and sums of f32 below 2^-126. */
static void matrix_instructions_flush(void **state) {
    static const struct {
        const char *head, *sum;
        float x, y, lost; /* the largest deviation */
    } rows[] = {
        {"f16", "sum(k) f32(f16(x[k])) * f32(f16(y[k]))", 0x1p-15f, 1024, 0x1p-5f},
        {"f16, two factors", "sum(k) f32(f16(y[k])) * f32(f16(x[k]))", 0x1p-15f, 1024, 0x1p-5f},
        {"smallest normal f16", "sum(k) f32(f16(x[k])) * f32(f16(y[k]))", 0x1p-14f, 1024, 0},
        {"bf16", "sum(k) f32(bf16(x[k])) * f32(bf16(y[k]))", 0x1p-127f, 0x1p100f, 0x1p-27f},
        {"subnormal sum", "sum(k) f32(bf16(x[k])) * f32(bf16(y[k]))", 0x1p-100f, 0x1p-28f, 0x1p-128f},
        {"f32", "sum(k) x[k] * y[k]", 0x1p-127f, 0x1p100f, 0},
        {"one f16", "sum(k) f32(f16(x[k])) * y[k]", 0x1p-15f, 1024, 0},
        {"no sum", "f32(f16(x[i])) * f32(f16(y[i]))", 0x1p-15f, 1024, 0},
    };
    char text[200];
    float v;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const float x[4] = {rows[i].x}, y[4] = {rows[i].y};

        snprintf(text, sizeof text, FLOATS "z[i] = %s\n", rows[i].sum);
        const double rounding = error_on("amdgcn-gfx906", text, x, y, &v),
                     error = error_on("amdgcn-gfx90a", text, x, y, &v);

        if (v != rows[i].x * rows[i].y ||
            (rows[i].lost > 0 ? error < rounding + (double)rows[i].lost ||
                                    error > 1.01 * (double)rows[i].lost + 4 * 0x1p-126
                              : error > rounding + 4 * 0x1p-126))
            fail_msg("%s: %a is %a, and within %a, of which roundings are %a", rows[i].head,
                     rows[i].x * rows[i].y, v, error, rounding);
        assert_true(error_of(text, x, y, &v) == rounding);
    }
}

/* The bound of a sum is more than the largest error of any order of its terms, and less than four times
 * that. */
static void sums_are_bounded(void **state) {
    const float x[4] = {0.1f, 0.7f, 1e3f, -1e3f}, y[4] = {0.3f, 0.9f, 1, 1};
    const double terms = 0.03 + 0.63 + 2000, least = 4 * 0x1p-24 * terms;
    float v, w;
    double error = error_of(FLOATS "z[i] = sum(k) x[k] * y[k]\n", x, y, &v);

    (void)state;
    assert_true(error > least && error < 4 * least);
    /* A sum in another order is within the bound. */
    const float a[4] = {x[3], x[2], x[1], x[0]}, b[4] = {y[3], y[2], y[1], y[0]};
    error_of(FLOATS "z[i] = sum(k) x[k] * y[k]\n", a, b, &w);
    assert_true(v != w && fabs(v - w) <= error);
    /* The bound is passed on to the statements that read the sum, and is 0 if their result does not depend on
     * the error. */
    const double scaled =
        error_of(FLOATS "temp t f32 [4]\nt[i] = sum(k) x[k] * y[k]\nz[i] = t[i] * 0.5\n", x, y, &w);
    assert_true(fabs(scaled - error / 2) < 0.01 * error);
    assert_true(
        error_of(FLOATS "temp t f32 [4]\nt[i] = sum(k) x[k] * y[k]\nz[i] = max(t[i], 5)\n", x, y, &w) == 0 &&
        w == 5);
    assert_true(error_of(FLOATS "temp t f32 [4]\nt[i] = sum(k) x[k] * y[k]\nz[i] = select(t[i] < 5, 1, 0)\n",
                         x, y, &w) == 0 &&
                w == 1);
}

static void functions_are_bounded(void **state) {
    const float x[4] = {1.5f, 2, 3, 4}, y[4] = {0.3f, 6, 7, 8};
    static const char *const function[] = {
        "exp(x[i])",   "log(x[i])",  "tanh(x[i])", "erf(x[i])",   "pow(x[i], y[i])", "log1p(x[i])",
        "expm1(x[i])", "sin(x[i])",  "cos(x[i])",  "tan(x[i])",   "asin(y[i])",      "acos(y[i])",
        "atan(x[i])",  "sinh(x[i])", "cosh(x[i])", "asinh(x[i])", "acosh(x[i])",     "atanh(y[i])"};

    (void)state;
    for (size_t i = 0; i < sizeof function / sizeof *function; i++) {
        char text[200];
        float v;
        snprintf(text, sizeof text, FLOATS "z[i] = %s\n", function[i]);
        const double error = error_of(text, x, y, &v);
        /* The bound is 4 units in the last place; one is between 2^-24 and 2^-23 of the value. */
        assert_true(error >= 4 * 0x1p-24 * fabs(v) && error <= 4.1 * 0x1p-23 * fabs(v));
    }
}

/* The sum is 0 and may deviate by about 2 pi, where cos is 1 again, but -1 between; or by 0.004, and pi / 2
 * is a pole of tan. */
static void functions_turn(void **state) {
    const float x[2][4] = {{6588397.5f, -6588397.5f, 1, -1}, {4096.5f, -4096.5f, 1, -1}}, y[4] = {1, 1, 1, 1};
    const char *cosine = FLOATS "temp t f32 [4]\nt[i] = sum(k) x[k] * y[k]\nz[i] = cos(t[i])\n",
               *tangent = FLOATS "temp t f32 [4]\nt[i] = sum(k) x[k] * y[k]\nz[i] = tan(t[i] + 1.5707963)\n";
    float v;

    (void)state;
    assert_true(error_of(cosine, x[0], y, &v) >= 2 && v == 1);
    assert_true(error_of(cosine, x[1], y, &v) < 1e-4 && v == 1);
    assert_true(isinf(error_of(tangent, x[1], y, &v)));
}

/* An integer that is rounded from a sum of floats may be off by one, but only near a tie. */
static void ties_have_a_step(void **state) {
    const float ones[4] = {1, 1, 1, 1}, tie[4] = {0.1f, 0.2f, 0.3f, 1.9f}, near[4] = {0.1f, 0.2f, 0.3f, 2.0f};
    const char *text = BYTES "temp t f32 [4]\nt[i] = sum(k) x[k] * y[k]\nz[i] = i8(round(t[i]))\n";
    float v;

    (void)state;
    assert_true(error_of(text, tie, ones, &v) == 1 && (v == 2 || v == 3));
    assert_true(error_of(text, near, ones, &v) == 0 && v == 3);
}

/* ---- what is refused ---- */

/* A subscript out of bounds is refused only if a requested element needs it. */
static void subscripts_are_checked_where_needed(void **state) {
    struct uk_program *p = parse_text("tensor x f32 [4]\ntensor y f32 [6]\ny[i] = x[2*i - 4]\n");
    float x[4] = {1, 2, 3, 4}, y[6] = {0}, value;
    double error;

    (void)state;
    assert_int_equal(uk_program_interpret_elements(p, NULL, NULL, NULL, (void *[]){x, y}, 1, 1,
                                                   (int64_t[]){3}, &value, &error),
                     UK_OK);
    assert_true(value == 3 && error == 0 && y[3] == 0);
    assert_int_equal(uk_program_interpret_elements(p, NULL, NULL, NULL, (void *[]){x, y}, 1, 1,
                                                   (int64_t[]){4}, &value, &error),
                     UK_INVALID_SIZE);
    assert_non_null(strstr(uk_context_message(context), "x["));
    assert_int_equal(uk_program_interpret_elements(p, NULL, NULL, NULL, (void *[]){x, y}, 1, 1,
                                                   (int64_t[]){6}, &value, &error),
                     UK_INVALID_ARGUMENT);
    assert_int_equal(uk_program_interpret_elements(p, NULL, NULL, NULL, (void *[]){x, y}, 2, 1,
                                                   (int64_t[]){0}, &value, &error),
                     UK_INVALID_ARGUMENT);
    uk_program_destroy(p);
}

/* Subscripts that are elements of an argument or of a temp; each one that is out of bounds is found,
 * whichever element is requested. */
static void subscripts_are_elements(void **state) {
    struct uk_program *p =
        parse_text("tensor x f32 [5]\ntensor k i64 [3]\ntensor y f32 [3]\ntemp j i64 [3]\ntemp t f32 [5]\n"
                   "t[i] = 2 * x[i]\nj[i] = k[i] + 1\ny[i] = t[j[i]] + x[wrap(k[i])]\n");
    float x[5] = {1, 2, 3, 4, 5}, y[3] = {0}, value[2];
    int64_t k[3] = {3, 0, -1};
    double error[2];

    (void)state;
    assert_int_equal(uk_program_interpret_elements(p, NULL, NULL, NULL, (void *[]){x, k, y}, 2, 2,
                                                   (int64_t[]){2, 0}, value, error),
                     UK_OK);
    assert_true(value[0] == 2 + 5 && value[1] == 10 + 4);
    k[1] = 4;
    assert_int_equal(uk_program_interpret_elements(p, NULL, NULL, NULL, (void *[]){x, k, y}, 2, 1,
                                                   (int64_t[]){0}, value, error),
                     UK_INVALID_INDEX);
    uk_program_destroy(p);
}

/* Subscripts of statements that the request does not need are not computed, and are not checked. */
static void subscripts_of_others_are_ignored(void **state) {
    struct uk_program *p =
        parse_text("tensor x f32 [3]\ntensor k i64 [3]\ntensor j i64 [3]\ntensor y f32 [3]\n"
                   "tensor z f32 [3]\nj[i] = k[i] + 1\ny[i] = x[j[i]]\ny[j[i]] += x[i]\n"
                   "z[i] = 2 * x[i]\n");
    float x[3] = {1, 2, 3}, y[3] = {0}, z[3] = {0}, value;
    int64_t k[3] = {-1, 0, 1}, j[3] = {99, 99, 99};
    double error;

    (void)state;
    for (int t = 3; t <= 4; t++) {
        assert_int_equal(uk_program_interpret_elements(p, NULL, NULL, NULL, (void *[]){x, k, j, y, z}, t, 1,
                                                       (int64_t[]){1}, &value, &error),
                         UK_OK);
        assert_true(value == 4);
    }
    uk_program_destroy(p);
}

/* The subscript of a subscript is a quotient, which only trying all values shows to be inside. */
static void subscripts_are_tried(void **state) {
    struct uk_program *p = parse_text("tensor X f32 [3]\ntensor K i64 [2, 2]\ntensor J i64 [2]\n"
                                      "tensor Y f32 [4, 2]\n"
                                      "Y[i, j] = sum(k) X[K[i / 2, k]] * X[J[i / 2]] * X[K[i % 2, j]]\n");
    const float x[3] = {1, 2, 3}, y[8] = {0};
    const int64_t k[4] = {0, 2, 1, 1}, j[2] = {2, 0};
    float value[8];
    double error[8];

    (void)state;
    assert_int_equal(uk_program_interpret_elements(p, NULL, NULL, NULL,
                                                   (void *[]){(void *)x, (void *)k, (void *)j, (void *)y}, 3,
                                                   8, (int64_t[]){0, 1, 2, 3, 4, 5, 6, 7}, value, error),
                     UK_OK);
    for (int i = 0; i < 8; i++)
        assert_true(value[i] == (i < 4 ? (1 + 3) * 3 : (2 + 2) * 1) * x[k[i % 4]]);
    uk_program_destroy(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_of_random_programs),
        cmocka_unit_test(exact_operations_have_no_bound),
        cmocka_unit_test(subnormal_numbers_may_be_zeros),
        cmocka_unit_test(matrix_instructions_flush),
        cmocka_unit_test(sums_are_bounded),
        cmocka_unit_test(functions_are_bounded),
        cmocka_unit_test(functions_turn),
        cmocka_unit_test(ties_have_a_step),
        cmocka_unit_test(subscripts_are_checked_where_needed),
        cmocka_unit_test(subscripts_are_elements),
        cmocka_unit_test(subscripts_of_others_are_ignored),
        cmocka_unit_test(subscripts_are_tried),
    };

    return cmocka_run_group_tests(tests, make_context, destroy_context);
}
