/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of a stage in plain loops, with a version for full tiles. */
#include "lower.h"

static bool is_int(const struct uk_index *e, int64_t value) {
    int64_t c;

    return uk_index_is_int(e, &c) && c == value;
}

/* Registers have constant indices: loops over their elements are unrolled. */
static bool has_registers(const struct uk_stage *st) {
    for (int o = 0; o < st->operands; o++)
        if (st->operand[o].tensor->scope == UK_SCOPE_REGISTER)
            return true;
    return false;
}

/* The loops from `position` on, in order. With `full`, the innermost loop gets its constant maximum; constant
 * outer loops would only be unrolled into more addresses than there are registers. */
static struct uk_node *plain_loops(struct uk_schedule *s, const struct uk_stage *st, int position,
                                   struct uk_index **value, bool full) {
    if (position == st->loops)
        return uk_lower_statement(s, st, value);
    const struct uk_loop *l = st->loop[position];
    if (st->is_copy && position == uk_border_loop(st))
        return uk_lower_copy_row(s, st, position, value);
    struct uk_node *n = uk_lower_node(s, UK_N_FOR, st);
    int64_t extent =
        full && (position + 1 == st->loops || has_registers(st)) ? uk_constant_extent(st, l) : -1;

    if (!n)
        return NULL;
    n->var = uk_alloc(s->arena, sizeof *n->var);
    n->step = 1;
    n->lower = uk_loop_begin(s, st, l, value);
    n->upper = extent >= 0 ? uk_index_int(s->arena, extent) : uk_loop_end(s, st, l, value);
    if (!n->var || !n->lower || !n->upper)
        return uk_out_of_memory(s->context), NULL;
    uk_set_kind(n, l);
    if (n->loop == UK_LOOP_PARALLEL)
        n->loop = UK_LOOP_SERIAL;
    *n->var = (struct uk_var){.name = l->var->name, .kind = UK_VAR_LOOP};
    bool once =
        is_int(n->lower, 0) && is_int(n->upper, 1) && !uk_is_bound(l); /* a loop with a single value */
    value[l->id] = once ? n->lower : uk_index_var(s->arena, n->var);
    n->body = plain_loops(s, st, position + 1, value, full);
    value[l->id] = NULL;
    return n->body && !once ? n : n->body;
}

/* True if every bound has at most one of the loops from `position` on. */
static bool is_rectangular(const struct uk_stage *st, int position) {
    for (int b = 0; b < st->bounds; b++) {
        int inner = 0;

        for (int i = position; i < st->loops; i++)
            inner += st->bound[b].form.coefficient[st->loop[i]->id] != 0;
        if (inner > 1)
            return false;
    }
    return true;
}

enum { MAX_VERSION_ELEMENTS = 4096 }; /* maximum number of elements of a tile with two versions */

/* Stages attached inside tiles get a version for full tiles with constant loops. */
struct uk_node *uk_lower_versions(struct uk_schedule *s, const struct uk_stage *st, struct uk_index **value) {
    if (uk_is_block_copy(st) && st->tile == st->prefix)
        return uk_lower_block_copy(s, st, value);
    struct uk_node *general = plain_loops(s, st, st->tile, value, false);
    struct uk_index *full = NULL;
    int64_t elements = 1;

    if (!st->parent || st->is_copy || !is_rectangular(st, st->tile))
        return general;
    for (int i = st->tile; i < st->loops; i++) {
        int64_t extent = uk_constant_extent(st, st->loop[i]);

        if (extent < 0 || uk_may_begin_above_zero(st, st->loop[i]) ||
            __builtin_mul_overflow(elements, extent, &elements) || elements > MAX_VERSION_ELEMENTS)
            return general;
        struct uk_index *e = uk_loop_end(s, st, st->loop[i], value);
        if (!e || uk_index_is_int(e, &extent))
            continue;
        e = uk_index_op(s->arena, UK_I_EQ, e, uk_index_int(s->arena, extent));
        full = full ? uk_index_op(s->arena, UK_I_AND, full, e) : e;
    }
    if (!full || !general)
        return general;
    return uk_lower_if(s, st, full, plain_loops(s, st, st->tile, value, true), general);
}

struct uk_node *uk_lower_plain(struct uk_schedule *s, const struct uk_stage *st, int position,
                               struct uk_index **value) {
    return plain_loops(s, st, position, value, false);
}
