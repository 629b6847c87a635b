/* SPDX-License-Identifier: Apache-2.0 */
/* Batches: many products of one shape. */
#ifndef GEMM_BATCH_H
#define GEMM_BATCH_H

#include "plan.h"

struct gemm_batch {
    struct gemm_operands common;
    /* The operands of a batch: pointers to each; or the first one and strides in elements. */
    const void *const *a, *const *b;
    void *const *c;
    const char *first_a, *first_b;
    char *first_c;
    int64_t stride_a, stride_b, stride_c;
    bool is_strided;
    /* Set by uk_gemm_run_batch. */
    struct gemm_prepared prepared;
    int64_t count, groups;
    char *workspace;
    size_t slice;
};

enum uk_status uk_gemm_run_batch(struct gemm_batch *t, const struct gemm_type *type,
                                 const struct gemm_shape *shape, int64_t count);

#endif
