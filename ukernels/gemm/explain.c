/* SPDX-License-Identifier: Apache-2.0 */
/* What a plan does, in words. */
#include <stdio.h>
#include "direct.h"
#include "path.h"

static void add_kernels(struct gemm_text *t, const struct gemm_direct *d) {
    int64_t from = 0;

    for (int i = 0; i < d->column_splits; i++) {
        uk_gemm_add(t, "kernel of columns %lld to %lld: %s\n", (long long)from,
                    (long long)(from + d->column_split[i].columns - 1), d->column_split[i].kernel->symbol);
        from += d->column_split[i].columns;
    }
}

static void add_direct(struct gemm_text *t, const struct gemm_plan *p) {
    const struct gemm_type *type = p->type;
    const bool transposed = p->b_column != 1, a_columns = p->a_step != 1;
    const struct gemm_product product = gemm_product_of_plan(p);
    const bool by_panels = gemm_goes_by_panels(type, &product);
    const bool by_rows = !by_panels && (!transposed || p->m > GEMM_TALL) &&
                         gemm_goes_by_rows(type, p->m, p->n, p->k, transposed ? 1 : p->b_step);
    const int64_t together = transposed ? uk_gemm_transposed_columns(type, p->n, p->k, by_rows) : p->n,
                  n = together < p->n ? together : p->n;
    const int64_t most = by_panels ? 2 * GEMM_VECTOR / type->size
                         : by_rows ? uk_gemm_direct_width(type, a_columns, p->m, p->ldc)
                                   : GEMM_WIDE / type->size;
    const bool in_blocks = n >= type->many;
    const struct gemm_direct *direct = type->direct[a_columns];

    uk_gemm_add(t, "path: small, %s, A read in place, B %s\n",
                by_rows ? "along rows of C" : "all rows in one call",
                transposed  ? "transposed first"
                : by_panels ? "packed in panels first"
                            : "read in place");
    if (by_panels)
        uk_gemm_add(t, "kernel of the first rows, which packs B: %s\n", type->panel_first->symbol);
    if (n < p->n)
        uk_gemm_add(t, "B: %lld columns at a time\n", (long long)n);
    if (in_blocks)
        uk_gemm_add(t, "blocks: %lld columns each\n", (long long)most);
    add_kernels(t, in_blocks || transposed ? &direct[in_blocks ? most : n] : p->direct);
    if (in_blocks && n % most) {
        uk_gemm_add(t, "last block: %lld columns\n", (long long)(n % most));
        add_kernels(t, gemm_direct_of(&direct[n % most], p->m, p->k));
    }
}

size_t uk_gemm_explain(const struct uk_gemm_plan *plan, char *buffer, size_t size) {
    const struct gemm_plan *p = gemm_plan_in(plan);
    struct gemm_text t = {buffer, buffer ? size : 0, 0};

    if (t.size)
        buffer[0] = 0;
    if (!gemm_is_plan(p))
        return 0;
    const long long tasks = p->row_tasks * p->column_tasks;

    uk_gemm_add(&t, "product: %s, %lld x %lld x %lld, row-major%s\n", p->type->name, (long long)p->m,
                (long long)p->n, (long long)p->k,
                p->swapped ? ", of the transposes: A and B are exchanged" : "");
    if (p->direct)
        add_direct(&t, p);
    else
        p->path->explain(&t, p);
    uk_gemm_add(&t, "threads: %lld (%lld x %lld)\n", tasks, (long long)p->row_tasks,
                (long long)p->column_tasks);
    uk_gemm_add(&t, "workspace: %zu bytes\n", uk_gemm_workspace_of(p));
    uk_gemm_add(&t, "estimate: %.0f cycles on one thread\n", p->cycles);
    return t.length;
}
