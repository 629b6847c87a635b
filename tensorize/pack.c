/*
 * pack T at L panel w: a copy stage inside loop L, whose tensor is [d/w, the other dimensions, d%w] of the
 * part of T that the loops inside L use, zero-filled to w. The consumer then reads the copy.
 */
#include <string.h>
#include "schedule.h"

/* What the consumer uses of one dimension inside the prefix: offset + x, 0 <= x < all of the bounds. */
struct part {
    struct uk_affine offset; /* over the prefix loops and sizes */
    struct uk_affine inner;  /* x over the consumer's inner loops */
    int bounds;
    struct uk_bound bound[UK_MAX_BOUNDS]; /* form over the prefix loops: x + form < upper */
};

struct packing {
    struct uk_schedule *s;
    struct uk_step *step;
    struct uk_stage *consumer;
    int prefix;
    struct uk_operand *operand;
    int along;
    int64_t width;
    struct part part[UK_MAX_DIMS];
    struct uk_tensor *tensor;
    struct uk_stage *copy;
};

static enum uk_status refuse(const struct packing *p, const char *what) {
    return uk_fail(p->s->context, UK_REFUSED, p->step->at, "pack %s at %s: %s", p->step->subject,
                   p->step->loop[0].loop, what);
}

/* The stage's access to the tensor on its right side, or NULL; counts them. */
static struct uk_operand *find_operand(struct uk_stage *st, const char *tensor, int *uses) {
    struct uk_operand *found = NULL;

    *uses = 0;
    for (int o = 1; o < st->operands; o++)
        if (!strcmp(st->operand[o].tensor->name, tensor)) {
            found = &st->operand[o];
            ++*uses;
        }
    return found;
}

static enum uk_status find_consumer(struct packing *p) {
    struct uk_schedule *s = p->s;
    const struct uk_loop_name *place = &p->step->loop[0];
    int position = -1, uses = 0;

    if (place->stage || strcmp(place->loop, "root")) {
        enum uk_status status = uk_find_loop(s, place, &p->consumer, &position);

        if (status)
            return status;
    }
    if (!p->consumer && s->last && find_operand(s->last, p->step->subject, &uses))
        p->consumer = s->last;
    for (struct uk_stage *st = p->consumer ? NULL : s->stages; st; st = st->next) {
        if (!find_operand(st, p->step->subject, &uses))
            continue;
        if (p->consumer)
            return refuse(p, "several stages read the tensor; name a loop of the stage whose copy it is");
        p->consumer = st;
    }
    if (!p->consumer || !(p->operand = find_operand(p->consumer, p->step->subject, &uses)))
        return refuse(
            p, "no stage here reads a tensor of that name; name one that the statement at this loop reads");
    p->prefix = position + 1;
    if (!uses)
        return refuse(
            p, "no stage here reads a tensor of that name; name one that the statement at this loop reads");
    if (uses > 1)
        return refuse(
            p, "the tensor is read more than once; copies of one of several accesses are not built yet");
    if (p->consumer->is_copy)
        return refuse(p, "the stage is a copy itself; pack the tensor where it is used");
    if (p->consumer->match)
        return refuse(p, "the stage is tensorized already; put the step before tensorize");
    if (p->consumer->operand[0].tensor == p->operand->tensor)
        return refuse(p, "the stage writes the tensor too, so a copy would be out of date");
    return UK_OK;
}

static enum uk_status choose_dimension(struct packing *p) {
    struct uk_tensor *t = p->operand->tensor;
    int found = -1;

    if (p->step->layout)
        return uk_fail(p->s->context, UK_UNSUPPORTED, p->step->at,
                       "pack with a layout map is not built yet; use panel");
    p->width = p->step->number[0];
    if (p->width < 1 || p->width > 4096)
        return refuse(p, "the panel's width must be 1 to 4096");
    if (t->dims + 1 > UK_MAX_DIMS)
        return refuse(p, "the tensor has too many dimensions");
    if (p->step->has_along) {
        p->along = (int)p->step->along;
        return p->step->along >= 0 && p->step->along < t->dims
                   ? UK_OK
                   : refuse(p, "`along` counts the tensor's dimensions from 0, and there are not so many");
    }
    for (int d = 0; d < t->dims; d++) {
        bool reduced = false;

        for (int i = 0; i < p->consumer->loops; i++)
            reduced |= p->operand->index[d].coefficient[p->consumer->loop[i]->id] &&
                       uk_is_reduced(p->consumer, p->consumer->loop[i]);
        if (reduced)
            continue;
        if (found >= 0)
            return refuse(p, "several dimensions are not indexed by a reduction; say which with `along`");
        found = d;
    }
    p->along = found;
    return found < 0 ? refuse(p, "every dimension is indexed by a reduction; say which with `along`") : UK_OK;
}

/* A bound in units of g is one of floor(x / g) if the inner loops that it does not have add up to less than
 * g. */
static bool bounds_part(const struct packing *p, const struct uk_bound *b, int iterator, int64_t *unit) {
    const struct uk_stage *st = p->consumer;
    bool inner = false;
    int64_t rest = 0;

    *unit = 0;
    for (int i = 0; i < st->loops; i++) {
        int64_t a = b->form.coefficient[st->loop[i]->id],
                c = st->iterator[iterator].coefficient[st->loop[i]->id];

        if (a && c)
            *unit = c / a;
        inner |= a && c && i >= p->prefix;
    }
    for (int i = p->prefix; i < st->loops; i++) {
        int64_t c = st->iterator[iterator].coefficient[st->loop[i]->id], n, most;

        if (b->form.coefficient[st->loop[i]->id] || !c)
            continue;
        n = uk_constant_extent(st, st->loop[i]);
        if (n < 0 || __builtin_mul_overflow(c, n > 0 ? n - 1 : 0, &most) || most >= *unit - rest)
            return false;
        rest += most;
    }
    return inner;
}

/* The bounds of x, from those of the consumer's loops: where floor(x / g) < upper, x < g * upper. */
static enum uk_status bound_part(struct packing *p, struct part *part, int iterator) {
    const struct uk_stage *st = p->consumer;

    for (int b = 0; b < st->bounds; b++) {
        const struct uk_bound *bound = &st->bound[b];
        int64_t g;

        if (bound->is_guard || !bounds_part(p, bound, iterator, &g))
            continue;
        struct uk_bound *out = &part->bound[part->bounds++];
        *out = (struct uk_bound){
            .upper = uk_index_op(p->s->arena, UK_I_MUL, bound->upper, uk_index_int(p->s->arena, g))};
        for (int i = 0; i < p->prefix; i++)
            out->form.coefficient[st->loop[i]->id] = g * bound->form.coefficient[st->loop[i]->id];
        if (!out->upper)
            return uk_out_of_memory(p->s->context);
    }
    return UK_OK;
}

static enum uk_status find_part(struct packing *p, int d) {
    const struct uk_stage *st = p->consumer;
    const struct uk_affine *f = &p->operand->index[d];
    struct part *part = &p->part[d];
    int iterator = -1;
    int64_t coarsest = 0, finest_outside = INT64_MAX;

    if (f->general)
        return refuse(p, "an index of the tensor is not a sum of loops");
    part->offset.rest = f->rest;
    for (int i = 0; i < st->loops; i++) {
        const struct uk_loop *l = st->loop[i];
        int64_t c = f->coefficient[l->id];

        if (!c)
            continue;
        if (i < p->prefix)
            part->offset.coefficient[l->id] = c;
        else
            part->inner.coefficient[l->id] = c;
        if (iterator >= 0 && iterator != l->iterator)
            return refuse(p, "an index that adds two iterators is not built yet");
        iterator = l->iterator;
        if (c != st->iterator[iterator].coefficient[l->id])
            return refuse(p, "an index that multiplies an iterator is not built yet");
        if (i >= p->prefix && c > coarsest)
            coarsest = c;
        if (i < p->prefix && c < finest_outside)
            finest_outside = c;
    }
    if (coarsest >= finest_outside)
        return refuse(
            p, "the loops inside hold the coarse part of an index and the loops outside the fine part; "
               "reorder them");
    if (coarsest) {
        enum uk_status status = bound_part(p, part, iterator);

        return status || part->bounds ? status
                                      : refuse(p, "nothing bounds an index of the tensor inside the loop");
    }
    part->bounds = 1;
    part->bound[0] = (struct uk_bound){.upper = uk_index_int(p->s->arena, 1)};
    return UK_OK;
}

/* The most that x can be over all iterations of the prefix, over sizes only. */
static struct uk_index *room(struct packing *p, const struct part *part) {
    struct uk_index *least = NULL;

    for (int b = 0; b < part->bounds; b++)
        least =
            least ? uk_index_op(p->s->arena, UK_I_MIN, least, part->bound[b].upper) : part->bound[b].upper;
    return least;
}

static bool name_taken(struct uk_schedule *s, const char *name) {
    for (const struct uk_tensor *t = s->program->tensors; t; t = t->next)
        if (!strcmp(t->name, name))
            return true;
    for (const struct uk_var *v = s->program->sizes; v; v = v->next)
        if (!strcmp(v->name, name))
            return true;
    return uk_stage_find(s, name);
}

static enum uk_status create_tensor(struct packing *p) {
    struct uk_schedule *s = p->s;
    struct uk_arena *a = s->arena;
    const struct uk_tensor *from = p->operand->tensor;
    struct uk_tensor *t = uk_alloc(a, sizeof *t);
    struct uk_buffer *buffer = uk_alloc(a, sizeof *buffer);
    struct uk_index *elements = uk_index_int(a, 1);
    int n = 1;

    if (!t || !buffer)
        return uk_out_of_memory(s->context);
    *t = (struct uk_tensor){.name = p->step->names ? p->step->name[0] : uk_format(a, "%s_packed", from->name),
                            .type = from->type,
                            .kind = UK_TENSOR_PACKED,
                            .dims = from->dims + 1,
                            .stored_dims = from->dims + 1,
                            .align = 64,
                            .at = p->step->at,
                            .is_read = true,
                            .is_written = true};
    if (!t->name)
        return uk_out_of_memory(s->context);
    if (name_taken(s, t->name))
        return uk_fail(s->context, UK_REFUSED, p->step->at,
                       "pack %s: the name %s is taken; give another after ->", p->step->subject, t->name);
    struct uk_index *along = room(p, &p->part[p->along]), *w = uk_index_int(a, p->width);
    t->shape[0] = uk_index_op(a, UK_I_DIV, uk_index_op(a, UK_I_ADD, along, uk_index_int(a, p->width - 1)), w);
    for (int d = 0; d < from->dims; d++)
        if (d != p->along)
            t->shape[n++] = room(p, &p->part[d]);
    t->shape[n] = w;
    for (int d = t->dims - 1; d >= 0; d--) {
        t->stride[d] = elements;
        elements = uk_index_op(a, UK_I_MUL, elements, t->shape[d]);
    }
    *buffer = (struct uk_buffer){.tensor = t, .elements = elements, .next = s->buffers};
    if (!elements)
        return uk_out_of_memory(s->context);
    s->buffers = buffer;
    p->tensor = t;
    return UK_OK;
}

/* The copy's statement, for the interpreter, the printer and the plain loops: tensor[d0, ..] = pad(T[..], 0).
 */
static struct uk_statement *create_statement(struct packing *p) {
    struct uk_arena *a = p->s->arena;
    struct uk_statement *t = uk_alloc(a, sizeof *t);
    struct uk_expr *pad = uk_alloc(a, sizeof *pad), *read = uk_alloc(a, sizeof *read),
                   *zero = uk_alloc(a, sizeof *zero);

    if (!t || !pad || !read || !zero)
        return NULL;
    *zero = (struct uk_expr){.op = UK_E_NUMBER, .type = p->tensor->type, .is_integer = true};
    *read = (struct uk_expr){.op = UK_E_ACCESS, .type = p->tensor->type};
    read->access.tensor = p->operand->tensor;
    *pad = (struct uk_expr){.op = UK_E_PAD, .type = p->tensor->type, .arg = {read, zero}};
    *t = (struct uk_statement){.label = p->tensor->name, .right = pad, .at = p->step->at};
    t->left.tensor = p->tensor;
    t->iterators = t->left_iterators = p->tensor->dims;
    for (int d = 0; d < p->tensor->dims; d++) {
        struct uk_var *v = uk_alloc(a, sizeof *v);

        if (!v)
            return NULL;
        *v = (struct uk_var){.name = uk_format(a, "d%d", d), .kind = UK_VAR_ITERATOR, .number = d};
        t->iterator[d] = v;
        t->left.index[d] = uk_index_var(a, v);
        t->extent[d] = p->tensor->shape[d];
        if (!v->name || !t->left.index[d])
            return NULL;
    }
    return t;
}

/* x = step * loop (+ the lane): loop exists while step * loop is inside the part. */
static enum uk_status bound_copy(struct packing *p, const struct part *part, const struct uk_loop *l,
                                 int64_t step) {
    struct uk_stage *c = p->copy;

    for (int b = 0; b < part->bounds; b++) {
        struct uk_affine f = part->bound[b].form;
        struct uk_index *upper = part->bound[b].upper;
        bool alone = true;
        int64_t n;

        for (int i = 0; i < UK_MAX_LOOPS; i++)
            alone &= !f.coefficient[i];
        f.coefficient[l->id] = step;
        if (alone && uk_index_is_int(upper, &n)) {
            f.coefficient[l->id] = 1;
            upper = uk_index_int(p->s->arena, n <= 0 ? 0 : (n - 1) / step + 1);
        }
        enum uk_status status = upper ? uk_add_bound(p->s, c, &f, upper) : uk_out_of_memory(p->s->context);
        if (status)
            return status;
    }
    return UK_OK;
}

/* What holds for the prefix alone: the consumer's bounds with its inner loops at 0. */
static enum uk_status inherit_bounds(struct packing *p) {
    for (int b = 0; b < p->consumer->bounds; b++) {
        struct uk_affine f = {0};
        bool any = false;

        for (int i = 0; i < p->prefix; i++) {
            int id = p->consumer->loop[i]->id;

            f.coefficient[id] = p->consumer->bound[b].form.coefficient[id];
            any |= f.coefficient[id] != 0 && !p->consumer->bound[b].is_guard;
        }
        enum uk_status status = any ? uk_add_bound(p->s, p->copy, &f, p->consumer->bound[b].upper) : UK_OK;
        if (status)
            return status;
    }
    return UK_OK;
}

static enum uk_status connect_source(struct packing *p) {
    struct uk_stage *c = p->copy;
    const struct part *along = &p->part[p->along];
    const struct uk_loop *panel = c->loop[p->prefix], *lane = c->loop[c->loops - 1];
    struct uk_operand *o = &c->operand[c->operands++];
    int n = p->prefix + 1;
    enum uk_status status;

    *o = (struct uk_operand){.tensor = p->operand->tensor,
                             .expr = c->statement->right->arg[0],
                             .pad = UK_PAD_VALUE,
                             .valid = along->bounds};
    o->within = uk_alloc(p->s->arena, sizeof *o->within * (size_t)along->bounds);
    if (!o->within)
        return uk_out_of_memory(p->s->context);
    for (int b = 0; b < along->bounds; b++) {
        o->within[b] = along->bound[b];
        o->within[b].form.coefficient[panel->id] = p->width;
        o->within[b].form.coefficient[lane->id] = 1;
    }
    for (int d = 0; d < o->tensor->dims; d++) {
        o->index[d] = p->part[d].offset;
        if (d == p->along) {
            o->index[d].coefficient[panel->id] = p->width;
            o->index[d].coefficient[lane->id] = 1;
            continue;
        }
        o->index[d].coefficient[c->loop[n]->id] = 1;
        if ((status = bound_copy(p, &p->part[d], c->loop[n++], 1)))
            return status;
    }
    struct uk_affine f = {0};
    f.coefficient[lane->id] = 1;
    if ((status = bound_copy(p, along, panel, p->width)))
        return status;
    return uk_add_bound(p->s, c, &f, uk_index_int(p->s->arena, p->width));
}

static enum uk_status create_copy(struct packing *p) {
    struct uk_schedule *s = p->s;
    struct uk_stage *c = p->copy = uk_alloc(s->arena, sizeof *c), **at = &s->stages;
    enum uk_status status;

    if (!c || !(c->statement = create_statement(p)))
        return uk_out_of_memory(s->context);
    c->name = p->tensor->name;
    c->parent = p->consumer;
    c->prefix = c->loops = p->prefix;
    c->is_copy = true;
    memcpy(c->loop, p->consumer->loop, sizeof c->loop[0] * (size_t)p->prefix);
    c->operands = 1;
    c->operand[0].tensor = p->tensor;
    c->iterators = p->tensor->dims;
    for (int d = 0; d < p->tensor->dims; d++) {
        struct uk_loop *l = uk_loop_create(s, c, c->statement->iterator[d]->name, d);

        if (!l)
            return UK_REFUSED;
        c->loop[c->loops++] = l;
        c->iterator[d].coefficient[l->id] = 1;
        c->operand[0].index[d].coefficient[l->id] = 1;
    }
    c->tile = c->loops;
    if ((status = inherit_bounds(p)) || (status = connect_source(p)))
        return status;
    while (*at != p->consumer)
        at = &(*at)->next;
    c->next = p->consumer;
    *at = c;
    return UK_OK;
}

/* The consumer reads [x/w, the others, x%w]. */
static enum uk_status redirect(struct packing *p) {
    struct uk_arena *a = p->s->arena;
    struct uk_affine index[UK_MAX_DIMS];
    int n = 1, dims = p->operand->tensor->dims;
    enum uk_status status;

    memset(index, 0, sizeof index);
    for (int d = 0; d < dims; d++) {
        struct uk_index *x = uk_index_int(a, 0), *w = uk_index_int(a, p->width);

        for (int i = p->prefix; i < p->consumer->loops; i++) {
            const struct uk_loop *l = p->consumer->loop[i];
            int64_t c = p->part[d].inner.coefficient[l->id];

            if (c)
                x = uk_index_op(a, UK_I_ADD, x,
                                uk_index_op(a, UK_I_MUL, uk_index_int(a, c), uk_index_var(a, l->var)));
        }
        if (d != p->along)
            status = uk_affine_of(p->s, p->consumer, x, &index[n++]);
        else if (!(status = uk_affine_of(p->s, p->consumer, uk_index_op(a, UK_I_DIV, x, w), &index[0])))
            status = uk_affine_of(p->s, p->consumer, uk_index_op(a, UK_I_MOD, x, w), &index[dims]);
        if (status)
            return status;
    }
    p->operand->tensor = p->tensor;
    memcpy(p->operand->index, index, sizeof index);
    return UK_OK;
}

enum uk_status uk_apply_pack(struct uk_schedule *s, struct uk_step *step) {
    struct packing *p = uk_alloc(s->arena, sizeof *p);
    enum uk_status status;

    if (!p)
        return uk_out_of_memory(s->context);
    p->s = s;
    p->step = step;
    if ((status = find_consumer(p)) || (status = choose_dimension(p)))
        return status;
    for (int d = 0; d < p->operand->tensor->dims; d++)
        if ((status = find_part(p, d)))
            return status;
    if ((status = create_tensor(p)) || (status = create_copy(p)))
        return status;
    return redirect(p);
}
