/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products whose sizes are arguments of the function have several automatic schedules. Calls at the limits of
 * their conditions, just beyond them, and with sizes of 0 give what the interpreter computes; each schedule
 * is taken by some call.
 *
 *     product_versions [--seed N|new] [--count N]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "language/language.h"
#include "lower/lower.h"
#include "random.h"
#include "run_program.h"
#include "test_context.h"
#include "test_options.h"

enum { MOST_TERMS = 1000000, TRIES = 1000 };

static const char matmul[] = "tensor A f32 [M, K] stride [lda, 1]\ntensor B f32 [K, N] stride [ldb, 1]\n"
                             "tensor C f32 [M, N] stride [ldc, 1]\nC[m, n] = sum(k) A[m, k] * B[k, n]\n";
static const char swapped[] = "tensor A f32 [K, M]\ntensor B f32 [K, N]\ntensor C f32 [N, M]\n"
                              "C[n, m] = sum(k) A[k, m] * B[k, n]\n";
static const char gram[] = "tensor A f32 [M, K]\ntensor C f32 [M, M]\nC[m, n] = sum(k) A[m, k] * A[n, k]\n";
static const char doubles[] = "tensor A f64 [M, K]\ntensor B f64 [K, N]\ntensor C f64 [M, N]\n"
                              "C[m, n] = sum(k) A[m, k] * B[k, n]\n";
static const char bytes[] = "tensor A u8 [M, K]\ntensor B i8 [K, N]\ntensor C i32 [M, N]\n"
                            "C[m, n] = sum(k) i32(A[m, k]) * i32(B[k, n])\n";
static const char relu[] =
    "tensor A f32 [M, 40]\ntensor B f32 [40, N]\ntensor bias f32 [N]\ntemp S f32 [M, N]\n"
    "tensor C f32 [M, N]\nS[m, n] = sum(k) A[m, k] * B[k, n]\n"
    "C[m, n] = max(S[m, n] + bias[n], 0)\n";
static const char batch[] = "tensor A f32 [3, M, K]\ntensor B f32 [3, K, N]\ntensor C f32 [3, M, N]\n"
                            "C[b, m, n] = sum(k) A[b, m, k] * B[b, k, n]\n";

static const struct {
    const char *name, *text;
    int versions; /* minimum on x86-64, by one thread */
} programs[] = {{"matmul", matmul, 2}, {"swapped", swapped, 2}, {"gram", gram, 0},  {"doubles", doubles, 2},
                {"bytes", bytes, 0},   {"relu", relu, 0},       {"batch", batch, 2}};

static uint64_t seed = 1;
static int count = 16;

static int64_t size_of(const struct uk_var *v, void *sizes) {
    return ((const int64_t *)sizes)[v->number];
}

/* Strides that are sizes are a little longer than the rows. */
static void set_strides(const struct uk_program *p, int64_t *size) {
    for (const struct uk_tensor *t = p->tensors; t; t = t->next)
        for (int d = 0; d + 1 < t->dims; d++)
            if (t->stride[d]->op == UK_I_VAR && !t->stride[d]->var->is_extent) {
                bool overflow = false;

                size[t->stride[d]->var->number] =
                    uk_index_eval(t->shape[d + 1], size_of, size, &overflow) + 3;
            }
}

/* Draws sizes: around the width of a tile, or 0, some of them larger by up to 4200. */
static void draw_any(const struct uk_program *p, uint64_t *x, int64_t *size) {
    static const int sizes[] = {0, 1, 2, 13, 14, 15, 16, 17, 24, 31, 32, 33, 48, 64, 65, 100};

    for (const struct uk_var *v = p->sizes; v; v = v->next)
        size[v->number] = sizes[random_below(x, sizeof sizes / sizeof *sizes)] +
                          (random_below(x, 3) ? 0 : random_below(x, 4200));
}

/* Moves one of the sizes that the condition adds up so that their sum is its limit, or 1 more. */
static void move_to_limit(const struct uk_index *condition, uint64_t *x, int64_t *size) {
    const struct uk_index *sum = condition->a;
    bool overflow = false;
    const int64_t all = uk_index_eval(condition->a, size_of, size, &overflow),
                  limit = uk_index_eval(condition->b, size_of, size, &overflow);

    while (sum->op == UK_I_ADD)
        sum = random_below(x, 2) ? sum->a : sum->b;
    const int64_t moved = size[sum->var->number] + limit - all + random_below(x, 2);

    if (moved >= 0)
        size[sum->var->number] = moved;
}

static double terms_of(const struct uk_program *p, const int64_t *size) {
    double terms = 1;

    for (const struct uk_var *v = p->sizes; v; v = v->next)
        terms *= v->is_extent && size[v->number] > 1 ? (double)size[v->number] : 1;
    return terms;
}

/* The number of the version that the sizes take. */
static int taken_by(const struct uk_function *f, int64_t *size) {
    bool overflow = false;
    int n = 0;

    for (const struct uk_function_version *v = f->versions;
         v->condition && !uk_index_eval(v->condition, size_of, size, &overflow); v = v->next)
        n++;
    return n;
}

static void check_program(int program, const char *target, int threads) {
    struct run r = {.context = context,
                    .program = run_parse(context, programs[program].name, programs[program].text, NULL),
                    .options = {.target = target, .threads = threads}};
    struct uk_function *f;
    const struct uk_index *condition[UK_MAX_VERSIONS] = {NULL};
    bool taken[UK_MAX_VERSIONS] = {false};
    uint64_t x = seed * 1000 + (uint64_t)program;
    int versions = 0;

    assert_int_equal(run_lower(r.program, &r.options, NULL, NULL, &f), UK_OK);
    for (const struct uk_function_version *v = f->versions; v; v = v->next)
        condition[versions++] = v->condition;
    if (threads == 1)
        assert_true(versions >= programs[program].versions);
    if (run_compile(&r))
        fail_msg("%s", uk_context_message(context));
    for (int i = 0; i < count; i++) {
        const int wanted = versions ? i % versions : 0;
        struct random_data d = {.small = true};

        for (int tries = 0; tries < TRIES; tries++) {
            draw_any(r.program, &x, d.size);
            if (versions && condition[wanted])
                move_to_limit(condition[wanted], &x, d.size);
            const int version = versions ? taken_by(f, d.size) : 0;

            if (terms_of(r.program, d.size) <= MOST_TERMS &&
                (version == wanted || (version > wanted && i >= versions)))
                break;
        }
        set_strides(r.program, d.size);
        if (versions)
            taken[taken_by(f, d.size)] = true;
        random_data_fill(&d, r.program, x);
        assert_int_equal(d.status, UK_OK);
        assert_true(run_is_right(&r, &d));
        random_data_free(&d);
    }
    for (int i = 0; i < versions; i++)
        if (!taken[i])
            fail_msg("%s for %s: no call took schedule %d", programs[program].name, target, i + 1);
    run_end(&r);
}

static void sizes_at_limits(void **state) {
    static const char *const targets[] = {"x86_64-avx2", "x86_64-avx512"};

    (void)state;
    for (size_t t = 0; t < sizeof targets / sizeof *targets; t++)
        for (int p = 0; p < (int)(sizeof programs / sizeof *programs); p++)
            for (int threads = 1; threads <= 2 && run_is_possible(targets[t]); threads++)
                check_program(p, targets[t], threads);
}

int main(int argc, char **argv) {
    const struct test_option options[] = {
        {.name = "--seed", .seed = &seed}, {.name = "--count", .number = &count}, {0}};
    const struct CMUnitTest tests[] = {cmocka_unit_test(sizes_at_limits)};

    take_options(argc, argv, options);
    return cmocka_run_group_tests_name("product_versions", tests, make_context, destroy_context);
}
