/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a plan of the path of tiles. C is divided into a grid of rectangles of whole tiles; each is a task,
 * with a workspace of its own:
 *
 *     for p in blocks of k (kc), i0 in blocks of rows (mc), j0 in blocks of columns (nc):
 *         pack B[p, j0], if the plan packs B and the first panel of rows does not pack it
 *         for i in panels of rows:
 *             pack A[i, p], if the plan packs A and j0 is the first
 *             tiles C[i, j0..] (+)= A[i, p] B[p, j0]
 *
 * The block of B stays in L2 for all panels of rows. Threads never wait for one another; therefore each task
 * packs what it reads, A once per task of a row of the grid, B once per task of a column. The plan's cost
 * includes this.
 */
#include "low.h"
#include "tiles.h"

/* An operand: as the caller has it, `in_place`, and as tiles read it, `view`. */
struct operand {
    struct uk_lattice in_place, copy;
    const struct uk_lattice *view; /* &in_place or &copy */
    const void *whole, *array;     /* the memory of in_place, and of view */
    int64_t line, k;               /* the element with which `array` begins */
};

/* The current block of a rectangle's loops. */
struct block {
    int64_t p, k, i0, m, j0, n;
    struct operand a, b;
    /* If A is packed in panels, and tiles of the first panel of rows pack B: those tiles read A in rows.
     * `first` is a copy of that panel's rows, in the memory of the panel and a_padding elements before it. */
    struct uk_lattice first;
    void *first_rows;
    /* Of products of bytes with zero points: sums of A's rows from row_sums_from on, and of B's columns. */
    const int32_t *row_sums, *column_sums;
    int64_t row_sums_from, column_sums_from;
};

static const void *whole_place(const struct operand *x, int64_t line, int64_t k) {
    return uk_lattice_place(&x->in_place, x->whole, line, k);
}

static const void *place(const struct operand *x, int64_t line, int64_t k) {
    return uk_lattice_place(x->view, x->array, line - x->line, k - x->k);
}

static void set_operand(const struct gemm_plan *plan, enum gemm_side side, const void *array,
                        const void *work, struct operand *x) {
    const bool left = side == GEMM_LEFT, packed = left ? plan->product.a_packed : plan->product.b_packed,
               copied = (left ? plan->way.a : plan->way.b) != UK_IN_PLACE;

    x->in_place = gemm_in_place(&plan->product, side);
    x->whole = array;
    x->array = copied && !packed ? work : array;
    if (packed)
        x->copy = uk_gemm_packed(plan, side);
    else if (copied)
        x->copy = uk_gemm_block(plan, side);
    x->view = packed || copied ? &x->copy : &x->in_place;
    x->line = x->k = 0;
}

/* Makes a copy that is made per block begin with the current one. */
static void move(struct operand *x, int64_t line, int64_t k) {
    if (x->array != x->whole) {
        x->line = line;
        x->k = k;
    }
}

/* Sets up fused packing: the tiles of the first panel of rows read a block of B in place, and pack it while
 * they compute. They read A in place too, or a copy in rows if A is column-major or its rows share sets of
 * L1. */
static void pack_b_fused(const struct gemm_plan *plan, const struct block *w, struct gemm_tile_row *s) {
    const bool copied = plan->a_padding;

    s->kernel = plan->first;
    s->form = GEMM_RAP;
    s->tail = NULL;
    if (plan->way.a == UK_PANELS) {
        s->a = copied ? w->first_rows : whole_place(&w->a, w->i0, w->p);
        s->a_row = uk_lattice_line_stride(copied ? &w->first : &w->a.in_place);
        s->a_step = 1;
    }
    s->b = whole_place(&w->b, w->j0, w->p);
    s->b_step = gemm_b_step(&plan->product);
    s->b_tile = plan->way.tile->nr;
    s->packed = (void *)w->b.array;
    s->packed_k = gemm_padded(plan->way.kc, plan->way.tile->kr);
}

/* The part of B that is read after this block, for prefetching: parts of a cache line of each row, or of some
 * columns. Empty if nothing is to be prefetched. */
static struct gemm_next find_next(const struct gemm_plan *plan, const struct block *w, int64_t j_begin,
                                  int64_t j_end) {
    const bool is_last = w->j0 + w->n >= j_end;
    const int64_t j = is_last ? j_begin : w->j0 + w->n, p = is_last ? w->p + w->k : w->p;
    const int64_t n = uk_min(plan->nc, j_end - j), across = uk_lattice_line_stride(&w->b.in_place),
                  columns = across == 1 ? GEMM_LINE / plan->product.type->size : GEMM_PREFETCHED_ROWS;

    if (!plan->prefetching || plan->way.form == GEMM_PANELS || plan->product.b_packed || p >= plan->product.k)
        return (struct gemm_next){0};
    return (struct gemm_next){.prefetching = plan->prefetching,
                              .part = whole_place(&w->b, j, p),
                              .on = columns * across,
                              .parts = uk_ceil_div(n, columns),
                              .stride = across};
}

/* The micro-panel of A after the one of row i, for prefetching; after the last it is the first, which the
 * next block of columns reads. Each tile prefetches a part of it, so that few lines are in flight at once. */
static struct gemm_next prefetch_panel(const struct gemm_plan *plan, const struct block *w, int64_t i) {
    const int64_t tiles = uk_ceil_div(w->n, plan->way.tile->nr), mr = plan->way.tile->mr;
    const int64_t share = uk_ceil_div(mr, 2 * tiles), after = i + plan->way.rows;

    return (struct gemm_next){.prefetching = plan->prefetching,
                              .part = place(&w->a, after < w->i0 + w->m ? after : w->i0, w->p),
                              .on = 2 * share * w->k,
                              .parts = uk_ceil_div(mr, 2 * share),
                              .stride = share * w->k,
                              .step = share};
}

/* The rows of the next micro-panel of A, which the tiles of this one pack. */
static struct gemm_next copy_panel(const struct gemm_plan *plan, const struct block *w, int64_t i) {
    const int64_t after = i + plan->way.rows, across = uk_lattice_line_stride(&w->a.in_place);

    return (struct gemm_next){.prefetching = plan->way.tile->packing,
                              .part = whole_place(&w->a, after, w->p),
                              .on = 2 * across,
                              .parts = uk_min(plan->way.rows, w->i0 + w->m - after),
                              .stride = across,
                              .copy = (void *)place(&w->a, after, w->p)};
}

/* True if the full tiles of a row can pack the next micro-panel of A, two rows each. */
static bool can_copy(const struct gemm_plan *plan, const struct block *w) {
    const struct gemm_tile *t = plan->way.tile;

    return plan->prefetching && plan->way.form == GEMM_PANELS && t->packing && !plan->product.a_columns &&
           plan->way.rows == t->mr && w->n >= t->mr / 2 * t->nr;
}

/* Packs the panels of `rows` rows from row i on. The first panel, if its tiles pack B, is copied in rows, or
 * stays in place. */
static void pack_a(const struct gemm_plan *plan, const struct block *w, int64_t i, int64_t rows) {
    const bool is_first = plan->first && i == w->i0 && plan->way.a == UK_PANELS;
    const struct uk_gemm_part part = {
        &w->a.in_place, w->a.whole, i, rows, w->p, w->k, is_first ? &w->first : w->a.view};

    if (!is_first)
        uk_gemm_pack(plan->product.type, &part, (void *)place(&w->a, i, w->p));
    else if (plan->a_padding)
        uk_gemm_pack(plan->product.type, &part, w->first_rows);
}

/* Computes the rows of tiles of one block. A is packed panel by panel, just before the tiles that read it;
 * if it is column-major as many at a time as fit into a quarter of L2, since they share cache lines and pages
 * of their source. */
static void run_block(const struct gemm_plan *plan, const struct gemm_operands *o, const struct block *w,
                      bool packs_a, struct gemm_next *next) {
    const int64_t group =
        plan->product.a_columns
            ? uk_max(1, plan->product.type->l2_quarter / (plan->way.rows * plan->way.kc)) * plan->way.rows
            : plan->way.rows;
    const bool copies = packs_a && can_copy(plan, w);
    bool is_packed = false; /* true if the tiles of the previous row have packed this micro-panel */
    struct gemm_tile_row s = {
        .product = &plan->product,
        .kernel = plan->way.tile->kernel[plan->way.form],
        .form = (enum gemm_form)plan->way.form,
        .tail = plan->tail,
        .tail_form = (enum gemm_form)plan->tail_form,
        .k = plan->way.a == UK_IN_PLACE ? w->k : gemm_padded(w->k, plan->way.tile->kr),
        .columns = w->n,
        .ldc = plan->product.ldc,
        .transposed = plan->product.c_columns,
        .alpha = o->alpha,
        .beta = w->p ? 1 : o->beta,
        .epilogue = w->p + w->k == plan->product.k ? o->epilogue : NULL,
        .quantization = w->p + w->k == plan->product.k ? o->quantization : NULL,
        .column_sums = w->column_sums ? w->column_sums + (w->j0 - w->column_sums_from) : NULL,
        .column = w->j0,
        .next = next,
    };

    s.a_row = uk_lattice_line_stride(w->a.view);
    s.a_step = uk_lattice_element_stride(w->a.view);
    s.b = place(&w->b, w->j0, w->p);
    s.b_step = uk_lattice_element_stride(w->b.view);
    s.b_tile = uk_lattice_at(w->b.view, plan->way.tile->nr, 0);
    for (int64_t i = w->i0; i < w->i0 + w->m; i += plan->way.rows) {
        s.rows = uk_min(plan->way.rows, w->i0 + w->m - i);
        s.row = i;
        s.row_sums = w->row_sums ? w->row_sums + (i - w->row_sums_from) : NULL;
        s.a = place(&w->a, i, w->p);
        s.c = gemm_place_in_c(&plan->product, o->c,
                              plan->product.c_columns ? w->j0 * plan->product.ldc + i
                                                      : i * plan->product.ldc + w->j0);
        if (packs_a && !is_packed && (i - w->i0) % group == 0)
            pack_a(plan, w, i, uk_min(group, w->i0 + w->m - i));
        if (plan->first && i == w->i0) {
            struct gemm_tile_row first = s;

            pack_b_fused(plan, w, &first);
            plan->product.type->tile_row(&first);
        } else {
            is_packed = copies && i + plan->way.rows < w->i0 + w->m;
            if (is_packed)
                *next = copy_panel(plan, w, i);
            else if (plan->prefetching && plan->way.form == GEMM_PANELS && !packs_a)
                *next = prefetch_panel(plan, w, i);
            plan->product.type->tile_row(&s);
        }
    }
}

/* Sets up the sums of the rectangle's rows of A, or columns of B, in `work`. Packed operands have theirs. */
static const int32_t *sums_of(const struct gemm_plan *plan, const struct operand *x, enum gemm_side side,
                              int64_t begin, int64_t end, int32_t *work, int64_t *from) {
    if (side == GEMM_LEFT ? plan->product.a_packed : plan->product.b_packed) {
        *from = 0;
        return (const void *)((const char *)x->array + uk_gemm_packed_sums(&x->copy));
    }
    *from = begin;
    uk_gemm_low_sums(&x->in_place, x->whole, begin, end - begin, work);
    return work;
}

static bool are_zero(const struct gemm_product *p, const int32_t *points, int step, enum gemm_side side) {
    bool zero = true;

    for (int64_t i = 0; zero && i < (side == GEMM_LEFT ? p->m : p->n) * step + !step; i++)
        zero = points[i] == 0;
    return zero;
}

/* Sets up sums if zero points need them. */
static void set_sums(const struct gemm_plan *plan, const struct gemm_operands *o, int64_t i_begin,
                     int64_t i_end, int64_t j_begin, int64_t j_end, int32_t *work, struct block *w) {
    const struct gemm_quantization *q = o->quantization;

    w->row_sums = w->column_sums = NULL;
    if (q && !are_zero(&plan->product, q->right_zero, q->right_step, GEMM_RIGHT))
        w->row_sums = sums_of(plan, &w->a, GEMM_LEFT, i_begin, i_end, work, &w->row_sums_from);
    if (q && !are_zero(&plan->product, q->left_zero, q->left_step, GEMM_LEFT))
        w->column_sums =
            sums_of(plan, &w->b, GEMM_RIGHT, j_begin, j_end, work + (i_end - i_begin), &w->column_sums_from);
}

/* The blocks of rows and columns of one block of k. */
static void run_k_block(const struct gemm_plan *plan, const struct gemm_operands *o, int64_t i_begin,
                        int64_t i_end, int64_t j_begin, int64_t j_end, struct block *w) {
    w->k = uk_min(plan->way.kc, plan->product.k - w->p);
    for (w->i0 = i_begin; w->i0 < i_end; w->i0 += plan->mc) {
        w->m = uk_min(plan->mc, i_end - w->i0);
        for (w->j0 = j_begin; w->j0 < j_end; w->j0 += plan->nc) {
            w->n = uk_min(plan->nc, j_end - w->j0);
            move(&w->a, w->i0, w->p);
            move(&w->b, w->j0, w->p);
            if (plan->way.b == UK_PANELS && !plan->product.b_packed && !plan->first)
                uk_gemm_pack(
                    plan->product.type,
                    &(struct uk_gemm_part){&w->b.in_place, w->b.whole, w->j0, w->n, w->p, w->k, w->b.view},
                    (void *)w->b.array);
            struct gemm_next next = find_next(plan, w, j_begin, j_end);

            run_block(plan, o, w, plan->way.a != UK_IN_PLACE && !plan->product.a_packed && w->j0 == j_begin,
                      &next);
        }
    }
}

static void run_blocks(const struct gemm_plan *plan, const struct gemm_operands *o, int64_t i_begin,
                       int64_t i_end, int64_t j_begin, int64_t j_end, struct block *w) {
    for (w->p = 0; w->p < plan->product.k; w->p += plan->way.kc)
        run_k_block(plan, o, i_begin, i_end, j_begin, j_end, w);
}

/* True if each panel of B, which was packed beforehand, is used for a single panel of rows: all blocks of k
 * of one panel after another read B in the order of memory. */
static bool reads_panels_once(const struct gemm_plan *plan) {
    return plan->product.b_packed && plan->way.a == UK_IN_PLACE && plan->product.m <= plan->way.rows &&
           plan->way.kc < plan->product.k;
}

static void run_panels(const struct gemm_plan *plan, const struct gemm_operands *o, int64_t i_begin,
                       int64_t i_end, int64_t j_begin, int64_t j_end, struct block *w) {
    const int nr = plan->way.tile->nr;

    for (int64_t j = j_begin; j < j_end; j += nr)
        run_blocks(plan, o, i_begin, i_end, j, uk_min(j + nr, j_end), w);
}

static void run_rectangle(void *context, int64_t index, int64_t thread) {
    const struct gemm_task *t = context;
    const struct gemm_plan *plan = t->plan;
    const int64_t size = plan->product.type->size;
    char *const a = t->work ? t->work + index * (plan->a_block + plan->b_block + plan->sums_block) * size
                            : NULL,
                *const b = a ? a + plan->a_block * size : NULL;
    int64_t i_begin, i_end, j_begin, j_end;
    struct block w;

    (void)thread;
    gemm_share(plan->column_tasks == 1 ? index : index / plan->column_tasks, plan->row_tasks, plan->product.m,
               plan->way.rows, &i_begin, &i_end);
    gemm_share(plan->column_tasks == 1 ? 0 : index % plan->column_tasks, plan->column_tasks, plan->product.n,
               plan->way.tile->nr, &j_begin, &j_end);
    set_operand(plan, GEMM_LEFT, t->o->a, a ? a + plan->a_padding * size : NULL, &w.a);
    set_operand(plan, GEMM_RIGHT, t->o->b, b, &w.b);
    w.first_rows = a;
    set_sums(plan, t->o, i_begin, i_end, j_begin, j_end,
             (int32_t *)(void *)(b ? b + plan->b_block * size : NULL), &w);
    if (plan->a_padding)
        w.first = uk_gemm_copy(plan->product.type, plan->way.tile, GEMM_LEFT, UK_ROWS, plan->way.rows,
                               plan->way.kc, 0);
    if (reads_panels_once(plan))
        run_panels(plan, t->o, i_begin, i_end, j_begin, j_end, &w);
    else
        run_blocks(plan, t->o, i_begin, i_end, j_begin, j_end, &w);
}

/* The plan has asked for the state, so that loading it succeeds. */
static void run_tiles(void *context, int64_t index, int64_t thread) {
    const struct gemm_way *w = &((const struct gemm_task *)context)->plan->way;
    const enum uk_state state = w->tile->kernel[w->form]->state;

    if (uk_state_load(state))
        return;
    run_rectangle(context, index, thread);
    uk_state_release(state);
}

static void run(const struct gemm_plan *plan, const struct gemm_operands *o, void *workspace) {
    struct gemm_task task = {plan, o, workspace};

    gemm_parallel(plan, run_tiles, &task, plan->row_tasks * plan->column_tasks);
}

static const char *source(int source, bool packed, bool is_b) {
    static const char *const texts[] = {"read in place", "copied in rows", "packed in panels"};

    return packed && is_b ? "packed beforehand, in panels" : packed ? "packed beforehand" : texts[source];
}

static void explain(struct gemm_text *t, const struct gemm_plan *p) {
    const struct uk_kernel *k = p->way.tile->kernel[p->way.form];

    uk_gemm_add(t, "path: tiles of %lld x %d\n", (long long)p->way.rows, k->nr);
    uk_gemm_add(t, "kernel: %s%s\n", k->symbol, p->product.c_columns ? ", transposed on the way to C" : "");
    if (p->tail)
        uk_gemm_add(t, "kernel of the last columns: %s\n", p->tail->symbol);
    if (p->first)
        uk_gemm_add(t, "kernel of the first rows, which packs B: %s\n", p->first->symbol);
    uk_gemm_add(t, "A: %s\n", source(p->way.a, p->product.a_packed, false));
    uk_gemm_add(t, "B: %s\n", source(p->way.b, p->product.b_packed, true));
    uk_gemm_add(t, "blocks: mc %lld, nc %lld, kc %lld\n", (long long)p->mc, (long long)p->nc,
                (long long)p->way.kc);
}

const struct gemm_path uk_gemm_tiles = {
    "tiles", GEMM_PACKS_PANELS, uk_gemm_tiles_cycles, uk_gemm_plan_tiles, run, explain};
