/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of the C API that are out of range, or belong to another program: each has a status and a message
 * that says so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "tensorize.h"

static struct uk_context *context;

#define ADD "tensor X f32 [N]\ntensor Y f32 [N]\nY[i] = X[i] + X[i]\n"

static struct uk_program *parse(const char *text) {
    struct uk_program *p;

    if (uk_program_parse(context, "add.uk", text, strlen(text), &p))
        fail_msg("%s", uk_context_message(context));
    return p;
}

/* The program is refused with this in its message, and not as a defect of this library. */
static void refused(struct uk_program *p, const char *what) {
    assert_int_equal(uk_program_check(p), UK_INVALID_ARGUMENT);
    if (!strstr(uk_context_message(context), what))
        fail_msg("not \"%s\": %s", what, uk_context_message(context));
    uk_program_destroy(p);
}

static void says(enum uk_status status, const char *what) {
    if (status != UK_INVALID_ARGUMENT || !strstr(uk_context_message(context), what))
        fail_msg("status %d, not \"%s\": %s", status, what, uk_context_message(context));
}

static void stages(void **state) {
    static const int none[] = {-1, UK_EMIT_HOST + 1, 99};
    const struct uk_kernel *kernel = uk_kernel_find("uk_sgemm_4x8_generic_c");
    struct uk_program *p = parse(ADD);
    size_t length;
    char *bytes;

    (void)state;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        const enum uk_emit what = (enum uk_emit)none[i];

        says(uk_emit(p, NULL, what, &bytes, &length), "there is no stage");
        assert_true(!bytes && !length);
        says(uk_kernel_emit(context, kernel, NULL, what, &bytes, &length), "a kernel is emitted as");
        assert_null(bytes);
    }
    assert_int_equal(uk_emit(NULL, NULL, UK_EMIT_LOOPS, &bytes, &length), UK_INVALID_ARGUMENT);
    uk_program_destroy(p);
}

static void threads(void **state) {
    const struct uk_options options = {.threads = -1}, interpreted = {.threads = -1, .target = "interp"};
    struct uk_program *p = parse(ADD);
    struct uk_module *m;
    char *text;
    size_t length;

    (void)state;
    says(uk_compile(p, &options, &m), "-1 threads");
    assert_null(m);
    says(uk_compile(p, &interpreted, &m), "-1 threads");
    says(uk_emit(p, &options, UK_EMIT_SCHEDULE, &text, &length), "-1 threads");
    says(uk_explain(p, &options, &text), "-1 threads");
    uk_program_destroy(p);
}

static void steps(void **state) {
    static const char *const empty[] = {"", "  ", "\n", "# unroll Y.i", NULL};

    (void)state;
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
        struct uk_program *p = parse(ADD);

        uk_step(p, empty[i]);
        assert_int_not_equal(uk_program_check(p), UK_OK);
        if (!strstr(uk_context_message(context),
                    i < 4 ? "step 1: error: the step is empty" : "the step is NULL"))
            fail_msg("%s", uk_context_message(context));
        uk_program_destroy(p);
    }
}

/* What each call does with a handle of another program. */
static void handles(void **state) {
    struct uk_program *other, *p;

    (void)state;
    assert_int_equal(uk_program_create(context, "other", &other), UK_OK);
    struct uk_index *M = uk_size(other, "M"), *j = uk_iterator(other, "j");
    struct uk_tensor *A = uk_tensor(other, "A", UK_F32, 1, (struct uk_index *[]){M}, NULL);
    struct uk_expr *value = uk_element(other, A, (struct uk_index *[]){j});

    assert_int_equal(uk_program_status(other), UK_OK);
    for (int use = 0; use < 12; use++) {
        p = parse(ADD);
        struct uk_index *own = uk_iterator(p, "j"), *relation = uk_index_compare(other, UK_LESS, M, M);
        struct uk_tensor *Z = uk_tensor(p, "Z", UK_F32, 1, (struct uk_index *[]){uk_size(p, "N")}, NULL);
        struct uk_expr *one = uk_number(p, 1);
        const struct uk_reduction sum = {.kind = UK_REDUCE_SUM, .iterators = 1, .iterator = {j}};
        const struct uk_reduction part = {
            .kind = UK_REDUCE_SUM, .iterators = 1, .iterator = {own}, .where = relation};

        assert_int_equal(uk_program_status(p), UK_OK);
        switch (use) {
        case 0:
            uk_index_add(p, own, j);
            break;
        case 1:
            uk_element(p, A, &own);
            break;
        case 2:
            uk_element(p, Z, &j);
            break;
        case 3:
            uk_add(p, one, value);
            break;
        case 4:
            uk_statement(p, NULL, A, &own, UK_ASSIGN, NULL, one);
            break;
        case 5:
            uk_statement(p, NULL, Z, &own, UK_ASSIGN, NULL, value);
            break;
        case 6:
            uk_statement(p, NULL, Z, &own, UK_ASSIGN, &sum, one);
            break;
        case 7:
            uk_statement(p, NULL, Z, &own, UK_ASSIGN, &part, one);
            break;
        case 8:
            uk_assume(p, relation);
            break;
        case 9:
            uk_tensor(p, "B", UK_F32, 1, (struct uk_index *[]){M}, NULL);
            break;
        case 10:
            uk_tensor_align(p, A, 16);
            break;
        default:
            uk_pad(p, value, one);
            break;
        }
        refused(p, "another program's");
    }
    uk_program_destroy(other);
}

static void modules(void **state) {
    double milliseconds;

    (void)state;
    assert_null(uk_module_function(NULL));
    assert_null(uk_module_find(NULL, "add"));
    assert_null(uk_module_kernel(NULL, 0));
    assert_null(uk_module_time(NULL, 0, &milliseconds));
    assert_null(uk_context_time(NULL, 0, &milliseconds));
    assert_int_equal(uk_module_call(NULL, NULL, NULL, NULL), UK_INVALID_ARGUMENT);
    uk_module_destroy(NULL);
}

/* Sizes that are defined are constants of the header, named after the function; a function's name stays the
 * function's. */
static void constants(void **state) {
    struct uk_program *p = parse("tensor X f32 [N, M]\ntensor Y f32 [N, M]\nY[i, j] = X[i, j]\n");
    const struct uk_options work = {.target = "x86_64-avx2", .workspace_argument = true};
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
}

static int begin(void **state) {
    (void)state;
    return !(context = uk_context_create());
}

static int end(void **state) {
    (void)state;
    uk_context_destroy(context);
    return 0;
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(stages),  cmocka_unit_test(threads), cmocka_unit_test(steps),
        cmocka_unit_test(handles), cmocka_unit_test(modules), cmocka_unit_test(constants),
    };

    return cmocka_run_group_tests_name("misuse", tests, begin, end);
}
