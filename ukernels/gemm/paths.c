/* SPDX-License-Identifier: Apache-2.0 */
/* The paths, and running the one that a plan has. */
#include "path.h"

static enum uk_status plan_scale(struct gemm_plan *p) {
    return p->m && p->n && p->k ? UK_NO_MATCH : UK_OK;
}

static void run_scale(const struct gemm_plan *plan, const struct gemm_operands *o, void *workspace) {
    (void)workspace;
    if (plan->transposed) {
        struct gemm_epilogue e;

        if (o->epilogue)
            e = gemm_transposed_epilogue(o->epilogue);
        plan->type->scale(plan->n, plan->m, o->c, plan->ldc, o->beta, o->epilogue ? &e : NULL);
    } else {
        plan->type->scale(plan->m, plan->n, o->c, plan->ldc, o->beta, o->epilogue);
    }
}

static void explain_scale(struct gemm_text *t, const struct gemm_plan *plan) {
    (void)plan;
    uk_gemm_add(t, "path: C is scaled, A and B are not read\n");
}

const struct gemm_path uk_gemm_scale = {"scale", GEMM_PACKS_NOTHING, plan_scale, run_scale, explain_scale};

const struct gemm_path *const uk_gemm_paths[] = {&uk_gemm_scale, &uk_gemm_small, &uk_gemm_vector,
                                                 &uk_gemm_dots,  &uk_gemm_tiles, NULL};

size_t uk_gemm_workspace_of(const struct gemm_plan *plan) {
    const int64_t tasks = plan->row_tasks * plan->column_tasks;
    const bool shares = plan->path == &uk_gemm_vector || plan->path == &uk_gemm_dots;
    const size_t blocks = uk_gemm_bytes(plan, (shares ? 1 : tasks) * (plan->a_block + plan->b_block));
    const int64_t copy = plan->small.bytes;

    return copy > GEMM_COPY_ON_STACK && (size_t)copy > blocks ? (size_t)copy : blocks;
}

/* A workspace of few bytes. */
__attribute__((noinline)) static void run_near(const struct gemm_plan *plan, const struct gemm_operands *o) {
    char memory[GEMM_WORK_ON_STACK] __attribute__((aligned(64)));

    plan->path->run(plan, o, memory);
}

enum uk_status uk_gemm_run(const struct gemm_plan *plan, const struct gemm_operands *o, void *workspace) {
    const size_t size = uk_gemm_workspace_of(plan);

    if (uk_gemm_lacks_operand(plan, o))
        return UK_INVALID_ARGUMENT;
    if (plan->path == &uk_gemm_scale || o->alpha == 0) {
        run_scale(plan, o, NULL);
    } else if (!size || workspace) {
        plan->path->run(plan, o, workspace);
    } else if (size <= GEMM_WORK_ON_STACK) {
        run_near(plan, o);
    } else {
        void *memory = uk_take_memory(size);

        if (!memory)
            return UK_OUT_OF_MEMORY;
        plan->path->run(plan, o, memory);
        uk_give_memory(memory);
    }
    return UK_OK;
}
