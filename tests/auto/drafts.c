/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Automatic schedules for every kind of target, of the examples and of random sums: none may end in a
 * refusal, and each must compute what the program as it is written computes.
 *
 *     drafts [DIRECTORY] [--all] [--ways N] [--count N] [--seed N|new] [--only N] [--objects FOLDER]
 *
 * Each program is scheduled with 1 and 3 threads, with its sizes as arguments and as constants; the loops run
 * in the interpreter (which knows kernels by their declarations, and reports races between a GPU's threads),
 * and those for x86-64 as machine code, too. Every program takes some of these ways, 3 unless more are
 * wanted, so that each way is taken by several programs; where it takes more, one target's code is made to
 * the end. DIRECTORY: its programs in the place of random ones, without their schedules. FOLDER: nothing runs
 * here; what tests/cross/programs.c runs on other architectures goes there.
 */
#define _POSIX_C_SOURCE 200809L /* strdup */
#include <dirent.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "random.h"
#include "random_objects.h"
#include "random_sums.h"
#include "seed.h"
#include "test_context.h"
#include "loop_work.h"
#include "uk.h"
#include "interpret/interpret.h"
#include "lower/lower.h"

enum {
    SIZES = 24,
    SCALARS = 16,
    TENSORS = 64,
    PROGRAMS = 64,
    STAGES = 64,
    TUPLES = 4,
    MOST_OPERATIONS = 40 * 1000,   /* of the program as it is written, */
    MOST_INTERPRETED = 400 * 1000, /* and statements of its loops: a GPU's tiles have many beyond the edges */
    WAYS_OF_FEW = 3,               /* that a program takes by itself */
};

/* One of each architecture and instruction set that has kernels of its own, or none. */
static const char *const targets[] = {
    "x86_64-avx2",   "x86_64-avx512", "aarch64-neon", "aarch64-neon+dotprod+i8mm+f16+bf16",
    "armv7-neon",    "riscv64",       "riscv64-p",    "amdgcn-gfx906",
    "amdgcn-gfx90a", "nvptx-sm80"};
enum { TARGETS = sizeof targets / sizeof *targets, FIRST_DEVICE = 7, X86 = 2, WAYS = 2 * 2 * TARGETS };

static const char *directory, *objects;
static int ways_of_each = WAYS_OF_FEW;
static uint64_t seed = 1;
static int count = 20, only = -1;

int uk_complain(int status, const char *format, ...) {
    va_list ap;

    va_start(ap, format);
    vfprintf(stderr, format, ap);
    fputc('\n', stderr);
    va_end(ap);
    return status;
}

static bool takes_many(void) {
    return ways_of_each > WAYS_OF_FEW;
}

/* ---- steps ---- */

enum uk_status __real_uk_apply_steps(struct uk_schedule *s, struct uk_step *step);
enum uk_status __wrap_uk_apply_steps(struct uk_schedule *s, struct uk_step *step);

/* A step that is refused leaves every stage as it was: automatic schedules go on without it. */
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
    int number;
    uint64_t random;
    int64_t size[TUPLES][SIZES];
    int tuples;
    int schedules, run, failed; /* counted */
};

/* ---- sizes ---- */

/* What the program assumes to be equal to something is made so. */
static void assume(const struct uk_program *p, int64_t *size) {
    for (const struct uk_assume *a = p->assumes; a; a = a->next)
        if (a->relation->op == UK_I_EQ && a->relation->a->op == UK_I_VAR)
            size[a->relation->a->var->number] = uk_value(a->relation->b, size);
}

static bool is_extent(const struct uk_program *p, const struct uk_var *v) {
    for (const struct uk_tensor *x = p->tensors; x; x = x->next)
        for (int d = 0; d < x->dims; d++)
            if (uk_mentions(x->shape[d], v))
                return true;
    return false;
}

static bool is_assumed(const struct uk_program *p, const int64_t *size) {
    for (const struct uk_assume *a = p->assumes; a; a = a->next)
        if (!uk_value(a->relation, size))
            return false;
    return true;
}

/* Around tiles, below a tile, nothing along one size, and one. */
static void draw_sizes(struct trial *t, struct uk_program *p) {
    static const int below[] = {20, 10, 6, 6, 4, 4, 3, 1};

    t->tuples = 0;
    for (int n = 0; n < TUPLES; n++) {
        int64_t *size = t->size[t->tuples];
        const int none = random_below(&t->random, SIZES / 3);

        for (int try = 0; try < (int)(sizeof below / sizeof *below); try++) {
            for (const struct uk_var *v = p->sizes; v; v = v->next) {
                const int i = v->number, most = below[try];

                size[i] = n == 0   ? 1 + random_below(&t->random, 3 * most)
                          : n == 1 ? most
                          : n == 2 ? i == none ? 0 : 1 + random_below(&t->random, most)
                                   : 1 + (random_below(&t->random, 4) == 0);
                if (!is_extent(p, v)) /* leading dimensions hold the rows */
                    size[i] += 4 * below[0];
                if (try % 2) /* what is assumed to be a multiple, is one of 8 */
                    size[i] = (size[i] + 7) / 8 * 8;
            }
            assume(p, size);
            if (uk_operations(p, size) <= MOST_OPERATIONS && is_assumed(p, size))
                break;
        }
        t->tuples += uk_operations(p, size) <= MOST_OPERATIONS && is_assumed(p, size);
    }
}

/* ---- one schedule ---- */

struct way {
    int target, threads;
    bool constants, native;
};

static void wrong(struct trial *t, const struct way *w, const struct uk_program *p, const int64_t *size,
                  const char *what) {
    print_error("%s, %s, %d threads%s:", t->name, targets[w->target], w->threads,
                w->native ? ", machine code" : "");
    for (int i = 0; size && i < uk_program_sizes(p); i++)
        print_error(" %s%s%" PRId64, uk_program_size_name(p, i), w->constants ? " always " : "=", size[i]);
    print_error(": %s\n%s", what, t->failed++ ? "" : t->text);
}

static struct uk_program *parse(const struct trial *t) {
    struct uk_program *p;

    if (uk_program_parse(context, t->name, t->text, strlen(t->text), &p))
        fail_msg("%s\n%s", uk_context_message(context), t->text);
    p->steps = NULL;
    return p;
}

/* The sizes that are arguments, in order. */
static int pass(const struct uk_program *p, const int64_t *size, int64_t *argument) {
    int n = 0;

    for (const struct uk_var *v = p->sizes; v; v = v->next)
        if (!v->defined)
            argument[n++] = size[v->number];
    return n;
}

/* What a schedule made: loops for the interpreter, or machine code. */
struct made {
    struct uk_function *loops;
    struct uk_module *code;
};

static int call(struct uk_program *p, const struct made *m, const int64_t *size, const double *scalar,
                struct uk_data *data) {
    void *tensor[TENSORS] = {NULL};
    int64_t argument[SIZES];
    int n = 0, i = 0;

    pass(p, size, argument);
    if (m->code)
        return uk_module_call(m->code, argument, scalar, data->origins);
    for (const struct uk_tensor *x = p->tensors; x; x = x->next, n++) {
        assert_true(n < TENSORS);
        if (x->kind == UK_TENSOR_ARGUMENT)
            tensor[n] = data->origins[i++];
    }
    return (int)uk_interpret_function(
        m->loops, &(struct uk_values){.size = size, .scalar = scalar, .tensor = tensor}, 0xff);
}

static void compare(struct trial *t, const struct way *w, struct uk_program *p, const struct made *m,
                    const int64_t *size) {
    struct uk_data got, expected;
    double scalar[SCALARS];

    for (int i = 0; i < SCALARS; i++)
        scalar[i] = i + 2;
    assert_int_equal(uk_data_create(&got, p, size), 0);
    assert_int_equal(uk_data_create(&expected, p, size), 0);
    uk_data_integers(&got);
    uk_data_integers(&expected);
    struct uk_tolerance *each = uk_tolerances(p, size);
    assert_non_null(each);
    const enum uk_status status = uk_program_interpret(p, size, scalar, expected.origins);
    const int returned = call(p, m, size, scalar, &got);
    if ((status != UK_OK) != (returned != 0))
        wrong(t, w, p, size, returned ? "refused when called" : "taken, and the interpreter refuses it");
    else if (!status && !uk_data_equal(&got, &expected, size, each))
        wrong(t, w, p, size, "not what the program computes");
    free(each);
    uk_data_free(&got);
    uk_data_free(&expected);
    t->run++;
}

/* Does the interpreter take the sizes? Those that it refuses are refused as constants. */
static bool is_taken(struct uk_program *p, const int64_t *size) {
    const double scalar[SCALARS] = {0};
    struct uk_data data;
    char *why = strdup(uk_context_message(p->context));

    assert_int_equal(uk_data_create(&data, p, size), 0);
    uk_data_integers(&data);
    const bool taken = !uk_program_interpret(p, size, scalar, data.origins);
    uk_data_free(&data);
    uk_context_enter(p->context, NULL);
    uk_fail_again(p->context, UK_REFUSED, why);
    free(why);
    return taken;
}

/* C that a program imports may be for one architecture only, as its #include says; f16 needs instructions
 * that some lack. */
static bool is_for_others(const struct uk_context *c) {
    return strstr(uk_context_message(c), "only meant to be used on x86") ||
           strstr(uk_context_message(c), "f16 needs a target with");
}

/* What LLVM refuses, a schedule must not make: a GPU's kernels become LLVM's; of one target the code is made
 * to the end. */
static void check_code(struct trial *t, const struct way *w, struct uk_program *p, const int64_t *size) {
    const struct uk_options o = {.target = targets[w->target], .threads = w->threads};
    const bool is_device = w->target >= FIRST_DEVICE,
               whole = takes_many() && w->target == t->number % TARGETS;
    char *bytes;
    size_t length;

    if (!is_device && !whole)
        return;
    if (uk_emit(p, &o,
                !whole      ? UK_EMIT_LLVM
                : is_device ? UK_EMIT_DEVICE
                            : UK_EMIT_OBJECT,
                &bytes, &length) &&
        !is_for_others(p->context))
        wrong(t, w, p, size, uk_context_message(p->context));
    uk_text_free(bytes);
}

static enum uk_status make(struct uk_program *p, const struct way *w, struct made *m) {
    const struct uk_options o = {.target = targets[w->target], .threads = w->threads};
    const struct uk_target *target;
    struct uk_function *f;
    enum uk_status status;

    *m = (struct made){0};
    if (w->native)
        return uk_compile(p, &o, &m->code);
    if (!(status = uk_program_check(p)) && !(status = uk_target_find(p->context, o.target, &target)) &&
        !(status = uk_lower(p, target, &o, NULL, NULL, &f)))
        m->loops = f;
    return status;
}

/* `tuple`: of the constants; or the function with sizes as arguments, on all tuples. */
static void schedule(struct trial *t, const struct way *w, int tuple) {
    const int64_t *size = w->constants ? t->size[tuple] : NULL;
    struct made m;

    struct uk_program *p = parse(t);
    for (int i = 0; size && i < uk_program_sizes(p); i++)
        assert_int_equal(uk_program_define(p, uk_program_size_name(p, i), size[i]), UK_OK);
    if (make(p, w, &m)) {
        if (!is_for_others(context) && (!size || is_taken(p, size)))
            wrong(t, w, p, size, uk_context_message(context));
    } else {
        for (int i = 0; i < t->tuples; i++)
            if ((!w->constants || i == tuple) &&
                (m.code || loop_work(m.loops, t->size[i]) <= MOST_INTERPRETED))
                compare(t, w, p, &m, t->size[i]);
        uk_module_destroy(m.code);
        check_code(t, w, p, size);
    }
    t->schedules++;
    uk_program_destroy(p);
}

/* ---- one program ---- */

static bool runs_here(int target) {
    return target < X86 && uk_cpu_has(target ? "avx512dq" : "avx2");
}

/* Kernels that the program declares need what other targets lack, or their numbers of extents: plain loops
 * are fitting too. */
static void check_program(const char *name, const char *text, int number) {
    struct trial t = {.name = name, .text = text, .number = number, .random = seed + (uint64_t)number};
    int n = 0;

    struct uk_program *p = parse(&t);
    assert_true(uk_program_sizes(p) <= SIZES && uk_program_scalars(p) <= SCALARS);
    draw_sizes(&t, p);
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
    if (runs_here(native.target) && t.tuples && (takes_many() || number % 2))
        schedule(&t, &native, number % t.tuples);
    print_message("%s: %d schedules, %d results, %d wrong\n", name, t.schedules, t.run, t.failed);
    assert_int_equal(t.failed, 0);
}

static void make_objects(const char *name, const char *text, int number) {
    const struct trial t = {.name = name, .text = text};
    const char *target = "";

    struct uk_program *p = parse(&t);
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

static const char *programs[PROGRAMS];

static void run_example(void **state) {
    const int number = (int)(intptr_t)*state;
    char path[512];
    size_t length;

    snprintf(path, sizeof path, "%s/%s", directory, programs[number]);
    char *text = uk_read_file(path, &length);
    assert_non_null(text);
    check_program(path, text, number);
    free(text);
}

/* ---- which ---- */

static int by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int find_examples(void) {
    DIR *d = opendir(directory);
    const struct dirent *entry;
    int n = 0;

    while (d && (entry = readdir(d))) {
        const char *dot = strrchr(entry->d_name, '.');

        if (dot && !strcmp(dot, ".uk") && n < PROGRAMS)
            programs[n++] = strdup(entry->d_name);
    }
    if (d)
        closedir(d);
    qsort(programs, (size_t)n, sizeof *programs, by_name);
    return n;
}

int main(int argc, char **argv) {
    bool known = true;

    for (int i = 1; i < argc && known; i++)
        if (!strcmp(argv[i], "--all"))
            ways_of_each = WAYS;
        else if (i + 1 < argc && !strcmp(argv[i], "--ways"))
            ways_of_each = atoi(argv[++i]);
        else if (i + 1 < argc && !strcmp(argv[i], "--seed"))
            seed = seed_of(argv[++i]);
        else if (i + 1 < argc && !strcmp(argv[i], "--count"))
            count = atoi(argv[++i]);
        else if (i + 1 < argc && !strcmp(argv[i], "--only"))
            only = atoi(argv[++i]);
        else if (i + 1 < argc && !strcmp(argv[i], "--objects"))
            objects = argv[++i];
        else if (*argv[i] != '-' && !directory)
            directory = argv[i];
        else
            known = false;
    if (!known) {
        fprintf(stderr, "usage: drafts [DIRECTORY] [--all] [--ways N] [--count N] [--seed N|new] [--only N] "
                        "[--objects FOLDER]\n");
        return 2;
    }
    const int n = directory ? find_examples() : count;
    struct CMUnitTest *tests = calloc((size_t)n + 1, sizeof *tests);
    int chosen = 0;
    if (!tests)
        return 99;
    for (int i = 0; i < n; i++)
        if (only < 0 || only == i)
            tests[chosen++] = (struct CMUnitTest){.name = directory ? programs[i] : "random",
                                                  .test_func = directory ? run_example : run_random,
                                                  .initial_state = (void *)(intptr_t)i};
    print_message("--seed %" PRIu64 "\n", seed);
    random_objects_begin(objects);
    const int failed =
        chosen ? _cmocka_run_group_tests("drafts", tests, (size_t)chosen, make_context, destroy_context) : 1;
    random_objects_end();
    for (int i = 0; directory && i < n; i++)
        free((void *)(uintptr_t)programs[i]);
    free(tests);
    return failed;
}
