/* SPDX-License-Identifier: Apache-2.0 */
/* Integer expressions: sums are built with as few signs and constants as their terms allow; they mean the
 * same as unsimplified ones; and their printed text parses to the same expression. Expressions in a program's
 * text keep their terms. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>
#include "language/language.h"
#include "random.h"
#include "tensorize.h"

enum { SIZES = 4, TREES = 20000, VALUES = 8 };

static struct uk_context *context;
static struct uk_program *program;
static struct uk_var *size[SIZES];
static const char names[SIZES][2] = {"K", "M", "N", "P"};

static int begin(void **state) {
    (void)state;
    context = uk_context_create();
    if (uk_program_create(context, "sums", &program))
        return 1;
    for (int i = 0; i < SIZES; i++)
        size[i] = uk_size(program, names[i])->var;
    return 0;
}

static int end(void **state) {
    (void)state;
    uk_program_destroy(program);
    uk_context_destroy(context);
    return 0;
}

/* ---- expressions in text form, made by the builders ---- */

/* Reads a tree in prefix form: - a b, + a b, * a b, / a b, ~ a, a digit, a size. */
static struct uk_index *tree(const char **text) {
    static const char signs[] = "+-*/%";
    static const enum uk_index_op ops[] = {UK_I_ADD, UK_I_SUB, UK_I_MUL, UK_I_DIV, UK_I_MOD};
    struct uk_arena *a = &program->arena;

    while (**text == ' ')
        ++*text;
    const char c = *(*text)++, *sign = strchr(signs, c);
    if (c >= '0' && c <= '9')
        return uk_index_int(a, c - '0');
    if (c == '~')
        return uk_index_op(a, UK_I_NEG, tree(text), NULL);
    if (sign) {
        struct uk_index *l = tree(text);

        return uk_index_op(a, ops[sign - signs], l, tree(text));
    }
    for (int i = 0; i < SIZES; i++)
        if (c == names[i][0])
            return uk_index_var(a, size[i]);
    fail_msg("%c is no part of a tree", c);
    return NULL;
}

static char *printed(const struct uk_index *e) {
    struct uk_text t = {0};

    uk_print_index(&t, e);
    assert_false(t.failed);
    return t.text;
}

static void sums_are_simple(void **state) {
    static const struct {
        const char *tree, *text;
    } cases[] = {
        {"- M ~ N", "M + N"},
        {"+ M ~ N", "M - N"},
        {"+ ~ M N", "N - M"},
        {"- ~ M N", "-M - N"},
        {"+ M ~ * 2 N", "M - 2 * N"},
        {"- M ~ * 2 N", "M + 2 * N"},
        {"+ ~ * 3 M + N 1", "N - 3 * M + 1"},
        {"* ~ 1 M", "-M"},
        {"* M ~ 1", "-M"},
        {"* 1 M", "M"},
        {"* M 1", "M"},
        {"- M 0", "M"},
        {"+ M 0", "M"},
        {"+ 0 M", "M"},
        {"- 0 M", "-M"},
        {"~ ~ M", "M"},
        {"~ - M N", "N - M"},
        {"~ + M 2", "-2 - M"},
        {"~ * 2 M", "-(2 * M)"},
        {"~ ~ * 2 M", "2 * M"},
        {"+ - N 4 1", "N - 3"},
        {"+ - N 4 4", "N"},
        {"- 1 ~ - N 4", "N - 3"},
        {"- N - N 4", "4"},
        {"- - N - N 4 ~ * 4 M", "4 * M + 4"},
        {"+ - * 4 M - 1 ~ - N 4 1", "4 * M - N + 4"},
        {"+ ~ M 1", "1 - M"},
        {"+ - ~ M N 1", "1 - M - N"},
        {"- - 1 M 1", "-M"},
        {"+ - + M 1 N 1", "M + 2 - N"},
        {"- + - + M 1 N 2 3", "M - N"},
        {"- M + N 2", "M - N - 2"},
        {"+ M - 2 N", "M - N + 2"},
        {"- M - 2 N", "M + N - 2"},
        {"+ / - ~ M N 2 1", "(-M - N) / 2 + 1"},
        {"- % ~ M 4 0", "-M % 4"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *rest = cases[i].tree;
        char *text = printed(tree(&rest));

        assert_string_equal(rest, "");
        assert_string_equal(text, cases[i].text);
        uk_text_free(text);
    }
}

/* ---- random trees ---- */

static int64_t value_of(const struct uk_var *v, void *user) {
    for (int i = 0; i < SIZES; i++)
        if (v == size[i])
            return ((const int64_t *)user)[i];
    fail_msg("%s is not a size here", v->name);
    return 0;
}

struct pair {
    struct uk_index *simple, *plain;
};

static struct pair both(enum uk_index_op op, struct pair l, struct pair r) {
    return (struct pair){uk_index_op(&program->arena, op, l.simple, r.simple),
                         uk_index_node(&program->arena, op, l.plain, r.plain)};
}

static struct pair number(int64_t n) {
    return (struct pair){uk_index_int(&program->arena, n), uk_index_int(&program->arena, n)};
}

static struct pair draw(uint64_t *random, int depth) {
    const int kind = random_below(random, depth > 0 ? 10 : 3);
    struct pair l;

    if (kind == 0)
        return number(random_below(random, 9) - 4);
    if (kind <= 2) {
        struct uk_index *v = uk_index_var(&program->arena, size[random_below(random, SIZES)]);

        return (struct pair){v, v};
    }
    l = draw(random, depth - 1);
    if (kind == 3)
        return both(UK_I_NEG, l, (struct pair){0});
    if (kind == 4)
        return both(UK_I_MUL, number(random_below(random, 7) - 3), l);
    if (kind == 5)
        return both(random_below(random, 2) ? UK_I_DIV : UK_I_MOD, l, number(1 + random_below(random, 4)));
    return both(kind <= 7 ? UK_I_ADD : UK_I_SUB, l, draw(random, depth - 1));
}

static bool same(const struct uk_index *a, const struct uk_index *b) {
    if (!a || !b)
        return a == b;
    if (a->op != b->op)
        return false;
    if (a->op == UK_I_INT)
        return a->value == b->value;
    if (a->op == UK_I_VAR)
        return !strcmp(a->var->name, b->var->name);
    return same(a->a, b->a) && same(a->b, b->b);
}

/* Parses the text as the left side of a relation. */
static struct uk_program *parsed(struct uk_context *c, const char *text) {
    struct uk_text t = {0};
    struct uk_program *p;

    uk_put(&t, "tensor X f32 [K, M, N, P]\nassume %s != 7777\nX[i, j, k, l] = 0\n", text);
    assert_false(t.failed);
    if (uk_program_parse(c, "f.uk", t.text, strlen(t.text), &p))
        fail_msg("%s\n%s", uk_context_message(c), t.text);
    uk_text_free(t.text);
    return p;
}

static void parses_to(const struct uk_index *e, const char *text) {
    struct uk_context *c = uk_context_create();
    struct uk_program *p = parsed(c, text);

    if (!same(p->assumes->relation->a, e))
        fail_msg("%s is parsed as another expression", text);
    uk_program_destroy(p);
    uk_context_destroy(c);
}

static void prints_as(const char *text, const char *expected) {
    struct uk_context *c = uk_context_create();
    struct uk_program *p = parsed(c, text);
    char *out = printed(p->assumes->relation->a);

    assert_string_equal(out, expected);
    uk_text_free(out);
    uk_program_destroy(p);
    uk_context_destroy(c);
}

static bool is_number(const struct uk_index *e, int64_t n) {
    return e->op == UK_I_INT && e->value == n;
}

static bool is_negative(const struct uk_index *e) {
    return e->op == UK_I_NEG || (e->op == UK_I_MUL && e->a->op == UK_I_INT && e->a->value < 0);
}

/* True if no sum has a superfluous sign or number, and there is no factor of 1 or -1. */
static bool is_simple(const struct uk_index *e) {
    if (!e || e->op == UK_I_INT || e->op == UK_I_VAR)
        return true;
    if (!is_simple(e->a) || !is_simple(e->b))
        return false;
    if (e->op == UK_I_ADD || e->op == UK_I_SUB)
        return !is_negative(e->b) && !is_number(e->a, 0) && !is_number(e->b, 0) &&
               !(e->op == UK_I_ADD && is_negative(e->a)) && !(e->a->op == UK_I_INT && e->b->op == UK_I_INT) &&
               !(is_negative(e->a) && e->b->op == UK_I_INT);
    if (e->op == UK_I_MUL)
        return !is_number(e->a, 1) && !is_number(e->a, -1) && !is_number(e->b, 1) && !is_number(e->b, -1);
    return e->op != UK_I_NEG || (e->a->op != UK_I_NEG && e->a->op != UK_I_SUB && !is_negative(e->a));
}

static void means_the_same(struct pair e, const char *text) {
    for (int v = 0; v < VALUES; v++) {
        int64_t value[SIZES];
        bool overflow = false;

        for (int i = 0; i < SIZES; i++)
            value[i] = (3 * i + 1) * v - 7 * i + v * v % 5;
        if (uk_index_eval(e.simple, value_of, value, &overflow) !=
            uk_index_eval(e.plain, value_of, value, &overflow))
            fail_msg("%s is not %s", text, printed(e.plain));
        assert_false(overflow);
    }
}

static void random_trees(void **state) {
    uint64_t random = 1;

    (void)state;
    for (int i = 0; i < TREES; i++) {
        const struct pair e = draw(&random, 5);
        char *text = printed(e.simple);

        if (!is_simple(e.simple))
            fail_msg("%s can be simpler", text);
        means_the_same(e, text);
        if (i % 16 == 0)
            parses_to(e.simple, text);
        uk_text_free(text);
    }
}

/* Texts keep their terms, except those that are always folded. */
static void programs_keep_their_terms(void **state) {
    static const char *const kept[] = {"M - -(N + 1)", "-M + N",       "-M + 1",        "M - (N - 1)",
                                       "1 - (M + 2)",  "-(2 * M) + N", "M + 1 - N + 1", "M + (N + 1)"};
    static const struct {
        const char *text, *becomes;
    } folded[] = {
        {"M - 4 + 1", "M - 3"}, {"M + -N", "M - N"}, {"0 - M", "-M"}, {"1 + M", "M + 1"}, {"- -M", "M"}};

    (void)state;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        prints_as(kept[i], kept[i]);
    for (size_t i = 0; i < sizeof folded / sizeof *folded; i++)
        prints_as(folded[i].text, folded[i].becomes);
}

static int64_t value_by_number(const struct uk_var *v, void *user) {
    return ((const int64_t *)user)[v->number];
}

/* Integer expressions, of which the scheduler builds bounds, are simplified. */
static void integers_fold(void **state) {
    struct uk_arena arena = {0}, *a = &arena;
    struct uk_var xv = {.name = "x"}, yv = {.name = "y", .number = 1};
    struct uk_index *x = uk_index_var(a, &xv), *y = uk_index_var(a, &yv);
    struct uk_index *six = uk_index_int(a, 6), *three = uk_index_int(a, 3), *zero = uk_index_int(a, 0);
    struct uk_index *x6 = uk_index_op(a, UK_I_MUL, x, six);
    struct {
        struct uk_index *e;
        const char *text;
    } cases[] = {
        {uk_index_op(a, UK_I_ADD, x, zero), "x"},
        {uk_index_op(a, UK_I_MUL, zero, x), "0"},
        {uk_index_op(a, UK_I_DIV, x6, six), "x"},
        {uk_index_op(a, UK_I_DIV, x6, three), "x * 2"},
        {uk_index_op(a, UK_I_MOD, x6, three), "0"},
        {uk_index_op(a, UK_I_MOD, x, uk_index_int(a, 1)), "0"},
        {uk_index_op(a, UK_I_MIN, x6, x6), "x * 6"},
        {uk_index_op(a, UK_I_SUB, x6, x6), "0"},
        {uk_index_op(a, UK_I_SUB, uk_index_op(a, UK_I_ADD, x, three), six), "x - 3"},
        {uk_index_op(a, UK_I_DIV, uk_index_int(a, -7), three), "-3"},
        {uk_index_op(a, UK_I_MOD, uk_index_int(a, -7), three), "2"},
        {uk_index_op(a, UK_I_AND, uk_index_op(a, UK_I_LE, x, x), uk_index_op(a, UK_I_LT, x, y)), "x < y"},
        {uk_index_op(a, UK_I_ADD, uk_index_int(a, INT64_MAX), three), "9223372036854775807 + 3"},
        {uk_index_op(a, UK_I_DIV, uk_index_op(a, UK_I_MUL, three, uk_index_op(a, UK_I_ADD, x, y)),
                     uk_index_int(a, 2)),
         "(3 * (x + y)) / 2"},
        {uk_index_op(a, UK_I_SUB, x, uk_index_op(a, UK_I_SUB, y, x)), "x - (y - x)"},
        {uk_index_op(a, UK_I_MUL, uk_index_int(a, -2), x), "-(2 * x)"},
        {uk_index_select(a, uk_index_op(a, UK_I_LT, x, y), x, y), "select(x < y, x, y)"},
        {uk_index_op(a, UK_I_NEG, uk_index_op(a, UK_I_NEG, x, NULL), NULL), "x"},
    };
    int64_t values[2] = {-7, INT64_MAX};
    bool overflow = false;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct uk_text t = {0};

        uk_print_index(&t, cases[i].e);
        assert_string_equal(t.text, cases[i].text);
        uk_text_free(t.text);
    }
    assert_null(uk_index_op(a, UK_I_ADD, x, NULL));
    assert_true(uk_index_equal(x6, uk_index_op(a, UK_I_MUL, uk_index_var(a, &xv), uk_index_int(a, 6))));
    assert_false(uk_index_equal(x6, x));
    assert_int_equal(uk_index_eval(uk_index_op(a, UK_I_DIV, x, three), value_by_number, values, &overflow),
                     -3);
    assert_int_equal(uk_index_eval(uk_index_op(a, UK_I_MOD, x, three), value_by_number, values, &overflow),
                     2);
    assert_false(overflow);
    uk_index_eval(uk_index_op(a, UK_I_ADD, y, three), value_by_number, values, &overflow);
    assert_true(overflow);
    uk_arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_simple),
        cmocka_unit_test(random_trees),
        cmocka_unit_test(programs_keep_their_terms),
        cmocka_unit_test(integers_fold),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
