/* SPDX-License-Identifier: Apache-2.0 */
/* Loops that code generation unrolls, since they select elements of variables. */
#include "generator.h"

static bool indexes_variable(const struct uk_codegen *g, const struct uk_access *a, const struct uk_var *v) {
    bool found = false;

    for (int d = 0; d < a->tensor->stored_dims; d++)
        found |= uk_mentions(a->index[d], v);
    return found && uk_cg_is_variable(g, a->tensor);
}

static bool reads_variable(const struct uk_codegen *g, const struct uk_expr *e, const struct uk_var *v) {
    bool found = e->op == UK_E_ACCESS && indexes_variable(g, &e->access, v);

    for (int i = 0; i < 3 && !found; i++)
        found = e->arg[i] && reads_variable(g, e->arg[i], v);
    return found;
}

bool uk_cg_selects_variable(const struct uk_codegen *g, const struct uk_node *n, const struct uk_var *v) {
    for (; n; n = n->next)
        if (n->op == UK_N_STORE ? indexes_variable(g, &n->target, v) || reads_variable(g, n->expr, v)
                                : n->op != UK_N_CALL && (uk_cg_selects_variable(g, n->body, v) ||
                                                         uk_cg_selects_variable(g, n->other, v)))
            return true;
    return false;
}

int64_t uk_cg_copies_of_body(const struct uk_codegen *g, const struct uk_node *n) {
    const struct uk_interval range = uk_cg_loop_range(g, n);
    const bool is_constant = uk_index_is_int(n->lower, NULL) && uk_index_is_int(n->upper, NULL);

    if (range.low < 0 || range.high == INT64_MAX || range.high < range.low || n->moves)
        return 1;
    if (is_constant && (n->loop == UK_LOOP_UNROLLED || (g->launch && n->loop == UK_LOOP_VECTOR)))
        return (range.high - range.low) / n->step + 1;
    return (g->launch || is_constant) && uk_cg_selects_variable(g, n->body, n->var)
               ? (range.high - range.low) / n->step + 1
               : 1;
}
