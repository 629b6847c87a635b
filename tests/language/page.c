/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Examples of uk.5, read from the page. A block of the page (.nf to .fi) is
 *
 * - a program: compiled for this machine or, with blocks and threads, for interp, and compared with the
 *   interpreter for several sizes;
 * - if it begins with "f(": the exact loops of the program before it, for the target interp;
 * - if it begins with "f.uk:": the message that refuses the program before it, broken into lines.
 *
 *     page UK.5
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "manual.h"
#include "lower/lower.h"
#include "random.h"
#include "run_program.h"

static const char *page;
static struct manual_block *blocks;
static size_t block_count;

static bool begins(const char *text, const char *with) {
    return !strncmp(text, with, strlen(with));
}

static bool is_program(const struct manual_block *b) {
    return strcmp(b->section, "GRAMMAR") && !begins(b->text, "f(") && !begins(b->text, "f.uk:");
}

static bool is_refused(const struct manual_block *b) {
    return b + 1 < blocks + block_count && begins(b[1].text, "f.uk:");
}

static struct uk_program *parse(struct uk_context *c, const struct manual_block *b) {
    struct uk_program *p;

    if (uk_program_parse(c, "f.uk", b->text, strlen(b->text), &p))
        fail_msg("%s:%d: %s", page, b->line, uk_context_message(c));
    return p;
}

/* Replaces line breaks and the spaces around them by one space. */
static void join_lines(const char *text, char *to, size_t room) {
    size_t n = 0;

    for (; *text && n + 1 < room; text++)
        if (!isspace((unsigned char)*text))
            to[n++] = *text;
        else if (n && to[n - 1] != ' ')
            to[n++] = ' ';
    while (n && to[n - 1] == ' ')
        n--;
    to[n] = 0;
}

static void refusals_are_what_the_page_says(void **state) {
    (void)state;
    int refused = 0;

    for (struct manual_block *b = blocks; b < blocks + block_count; b++) {
        struct uk_options o = {.target = "interp"};
        struct uk_context *c;
        struct uk_program *p = NULL;
        char wanted[2048], got[2048], *loops = NULL;
        size_t n;

        if (!is_program(b) || !is_refused(b))
            continue;
        assert_non_null(c = uk_context_create());
        if (!uk_program_parse(c, "f.uk", b->text, strlen(b->text), &p) &&
            !uk_emit(p, &o, UK_EMIT_LOOPS, &loops, &n))
            fail_msg("%s:%d: the program is not refused", page, b->line);
        join_lines(b[1].text, wanted, sizeof wanted);
        join_lines(uk_context_message(c), got, sizeof got);
        if (strcmp(wanted, got))
            fail_msg("%s:%d: the page has\n%s\nand the message is\n%s", page, b[1].line, wanted, got);
        uk_program_destroy(p);
        uk_context_destroy(c);
        refused++;
    }
    assert_true(refused >= 8);
}

static void loops_are_what_the_page_says(void **state) {
    (void)state;
    int shown = 0;

    for (struct manual_block *b = blocks; b < blocks + block_count; b++) {
        struct uk_options o = {.target = "interp"};
        char *loops;
        size_t n;

        if (!begins(b->text, "f("))
            continue;
        assert_true(b > blocks && is_program(b - 1));
        struct uk_context *c = uk_context_create();
        struct uk_program *p = parse(c, b - 1);
        if (uk_emit(p, &o, UK_EMIT_LOOPS, &loops, &n))
            fail_msg("%s:%d: %s", page, b[-1].line, uk_context_message(c));
        if (strcmp(loops, b->text))
            fail_msg("%s:%d: the page has\n%s\nand the loops are\n%s", page, b->line, b->text, loops);
        uk_text_free(loops);
        uk_program_destroy(p);
        uk_context_destroy(c);
        shown++;
    }
    assert_true(shown >= 15);
}

enum { SHAPES = 4 };

/* Chooses sizes: the program's values, one more, 1, and 0; then sizes without a value. Strides are at least a
 * row's length. */
static void choose_sizes(const struct uk_program *p, int shape, int64_t *size) {
    for (int i = 0; i < uk_program_sizes(p); i++) {
        int64_t value = uk_program_size_default(p, i);
        bool leading = begins(uk_program_size_name(p, i), "ld");

        value = value >= 0 ? value : leading ? 320 : 5;
        size[i] = shape == 0 || leading ? value : shape == 1 ? value + 1 : shape == 2;
    }
}

static bool is_approximate(const struct uk_expr *e) {
    for (int i = 0; i < 3; i++)
        if (e->arg[i] && is_approximate(e->arg[i]))
            return true;
    return (uk_ulps(e->op) > 0);
}

/* Allows errors in the last places of f64 results computed from exp and the like. */
static void allow_approximate(struct random_data *d, const struct uk_program *p) {
    const struct uk_statement *s = p->statements;

    while (s && !is_approximate(s->right))
        s = s->next;
    for (int i = 0; s && i < d->tensors; i++)
        if (uk_program_tensor_type(p, i) == UK_F64)
            random_data_allow(d, p, i, 16, 0);
}

/* True if the sizes are legal; otherwise the function must refuse them, too. */
static bool run(const struct manual_block *b, struct run *r, int shape) {
    struct random_data d = {0};

    choose_sizes(r->program, shape, d.size);
    random_data_fill(&d, r->program, (uint64_t)b->line);
    allow_approximate(&d, r->program);
    if (!run_is_right(r, &d))
        fail_msg("%s:%d", page, b->line);
    random_data_free(&d);
    return !d.status;
}

static void programs_run(void **state) {
    (void)state;
    int programs = 0, runs = 0;

    for (struct manual_block *b = blocks; b < blocks + block_count; b++) {
        if (!is_program(b) || is_refused(b))
            continue;
        struct uk_context *c = uk_context_create();
        struct run r = {.context = c,
                        .program = parse(c, b),
                        .options.target = strstr(b->text, "\n  bind ") ? "interp" : NULL,
                        .repeat_arguments = "page"};
        if (run_compile(&r))
            fail_msg("%s:%d: %s", page, b->line, uk_context_message(c));
        if (!run(b, &r, 0))
            fail_msg("%s:%d: the sizes of the example are refused", page, b->line);
        for (int shape = 1; shape < SHAPES; shape++)
            runs += run(b, &r, shape);
        run_end(&r);
        uk_context_destroy(c);
        programs++;
    }
    print_message("%d programs, %d more runs\n", programs, runs);
    assert_true(programs >= 35 && runs >= programs);
}

/* Every limit of the code is on the page, as ".TP", the number, and the thing counted. */
static void limits_are_those_of_the_code(void **state) {
    static const struct {
        int limit;
        const char *of;
    } limits[] = {
        {UK_MAX_IMPORT, "bytes of a text"},
        {UK_MAX_LINE, "bytes of a line"},
        {UK_MAX_NESTING, "brackets inside each other"},
        {UK_MAX_DEPTH, "operators inside each other"},
        {UK_MAX_DIMS, "dimensions of a tensor"},
        {UK_MAX_OPERANDS, "accesses of a statement"},
        {UK_MAX_LOOPS, "loops around a statement"},
        {UK_MAX_ALL_LOOPS, "loops of all stages"},
        {UK_MAX_BOUNDS, "bounds of a stage"},
        {UK_MAX_VERSIONS, "schedules of a program"},
        {UK_MAX_STAGES, "stages"},
        {UK_MAX_SIZES, "sizes and strides of an intrinsic"},
    };
    char *source = manual_source(page);

    (void)state;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        char entry[128];

        snprintf(entry, sizeof entry, "\n.TP\n%d\n%s", limits[i].limit, limits[i].of);
        if (!strstr(source, entry))
            fail_msg("%s does not say that the limit is %d %s", page, limits[i].limit, limits[i].of);
    }
    free(source);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals_are_what_the_page_says),
        cmocka_unit_test(loops_are_what_the_page_says),
        cmocka_unit_test(programs_run),
        cmocka_unit_test(limits_are_those_of_the_code),
    };

    if (argc != 2) {
        fprintf(stderr, "usage: page UK.5\n");
        return 2;
    }
    page = argv[1];
    blocks = manual_read(page, &block_count);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    manual_free(blocks, block_count);
    return failed;
}
