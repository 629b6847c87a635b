/* SPDX-License-Identifier: Apache-2.0 */
/* Makes plans that callers keep: the calls of a small product's kernels are prepared once. */
#include <stddef.h>
#include "plan.h"

/* Runs the prepared calls of several kernels; s is the first field of struct gemm_prepared. */
static int run_column_splits(const struct uk_small_call *s, const void *a, const void *b, void *c, int acc) {
    const struct gemm_prepared *prepared =
        (const void *)((const char *)s - offsetof(struct gemm_prepared, call));
    const struct gemm_direct *d = prepared->plan.small.kernels;

    for (int i = 0; i < d->column_splits; i++) {
        const int bytes = d->column_split[i].columns * prepared->plan.product.type->size;

        s[i].run(&s[i], a, b, c, acc);
        b = (const char *)b + bytes;
        c = (char *)c + bytes;
    }
    return UK_OK;
}

/* Prepares the calls of a plan whose kernels compute all rows and columns in place. */
static void prepare(struct gemm_prepared *plan) {
    const struct gemm_product *p = &plan->plan.product;
    const struct gemm_small *w = &plan->plan.small;
    const struct gemm_direct *d = w->kernels;
    int64_t n = p->n;

    for (int i = 0; i < d->column_splits; i++) {
        const int64_t columns = i + 1 < d->column_splits ? d->column_split[i].columns : n;

        d->column_split[i].prepare(&plan->call[i], p->k, p->lda, p->ldb, p->ldc, p->m, columns);
        n -= columns;
    }
    (plan->plan.swapped ? plan->resolved_swapped : plan->resolved)[p->type->element == UK_ELEMENT_F64] =
        w->order == GEMM_AT_ONCE ? d->column_splits == 1 ? plan->call[0].run : run_column_splits
        : d->column_splits == 1  ? plan->call[0].ahead
                                 : NULL;
}

enum uk_status uk_gemm_prepare(struct gemm_prepared *plan, const struct gemm_type *type,
                               const struct gemm_shape *shape, const struct uk_gemm_options *options) {
    struct gemm_prepared own = {.resolved = {NULL}};
    const struct gemm_small *w = &own.plan.small;
    const enum uk_status status = uk_gemm_resolve(&own.plan, type, shape, options);

    if (status)
        return status;
    if (own.plan.path == &uk_gemm_small && !uk_gemm_is_verbose && !w->bytes && !w->width &&
        type == own.plan.product.type)
        prepare(&own);
    *plan = own;
    return UK_OK;
}
