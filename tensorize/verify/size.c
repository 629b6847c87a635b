/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers, the values of sizes, and the assumptions about them. */
#include "verify.h"

/* splitmix64 */
uint64_t uk_verify_random(struct uk_verifier *v, uint64_t n) {
    uint64_t x = v->seed += 0x9e3779b97f4a7c15;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return (x ^ (x >> 31)) % n;
}

int64_t uk_verify_size(const struct uk_var *var, void *verifier) {
    return ((const struct uk_verifier *)verifier)->size[var->number];
}

int64_t uk_verify_value(struct uk_verifier *v, const struct uk_index *e) {
    bool overflow = false;
    int64_t n = uk_index_eval(e, uk_verify_size, v, &overflow);

    return overflow ? -1 : n;
}

void uk_verify_bounds(const struct uk_verifier *v, const struct uk_var *var, int64_t *min, int64_t *max) {
    *min = 0;
    *max = INT64_MAX;
    for (const struct uk_assume *a = v->intrinsic->declaration->assumes; a; a = a->next) {
        const struct uk_index *r = a->relation;
        bool reversed = r->b && r->b->op == UK_I_VAR && r->b->var == var;
        const struct uk_index *name = reversed ? r->b : r->a, *other = reversed ? r->a : r->b;
        int64_t c;

        if (!other || name->op != UK_I_VAR || name->var != var || !uk_index_is_int(other, &c))
            continue;
        enum uk_index_op op = r->op;
        if (reversed)
            op = op == UK_I_LE   ? UK_I_GE
                 : op == UK_I_LT ? UK_I_GT
                 : op == UK_I_GE ? UK_I_LE
                 : op == UK_I_GT ? UK_I_LT
                                 : op;
        if ((op == UK_I_LE || op == UK_I_LT || op == UK_I_EQ) && c - (op == UK_I_LT) < *max)
            *max = c - (op == UK_I_LT);
        if ((op == UK_I_GE || op == UK_I_GT || op == UK_I_EQ) && c + (op == UK_I_GT) > *min)
            *min = c + (op == UK_I_GT);
    }
    if (*max < *min)
        *max = *min;
}
