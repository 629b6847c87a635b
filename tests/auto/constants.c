/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs with sizes as constants: the examples, and those of shared/, whose stages read one tensor several
 * times. With constant sizes the automatic schedule meets cases that it otherwise does not: extents below a
 * tile, sums that are not whole groups, empty ones. The program must be refused exactly if the function with
 * sizes as arguments refuses these sizes, and compute the same otherwise.
 *
 *     constants DIRECTORY [--few | --all] [--seed N|new] [--only PROGRAM] [--sizes V,V,...]
 *
 * Tuples: all sizes equal, 0 to 40; one of them 0; and random ones; each as it is, and adjusted to what the
 * program assumes to be equal. Every tuple is compiled, run and compared here, and scheduled for targets that
 * this machine cannot run, with and without plain loops: with --all for each of them, otherwise for one in
 * turn. The reference is the interpreter, as for `uk run --check`. Where it would take long, the function
 * with sizes as arguments takes its place, which is compared with the interpreter for small sizes. Without
 * --all a fixed part of the tuples is used, with --few a smaller one.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "command.h"
#include "random.h"
#include "operands/shape.h"
#include "test_options.h"
#include "uk.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

enum {
    SIZES = 24,
    PROGRAMS = 64,
    EQUAL = 41,
    RANDOM = 20,
    /* random sizes are below this */
    MOST = 65,
    /* per tensor; random tuples with larger ones are drawn again */
    MOST_ELEMENTS = 8 << 20,
    /* operations that are interpreted at most */
    MOST_INTERPRETED = 300 * 1000,
};

static const char *directory, *only, *given;
static bool few, all;
static uint64_t seed = 1;

static const char *const elsewhere[] = {"aarch64-neon", "aarch64-neon+dotprod+i8mm+f16+bf16", "armv7-neon",
                                        "x86_64-avx2"};

struct example {
    struct uk_context *context;
    const char *path;
    char *text, again[64];
    /* the function with sizes as arguments */
    struct run run;
    enum {
        UNKNOWN,
        FITS,
        /* whether it can be scheduled for each other target: [0] plain loops allowed, [1] kernels required */
        REFUSED
    } fits[COUNT(elsewhere)][2];
    uint64_t random;
    int tuples, refused;
};

/* ---- programs ---- */

static enum uk_status schedule(struct uk_program *p, const char *target, bool strict) {
    const struct uk_options o = {.target = target, .require_kernels = strict, .threads = 1};
    char *bytes;
    size_t length;
    enum uk_status status = uk_emit(p, &o, UK_EMIT_LOOPS, &bytes, &length);

    uk_text_free(bytes);
    return status;
}

/* Compiles the program, by kernels alone if possible. False: it names a kernel that this CPU cannot run. */
static bool compile(struct example *e) {
    struct run *r = &e->run;

    r->options = (struct uk_options){.require_kernels = true, .threads = 1};
    if (!run_compile(r))
        return true;
    r->options.require_kernels = false;
    if (!run_compile(r))
        return true;
    if (!strstr(uk_context_message(e->context), ", which the target native lacks"))
        fail_msg("%s", uk_context_message(e->context));
    print_message("constants: skipped, %s\n", uk_context_message(e->context));
    return false;
}

static void begin(struct example *e, const char *path) {
    *e = (struct example){
        .context = uk_context_create(), .path = path, .text = read_text(path), .random = seed};
    assert_non_null(e->context);
    snprintf(e->again, sizeof e->again, "--seed %" PRIu64 " --only %.30s", seed, strrchr(path, '/') + 1);
    e->run = (struct run){.context = e->context,
                          .program = run_parse(e->context, path, e->text, NULL),
                          .repeat_arguments = e->again};
    assert_true(uk_program_sizes(e->run.program) <= SIZES);
}

static void end(struct example *e) {
    run_end(&e->run);
    uk_context_destroy(e->context);
    free(e->text);
}

/* ---- one tuple ---- */

/* Makes the operands and the expected results, by the interpreter or, where that would take long, by the
 * function with sizes as arguments. */
static void make_data(struct example *e, const int64_t *size, struct random_data *d) {
    struct uk_program *p = e->run.program;

    *d = (struct random_data){.small = true, .uninterpreted = uk_operations(p, size) > MOST_INTERPRETED};
    memcpy(d->size, size, sizeof *size * SIZES);
    random_data_fill(d, p, 1);
    if (d->uninterpreted) {
        d->status = (enum uk_status)run_call(&e->run, d);
        for (int i = 0; i < d->tensors; i++)
            memcpy(d->wanted[i] + RANDOM_DATA_MARGIN, d->origin[i], d->bytes[i]);
    }
    allow_tolerances(d, p);
    if (!d->uninterpreted)
        run_is_right(&e->run, d);
}

/* True if the function with sizes as arguments can be scheduled for that target. */
static bool fits_elsewhere(struct example *e, int i, int strict) {
    if (e->fits[i][strict] == UNKNOWN)
        e->fits[i][strict] = schedule(e->run.program, elsewhere[i], strict) ? REFUSED : FITS;
    return e->fits[i][strict] == FITS;
}

static void check_elsewhere(struct example *e, struct run *r, const struct random_data *d) {
    for (int i = 0; i < COUNT(elsewhere) && !d->status; i++)
        for (int strict = 0; strict < 2; strict++)
            if ((all || (i * 2 + strict) % 8 == e->tuples % 8) && fits_elsewhere(e, i, strict) &&
                schedule(r->program, elsewhere[i], strict))
                run_complain(r, d, elsewhere[i]);
}

static void check(struct example *e, const int64_t *size) {
    struct run r = {.context = e->context,
                    .program = run_parse(e->context, e->path, e->text, NULL),
                    .options = e->run.options,
                    .repeat_arguments = e->again};
    struct random_data d;

    make_data(e, size, &d);
    for (int i = 0; i < uk_program_sizes(r.program); i++)
        assert_int_equal(uk_program_define(r.program, uk_program_size_name(r.program, i), size[i]), UK_OK);
    if (!run_compile(&r))
        run_is_right(&r, &d);
    else if (!d.status)
        run_complain(&r, &d, "refused as constants");
    check_elsewhere(e, &r, &d);
    e->run.wrong += r.wrong;
    e->tuples++;
    e->refused += d.status != UK_OK;
    random_data_free(&d);
    run_end(&r);
}

/* ---- tuples ---- */

static int below(struct example *e, int n) {
    return random_below(&e->random, n);
}

static bool is_small(struct uk_program *p, const int64_t *size) {
    for (int i = 0; i < uk_program_tensors(p); i++)
        if (uk_program_tensor_elements(p, i, size) > MOST_ELEMENTS)
            return false;
    return uk_operations(p, size) < 64.0 * MOST_ELEMENTS;
}

static void check_both(struct example *e, int64_t *size) {
    check(e, size);
    if (run_assume(e->run.program, size))
        check(e, size);
}

static void check_equal(struct example *e) {
    static const int some[] = {33, 1, 7, 0, 2, 8, 16};
    const int n = all ? EQUAL : few ? 2 : (int)(sizeof some / sizeof *some);
    int64_t size[SIZES];

    for (int i = 0; i < n; i++) {
        for (int k = 0; k < SIZES; k++)
            size[k] = all ? i : some[i];
        check_both(e, size);
    }
}

/* One size after the other is 0: a stage may be empty that another one reads. */
static void check_empty(struct example *e) {
    int64_t size[SIZES];

    for (int i = 0; i < uk_program_sizes(e->run.program); i += few ? 3 : 1) {
        for (int k = 0; k < SIZES; k++)
            size[k] = k == i ? 0 : 20;
        check_both(e, size);
    }
}

static void check_random(struct example *e) {
    int64_t size[SIZES];

    for (int i = 0; i < (all ? RANDOM : few ? 1 : 3); i++) {
        do
            for (int k = 0; k < SIZES; k++)
                size[k] = below(e, below(e, 2) ? MOST : 12);
        while (!is_small(e->run.program, size));
        check_both(e, size);
    }
}

static void check_given(struct example *e) {
    int64_t size[SIZES] = {0};
    char *at = (char *)(uintptr_t)given;

    for (int i = 0; *at && i < SIZES; at += *at == ',')
        size[i++] = strtoll(at, &at, 10);
    check(e, size);
}

static bool is_for_gpus(const struct uk_program *p) {
    for (const struct uk_step *s = p->steps; s; s = s->next)
        if (s->kind == UK_STEP_BIND)
            return true;
    return false;
}

static void check_program(void **state) {
    struct example e;

    begin(&e, *state);
    if (!is_for_gpus(e.run.program) && compile(&e)) {
        if (given) {
            check_given(&e);
        } else {
            check_equal(&e);
            check_empty(&e);
            check_random(&e);
        }
        print_message("%d tuples, %d refused, %d wrong%s\n", e.tuples, e.refused, e.run.wrong,
                      e.run.options.require_kernels ? "" : ", with plain loops");
    }
    const int failures = e.run.wrong;
    end(&e);
    assert_int_equal(failures, 0);
}

int main(int argc, char **argv) {
    struct CMUnitTest tests[PROGRAMS];

    take_options(argc, argv,
                 (struct test_option[]){{.text = &directory},
                                        {.name = "--few", .flag = &few},
                                        {.name = "--all", .flag = &all},
                                        {.name = "--seed", .seed = &seed},
                                        {.name = "--only", .text = &only},
                                        {.name = "--sizes", .text = &given},
                                        {0}});
    const int n = find_tests(directory, only, check_program, tests, PROGRAMS);
    print_message("%d programs, seed %" PRIu64 "\n", n, seed);
    return _cmocka_run_group_tests("constants", tests, (size_t)n, NULL, NULL);
}
