/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Panels for operands that a kernel could read in place:
 *
 * - with any strides, such as the weights of a convolution in NCHW. In place, each element of a tile is in
 *   another cache line; in panels of the tile's rows they are adjacent;
 * - rows that share sets of L1, which evict each other for each panel of columns again. In panels of a few
 *   terms of all rows they are adjacent.
 */
#include "copies.h"
#include "steps.h"
#include "costing.h"

/* Terms of the sum per pass of a copy, over all positions of the window; their cache lines stay in the
 * first-level cache. */
enum { NEAR_TERMS = 32 };

static int rows_of(const struct uk_stage *st, const struct uk_fit *f, int o) {
    for (int v = 0; v < f->axes; v++)
        if (!uk_is_reduced(st, f->axis[v]) && f->max_extent[v] && uk_depends(&st->operand[o], f->axis[v]))
            return v;
    return -1;
}

/* The kernel's innermost axis of the sum, along which it reads a panel line by line. */
static int sum_of(const struct uk_stage *st, const struct uk_fit *f, int o) {
    for (int v = f->axes - 1; v >= 0; v--)
        if (uk_is_reduced(st, f->axis[v]) && uk_depends(&st->operand[o], f->axis[v]))
            return v;
    return -1;
}

static bool is_step_of_one(const struct uk_operand *o, const struct uk_loop *l) {
    struct uk_poly p = uk_coefficient(o, l->id);
    int64_t c;

    return uk_poly_is_int(&p, &c) && c == 1;
}

/* True if no axis of the operand is contiguous. */
static bool is_scattered(const struct uk_stage *st, const struct uk_fit *f, int o) {
    int rows = rows_of(st, f, o), sum = sum_of(st, f, o);

    return f->any_strides[o] && rows >= 0 && sum >= 0 && !is_step_of_one(&st->operand[o], f->axis[rows]) &&
           !is_step_of_one(&st->operand[o], f->axis[sum]);
}

static double elements(const struct uk_schedule *s, const struct uk_stage *st, int o) {
    double n = 1;

    for (int i = 0; i < st->loops; i++)
        if (uk_depends(&st->operand[o], st->loop[i]))
            n *= uk_values_estimate(s, st, st->loop[i]);
    return n;
}

double uk_map_cycles(const struct uk_schedule *s, const struct uk_stage *st, int o) {
    return st->operand[o].tensor->is_constant ? 0 : elements(s, st, o) * uk_element_cycles(s);
}

/* Maps (o, c, r, s) -> [o / width, r, s, c, o % width]: panels of rows outermost, the kernel's sum next to
 * the panel's lines. */
static struct uk_map *panel_map(struct uk_schedule *s, const struct uk_operand *o, int rows, int sum,
                                int64_t width) {
    struct uk_map *m = uk_alloc(s->arena, sizeof *m);
    struct uk_var *v = uk_alloc(s->arena, sizeof *v * UK_MAX_DIMS);
    struct uk_index *w = uk_index_int(s->arena, width);
    int dims = o->tensor->stored_dims;

    if (!m || !v || !w)
        return NULL;
    m->from_count = dims;
    for (int d = 0; d < dims; d++) {
        v[d] = (struct uk_var){.name = uk_format(s->arena, "d%d", d), .kind = UK_VAR_ITERATOR, .number = d};
        m->from[d] = &v[d];
    }
    m->to[m->to_count++] = uk_index_op(s->arena, UK_I_DIV, uk_index_var(s->arena, &v[rows]), w);
    for (int d = 0; d < dims; d++)
        if (d != rows && d != sum)
            m->to[m->to_count++] = uk_index_var(s->arena, &v[d]);
    m->to[m->to_count++] = uk_index_var(s->arena, &v[sum]);
    m->to[m->to_count++] = uk_index_op(s->arena, UK_I_MOD, uk_index_var(s->arena, &v[rows]), w);
    for (int d = 0; d < m->to_count; d++)
        if (!m->to[d] || (d < dims && !v[d].name))
            return NULL;
    return m;
}

/* The dimension that is indexed by this loop alone; -1: there is none. */
static int dimension_of(const struct uk_stage *st, const struct uk_operand *o, const struct uk_loop *l) {
    int found = -1;

    for (int d = 0; d < o->tensor->stored_dims; d++) {
        int loops = 0;

        if (!o->index[d].coefficient[l->id])
            continue;
        for (int i = 0; i < st->loops; i++)
            loops += o->index[d].coefficient[st->loop[i]->id] != 0;
        if (found >= 0 || loops > 1 || o->index[d].general)
            return -1;
        found = d;
    }
    return found;
}

enum uk_status uk_pack_by_map(struct uk_schedule *s, const struct uk_stage *st, struct uk_fit *f, int o,
                              bool *done) {
    const struct uk_operand *x = &st->operand[o];
    int lane = rows_of(st, f, o), sum = sum_of(st, f, o);

    *done = false;
    if (lane < 0 || sum < 0 || x->pad || x->tensor->layout || x->tensor->kind == UK_TENSOR_PACKED ||
        x->tensor->dims == UK_MAX_DIMS)
        return UK_OK;
    int along = dimension_of(st, x, f->axis[lane]), of_sum = dimension_of(st, x, f->axis[sum]);
    if (along < 0 || of_sum < 0 || along == of_sum)
        return UK_OK;
    f->panel[o] = (struct uk_panel){.width = f->max_extent[lane], .along = along, .lane = lane};
    if (!(f->panel[o].layout = panel_map(s, x, along, of_sum, f->max_extent[lane])))
        return uk_out_of_memory(s->context);
    *done = true;
    return UK_OK;
}

/* Packs constants with the sum's dimensions reordered: usual panels keep the order of the tensor's
 * dimensions, but the kernel has to read the sum along a panel. */
enum uk_status uk_pack_constants_by_map(struct uk_schedule *s, const struct uk_stage *st, struct uk_fit *f) {
    enum uk_status status = UK_OK;

    for (int o = 1; o < st->operands && !status; o++) {
        const struct uk_operand *x = &st->operand[o];
        const int sum = sum_of(st, f, o), along = f->panel[o].along;
        int last = x->tensor->dims - 1;
        bool done;

        if (!f->panel[o].width || f->panel[o].layout || !x->tensor->is_constant || sum < 0)
            continue;
        last -= last == along;
        if (last >= 0 && dimension_of(st, x, f->axis[sum]) != last)
            status = uk_pack_by_map(s, st, f, o, &done);
    }
    return status;
}

enum uk_status uk_pack_scattered(struct uk_schedule *s, const struct uk_stage *st, struct uk_fit *f,
                                 bool *done) {
    *done = false;
    for (int o = 1; o < st->operands; o++) {
        bool packed;

        if (f->panel[o].width || !is_scattered(st, f, o))
            continue;
        enum uk_status status = uk_pack_by_map(s, st, f, o, &packed);
        if (status)
            return status;
        *done |= packed;
    }
    return UK_OK;
}

/* Panels of operand o, whose rows are those of axis `rows`, as wide as the terms of axis `terms` in a block.
 * Width 0: rows do not share sets of L1, or terms of a block would be in two panels. */
static struct uk_panel panel_of_rows(const struct uk_schedule *s, const struct uk_stage *st,
                                     const struct uk_fit *f, int o, int rows, int terms) {
    const struct uk_operand *x = &st->operand[o];
    const int64_t width = uk_constant_extent(st, f->axis[terms]), mr = uk_kernel_mr(f->intrinsic->row),
                  bytes = (int64_t)uk_type_bytes(x->tensor->type);
    const int last = x->tensor->stored_dims - 1;
    struct uk_poly p = uk_coefficient(x, f->axis[rows]->id);
    int64_t stride, first = 0;

    if (width <= 1 || x->pad || x->tensor->layout || x->tensor->kind == UK_TENSOR_PACKED || last < 1 ||
        !uk_poly_is_int(&p, &stride) || x->index[last].general ||
        (x->index[last].rest && !uk_index_is_int(x->index[last].rest, &first)) || first % width ||
        !uk_rows_share_sets(&s->target->machine,
                            uk_min((int64_t)uk_values_estimate(s, st, f->axis[rows]), mr), stride * bytes))
        return (struct uk_panel){0};
    for (int i = 0; i < st->loops; i++) {
        const int64_t step = x->index[last].coefficient[st->loop[i]->id];

        if (st->loop[i] == f->axis[terms] ? step != 1 : step % width)
            return (struct uk_panel){0};
    }
    return (struct uk_panel){.width = width, .along = last, .lane = terms};
}

bool uk_pack_rows(const struct uk_schedule *s, const struct uk_stage *st, struct uk_fit *f) {
    const int rows = uk_weighted_rows(st, f);
    double columns = 0;
    bool packs = false;
    int terms = -1;

    for (int v = 0; v < f->axes; v++)
        if (uk_is_reduced(st, f->axis[v]))
            terms = v;
        else if (v != rows)
            columns = uk_values_estimate(s, st, f->axis[v]);
    if (rows < 0 || terms < 0 || columns <= GEMM_COPIED_PANELS * uk_kernel_nr(f->intrinsic->row))
        return false;
    for (int o = 1; o < st->operands; o++)
        if (uk_depends(&st->operand[o], f->axis[rows])) {
            f->panel[o] = panel_of_rows(s, st, f, o, rows, terms);
            packs |= f->panel[o].width > 0;
        }
    return packs;
}

enum uk_status uk_order_map_copy(struct uk_schedule *s, struct uk_stage *copy) {
    struct uk_loop *sum, *outer, *order[UK_MAX_LOOPS];
    int first = copy->prefix, last = copy->loops - 2, n = 0;

    if (last - first < 2)
        return UK_OK;
    sum = copy->loop[last];
    enum uk_status status = uk_split_by(s, copy, &sum, NEAR_TERMS, "o", &outer);
    if (status || !outer)
        return status;
    order[n++] = copy->loop[first];
    order[n++] = outer;
    for (int i = first + 1; i < copy->loops; i++)
        if (copy->loop[i] != outer)
            order[n++] = copy->loop[i];
    return uk_apply_one(s, uk_step_on(s, UK_STEP_REORDER, copy, order, n));
}
