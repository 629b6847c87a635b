/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of bytes whose rows are more than 2 GiB apart, or nearly, in kernels that were compiled without
 * sizes. Offsets have up to 33 bits. The simulator's large buffers take memory only where they are accessed.
 */
#include <string.h>
#include "compiled.h"

enum { MAX_M = 3, K = 70, N = 45 };
#define TWO31 ((int64_t)1 << 31)

static const char product[] = "tensor A i8 [M, K] stride [lda, 1]\ntensor B i8 [K, N]\n"
                              "tensor C i32 [M, N] stride [ldc, 1]\n"
                              "C[m, n] = sum(k) i32(A[m, k]) * i32(B[k, n])\n";

/* lda and ldc are in elements, of 1 and of 4 bytes. */
static const struct {
    int64_t m, lda, ldc;
} shapes[] = {
    {2, TWO31 + 4099, N},
    {3, TWO31 - (1 << 20), N},
    {2, 2 * TWO31 + 9, N},
    {2, K, TWO31 / 4 + 3},
    {2, K, TWO31 / 2 + 5},
    {3, TWO31 + 1, TWO31 / 4 + 100},
    {2, TWO31 - K - 1, TWO31 / 4 - N - 1},
};

static uk_gpu_address alloc(struct uk_gpu *gpu, int64_t bytes) {
    uk_gpu_address at;

    assert_int_equal(uk_gpu_alloc(gpu, (size_t)bytes, &at), UK_OK);
    return at;
}

static void run_shape(struct run *r, int64_t m, int64_t lda, int64_t ldc) {
    static int8_t a[MAX_M][K], b[K][N];
    struct uk_gpu *gpu = open_gpu("sim", r->options.target == targets[1]);
    const uk_gpu_address at[] = {alloc(gpu, (m - 1) * lda + K), alloc(gpu, sizeof b),
                                 alloc(gpu, 4 * ((m - 1) * ldc + N))};
    int64_t size[5];

    for (int k = 0; k < K; k++) {
        for (int i = 0; i < MAX_M; i++)
            a[i][k] = (int8_t)((i * K + k) * 7919 % 251 - 125);
        for (int j = 0; j < N; j++)
            b[k][j] = (int8_t)((k * N + j) * 6857 % 251 - 125);
    }
    for (int64_t i = 0; i < m; i++)
        assert_int_equal(uk_gpu_upload(gpu, at[0] + (uint64_t)(i * lda), a[i], K), UK_OK);
    assert_int_equal(uk_gpu_upload(gpu, at[1], b, sizeof b), UK_OK);
    for (int i = 0; i < uk_program_sizes(r->program); i++) {
        const char *name = uk_program_size_name(r->program, i);

        size[i] = *name == 'M' ? m : *name == 'K' ? K : *name == 'N' ? N : strcmp(name, "lda") ? ldc : lda;
    }
    void *const argument[] = {gpu, (void *)(uintptr_t)at[0], (void *)(uintptr_t)at[1],
                              (void *)(uintptr_t)at[2]};
    const int status = uk_module_call(r->module, size, NULL, argument);

    if (status)
        fail_msg("%d rows, %lld, %lld: status %d: %s", (int)m, (long long)lda, (long long)ldc, status,
                 uk_gpu_message(gpu));
    for (int64_t i = 0; i < m; i++) {
        int32_t c[N];

        assert_int_equal(uk_gpu_download(gpu, c, at[2] + (uint64_t)(4 * i * ldc), sizeof c), UK_OK);
        for (int j = 0; j < N; j++) {
            int32_t sum = 0;

            for (int k = 0; k < K; k++)
                sum += a[i][k] * b[k][j];
            assert_int_equal(c[j], sum);
        }
    }
    uk_gpu_close(gpu);
}

static void large_strides(void **unused) {
    (void)unused;
    for (int ordinal = 0; ordinal < TARGETS; ordinal++) {
        struct run r;

        assert_true(compile_text(&r, "large_strides", product, ordinal));
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            run_shape(&r, shapes[i].m, shapes[i].lda, shapes[i].ldc);
        compiled_end(&r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(large_strides)};

    return cmocka_run_group_tests_name("gpu_large_strides", tests, NULL, NULL);
}
