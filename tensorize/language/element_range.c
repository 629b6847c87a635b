/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of values for tensors whose elements serve as subscripts, so that generated data index inside the
 * tensors. */
#include "language.h"

struct range {
    const struct uk_tensor *of;
    const int64_t *size;
    int64_t lower, upper;
    bool any, overflow;
};

static int64_t size_value(const struct uk_var *v, void *range) {
    return v->defined ? v->value : ((const struct range *)range)->size[v->number];
}

static void narrow(struct range *r, const struct uk_index *e, const struct uk_index *extent) {
    if (e->op != UK_I_ELEMENT || e->tensor != r->of)
        return;
    const int64_t n = uk_index_eval(extent, size_value, r, &r->overflow), least = e->wraps ? -n : 0;

    r->any = true;
    r->upper = n < r->upper ? n : r->upper;
    r->lower = least > r->lower ? least : r->lower;
}

static void narrow_by(struct range *r, const struct uk_expr *e) {
    for (int d = 0; e->op == UK_E_ACCESS && d < e->access.tensor->dims; d++)
        narrow(r, e->access.index[d], e->access.tensor->shape[d]);
    for (int i = 0; i < 3 && e->arg[i]; i++)
        narrow_by(r, e->arg[i]);
}

bool uk_element_range(const struct uk_program *p, const struct uk_tensor *t, const int64_t *size,
                      int64_t *lower, int64_t *upper) {
    const int64_t most = uk_integer_max(t->type);
    struct range r = {
        .of = t, .size = size, .upper = most, .lower = uk_type_is_unsigned(t->type) ? 0 : -most};

    for (const struct uk_statement *s = p->statements; s; s = s->next) {
        for (int d = 0; d < s->left.tensor->dims; d++)
            narrow(&r, s->left.index[d], s->left.tensor->shape[d]);
        narrow_by(&r, s->right);
    }
    *lower = r.lower;
    *upper = r.upper;
    return r.any && !r.overflow && r.lower < r.upper;
}
