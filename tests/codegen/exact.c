/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations on floats whose result is one number, as generated code for each instruction set of x86-64 that
 * this machine has: reductions by max and min of special values in every lane; quotients by a number that a
 * loop does not change; conversions to bf16 and to integers. All are compared with C, bit for bit, except
 * that any NaN equals any other.
 *
 *     exact [--seed N|new] [--all]    --all: all f32 numbers become bf16, more of them integers; more
 * quotients
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "random.h"
#include "test_options.h"
#include "test_context.h"

static const char *const targets[] = {"x86_64-generic", "x86_64-avx2", "x86_64-avx512", NULL};
enum { TARGETS = sizeof targets / sizeof *targets };

static uint64_t seed = 1;
static bool all;

/* NULL: the machine lacks the target's instructions. */
static struct uk_module *compiled(const char *text, const char *target) {
    const struct uk_options o = {.target = target};
    struct uk_module *module = NULL;
    struct uk_program *p = parse_text(text);
    const enum uk_status s = uk_compile(p, &o, &module);

    if (s != UK_OK && s != UK_UNSUPPORTED)
        fail_msg("%s\n%s", uk_context_message(context), text);
    uk_program_destroy(p);
    return module;
}

static float single_of(uint32_t bits) {
    float v;

    memcpy(&v, &bits, sizeof v);
    return v;
}

static uint32_t bits_of(float v) {
    uint32_t bits;

    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static bool is_same(double a, double b) {
    return (isnan(a) && isnan(b)) || (a == b && !signbit(a) == !signbit(b));
}

/* ---- max and min ---- */

static const uint32_t special[] = {0,          0x80000000, 1,          0x80000001, 0x007fffff, 0x807fffff,
                                   0x00800000, 0x80800000, 0x3f800000, 0xbf800000, 0x7f7fffff, 0xff7fffff,
                                   0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000, 0x7f800001, 0xffffffff};
enum { SPECIAL = sizeof special / sizeof *special, PAIRS = SPECIAL * SPECIAL, LANES = 131 };

/* As uk.5 defines reductions. */
static double reduced(bool min, double a, double b) {
    if (isnan(a) || isnan(b))
        return NAN;
    if (a == b)
        return !signbit(a) == !min ? a : b;
    return (a < b) == min ? a : b;
}

/* X[r, lane]: row r has the first of its pair in all lanes but one, and there the second. As columns, the
 * transpose. */
static void fill(double *x, bool columns) {
    for (int p = 0; p < PAIRS; p++)
        for (int lane = 0; lane < LANES; lane++)
            for (int k = 0; k < LANES; k++) {
                const int64_t row = p * LANES + lane;
                const double v = (double)single_of(special[k == lane ? p % SPECIAL : p / SPECIAL]);

                x[columns ? (int64_t)k * PAIRS * LANES + row : row * LANES + k] = v;
            }
}

static void check_extremes(const char *type, bool min, bool columns, const char *target, const void *x,
                           void *y) {
    static const char *const shape[] = {"[R, N]", "[N, R]"}, *const at[] = {"[r, n]", "[n, r]"};
    const int64_t sizes[2][2] = {{PAIRS * LANES, LANES}, {LANES, PAIRS * LANES}};
    const bool is_double = !strcmp(type, "f64");
    char text[256];

    snprintf(text, sizeof text, "tensor X %s %s\ntensor Y %s [R]\nY[r] = %s(n) X%s\n", type, shape[columns],
             type, min ? "min" : "max", at[columns]);
    struct uk_module *module = compiled(text, target);
    if (!module)
        return;
    assert_int_equal(uk_module_call(module, sizes[columns], NULL, (void *[]){(void *)(uintptr_t)x, y}),
                     UK_OK);
    for (int p = 0; p < PAIRS; p++)
        for (int lane = 0; lane < LANES; lane++) {
            const double a = (double)single_of(special[p / SPECIAL]),
                         b = (double)single_of(special[p % SPECIAL]), wanted = reduced(min, a, b);
            const int i = p * LANES + lane;
            const double got = is_double ? ((double *)y)[i] : (double)((float *)y)[i];

            if (!is_same(got, wanted))
                fail_msg("%s: %s of %s %a, and %a in lane %d, is %a, not %a", target ? target : "native",
                         min ? "min" : "max", type, a, b, lane, got, wanted);
        }
    uk_module_destroy(module);
}

static void extremes(void **state) {
    const size_t n = (size_t)PAIRS * LANES * LANES;
    double *x = malloc(n * sizeof *x), *y = malloc((size_t)PAIRS * LANES * sizeof *y);
    float *single = malloc(n * sizeof *single);

    (void)state;
    assert_true(x && y && single);
    for (int columns = 0; columns < 2; columns++) {
        fill(x, columns);
        for (size_t i = 0; i < n; i++)
            single[i] = (float)x[i];
        for (int t = 0; t < TARGETS; t++)
            for (int min = 0; min < 2; min++) {
                check_extremes("f32", min, columns, targets[t], single, y);
                check_extremes("f64", min, columns, targets[t], x, y);
            }
    }
    free(x);
    free(y);
    free(single);
}

/* ---- quotients ---- */

enum { COLUMNS = 1 << 13 };

/* Any exponent, or one that leaves most quotients normal. */
static float any_single(uint64_t *state) {
    const uint32_t bits = (uint32_t)random_next(state);

    return single_of(random_next(state) % 4 ? (bits & 0x807fffff) | (100 + (bits >> 23 & 63)) << 23 : bits);
}

/* One of 16 rows has numbers of any magnitude side by side; in others all of a vector are alike, with zeros
 * among them. */
static void fill_row(float *x, int row, uint64_t *state) {
    for (int k = 0; k < COLUMNS; k++) {
        const uint32_t bits = (uint32_t)random_next(state);

        x[k] = row % 16 == 0                   ? single_of(bits)
               : row % 4 == 0                  ? single_of((bits & 0x807fffff) | (uint32_t)(k / 32) << 23)
               : row % 4 == 1                  ? single_of(special[bits % SPECIAL])
               : row % 4 == 3 && bits % 8 == 0 ? single_of(bits & 0x80000000)
                                               : any_single(state);
    }
}

static void check_quotients(const char *target, int rows) {
    static float x[COLUMNS], z[COLUMNS], d[1];
    static double wide[COLUMNS], wide_z[COLUMNS], wide_d[1];
    static const int64_t n = COLUMNS;
    uint64_t state = seed;
    struct uk_module *module[] = {
        compiled("tensor X f32 [N]\ntensor D f32 [1]\ntensor Z f32 [N]\nZ[n] = X[n] / D[0]\n", target),
        compiled("tensor X f64 [N]\ntensor D f64 [1]\ntensor Z f64 [N]\nZ[n] = X[n] / D[0]\n", target)};

    for (int row = 0; row < rows && module[0]; row++) {
        fill_row(x, row, &state);
        d[0] = row % 8 == 0 ? single_of(special[row / 8 % SPECIAL]) : any_single(&state);
        assert_int_equal(uk_module_call(module[0], &n, NULL, (void *[]){x, d, z}), UK_OK);
        for (int k = 0; k < COLUMNS; k++)
            if (!is_same((double)z[k], (double)(x[k] / d[0])))
                fail_msg("%s: %a / %a is %a, not %a", target ? target : "native", (double)x[k], (double)d[0],
                         (double)z[k], (double)(x[k] / d[0]));
        wide_d[0] = (double)d[0] * (1 + ldexp((double)(random_next(&state) >> 12), -54));
        for (int k = 0; k < COLUMNS; k++)
            wide[k] = ldexp((double)x[k] * (1 + ldexp((double)(random_next(&state) >> 12), -54)),
                            row % 4 == 0 ? 7 * (k / 32) - 896 : 0);
        assert_int_equal(uk_module_call(module[1], &n, NULL, (void *[]){wide, wide_d, wide_z}), UK_OK);
        for (int k = 0; k < COLUMNS; k++)
            if (!is_same(wide_z[k], wide[k] / wide_d[0]))
                fail_msg("%s: %a / %a is %a, not %a", target ? target : "native", wide[k], wide_d[0],
                         wide_z[k], wide[k] / wide_d[0]);
    }
    for (int i = 0; i < 2; i++)
        uk_module_destroy(module[i]);
}

static void quotients(void **state) {
    (void)state;
    for (int t = 0; t < TARGETS; t++)
        check_quotients(targets[t], all ? 1 << 16 : 1 << 9);
}

/* ---- conversions ---- */

/* To bf16, with ties to the even number. */
static uint16_t to_bf16(float v) {
    const uint32_t bits = bits_of(v);

    return isnan(v) ? (uint16_t)(bits >> 16 | 0x40) : (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* Truncated and saturated; NaN is 0. */
static int64_t to_integer(float v, double min, double max) {
    const double d = (double)v;

    return isnan(v) ? 0 : d <= min ? (int64_t)min : d >= max ? (int64_t)max : (int64_t)d;
}

static const struct integer_type {
    const char *name;
    int bytes;
    double min, max;
} integers[] = {{"i32", 4, INT32_MIN, INT32_MAX}, {"u32", 4, 0, UINT32_MAX},
                {"i16", 2, INT16_MIN, INT16_MAX}, {"u16", 2, 0, UINT16_MAX},
                {"i8", 1, INT8_MIN, INT8_MAX},    {"u8", 1, 0, UINT8_MAX}};
enum { INTEGERS = sizeof integers / sizeof *integers, BLOCK = 1 << 16, STEP = 2039, BLOCKS = 17 };

static struct uk_module *conversion(const char *to, const char *target) {
    char text[128];

    snprintf(text, sizeof text, "tensor X f32 [N]\ntensor Y %s [N]\nY[n] = %s(X[n])\n", to, to);
    return compiled(text, target);
}

static void check_bf16(struct uk_module *module, const float *x) {
    static uint16_t y[BLOCK];
    const int64_t n = BLOCK;

    assert_int_equal(uk_module_call(module, &n, NULL, (void *[]){(void *)(uintptr_t)x, y}), UK_OK);
    for (int i = 0; i < BLOCK; i++)
        if (y[i] != to_bf16(x[i]))
            fail_msg("bf16 of %a is %04x, not %04x", (double)x[i], y[i], to_bf16(x[i]));
}

static void check_integers(struct uk_module *module, const struct integer_type *t, const float *x) {
    static uint32_t y[BLOCK];
    const int64_t n = BLOCK;

    assert_int_equal(uk_module_call(module, &n, NULL, (void *[]){(void *)(uintptr_t)x, y}), UK_OK);
    for (int i = 0; i < BLOCK; i++) {
        const int64_t wanted = to_integer(x[i], t->min, t->max);

        if (memcmp((char *)y + i * t->bytes, &wanted, (size_t)t->bytes) != 0) /* little endian */
            fail_msg("%s of %a is not %" PRId64, t->name, (double)x[i], wanted);
    }
}

static void conversions_on(const char *target) {
    static float x[BLOCK];
    const uint64_t step = all ? 1 : STEP;
    struct uk_module *module[INTEGERS + 1];

    for (int k = 0; k <= INTEGERS; k++)
        module[k] = conversion(k < INTEGERS ? integers[k].name : "bf16", target);
    for (uint64_t at = 0; at <= UINT32_MAX && module[0]; at += step * BLOCK) {
        for (int i = 0; i < BLOCK; i++)
            x[i] = single_of((uint32_t)(at + step * (uint64_t)i));
        for (int k = 0; at == 0 && k < SPECIAL; k++)
            x[k] = single_of(special[k]);
        for (int k = 0; at == 0 && k < 256; k++) /* around the ends of all types */
            x[SPECIAL + k] = nextafterf(ldexpf(k & 1 ? -1 : 1, k / 2 % 36), k & 128 ? 0 : HUGE_VALF);
        check_bf16(module[INTEGERS], x);
        for (int k = 0; k < INTEGERS && (!all || at / BLOCK % BLOCKS == 0); k++)
            check_integers(module[k], &integers[k], x);
    }
    for (int k = 0; k <= INTEGERS; k++)
        uk_module_destroy(module[k]);
}

static void conversions(void **state) {
    (void)state;
    for (int t = 0; t < TARGETS; t++)
        conversions_on(targets[t]);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(extremes), cmocka_unit_test(quotients),
                                       cmocka_unit_test(conversions)};

    take_options(
        argc, argv,
        (struct test_option[]){{.name = "--seed", .seed = &seed}, {.name = "--all", .flag = &all}, {0}});
    printf("--seed %" PRIu64 "\n", seed);
    return cmocka_run_group_tests(tests, make_context, destroy_context);
}
