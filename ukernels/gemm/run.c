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
#include "path.h"

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

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

        s->a =
            plan->a_packed
                ? gemm_at(plan, o->a, i / plan->rows * mr * gemm_padded(plan->type, plan->k) + w->p * mr)
                : gemm_at(plan, w->a, (i - w->i0) / plan->rows * mr * gemm_padded(plan->type, w->k) + behind);
        s->a_row = 1;
        s->a_step = mr;
    } else if (plan->a_packed) {
        s->a_row = uk_gemm_leading(plan->k, plan->type->size);
        s->a_step = 1;
        s->a = gemm_at(plan, o->a, i * s->a_row + w->p);
    } else if (plan->a_source == GEMM_ROWS) {
        s->a = gemm_at(plan, w->a, (i - w->i0) * plan->a_leading);
        s->a_row = plan->a_leading;
        s->a_step = 1;
    } else {
        s->a = gemm_at(plan, o->a, i * plan->a_row + w->p * plan->a_step);
        s->a_row = plan->a_row;
        s->a_step = plan->a_step;
    }
}

static void find_b(const struct gemm_plan *plan, const struct gemm_operands *o, const struct block *w,
                   struct gemm_tile_row *s) {
    const int nr = plan->tile->nr;

    if (plan->b_packed) {
        s->b = gemm_at(plan, o->b, w->j0 * gemm_padded(plan->type, plan->k) + w->p * nr);
        s->b_step = nr;
        s->b_tile = gemm_padded(plan->type, plan->k) * nr;
    } else if (plan->b_source == GEMM_COPIED) {
        s->b = w->b;
        s->b_step = nr;
        s->b_tile = gemm_padded(plan->type, w->k) * nr;
    } else {
        s->b = gemm_at(plan, o->b, w->p * plan->b_step + w->j0);
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
        s->a = gemm_at(plan, o->a, w->i0 * plan->a_row + w->p);
        s->a_row = plan->a_row;
        s->a_step = 1;
    }
    s->b = gemm_at(plan, o->b, w->p * plan->b_step + w->j0);
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
                                  .part = gemm_at(plan, o->b, p * plan->b_step + j),
                                  .on = line,
                                  .parts = (n + line - 1) / line};
    return (struct gemm_next){.prefetching = plan->prefetching,
                              .part = gemm_at(plan, o->b, j * plan->b_column + p),
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
                              .part = gemm_at(plan, o->a, after * plan->a_row + w->p),
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
        uk_gemm_pack(plan, GEMM_LEFT, o->a, i, rows, w->p, w->k, to);
    else if (plan->a_padding)
        plan->type->copy_rows(plan->type, rows, w->k, gemm_at(plan, o->a, i * plan->a_row + w->p),
                              plan->a_row, 1, to, uk_gemm_leading(w->k, plan->type->size));
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
        s.c = gemm_at_written(plan, o->c, plan->transposed ? w->j0 * plan->ldc + i : i * plan->ldc + w->j0);
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

static void run_tiles(void *context, int64_t index, int64_t thread) {
    const struct gemm_task *t = context;
    const struct gemm_plan *plan = t->plan;
    int64_t i_begin, i_end, j_begin, j_end;
    struct block w = {0};

    (void)thread;
    gemm_share(plan->column_tasks == 1 ? index : index / plan->column_tasks, plan->row_tasks, plan->m,
               plan->rows, &i_begin, &i_end);
    gemm_share(plan->column_tasks == 1 ? 0 : index % plan->column_tasks, plan->column_tasks, plan->n,
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
                    uk_gemm_pack(plan, GEMM_RIGHT, t->o->b, w.j0, w.n, w.p, w.k, w.b);
                struct gemm_next next = find_next(plan, t->o, &w, j_begin, j_end);

                run_block(plan, t->o, &w,
                          plan->a_source != GEMM_IN_PLACE && !plan->a_packed && w.j0 == j_begin, &next);
            }
        }
    }
}

static void run(const struct gemm_plan *plan, const struct gemm_operands *o, void *workspace) {
    struct gemm_task task = {plan, o, workspace};

    uk_gemm_parallel(plan, run_tiles, &task, plan->row_tasks * plan->column_tasks);
}

static const char *source(int source, bool packed, bool is_b) {
    static const char *const texts[] = {"read in place", "copied in rows", "packed in panels"};

    return packed && is_b ? "packed beforehand, in panels" : packed ? "packed beforehand" : texts[source];
}

static void explain(struct gemm_text *t, const struct gemm_plan *p) {
    const struct uk_kernel *k = p->tile->kernel[p->form];

    uk_gemm_add(t, "path: tiles of %lld x %d\n", (long long)p->rows, k->nr);
    uk_gemm_add(t, "kernel: %s%s\n", k->symbol, p->transposed ? ", transposed on the way to C" : "");
    if (p->tail)
        uk_gemm_add(t, "kernel of the last columns: %s\n", p->tail->symbol);
    if (p->first)
        uk_gemm_add(t, "kernel of the first rows, which packs B: %s\n", p->first->symbol);
    uk_gemm_add(t, "A: %s\n", source(p->a_source, p->a_packed, false));
    uk_gemm_add(t, "B: %s\n", source(p->b_source, p->b_packed, true));
    uk_gemm_add(t, "blocks: mc %lld, nc %lld, kc %lld\n", (long long)p->mc, (long long)p->nc,
                (long long)p->kc);
}

const struct gemm_path uk_gemm_tiles = {"tiles", GEMM_PACKS_PANELS, uk_gemm_plan_tiles, run, explain};
