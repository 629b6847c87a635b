/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the language's functions as generated code, on targets with and without fused multiply-adds, with
 * the C library in the next wider type: f32 with f64, f64 with long double. Integral values, zeros,
 * infinities and NaN are as in C.
 *
 *     functions                  a sample of all numbers, and special ones with 2^12 numbers around each
 *     functions NAME [STEP]      all numbers of f32, or every STEP-th
 *     functions pow|swish [--seed N|new]    more pairs
 */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "random.h"
#include "seed.h"
#include "test_context.h"

/* Numbers per call; a sample has the f32 numbers at distance STEP, a prime, and as many random f64
 * numbers. */
enum { BLOCK = 1 << 16, STEP = 2039, PAIRS = 1 << 21 };

struct function {
    const char *name;
    double (*wide)(double);
    long double (*widest)(long double);
    /* maximum errors in ulps; 0: exact */
    double most, most_double;
};

/* x / (1 + exp(-z - low)). For f64 the arguments of exponentials and erfc are sums of two numbers: the
 * rounding of a single one would show. */
static long double logisticl(long double x, long double z, long double low) {
    return z < 0 ? x * expl(z) * (1 + (z > -10000 ? low : 0)) / (1 + expl(z)) : x / (1 + expl(-z));
}

static long double swishl(long double x, long double factor) {
    return logisticl(x, x * factor, fmal(x, factor, -(x * factor)));
}

static double swish(double x, double factor) {
    return (double)swishl((long double)x, (long double)factor);
}

static long double gelul(long double x) {
    const long double by = 0xb504f333f9de6484p-64L, by_low = 1.8950325588932570797e-20L, h = -x * by,
                      low = fmal(-x, by, -h) - x * by_low;

    return x / 2 * (erfcl(h) - (isfinite(x) ? 2 / sqrtl(3.14159265358979323846L) * expl(-h * h) * low : 0));
}

static double gelu(double x) {
    return (double)gelul((long double)x);
}

static long double gelu_tanhl(long double x) {
    const long double scale = 0xcc42299ea1b28468p-63L, scale_low = 5.351177755720478292e-20L,
                      cubic = 0xb727136a400fba88p-68L, cubic_low = 5.1174342541315809285e-22L;
    const long double square = x * x, term = cubic * square,
                      term_low =
                          fmal(cubic, square, -term) + cubic * fmal(x, x, -square) + cubic_low * square;
    const long double sum = 1 + term, back = sum - 1, sum_low = 1 - (sum - back) + (term - back) + term_low;
    const long double factor = scale * sum,
                      factor_low = fmal(scale, sum, -factor) + scale * sum_low + scale_low * sum;

    return logisticl(x, x * factor, fmal(x, factor, -(x * factor)) + x * factor_low);
}

static double gelu_tanh(double x) {
    return (double)gelu_tanhl((long double)x);
}

static const struct function functions[] = {
    {"exp", exp, expl, 2, 2},
    {"log", log, logl, 2, 2},
    {"tanh", tanh, tanhl, 2, 2},
    {"erf", erf, erfl, 2, 2},
    {"erfc", erfc, erfcl, 2, 2},
    {"floor", floor, floorl, 0, 0},
    {"ceil", ceil, ceill, 0, 0},
    {"round", rint, rintl, 0, 0},
    {"log1p", log1p, log1pl, 2, 2},
    {"expm1", expm1, expm1l, 2, 2},
    {"sin", sin, sinl, 2, 2},
    {"cos", cos, cosl, 2, 2},
    {"tan", tan, tanl, 2, 2},
    {"asin", asin, asinl, 2, 2},
    {"acos", acos, acosl, 2, 2},
    {"atan", atan, atanl, 2, 2},
    {"sinh", sinh, sinhl, 2, 2},
    {"cosh", cosh, coshl, 2, 2},
    {"asinh", asinh, asinhl, 2, 2},
    {"acosh", acosh, acoshl, 2, 2},
    {"atanh", atanh, atanhl, 2, 2},
    {"gelu", gelu, gelul, 2, 2},
    {"gelu_tanh", gelu_tanh, gelu_tanhl, 2, 2},
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static const char *const targets[] = {"x86_64-generic", "x86_64-avx2", NULL};
enum { TARGETS = sizeof targets / sizeof *targets };
static const char *chosen;
static double worst;
static uint64_t seed_of_pairs = 1;
static int pairs = PAIRS;
static uint64_t step = 1;

static const double special[] = {0.0,
                                 -0.0,
                                 1,
                                 -1,
                                 0.5,
                                 -0.5,
                                 2,
                                 -2,
                                 3,
                                 -3,
                                 1.5,
                                 -2.5,
                                 INFINITY,
                                 NAN,
                                 0.625,
                                 0x1p23,
                                 0x1p24,
                                 0x1p52,
                                 0x1p53,
                                 0x1.8p22,
                                 88.7,
                                 88.8,
                                 -87.4,
                                 -103.9,
                                 -104.1,
                                 709.7,
                                 709.9,
                                 -745.0,
                                 -746.5,
                                 0x1p-126,
                                 0x1p-149,
                                 0x1p-1022,
                                 0x1p-1074,
                                 0x1.fffffep127,
                                 DBL_MAX,
                                 16777215,
                                 -16777215,
                                 0x1.fffffep-1,
                                 0x1.000002p0,
                                 0x1.fffffffffffffp-1,
                                 6,
                                 4,
                                 0x1.921fb54442d18p+0,
                                 0x1.921fb54442d18p+1,
                                 0x1.921fb6p+0,
                                 0x1.921fb6p+1,
                                 0x1.6ac5b262ca1ffp+849, /* f64 closest to a multiple of pi / 2 */
                                 0x1.f37c8ap+95,         /* and f32 */
                                 1e300,
                                 -1e300,
                                 0x1p1023,
                                 89.4,
                                 89.5,
                                 710.4,
                                 710.5,
                                 -17.4,
                                 -37.5,
                                 0x1.6a09e6p-1,
                                 0.41421356237309503,
                                 2.4142135623730949,
                                 0.17,
                                 10,
                                 20,
                                 0x1p30,
                                 0x1p60};
enum { SPECIAL = sizeof special / sizeof *special, AROUND = 1 << 12 };

/* ---- one program on one target ---- */

/* NULL: the machine lacks the target's instructions. */
static struct uk_module *compiled(const char *type, const char *name, int arguments, const char *target) {
    struct uk_options o = {.target = target};
    struct uk_module *module = NULL;
    struct uk_program *p;
    char text[256];

    snprintf(text, sizeof text, "tensor X %s [N]\n%s%s%sZ[i] = %s(X[i]%s)\n", type,
             arguments == 2 ? "tensor Y " : "", arguments == 2 ? type : "", arguments == 2 ? " [N]\n" : "",
             name, arguments == 2 ? ", Y[i]" : "");
    char *at = strstr(text, "Z[i]");
    char line[64];

    snprintf(line, sizeof line, "%s", at);
    snprintf(at, sizeof text - (size_t)(at - text), "tensor Z %s [N]\n%s", type, line);
    assert_int_equal(uk_program_parse(context, "f.uk", text, strlen(text), &p), UK_OK);
    const enum uk_status s = uk_compile(p, &o, &module);
    if (s != UK_OK && s != UK_UNSUPPORTED)
        fail_msg("%s", uk_context_message(context));
    uk_program_destroy(p);
    return module;
}

/* The error of `got` in ulps, for numbers of `digits` binary digits, the smallest of which is 2^least. */
static double error(double got, long double wanted, int digits, int least) {
    int exponent;

    if (isnan(wanted) || isinf(wanted) || wanted == 0)
        return (isnan(wanted) ? isnan(got) : got == (double)wanted && !signbit(got) == !signbit(wanted))
                   ? 0
                   : INFINITY;
    frexpl(wanted, &exponent);
    exponent = exponent - digits < least ? least : exponent - digits;
    /* infinity counts as the next number after the largest */
    if (isinf(got))
        return signbit(got) == signbit(wanted)
                   ? (double)((ldexpl(1, digits == DBL_MANT_DIG ? 1024 : 128) - fabsl(wanted)) /
                              ldexpl(1, exponent))
                   : INFINITY;
    return signbit(got) == signbit(wanted) ? (double)(fabsl(got - wanted) / ldexpl(1, exponent)) : INFINITY;
}

static void check(double x, double y, double got, long double wanted, bool is_double, double most,
                  const char *name, const char *target) {
    const double e =
        is_double ? error(got, wanted, DBL_MANT_DIG, -1074) : error(got, wanted, FLT_MANT_DIG, -149);

    worst = e > worst ? e : worst;
    if (!(e <= most))
        fail_msg("%s of %s: %s(%a, %a) is %a, %g units from %La", is_double ? "f64" : "f32",
                 target ? target : "this machine", name, x, y, got, e, wanted);
}

/* ---- one argument, f32 ---- */

static void check_block(const struct function *f, struct uk_module **module, const float *x) {
    static float z[BLOCK];
    static double wanted[BLOCK];
    const int64_t n = BLOCK;

    for (int i = 0; i < BLOCK; i++)
        wanted[i] = f->wide((double)x[i]);
    for (int t = 0; t < TARGETS; t++) {
        if (!module[t])
            continue;
        assert_int_equal(uk_module_call(module[t], &n, NULL, (void *[]){(void *)(uintptr_t)x, z}), UK_OK);
        for (int i = 0; i < BLOCK; i++)
            if (z[i] != (float)wanted[i] || wanted[i] == 0)
                check((double)x[i], 0, (double)z[i], (long double)wanted[i], false, f->most, f->name,
                      targets[t]);
    }
}

/* Number `at` of the f32 numbers around special ones, of both signs. */
static float near_special(int at) {
    const float v = (float)special[at / (2 * AROUND) % SPECIAL];
    uint32_t bits;

    memcpy(&bits, &v, sizeof bits);
    bits += (uint32_t)(at / 2 % AROUND - AROUND / 2);
    bits ^= (uint32_t)(at & 1) << 31;
    float near;
    memcpy(&near, &bits, sizeof near);
    return near;
}

static void in_single(const struct function *f, uint64_t distance) {
    static float x[BLOCK];
    struct uk_module *module[TARGETS];

    for (int t = 0; t < TARGETS; t++)
        module[t] = compiled("f32", f->name, 1, targets[t]);
    worst = 0;
    for (uint64_t at = 0; at <= UINT32_MAX; at += distance * BLOCK) {
        for (int i = 0; i < BLOCK; i++) {
            const uint32_t bits = (uint32_t)(at + distance * (uint64_t)i);

            memcpy(&x[i], &bits, sizeof bits);
            x[i] = at == 0 && i < SPECIAL ? (float)special[i] : x[i];
        }
        check_block(f, module, x);
    }
    for (int at = 0; at < 2 * AROUND * SPECIAL; at += BLOCK) {
        for (int i = 0; i < BLOCK; i++)
            x[i] = near_special(at + i);
        check_block(f, module, x);
    }
    print_message("%s of f32: at most %.3f units in the last place\n", f->name, worst);
    for (int t = 0; t < TARGETS; t++)
        uk_module_destroy(module[t]);
}

static void singles(void **state) {
    (void)state;
    for (int f = 0; f < FUNCTIONS; f++)
        in_single(&functions[f], STEP);
}

static void all_singles(void **state) {
    (void)state;
    for (int f = 0; f < FUNCTIONS; f++)
        if (!strcmp(functions[f].name, chosen))
            in_single(&functions[f], step);
}

/* ---- f64 ---- */

/* Random bits, a number of a magnitude where functions are not yet constant, or one close to a multiple of
 * pi / 2 or to 1. */
static double any(uint64_t *state) {
    const uint64_t bits = random_next(state);
    double d;

    switch (random_next(state) % 8) {
    case 0:
        return (double)((long double)(bits >> bits % 63) * 1.57079632679489661923L);
    case 1:
        return 1 + ldexp((double)(int64_t)bits, -64 - (int)(random_next(state) % 53));
    case 2:
    case 3:
    case 4:
        return ldexp((double)(int64_t)bits, (int)(random_next(state) % 40) - 84);
    default:
        memcpy(&d, &bits, sizeof d);
        return d;
    }
}

static void doubles(void **state) {
    static double x[BLOCK], z[BLOCK];
    const int64_t n = BLOCK;

    (void)state;
    for (int f = 0; f < FUNCTIONS; f++) {
        uint64_t seed = 1;

        worst = 0;
        for (int t = 0; t < TARGETS; t++) {
            struct uk_module *module = compiled("f64", functions[f].name, 1, targets[t]);

            for (int round = 0; round < 16 && module; round++) {
                for (int i = 0; i < BLOCK; i++)
                    x[i] = i < SPECIAL ? special[i] : any(&seed);
                assert_int_equal(uk_module_call(module, &n, NULL, (void *[]){x, z}), UK_OK);
                for (int i = 0; i < BLOCK; i++)
                    check(x[i], 0, z[i], functions[f].widest((long double)x[i]), true,
                          functions[f].most_double, functions[f].name, targets[t]);
            }
            uk_module_destroy(module);
        }
        print_message("%s of f64: at most %.3f units in the last place\n", functions[f].name, worst);
    }
}

/* ---- two arguments ---- */

/* An exponent such that the power can have any magnitude; or an integer or half of one. */
static double exponent_for(double x, uint64_t *state, bool is_double) {
    const double log = fabs(log2(fabs(x))), most = is_double ? 1100 : 152;
    const double y = ((double)(random_next(state) >> 11) * 0x1p-52 - 1) * most;

    switch (random_next(state) % 4) {
    case 0:
        return rint(y / 8);
    case 1:
        return any(state);
    default:
        return log > 0 && log < HUGE_VAL ? y / log : y;
    }
}

static void fill(double *x, double *y, int at, uint64_t *state, bool is_double) {
    for (int i = 0; i < BLOCK; i++) {
        const int k = at + i;

        if (k < 4 * SPECIAL * SPECIAL) {
            x[i] = special[k / 4 % SPECIAL] * (k & 1 ? -1 : 1);
            y[i] = special[k / 4 / SPECIAL] * (k & 2 ? -1 : 1);
        } else {
            x[i] = random_next(state) % 8
                       ? 1 + ldexp((double)(random_next(state) >> 11), -54 - (int)(random_next(state) % 40))
                       : any(state);
            if (!is_double)
                x[i] = (double)(float)x[i];
            y[i] = exponent_for(x[i], state, is_double);
        }
        if (!is_double) {
            x[i] = (double)(float)x[i];
            y[i] = (double)(float)y[i];
        }
    }
}

struct pair_function {
    const char *name;
    double (*wide)(double, double);
    long double (*widest)(long double, long double);
};

static const struct pair_function pair_functions[] = {{"pow", pow, powl}, {"swish", swish, swishl}};
enum { PAIR_FUNCTIONS = sizeof pair_functions / sizeof *pair_functions };

static void pairs_in(const struct pair_function *f, bool is_double, const char *target) {
    static double x[BLOCK], y[BLOCK], z[BLOCK];
    static float single[3][BLOCK];
    const int64_t n = BLOCK;
    struct uk_module *module = compiled(is_double ? "f64" : "f32", f->name, 2, target);
    uint64_t seed = seed_of_pairs;

    for (int at = 0; at < pairs && module; at += BLOCK) {
        fill(x, y, at, &seed, is_double);
        for (int i = 0; i < BLOCK; i++) {
            single[0][i] = (float)x[i];
            single[1][i] = (float)y[i];
        }
        if (is_double)
            assert_int_equal(uk_module_call(module, &n, NULL, (void *[]){x, y, z}), UK_OK);
        else
            assert_int_equal(uk_module_call(module, &n, NULL, (void *[]){single[0], single[1], single[2]}),
                             UK_OK);
        for (int i = 0; i < BLOCK; i++)
            check(x[i], y[i], is_double ? z[i] : (double)single[2][i],
                  is_double ? f->widest((long double)x[i], (long double)y[i])
                            : (long double)f->wide(x[i], y[i]),
                  is_double, 2, f->name, target);
    }
    uk_module_destroy(module);
}

static void all_pairs(void **state) {
    (void)state;
    for (int i = 0; i < 2 * PAIR_FUNCTIONS; i++) {
        const struct pair_function *f = &pair_functions[i / 2];
        const bool is_double = i % 2;

        worst = 0;
        for (int t = 0; t < TARGETS && (!*chosen || !strcmp(chosen, f->name)); t++)
            pairs_in(f, is_double, targets[t]);
        print_message("%s of %s: at most %.3f units in the last place\n", f->name, is_double ? "f64" : "f32",
                      worst);
    }
}

/* Each row of functions.def that rounds must be compared above, within the ulps that the row states; sqrt is
 * an instruction. */
static void rows_are_compared(void **state) {
    static const struct {
        const char *name, *class;
        double ulps;
    } rows[] = {
#define UK_FUNCTION1(id, name, class, ulps, ...) {name, #class, ulps},
#define UK_FUNCTION2(id, name, class, ulps, ...) {name, #class, ulps},
#include "language/functions.def"
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t k = 0;

        if (!strcmp(rows[i].class, "CHOICE") || !strcmp(rows[i].class, "SIZE") ||
            !strcmp(rows[i].name, "pow") || !strcmp(rows[i].name, "swish") || !strcmp(rows[i].name, "sqrt"))
            continue;
        while (k < FUNCTIONS && strcmp(functions[k].name, rows[i].name))
            k++;
        if (k == FUNCTIONS || functions[k].most_double != rows[i].ulps)
            fail_msg("%s: no row of `functions` compares it within %.0f units", rows[i].name, rows[i].ulps);
    }
}

/* ---- f16 ---- */

static struct uk_module *conversion(const char *from, const char *to) {
    const struct uk_options o = {.target = targets[0]}; /* it has no instructions for f16 */
    struct uk_module *module = NULL;
    struct uk_program *p;
    char text[128];

    snprintf(text, sizeof text, "tensor X %s [N]\ntensor Y %s [N]\nY[i] = %s(X[i])\n", from, to, to);
    assert_int_equal(uk_program_parse(context, "half.uk", text, strlen(text), &p), UK_OK);
    assert_int_equal(uk_compile(p, &o, &module), UK_OK);
    uk_program_destroy(p);
    return module;
}

/* Every f16 becomes its value: 1 sign, 5 exponent and 10 fraction bits. */
static void all_halves_widen(void **state) {
    struct uk_module *module = conversion("f16", "f32");
    uint16_t *x = malloc(BLOCK * sizeof *x);
    float *y = malloc(BLOCK * sizeof *y);
    const int64_t n = BLOCK;

    (void)state;
    assert_true(x && y);
    for (int i = 0; i < BLOCK; i++)
        x[i] = (uint16_t)i;
    assert_int_equal(uk_module_call(module, &n, NULL, (void *[]){x, y}), UK_OK);
    for (int i = 0; i < BLOCK; i++) {
        const int exponent = i >> 10 & 31, fraction = i & 1023;
        const double size = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
        if (exponent == 31 && fraction)
            assert_true(isnan(y[i]));
        else
            assert_true(fabs(y[i]) == (exponent == 31 ? HUGE_VAL : size));
        assert_int_equal(!!signbit(y[i]), i >> 15);
    }
    uk_module_destroy(module);
    free(x);
    free(y);
}

/* The values of all f16, and those halfway between two and next to that, become the nearest f16; of two
 * equally near ones the even one. */
static void all_halves_narrow(void **state) {
    enum { FINITE = 0x7c00 };
    struct uk_module *widen = conversion("f16", "f32"), *narrow = conversion("f32", "f16");
    float value[2], x[6];
    uint16_t y[6], pair[2];
    const int64_t two = 2, six = 6;

    (void)state;
    for (int i = 0; i < FINITE; i++) {
        pair[0] = (uint16_t)i;
        pair[1] = (uint16_t)(i + 1);
        assert_int_equal(uk_module_call(widen, &two, NULL, (void *[]){pair, value}), UK_OK);
        const float next = i + 1 == FINITE ? 65536 : value[1], half = value[0] + (next - value[0]) / 2;
        const uint16_t even = (uint16_t)(i & 1 ? i + 1 : i);
        const uint16_t right[] = {pair[0], even, pair[0], pair[1], (uint16_t)(even | 0x8000), pair[0]};
        x[0] = value[0];
        x[1] = half;
        x[2] = nextafterf(half, 0);
        x[3] = nextafterf(half, HUGE_VALF);
        x[4] = -half;
        x[5] = nextafterf(value[0], HUGE_VALF);
        assert_int_equal(uk_module_call(narrow, &six, NULL, (void *[]){x, y}), UK_OK);
        assert_memory_equal(y, right, sizeof right);
    }
    uk_module_destroy(widen);
    uk_module_destroy(narrow);
}

int main(int count, char **words) {
    const struct CMUnitTest sampled[] = {cmocka_unit_test(rows_are_compared),
                                         cmocka_unit_test(all_halves_widen),
                                         cmocka_unit_test(all_halves_narrow),
                                         cmocka_unit_test(singles),
                                         cmocka_unit_test(doubles),
                                         cmocka_unit_test(all_pairs)},
                            single[] = {cmocka_unit_test(all_singles)},
                            more[] = {cmocka_unit_test(all_pairs)};

    chosen = count > 1 ? words[1] : "";
    if (count == 3)
        step = strtoull(words[2], NULL, 10);
    if (count > 3 && !strcmp(words[2], "--seed"))
        seed_of_pairs = seed_of(words[3]);
    if (!*chosen)
        return cmocka_run_group_tests_name("functions", sampled, make_context, destroy_context);
    if (strcmp(chosen, "pow") && strcmp(chosen, "swish"))
        return cmocka_run_group_tests_name("functions", single, make_context, destroy_context);
    pairs *= 32;
    print_message("seed %" PRIu64 "\n", seed_of_pairs);
    return cmocka_run_group_tests_name("functions", more, make_context, destroy_context);
}
