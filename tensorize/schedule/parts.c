/* SPDX-License-Identifier: Apache-2.0 */
/* Stages that steps make of a statement, and put in the place of its stage. */
#include "schedule.h"

bool uk_expr_mentions(const struct uk_expr *e, const struct uk_var *v) {
    bool found = e->op == UK_E_INDEX && uk_mentions(e->index, v);

    for (int d = 0; e->op == UK_E_ACCESS && d < e->access.tensor->dims && !found; d++)
        found = uk_mentions(e->access.index[d], v);
    for (int i = 0; i < 3 && !found; i++)
        found = e->arg[i] && uk_expr_mentions(e->arg[i], v);
    return found;
}

/* True if no step has changed the stage: parts are made of its statement. */
static bool is_unchanged(const struct uk_stage *st) {
    bool same = !st->parent && st->source == st->statement && st->loops == st->iterators;

    for (int i = 0; i < st->loops && same; i++)
        same = st->loop[i]->iterator == i && st->loop[i]->kind == UK_LOOP_SERIAL;
    for (int o = 0; o < st->operands && same; o++)
        same = st->operand[o].tensor == (o ? st->operand[o].expr->access.tensor : st->statement->left.tensor);
    return same;
}

enum uk_status uk_check_parts(const struct uk_schedule *s, const struct uk_stage *st, struct uk_position at,
                              const char *word) {
    const char *reason = NULL;

    if (uk_scatters(st->statement))
        reason = "the output has an element of a tensor as a subscript; use a temp";
    else if (!is_unchanged(st))
        reason = "another step has changed the stage; put this step before it";
    for (const struct uk_stage *c = s->stages; c && !reason; c = c->next)
        if (c->parent == st)
            reason = "another stage is attached to this one; put this step before that";
    return reason ? uk_fail(s->context, UK_REFUSED, at, "%s %s: %s", word, st->name, reason) : UK_OK;
}

enum uk_status uk_part_name(struct uk_schedule *s, const struct uk_stage *st, struct uk_position at,
                            const char *word, const char *suffix, const char **name) {
    *name = uk_format(s->arena, "%s%s", st->statement->label, suffix);
    if (!*name)
        return uk_out_of_memory(s->context);
    if (!uk_is_name_used(s, *name))
        return UK_OK;
    return uk_fail(s->context, UK_REFUSED, at,
                   "%s %s: the name %s, of a stage that the step makes, is taken; rename it", word, st->name,
                   *name);
}

struct uk_expr *uk_element_of(struct uk_schedule *s, const struct uk_statement *t, struct uk_position at) {
    struct uk_expr *e = uk_alloc(s->arena, sizeof *e);

    if (!e)
        return NULL;
    *e = (struct uk_expr){.op = UK_E_ACCESS, .type = t->left.tensor->type, .depth = 1, .at = at};
    return uk_statement_element(s, t, t->left.tensor, &e->access) ? e : NULL;
}

enum uk_status uk_add_part(struct uk_schedule *s, struct uk_statement *t, struct uk_parts *out) {
    struct uk_stage **end = &out->part[out->count];

    if (!t)
        return uk_out_of_memory(s->context);
    t->next = NULL;
    t->ranges = 0;
    const enum uk_status status = uk_stage_create(s, t, &end);
    out->count += !status;
    return status;
}

void uk_forget_parts(struct uk_schedule *s, const struct uk_parts *made, struct uk_buffer *buffers) {
    for (int i = 0; i < made->count; i++)
        made->part[i]->is_gone = true;
    s->buffers = buffers;
}

typedef enum uk_status make_parts(struct uk_schedule *s, const struct uk_stage *st, struct uk_position at,
                                  struct uk_parts *out);

/* Puts the parts in the place of the stage that the step names. */
static enum uk_status replace(struct uk_schedule *s, struct uk_step *step, const char *word,
                              make_parts *make) {
    struct uk_stage *st = uk_stage_find(s, step->subject), **at = &s->stages;
    const char *near = st ? NULL : uk_closest_stage(s, step->subject);
    struct uk_parts made;

    if (!st)
        return uk_fail(s->context, UK_REFUSED, step->at,
                       "%s: there is no stage %s%s%s; name one of the statements", word, step->subject,
                       near ? "; did you mean " : "", near ? near : "");
    const enum uk_status status = make(s, st, step->at, &made);
    if (status)
        return status;
    while (*at != st)
        at = &(*at)->next;
    for (int i = 0; i < made.count; i++) {
        *at = made.part[i];
        at = &made.part[i]->next;
    }
    *at = st->next;
    st->is_gone = true;
    if (s->last == st)
        s->last = NULL;
    return UK_OK;
}

enum uk_status uk_apply_multiply_out(struct uk_schedule *s, struct uk_step *step) {
    return replace(s, step, "multiply_out", uk_multiply_out);
}

enum uk_status uk_apply_widen(struct uk_schedule *s, struct uk_step *step) {
    return replace(s, step, "widen", uk_widen_factors);
}
