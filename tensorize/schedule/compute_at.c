/* SPDX-License-Identifier: Apache-2.0 */
/* compute_at P L: the producer P computes, before the loops inside L, the elements that these read. */
#include "attach.h"

/* True if the stage, a reader of the producer's tensor, could be computed at the place itself. */
static bool may_come_too(const struct uk_attaching *a, const struct uk_stage *reader) {
    const struct uk_tensor *t = reader->operand[0].tensor;
    bool may = t->kind == UK_TENSOR_TEMP && !reader->inside && !reader->parent && !reader->match &&
               reader->statement->assign == UK_ASSIGN && !uk_stage_reads(reader, t);

    for (const struct uk_stage *st = a->s->stages; st && may; st = st->next)
        may = (st == reader || !uk_stage_writes(st, t)) &&
              (!uk_stage_reads(st, t) || uk_is_within(st, a->at, a->prefix));
    return may;
}

static enum uk_status refuse_outside(const struct uk_attaching *a, const struct uk_stage *reader,
                                     const struct uk_tensor *t) {
    if (may_come_too(a, reader))
        return uk_refuse_attach(a,
                                "stage %s reads %s outside of this loop; put `compute_at %s %s.%s` before it",
                                reader->name, t->name, reader->name, a->at->name, a->step->loop[0].loop);
    return uk_refuse_attach(a,
                            "stage %s reads %s outside of this loop, and cannot be computed inside it; leave "
                            "%s where it is",
                            reader->name, t->name, a->st->name);
}

static enum uk_status check_producer(struct uk_attaching *a, int iterator[UK_MAX_DIMS]) {
    const struct uk_stage *p = a->st;
    const struct uk_tensor *t = p->operand[0].tensor;

    if (t->kind != UK_TENSOR_TEMP)
        return uk_refuse_attach(a, "%s is not a temp; only temps may be computed in parts", t->name);
    if (p->inside)
        return uk_refuse_attach(a, "loops of the stage are fused; put the step before that");
    if (p->statement->assign != UK_ASSIGN || uk_stage_reads(p, t))
        return uk_refuse_attach(a, "the stage updates %s, so that it cannot be computed again", t->name);
    if (!uk_covers(a, p->statement, &p->statement->left, iterator))
        return uk_refuse_attach(
            a, "the stage does not write all of %s with a single iterator as each subscript", t->name);
    for (const struct uk_stage *st = a->s->stages; st; st = st->next) {
        if (st != p && uk_stage_writes(st, t))
            return uk_refuse_attach(a, "stage %s writes %s too", st->name, t->name);
        if (uk_stage_reads(st, t) && !uk_is_within(st, a->at, a->prefix))
            return refuse_outside(a, st, t);
        const struct uk_tensor *x =
            uk_root_of(st) == uk_root_of(a->at) && uk_stage_reads(p, st->operand[0].tensor)
                ? st->operand[0].tensor
                : NULL;
        if (x)
            return uk_refuse_attach(a, "the stage reads %s, which %s writes in this nest", x->name, st->name);
    }
    return UK_OK;
}

/* Finds the region of the tensor that all stages inside the place read. */
static enum uk_status find_read(struct uk_attaching *a, struct uk_region **out) {
    const struct uk_tensor *t = a->st->operand[0].tensor;
    const char *why = NULL;

    *out = NULL;
    for (const struct uk_stage *st = a->s->stages; st; st = st->next)
        for (int o = 1; o < st->operands; o++) {
            struct uk_region *r;

            if (st->operand[o].tensor != t && uk_memory_of(&st->operand[o]) == t)
                return uk_refuse_attach(a, "stage %s reads %s by `im2col`; leave that out", st->name,
                                        t->name);
            if (st->operand[o].tensor != t)
                continue;
            /* A change of view keeps addresses but not the ranges of dimensions. */
            for (const struct uk_stage *c = st; c; c = c->parent)
                if (c->inside)
                    return uk_refuse_attach(
                        a, "loops of stage %s, which reads %s, are fused; put the step before that", c->name,
                        t->name);
            if (st->operand[o].pad == UK_PAD_VALUE && !st->is_copy)
                return uk_refuse_attach(
                    a,
                    "stage %s reads %s under a pad that is no factor of a sum; put `cache_read %s at %s.%s` "
                    "before it",
                    st->name, t->name, t->name, a->at->name, a->step->loop[0].loop);
            a->clipped |= st->operand[o].pad != UK_PAD_NONE || uk_has_guards(st);
            if (!(r = uk_alloc(a->s->arena, sizeof *r)))
                return uk_out_of_memory(a->s->context);
            enum uk_status status = uk_region_of(a->s, st, &st->operand[o], a->prefix, r, &why);
            if (!status && *out)
                status = uk_region_join(a->s, *out, r, a->clipped ? NULL : (void *)t->shape, &why);
            if (status)
                return status == UK_NO_MATCH
                           ? uk_refuse_attach(a, "%s in stage %s: %s", t->name, st->name, why)
                           : status;
            *out = *out ? *out : r;
        }
    return *out ? UK_OK : uk_refuse_attach(a, "no stage inside this loop reads %s", t->name);
}

/* Restricts iterator k to 0 <= k < extent: readers under pad() test for themselves what is inside the tensor,
 * so their region may extend beyond it. */
static enum uk_status clip(struct uk_attaching *a, int k) {
    struct uk_affine f = a->st->iterator[k], minus = {0};
    struct uk_index *one = uk_index_int(a->s->arena, 1);
    enum uk_status status = uk_add_bound(a->s, a->st, &f, a->st->statement->extent[k]);

    for (int l = 0; l < UK_MAX_LOOPS; l++)
        minus.coefficient[l] = -f.coefficient[l];
    if (f.rest)
        minus.rest = uk_index_op(a->s->arena, UK_I_NEG, f.rest, NULL);
    a->st->bound[a->st->bounds - 1].is_guard = true;
    if (!status && !(status = uk_add_bound(a->s, a->st, &minus, one)))
        a->st->bound[a->st->bounds - 1].is_guard = true;
    return status;
}

/* The first stage of the place's nest, in the list, that the producer must precede. */
static const struct uk_stage *first_reader(const struct uk_attaching *a) {
    const struct uk_tensor *t = a->st->operand[0].tensor;

    for (const struct uk_stage *first = a->s->stages; first; first = first->next)
        for (const struct uk_stage *st = a->s->stages; st; st = st->next) {
            const struct uk_stage *c = st;

            while (c != a->at && c->parent != a->at && c->parent)
                c = c->parent;
            if (st != a->st && uk_stage_reads(st, t) &&
                (first == c || (c != a->at && uk_is_within(first, c, 0))))
                return first;
        }
    return a->at;
}

enum uk_status uk_attach_producer(struct uk_attaching *a) {
    int iterator[UK_MAX_DIMS];
    struct uk_region *r;
    enum uk_status status;

    if ((status = check_producer(a, iterator)) || (status = uk_check_follows(a, a->st, uk_root_of(a->at))) ||
        (status = uk_check_between(a, a->st, uk_root_of(a->at))) || (status = find_read(a, &r)))
        return status;
    for (int d = 0; d < r->dims; d++)
        a->part[iterator[d]] = &r->part[d];
    const struct uk_stage *next = first_reader(a);
    uk_unlink_stage(a->s, a->st);
    uk_link_before(a->s, a->st, next);
    if ((status = uk_attach_loops(a)) || (status = uk_stage_operands(a->s, a->st)))
        return status;
    for (int d = 0; d < r->dims && a->clipped && !status; d++)
        status = clip(a, iterator[d]);
    return status;
}
