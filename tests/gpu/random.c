/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random programs compiled with `auto` for the simulated GPUs give exactly the interpreter's results.
 * Programs of all types and operators (random_program.h) alternate with ones whose elements are packed in
 * registers (random_packed.h).
 *
 *     random [--seed N|new] [--programs N] [--only N]
 *
 * --seed repeats a run, --only one program of it. Each is compiled for one of the two GPUs, and called with
 * three sets of sizes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "compiled.h"
#include "random_packed.h"
#include "random_program.h"
#include "test_options.h"

static uint64_t seed = 1;
static int programs = 10, only = -1, refused;

/* True if compiling for this machine is refused for the same reason, so that the schedule is not to blame. */
static bool is_refused(struct run *r) {
    char why[1000];
    struct uk_module *module = NULL;

    snprintf(why, sizeof why, "%s", uk_context_message(r->context));
    const bool same = uk_compile(r->program, &(struct uk_options){.target = "native"}, &module) &&
                      !strcmp(uk_context_message(r->context), why);
    uk_module_destroy(module);
    if (!same)
        run_complain(r, NULL, why);
    refused += same;
    return same;
}

/* `packed`: its one size is N. */
static bool run_text(const char *text, int number, bool packed, uint64_t x) {
    const int ordinal = number / 2 % TARGETS;
    char again[64];
    struct run r = {.context = uk_context_create(),
                    .options.target = targets[ordinal],
                    .call = call_on_gpu,
                    .repeat_arguments = again};

    assert_non_null(r.context);
    snprintf(again, sizeof again, "--seed %" PRIu64 " --only %d", seed, number);
    r.program = run_parse(r.context, again, text, NULL);
    bool right = !run_compile(&r) || is_refused(&r);
    r.device = open_gpu("sim", ordinal);
    for (int which = 0; r.module && which < RANDOM_DATA_SHAPES && right; which++) {
        uint64_t y = x + (uint64_t)which;
        struct random_data d = {0};

        if (packed) {
            d.size[0] = 1 + random_below(&y, 200);
            random_data_fill(&d, r.program, y);
        } else {
            random_data_make(&d, r.program, y, which);
        }
        right = run_is_right(&r, &d);
        if (!right)
            print_error("%s\n", uk_gpu_message(r.device));
        random_data_free(&d);
    }
    uk_gpu_close(r.device);
    compiled_end(&r);
    return right;
}

static bool run_one(int number) {
    uint64_t x = seed * 1000003 + (uint64_t)number;
    const bool packed = number % 2;
    struct random_program r = {.x = random_next(&x)};
    const uint64_t data = random_next(&x);

    if (packed) {
        random_packed_make(&x, &r.head);
    } else {
        random_program_make(&r);
        uk_put(&r.head, "%s", r.body.text);
    }
    assert_non_null(r.head.text);
    const bool right = run_text(r.head.text, number, packed, data);
    random_program_free(&r);
    return right;
}

static void run(void **state) {
    int wrong = 0;

    (void)state;
    print_message("--seed %" PRIu64 "\n", seed);
    for (int n = only < 0 ? 0 : only; n < (only < 0 ? programs : only + 1); n++)
        wrong += !run_one(n);
    print_message("%d programs, %d wrong, %d refused\n", only < 0 ? programs : 1, wrong, refused);
    assert_int_equal(wrong, 0);
    assert_true(10 * refused <= programs);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(run)};

    take_options(argc, argv,
                 (struct test_option[]){{.name = "--seed", .seed = &seed},
                                        {.name = "--programs", .number = &programs},
                                        {.name = "--only", .number = &only},
                                        {0}});
    return cmocka_run_group_tests_name("random_gpu", tests, NULL, NULL);
}
