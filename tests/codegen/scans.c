/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scans along rows are bit-identical to loops in C, which carry each result to the next element: floats in
 * this order, integers modulo their range. Sizes leave remainders of vectors, of blocks and of both; rows are
 * further apart than their elements, and what is between them stays as it was.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "random.h"
#include "test_context.h"
#include "ukernels.h"

enum { SUM, PROD, MAX, MIN, OPERATIONS, GAP = 3, MAX_BYTES = 1 << 18 };

static const char *const operation[] = {"sum", "prod", "max", "min"};
static unsigned char *x, *got, *expected; /* MAX_BYTES each */

static float f32_of(uint64_t bits) {
    return (float)(0.75 + 0.5 * (double)(bits >> 40) / (1 << 24)) * (bits & 1 ? 1 : -1);
}

static double f64_of(uint64_t bits) {
    return (0.75 + 0.5 * (double)(bits >> 11) / ((uint64_t)1 << 53)) * (bits & 1 ? 1 : -1);
}

#define F32_SUM(a, b) ((a) + (b))
#define F32_PROD(a, b) ((a) * (b))
/* In 64 bits without a sign, so that no sum overflows; the store takes the lower bits. */
#define I64_SUM(a, b) ((uint64_t)(a) + (uint64_t)(b))
#define I64_PROD(a, b) ((uint64_t)(a) * (uint64_t)(b))

/* Fills x, and computes the scan of m rows of n elements in `expected`. */
#define SCAN(name, type, draw, add, multiply)                                     \
    static void scan_##name(int op, int64_t m, int64_t n, uint64_t *seed) {       \
        type *to = (void *)expected, *from = (void *)x;                           \
        for (int64_t i = 0; i < m * (n + GAP); i++)                               \
            from[i] = (type)draw(random_next(seed));                              \
        for (int64_t i = 0; i < m; i++)                                           \
            for (int64_t j = 0; j < n; j++) {                                     \
                const int64_t at = i * (n + 2 * GAP) + j;                         \
                const type v = from[i * (n + GAP) + j], old = j ? to[at - 1] : v; \
                to[at] = !j           ? v                                         \
                         : op == SUM  ? (type)add(old, v)                         \
                         : op == PROD ? (type)multiply(old, v)                    \
                         : op == MAX  ? (old > v ? old : v)                       \
                                      : (old < v ? old : v);                       \
            }                                                                     \
    }

SCAN(f32, float, f32_of, F32_SUM, F32_PROD)
SCAN(f64, double, f64_of, F32_SUM, F32_PROD)
SCAN(i32, int32_t, , I64_SUM, I64_PROD)
SCAN(i64, int64_t, , I64_SUM, I64_PROD)
SCAN(i16, int16_t, , I64_SUM, I64_PROD)
SCAN(u8, uint8_t, , I64_SUM, I64_PROD)

static const struct {
    const char *name;
    size_t bytes;
    void (*scan)(int op, int64_t m, int64_t n, uint64_t *seed);
} types[] = {
    {"f32", 4, scan_f32}, {"f64", 8, scan_f64}, {"i32", 4, scan_i32},
    {"i64", 8, scan_i64}, {"i16", 2, scan_i16}, {"u8", 1, scan_u8},
};

static struct uk_program *program(const char *type, int op) {
    char text[256];

    snprintf(text, sizeof text,
             "tensor X %s [M, N] stride [P, 1]\ntensor Y %s [M, N] stride [Q, 1]\n"
             "Y[m, n] = scan %s(n) X[m, n]\n",
             type, type, operation[op]);
    return parse_text(text);
}

static struct uk_module *compile(const char *type, int op, const char *target) {
    const struct uk_options options = {.target = target, .threads = 1};
    struct uk_program *p = program(type, op);
    struct uk_module *module = NULL;

    if (uk_compile(p, &options, &module))
        fail_msg("%s", uk_context_message(context));
    uk_program_destroy(p);
    return module;
}

static void check_scans(const char *target) {
    static const int64_t size[][2] = {{0, 5}, {5, 0},  {1, 1},  {1, 300}, {2, 64},  {3, 65},   {4, 4},
                                      {5, 7}, {8, 16}, {16, 8}, {16, 17}, {37, 83}, {64, 129}, {19, 256}};
    uint64_t seed = 1;

    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (int op = 0; op < OPERATIONS; op++) {
            struct uk_module *module = compile(types[t].name, op, target);

            for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
                const int64_t m = size[i][0], n = size[i][1], sizes[] = {m, n, n + GAP, n + 2 * GAP};

                memset(got, 0x5a, MAX_BYTES);
                memset(expected, 0x5a, MAX_BYTES);
                types[t].scan(op, m, n, &seed);
                assert_int_equal(uk_module_call(module, sizes, NULL, (void *[]){x, got}), UK_OK);
                for (size_t at = 0; at < MAX_BYTES; at++)
                    if (got[at] != expected[at])
                        fail_msg("scan %s of %s [%d, %d] for %s: byte %zu, element %zu of row %zu, is wrong",
                                 operation[op], types[t].name, (int)m, (int)n, target, at,
                                 at / types[t].bytes % (size_t)sizes[3],
                                 at / types[t].bytes / (size_t)sizes[3]);
            }
            uk_module_destroy(module);
        }
}

static void scans_are_exact(void **state) {
    (void)state;
    x = malloc(MAX_BYTES);
    got = malloc(MAX_BYTES);
    expected = malloc(MAX_BYTES);
    assert_true(x && got && expected);
#if defined __x86_64__
    check_scans("x86_64-generic");
    if (uk_cpu_has("avx2") && uk_cpu_has("fma"))
        check_scans("x86_64-avx2");
    if (uk_cpu_has("avx512dq"))
        check_scans("x86_64-avx512");
#else
    check_scans("native");
#endif
    free(x);
    free(got);
    free(expected);
}

/* Assembly has an instruction that only scans by vectors have. */
static void scans_are_vectors(void **state) {
    static const char *const found[][2] = {{"f32", "vunpcklps"}, {"f64", "vunpcklpd"}, {"i32", "vpaddd"}};
    const struct uk_options options = {.target = "x86_64-avx2", .threads = 1};

    (void)state;
    for (size_t i = 0; i < sizeof found / sizeof *found; i++) {
        struct uk_program *p = program(found[i][0], SUM);
        char *assembly;
        size_t length;

        if (uk_emit(p, &options, UK_EMIT_ASM, &assembly, &length))
            fail_msg("%s", uk_context_message(context));
        if (!strstr(assembly, found[i][1]))
            fail_msg("no %s in a scan of %s", found[i][1], found[i][0]);
        uk_text_free(assembly);
        uk_program_destroy(p);
    }
}

int main(void) {
    static const struct CMUnitTest tests[] = {cmocka_unit_test(scans_are_exact),
                                              cmocka_unit_test(scans_are_vectors)};

    return cmocka_run_group_tests(tests, make_context, destroy_context);
}
