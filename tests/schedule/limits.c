/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits of a program's length, and the scheduler's effort, which grows only in proportion to the length: isl
 * problems, operations of the hardest problem, and comparisons of names.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "lower/lower.h"
#include "test_context.h"

static unsigned long operations; /* bound of isl's operations for a problem; 0: that of the library */
static long problems, comparisons;

int __real_strcmp(const char *a, const char *b);
int __wrap_strcmp(const char *a, const char *b);
void __real_isl_ctx_set_max_operations(isl_ctx *ctx, unsigned long most);
void __wrap_isl_ctx_set_max_operations(isl_ctx *ctx, unsigned long most);

int __wrap_strcmp(const char *a, const char *b) {
    comparisons++;
    return __real_strcmp(a, b);
}

void __wrap_isl_ctx_set_max_operations(isl_ctx *ctx, unsigned long most) {
    problems++;
    __real_isl_ctx_set_max_operations(ctx, operations && operations < most ? operations : most);
}

/* Lowers the program to loops for the target. */
static enum uk_status lower(const char *text, const char *name) {
    const struct uk_options o = {.target = name, .threads = 1};
    const struct uk_target *target;
    struct uk_program *p = parse_in(context, "long.uk", text);
    struct uk_function *f;

    uk_context_enter(context, "long.uk");
    if (uk_target_find(context, name, &target))
        fail_msg("%s", uk_context_message(context));
    problems = comparisons = 0;
    enum uk_status status = uk_lower(p, target, &o, NULL, NULL, &f);
    uk_program_destroy(p);
    return status;
}

static void expect_refusal(const char *text, const char *message) {
    assert_int_equal(lower(text, "interp"), UK_REFUSED);
    if (!strstr(uk_context_message(context), message))
        fail_msg("'%s' does not contain '%s'", uk_context_message(context), message);
}

static void expect_loops(const char *text) {
    if (lower(text, "interp"))
        fail_msg("%s", uk_context_message(context));
}

/* ---- limits ---- */

/* n statements of one loop each, and `splits` splits in total. Each split creates two loops. */
static char *divided(int n, int splits) {
    struct uk_text t = {0};

    uk_put(&t, "tensor X f32 [N]\ntensor Y f32 [N]\n");
    for (int i = 0; i < n; i++)
        uk_put(&t, "s%d: Y[i] = X[i]\n", i);
    uk_put(&t, "schedule\n");
    for (int i = 0; i < splits; i++)
        if (i < n)
            uk_put(&t, "  split s%d.i 1 -> s%d_0 t%d_0\n", i, i, i);
        else
            uk_put(&t, "  split s%d_%d 1 -> s%d_%d t%d_%d\n", i % n, i / n - 1, i % n, i / n, i % n, i / n);
    assert_non_null(t.text);
    return t.text;
}

static void stages(void **state) {
    char *most = divided(UK_MAX_STAGES, 1), *more = divided(UK_MAX_STAGES + 1, 1);

    (void)state;
    expect_loops(most);
    expect_refusal(more, "error: the schedule makes more than 1024 stages of the statements and copies; make "
                         "two programs of it");
    free(most);
    free(more);
}

static void loops_of_all(void **state) {
    enum { STATEMENTS = 512 };
    const int splits = (UK_MAX_ALL_LOOPS - STATEMENTS) / 2;
    char *most = divided(STATEMENTS, splits), *more = divided(STATEMENTS, splits + 1);

    (void)state;
    expect_loops(most);
    expect_refusal(more,
                   "error: the schedule makes more than 8192 loops; split less, or make two programs of it");
    free(most);
    free(more);
}

static void loops_of_one(void **state) {
    char *most = divided(1, UK_MAX_LOOPS - 1), *more = divided(1, UK_MAX_LOOPS);

    (void)state;
    expect_loops(most);
    expect_refusal(
        more, "error: stage s0 has more than 64 loops, with those that it is attached inside; split less");
    free(most);
    free(more);
}

/* A producer of 32 loops and its consumer of splits + 1 loops, which is moved inside the innermost of
 * them. */
static char *attached(int splits) {
    struct uk_text t = {0};

    uk_put(&t, "tensor X f32 [N]\ntemp T f32 [N]\ntensor Y f32 [N]\nT[i] = X[i]\nY[j] = T[j]\nschedule\n");
    for (int i = 0; i < 31; i++)
        uk_put(&t, i ? "  split a%d 2 -> a%d b%d\n" : "  split T.i 2 -> a%d b%d\n", i ? i - 1 : 0, i, i);
    for (int i = 0; i < splits; i++)
        uk_put(&t, i ? "  split c%d 2 -> c%d d%d\n" : "  split Y.j 2 -> c%d d%d\n", i ? i - 1 : 0, i, i);
    uk_put(&t, "  reverse_compute_at Y b0\n");
    assert_non_null(t.text);
    return t.text;
}

static void loops_of_attached(void **state) {
    char *more = attached(32);

    (void)state;
    expect_refusal(
        more, "reverse_compute_at Y at b0: together the stages would have more than 64 loops; split fewer");
    free(more);
}

/* ---- growth ---- */

/* A chain of n products X1 = X0 W0, X2 = X1 W1, ..; each matrix with sizes of its own, or all square. */
static char *products(int n, bool sizes) {
    struct uk_text t = {0};

    for (int i = 0; i <= n; i++)
        uk_put(&t, "%s X%d f32 [M, D%d]\n", i && i < n ? "temp" : "tensor", i, sizes ? i : 0);
    for (int i = 0; i < n; i++)
        uk_put(&t, "tensor W%d f32 [D%d, D%d]\n", i, sizes ? i : 0, sizes ? i + 1 : 0);
    for (int i = 0; i < n; i++)
        uk_put(&t, "X%d[m, n] = sum(k) X%d[m, k] * W%d[k, n]\n", i + 1, i, i);
    assert_non_null(t.text);
    return t.text;
}

struct effort {
    long problems, comparisons;
};

static struct effort effort_of(int n, bool sizes) {
    char *text = products(n, sizes);

    if (lower(text, "x86_64-avx2"))
        fail_msg("%d products: %s", n, uk_context_message(context));
    free(text);
    return (struct effort){problems, comparisons};
}

/* True if no isl problem of n products takes more than `most` operations. */
static bool takes(int n, bool sizes, unsigned long most) {
    char *text = products(n, sizes);

    operations = most;
    enum uk_status status = lower(text, "x86_64-avx2");
    operations = 0;
    free(text);
    return !status;
}

static void grows(bool sizes) {
    const struct effort warm = effort_of(8, sizes), few = effort_of(8, sizes), many = effort_of(32, sizes);
    unsigned long most = 4096;

    (void)warm; /* the first run also parsed the registry's declarations */
    print_message("8 products: %ld problems of isl, %ld comparisons of names; 32: %ld, %ld\n", few.problems,
                  few.comparisons, many.problems, many.comparisons);
    assert_true(many.problems <= 4 * few.problems + few.problems / 2);
    assert_true(many.comparisons <= 4 * few.comparisons + few.comparisons);
    while (!takes(8, sizes, most))
        most += most / 2;
    print_message("the hardest problem of 8 products takes at most %lu operations\n", most);
    assert_true(takes(32, sizes, most + most / 8));
}

static void one_size(void **state) {
    (void)state;
    grows(false);
}

static void many_sizes(void **state) {
    (void)state;
    grows(true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stages),       cmocka_unit_test(loops_of_all),
        cmocka_unit_test(loops_of_one), cmocka_unit_test(loops_of_attached),
        cmocka_unit_test(one_size),     cmocka_unit_test(many_sizes),
    };
    return cmocka_run_group_tests(tests, make_context, destroy_context);
}
