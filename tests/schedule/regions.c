/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Schedules that move what is computed, and where it is kept: pack, cache_read, cache_write, compute_at and
 * reverse_compute_at, on programs of several statements. Every schedule's loops are interpreted, and compiled
 * and run, for sizes with every kind of edge, and compared exactly with the program as it is written.
 *
 *     regions [PROGRAM]     only the programs whose name begins so
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "language/language.h"
#include "random.h"
#include "target/target.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))
enum { MAX_TENSORS = 8, MAX_SIZES = 8, MAX_SCHEDULES = 16, MAX_RUNS = 12, NAN_BYTE = 0xff };

struct example {
    const char *name, *program;
    const char *schedule[MAX_SCHEDULES];
    int64_t size[MAX_RUNS][MAX_SIZES]; /* a run whose first size is -1 ends them */
};

static const char *only;

#include "regions_examples.h"
#include "interpret/interpret.h"
#include "lower/lower.h"
#include "test_context.h"

/* ---- data ---- */

struct data {
    int tensors;
    size_t bytes[MAX_TENSORS];
    char *start[MAX_TENSORS], *wanted[MAX_TENSORS], *got[MAX_TENSORS];
};

/* Integers from -4 to 4: sums of products of them are exact. Outputs start as NaN, or as numbers if the
 * program reads them. */
static void fill_element(char *at, enum uk_type type, int v) {
    switch (type) {
    case UK_F32: {
        float f = (float)v;
        memcpy(at, &f, sizeof f);
        break;
    }
    case UK_I32: {
        int32_t i = v;
        memcpy(at, &i, sizeof i);
        break;
    }
    default:
        *at = (char)(type == UK_U8 ? v + 4 : v);
    }
}

static void make_data(struct data *d, struct uk_program *p, const int64_t *size) {
    uint64_t x = 7;

    d->tensors = uk_program_tensors(p);
    assert_true(d->tensors <= MAX_TENSORS);
    for (int i = 0; i < d->tensors; i++) {
        const enum uk_type type = uk_program_tensor_type(p, i);
        const int64_t n = uk_program_tensor_elements(p, i, size);
        const size_t each = uk_type_bytes(type);

        assert_true(n >= 0);
        d->bytes[i] = (size_t)n * each;
        d->start[i] = malloc(d->bytes[i] + 1);
        d->wanted[i] = malloc(d->bytes[i] + 1);
        d->got[i] = malloc(d->bytes[i] + 1);
        assert_true(d->start[i] && d->wanted[i] && d->got[i]);
        for (int64_t e = 0; e < n; e++)
            fill_element(d->start[i] + (size_t)e * each, type, random_below(&x, 9) - 4);
        memcpy(d->wanted[i], d->start[i], d->bytes[i]);
    }
    if (uk_program_interpret(p, size, NULL, (void *const *)d->wanted))
        fail_msg("%s", uk_context_message(context));
}

static void free_data(struct data *d) {
    for (int i = 0; i < d->tensors; i++) {
        free(d->start[i]);
        free(d->wanted[i]);
        free(d->got[i]);
    }
}

/* ---- one schedule ---- */

struct attempt {
    const struct example *e;
    const char *steps, *target;
    struct uk_program *program;
    struct uk_function *function; /* interpreted, */
    struct uk_module *module;     /* or called */
};

static void begin_run(const struct attempt *t, const int64_t *size, struct data *d) {
    make_data(d, t->program, size);
    for (int i = 0; i < d->tensors; i++)
        memcpy(d->got[i], d->start[i], d->bytes[i]);
}

static int run(const struct attempt *t, const int64_t *size, struct data *d) {
    void *tensor[MAX_TENSORS] = {NULL};
    int n = 0, given = 0;

    if (t->module)
        return uk_module_call(t->module, size, NULL, (void *const *)d->got);
    for (const struct uk_tensor *x = t->program->tensors; x; x = x->next) {
        assert_true(n < MAX_TENSORS);
        tensor[n++] = x->kind == UK_TENSOR_ARGUMENT ? d->got[given++] : NULL;
    }
    uk_context_enter(context, "program.uk");
    return uk_interpret_function(t->function, &(struct uk_values){.size = size, .tensor = tensor}, NAN_BYTE);
}

static void check_runs(const struct attempt *t) {
    for (int r = 0; r < MAX_RUNS && t->e->size[r][0] >= 0; r++) {
        const int64_t *size = t->e->size[r];
        struct data d;

        if (r && !memcmp(size, t->e->size[r - 1], sizeof t->e->size[r]))
            break;
        begin_run(t, size, &d);
        const int status = run(t, size, &d);
        for (int i = 0; i < d.tensors; i++)
            if (status || memcmp(d.got[i], d.wanted[i], d.bytes[i])) {
                for (int k = 0; k < uk_program_sizes(t->program); k++)
                    print_error("%s=%" PRId64 " ", uk_program_size_name(t->program, k), size[k]);
                fail_msg("%s, target %s: status %d %s, tensor %s is wrong\n%s", t->e->name, t->target, status,
                         uk_context_message(context), uk_program_tensor_name(t->program, i), t->steps);
            }
        free_data(&d);
    }
}

static struct uk_program *parse(const struct example *e, const char *steps) {
    struct uk_program *p;

    if (uk_program_parse(context, "program.uk", e->program, strlen(e->program), &p) ||
        uk_program_schedule(p, "steps.uk", steps, strlen(steps)))
        fail_msg("%s: %s\n%s", e->name, uk_context_message(context), steps);
    return p;
}

/* Where kernels are required, those of a target that has them. */
static const char *target_of(const char *steps, const char *otherwise) {
    return strstr(steps, "tensorize") ? "x86_64-avx2" : otherwise;
}

static void interpreted(const struct example *e, const char *steps, int threads) {
    const struct uk_target *target;
    const struct uk_options o = {.target = target_of(steps, "interp"), .threads = threads};
    struct attempt t = {.e = e, .steps = steps, .target = o.target, .program = parse(e, steps)};

    uk_context_enter(context, "program.uk");
    if (uk_target_find(context, o.target, &target) ||
        uk_lower(t.program, target, &o, NULL, NULL, &t.function))
        fail_msg("%s: %s\n%s", e->name, uk_context_message(context), steps);
    check_runs(&t);
    uk_program_destroy(t.program);
}

static void compiled(const struct example *e, const char *steps, int threads) {
    const struct uk_options o = {.target = target_of(steps, "native"), .threads = threads};
    struct attempt t = {.e = e, .steps = steps, .target = o.target, .program = parse(e, steps)};

    if (uk_compile(t.program, &o, &t.module))
        fail_msg("%s: %s\n%s", e->name, uk_context_message(context), steps);
    check_runs(&t);
    uk_module_destroy(t.module);
    uk_program_destroy(t.program);
}

static void keeps_its_meaning(void **state) {
    const struct example *e = *state;

    for (int i = 0; i < MAX_SCHEDULES && e->schedule[i]; i++) {
        interpreted(e, e->schedule[i], 1);
        compiled(e, e->schedule[i], strstr(e->schedule[i], "parallel") ? 2 : 1);
    }
}

int main(int argc, char **argv) {
    struct CMUnitTest test[COUNT(examples)];
    size_t n = 0;

    only = argc > 1 ? argv[1] : "";
    for (int i = 0; i < COUNT(examples); i++)
        if (!strncmp(examples[i].name, only, strlen(only)))
            test[n++] = (struct CMUnitTest){examples[i].name, keeps_its_meaning, NULL, NULL,
                                            (void *)(uintptr_t)&examples[i]};
    return _cmocka_run_group_tests("regions", test, n, make_context, destroy_context);
}
