/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The path of products of few rows whose B is read once, from beyond L2, and in place: its kernel computes
 * all rows of C, and reads some rows of B at a time from the first column to the last, in the order of
 * memory.
 *
 * Each element is the sum of its terms in their order, as tiles with k in one block compute it, so that these
 * may take the product if an operand was packed beforehand.
 */
#include <math.h>
#include "small.h"
#include "tiles.h"

/* k iterations between two passes over C. */
enum { PASS = 16 };

/* Elements from row to row of A: of a copy if A is column-major, or its rows share sets of L1. */
static int64_t leading_of_a(const struct gemm_product *p) {
    return p->a_columns || gemm_rows_share_sets(p->type, p->m, p->lda) ? uk_gemm_leading(p->k, p->type->size)
                                                                       : p->lda;
}

/* The vectors of columns that the kernel computes at a time. */
static struct uk_product_kernel part_of(struct uk_product_kernel k, int64_t m) {
    const double vectors = m <= 2 ? 4 : 2, part = vectors / k.vectors;

    k.nr = (int)(k.nr * part);
    k.fma *= part;
    k.loads *= part;
    k.other *= part;
    k.vectors = vectors;
    return k;
}

/* Cycles of the kernel: its instructions, those that load and store C, and the lines of its operands. */
static double kernel_cycles(const struct gemm_product *p, const struct uk_kernel *kernel) {
    const struct uk_machine *machine = p->type->machine;
    const struct uk_product_kernel k = part_of(uk_product_kernel(kernel), p->m);
    const int lanes = (int)(k.nr / k.vectors);
    const struct uk_vectors *v = uk_core_vectors(&machine->core, lanes * p->type->size);
    const int64_t passes = uk_ceil_div(p->k, PASS);
    const struct uk_nest_loop loop[] = {{passes, {[GEMM_K] = PASS}},
                                        {uk_ceil_div(p->n, lanes), {[GEMM_N] = lanes}},
                                        {uk_min(PASS, p->k), {[GEMM_K] = 1}}};
    const struct uk_lattice a = uk_lattice_matrix(p->type->element, p->m, p->k, leading_of_a(p), 1),
                            b = gemm_in_place(p, GEMM_RIGHT),
                            c = uk_lattice_matrix(p->type->element, p->m, p->n, p->ldc, 1);
    const double vectors_of_c = (double)(passes * p->m * uk_ceil_div(p->n, lanes));
    struct uk_loop_nest n = {.operands = 0};
    struct uk_loop_operand *sums;

    n.loads = vectors_of_c / uk_ports_rate(&v->load);
    n.instructions =
        uk_product_iteration(&machine->core, v, &k, p->m, p->m, p->n) * (double)p->k + vectors_of_c;
    uk_nest_add(&n, loop, 3, &(struct uk_nest_access){&a, GEMM_M, GEMM_K, p->m, 1, 0});
    uk_nest_add(&n, loop, 3, &(struct uk_nest_access){&b, GEMM_N, GEMM_K, lanes, 1, 0})->is_prefetched = true;
    sums = uk_nest_add(&n, loop, 3, &(struct uk_nest_access){&c, GEMM_M, GEMM_N, p->m, lanes, 0});
    sums->is_written = sums->is_prefetched = true;
    sums->register_loops = p->k > 1;
    return uk_cost_nest(machine, &n);
}

static double cycles(struct gemm_plan *plan) {
    const struct gemm_product *p = &plan->product;
    const struct uk_kernel *kernel = p->type->stream;

    if (!kernel || p->m < 2 || p->m > kernel->mr || p->b_columns || (p->n | p->k) >= GEMM_MOST ||
        p->k * p->n * p->type->size <= p->type->machine->cache[UK_L2].size)
        return HUGE_VAL;
    return kernel_cycles(p, kernel);
}

/* Threads divide the columns among them. Each task has memory for sums that are merged into C. */
static enum uk_status plan_stream(struct gemm_plan *plan) {
    const struct gemm_product *p = &plan->product;
    const struct uk_kernel *kernel = p->type->stream;
    const int64_t line = GEMM_LINE / p->type->size;

    if (p->a_packed || p->b_packed)
        return UK_NO_MATCH;
    plan->stream = (struct gemm_stream){
        .kernel = kernel, .m = p->m, .k = p->k, .lda = leading_of_a(p), .ldb = p->ldb, .ldc = p->ldc};
    plan->column_tasks = uk_min(gemm_threads(plan), uk_ceil_div(p->n, GEMM_VECTOR));
    plan->a_block =
        p->a_columns || plan->stream.lda != p->lda ? uk_ceil_div(p->m * plan->stream.lda, line) * line : 0;
    plan->b_block = plan->column_tasks * uk_ceil_div(p->m * uk_min(p->n, kernel->nr), line) * line;
    gemm_set_workspace(plan, 1);
    return UK_OK;
}

static void run_part(void *context, int64_t index, int64_t thread) {
    const struct gemm_task *t = context;
    const struct gemm_plan *plan = t->plan;
    const int64_t each = plan->b_block / plan->column_tasks;
    int64_t begin, end;

    (void)thread;
    gemm_share(index, plan->column_tasks, plan->product.n, GEMM_VECTOR, &begin, &end);
    plan->product.type->stream_columns(&plan->stream, t->o, begin, end,
                                       t->work + (plan->a_block + index * each) * plan->product.type->size);
}

static void run(const struct gemm_plan *plan, const struct gemm_operands *o, void *workspace) {
    const struct gemm_product *p = &plan->product;
    struct gemm_operands own = *o;
    struct gemm_task task = {plan, &own, workspace};

    if (plan->a_block) {
        p->type->copy_rows(p->type, p->m, p->k, o->a, gemm_a_row(p), gemm_a_step(p), workspace,
                           plan->stream.lda);
        own.a = workspace;
    }
    gemm_parallel(plan, run_part, &task, plan->column_tasks);
}

static void explain(struct gemm_text *t, const struct gemm_plan *plan) {
    uk_gemm_add(t, "path: all rows at once, B in the order of memory%s\nkernel: %s\n",
                plan->a_block ? ", A copied in rows" : "", plan->stream.kernel->symbol);
}

const struct gemm_path uk_gemm_stream = {"stream", GEMM_PACKS_PANELS, cycles, plan_stream, run, explain};
