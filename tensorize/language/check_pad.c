/* SPDX-License-Identifier: Apache-2.0 */
/* Warns of a mistake that pad() hides: a sum over one size reads along a dimension of another size, and
 * silently gets the padding value beyond it. */
#include <inttypes.h>
#include "language.h"

static bool has(const struct uk_index *e, const struct uk_index *part) {
    return e && (uk_index_equal(e, part) || has(e->a, part) || has(e->b, part) || has(e->c, part));
}

/* True if an assumption or a shape mentions both. */
static bool are_related(const struct uk_program *p, const struct uk_index *a, const struct uk_index *b) {
    for (const struct uk_assume *s = p->assumes; s; s = s->next)
        if (has(s->relation, a) && has(s->relation, b))
            return true;
    return uk_same_extent(p, a, b);
}

/* Returns the extent of the sum if e is an iterator that is summed over; else NULL. */
static const struct uk_index *summed_extent(const struct uk_statement *s, const struct uk_index *e) {
    for (int i = s->left_iterators; i < s->iterators && e->op == UK_I_VAR; i++)
        if (s->iterator[i] == e->var)
            return s->extent[i];
    return NULL;
}

/* Warns of two sizes that are defined: no assumption can make these equal. */
static enum uk_status warn_of_constants(const struct uk_program *p, struct uk_position at,
                                        const struct uk_access *a, int d, const struct uk_var *sum) {
    const struct uk_var *extent = a->tensor->shape[d]->var;

    if (sum->value <= extent->value)
        return UK_OK;
    return uk_warn(p->context, at,
                   "index %s has extent %s = %" PRId64 ", but dimension %d of %s has extent %s = %" PRId64
                   ": elements beyond it are read as the pad's value; if that is not meant, end the sum by "
                   "`where %s < %s`",
                   a->index[d]->var->name, sum->name, sum->value, d, a->tensor->name, extent->name,
                   extent->value, a->index[d]->var->name, extent->name);
}

static enum uk_status warn_of_access(const struct uk_program *p, const struct uk_statement *s,
                                     const struct uk_access *a) {
    enum uk_status status = UK_OK;

    for (int d = 0; d < a->tensor->dims && !status; d++) {
        const struct uk_index *sum = summed_extent(s, a->index[d]), *extent = a->tensor->shape[d];

        if (!sum || sum->op != UK_I_VAR || extent->op != UK_I_VAR || are_related(p, sum, extent))
            continue;
        if (sum->var->defined && extent->var->defined) {
            status = warn_of_constants(p, a->index[d]->at.line ? a->index[d]->at : s->at, a, d, sum->var);
            continue;
        }
        status = uk_warn(p->context, a->index[d]->at.line ? a->index[d]->at : s->at,
                         "index %s has extent %s, but dimension %d of %s has extent %s: elements beyond it "
                         "are read as the "
                         "pad's value; if the two are one size, call both %s, or add `assume %s == %s`",
                         a->index[d]->var->name, sum->var->name, d, a->tensor->name, extent->var->name,
                         sum->var->name, extent->var->name, sum->var->name);
    }
    return status;
}

static enum uk_status warn_of(const struct uk_program *p, const struct uk_statement *s,
                              const struct uk_expr *e) {
    enum uk_status status = e->op == UK_E_PAD ? warn_of_access(p, s, &e->arg[0]->access) : UK_OK;

    for (int i = 0; i < 3 && e->arg[i] && !status; i++)
        status = warn_of(p, s, e->arg[i]);
    return status;
}

enum uk_status uk_warn_of_pads(const struct uk_program *p) {
    enum uk_status status = UK_OK;

    for (const struct uk_statement *s = p->statements; s && !status; s = s->next)
        if (s->reduce != UK_REDUCE_NONE)
            status = warn_of(p, s, s->right);
    return status;
}
