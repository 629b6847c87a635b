/* SPDX-License-Identifier: Apache-2.0 */
/* --workspace=argument: the function uses exactly the memory that NAME_workspace states, and allocates
 * nothing. */
#include <stdlib.h>
#include <string.h>
#include "arena.h"
#include "run_program.h"
#include "test_context.h"

typedef int matmul_function(int64_t, int64_t, int64_t, const float *, const float *, float *, void *);
typedef int64_t bytes_function(int64_t, int64_t, int64_t);

static const char text[] = "tensor A f32 [M, K]\n"
                           "tensor B f32 [K, N]\n"
                           "tensor C f32 [M, N]\n"
                           "C[m, n] = sum(k) A[m, k] * B[k, n]\n";

struct code {
    struct run run;
    matmul_function *matmul;
    bytes_function *bytes;
};

static void begin(struct code *c, int threads) {
    c->run = (struct run){.context = context,
                          .program = run_parse(context, "matmul.uk", text, NULL),
                          .options = {.target = "x86_64-avx2",
                                      .require_kernels = true,
                                      .workspace_argument = true,
                                      .threads = threads}};
    if (run_compile(&c->run))
        fail_msg("%s", uk_context_message(context));
    void *matmul = uk_module_find(c->run.module, "matmul"),
         *bytes = uk_module_find(c->run.module, "matmul_workspace");

    assert_non_null(matmul);
    assert_non_null(bytes);
    memcpy(&c->matmul, &matmul, sizeof c->matmul);
    memcpy(&c->bytes, &bytes, sizeof c->bytes);
}

static float *integers(size_t n) {
    float *x = malloc((n + 1) * sizeof *x);

    assert_non_null(x);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)((int)(i * 7 % 11) - 5);
    return x;
}

static void check_size(struct code *c, const int64_t *size) {
    const int64_t bytes = c->bytes(size[0], size[1], size[2]);
    struct random_data d = {0};

    assert_true(bytes >= 0 && bytes % 64 == 0);
    /* The workspace is full of NaN and ends at an inaccessible page; the bytes before it, up to the start of
     * its first page, must stay unchanged. */
    struct arena work;
    assert_true(arena_make(&work, (size_t)bytes));
    memset(work.data, 0xff, work.size);
    memcpy(d.size, size, 3 * sizeof *size);
    random_data_fill(&d, c->run.program, 1);
    c->run.workspace = work.data + work.size - bytes;
    assert_true(run_is_right(&c->run, &d));
    random_data_begin(&d);
    assert_int_equal(
        c->matmul(size[0], size[1], size[2], d.origin[0], d.origin[1], d.origin[2], c->run.workspace), UK_OK);
    assert_memory_equal(d.got[2], d.wanted[2], d.bytes[2] + 2 * RANDOM_DATA_MARGIN);
    for (const unsigned char *p = work.data; p < (unsigned char *)c->run.workspace; p++)
        assert_int_equal(*p, 0xff);
    arena_free(&work);
    random_data_free(&d);
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
            check_size(&c, size[i]);
        run_end(&c.run);
    }
}

static void refusals(void **state) {
    enum { M = 300, K = 133, N = 270 }; /* too large to be computed in place */
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
    run_end(&c.run);
}

static bool contains(const char *bytes, size_t length, const char *word) {
    const size_t n = strlen(word);

    for (; length >= n; bytes++, length--)
        if (!memcmp(bytes, word, n))
            return true;
    return false;
}

static void nothing_is_allocated(void **state) {
    struct uk_context *c = context;
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
        assert_int_equal(!contains(object, length, "aligned_alloc"), argument);
        assert_int_equal(uk_emit(p, &o, UK_EMIT_HEADER, &header, &length), UK_OK);
        assert_int_equal(strstr(header, "float *C, void *work);") != NULL, argument);
        assert_true(!strstr(header, "int64_t matmul_workspace(int64_t M, int64_t K, int64_t N);") ==
                    !argument);
        uk_text_free(object);
        uk_text_free(header);
        uk_program_destroy(p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exactly_as_large_as_said),
        cmocka_unit_test(refusals),
        cmocka_unit_test(nothing_is_allocated),
    };

    if (!__builtin_cpu_supports("avx2"))
        return 77;
    return cmocka_run_group_tests_name("workspace", tests, make_context, destroy_context);
}
