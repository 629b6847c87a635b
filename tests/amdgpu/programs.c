/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels for tests of the simulator, compiled for each GPU. */
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

/* Each thread stores at its own place, computed from ids on three axes; sizes come from hidden arguments or
 * the packet. */
KERNEL places(GLOBAL int *z) {
    const int x = __builtin_amdgcn_workgroup_id_x() * 4 + __builtin_amdgcn_workitem_id_x();
    const int y = __builtin_amdgcn_workgroup_id_y() * 6 + __builtin_amdgcn_workitem_id_y();
    const int w = __builtin_amdgcn_workgroup_id_z() * 5 + __builtin_amdgcn_workitem_id_z();

    z[(w * 12 + y) * 12 + x] = 10000 * w + 100 * y + x;
}

/* Stores what the launch passes in hidden arguments and in the packet. */
KERNEL sizes(GLOBAL int *z) {
    const __attribute__((address_space(4))) int *packet = __builtin_amdgcn_dispatch_ptr();

    z[0] = __builtin_amdgcn_workgroup_size_x();
    z[1] = __builtin_amdgcn_workgroup_size_y();
    z[2] = __builtin_amdgcn_workgroup_size_z();
    /* threads along x */
    z[3] = packet[3];
}

typedef float float4 __attribute__((ext_vector_type(4)));
static SHARED float4 tile_a[8][16] __attribute__((loader_uninitialized)),
    tile_b[8][16] __attribute__((loader_uninitialized));

static void barrier(void) {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

/* C = A^T B, A is K x M, B is K x N: a block of 256 threads has 64 x 64 of C, a thread 4 x 4. */
KERNEL product(const GLOBAL float *a, const GLOBAL float *b, GLOBAL float *c, int m, int n, int k) {
    const int t = (int)__builtin_amdgcn_workitem_id_x(), x = t % 16, y = t / 16;
    const int i = (int)__builtin_amdgcn_workgroup_id_y() * 64,
              j = (int)__builtin_amdgcn_workgroup_id_x() * 64;
    float4 sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0;

    for (int p = 0; p < k; p += 8) {
        const int row = t / 16 % 8;

        if (t < 128)
            tile_a[row][x] = *(const GLOBAL float4 *)(a + (long)(p + row) * m + i + 4 * x);
        else
            tile_b[row][x] = *(const GLOBAL float4 *)(b + (long)(p + row) * n + j + 4 * x);
        barrier();
        for (int q = 0; q < 8; ++q) {
            const float4 left = tile_a[q][y], right = tile_b[q][x];

            sum0 += left.x * right;
            sum1 += left.y * right;
            sum2 += left.z * right;
            sum3 += left.w * right;
        }
        barrier();
    }
    GLOBAL float *to = c + (long)(i + 4 * y) * n + j + 4 * x;
    *(GLOBAL float4 *)to = sum0;
    *(GLOBAL float4 *)(to + n) = sum1;
    *(GLOBAL float4 *)(to + 2 * n) = sum2;
    *(GLOBAL float4 *)(to + 3 * n) = sum3;
}

/* Division and square root: correctly rounded by sequences of many instructions. */
KERNEL divide(const GLOBAL float *x, const GLOBAL float *y, GLOBAL float *quotient, GLOBAL float *root,
              int n) {
    const int i = thread_of_grid();

    if (i < n) {
        quotient[i] = x[i] / y[i];
        root[i] = __builtin_sqrtf(x[i]);
    }
}

/* Integer operations that compilers expand into many other instructions. */
KERNEL integers(const GLOBAL int *x, const GLOBAL int *y, GLOBAL int *quotient, GLOBAL int *rest,
                GLOBAL long *product, int n) {
    const int i = thread_of_grid();

    if (i < n) {
        quotient[i] = x[i] / y[i];
        rest[i] = (int)((unsigned)x[i] % (unsigned)y[i]);
        product[i] = (long)x[i] * y[i] / 3;
    }
}

KERNEL exponentials(const GLOBAL float *x, GLOBAL float *y, int n, int m) {
    const int i = thread_of_grid();
    float most = -__builtin_inff(), sum = 0;

    for (int j = 0; i < n && j < m; ++j)
        most = __builtin_fmaxf(most, x[(long)i * m + j]);
    for (int j = 0; i < n && j < m; ++j)
        sum += __builtin_expf(x[(long)i * m + j] - most);
    for (int j = 0; i < n && j < m; ++j)
        y[(long)i * m + j] = __builtin_expf(x[(long)i * m + j] - most) / sum;
}

/* 3 x 3, with edges: conditions within conditions. */
KERNEL convolution(const GLOBAL float *x, const GLOBAL float *w, GLOBAL float *y, int height, int width) {
    const int i = thread_of_grid(), row = i / width, column = i % width;
    float sum = 0;

    if (i >= height * width)
        return;
    for (int a = -1; a <= 1; ++a)
        for (int b = -1; b <= 1; ++b)
            if (row + a >= 0 && row + a < height && column + b >= 0 && column + b < width)
                sum += x[(row + a) * width + column + b] * w[3 * a + b + 4];
    y[i] = sum > 0 ? sum : 0;
}
