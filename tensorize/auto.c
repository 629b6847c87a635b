/*
 * The schedule of a program that has none: the cheapest kernel for each statement, its tiles, blocks and
 * packs.
 *
 * For a product of two packed operands the blocking is Goto's with the block of B, not of A, in the
 * second-level cache: for kc, for nc: pack kc x nc of B; for panels of A: tiles. Long kc, so that C is stored
 * once and rarely read again.
 */
#include <string.h>
#include "schedule.h"

enum {
    LONG_K = 1024,       /* C is read again only beyond; panels of A of this length still stream from the
                            second-level cache */
    ROWS_IN_PLACE = 448, /* longer rows of A, read in place, evict each other from the first-level cache */
    GUESS = 1024,        /* for sizes that nobody told */
};

/* Copying an element into a panel: it comes from and goes to memory beyond the first-level cache. */
static const double pack_cycles = 0.5;

struct plan {
    struct uk_fit fit;
    double cycles;
};

static double told(const struct uk_index *e, double guess) {
    int64_t c;

    if (uk_index_is_int(e, &c))
        return (double)c;
    return e->op == UK_I_VAR && e->var->has_default ? (double)e->var->default_value : guess;
}

/* Tiles of `most` and a last one that costs as much as its length, rounded up to step. */
static double rounded(double n, double most, double step) {
    if (most <= 0 || step <= 0)
        return n;
    double full = (double)(int64_t)(n / most), rest = n - full * most;

    return full * most + (double)(int64_t)((rest + step - 1) / step) * step;
}

static double extent_told(const struct uk_stage *st, const struct uk_loop *l) {
    return told(st->statement->extent[l->iterator], GUESS);
}

/* Cycles for the whole statement: tiles by the row's instruction counts, edges rounded up, and the packing.
 */
static double estimate(struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f) {
    const struct uk_kernel *row = f->intrinsic->row;
    double work = 1, size = 1;

    if (!row)
        return 0; /* what the user brought goes first */
    for (int v = 0; v < f->axes; v++) {
        double n = extent_told(st, f->axis[v]),
               step = f->most[v] == row->mr ? row->row_step : (double)f->most[v];

        work *= rounded(n, (double)f->most[v], step);
        size *= f->most[v] ? (double)f->most[v] : 1;
    }
    double cycles = work / size * uk_kernel_cycles(s->target, row);
    for (int o = 1; o < st->operands; o++) {
        double elements = 1, row_length = 1;

        for (int v = 0; v < f->axes; v++)
            for (int d = 0; d < st->operand[o].tensor->dims; d++)
                if (st->operand[o].index[d].coefficient[f->axis[v]->id]) {
                    elements *= extent_told(st, f->axis[v]);
                    row_length = st->reduced[f->axis[v]->iterator] ? extent_told(st, f->axis[v]) : row_length;
                }
        if (f->panel[o].width)
            cycles += elements * pack_cycles;
        else if (st->statement->reduce != UK_REDUCE_NONE && row_length > ROWS_IN_PLACE)
            cycles *= 1.25;
    }
    return cycles;
}

static enum uk_status choose(struct uk_schedule *s, struct uk_stage *st, struct plan *best) {
    struct uk_candidate c = {0};
    struct uk_text why = {0}, all = {0};
    struct plan p;
    enum uk_status status;

    best->fit.intrinsic = NULL;
    if (s->report)
        uk_put(s->report, "stage %s: candidates\n", st->name);
    while (!(status = uk_next_candidate(s, NULL, &c)) && c.intrinsic) {
        why.length = 0;
        status = uk_fits(s, st, c.intrinsic, &p.fit, &why);
        if (status && status != UK_NO_MATCH)
            break;
        const char *text = why.text && why.length ? why.text : "no reason";
        if (status) {
            uk_put(&all, "\n  %s: %s", c.intrinsic->name, text);
            if (s->report)
                uk_put(s->report, "  %-34s %s\n", c.intrinsic->name, text);
            continue;
        }
        p.cycles = estimate(s, st, &p.fit);
        if (s->report)
            uk_put(s->report, "  %-34s fits, about %.3g cycles with its packing\n", c.intrinsic->name,
                   p.cycles);
        if (!best->fit.intrinsic || p.cycles < best->cycles)
            *best = p;
    }
    if (status == UK_NO_MATCH)
        status = UK_OK;
    if (!status && !best->fit.intrinsic && !s->options->allow_loops && !s->target->interpreted)
        status = uk_fail(s->context, UK_NO_MATCH, st->statement->at,
                         "no kernel computes stage %s; allow plain loops to run it without%s", st->name,
                         all.text ? all.text : "");
    if (!status && best->fit.intrinsic && s->report)
        uk_put(s->report, "  taken: %s, the cheapest\n", best->fit.intrinsic->name);
    uk_text_free(why.text);
    uk_text_free(all.text);
    return status;
}

/* ---- steps as data, applied as if they had been written ---- */

static const char *fresh(struct uk_schedule *s, const char *iterator, const char *suffix) {
    const char *name = uk_format(s->arena, "%s%s", iterator, suffix);

    for (int n = 1; name; n++) {
        bool taken = uk_stage_find(s, name) != NULL;

        for (const struct uk_stage *st = s->stages; st; st = st->next)
            for (int i = 0; i < st->loops; i++)
                taken |= !strcmp(st->loop[i]->var->name, name);
        for (const struct uk_tensor *t = s->program->tensors; t; t = t->next)
            taken |= !strcmp(t->name, name);
        for (const struct uk_var *v = s->program->sizes; v; v = v->next)
            taken |= !strcmp(v->name, name);
        if (!taken)
            return name;
        name = uk_format(s->arena, "%s%s%d", iterator, suffix, n);
    }
    return NULL;
}

static struct uk_step *step_on(struct uk_schedule *s, enum uk_step_kind kind, struct uk_stage *st,
                               struct uk_loop *const *loops, int n) {
    struct uk_step *step = uk_alloc(s->arena, sizeof *step);

    if (!step || !(step->loop = uk_alloc(s->arena, sizeof *step->loop * (size_t)(n + 1))))
        return NULL;
    step->kind = kind;
    step->at = st->statement->at;
    step->loops = n;
    for (int i = 0; i < n; i++)
        step->loop[i] = (struct uk_loop_name){.stage = st->name, .loop = loops[i]->var->name, .at = step->at};
    return step;
}

static enum uk_status apply_one(struct uk_schedule *s, struct uk_step *step) {
    return step ? uk_apply_steps(s, step) : uk_out_of_memory(s->context);
}

/* l -> outer, inner of `factor`; *l becomes the inner loop. NULL as outer: the loop is that short already. */
static enum uk_status split_by(struct uk_schedule *s, struct uk_stage *st, struct uk_loop **l, int64_t factor,
                               const char *suffix, struct uk_loop **outer) {
    struct uk_step *step;
    int64_t n = uk_constant_extent(st, *l);
    int at = uk_loop_position(st, *l);

    *outer = NULL;
    if (n >= 0 && n <= factor)
        return UK_OK;
    const char *base = st->statement->iterator[(*l)->iterator]->name;
    if (!(step = step_on(s, UK_STEP_SPLIT, st, l, 1)) ||
        !(step->name = uk_alloc(s->arena, 2 * sizeof *step->name)))
        return uk_out_of_memory(s->context);
    step->number[0] = factor;
    step->names = 2;
    step->name[0] = fresh(s, base, suffix);
    step->name[1] = fresh(s, base, !strcmp(suffix, "c") ? "b" : "i");
    if (!step->name[0] || !step->name[1])
        return uk_out_of_memory(s->context);
    enum uk_status status = uk_apply_steps(s, step);
    *outer = st->loop[at];
    *l = st->loop[at + 1];
    return status;
}

/* Inside which loop the operand is packed: the innermost outer loop that its panel's blocks depend on. */
static enum uk_status pack_operand(struct uk_schedule *s, struct uk_stage *st, const struct uk_fit *f, int o,
                                   struct uk_loop *const *blocks, int n) {
    const struct uk_operand *operand = &st->operand[o];
    struct uk_loop *place = NULL;

    for (int i = 0; i < n; i++)
        for (int d = 0; d < operand->tensor->dims; d++)
            if (operand->index[d].coefficient[blocks[i]->id])
                place = blocks[i];
    struct uk_step *step = step_on(s, UK_STEP_PACK, st, &place, place ? 1 : 0);
    if (!step)
        return uk_out_of_memory(s->context);
    if (!place)
        step->loop[0] = (struct uk_loop_name){.loop = "root", .at = step->at};
    step->loops = 1;
    step->subject = operand->tensor->name;
    step->has_panel = step->has_along = true;
    step->number[0] = f->panel[o].width;
    step->along = f->panel[o].along;
    return apply_one(s, step);
}

/* Columns of a block of B: half of the second-level cache for kc x nc, in whole tiles. Fewer than 7 tiles of
 * 32 would make the panels of A too visible, so at least that many elements. */
static int64_t block_columns(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f,
                             int64_t kc, int64_t tile) {
    int64_t bytes = (int64_t)uk_type_bytes(st->operand[0].tensor->type);
    int64_t n = s->target->machine.l2_bytes / 2 / (kc * bytes);

    (void)f;
    n = n < 224 ? 224 : n;
    return (n + tile - 1) / tile * tile;
}

static enum uk_status schedule_stage(struct uk_schedule *s, struct uk_stage *st, const struct plan *p) {
    const struct uk_fit *f = &p->fit;
    struct uk_loop *axis[2 * UK_MAX_DIMS], *outer[2 * UK_MAX_DIMS] = {0}, *block[2 * UK_MAX_DIMS] = {0};
    struct uk_loop *order[UK_MAX_LOOPS], *blocks[UK_MAX_LOOPS];
    int n = 0, packs = 0, last = -1, lead;
    int64_t kc = 1;
    enum uk_status status;

    memcpy(axis, f->axis, sizeof axis);
    for (int o = 1; o < st->operands; o++)
        packs += f->panel[o].width > 0;
    for (int v = 0; v < f->axes; v++)
        if (!st->reduced[axis[v]->iterator] && f->most[v])
            last = v;                     /* the axis along the rows of C */
    for (int i = 0; i < st->loops; i++) { /* loops that the kernel has no axis for */
        bool used = false;

        for (int v = 0; v < f->axes; v++)
            used |= axis[v] == st->loop[i];
        if (!used)
            order[n++] = st->loop[i];
    }
    lead = n;
    for (int v = 0; v < f->axes; v++)
        if (st->reduced[axis[v]->iterator] && !f->most[v] && packs) {
            if ((status = split_by(s, st, &axis[v], LONG_K, "c", &block[v])))
                return status;
            int64_t all = uk_constant_extent(st, axis[v]);
            kc = all >= 0 && all < LONG_K ? all : LONG_K;
            if (block[v])
                order[n++] = block[v];
        }
    if (packs && last >= 0) {
        int64_t nc = block_columns(s, st, f, kc ? kc : 1, f->most[last]);

        if ((status = split_by(s, st, &axis[last], nc, "c", &block[last])))
            return status;
        if (block[last])
            order[n++] = block[last];
    }
    memcpy(blocks, order, sizeof blocks);
    int all_blocks = n;
    for (int v = 0; v < f->axes; v++)
        if (f->most[v]) {
            if ((status = split_by(s, st, &axis[v], f->most[v], "o", &outer[v])))
                return status;
            if (outer[v])
                order[n++] = outer[v];
        }
    int first_tile = n;
    for (int v = 0; v < f->axes; v++)
        order[n++] = axis[v];
    if (n > 1 && (status = apply_one(s, step_on(s, UK_STEP_REORDER, st, order, n))))
        return status;
    for (int o = st->operands - 1; o >= 1; o--)
        if (f->panel[o].width && (status = pack_operand(s, st, f, o, blocks, all_blocks)))
            return status;
    /* whole rows of tiles in parallel; with a single row of them, its tiles */
    if (s->options->threads > 1 && first_tile > lead) {
        struct uk_loop *l = first_tile > all_blocks ? order[all_blocks] : order[lead];

        if (!st->reduced[l->iterator] && (status = apply_one(s, step_on(s, UK_STEP_PARALLEL, st, &l, 1))))
            return status;
    }
    struct uk_step *step = step_on(s, UK_STEP_TENSORIZE, st, &order[first_tile], 1);
    if (!step)
        return uk_out_of_memory(s->context);
    step->subject = f->intrinsic->name;
    return apply_one(s, step);
}

enum uk_status uk_auto_schedule(struct uk_schedule *s) {
    for (struct uk_stage *st = s->stages; st; st = st->next) {
        struct plan p = {0};
        enum uk_status status;

        if (st->parent || st->match)
            continue;
        if ((status = choose(s, st, &p)) || (p.fit.intrinsic && (status = schedule_stage(s, st, &p))))
            return status;
    }
    return UK_OK;
}
