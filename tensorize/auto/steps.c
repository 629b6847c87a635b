/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps as data, applied as if they had been written.
 *
 * Copies of operands for the automatic schedule: a tensor that a stage reads at several subscripts is copied
 * once for each of them; one that several stages read in the same way is copied once, for the whole program.
 */
#include <string.h>
#include "steps.h"

struct uk_step *uk_step_on(struct uk_schedule *s, enum uk_step_kind kind, struct uk_stage *st,
                           struct uk_loop *const *loops, int n) {
    struct uk_step *step = uk_alloc(s->arena, sizeof *step);

    if (!step || !(step->loop = uk_alloc(s->arena, sizeof *step->loop * (size_t)(n + 1))))
        return NULL;
    step->kind = kind;
    step->at = st->statement->at;
    step->loops = n;
    for (int i = 0; i < n; i++)
        step->loop[i] = (struct uk_loop_name){.stage = st->name, .loop = loops[i]->var->name, .at = step->at};
    return step;
}

enum uk_status uk_apply_one(struct uk_schedule *s, struct uk_step *step) {
    return step ? uk_apply_steps(s, step) : uk_out_of_memory(s->context);
}

enum uk_status uk_try_step(struct uk_schedule *s, struct uk_step *step, bool *done) {
    enum uk_status status = uk_apply_one(s, step);

    *done = !status;
    if (status != UK_REFUSED && status != UK_UNSUPPORTED)
        return status;
    uk_context_forget(s->context);
    return UK_OK;
}

struct uk_step *uk_step_of(struct uk_schedule *s, enum uk_step_kind kind, struct uk_stage *st) {
    struct uk_step *step = uk_step_on(s, kind, st, NULL, 0);

    if (step)
        step->subject = st->name;
    return step;
}

enum uk_status uk_split_unconditionally(struct uk_schedule *s, struct uk_stage *st, struct uk_loop **l,
                                        int64_t factor, const char *suffix, struct uk_loop **outer) {
    struct uk_step *step;
    int at = uk_loop_position(st, *l);

    *outer = NULL;
    const char *base = st->statement->iterator[(*l)->iterator]->name;
    if (!(step = uk_step_on(s, UK_STEP_SPLIT, st, l, 1)) ||
        !(step->name = uk_alloc(s->arena, 2 * sizeof *step->name)))
        return uk_out_of_memory(s->context);
    step->number[0] = factor;
    step->names = 2;
    step->name[0] = uk_fresh_name(s, base, suffix);
    step->name[1] = uk_fresh_name(s, base, !strcmp(suffix, "c") ? "b" : "i");
    if (!step->name[0] || !step->name[1])
        return uk_out_of_memory(s->context);
    enum uk_status status = uk_apply_steps(s, step);
    if (status)
        return status;
    *outer = st->loop[at];
    *l = st->loop[at + 1];
    return UK_OK;
}

enum uk_status uk_split_by(struct uk_schedule *s, struct uk_stage *st, struct uk_loop **l, int64_t factor,
                           const char *suffix, struct uk_loop **outer) {
    int64_t n = uk_constant_extent(st, *l);

    *outer = NULL;
    return n >= 0 && n <= factor ? UK_OK : uk_split_unconditionally(s, st, l, factor, suffix, outer);
}

/* ---- copies ---- */

/* True if a's access to the tensor has iterators in the same subscripts as b's: output iterators at the same
 * position, or summed ones. */
static bool reads_alike(const struct uk_stage *a, const struct uk_access *x, const struct uk_stage *b,
                        const struct uk_access *y) {
    const struct uk_statement *s = a->statement, *t = b->statement;

    for (int d = 0; d < x->tensor->dims; d++) {
        int i = 0, k = 0;

        while (i < s->iterators && !(x->index[d]->op == UK_I_VAR && x->index[d]->var == s->iterator[i]))
            i++;
        while (k < t->iterators && !(y->index[d]->op == UK_I_VAR && y->index[d]->var == t->iterator[k]))
            k++;
        if (i == s->iterators || k == t->iterators || a->reduced[i] != b->reduced[k] ||
            (!a->reduced[i] && i != k))
            return false;
    }
    return true;
}

/* True if a later stage will want the same copy, because it computes the same from operands of the same
 * types. */
static bool is_wanted_again(const struct uk_stage *st, int o) {
    const struct uk_operand *x = &st->operand[o];

    for (const struct uk_stage *e = st->next; e; e = e->next) {
        bool same = !e->is_copy && !e->is_gone && !e->parent && !e->match && e->operands == st->operands &&
                    e->statement->reduce == st->statement->reduce &&
                    st->statement->reduce != UK_REDUCE_NONE && e->operand[o].tensor == x->tensor;

        for (int i = 0; i < st->operands && same; i++)
            same =
                e->operand[i].tensor->type == st->operand[i].tensor->type && e->operand[i].pad == UK_PAD_NONE;
        if (same && reads_alike(st, &x->expr->access, e, &e->operand[o].expr->access))
            return true;
    }
    return false;
}

/* The copy of the tensor at root that an earlier stage has made; NULL: there is none. */
static struct uk_stage *find_copy(const struct uk_schedule *s, const struct uk_tensor *t) {
    for (struct uk_stage *c = s->stages; c; c = c->next)
        if (c->copied && !c->prefix && c->operand[1].tensor == t)
            return c;
    return NULL;
}

void uk_name_access(const struct uk_stage *st, int o, struct uk_step *step) {
    const struct uk_operand *x = &st->operand[o];
    struct uk_access *a = (struct uk_access *)&x->expr->access;

    for (int i = 1; i < st->operands; i++)
        if (i != o && st->operand[i].tensor == x->tensor &&
            !uk_same_access(&st->operand[i].expr->access, a->index, a->tensor->dims)) {
            step->subscript = a->index;
            step->subscripts = a->tensor->dims;
        }
}

/* True if a step at `root` has to name the stage: else it is for the last stage named, or the only one that
 * reads the tensor. */
static bool must_name_stage(const struct uk_schedule *s, const struct uk_stage *st,
                            const struct uk_tensor *t) {
    for (const struct uk_stage *e = s->stages; e && s->last != st; e = e->next)
        for (int o = 1; o < e->operands && e != st; o++)
            if (e->operand[o].tensor == t)
                return true;
    return false;
}

static enum uk_status apply_at(struct uk_schedule *s, struct uk_stage *st, const struct uk_tensor *t,
                               struct uk_loop *place, const char *name, struct uk_step *step) {
    if (!place)
        step->loop[0] = (struct uk_loop_name){
            .stage = must_name_stage(s, st, t) ? st->name : NULL, .loop = "root", .at = step->at};
    else
        step->loop[0] = (struct uk_loop_name){.stage = st->name, .loop = place->var->name, .at = step->at};
    step->loops = 1;
    step->names = 0;
    if (name) {
        if (!(step->name = uk_alloc(s->arena, sizeof *step->name)))
            return uk_out_of_memory(s->context);
        step->names = 1;
        step->name[0] = name;
    }
    return uk_apply_one(s, step);
}

enum uk_status uk_copy_tensor(struct uk_schedule *s, struct uk_stage *st, int o, struct uk_loop *place,
                              struct uk_step *step) {
    const struct uk_tensor *t = st->operand[o].tensor;
    const char *suffix = step->kind == UK_STEP_PACK ? "_packed" : "_cached";
    const struct uk_stage *copy = find_copy(s, t);
    bool again = is_wanted_again(st, o);

    step->subject = t->name;
    if (copy) {
        enum uk_status status = apply_at(s, st, t, NULL, copy->name, step);

        if (status != UK_REFUSED)
            return status;
        uk_context_forget(s->context);
    }
    const char *usual = uk_format(s->arena, "%s%s", t->name, suffix);
    const char *name = usual ? uk_fresh_name(s, t->name, suffix) : NULL;
    if (!name)
        return uk_out_of_memory(s->context);
    return apply_at(s, st, t, again ? NULL : place, strcmp(name, usual) ? name : NULL, step);
}

enum uk_status uk_copy_operand(struct uk_schedule *s, struct uk_stage *st, int o, struct uk_loop *place,
                               struct uk_step *step) {
    uk_name_access(st, o, step);
    return uk_copy_tensor(s, st, o, place, step);
}
