/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cache_write T at L: the stage that writes T computes into a buffer instead. A second stage, after the loops
 * inside L, stores the buffer's elements to T once their sums are complete. Exception: if T is a temp that
 * only stages attached there read, these read the buffer and nothing is stored.
 */
#include <string.h>
#include "attach.h"

struct writing {
    struct uk_attaching a; /* st: the stage that stores; at: the stage that computes */
    struct uk_schedule *s;
    struct uk_tensor *t, *named; /* named: the buffer with T's shape, as the new statement reads it */
    struct uk_region *stored, *kept;
    struct uk_buffer_layout layout;
    bool is_read_inside; /* T is a temp whose readers all read the buffer: nothing is stored */
};

static enum uk_status find_writer(struct writing *w) {
    struct uk_attaching *a = &w->a;
    const struct uk_loop_name *place = &a->step->loop[0];
    int position = -1;

    if (place->stage || strcmp(place->loop, "root")) {
        enum uk_status status = uk_find_loop(w->s, place, &a->at, &position);

        if (status)
            return status;
    }
    for (struct uk_stage *st = a->at ? NULL : w->s->stages; st; st = st->next) {
        if (strcmp(st->operand[0].tensor->name, a->step->subject))
            continue;
        if (a->at)
            return uk_refuse_attach(a, "several stages write the tensor; name a loop of one of them");
        a->at = st;
    }
    a->prefix = position + 1;
    if (!a->at || strcmp(a->at->operand[0].tensor->name, a->step->subject))
        return uk_refuse_attach(a,
                                "no stage here writes a tensor of that name; name a loop of one that does");
    w->t = a->at->operand[0].tensor;
    return UK_OK;
}

/* True if T is a temp that only stages attached inside the place read, after the sums are complete. */
static bool is_read_inside(const struct writing *w) {
    const struct uk_stage *at = w->a.at;
    bool any = false;

    if (w->t->kind != UK_TENSOR_TEMP || at->statement->assign != UK_ASSIGN)
        return false;
    for (const struct uk_stage *st = w->s->stages; st; st = st->next)
        for (int o = 0; o < st->operands; o++) {
            if (st->operand[o].tensor != w->t || (st == at && o == 0))
                continue;
            if (!o || st->parent != at || !st->after || st->prefix < w->a.prefix || st->is_copy ||
                st->operand[o].pad != UK_PAD_NONE)
                return false;
            any = true;
        }
    return any;
}

static enum uk_status check_writer(const struct writing *w) {
    const struct uk_attaching *a = &w->a;
    const struct uk_stage *at = a->at;

    if (at->is_copy)
        return uk_refuse_attach(a, "the stage is a copy itself");
    if (at->match)
        return uk_refuse_attach(a, "the stage is tensorized already; put the step before tensorize");
    if (uk_is_gathered(&at->operand[0]))
        return uk_refuse_attach(a, "the stage writes the tensor at elements of a tensor, so the part that is "
                                   "written is not known in advance");
    if (at->previous)
        return uk_refuse_attach(a, "the stage is a scan, which reads what it wrote");
    if (at->parent && !at->after)
        return uk_refuse_attach(a, "stage %s is computed inside %s already", at->name, at->parent->name);
    if (at->parent && a->prefix < at->prefix)
        return uk_refuse_attach(
            a, "stage %s is attached inside of this place; put the outer cache_write first", at->name);
    for (const struct uk_stage *st = w->s->stages; st; st = st->next)
        for (int o = 0; o < st->operands; o++)
            if (st->operand[o].tensor == w->t && uk_root_of(st) == uk_root_of(at) && !(st == at && o == 0) &&
                !w->is_read_inside)
                return uk_refuse_attach(a, "stage %s %s the tensor in this nest too%s", st->name,
                                        o ? "reads" : "writes",
                                        st == at ? "" : "; put this step before the one that attached it");
    return UK_OK;
}

/* Finds the region stored at the place, and the region kept until then: all that the loops of the sums
 * cover. */
static enum uk_status find_regions(struct writing *w) {
    const struct uk_stage *at = w->a.at;
    /* As if under pad(): the region must be exactly what is written, never the whole dimension instead. */
    struct uk_operand written = at->operand[0];
    const char *why = NULL;
    int kept = 0;

    written.pad = UK_PAD_VALUE;
    w->stored = uk_alloc(w->s->arena, sizeof *w->stored);
    w->kept = uk_alloc(w->s->arena, sizeof *w->kept);
    if (!w->stored || !w->kept)
        return uk_out_of_memory(w->s->context);
    while (kept < w->a.prefix && !uk_is_reduced(at, at->loop[kept]))
        kept++;
    enum uk_status status = uk_region_of(w->s, at, &written, w->a.prefix, w->stored, &why);
    if (!status)
        status = uk_region_of(w->s, at, &written, kept, w->kept, &why);
    for (int d = 0; d < w->t->dims && !status; d++)
        if (!uk_part_extent(w->s, &w->kept->part[d])) {
            why = "an index of the tensor has no known bound inside the loop";
            status = UK_NO_MATCH;
        }
    if (!status && (why = uk_check_room(w->kept, w->a.step->scope)))
        status = UK_NO_MATCH;
    if (status == UK_NO_MATCH)
        return uk_refuse_attach(&w->a, "%s", why);
    w->layout = uk_layout_plain(w->t->dims);
    if (!status && w->a.step->layout) {
        why = uk_take_layout(w->s, w->a.step, w->t->dims, &w->layout);
        if (!why)
            why = uk_check_strides(&w->layout, w->kept, w->a.step->scope);
        if (why)
            return uk_refuse_attach(&w->a, "%s", why);
    }
    return status;
}

/* Makes the statement T[d0, ..] = NAME[d0, ..], with the computing stage's assignment operator. */
static struct uk_statement *create_statement(struct writing *w, const char *name) {
    struct uk_arena *a = w->s->arena;
    struct uk_statement *t = uk_alloc(a, sizeof *t);
    struct uk_expr *read = uk_alloc(a, sizeof *read);

    w->named = uk_alloc(a, sizeof *w->named);
    if (!t || !read || !w->named)
        return NULL;
    *w->named = *w->t;
    w->named->name = name;
    w->named->kind = UK_TENSOR_PACKED;
    w->named->next = NULL;
    *read = (struct uk_expr){.op = UK_E_ACCESS, .type = w->t->type, .depth = 1};
    *t = (struct uk_statement){
        .label = name, .right = read, .assign = w->a.at->statement->assign, .at = w->a.step->at};
    t->left.tensor = w->t;
    read->access.tensor = w->named;
    t->iterators = t->left_iterators = w->t->dims;
    for (int d = 0; d < w->t->dims; d++) {
        struct uk_var *v = uk_alloc(a, sizeof *v);

        if (!v)
            return NULL;
        *v = (struct uk_var){.name = uk_format(a, "d%d", d), .kind = UK_VAR_ITERATOR, .number = d};
        t->iterator[d] = v;
        t->left.index[d] = read->access.index[d] = uk_index_var(a, v);
        t->extent[d] = w->t->shape[d];
        if (!v->name || !t->left.index[d])
            return NULL;
    }
    return t;
}

static enum uk_status create_stage(struct writing *w, const char *name) {
    struct uk_stage *st = w->a.st = uk_alloc(w->s->arena, sizeof *st), *last = NULL;
    enum uk_status status;

    if (!st || !(st->statement = create_statement(w, name)))
        return uk_out_of_memory(w->s->context);
    if ((status = uk_count_stage(w->s, st, name, w->a.step->at)))
        return status;
    if (w->t->dims + w->a.prefix > UK_MAX_LOOPS)
        return uk_refuse_attach(&w->a, "together the stages would have more than %d loops; split fewer",
                                UK_MAX_LOOPS);
    int iterator[UK_MAX_DIMS];

    st->name = name;
    st->stores_part = !uk_covers(&w->a, w->a.at->statement, &w->a.at->statement->left, iterator);
    st->after = true;
    st->iterators = w->t->dims;
    for (int d = 0; d < w->t->dims; d++) {
        st->loop[d] = uk_loop_create(w->s, st, st->statement->iterator[d]->name, d);
        if (!st->loop[d])
            return w->s->context->failed ? UK_REFUSED : UK_OUT_OF_MEMORY;
        st->loops++;
        st->iterator[d].coefficient[st->loop[d]->id] = 1;
        w->a.part[d] = &w->stored->part[d];
    }
    if ((status = uk_attach_loops(&w->a)) || (status = uk_wait_for_sums(&w->a)) ||
        (status = uk_stage_operands(w->s, st)))
        return status;
    for (struct uk_stage *o = w->s->stages; o; o = o->next)
        if (uk_root_of(o) == uk_root_of(w->a.at))
            last = o;
    uk_link_before(w->s, st, last->next);
    return UK_OK;
}

/* Makes the computing stage and its readers access the buffer; the computing stage initializes it. */
static enum uk_status redirect(struct writing *w, const char *name) {
    struct uk_stage *at = w->a.at;
    struct uk_statement *starts = uk_alloc(w->s->arena, sizeof *starts);
    struct uk_tensor *buffer =
        uk_layout_buffer(w->s, w->kept, &w->layout, w->t, w->a.step->scope, name, w->a.step->at);

    if (!starts || !buffer)
        return uk_out_of_memory(w->s->context);
    *starts = *at->statement;
    starts->next = NULL;
    starts->assign = UK_ASSIGN;
    at->statement = starts;
    enum uk_status status = uk_layout_redirect(w->s, at, &at->operand[0], w->kept, &w->layout, buffer);
    if (w->a.st && !status)
        return uk_layout_redirect(w->s, w->a.st, &w->a.st->operand[1], w->kept, &w->layout, buffer);
    for (struct uk_stage *st = w->s->stages; st; st = st->next)
        for (int o = 1; o < st->operands && !status; o++)
            if (st->operand[o].tensor == w->t)
                status = uk_layout_redirect(w->s, st, &st->operand[o], w->kept, &w->layout, buffer);
    return status;
}

enum uk_status uk_apply_cache_write(struct uk_schedule *s, struct uk_step *step) {
    struct writing w = {.a = {.s = s, .step = step, .what = "cache_write"}, .s = s};
    const char *name = step->names ? step->name[0] : uk_format(s->arena, "%s_cached", step->subject);
    enum uk_status status;

    if (!name)
        return uk_out_of_memory(s->context);
    if ((status = uk_check_scope(s, step, "cache_write")) || (status = find_writer(&w)))
        return status;
    w.is_read_inside = is_read_inside(&w);
    if ((status = check_writer(&w)) ||
        (step->scope == UK_SCOPE_SHARED && (status = uk_sink_threads(s, w.a.at, &w.a.prefix, step->at))) ||
        (status = find_regions(&w)))
        return status;
    if (uk_is_name_used(s, name))
        return uk_refuse_attach(&w.a, "the name %s is taken; give another after ->", name);
    if (!w.is_read_inside && !(status = uk_check_sums_end(&w.a)))
        status = create_stage(&w, name);
    return status ? status : redirect(&w, name);
}
