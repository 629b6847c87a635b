/* SPDX-License-Identifier: Apache-2.0 */
/* Texts: the message of each thread's last failed call, a plan in words, and with UK_VERBOSE=1 a line per
 * call, with its arguments, its plan, and the time that it took. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "gemm.h"

/* ---- messages ---- */

static _Thread_local char message[GEMM_MESSAGE];

const char *uk_last_message(void) {
    return message;
}

enum uk_status uk_gemm_refuse(enum uk_status status, const char *format, ...) {
    va_list ap;

    va_start(ap, format);
    vsnprintf(message, sizeof message, format, ap);
    va_end(ap);
    return status;
}

/* ---- a plan in words ---- */

void uk_gemm_add(struct gemm_text *t, const char *format, ...) {
    va_list ap;

    va_start(ap, format);
    const size_t room = t->length < t->size ? t->size - t->length : 0;
    const int n = vsnprintf(room ? t->buffer + t->length : NULL, room, format, ap);
    va_end(ap);
    t->length += n > 0 ? (size_t)n : 0;
}

size_t uk_gemm_explain(const struct uk_gemm_plan *plan, char *buffer, size_t size) {
    static const char *const c_elements[] = {[UK_C_I32] = "i32", [UK_C_I8] = "i8",   [UK_C_U8] = "u8",
                                             [UK_C_F32] = "f32", [UK_C_F16] = "f16", [UK_C_BF16] = "bf16"};
    const struct gemm_plan *p = gemm_plan_in(plan);
    struct gemm_text t = {buffer, buffer ? size : 0, 0};

    if (t.size)
        buffer[0] = 0;
    if (!p)
        return 0;
    const long long tasks = p->row_tasks * p->column_tasks;

    uk_gemm_add(&t, "product: %s, %lld x %lld x %lld, row-major%s\n", p->product.type->name,
                (long long)p->product.m, (long long)p->product.n, (long long)p->product.k,
                p->swapped ? ", of the transposes: A and B are exchanged" : "");
    if (p->product.c_element != p->product.type->c_element)
        uk_gemm_add(&t, "elements of C: %s\n", c_elements[p->product.c_element]);
    p->path->explain(&t, p);
    uk_gemm_add(&t, "threads: %lld (%lld x %lld)\n", tasks, (long long)p->row_tasks,
                (long long)p->column_tasks);
    uk_gemm_add(&t, "workspace: %zu bytes\n", p->workspace);
    uk_gemm_add(&t, "estimate: %.0f cycles on one thread\n", p->cycles);
    return t.length;
}

/* ---- a line per call ---- */

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

void uk_gemm_say(const struct gemm_plan *plan, const struct gemm_operands *o, int64_t count, int64_t threads,
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
