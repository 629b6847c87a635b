/* SPDX-License-Identifier: Apache-2.0 */
/* The automatic schedule of a stage: the cheapest kernel, then its tiling (tiling.c). */
#include <float.h>
#include <limits.h>
#include <string.h>
#include "tiling.h"

enum {
    ROWS_IN_PLACE =
        512,            /* longer rows of A, read in place, may evict each other from the first-level cache */
    FEW_ROWS = 100,     /* up to so many rows, packing B costs more than reading it where it is */
    FEW_ROWS_FLAT = 60, /* ... with a flat tile, which reads B more often */
    FEW_ROWS_BIG =
        20, /* ... or with a tall one on cores whose second-level cache is big and far: the first tile packs */
    NEAR_SHARE = 4,      /* of which B takes a quarter at most, or is packed */
    LONG_COLUMNS = 2048, /* rows of B that share so few cache sets that they are best read once, and packed */
    ONE_TILE_ROWS = 7,
    MOST_TILES = 32,
};

/* Copying an element into a panel: it comes from and goes to memory beyond the first-level cache. */
static const double pack_cycles = 0.5;
/* The same where the first tile that reads it makes the copy: what it comes from shows, and little else. */
static const double first_tile_cycles = 0.15;
/* A term of a sum, or an element, in plain loops that LLVM vectorizes: what a kernel must cost less than, if axes
 * of it have no loop here and plain loops are allowed. */
static const double plain_cycles = 0.25;
/* What rows of A in place cost flat tiles beyond ROWS_IN_PLACE, measured where the second-level cache is so large that
 * the first is far from it: as much as packing them when N is about 1024. Elsewhere it is nothing. Taller tiles read
 * them slowly enough, and a large packed A makes the time depend on where its pages lie. */
static const double long_rows = 1.02;
/* Where the second-level cache is smaller, what an element of A in place costs a tall tile in each block of columns but
 * the first, from the third-level cache and, of a large A, from beyond it; and, as a factor, rows that share a set of the
 * first-level cache, if they are more than it has ways. Measured. */
static const double near_row_cycles = 0.2, far_row_cycles = 0.6, one_set = 1.035;
enum { FAR_ROWS_BYTES = 8 << 20, ROWS_BLOCK = 512, WAYS = 12 };
/* What rows of B in place cost where many rows of A use them and they do not stay in the second-level cache,
 * or where the tile is so flat that they stream faster than that cache delivers. */
static const double far_columns = 1.25;
/* What waiting for rows of B costs, whose lines in a tile are so many, measured: a tile of 64 columns instead
 * of 32 at 6 rows. */
static const double wait_for_lines = 0.4;

/* An element of an operand on which all axes of the tile depend (a matrix times a vector) is used once, and comes from
 * beyond the first-level cache: what it costs besides the kernel's own cycles. Measured: 0.13 cycles in all from the
 * second level, 0.16 from the third; packing a transposed B instead pays from 8 rows on. */
static const double streamed_cycles = 0.06;
/* Entering a kernel, and storing what is left in its registers. */
static const double call_cycles = 20;

/* One row of a tile has so few sums that an FMA's latency shows: as many rows cost the same, measured. */
enum { ROW_OF_LATENCY = 4 };

/* Of kernels of one tile the first in the table stays unless another saves more than this on edges. */
static const double same_tile_margin = 0.9;

struct plan {
    struct uk_fit fit;
    double cycles;
    bool fills_plainly; /* panels, by plain loops: no kernel fills such */
    bool is_wasted;     /* plain loops take less time */
};

/* Tiles of `most` and a last one that costs as much as its length, rounded up to step. */
static double rounded(double n, double most, double step) {
    if (most <= 0 || step <= 0)
        return n;
    double full = (double)(int64_t)(n / most), rest = n - full * most;

    return full * most + (double)(int64_t)((rest + step - 1) / step) * step;
}

/* An element costs about 2 cycles, and a kernel computes 16 terms a cycle or more: up to a quarter of the time. */
bool uk_is_cheap(const struct uk_schedule *s, const struct uk_stage *st, double copied) {
    double terms = 1;

    for (int i = 0; i < st->statement->iterators; i++)
        terms *= uk_size_told(s, st->statement->extent[i]);
    return copied * UK_CHEAP_REUSE < terms;
}

/* Elements of an operand, and how many of them lie along the axis. */
static double operand_size(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f,
                           int o, int axis, double *along) {
    double elements = 1;

    *along = 1;
    for (int i = 0; i < st->loops; i++)
        if (uk_depends(&st->operand[o], st->loop[i])) {
            elements *= uk_values_told(s, st, st->loop[i]);
            *along = axis >= 0 && st->loop[i] == f->axis[axis] ? uk_values_told(s, st, st->loop[i]) : *along;
        }
    return elements;
}

/* What an operand of a product costs that is read where it is, as a factor. */
static double in_place(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f,
                       int o) {
    double sum, columns, elements;
    int rows = -1, last = -1, of_sum = -1;

    for (int v = 0; v < f->axes; v++) {
        if (uk_is_reduced(st, f->axis[v])) {
            of_sum = v;
        } else {
            rows = last;
            last = v;
        }
    }
    if (rows < 0 || of_sum < 0)
        return 1;
    bool flat = uk_is_flat(s, st, f);
    operand_size(s, st, f, o, of_sum, &sum);
    elements = operand_size(s, st, f, o, last, &columns);
    if (columns == 1)
        return flat && sum > ROWS_IN_PLACE && uk_has_big_l2(s) ? long_rows : 1;
    double bytes = elements * (double)uk_type_bytes(st->operand[o].tensor->type);
    const double told_rows = uk_values_told(s, st, f->axis[rows]);
    const int few_rows = flat ? FEW_ROWS_FLAT : uk_has_big_l2(s) ? FEW_ROWS_BIG : FEW_ROWS;
    bool few = told_rows <= few_rows && columns < LONG_COLUMNS;
    bool near = !flat && bytes <= (double)uk_l2_share(s) / (uk_has_big_l2(s) ? NEAR_SHARE : 1);
    /* One row of tiles waits for B: the more lines of each of its rows come one after the other, the better. */
    double lines = (double)f->most[last] * (double)uk_type_bytes(st->operand[o].tensor->type) / 64;
    bool waits = told_rows <= ONE_TILE_ROWS;
    return (few || near ? 1 : far_columns) * (waits && lines > 0 ? 1 + wait_for_lines / lines : 1);
}

/* What rows of A in place add to the cycles. */
static double rows_in_place(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f,
                            int o, double cycles) {
    double bytes = (double)uk_type_bytes(st->operand[o].tensor->type), columns = 0, along;
    int64_t rows = 0, step = 0, told_sum = 0;

    for (int v = 0; v < f->axes; v++) {
        struct uk_poly c = uk_coefficient(&st->operand[o], f->axis[v]->id);

        if (uk_is_reduced(st, f->axis[v]) && uk_poly_is_int(&c, &step))
            told_sum = uk_told(s, st->statement->extent[f->axis[v]->iterator]);
        else if (uk_depends(&st->operand[o], f->axis[v]))
            rows = f->most[v];
        else
            columns = uk_values_told(s, st, f->axis[v]);
    }
    if (rows <= 1 || columns <= 0 || step != 1 || uk_is_flat(s, st, f) || uk_has_big_l2(s))
        return 0;
    double elements = operand_size(s, st, f, o, -1, &along);
    double each = elements * bytes > FAR_ROWS_BYTES ? far_row_cycles : near_row_cycles;
    bool shares = rows > WAYS && told_sum && told_sum * (int64_t)bytes % UK_PAGE == 0;

    return elements * each * (double)(int64_t)((columns - 1) / ROWS_BLOCK) +
           (shares ? cycles * (one_set - 1) : 0);
}

static bool is_axis(const struct uk_fit *f, const struct uk_loop *l) {
    for (int v = 0; v < f->axes; v++)
        if (f->axis[v] == l)
            return true;
    return false;
}

/* Windows are read where they are: rows of A in panels would be copied once for each place in the window. */
static bool packs_windows(const struct uk_stage *st, const struct uk_fit *f) {
    const struct uk_loop *columns = NULL;

    for (int v = 0; v < f->axes; v++)
        if (!uk_is_reduced(st, f->axis[v]) && f->most[v])
            columns = f->axis[v];
    for (int o = 1; o < st->operands && columns && uk_is_window(st, f); o++)
        if (f->panel[o].width && !uk_depends(&st->operand[o], columns))
            return true;
    return false;
}

/* Does a tile use each element of an operand once? */
static bool streams(const struct uk_stage *st, const struct uk_fit *f) {
    for (int o = 1; o < st->operands && st->statement->reduce != UK_REDUCE_NONE; o++) {
        bool all = true;

        for (int v = 0; v < f->axes; v++)
            all = all && uk_depends(&st->operand[o], f->axis[v]);
        if (all)
            return true;
    }
    return false;
}

/* How often the kernel is called, its sum in one piece. */
static double calls(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f) {
    double n = 1;

    for (int i = 0; i < st->loops; i++)
        n *= is_axis(f, st->loop[i]) ? 1 : uk_values_told(s, st, st->loop[i]);
    for (int v = 0; v < f->axes; v++)
        n *= f->most[v] ? rounded(uk_values_told(s, st, f->axis[v]), (double)f->most[v], (double)f->most[v]) /
                              (double)f->most[v]
                        : 1;
    return n;
}

/* Cycles for the whole statement: tiles by the row's instruction counts, edges rounded up, and the packing, so
 * much for an element. */
static double estimate(struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f,
                       double packing) {
    const struct uk_kernel *row = f->intrinsic->row;
    double work = 1, size = 1, all = 1, along;
    bool window = uk_is_window(st, f);

    if (!row)
        return 0; /* what the user brought goes first */
    for (int v = 0; v < f->axes + f->units; v++) {
        double n = v < f->axes ? uk_values_told(s, st, f->axis[v]) : 1;
        int64_t most = v < f->axes ? f->most[v] : f->unit[v - f->axes];

        if (v >= f->axes && most == row->mr && most >= ROW_OF_LATENCY)
            n = ROW_OF_LATENCY;
        work *= rounded(n, (double)most, most == row->mr ? row->row_step : (double)most);
        size *= most ? (double)most : 1;
    }
    for (int i = 0; i < st->loops; i++)
        all *= uk_values_told(s, st, st->loop[i]);
    for (int i = 0; i < st->loops; i++)
        work *= is_axis(f, st->loop[i]) ? 1 : uk_values_told(s, st, st->loop[i]);
    double cycles = work / size * uk_kernel_cycles(s->target, row);
    if (st->statement->reduce != UK_REDUCE_NONE)
        cycles += calls(s, st, f) * call_cycles;
    if (streams(st, f))
        cycles += all * streamed_cycles;
    for (int o = 1; o < st->operands; o++)
        if (f->any_strides[o])
            cycles += uk_scattered_cycles(s, st, f, o, cycles) +
                      (f->panel[o].width || window ? 0 : rows_in_place(s, st, f, o, cycles));
        else if (f->panel[o].width)
            cycles += operand_size(s, st, f, o, -1, &along) * packing;
        else if (st->statement->reduce != UK_REDUCE_NONE && !window)
            cycles = cycles * in_place(s, st, f, o) + rows_in_place(s, st, f, o, cycles);
    return cycles;
}

/* Of the kernel's tile so little is used that plain loops, where they are allowed, take less time. */
static bool is_wasted(const struct uk_schedule *s, const struct uk_stage *st, const struct plan *p) {
    double terms = 1;

    for (int i = 0; i < st->loops; i++)
        terms *= uk_values_told(s, st, st->loop[i]);
    return p->fit.units && p->fit.intrinsic->row && uk_may_loop(s) && p->cycles > plain_cycles * terms;
}

static void add_fit(struct uk_schedule *s, const struct uk_stage *st, const struct plan *p,
                    struct uk_reasons *reasons) {
    struct uk_text t = {0};

    if (!p->fit.intrinsic->row)
        uk_put(&t, "fits, and is the program's own");
    else
        uk_put(&t, "fits, about %.3g cycles", p->cycles);
    for (int o = 1; o < st->operands && p->fit.intrinsic->row; o++)
        if (p->fit.panel[o].width)
            uk_put(&t, ", with %s packed", st->operand[o].tensor->name);
    if (p->fills_plainly)
        uk_put(&t, " by plain loops");
    uk_reason_add(s, reasons, p->fit.intrinsic->name, t.text, true, p->fills_plainly ? DBL_MAX : p->cycles);
    uk_text_free(t.text);
}

/* Of kernels of one operation and tile, the first in the table stands for all but those that save much on
 * edges. What any machine has stands for no kernel of this one's own. */
static bool stands_in(const struct plan *first, const struct plan *p) {
    const struct uk_kernel *x = first->fit.intrinsic ? first->fit.intrinsic->row : NULL,
                           *y = p->fit.intrinsic->row;

    return x && y && !strcmp(x->op, y->op) && x->mr == y->mr && x->nr == y->nr &&
           first->fills_plainly == p->fills_plainly && !strcmp(x->arch, "any") == !strcmp(y->arch, "any") &&
           p->cycles >= first->cycles * same_tile_margin;
}

static enum uk_status pack_if_cheaper(struct uk_schedule *s, const struct uk_stage *st, struct plan *p) {
    struct plan q = *p;
    bool done;
    enum uk_status status = uk_pack_scattered(s, st, &q.fit, &done);

    if (status || !done)
        return status;
    q.cycles = estimate(s, st, &q.fit, pack_cycles);
    if (q.cycles < p->cycles)
        *p = q;
    return UK_OK;
}

/* Rows of the registry that fill groups do so in panels of any width; the others have a width each. */
static bool fills(const struct uk_kernel *row, const struct uk_panel *p) {
    if (p->group || row->kr > 1)
        return row->kr == p->group;
    return row->mr == p->width || (row->mr == 1 && row->nr == p->width);
}

/* Is there a kernel that fills such panels? */
static enum uk_status fills_panels(struct uk_schedule *s, enum uk_type type, const struct uk_panel *p,
                                   bool *found) {
    struct uk_candidate c = {0};
    enum uk_status status;

    *found = false;
    while (!(status = uk_next_candidate(s, NULL, &c)) && c.intrinsic && !*found) {
        const struct uk_kernel *row = c.intrinsic->row;
        const struct uk_statement *t = c.intrinsic->declaration->statements;

        *found = row && !t->next && t->right->op == UK_E_PAD && t->left.tensor->type == type && fills(row, p);
    }
    return status;
}

/* Kernels read groups out of lines of the sum, or of the panel. */
static bool is_contiguous(const struct uk_operand *o, const struct uk_fit *f) {
    bool any = false;

    for (int v = 0; v < f->axes; v++) {
        struct uk_poly step = uk_coefficient(o, f->axis[v]->id);
        int64_t c;

        any |= uk_poly_is_int(&step, &c) && c == 1;
    }
    return any;
}

/* Panels that no kernel fills are filled by plain loops, where these are allowed. */
static enum uk_status check_panels(struct uk_schedule *s, const struct uk_stage *st, struct plan *plan,
                                   struct uk_text *why) {
    const struct uk_fit *f = &plan->fit;

    plan->fills_plainly = false;
    for (int o = 1; o < st->operands && !plan->fills_plainly; o++) {
        const struct uk_panel *p = &f->panel[o];
        const struct uk_operand *x = &st->operand[o];
        bool found = !p->width;
        enum uk_status status = found ? UK_OK : fills_panels(s, x->tensor->type, p, &found);

        if (status)
            return status;
        if (found && (!p->group || is_contiguous(x, f)))
            continue;
        plan->fills_plainly = uk_may_loop(s);
        if (plan->fills_plainly)
            continue;
        why->length = 0;
        uk_put(why, "no kernel fills panels of %lld elements of %s", (long long)p->width, x->tensor->name);
        if (p->group)
            uk_put(why, " in groups of %lld", (long long)p->group);
        return UK_NO_MATCH;
    }
    return UK_OK;
}

/* A plan by this kernel. UK_NO_MATCH: `why` says why there is none. */
static enum uk_status plan_by(struct uk_schedule *s, struct uk_stage *st, struct uk_intrinsic *i,
                              struct plan *p, struct uk_text *why) {
    bool by_first_tile;
    enum uk_status status = uk_fits(s, st, i, &p->fit, why);

    p->is_wasted = false;
    if (!status)
        s->reached = INT_MAX; /* the declaration is what the stage computes */
    if (!status && p->fit.axes == 0) {
        why->length = 0;
        uk_put(why, "no loop of the stage is an axis of it");
        return UK_NO_MATCH;
    }
    if (status || (status = check_panels(s, st, p, why)))
        return status;
    if (packs_windows(st, &p->fit)) {
        why->length = 0;
        uk_put(why, "the windows of the input would have to be packed");
        return UK_NO_MATCH;
    }
    if ((status = uk_has_packing(s, &p->fit, &by_first_tile)))
        return status;
    p->cycles = estimate(s, st, &p->fit, by_first_tile ? first_tile_cycles : pack_cycles);
    if ((p->is_wasted = is_wasted(s, st, p))) {
        why->length = 0;
        uk_put(why, "fits, but plain loops take less: its tile would be nearly empty");
        return UK_NO_MATCH;
    }
    return pack_if_cheaper(s, st, p);
}

/* A plan that no plain loops fill panels for goes first. */
static bool is_better(const struct plan *p, const struct plan *than) {
    if (p->fills_plainly != than->fills_plainly)
        return than->fills_plainly;
    return p->cycles < than->cycles;
}

/* What the note about the stage says: of the nearest kernel, or of one that is slower than plain loops. */
static void tell_why(struct uk_schedule *s, struct uk_stage *st, struct uk_reasons *r, const char *wasted) {
    uk_reasons_sort(r);
    st->plain_why =
        wasted ? uk_format(s->arena, "they take less time than %s, whose tile would be nearly empty", wasted)
        : r->count ? uk_format(s->arena, "no kernel computes it; nearest is %s: %.400s", r->list[0].kernel,
                               r->list[0].text)
                   : "no kernel computes it";
}

/* With tiles transposed, kernels that do not fit are not listed: they are for the stage as it is. */
static void report(struct uk_schedule *s, const struct uk_stage *st, bool transposed, const struct plan *best,
                   struct uk_reasons *r) {
    if (!s->report || (transposed && !best->fit.intrinsic))
        return;
    uk_reasons_sort(r);
    while (transposed && !r->list[r->count - 1].fits)
        r->count--;
    uk_put(s->report, "stage %s%s: candidates\n", st->name, transposed ? ", its tiles transposed" : "");
    uk_reasons_put(s, r, s->report, false);
    if (best->fit.intrinsic)
        uk_put(s->report, "  taken: %s, the cheapest\n", best->fit.intrinsic->name);
}

static enum uk_status no_kernel(struct uk_schedule *s, const struct uk_stage *st, struct uk_reasons *r) {
    struct uk_text all = {0};

    if (!s->report) /* which says it too */
        uk_reasons_put(s, r, &all, true);
    enum uk_status status = uk_fail(
        s->context, UK_NO_MATCH, st->statement->at,
        "no kernel computes stage %s; do not require kernels, and it runs as plain loops, or write it as the "
        "nearest kernels need it%s",
        st->name, all.text ? all.text : "");
    uk_text_free(all.text);
    return status;
}

static enum uk_status choose(struct uk_schedule *s, struct uk_stage *st, bool transposed, struct plan *best) {
    struct uk_reasons reasons = {0};
    struct uk_candidate c = {.reasons = &reasons};
    struct uk_text why = {0};
    struct plan p, tile[MOST_TILES];
    const char *wasted = NULL;
    int tiles = 0, n;
    enum uk_status status;

    const char *only = s->wanted_stage && !strcmp(s->wanted_stage, st->name) ? s->wanted_kernel : NULL;
    best->fit.intrinsic = NULL;
    while (!(status = uk_next_candidate(s, only, &c)) && c.intrinsic) {
        why.length = 0;
        status = plan_by(s, st, c.intrinsic, &p, &why);
        if (status == UK_NO_MATCH) {
            uk_reason_add(s, &reasons, c.intrinsic->name, why.length ? why.text : NULL, false, 0);
            wasted = !wasted && p.is_wasted ? c.intrinsic->name : wasted;
            continue;
        }
        if (status)
            break;
        add_fit(s, st, &p, &reasons);
        for (n = 0; n < tiles && !stands_in(&tile[n], &p); n++)
            ;
        if (n < tiles)
            continue;
        if (tiles < MOST_TILES)
            tile[tiles++] = p;
        if (!best->fit.intrinsic || is_better(&p, best))
            *best = p;
    }
    uk_text_free(why.text);
    if (status)
        return status;
    report(s, st, transposed, best, &reasons);
    if (best->fit.intrinsic)
        return UK_OK;
    if (!uk_may_loop(s))
        return no_kernel(s, st, &reasons);
    tell_why(s, st, &reasons, wasted);
    return UK_OK;
}

/* The plan with the output's tiles transposed, if there is one. */
static enum uk_status choose_transposed(struct uk_schedule *s, struct uk_stage *st, struct plan *p) {
    struct uk_transposing transposing;
    bool packs = true;
    enum uk_status status = uk_transpose_tiles(s, st, &transposing);

    if (status || !transposing.map)
        return status;
    struct uk_operand kept[UK_MAX_OPERANDS];
    memcpy(kept, st->operand, sizeof kept);
    memcpy(st->operand, transposing.operand, sizeof kept);
    status = choose(s, st, true, p);
    memcpy(st->operand, kept, sizeof kept);
    if (status == UK_NO_MATCH)
        return uk_context_forget(s->context), UK_OK;
    if (status || !p->fit.intrinsic)
        return status;
    p->cycles += transposing.cycles;
    p->fit.transposed = transposing.map;
    if (transposing.weights) {
        status = uk_pack_by_map(s, st, &p->fit, transposing.weights, &packs);
        p->cycles += uk_map_cycles(s, st, transposing.weights);
    }
    if (!packs)
        p->fit.intrinsic = NULL;
    return status;
}

/* Would a kernel compute the stage if all that it reads under pad were in memory? Transposed tiles have loops outside of the
 * images', so that a copy of each image has no place. */
static enum uk_status fits_with_borders(struct uk_schedule *s, struct uk_stage *st, bool *fits,
                                        bool *transposed) {
    enum uk_pad kept[UK_MAX_OPERANDS];
    struct uk_text *report = s->report;
    struct plan p = {0};

    for (int o = 0; o < st->operands; o++) {
        kept[o] = st->operand[o].pad;
        st->operand[o].pad = kept[o] == UK_PAD_VALUE ? UK_PAD_NONE : kept[o];
    }
    s->report = NULL;
    enum uk_status status = choose_transposed(s, st, &p);
    if (!status && !p.fit.intrinsic)
        status = choose(s, st, false, &p);
    s->report = report;
    st->plain_why = NULL;
    for (int o = 0; o < st->operands; o++)
        st->operand[o].pad = kept[o];
    *fits = !status && p.fit.intrinsic;
    *transposed = p.fit.transposed;
    return status == UK_NO_MATCH ? uk_context_forget(s->context), UK_OK : status;
}

/* Transposed tiles read pixels one by one, however far apart they are: only others want a copy of strided windows. */
enum uk_status uk_auto_stage(struct uk_schedule *s, struct uk_stage *st) {
    struct plan p = {0}, transposed = {0};
    bool borders = uk_has_borders(st), whole = false;
    enum uk_status status = UK_OK;

    if (uk_is_empty(st)) /* loops of our own set what is left to 0 */
        return UK_OK;
    if ((borders && (status = fits_with_borders(s, st, &borders, &whole))) ||
        (borders && (status = uk_copy_borders(s, st, whole))))
        return status;
    status = choose_transposed(s, st, &transposed);
    if (!status && !transposed.fit.intrinsic)
        status = uk_part_windows(s, st);
    if (!status)
        status = choose(s, st, false, &p);
    if (transposed.fit.intrinsic && (status == UK_NO_MATCH || (!status && p.fit.intrinsic))) {
        if (s->report)
            uk_put(s->report, "  with its tiles transposed: about %.3g cycles in all\n", transposed.cycles);
        if (status || is_better(&transposed, &p))
            p = transposed;
        if (status)
            uk_context_forget(s->context);
        status = UK_OK;
    }
    return status || !p.fit.intrinsic ? status : uk_schedule_stage(s, st, &p.fit);
}
