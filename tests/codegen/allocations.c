/* SPDX-License-Identifier: Apache-2.0 */
/* Counts allocations of compilations: they grow linearly with the number of kernels called, and stop growing
 * once a context's caches are full. */
#define _GNU_SOURCE /* mallinfo2 */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "tensorize.h"

enum { MOST_ALLOCATIONS = 400000 };

#define MATMUL                              \
    "tensor A f32 [M, K] stride [lda, 1]\n" \
    "tensor B f32 [K, N] stride [ldb, 1]\n" \
    "tensor C f32 [M, N] stride [ldc, 1]\n" \
    "C[m, n] = sum(k) A[m, k] * B[k, n]\n"

/* Allocations of this process, in all libraries. Sanitizers replace the allocator; then none are counted. */
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

static void compile(struct uk_context *c, const char *text) {
    struct uk_program *p = NULL;
    struct uk_module *m = NULL;

    if (uk_program_parse(c, "matmul.uk", text, strlen(text), &p) ||
        uk_compile(p, &(struct uk_options){.require_kernels = true}, &m))
        fail_msg("%s", uk_context_message(c));
    uk_module_destroy(m);
    uk_program_destroy(p);
}

/* Compiles a hundred different programs, so that none comes from the cache; every fourth is refused. Once the
 * caches are full, memory in use and allocations per compilation stay constant. */
static void a_hundred_compiles(void **state) {
    enum { COMPILES = 100, FULL = 40 };
    struct uk_context *c = uk_context_create();
    size_t calls[COMPILES];
    size_t held = 0;

    (void)state;
    assert_non_null(c);
    for (int i = 0; i < COMPILES; i++) {
        char text[512];
        struct uk_program *p;
        struct uk_module *m;
        const size_t allocated = allocations;

        snprintf(text, sizeof text, "%sassume K <= %d\n", MATMUL, 1000 + i);
        compile(c, text);
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

    print_message("%zu and %zu allocations; %zu KiB held after %d, %zu at the end\n", calls[FULL],
                  calls[COMPILES - 1], held / 1024, FULL, more / 1024);
    assert_in_range(calls[COMPILES - 1], calls[FULL] * 9 / 10, calls[FULL] * 11 / 10);
    assert_true(more < held + 256 * 1024);
    uk_context_destroy(c);
}

/* Allocations of compiling, for the target, this number of consecutive products of a tensor of four
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

/* Each call of a kernel gets a copy of it, with dozens of loops in compiled kernels: LLVM's work on these
 * must grow linearly with their number, and not with the loops around them. */
static void chains(void **state) {
    static const char *const targets[] = {"riscv64", "aarch64-neon", "x86_64-avx2"};

    (void)state;
    for (size_t i = 0; i < sizeof targets / sizeof *targets && !SANITIZED; i++) {
        /* warms up: one-time allocations of the process */
        chain(targets[i], 1);
        const size_t one = chain(targets[i], 1), four = chain(targets[i], 4);

        print_message("%s: %zu allocations for one product, %zu for four\n", targets[i], one, four);
        assert_true(one < MOST_ALLOCATIONS);
        assert_true(four < 12 * one);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(chains), cmocka_unit_test(a_hundred_compiles)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
