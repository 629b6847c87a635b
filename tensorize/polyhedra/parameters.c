/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selects the sizes that are parameters of an isl problem: those in its stages and relations, and those that
 * assumptions connect with them. The cost of a problem grows with its parameters, and a long program has many
 * sizes.
 */
#include <isl/id.h>
#include <isl/space.h>
#include "polyhedra.h"

void uk_scope_begin(struct uk_schedule *s) {
    s->scope++;
}

static void mark(struct uk_schedule *s, const struct uk_index *e) {
    if (!e)
        return;
    if (e->op == UK_I_VAR)
        e->var->scope = s->scope;
    mark(s, e->a);
    mark(s, e->b);
    mark(s, e->c);
}

bool uk_is_in_scope(const struct uk_schedule *s, const struct uk_index *relation) {
    if (!relation)
        return false;
    if (relation->op == UK_I_VAR)
        return relation->var->scope == s->scope;
    return uk_is_in_scope(s, relation->a) || uk_is_in_scope(s, relation->b) || uk_is_in_scope(s, relation->c);
}

static bool has_others(const struct uk_schedule *s, const struct uk_index *e) {
    if (!e)
        return false;
    if (e->op == UK_I_VAR)
        return e->var->scope != s->scope;
    return has_others(s, e->a) || has_others(s, e->b) || has_others(s, e->c);
}

/* An assumption on a size in the scope adds all of its sizes, repeated until nothing changes. */
static void close_scope(struct uk_schedule *s) {
    for (bool more = true; more;) {
        more = false;
        for (const struct uk_assume *a = s->program->assumes; a; a = a->next)
            if (uk_is_in_scope(s, a->relation) && has_others(s, a->relation)) {
                mark(s, a->relation);
                more = true;
            }
    }
}

void uk_scope_index(struct uk_schedule *s, const struct uk_index *e) {
    mark(s, e);
    close_scope(s);
}

static void mark_affine(struct uk_schedule *s, const struct uk_affine *f) {
    mark(s, f->rest);
    mark(s, f->general);
}

static void mark_tensor(struct uk_schedule *s, const struct uk_tensor *t) {
    for (int d = 0; d < t->dims; d++)
        mark(s, t->shape[d]);
}

static void mark_expression(struct uk_schedule *s, const struct uk_expr *e) {
    if (!e)
        return;
    for (int d = 0; e->op == UK_E_ACCESS && d < e->access.tensor->dims; d++)
        mark(s, e->access.index[d]);
    if (e->op == UK_E_ACCESS)
        mark_tensor(s, e->access.tensor);
    for (int i = 0; i < 3; i++)
        mark_expression(s, e->arg[i]);
}

void uk_scope_stage(struct uk_schedule *s, const struct uk_stage *st) {
    const struct uk_statement *t = st->statement;

    for (int i = 0; i < st->iterators; i++) {
        mark_affine(s, &st->iterator[i]);
        mark(s, t->extent[i]);
    }
    for (int b = 0; b < st->bounds; b++) {
        mark_affine(s, &st->bound[b].form);
        mark(s, st->bound[b].upper);
    }
    for (int o = 0; o < st->operands; o++)
        for (int d = 0; d < st->operand[o].tensor->stored_dims; d++)
            mark_affine(s, &st->operand[o].index[d]);
    for (int d = 0; d < t->left.tensor->dims; d++)
        mark(s, t->left.index[d]);
    mark_tensor(s, t->left.tensor);
    mark_expression(s, t->right);
    close_scope(s);
}

void uk_scope_all(struct uk_schedule *s) {
    uk_scope_begin(s);
    for (struct uk_var *v = s->program->sizes; v; v = v->next)
        v->scope = s->scope;
    for (struct uk_var *v = s->products; v; v = v->next)
        v->scope = s->scope;
}

/* Extents are parameters; strides only if an assumption mentions them. */
static bool is_parameter(const struct uk_schedule *s, const struct uk_var *v) {
    bool found = v->is_extent;

    for (const struct uk_assume *a = s->program->assumes; a && !found; a = a->next)
        found = uk_mentions(a->relation, v);
    return found && !v->defined;
}

isl_space *uk_parameters(struct uk_schedule *s) {
    isl_space *sp = isl_space_params_alloc(uk_isl(s), 0);

    for (const struct uk_var *v = s->program->sizes; v; v = v->next)
        if (v->scope == s->scope && is_parameter(s, v))
            sp = isl_space_add_param_id(sp, isl_id_alloc(s->context->isl, v->name, (void *)v));
    for (const struct uk_var *v = s->products; v; v = v->next)
        if (v->scope == s->scope)
            sp = isl_space_add_param_id(sp, isl_id_alloc(s->context->isl, v->name, (void *)v));
    return sp;
}
