/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the ways to compute a small product are estimated to take, in cycles of one core: their instructions, as direct.c counts them for
 * the choice of kernels, and the lines that one loop nest (cost/stream.c) brings of A, B and C, whichever order its loops have. The
 * kernel of the widest part of the columns stands for all kernels.
 */
#include "cost.h"
#include "direct.h"

/* The loops, the outermost first: blocks of columns of which B is copied; then, by the order of the calls, blocks of columns and groups of
 * rows, or these the other way round, in blocks of columns whose part of B stays in L2, or in blocks of rows; and k iterations. */
enum loop { COPIES, OUTER, MIDDLE, INNER, ITERATIONS, LOOPS };

/* How often B is copied; and the columns of a copy, as if all had as many. */
static int64_t copies_of(const struct gemm_product *p, const struct gemm_small *w) {
    return gemm_parts(p->n, gemm_least(w->columns, p->n));
}

static int64_t columns_of(const struct gemm_product *p, const struct gemm_small *w) {
    return gemm_parts(p->n, copies_of(p, w));
}

/* One of them: rows, columns and k iterations that it moves on by. */
struct moved {
    int64_t extent, rows, columns, iterations;
};

static void set_loops(const struct gemm_type *t, const struct gemm_product *p, const struct gemm_small *w,
                      int64_t mr, int64_t nr, struct moved *loop) {
    const int64_t n = columns_of(p, w), groups = gemm_parts(p->m, mr), calls = gemm_parts(n, nr),
                  blocks = gemm_parts(n * p->k, t->near);
    int64_t some = t->near / 2 / (p->k + n) / mr;

    some = some < 1 ? 1 : some;
    loop[COPIES] = (struct moved){copies_of(p, w), 0, n, 0};
    loop[ITERATIONS] = (struct moved){p->k, 0, 0, 1};
    switch (w->order) {
    case GEMM_ALONG_ROWS:
        loop[OUTER] = (struct moved){blocks, 0, gemm_parts(calls, blocks) * nr, 0};
        loop[MIDDLE] = (struct moved){groups, mr, 0, 0};
        loop[INNER] = (struct moved){gemm_parts(calls, blocks), 0, nr, 0};
        break;
    case GEMM_BLOCKS_OF_ROWS:
        some = calls == 1 || some > groups ? groups : some;
        loop[OUTER] = (struct moved){gemm_parts(groups, some), mr * some, 0, 0};
        loop[MIDDLE] = (struct moved){calls, 0, nr, 0};
        loop[INNER] = (struct moved){some, mr, 0, 0};
        break;
    default:
        loop[OUTER] = (struct moved){calls, 0, nr, 0};
        loop[MIDDLE] = (struct moved){groups, mr, 0, 0};
        loop[INNER] = (struct moved){1, 0, 0, 0};
    }
}

/* Adds an operand whose rows, columns and k iterations lie so many bytes apart. A loop that runs once is left out. */
static void add_operand(struct uk_loop_nest *n, struct uk_loop_operand o, const struct moved *loop,
                        int64_t rows, int64_t columns, int64_t iterations) {
    int loops = 0;

    for (int i = 0; i < LOOPS; i++)
        if (loop[i].extent > 1) {
            n->extent[loops] = loop[i].extent;
            o.stride[loops++] =
                loop[i].rows * rows + loop[i].columns * columns + loop[i].iterations * iterations;
        }
    n->loops = loops;
    n->operand[n->operands++] = o;
}

/* Cycles of instructions of n columns. */
static double instructions_of(const struct gemm_type *t, const struct gemm_product *p,
                              const struct gemm_small *w, int64_t n) {
    if (!w->width)
        return uk_gemm_direct_cycles(t, w->kernels, p->m, n, p->k);
    const int64_t last = n % w->width, groups = w->order == GEMM_ALONG_ROWS
                                                    ? gemm_parts(p->m, w->kernels->column_split[0].kernel->mr)
                                                    : 1;
    const double wide = uk_gemm_direct_cycles(t, w->kernels, p->m / groups, w->width, p->k),
                 rest = last ? uk_gemm_direct_cycles(t, &t->direct[p->a_columns][last], p->m / groups, last,
                                                     p->k)
                             : 0;

    return (double)groups * ((double)(n / w->width) * wide + rest);
}

double uk_gemm_small_cost(const struct gemm_type *t, const struct gemm_product *p,
                          const struct gemm_small *w) {
    const struct uk_kernel *k = w->kernels->column_split[0].kernel;
    const int64_t mr = gemm_least(k->mr, p->m), n = gemm_least(w->columns, p->n), nr = gemm_least(k->nr, n),
                  size = t->size, copies = gemm_parts(p->n, n), lines = gemm_parts(n * size, GEMM_LINE);
    const double rate = uk_ports_rate(&t->vectors->load);
    struct moved loop[LOOPS];
    struct uk_loop_nest nest = {.operands = 0};
    /* Instructions that prefetch: a line of A, for each of the calls that read it, or of C. */
    const double prefetches = w->order == GEMM_BLOCKS_OF_ROWS
                                  ? (double)(p->m * gemm_parts(p->k * size, GEMM_LINE) * gemm_parts(n, nr))
                              : w->prefetches ? (double)(p->m * lines)
                                              : 0;

    set_loops(t, p, w, mr, nr, loop);
    nest.loads =
        (double)copies * (prefetches + (double)(gemm_parts(n, nr) * p->m * p->k) * k->loads / k->mr) / rate;
    nest.instructions = (double)copies * (instructions_of(t, p, w, n) + prefetches / rate);
    nest.instructions = nest.instructions < nest.loads ? nest.loads : nest.instructions;
    add_operand(&nest,
                (struct uk_loop_operand){.bytes = t->size,
                                         .runs = p->a_columns ? 1 : mr,
                                         .length = p->a_columns ? mr * size : size,
                                         .pitch = p->a_columns ? 0 : p->lda * size,
                                         .is_prefetched = w->order == GEMM_BLOCKS_OF_ROWS},
                loop, (p->a_columns ? 1 : p->lda) * size, 0, (p->a_columns ? p->lda : 1) * size);
    add_operand(&nest, (struct uk_loop_operand){.bytes = t->size, .runs = 1, .length = nr * size}, loop, 0,
                size, w->ldb * size);
    if (w->copies) /* which the next columns overwrite */
        nest.operand[1].stride[0] = copies > 1 ? 0 : nest.operand[1].stride[0];
    add_operand(&nest,
                (struct uk_loop_operand){.bytes = t->size,
                                         .runs = mr,
                                         .length = nr * size,
                                         .pitch = p->ldc * size,
                                         .is_written = true,
                                         .is_prefetched = w->prefetches,
                                         .held = p->k > 1},
                loop, p->ldc * size, size, 0);
    return uk_cost_nest(t->machine, &nest);
}
