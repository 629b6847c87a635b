/* SPDX-License-Identifier: Apache-2.0 */
/* uk_program_check_sizes refuses the sizes that the compiled function refuses, and names the condition in the
 * program's terms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "test_context.h"

enum { MOST_TENSORS = 4, ROOM = 4096 };

static float memory[MOST_TENSORS][ROOM];

/* message: a part of the refusal's message; NULL: the sizes are accepted. */
static void answers(struct uk_program *p, const struct uk_options *o, const int64_t *sizes,
                    const char *message) {
    void *tensor[MOST_TENSORS];
    struct uk_module *m;

    for (int i = 0; i < MOST_TENSORS; i++)
        tensor[i] = memory[i];
    if (uk_compile(p, o, &m))
        fail_msg("%s", uk_context_message(context));
    assert_int_equal(uk_module_call(m, sizes, NULL, tensor), message ? UK_INVALID_SIZE : UK_OK);
    uk_module_destroy(m);
    assert_int_equal(uk_program_check_sizes(p, o, sizes), message ? UK_INVALID_SIZE : UK_OK);
    assert_string_equal(uk_context_message(context), message ? message : "");
}

static void conditions_are_named(void **state) {
    /* sizes: N, H, lda, P, M, K */
    struct uk_program *p = parse_text("size N, H, lda, P, M, K\n"
                                      "tensor X f32 [N, H]\n"
                                      "tensor A f32 [M, K] stride [lda, 1]\n"
                                      "tensor Y f32 [N, P]\n"
                                      "tensor Z f32 [M]\n"
                                      "assume P == (H + 1) / 2\n"
                                      "Y[n, p] = X[n, 2 * p]\n"
                                      "Z[m] = A[m, 4] + A[m, K - 6]\n"
                                      "Z[m] += X[0, m + 2]\n");

    (void)state;
    answers(p, NULL, (int64_t[]){3, 7, 8, 4, 5, 8}, NULL);
    answers(p, NULL, (int64_t[]){3, -7, 8, 4, 5, 8},
            "f.uk:1:9: error: the size H is -7, which is negative; take one of 0 or more");
    answers(p, NULL, (int64_t[]){3, 7, 8, 3, 5, 8},
            "f.uk:6:8: error: assume P == (H + 1) / 2 does not hold for H = 7, P = 3; use other sizes");
    answers(p, NULL, (int64_t[]){3, 7, 5, 4, 5, 8},
            "f.uk:3:8: error: the stride lda of dimension 0 of A is 5, and the dimensions inside of it reach "
            "over 8 elements; make it 8 or more");
    answers(p, NULL, (int64_t[]){3, 7, INT64_MAX / 8, 4, 50, 8},
            "f.uk:3:8: error: A is too large for this address space; use smaller sizes");
    answers(
        p, NULL, (int64_t[]){3, 7, 8, 4, 5, 5},
        "f.uk:8:18: error: A[m, K - 6]: dimension 1 of A is indexed by -1 and its extent is 5; pad it, or "
        "restrict it by where");
    answers(p, NULL, (int64_t[]){3, 7, 8, 4, 6, 8},
            "f.uk:9:9: error: X[0, m + 2]: dimension 1 of X is indexed by 7 and its extent is 7; pad it, or "
            "restrict it by where");
    /* Nothing is accessed, so strides do not matter. */
    answers(p, NULL, (int64_t[]){3, 7, 1, 4, 0, 5}, NULL);
    uk_program_destroy(p);
    p = parse_text("tensor X f32 [N]\ntensor Y f32 [N - 4]\nY[n] = X[n + 4]\n");
    answers(p, NULL, (int64_t[]){9}, NULL);
    answers(
        p, NULL, (int64_t[]){3},
        "f.uk:2:8: error: the extent N - 4 of dimension 0 of Y is -1, which is negative; use another size");
    uk_program_destroy(p);
}

/* A kernel with its size in 8 bits. */
static void kernels_have_conditions(void **state) {
    struct uk_program *p = parse_text("pragma import c \"\"\"\n"
                                      "void short_sum(signed char n, const float *a, float *c) {\n"
                                      "    for (int i = 0; i < n; i++) c[i] = a[i] + a[i];\n"
                                      "}\n"
                                      "\"\"\"\n"
                                      "intrinsic short_sum\n"
                                      "  tensor a f32 [I]\n"
                                      "  tensor c f32 [I]\n"
                                      "  c[i] = a[i] + a[i]\n"
                                      "  compute void short_sum(i8 I, ptr a, ptr c)\n"
                                      "end\n"
                                      "tensor X f32 [N]\n"
                                      "tensor Y f32 [N]\n"
                                      "Y[i] = X[i] + X[i]\n"
                                      "schedule\n"
                                      "  tensorize Y.i short_sum\n");
    const struct uk_options o = {.require_kernels = true};

    (void)state;
    answers(p, &o, (int64_t[]){127}, NULL);
    answers(p, &o, (int64_t[]){128},
            "f.uk: error: the schedule requires N <= 127, which does not hold for N = 128; use other sizes");
    uk_program_destroy(p);
}

static struct uk_program *built(const char *index_of_x) {
    struct uk_program *p;

    assert_int_equal(uk_program_create(context, "f", &p), UK_OK);
    struct uk_index *N = uk_size(p, "N"), *M = uk_size(p, "M"), *i = uk_iterator(p, "i");
    struct uk_tensor *x = uk_tensor(p, "X", UK_F32, 1, (struct uk_index *[]){N}, NULL);
    struct uk_tensor *y = uk_tensor(p, "Y", UK_F32, 1, (struct uk_index *[]){M}, NULL);
    struct uk_index *at = uk_index_add(p, i, !strcmp(index_of_x, "N") ? N : uk_integer(p, 3));

    uk_statement(p, NULL, y, &i, UK_ASSIGN, NULL, uk_element(p, x, &at));
    return p;
}

/* Sizes are checked without memory for temps. */
static void temps_of_any_size(void **state) {
    struct uk_program *p = parse_text("size M, K\ntensor X f32 [K]\ntensor Y f32 [1]\ntemp T f32 [M, M]\n"
                                      "T[i, j] = sum(k) X[k]\nY[i] = T[0, i + 7]\n");
    const int64_t largest = (int64_t)1 << 29;

    (void)state;
    assert_int_equal(uk_program_check_sizes(p, NULL, (int64_t[]){largest, 0}), UK_OK);
    answers(p, NULL, (int64_t[]){7, 0},
            "f.uk:6:8: error: T[0, i + 7]: dimension 1 of T is indexed by 7 and its extent is 7; pad it, or "
            "restrict it by where");
    uk_program_destroy(p);
}

static void programs_by_calls(void **state) {
    struct uk_program *p = built("3"), *never = built("N"), *empty;
    struct uk_module *m;
    char *bytes;
    size_t length;

    (void)state;
    answers(p, NULL, (int64_t[]){8, 5}, NULL);
    answers(
        p, NULL, (int64_t[]){8, 6},
        "f: error: X[i + 3]: dimension 0 of X is indexed by 8 and its extent is 8; pad it, or restrict it "
        "by where");
    assert_int_equal(uk_compile(never, NULL, &m), UK_REFUSED);
    assert_null(m);
    assert_non_null(strstr(uk_context_message(context), "error: X[i + N] is outside of X for all sizes"));
    assert_int_equal(uk_program_define(p, "N", INT64_MAX / 2), UK_OK);
    assert_int_equal(uk_emit(p, NULL, UK_EMIT_LOOPS, &bytes, &length), UK_INVALID_SIZE);
    assert_string_equal(uk_context_message(context),
                        "f: tensor 1: error: X is too large for this address space; use smaller sizes");
    assert_int_equal(uk_program_create(context, "nothing", &empty), UK_OK);
    /* more may be added */
    assert_int_equal(uk_program_check(empty), UK_OK);
    assert_int_equal(uk_compile(empty, NULL, &m), UK_REFUSED);
    assert_non_null(strstr(uk_context_message(context), "error: the program has no statement"));
    assert_int_equal(uk_program_interpret(empty, NULL, NULL, NULL), UK_REFUSED);
    assert_int_equal(uk_program_check_sizes(p, NULL, NULL), UK_INVALID_ARGUMENT);
    uk_program_destroy(empty);
    uk_program_destroy(never);
    uk_program_destroy(p);
}

static void empty_texts(void **state) {
    static const char *const texts[] = {"", "\n", "# a comment\n", "size N\ntensor A f32 [N]\n"};
    struct uk_program *p;

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(uk_program_parse(context, "f.uk", texts[i], strlen(texts[i]), &p), UK_REFUSED);
        assert_null(p);
        assert_non_null(strstr(uk_context_message(context), "f.uk:1:1: error: the program has no statement"));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conditions_are_named), cmocka_unit_test(kernels_have_conditions),
        cmocka_unit_test(temps_of_any_size),    cmocka_unit_test(programs_by_calls),
        cmocka_unit_test(empty_texts),
    };

    return cmocka_run_group_tests(tests, make_context, destroy_context);
}
