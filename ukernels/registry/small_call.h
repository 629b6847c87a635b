/* SPDX-License-Identifier: Apache-2.0 */
/* Prepared calls of small products, for their kernels and the folder gemm only; this header is not installed.
 */
#ifndef UK_SMALL_CALL_H
#define UK_SMALL_CALL_H

#include <stdint.h>

struct uk_small_call;

/* Computes a prepared product, and adds to C if acc is not 0. Returns 0, which is UK_OK, so that uk_sgemm can
 * end in a jump to it. */
typedef int uk_small_run(const struct uk_small_call *s, const void *a, const void *b, void *c, int acc);

/* Values that a kernel of small products (sgemm_small, dgemm_small, ..._ta) derives from sizes and strides,
 * once for repeated calls. Compiled with UK_RESOLVED, the kernel's file defines UK_SYMBOL_resolved, which
 * fills this struct; m, n and k are at least 1. It leaves `ahead` and `prefetching` as they are if it has no
 * such variant, so callers that read them zero the struct first. Callers read the pointers only, the kernel
 * the rest. */
struct uk_small_call {
    uk_small_run *run;
    uk_small_run *ahead;       /* for many rows of A from the LLC or memory, which it prefetches */
    uk_small_run *prefetching; /* for a C that is not in L1, which it prefetches */
    int64_t unrolled, lda, ldb, ldc, m, rows, longer, shorter, before, bytes, kind, iterations;
    int64_t a1, a2, a3, c1, c2, c3, a_last, c_last;
    int32_t enter;
    uint32_t all, half, rows_of_a, first[4], mask[4];
};

#endif
