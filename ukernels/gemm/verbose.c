/* SPDX-License-Identifier: Apache-2.0 */
/* UK_VERBOSE=1: prints a line per call, with its arguments, its plan, and the time that it took. */
#include <stdio.h>
#include <string.h>
#include "plan.h"

bool uk_gemm_is_verbose;

void uk_gemm_begin_verbose(void) {
    const char *why;

    uk_gemm_is_verbose = uk_is_verbose();
    if (!uk_gemm_is_verbose)
        return;
    uk_say_line("ukernels " UK_VERSION ": core %s, %d threads", uk_machine()->core.name, uk_count_threads());
    if (uk_cpu_status(&why))
        uk_say_line("ukernels: %s", why);
    if (uk_threads_are_refused())
        uk_say_line("ukernels: UK_NUM_THREADS is no number from 1 to %d; it is ignored", UK_MAX_POOL_THREADS);
}

/* Sets `symbol` to that of the main kernel, from the plan in words; "" if that names none. */
static void find_kernel(const struct gemm_plan *plan, char *symbol, size_t size) {
    char text[GEMM_WORK_ON_STACK];
    struct gemm_text t = {text, sizeof text, 0};

    text[0] = 0;
    plan->path->explain(&t, plan);
    const char *found = strstr(text, ": uk_");

    snprintf(symbol, size, "%.*s", found ? (int)strcspn(found + 2, "\n,") : 0, found ? found + 2 : "");
}

/* Prints a line. Arguments are those of the caller, except that an operand that is row-major and column-major
 * at once is printed as row-major. */
static void say(const struct gemm_plan *plan, const struct gemm_operands *o, int64_t count, int64_t threads,
                enum uk_status status, double microseconds) {
    const struct gemm_product *p = &plan->product;
    const bool swapped = plan->swapped, columns = swapped != p->c_columns,
               a_columns = swapped ? !p->b_columns : p->a_columns,
               b_columns = swapped ? !p->a_columns : p->b_columns;
    char kernel[64], batch[32] = "";

    find_kernel(plan, kernel, sizeof kernel);
    if (count > 1)
        snprintf(batch, sizeof batch, " batch %lld", (long long)count);
    uk_say_line(
        "ukernels: %s %s %c%c %lld x %lld x %lld%s lda %lld ldb %lld ldc %lld alpha %g beta %g: %s%s%s, %lld "
        "%s, %.3f us%s%s",
        p->type->name, columns ? "column-major" : "row-major", "NT"[a_columns != columns],
        "NT"[b_columns != columns], (long long)(swapped ? p->n : p->m), (long long)(swapped ? p->m : p->n),
        (long long)p -> k, batch, (long long)(swapped ? p->ldb : p->lda),
        (long long)(swapped ? p->lda : p->ldb), (long long)p -> ldc, o -> alpha, o -> beta,
        plan -> path -> name, *kernel ? ", " : "", kernel, (long long)threads,
        threads == 1 ? "thread" : "threads", microseconds, status ? ", " : "",
        status ? uk_status_text(status) : "");
}

enum uk_status uk_gemm_run_verbose(const struct gemm_plan *plan, const struct gemm_operands *o,
                                   void *workspace) {
    const double begin = uk_microseconds();
    const enum uk_status status = uk_gemm_run(plan, o, workspace);

    say(plan, o, 1, plan->row_tasks * plan->column_tasks, status, uk_microseconds() - begin);
    return status;
}

void uk_gemm_say_batch(const struct gemm_plan *plan, const struct gemm_operands *o, int64_t count,
                       int64_t threads, double begin) {
    say(plan, o, count, threads, UK_OK, uk_microseconds() - begin);
}
