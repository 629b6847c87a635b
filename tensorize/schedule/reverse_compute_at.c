/* SPDX-License-Identifier: Apache-2.0 */
/* reverse_compute_at E L: the consumer E reads what the loops inside L have written, once their sums are
 * complete. */
#include "attach.h"

static enum uk_status refuse_order(const struct uk_attaching *a, int k) {
    return uk_refuse_attach(a,
                            "the loops of %s over %s are not in the order from coarse to fine, so "
                            "that no iteration is the last one; reorder them",
                            a->at->name, a->at->statement->iterator[k]->name);
}

/* True if the loops of iterator k inside the one at `position`, whose coefficient is c, add up to less than
 * c. They do not if that loop is a part of a finer one. */
static bool stay_within(const struct uk_stage *at, int k, int position, int64_t c) {
    int64_t reach = 0, most;

    for (int i = position + 1; i < at->loops; i++) {
        const int64_t step = at->iterator[k].coefficient[at->loop[i]->id],
                      n = uk_constant_extent(at, at->loop[i]);

        if (!step || n < 1)
            continue;
        if (__builtin_mul_overflow(step, n - 1, &most) || __builtin_add_overflow(reach, most, &reach))
            return false;
    }
    return reach < c;
}

/* Finds the smallest coefficient that a loop of the prefix has in the summed iterator k (INT64_MAX: there is
 * none), and the negated sum of these loops. Refuses orders in which the last iteration is not the iterator's
 * last value. After rfactor, a loop of the output divides the sums' range: each part ends elsewhere. */
static enum uk_status find_last(const struct uk_attaching *a, int k, int64_t *step, struct uk_affine *minus) {
    const struct uk_stage *at = a->at;

    bool is_part = false;

    *step = INT64_MAX;
    *minus = (struct uk_affine){0};
    for (int i = 0; i < at->loops; i++) {
        const int id = at->loop[i]->id;
        const int64_t c = at->iterator[k].coefficient[id];

        if (!at->reduced[k] || at->loop[i]->stage != at || !c)
            continue;
        if (!uk_is_reduced(at, at->loop[i])) {
            is_part = true;
            continue;
        }
        if (c >= *step || (i < a->prefix && !stay_within(at, k, i, c)))
            return refuse_order(a, k);
        if (i < a->prefix) {
            *step = c;
            minus->coefficient[id] = -c;
        }
    }
    return !is_part || *step == INT64_MAX
               ? UK_OK
               : uk_refuse_attach(
                     a,
                     "after rfactor, stage %s sums a part of %s at a time, and no iteration of a loop "
                     "over this part is known to be its last; take a loop outside of these",
                     at->name, at->statement->iterator[k]->name);
}

enum uk_status uk_check_sums_end(const struct uk_attaching *a) {
    enum uk_status status = UK_OK;
    struct uk_affine minus;
    int64_t step;

    for (int k = 0; k < a->at->iterators && !status; k++)
        status = find_last(a, k, &step, &minus);
    return status;
}

/* Sums of `at` are complete when its loops in the prefix are in their last iteration: sum of c * loop >=
 * extent - step. */
enum uk_status uk_wait_for_sums(struct uk_attaching *a) {
    const struct uk_stage *at = a->at;

    for (int k = 0; k < at->iterators; k++) {
        struct uk_affine minus;
        int64_t step;
        enum uk_status status = find_last(a, k, &step, &minus);

        if (status)
            return status;
        if (step == INT64_MAX)
            continue;
        struct uk_index *upper =
            uk_index_op(a->s->arena, UK_I_SUB, uk_index_int(a->s->arena, step + 1), at->statement->extent[k]);
        status = upper ? uk_add_bound(a->s, a->st, &minus, upper) : uk_out_of_memory(a->s->context);
        if (status)
            return status;
    }
    return UK_OK;
}

/* Maps the access of the stage, iterator by iterator, to the region that `w` touches inside the place. */
static enum uk_status map_access(struct uk_attaching *a, const struct uk_access *x, bool padded,
                                 const struct uk_stage *w, const struct uk_operand *o) {
    struct uk_region *r = uk_alloc(a->s->arena, sizeof *r);
    const struct uk_statement *t = a->st->statement;
    int iterator[UK_MAX_DIMS], theirs[UK_MAX_DIMS];
    const char *why = NULL;

    if (!r)
        return uk_out_of_memory(a->s->context);
    if (padded || !uk_covers(a, t, x, iterator))
        return uk_refuse_attach(a,
                                "the stage accesses %s, which %s accesses inside the loop, at subscripts "
                                "other than single iterators",
                                x->tensor->name, w->name);
    if ((w->stores_part && !o->expr) ||
        !uk_covers(a, w->statement, o->expr ? &o->expr->access : &w->statement->left, theirs))
        return uk_refuse_attach(
            a, "stage %s does not go over all of %s with a single iterator as each subscript", w->name,
            x->tensor->name);
    for (int d = 0; d < x->tensor->dims; d++)
        if ((iterator[d] < 0) != (theirs[d] < 0))
            return uk_refuse_attach(a, "loops over %s are fused in one of %s and %s only; fuse them in both",
                                    x->tensor->name, a->st->name, w->name);
    enum uk_status status = uk_region_of(a->s, w, o, a->prefix, r, &why);
    if (status)
        return status == UK_NO_MATCH
                   ? uk_refuse_attach(a, "%s in stage %s: %s", x->tensor->name, w->name, why)
                   : status;
    for (int d = 0; d < x->tensor->dims; d++) {
        int k = iterator[d];

        if (k < 0)
            continue;
        if (r->part[d].is_whole)
            return uk_refuse_attach(a, "%s in stage %s: an index is not a sum of loops", x->tensor->name,
                                    w->name);
        if (a->part[k] && !uk_part_equal(a->part[k], &r->part[d]))
            return uk_refuse_attach(
                a,
                "inside the loop, %s of %s is not the same range in all accesses of other "
                "stages to its tensors",
                t->iterator[k]->name, a->st->name);
        a->part[k] = &r->part[d];
    }
    return UK_OK;
}

/* True if `at` is attached, directly or not, after the inner loops of `w`. */
static bool is_followed(const struct uk_stage *at, const struct uk_stage *w) {
    while (at->parent && at->parent != w)
        at = at->parent;
    return at->parent == w && at->after;
}

/* Maps one tensor of the stage against one stage of the nest. */
static enum uk_status map_operand(struct uk_attaching *a, int operand, const struct uk_stage *w, int theirs) {
    const struct uk_operand *mine = &a->st->operand[operand], *o = &w->operand[theirs];
    const struct uk_access *x = mine->expr ? &mine->expr->access : &a->st->statement->left;

    if (mine->tensor != o->tensor || (operand > 0 && theirs > 0))
        return UK_OK;
    if (is_followed(a->at, w)) /* what `at` reads of it is complete */
        for (int i = 0; i < a->at->operands; i++)
            if (a->at->operand[i].tensor == o->tensor)
                return map_access(a, x, mine->pad != UK_PAD_NONE, a->at, &a->at->operand[i]);
    if (!uk_is_within(w, a->at, a->prefix))
        return uk_refuse_attach(a, "stage %s %s %s outside of this loop", w->name,
                                theirs ? "reads" : "writes", o->tensor->name);
    if (w->is_copy)
        return uk_refuse_attach(a, "the copy %s of %s would be out of date", w->name, o->tensor->name);
    if (operand > 0 || a->st->statement->assign != UK_ASSIGN)
        a->reads_inside = true;
    return map_access(a, x, mine->pad != UK_PAD_NONE, w, o);
}

static enum uk_status map_iterators(struct uk_attaching *a) {
    for (const struct uk_stage *w = a->s->stages; w; w = w->next)
        for (int theirs = 0; uk_root_of(w) == uk_root_of(a->at) && theirs < w->operands; theirs++)
            for (int operand = 0; operand < a->st->operands; operand++) {
                enum uk_status status = map_operand(a, operand, w, theirs);

                if (status)
                    return status;
            }
    if (!a->reads_inside)
        return uk_refuse_attach(a, "nothing that the stage reads is written inside this loop");
    for (int k = 0; k < a->st->iterators; k++)
        for (int l = 0; l < UK_MAX_LOOPS; l++)
            if (a->st->reduced[k] && a->part[k] && a->part[k]->offset.coefficient[l])
                return uk_refuse_attach(
                    a,
                    "the stage sums over %s, and the loops outside have a part of its range each; take a "
                    "loop outside of those",
                    a->st->statement->iterator[k]->name);
    return UK_OK;
}

/* A loop, not of a sum, on which no iterator's part depends: the stage is repeated in each of its iterations.
 * NULL: none. */
static const struct uk_loop *repeating_loop(const struct uk_attaching *a) {
    for (int i = 0; i < a->prefix; i++) {
        const struct uk_loop *l = a->at->loop[i];
        bool repeats = !uk_is_reduced(l->stage, l);

        for (int k = 0; k < a->st->iterators; k++)
            repeats &= !a->part[k] || !a->part[k]->offset.coefficient[l->id];
        if (repeats)
            return l;
    }
    return NULL;
}

/* Refuses repetitions that change the result: repeating is harmless only if neither the stage nor another one
 * in the nest needs the tensor's previous values. */
static enum uk_status check_repeats(const struct uk_attaching *a) {
    const struct uk_tensor *t = a->st->operand[0].tensor;
    const struct uk_loop *l = repeating_loop(a);

    if (!l)
        return UK_OK;
    if (a->st->statement->assign != UK_ASSIGN || uk_stage_reads(a->st, t))
        return uk_refuse_attach(
            a, "the stage would update %s again in each iteration of %s; take a loop outside of it", t->name,
            l->var->name);
    for (const struct uk_stage *w = a->s->stages; w; w = w->next)
        if (uk_root_of(w) == uk_root_of(a->at) && (uk_stage_reads(w, t) || uk_stage_writes(w, t)))
            return uk_refuse_attach(
                a,
                "the stage would write %s, which %s %s, in each iteration of %s; take a loop outside of it",
                t->name, w->name, uk_stage_writes(w, t) ? "writes" : "reads", l->var->name);
    return UK_OK;
}

enum uk_status uk_attach_consumer(struct uk_attaching *a) {
    const struct uk_stage *root = uk_root_of(a->at), *last = root;
    enum uk_status status;

    for (const struct uk_stage *st = a->s->stages; st; st = st->next)
        if (uk_root_of(st) == root)
            last = st;
    if ((status = uk_check_follows(a, last, a->st)) || (status = uk_check_between(a, last, a->st)) ||
        (status = map_iterators(a)) || (status = check_repeats(a)) || (status = uk_check_sums_end(a)))
        return status;
    uk_unlink_stage(a->s, a->st);
    a->st->after = true;
    uk_link_before(a->s, a->st, last->next);
    if ((status = uk_attach_loops(a)) || (status = uk_wait_for_sums(a)))
        return status;
    return uk_stage_operands(a->s, a->st);
}
