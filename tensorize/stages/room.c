/* SPDX-License-Identifier: Apache-2.0 */
/* Upper bounds of the size of a part of a tensor, and the initial bounds of a stage attached there. */
#include "stages.h"

/* True if an extent may be negative by its form: a difference, which is negative for an empty tensor. */
static bool may_be_negative(const struct uk_index *e) {
    struct uk_poly p = uk_poly_of(e);
    bool negative = p.terms < 0;

    for (int i = 0; i < p.terms; i++)
        negative |= p.term[i].factor < 0;
    return negative;
}

struct uk_index *uk_part_extent(struct uk_schedule *s, const struct uk_part *part) {
    struct uk_index *minimum = NULL;
    bool negative = false;

    for (int b = 0; b < part->bounds; b++) {
        bool shrinks = true;

        for (int l = 0; l < UK_MAX_LOOPS; l++)
            shrinks &= part->bound[b].form.coefficient[l] >= 0;
        if (!shrinks)
            continue;
        minimum =
            minimum ? uk_index_op(s->arena, UK_I_MIN, minimum, part->bound[b].upper) : part->bound[b].upper;
        negative |= may_be_negative(part->bound[b].upper);
    }
    return minimum && negative ? uk_index_op(s->arena, UK_I_MAX, minimum, uk_index_int(s->arena, 0))
                               : minimum;
}

/* The minimum of the constant upper bounds that prefix loops lower (by_outer), or of the others; -1: none. */
static int64_t min_bound(const struct uk_part *part, bool by_outer) {
    int64_t minimum = -1, n;

    for (int b = 0; b < part->bounds; b++) {
        bool shrinks = true, outer = false;

        for (int l = 0; l < UK_MAX_LOOPS; l++) {
            shrinks &= part->bound[b].form.coefficient[l] >= 0;
            outer |= part->bound[b].form.coefficient[l] != 0;
        }
        if (shrinks && outer == by_outer && uk_index_is_int(part->bound[b].upper, &n) &&
            (minimum < 0 || n < minimum))
            minimum = n < 0 ? 0 : n;
    }
    return minimum;
}

int64_t uk_part_constant_extent(const struct uk_part *part) {
    const int64_t bound = min_bound(part, false);

    return bound < 0 ? min_bound(part, true) : bound;
}

enum uk_status uk_inherit_bounds(struct uk_schedule *s, const struct uk_stage *st, int prefix,
                                 struct uk_stage *to) {
    for (int b = 0; b < st->bounds; b++) {
        struct uk_affine f = {0};
        bool any = false, dropped_negative = false;

        for (int i = 0; i < st->loops; i++) {
            int id = st->loop[i]->id;
            int64_t c = st->bound[b].form.coefficient[id];

            if (i < prefix)
                f.coefficient[id] = c;
            any |= i < prefix && c;
            dropped_negative |= i >= prefix && c < 0;
        }
        if (!any || dropped_negative || st->bound[b].is_guard)
            continue;
        enum uk_status status = uk_add_bound(s, to, &f, st->bound[b].upper);
        if (status)
            return status;
    }
    return UK_OK;
}
