/* SPDX-License-Identifier: Apache-2.0 */
/* What a compilation takes, stage by stage: the first of a process, a second one of the same program, of
 * another one, and in another context. Prints; how long is right depends on the machine. */
#define _GNU_SOURCE /* mallinfo2 */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include "tensorize.h"

enum { ROWS = 4, STAGES = 16, MOST_ALLOCATIONS = 400000 };

#define MATMUL(more)                        \
    "tensor A f32 [M, K] stride [lda, 1]\n" \
    "tensor B f32 [K, N] stride [ldb, 1]\n" \
    "tensor C f32 [M, N] stride [ldc, 1]\n" \
    "C[m, n] " more " sum(k) A[m, k] * B[k, n]\n"

/* The allocations of this process, of all libraries; a sanitizer has an allocator of its own, whose are not
 * counted. */
static size_t allocations;
#ifdef __has_feature
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define SANITIZED 0
#endif
#if !SANITIZED
void *__libc_malloc(size_t size);

void *malloc(size_t size) {
    allocations++;
    return __libc_malloc(size);
}
#endif

struct row {
    const char *name;
    int stages;
    const char *stage[STAGES];
    double milliseconds[STAGES], total;
};

static void compile(struct uk_context *c, const char *text, struct row *row) {
    struct uk_program *p;
    struct uk_module *m;

    if (uk_program_parse(c, "matmul.uk", text, strlen(text), &p) ||
        uk_compile(p, &(struct uk_options){.require_kernels = true}, &m))
        fail_msg("%s", uk_context_message(c));
    while (row->stages < STAGES &&
           (row->stage[row->stages] = uk_module_time(m, row->stages, &row->milliseconds[row->stages])))
        row->total += row->milliseconds[row->stages++];
    uk_module_destroy(m);
    uk_program_destroy(p);
}

/* A stage may run more than once: its sum. */
static double stage_of(const struct row *row, const char *name) {
    double sum = 0;

    for (int i = 0; i < row->stages; i++)
        if (!strcmp(row->stage[i], name))
            sum += row->milliseconds[i];
    return sum;
}

static bool listed_before(const struct row *row, int i) {
    for (int j = 0; j < i; j++)
        if (!strcmp(row->stage[j], row->stage[i]))
            return true;
    return false;
}

static void print(const struct row *row) {
    print_message("%-10s", "ms");
    for (int r = 0; r < ROWS; r++)
        print_message("  %18s", row[r].name);
    for (int i = 0; i < row->stages; i++) {
        if (listed_before(row, i))
            continue;
        print_message("\n%-10s", row->stage[i]);
        for (int r = 0; r < ROWS; r++)
            print_message("  %18.2f", stage_of(&row[r], row->stage[i]));
    }
    print_message("\n%-10s", "all");
    for (int r = 0; r < ROWS; r++)
        print_message("  %18.2f", row[r].total);
    print_message("\n");
}

static void by_stage(void **state) {
    struct row row[ROWS] = {{.name = "first"},
                            {.name = "the same again"},
                            {.name = "another program"},
                            {.name = "another context"}};
    struct uk_context *c = uk_context_create(), *other = uk_context_create();

    (void)state;
    assert_true(c && other);
    compile(c, MATMUL("="), &row[0]);
    compile(c, MATMUL("="), &row[1]);
    compile(c, MATMUL("+="), &row[2]);
    compile(other, MATMUL("="), &row[3]);
    print(row);
    for (int r = 0; r < ROWS; r++) {
        assert_true(row[r].stages > 0);
        for (int i = 0; i < row[r].stages; i++)
            assert_true(row[r].milliseconds[i] >= 0);
    }
    uk_context_destroy(c);
    uk_context_destroy(other);
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *x, int n) {
    qsort(x, (size_t)n, sizeof *x, compare);
    return x[n / 2];
}

/* Programs that differ, so that none is taken from what the context keeps; every fourth one is refused. Once
 * the context keeps all that it ever will, nothing more is held and no more is allocated on the way. */
static void a_hundred_compiles(void **state) {
    enum { COMPILES = 100, FULL = 40, SAMPLE = 30 };
    struct uk_context *c = uk_context_create();
    double took[COMPILES];
    size_t calls[COMPILES];
    size_t held = 0;

    (void)state;
    assert_non_null(c);
    for (int i = 0; i < COMPILES; i++) {
        char text[512];
        struct row row = {0};
        struct uk_program *p;
        struct uk_module *m;
        clock_t start = clock();
        const size_t allocated = allocations;

        snprintf(text, sizeof text, "%sassume K <= %d\n", MATMUL("="), 1000 + i);
        compile(c, text, &row);
        took[i] = (double)(clock() - start);
        calls[i] = allocations - allocated;
        snprintf(text, sizeof text,
                 "tensor X f32 [N]\ntensor Y f32 [N]\nY[i] = X[i] + X[i]\nschedule\n  split Y.i %d "
                 "-> io ii\n  tensorize ii no_such_kernel\n",
                 i + 1);
        if (i % 4 == 0) {
            assert_int_equal(uk_program_parse(c, "add.uk", text, strlen(text), &p), UK_OK);
            assert_int_not_equal(uk_compile(p, NULL, &m), UK_OK);
            uk_program_destroy(p);
        }
        if (i == FULL)
            held = mallinfo2().uordblks;
    }
    size_t more = mallinfo2().uordblks;
    double before = median(took + FULL - SAMPLE, SAMPLE), after = median(took + COMPILES - SAMPLE, SAMPLE);

    print_message("100 compiles: %.1f ms of CPU each at first, %.1f at last; %zu and %zu allocations; %zu "
                  "KiB held after %d, %zu at "
                  "the end\n",
                  before * 1e3 / CLOCKS_PER_SEC, after * 1e3 / CLOCKS_PER_SEC, calls[FULL],
                  calls[COMPILES - 1], held / 1024, FULL, more / 1024);
    assert_in_range(calls[COMPILES - 1], calls[FULL] * 9 / 10, calls[FULL] * 11 / 10);
    assert_true(more < held + 256 * 1024);
    uk_context_destroy(c);
}

/* Allocations of an object for the target with so many products, one after the other, of a tensor of four
 * dimensions. */
static size_t chain(const char *target, int products) {
    static const char *const rotated[] = {"N1, N2, N3, N4", "N2, N3, N4, N1", "N3, N4, N1, N2",
                                          "N4, N1, N2, N3"};
    static const char *const index[] = {"a, b, c, d", "b, c, d, p", "c, d, p, q", "d, p, q, r", "p, q, r, s"};
    const struct uk_options options = {.target = target};
    struct uk_context *c = uk_context_create();
    char text[2048], *object = NULL;
    struct uk_program *p;
    size_t length;
    int n = snprintf(text, sizeof text, "tensor X0 f64 [%s]\n", rotated[0]);

    for (int i = 0; i < products; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "tensor A%d f64 [N%d, N%d]\n%s X%d f64 [%s]\n", i,
                      i + 1, i + 1, i + 1 < products ? "temp" : "tensor", i + 1, rotated[(i + 1) % 4]);
    for (int i = 0; i < products; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "X%d[%s] = sum(%c) X%d[%s] * A%d[%c, %c]\n", i + 1,
                      index[i + 1], 'a' + i, i, index[i], i, 'a' + i, 'p' + i);
    const size_t before = allocations;

    if (uk_program_parse(c, "chain.uk", text, strlen(text), &p) ||
        uk_emit(p, &options, UK_EMIT_OBJECT, &object, &length))
        fail_msg("%s", uk_context_message(c));
    const size_t after = allocations;

    uk_text_free(object);
    uk_program_destroy(p);
    uk_context_destroy(c);
    return after - before;
}

/* A kernel has a copy for each call, and each copy of a compiled one dozens of loops: what LLVM does about
 * them must grow with their number, not with its square, and not with the loops around them. */
static void chains(void **state) {
    static const char *const targets[] = {"riscv64", "aarch64-neon", "x86_64-avx2"};

    (void)state;
    for (size_t i = 0; i < sizeof targets / sizeof *targets && !SANITIZED; i++) {
        chain(targets[i], 1); /* what a process does once */
        const size_t one = chain(targets[i], 1), four = chain(targets[i], 4);

        print_message("%s: %zu allocations for one product, %zu for four\n", targets[i], one, four);
        assert_true(one < MOST_ALLOCATIONS);
        assert_true(four < 12 * one);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(by_stage), cmocka_unit_test(chains),
                                       cmocka_unit_test(a_hundred_compiles)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
