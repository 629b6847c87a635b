/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels for AMD's GPUs that the tests launch. */
#include <stdint.h>

#define GLOBAL __attribute__((address_space(1)))
#define SHARED __attribute__((address_space(3)))
#define KERNEL __attribute__((amdgpu_kernel, visibility("protected")))

/* c[i] = a[i] + b[i], one i per thread. */
KERNEL void add(int64_t n, const GLOBAL float *a, const GLOBAL float *b, GLOBAL float *c) {
    const int64_t i = (int64_t)__builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();

    if (i < n)
        c[i] = a[i] + b[i];
}

/* Arguments of all sizes, each at a multiple of its size. */
KERNEL void arguments(int8_t a, int64_t b, int16_t c, float d, double e, GLOBAL double *out) {
    out[0] = a;
    ((GLOBAL int64_t *)out)[1] = b;
    out[2] = c;
    out[3] = d;
    out[4] = e;
}

/* Stores the six ids of each thread at its number, for grids of 2 x 3 x 4 blocks of 4 x 2 x 8 threads. */
KERNEL void places(GLOBAL int32_t *out) {
    const int32_t thread[3] = {(int32_t)__builtin_amdgcn_workitem_id_x(),
                               (int32_t)__builtin_amdgcn_workitem_id_y(),
                               (int32_t)__builtin_amdgcn_workitem_id_z()};
    const int32_t block[3] = {(int32_t)__builtin_amdgcn_workgroup_id_x(),
                              (int32_t)__builtin_amdgcn_workgroup_id_y(),
                              (int32_t)__builtin_amdgcn_workgroup_id_z()};
    const int32_t number =
        ((block[2] * 3 + block[1]) * 2 + block[0]) * 64 + (thread[2] * 2 + thread[1]) * 4 + thread[0];

    for (int i = 0; i < 3; i++) {
        out[6 * number + i] = block[i];
        out[6 * number + 3 + i] = thread[i];
    }
}

/* out[i] = in[255 - i] for one block of 256 threads, through dynamic shared memory. */
extern SHARED float shared[];
KERNEL void reverse(const GLOBAL float *in, GLOBAL float *out) {
    const int i = (int)__builtin_amdgcn_workitem_id_x();

    shared[i] = in[i];
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    out[i] = shared[255 - i];
}

/* Writes one element past the end. */
KERNEL void beyond(int64_t n, GLOBAL float *out) {
    if (__builtin_amdgcn_workitem_id_x() == 0)
        out[n] = 1;
}
