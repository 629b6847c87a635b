/* SPDX-License-Identifier: Apache-2.0 */
/* The sizes for which accesses are inside their tensors, and the error if there are none. */
#include <math.h>
#include <isl/set.h>
#include "polyhedra.h"

/* Adds to `bad` the sizes for which some instance of the access, or of one in its subscripts, is outside its
 * tensor. */
static isl_set *add_outside(struct uk_schedule *s, const struct uk_stage *st, const struct uk_access *a,
                            isl_set *bad) {
    for (int d = 0; d < a->tensor->dims; d++) {
        isl_set *set = uk_sizes_outside_shape(s, st, a, d);

        bad = set ? isl_set_union(bad, set) : bad;
        if (a->index[d]->op == UK_I_ELEMENT) {
            const struct uk_access own = uk_element_access(a->index[d]);

            bad = add_outside(s, st, &own, bad);
        }
    }
    return bad;
}

static isl_set *add_outside_in(struct uk_schedule *s, const struct uk_stage *st, const struct uk_expr *e,
                               isl_set *bad) {
    if (e && e->op == UK_E_ACCESS)
        return add_outside(s, st, &e->access, bad);
    for (int i = e && e->op == UK_E_PAD; e && i < 3; i++)
        bad = add_outside_in(s, st, e->arg[i], bad);
    return bad;
}

/* ---- accesses that are never inside ---- */

/* True if `any` is not empty and a subset of `bad`. */
static bool are_all(isl_set *any, isl_set *bad) {
    return isl_set_is_empty(any) == isl_bool_false && isl_set_is_subset(any, bad) == isl_bool_true;
}

static const struct uk_access *never_inside(struct uk_schedule *s, const struct uk_stage *st,
                                            const struct uk_access *a, int *dim) {
    for (int d = 0; d < a->tensor->dims; d++) {
        isl_set *bad = uk_sizes_outside_shape(s, st, a, d), *any = bad ? uk_instance_sizes(s, st) : NULL;
        bool never = bad && are_all(any, bad);

        isl_set_free(bad);
        isl_set_free(any);
        *dim = d;
        if (never)
            return a;
    }
    return NULL;
}

static const struct uk_access *never_inside_in(struct uk_schedule *s, const struct uk_stage *st,
                                               const struct uk_expr *e, int *dim) {
    const struct uk_access *found = NULL;

    if (e && e->op == UK_E_ACCESS)
        return never_inside(s, st, &e->access, dim);
    for (int i = e && e->op == UK_E_PAD; e && i < 3 && !found; i++)
        found = never_inside_in(s, st, e->arg[i], dim);
    return found;
}

/* Where the expression has the access as its value; NULL: elsewhere. */
static struct uk_expr **place_of(struct uk_expr **e, const struct uk_access *a) {
    struct uk_expr **found = *e && (*e)->op == UK_E_ACCESS && &(*e)->access == a ? e : NULL;

    for (int i = 0; i < 3 && *e && !found; i++)
        found = place_of(&(*e)->arg[i], a);
    return found;
}

/* The statement with the access read through pad(), whose value changes nothing in its reduction. */
static void put_padded(struct uk_text *t, const struct uk_statement *st, const struct uk_access *a) {
    static const double neutral[] = {
        [UK_REDUCE_PROD] = 1, [UK_REDUCE_MAX] = -HUGE_VAL, [UK_REDUCE_MIN] = HUGE_VAL};
    struct uk_statement copy = *st;
    struct uk_expr **place = place_of(&copy.right, a), *const read = place ? *place : NULL;
    const double value = st->reduce > UK_REDUCE_SUM ? neutral[st->reduce] : 0;
    struct uk_expr number = {
        .op = UK_E_NUMBER, .number = value, .is_integer = value - value == 0, .integer = value == 1};
    struct uk_expr minus = {.op = UK_E_NEG, .arg = {&number}};
    struct uk_expr pad = {.op = UK_E_PAD, .arg = {read, value < 0 ? &minus : &number}};

    if (!place)
        return;
    if (value < 0)
        number.number = HUGE_VAL;
    *place = &pad;
    uk_print_statement(t, &copy);
    *place = read;
}

/* Composes the message: the access, its dimension, and what to do. */
static enum uk_status refuse_access(struct uk_schedule *s, const struct uk_stage *st,
                                    const struct uk_access *a, int dim, bool is_left) {
    struct uk_text access = {0}, index = {0}, extent = {0}, padded = {0};

    uk_print_access(&access, a, a->tensor->dims);
    uk_print_index(&index, a->index[dim]);
    uk_print_index(&extent, a->tensor->shape[dim]);
    const char *name = access.text ? access.text : a->tensor->name;
    const char *what = is_left           ? "write fewer elements, or make the extent larger"
                       : st->is_filtered ? ", or make an extent smaller; this `where` proves nothing, since "
                                           "it has !=, / or %, or is a scan's"
                                         : ", leave terms out by a `where`, or make an extent smaller";

    if (!is_left)
        put_padded(&padded, st->statement, a);
    enum uk_status status =
        uk_fail(s->context, UK_REFUSED, a->at.line ? a->at : st->statement->at,
                "%s is outside of %s for all sizes, unless there is nothing to "
                "compute: dimension %d is indexed by "
                "%s and its extent is %s; %s%s%s%s%s",
                name, a->tensor->name, dim, index.text ? index.text : "?", extent.text ? extent.text : "?",
                is_left ? "" : "read it through pad()", padded.length ? ", as in `" : "",
                padded.length ? padded.text : "", padded.length ? "`" : "", what);
    uk_text_free(padded.text);
    uk_text_free(access.text);
    uk_text_free(index.text);
    uk_text_free(extent.text);
    return status;
}

/* Refuses a stage that has instances for some sizes, but all its accesses inside for none of them. */
static enum uk_status check_never_inside(struct uk_schedule *s, const struct uk_stage *st,
                                         const struct uk_stage *all, isl_set *bad) {
    const struct uk_statement *t = st->statement;
    int dim;
    const struct uk_access *a = never_inside(s, all, &t->left, &dim);
    bool is_left = a != NULL;

    if (!a && !uk_is_empty(st))
        a = never_inside_in(s, st, t->right, &dim);
    if (a)
        return refuse_access(s, st, a, dim, is_left);
    isl_set *any = uk_instance_sizes(s, all);
    bool never = are_all(any, bad);
    isl_set_free(any);
    return never
               ? uk_fail(
                     s->context, UK_REFUSED, t->at,
                     "stage %s: there are no sizes for which all its accesses are inside their tensors, "
                     "unless "
                     "there is nothing to compute; read some through pad(), leave terms out by a `where`, or "
                     "change extents",
                     st->name)
               : UK_OK;
}

enum uk_status uk_inside_condition(struct uk_schedule *s, const struct uk_stage *st, struct uk_index **out) {
    uk_scope_begin(s);
    uk_scope_stage(s, st);
    isl_set *context = uk_context_set(s);
    isl_set *bad = isl_set_empty(isl_set_get_space(context));
    enum uk_status status = UK_OK;

    const struct uk_stage *all = uk_stage_without_guards(s, st);

    if (!all) {
        isl_set_free(context);
        isl_set_free(bad);
        return uk_out_of_memory(s->context);
    }
    /* Elements without any term, because of guards, are initialized too. */
    bad = add_outside(s, all, &st->statement->left, bad);
    if (!uk_is_empty(st))
        bad = add_outside_in(s, st, st->statement->right, bad);
    bad = isl_set_intersect(bad, isl_set_copy(context));
    isl_bool never = isl_set_is_empty(bad);
    if (never == isl_bool_true) {
        *out = uk_index_int(s->arena, 1);
    } else if (!(status = check_never_inside(s, st, all, bad))) {
        isl_set *good = isl_set_coalesce(isl_set_subtract(isl_set_copy(context), isl_set_copy(bad)));

        *out = uk_condition_index(s, isl_set_gist(good, isl_set_copy(context)));
    }
    isl_set_free(bad);
    isl_set_free(context);
    s->is_final |= status != UK_OK;
    if (!status)
        status = uk_isl_status(s);
    return status ? status : *out ? UK_OK : uk_out_of_memory(s->context);
}

enum uk_status uk_check_conditions(struct uk_schedule *s, struct uk_index *conditions) {
    uk_scope_begin(s);
    for (const struct uk_stage *st = s->stages; st; st = st->next)
        uk_scope_stage(s, st);
    uk_scope_index(s, conditions);
    isl_set *good = isl_set_intersect(uk_relation_params(s, conditions), uk_context_set(s));
    isl_set *any = isl_set_empty(isl_set_get_space(good));

    for (const struct uk_stage *st = s->stages; st; st = st->next)
        if (!uk_is_empty(st))
            any = isl_set_union(any, uk_instance_sizes(s, st));
    bool computes = isl_set_is_empty(any) == isl_bool_false;
    bool never = computes && isl_set_is_disjoint(any, good) == isl_bool_true;
    isl_set_free(good);
    isl_set_free(any);
    enum uk_status status = uk_isl_status(s);
    if (status || !never)
        return status;
    struct uk_text t = {0};
    uk_print_index(&t, conditions);
    status = uk_fail(
        s->context, UK_REFUSED, s->stages->statement->at,
        "there are no sizes for which the accesses of all stages are inside their tensors, unless there "
        "is nothing to compute: that would be %s; read some through pad(), or change extents",
        t.text ? t.text : "?");
    uk_text_free(t.text);
    return status;
}
