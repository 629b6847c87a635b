/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack T at L and cache_read T at L: a copy stage inside loop L. Its tensor holds the part of T that the
 * loops inside L read, in its own layout: panels, a map, or T's. The consumer reads the copy. If T is read
 * under pad(), the copy contains the values outside T too, and the pad is removed. Terms of a sum that
 * pad(.., 0) leaves out stay left out, unless uk_may_store_zeros() says that zeros do the same.
 */
#include <string.h>
#include "pack.h"

static enum uk_status refuse(const struct uk_packing_step *p, const char *what) {
    return uk_fail(p->s->context, UK_REFUSED, p->step->at, "%s %s at %s: %s", p->what, p->step->subject,
                   p->step->loop[0].loop, what);
}

/* ---- accesses ---- */

/* Finds the accesses on the stage's right side that the step selects. */
static int find_operands(const struct uk_stage *st, const struct uk_step *step, int found[UK_MAX_OPERANDS]) {
    int n = 0;

    for (int o = 1; o < st->operands; o++)
        if (uk_is_selected(step, &st->operand[o]))
            found[n++] = o;
    return n;
}

enum uk_status uk_find_consumer(struct uk_packing_step *p) {
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
    for (int i = 0; i < p->operands; i++) {
        const struct uk_operand *o = &p->consumer->operand[p->operand[i]];

        if (o->is_subscript)
            return refuse(p,
                          "its elements are subscripts of another tensor, and subscripts cannot be packed");
        if (uk_is_gathered(o))
            return refuse(p, "an element of a tensor is a subscript of it, so the part that is read is not "
                             "known in advance");
    }
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

/* Checks that every element of the copy is written before the copy runs. */
static enum uk_status check_writers(const struct uk_packing_step *p) {
    const struct uk_stage *nest = p->consumer;

    while (!p->prefix && nest->parent)
        nest = nest->parent;
    for (const struct uk_stage *st = p->s->stages; st; st = st->next) {
        const struct uk_stage *at = st;

        if (st->operand[0].tensor != p->from)
            continue;
        if (st == nest) /* the consumer is attached to it: the copy would be made in front of both */
            return refuse(
                p, "the nest in front of which the copy is made writes the tensor; give a loop of the stage "
                   "that reads it");
        while (at && at->parent != nest)
            at = at->parent;
        if (at && (at->after || at->prefix > p->prefix))
            return refuse(p, "a stage inside this place writes the tensor, so a copy would be out of date");
    }
    return UK_OK;
}

/* The pad() around the access in the expression, or NULL. */
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

enum uk_status uk_find_pad(struct uk_packing_step *p) {
    for (int i = 0; i < p->operands; i++) {
        const struct uk_operand *o = &p->consumer->operand[p->operand[i]];
        const struct uk_expr *pad =
            o->pad == UK_PAD_NONE ? NULL : pad_of(p->consumer->statement->right, o->expr);
        const struct uk_expr *value = pad ? pad->arg[1] : NULL;

        if (o->pad == UK_PAD_GUARD && p->consumer->previous &&
            !uk_may_store_zeros(p->consumer, p->operand[i]))
            return refuse(p,
                          "the scan leaves out the terms outside of its shape, and with a copy's zeros they "
                          "would be NaN where the other factor is infinite; declare that tensor `finite`");
        if (value && !is_constant(value))
            return refuse(p, "the value that its pad gives outside of its shape is not a constant, so a copy "
                             "cannot store it");
        if (i > 0 && (!value != !p->outside || (value && !uk_same_constant(value, p->outside))))
            return refuse(p, "it is read under different pads; one copy cannot store both");
        p->outside = value;
    }
    return UK_OK;
}

/* ---- the layout ---- */

static enum uk_status choose_dimension(struct uk_packing_step *p, int *along) {
    int found = -1;

    if (p->step->has_along) {
        *along = (int)p->step->along;
        return p->step->along >= 0 && p->step->along < p->from->dims
                   ? UK_OK
                   : refuse(p, "the tensor has no such dimension; `along` counts dimensions from 0");
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

static enum uk_status choose_layout(struct uk_packing_step *p) {
    int64_t width = p->step->number[0];
    int along;

    if (p->step->layout) {
        const char *why = uk_take_layout(p->s, p->step, p->from->dims, &p->layout);

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

static enum uk_status find_region(struct uk_packing_step *p) {
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
        if (!uk_part_extent(p->s, &other->part[d]))
            return refuse(p, "an index of the tensor has no known bound inside the loop");
    if (!(why = uk_check_room(other, p->step->scope)))
        why = uk_check_strides(&p->layout, other, p->step->scope);
    return why ? refuse(p, why) : UK_OK;
}

/* ---- the copy ---- */

static enum uk_status create_tensor(struct uk_packing_step *p) {
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
    if (uk_is_name_used(s, name))
        return uk_fail(s->context, UK_REFUSED, p->step->at,
                       "%s %s: the name %s is taken; give another after ->", p->what, p->step->subject, name);
    p->tensor = uk_layout_buffer(s, p->region, &p->layout, p->from, p->step->scope, name, p->step->at);
    return p->tensor ? UK_OK : uk_out_of_memory(s->context);
}

void uk_release_guards(struct uk_stage *st, int operand) {
    const bool removes = st->operand[operand].pad != UK_PAD_GUARD || uk_may_store_zeros(st, operand);
    int kept = 0;

    for (int b = 0; b < st->bounds; b++) {
        const bool is_own = st->bound[b].is_guard && st->bound[b].operand == operand;

        if (is_own && removes)
            continue;
        st->bound[kept] = st->bound[b];
        st->bound[kept++].operand = is_own ? 0 : st->bound[b].operand;
    }
    st->bounds = kept;
}

/* Makes the consumer read the copy, which contains the values outside. */
static enum uk_status redirect(struct uk_packing_step *p) {
    struct uk_stage *st = p->consumer;

    for (int i = 0; i < p->operands; i++) {
        struct uk_operand *o = &st->operand[p->operand[i]];
        enum uk_status status = uk_layout_redirect(p->s, st, o, p->region, &p->layout, p->tensor);

        if (status)
            return status;
        uk_release_guards(st, p->operand[i]);
        o->pad = UK_PAD_NONE;
    }
    return UK_OK;
}

enum uk_status uk_apply_pack(struct uk_schedule *s, struct uk_step *step) {
    struct uk_packing_step *p = uk_alloc(s->arena, sizeof *p);
    enum uk_status status;

    if (!p)
        return uk_out_of_memory(s->context);
    p->s = s;
    p->step = step;
    p->what = uk_steps[step->kind].word;
    if ((status = uk_check_scope(s, step, p->what)) || (status = uk_find_consumer(p)) ||
        (step->scope == UK_SCOPE_SHARED &&
         (status = uk_sink_threads(s, p->consumer, &p->prefix, step->at))) ||
        (status = check_writers(p)) || (status = choose_layout(p)) || (status = uk_find_pad(p)) ||
        (status = find_region(p)) || (status = create_tensor(p)) ||
        (!p->shared && (status = uk_create_copy(p))))
        return status;
    if (p->shared && p->shared->parent) { /* the copy must run even if its first reader does not */
        p->shared->parent->attached--;
        p->shared->parent = NULL;
    }
    return redirect(p);
}
