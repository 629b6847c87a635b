/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs of programs: several in one module, objects that are the same each time, shared objects. */
#define _GNU_SOURCE /* memfd_create */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>
#include "test_context.h"

#define TARGET "x86_64-avx2"

typedef int matmul_function(int64_t, int64_t, int64_t, const float *, const float *, float *);
typedef int scale_function(int64_t, float, const float *, float *);

static const char matmul_text[] = "tensor A f32 [M, K]\n"
                                  "tensor B f32 [K, N]\n"
                                  "tensor C f32 [M, N]\n"
                                  "C[m, n] = sum(k) A[m, k] * B[k, n]\n";
static const char scale_text[] = "scalar s f32\n"
                                 "tensor X f32 [N]\n"
                                 "tensor Y f32 [N]\n"
                                 "Y[i] = s * X[i]\n";
static const struct uk_options plain = {.target = TARGET};

static void check_functions(void *matmul_code, void *scale_code) {
    const float a[2][3] = {{1, 2, 3}, {4, 5, 6}}, b[3][2] = {{1, 0}, {0, 1}, {1, 1}};
    matmul_function *matmul;
    scale_function *scale;
    float c[2][2], y[3];

    assert_non_null(matmul_code);
    assert_non_null(scale_code);
    memcpy(&matmul, &matmul_code, sizeof matmul);
    memcpy(&scale, &scale_code, sizeof scale);
    assert_int_equal(matmul(2, 3, 2, a[0], b[0], c[0]), UK_OK);
    assert_true(c[0][0] == 4 && c[0][1] == 5 && c[1][0] == 10 && c[1][1] == 11);
    assert_int_equal(scale(3, 2, a[0], y), UK_OK);
    assert_true(y[0] == 2 && y[1] == 4 && y[2] == 6);
    assert_int_equal(scale(-1, 2, a[0], y), UK_INVALID_SIZE);
}

static void several_in_one_module(void **state) {
    struct uk_context *c = uk_context_create();
    struct uk_program *p[] = {parse_in(c, "matmul.uk", matmul_text), parse_in(c, "scale.uk", scale_text)};
    struct uk_module *m;
    const float a[2][3] = {{1, 2, 3}, {4, 5, 6}}, b[3][2] = {{1, 0}, {0, 1}, {1, 1}};
    float result[4];
    double milliseconds;
    int stages = 0;

    (void)state;
    if (uk_compile_programs(p, 2, &plain, &m))
        fail_msg("%s", uk_context_message(c));
    check_functions(uk_module_find(m, "matmul"), uk_module_find(m, "scale"));
    assert_ptr_equal(uk_module_function(m), uk_module_find(m, "matmul"));
    assert_null(uk_module_find(m, "scale.call"));
    assert_null(uk_module_find(m, "free"));
    assert_int_equal(uk_module_call(m, (int64_t[]){2, 3, 2}, NULL, (void *[]){(void *)a, (void *)b, result}),
                     UK_OK);
    assert_true(result[3] == 11);
    assert_non_null(uk_module_kernel(m, 0));
    while (uk_context_time(c, stages, &milliseconds)) {
        assert_true(milliseconds >= 0);
        assert_string_equal(uk_module_time(m, stages, &milliseconds),
                            uk_context_time(c, stages, &milliseconds));
        stages++;
    }
    assert_true(stages >= 5);
    uk_program_destroy(p[0]);
    uk_program_destroy(p[1]);
    check_functions(uk_module_find(m, "matmul"), uk_module_find(m, "scale"));
    uk_module_destroy(m);
    uk_context_destroy(c);
}

static void refused(struct uk_program *const p[], int count, const struct uk_options *o,
                    enum uk_status expected, struct uk_context *c, const char *message) {
    struct uk_module *m = (struct uk_module *)o;
    char *bytes = (char *)o;
    size_t length = 1;

    assert_int_equal(uk_compile_programs(p, count, o, &m), expected);
    assert_null(m);
    assert_string_equal(uk_context_message(c), message);
    assert_int_equal(uk_emit_programs(p, count, o, UK_EMIT_OBJECT, &bytes, &length), expected);
    assert_null(bytes);
    assert_int_equal(length, 0);
}

static void refusals(void **state) {
    struct uk_context *c = uk_context_create(), *other = uk_context_create();
    const struct uk_options strict = {.target = TARGET, .require_kernels = true};
    struct uk_program *p = parse_in(c, "matmul.uk", matmul_text),
                      *far = parse_in(other, "scale.uk", scale_text);
    struct uk_program *same = parse_in(c, "a/matmul.uk", scale_text),
                      *libc = parse_in(c, "free.uk", scale_text);
    struct uk_program *odd =
        parse_in(c, "odd.uk", "tensor X f64 [N]\ntensor Y f64 [N]\nY[i] = X[i] * X[i]\n");
    struct uk_module *m;

    (void)state;
    refused((struct uk_program *[]){p, same}, 2, &plain, UK_INVALID_ARGUMENT, c,
            "a/matmul.uk: error: function matmul is also made from matmul.uk; rename one of the files");
    refused(
        (struct uk_program *[]){p, far}, 2, &plain, UK_INVALID_ARGUMENT, c,
        "scale.uk: error: programs of different contexts cannot be compiled together; make them with one");
    /* The code of matmul calls free, so the function of the file free.uk has another name. */
    assert_int_equal(uk_compile_programs((struct uk_program *[]){libc, p}, 2, &plain, &m), UK_OK);
    assert_non_null(uk_module_find(m, "free_"));
    assert_null(uk_module_find(m, "free"));
    uk_module_destroy(m);
    assert_int_equal(uk_compile_programs((struct uk_program *[]){p, odd}, 2, &strict, &m), UK_NO_MATCH);
    assert_non_null(strstr(uk_context_message(c), "odd.uk:"));
    assert_int_equal(uk_compile_programs((struct uk_program *[]){p, libc}, 2,
                                         &(struct uk_options){.target = "interp"}, &m),
                     UK_UNSUPPORTED);
    assert_int_equal(uk_compile_programs(NULL, 0, &plain, &m), UK_INVALID_ARGUMENT);
    uk_program_destroy(p);
    uk_program_destroy(same);
    uk_program_destroy(libc);
    uk_program_destroy(odd);
    uk_program_destroy(far);
    uk_context_destroy(c);
    uk_context_destroy(other);
}

static char *emitted(enum uk_emit what, size_t *length) {
    struct uk_context *c = uk_context_create();
    struct uk_program *p[] = {parse_in(c, "matmul.uk", matmul_text), parse_in(c, "scale.uk", scale_text)};
    char *bytes;

    if (uk_emit_programs(p, 2, &plain, what, &bytes, length))
        fail_msg("%s", uk_context_message(c));
    uk_program_destroy(p[0]);
    uk_program_destroy(p[1]);
    uk_context_destroy(c);
    return bytes;
}

static void same_bytes(void **state) {
    (void)state;
    for (int what = UK_EMIT_SCHEDULE; what <= UK_EMIT_SHARED; what++) {
        size_t n[2];
        char *bytes[] = {emitted((enum uk_emit)what, &n[0]), emitted((enum uk_emit)what, &n[1])};

        assert_true(n[0] > 0);
        assert_int_equal(n[0], n[1]);
        assert_memory_equal(bytes[0], bytes[1], n[0]);
        uk_text_free(bytes[0]);
        uk_text_free(bytes[1]);
    }
}

static void shared_object(void **state) {
    size_t length;
    char *bytes = emitted(UK_EMIT_SHARED, &length), path[64];
    int fd = memfd_create("lib", 0);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, length), length);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fail_msg("%s", dlerror());
    check_functions(dlsym(library, "matmul"), dlsym(library, "scale"));
    assert_null(dlsym(library, "matmul.check"));
    dlclose(library);
    close(fd);
    uk_text_free(bytes);
}

/* C has no types for halves: the header says which bits its words hold. */
static void halves_in_headers(void **state) {
    struct uk_context *c = uk_context_create();
    struct uk_program *p = parse_in(c, "halves.uk",
                                    "tensor X f16 [N]\ntensor Y bf16 [N]\ntensor Z f32 [N]\n"
                                    "Z[i] = f32(X[i]) + f32(Y[i])\n");
    size_t length;
    char *header;

    (void)state;
    assert_int_equal(uk_emit(p, &plain, UK_EMIT_HEADER, &header, &length), UK_OK);
    assert_non_null(strstr(header, " *   X: N uint16_t\n *     (the bits of IEEE half precision)\n"
                                   " *   Y: N uint16_t\n *     (the bits of bfloat16)\n"
                                   " *   Z: N float, written\n"));
    assert_null(strstr(strstr(header, "Z: N float"), "bits of"));
    uk_text_free(header);
    uk_program_destroy(p);
    uk_context_destroy(c);
}

/* Defined sizes are constants of the header, with the function's name as prefix; names of functions do not
 * change. */
static void constants_of_headers(void **state) {
    const struct uk_options work = {.target = TARGET, .workspace_argument = true};
    struct uk_context *c = uk_context_create();
    struct uk_program *p =
        parse_in(c, "add.uk", "tensor X f32 [N, M]\ntensor Y f32 [N, M]\nY[i, j] = X[i, j]\n");
    size_t length;
    char *header;

    (void)state;
    assert_int_equal(uk_program_define(p, "N", 1024), UK_OK);
    assert_int_equal(uk_emit(p, &work, UK_EMIT_HEADER, &header, &length), UK_OK);
    assert_non_null(strstr(header, "int add(int64_t M, "));
    assert_non_null(strstr(header, "\nenum { add_N = 1024 };\n"));
    assert_null(strstr(header, "add_M"));
    uk_text_free(header);
    assert_int_equal(uk_program_define(p, "M", INT64_C(1) << 31), UK_OK);
    assert_int_equal(uk_emit(p, &work, UK_EMIT_HEADER, &header, &length), UK_OK);
    assert_non_null(strstr(header, "\n#define add_M INT64_C(2147483648)\n"));
    uk_text_free(header);
    uk_program_destroy(p);
    uk_context_destroy(c);
}

/* Kernels of small products have code for each height of a tile. A program whose sizes are constants keeps
 * the heights that its calls have: one, two if the rows do not divide evenly, and a few if rows depend on the
 * filter's column. All heights are 70 KB for AVX-512, 35 KB for AVX2. */
static void code_of_few_heights(void **state) {
    static const char *const targets[] = {"x86_64-avx2", "x86_64-avx512"};
    static const struct {
        int height, width, channels, filters, r;
    } layers[] = {{30, 30, 24, 40, 3}, {28, 28, 24, 72, 1}, {19, 19, 96, 24, 5}, {46, 46, 16, 24, 5}};
    enum { MOST_BYTES = 24 << 10 };

    (void)state;
    for (size_t i = 0; i < sizeof layers / sizeof *layers * 2; i++) {
        const int h = layers[i / 2].height, w = layers[i / 2].width, n = layers[i / 2].channels,
                  o = layers[i / 2].filters, r = layers[i / 2].r;
        const struct uk_options options = {.target = targets[i % 2]};
        struct uk_context *c = uk_context_create();
        size_t length;
        char text[512], *object;

        snprintf(text, sizeof text,
                 "tensor X f32 [%d, %d, %d]\ntensor F f32 [%d, %d, %d, %d] constant finite\n"
                 "tensor Y f32 [%d, %d, %d]\n"
                 "Y[p, q, o] = sum(r, s, c) pad(X[p + r - %d, q + s - %d, c], 0) * F[r, s, c, o]\n",
                 h, w, n, r, r, n, o, h, w, o, r / 2, r / 2);
        struct uk_program *p = parse_in(c, "layer.uk", text);

        assert_int_equal(uk_emit(p, &options, UK_EMIT_OBJECT, &object, &length), UK_OK);
        if (length > MOST_BYTES)
            fail_msg("%s, %dx%d %d>%d %dx%d: an object of %zu bytes", options.target, h, w, n, o, r, r,
                     length);
        uk_text_free(object);
        uk_program_destroy(p);
        uk_context_destroy(c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(several_in_one_module),
        cmocka_unit_test(refusals),
        cmocka_unit_test(same_bytes),
        cmocka_unit_test(shared_object),
        cmocka_unit_test(halves_in_headers),
        cmocka_unit_test(constants_of_headers),
        cmocka_unit_test(code_of_few_heights),
    };

    if (!__builtin_cpu_supports("avx2"))
        return 77;
    return cmocka_run_group_tests_name("output", tests, NULL, NULL);
}
