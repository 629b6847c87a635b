/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products of bf16 and f16: the functions that programs call. */
#include "gemm/low.h"

static enum uk_status run_halves(const struct uk_gemm_plan *callers, const struct gemm_type *type,
                                 const struct gemm_operands *operands,
                                 const struct uk_sgemm_epilogue *epilogue, void *workspace) {
    const struct gemm_plan *plan = gemm_plan_in(callers);
    struct gemm_operands o = *operands;
    struct gemm_epilogue e;

    if (!plan)
        return uk_gemm_refuse(UK_INVALID_ARGUMENT, "the plan is NULL, or no plan was made in it");
    if (epilogue) {
        if (!uk_gemm_epilogue_given(epilogue->flags, (double)epilogue->scale, (double)epilogue->low,
                                    (double)epilogue->high, epilogue->row_bias, epilogue->column_bias, &e))
            return uk_gemm_refuse(UK_INVALID_ARGUMENT,
                                  "the epilogue has an unknown flag, or a value without its flag");
        o.epilogue = &e;
    }
    return uk_gemm_run_as(plan, type, &o, workspace);
}

/* Sums of f16 are those of a type of their own. */
static const struct gemm_type *f16_type(const struct uk_gemm_options *options) {
    return options && options->f16_sums ? &uk_gemm_f16_sums : &uk_gemm_f16;
}

static const struct gemm_type *f16_type_of(const struct uk_gemm_plan *plan) {
    const struct gemm_plan *p = gemm_plan_in(plan);

    return p && p->product.type == &uk_gemm_f16_sums ? &uk_gemm_f16_sums : &uk_gemm_f16;
}

#define RESULT float
#define TYPE uk_gemm_bf16
#define TYPE_OF_PLAN(options) ((void)(options), &uk_gemm_bf16)
#define TYPE_OF_RUN(plan) &uk_gemm_bf16
#define UK(name) uk_b##name
#include "calls_halves.h"

#define RESULT uint16_t
#define TYPE uk_gemm_f16
#define TYPE_OF_PLAN(options) f16_type(options)
#define TYPE_OF_RUN(plan) f16_type_of(plan)
#define UK(name) uk_h##name
#include "calls_halves.h"
