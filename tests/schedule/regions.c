/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps that move computations or buffers: pack, cache_read, cache_write, compute_at and reverse_compute_at,
 * on programs of several statements. The loops of every schedule are interpreted, compiled and run, for sizes
 * with every kind of edge, and compared exactly with the program.
 *
 *     regions [PROGRAM]     only programs whose name begins with PROGRAM
 */
#include <stdio.h>
#include <string.h>
#include "run_program.h"
#include "test_context.h"
#include "test_options.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))
enum { MAX_SIZES = 8, MAX_SCHEDULES = 16, MAX_RUNS = 12 };

struct example {
    const char *name, *program;
    const char *schedule[MAX_SCHEDULES];
    int64_t size[MAX_RUNS][MAX_SIZES]; /* ended by a run whose first size is -1 */
};

#include "regions_examples.h"

static void check_runs(struct run *r, const struct example *e) {
    for (int i = 0; i < MAX_RUNS && e->size[i][0] >= 0; i++) {
        struct random_data d = {0};

        if (i && !memcmp(e->size[i], e->size[i - 1], sizeof e->size[i]))
            break;
        memcpy(d.size, e->size[i], sizeof e->size[i]);
        random_data_fill(&d, r->program, 7);
        assert_int_equal(d.status, UK_OK);
        run_is_right(r, &d);
        random_data_free(&d);
    }
    assert_int_equal(r->wrong, 0);
}

/* If the steps need kernels, the target is one that has them. */
static void check_schedule(const struct example *e, const char *steps) {
    const bool kernels = strstr(steps, "tensorize") != NULL;
    struct run r = {.context = context,
                    .program = run_parse(context, e->name, e->program, steps),
                    .options = {.target = kernels ? "x86_64-avx2" : "native",
                                .threads = strstr(steps, "parallel") ? 2 : 1},
                    .repeat_arguments = e->name};

    if (run_loops(&r, NULL))
        fail_msg("%s: %s\n%s", e->name, uk_context_message(context), steps);
    check_runs(&r, e);
    if (run_is_possible(r.options.target)) {
        if (run_code(&r))
            fail_msg("%s: %s\n%s", e->name, uk_context_message(context), steps);
        check_runs(&r, e);
    }
    run_end(&r);
}

static void keeps_its_meaning(void **state) {
    const struct example *e = *state;

    for (int i = 0; i < MAX_SCHEDULES && e->schedule[i]; i++)
        check_schedule(e, e->schedule[i]);
}

int main(int argc, char **argv) {
    struct CMUnitTest test[COUNT(examples)];
    const char *only = NULL;
    size_t n = 0;

    take_options(argc, argv, (struct test_option[]){{.text = &only}, {0}});
    for (int i = 0; i < COUNT(examples); i++)
        if (!only || !strncmp(examples[i].name, only, strlen(only)))
            test[n++] = (struct CMUnitTest){examples[i].name, keeps_its_meaning, NULL, NULL,
                                            (void *)(uintptr_t)&examples[i]};
    return _cmocka_run_group_tests("regions", test, n, make_context, destroy_context);
}
