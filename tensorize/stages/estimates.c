/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates of sizes from constants, assumptions and the defaults of `size` items. */
#include "stages.h"

enum { GUESS = 1024 }; /* value of unknown sizes */

/* The size's value: by --define, by a `size` item, or by its definition; clears *known if it has none. */
static int64_t known_value(const struct uk_var *v, void *user) {
    bool *known = user;

    if (v->defined)
        return v->value;
    if (v->definition) {
        bool overflow = false;
        int64_t n = uk_index_eval(v->definition, known_value, user, &overflow);

        *known = *known && !overflow;
        return n;
    }
    *known = *known && v->has_default;
    return v->default_value;
}

/* The same, ignoring --define. */
static int64_t argument_value(const struct uk_var *v, void *user) {
    struct uk_var argument = *v;

    argument.defined = false;
    return known_value(&argument, user);
}

/* The value of e, or 0 if it is unknown. */
static int64_t evaluate(const struct uk_schedule *s, const struct uk_index *e,
                        int64_t (*value)(const struct uk_var *, void *)) {
    bool known = true, overflow = false;
    int64_t n = uk_index_eval(e, value, &known, &overflow);

    for (const struct uk_assume *a = s->program->assumes; a && !known; a = a->next) {
        if (a->relation->op != UK_I_EQ || !uk_index_equal(a->relation->a, e))
            continue;
        known = true;
        n = uk_index_eval(a->relation->b, value, &known, &overflow);
    }
    return known && !overflow && n > 0 ? n : 0;
}

int64_t uk_size_guess(const struct uk_schedule *s, const struct uk_index *e) {
    return evaluate(s, e, known_value);
}

double uk_size_estimate(const struct uk_schedule *s, const struct uk_index *e) {
    int64_t n = uk_size_guess(s, e);

    return n ? (double)n : GUESS;
}

double uk_size_of_argument(const struct uk_schedule *s, const struct uk_index *e) {
    int64_t n = evaluate(s, e, argument_value);

    return n ? (double)n : GUESS;
}

double uk_extent_estimate(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_loop *l) {
    return uk_size_estimate(s, st->statement->extent[l->iterator]);
}

double uk_values_estimate(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_loop *l) {
    double estimate = uk_extent_estimate(s, st, l);
    int64_t extent = uk_constant_extent(st, l); /* the extent if the loop is a part of its iterator */

    return extent >= 0 && (double)extent < estimate ? (double)extent : estimate;
}
