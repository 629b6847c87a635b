/* SPDX-License-Identifier: Apache-2.0 */
/* What a plan does, in words. */
#include <stdio.h>
#include "path.h"

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
    p->path->explain(&t, p);
    uk_gemm_add(&t, "threads: %lld (%lld x %lld)\n", tasks, (long long)p->row_tasks,
                (long long)p->column_tasks);
    uk_gemm_add(&t, "workspace: %zu bytes\n", uk_gemm_workspace_of(p));
    uk_gemm_add(&t, "estimate: %.0f cycles on one thread\n", p->cycles);
    return t.length;
}
