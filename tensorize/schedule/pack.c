/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack T at L and cache_read T at L: a copy stage inside loop L, whose tensor holds the part of T that the
 * loops inside L read, in a layout of its own: panels, a map, or T's. The consumer then reads the copy. Where
 * T is read under pad, the copy holds what is read outside of T too, and the pad is done with.
 */
#include <string.h>
#include "schedule.h"

struct packing {
    struct uk_schedule *s;
    struct uk_step *step;
    const char *what; /* pack, cache_read */
    struct uk_stage *consumer;
    int prefix;
    int operand[UK_MAX_OPERANDS], operands; /* the accesses of the consumer */
    const struct uk_tensor *from;
    const struct uk_expr *outside; /* what is read outside of the tensor; NULL: it is not */
    struct uk_region *region;
    struct uk_buffer_layout layout;
    struct uk_tensor *tensor;
    struct uk_stage *copy, *shared; /* the copy that is made, or the one that is there already */
};

static enum uk_status refuse(const struct packing *p, const char *what) {
    return uk_fail(p->s->context, UK_REFUSED, p->step->at, "%s %s at %s: %s", p->what, p->step->subject,
                   p->step->loop[0].loop, what);
}

/* ---- which accesses ---- */

/* The accesses on the stage's right side that the step means. */
static int find_operands(const struct uk_stage *st, const struct uk_step *step, int found[UK_MAX_OPERANDS]) {
    int n = 0;

    for (int o = 1; o < st->operands; o++)
        if (uk_is_meant(step, &st->operand[o]))
            found[n++] = o;
    return n;
}

static enum uk_status find_consumer(struct packing *p) {
    struct uk_schedule *s = p->s;
    const struct uk_loop_name *place = &p->step->loop[0];
    int position = -1;

    if (place->stage && !strcmp(place->loop, "root")) {
        p->consumer = s->last = uk_stage_find(s, place->stage);
        if (!p->consumer)
            return refuse(p, "there is no stage of that name before `.root`; name one of the statements");
    } else if (place->stage || strcmp(place->loop, "root")) {
        enum uk_status status = uk_find_loop(s, place, &p->consumer, &position);

        if (status)
            return status;
    }
    if (!p->consumer && s->last && find_operands(s->last, p->step, p->operand))
        p->consumer = s->last;
    for (struct uk_stage *st = p->consumer ? NULL : s->stages; st; st = st->next) {
        if (!find_operands(st, p->step, p->operand))
            continue;
        if (p->consumer)
            return refuse(p, "several stages read the tensor; name the one whose copy it is, as STAGE.root");
        p->consumer = st;
    }
    p->prefix = position + 1;
    p->operands = p->consumer ? find_operands(p->consumer, p->step, p->operand) : 0;
    if (!p->operands)
        return refuse(
            p, p->step->subscripts
                   ? "no stage here reads the tensor at these subscripts; write them as the statement does"
                   : "no stage here reads a tensor of that name; name one that the statement at this loop "
                     "reads");
    p->from = p->consumer->operand[p->operand[0]].tensor;
    if (p->consumer->is_copy)
        return refuse(p, "the stage is a copy itself; pack the tensor where it is used");
    if (p->consumer->match)
        return refuse(p, "the stage is tensorized already; put the step before tensorize");
    if (p->consumer->operand[0].tensor == p->from)
        return refuse(p, "the stage writes the tensor too, so a copy would be out of date");
    for (const struct uk_buffer *b = s->buffers; b; b = b->next)
        if (b->tensor == p->from && b->slots)
            return refuse(p, "the tensor has the slots of a pipeline; put this step before that one");
    return UK_OK;
}

/* Every element that the copy holds is written before the copy runs. */
static enum uk_status check_writers(const struct packing *p) {
    const struct uk_stage *nest = p->consumer;

    while (!p->prefix && nest->parent)
        nest = nest->parent;
    for (const struct uk_stage *st = p->s->stages; st; st = st->next) {
        const struct uk_stage *at = st;

        if (st->operand[0].tensor != p->from)
            continue;
        while (at && at->parent != nest)
            at = at->parent;
        if (at && (at->after || at->prefix > p->prefix))
            return refuse(p, "a stage inside this place writes the tensor, so a copy would be out of date");
    }
    return UK_OK;
}

/* The pad around the access in the expression, or NULL. */
static const struct uk_expr *pad_of(const struct uk_expr *e, const struct uk_expr *access) {
    const struct uk_expr *found = NULL;

    if (e && e->op == UK_E_PAD && e->arg[0] == access)
        return e;
    for (int i = 0; e && i < 3 && !found; i++)
        found = pad_of(e->arg[i], access);
    return found;
}

static bool is_constant(const struct uk_expr *e) {
    if (e->op == UK_E_ACCESS || e->op == UK_E_INDEX || e->op == UK_E_PAD)
        return false;
    for (int i = 0; i < 3; i++)
        if (e->arg[i] && !is_constant(e->arg[i]))
            return false;
    return true;
}

/* All accesses are under pads of one value, or none is. */
static enum uk_status find_pad(struct packing *p) {
    for (int i = 0; i < p->operands; i++) {
        const struct uk_operand *o = &p->consumer->operand[p->operand[i]];
        const struct uk_expr *pad =
            o->pad == UK_PAD_NONE ? NULL : pad_of(p->consumer->statement->right, o->expr);
        const struct uk_expr *value = pad ? pad->arg[1] : NULL;

        if (value && !is_constant(value))
            return refuse(p, "what its pad reads outside is no constant, so a copy cannot hold it");
        if (i > 0 && (!value != !p->outside || (value && !uk_same_constant(value, p->outside))))
            return refuse(p, "it is read under different pads; one copy cannot hold both");
        p->outside = value;
    }
    return UK_OK;
}

/* ---- the layout ---- */

static enum uk_status choose_dimension(struct packing *p, int *along) {
    int found = -1;

    if (p->step->has_along) {
        *along = (int)p->step->along;
        return p->step->along >= 0 && p->step->along < p->from->dims
                   ? UK_OK
                   : refuse(p, "`along` counts the tensor's dimensions from 0, and there are not so many");
    }
    for (int d = 0; d < p->from->dims; d++) {
        bool reduced = false;

        for (int o = 0; o < p->operands; o++)
            for (int i = 0; i < p->consumer->loops; i++)
                reduced |=
                    p->consumer->operand[p->operand[o]].index[d].coefficient[p->consumer->loop[i]->id] &&
                    uk_is_reduced(p->consumer, p->consumer->loop[i]);
        if (reduced)
            continue;
        if (found >= 0)
            return refuse(p, "several dimensions are not indexed by a reduction; say which with `along`");
        found = d;
    }
    *along = found;
    return found < 0 ? refuse(p, "every dimension is indexed by a reduction; say which with `along`") : UK_OK;
}

static enum uk_status choose_layout(struct packing *p) {
    int64_t width = p->step->number[0];
    int along;

    if (p->step->layout) {
        const char *why = uk_take_layout(p->step, p->from->dims, &p->layout);

        return why ? refuse(p, why) : UK_OK;
    }
    if (p->step->kind != UK_STEP_PACK) {
        p->layout = uk_layout_plain(p->from->dims);
        return UK_OK;
    }
    if (width < 1 || width > 4096)
        return refuse(p, "the panel's width must be 1 to 4096");
    if (p->from->dims + 1 > UK_MAX_DIMS)
        return refuse(p, "the tensor has too many dimensions");
    enum uk_status status = choose_dimension(p, &along);
    if (!status)
        p->layout = uk_layout_panel(p->from->dims, along, width);
    return status;
}

/* ---- the region ---- */

static enum uk_status find_region(struct packing *p) {
    struct uk_region *other = NULL;
    const char *why = "?";

    for (int i = 0; i < p->operands; i++) {
        struct uk_operand *o = &p->consumer->operand[p->operand[i]];
        struct uk_region *r = uk_alloc(p->s->arena, sizeof *r);
        enum uk_status status =
            r ? uk_region_of(p->s, p->consumer, o, p->prefix, r, &why) : uk_out_of_memory(p->s->context);

        if (!status && other)
            status = uk_region_join(p->s, other, r, p->outside ? NULL : (void *)p->from->shape, &why);
        if (status)
            return status == UK_NO_MATCH ? refuse(p, why) : status;
        other = other ? other : r;
    }
    p->region = other;
    for (int d = 0; d < p->from->dims; d++)
        if (!uk_part_room(p->s, &other->part[d]))
            return refuse(p, "nothing bounds an index of the tensor inside the loop");
    if (!(why = uk_check_room(other, p->step->scope)))
        why = uk_check_strides(&p->layout, other, p->step->scope);
    return why ? refuse(p, why) : UK_OK;
}

/* ---- the copy ---- */

static enum uk_status create_tensor(struct packing *p) {
    struct uk_schedule *s = p->s;
    const char *name = p->step->names ? p->step->name[0]
                                      : uk_format(s->arena, "%s_%s", p->from->name,
                                                  p->step->kind == UK_STEP_PACK ? "packed" : "cached");

    if (!name)
        return uk_out_of_memory(s->context);
    struct uk_copied what = {.region = p->region, .layout = p->layout, .outside = p->outside};
    p->shared = p->prefix ? NULL : uk_find_shared(s, p->consumer, name, p->from, &what);
    if (p->shared) {
        p->tensor = p->shared->operand[0].tensor;
        return UK_OK;
    }
    if (uk_name_taken(s, name))
        return uk_fail(s->context, UK_REFUSED, p->step->at,
                       "%s %s: the name %s is taken; give another after ->", p->what, p->step->subject, name);
    p->tensor = uk_layout_buffer(s, p->region, &p->layout, p->from, p->step->scope, name, p->step->at);
    return p->tensor ? UK_OK : uk_out_of_memory(s->context);
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
    *zero = (struct uk_expr){.op = UK_E_NUMBER, .type = p->tensor->type, .is_integer = true, .depth = 1};
    *read = (struct uk_expr){.op = UK_E_ACCESS, .type = p->tensor->type, .depth = 1};
    read->access.tensor = (struct uk_tensor *)p->from;
    *pad = (struct uk_expr){.op = UK_E_PAD, .type = p->tensor->type, .arg = {read, zero}, .depth = 2};
    if (p->outside)
        pad->arg[1] = (struct uk_expr *)p->outside;
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

/* Buffers of a block are filled whatever the sizes: with zeros beyond the end of the part. */
static bool fills(const struct packing *p) {
    return p->step->scope != UK_SCOPE_GLOBAL;
}

/* A constant: the loop ends there. */
static bool is_alone(const struct uk_bound *b) {
    bool alone = uk_index_is_int(b->upper, NULL);

    for (int i = 0; i < UK_MAX_LOOPS; i++)
        alone &= !b->form.coefficient[i];
    return alone;
}

/* Do the dimension's loops count no further than that constant? */
static bool is_counted(const struct packing *p, int d, const struct uk_bound *b) {
    int64_t n, coarsest = 1;

    for (int k = 0; k < p->layout.stored; k++)
        if (p->layout.digit[k].dim == d && p->layout.digit[k].divisor > coarsest)
            coarsest = p->layout.digit[k].divisor;
    return is_alone(b) && uk_index_is_int(b->upper, &n) && n % coarsest == 0;
}

/* x = step * loop (+ finer digits): loop exists while step * loop is inside the part. */
static enum uk_status bound_copy(struct packing *p, const struct uk_part *part, const struct uk_loop *l,
                                 int64_t step) {
    struct uk_stage *c = p->copy;
    struct uk_affine only = {0};

    if (fills(p)) {
        const int64_t most = uk_part_most(part);

        only.coefficient[l->id] = 1;
        return uk_add_bound(p->s, c, &only, uk_index_int(p->s->arena, most ? (most - 1) / step + 1 : 0));
    }
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

static enum uk_status bound_loops(struct packing *p) {
    struct uk_stage *c = p->copy;
    enum uk_status status = UK_OK;

    for (int split = 0; split < 2; split++)
        for (int k = 0; k < p->layout.stored && !status; k++) {
            const struct uk_digit *digit = &p->layout.digit[k];
            const struct uk_loop *l = c->loop[p->prefix + k];
            struct uk_affine f = {0};

            if (uk_layout_is_split(&p->layout, digit->dim) != split)
                continue;
            f.coefficient[l->id] = 1;
            status = digit->modulus ? uk_add_bound(p->s, c, &f, uk_index_int(p->s->arena, digit->modulus))
                                    : bound_copy(p, &p->region->part[digit->dim], l, digit->divisor);
        }
    return status;
}

static enum uk_status add_within(struct packing *p, struct uk_operand *o, const struct uk_affine *f,
                                 struct uk_index *upper) {
    struct uk_bound *b = &o->within[o->valid++];

    *b = (struct uk_bound){.form = *f, .upper = upper};
    if (f->rest)
        b->upper = uk_index_op(p->s->arena, UK_I_SUB, upper, f->rest);
    b->form.rest = NULL;
    return b->upper ? UK_OK : uk_out_of_memory(p->s->context);
}

/* 0 <= index < extent of T, unless every access is at an iterator that runs over that very dimension. */
static enum uk_status add_edges(struct packing *p, struct uk_operand *o, int d) {
    const struct uk_statement *t = p->consumer->statement;
    struct uk_affine f = o->index[d], minus = {0};
    bool plain = true;
    int64_t rest = 0;

    for (int i = 0; i < p->operands; i++) {
        const struct uk_index *e = p->consumer->operand[p->operand[i]].expr->access.index[d];
        bool found = false;

        for (int k = 0; k < t->iterators; k++)
            found |= e->op == UK_I_VAR && e->var == t->iterator[k] &&
                     uk_index_equal(t->extent[k], p->from->shape[d]);
        plain &= found;
    }
    if (plain)
        return UK_OK;
    bool below = f.rest && (!uk_index_is_int(f.rest, &rest) || rest < 0);
    for (int l = 0; l < UK_MAX_LOOPS; l++) {
        minus.coefficient[l] = -f.coefficient[l];
        below |= f.coefficient[l] < 0;
    }
    if (f.rest)
        minus.rest = uk_index_op(p->s->arena, UK_I_NEG, f.rest, NULL);
    enum uk_status status = below ? add_within(p, o, &minus, uk_index_int(p->s->arena, 1)) : UK_OK;
    return status ? status : add_within(p, o, &f, p->from->shape[d]);
}

/* A guard says which elements are used; others that the region has may be outside of the tensor. */
static bool has_guards(const struct uk_stage *st) {
    bool any = st->is_filtered;

    for (int b = 0; b < st->bounds; b++)
        any |= st->bound[b].is_guard;
    return any;
}

static enum uk_status connect_source(struct packing *p) {
    struct uk_stage *c = p->copy;
    struct uk_operand *o = &c->operand[c->operands++];
    size_t most = (size_t)p->from->dims * (UK_MAX_PART_BOUNDS + 2);
    bool edges = p->outside || has_guards(p->consumer);
    enum uk_status status = UK_OK;

    *o = (struct uk_operand){
        .tensor = (struct uk_tensor *)p->from, .expr = c->statement->right->arg[0], .pad = UK_PAD_VALUE};
    o->within = uk_alloc(p->s->arena, sizeof *o->within * most);
    if (!o->within)
        return uk_out_of_memory(p->s->context);
    for (int d = 0; d < p->from->dims && !status; d++) {
        const struct uk_part *part = &p->region->part[d];
        struct uk_affine x = {0};

        for (int k = 0; k < p->layout.stored; k++)
            if (p->layout.digit[k].dim == d)
                x.coefficient[c->loop[p->prefix + k]->id] = p->layout.digit[k].divisor;
        o->index[d] = part->offset;
        for (int l = 0; l < UK_MAX_LOOPS; l++)
            o->index[d].coefficient[l] += x.coefficient[l];
        for (int b = 0; (fills(p) || uk_layout_is_split(&p->layout, d)) && b < part->bounds && !status; b++) {
            struct uk_affine f = part->bound[b].form;

            if (fills(p) && is_counted(p, d, &part->bound[b]))
                continue;
            for (int l = 0; l < UK_MAX_LOOPS; l++)
                f.coefficient[l] += x.coefficient[l];
            status = add_within(p, o, &f, part->bound[b].upper);
        }
        /* The last block of an index that runs backwards begins before the tensor does. */
        bool backwards = part->begins_before;
        for (int l = 0; l < UK_MAX_LOOPS; l++)
            backwards |= part->offset.coefficient[l] < 0;
        if ((edges || backwards) && !status)
            status = add_edges(p, o, d);
    }
    return status;
}

static enum uk_status create_copy(struct packing *p) {
    struct uk_schedule *s = p->s;
    struct uk_stage *c = p->copy = uk_alloc(s->arena, sizeof *c), **at = &s->stages;
    struct uk_copied *what = uk_alloc(s->arena, sizeof *what);
    enum uk_status status;

    if (!c || !what || !(c->statement = create_statement(p)))
        return uk_out_of_memory(s->context);
    if ((status = uk_count_stage(s, c, p->tensor->name, p->step->at)))
        return status;
    *what = (struct uk_copied){.region = p->region, .layout = p->layout, .outside = p->outside};
    c->copied = what;
    c->name = p->tensor->name;
    for (c->parent = p->consumer; !p->prefix && c->parent->parent;)
        c->parent = c->parent->parent;
    c->parent->attached++;
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
    if ((status = uk_inherit_bounds(s, p->consumer, p->prefix, c)) || (status = bound_loops(p)) ||
        (status = connect_source(p)))
        return status;
    while (*at != c->parent)
        at = &(*at)->next;
    c->next = *at;
    *at = c;
    return UK_OK;
}

/* The consumer reads the copy, which has the pads' values outside. */
static enum uk_status redirect(struct packing *p) {
    struct uk_stage *st = p->consumer;
    int kept = 0;

    for (int i = 0; i < p->operands; i++) {
        struct uk_operand *o = &st->operand[p->operand[i]];
        enum uk_status status = uk_layout_redirect(p->s, st, o, p->region, &p->layout, p->tensor);

        if (status)
            return status;
        for (int b = kept = 0; b < st->bounds; b++)
            if (!st->bound[b].is_guard || st->bound[b].operand != p->operand[i])
                st->bound[kept++] = st->bound[b];
        st->bounds = kept;
        o->pad = UK_PAD_NONE;
    }
    return UK_OK;
}

enum uk_status uk_apply_pack(struct uk_schedule *s, struct uk_step *step) {
    struct packing *p = uk_alloc(s->arena, sizeof *p);
    enum uk_status status;

    if (!p)
        return uk_out_of_memory(s->context);
    p->s = s;
    p->step = step;
    p->what = step->kind == UK_STEP_PACK ? "pack" : "cache_read";
    if ((status = uk_check_scope(s, step, p->what)) || (status = find_consumer(p)) ||
        (step->scope == UK_SCOPE_SHARED &&
         (status = uk_sink_threads(s, p->consumer, &p->prefix, step->at))) ||
        (status = check_writers(p)) || (status = choose_layout(p)) || (status = find_pad(p)) ||
        (status = find_region(p)) || (status = create_tensor(p)) || (!p->shared && (status = create_copy(p))))
        return status;
    if (p->shared && p->shared->parent) { /* it runs whether its first reader does or not */
        p->shared->parent->attached--;
        p->shared->parent = NULL;
    }
    return redirect(p);
}
