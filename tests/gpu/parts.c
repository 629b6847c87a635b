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

/* A sum in parts of 16 terms, as many as the sizes make, and what follows it. */
static const char steps_of_parts[] =
    "tensor A f32 [M, K]\ntensor B f32 [K, N]\ntensor bias f32 [N]\ntemp T f32 [M, N]\ntensor Y f32 [M, N]\n"
    "T[m, n] = sum(k) A[m, k] * B[k, n]\nY[m, n] = max(T[m, n] + bias[n], 1)\nschedule\n"
    "split T.k 16 -> part k1\nrfactor part -> R\n"
    "split R.m 8 -> rm0 rm1\nsplit R.n 8 -> rn0 rn1\nreorder part rm0 rn0 rm1 rn1 k1\n"
    "bind part block.z\nbind rm0 block.y\nbind rn0 block.x\nbind rm1 thread.y\nbind rn1 thread.x\n"
    "split T.m 8 -> tm0 tm1\nsplit T.n 8 -> tn0 tn1\nreorder tm0 tn0 tm1 tn1\n"
    "bind tm0 block.y\nbind tn0 block.x\nbind tm1 thread.y\nbind tn1 thread.x\n"
    "split Y.m 8 -> ym0 ym1\nsplit Y.n 8 -> yn0 yn1\nreorder ym0 yn0 ym1 yn1\n"
    "bind ym0 block.y\nbind yn0 block.x\nbind ym1 thread.y\nbind yn1 thread.x\n";

/* Without terms there are no parts, and what follows takes sums of 0; with fewer terms than a part has, one.
 */
static void open_sizes(void **state) {
    static const int64_t sizes[][3] = {{9, 20, 0},  {9, 20, 1},   {9, 20, 15}, {9, 20, 16},
                                       {9, 20, 17}, {9, 20, 100}, {0, 20, 5},  {9, 0, 0}};

    (void)state;
    for (int ordinal = 0; ordinal < TARGETS; ordinal++) {
        struct run r;

        assert_true(compile_text(&r, "parts", steps_of_parts, ordinal));
        r.device = open_gpu("sim", ordinal);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            struct random_data d = {0};

            product_data(&d, r.program, sizes[i], 0);
            if (!run_is_right(&r, &d))
                fail_msg("K = %lld: %s", (long long)sizes[i][2], uk_gpu_message(r.device));
            random_data_free(&d);
        }
        uk_gpu_close(r.device);
        compiled_end(&r);
    }
}

static void run(void **state) {
    for (int i = 0; i < TARGETS; i++)
        run_on(*state, i);
}

int main(void) {
    enum { SUMS = sizeof sums / sizeof *sums };
    struct CMUnitTest tests[SUMS + 1] = {[SUMS] = cmocka_unit_test(open_sizes)};

    for (int i = 0; i < SUMS; i++)
        tests[i] = (struct CMUnitTest){
            .name = sums[i].name, .test_func = run, .initial_state = (void *)(uintptr_t)&sums[i]};
    return cmocka_run_group_tests_name("gpu_parts", tests, NULL, NULL);
}
