/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that need scratch memory, for blocks of 128 threads. */
#define GLOBAL __attribute__((address_space(1)))
#define KERNEL __attribute__((amdgpu_kernel)) void
enum { WORDS = 20, SPILLED = 150 };

static int thread_of_grid(void) {
    return (int)(__builtin_amdgcn_workgroup_id_x() * 128 + __builtin_amdgcn_workitem_id_x());
}

/* A permutation: each index depends on data. */
KERNEL words(const GLOBAL int *x, GLOBAL int *y) {
    const int i = thread_of_grid();
    int t[WORDS];

    for (int k = 0; k < WORDS; ++k)
        t[k] = x[i * WORDS + k];
    for (unsigned k = 0; k < WORDS - 1; ++k) {
        const unsigned j = k + (unsigned)t[k] % (WORDS - k);
        const int moved = t[j];

        t[j] = t[k];
        t[k] = moved;
    }
    for (int k = 0; k < WORDS; ++k)
        y[i * WORDS + k] = t[k];
}

/* Counts occurrences of each value in arrays of 8-bit and 16-bit elements, which are written one by one. */
KERNEL bytes(const GLOBAL unsigned *x, GLOBAL unsigned *y) {
    const int i = thread_of_grid();
    signed char small[WORDS];
    unsigned short half[WORDS];
    unsigned hash = 0;

    for (int k = 0; k < WORDS; ++k) {
        small[k] = 0;
        half[k] = 0;
    }
    for (int k = 0; k < WORDS; ++k) {
        const unsigned value = x[i * WORDS + k];

        small[value % WORDS] -= 3;
        half[value / WORDS % WORDS] += 40000;
    }
    for (int k = 0; k < WORDS; ++k)
        hash = hash * 31 + (unsigned)(small[k] * half[k]);
    y[i] = hash;
}

/* Accesses a buffer in some lanes and scratch in others, by one instruction. */
KERNEL either(const GLOBAL int *x, GLOBAL int *y) {
    const int i = thread_of_grid();
    int t[WORDS];
    const int *from;

    for (int k = 0; k < WORDS; ++k)
        t[k] = 3 * x[i * WORDS + k];
    from = x[i * WORDS] % 2 ? (const int *)(x + i * WORDS) : t;
    y[i] = from[(unsigned)x[i * WORDS + 1] % WORDS];
}

/* More live values than registers: 64 or 128 per thread of a block of 1024. */
KERNEL spilled(const GLOBAL int *x, GLOBAL int *y) {
    const int i = thread_of_grid();
    int t[SPILLED];

#pragma clang loop unroll(full)
    for (int k = 0; k < SPILLED; ++k)
        t[k] = x[k * 256 + i];
    __asm__ volatile("" ::: "memory");
#pragma clang loop unroll(full)
    for (int k = 0; k < SPILLED; ++k)
        y[k * 256 + i] = t[SPILLED - 1 - k] + t[k * 7 % SPILLED];
}
