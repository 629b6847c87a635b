/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs with their sizes as constants: the examples, and those of shared/, whose stages read one tensor
 * several times. A size that is a constant is another program to the automatic schedule: extents below a
 * tile, sums that are no whole groups, nothing at all. It must be refused exactly where the function with
 * sizes as arguments refuses these sizes, and else compute the same.
 *
 *     constants DIRECTORY [--few | --all] [--seed N|new] [--only PROGRAM] [--sizes V,V,...]
 *
 * Tuples: all sizes equal, 0 to 40; one of them 0; and random ones; each as it is and with what the program
 * assumes to be equal made so. Every tuple is compiled, run and compared here, and scheduled for the targets
 * that this machine cannot run, with and without plain loops. The reference is the interpreter, as for `uk
 * run --check`; where that would take long, the function with sizes as arguments, which is compared with the
 * interpreter too where that is quick. Without --all some of the tuples, with --few fewer, always the same.
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
#include "seed.h"
#include "uk.h"

enum {
    SIZES = 24,
    PROGRAMS = 64,
    EQUAL = 41,
    RANDOM = 20,
    MOST = 65,                     /* random sizes are below */
    MOST_ELEMENTS = 8 << 20,       /* of a tensor; random tuples with larger ones are drawn again */
    MOST_INTERPRETED = 300 * 1000, /* operations */
};

static const char *directory, *only;
static bool few, all;
static uint64_t seed = 1;
static int64_t given[SIZES];
static int givens;

static const char *const elsewhere[] = {"aarch64-neon", "aarch64-neon+dotprod+i8mm+f16+bf16", "armv7-neon",
                                        "x86_64-avx2"};

int uk_complain(int status, const char *format, ...) {
    va_list ap;

    va_start(ap, format);
    vfprintf(stderr, format, ap);
    fputc('\n', stderr);
    va_end(ap);
    return status;
}

struct example {
    struct uk_context *context;
    char path[512], *text;
    struct uk_program *program; /* with sizes as arguments */
    struct uk_module *module;
    bool by_kernels; /* compiled without plain loops */
    bool fits[sizeof elsewhere / sizeof *elsewhere]
             [2]; /* with sizes as arguments: may plain loops run, must they not */
    uint64_t random;
    int tuples, run, refused, wrong;
};

/* ---- programs ---- */

static struct uk_program *parse(const struct example *e) {
    struct uk_program *p;

    if (uk_program_parse(e->context, e->path, e->text, strlen(e->text), &p))
        fail_msg("%s", uk_context_message(e->context));
    return p;
}

static struct uk_options options_for(const char *target, bool strict) {
    return (struct uk_options){.target = target, .require_kernels = strict, .threads = 1};
}

static enum uk_status schedule(struct uk_program *p, const char *target, bool strict) {
    struct uk_options o = options_for(target, strict);
    char *bytes;
    size_t length;
    enum uk_status status = uk_emit(p, &o, UK_EMIT_LOOPS, &bytes, &length);

    uk_text_free(bytes);
    return status;
}

/* False: the program names a kernel that this CPU cannot run. */
static bool begin(struct example *e, const char *name) {
    struct uk_options o = options_for(NULL, true);
    size_t length;

    *e = (struct example){.context = uk_context_create(), .random = seed};
    assert_non_null(e->context);
    snprintf(e->path, sizeof e->path, "%s/%s", directory, name);
    e->text = uk_read_file(e->path, &length);
    assert_non_null(e->text);
    e->program = parse(e);
    e->by_kernels = !uk_compile(e->program, &o, &e->module);
    o.require_kernels = false;
    if (!e->by_kernels && uk_compile(e->program, &o, &e->module)) {
        if (!strstr(uk_context_message(e->context), ", which the target native lacks"))
            fail_msg("%s", uk_context_message(e->context));
        print_message("constants: skipped, %s\n", uk_context_message(e->context));
        return false;
    }
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
        for (int strict = 0; strict < 2; strict++)
            e->fits[i][strict] = !schedule(e->program, elsewhere[i], strict);
    assert_true(uk_program_sizes(e->program) <= SIZES);
    return true;
}

static void end(struct example *e) {
    uk_module_destroy(e->module);
    uk_program_destroy(e->program);
    uk_context_destroy(e->context);
    free(e->text);
}

/* ---- one tuple ---- */

static void wrong(struct example *e, const int64_t *size, const char *what, const char *why) {
    print_error("%s:", e->path);
    for (int i = 0; i < uk_program_sizes(e->program); i++)
        print_error(" %s=%" PRId64, uk_program_size_name(e->program, i), size[i]);
    print_error(": %s: %s\n", what, why);
    e->wrong++;
}

static int call(struct uk_program *p, const struct uk_module *m, const int64_t *size, struct uk_data *data) {
    int64_t argument[SIZES];
    double scalar[16];
    int n = 0;

    for (const struct uk_var *v = p->sizes; v; v = v->next)
        if (!v->defined)
            argument[n++] = size[v->number];
    for (int i = 0; i < uk_program_scalars(p); i++)
        scalar[i] = i + 2;
    assert_int_equal(uk_data_create(data, p, size), 0);
    uk_data_integers(data);
    return uk_module_call(m, argument, scalar, data->origins);
}

/* Are both results those of the interpreter, or, if it would take long, each other's? */
static bool is_right(struct example *e, struct uk_program *p, const int64_t *size, const struct uk_data *got,
                     const struct uk_data *by_sizes) {
    struct uk_data expected;
    double scalar[16];

    for (int i = 0; i < uk_program_scalars(p); i++)
        scalar[i] = i + 2;
    struct uk_tolerance *each = uk_tolerances(p, size);
    assert_non_null(each);
    if (uk_operations(p, size) > MOST_INTERPRETED) {
        bool same = uk_data_equal(got, by_sizes, size, each);
        free(each);
        return same;
    }
    assert_int_equal(uk_data_create(&expected, p, size), 0);
    uk_data_integers(&expected);
    assert_int_equal(uk_program_interpret(e->program, size, scalar, expected.origins), UK_OK);
    bool same = uk_data_equal(got, &expected, size, each) && uk_data_equal(by_sizes, &expected, size, each);
    uk_data_free(&expected);
    free(each);
    return same;
}

static void run(struct example *e, struct uk_program *p, const int64_t *size, const struct uk_data *by_sizes,
                bool taken) {
    struct uk_options o = options_for(NULL, e->by_kernels);
    struct uk_module *m;
    struct uk_data data;

    if (uk_compile(p, &o, &m)) {
        if (taken)
            wrong(e, size, "refused as constants", uk_context_message(e->context));
        return;
    }
    int status = call(p, m, size, &data);
    if (!taken && !status)
        wrong(e, size, "taken as constants", "the function with sizes as arguments refuses them");
    else if (taken && status)
        wrong(e, size, "refused when called", uk_status_text((enum uk_status)status));
    else if (taken && !is_right(e, p, size, &data, by_sizes))
        wrong(e, size, "wrong",
              "not what the interpreter, or the function with sizes as arguments, computes");
    uk_data_free(&data);
    uk_module_destroy(m);
    e->run += taken;
}

static void check_elsewhere(struct example *e, struct uk_program *p, const int64_t *size, bool taken) {
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
        for (int strict = 0; strict < 2; strict++)
            if (e->fits[i][strict] && taken && schedule(p, elsewhere[i], strict))
                wrong(e, size, elsewhere[i], uk_context_message(e->context));
}

static void check(struct example *e, const int64_t *size) {
    struct uk_program *p = parse(e);
    struct uk_data by_sizes;
    bool taken = !call(e->program, e->module, size, &by_sizes);

    for (int i = 0; i < uk_program_sizes(p); i++)
        assert_int_equal(uk_program_define(p, uk_program_size_name(p, i), size[i]), UK_OK);
    run(e, p, size, &by_sizes, taken);
    check_elsewhere(e, p, size, taken);
    uk_data_free(&by_sizes);
    uk_program_destroy(p);
    e->tuples++;
    e->refused += !taken;
}

/* ---- tuples ---- */

static int below(struct example *e, int n) {
    return random_below(&e->random, n);
}

/* What the program assumes to be equal to something; did that change anything? */
static bool assume(const struct uk_program *p, int64_t *size) {
    bool any = false;

    for (const struct uk_assume *a = p->assumes; a; a = a->next) {
        const struct uk_index *x = a->relation->a;

        if (a->relation->op != UK_I_EQ || x->op != UK_I_VAR)
            continue;
        int64_t n = uk_value(a->relation->b, size);
        any |= n != size[x->var->number];
        size[x->var->number] = n;
    }
    return any;
}

static bool is_small(struct uk_program *p, const int64_t *size) {
    for (int i = 0; i < uk_program_tensors(p); i++)
        if (uk_program_tensor_elements(p, i, size) > MOST_ELEMENTS)
            return false;
    return uk_operations(p, size) < 64.0 * MOST_ELEMENTS;
}

static void check_both(struct example *e, int64_t *size) {
    check(e, size);
    if (assume(e->program, size))
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

/* One size after the other is 0: what one stage has nothing of, another may need. */
static void check_empty(struct example *e) {
    int64_t size[SIZES];

    for (int i = 0; i < uk_program_sizes(e->program); i += few ? 3 : 1) {
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
        while (!is_small(e->program, size));
        check_both(e, size);
    }
}

/* Its schedule is one for GPUs, which the test devices runs. */
static bool is_for_gpus(const char *name) {
    struct example e = {.context = uk_context_create()};
    size_t length;
    bool found = false;

    assert_non_null(e.context);
    snprintf(e.path, sizeof e.path, "%s/%s", directory, name);
    e.text = uk_read_file(e.path, &length);
    assert_non_null(e.text);
    e.program = parse(&e);
    for (const struct uk_step *s = e.program->steps; s; s = s->next)
        found |= s->kind == UK_STEP_BIND;
    end(&e);
    return found;
}

static void check_program(const char *name) {
    struct example e;

    if (is_for_gpus(name))
        return;
    if (!begin(&e, name)) {
        end(&e);
        return;
    }
    if (givens) {
        check(&e, given);
    } else {
        check_equal(&e);
        check_empty(&e);
        check_random(&e);
    }
    print_message("%s: %d tuples, %d run, %d refused, %d wrong%s\n", name, e.tuples, e.run, e.refused,
                  e.wrong, e.by_kernels ? "" : ", with plain loops");
    int failures = e.wrong;
    end(&e);
    assert_int_equal(failures, 0);
}

static void check_one(void **state) {
    check_program(*state);
}

/* ---- which programs ---- */

static int by_name(const void *a, const void *b) {
    const struct CMUnitTest *x = a, *y = b;

    return strcmp(x->name, y->name);
}

static int find_programs(struct CMUnitTest *tests) {
    DIR *d = opendir(directory);
    const struct dirent *entry;
    int n = 0;

    while (d && (entry = readdir(d))) {
        const char *dot = strrchr(entry->d_name, '.');

        if (!dot || strcmp(dot, ".uk") || (only && strcmp(only, entry->d_name)) || n == PROGRAMS)
            continue;
        char *name = strdup(entry->d_name);
        tests[n++] = (struct CMUnitTest){.name = name, .test_func = check_one, .initial_state = name};
    }
    if (d)
        closedir(d);
    qsort(tests, (size_t)n, sizeof *tests, by_name);
    return n;
}

static bool take_argument(const char *name, char *value) {
    if (!strcmp(name, "--seed")) {
        seed = seed_of(value);
    } else if (!strcmp(name, "--only")) {
        only = value;
    } else if (!strcmp(name, "--sizes")) {
        for (char *at = value; *at && givens < SIZES; at += *at == ',')
            given[givens++] = strtoll(at, &at, 10);
    } else {
        return false;
    }
    return true;
}

int main(int argc, char **argv) {
    struct CMUnitTest tests[PROGRAMS];
    bool known = argc > 1;

    for (int i = 2; i < argc && known; i++)
        if (!strcmp(argv[i], "--all"))
            all = true;
        else if (!strcmp(argv[i], "--few"))
            few = true;
        else
            known = i + 1 < argc && take_argument(argv[i], argv[i + 1]) && i++;
    if (!known) {
        fprintf(
            stderr,
            "usage: constants DIRECTORY [--few | --all] [--seed N|new] [--only PROGRAM] [--sizes V,V,...]\n");
        return 2;
    }
    directory = argv[1];
    int n = find_programs(tests);
    print_message("%d programs, seed %" PRIu64 "\n", n, seed);
    int failed = n ? _cmocka_run_group_tests("constants", tests, (size_t)n, NULL, NULL) : 1;
    for (int i = 0; i < n; i++)
        free((void *)(uintptr_t)tests[i].name);
    return failed;
}
