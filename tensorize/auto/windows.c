/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strided windows along a row whose pixels are the kernel's columns, as in a convolution of stride 2 in NCHW:
 * columns of the tile are not adjacent in memory. A copy with the layout [.., w % 2, w / 2] makes pixels with
 * the same remainder adjacent; it also holds the padding.
 *
 * The copy runs as plain loops, so it is made only if it is cheap compared to the sums.
 *
 * Windows whose pixels are not adjacent, because they are dilated or other groups' channels lie between them:
 * in a copy [.., g, w % d, w / d, c] they are, and with their channels they are one sum.
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

/* True if every loop of the dimension has a coefficient that is a multiple of `apart`, or a divisor, which a
 * split of the loop turns into a multiple. */
static bool can_part(const struct uk_stage *st, int operand, int dimension, int64_t apart) {
    const struct uk_affine *f = &st->operand[operand].index[dimension];

    for (int i = 0; i < st->loops; i++) {
        int64_t c = f->coefficient[st->loop[i]->id];

        if (c < 0 || (c && c % apart && apart % c))
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
        if (w->apart > 1 && is_step(x, w->columns, w->apart) && can_part(st, o, last, w->apart))
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

/* (.., w, g, c) -> [.., g, w % apart, w / apart, c]: the dimensions between this one and the last come before
 * it. */
static struct uk_map *parted_map(struct uk_schedule *s, int dims, int dimension, int64_t apart) {
    struct uk_map *m = uk_alloc(s->arena, sizeof *m);
    struct uk_var *v = uk_alloc(s->arena, sizeof *v * UK_MAX_DIMS);
    struct uk_index *n = uk_index_int(s->arena, apart), *to[UK_MAX_DIMS];

    if (!m || !v || !n)
        return NULL;
    m->from_count = dims;
    for (int d = 0; d < dims; d++) {
        v[d] = (struct uk_var){.name = uk_format(s->arena, "d%d", d), .kind = UK_VAR_ITERATOR, .number = d};
        m->from[d] = &v[d];
        if (!v[d].name || !(to[d] = uk_index_var(s->arena, &v[d])))
            return NULL;
    }
    for (int d = 0; d < dims - 1; d++)
        if (d != dimension)
            m->to[m->to_count++] = to[d];
    if (apart > 1)
        m->to[m->to_count++] = uk_index_op(s->arena, UK_I_MOD, to[dimension], n);
    m->to[m->to_count++] = apart > 1 ? uk_index_op(s->arena, UK_I_DIV, to[dimension], n) : to[dimension];
    if (dimension < dims - 1)
        m->to[m->to_count++] = to[dims - 1];
    for (int d = 0; d < m->to_count; d++)
        if (!m->to[d])
            return NULL;
    return m;
}

/* The only loop of the dimension whose coefficient is no multiple of `apart`; NULL: there is none. *several
 * is set if there are more. */
static struct uk_loop *pixels_of(const struct uk_stage *st, const struct uk_affine *f, int64_t apart,
                                 bool *several) {
    struct uk_loop *pixels = NULL;

    for (int i = 0; i < st->loops; i++)
        if (f->coefficient[st->loop[i]->id] % apart) {
            *several = pixels;
            pixels = st->loop[i];
        }
    return pixels;
}

/* True if only this operand moves along the loop: its iterations can be the rows of a tile, for which the
 * other factor is the same. */
bool uk_moves_alone(const struct uk_stage *st, int operand, const struct uk_loop *l) {
    for (int o = 1; o < st->operands; o++)
        if (uk_depends(&st->operand[o], l) != (o == operand))
            return false;
    return true;
}

/* True if only loops of the output index the dimensions between d and the last; *pixels: one of them is no
 * loop over groups, along which other operands move, too. */
static bool are_outputs_behind(const struct uk_stage *st, int operand, int d, bool *pixels) {
    const struct uk_operand *x = &st->operand[operand];

    *pixels = false;
    for (int g = d + 1; g < x->tensor->stored_dims - 1; g++)
        for (int i = 0; i < st->loops; i++) {
            const struct uk_loop *l = st->loop[i];

            if (x->index[g].general || (x->index[g].coefficient[l->id] && uk_is_reduced(st, l)))
                return false;
            *pixels |= x->index[g].coefficient[l->id] && uk_moves_alone(st, operand, l);
        }
    return true;
}

struct uk_spread_window uk_spread_window_of(const struct uk_stage *st, int operand) {
    const struct uk_operand *x = &st->operand[operand];

    /* the copy has a layout in terms of the tensor's dimensions */
    if (x->tensor->layout || x->tensor->dims == UK_MAX_DIMS)
        return (struct uk_spread_window){0};
    for (int d = 0; d < x->tensor->dims - 1; d++)
        for (int i = 0; i < st->loops - 1; i++) {
            const int64_t apart = x->index[d].coefficient[st->loop[i]->id];
            bool several = false, rows;

            if (apart < 1 || (apart == 1 && d == x->tensor->dims - 2) || !uk_is_reduced(st, st->loop[i]) ||
                !uk_is_reduced(st, st->loop[i + 1]) || !is_step(x, st->loop[i + 1], 1) ||
                !are_outputs_behind(st, operand, d, &rows) || !can_part(st, operand, d, apart))
                continue;
            struct uk_loop *pixels = pixels_of(st, &x->index[d], apart, &several);
            if (!several)
                return (struct uk_spread_window){st->loop[i], pixels, d, apart, rows};
        }
    return (struct uk_spread_window){0};
}

struct uk_tensor *uk_as_gathered(struct uk_schedule *s, struct uk_operand *x,
                                 const struct uk_spread_window *w) {
    struct uk_tensor *t = uk_alloc(s->arena, sizeof *t);

    if (!t)
        return NULL;
    *t = *x->tensor;
    t->stride[w->dimension] = t->shape[t->dims - 1];
    x->tensor = t;
    x->index[w->dimension].coefficient[w->loop->id] = 1;
    return t;
}

/* The part that a loop over pixels selects is outside the pixels of that part. */
enum uk_status uk_gather_window(struct uk_schedule *s, struct uk_stage *st, int operand,
                                const struct uk_spread_window *w, struct uk_step *copy) {
    const struct uk_operand *x = &st->operand[operand];
    struct uk_loop *part = w->pixels, *pixels;

    if (!(copy->layout = parted_map(s, x->tensor->dims, w->dimension, w->apart)))
        return uk_out_of_memory(s->context);
    if (!part)
        return UK_OK;
    const int64_t parts = w->apart / x->index[w->dimension].coefficient[part->id];
    enum uk_status status = uk_split_by(s, st, &part, parts, "o", &pixels);
    if (status || !pixels)
        return status;
    return uk_apply_one(s, uk_step_on(s, UK_STEP_REORDER, st, (struct uk_loop *[]){part, pixels}, 2));
}

enum uk_status uk_part_windows(struct uk_schedule *s, struct uk_stage *st) {
    struct windows w = {.s = s, .st = st};
    enum uk_status status;

    if (st->statement->reduce != UK_REDUCE_SUM || st->inside || !find_windows(&w))
        return UK_OK;
    const struct uk_operand *x = &st->operand[w.operand];
    if (!uk_is_cheap(s, st, uk_elements(s, x->tensor)))
        return UK_OK;
    struct uk_loop *place = uk_image_loop(st, w.operand, w.columns);
    if ((status = split_loops(&w)))
        return status;
    struct uk_step *step = uk_step_on(s, UK_STEP_CACHE_READ, st, &place, place ? 1 : 0);
    if (!step)
        return uk_out_of_memory(s->context);
    if (!(step->layout = parted_map(s, x->tensor->dims, w.dimension, w.apart)))
        return uk_out_of_memory(s->context);
    return uk_copy_operand(s, st, w.operand, place, step);
}
