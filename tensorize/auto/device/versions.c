/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Versions of a product on a GPU whose rows, columns or terms are sizes: up to four tiles, between which
 * conditions on these sizes choose at entry. Each tile has a number of terms for the parts of the sum, so
 * that the number of parts is an expression of the sizes.
 *
 * The cycles of all tiles are estimated for a sample of sizes. The list of conditions whose tiles lose the
 * least to the best tile of each sample is taken (auto/versions.c). A condition is M + N <= c, perhaps with K
 * >= d or K <= d.
 */
#include <float.h>
#include "product.h"
#include "auto/auto.h"
#include "auto/versions.h"

enum { ROWS, COLUMNS, SUM, AXES };

/* Values of a size without a default: UNIT times one of these, plus 1, because edges of tiles are the rule.
 */
static const int samples[] = {3, 5, 9, 15, 25, 40, 60};
/* Upper limits of M + N, or of M or N alone, in UNITs; limits of K. */
static const int extents[] = {4, 6, 8, 12, 16, 20, 24, 28, 32, 40, 48, 56, 64};
static const int terms[] = {4, 6, 8, 12, 16, 24, 32, 48};
/* Terms of a part of the sum, in halves of a UNIT; 0: one part. */
static const int part_terms[] = {0, 1, 2, 4, 8, 16, 32};

enum {
    UNIT = 32,
    SAMPLES = sizeof samples / sizeof *samples,
    EXTENTS = sizeof extents / sizeof *extents,
    TERMS = sizeof terms / sizeof *terms,
    PARTS = sizeof part_terms / sizeof *part_terms,
    MAX_POINTS = SAMPLES * SAMPLES * SAMPLES,
    MAX_CONDITIONS = (EXTENTS + 1) * (2 * TERMS + 1),
    MAX_TILES = UK_MAX_CHOICES,
    /* blocks that an estimate adds up one by one */
    BLOCKS = 16 * UNIT,
    /* minimum steps of the sum in a part */
    MIN_STEPS = 1,
};

/* extent, sum: places in `extents` and `terms`, -1: no limit. */
struct condition {
    int extent, sum;
    bool is_least; /* K >= the limit, not K <= */
};

struct search {
    struct uk_product p;
    /* the axes' sizes; NULL: a constant */
    struct uk_var *size[AXES];
    int points, tiles, conditions;
    int64_t value[MAX_POINTS][AXES];
    struct uk_tile tile[MAX_TILES];
    double loss[MAX_POINTS][MAX_TILES];
    struct condition condition[MAX_CONDITIONS];
    bool holds[MAX_CONDITIONS * MAX_POINTS]; /* by condition and point */
};

/* ---- the product ---- */

/* Finds the sizes. False: there are no such sizes; or the value of another extent is not known. */
static bool find_sizes(struct search *w) {
    const struct uk_stage *st = w->p.st;
    const struct uk_loop *const axis[] = {w->p.rows, w->p.columns, w->p.sum};
    bool any = false;

    for (int i = 0; i < st->loops; i++) {
        const struct uk_index *extent = st->statement->extent[st->loop[i]->iterator];
        int of = 0;

        while (of < AXES && axis[of] != st->loop[i])
            of++;
        if (uk_constant_extent(st, st->loop[i]) >= 0)
            continue;
        if (of == AXES || extent->op != UK_I_VAR)
            return false;
        w->size[of] = extent->var;
        any = true;
    }
    return any;
}

/* Finds the first stage that is a product of matrices with such sizes. */
static bool find_product(struct search *w, struct uk_schedule *s) {
    for (struct uk_stage *st = s->stages; st; st = st->next) {
        bool is_matrix = true;

        w->p = (struct uk_product){.s = s, .st = st};
        if (st->parent || !uk_device_find_product(&w->p) || !find_sizes(w))
            continue;
        for (int o = 1; o < st->operands; o++)
            is_matrix &= !uk_device_is_window(st, o);
        if (is_matrix && st->statement->left_iterators < UK_MAX_DIMS && !st->statement->where)
            return true;
    }
    return false;
}

/* ---- estimates ---- */

/* True if another kernel has the same tile, of a thread or of a wave, with fewer instructions. */
static bool is_slower(const struct search *w, int kernel, const struct uk_tile *t) {
    struct uk_tile other;

    for (int i = 0; i < uk_kernel_count(); i++)
        if (uk_device_kernel_tile(&w->p, i, &other) && !t->wave == !other.wave && other.rows == t->rows &&
            other.columns == t->columns &&
            (other.instructions < t->instructions || (other.instructions == t->instructions && i < kernel)))
            return true;
    return false;
}

/* True if the sum can have parts of t->part_terms terms: whole steps of the tile, and enough of them. */
static bool fits_parts(const struct search *w, const struct uk_tile *t) {
    return t->part_terms % t->terms == 0 && t->part_terms >= MIN_STEPS * t->terms &&
           (w->size[SUM] || t->part_terms < uk_constant_extent(w->p.st, w->p.sum));
}

/* Lists the kernels' tiles with every number of threads, of terms in a step and of terms in a part. */
static void list_tiles(struct search *w) {
    struct uk_tile t;

    for (int i = 0; i < uk_kernel_count(); i++) {
        if (!uk_device_kernel_tile(&w->p, i, &t) || is_slower(w, i, &t))
            continue;
        const struct uk_tile_range r = uk_device_tile_range(&t);

        for (int threads = r.min_threads; threads <= r.max_threads; threads *= 2)
            for (t.terms = r.min_terms; t.terms <= r.max_terms; t.terms *= 2)
                for (int k = 0; k < PARTS; k++) {
                    t.row_threads = t.column_threads = threads;
                    t.part_terms = UNIT / 2 * part_terms[k];
                    if (w->tiles < MAX_TILES && (!k || fits_parts(w, &t)))
                        w->tile[w->tiles++] = t;
                }
    }
}

/* Sets the tiles' losses at a point: of the best one 0, and more from 5/4 of its cycles on. False: no memory.
 */
static bool estimate_point(struct search *w, int point) {
    double *loss = w->loss[point], best = DBL_MAX;

    for (int i = 0; i < w->tiles; i++) {
        loss[i] = uk_device_tile_cycles(&w->p, &w->tile[i], BLOCKS);
        best = loss[i] < best ? loss[i] : best;
    }
    for (int i = 0; i < w->tiles; i++) {
        const double lost = 1 - best / loss[i];

        loss[i] = lost * lost + (4 * loss[i] > 5 * best ? lost : 0);
    }
    return best >= 0;
}

/* Estimates all tiles at all points. The sizes are defined meanwhile. */
static bool estimate_all(struct search *w) {
    int n[AXES];
    bool has_memory = true;

    for (int i = 0; i < AXES; i++)
        n[i] = w->size[i] && !w->size[i]->has_default ? SAMPLES : 1;
    for (int point = 0; point < n[0] * n[1] * n[2] && has_memory; point++) {
        const int at[] = {point % n[0], point / n[0] % n[1], point / n[0] / n[1]};

        /* Of three sizes every pair of values is in a point with some of the third one's. */
        if (n[0] > 1 && n[1] > 1 && n[2] > 1 && (at[0] + at[1] + at[2]) % 3)
            continue;
        for (int i = 0; i < AXES; i++)
            if (w->size[i]) {
                w->size[i]->defined = true;
                w->size[i]->value =
                    w->size[i]->has_default ? w->size[i]->default_value : UNIT * samples[at[i]] + 1;
            }
        for (int i = 0; i < AXES; i++)
            w->value[w->points][i] = w->size[i] ? w->size[i]->value : 0;
        uk_device_find_product(&w->p);
        has_memory = estimate_point(w, w->points++);
    }
    for (int i = 0; i < AXES; i++)
        if (w->size[i])
            w->size[i]->defined = false;
    return has_memory;
}

/* Leaves out tiles that lose an eighth or more at all points. */
static void drop_slow_tiles(struct search *w) {
    int kept = 0;

    for (int i = 0; i < w->tiles; i++) {
        int point = 0;

        while (point < w->points && UNIT * 2 * w->loss[point][i] > 1)
            point++;
        if (point == w->points)
            continue;
        for (point = 0; point < w->points; point++)
            w->loss[point][kept] = w->loss[point][i];
        w->tile[kept++] = w->tile[i];
    }
    w->tiles = kept;
}

/* ---- the search ---- */

static void list_conditions(struct search *w) {
    const bool has_extent = w->size[ROWS] || w->size[COLUMNS];

    for (int e = -1; e < (has_extent ? EXTENTS : 0); e++)
        for (int k = -1; k < (w->size[SUM] ? TERMS : 0); k++)
            for (int is_least = 0; is_least < (k < 0 ? 1 : 2); is_least++)
                if (e >= 0 || k >= 0)
                    w->condition[w->conditions++] = (struct condition){e, k, is_least};
}

static bool holds(const struct search *w, const struct condition *c, int point) {
    const int64_t *v = w->value[point];

    return (c->extent < 0 || v[ROWS] + v[COLUMNS] <= UNIT * extents[c->extent]) &&
           (c->sum < 0 || (c->is_least ? v[SUM] >= UNIT * terms[c->sum] : v[SUM] <= UNIT * terms[c->sum]));
}

static struct uk_version_list find_list(struct search *w) {
    for (int i = 0; i < w->conditions; i++)
        for (int point = 0; point < w->points; point++)
            w->holds[i * w->points + point] = holds(w, &w->condition[i], point);
    return uk_choose_versions(
        &(struct uk_version_search){w->points, w->tiles, w->conditions, w->loss[0], w->holds, 0});
}

/* ---- the versions ---- */

/* The relation as an expression; NULL: no memory. */
static struct uk_index *relation_of(const struct search *w, const struct condition *c) {
    struct uk_arena *a = w->p.s->arena;
    struct uk_index *extent = NULL, *sum = NULL;

    for (int i = ROWS; i <= COLUMNS && c->extent >= 0; i++) {
        struct uk_index *one = w->size[i] ? uk_index_var(a, w->size[i]) : NULL;

        extent = extent && one ? uk_index_op(a, UK_I_ADD, extent, one) : one ? one : extent;
    }
    if (c->extent >= 0)
        extent = uk_index_op(a, UK_I_LE, extent, uk_index_int(a, UNIT * extents[c->extent]));
    if (c->sum >= 0)
        sum = uk_index_op(a, c->is_least ? UK_I_GE : UK_I_LE, uk_index_var(a, w->size[SUM]),
                          uk_index_int(a, UNIT * terms[c->sum]));
    return extent && sum ? uk_index_op(a, UK_I_AND, extent, sum) : extent ? extent : sum;
}

static enum uk_status make_versions(const struct search *w, const struct uk_version_list *l,
                                    struct uk_version **out) {
    struct uk_context *context = w->p.s->context;

    for (int i = 0; i <= l->count; i++, out = &(*out)->next) {
        struct uk_version *v = *out = uk_alloc(w->p.s->arena, sizeof *v);
        struct uk_wanted_tile *tile = uk_alloc(w->p.s->arena, sizeof *tile);
        struct uk_index *relation = i < l->count ? relation_of(w, &w->condition[l->condition[i]]) : NULL;

        if (!v || !tile || (i < l->count && !relation))
            return uk_out_of_memory(context);
        *tile = (struct uk_wanted_tile){.stage = w->p.st->name, .tile = w->tile[l->choice[i]]};
        *v = (struct uk_version){.condition = relation, .wanted_tile = tile};
    }
    return UK_OK;
}

enum uk_status uk_auto_device_versions(struct uk_program *p, const struct uk_target *t,
                                       const struct uk_options *o, struct uk_version **out) {
    struct uk_schedule *s = uk_alloc(&p->arena, sizeof *s);
    struct search *w = calloc(1, sizeof *w);
    enum uk_status status = s && w ? UK_OK : uk_out_of_memory(p->context);

    *out = NULL;
    if (!status) {
        *s = (struct uk_schedule){
            .program = p, .context = p->context, .arena = &p->arena, .target = t, .options = o};
        s->applied_end = &s->applied;
        s->is_automatic = true;
        status = uk_stages_create(s);
    }
    if (!status && find_product(w, s))
        list_tiles(w);
    if (!status && w->tiles) {
        list_conditions(w);
        if (estimate_all(w)) {
            drop_slow_tiles(w);
            const struct uk_version_list l = find_list(w);

            status = make_versions(w, &l, out);
        } else {
            status = uk_out_of_memory(p->context);
        }
    }
    free(w);
    return status;
}
