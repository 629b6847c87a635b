/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strided windows along a row whose pixels are the kernel's columns, as in a convolution of stride 2 in NCHW:
 * columns of the tile are not adjacent in memory. A copy with the layout [.., w % 2, w / 2] makes pixels with
 * the same remainder adjacent; it also holds the padding.
 *
 * The copy runs as plain loops, so it is made only if it is cheap compared to the sums.
 */
#include "copies.h"
#include "steps.h"

struct windows {
    struct uk_schedule *s;
    struct uk_stage *st;
    int operand, dimension;
    const struct uk_loop *columns;
    /* elements between adjacent columns */
    int64_t apart;
};

static bool is_step(const struct uk_operand *o, const struct uk_loop *l, int64_t step) {
    struct uk_poly p = uk_coefficient(o, l->id);
    int64_t c;

    return uk_poly_is_int(&p, &c) && c == step;
}

static bool is_read_once(const struct uk_stage *st, int operand) {
    for (int o = 0; o < st->operands; o++)
        if (o != operand && st->operand[o].tensor == st->operand[operand].tensor)
            return false;
    return true;
}

/* True if every other loop of the dimension has a coefficient that is a multiple of `apart`, or a divisor,
 * which a split of the loop turns into a multiple. */
static bool can_part(const struct windows *w) {
    const struct uk_affine *f = &w->st->operand[w->operand].index[w->dimension];

    for (int i = 0; i < w->st->loops; i++) {
        int64_t c = f->coefficient[w->st->loop[i]->id];

        if (c < 0 || (c && c % w->apart && w->apart % c))
            return false;
    }
    return !f->general;
}

static bool find_windows(struct windows *w) {
    struct uk_stage *st = w->st;

    for (int i = 0; i < st->loops; i++)
        if (!uk_is_reduced(st, st->loop[i]) && is_step(&st->operand[0], st->loop[i], 1))
            w->columns = st->loop[i];
    for (int o = 1; o < st->operands && w->columns; o++) {
        const struct uk_operand *x = &st->operand[o];
        int last = x->tensor->stored_dims - 1;

        if (x->tensor->layout || x->tensor->kind == UK_TENSOR_PACKED || last < 0 || last + 2 > UK_MAX_DIMS ||
            !is_read_once(st, o))
            continue;
        w->operand = o;
        w->dimension = last;
        w->apart = x->index[last].coefficient[w->columns->id];
        if (w->apart > 1 && is_step(x, w->columns, w->apart) && can_part(w))
            return true;
    }
    return false;
}

/* True if windows of successive iterations of the loop overlap in the operand. Copies go outside such loops.
 */
static bool is_windowed(const struct uk_stage *st, int operand, const struct uk_loop *l) {
    const struct uk_operand *x = &st->operand[operand];

    for (int d = 0; d < x->tensor->stored_dims; d++)
        for (int i = 0; i < st->loops; i++)
            if (st->loop[i] != l && x->index[d].coefficient[l->id] &&
                x->index[d].coefficient[st->loop[i]->id])
                return true;
    return uk_is_reduced(st, l);
}

struct uk_loop *uk_image_loop(const struct uk_stage *st, int operand, const struct uk_loop *columns) {
    struct uk_loop *place = NULL;

    for (int i = 0; i < st->loops && st->loop[i] != columns && !is_windowed(st, operand, st->loop[i]); i++) {
        if (!uk_depends(&st->operand[operand], st->loop[i]))
            break;
        place = st->loop[i];
    }
    return place;
}

/* Splits each loop whose coefficient is not a multiple of `apart`, so that the outer loop's is. */
static enum uk_status split_loops(struct windows *w) {
    for (int i = 0; i < w->st->loops; i++) {
        struct uk_loop *l = w->st->loop[i], *outer;
        int64_t c = w->st->operand[w->operand].index[w->dimension].coefficient[l->id];
        enum uk_status status;

        if (!c || c % w->apart == 0)
            continue;
        if ((status = uk_split_by(w->s, w->st, &l, w->apart / c, "o", &outer)))
            return status;
        i += outer != NULL;
    }
    return UK_OK;
}

/* (.., w) -> [.., w % apart, w / apart] */
static struct uk_map *parted_map(struct uk_schedule *s, int dims, int64_t apart) {
    struct uk_map *m = uk_alloc(s->arena, sizeof *m);
    struct uk_var *v = uk_alloc(s->arena, sizeof *v * UK_MAX_DIMS);
    struct uk_index *n = uk_index_int(s->arena, apart);

    if (!m || !v || !n)
        return NULL;
    m->from_count = dims;
    for (int d = 0; d < dims; d++) {
        v[d] = (struct uk_var){.name = uk_format(s->arena, "d%d", d), .kind = UK_VAR_ITERATOR, .number = d};
        m->from[d] = &v[d];
        m->to[d] = uk_index_var(s->arena, &v[d]);
    }
    m->to_count = dims + 1;
    m->to[dims - 1] = uk_index_op(s->arena, UK_I_MOD, uk_index_var(s->arena, &v[dims - 1]), n);
    m->to[dims] = uk_index_op(s->arena, UK_I_DIV, uk_index_var(s->arena, &v[dims - 1]), n);
    for (int d = 0; d <= dims; d++)
        if (!m->to[d] || (d < dims && !v[d].name))
            return NULL;
    return m;
}

enum uk_status uk_part_windows(struct uk_schedule *s, struct uk_stage *st) {
    struct windows w = {.s = s, .st = st};
    enum uk_status status;

    if (st->statement->reduce != UK_REDUCE_SUM || st->inside || !find_windows(&w))
        return UK_OK;
    const struct uk_operand *x = &st->operand[w.operand];
    double copied = 1;
    for (int d = 0; d < x->tensor->dims; d++)
        copied *= uk_size_estimate(s, x->tensor->shape[d]);
    if (!uk_is_cheap(s, st, copied))
        return UK_OK;
    struct uk_loop *place = uk_image_loop(st, w.operand, w.columns);
    if ((status = split_loops(&w)))
        return status;
    struct uk_step *step = uk_step_on(s, UK_STEP_CACHE_READ, st, &place, place ? 1 : 0);
    if (!step)
        return uk_out_of_memory(s->context);
    if (!(step->layout = parted_map(s, x->tensor->dims, w.apart)))
        return uk_out_of_memory(s->context);
    return uk_copy_operand(s, st, w.operand, place, step);
}
