/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a plan. Each task computes a rectangle of whole tiles of C, by itself and in its own workspace: blocks
 * of k outermost, within a block of rows a block of B that stays in L2, and along it rows of tiles:
 *
 *     for p in blocks of k (kc), i0 in blocks of rows (mc), j0 in blocks of columns (nc):
 *         pack B[p, j0] if the plan says so, and the first panel of rows does not while it computes
 *         for i in panels of rows: pack A[i, p] if the plan says so and j0 is the first; tiles C[i, j0..] (+)= A[i, p] B[p, j0]
 *
 * So threads never wait for one another; but A is packed once for each task of a row of the grid, and B once for each task of a
 * column, which the plan's cost includes.
 */
#include "cost.h"
#include "direct.h"

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static const void *at(const struct gemm_plan *plan, const void *base, int64_t index) {
    return (const char *)base + index * plan->type->size;
}

static void *at_written(const struct gemm_plan *plan, void *base, int64_t index) {
    return (char *)base + index * plan->type->c_size;
}

struct task {
    const struct gemm_plan *plan;
    const struct gemm_operands *o;
    char *work;
};

/* The current block of a rectangle's loops. */
struct block {
    int64_t p, k, i0, m, j0, n;
    void *a, *b; /* packed */
};

/* Sets where the panel of rows that begins with row i lies. */
static void find_a(const struct gemm_plan *plan, const struct gemm_operands *o, const struct block *w,
                   int64_t i, struct gemm_tile_row *s) {
    const int mr = plan->tile->mr;

    if (plan->a_source == GEMM_COPIED) {
        const int64_t behind = i > w->i0 ? plan->a_padding : 0;

        s->a = plan->a_packed
                   ? at(plan, o->a, i / plan->rows * mr * gemm_padded(plan->type, plan->k) + w->p * mr)
                   : at(plan, w->a, (i - w->i0) / plan->rows * mr * gemm_padded(plan->type, w->k) + behind);
        s->a_row = 1;
        s->a_step = mr;
    } else if (plan->a_packed) {
        s->a_row = uk_gemm_leading(plan->k, plan->type->size);
        s->a_step = 1;
        s->a = at(plan, o->a, i * s->a_row + w->p);
    } else if (plan->a_source == GEMM_ROWS) {
        s->a = at(plan, w->a, (i - w->i0) * plan->a_leading);
        s->a_row = plan->a_leading;
        s->a_step = 1;
    } else {
        s->a = at(plan, o->a, i * plan->a_row + w->p * plan->a_step);
        s->a_row = plan->a_row;
        s->a_step = plan->a_step;
    }
}

static void find_b(const struct gemm_plan *plan, const struct gemm_operands *o, const struct block *w,
                   struct gemm_tile_row *s) {
    const int nr = plan->tile->nr;

    if (plan->b_packed) {
        s->b = at(plan, o->b, w->j0 * gemm_padded(plan->type, plan->k) + w->p * nr);
        s->b_step = nr;
        s->b_tile = gemm_padded(plan->type, plan->k) * nr;
    } else if (plan->b_source == GEMM_COPIED) {
        s->b = w->b;
        s->b_step = nr;
        s->b_tile = gemm_padded(plan->type, w->k) * nr;
    } else {
        s->b = at(plan, o->b, w->p * plan->b_step + w->j0);
        s->b_step = plan->b_step;
        s->b_tile = nr;
    }
}

/* Sets what the first panel of rows reads of a block of B: it reads B in place and packs it while it computes
 * (fused packing). A is in place too, or a copy in rows if it is column-major or its rows share sets. */
static void pack_b_fused(const struct gemm_plan *plan, const struct gemm_operands *o, const struct block *w,
                         struct gemm_tile_row *s) {
    s->kernel = plan->first;
    s->form = GEMM_RAP;
    s->tail = NULL;
    if (plan->a_padding) {
        s->a_row = uk_gemm_leading(w->k, plan->type->size);
        s->a_step = 1;
    } else if (plan->a_step == 1) {
        s->a = at(plan, o->a, w->i0 * plan->a_row + w->p);
        s->a_row = plan->a_row;
        s->a_step = 1;
    }
    s->b = at(plan, o->b, w->p * plan->b_step + w->j0);
    s->b_step = plan->b_step;
    s->b_tile = plan->tile->nr;
    s->packed = w->b;
}

/* What is read of B after this block, if it is worth prefetching. */
static struct gemm_next find_next(const struct gemm_plan *plan, const struct gemm_operands *o,
                                  const struct block *w, int64_t j_begin, int64_t j_end) {
    const bool is_last = w->j0 + w->n >= j_end;
    const int64_t j = is_last ? j_begin : w->j0 + w->n, p = is_last ? w->p + w->k : w->p;
    const int64_t n = least(plan->nc, j_end - j), line = 64 / plan->type->size;

    if (!plan->prefetching || plan->form == GEMM_PANELS || plan->b_packed || p >= plan->k)
        return (struct gemm_next){0};
    if (plan->b_column == 1)
        return (struct gemm_next){.prefetching = plan->prefetching,
                                  .part = at(plan, o->b, p * plan->b_step + j),
                                  .on = line,
                                  .parts = (n + line - 1) / line};
    return (struct gemm_next){.prefetching = plan->prefetching,
                              .part = at(plan, o->b, j * plan->b_column + p),
                              .on = GEMM_PREFETCHED_ROWS * plan->b_column,
                              .parts = (n + GEMM_PREFETCHED_ROWS - 1) / GEMM_PREFETCHED_ROWS,
                              .stride = plan->b_column};
}

/* The micro-panel of A after row i, or after the last one the first, for the next block of columns: each tile
 * prefetches a part of it, so that few lines are in flight at once. */
static struct gemm_next prefetch_panel(const struct gemm_plan *plan, const struct gemm_operands *o,
                                       const struct block *w, int64_t i) {
    const int64_t tiles = (w->n + plan->tile->nr - 1) / plan->tile->nr, mr = plan->tile->mr;
    const int64_t share = (mr + 2 * tiles - 1) / (2 * tiles), after = i + plan->rows;
    struct gemm_tile_row s;

    find_a(plan, o, w, after < w->i0 + w->m ? after : w->i0, &s);
    return (struct gemm_next){.prefetching = plan->prefetching,
                              .part = s.a,
                              .on = 2 * share * w->k,
                              .parts = (mr + 2 * share - 1) / (2 * share),
                              .stride = share * w->k,
                              .step = share};
}

/* The same micro-panel, which these tiles pack. */
static struct gemm_next copy_panel(const struct gemm_plan *plan, const struct gemm_operands *o,
                                   const struct block *w, int64_t i) {
    const int64_t after = i + plan->rows;
    struct gemm_tile_row s;

    find_a(plan, o, w, after, &s);
    return (struct gemm_next){.prefetching = plan->tile->packing,
                              .part = at(plan, o->a, after * plan->a_row + w->p),
                              .on = 2 * plan->a_row,
                              .parts = least(plan->rows, w->i0 + w->m - after),
                              .stride = plan->a_row,
                              .copy = (void *)s.a};
}

/* Whether the full tiles of a row can pack the next micro-panel of A, two rows each. */
static bool can_copy(const struct gemm_plan *plan, const struct block *w) {
    const struct gemm_tile *t = plan->tile;

    return plan->prefetching && plan->form == GEMM_PANELS && t->packing && plan->a_step == 1 &&
           plan->rows == t->mr && w->n >= t->mr / 2 * t->nr;
}

/* Packs the panels of rows that begin with row i, as their tiles read them. The first one, if its tiles pack B,
 * is copied in rows, or stays in place. */
static void pack_a(const struct gemm_plan *plan, const struct gemm_operands *o, const struct block *w,
                   int64_t i, int64_t rows, void *to) {
    if (!plan->first || i > w->i0 || plan->a_source != GEMM_COPIED)
        uk_gemm_pack_a(plan, o->a, i, rows, w->p, w->k, to);
    else if (plan->a_padding)
        plan->type->copy_rows(plan->type, rows, w->k, at(plan, o->a, i * plan->a_row + w->p), plan->a_row, 1,
                              to, uk_gemm_leading(w->k, plan->type->size));
}

/* Computes the rows of tiles of one block. A is packed panel by panel, right before its first tiles; a
 * column-major A several panels at a time, since they share the lines and pages of their source. */
static void run_block(const struct gemm_plan *plan, const struct gemm_operands *o, const struct block *w,
                      bool packs_a, struct gemm_next *next) {
    const int64_t group = plan->a_row == 1 && plan->a_step != 1 ? 8 * plan->rows : plan->rows;
    const bool copies = packs_a && can_copy(plan, w);
    bool is_packed = false; /* whether the tiles of the row before have packed this micro-panel */
    struct gemm_tile_row s = {
        .kernel = plan->tile->kernel[plan->form],
        .form = (enum gemm_form)plan->form,
        .tail = plan->tail,
        .tail_form = (enum gemm_form)plan->tail_form,
        .k = gemm_padded(plan->type, w->k),
        .columns = w->n,
        .ldc = plan->ldc,
        .transposed = plan->transposed,
        .alpha = o->alpha,
        .beta = w->p ? 1 : o->beta,
        .epilogue = w->p + w->k == plan->k ? o->epilogue : NULL,
        .column = w->j0,
        .next = next,
    };

    find_b(plan, o, w, &s);
    for (int64_t i = w->i0; i < w->i0 + w->m; i += plan->rows) {
        s.rows = least(plan->rows, w->i0 + w->m - i);
        s.row = i;
        find_a(plan, o, w, i, &s);
        s.c = at_written(plan, o->c, plan->transposed ? w->j0 * plan->ldc + i : i * plan->ldc + w->j0);
        if (packs_a && !is_packed && (i - w->i0) % group == 0)
            pack_a(plan, o, w, i, least(group, w->i0 + w->m - i), (void *)s.a);
        if (plan->first && i == w->i0) {
            struct gemm_tile_row first = s;

            pack_b_fused(plan, o, w, &first);
            plan->type->tile_row(&first);
        } else {
            is_packed = copies && i + plan->rows < w->i0 + w->m;
            if (is_packed)
                *next = copy_panel(plan, o, w, i);
            else if (plan->prefetching && plan->form == GEMM_PANELS && !packs_a)
                *next = prefetch_panel(plan, o, w, i);
            plan->type->tile_row(&s);
        }
    }
}

/* The task's share of `count` panels of `size` of the `whole`. */
static void share(int64_t task, int64_t tasks, int64_t whole, int64_t size, int64_t *begin, int64_t *end) {
    *begin = 0;
    *end = whole;
    if (tasks == 1)
        return;
    const int64_t count = (whole + size - 1) / size;

    *begin = task * count / tasks * size;
    *end = least((task + 1) * count / tasks * size, whole);
}

static void run_tiles(void *context, int64_t index, int64_t thread) {
    const struct task *t = context;
    const struct gemm_plan *plan = t->plan;
    int64_t i_begin, i_end, j_begin, j_end;
    struct block w = {0};

    (void)thread;
    share(plan->column_tasks == 1 ? index : index / plan->column_tasks, plan->row_tasks, plan->m, plan->rows,
          &i_begin, &i_end);
    share(plan->column_tasks == 1 ? 0 : index % plan->column_tasks, plan->column_tasks, plan->n,
          plan->tile->nr, &j_begin, &j_end);
    if (t->work) {
        w.a = t->work + index * (plan->a_block + plan->b_block) * plan->type->size;
        w.b = (char *)w.a + plan->a_block * plan->type->size;
    }
    for (w.p = 0; w.p < plan->k; w.p += plan->kc) {
        w.k = least(plan->kc, plan->k - w.p);
        for (w.i0 = i_begin; w.i0 < i_end; w.i0 += plan->mc) {
            w.m = least(plan->mc, i_end - w.i0);
            for (w.j0 = j_begin; w.j0 < j_end; w.j0 += plan->nc) {
                w.n = least(plan->nc, j_end - w.j0);
                if (plan->b_source == GEMM_COPIED && !plan->b_packed && !plan->first)
                    uk_gemm_pack_b(plan, t->o->b, w.j0, w.n, w.p, w.k, w.b);
                struct gemm_next next = find_next(plan, t->o, &w, j_begin, j_end);

                run_block(plan, t->o, &w,
                          plan->a_source != GEMM_IN_PLACE && !plan->a_packed && w.j0 == j_begin, &next);
            }
        }
    }
}

/* The prefetch distance for a matrix of that many elements: 0 if it can stay in L2. */
static int64_t ahead_in(const struct gemm_type *type, int64_t elements) {
    return elements * type->size > type->machine->part[1].size ? type->prefetch_ahead / type->size : 0;
}

/* A product whose m or n is 1; x is copied to the workspace if it is not contiguous and has to be. */
static struct gemm_vector whole_vector(const struct task *t) {
    const struct gemm_plan *plan = t->plan;
    const struct gemm_operands *o = t->o;
    const struct gemm_type *type = plan->type;
    const bool is_row = plan->m == 1, along = plan->path == GEMM_VECTOR_N;
    const bool packed = is_row ? plan->b_packed : plan->a_packed;
    const int64_t outer = is_row ? plan->b_column : plan->a_row, inner = is_row ? plan->b_step : plan->a_step;
    const int64_t count = is_row ? plan->n : plan->m, width = along ? plan->k : count;

    return (struct gemm_vector){
        .kernel = along ? type->gemv_n : type->gemv_t,
        .k = plan->k,
        .count = count,
        .matrix = is_row ? o->b : o->a,
        .stride = packed  ? uk_gemm_leading(width, type->size)
                  : along ? outer
                          : inner,
        .x = plan->b_block ? t->work
             : is_row      ? o->a
                           : o->b,
        .y = o->c,
        .y_step = is_row ? 1 : plan->ldc,
        .alpha = o->alpha,
        .beta = o->beta,
        .epilogue = o->epilogue,
        .ahead = ahead_in(type, plan->k * count),
        .is_row = is_row,
    };
}

/* Packed operands are copies in the same order, without the gaps between rows. */
static void run_dots(void *context, int64_t index, int64_t thread) {
    const struct task *t = context;
    const struct gemm_plan *plan = t->plan;
    const struct gemm_operands *o = t->o;
    const int64_t leading = uk_gemm_leading(plan->k, plan->type->size);
    struct gemm_dots d = {.kernel = plan->type->nt,
                          .k = plan->k,
                          .k_block = plan->kc,
                          .lda = plan->a_packed || plan->a_block ? leading : plan->a_row,
                          .ldb = plan->b_packed || plan->b_block ? leading : plan->b_column,
                          .ldc = plan->ldc,
                          .alpha = o->alpha,
                          .beta = o->beta,
                          .epilogue = o->epilogue};
    int64_t rows, columns;

    (void)thread;
    share(plan->row_tasks == 1 ? 0 : index, plan->row_tasks, plan->m, d.kernel->mr, &d.row, &rows);
    share(plan->row_tasks == 1 ? index : 0, plan->column_tasks, plan->n, d.kernel->nr, &d.column, &columns);
    d.m = rows - d.row;
    d.n = columns - d.column;
    d.a = at(plan, plan->a_block ? t->work : o->a, d.row * d.lda);
    d.b = at(plan, plan->b_block ? t->work : o->b, d.column * d.ldb);
    d.c = at_written(plan, o->c, d.row * d.ldc + d.column);
    plan->type->dots(&d);
}

bool uk_gemm_run_dots(const struct gemm_type *t, const struct gemm_shape *s, const void *a, const void *b,
                      double beta, void *c) {
    const struct gemm_product p = gemm_product_of(s);
    const bool swapped = s->layout != UK_ROW_MAJOR;

    GEMM_REQUIRE((uint64_t)(p.m - 2) < GEMM_MOST && (uint64_t)(p.n - 2) < GEMM_MOST);
    GEMM_REQUIRE((uint64_t)(p.k - 1) < GEMM_MOST);
    GEMM_REQUIRE(s->layout == UK_ROW_MAJOR || s->layout == UK_COLUMN_MAJOR);
    GEMM_REQUIRE(((unsigned)s->ta | (unsigned)s->tb) <= 1);
    GEMM_REQUIRE(!gemm_leading_is_invalid(p.lda, p.k) && !gemm_leading_is_invalid(p.ldb, p.k));
    GEMM_REQUIRE(!gemm_leading_is_invalid(p.ldc, p.n));
    GEMM_REQUIRE(a && b && c && !p.a_columns && p.b_columns);
    GEMM_REQUIRE(uk_gemm_suits_dots(t, p.m, p.n, p.k, p.lda, p.ldb));
    GEMM_REQUIRE(uk_is_alone() || uk_gemm_dots_cycles(t, p.m, p.n, p.k, p.lda, p.ldb) < 2 * GEMM_TASK);
    t->dots(&(struct gemm_dots){.kernel = t->nt,
                                .m = p.m,
                                .n = p.n,
                                .k = p.k,
                                .k_block = uk_gemm_dots_block(t, p.m, p.k),
                                .a = swapped ? b : a,
                                .lda = p.lda,
                                .b = swapped ? a : b,
                                .ldb = p.ldb,
                                .c = c,
                                .ldc = p.ldc,
                                .alpha = 1,
                                .beta = beta});
    return true;
}

static void run_vector(void *context, int64_t index, int64_t thread) {
    const struct task *t = context;
    const struct gemm_plan *plan = t->plan;
    struct gemm_vector v = whole_vector(t);
    int64_t begin, end;

    (void)thread;
    share(index, plan->row_tasks, v.count, plan->nc, &begin, &end);
    v.matrix = at(plan, v.matrix, plan->path == GEMM_VECTOR_N ? begin * v.stride : begin);
    v.y = at_written(plan, v.y, begin * v.y_step);
    v.count = end - begin;
    *(v.is_row ? &v.column : &v.row) = begin;
    if (plan->path == GEMM_VECTOR_N)
        plan->type->vector_n(&v);
    else
        plan->type->vector_t(&v);
}

bool uk_gemm_run_vector(const struct gemm_type *t, const struct gemm_shape *s, const void *a, const void *b,
                        double beta, void *c) {
    const struct gemm_product p = gemm_product_of(s);
    const bool is_row = p.m == 1, swapped = s->layout != UK_ROW_MAJOR;
    const int64_t count = is_row ? p.n : p.m, stride = is_row ? p.ldb : p.lda;
    const bool along = (is_row ? p.b_columns : !p.a_columns) || stride == 1;

    GEMM_REQUIRE(is_row || p.n == 1);
    GEMM_REQUIRE((uint64_t)(count - 1) < GEMM_MOST && (uint64_t)(p.k - 1) < GEMM_MOST);
    GEMM_REQUIRE(s->layout == UK_ROW_MAJOR || s->layout == UK_COLUMN_MAJOR);
    GEMM_REQUIRE(((unsigned)s->ta | (unsigned)s->tb) <= 1);
    GEMM_REQUIRE(!gemm_leading_is_invalid(p.lda, p.a_columns ? p.m : p.k));
    GEMM_REQUIRE(!gemm_leading_is_invalid(p.ldb, p.b_columns ? p.k : p.n));
    GEMM_REQUIRE(!gemm_leading_is_invalid(p.ldc, p.n));
    GEMM_REQUIRE((is_row ? !p.a_columns || p.lda == 1 : p.b_columns || p.ldb == 1) && a && b && c);
    GEMM_REQUIRE(uk_is_alone() || (double)p.k * (double)count * t->size / 16 < 2 * GEMM_TASK);

    const struct gemm_vector v = {
        .kernel = along ? t->gemv_n : t->gemv_t,
        .k = p.k,
        .count = count,
        .matrix = is_row != swapped ? b : a,
        .stride = stride,
        .x = is_row != swapped ? a : b,
        .y = c,
        .y_step = is_row ? 1 : p.ldc,
        .alpha = 1,
        .beta = beta,
        .ahead = ahead_in(t, p.k * count),
        .is_row = is_row,
    };

    GEMM_REQUIRE(v.kernel);
    (along ? t->vector_n : t->vector_t)(&v);
    return true;
}

/* Copies x so that it is contiguous. */
static void pack_vector(const struct gemm_plan *plan, const struct gemm_operands *o, void *x) {
    const struct gemm_type *t = plan->type;

    if (plan->m == 1)
        t->copy_rows(t, plan->k, 1, o->a, plan->a_packed ? 1 : plan->a_step, 1, x, 1);
    else
        t->copy_rows(t, plan->k, 1, o->b, plan->b_packed ? 1 : plan->b_step, 1, x, 1);
}

void uk_gemm_parallel(const struct gemm_plan *plan,
                      void (*task)(void *context, int64_t index, int64_t thread), void *context,
                      int64_t count) {
    if (count == 1)
        task(context, 0, 0);
    else if (plan->pool)
        uk_pool_for(plan->pool, task, context, count);
    else
        uk_parallel_for(task, context, count);
}

bool uk_gemm_lacks_operand(const struct gemm_plan *plan, const struct gemm_operands *o) {
    return plan->m && plan->n && (!o->c || (plan->k && o->alpha != 0 && (!o->a || !o->b)));
}

static void run_in(const struct gemm_plan *plan, const struct gemm_operands *o, void *workspace) {
    struct task task = {plan, o, workspace};

    if (plan->path == GEMM_TILES) {
        uk_gemm_parallel(plan, run_tiles, &task, plan->row_tasks * plan->column_tasks);
        return;
    }
    if (plan->path == GEMM_DOTS) {
        if (plan->a_block)
            uk_gemm_pack_whole_a(plan, o->a, workspace);
        if (plan->b_block)
            uk_gemm_pack_whole_b(plan, o->b, workspace);
        uk_gemm_parallel(plan, run_dots, &task, plan->row_tasks * plan->column_tasks);
        return;
    }
    if (plan->b_block)
        pack_vector(plan, o, workspace);
    uk_gemm_parallel(plan, run_vector, &task, plan->row_tasks);
}

static void scale(const struct gemm_plan *plan, const struct gemm_operands *o) {
    if (plan->transposed) {
        struct gemm_epilogue e;

        if (o->epilogue)
            e = gemm_transposed_epilogue(o->epilogue);
        plan->type->scale(plan->n, plan->m, o->c, plan->ldc, o->beta, o->epilogue ? &e : NULL);
    } else {
        plan->type->scale(plan->m, plan->n, o->c, plan->ldc, o->beta, o->epilogue);
    }
}

/* A workspace of few bytes. */
enum { ON_STACK = 2048 };
__attribute__((noinline)) static void run_near(const struct gemm_plan *plan, const struct gemm_operands *o) {
    char memory[ON_STACK] __attribute__((aligned(64)));

    run_in(plan, o, memory);
}

enum uk_status uk_gemm_run(const struct gemm_plan *plan, const struct gemm_operands *o, void *workspace) {
    const size_t size = uk_gemm_workspace_of(plan);

    if (uk_gemm_lacks_operand(plan, o))
        return UK_INVALID_ARGUMENT;
    if (plan->path == GEMM_SCALE || o->alpha == 0) {
        scale(plan, o);
    } else if (!size || workspace) {
        run_in(plan, o, workspace);
    } else if (size <= ON_STACK) {
        run_near(plan, o);
    } else {
        void *memory = uk_take_memory(size);

        if (!memory)
            return UK_OUT_OF_MEMORY;
        run_in(plan, o, memory);
        uk_give_memory(memory);
    }
    return UK_OK;
}
