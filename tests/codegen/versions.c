/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs with several schedules. Each schedule calls a kernel that adds a number of its own to all
 * elements, in spite of its declaration, so that results show which one was taken. Sizes are on both sides of
 * each condition.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "gpu/gpu.h"
#include "test_context.h"

enum { MAX_M = 6, MAX_N = 32, MAX_LD = MAX_N + 1, ROOM = MAX_M * MAX_LD, MARK = 100 };

#define KERNEL(n)                                                                \
    "pragma import c \"\"\"void mark_" #n "(long I, const float *a, float *c) {" \
    " for (long i = 0; i < I; i++) c[i] = 2 * a[i] + 100 * " #n "; "             \
    "}\"\"\"\n"                                                                  \
    "intrinsic mark_" #n "\n"                                                    \
    "  tensor a f32 [I]\n"                                                       \
    "  tensor c f32 [I]\n"                                                       \
    "  c[i] = 2 * a[i]\n"                                                        \
    "  compute void mark_" #n "(i64 I, ptr a, ptr c)\n"                          \
    "end\n"

static const char head[] = KERNEL(1) KERNEL(2) KERNEL(3) KERNEL(4) "size M, N, ld\n"
                                                                   "tensor X f32 [M, N] stride [ld, 1]\n"
                                                                   "tensor Y f32 [M, N]\n"
                                                                   "Y[m, n] = 2 * X[m, n]\n";

static const char *const conditions[] = {" where M <= 3 and N % 8 == 0", " where 2 * M + 5 < N < 24",
                                         " where ld == N", ""};

/* The number, from 1, of the first condition that holds. */
static int expected(const int64_t size[3]) {
    const int64_t M = size[0], N = size[1], ld = size[2];

    return M <= 3 && N % 8 == 0 ? 1 : 2 * M + 5 < N && N < 24 ? 2 : ld == N ? 3 : 4;
}

/* `steps`: the steps of each schedule, with the number of its kernel in place of %d. */
static struct uk_program *parse(const char *steps) {
    char text[4096];
    size_t n = (size_t)snprintf(text, sizeof text, "%s", head);

    for (int i = 0; i < 4; i++) {
        n += (size_t)snprintf(text + n, sizeof text - n, "schedule%s\n", conditions[i]);
        n += (size_t)snprintf(text + n, sizeof text - n, steps, i + 1);
    }
    assert_true(n < sizeof text);
    return parse_text(text);
}

struct target {
    struct uk_module *module;
    struct uk_gpu *gpu; /* NULL: a CPU */
    int marks;          /* 0: the interpreter, which computes what kernels declare */
};

/* Calls the function on arrays of ROOM elements. */
static int call(const struct target *t, const int64_t *size, float *x, float *y) {
    uk_gpu_address at[2];
    float *const host[2] = {x, y};
    void *argument[3] = {t->gpu};

    if (!t->gpu)
        return uk_module_call(t->module, size, NULL, (void *[]){x, y});
    for (int i = 0; i < 2; i++) {
        assert_int_equal(uk_gpu_alloc(t->gpu, ROOM * sizeof(float), &at[i]), UK_OK);
        assert_int_equal(uk_gpu_upload(t->gpu, at[i], host[i], ROOM * sizeof(float)), UK_OK);
        argument[i + 1] = (void *)(uintptr_t)at[i];
    }
    const int status = uk_module_call(t->module, size, NULL, argument);

    for (int i = 0; i < 2; i++) {
        assert_int_equal(uk_gpu_download(t->gpu, host[i], at[i], ROOM * sizeof(float)), UK_OK);
        assert_int_equal(uk_gpu_free(t->gpu, at[i]), UK_OK);
    }
    return status;
}

static void takes_the_right_one(const struct target *t, const int64_t size[3], int *taken) {
    const int64_t M = size[0], N = size[1], ld = size[2];
    const int version = expected(size);
    float x[ROOM], y[ROOM];

    for (int i = 0; i < ROOM; i++) {
        x[i] = (float)(i % 50);
        y[i] = -1;
    }
    assert_int_equal(call(t, size, x, y), UK_OK);
    for (int64_t i = 0; i < ROOM; i++) {
        const float wanted = i < M * N ? 2 * x[i / N * ld + i % N] + (float)(t->marks * version) : -1;

        if (y[i] != wanted)
            fail_msg("M=%" PRId64 " N=%" PRId64 " ld=%" PRId64 ": element %" PRId64
                     " is %g, not %g of schedule %d",
                     M, N, ld, i, (double)y[i], (double)wanted, version);
    }
    taken[version - 1]++;
}

static void takes_the_right_ones(const struct target *t) {
    static const int64_t n[] = {0, 7, 8, 9, 11, 12, 16, 17, 23, 24, 25, 32};
    int taken[4] = {0};

    for (int64_t m = 0; m <= MAX_M; m++)
        for (size_t i = 0; i < sizeof n / sizeof *n; i++)
            for (int64_t more = 0; more < 2; more++)
                takes_the_right_one(t, (int64_t[]){m, n[i], n[i] + more}, taken);
    for (int i = 0; i < 4; i++)
        assert_true(taken[i] >= 5);
    /* What a program with one schedule refuses is refused. */
    float x[ROOM] = {0}, y[ROOM] = {0};
    assert_int_equal(call(t, (int64_t[]){-1, 8, 8}, x, y), UK_INVALID_SIZE);
    assert_int_equal(call(t, (int64_t[]){5, 9, 8}, x, y), UK_INVALID_SIZE);
}

static void compile(struct target *t, struct uk_program *p, struct uk_options o) {
    if (uk_compile(p, &o, &t->module))
        fail_msg("%s", uk_context_message(context));
}

static void cpus_choose(void **state) {
    struct uk_program *p = parse("  tensorize n mark_%d\n");
    struct target code = {.marks = MARK}, loops = {.marks = 0};

    (void)state;
    compile(&code, p, (struct uk_options){.require_kernels = true});
    takes_the_right_ones(&code);
    compile(&loops, p, (struct uk_options){.interpret = true});
    takes_the_right_ones(&loops);
    uk_module_destroy(code.module);
    uk_module_destroy(loops.module);
    uk_program_destroy(p);
}

static void gpus_choose(void **state) {
    static const char *const targets[] = {"amdgcn-gfx906", "amdgcn-gfx90a"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct uk_program *p =
            parse("  split n 8 -> no ni\n  bind m block.y\n  bind no block.x\n  tensorize ni mark_%d\n");
        struct target t = {.marks = MARK};
        char why[UK_GPU_MESSAGE];

        if (uk_gpu_open("sim", i, &t.gpu, why))
            fail_msg("%s", why);
        compile(&t, p, (struct uk_options){.target = targets[i]});
        takes_the_right_ones(&t);
        uk_module_destroy(t.module);
        uk_gpu_close(t.gpu);
        uk_program_destroy(p);
    }
}

/* A defined size chooses when the program is compiled; the versions that are left are chosen by the others.
 */
static void constants_choose(void **state) {
    static const int64_t sizes[][3] = {{3, 16, 17}, {3, 15, 15}, {3, 24, 25}, {3, 31, 31}, {3, 31, 32}};

    (void)state;
    for (int given = 0; given < 8; given++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            struct uk_program *p = parse("  tensorize n mark_%d\n");
            struct target t = {.marks = MARK};
            float x[ROOM] = {0}, y[ROOM] = {0};
            int64_t argument[3];
            int n = 0;

            for (int k = 0; k < 3; k++)
                if (given >> k & 1)
                    assert_int_equal(uk_program_define(p, (const char *[]){"M", "N", "ld"}[k], sizes[i][k]),
                                     UK_OK);
                else
                    argument[n++] = sizes[i][k];
            compile(&t, p, (struct uk_options){.require_kernels = true});
            assert_int_equal(call(&t, argument, x, y), UK_OK);
            assert_int_equal((int)y[0], MARK * expected(sizes[i]));
            /* With all sizes defined only the kernel of one version is left. */
            assert_true(given < 7 || !uk_module_kernel(t.module, 1));
            uk_module_destroy(t.module);
            uk_program_destroy(p);
        }
}

/* ---- the workspace, the header, failures ---- */

#define PRODUCT             \
    "tensor A f32 [M, K]\n" \
    "tensor B f32 [K, N]\n" \
    "tensor C f32 [M, N]\n" \
    "C[m, n] = sum(k) A[m, k] * B[k, n]\n"
#define PACKS "  pack B at root panel 16 along 1\n"
#define PACKS_BOTH PACKS "  pack A at root panel 4 along 0\n"

typedef int64_t bytes_function(int64_t, int64_t, int64_t);
typedef int product_function(int64_t, int64_t, int64_t, const float *, const float *, float *, void *);

static void *function(struct uk_module *m, const char *name) {
    void *f = uk_module_find(m, name);

    assert_non_null(f);
    return f;
}

static struct uk_module *product(const char *schedule, bytes_function **bytes) {
    char text[1024];
    struct target t = {0};

    snprintf(text, sizeof text, PRODUCT "%s", schedule);
    struct uk_program *p = parse_text(text);
    compile(&t, p, (struct uk_options){.workspace_argument = true});
    void *found = function(t.module, "f_workspace");

    memcpy(bytes, &found, sizeof *bytes);
    uk_program_destroy(p);
    return t.module;
}

static void workspace_is_the_taken_ones(void **state) {
    static const char *const steps[] = {"  reorder C.n C.m\n", PACKS, PACKS_BOTH};
    bytes_function *bytes, *alone[3];
    struct uk_module *m = product("schedule where M < 4\n  reorder C.n C.m\nschedule where N >= 20\n" PACKS
                                  "schedule\n" PACKS_BOTH,
                                  &bytes),
                     *one[3];
    product_function *f;
    void *found = function(m, "f");

    (void)state;
    memcpy(&f, &found, sizeof f);
    for (int i = 0; i < 3; i++) {
        char text[256];

        snprintf(text, sizeof text, "schedule\n%s", steps[i]);
        one[i] = product(text, &alone[i]);
    }
    for (int64_t M = 0; M <= 5; M++)
        for (int64_t N = 19; N <= 20; N++) {
            const int64_t K = 9, size = bytes(M, K, N);
            const int version = M < 4 ? 0 : N >= 20 ? 1 : 2;
            float A[5 * 9], B[9 * 20], C[5 * 20];
            char *work = aligned_alloc(64, (size_t)size + 64);

            assert_non_null(work);
            assert_int_equal(size, alone[version](M, K, N));
            assert_true(version ? size > 0 : !size);
            for (int i = 0; i < 5 * 9; i++)
                A[i] = (float)(i % 7);
            for (int i = 0; i < 9 * 20; i++)
                B[i] = (float)(i % 5);
            memset(work, 0xff, (size_t)size + 64);
            assert_int_equal(f(M, K, N, A, B, C, work), UK_OK);
            for (int64_t i = 0; i < M * N; i++) {
                float sum = 0;

                for (int64_t k = 0; k < K; k++)
                    sum += A[i / N * K + k] * B[k * N + i % N];
                assert_true(C[i] == sum);
            }
            for (int64_t i = size; i < size + 64; i++)
                assert_int_equal((unsigned char)work[i], 0xff);
            free(work);
        }
    assert_int_equal(bytes(-1, 9, 20), -1);
    assert_int_equal(bytes(4, INT64_MAX / 8, 20), -1);
    uk_module_destroy(m);
    for (int i = 0; i < 3; i++)
        uk_module_destroy(one[i]);
}

/* A caller cannot tell how many schedules there are. */
static void the_header_is_the_same(void **state) {
    static const char *const schedules[] = {"schedule where M < 4\nschedule\n  reorder C.n C.m\n",
                                            "schedule\n  reorder C.n C.m\n"};
    const struct uk_options o = {.workspace_argument = true, .target = "x86_64-avx2"};
    char *header[2];
    size_t length;

    (void)state;
    for (int i = 0; i < 2; i++) {
        char text[512];

        snprintf(text, sizeof text, PRODUCT "%s", schedules[i]);
        struct uk_program *p = parse_text(text);
        if (uk_emit(p, &o, UK_EMIT_HEADER, &header[i], &length))
            fail_msg("%s", uk_context_message(context));
        uk_program_destroy(p);
    }
    assert_string_equal(header[0], header[1]);
    uk_text_free(header[0]);
    uk_text_free(header[1]);
}

/* A condition whose value overflows does not hold, neither in machine code nor in the interpreter. */
static void conditions_overflow(void **state) {
    struct uk_program *p = parse_text(
        KERNEL(1) KERNEL(2) KERNEL(3) "size N, s\ntensor X f32 [N]\n"
                                      "tensor Y f32 [N]\nY[i] = 2 * X[i]\n"
                                      "schedule where N == 9\n  tensorize i mark_1\n"
                                      "schedule where 4611686018427387904 * N <= s\n  tensorize i mark_2\n"
                                      "schedule\n  tensorize i mark_3\n");
    float x[ROOM] = {0}, y[ROOM];
    struct target t = {0};

    (void)state;
    compile(&t, p, (struct uk_options){.require_kernels = true});
    for (int64_t n = 1; n < 10; n++) {
        assert_int_equal(call(&t, (int64_t[]){n, 1}, x, y), UK_OK);
        assert_int_equal((int)y[0], MARK * (n == 9 ? 1 : 3));
    }
    uk_module_destroy(t.module);
    compile(&t, p, (struct uk_options){.interpret = true});
    for (int64_t n = 1; n < 10; n++)
        assert_int_equal(call(&t, (int64_t[]){n, 1}, x, y), UK_OK);
    uk_module_destroy(t.module);
    uk_program_destroy(p);
}

/* uk_program_check_sizes explains the conditions of the schedule that is taken: a kernel's narrow argument.
 */
static void the_taken_one_is_explained(void **state) {
    struct uk_program *p =
        parse_text("pragma import c \"\"\"void twice(signed char n, const float *a, float *c) {\n"
                   "    for (int i = 0; i < n; i++) c[i] = a[i] + a[i];\n}\"\"\"\n"
                   "intrinsic twice\n  tensor a f32 [I]\n  tensor c f32 [I]\n  c[i] = a[i] + a[i]\n"
                   "  compute void twice(i8 I, ptr a, ptr c)\nend\n"
                   "tensor X f32 [N]\ntensor Y f32 [N]\nY[i] = X[i] + X[i]\n"
                   "schedule where N <= 200\n  tensorize Y.i twice\nschedule\n  split Y.i 100 -> io ii\n  "
                   "tensorize ii twice\n");

    (void)state;
    assert_int_equal(uk_program_check_sizes(p, NULL, (int64_t[]){127}), UK_OK);
    assert_int_equal(uk_program_check_sizes(p, NULL, (int64_t[]){201}), UK_OK);
    assert_int_equal(uk_program_check_sizes(p, NULL, (int64_t[]){200}), UK_INVALID_SIZE);
    assert_string_equal(uk_context_message(context),
                        "f.uk: error: the schedule requires N <= 127, which does not "
                        "hold for N = 200; use other sizes");
    uk_program_destroy(p);
}

static void searches_need_one_schedule(void **state) {
    struct uk_program *p = parse_text(PRODUCT "schedule where M < 4\nschedule\n");
    char *steps;
    uint64_t random = 1;
    int cursor = 0;

    (void)state;
    assert_int_equal(uk_schedule_start(p, NULL, &cursor, &steps), UK_UNSUPPORTED);
    assert_string_equal(
        uk_context_message(context),
        "f.uk:5:1: error: the program has several schedules, and a search changes one; leave one, "
        "without `where`");
    assert_int_equal(
        uk_schedule_change(p, NULL, "schedule where M < 8\nschedule\nunroll C.m\n", &random, &steps),
        UK_UNSUPPORTED);
    assert_int_equal(uk_schedule_change(p, NULL, "reorder C.n C.m\n", &random, &steps), UK_OK);
    uk_text_free(steps);
    uk_program_destroy(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cpus_choose),
        cmocka_unit_test(gpus_choose),
        cmocka_unit_test(constants_choose),
        cmocka_unit_test(workspace_is_the_taken_ones),
        cmocka_unit_test(the_header_is_the_same),
        cmocka_unit_test(conditions_overflow),
        cmocka_unit_test(the_taken_one_is_explained),
        cmocka_unit_test(searches_need_one_schedule),
    };

    return cmocka_run_group_tests(tests, make_context, destroy_context);
}
