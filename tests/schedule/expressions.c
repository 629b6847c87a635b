/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random programs with random schedules keep their meaning: printed and parsed again they are the same text;
 * the loops that they become, interpreted and (some of them) compiled, give exactly what the program gives.
 * So do the loops of automatic schedules, for this machine and for a GPU; without --automatic, of a tenth of
 * the programs.
 *
 *     expressions [--seed N|new] [--programs N] [--compiled N] [--automatic N] [--only N] [--show-refused 1]
 *     [--objects FOLDER]
 *
 * --seed repeats a run, --only one program of it, --show-refused prints why programs cannot be scheduled. A
 * step that is refused is left out, with its reason counted. With --objects, what is compiled is compiled for
 * other architectures only, into that folder.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "language/language.h"
#include "random_data.h"
#include "random_objects.h"
#include "random_program.h"
#include "random_steps.h"
#include "seed.h"
#include "target/target.h"
#include "interpret/interpret.h"
#include "lower/lower.h"
#include "test_context.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))
enum { FIRST_LINE = 1000 };

static uint64_t seed = 1;
static int programs = 2000, compiled = 200, automatic = -1, only = -1, show_refused;
static const char *objects;
enum outcome { RIGHT, REFUSED, WRONG };

/* ---- one program ---- */

struct attempt {
    int number;
    uint64_t x; /* of the data */
    struct uk_program *program;
    const char *text, *target; /* target: NULL: native */
    bool compile, quiet;
    int refused_programs;
};

static void complain(const struct attempt *t, const char *what, const char *detail) {
    char *text = NULL;

    if (t->quiet)
        return;
    print_error("--seed %" PRIu64 " --only %d: %s: %s\n%s\n", seed, t->number, what, detail,
                uk_context_message(context));
    if (!uk_program_print(t->program, &text))
        print_error("%s", text);
    uk_text_free(text);
}

static bool prints_and_parses(const struct attempt *t) {
    struct uk_program *p;
    char *once = NULL, *twice = NULL;
    bool same = !uk_program_print(t->program, &once) &&
                !uk_program_parse(context, "printed.uk", once, strlen(once), &p);

    if (same) {
        same = !uk_program_print(p, &twice) && !strcmp(once, twice);
        uk_program_destroy(p);
    }
    if (!same)
        complain(t, "the printed program is another one", twice ? twice : "refused");
    uk_text_free(once);
    uk_text_free(twice);
    return same;
}

/* The loops take a place for each tensor, temporaries too. */
static enum uk_status interpret_loops(const struct attempt *t, struct uk_function *f,
                                      const struct random_data *d) {
    void *tensor[RANDOM_DATA_TENSORS] = {NULL};
    int n = 0, given = 0;

    for (const struct uk_tensor *x = t->program->tensors; x; x = x->next) {
        assert_true(n < RANDOM_DATA_TENSORS);
        tensor[n++] = x->kind == UK_TENSOR_ARGUMENT ? d->origin[given++] : NULL;
    }
    return uk_interpret_function(
        f, &(struct uk_values){.size = d->size, .scalar = d->scalar, .tensor = tensor}, 0xff);
}

/* Compares one way to run the program with the interpreter: f's loops, or m's machine code. */
static bool run_one(const struct attempt *t, struct uk_function *f, const struct uk_module *m, int which) {
    struct random_data d = {0};
    char where[64] = "", detail[1024] = "";
    enum uk_status status;
    const char *what = f ? "interpreted loops" : "machine code";

    random_data_make(&d, t->program, t->x + (uint64_t)which * 977, which);
    random_data_begin(&d);
    uk_context_enter(context, "program.uk");
    if (f)
        status = interpret_loops(t, f, &d);
    else
        status = (enum uk_status)uk_module_call(m, d.size, d.scalar, d.origin);
    bool right = !status == !d.status && (status || random_data_same(&d, t->program, where));
    if (!right) {
        random_data_shape(t->program, &d, detail, sizeof detail);
        size_t n = strlen(detail);
        snprintf(detail + n, sizeof detail - n, ": %s, status %d, wanted %d", where, status, d.status);
        complain(t, what, detail);
    }
    random_data_free(&d);
    return right;
}

static enum uk_status lower(const struct attempt *t, struct uk_text *steps, struct uk_function **f) {
    const struct uk_target *target;
    const struct uk_options o = {.target = t->target ? t->target : "native"};

    uk_context_enter(context, "steps");
    if (uk_target_find(context, o.target, &target))
        fail_msg("%s", uk_context_message(context));
    return uk_lower(t->program, target, &o, NULL, steps, f);
}

static bool same_steps_again(const struct attempt *t, const char *steps, struct uk_function *f) {
    struct uk_text loops = {0}, again = {0};
    struct uk_function *g;

    uk_print_loops(&loops, f);
    bool same = !uk_program_schedule(t->program, "steps", steps, strlen(steps)) && !lower(t, NULL, &g);
    if (same)
        uk_print_loops(&again, g);
    same = same && loops.text && again.text && !strcmp(loops.text, again.text);
    if (!same)
        complain(t, "the steps as applied give other loops", steps);
    uk_text_free(loops.text);
    uk_text_free(again.text);
    return same;
}

static bool run_compiled(const struct attempt *t) {
    const struct uk_options o = {.target = "native"};
    struct uk_module *m;

    if (uk_compile(t->program, &o, &m)) {
        complain(t, "the loops do not compile", "");
        return false;
    }
    bool right = true;
    for (int which = 0; which < RANDOM_DATA_SHAPES && right; which++)
        right = run_one(t, NULL, m, which);
    uk_module_destroy(m);
    return right;
}

/* For other architectures an object is made, and run elsewhere if at all. */
static bool compiles_elsewhere(const struct attempt *t) {
    const char *target;
    char name[32];

    snprintf(name, sizeof name, "program_%d", t->number);
    if (random_objects_add(t->program, t->x, name, &target))
        return true;
    complain(t, "the loops do not compile for", target);
    return false;
}

static enum outcome outcome_of(const struct attempt *t) {
    struct uk_text steps = {0};
    struct uk_function *f;
    enum uk_status status = lower(t, &steps, &f);
    bool right = true;

    if (status) {
        uk_text_free(steps.text);
        if ((status == UK_REFUSED || status == UK_NO_MATCH || status == UK_UNSUPPORTED) &&
            *uk_context_message(context))
            return REFUSED;
        complain(t, "failed", "no reason");
        return WRONG;
    }
    for (int which = 0; which < RANDOM_DATA_SHAPES && right; which++)
        right = run_one(t, f, NULL, which);
    if (right && steps.text && steps.length)
        right = same_steps_again(t, steps.text, f);
    if (right && t->compile)
        right =
            objects ? compiles_elsewhere(t) : run_compiled(t) && (t->number % 10 || compiles_elsewhere(t));
    uk_text_free(steps.text);
    return right ? RIGHT : WRONG;
}

/* The steps begin at a line that no program has, so that a refusal's line shows whether it is about a step.
 * */
static enum outcome outcome_of_steps(const struct attempt *t, const struct random_steps *r) {
    struct uk_text text = {0};
    char newlines[FIRST_LINE];

    memset(newlines, '\n', sizeof newlines - 1);
    newlines[sizeof newlines - 1] = 0;

    uk_put(&text, "%s", newlines);
    for (int i = 0; i < r->steps; i++)
        uk_put(&text, "%s\n", r->step[i]);
    assert_non_null(text.text);
    enum uk_status status = uk_program_schedule(t->program, "steps", text.text, text.length);
    uk_text_free(text.text);
    if (!status)
        return outcome_of(t);
    /* What the text alone shows to be wrong: a name that is taken. */
    return status == UK_REFUSED ? REFUSED : WRONG;
}

/* The fewest steps that still go wrong, printed. */
static void shrink(const struct attempt *t, const struct random_steps *all) {
    struct random_steps least = *all;
    struct attempt quiet = *t;

    quiet.quiet = true;
    for (int i = 0; i < least.steps;) {
        struct random_steps r = least;

        random_steps_leave_out(&r, i, false);
        if (outcome_of_steps(&quiet, &r) == WRONG)
            least = r;
        else
            i++;
    }
    outcome_of_steps(t, &least);
}

/* Applies the steps without those that are refused. */
static enum outcome try_steps(struct attempt *t, struct random_steps *r) {
    struct attempt quiet = *t;

    quiet.quiet = true;
    for (;;) {
        int line = 0;
        enum outcome o = outcome_of_steps(&quiet, r);

        if (o == WRONG)
            shrink(t, r);
        if (o != REFUSED)
            return o;
        if (sscanf(uk_context_message(context), "steps:%d:", &line) != 1 || line < FIRST_LINE)
            return REFUSED; /* the program is */
        random_steps_leave_out(r, line - FIRST_LINE, true);
    }
}

/* Without steps: the schedules that are chosen for it. */
static bool right_by_itself(const struct attempt *t, const char *text) {
    static const char *const targets[] = {"native", "amdgcn-gfx90a"};
    bool right = true;

    for (int i = 0; i < COUNT(targets) && right; i++) {
        struct attempt a = {.number = t->number, .x = t->x, .target = targets[i]};

        assert_int_equal(uk_program_parse(context, "program.uk", text, strlen(text), &a.program), UK_OK);
        right = outcome_of(&a) != WRONG;
        uk_program_destroy(a.program);
    }
    return right;
}

struct count {
    int right, refused, wrong, steps, compiled;
};

static void one_program(int number, bool compile, struct count *n) {
    struct attempt t = {.number = number, .compile = compile};
    struct random_program r = {.x = (seed + 1) * 0x9e3779b97f4a7c15 + (uint64_t)number * 0xd1342543de82ef95 +
                                    1};

    for (int i = 0; i < 8; i++)
        random_next(&r.x);
    random_program_make(&r);
    t.x = random_next(&r.x) | 1;
    uk_put(&r.head, "%s", r.body.text);
    assert_non_null(r.head.text);
    if (uk_program_parse(context, "program.uk", r.head.text, r.head.length, &t.program))
        fail_msg("--seed %" PRIu64 " --only %d: %s\n%s", seed, number, uk_context_message(context),
                 r.head.text);
    struct random_steps *steps = random_steps_make(&r);
    assert_non_null(steps);
    const bool by_itself = only >= 0 || number % 10 == 0 || number < automatic;
    enum outcome o = prints_and_parses(&t) && (!by_itself || right_by_itself(&t, r.head.text))
                         ? try_steps(&t, steps)
                         : WRONG;
    if (o == REFUSED && show_refused)
        print_message("%d: %s\n", number, uk_context_message(context));
    if (only >= 0)
        print_message("%s%s\n", r.head.text, uk_context_message(context));
    n->right += o == RIGHT;
    n->refused += o == REFUSED;
    n->wrong += o == WRONG;
    n->steps += o == RIGHT ? steps->steps : 0;
    n->compiled += o == RIGHT && compile;
    free(steps);
    uk_program_destroy(t.program);
    random_program_free(&r);
}

static void random_programs(void **state) {
    struct count n = {0};

    (void)state;
    print_message("--seed %" PRIu64 "\n", seed);
    random_objects_begin(objects);
    for (int i = 0; i < programs && n.wrong < 10; i++)
        if (only < 0 || i == only)
            one_program(i, only >= 0 || n.compiled < (int)((int64_t)compiled * (i + 1) / programs), &n);
    print_message("%d programs right with %d steps (%d of them compiled), %d refused, %d wrong\n", n.right,
                  n.steps, n.compiled, n.refused, n.wrong);
    random_steps_report();
    random_objects_end();
    assert_int_equal(n.wrong, 0);
    assert_true(only >= 0 || n.right > programs / 10 * 9);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(random_programs, make_context, destroy_context),
    };

    for (int i = 1; i < argc; i += 2) {
        if (i + 1 < argc && !strcmp(argv[i], "--seed")) {
            seed = seed_of(argv[i + 1]);
        } else if (i + 1 < argc && !strcmp(argv[i], "--programs")) {
            programs = atoi(argv[i + 1]);
        } else if (i + 1 < argc && !strcmp(argv[i], "--compiled")) {
            compiled = atoi(argv[i + 1]);
        } else if (i + 1 < argc && !strcmp(argv[i], "--automatic")) {
            automatic = atoi(argv[i + 1]);
        } else if (i + 1 < argc && !strcmp(argv[i], "--only")) {
            only = atoi(argv[i + 1]);
        } else if (i + 1 < argc && !strcmp(argv[i], "--show-refused")) {
            show_refused = atoi(argv[i + 1]);
        } else if (i + 1 < argc && !strcmp(argv[i], "--objects")) {
            objects = argv[i + 1];
        } else {
            fprintf(stderr, "usage: expressions [--seed N|new] [--programs N] [--compiled N] [--automatic N] "
                            "[--only N] [--show-refused 1] [--objects FOLDER]\n");
            return 2;
        }
    }
    return cmocka_run_group_tests_name("expressions", tests, NULL, NULL);
}
