/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products that `auto` compiles for GPUs without their sizes, in several versions: right for sizes that take
 * each of them, whose sums have no terms, one part, several, and a last part that is shorter; with short
 * indices, and with wide ones, which all sizes take if the limit of short ones is 1 byte. The simulator must
 * report nothing; the kernels must use no scratch memory and spill nothing.
 */
#include <string.h>
#include "compiled.h"
#include "random.h"

/* kernels: their minimum number, as there are several versions, some of them with parts of the sum */
struct product {
    const char *name, *text;
    uint32_t kernels;
};

static const struct product products[] = {
    {"rows",
     "tensor A f32 [M, K]\ntensor B f32 [K, N]\ntensor Y f32 [M, N]\n"
     "Y[m, n] = sum(k) A[m, k] * B[k, n]\n",
     5},
    {"strided columns with an epilogue",
     "tensor A f32 [K, M] stride [lda, 1]\ntensor B f32 [N, K] stride [ldb, 1]\ntensor bias f32 [N]\n"
     "temp T f32 [M, N]\ntensor Y f32 [M, N]\nT[m, n] = sum(k) A[k, m] * B[n, k]\n"
     "Y[m, n] = max(T[m, n] + bias[n], 0)\n",
     5},
    {"bytes",
     "tensor A i8 [M, K]\ntensor B i8 [N, K]\ntensor Y i32 [M, N]\n"
     "Y[m, n] = sum(k) i32(A[m, k]) * i32(B[n, k])\n",
     5},
    {"constant columns and terms",
     "tensor A f32 [M, 300]\ntensor B f32 [300, 50]\ntensor Y f32 [M, 50]\n"
     "Y[m, n] = sum(k) A[m, k] * B[k, n]\n",
     2},
};

/* M, N and K */
static const int64_t sizes[][3] = {
    {40, 30, 0},   {0, 9, 40},    {1, 1, 1},     {33, 65, 31},   {64, 64, 64},  {70, 40, 257},  {129, 20, 96},
    {20, 9, 1100}, {1040, 7, 65}, {9, 1045, 33}, {1040, 9, 260}, {5, 2060, 70}, {2060, 5, 520},
};

static void run_on(const struct product *product, int ordinal, int64_t short_bytes) {
    struct kernels kernels;
    struct run r;

    assert_true(compile_short(&r, product->name, product->text, ordinal, short_bytes));
    assert_true(short_bytes || check_kernels(&r, &kernels));
    if (!short_bytes && kernels.count < product->kernels)
        fail_msg("%s on %s: %u kernels", product->name, r.options.target, kernels.count);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int64_t *s = sizes[i], longest = s[0] > s[2] ? s[0] : s[2];
        struct random_data d = {0};

        r.device = open_gpu("sim", ordinal);
        product_data(&d, r.program, s, longest + 3);
        if (!run_is_right(&r, &d))
            fail_msg("%s on %s, %d x %d x %d, %s indices: %s", product->name, r.options.target, (int)s[0],
                     (int)s[1], (int)s[2], short_bytes ? "wide" : "short", uk_gpu_message(r.device));
        random_data_free(&d);
        uk_gpu_close(r.device);
    }
    compiled_end(&r);
}

static void run(void **state) {
    for (int i = 0; i < 2 * TARGETS; i++)
        run_on(*state, i % TARGETS, i / TARGETS);
}

int main(void) {
    struct CMUnitTest tests[sizeof products / sizeof *products];

    for (size_t i = 0; i < sizeof products / sizeof *products; i++)
        tests[i] = (struct CMUnitTest){
            .name = products[i].name, .test_func = run, .initial_state = (void *)(uintptr_t)&products[i]};
    return cmocka_run_group_tests_name("gpu_open_sizes", tests, NULL, NULL);
}
