/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the language's functions in kernels on simulated GPUs with the C library in the
 * next wider type; also infinities, NaN and zeros. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "gpu/gpu.h"
#include "random.h"
#include "tensorize.h"

enum { COUNT = 4096 };

/* Every exponent down to where results or the argument are subnormal, both signs, and special values. */
static double argument(int i, int digits) {
    static const double special[] = {0.0,
                                     -0.0,
                                     INFINITY,
                                     -INFINITY,
                                     NAN,
                                     0.625,
                                     -0.625,
                                     88.7,
                                     88.8,
                                     -87.4,
                                     -103.9,
                                     -104.1,
                                     709.7,
                                     709.9,
                                     -745.0,
                                     -746.5,
                                     1,
                                     -1,
                                     0x1.6ac5b262ca1ffp+849,
                                     0x1.f37c8ap+95,
                                     -1e300,
                                     -0x1p-149,
                                     0x1p-1074};
    static uint64_t state = 1;

    if (i < (int)(sizeof special / sizeof *special))
        return special[i];
    const uint64_t x = random_next(&state);
    const double fraction = 1 + (double)(x >> 12) * 0x1p-52;
    const double v =
        ldexp(fraction, (int)(x >> 3 & 31) - 21 + (digits == DBL_MANT_DIG && x >> 9 & 1 ? 3 : 0));
    return x >> 8 & 1 ? -v : v;
}

/* The error of `got` in ulps; `wanted` has more digits. */
static double error(double got, long double wanted, int digits, int least) {
    int exponent;

    if (isnan((double)wanted) || isinf(got) || got == 0)
        return isnan((double)wanted)           ? (isnan(got) ? 0 : INFINITY)
               : fabsl(wanted) > 0 && got == 0 ? (double)(fabsl(wanted) / ldexpl(1, least))
                                               : 0;
    frexpl(wanted, &exponent);
    exponent = exponent - digits < least ? least : exponent - digits;
    return (double)(fabsl((long double)got - wanted) / ldexpl(1, exponent));
}

static long double cube(long double x) {
    return powl(x, 3);
}

static long double power(long double x) {
    return powl(1.125L, x);
}

static long double quick(long double x) {
    return x / (1 + expl(-1.75L * x));
}

static long double gelu(long double x) {
    return x / 2 * erfcl(x * -0.7071067811865475244L);
}

static long double gelu_tanh(long double x) {
    return x / (1 + expl(-1.595769121605730711706L * x * (1 + 0.044715L * x * x)));
}

static const struct {
    const char *form;
    long double (*right)(long double);
} functions[] = {{"exp(X[i])", expl},         {"log(X[i])", logl},         {"tanh(X[i])", tanhl},
                 {"erf(X[i])", erfl},         {"floor(X[i])", floorl},     {"ceil(X[i])", ceill},
                 {"pow(X[i], 3)", cube},      {"pow(1.125, X[i])", power}, {"log1p(X[i])", log1pl},
                 {"expm1(X[i])", expm1l},     {"sin(X[i])", sinl},         {"cos(X[i])", cosl},
                 {"tan(X[i])", tanl},         {"asin(X[i])", asinl},       {"acos(X[i])", acosl},
                 {"atan(X[i])", atanl},       {"sinh(X[i])", sinhl},       {"cosh(X[i])", coshl},
                 {"asinh(X[i])", asinhl},     {"acosh(X[i])", acoshl},     {"atanh(X[i])", atanhl},
                 {"erfc(X[i])", erfcl},       {"gelu(X[i])", gelu},        {"gelu_tanh(X[i])", gelu_tanh},
                 {"swish(X[i], 1.75)", quick}};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

/* Computes all functions of x; y[i] gets the i-th. */
static void run(struct uk_gpu *gpu, const char *target, const char *type, size_t bytes, const void *x,
                void *const y[FUNCTIONS]) {
    struct uk_context *c = uk_context_create();
    struct uk_options o = {.target = target};
    struct uk_module *module;
    struct uk_program *p;
    char text[4096];
    int length = snprintf(text, sizeof text, "tensor X %s [N]\n", type);
    uk_gpu_address at[FUNCTIONS + 1];
    void *arguments[FUNCTIONS + 2] = {gpu};
    int64_t n = COUNT;

    for (int f = 0; f < 2 * FUNCTIONS; f++)
        length += f < FUNCTIONS
                      ? snprintf(text + length, sizeof text - (size_t)length, "tensor Y%d %s [N]\n", f, type)
                      : snprintf(text + length, sizeof text - (size_t)length, "Y%d[i] = %s\n", f - FUNCTIONS,
                                 functions[f - FUNCTIONS].form);
    if (uk_program_parse(c, "functions.uk", text, strlen(text), &p) || uk_compile(p, &o, &module))
        fail_msg("%s", uk_context_message(c));
    for (int i = 0; i <= FUNCTIONS; i++) {
        assert_int_equal(uk_gpu_alloc(gpu, COUNT * bytes, &at[i]), UK_OK);
        assert_int_equal(uk_gpu_upload(gpu, at[i], x, COUNT * bytes), UK_OK);
        arguments[i + 1] = (void *)(uintptr_t)at[i];
    }
    if (uk_module_call(module, &n, NULL, arguments))
        fail_msg("%s", uk_gpu_message(gpu));
    for (int f = 0; f < FUNCTIONS; f++)
        assert_int_equal(uk_gpu_download(gpu, y[f], at[f + 1], COUNT * bytes), UK_OK);
    uk_module_destroy(module);
    uk_program_destroy(p);
    uk_context_destroy(c);
}

static struct uk_gpu *open_gpu(int ordinal) {
    char why[UK_GPU_MESSAGE];
    struct uk_gpu *gpu;

    if (uk_gpu_open("sim", ordinal, &gpu, why))
        fail_msg("%s", why);
    return gpu;
}

static void compare(double x, double got, long double wanted, int digits, int least, const char *name) {
    const double e = error(got, wanted, digits, least);

    if (!(e <= 2) || (wanted == 0 && signbit(got) != signbit(wanted)) ||
        (isinf(got) && fabsl(wanted) < (digits == FLT_MANT_DIG ? 0x1.fffffep127L : 0x1.fffffffffffffp1023L)))
        fail_msg("%s of %a is %a, %g units from %La", name, x, got, e, wanted);
}

static void single(void **state) {
    static float x[COUNT], y[FUNCTIONS][COUNT];
    void *at[FUNCTIONS];

    (void)state;
    for (int i = 0; i < COUNT; i++)
        x[i] = (float)argument(i, FLT_MANT_DIG);
    for (int f = 0; f < FUNCTIONS; f++)
        at[f] = y[f];
    for (int g = 0; g < 2; g++) {
        struct uk_gpu *gpu = open_gpu(g);

        run(gpu, g ? "amdgcn-gfx90a" : "amdgcn-gfx906", "f32", sizeof *x, x, at);
        for (int f = 0; f < FUNCTIONS; f++)
            for (int i = 0; i < COUNT; i++)
                compare((double)x[i], (double)y[f][i], functions[f].right((long double)x[i]), FLT_MANT_DIG,
                        -149, functions[f].form);
        uk_gpu_close(gpu);
    }
}

static void twice(void **state) {
    static double x[COUNT], y[FUNCTIONS][COUNT];
    void *at[FUNCTIONS];

    (void)state;
    for (int i = 0; i < COUNT; i++)
        x[i] = argument(i, DBL_MANT_DIG);
    for (int f = 0; f < FUNCTIONS; f++)
        at[f] = y[f];
    for (int g = 0; g < 2; g++) {
        struct uk_gpu *gpu = open_gpu(g);

        run(gpu, g ? "amdgcn-gfx90a" : "amdgcn-gfx906", "f64", sizeof *x, x, at);
        for (int f = 0; f < FUNCTIONS; f++)
            for (int i = 0; i < COUNT; i++)
                compare(x[i], y[f][i], functions[f].right((long double)x[i]), DBL_MANT_DIG, -1074,
                        functions[f].form);
        uk_gpu_close(gpu);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(single), cmocka_unit_test(twice)};

    return cmocka_run_group_tests_name("gpu_math", tests, NULL, NULL);
}
