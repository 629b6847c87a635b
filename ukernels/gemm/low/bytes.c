/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products of bytes: the functions that programs call. */
#include "gemm/low.h"

static enum uk_status run_bytes(const struct uk_gemm_plan *callers, const struct gemm_type *type,
                                const void *a, const void *b, int32_t beta, void *c,
                                const struct uk_igemm_epilogue *epilogue, void *workspace) {
    const struct gemm_plan *plan = gemm_plan_in(callers);
    struct gemm_operands o = {1, beta, a, b, c, NULL, NULL};
    struct gemm_quantization q;
    enum uk_status status;

    if (!plan)
        return uk_gemm_refuse(UK_INVALID_ARGUMENT, "the plan is NULL, or no plan was made in it");
    if (plan->product.type == type && (epilogue || !gemm_sums_in_c(&plan->product))) {
        if ((status = uk_gemm_quantization(plan, epilogue, beta, &q)))
            return status;
        o.quantization = &q;
    }
    return uk_gemm_run_as(plan, type, &o, workspace);
}

#define LEFT uint8_t
#define RIGHT int8_t
#define TYPE uk_gemm_u8_i8
#define UK(name) uk_i##name
#include "calls_bytes.h"

#define LEFT int8_t
#define RIGHT int8_t
#define TYPE uk_gemm_i8
#define UK(name) uk_i8##name
#include "calls_bytes.h"

#define LEFT uint8_t
#define RIGHT uint8_t
#define TYPE uk_gemm_u8
#define UK(name) uk_u8##name
#include "calls_bytes.h"
