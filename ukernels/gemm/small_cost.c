/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Estimates the ways to compute a small product, in cycles of one core: their instructions, as
 * small_kernels.c counts them for the choice of kernels, and the cache lines of A, B and C that a loop nest
 * moves (cost/stream.c). The nest is that of the kernel with the most columns, which represents all kernels.
 */
#include "small.h"
#include "tiles.h"

/*
 * The loops, the outermost first. COPIES are blocks of columns, of each of which B is copied; without copies
 * there is one. ITERATIONS are k iterations. Between them, by the order of the calls:
 *
 *                           OUTER                               MIDDLE            INNER
 *     GEMM_ALONG_ROWS       columns whose part of B fits L2     groups of rows    a call's columns
 *     GEMM_BLOCKS_OF_ROWS   blocks of rows                      a call's columns  groups of rows
 *     otherwise             a call's columns                    groups of rows    -
 */
enum loop { COPIES, OUTER, MIDDLE, INNER, ITERATIONS, LOOPS };

/* Sets the loops. Parts of B that are copied are taken to have equally many columns, n. */
static void set_loops(const struct gemm_product *p, const struct gemm_small *w, int64_t copies, int64_t mr,
                      int64_t nr, struct uk_nest_loop *loop) {
    const struct gemm_type *t = p->type;
    const int64_t n = uk_ceil_div(p->n, copies), groups = uk_ceil_div(p->m, mr), calls = uk_ceil_div(n, nr),
                  blocks = uk_ceil_div(n * p->k, t->l2_quarter);
    int64_t some = t->l2_quarter / 2 / (p->k + n) / mr;

    some = some < 1 ? 1 : some;
    loop[COPIES] = (struct uk_nest_loop){copies, {[GEMM_N] = n}};
    loop[ITERATIONS] = (struct uk_nest_loop){p->k, {[GEMM_K] = 1}};
    switch (w->order) {
    case GEMM_ALONG_ROWS:
        loop[OUTER] = (struct uk_nest_loop){blocks, {[GEMM_N] = uk_ceil_div(calls, blocks) * nr}};
        loop[MIDDLE] = (struct uk_nest_loop){groups, {[GEMM_M] = mr}};
        loop[INNER] = (struct uk_nest_loop){uk_ceil_div(calls, blocks), {[GEMM_N] = nr}};
        break;
    case GEMM_BLOCKS_OF_ROWS:
        some = calls == 1 || some > groups ? groups : some;
        loop[OUTER] = (struct uk_nest_loop){uk_ceil_div(groups, some), {[GEMM_M] = mr * some}};
        loop[MIDDLE] = (struct uk_nest_loop){calls, {[GEMM_N] = nr}};
        loop[INNER] = (struct uk_nest_loop){some, {[GEMM_M] = mr}};
        break;
    default:
        loop[OUTER] = (struct uk_nest_loop){calls, {[GEMM_N] = nr}};
        loop[MIDDLE] = (struct uk_nest_loop){groups, {[GEMM_M] = mr}};
        loop[INNER] = (struct uk_nest_loop){1, {0}};
    }
}

/* Cycles of the instructions for n columns. */
static double instructions_of(const struct gemm_product *p, const struct gemm_small *w, int64_t n) {
    const struct gemm_type *t = p->type;
    if (!w->width)
        return uk_gemm_direct_cycles(t, w->kernels, p->m, w->ldb, p->k);
    const int64_t last = n % w->width,
                  groups = w->order == GEMM_ALONG_ROWS
                               ? uk_ceil_div(p->m, w->kernels->column_split[0].kernel->mr)
                               : 1;
    const double wide = uk_gemm_direct_cycles(t, w->kernels, p->m / groups, w->ldb, p->k),
                 rest = last ? uk_gemm_direct_cycles(t, &t->direct[p->a_columns][last], p->m / groups, w->ldb,
                                                     p->k)
                             : 0;

    return (double)groups * ((double)(n / w->width) * wide + rest);
}

double uk_gemm_small_cost(const struct gemm_product *p, const struct gemm_small *w) {
    const struct gemm_type *t = p->type;
    const struct uk_kernel *k = w->kernels->column_split[0].kernel;
    const int64_t mr = uk_min(k->mr, p->m), n = uk_min(w->columns, p->n), nr = uk_min(k->nr, n),
                  size = t->size, copies = uk_ceil_div(p->n, n), lines = uk_ceil_div(n * size, GEMM_LINE);
    const double rate = uk_ports_rate(&t->vectors->load);
    struct uk_nest_loop loop[LOOPS];
    struct uk_loop_nest nest = {.operands = 0};
    /* Prefetch instructions: one per cache line of A and call that reads it; or one per cache line of C. */
    const double prefetches = w->order == GEMM_BLOCKS_OF_ROWS
                                  ? (double)(p->m * uk_ceil_div(p->k * size, GEMM_LINE) * uk_ceil_div(n, nr))
                              : w->prefetches ? (double)(p->m * lines)
                                              : 0;

    set_loops(p, w, copies, mr, nr, loop);
    nest.loads =
        (double)copies * (prefetches + (double)(uk_ceil_div(n, nr) * p->m * p->k) * k->loads / k->mr) / rate;
    nest.instructions = (double)copies * (instructions_of(p, w, n) + prefetches / rate);
    nest.instructions = uk_max_real(nest.instructions, nest.loads);
    const struct uk_lattice a = uk_lattice_matrix(t->element, p->m, p->k, gemm_a_row(p), gemm_a_step(p)),
                            b = uk_lattice_matrix(t->element, p->n, p->k, 1, w->ldb),
                            c = uk_lattice_matrix(t->element, p->m, p->n, p->ldc, 1);

    uk_nest_add(&nest, loop, LOOPS, &(struct uk_nest_access){&a, GEMM_M, GEMM_K, mr, 1, 0})->is_prefetched =
        w->order == GEMM_BLOCKS_OF_ROWS;
    /* A copy is overwritten by that of the next columns. */
    uk_nest_add(&nest, loop, LOOPS,
                &(struct uk_nest_access){&b, GEMM_N, GEMM_K, nr, 1, w->copies ? COPIES + 1 : 0});
    struct uk_loop_operand *written =
        uk_nest_add(&nest, loop, LOOPS, &(struct uk_nest_access){&c, GEMM_M, GEMM_N, mr, nr, 0});

    written->is_written = true;
    written->is_prefetched = w->prefetches;
    written->register_loops = p->k > 1;
    return uk_cost_nest(t->machine, &nest);
}
