/* SPDX-License-Identifier: Apache-2.0 */
/* Operands in shared memory, in groups of four elements that one instruction reads. */
#include "registry/gpu_kernel.h"

enum { GROUP = 4 };
typedef float group __attribute__((ext_vector_type(4)));

/* Reads the groups of one k iteration; count is a constant. */
static inline __attribute__((always_inline)) void read_groups(group *x, int count, const UK_SHARED float *s,
                                                              int stride) {
#pragma unroll
    for (int i = 0; i < count; i++)
        x[i] = *(const UK_SHARED group *)(s + i * stride);
}
