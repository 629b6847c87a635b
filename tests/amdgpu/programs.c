/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that the simulator is tested with, compiled for each GPU. */
#define GLOBAL __attribute__((address_space(1)))
#define SHARED __attribute__((address_space(3)))
#define KERNEL __attribute__((amdgpu_kernel)) void

static int thread_of_grid(void) {
    return (int)(__builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x());
}

KERNEL vadd(const GLOBAL float *x, const GLOBAL float *y, GLOBAL float *z, int n) {
    const int i = thread_of_grid();

    if (i < n)
        z[i] = x[i] + y[i];
}

/* Each thread its own place, of ids of three axes; sizes come from hidden arguments or the packet. */
KERNEL places(GLOBAL int *z) {
    const int x = __builtin_amdgcn_workgroup_id_x() * 4 + __builtin_amdgcn_workitem_id_x();
    const int y = __builtin_amdgcn_workgroup_id_y() * 6 + __builtin_amdgcn_workitem_id_y();
    const int w = __builtin_amdgcn_workgroup_id_z() * 5 + __builtin_amdgcn_workitem_id_z();

    z[(w * 12 + y) * 12 + x] = 10000 * w + 100 * y + x;
}
