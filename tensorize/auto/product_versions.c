/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Versions of a product on a CPU whose rows, columns or terms are sizes: up to four schedules, between which
 * conditions on these sizes choose at entry.
 *
 * The automatic schedule is made for some typical sizes (struct choice). The cycles of each are estimated at
 * a sample of sizes, and the list of conditions is taken whose schedules lose the least (versions.c). A
 * condition limits one of the sizes, or the sum of some; sums take the place of products of sizes, which are
 * not affine: what fits into a cache.
 */
#include <float.h>
#include <stdlib.h>
#include "tiling.h"
#include "stage.h"
#include "versions.h"

enum { ROWS, COLUMNS, SUM, AXES };

/* Sample values of a size without a default, 64 [0] + [1]: small ones with whole and partial vectors, large
 * ones with partial tiles, which are the rule. */
static const signed char samples[][2] = {{0, 6}, {0, 16}, {0, 24},  {0, 48},
                                         {2, 1}, {6, 1},  {15, 41}, {40, 41}};
/* The sizes for which schedules are made, by indices of samples: all of a kind; one small; two small. */
static const signed char typical[][AXES] = {{1, 1, 1}, {3, 3, 3}, {4, 4, 4}, {5, 5, 5}, {6, 6, 6}, {7, 7, 7},
                                            {0, 6, 6}, {1, 6, 6}, {6, 1, 6}, {6, 6, 1}, {7, 3, 3}};

enum {
    SAMPLES = sizeof samples / sizeof *samples,
    LIMITS =
        17, /* upper limits of sizes and of their sums: LEAST_LIMIT, then 3/2, 2, 3, 4, 6, .. times as much */
    LEAST_LIMIT = 16,
    CHOICES = sizeof typical / sizeof *typical,
    MAX_POINTS = SAMPLES * SAMPLES * SAMPLES,
    SUBSETS = (1 << AXES) - 1, /* of the axes, except the empty one */
    MAX_CONDITIONS = SUBSETS * LIMITS,
    /* A version has to lower the mean loss by 1 / MIN_GAIN: it is as much code as another one. */
    MIN_GAIN = 2 * 64,
};

/* A schedule: the sizes that it is made for, its kernel and blocks. */
struct choice {
    int64_t size[AXES];
    struct uk_kernel_plan plan;
    struct uk_blocks blocks;
    bool by_first_tile;
};

/* The sum of the axes whose bits are set is at most `limit`. */
struct condition {
    int axes;
    int64_t limit;
};

struct search {
    struct uk_schedule *s;
    struct uk_stage *st;
    struct uk_loop *loop[AXES];
    struct uk_var *size[AXES]; /* NULL: the axis has a constant extent, or a default */
    int points, choices, conditions;
    int64_t value[MAX_POINTS][AXES];
    struct choice choice[CHOICES];
    double loss[MAX_POINTS * UK_MAX_CHOICES];
    struct condition condition[MAX_CONDITIONS];
    bool holds[MAX_CONDITIONS * MAX_POINTS]; /* by condition and point */
};

/* ---- the product ---- */

/* Sets the axis' size; false: its extent is not known and no size. */
static bool find_size(struct search *w, int axis) {
    const struct uk_index *extent = w->st->statement->extent[w->loop[axis]->iterator];

    if (uk_constant_extent(w->st, w->loop[axis]) >= 0)
        return true;
    if (extent->op != UK_I_VAR || extent->var->definition)
        return false;
    w->size[axis] = extent->var->has_default ? NULL : extent->var;
    return true;
}

/* True if the stage is a sum of products of two matrices, one with the rows and the other with the columns
 * of the output; sets the axes' loops and sizes. Other loops, over several products, have constant extents.
 */
static bool is_product(struct search *w, struct uk_stage *st) {
    const struct uk_operand *y = &st->operand[0];
    const int last = y->tensor->dims - 1;

    w->st = st;
    for (int i = 0; i < AXES; i++)
        w->loop[i] = NULL;
    if (st->statement->reduce != UK_REDUCE_SUM || st->operands != 3 || last < 1 || st->statement->where ||
        y->index[last].general || y->index[last - 1].general)
        return false;
    for (int i = 0; i < st->loops; i++) {
        struct uk_loop *l = st->loop[i];
        const bool in_a = uk_depends(&st->operand[1], l), in_b = uk_depends(&st->operand[2], l);
        const int axis = uk_is_reduced(st, l) && in_a && in_b         ? SUM
                         : in_a == in_b                               ? AXES
                         : y->index[last].coefficient[l->id] == 1     ? COLUMNS
                         : y->index[last - 1].coefficient[l->id] == 1 ? ROWS
                                                                      : AXES;

        if (axis == AXES ? uk_constant_extent(st, l) < 0 : w->loop[axis] != NULL)
            return false;
        if (axis < AXES)
            w->loop[axis] = l;
    }
    for (int i = 0; i < AXES; i++)
        if (!w->loop[i] || !find_size(w, i))
            return false;
    return uk_depends(&st->operand[1], w->loop[ROWS]) != uk_depends(&st->operand[1], w->loop[COLUMNS]) &&
           (w->size[ROWS] || w->size[COLUMNS] || w->size[SUM]);
}

/* Finds the product; false: the program has none, or several stages with sums. */
static bool find_product(struct search *w) {
    int sums = 0;
    bool found = false;

    for (struct uk_stage *st = w->s->stages; st; st = st->next)
        sums += st->statement->reduce != UK_REDUCE_NONE;
    for (struct uk_stage *st = w->s->stages; st && !found && sums == 1; st = st->next)
        found = is_product(w, st);
    return found;
}

/* Makes estimates assume these sizes; NULL: none. */
static void assume_sizes(const struct search *w, const int64_t *value) {
    for (int i = 0; i < AXES; i++)
        if (w->size[i]) {
            w->size[i]->has_default = value;
            w->size[i]->default_value = value ? value[i] : 0;
        }
}

/* ---- estimates ---- */

static bool is_same_schedule(const struct choice *x, const struct choice *y) {
    const struct uk_blocks *a = &x->blocks, *b = &y->blocks;

    for (int v = 0; v < x->plan.fit.axes; v++)
        if (x->plan.fit.max_extent[v] != y->plan.fit.max_extent[v])
            return false;
    return x->plan.fit.intrinsic == y->plan.fit.intrinsic && a->kc == b->kc && a->nc == b->nc &&
           a->mc == b->mc && a->is_column_loop_outer == b->is_column_loop_outer &&
           a->are_rows_outermost == b->are_rows_outermost &&
           a->packs_each_column_panel == b->packs_each_column_panel &&
           a->packs_each_row_panel == b->packs_each_row_panel;
}

/* Adds the schedule for the sizes, if it is new and has tiles of rows, columns and terms. Kernels of the
 * program's own, plain loops, and transposed tiles are left to the schedule for all sizes. */
static enum uk_status add_choice(struct search *w, const int64_t *size) {
    struct choice *c = &w->choice[w->choices];
    struct uk_costing costing;

    assume_sizes(w, size);
    enum uk_status status = uk_best_plan(w->s, w->st, &c->plan);
    const struct uk_fit *f = &c->plan.fit;

    if (status || !f->intrinsic || !f->intrinsic->row || f->transposed || f->axes != AXES ||
        uk_is_window(w->st, f))
        return status;
    if ((status = uk_has_packing(w->s, f, &c->by_first_tile)))
        return status;
    uk_costing_begin(&costing, w->s, w->st, f, c->by_first_tile);
    uk_find_blocks(&costing, &c->blocks);
    for (int i = 0; i < AXES; i++)
        c->size[i] = size[i];
    for (int i = 0; i < w->choices; i++)
        if (is_same_schedule(&w->choice[i], c))
            return UK_OK;
    w->choices++;
    return UK_OK;
}

static int64_t sample(const struct search *w, int axis, int i) {
    return w->size[axis] ? 64 * samples[i][0] + samples[i][1]
                         : (int64_t)uk_values_estimate(w->s, w->st, w->loop[axis]);
}

static enum uk_status list_choices(struct search *w) {
    enum uk_status status = UK_OK;

    for (int i = 0; i < CHOICES && !status; i++) {
        int64_t size[AXES];

        for (int axis = 0; axis < AXES; axis++)
            size[axis] = sample(w, axis, typical[i][axis]);
        status = add_choice(w, size);
    }
    return status;
}

/* Sets the schedules' losses at the point: of the best one 0, and more from 5/4 of its cycles on. */
static void estimate_point(struct search *w, int point) {
    double *loss = &w->loss[point * UK_MAX_CHOICES], best = DBL_MAX;

    assume_sizes(w, w->value[point]);
    for (int i = 0; i < w->choices; i++) {
        const struct choice *c = &w->choice[i];
        struct uk_costing costing;

        uk_costing_begin(&costing, w->s, w->st, &c->plan.fit, c->by_first_tile);
        loss[i] = uk_cycles_of_blocks(&costing, &c->blocks);
        best = loss[i] < best ? loss[i] : best;
    }
    for (int i = 0; i < w->choices; i++) {
        const double lost = 1 - best / loss[i];

        loss[i] = lost * lost + (4 * loss[i] > 5 * best ? lost : 0);
    }
}

static void estimate_all(struct search *w) {
    int n[AXES];

    for (int i = 0; i < AXES; i++)
        n[i] = w->size[i] ? SAMPLES : 1;
    for (int point = 0; point < n[0] * n[1] * n[2]; point++) {
        const int at[] = {point % n[0], point / n[0] % n[1], point / n[0] / n[1]};

        for (int i = 0; i < AXES; i++)
            w->value[w->points][i] = sample(w, i, at[i]);
        estimate_point(w, w->points++);
    }
    assume_sizes(w, NULL);
}

/* ---- the versions ---- */

static int64_t limit_at(int i) {
    return (int64_t)(i % 2 ? LEAST_LIMIT / 2 * 3 : LEAST_LIMIT) << i / 2;
}

static void list_conditions(struct search *w) {
    int open = 0;

    for (int i = 0; i < AXES; i++)
        open |= w->size[i] ? 1 << i : 0;
    for (int axes = 1; axes <= SUBSETS; axes++)
        for (int i = 0; i < LIMITS && !(axes & ~open); i++) {
            for (int point = 0; point < w->points; point++) {
                int64_t sum = 0;

                for (int axis = 0; axis < AXES; axis++)
                    sum += axes >> axis & 1 ? w->value[point][axis] : 0;
                w->holds[w->conditions * w->points + point] = sum <= limit_at(i);
            }
            w->condition[w->conditions++] = (struct condition){axes, limit_at(i)};
        }
}

/* The relation as an expression; NULL: no memory. */
static struct uk_index *relation_of(const struct search *w, const struct condition *c) {
    struct uk_arena *a = w->s->arena;
    struct uk_index *sum = NULL;

    for (int i = 0; i < AXES; i++)
        if (c->axes >> i & 1) {
            struct uk_index *one = uk_index_var(a, w->size[i]);

            sum = sum && one ? uk_index_op(a, UK_I_ADD, sum, one) : one;
        }
    return sum ? uk_index_op(a, UK_I_LE, sum, uk_index_int(a, c->limit)) : NULL;
}

static enum uk_status make_versions(const struct search *w, const struct uk_version_list *l,
                                    struct uk_version **out) {
    for (int i = 0; i <= l->count; i++, out = &(*out)->next) {
        struct uk_version *v = *out = uk_alloc(w->s->arena, sizeof *v);
        int64_t *size = uk_alloc(w->s->arena, ((size_t)w->s->program->size_count + 1) * sizeof *size);
        struct uk_index *relation = i < l->count ? relation_of(w, &w->condition[l->condition[i]]) : NULL;

        if (!v || !size || (i < l->count && !relation))
            return uk_out_of_memory(w->s->context);
        for (int axis = 0; axis < AXES; axis++)
            if (w->size[axis])
                size[w->size[axis]->number] = w->choice[l->choice[i]].size[axis];
        *v = (struct uk_version){.condition = relation, .estimate = size};
    }
    return UK_OK;
}

static bool has_constants(const struct uk_program *p) {
    const struct uk_tensor *x = p->tensors;

    while (x && !x->is_constant)
        x = x->next;
    return x;
}

static enum uk_status find_versions(struct search *w, struct uk_version **out) {
    enum uk_status status = list_choices(w);

    assume_sizes(w, NULL);
    if (status || w->choices < 2)
        return status;
    estimate_all(w);
    list_conditions(w);
    const struct uk_version_list l = uk_choose_versions(&(struct uk_version_search){
        w->points, w->choices, w->conditions, w->loss, w->holds, (double)w->points / MIN_GAIN});

    return l.count ? make_versions(w, &l, out) : UK_OK;
}

enum uk_status uk_auto_product_versions(struct uk_program *p, const struct uk_target *t,
                                        const struct uk_options *o, struct uk_version **out) {
    static const int64_t none;
    static const struct uk_version any = {.estimate = &none};

    *out = NULL;
    if (t->vectors.bytes < 16 || has_constants(p))
        return UK_OK;
    struct uk_schedule *s = uk_alloc(&p->arena, sizeof *s);
    struct search *w = calloc(1, sizeof *w);
    enum uk_status status = s && w ? UK_OK : uk_out_of_memory(p->context);

    if (!status) {
        *s = (struct uk_schedule){.program = p,
                                  .context = p->context,
                                  .arena = &p->arena,
                                  .target = t,
                                  .options = o,
                                  .version = &any};
        s->applied_end = &s->applied;
        s->is_automatic = true;
        w->s = s;
        status = uk_stages_create(s);
    }
    if (!status && find_product(w))
        status = find_versions(w, out);
    free(w);
    return status;
}
