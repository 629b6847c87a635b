/* SPDX-License-Identifier: Apache-2.0 */
/* Parallel loops over a plan's tasks, and growing texts. */
#include <stdarg.h>
#include <stdio.h>
#include "plan.h"

void uk_gemm_parallel(const struct gemm_plan *plan,
                      void (*task)(void *context, int64_t index, int64_t thread), void *context,
                      int64_t count) {
    if (count == 1)
        task(context, 0, 0);
    else if (plan->pool)
        uk_pool_for(plan->pool, task, context, count);
    else
        uk_parallel_for(task, context, count);
}

void uk_gemm_add(struct gemm_text *t, const char *format, ...) {
    va_list ap;

    va_start(ap, format);
    const size_t room = t->length < t->size ? t->size - t->length : 0;
    const int n = vsnprintf(room ? t->buffer + t->length : NULL, room, format, ap);
    va_end(ap);
    t->length += n > 0 ? (size_t)n : 0;
}
