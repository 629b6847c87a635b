/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs with kernels of their own, from match/: the compiled program, interpreted and as machine code,
 * gives exactly the program's results. Their schedules name the kernel of every stage; plain loops remain
 * only for copies, and for tiles that a kernel does not take.
 *
 *     matches DIRECTORY [--only FILE]
 */
#include <stdlib.h>
#include "random.h"
#include "run_program.h"
#include "test_context.h"
#include "test_options.h"

enum { MAX_FILES = 64, SHAPES = 12 };

/* Names of leading dimensions begin with a lower-case letter. The first shapes have an empty extent, or
 * extents of 1. */
static int64_t size_of(const char *name, uint64_t *x, int shape) {
    static const int64_t extent[] = {0, 1, 3, 7, 8, 13, 16, 17, 24, 33, 40, 41};

    if (name[0] >= 'a')
        return 48 + random_below(x, 9);
    return shape == 0   ? random_below(x, 2) * 5
           : shape == 1 ? 1
                        : extent[1 + random_below(x, sizeof extent / sizeof *extent - 1)];
}

/* Runs the loops, then the machine code; true: both accept the sizes. */
static bool run_shape(struct run *loops, struct run *code, int shape) {
    struct random_data d = {0};
    uint64_t x = (uint64_t)shape * 7919 + 1;

    for (int i = 0; i < uk_program_sizes(loops->program); i++)
        d.size[i] = size_of(uk_program_size_name(loops->program, i), &x, shape);
    random_data_fill(&d, loops->program, x);
    assert_true(run_is_right(loops, &d) && run_is_right(code, &d));
    random_data_free(&d);
    return !d.status;
}

static void program(void **state) {
    char *text = read_text(*state);
    struct run loops = {.context = context, .options = {.interpret = true}}, code = {.context = context};
    int taken = 0;

    loops.program = code.program = run_parse(context, *state, text, NULL);
    if (run_compile(&loops) || run_compile(&code))
        fail_msg("%s", uk_context_message(context));
    for (int shape = 0; shape < SHAPES; shape++)
        taken += run_shape(&loops, &code, shape);
    assert_true(taken >= SHAPES / 2);
    uk_module_destroy(code.module);
    run_end(&loops);
    free(text);
}

int main(int argc, char **argv) {
    struct CMUnitTest test[MAX_FILES];
    const char *directory = NULL, *only = NULL;

    take_options(argc, argv,
                 (struct test_option[]){{.text = &directory}, {.name = "--only", .text = &only}, {0}});
    const int n = find_tests(directory, only, program, test, MAX_FILES);
    return _cmocka_run_group_tests("matches", test, (size_t)n, make_context, destroy_context);
}
