/* SPDX-License-Identifier: Apache-2.0 */
/* Programs made by calls: whatever is done with the program after a failed call returns that failure. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "test_context.h"
#include "uses.h"

/* Arguments of the calls below; X is an input, Y an output, T a temp. */
struct parts {
    struct uk_index *n, *m, *i, *relation;
    struct uk_tensor *X, *Y, *T;
    struct uk_expr *x, *condition;
};

static struct parts declare(struct uk_program *p) {
    struct parts b = {.n = uk_size(p, "N"), .m = uk_integer(p, 7), .i = uk_iterator(p, "i")};

    b.relation = uk_index_compare(p, UK_GREATER, b.n, uk_integer(p, 0));
    b.X = uk_tensor(p, "X", UK_F32, 1, &b.n, NULL);
    b.Y = uk_tensor(p, "Y", UK_F32, 1, &b.n, NULL);
    b.T = uk_temp(p, "T", UK_F32, 1, &b.n, NULL);
    b.x = uk_element(p, b.X, &b.i);
    b.condition = uk_compare(p, UK_LESS, b.x, uk_number(p, 1));
    return b;
}

/* T[i] = X[i], Y[i] = T[i] */
static void state_all(struct uk_program *p, const struct parts *b) {
    uk_statement(p, NULL, b->T, &b->i, UK_ASSIGN, NULL, b->x);
    uk_statement(p, NULL, b->Y, &b->i, UK_ASSIGN, NULL, uk_element(p, b->T, &b->i));
}

static struct uk_program *create(const char *name) {
    struct uk_program *p;

    assert_int_equal(uk_program_create(context, name, &p), UK_OK);
    return p;
}

/* Every building call with arguments that it refuses. `b` has the parts of p. */
#define NINE ((struct uk_index *[]){b->n, b->n, b->n, b->n, b->n, b->n, b->n, b->n, b->n})
#define FOUR ((const char *const[]){"a", "b", "c", "d"})
#define ANY_RELATION ((enum uk_relation)17)
#define ANY_SCOPE ((enum uk_scope)17)
#define REFUSED_CALLS(CALL)                                                                           \
    CALL(uk_size(p, "1x"))                                                                            \
    CALL(uk_size(p, NULL))                                                                            \
    CALL(uk_size_default(p, "N", -1))                                                                 \
    CALL(uk_iterator(p, "sum"))                                                                       \
    CALL(uk_index_add(p, b->n, NULL))                                                                 \
    CALL(uk_index_subtract(p, b->relation, b->n))                                                     \
    CALL(uk_index_multiply(p, NULL, NULL))                                                            \
    CALL(uk_index_floordiv(p, b->n, 0))                                                               \
    CALL(uk_index_mod(p, b->n, -1))                                                                   \
    CALL(uk_index_element(p, NULL, &b->i))                                                            \
    CALL(uk_index_element(p, b->X, &b->i))                                                            \
    CALL(uk_index_element(p, b->X, NULL))                                                             \
    CALL(uk_index_wrap(p, NULL))                                                                      \
    CALL(uk_index_wrap(p, b->n))                                                                      \
    CALL(uk_index_compare(p, ANY_RELATION, b->n, b->n))                                               \
    CALL(uk_index_compare(p, UK_LESS, b->n, NULL))                                                    \
    CALL(uk_index_and(p, b->n, b->relation))                                                          \
    CALL(uk_assume(p, NULL))                                                                          \
    CALL(uk_assume(p, b->n))                                                                          \
    CALL(uk_tensor(p, "Z", UK_F32, 9, NINE, NULL))                                                    \
    CALL(uk_tensor(p, "X", UK_F32, 1, &b->n, NULL))                                                   \
    CALL(uk_tensor(p, "Z", UK_TYPES, 1, &b->n, NULL))                                                 \
    CALL(uk_tensor(p, "Z", UK_F32, 1, NULL, NULL))                                                    \
    CALL(uk_temp(p, "Z", UK_F32, 1, &b->relation, NULL))                                              \
    CALL(uk_tensor_layout(p, b->X, "(i) -> [j]", NULL))                                               \
    CALL(uk_tensor_layout(p, b->X, "(i) -> [i \1]", NULL))                                            \
    CALL(uk_tensor_layout(p, NULL, "(i) -> [i]", NULL))                                               \
    CALL(uk_tensor_align(p, b->X, 3))                                                                 \
    CALL(uk_tensor_over(p, b->X, NULL))                                                               \
    CALL(uk_tensor_over(p, NULL, &b->n))                                                              \
    CALL(uk_tensor_constant(p, NULL))                                                                 \
    CALL(uk_tensor_finite(p, NULL))                                                                   \
    CALL(uk_tensor_scope(p, b->T, ANY_SCOPE))                                                         \
    CALL(uk_scalar(p, "s", UK_TYPES))                                                                 \
    CALL(uk_element(p, NULL, &b->i))                                                                  \
    CALL(uk_element(p, b->X, (struct uk_index *[]){NULL}))                                            \
    CALL(uk_pad(p, uk_number(p, 1), uk_number(p, 0)))                                                 \
    CALL(uk_pad(p, b->x, NULL))                                                                       \
    CALL(uk_number(p, NAN))                                                                           \
    CALL(uk_index_value(p, NULL))                                                                     \
    CALL(uk_add(p, b->x, NULL))                                                                       \
    CALL(uk_subtract(p, b->condition, b->x))                                                          \
    CALL(uk_multiply(p, NULL, b->x))                                                                  \
    CALL(uk_divide(p, b->x, NULL))                                                                    \
    CALL(uk_shift_left(p, b->x, NULL))                                                                \
    CALL(uk_shift_right(p, b->x, NULL))                                                               \
    CALL(uk_bit_and(p, b->x, NULL))                                                                   \
    CALL(uk_bit_xor(p, NULL, b->x))                                                                   \
    CALL(uk_bit_or(p, b->condition, b->x))                                                            \
    CALL(uk_negate(p, NULL))                                                                          \
    CALL(uk_call(p, "sine", 1, &b->x))                                                                \
    CALL(uk_call(p, "max", 1, &b->x))                                                                 \
    CALL(uk_call(p, "max", 2, NULL))                                                                  \
    CALL(uk_call(p, "exp", 1, NULL))                                                                  \
    CALL(uk_call(p, "exp", 2, (struct uk_expr *[]){b->x, b->x}))                                      \
    CALL(uk_call(p, "pow", 1, &b->x))                                                                 \
    CALL(uk_call(p, "pow", 3, (struct uk_expr *[]){b->x, b->x, b->x}))                                \
    CALL(uk_cast(p, UK_TYPES, b->x))                                                                  \
    CALL(uk_cast(p, UK_I8, NULL))                                                                     \
    CALL(uk_select(p, b->x, b->x, b->x))                                                              \
    CALL(uk_compare(p, ANY_RELATION, b->x, b->x))                                                     \
    CALL(uk_and(p, b->x, b->condition))                                                               \
    CALL(uk_or(p, b->condition, NULL))                                                                \
    CALL(uk_not(p, b->x))                                                                             \
    CALL(uk_statement(p, NULL, NULL, &b->i, UK_ASSIGN, NULL, b->x))                                   \
    CALL(uk_statement(p, NULL, b->Y, &b->i, UK_ASSIGN, NULL, NULL))                                   \
    CALL(uk_statement(p, NULL, b->Y, &b->i, UK_ASSIGN, &(struct uk_reduction){.iterators = 1}, b->x)) \
    CALL(uk_statement_range(p, NULL, b->n))                                                           \
    CALL(uk_statement_range(p, b->i, NULL))                                                           \
    CALL(uk_statement_range(p, b->n, b->n))                                                           \
    CALL(uk_intrinsic(p, NULL))                                                                       \
    CALL(uk_intrinsic(p, "intrinsic f\nend\n"))                                                       \
    CALL(uk_import_file(p, ""))                                                                       \
    CALL(uk_import_llvm(p, NULL))                                                                     \
    CALL(uk_import_c(p, NULL))                                                                        \
    CALL(uk_step(p, NULL))                                                                            \
    CALL(uk_schedule_where(p, b->n))                                                                  \
    CALL((uk_schedule_where(p, NULL), uk_schedule_where(p, NULL)))                                    \
    CALL((uk_step(p, "unroll Y.i"), uk_schedule_where(p, b->relation)))                               \
    CALL(uk_step(p, "sort Y.i"))                                                                      \
    CALL(uk_step(p, "parallel \1"))                                                                   \
    CALL(uk_split(p, "Y.i", 0, "io", "ii"))                                                           \
    CALL(uk_split(p, "Y.i", 4, NULL, "ii"))                                                           \
    CALL(uk_split_parts(p, "Y.i", 0, "io", "ii"))                                                     \
    CALL(uk_tile(p, "Y.i", "T.i", 4, 4, NULL))                                                        \
    CALL(uk_tile(p, "Y.i", "T.i", 4, 0, FOUR))                                                        \
    CALL(uk_fuse(p, "Y.i", "Y.i j", "f"))                                                             \
    CALL(uk_reorder(p, 0, NULL))                                                                      \
    CALL(uk_reorder(p, 2, NULL))                                                                      \
    CALL(uk_unroll(p, NULL))                                                                          \
    CALL(uk_vectorize(p, ""))                                                                         \
    CALL(uk_parallel(p, 0, NULL))                                                                     \
    CALL(uk_pipeline(p, "Y.i", 0))                                                                    \
    CALL(uk_bind(p, "Y.i", "block.w"))                                                                \
    CALL(uk_pack(p, "X", "root", 0, -1, NULL))                                                        \
    CALL(uk_cache_read(p, "X", "root", ANY_SCOPE, NULL))                                              \
    CALL(uk_cache_write(p, "Y", NULL, UK_SCOPE_GLOBAL, NULL))                                         \
    CALL(uk_compute_at(p, "T", NULL))                                                                 \
    CALL(uk_reverse_compute_at(p, NULL, "T.i"))                                                       \
    CALL(uk_compute_inline(p, "T\n"))                                                                 \
    CALL(uk_rfactor(p, "Y.i", NULL))                                                                  \
    CALL(uk_tensorize(p, "Y.i", NULL))

/* Violations of rules for whole programs: the calls succeed, every use of the program fails. */
#define BROKEN_RULES(CALL)                                                                               \
    CALL(uk_statement(p, NULL, b->X, &b->i, UK_ASSIGN, NULL,                                             \
                      uk_element(p, uk_tensor(p, "Z", UK_F32, 1, &b->m, NULL), &b->i)))                  \
    CALL(uk_statement(p, NULL, b->Y, (struct uk_index *[]){uk_index_multiply(p, b->n, b->i)}, UK_ASSIGN, \
                      NULL, b->x))                                                                       \
    CALL(uk_statement(p, NULL, b->X, &b->i, UK_ASSIGN_ADD, NULL,                                         \
                      uk_element(p, uk_temp(p, "U", UK_F32, 1, &b->n, NULL), &b->i)))                    \
    CALL(uk_tensor_layout(p, b->X, "(i, j) -> [i, j]", NULL))                                            \
    CALL(uk_assume(p, uk_index_compare(p, UK_EQUAL, uk_index_multiply(p, b->n, b->n), b->n)))            \
    CALL(uk_split(p, "Y.i", 4, "X", "ii"))

/* Makes the call of that number; returns its text, or NULL: there is none. */
#define CALL(...)            \
    if (!number--) {         \
        (void)(__VA_ARGS__); \
        return #__VA_ARGS__; \
    }
static const char *refused_call(struct uk_program *p, const struct parts *b, int number) {
    REFUSED_CALLS(CALL)
    return NULL;
}

static const char *broken_rule(struct uk_program *p, const struct parts *b, int number) {
    BROKEN_RULES(CALL)
    return NULL;
}
#undef CALL

/* ---- tests ---- */

/* Declares an intrinsic, which use_verify needs. */
static void declare_kernel(struct uk_program *p) {
    uk_import_c(p, "void copy_4(const float *a, float *b) {\n"
                   "    for (int i = 0; i < 4; i++)\n"
                   "        b[i] = a[i];\n"
                   "}\n");
    uk_intrinsic(p, "intrinsic copy_4\n"
                    "  tensor a f32 [4]\n"
                    "  tensor b f32 [4]\n"
                    "  b[i] = a[i]\n"
                    "  compute void copy_4(ptr a, ptr b)\n"
                    "end\n");
}

static struct uk_program *whole(const char *name) {
    struct uk_program *p = create(name);
    const struct parts b = declare(p);

    declare_kernel(p);
    state_all(p, &b);
    return p;
}

static void a_whole_program_is_used(void **state) {
    (void)state;
    for (int i = 0; i < program_use_count; i++) {
        struct uk_program *p = whole("whole");

        if (program_uses[i].use(p))
            fail_msg("%s: %s", program_uses[i].name, uk_context_message(context));
        assert_int_equal(uk_program_status(p), UK_OK);
        uk_program_destroy(p);
    }
}

static void expect_failure(struct uk_program *p, enum uk_status expected, const char *message,
                           const char *call, int use) {
    assert_int_equal(uk_target_runs(context, "interp"), UK_OK); /* forgets the message */
    const enum uk_status s = program_uses[use].use(p);

    if (s != expected)
        fail_msg("%s, then %s: status %d, not %d", call, program_uses[use].name, s, expected);
    if (strcmp(uk_context_message(context), message))
        fail_msg("%s, then %s: \"%s\", not \"%s\"", call, program_uses[use].name, uk_context_message(context),
                 message);
}

/* Nothing about the program's arguments is known either. */
static void expect_no_answers(struct uk_program *p) {
    assert_int_equal(uk_program_sizes(p), 0);
    assert_null(uk_program_size_name(p, 0));
    assert_int_equal(uk_program_size_default(p, 0), -1);
    assert_int_equal(uk_program_scalars(p), 0);
    assert_null(uk_program_scalar_name(p, 0));
    assert_int_equal(uk_program_tensors(p), 0);
    assert_null(uk_program_tensor_name(p, 0));
    assert_int_equal(uk_program_tensor_type(p, 0), UK_TYPES);
    assert_false(uk_program_tensor_written(p, 1));
    assert_int_equal(uk_program_tensor_elements(p, 0, (int64_t[]){4}), -1);
}

/* The first failure remains, whatever succeeded before and is called afterwards. */
static void failed_calls_fail_every_use(void **state) {
    const char *call = "";

    (void)state;
    for (int i = 0; call; i++) {
        struct uk_program *p = create("broken"), *good = whole("good");
        const struct parts b = declare(p);
        char message[512];

        declare_kernel(p);
        assert_int_equal(uk_program_status(p), UK_OK);
        if ((call = refused_call(p, &b, i))) {
            const enum uk_status s = uk_program_status(p);

            snprintf(message, sizeof message, "%s", uk_context_message(context));
            if (!s || strncmp(message, "broken:", 7) || !strstr(message, "; "))
                fail_msg("%s: status %d, \"%s\"", call, s, message);
            state_all(p, &b);
            assert_int_equal(uk_program_status(p), s);
            for (int k = 0; k < program_use_count; k++)
                expect_failure(p, s, message, call, k);
            expect_no_answers(p);
            struct uk_program *const both[] = {good, p};
            struct uk_module *m = (struct uk_module *)p;

            assert_int_equal(uk_compile_programs(both, 2, &plain_options, &m), s);
            assert_null(m);
            assert_string_equal(uk_context_message(context), message);
            assert_int_equal(emit_what(both, 2, UK_EMIT_SCHEDULE), s);
            assert_string_equal(uk_context_message(context), message);
        }
        uk_program_destroy(p);
        uk_program_destroy(good);
    }
}

/* A program that was not checked is checked by its first use, whichever that is. */
static void broken_rules_fail_every_use(void **state) {
    const char *call = "";

    (void)state;
    for (int i = 0; call; i++)
        for (int k = 0; call && k < program_use_count + 1; k++) {
            struct uk_program *p = create("broken"), *other = create("broken");
            const struct parts b = declare(p), o = declare(other);
            char message[512];

            declare_kernel(p);
            declare_kernel(other);
            state_all(p, &b);
            state_all(other, &o);
            call = broken_rule(p, &b, i);
            broken_rule(other, &o, i);
            if (call) {
                const enum uk_status s = uk_program_check(other);
                /* uk_program_schedule replaces steps, wrong ones included. */
                const bool replaced =
                    k < program_use_count && program_uses[k].use == use_schedule && strstr(call, "uk_split");

                assert_int_equal(uk_program_status(p), UK_OK);
                snprintf(message, sizeof message, "%s", uk_context_message(context));
                if (!s || strncmp(message, "broken: ", 8))
                    fail_msg("%s: status %d, \"%s\"", call, s, message);
                if (k == program_use_count)
                    expect_no_answers(p);
                else
                    expect_failure(p, replaced ? UK_OK : s, replaced ? "" : message, call, k);
            }
            uk_program_destroy(p);
            uk_program_destroy(other);
        }
}

/* uk_program_create() may have failed: all calls with the NULL that it returns are harmless. */
static void no_program_is_harmless(void **state) {
    const struct parts none = {0};

    (void)state;
    declare(NULL);
    declare_kernel(NULL);
    state_all(NULL, &none);
    for (int i = 0; refused_call(NULL, &none, i); i++)
        ;
    for (int i = 0; broken_rule(NULL, &none, i); i++)
        ;
    for (int i = 0; i < program_use_count; i++)
        assert_int_equal(program_uses[i].use(NULL), UK_INVALID_ARGUMENT);
    assert_int_equal(uk_program_status(NULL), UK_INVALID_ARGUMENT);
    expect_no_answers(NULL);
    uk_program_destroy(NULL);
}

/* Messages name the place: an item of a text by its line, one made by a call by its kind and number. */
static void messages_name_the_item(void **state) {
    static const char *const expected[][2] = {
        {"uk_index_floordiv(p, b->n, 0)",
         "broken: before statement 1: error: the divisor 0 is not positive; "},
        {"uk_tensor(p, \"Z\", UK_F32, 9,", "broken: tensor 4: error: Z has 9 dimensions; "},
        {"uk_scalar(p, \"s\", UK_TYPES)", "broken: scalar 1: error: there is no type 12 of scalars; "},
        {"uk_assume(p, NULL)", "broken: assumption 1: error: uk_assume takes a relation, and it is NULL; "},
        {"uk_statement(p, NULL, b->Y, &b->i, UK_ASSIGN, NULL, NULL)", "broken: statement 1: error: "},
        {"uk_intrinsic(p, NULL)", "broken: intrinsic 2: error: the intrinsic is NULL; "},
        {"uk_import_file(p, \"\")", "broken: import 2: error: an import is empty; "},
        {"uk_split(p, \"Y.i\", 0, ", "broken: step 1: error: the factor is 0; take 1 or more"},
        {"uk_split(p, \"Y.i\", 4, NULL",
         "broken: step 1: error: a name of a step, NULL, is not an identifier; "},
        {"uk_cache_read(p, \"X\"", "broken: step 1: error: there is no scope "},
    };
    const char *call = "";
    size_t found = 0;

    (void)state;
    for (int i = 0; call; i++) {
        struct uk_program *p = create("broken");
        const struct parts b = declare(p);

        declare_kernel(p);
        call = refused_call(p, &b, i);
        for (size_t k = 0; call && k < sizeof expected / sizeof *expected; k++)
            if (!strncmp(call, expected[k][0], strlen(expected[k][0]))) {
                found++;
                if (strncmp(uk_context_message(context), expected[k][1], strlen(expected[k][1])))
                    fail_msg("%s: %s", call, uk_context_message(context));
            }
        uk_program_destroy(p);
    }
    assert_int_equal(found, sizeof expected / sizeof *expected);

    struct uk_program *p = whole("late");
    uk_split(p, "Y.i", 4, "io", "ii");
    uk_split(p, "Y.j", 4, "jo", "ji");
    assert_int_not_equal(use_emit_loops(p), UK_OK);
    assert_memory_equal(uk_context_message(context), "late: step 2: error: ", 21);
    uk_program_destroy(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_program_is_used),     cmocka_unit_test(failed_calls_fail_every_use),
        cmocka_unit_test(broken_rules_fail_every_use), cmocka_unit_test(no_program_is_harmless),
        cmocka_unit_test(messages_name_the_item),
    };

    if (!__builtin_cpu_supports("avx2"))
        return 77;
    return cmocka_run_group_tests(tests, make_context, destroy_context);
}
