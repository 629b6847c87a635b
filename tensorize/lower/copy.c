/* SPDX-License-Identifier: Apache-2.0 */
/* Lowers copies to plain loops. A copy's right side is pad(x, v), where x may be under a conversion: outside
 * x's bounds v is stored. */
#include <string.h>
#include "lower.h"

static const struct uk_operand *source(const struct uk_stage *st) {
    const struct uk_expr *x = st->statement->right->arg[0];

    if (x->op == UK_E_CAST)
        x = x->arg[0];
    for (int o = 1; o < st->operands; o++)
        if (st->operand[o].expr == x)
            return &st->operand[o];
    return NULL;
}

int uk_border_loop(const struct uk_stage *st) {
    const struct uk_operand *from =
        st->is_copy && st->operand[0].tensor->scope == UK_SCOPE_GLOBAL ? source(st) : NULL;
    bool before = false;
    int last = -1;

    for (int i = st->prefix; from && i < st->loops; i++)
        for (int b = 0; b < from->valid; b++)
            last = from->within[b].form.coefficient[st->loop[i]->id] ? i : last;
    for (int b = 0; last >= 0 && b < from->valid; b++)
        before |= from->within[b].form.coefficient[st->loop[last]->id] < 0;
    return before || (last >= 0 && st->copied && st->copied->outside) ? last : -1;
}

/* The conjunction of the source's bounds, all or (without != NULL) those that do not have that loop; NULL:
 * there are none. */
static struct uk_index *holds(struct uk_schedule *s, const struct uk_stage *st, const struct uk_loop *without,
                              struct uk_index *const *value) {
    const struct uk_operand *from = source(st);
    struct uk_index *all = NULL;

    for (int b = 0; from && b < from->valid; b++) {
        const struct uk_bound *within = &from->within[b];

        if (without && within->form.coefficient[without->id])
            continue;
        struct uk_index *x = uk_affine_value(s, st, &within->form, value);

        x = uk_index_op(s->arena, UK_I_LT, x, within->upper);
        all = all ? uk_index_op(s->arena, UK_I_AND, all, x) : x;
    }
    return all;
}

struct uk_node *uk_lower_copy(struct uk_schedule *s, const struct uk_stage *st,
                              struct uk_index *const *value) {
    const struct uk_expr *e = st->statement->right;
    struct uk_index *inside = holds(s, st, NULL, value);

    if (!inside)
        return uk_lower_store(s, st, e->arg[0], value);
    struct uk_node *other = uk_lower_store(s, st, e->arg[1], value);
    return other ? uk_lower_if(s, st, inside, uk_lower_store(s, st, e->arg[0], value), other) : NULL;
}

/* True if all threads of a block make the copy, element by element, and only ends of the source need
 * checks. */
bool uk_is_block_copy(const struct uk_stage *st) {
    const struct uk_operand *from = st->is_copy ? source(st) : NULL;
    bool ends = from && st->operand[0].tensor->scope == UK_SCOPE_SHARED && !st->match;

    for (int i = st->prefix; i < st->loops && ends; i++) {
        ends = uk_constant_extent(st, st->loop[i]) > 0;
        for (int b = 0; b < from->valid; b++)
            ends &= from->within[b].form.coefficient[st->loop[i]->id] >= 0;
    }
    return ends;
}

/* Lowers a block's copy. If the block's last element exists, all do: that version has no checks. */
struct uk_node *uk_lower_block_copy(struct uk_schedule *s, const struct uk_stage *st,
                                    struct uk_index **value) {
    struct uk_operand *from = (struct uk_operand *)source(st);
    struct uk_node *general = uk_lower_plain(s, st, st->tile, value);
    struct uk_index *last[UK_MAX_LOOPS];
    const int valid = from->valid;

    memcpy(last, value, sizeof last);
    for (int i = st->tile; i < st->loops; i++)
        last[st->loop[i]->id] = uk_index_int(s->arena, uk_constant_extent(st, st->loop[i]) - 1);
    struct uk_index *full = holds(s, st, NULL, last);
    if (!full || !general)
        return general;
    from->valid = 0;
    struct uk_node *whole = uk_lower_plain(s, st, st->tile, value);
    from->valid = valid;
    struct uk_node *n = uk_lower_if(s, st, full, whole, general);
    if (n)
        n->is_version = true;
    return n;
}

/* The loop at `position` and all loops inside it, storing e. *n is NULL for a loop that never runs. */
static bool part(struct uk_schedule *s, const struct uk_stage *st, int position, struct uk_index *lower,
                 struct uk_index *upper, const struct uk_expr *e, struct uk_index **value,
                 struct uk_node **n) {
    const struct uk_loop *l = st->loop[position],
                         *inner = position + 1 < st->loops ? st->loop[position + 1] : NULL;
    int64_t from, to;

    *n = NULL;
    if (!lower || !upper)
        return uk_out_of_memory(s->context), false;
    if (uk_index_equal(lower, upper) ||
        (uk_index_is_int(lower, &from) && uk_index_is_int(upper, &to) && to <= from))
        return true;
    if (!(*n = uk_lower_node(s, UK_N_FOR, st)) || !((*n)->var = uk_alloc(s->arena, sizeof *(*n)->var)))
        return uk_out_of_memory(s->context), false;
    (*n)->step = 1;
    (*n)->lower = lower;
    (*n)->upper = upper;
    uk_set_kind(*n, l);
    if ((*n)->loop == UK_LOOP_PARALLEL)
        (*n)->loop = UK_LOOP_SERIAL;
    *(*n)->var = (struct uk_var){.name = l->var->name, .kind = UK_VAR_LOOP};
    value[l->id] = uk_index_var(s->arena, (*n)->var);
    if (!inner)
        (*n)->body = uk_lower_store(s, st, e, value);
    else if (!part(s, st, position + 1, uk_loop_begin(s, st, inner, value), uk_loop_end(s, st, inner, value),
                   e, value, &(*n)->body))
        return false;
    value[l->id] = NULL;
    if (inner && !(*n)->body)
        *n = NULL;
    return inner || (*n)->body;
}

struct uk_node *uk_lower_copy_row(struct uk_schedule *s, const struct uk_stage *st, int position,
                                  struct uk_index **value) {
    const struct uk_operand *from = source(st);
    const struct uk_loop *l = st->loop[position];
    const struct uk_expr *e = st->statement->right;
    struct uk_arena *a = s->arena;
    struct uk_index *first = uk_loop_begin(s, st, l, value), *end = uk_loop_end(s, st, l, value);
    struct uk_index *begins = uk_loop_begin_within(s, st, from->within, from->valid, l, value),
                    *ends = uk_loop_end_within(s, st, from->within, from->valid, l, value);
    struct uk_index *rows = holds(s, st, l, value);
    struct uk_node *row[3], *all = NULL, *list = NULL;
    int64_t zero;

    if (!first || !end || !begins)
        return NULL;
    begins = uk_index_op(
        a, UK_I_MIN,
        uk_index_is_int(first, &zero) && !zero ? begins : uk_index_op(a, UK_I_MAX, first, begins), end);
    ends = ends ? uk_index_op(a, UK_I_MIN, end, ends) : end;
    if (!part(s, st, position, first, begins, e->arg[1], value, &row[0]) ||
        !part(s, st, position, begins, ends, e->arg[0], value, &row[1]) ||
        !part(s, st, position, ends == end ? end : uk_index_op(a, UK_I_MAX, begins, ends), end, e->arg[1],
              value, &row[2]) ||
        (rows && !part(s, st, position, first, end, e->arg[1], value, &all)))
        return NULL;
    for (int i = 2; i >= 0; i--)
        if (row[i]) {
            row[i]->next = list;
            list = row[i];
        }
    return rows && list ? uk_lower_if(s, st, rows, list, all) : list;
}
