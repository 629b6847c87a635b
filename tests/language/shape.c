/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors' layouts in memory, and sizes derived from the shapes of arrays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "test_context.h"

enum { MOST_SIZES = 4 };

/* In place of an array of which nothing is known. */
static const int64_t *const none;
#define DIMS(...)       \
    (const int64_t[]) { \
        __VA_ARGS__     \
    }
#define ARRAYS(...)            \
    (const int64_t *const[]) { \
        __VA_ARGS__            \
    }
#define DIMS(...)       \
    (const int64_t[]) { \
        __VA_ARGS__     \
    }

/* expected: the sizes; or NULL and a message. */
static void solves(struct uk_program *p, const int64_t *const *extents, const int64_t *const *strides,
                   const int64_t *given, const int64_t *expected, const char *message) {
    int64_t sizes[MOST_SIZES] = {-1, -1, -1, -1};

    for (int i = 0; given && i < uk_program_sizes(p); i++)
        sizes[i] = given[i];
    const enum uk_status status = uk_program_solve_sizes(p, extents, strides, sizes);

    assert_string_equal(uk_context_message(context), message ? message : "");
    assert_int_equal(status, message ? UK_INVALID_SIZE : UK_OK);
    for (int i = 0; expected && i < uk_program_sizes(p); i++)
        assert_int_equal(sizes[i], expected[i]);
}

static void shapes_give_sizes(void **state) {
    /* sizes: M, K, lda, N */
    struct uk_program *p = parse_text("tensor A f32 [M, K] stride [lda, 1]\ntensor B f32 [K, N]\n"
                                      "tensor C f32 [M, N]\nC[m, n] = sum(k) A[m, k] * B[k, n]\n");
    const int64_t *const *extents = ARRAYS(DIMS(3, 4), DIMS(4, 5), none);

    (void)state;
    solves(p, extents, ARRAYS(DIMS(6, 1), DIMS(5, 1), none), NULL, DIMS(3, 4, 6, 5), NULL);
    solves(p, extents, NULL, NULL, DIMS(3, 4, 4, 5), NULL);
    solves(p, ARRAYS(DIMS(1, 4), DIMS(4, 5), none), ARRAYS(DIMS(77, 1), DIMS(5, 1), none), NULL,
           DIMS(1, 4, 4, 5), NULL);
    solves(p, ARRAYS(DIMS(0, 4), DIMS(4, 5), none), NULL, NULL, DIMS(0, 4, 4, 5), NULL);
    solves(p, ARRAYS(none, DIMS(4, 5), DIMS(3, 5)), NULL, NULL, DIMS(3, 4, 4, 5), NULL);
    solves(p, extents, NULL, DIMS(3, -1, 8, -7), DIMS(3, 4, 8, 5), NULL);
    solves(p, extents, NULL, DIMS(2, -1, -1, -1), NULL,
           "f.uk:1:8: error: dimension 0 of A has 3 elements, but the program says M = 2; give an array of "
           "that shape");
    solves(p, ARRAYS(DIMS(3, 4), DIMS(3, 5), none), NULL, NULL, NULL,
           "f.uk:2:8: error: dimension 0 of B has 3 elements, but the program says K = 4; give an array of "
           "that shape");
    solves(p, extents, ARRAYS(DIMS(4, 2), none, none), NULL, NULL,
           "f.uk:1:8: error: elements along dimension 1 of A are 2 apart, but the program says 1; copy the "
           "array so, or declare a stride");
    solves(p, extents, ARRAYS(DIMS(-4, 1), none, none), NULL, NULL,
           "f.uk:1:8: error: elements along dimension 0 of A are -4 apart, but the program says lda = 4; "
           "copy the array so, or declare a stride");
    solves(p, extents, ARRAYS(DIMS(3, 1), none, none), NULL, NULL,
           "f.uk:1:8: error: the stride lda of dimension 0 of A is 3, and the dimensions inside of it reach "
           "over 4 elements; make it 4 or more");
    solves(p, ARRAYS(DIMS(3, 4), none, none), NULL, NULL, NULL,
           "f.uk:2:18: error: no array gives the size N; give its value, or another array");
    solves(p, ARRAYS(DIMS(-3, 4), DIMS(4, 5), none), NULL, NULL, NULL,
           "f.uk:1:15: error: no array gives the size M; give its value, or another array");
    assert_int_equal(uk_program_define(p, "M", 3), UK_OK);
    solves(p, extents, NULL, DIMS(9, -1, -1, -1), DIMS(3, 4, 4, 5), NULL);
    assert_int_equal(uk_program_solve_sizes(p, NULL, NULL, (int64_t[MOST_SIZES]){0}), UK_INVALID_ARGUMENT);
    assert_int_equal(uk_program_solve_sizes(p, extents, NULL, NULL), UK_INVALID_ARGUMENT);
    assert_int_equal(uk_program_solve_sizes(NULL, extents, NULL, (int64_t[1]){0}), UK_INVALID_ARGUMENT);
    uk_program_destroy(p);
}

static void expressions_and_assumptions_give_sizes(void **state) {
    /* sizes: N, P, Q, ld */
    struct uk_program *p =
        parse_text("size N, P, Q\ntensor X f32 [2 * N + 1]\ntensor Y f32 [P, Q] stride [1, 2 * ld]\n"
                   "assume P == (N + 1) / 2 and Q + P == N\nY[p, q] = X[2 * p + q]\n");

    (void)state;
    solves(p, ARRAYS(DIMS(15), none), NULL, NULL, DIMS(7, 4, 3, 2), NULL);
    solves(p, ARRAYS(DIMS(15), DIMS(4, 3)), ARRAYS(none, DIMS(1, 10)), NULL, DIMS(7, 4, 3, 5), NULL);
    solves(p, ARRAYS(DIMS(15), DIMS(4, 3)), ARRAYS(none, DIMS(1, 9)), NULL, NULL,
           "f.uk:3:8: error: elements along dimension 1 of Y are 9 apart, but the program says 2 * ld = 4; "
           "copy the array so, or declare a stride");
    solves(p, ARRAYS(DIMS(14), none), NULL, NULL, NULL,
           "f.uk:1:6: error: no array gives the size N; give its value, or another array");
    solves(p, ARRAYS(none, DIMS(4, 3)), NULL, NULL, DIMS(7, 4, 3, 2), NULL);
    solves(p, ARRAYS(DIMS(15), none), NULL, DIMS(-1, 5, -1, -1), NULL,
           "f.uk:4:8: error: assume P == (N + 1) / 2 does not hold for N = 7, P = 5; use other sizes");
    solves(p, ARRAYS(DIMS(INT64_MAX), none), NULL, NULL, NULL,
           "f.uk:2:8: error: X is too large for this address space; use smaller sizes");
    uk_program_destroy(p);
}

static void memory_is_described(void **state) {
    struct uk_program *p = parse_text(
        "tensor A f32 [M, N] layout (m, n) -> [m / 4, n, m % 4] align 64\ntensor W i8 [N] over [N + 3] "
        "constant\n"
        "scalar s f64\ntensor C f16 [M, N] stride [1, ldc]\nC[m, n] += f16(A[m, n] * f32(W[n])) + f16(s)\n");
    const int64_t sizes[] = {7, 5, 9}, stored[] = {2, 5, 4}, strides[] = {20, 4, 1};

    (void)state;
    assert_string_equal(uk_program_name(p), "f");
    assert_int_equal(uk_program_tensor_dims(p, 0), 3);
    for (int d = 0; d < 3; d++) {
        assert_int_equal(uk_program_tensor_extent(p, 0, d, sizes), stored[d]);
        assert_int_equal(uk_program_tensor_stride(p, 0, d, sizes), strides[d]);
    }
    assert_int_equal(uk_program_tensor_extent(p, 1, 0, sizes), 8);
    assert_int_equal(uk_program_tensor_stride(p, 2, 1, sizes), 9);
    assert_int_equal(uk_program_tensor_extent(p, 2, 2, sizes), -1);
    assert_int_equal(uk_program_tensor_extent(p, 2, 0, NULL), -1);
    assert_int_equal(uk_program_tensor_extent(p, 1, 0, DIMS(7, INT64_MAX, 9)), -1);
    assert_int_equal(uk_program_tensor_alignment(p, 0), 64);
    assert_int_equal(uk_program_tensor_alignment(p, 2), 2);
    assert_true(uk_program_tensor_constant(p, 1) && !uk_program_tensor_constant(p, 0));
    assert_true(uk_program_tensor_read(p, 2) && uk_program_tensor_read(p, 0));
    assert_int_equal(uk_program_scalar_type(p, 0), UK_F64);
    assert_int_equal(uk_program_scalar_type(p, 1), UK_TYPES);
    assert_int_equal(uk_program_tensor_dims(p, 3), 0);
    assert_int_equal(uk_program_tensor_alignment(p, -1), 0);
    uk_program_destroy(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_give_sizes),
        cmocka_unit_test(expressions_and_assumptions_give_sizes),
        cmocka_unit_test(memory_is_described),
    };

    return cmocka_run_group_tests(tests, make_context, destroy_context);
}
