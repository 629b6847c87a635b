/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Automatic schedules for every kind of target, of the examples and of random sums: none may end in a
 * refusal, and each must compute what the statements compute.
 *
 *     drafts [DIRECTORY] [--all] [--ways N] [--count N] [--seed N|new] [--only N] [--objects FOLDER]
 *
 * A way is a target, 1 or 3 threads, and sizes as arguments, constants, or some of each. Its loops run in the
 * interpreter, which evaluates kernels by their declarations and reports races between a GPU's threads; loops
 * for x86-64 also run as machine code. Each program takes --ways of them (default 3), so that several
 * programs take each way; with more than that, code for one target is generated completely. DIRECTORY: uses
 * its programs instead of random ones, without their schedules. FOLDER: runs nothing; writes programs that
 * tests/cross/programs.c runs on other architectures.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "command.h"
#include "loop_work.h"
#include "random.h"
#include "random_objects.h"
#include "random_sums.h"
#include "operands/shape.h"
#include "test_context.h"
#include "test_options.h"
#include "uk.h"
#include "lower/lower.h"

enum {
    PROGRAMS = 64,
    STAGES = 64,
    TUPLES = 5,
    /* operations of the program as written */
    MOST_OPERATIONS = 40 * 1000,
    /* of all tensors: without terms there are no operations, whatever is read */
    MOST_ELEMENTS = 4 * 1000 * 1000,
    /* the same, for sizes at the edges of a GPU's tiles */
    MOST_AT_EDGES = 200 * 1000,
    /* statements executed by the loops: a GPU's tiles have many beyond the edges */
    MOST_INTERPRETED = 1000 * 1000,
    /* ways per program if --ways is not given */
    WAYS_OF_FEW = 3,
};

/* Targets: each architecture and instruction set that has kernels of its own, and one without. */
static const char *const targets[] = {
    "x86_64-avx2",   "x86_64-avx512", "aarch64-neon", "aarch64-neon+dotprod+i8mm+f16+bf16",
    "armv7-neon",    "riscv64",       "riscv64-p",    "amdgcn-gfx906",
    "amdgcn-gfx90a", "nvptx-sm80"};
enum { TARGETS = sizeof targets / sizeof *targets, FIRST_DEVICE = 7, X86 = 2, WAYS = 2 * 2 * TARGETS };

static const char *directory, *objects;
static int ways_of_each = WAYS_OF_FEW;
static uint64_t seed = 1;
static int count = 40, only = -1;

static bool takes_many(void) {
    return ways_of_each > WAYS_OF_FEW;
}

/* ---- steps ---- */

enum uk_status __real_uk_apply_steps(struct uk_schedule *s, struct uk_step *step);
enum uk_status __wrap_uk_apply_steps(struct uk_schedule *s, struct uk_step *step);

/* Checks that a refused step leaves every stage unchanged: automatic schedules continue after it. */
enum uk_status __wrap_uk_apply_steps(struct uk_schedule *s, struct uk_step *step) {
    struct uk_stage *before[STAGES] = {NULL}, *at[STAGES];
    int n = 0;

    for (struct uk_stage *st = s->stages; st; st = st->next) {
        assert_true(n < STAGES);
        assert_non_null(before[n] = malloc(sizeof *st));
        memcpy(before[n], st, sizeof *st);
        at[n++] = st;
    }
    const enum uk_status status = __real_uk_apply_steps(s, step);
    if (status == UK_REFUSED || status == UK_UNSUPPORTED || status == UK_NO_MATCH)
        for (int i = 0; i < n; i++)
            if (memcmp(before[i], at[i], sizeof *at[i]))
                fail_msg("stage %s was changed by a step of kind %d, and this refused: %s", at[i]->name,
                         (int)step->kind, uk_context_message(s->context));
    for (int i = 0; i < n; i++)
        free(before[i]);
    return status;
}

struct trial {
    const char *name, *text;
    char again[96];
    int number;
    uint64_t random;
    struct random_data data[TUPLES];
    int tuples;
    /* numbers of them */
    int schedules, run, failed;
};

/* ---- sizes ---- */

/* Draws a size: below three tiles, one tile, 0 for one of the sizes, 1, or at the edges of a GPU's tiles. */
static int64_t draw_size(struct trial *t, int tuple, int most, bool is_none) {
    static const int64_t edges[] = {1, 7, 17, 40, 63, 64, 65, 129};

    switch (tuple) {
    case 0:
        return 1 + random_below(&t->random, 3 * most);
    case 1:
        return most;
    case 2:
        return is_none ? 0 : 1 + random_below(&t->random, most);
    case 3:
        return 1 + (random_below(&t->random, 4) == 0);
    default:
        return edges[random_below(&t->random, sizeof edges / sizeof *edges)];
    }
}

static double elements_of(const struct uk_program *p, const int64_t *size) {
    double all = 0;

    for (const struct uk_tensor *t = p->tensors; t; t = t->next) {
        double elements = 1;

        for (int d = 0; d < t->stored_dims; d++)
            elements *= (double)uk_value(t->stored[d], size);
        all += elements;
    }
    return all;
}

/* Draws all sizes. False: too large, or against the program's assumptions. Leading dimensions are at least as
 * long as rows. */
static bool draw_sizes(struct trial *t, struct uk_program *p, int tuple, int try, int64_t *size) {
    static const int below[] = {20, 10, 6, 6, 4, 4, 3, 1};
    const int none = random_below(&t->random, 8);

    for (const struct uk_var *v = p->sizes; v; v = v->next) {
        int64_t *at = &size[v->number];

        *at = draw_size(t, tuple, below[try % 8], v->number == none) + (run_is_extent(p, v) ? 0 : 130);
        /* `assume` may require multiples of up to 8 */
        if (try % 2)
            *at = (*at + 7) / 8 * 8;
    }
    run_assume(p, size);
    return elements_of(p, size) <= MOST_ELEMENTS &&
           uk_operations(p, size) <= (tuple == 4 ? MOST_AT_EDGES : MOST_OPERATIONS) &&
           run_is_assumed(p, size);
}

static void draw_data(struct trial *t, struct uk_program *p) {
    for (int tuple = 0; tuple < TUPLES; tuple++) {
        struct random_data *d = &t->data[t->tuples];

        *d = (struct random_data){.small = true};
        for (int try = 0; try < 16; try++)
            if (draw_sizes(t, p, tuple, try, d->size)) {
                random_data_fill(d, p, t->random);
                allow_tolerances(d, p);
                t->tuples++;
                break;
            }
    }
}

/* ---- one schedule ---- */

struct way {
    int target, threads;
    bool constants, native;
};

/* True if the program is only for other targets: C imports may be for one architecture, as #include shows. */
static bool is_for_others(const struct uk_context *c) {
    return strstr(uk_context_message(c), "only meant to be used on x86");
}

/* Generates code, which LLVM must not refuse: for GPUs always, and completely for one target per program. */
static void check_code(struct trial *t, const struct way *w, struct run *r) {
    const bool is_device = w->target >= FIRST_DEVICE,
               whole = takes_many() && w->target == t->number % TARGETS;
    const struct uk_options o = {.target = targets[w->target], .threads = w->threads};
    char *bytes;
    size_t length;

    if (!is_device && !whole)
        return;
    if (uk_emit(r->program, &o,
                !whole      ? UK_EMIT_LLVM
                : is_device ? UK_EMIT_DEVICE
                            : UK_EMIT_OBJECT,
                &bytes, &length) &&
        !is_for_others(context))
        run_complain(r, NULL, "no code is made of it");
    uk_text_free(bytes);
}

/* `tuple`: its sizes become the constants, all of them or every other one. Without constants the function
 * with sizes as arguments runs on all tuples. */
static void schedule(struct trial *t, const struct way *w, int tuple) {
    struct random_data *d = w->constants ? &t->data[tuple] : NULL;
    struct run r = {.context = context,
                    .program = run_parse(context, t->name, t->text, NULL),
                    .options = {.target = targets[w->target], .threads = w->threads},
                    .repeat_arguments = t->again};

    r.program->steps = NULL;
    for (int i = 0; d && i < uk_program_sizes(r.program); i++)
        if (i % 2 || (t->number + tuple) % 2)
            assert_int_equal(uk_program_define(r.program, uk_program_size_name(r.program, i), d->size[i]),
                             UK_OK);
    if (w->native ? run_compile(&r) : run_loops(&r, NULL)) {
        /* Sizes that the interpreter refuses must be refused as constants. */
        if (!is_for_others(context) && (!d || !d->status))
            run_complain(&r, d, "refused");
    } else {
        for (int i = 0; i < t->tuples; i++)
            if ((!d || i == tuple) &&
                (w->native || loop_work(r.loops, t->data[i].size) <= MOST_INTERPRETED)) {
                run_is_right(&r, &t->data[i]);
                t->run++;
            }
        check_code(t, w, &r);
    }
    t->schedules++;
    t->failed += r.wrong;
    run_end(&r);
}

/* ---- one program ---- */

/* Kernels that the program declares may need what other targets lack, or fixed extents: then plain loops are
 * right. */
static void check_program(const char *name, const char *text, int number) {
    struct trial t = {.name = name, .text = text, .number = number, .random = seed + (uint64_t)number};
    int n = 0;

    snprintf(t.again, sizeof t.again, "--seed %" PRIu64 " --ways %d --only %d", seed, ways_of_each, number);
    struct uk_program *p = run_parse(context, name, text, NULL);
    draw_data(&t, p);
    uk_program_destroy(p);
    for (int target = 0; target < TARGETS; target++)
        for (int threads = 1; threads <= 3; threads += 2)
            for (int constants = 0; constants < 2; constants++) {
                const struct way w = {.target = target, .threads = threads, .constants = constants};

                if (t.tuples && (n + WAYS - number * ways_of_each % WAYS) % WAYS < ways_of_each)
                    schedule(&t, &w, (n + number) % t.tuples);
                n++;
            }
    const struct way native = {
        .target = number / 2 % X86, .threads = 3, .constants = number / 4 % 2, .native = true};
    if (run_is_possible(targets[native.target]) && t.tuples)
        schedule(&t, &native, number % t.tuples);
    for (int i = 0; i < t.tuples; i++)
        random_data_free(&t.data[i]);
    print_message("%s: %d schedules, %d results, %d wrong\n", name, t.schedules, t.run, t.failed);
    assert_int_equal(t.failed, 0);
}

static void make_objects(const char *name, const char *text, int number) {
    struct uk_program *p = run_parse(context, name, text, NULL);
    const char *target = "";

    if (!random_objects_add(p, seed + (uint64_t)number, name, &target))
        fail_msg("%s for %s: %s\n%s", name, target, uk_context_message(context), text);
    uk_program_destroy(p);
}

static void run_random(void **state) {
    const int number = (int)(intptr_t)*state;
    char text[RANDOM_SUM_TEXT], name[32];

    snprintf(name, sizeof name, "random_%d", number);
    random_sum_make(seed, number, text);
    if (only >= 0)
        print_message("%s", text);
    if (objects)
        make_objects(name, text, number);
    else
        check_program(name, text, number);
}

static void run_example(void **state) {
    static int number;
    char *text = read_text(*state);

    if (only < 0 || number == only)
        check_program(*state, text, number);
    number++;
    free(text);
}

int main(int argc, char **argv) {
    bool all = false;

    take_options(argc, argv,
                 (struct test_option[]){{.text = &directory},
                                        {.name = "--all", .flag = &all},
                                        {.name = "--ways", .number = &ways_of_each},
                                        {.name = "--seed", .seed = &seed},
                                        {.name = "--count", .number = &count},
                                        {.name = "--only", .number = &only},
                                        {.name = "--objects", .text = &objects},
                                        {0}});
    ways_of_each = all ? WAYS : ways_of_each;
    const int most = directory ? PROGRAMS : count;
    struct CMUnitTest *tests = calloc((size_t)most + 1, sizeof *tests);
    int n = 0;
    if (!tests)
        return 99;
    if (directory)
        n = find_tests(directory, NULL, run_example, tests, PROGRAMS);
    for (int i = 0; i < count && !directory; i++)
        if (only < 0 || only == i)
            tests[n++] = (struct CMUnitTest){
                .name = "random", .test_func = run_random, .initial_state = (void *)(intptr_t)i};
    print_message("--seed %" PRIu64 "\n", seed);
    random_objects_begin(objects);
    const int failed =
        n ? _cmocka_run_group_tests("drafts", tests, (size_t)n, make_context, destroy_context) : 1;
    random_objects_end();
    free(tests);
    return failed;
}
