/* SPDX-License-Identifier: Apache-2.0 */
/* Our own matrix products as contenders of uk bench gemm. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bench.h"
#include "benchmarks.h"

static enum uk_transpose form(bool transposed) {
    return transposed ? UK_TRANSPOSE : UK_NO_TRANSPOSE;
}

static bool begin_call(struct bench_call *call) {
    (void)call;
    return true;
}

static void repeat_call(struct bench_call *call, long calls) {
    const struct bench_product *p = call->product;
    enum uk_transpose ta = form(p->a_transposed), tb = form(p->b_transposed);
    if (p->type == BENCH_F64)
        for (long i = 0; i < calls; i++)
            uk_dgemm(UK_ROW_MAJOR, ta, tb, p->m, p->n, p->k, 1, p->a, p->lda, p->b, p->ldb, p->beta, p->c,
                     p->ldc);
    else
        for (long i = 0; i < calls; i++)
            uk_sgemm(UK_ROW_MAJOR, ta, tb, p->m, p->n, p->k, 1, p->a, p->lda, p->b, p->ldb, (float)p->beta,
                     p->c, p->ldc);
}

static void end_plan(struct bench_call *call) {
    free(call->state[0]);
    free(call->state[1]);
}

/* Makes the plan and allocates its workspace. */
static bool begin_plan(struct bench_call *call) {
    const struct bench_product *p = call->product;
    struct uk_gemm_plan *plan = call->state[0] = malloc(sizeof *plan);
    if (!plan)
        return false;
    enum uk_status s = (p->type == BENCH_F64 ? uk_dgemm_plan : uk_sgemm_plan)(
        plan, UK_ROW_MAJOR, form(p->a_transposed), form(p->b_transposed), p->m, p->n, p->k, p->lda, p->ldb,
        p->ldc, NULL);
    size_t bytes = s ? 0 : (uk_gemm_workspace(plan) + 63) / 64 * 64;
    if (bytes)
        call->state[1] = aligned_alloc(64, bytes);
    if (!s && (!bytes || call->state[1]))
        return true;
    end_plan(call);
    return false;
}

static void repeat_plan(struct bench_call *call, long calls) {
    const struct bench_product *p = call->product;
    const struct uk_gemm_plan *plan = call->state[0];
    if (p->type == BENCH_F64)
        for (long i = 0; i < calls; i++)
            uk_dgemm_run(plan, 1, p->a, p->b, p->beta, p->c, NULL, call->state[1]);
    else
        for (long i = 0; i < calls; i++)
            uk_sgemm_run(plan, 1, p->a, p->b, (float)p->beta, p->c, NULL, call->state[1]);
}

void uk_bench_own_products(struct bench_library *libraries, int isa, int threads) {
    libraries[0] = (struct bench_library){
        .name = "ukernels", .forms = {[BENCH_CALL] = true}, .begin = begin_call, .repeat = repeat_call};
    libraries[1] = (struct bench_library){.name = "ukernels plan",
                                          .forms = {[BENCH_RESOLVED] = true},
                                          .begin = begin_plan,
                                          .repeat = repeat_plan,
                                          .end = end_plan};
    for (int i = 0; i < 2; i++)
        snprintf(libraries[i].detail, sizeof libraries[i].detail, "ukernels %s, %s, %d thread%s",
                 uk_version(), bench_isas[isa].name, threads, threads > 1 ? "s" : "");
}
