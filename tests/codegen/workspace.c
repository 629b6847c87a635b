/* SPDX-License-Identifier: Apache-2.0 */
/* --workspace=argument: the memory is as large as said and no larger, and the function allocates nothing. */
#define _GNU_SOURCE /* MAP_ANONYMOUS, memmem */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>
#include "tensorize.h"

typedef int matmul_function(int64_t, int64_t, int64_t, const float *, const float *, float *, void *);
typedef int64_t bytes_function(int64_t, int64_t, int64_t);

static const char text[] = "tensor A f32 [M, K]\n"
                           "tensor B f32 [K, N]\n"
                           "tensor C f32 [M, N]\n"
                           "C[m, n] = sum(k) A[m, k] * B[k, n]\n";

struct code {
    struct uk_context *context;
    struct uk_program *program;
    struct uk_module *module;
    matmul_function *matmul;
    bytes_function *bytes;
};

static const struct uk_options *options(int threads) {
    static struct uk_options o;

    o = (struct uk_options){
        .target = "x86_64-avx2", .require_kernels = true, .workspace_argument = true, .threads = threads};
    return &o;
}

static void begin(struct code *c, int threads) {
    c->context = uk_context_create();
    if (uk_program_parse(c->context, "matmul.uk", text, strlen(text), &c->program) ||
        uk_compile(c->program, options(threads), &c->module))
        fail_msg("%s", uk_context_message(c->context));
    void *matmul = uk_module_find(c->module, "matmul"),
         *bytes = uk_module_find(c->module, "matmul_workspace");

    assert_non_null(matmul);
    assert_non_null(bytes);
    memcpy(&c->matmul, &matmul, sizeof c->matmul);
    memcpy(&c->bytes, &bytes, sizeof c->bytes);
}

static void end(struct code *c) {
    uk_module_destroy(c->module);
    uk_program_destroy(c->program);
    uk_context_destroy(c->context);
}

/* `bytes` of NaN that end where a page begins that must not be touched, and begin where one ends, less the
 * rest of a page. */
struct memory {
    char *map, *start;
    size_t size;
};

static struct memory guarded(size_t bytes) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), used = (bytes + page - 1) / page * page;
    struct memory m = {.size = used + 2 * page};

    m.map = mmap(NULL, m.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(m.map != MAP_FAILED);
    if (used)
        assert_int_equal(mprotect(m.map + page, used, PROT_READ | PROT_WRITE), 0);
    m.start = m.map + page + used - bytes;
    memset(m.start - (used - bytes), 0xff, used);
    return m;
}

static float *integers(size_t n) {
    float *x = malloc((n + 1) * sizeof *x);

    assert_non_null(x);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)((int)(i * 7 % 11) - 5);
    return x;
}

static void check_size(struct code *c, int64_t m, int64_t k, int64_t n) {
    float *a = integers((size_t)(m * k)), *b = integers((size_t)(k * n)), *got = integers((size_t)(m * n)),
          *expected = integers((size_t)(m * n));
    int64_t bytes = c->bytes(m, k, n), size[] = {m, k, n};

    assert_true(bytes >= 0 && bytes % 64 == 0);
    struct memory work = guarded((size_t)bytes);
    assert_int_equal(uk_program_interpret(c->program, size, NULL, (void *[]){a, b, expected}), UK_OK);
    assert_int_equal(c->matmul(m, k, n, a, b, got, work.start), UK_OK);
    assert_memory_equal(got, expected, (size_t)(m * n) * sizeof *got);
    memset(got, 0xff, (size_t)(m * n) * sizeof *got);
    assert_int_equal(uk_module_call(c->module, size, NULL, (void *[]){a, b, got, work.start}), UK_OK);
    assert_memory_equal(got, expected, (size_t)(m * n) * sizeof *got);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (const char *p = work.map + page; p < work.start; p++)
        assert_int_equal(*p, -1);
    munmap(work.map, work.size);
    free(a);
    free(b);
    free(got);
    free(expected);
}

static void exactly_as_large_as_said(void **state) {
    static const int64_t size[][3] = {{1, 1, 1},      {6, 64, 16},  {7, 33, 17}, {100, 33, 70},
                                      {300, 600, 70}, {0, 5, 5},    {5, 0, 5},   {5, 5, 0},
                                      {64, 1, 513},   {13, 777, 1}, {1, 7, 400}, {90, 400, 90}};

    (void)state;
    for (int threads = 1; threads <= 2; threads++) {
        struct code c;

        begin(&c, threads);
        for (size_t i = 0; i < sizeof size / sizeof *size; i++)
            check_size(&c, size[i][0], size[i][1], size[i][2]);
        end(&c);
    }
}

static void refusals(void **state) {
    enum { M = 100, K = 33, N = 70 };
    struct code c;

    (void)state;
    begin(&c, 1);
    float *a = integers(M * K), *b = integers(K * N), *out = integers(M * N), *before = integers(M * N);
    int64_t bytes = c.bytes(M, K, N), huge = INT64_MAX / 4;
    char *work = aligned_alloc(64, (size_t)bytes + 64);

    assert_true(bytes > 0);
    assert_non_null(work);
    assert_int_equal(c.matmul(M, K, N, a, b, out, NULL), UK_INVALID_ARGUMENT);
    assert_int_equal(c.matmul(M, K, N, a, b, out, work + 32), UK_INVALID_ARGUMENT);
    assert_int_equal(c.matmul(M, K, N, a, b, (float *)(void *)(work + 64), work), UK_OVERLAP);
    assert_int_equal(c.matmul(M, K, N, (float *)(void *)(work + bytes - 4), b, out, work), UK_OVERLAP);
    assert_memory_equal(out, before, M * N * sizeof *out);
    assert_int_equal(c.bytes(-1, K, N), -1);
    assert_int_equal(c.matmul(-1, K, N, a, b, out, work), UK_INVALID_SIZE);
    assert_int_equal(c.matmul(huge, K, N, a, b, out, work), UK_INVALID_SIZE);
    assert_int_equal(c.matmul(M, K, N, a, b, out, work), UK_OK);
    free(a);
    free(b);
    free(out);
    free(before);
    free(work);
    end(&c);
}

static void nothing_is_allocated(void **state) {
    struct uk_context *c = uk_context_create();
    struct uk_program *p;
    char *object, *header;
    size_t length;

    (void)state;
    for (int argument = 0; argument < 2; argument++) {
        const struct uk_options o = {
            .target = "x86_64-avx2", .require_kernels = true, .workspace_argument = argument};

        if (uk_program_parse(c, "matmul.uk", text, strlen(text), &p) ||
            uk_emit(p, &o, UK_EMIT_OBJECT, &object, &length))
            fail_msg("%s", uk_context_message(c));
        assert_int_equal(memmem(object, length, "aligned_alloc", 13) == NULL, argument);
        assert_int_equal(uk_emit(p, &o, UK_EMIT_HEADER, &header, &length), UK_OK);
        assert_int_equal(strstr(header, "float *C, void *work);") != NULL, argument);
        assert_true(!strstr(header, "int64_t matmul_workspace(int64_t M, int64_t K, int64_t N);") ==
                    !argument);
        uk_text_free(object);
        uk_text_free(header);
        uk_program_destroy(p);
    }
    uk_context_destroy(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exactly_as_large_as_said),
        cmocka_unit_test(refusals),
        cmocka_unit_test(nothing_is_allocated),
    };

    if (!__builtin_cpu_supports("avx2"))
        return 77;
    return cmocka_run_group_tests_name("workspace", tests, NULL, NULL);
}
