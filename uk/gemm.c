/* SPDX-License-Identifier: Apache-2.0 */
/* uk gemm: explains the plan of a call of uk_sgemm or uk_dgemm. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "gemm/gemm.h"
#include "machine/machine.h"
#include "uk.h"

static bool is(const char *value, const char *word) {
    return value && !strcmp(value, word);
}

/* Prints an error that lists the rows of cores.def. */
static int refuse_machine(const char *name) {
    const struct uk_core *c;
    char rows[512];
    int n = 0;

    for (int i = 0; (c = uk_core_at(i)) && n < (int)sizeof rows; i++)
        if (c->arch != UK_ARCH_any && !c->device.lanes)
            n += snprintf(rows + n, sizeof rows - (size_t)n, "%s%s", n ? ", " : "", c->name);
    return uk_complain(UK_EXIT_USAGE,
                       "uk gemm: --machine=%s is not a core that products are planned for; use one of %s",
                       name, rows);
}

static int read_size(const char *text, int64_t *size) {
    char *end;
    errno = 0;
    const long long v = strtoll(text, &end, 10);
    *size = v;
    if (end == text || *end || errno || v < 0)
        return uk_complain(UK_EXIT_USAGE, "uk gemm: %s: expected a size, 0 or more", text);
    return UK_EXIT_OK;
}

/* Parses PATH[,KERNEL[,KC]] in place. Exit status. */
static int read_plan(char *text, struct gemm_wanted *wanted) {
    int64_t *kc = &wanted->kc;
    char *kernel = strchr(text, ','), *blocks = kernel ? strchr(kernel + 1, ',') : NULL;

    wanted->path = text;
    if (kernel)
        *kernel++ = 0;
    if (blocks)
        *blocks++ = 0;
    wanted->kernel = kernel && *kernel ? kernel : NULL;
    return blocks ? read_size(blocks, kc) : UK_EXIT_OK;
}

/* Makes the plan that --plan describes. Exit status. */
static int plan_as(struct uk_gemm_plan *plan, const struct uk_arguments *a, const struct gemm_shape *shape,
                   const struct uk_gemm_options *options) {
    struct gemm_wanted wanted = {0};
    char text[256];

    snprintf(text, sizeof text, "%s", a->plan);
    const int status = read_plan(text, &wanted);
    if (status)
        return status;
    const enum uk_status failed = uk_gemm_plan_as(plan, is(a->type, "f64"), shape, options, &wanted);
    return !failed ? UK_EXIT_OK
           : failed == UK_NO_MATCH
               ? uk_complain(UK_EXIT_WRONG,
                             "uk gemm: --plan=%s: this path, kernel and blocks cannot compute the product",
                             a->plan)
               : uk_complain(UK_EXIT_USAGE,
                             "uk gemm: --plan=%s: %s; a plan is PATH[,KERNEL[,KC]], and a path scale, small, "
                             "vector, dots or tiles",
                             a->plan, uk_status_text(failed));
}

int uk_command_gemm(const struct uk_arguments *a) {
    int64_t size[3];
    const bool columns = is(a->layout, "column"), ta = is(a->ta, "t"), tb = is(a->tb, "t"),
               f64 = is(a->type, "f64");
    int status = UK_EXIT_OK;
    const char *message;
    for (int i = 0; i < 3 && !status; i++)
        status = read_size(a->positional[i], &size[i]);
    if (status)
        return status;
    if (uk_cpu_status(&message))
        return uk_complain(UK_EXIT_WRONG, "%s", message);
    const int64_t m = size[0], n = size[1], k = size[2];
    const int64_t lda = columns == ta ? k : m, ldb = columns == tb ? n : k, ldc = columns ? m : n;
    const struct uk_gemm_options options = {.threads = (int)a->threads, .machine = a->machine};
    const struct gemm_shape s = {columns ? UK_COLUMN_MAJOR : UK_ROW_MAJOR,
                                 ta ? UK_TRANSPOSE : UK_NO_TRANSPOSE,
                                 tb ? UK_TRANSPOSE : UK_NO_TRANSPOSE,
                                 m,
                                 n,
                                 k,
                                 lda ? lda : 1,
                                 ldb ? ldb : 1,
                                 ldc ? ldc : 1};
    struct uk_gemm_plan plan;
    char text[2048];
    const enum uk_status failed = (f64 ? uk_dgemm_plan : uk_sgemm_plan)(&plan, s.layout, s.ta, s.tb, m, n, k,
                                                                        s.lda, s.ldb, s.ldc, &options);
    if (failed == UK_INVALID_ARGUMENT && a->machine)
        return refuse_machine(a->machine);
    if (failed)
        return uk_complain(UK_EXIT_WRONG, "%s x %s x %s: %s", a->positional[0], a->positional[1],
                           a->positional[2], uk_status_text(failed));
    if (a->plan && (status = plan_as(&plan, a, &s, &options)))
        return status;
    uk_gemm_explain(&plan, text, sizeof text);
    fputs(text, stdout);
    return UK_EXIT_OK;
}
