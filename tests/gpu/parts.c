/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums that `auto` computes in parts have the same bits in every run: operands have full mantissas, so that
 * another order of additions shows, and the simulator takes blocks and waves in another order each time.
 */
#include <string.h>
#include "compiled.h"
#include "values.h"

enum { ORDERS = 20 };

struct sum {
    const char *name, *text;
    int64_t terms;
};

static const struct sum sums[] = {
    {"product",
     "tensor A f32 [65, 1500]\ntensor B f32 [1500, 40]\ntensor Y f32 [65, 40]\n"
     "Y[m, n] = sum(k) A[m, k] * B[k, n]\n",
     1500},
    {"epilogue",
     "tensor A f32 [900, 33]\ntensor B f32 [70, 900]\ntensor bias f32 [70]\ntemp T f32 [33, 70]\n"
     "tensor Y f32 [33, 70]\nT[m, n] = sum(k) A[k, m] * B[n, k]\n"
     "Y[m, n] = max(T[m, n] + bias[n], 0)\n",
     900},
    {"convolution",
     "tensor X f32 [7, 9, 512]\ntensor F f32 [512, 32]\ntensor Y f32 [7, 9, 32]\n"
     "Y[p, q, o] = sum(c) X[p, q, c] * F[c, o]\n",
     512},
};

static void run_on(const struct sum *sum, int ordinal) {
    struct random_data d = {0};
    struct kernels kernels;
    struct run r;

    assert_true(compile_text(&r, sum->name, sum->text, ordinal));
    assert_true(check_kernels(&r, &kernels));
    if (kernels.count < 2)
        fail_msg("%s on %s: the sum is not computed in parts", sum->name, r.options.target);
    draw_values(&d, r.program, MANTISSAS, sum->terms, 1);
    for (int order = 0; order < ORDERS; order++) {
        use_order((uint64_t)order);
        r.device = open_gpu("sim", ordinal);
        if (!run_is_right(&r, &d))
            fail_msg("order %d: %s", order, uk_gpu_message(r.device));
        uk_gpu_close(r.device);
        /* From now on, equal to the first run. */
        for (int i = 0; i < d.tensors; i++) {
            memcpy(d.wanted[i], d.got[i], random_data_room(&d, i));
            d.allowed[i] = 0;
        }
    }
    random_data_free(&d);
    compiled_end(&r);
}

static void run(void **state) {
    for (int i = 0; i < TARGETS; i++)
        run_on(*state, i);
}

int main(void) {
    struct CMUnitTest tests[sizeof sums / sizeof *sums];

    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        tests[i] = (struct CMUnitTest){
            .name = sums[i].name, .test_func = run, .initial_state = (void *)(uintptr_t)&sums[i]};
    return cmocka_run_group_tests_name("gpu_parts", tests, NULL, NULL);
}
