/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether zeros in memory may replace the terms that pad(.., 0) leaves out of a sum. */
#include <math.h>
#include "stages.h"

/* True if a value of the type `from` is finite as one of the type `to`. */
static bool cast_is_finite(enum uk_type from, enum uk_type to) {
    const bool is_byte = uk_type_bytes(from) == 1;

    if (!uk_type_is_float(to))
        return true;
    if (!uk_type_is_float(from))
        return to != UK_F16 || is_byte;
    return from == to || to == UK_F64 || (to == UK_F32 && from != UK_F64);
}

/* True if the value is never infinite or NaN. */
static bool is_finite(const struct uk_expr *e) {
    if (!uk_type_is_float(e->type))
        return true;
    switch (e->op) {
    case UK_E_NUMBER:
        return e->is_integer || isfinite(e->number);
    case UK_E_ACCESS:
        return e->access.tensor->is_finite;
    case UK_E_NEG:
        return is_finite(e->arg[0]);
    case UK_E_CAST:
        return is_finite(e->arg[0]) && cast_is_finite(e->arg[0]->type, e->type);
    case UK_E_PAD:
        return is_finite(e->arg[0]) && is_finite(e->arg[1]);
    default: /* may overflow */
        return false;
    }
}

/* True if e contains the access under pad. *is_zero: e is 0 where the access is replaced by 0. */
static bool contains(const struct uk_expr *e, const struct uk_expr *access, bool *is_zero) {
    if (!e)
        return false;
    if (e->op == UK_E_PAD && e->arg[0] == access)
        return *is_zero = true;
    for (int i = 0; i < 3; i++)
        if (contains(e->arg[i], access, is_zero)) {
            *is_zero = *is_zero && (e->op == UK_E_CAST || (e->op == UK_E_MUL && is_finite(e->arg[1 - i])));
            return true;
        }
    return false;
}

bool uk_may_store_zeros(const struct uk_stage *st, int operand) {
    bool is_zero = false;

    return contains(st->statement->right, st->operand[operand].expr, &is_zero) && is_zero;
}
