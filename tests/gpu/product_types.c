/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of every type and transposition compiled with `auto` for the simulated GPUs: one function for all
 * sizes, with rows of any stride, called with drawn M, N and K; and one for constant sizes, whose sum may be
 * computed in parts. Results must be the interpreter's (values.h). The simulator must report nothing; the
 * kernels must use no scratch memory and spill nothing.
 *
 *     product_types [--triples N] [--every N] [--seed N|new] [--only N]
 *
 * --every takes each N-th combination of a type and a transposition, --only the N-th alone.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "compiled.h"
#include "random.h"
#include "test_options.h"
#include "values.h"

/* Types of A, B and Y. */
static const char *const types[][3] = {
    {"f32", "f32", "f32"}, {"f16", "f16", "f16"}, {"f16", "f16", "f32"},   {"bf16", "bf16", "bf16"},
    {"i8", "i8", "i32"},   {"u8", "u8", "i32"},   {"bf16", "bf16", "f32"}, {"u8", "i8", "i32"},
    {"f64", "f64", "f64"}, {"i32", "i32", "i32"},
};
enum { TYPES = sizeof types / sizeof *types, TRANSPOSITIONS = 4, NAME = 96 };

static const int64_t edges[] = {0, 1, 7, 63, 64, 65, 127, 129, 200};
enum { EDGES = sizeof edges / sizeof *edges };

static uint64_t seed = 1;
static int triples = 2, every = 1, only = -1;

/* ---- texts ---- */

static const char *any(const char *name, int64_t constant, char to[24]) {
    if (constant < 0)
        return name;
    snprintf(to, 24, "%" PRId64, constant);
    return to;
}

static void put_matrix(struct uk_text *t, const char *name, const char *type, const char *rows,
                       const char *columns, bool has_stride) {
    uk_put(t, has_stride ? "tensor %s %s [%s, %s] stride [ld, 1]\n" : "tensor %s %s [%s, %s]\n", name, type,
           rows, columns);
}

/* Writes a factor: the element [i, j], or [j, i] of a transposed matrix, converted to the sum's type. */
static void put_factor(struct uk_text *t, const char *matrix, const char *type, const char *sum,
                       const char *i, const char *j) {
    const bool casts = strcmp(type, sum);

    uk_put(t, "%s%s%s[%s, %s]%s", casts ? sum : "", casts ? "(" : "", matrix, i, j, casts ? ")" : "");
}

/* Bit 0 and bit 1 of `combination`: A and B are transposed. mnk = NULL: M, N and K are arguments, and so is
 * the stride of rows. */
static void put_product(struct uk_text *t, int combination, const int64_t *mnk) {
    const char *const *type = types[combination / TRANSPOSITIONS];
    const bool a = combination & 1, b = combination & 2;
    char number[3][24];
    const char *m = any("M", mnk ? mnk[0] : -1, number[0]), *n = any("N", mnk ? mnk[1] : -1, number[1]),
               *k = any("K", mnk ? mnk[2] : -1, number[2]);

    put_matrix(t, "A", type[0], a ? k : m, a ? m : k, !mnk);
    put_matrix(t, "B", type[1], b ? n : k, b ? k : n, !mnk);
    put_matrix(t, "Y", type[2], m, n, !mnk);
    uk_put(t, "Y[m, n] = sum(k) ");
    put_factor(t, "A", type[0], type[2], a ? "k" : "m", a ? "m" : "k");
    uk_put(t, " * ");
    put_factor(t, "B", type[1], type[2], b ? "n" : "k", b ? "k" : "n");
    uk_put(t, "\n");
}

/* ---- calls ---- */

static void set_sizes(struct random_data *d, const struct uk_program *p, const int64_t mnk[3],
                      int64_t stride) {
    for (int i = 0; i < uk_program_sizes(p); i++) {
        const char *at = strchr("MNK", uk_program_size_name(p, i)[0]);

        d->size[i] = at ? mnk[at - "MNK"] : stride;
    }
}

/* Draws the operands once, and calls both targets' functions. */
static int call(struct run r[TARGETS], const int64_t mnk[3], uint64_t *x) {
    struct random_data d = {0};
    int wrong = 0;
    int64_t longest = 1;

    for (int i = 0; i < 3; i++)
        longest = mnk[i] > longest ? mnk[i] : longest;
    set_sizes(&d, r[0].program, mnk, longest + random_below(x, 4));
    const enum values values = (enum values)random_below(x, VALUES);
    draw_values(&d, r[0].program, values, mnk[2], random_next(x));
    for (int i = 0; i < TARGETS; i++)
        if (!run_is_right(&r[i], &d)) {
            print_error("M = %" PRId64 ", N = %" PRId64 ", K = %" PRId64 ": %s\n", mnk[0], mnk[1], mnk[2],
                        uk_gpu_message(r[i].device));
            wrong++;
        }
    random_data_free(&d);
    return wrong;
}

/* Compiles for both targets; returns the number of those whose kernels are wrong. */
static int begin(struct run r[TARGETS], const char *again, const char *text) {
    struct kernels kernels;
    int wrong = 0;

    for (int i = 0; i < TARGETS; i++) {
        assert_true(compile_text(&r[i], again, text, i));
        r[i].device = open_gpu("sim", i);
        wrong += !check_kernels(&r[i], &kernels);
    }
    return wrong;
}

static void end(struct run r[TARGETS]) {
    for (int i = 0; i < TARGETS; i++) {
        uk_gpu_close(r[i].device);
        compiled_end(&r[i]);
    }
}

static void draw(int64_t mnk[3], uint64_t *x) {
    for (int i = 0; i < 3; i++)
        mnk[i] = edges[random_below(x, EDGES)];
}

/* The calls of one type and transposition; returns the number of wrong ones. */
static int run_combination(int combination) {
    uint64_t x = seed * 1000003 + (uint64_t)combination;
    struct run r[TARGETS];
    struct uk_text text = {0};
    char again[NAME];
    int64_t mnk[3];
    int wrong = 0;

    snprintf(again, sizeof again, "--seed %" PRIu64 " --only %d --triples %d", seed, combination, triples);
    use_order(x);
    put_product(&text, combination, NULL);
    assert_non_null(text.text);
    wrong += begin(r, again, text.text);
    for (int i = 0; i < triples; i++) {
        draw(mnk, &x);
        wrong += call(r, mnk, &x);
    }
    end(r);
    uk_text_cut(&text, 0);
    draw(mnk, &x);
    put_product(&text, combination, mnk);
    wrong += begin(r, again, text.text);
    wrong += call(r, mnk, &x);
    end(r);
    uk_text_free(text.text);
    return wrong;
}

static void run(void **state) {
    int wrong = 0;

    (void)state;
    print_message("--seed %" PRIu64 "\n", seed);
    for (int i = 0; i < TYPES * TRANSPOSITIONS; i++)
        if (only >= 0 ? i == only : i % every == 0)
            wrong += run_combination(i);
    assert_int_equal(wrong, 0);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(run)};

    take_options(argc, argv,
                 (struct test_option[]){{.name = "--triples", .number = &triples},
                                        {.name = "--every", .number = &every},
                                        {.name = "--seed", .seed = &seed},
                                        {.name = "--only", .number = &only},
                                        {0}});
    return cmocka_run_group_tests_name("gpu_product_types", tests, NULL, NULL);
}
