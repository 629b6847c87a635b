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
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "compiled.h"
#include "random_data.h"
#include "random_packed.h"
#include "random_program.h"
#include "seed.h"

static uint64_t seed = 1;
static int programs = 10, only = -1, refused;

/* Prints a failure: the options that repeat it, the call, and the reason. */
static void complain(int number, const char *target, const char *text, const char *sizes, const char *why) {
    print_error("--seed %" PRIu64 " --only %d, %s%s: %s\n%s", seed, number, target, sizes, why, text);
}

/* Calls the module with device memory of exactly the tensors' bytes. */
static enum uk_status call(const struct uk_module *module, struct uk_gpu *gpu, const struct random_data *d) {
    uk_gpu_address at[RANDOM_DATA_TENSORS];
    void *argument[RANDOM_DATA_TENSORS + 1] = {gpu};

    for (int i = 0; i < d->tensors; i++) {
        assert_int_equal(uk_gpu_alloc(gpu, d->bytes[i], &at[i]), UK_OK);
        assert_int_equal(uk_gpu_upload(gpu, at[i], d->origin[i], d->bytes[i]), UK_OK);
        argument[i + 1] = (void *)(uintptr_t)at[i];
    }
    const enum uk_status status = (enum uk_status)uk_module_call(module, d->size, d->scalar, argument);
    for (int i = 0; i < d->tensors; i++) {
        assert_int_equal(uk_gpu_download(gpu, d->origin[i], at[i], d->bytes[i]), UK_OK);
        assert_int_equal(uk_gpu_free(gpu, at[i]), UK_OK);
    }
    return status;
}

struct attempt {
    int number, ordinal;
    /* random state of the data */
    uint64_t x;
    bool packed;
    const char *text;
    struct uk_program *program;
};

/* True if the results are right for this set of sizes. */
static bool is_right(const struct attempt *t, const struct uk_module *module, struct uk_gpu *gpu, int which) {
    uint64_t x = t->x + (uint64_t)which;
    char where[64] = "", sizes[256] = "", why[1200];
    struct random_data d = {0};

    if (t->packed) {
        d.size[0] = 1 + random_below(&x, 200);
        random_data_fill(&d, t->program, x);
    } else {
        random_data_make(&d, t->program, x, which);
    }
    random_data_begin(&d);
    const enum uk_status status = call(module, gpu, &d);
    const bool right = !status == !d.status && (status || random_data_matches(&d, t->program, where));
    if (!right) {
        random_data_shape(t->program, &d, sizes, sizeof sizes);
        snprintf(why, sizeof why, "status %d, the interpreter %d: %s", status, d.status,
                 status ? uk_gpu_message(gpu) : where);
        complain(t->number, targets[t->ordinal], t->text, sizes, why);
    }
    random_data_free(&d);
    return right;
}

/* True if compiling for this machine is refused for the same reason, so that the schedule is not to blame. */
static bool is_refused(const struct attempt *t, struct uk_context *c) {
    char why[1000];
    struct uk_module *module = NULL;

    snprintf(why, sizeof why, "%s", uk_context_message(c));
    const bool same = uk_compile(t->program, &(struct uk_options){.target = "native"}, &module) &&
                      !strcmp(uk_context_message(c), why);
    uk_module_destroy(module);
    if (!same)
        complain(t->number, targets[t->ordinal], t->text, "", why);
    refused += same;
    return same;
}

static bool run_text(struct attempt *t) {
    const struct uk_options o = {.target = targets[t->ordinal]};
    struct uk_context *c = uk_context_create();
    struct uk_module *module = NULL;
    bool right;

    assert_non_null(c);
    if (uk_program_parse(c, "random.uk", t->text, strlen(t->text), &t->program))
        fail_msg("--only %d: %s\n%s", t->number, uk_context_message(c), t->text);
    right = !uk_compile(t->program, &o, &module) || is_refused(t, c);
    if (module) {
        struct uk_gpu *gpu = open_gpu("sim", t->ordinal);

        for (int which = 0; which < RANDOM_DATA_SHAPES && right; which++)
            right = is_right(t, module, gpu, which);
        uk_gpu_close(gpu);
    }
    uk_module_destroy(module);
    uk_program_destroy(t->program);
    uk_context_destroy(c);
    return right;
}

static bool run_one(int number) {
    uint64_t x = seed * 1000003 + (uint64_t)number;
    struct attempt t = {.number = number, .ordinal = number / 2 % TARGETS, .packed = number % 2};
    struct random_program r = {.x = random_next(&x)};
    struct uk_text text = {0};

    t.x = random_next(&x);
    if (t.packed) {
        random_packed_make(&x, &text);
    } else {
        random_program_make(&r);
        uk_put(&text, "%s%s", r.head.text, r.body.text);
    }
    assert_non_null(text.text);
    t.text = text.text;
    const bool right = run_text(&t);
    uk_text_free(text.text);
    uk_text_free(r.head.text);
    uk_text_free(r.body.text);
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

    for (int i = 1; i + 1 < argc; i += 2)
        if (!strcmp(argv[i], "--seed"))
            seed = seed_of(argv[i + 1]);
        else if (!strcmp(argv[i], "--programs"))
            programs = atoi(argv[i + 1]);
        else if (!strcmp(argv[i], "--only"))
            only = atoi(argv[i + 1]);
    return cmocka_run_group_tests_name("random_gpu", tests, NULL, NULL);
}
