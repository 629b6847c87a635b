/* SPDX-License-Identifier: Apache-2.0 */
/* Temps that statements write in parts: checks that each element that is read was written before, for all
 * sizes that the program allows. */
#include <inttypes.h>
#include <isl/map.h>
#include <isl/space.h>
#include "polyhedra.h"

/* A stage whose loops are the statement's iterators. */
static struct uk_stage *iterators_of(struct uk_schedule *s, const struct uk_statement *t) {
    struct uk_stage *st = uk_alloc(s->arena, sizeof *st);
    struct uk_loop *loop = uk_alloc(s->arena, 2 * UK_MAX_DIMS * sizeof *loop);

    for (; st && loop && st->loops < t->iterators; st->loops++) {
        loop[st->loops].var = t->iterator[st->loops];
        st->loop[st->loops] = &loop[st->loops];
    }
    return loop ? st : NULL;
}

static void scope_statement(struct uk_schedule *s, const struct uk_statement *t) {
    for (int i = 0; i < t->iterators; i++)
        uk_scope_index(s, t->extent[i]);
    uk_scope_index(s, t->where);
    for (int d = 0; d < t->left.tensor->dims; d++) {
        uk_scope_index(s, t->left.index[d]);
        uk_scope_index(s, t->left.tensor->shape[d]);
    }
}

static isl_set *less_than(struct uk_schedule *s, const struct uk_stage *st, isl_space *sp,
                          const struct uk_index *e, const struct uk_index *extent) {
    return isl_pw_aff_lt_set(uk_isl_affine(s, st, sp, e), uk_isl_affine(s, st, sp, extent));
}

/* Maps every point to 0 <= index < extent: the values of an index that is read from a tensor. */
static isl_map *any_of(struct uk_schedule *s, const struct uk_stage *st, isl_space *sp,
                       const struct uk_index *extent) {
    isl_map *all = uk_isl_any_value(sp), *end = isl_map_from_pw_aff(uk_isl_affine(s, st, sp, extent));

    all = isl_map_lower_bound_si(all, isl_dim_out, 0, 0);
    return isl_map_intersect(
        all, isl_map_apply_range(end, isl_map_lex_gt(isl_space_range(isl_map_get_space(all)))));
}

/* The elements of the access's tensor that the statement accesses, over all values of its iterators. Reads
 * leave out terms that `where` excludes. */
static isl_set *elements_of(struct uk_schedule *s, const struct uk_statement *t, const struct uk_access *a) {
    const struct uk_stage *st = iterators_of(s, t);

    if (!st)
        return NULL;
    isl_space *sp = uk_loop_space(s, t->iterators, NULL);
    isl_set *box = isl_set_universe(isl_space_copy(sp));

    for (int i = 0; i < t->iterators; i++) {
        const struct uk_index *v = uk_index_var(s->arena, t->iterator[i]);

        box = isl_set_lower_bound_si(box, isl_dim_set, (unsigned)i, 0);
        if (a != &t->left || i < t->left_iterators) /* an empty sum is written, too */
            box = isl_set_intersect(box, less_than(s, st, sp, v, t->extent[i]));
    }
    for (int d = 0; d < a->tensor->dims; d++) {
        if (uk_has_element(a->index[d]))
            continue;
        isl_set *low = isl_pw_aff_nonneg_set(uk_isl_affine(s, st, sp, a->index[d]));

        box = isl_set_intersect(isl_set_intersect(box, low),
                                less_than(s, st, sp, a->index[d], a->tensor->shape[d]));
    }
    if (a != &t->left && t->where)
        box = isl_set_intersect(box, uk_relation_set(s, st, sp, t->where));
    isl_map *m = isl_map_from_domain(box);

    for (int d = 0; d < a->tensor->dims; d++)
        m = isl_map_flat_range_product(m, uk_has_element(a->index[d])
                                              ? any_of(s, st, sp, a->tensor->shape[d])
                                              : isl_map_from_pw_aff(uk_isl_affine(s, st, sp, a->index[d])));
    isl_space_free(sp);
    return isl_map_range(m);
}

/* Leaves out of `missing` what the statement certainly writes: at elements of a tensor it may write any
 * element, and need not write a given one. */
static isl_set *without_written(struct uk_schedule *s, const struct uk_statement *w, isl_set *missing) {
    return uk_scatters(w) ? missing : isl_set_subtract(missing, elements_of(s, w, &w->left));
}

/* True if the statement writes the whole tensor, by its iterators alone. */
static bool writes_all(const struct uk_program *p, const struct uk_statement *t) {
    for (int d = 0; d < t->left.tensor->dims; d++)
        if (t->left.index[d]->op != UK_I_VAR || !uk_same_extent(p, t->extent[d], t->left.tensor->shape[d]))
            return false;
    return true;
}

static enum uk_status refuse(struct uk_schedule *s, const struct uk_access *a, const struct uk_point *point) {
    const struct uk_tensor *t = a->tensor;
    const char *element = uk_format(s->arena, "%s[", t->name);

    for (int d = 0; d < t->dims && element; d++)
        element = uk_format(s->arena, "%s%s%" PRId64, element, d ? ", " : "", point->value[d]);
    return uk_fail(s->context, UK_REFUSED, a->at,
                   "temp %s: %s] is read, but no earlier statement writes it%s; write it, or exclude these "
                   "sizes by `assume`",
                   t->name, element ? element : t->name, point->sizes);
}

/* Checks an access that reads a temp. */
static enum uk_status check_read(struct uk_schedule *s, const struct uk_statement *t,
                                 const struct uk_access *a) {
    const struct uk_statement *w;
    struct uk_point point;

    if (a->tensor->kind != UK_TENSOR_TEMP)
        return UK_OK;
    for (w = s->program->statements; w != t; w = w->next)
        if (w->left.tensor == a->tensor && writes_all(s->program, w))
            return UK_OK;
    uk_scope_begin(s);
    scope_statement(s, t);
    for (int d = 0; d < a->tensor->dims; d++) {
        uk_scope_index(s, a->tensor->shape[d]);
        uk_scope_index(s, a->index[d]);
    }
    for (w = s->program->statements; w != t; w = w->next)
        if (w->left.tensor == a->tensor)
            scope_statement(s, w);
    isl_set *missing = isl_set_intersect_params(elements_of(s, t, a), uk_context_set(s));

    for (w = s->program->statements; w != t; w = w->next)
        if (w->left.tensor == a->tensor)
            missing = without_written(s, w, missing);
    if (uk_lexmin_point(s, missing, &point))
        return refuse(s, a, &point);
    return uk_isl_status(s);
}

/* Checks the elements that are subscripts of the access. */
static enum uk_status check_subscripts(struct uk_schedule *s, const struct uk_statement *t,
                                       const struct uk_access *a) {
    enum uk_status status = UK_OK;

    for (int d = 0; d < a->tensor->dims && !status; d++)
        if (a->index[d]->op == UK_I_ELEMENT) {
            const struct uk_access own = uk_element_access(a->index[d]);

            status = check_read(s, t, &own);
        }
    return status;
}

static enum uk_status check_reads(struct uk_schedule *s, const struct uk_statement *t,
                                  const struct uk_expr *e) {
    enum uk_status status = e->op == UK_E_ACCESS ? check_read(s, t, &e->access) : UK_OK;

    if (e->op == UK_E_ACCESS && !status)
        status = check_subscripts(s, t, &e->access);
    for (int i = 0; i < 3 && e->arg[i] && !status; i++)
        status = check_reads(s, t, e->arg[i]);
    return status;
}

enum uk_status uk_check_written(struct uk_schedule *s) {
    enum uk_status status = UK_OK;

    for (const struct uk_statement *t = s->program->statements; t && !status; t = t->next) {
        if (t->assign != UK_ASSIGN)
            status = check_read(s, t, &t->left);
        if (!status)
            status = check_subscripts(s, t, &t->left);
        if (!status)
            status = check_reads(s, t, t->right);
    }
    return status;
}
