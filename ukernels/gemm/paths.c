/* SPDX-License-Identifier: Apache-2.0 */
/* The table of paths; the path of products without terms or elements; runs plans. */
#include "low.h"
#include <math.h>

/* ---- no product at all ---- */

static double cycles_of_scale(struct gemm_plan *plan) {
    const struct gemm_product *p = &plan->product;

    plan->is_certain = !p->m || !p->n || !p->k;
    return plan->is_certain ? 0 : HUGE_VAL;
}

static void run_scale(const struct gemm_plan *plan, const struct gemm_operands *o, void *workspace) {
    const struct gemm_product *p = &plan->product;

    (void)workspace;
    if (p->type->is_low_precision) {
        uk_gemm_low_scale(p, o);
    } else if (p->c_columns) {
        struct gemm_epilogue e;

        if (o->epilogue)
            e = gemm_transposed_epilogue(o->epilogue);
        p->type->scale(p->n, p->m, o->c, p->ldc, o->beta, o->epilogue ? &e : NULL);
    } else {
        p->type->scale(p->m, p->n, o->c, p->ldc, o->beta, o->epilogue);
    }
}

static void explain_scale(struct gemm_text *t, const struct gemm_plan *plan) {
    (void)plan;
    uk_gemm_add(t, "path: C is scaled, A and B are not read\n");
}

const struct gemm_path uk_gemm_scale = {"scale", GEMM_PACKS_NOTHING, cycles_of_scale,
                                        NULL,    run_scale,          explain_scale};

const struct gemm_path *const uk_gemm_paths[] = {
    &uk_gemm_scale, &uk_gemm_dots, &uk_gemm_small, &uk_gemm_vector, &uk_gemm_stream, &uk_gemm_tiles, NULL};

/* ---- running ---- */

bool uk_gemm_lacks_operand(const struct gemm_plan *plan, const struct gemm_operands *o) {
    const struct gemm_product *p = &plan->product;

    return (!o->a || !o->b || !o->c) && p->m && p->n && (!o->c || (p->k && o->alpha != 0));
}

/* Runs a plan with a small workspace on the stack. */
__attribute__((noinline)) static void run_on_stack(const struct gemm_plan *plan,
                                                   const struct gemm_operands *o) {
    char memory[GEMM_WORK_ON_STACK] __attribute__((aligned(64)));

    plan->path->run(plan, o, memory);
}

enum uk_status uk_gemm_run(const struct gemm_plan *plan, const struct gemm_operands *o, void *workspace) {
    const size_t size = plan->workspace;

    if (uk_gemm_lacks_operand(plan, o))
        return UK_INVALID_ARGUMENT;
    if (plan->path == &uk_gemm_scale || o->alpha == 0) {
        run_scale(plan, o, NULL);
    } else if (!size || workspace) {
        plan->path->run(plan, o, workspace);
    } else if (size <= GEMM_WORK_ON_STACK) {
        run_on_stack(plan, o);
    } else {
        void *memory = uk_take_memory(size);

        if (!memory && plan->path != &uk_gemm_small)
            return uk_gemm_refuse(UK_OUT_OF_MEMORY, "no memory for a workspace of %zu bytes", size);
        plan->path->run(plan, o, memory);
        uk_give_memory(memory);
    }
    return UK_OK;
}
