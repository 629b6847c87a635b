/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels with matrix instructions, compiled for gfx90a: results that other instructions use at once. */
#define GLOBAL __attribute__((address_space(1)))
#define SHARED __attribute__((address_space(3)))
#define KERNEL __attribute__((amdgpu_kernel)) void

typedef float float4 __attribute__((ext_vector_type(4)));
typedef float float16 __attribute__((ext_vector_type(16)));
typedef double double4 __attribute__((ext_vector_type(4)));
typedef _Float16 half4 __attribute__((ext_vector_type(4)));
typedef int int4 __attribute__((ext_vector_type(4)));

#define LANE ((int)__builtin_amdgcn_workitem_id_x())

/* Sums of f16, stored at once. */
KERNEL halves(const GLOBAL half4 *a, const GLOBAL half4 *b, GLOBAL float16 *d) {
    float16 sum = 0;

    for (int k = 0; k < 4; ++k)
        sum = __builtin_amdgcn_mfma_f32_32x32x8f16(a[64 * k + LANE], b[64 * k + LANE], sum, 0, 0, 0);
    d[LANE] = sum;
}

/* A product's result is a factor of the next one, and is scaled. */
KERNEL factors(const GLOBAL float *a, const GLOBAL float *b, GLOBAL float4 *d) {
    const float4 first = __builtin_amdgcn_mfma_f32_16x16x4f32(a[LANE], b[LANE], (float4)0, 0, 0, 0);
    const float4 second = __builtin_amdgcn_mfma_f32_16x16x4f32(first.x, b[LANE], (float4)1, 0, 0, 0);

    d[LANE] = 3 * second + first;
}

/* Blocks of 4 x 4, by LDS. */
KERNEL blocks(const GLOBAL float *a, const GLOBAL float *b, GLOBAL float4 *d) {
    static SHARED float4 line[64] __attribute__((loader_uninitialized));
    const float4 sum = __builtin_amdgcn_mfma_f32_4x4x1f32(a[LANE], b[LANE], (float4)0, 2, 1, 0);

    line[LANE] = sum;
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    d[LANE] = line[63 - LANE] + a[LANE];
}

/* Sums of bytes and of f64. */
KERNEL others(const GLOBAL int *a, const GLOBAL double *x, GLOBAL int4 *d, GLOBAL double4 *y) {
    const int4 sum = __builtin_amdgcn_mfma_i32_16x16x16i8(a[LANE], a[LANE], (int4)0, 0, 0, 0);
    const double4 big = __builtin_amdgcn_mfma_f64_16x16x4f64(x[LANE], x[LANE] + 1, (double4)0, 0, 0, 0);
    const double small = __builtin_amdgcn_mfma_f64_4x4x4f64(big.x, big.y, big.z, 0, 0, 0);

    d[LANE] = sum + a[LANE];
    y[LANE] = big * small;
}

/* A tile of 64 x 64. */
KERNEL many(const GLOBAL half4 *a, const GLOBAL half4 *b, GLOBAL float16 *d, int n) {
    float16 sum[2][2] = {{0}};

    for (int k = 0; k < n; ++k)
        for (int i = 0; i < 2; ++i)
            for (int j = 0; j < 2; ++j)
                sum[i][j] = __builtin_amdgcn_mfma_f32_32x32x8f16(
                    a[128 * k + 64 * i + LANE], b[128 * k + 64 * j + LANE], sum[i][j], 0, 0, 0);
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j)
            d[128 * i + 64 * j + LANE] = sum[i][j];
}
