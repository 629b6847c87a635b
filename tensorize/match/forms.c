/* SPDX-License-Identifier: Apache-2.0 */
/* The forms of a kernel that a nest needs: for `C =`, for `C +=`, and for the first tile of a sum. */
#include "attempt.h"

static const char *reduction_name(enum uk_reduce r) {
    static const char *const name[] = {[UK_REDUCE_NONE] = "no reduction",
                                       [UK_REDUCE_SUM] = "a sum",
                                       [UK_REDUCE_PROD] = "a product",
                                       [UK_REDUCE_MAX] = "a max",
                                       [UK_REDUCE_MIN] = "a min"};

    return name[r];
}

static const char *assignment_name(enum uk_assign a) {
    static const char *const name[] = {[UK_ASSIGN] = "=",
                                       [UK_ASSIGN_ADD] = "+=",
                                       [UK_ASSIGN_MULTIPLY] = "*=",
                                       [UK_ASSIGN_MAX] = "max=",
                                       [UK_ASSIGN_MIN] = "min="};

    return name[a];
}

bool uk_match_forms(struct uk_attempt *t) {
    const struct uk_statement *p = t->st->statement;
    const struct uk_form *f = t->k->form;
    static const enum uk_assign adds[] = {[UK_REDUCE_SUM] = UK_ASSIGN_ADD,
                                          [UK_REDUCE_PROD] = UK_ASSIGN_MULTIPLY,
                                          [UK_REDUCE_MAX] = UK_ASSIGN_MAX,
                                          [UK_REDUCE_MIN] = UK_ASSIGN_MIN};
    bool outer_sum = false, guarded = false;

    if (t->st->previous || t->st->is_filtered)
        return uk_record_difference(t, t->st->previous
                                           ? "a scan goes on from element to element"
                                           : "a `where` has relations that are not bounds of loops");
    if (t->ks->reduce == UK_REDUCE_NONE && p->reduce != UK_REDUCE_NONE && f[UK_FORM_COMPUTE].is_declared &&
        t->ks->assign == adds[p->reduce] && (p->assign == UK_ASSIGN || p->assign == t->ks->assign))
        return true; /* the kernel adds one term; plain loops initialize the sum */
    if (p->reduce != t->ks->reduce)
        return uk_record_difference(t, "the kernel computes %s, this stage %s", reduction_name(t->ks->reduce),
                                    reduction_name(p->reduce));
    for (int i = 0; i < t->tile; i++)
        outer_sum |= uk_is_reduced(t->st, t->st->loop[i]);
    if (p->reduce == UK_REDUCE_NONE)
        return (p->assign == t->ks->assign && f[UK_FORM_COMPUTE].is_declared) ||
               uk_record_difference(t, "the statement assigns by %s, which the kernel's `compute` does not",
                                    assignment_name(p->assign));
    if (p->assign != UK_ASSIGN && !f[UK_FORM_UPDATE].is_declared)
        return uk_record_difference(t, "%s needs the kernel's `update`, which it does not have",
                                    assignment_name(p->assign));
    if (outer_sum && !f[UK_FORM_UPDATE].is_declared)
        return uk_record_difference(
            t, "the sum is split over several tiles, which needs the kernel's `update`; it has none");
    for (int b = 0; b < t->st->bounds; b++)
        guarded |= t->st->bound[b].is_guard;
    if (guarded && !f[UK_FORM_UPDATE].is_declared)
        return uk_record_difference(
            t, "`where` or pad leaves terms out, so the sum is first set to 0, which needs the kernel's "
               "`update`; it has none");
    t->m.begins_sums =
        p->assign == UK_ASSIGN && (f[UK_FORM_COMPUTE].is_declared || f[UK_FORM_RESET].is_declared);
    if (p->assign == UK_ASSIGN && !t->m.begins_sums && !f[UK_FORM_UPDATE].is_declared)
        return uk_record_difference(t, "the kernel has neither compute nor update");
    for (int i = 0; i < t->st->iterators; i++) {
        const struct uk_index *e = p->extent[i];
        int64_t c;

        t->m.begins_sums &= !t->st->reduced[i] || (uk_index_is_int(e, &c) ? c > 0 : e->op == UK_I_VAR);
    }
    return true;
}
