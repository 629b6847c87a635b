/* SPDX-License-Identifier: Apache-2.0 */
/* Runs small products of all element types, as small_plan.c has planned them. */
#include "small.h"

/* C becomes alpha A B + beta C. If alpha is 1, beta is 0 or 1. Other alphas need scratch, of `room` bytes;
 * NULL: not allocated yet. */
struct scale {
    double alpha, beta;
    void *scratch;
    int64_t room;
};

/* Bytes of scratch next to a copy of B on the stack. */
enum { SCRATCH_BESIDE_COPY = GEMM_SCALED_ON_STACK / 8 * 3 };

/* Which function of a prepared call is made. */
enum variant { PLAIN, PREFETCHING, AHEAD };

/* Prepares calls of the kernels d for m rows and n columns, by a variant where they have it. */
static void set_calls(struct gemm_calls *x, const struct gemm_direct *d, const struct gemm_product *p,
                      int64_t m, int64_t n, enum variant variant) {
    x->count = d->column_splits;
    for (int i = 0; i < x->count; i++) {
        const int64_t columns = i + 1 < x->count ? d->column_split[i].columns : n;
        struct uk_small_call *s = &x->call[i];

        s->ahead = s->prefetching = NULL;
        d->column_split[i].prepare(s, p->k, p->lda, p->ldb, p->ldc, m, columns);
        x->run[i] = variant == PREFETCHING && s->prefetching ? s->prefetching
                    : variant == AHEAD && s->ahead           ? s->ahead
                                                             : s->run;
        x->bytes[i] = columns * p->type->size;
        n -= columns;
    }
}

/* Sets calls for the last n columns after blocks of columns; n < type->blocked_columns. */
static void set_last_calls(struct gemm_calls *x, const struct gemm_product *p, int64_t m, int64_t n) {
    set_calls(x, gemm_direct_of(&p->type->direct[p->a_columns][n], m, p->k), p, m, n, PLAIN);
}

/* Makes the calls, from the columns at `begin` bytes in a row on, again and again until `end`. */
static inline void make_calls(const struct gemm_calls *x, const char *a, const char *b, char *c, int adds,
                              int64_t begin, int64_t end) {
    while (begin < end)
        for (int i = 0; i < x->count; begin += x->bytes[i++])
            x->run[i](&x->call[i], a, b + begin, c + begin, adds);
}

/* Makes prepared calls; s is the first field of struct gemm_calls. */
static int run_calls(const struct uk_small_call *s, const void *a, const void *b, void *c, int adds) {
    make_calls((const void *)s, a, b, c, adds, 0, 1);
    return UK_OK;
}

void uk_gemm_prepare_small(struct gemm_prepared *plan) {
    const struct gemm_product *p = &plan->plan.product;
    const struct gemm_small *w = &plan->plan.small;

    if (w->bytes || w->width)
        return;
    set_calls(&plan->calls, w->kernels, p, p->m, p->n, PLAIN);
    (plan->plan.swapped ? plan->resolved_swapped : plan->resolved)[p->type->element == UK_ELEMENT_F64] =
        plan->calls.count > 1      ? w->order == GEMM_AT_ONCE ? run_calls : NULL
        : w->order == GEMM_AT_ONCE ? plan->calls.call[0].run
                                   : plan->calls.call[0].ahead;
}

/* Computes all rows and columns, a block of columns at a time, each kernel all of its columns first. */
static void run_blocks(const struct gemm_small *w, const struct gemm_product *p, const void *a, const void *b,
                       int adds, void *c) {
    const int64_t size = p->type->size, last = p->n % w->width, wide = (p->n - last) * size,
                  step = w->width * size;
    struct gemm_calls x;
    int64_t from = 0;

    set_calls(&x, w->kernels, p, p->m, w->width, w->prefetches ? PREFETCHING : PLAIN);
    for (int i = 0; i < x.count; from += x.bytes[i++])
        for (int64_t j = from; j < wide; j += step)
            x.run[i](&x.call[i], a, (const char *)b + j, (char *)c + j, adds);
    if (!last)
        return;
    set_last_calls(&x, p, p->m, last);
    make_calls(&x, a, b, c, adds, wide, wide + last * size);
}

/* Computes all columns of a few rows at a time, in groups whose numbers of rows differ by at most one. */
static void run_rows_of(const struct gemm_small *w, const struct gemm_product *p, const void *a,
                        const void *b, int adds, void *c) {
    const int64_t size = p->type->size, last = p->n % w->width, wide = (p->n - last) * size,
                  groups = uk_ceil_div(p->m, w->kernels->column_split[0].kernel->mr);
    struct gemm_calls x, rest;

    for (int64_t g = 0, i = 0, rows = 0, next; g < groups; g++, i = next) {
        const char *from = gemm_at(p->type, a, i * gemm_a_row(p));
        char *to = gemm_at_written(p->type, c, i * p->ldc);

        next = (g + 1) * p->m / groups;
        if (next - i != rows) {
            rows = next - i;
            set_calls(&x, w->kernels, p, rows, w->width, w->prefetches ? PREFETCHING : PLAIN);
            if (last)
                set_last_calls(&rest, p, rows, last);
        }
        make_calls(&x, from, b, to, adds, 0, wide);
        if (last)
            make_calls(&rest, from, b, to, adds, wide, wide + last * size);
    }
}

/* The same in equal blocks of columns, whose part of B stays in L2 while rows of C pass through. */
static void run_rows(const struct gemm_small *w, const struct gemm_product *p, const void *a, const void *b,
                     int adds, void *c) {
    const struct gemm_type *t = p->type;
    const int64_t blocks = uk_ceil_div(p->n * p->k, t->l2_quarter), even = uk_ceil_div(p->n, blocks),
                  width = uk_ceil_div(even, GEMM_VECTOR) * GEMM_VECTOR;
    struct gemm_product block = *p;

    for (int64_t j = 0; j < p->n; j += width) {
        block.n = uk_min(p->n - j, width);
        run_rows_of(w, &block, a, gemm_at(t, b, j), adds, gemm_at_written(t, c, j));
    }
}

/* Computes few columns with rows of A that come from the last-level cache or memory: a block of rows at a
 * time, which stays in L2 with its rows of C for all kernels. */
static void run_ahead(const struct gemm_direct *d, const struct gemm_product *p, const void *a, const void *b,
                      int adds, void *c) {
    const struct gemm_type *t = p->type;
    const int64_t mr = d->column_split[0].kernel->mr, some = t->l2_quarter / 2 / (p->k + p->n) / mr * mr,
                  most = d->column_splits == 1 ? p->m : uk_max(some, mr);

    for (int64_t i = 0; i < p->m; i += most) {
        struct gemm_calls x;

        set_calls(&x, d, p, uk_min(p->m - i, most), p->n, AHEAD);
        make_calls(&x, gemm_at(t, a, i * p->lda), b, gemm_at_written(t, c, i * p->ldc), adds, 0,
                   p->n * t->size);
    }
}

/* Computes a product for any alpha: blocks of C are computed in scratch and merged with C. */
static void run_scaled(const struct gemm_product *p, const void *a, const void *b, const struct scale *s,
                       void *c) {
    const struct gemm_type *t = p->type;
    const int64_t room = s->room / t->size,
                  width = p->n < t->blocked_columns && p->m * p->n <= room
                              ? p->n
                              : uk_min(p->n, GEMM_WIDE / t->size),
                  panels = uk_ceil_div(p->m, room / width), height = uk_ceil_div(p->m, panels);
    struct gemm_product block = *p;

    for (int64_t j = 0; j < p->n; j += width)
        for (int64_t i = 0; i < p->m; i += height) {
            block.n = uk_min(width, p->n - j);
            block.m = uk_min(height, p->m - i);
            gemm_run_direct(t, gemm_direct_for(t, p->a_columns, block.m, block.n), &block,
                            gemm_at(t, a, i * gemm_a_row(p)), gemm_at(t, b, j), p->ldb, 0, s->scratch, width);
            t->merge(block.m, block.n, s->alpha, s->scratch, width, s->beta,
                     gemm_at_written(t, c, i * p->ldc + j), p->ldc);
        }
}

__attribute__((noinline)) static void run_scaled_on_stack(const struct gemm_product *p, const void *a,
                                                          const void *b, const struct scale *s, void *c) {
    char scratch[GEMM_SCALED_ON_STACK] __attribute__((aligned(64)));
    const struct scale own = {s->alpha, s->beta, scratch, sizeof scratch};

    run_scaled(p, a, b, &own, c);
}

/* Computes a product whose alpha is 1 and whose B is in rows, in place or transposed. d: the kernels, if
 * there are few columns. */
__attribute__((noinline)) static void run_unscaled(const struct gemm_small *w, int order,
                                                   const struct gemm_direct *d, const struct gemm_product *p,
                                                   const void *a, const void *b, int adds, void *c) {
    switch (order) {
    case GEMM_AT_ONCE:
        gemm_run_direct(p->type, d, p, a, b, p->ldb, adds, c, p->ldc);
        break;
    case GEMM_BLOCKS_OF_ROWS:
        run_ahead(d, p, a, b, adds, c);
        break;
    case GEMM_BLOCKS_OF_COLUMNS:
        run_blocks(w, p, a, b, adds, c);
        break;
    default:
        run_rows(w, p, a, b, adds, c);
    }
}

/* The same for any alpha. Both functions are not inlined, as their stack frames would add up. */
static void run_order(const struct gemm_small *w, int order, const struct gemm_direct *d,
                      const struct gemm_product *p, const void *a, const void *b, const struct scale *s,
                      void *c) {
    if (s->alpha != 1)
        (s->scratch ? run_scaled : run_scaled_on_stack)(p, a, b, s, c);
    else
        run_unscaled(w, order, d, p, a, b, s->beta != 0, c);
}

/* Transposes a column-major B, as many columns at a time as the plan says, and computes each part.
 * has_kernel: the copy has room for whole vectors, which the kernel stores. */
static void run_transposed(const struct gemm_small *w, const struct gemm_product *p, bool has_kernel,
                           const void *a, const void *b, const struct scale *s, void *c, void *copy) {
    const struct gemm_type *t = p->type;
    struct gemm_product block = *p;

    block.b_columns = false;
    block.ldb = w->ldb;
    for (int64_t j = 0; j < p->n; j += w->columns) {
        block.n = uk_min(p->n - j, w->columns);
        const bool is_last = block.n < w->columns;

        if (!has_kernel)
            t->copy_rows(t, p->k, block.n, gemm_at(t, b, j * p->ldb), 1, p->ldb, copy, block.ldb);
        for (int64_t i = 0, columns; has_kernel && i < block.n; i += columns) {
            columns = uk_min(block.n - i, t->transpose->mr);
            t->transpose_some(t->transpose, p->k, gemm_at(t, b, (j + i) * p->ldb), p->ldb,
                              gemm_at_written(t, copy, i), block.ldb, columns);
        }
        run_order(w, is_last && w->width && block.n < t->blocked_columns ? GEMM_AT_ONCE : w->order,
                  is_last ? gemm_direct_of(gemm_direct_at(t, p->a_columns, block.n), p->m, p->k) : w->kernels,
                  &block, a, copy, s, gemm_at_written(t, c, j));
    }
}

/* Products that copy B: at most two vectors of columns at once, or more of them a part at a time. */
static void run_copied(const struct gemm_small *w, const struct gemm_product *p, const void *a, const void *b,
                       const struct scale *s, void *c, void *copy) {
    struct gemm_product q = *p;

    if (w->copies != GEMM_COPIES_FEW) {
        run_transposed(w, p, true, a, b, s, c, copy);
        return;
    }
    p->type->transpose_all(gemm_few_transpose(p->type, p->n), p->k, b, p->ldb, copy, p->n);
    q.ldb = w->ldb;
    run_order(w, GEMM_AT_ONCE, w->kernels, &q, a, copy, s, c);
}

__attribute__((noinline)) static void run_copied_on_stack(const struct gemm_small *w,
                                                          const struct gemm_product *p, const void *a,
                                                          const void *b, const struct scale *s, void *c) {
    char copy[GEMM_COPY_ON_STACK] __attribute__((aligned(64)));
    const struct scale own = {s->alpha, s->beta, copy + w->bytes, GEMM_COPY_ON_STACK - w->bytes};

    run_copied(w, p, a, b, &own, c, copy);
}

/* Computes the product without a workspace: transposes fewer columns of B at a time, on the stack. */
__attribute__((noinline)) static void run_narrow(const struct gemm_product *p, const void *a, const void *b,
                                                 const struct scale *s, void *c) {
    char copy[GEMM_COPY_ON_STACK] __attribute__((aligned(64)));
    const struct gemm_type *t = p->type;
    const int64_t bytes = GEMM_COPY_ON_STACK - SCRATCH_BESIDE_COPY,
                  most = uk_min(bytes / (p->k * t->size), t->blocked_columns - 1);
    const struct scale own = {s->alpha, s->beta, copy + bytes, SCRATCH_BESIDE_COPY};
    const struct gemm_small w = {.kernels = gemm_direct_of(gemm_direct_at(t, p->a_columns, most), p->m, p->k),
                                 .columns = most,
                                 .ldb = most,
                                 .order = GEMM_AT_ONCE};

    run_transposed(&w, p, false, a, b, &own, c, copy);
}

void uk_gemm_run_small(const struct gemm_small *w, const struct gemm_product *p,
                       const struct gemm_operands *o, void *workspace) {
    const struct scale s = {.alpha = o->alpha, .beta = o->beta};
    const int64_t beside = s.alpha == 1 ? 0 : SCRATCH_BESIDE_COPY;

    if (s.alpha == 1 && s.beta != 0 && s.beta != 1)
        p->type->scale(p->m, p->n, o->c, p->ldc, s.beta, NULL);
    if (!w->bytes)
        run_order(w, w->order, w->kernels, p, o->a, o->b, &s, o->c);
    else if (w->bytes + beside <= GEMM_COPY_ON_STACK)
        run_copied_on_stack(w, p, o->a, o->b, &s, o->c);
    else if (workspace)
        run_copied(w, p, o->a, o->b, &s, o->c, workspace);
    else
        run_narrow(p, o->a, o->b, &s, o->c);
    if (o->epilogue)
        p->type->scale(p->m, p->n, o->c, p->ldc, 1, o->epilogue);
}
