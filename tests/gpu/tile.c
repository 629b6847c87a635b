/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One block of 16 x 16 threads, each of which calls the kernel that -DTILE names. Operands are first copied
 * to shared memory, in rows of WIDTH + PAD elements per step of k; groups of four elements of adjacent
 * threads are adjacent.
 */
#include <stdint.h>

#define GLOBAL __attribute__((address_space(1)))
#define UK_SHARED __attribute__((address_space(3)))
#define UK_REGISTER __attribute__((address_space(5)))
enum { THREADS = 16, ROWS = THREADS * MR, COLUMNS = THREADS * NR, PAD = 4, STEPS = 16 };

void TILE(int64_t k, const UK_SHARED float *a, int64_t lda, int64_t sa, const UK_SHARED float *b, int64_t ldb,
          int64_t sb, UK_REGISTER float *c);

static UK_SHARED __attribute__((loader_uninitialized, aligned(16))) float shared_a[STEPS * (ROWS + PAD)],
    shared_b[STEPS * (COLUMNS + PAD)];

static void meet(void) {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

/* c[ROWS][COLUMNS] += a[k][ROWS] by b[k][COLUMNS], `step` steps of k per call. */
__attribute__((amdgpu_kernel, visibility("protected"))) void
tile(int64_t k, int64_t step, const GLOBAL float *a, const GLOBAL float *b, GLOBAL float *c) {
    const int thread = (int)__builtin_amdgcn_workitem_id_x(), x = thread % THREADS, y = thread / THREADS;
    float sum[MR * NR];

#pragma unroll
    for (int i = 0; i < MR * NR; i++)
        sum[i] = c[(i / NR / 4 * 4 * THREADS + 4 * y + i / NR % 4) * COLUMNS + i % NR / 4 * 4 * THREADS +
                   4 * x + i % 4];
    for (int64_t at = 0; at < k; at += step) {
        const int n = (int)(k - at < step ? k - at : step);

        for (int i = thread; i < n * ROWS; i += THREADS * THREADS)
            shared_a[i / ROWS * (ROWS + PAD) + i % ROWS] = a[at * ROWS + i];
        for (int i = thread; i < n * COLUMNS; i += THREADS * THREADS)
            shared_b[i / COLUMNS * (COLUMNS + PAD) + i % COLUMNS] = b[at * COLUMNS + i];
        meet();
        TILE(n, shared_a + 4 * y, ROWS + PAD, 4 * THREADS, shared_b + 4 * x, COLUMNS + PAD, 4 * THREADS,
             (UK_REGISTER float *)sum);
        meet();
    }
#pragma unroll
    for (int i = 0; i < MR * NR; i++)
        c[(i / NR / 4 * 4 * THREADS + 4 * y + i / NR % 4) * COLUMNS + i % NR / 4 * 4 * THREADS + 4 * x +
          i % 4] = sum[i];
}
