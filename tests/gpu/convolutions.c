/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random convolutions (random_conv.h) compiled with `auto` for both simulated GPUs give the interpreter's
 * results: exactly for integers, also with infinities and NaN among the operands, else within a bound
 * (values.h). The simulator must report nothing; the kernels must use no scratch memory and spill nothing.
 *
 *     convolutions [--seed N|new] [--programs N] [--only N] [--depthwise] [--print]
 *
 * --seed repeats a run, --only one program of it; --depthwise draws only convolutions whose channels each
 * have weights of their own; --print shows the programs. That of a failure is printed:
 * `uk run FILE --target=TARGET --check` runs it on other operands, small integers.
 */
#include <inttypes.h>
#include <stdio.h>
#include "compiled.h"
#include "random.h"
#include "random_conv.h"
#include "test_options.h"

static uint64_t seed = 1;
static int programs = 12, only = -1;
static bool prints, depthwise;

static bool run_on(int ordinal, const struct random_conv *v, struct random_data *d, const char *again,
                   uint64_t x) {
    struct run r = {.context = uk_context_create(),
                    .options.target = targets[ordinal],
                    .call = call_on_gpu,
                    .repeat_arguments = again};
    struct kernels kernels;
    bool right = false;

    assert_non_null(r.context);
    r.program = run_parse(r.context, again, v->text.text, NULL);
    if (!d->tensors) {
        use_default_sizes(d, r.program);
        draw_values(d, r.program, v->values, v->terms, x);
    }
    r.device = open_gpu("sim", ordinal);
    if (run_compile(&r)) {
        run_complain(&r, d, "does not compile");
    } else {
        right = check_kernels(&r, &kernels);
        right = run_is_right(&r, d) && right;
    }
    if (!right)
        print_error("%s\n", uk_gpu_message(r.device));
    uk_gpu_close(r.device);
    compiled_end(&r);
    return right;
}

static int run_one(int number) {
    uint64_t x = seed * 1000003 + (uint64_t)number;
    struct random_conv v;
    struct random_data d = {0};
    char again[64];
    int wrong = 0;

    snprintf(again, sizeof again, "--seed %" PRIu64 " --only %d%s", seed, number,
             depthwise ? " --depthwise" : "");
    use_order(x);
    random_conv_make(&v, number, depthwise, random_next(&x));
    assert_non_null(v.text.text);
    if (prints)
        print_message("# %s\n%s", again, v.text.text);
    for (int i = 0; i < TARGETS; i++)
        wrong += !run_on(i, &v, &d, again, x);
    random_data_free(&d);
    uk_text_free(v.text.text);
    return wrong;
}

static void run(void **state) {
    const int end = only < 0 ? programs : only + 1;
    int wrong = 0;

    (void)state;
    print_message("--seed %" PRIu64 "\n", seed);
    for (int n = only < 0 ? 0 : only; n < end; n++)
        wrong += run_one(n);
    print_message("%d calls wrong\n", wrong);
    assert_int_equal(wrong, 0);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(run)};

    take_options(argc, argv,
                 (struct test_option[]){{.name = "--seed", .seed = &seed},
                                        {.name = "--programs", .number = &programs},
                                        {.name = "--only", .number = &only},
                                        {.name = "--depthwise", .flag = &depthwise},
                                        {.name = "--print", .flag = &prints},
                                        {0}});
    return cmocka_run_group_tests_name("gpu_convolutions", tests, NULL, NULL);
}
