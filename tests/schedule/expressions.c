/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random programs with random schedules keep their meaning. Printed and parsed again, they give the same
 * text; their loops, interpreted and (for some) compiled, compute exactly what the program does. So do the
 * loops of automatic schedules, for this machine and for a GPU, of every tenth program and the first
 * --automatic ones.
 *
 *     expressions [--seed N|new] [--programs N] [--compiled N] [--automatic N] [--only N] [--show-refused]
 *     [--objects FOLDER]
 *
 * --seed repeats a run, --only runs one program of it, --show-refused prints why programs cannot be
 * scheduled. A refused step is left out, and its reason counted. With --objects, programs are compiled only
 * for other architectures, into this folder.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "random_objects.h"
#include "random_program.h"
#include "random_steps.h"
#include "run_program.h"
#include "test_context.h"
#include "test_options.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

static uint64_t seed = 1;
static int programs = 2000, compiled = 200, automatic = -1, only = -1;
static bool show_refused;
static const char *objects;

/* ---- one program ---- */

struct attempt {
    struct run run;
    int number;
    bool compile;
    struct random_data data[RANDOM_DATA_SHAPES];
};

static bool prints_and_parses(struct attempt *t) {
    struct uk_program *p;
    char *once = NULL, *twice = NULL;
    bool same = !uk_program_print(t->run.program, &once) &&
                !uk_program_parse(context, "printed.uk", once, strlen(once), &p);

    if (same) {
        same = !uk_program_print(p, &twice) && !strcmp(once, twice);
        uk_program_destroy(p);
    }
    if (!same)
        run_complain(&t->run, NULL, twice ? twice : "what is printed is refused");
    uk_text_free(once);
    uk_text_free(twice);
    return same;
}

static bool all_right(struct attempt *t) {
    bool right = true;

    for (int which = 0; which < RANDOM_DATA_SHAPES && right; which++)
        right = run_is_right(&t->run, &t->data[which]);
    return right;
}

/* Compiles an object for another architecture, which is run elsewhere if at all. */
static bool compiles_elsewhere(struct attempt *t) {
    const char *target;
    char name[32];

    snprintf(name, sizeof name, "program_%d", t->number);
    if (random_objects_add(t->run.program, t->data[0].seed, name, &target))
        return true;
    run_complain(&t->run, NULL, target);
    return false;
}

static bool compiles(struct attempt *t) {
    if (objects)
        return compiles_elsewhere(t);
    if (run_code(&t->run)) {
        run_complain(&t->run, NULL, "the loops do not compile");
        return false;
    }
    return all_right(t) && (t->number % 10 || compiles_elsewhere(t));
}

static enum outcome outcome_of(struct attempt *t) {
    struct uk_text steps = {0};
    const enum uk_status status = run_loops(&t->run, &steps);
    bool right = !status && all_right(t);

    if (right && steps.text && steps.length &&
        !run_gives_loops(t->run.program, &t->run.options, steps.text, t->run.loops)) {
        run_complain(&t->run, NULL, "the steps as applied give other loops");
        right = false;
    }
    uk_text_free(steps.text);
    if ((status == UK_REFUSED || status == UK_NO_MATCH || status == UK_UNSUPPORTED) &&
        *uk_context_message(context))
        return REFUSED;
    if (status)
        run_complain(&t->run, NULL, "failed without a reason");
    if (right && t->compile)
        right = compiles(t);
    uk_module_destroy(t->run.module);
    t->run.module = NULL;
    return right ? RIGHT : WRONG;
}

static enum outcome try_steps(void *user, const char *steps, bool quiet) {
    struct attempt *t = user;
    struct uk_program *p = t->run.program;
    const enum uk_status status = *steps ? uk_program_schedule(p, "steps", steps, strlen(steps)) : UK_OK;

    if (!*steps) {
        p->steps = NULL;
        p->has_schedule = false;
    }
    t->run.is_quiet = quiet;
    /* Parsing the steps fails only if a name is taken. */
    const enum outcome o = !status ? outcome_of(t) : status == UK_REFUSED ? REFUSED : WRONG;
    t->run.is_quiet = false;
    return o;
}

/* Runs the program without steps: automatic schedules for this CPU and a GPU. */
static bool right_by_itself(struct attempt *t) {
    static const char *const targets[] = {"native", "amdgcn-gfx90a"};
    const bool compile = t->compile;
    bool right = true;

    t->compile = false;
    for (int i = 0; i < COUNT(targets) && right; i++) {
        t->run.options.target = targets[i];
        right = try_steps(t, "", false) != WRONG;
    }
    t->run.options.target = NULL;
    t->compile = compile;
    return right;
}

struct count {
    int right, refused, wrong, steps, compiled;
};

/* Draws the program and its operands. Returns the text, which belongs to `r`. */
static char *draw(struct attempt *t, struct random_program *r) {
    for (int i = 0; i < 8; i++)
        random_next(&r->x);
    random_program_make(r);
    const uint64_t x = random_next(&r->x) | 1;
    uk_put(&r->head, "%s", r->body.text);
    assert_non_null(r->head.text);
    t->run.program = run_parse(context, "program.uk", r->head.text, NULL);
    for (int which = 0; which < RANDOM_DATA_SHAPES; which++)
        random_data_make(&t->data[which], t->run.program, x + (uint64_t)which * 977, which);
    return r->head.text;
}

static void one_program(int number, bool compile, struct count *n) {
    static struct attempt t;
    char again[64];
    struct random_program r = {.x = (seed + 1) * 0x9e3779b97f4a7c15 + (uint64_t)number * 0xd1342543de82ef95 +
                                    1,
                               .scatters = number % 2};
    int refused = 0;

    snprintf(again, sizeof again, "--seed %" PRIu64 " --only %d", seed, number);
    t = (struct attempt){
        .run = {.context = context, .repeat_arguments = again}, .number = number, .compile = compile};
    const char *text = draw(&t, &r);
    struct random_steps *steps = random_steps_make(&r);
    assert_non_null(steps);
    const bool by_itself = only >= 0 || number % 10 == 0 || number < automatic;
    enum outcome o = prints_and_parses(&t) && (!by_itself || right_by_itself(&t))
                         ? random_steps_apply(steps, context, try_steps, &t, &refused)
                         : WRONG;
    if (o == REFUSED && show_refused)
        print_message("%d: %s\n", number, uk_context_message(context));
    if (only >= 0)
        print_message("%s%s\n", text, uk_context_message(context));
    n->right += o == RIGHT;
    n->refused += o == REFUSED;
    n->wrong += o == WRONG;
    n->steps += o == RIGHT ? steps->steps : 0;
    n->compiled += o == RIGHT && compile;
    free(steps);
    for (int which = 0; which < RANDOM_DATA_SHAPES; which++)
        random_data_free(&t.data[which]);
    run_end(&t.run);
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

    take_options(argc, argv,
                 (struct test_option[]){{.name = "--seed", .seed = &seed},
                                        {.name = "--programs", .number = &programs},
                                        {.name = "--compiled", .number = &compiled},
                                        {.name = "--automatic", .number = &automatic},
                                        {.name = "--only", .number = &only},
                                        {.name = "--show-refused", .flag = &show_refused},
                                        {.name = "--objects", .text = &objects},
                                        {0}});
    return cmocka_run_group_tests_name("expressions", tests, NULL, NULL);
}
