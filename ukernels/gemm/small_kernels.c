/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the kernels that compute the n columns of a small product: those that take the fewest cycles if m
 * and k are n too.
 *
 * A k iteration of a kernel takes the cycles of its multiply-adds, loads and shuffles on the core's ports
 * (cost/kernel.c). A call takes GEMM_CALL cycles more for its arguments, its jumps and the first loads.
 *
 * A vector of columns costs the same for one column as for all. Kernels of fewer columns hold several rows in
 * a vector, at the price of shuffles, so 20 columns are split into 16 and 4 rather than into two vectors.
 *
 * On cores where a load into a part of a register also occupies an FMA port, such loads add to the
 * multiply-adds. If R rows share a vector, these are all loads of a row-major A except every R-th, the loads
 * of rows of B, and before the first k iteration R masks. Example: 24 rows of 8 columns are 12 FMAs, 12
 * shuffles and 4 such loads, 7/12 of a cycle per row; half a vector per row takes half a cycle. 4 columns
 * take a third of a cycle if enough rows hide the masks; otherwise they have kernels of their own.
 *
 * For the last few columns, the lanes of vectors may be rows instead (transposed_cycles). A row-major A is
 * transposed in registers: 16 rows take 3 cycles per k iteration for one or two columns, and half a cycle for
 * each further one; a vector of columns would take 8, and rows that share a vector 6. With a column-major A
 * each column takes half a cycle.
 *
 * A load across two cache lines takes more cycles of the load ports (uk_core.split) and delays multiply-adds
 * (uk_vectors.split). This concerns a part of the vectors of B, once per group of rows, if rows of B do
 * not consist of whole lines.
 */
#include "small.h"

#include <stddef.h>

typedef void prepare_function(struct uk_small_call *s, int64_t k, int64_t lda, int64_t ldb, int64_t ldc,
                              int64_t m, int64_t n);

/* Vectors of B per k iteration that cross a line, if rows are `stride` bytes apart. */
static double splits_of(const struct gemm_type *t, const struct uk_kernel *k, int64_t stride) {
    const int row = k->nr * t->size, vector = k->mr * row / (int)k->fma, bytes = row < vector ? row : vector;

    return row / bytes * uk_cost_splits(bytes, stride);
}

/* Cycles of a k iteration for `rows` rows, in groups, each of which loads a row of B. */
static double iteration_cycles(const struct gemm_type *t, const struct uk_kernel *k, int rows,
                               int64_t stride) {
    const struct uk_core *core = &t->machine->core;
    const struct uk_product_kernel p = uk_product_kernel(k);
    const double groups = (rows + k->mr - 1) / k->mr, splits = splits_of(t, k, stride),
                 whole = (rows + k->row_step - 1) / k->row_step * k->row_step;
    struct uk_counts n = uk_product_counts(&p, whole / groups, k->nr);

    n.load += splits * core->split * uk_ports_rate(&t->vectors->load);
    return groups * (uk_cost_cycles(core, t->vectors, &n) + splits * t->vectors->split);
}

/* True if a load into a part of a register occupies an FMA port. */
static bool merges_take_port(const struct gemm_type *t) {
    return t->vectors->merge.ports & t->vectors->fma.ports;
}

/* Cycles of a call in addition to its k iterations. If loads into a part of a register occupy an FMA port,
 * the call also sets the masks of rows that share a vector; and if all rows share one vector, nothing hides
 * the shuffles that extract each row but the first for C. */
static int call_cycles(const struct gemm_type *t, const struct uk_kernel *k, int rows) {
    const int step = k->row_step;

    if (step == 1 || !merges_take_port(t))
        return GEMM_CALL;
    return GEMM_CALL + step + (rows <= step ? step - 1 : 0);
}

/* True if a kernel that is one vector narrower suffices for the columns: all vectors of a kernel except
 * the last must be full. */
static bool is_too_wide(const struct uk_kernel *k, int columns) {
    return columns <= k->nr - k->mr * k->nr / (int)k->fma;
}

/* True if the lanes of the kernel's vectors are rows: a row-major A is then transposed in registers
 * (gemm_small_transpose_avx512.c). */
static bool is_transposed(const struct uk_kernel *k) {
    return k->row_step == k->mr && k->fma == k->nr;
}

static int log2_of(int n) {
    return 31 - __builtin_clz((unsigned)n);
}

/*
 * Cycles of a call of a kernel whose lanes are rows.
 *
 * - Row-major A: groups of mr rows, with k rounded up to whole unrolled iterations. A group takes
 *   shuffles, and loads into half a register next to them; then the shuffles of C, per vector those that
 *   transpose it within its four 16-byte lanes, and three that extract lanes. Up to mr / 4 remaining rows
 *   are computed next to the last group, each in a vector of its own.
 * - Column-major A: multiply-adds only, each of which waits for the one before. If there are fewer rows
 *   than a vector has lanes, each 16-byte lane of rows has a chain of its own.
 */
static double transposed_cycles(const struct gemm_type *t, const struct uk_kernel *k, int rows, int columns,
                                int iterations) {
    const struct uk_core *core = &t->machine->core;
    const int lane = k->mr / 4, group = 2 * lane, transposed = (iterations + group - 1) / group * group;
    const int vectors = (rows + k->mr - 1) / k->mr;
    const int beyond = columns <= lane && rows % k->mr <= lane ? rows % k->mr : 0;
    const int groups = (rows - beyond + k->mr - 1) / k->mr;
    const struct uk_counts whole = {.fma = columns * iterations,
                                    .shuffle = k->other * transposed,
                                    .merge = transposed},
                           rest = {.fma = beyond, .merge = beyond ? 1 : 0},
                           stored = {.shuffle = lane * (log2_of(lane) + 3)};

    if (!k->other && rows < k->mr)
        return GEMM_CALL + (double)t->fma_latency * iterations * ((rows + lane - 1) / lane);
    const double c = uk_cost_cycles(core, t->vectors, &stored) * ((columns + lane - 1) / lane);

    if (!k->other)
        return GEMM_CALL + iterations * uk_max_real(vectors * columns * t->fma_cycles, t->fma_latency) +
               vectors * c;
    return GEMM_CALL + groups * (uk_cost_cycles(core, t->vectors, &whole) + c) +
           (beyond ? iterations * uk_cost_cycles(core, t->vectors, &rest) : 0);
}

struct search {
    const struct gemm_type *type;
    const struct uk_kernel *const *kernel;
    int kernels, n, rows;
    int64_t stride;  /* bytes from a row of B to the next */
    bool transposes; /* the lanes of the last columns' vectors may be rows */
    double least;
    struct gemm_direct *best;
    prepare_function *const *prepare; /* of each kernel */
    double cycles[GEMM_TILES_MOST];   /* of a call of each kernel whose lanes are columns */
};

/* True if the kernels of d, followed by k, may be the best; `cycles` are those of all of them. Ties: the
 * narrower kernel, whose loads cross fewer lines. Costs are compared as floats, so that those that differ by
 * rounding only are equal. */
static bool is_better(const struct search *s, const struct gemm_direct *d, const struct uk_kernel *k,
                      double cycles) {
    if (!s->best->column_splits || (float)cycles < (float)s->least)
        return true;
    for (int i = 0; i < d->column_splits; i++)
        if (i >= s->best->column_splits || s->best->column_split[i].kernel != d->column_split[i].kernel)
            return false;
    return (float)cycles == (float)s->least && d->column_splits < s->best->column_splits &&
           k->nr < s->best->column_split[d->column_splits].kernel->nr;
}

/* Cycles of a call of one of the kernels, which computes `columns` columns. Only the cycles of kernels whose
 * lanes are rows depend on that number. */
static double column_split_cycles(const struct search *s, const struct uk_kernel *k, int columns, int rows,
                                  int iterations) {
    return is_transposed(k)
               ? transposed_cycles(s->type, k, rows, columns, iterations)
               : call_cycles(s->type, k, rows) + iterations * iteration_cycles(s->type, k, rows, s->stride);
}

/* Tries all ways to complete `d`, whose kernels so far take `cycles`, by kernels for the last `rest` columns,
 * and updates the best. No kernel is wider than the one before it. */
static void complete(struct search *s, struct gemm_direct *d, double cycles, int rest, int widest) {
    for (int i = 0; i < s->kernels && d->column_splits < GEMM_COLUMN_SPLITS; i++) {
        const struct uk_kernel *k = s->kernel[i];
        const int columns = rest < k->nr ? rest : k->nr;
        const bool is_last = columns == rest;

        if (k->nr > widest || is_too_wide(k, columns) ||
            (d->column_splits == GEMM_COLUMN_SPLITS - 1 && !is_last) ||
            (is_transposed(k) && !(s->transposes && d->column_splits && is_last)))
            continue;
        const double all =
            cycles + (is_transposed(k) ? column_split_cycles(s, k, columns, s->rows, s->n) : s->cycles[i]);

        if (!is_better(s, d, k, all))
            continue;
        d->column_split[d->column_splits].kernel = k;
        d->column_split[d->column_splits].prepare = s->prepare[i];
        d->column_split[d->column_splits].columns = columns;
        d->column_splits++;
        if (!is_last) {
            complete(s, d, all, rest - columns, k->nr);
        } else {
            *s->best = *d;
            s->least = all;
        }
        d->column_splits--;
    }
}

double uk_gemm_direct_cycles(const struct gemm_type *t, const struct gemm_direct *d, int64_t m, int64_t ldb,
                             int64_t k) {
    const struct search s = {.type = t, .stride = ldb * t->size};
    double cycles = 0;

    for (int i = 0; i < d->column_splits; i++) {
        const struct uk_kernel *kernel = d->column_split[i].kernel;
        const int columns = d->column_split[i].columns;

        cycles += column_split_cycles(&s, kernel, columns, (int)m, (int)k) +
                  (double)(uk_ceil_div(m, kernel->mr) - 1) * GEMM_CALL;
    }
    return cycles;
}

/* Sets the cycles of a call of each kernel for that many rows. */
static void set_rows(struct search *s, int rows) {
    s->rows = rows;
    for (int i = 0; i < s->kernels; i++)
        if (!is_transposed(s->kernel[i]))
            s->cycles[i] = column_split_cycles(s, s->kernel[i], s->kernel[i]->nr, rows, s->n);
}

/* Finds the best kernels for all columns. */
static void find_best(struct search *s, struct gemm_direct *best) {
    struct gemm_direct d = {0};

    s->best = best;
    complete(s, &d, 0, s->n, GEMM_WIDTHS);
}

/* Cycles of the calls of d that `other` does not make. */
static double other_cycles(const struct search *s, const struct gemm_direct *d,
                           const struct gemm_direct *other, int rows, int iterations) {
    double cycles = 0;

    for (int i = 0; i < d->column_splits; i++) {
        const struct uk_kernel *k = d->column_split[i].kernel;

        if (i >= other->column_splits || k != other->column_split[i].kernel ||
            d->column_split[i].columns != other->column_split[i].columns)
            cycles += column_split_cycles(s, k, d->column_split[i].columns, rows, iterations);
    }
    return cycles;
}

static bool is_less(const struct search *s, const struct gemm_direct *tall, const struct gemm_direct *low,
                    int rows, int iterations) {
    return other_cycles(s, tall, low, rows, iterations) < other_cycles(s, low, tall, rows, iterations);
}

/* Finds kernels for n columns of which the last one has rows in the lanes of vectors, and the numbers of rows
 * and of k iterations from which on they are better. Only for cores where loads into a part of a register
 * take an FMA port: on others rows that share a vector cost less. */
static void take_tall(struct gemm_type *t, int form, struct search *s) {
    struct gemm_direct *low = &t->direct[form][s->n], *tall = &t->many_rows[form][s->n];
    int rows = s->n, iterations = s->n;

    if (!merges_take_port(t))
        return;
    s->transposes = true;
    find_best(s, tall);
    if (!tall->column_splits || !is_transposed(tall->column_split[tall->column_splits - 1].kernel))
        return;
    while (rows > 1 && is_less(s, tall, low, rows - 1, s->n))
        rows--;
    while (iterations > 1 && is_less(s, tall, low, s->n, iterations - 1))
        iterations--;
    low->many_rows_from = rows;
    low->many_iterations_from = iterations;
    low->many_rows = tall;
}

/* The number of rows that kernels are chosen for: as many as columns; MANY for few columns, since kernels
 * that are best for few rows are not best for many. One column is a matrix-vector product, which has other
 * kernels. */
static int rows_for(int columns) {
    enum { MANY = 16 };

    return columns > 1 && columns < MANY / 2 ? MANY : columns;
}

/* Finds the kernels for n columns. */
static void fill_columns(struct gemm_type *t, int form, int n, prepare_function *const *prepare) {
    const int lanes = GEMM_VECTOR / t->size;
    struct search s = {.type = t,
                       .kernel = t->small_kernel[form],
                       .kernels = t->small_kernels[form],
                       .n = n,
                       .stride = n * t->size,
                       .prepare = prepare};

    set_rows(&s, rows_for(n));
    find_best(&s, &t->direct[form][n]);
    if (n > lanes)
        take_tall(t, form, &s);
    if (n > GEMM_FEW_COLUMNS)
        return;
    set_rows(&s, n);
    find_best(&s, &t->direct_few_rows[form][n]);
}

void uk_gemm_direct_fill(struct gemm_type *t) {
    /* Kernels whose lanes are rows exist for vectors of GEMM_VECTOR bytes only. */
    const int lanes = GEMM_VECTOR / t->size;

    t->transpose_few[0] = gemm_pack_of(t->pack_t, t->packs_t, lanes, true);
    t->transpose_few[1] = gemm_pack_of(t->pack_t, t->packs_t, 2 * lanes, true);
    if (!t->small_kernels[0] || !t->small_kernels[1] || !t->transpose_few[0] || !t->transpose_few[1])
        t->transpose = NULL;
    for (int form = 0; form < 2; form++) {
        prepare_function *prepare[GEMM_TILES_MOST];

        for (int i = 0; i < t->small_kernels[form]; i++)
            prepare[i] =
                (prepare_function *)uk_kernel_variant(t->small_kernel[form][i], UK_RESOLVED)->function;
        for (int n = 1; n < GEMM_WIDTHS; n++)
            fill_columns(t, form, n, prepare);
    }
    while (t->blocked_columns < GEMM_WIDTHS &&
           (!t->blocked_columns || (t->direct[0][t->blocked_columns].column_splits &&
                                    t->direct[1][t->blocked_columns].column_splits)))
        t->blocked_columns++;
}
