/* SPDX-License-Identifier: Apache-2.0 */
/* The .uk text: every production parses, and is printed unchanged; refusals give the reason. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "random.h"
#include "test_context.h"
#include "text_cases.h"

static void expect_prints(struct uk_program *p, const char *expected) {
    char *text;

    assert_int_equal(uk_program_print(p, &text), UK_OK);
    assert_string_equal(text, expected);
    uk_text_free(text);
}

static void expect_printed(const char *text, const char *expected) {
    struct uk_program *p = parse_text(text);

    expect_prints(p, expected);
    uk_program_destroy(p);
}

/* Canonical texts are printed unchanged. */
static void canonical_texts_come_back(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof canonical / sizeof *canonical; i++)
        expect_printed(canonical[i], canonical[i]);
}

/* Other spellings are printed canonically, and printing that text again changes nothing. */
static void printing_twice_changes_nothing(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof spelled / sizeof *spelled; i++) {
        expect_printed(spelled[i].text, spelled[i].printed);
        expect_printed(spelled[i].printed, spelled[i].printed);
    }
}

static void refusals_say_why(void **state) {
    (void)state;

    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct uk_program *p;
        enum uk_status status =
            uk_program_parse(context, "f.uk", refused[i].text, strlen(refused[i].text), &p);

        if (status == UK_OK)
            fail_msg("accepted: %s", refused[i].text);
        assert_null(p);
        assert_string_equal(uk_context_message(context), refused[i].message);
    }
}

static void expect_refused(const char *text, size_t length, const char *message) {
    struct uk_program *p;

    assert_int_equal(uk_program_parse(context, "f.uk", text, length, &p), UK_SYNTAX);
    assert_string_equal(uk_context_message(context), message);
}

/* Texts that are easier to generate than to write. */
static void limits_hold(void **state) {
    char *text = malloc(300000);
    size_t n;

    (void)state;
    assert_non_null(text);
    expect_refused("size M\0", 7, "f.uk:1:7: error: a NUL byte is not in the language; remove it");
    expect_refused("size M\r", 7, "f.uk:1:7: error: byte 0x0d is not in the language; remove it");
    expect_refused(
        "size \xc3\xa9", 7,
        "f.uk:1:6: error: byte 0xc3 is not in the language; only ASCII is allowed outside comments and "
        "imported text");
    n = (size_t)sprintf(text, "tensor A f32 [");
    memset(text + n, '(', 256);
    expect_refused(text, n + 256, "f.uk:1:270: error: more than 256 brackets inside each other; simplify");
    memset(text + n, '-', 300);
    strcpy(text + n + 300, "1]");
    expect_refused(text, n + 302, "f.uk:1:272: error: more than 256 signs in a row; simplify");
    memset(text, ' ', 70000);
    expect_refused(
        text, 70000,
        "f.uk:1:65537: error: the line is longer than 65536 bytes; break it after a comma or an operator");
    n = (size_t)sprintf(text, "tensor A f32 []\nA[] = 1");
    for (int i = 0; i < 70000; i++)
        n += (size_t)sprintf(text + n, "%s", i % 100 ? "+1" : "+\n1");
    struct uk_program *p;

    assert_int_equal(uk_program_parse(context, "f.uk", text, n, &p), UK_REFUSED);
    assert_non_null(
        strstr(uk_context_message(context), "more than 4096 operators in one expression; use a temp"));
    free(text);
}

/* Every text cut short, and every text with one byte changed, is parsed or refused, and nothing else
 * happens. */
static void damaged_texts_are_survived(void **state) {
    (void)state;
    struct uk_program *p;
    uint64_t seed = 1;

    for (size_t i = 0; i < sizeof canonical / sizeof *canonical; i++) {
        size_t n = strlen(canonical[i]);
        char *text = malloc(n + 1);

        assert_non_null(text);
        for (size_t cut = 0; cut < n; cut++) {
            memcpy(text, canonical[i], n + 1);
            if (uk_program_parse(context, "f.uk", text, cut, &p) == UK_OK)
                uk_program_destroy(p);
            text[cut] = "()[]-*,.0:=\"\n x"[random_below(&seed, 16)];
            if (uk_program_parse(context, "f.uk", text, n, &p) == UK_OK)
                uk_program_destroy(p);
            else
                assert_true(strlen(uk_context_message(context)) > 10);
        }
        free(text);
    }
}

/* A schedule is replaced as a whole, or not at all. */
static void schedules_are_replaced(void **state) {
    (void)state;
    struct uk_program *p = parse_text("tensor A f32 [N]\nA[i] = 1\nschedule\n  split i 4 -> io ii\n");
    const char *good = "schedule\n  split i 8 -> a b\n", *bad = "split i 8 -> a\n",
               *twice = "split i 8 -> a a\n", *versions = "schedule where N < 8\nschedule\n  unroll i\n";

    assert_int_equal(uk_program_schedule(p, "s.uk", bad, strlen(bad)), UK_SYNTAX);
    assert_string_equal(
        uk_context_message(context),
        "s.uk:1:15: error: expected a new name, found the end of the line; names are letters, digits and _");
    assert_int_equal(uk_program_schedule(p, "s.uk", twice, strlen(twice)), UK_REFUSED);
    assert_string_equal(
        uk_context_message(context),
        "s.uk:1:1: error: a is a name that a step made already; choose another name after ->");
    expect_prints(p, "tensor A f32 [N]\nA[i] = 1\n\nschedule\n  split i 4 -> io ii\n");
    assert_int_equal(uk_program_schedule(p, "s.uk", good, strlen(good)), UK_OK);
    expect_prints(p, "tensor A f32 [N]\nA[i] = 1\n\nschedule\n  split i 8 -> a b\n");
    assert_int_equal(uk_program_schedule(p, "s.uk", versions, strlen(versions)), UK_OK);
    expect_prints(p, "tensor A f32 [N]\nA[i] = 1\n\nschedule where N < 8\nschedule\n  unroll i\n");
    assert_int_equal(uk_program_schedule(p, "s.uk", versions, 20), UK_REFUSED);
    assert_string_equal(
        uk_context_message(context),
        "s.uk:1:1: error: the last schedule has a `where`; add `schedule` without one, for all "
        "other sizes");
    expect_prints(p, "tensor A f32 [N]\nA[i] = 1\n\nschedule where N < 8\nschedule\n  unroll i\n");
    assert_int_equal(uk_program_schedule(p, "s.uk", good, strlen(good)), UK_OK);
    expect_prints(p, "tensor A f32 [N]\nA[i] = 1\n\nschedule\n  split i 8 -> a b\n");
    uk_program_destroy(p);
}

static void expect_emit_refused(struct uk_program *p, const char *message) {
    size_t length;
    char *text;

    assert_int_not_equal(uk_emit(p, NULL, UK_EMIT_LINKED, &text, &length), UK_OK);
    if (strncmp(uk_context_message(context), message, strlen(message)))
        fail_msg("\"%s\", not \"%s...\"", uk_context_message(context), message);
}

/* If the schedule comes from another file, each message names the right file, and paths of imports are
 * relative to it. */
static void messages_name_the_schedules_file(void **state) {
    (void)state;
    const char *program = "pragma import \"k.ll\"\n"
                          "intrinsic k\n"
                          "  tensor a f32 [4]\n"
                          "  a[i] = 1\n"
                          "  compute void k(ptr a)\n"
                          "end\n"
                          "tensor A f32 [N]\n"
                          "assume N % 4 == 0\n"
                          "A[i] = 1\n";
    const char *unknown = "split i 8 -> a b\nunroll x\n", *broken = "split i 8 -> \1 b\n",
               *imports = "split i 4 -> a b\ntensorize b k\n",
               *own = "pragma import \"own.ll\"\nsplit i 4 -> a b\ntensorize b k\n";
    struct uk_program *p;

    assert_int_equal(uk_program_parse(context, "x/f.uk", program + 21, strlen(program + 21), &p), UK_OK);
    assert_int_equal(uk_program_schedule(p, "y/s.uk", unknown, strlen(unknown)), UK_OK);
    expect_emit_refused(p, "y/s.uk:2:8: error: there is no loop x");
    uk_program_destroy(p);
    assert_int_equal(uk_program_parse(context, "x/f.uk", program, strlen(program), &p), UK_OK);
    assert_int_equal(uk_program_define(p, "Q", 3), UK_INVALID_ARGUMENT);
    assert_string_equal(uk_context_message(context),
                        "x/f.uk: error: Q is not a size of the program; define one of its sizes");
    assert_int_equal(uk_program_schedule(p, "y/s.uk", broken, strlen(broken)), UK_SYNTAX);
    assert_string_equal(uk_context_message(context),
                        "y/s.uk:1:14: error: byte 0x01 is not in the language; remove it");
    assert_int_equal(uk_program_schedule(p, "y/s.uk", imports, strlen(imports)), UK_OK);
    expect_emit_refused(p, "x/f.uk:1:15: error: import x/k.ll: cannot open: ");
    assert_int_equal(uk_program_schedule(p, "y/s.uk", own, strlen(own)), UK_OK);
    uk_program_destroy(p);
    assert_int_equal(uk_program_parse(context, "x/f.uk", program + 21, strlen(program + 21), &p), UK_OK);
    assert_int_equal(uk_program_schedule(p, "y/s.uk", own, strlen(own)), UK_OK);
    expect_emit_refused(p, "y/s.uk:1:15: error: import y/own.ll: cannot open: ");
    uk_program_destroy(p);
}

static void questions_are_answered(void **state) {
    (void)state;
    struct uk_program *p =
        parse_text("size M = 4, K\ntensor A f32 [M, K] stride [lda, 1]\nscalar s f64\ntemp T f32 [M]\n"
                   "tensor C i8 [K]\nC[k] = 1\n");

    assert_int_equal(uk_program_sizes(p), 3);
    assert_string_equal(uk_program_size_name(p, 2), "lda");
    assert_null(uk_program_size_name(p, 3));
    assert_int_equal(uk_program_size_default(p, 0), 4);
    assert_int_equal(uk_program_size_default(p, 1), -1);
    assert_int_equal(uk_program_scalars(p), 1);
    assert_string_equal(uk_program_scalar_name(p, 0), "s");
    assert_int_equal(uk_program_tensors(p), 2);
    assert_string_equal(uk_program_tensor_name(p, 1), "C");
    assert_int_equal(uk_program_tensor_type(p, 1), UK_I8);
    assert_true(uk_program_tensor_written(p, 1));
    assert_false(uk_program_tensor_written(p, 0));
    assert_int_equal(uk_program_tensor_elements(p, 0, (int64_t[]){3, 5, 10}), 25);
    assert_int_equal(uk_program_tensor_elements(p, 0, (int64_t[]){0, 5, 10}), 0);
    assert_int_equal(uk_program_tensor_elements(p, 0, (int64_t[]){INT64_MAX, 5, 10}), -1);
    assert_int_equal(uk_program_define(p, "Q", 3), UK_INVALID_ARGUMENT);
    assert_string_equal(uk_context_message(context),
                        "f.uk: error: Q is not a size of the program; define one of its sizes");
    assert_int_equal(uk_program_define(p, "M", -3), UK_INVALID_SIZE);
    assert_int_equal(uk_program_define(p, "M", 3), UK_OK);
    uk_program_destroy(p);
}

static struct uk_program *matmul_by_calls(void) {
    struct uk_program *p;

    assert_int_equal(uk_program_create(context, "sgemm", &p), UK_OK);
    struct uk_index *M = uk_size_default(p, "M", 1024), *K = uk_size(p, "K"), *N = uk_size(p, "N");
    struct uk_index *m = uk_iterator(p, "m"), *n = uk_iterator(p, "n"), *k = uk_iterator(p, "k");
    struct uk_index *one = uk_integer(p, 1);
    struct uk_tensor *A = uk_tensor(p, "A", UK_F32, 2, (struct uk_index *[]){M, K},
                                    (struct uk_index *[]){uk_size(p, "lda"), one});
    struct uk_tensor *B = uk_tensor(p, "B", UK_F32, 2, (struct uk_index *[]){K, N}, NULL);
    struct uk_tensor *C = uk_tensor(p, "C", UK_F32, 2, (struct uk_index *[]){M, N}, NULL);
    struct uk_expr *product = uk_multiply(p, uk_element(p, A, (struct uk_index *[]){m, k}),
                                          uk_element(p, B, (struct uk_index *[]){k, n}));

    uk_assume(p, uk_index_compare(p, UK_EQUAL, uk_index_mod(p, N, 32), uk_integer(p, 0)));
    uk_statement(p, NULL, C, (struct uk_index *[]){m, n}, UK_ASSIGN_ADD,
                 &(struct uk_reduction){.kind = UK_REDUCE_SUM, .iterators = 1, .iterator = {k}}, product);
    uk_split(p, "C.n", 2048, "nc", "n1");
    uk_tile(p, "n1", "C.m", 32, 14, (const char *[]){"no", "mo", "ni", "mi"});
    uk_reorder(p, 3, (const char *[]){"nc", "mo", "C.k"});
    uk_pack(p, "A", "nc", 14, -1, "AP");
    uk_pack(p, "B", "root", 32, 1, NULL);
    uk_cache_write(p, "C", "mo", UK_SCOPE_REGISTER, "CW");
    uk_parallel(p, 1, (const char *[]){"nc"});
    uk_split_parts(p, "C.k", 2, "ko", "ki");
    uk_fuse(p, "no", "mo", "f");
    uk_unroll(p, "ki");
    uk_vectorize(p, "ni");
    uk_bind(p, "nc", "block.x");
    uk_compute_at(p, "AP", "nc");
    uk_reverse_compute_at(p, "CW", "nc");
    uk_compute_inline(p, "CW");
    uk_rfactor(p, "ko", "kr");
    uk_tensorize(p, "mi", "auto");
    return p;
}

static const char matmul_text[] = "size M = 1024, K, N\n"
                                  "tensor A f32 [M, K] stride [lda, 1]\n"
                                  "tensor B f32 [K, N]\n"
                                  "tensor C f32 [M, N]\n"
                                  "assume N % 32 == 0\n"
                                  "C[m, n] += sum(k) A[m, k] * B[k, n]\n"
                                  "\n"
                                  "schedule\n"
                                  "  split C.n 2048 -> nc n1\n"
                                  "  tile n1 C.m 32 14 -> no mo ni mi\n"
                                  "  reorder nc mo C.k\n"
                                  "  pack A at nc panel 14 -> AP\n"
                                  "  pack B at root panel 32 along 1\n"
                                  "  cache_write C at mo in register -> CW\n"
                                  "  parallel nc\n"
                                  "  split C.k parts 2 -> ko ki\n"
                                  "  fuse no mo -> f\n"
                                  "  unroll ki\n"
                                  "  vectorize ni\n"
                                  "  bind nc block.x\n"
                                  "  compute_at AP nc\n"
                                  "  reverse_compute_at CW nc\n"
                                  "  compute_inline CW\n"
                                  "  rfactor ko -> kr\n"
                                  "  tensorize mi auto\n";

static void calls_and_text_make_the_same(void **state) {
    (void)state;
    struct uk_program *p = matmul_by_calls();

    assert_int_equal(uk_program_check(p), UK_OK);
    expect_prints(p, matmul_text);
    uk_program_destroy(p);
    expect_printed(matmul_text, matmul_text);
}

/* The first failure remains; later calls do nothing. */
static void failures_are_sticky(void **state) {
    (void)state;
    struct uk_program *p;
    char *text;

    assert_int_equal(uk_program_create(context, "no name", &p), UK_INVALID_ARGUMENT);
    assert_null(p);
    assert_int_equal(uk_program_create(context, "f", &p), UK_OK);
    assert_null(uk_size(p, "sum"));
    assert_null(uk_tensor(p, "A", UK_F32, 1, (struct uk_index *[]){NULL}, NULL));
    uk_split(p, "i", 4, "io", "ii");
    assert_int_equal(uk_program_status(p), UK_SYNTAX);
    assert_string_equal(
        uk_context_message(context),
        "f: before statement 1: error: sum is a word of the language; choose another name for the size");
    assert_int_equal(uk_program_print(p, &text), UK_SYNTAX);
    assert_null(text);
    uk_program_destroy(p);

    assert_int_equal(uk_program_create(context, "f", &p), UK_OK);
    uk_split(p, "i 4 -> a b\nparallel i", 4, "io", "ii");
    assert_int_equal(uk_program_status(p), UK_INVALID_ARGUMENT);
    uk_program_destroy(p);

    assert_int_equal(uk_program_create(context, "f", &p), UK_OK);
    uk_split(p, "i", 0, "io", "ii");
    assert_string_equal(uk_context_message(context), "f: step 1: error: the factor is 0; take 1 or more");
    uk_program_destroy(p);
}

/* A literal that is used with two types has both types. */
static void handles_may_be_shared(void **state) {
    (void)state;
    struct uk_program *p;

    assert_int_equal(uk_program_create(context, "f", &p), UK_OK);
    struct uk_index *n = uk_size(p, "N"), *i = uk_iterator(p, "i");
    struct uk_tensor *A = uk_tensor(p, "A", UK_F32, 1, &n, NULL), *B = uk_tensor(p, "B", UK_I8, 1, &n, NULL);
    struct uk_expr *two = uk_number(p, 2), *half = uk_number(p, -0.5);

    uk_statement(p, NULL, A, &i, UK_ASSIGN, NULL, uk_add(p, two, half));
    uk_statement(p, NULL, B, &i, UK_ASSIGN, NULL, uk_multiply(p, uk_element(p, B, &i), two));
    expect_prints(p, "tensor A f32 [N]\ntensor B i8 [N]\nA[i] = 2 + -0.5\nB[i] = B[i] * 2\n");
    uk_program_destroy(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(canonical_texts_come_back),
        cmocka_unit_test(printing_twice_changes_nothing),
        cmocka_unit_test(refusals_say_why),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(damaged_texts_are_survived),
        cmocka_unit_test(schedules_are_replaced),
        cmocka_unit_test(messages_name_the_schedules_file),
        cmocka_unit_test(questions_are_answered),
        cmocka_unit_test(calls_and_text_make_the_same),
        cmocka_unit_test(failures_are_sticky),
        cmocka_unit_test(handles_may_be_shared),
    };

    return cmocka_run_group_tests(tests, make_context, destroy_context);
}
