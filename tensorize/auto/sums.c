/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuses loops of sums of products. If everything that a stage reads along two of them is addressed as by one
 * loop (the pixels of a window's row, with channels innermost), a kernel computes both as one long sum, and
 * stores its tile once.
 *
 * Schedules sums that no kernel computes. If adjacent elements of the output need adjacent elements of the
 * operands, their loop moves inside the sum's loops, so that vectors are added. The stages after the sum run
 * row by row, so that only a row of it has to be stored.
 */
#include "stage.h"
#include "steps.h"

/* Minimum elements of such a row: vectors of a shorter one would be nearly empty. A long row is split so that
 * its sums, and as many elements of an operand, take at most a quarter of the first-level cache. */
enum { SHORTEST_ROW = 8 };

static int64_t longest_row(const struct uk_schedule *s, const struct uk_stage *st) {
    return s->target->machine.cache[UK_L1].size / 8 / (int64_t)uk_type_bytes(st->operand[0].tensor->type);
}

static bool has_vectors(const struct uk_schedule *s) {
    return s->target->vectors.bytes >= 16;
}

/* The number of loops outside the sum's. */
static int outside_of_sum(const struct uk_stage *st) {
    int n = 0;

    while (n < st->loops && !uk_is_reduced(st, st->loop[n]))
        n++;
    return n;
}

static bool is_at(const struct uk_operand *o, const struct uk_loop *l, int64_t step) {
    const struct uk_poly p = uk_coefficient(o, l->id);
    int64_t c;

    return !uk_is_gathered(o) && uk_poly_is_int(&p, &c) && c == step;
}

/* True if adjacent iterations of the loop access adjacent elements of the output, and adjacent elements of
 * each operand or the same one. */
static bool is_row(const struct uk_stage *st, const struct uk_loop *l) {
    bool row = is_at(&st->operand[0], l, 1), any = false;

    for (int o = 1; o < st->operands; o++) {
        any |= is_at(&st->operand[o], l, 1);
        row &= is_at(&st->operand[o], l, 1) || is_at(&st->operand[o], l, 0);
    }
    return row && any;
}

/* True if the reader, which is to follow the sum row by row, has a loop along the same rows. */
static bool reads_rows(const struct uk_stage *reader, const struct uk_operand *row, const struct uk_loop *l) {
    const struct uk_loop *inner = reader->loops ? reader->loop[reader->loops - 1] : NULL;

    for (int o = 1; o < reader->operands; o++)
        for (int d = 0; d < row->tensor->dims && reader->operand[o].tensor == row->tensor; d++)
            if (row->index[d].coefficient[l->id] &&
                (!inner || !reader->operand[o].index[d].coefficient[inner->id]))
                return false;
    return true;
}

enum uk_status uk_order_sum(struct uk_schedule *s, struct uk_stage *st) {
    struct uk_loop *order[UK_MAX_LOOPS], *outer;
    int n = outside_of_sum(st), loops = 0;

    if (st->match || st->statement->reduce == UK_REDUCE_NONE || !has_vectors(s) || !n || n == st->loops ||
        (st->parent && n <= st->prefix) || uk_refusal(s, st->name, UK_DRAFT_SUMS))
        return UK_OK;
    struct uk_loop *row = st->loop[n - 1];
    for (int i = n; i < st->loops; i++)
        if (!uk_is_reduced(st, st->loop[i]))
            return UK_OK;
    if (!is_row(st, row) || uk_values_estimate(s, st, row) < SHORTEST_ROW)
        return UK_OK;
    for (const struct uk_stage *e = st->next; e; e = e->next)
        if (uk_is_elementwise(e) && !reads_rows(e, &st->operand[0], row))
            return UK_OK;
    enum uk_status status = uk_begin_draft(s, st, UK_DRAFT_SUMS);
    if (status || (status = uk_split_by(s, st, &row, longest_row(s, st), "o", &outer)))
        return status;
    for (int i = uk_loop_position(st, row) + 1; i < st->loops; i++)
        order[loops++] = st->loop[i];
    order[loops++] = row;
    return uk_apply_one(s, uk_step_on(s, UK_STEP_REORDER, st, order, loops));
}

/* ---- stages after the sum ---- */

static bool is_one(const struct uk_stage *st, const struct uk_loop *l) {
    return uk_constant_extent(st, l) == 1;
}

/* True if the reader's outer loops traverse the tensor `written` in the order in which the first `prefix`
 * loops of the sum's nest write it, so that both nests can share these loops. Sets *rest if the reader has
 * loops left inside. */
static bool has_same_order(const struct uk_stage *sum, int prefix, const struct uk_operand *written,
                           const struct uk_stage *reader, const struct uk_operand *read, bool *rest) {
    bool chosen[UK_MAX_LOOPS] = {false};
    int last = -1;

    *rest = false;
    for (int i = 0; i < prefix; i++) {
        bool found = is_one(sum, sum->loop[i]);
        for (int d = 0; d < written->tensor->dims && !found; d++) {
            const int64_t step = written->index[d].coefficient[sum->loop[i]->id];
            for (int l = 0; l < reader->loops && step && !found; l++)
                if (read->index[d].coefficient[reader->loop[l]->id] == 1) {
                    found = chosen[l] = true;
                    *rest |= step > 1;
                    last = l > last ? l : last;
                }
        }
        if (!found)
            return false;
    }
    for (int l = 0; l < reader->loops; l++) {
        const bool other = !chosen[l] && !is_one(reader, reader->loop[l]);
        if (other && l < last)
            return false;
        *rest |= other;
    }
    return last >= 0;
}

/* True if that holds for all tensors of the nest that the reader reads, and loops remain inside. */
static bool can_share_loops(const struct uk_schedule *s, const struct uk_stage *sum, int prefix,
                            const struct uk_stage *reader) {
    bool any = false, rest;

    for (const struct uk_stage *w = s->stages; w; w = w->next) {
        if (w != sum && !(w->parent == sum && w->after))
            continue;
        for (int o = 1; o < reader->operands; o++) {
            if (reader->operand[o].tensor != w->operand[0].tensor)
                continue;
            if (!has_same_order(sum, prefix, &w->operand[0], reader, &reader->operand[o], &rest))
                return false;
            any |= rest;
        }
    }
    return any;
}

/* Bytes that the reader accesses inside the first `prefix` loops of the sum. */
static double bytes_inside(const struct uk_schedule *s, const struct uk_stage *sum, int prefix,
                           const struct uk_stage *reader) {
    double bytes = 1;

    for (int o = 0; o < reader->operands; o++)
        if ((double)uk_type_bytes(reader->operand[o].tensor->type) > bytes)
            bytes = (double)uk_type_bytes(reader->operand[o].tensor->type);
    for (int i = 0; i < reader->loops; i++)
        bytes *= uk_values_estimate(s, reader, reader->loop[i]);
    for (int i = 0; i < prefix; i++)
        bytes /= uk_values_estimate(s, sum, sum->loop[i]);
    return bytes;
}

/* The loops of the sum that the reader shares. Fewer make longer rows, which suit vectors: as few as possible
 * while the row stays in the first-level cache. */
int uk_loops_of_row(const struct uk_schedule *s, const struct uk_stage *sum, const struct uk_stage *reader) {
    int n = outside_of_sum(sum);

    if (sum->statement->reduce == UK_REDUCE_NONE || n == sum->loops)
        return 0;
    while (n && !can_share_loops(s, sum, n, reader))
        n--;
    while (n > 1 && bytes_inside(s, sum, n - 1, reader) <= (double)s->target->machine.core.l1.size &&
           can_share_loops(s, sum, n - 1, reader))
        n--;
    return n;
}

struct uk_stage *uk_preceding_sum(const struct uk_schedule *s, const struct uk_stage *st) {
    struct uk_stage *root = NULL;

    for (struct uk_stage *o = s->stages; o && o != st; o = o->next)
        root = o->parent || o->is_copy ? root : o;
    return root && !root->match && !uk_is_empty(root) && !uk_is_as_written(s, root->name) &&
                   uk_loops_of_row(s, root, st)
               ? root
               : NULL;
}

/* ---- loops of sums of products ---- */

enum uk_status uk_fuse_loop_pair(struct uk_schedule *s, struct uk_stage *st, int position) {
    struct uk_loop *loop[] = {st->loop[position], st->loop[position + 1]};
    struct uk_step *step = uk_step_on(s, UK_STEP_FUSE, st, loop, 2);

    if (!step || !(step->name = uk_alloc(s->arena, sizeof *step->name)))
        return uk_out_of_memory(s->context);
    step->names = 1;
    step->name[0] = uk_fresh_name(s, loop[0]->var->name, loop[1]->var->name);
    return step->name[0] ? uk_apply_one(s, step) : uk_out_of_memory(s->context);
}

bool uk_is_long_sum(const struct uk_stage *st, int position) {
    bool contiguous = false;

    for (int o = 1; o < st->operands; o++) {
        struct uk_poly c = uk_coefficient(&st->operand[o], st->loop[position + 1]->id);
        int64_t step;

        contiguous |= uk_poly_is_int(&c, &step) && step == 1;
    }
    /* Stages after the sum run where the sum ends, which lowering finds only if the extent is a constant. */
    return st->operands > 2 && contiguous && uk_constant_extent(st, st->loop[position]) >= 0 &&
           uk_is_reduced(st, st->loop[position]) && uk_is_reduced(st, st->loop[position + 1]);
}

/* Begins with the innermost pair, since a fused loop may be fused with the next outer one. */
enum uk_status uk_fuse_sums(struct uk_schedule *s, struct uk_stage *st) {
    if (st->statement->reduce != UK_REDUCE_SUM)
        return UK_OK;
    for (int i = st->loops - 2; i >= 0; i--) {
        if (!uk_is_long_sum(st, i) || !uk_fuse_is_view(s, st, i))
            continue;
        enum uk_status status = uk_fuse_loop_pair(s, st, i);

        if (status)
            return status;
    }
    return UK_OK;
}
