/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merges a copy into the kernel that reads it. If the tiles of one stage read a copy's panel many times, a
 * kernel of two statements, copy and product, can compute the first of these tiles: it reads the copy's
 * source, stores the panel, and multiplies. The other tiles read the panel. So the copy takes no time of its
 * own.
 *
 * Of the loops between the copy's place and the tile, some do not move the panel. The first tile of a panel
 * is the one at which these loops are 0: in any order of the loops it runs before the panel's other tiles.
 * The proof goes statement by statement: the kernel's first statement matches the copy; its second statement
 * matches the stage, with the copy's source in place of the copy; and at every tile the addresses, extents
 * and strides that both statements have are equal.
 */
#include <string.h>
#include "match.h"

enum { MOST_LEAVES = 16 };

struct fusing {
    struct uk_schedule *s;
    struct uk_stage *copy, *reader;
    int operand;              /* the reader's operand that is the copy */
    struct uk_operand source; /* the copy's source as an operand of the reader */
    struct uk_packing *packing;
    /* Values of loops, by id. outer: the loops outside the reader's tile. made: also the copy's loops, at the
     * place where the reader's tile begins. */
    struct uk_index *outer[UK_MAX_LOOPS], *made[UK_MAX_LOOPS];
};

/* ---- which stages ---- */

/* Returns the stage with the only access to the copy, a read; NULL: there is none, or there are several. */
static struct uk_stage *find_reader(const struct uk_schedule *s, const struct uk_stage *copy, int *operand) {
    struct uk_stage *reader = NULL;
    int readers = 0;

    for (struct uk_stage *st = s->stages; st; st = st->next)
        for (int o = 0; o < st->operands; o++)
            if (st != copy && st->operand[o].tensor == copy->operand[0].tensor) {
                reader = st;
                *operand = o;
                readers++;
            }
    return readers == 1 && *operand > 0 ? reader : NULL;
}

/* True if no stage of the nest writes the copy's source: the kernel reads it later than the copy would. */
static bool source_stays(const struct fusing *f) {
    for (const struct uk_stage *st = f->s->stages; st; st = st->next)
        if (st->operand[0].tensor == f->copy->operand[1].tensor && uk_root_of(st) == uk_root_of(f->reader))
            return false;
    return true;
}

static bool has_guard(const struct uk_stage *st) {
    for (int b = 0; b < st->bounds; b++)
        if (st->bound[b].is_guard)
            return true;
    return st->is_filtered;
}

static bool is_plain(const struct fusing *f) {
    const struct uk_stage *copy = f->copy, *st = f->reader;

    if (!st->match || st->match->has_partial_tiles || st->is_copy || st->previous || copy->operands != 2 ||
        copy->prefix > st->tile || uk_is_empty(st))
        return false;
    for (int i = 0; i < copy->prefix; i++)
        if (copy->loop[i] != st->loop[i])
            return false;
    return !has_guard(st) && !has_guard(copy) && source_stays(f);
}

/* Lists the loops over the tiles of one panel. False: there are none; a loop is a vector loop; or threads
 * would share a panel. */
static bool find_loops(struct fusing *f) {
    struct uk_packing *p = f->packing;
    int panels = 0;
    bool parallel = false;

    for (int i = f->copy->prefix; i < f->reader->tile; i++) {
        struct uk_loop *l = f->reader->loop[i];
        bool of_panel = uk_depends(&f->reader->operand[f->operand], l);

        if (l->kind == UK_LOOP_VECTOR || (l->kind == UK_LOOP_PARALLEL && !of_panel))
            return false;
        parallel |= l->kind == UK_LOOP_PARALLEL;
        panels += of_panel;
        if (!of_panel)
            p->loop[p->loops++] = l;
    }
    return p->loops && !(parallel && panels > 1);
}

/* ---- the same panel ---- */

/* The copy's dimension whose index is this loop alone, with coefficient 1; -1: there is none. */
static int dimension_of(const struct uk_stage *copy, const struct uk_loop *l) {
    for (int d = 0; d < copy->operand[0].tensor->stored_dims; d++) {
        const struct uk_affine *f = &copy->operand[0].index[d];
        bool alone = f->coefficient[l->id] == 1 && !f->rest && !f->general;

        for (int i = 0; i < copy->loops; i++)
            alone &= copy->loop[i] == l || !f->coefficient[copy->loop[i]->id];
        if (alone)
            return d;
    }
    return -1;
}

static bool is_equal(const struct uk_index *a, const struct uk_index *b) {
    struct uk_poly x, y;

    if (!a || !b)
        return false;
    x = uk_poly_of(a);
    y = uk_poly_of(b);
    return x.terms >= 0 && y.terms >= 0 ? uk_poly_equal(&x, &y) : uk_index_equal(a, b);
}

/* Sets f->source. If the copy holds at x what its source has at g(x), and the reader reads the copy at x, the
 * source's index is g(x) over the reader's loops. False: g or x is not of that form. */
static bool find_source(struct fusing *f) {
    const struct uk_stage *copy = f->copy;
    const struct uk_operand *read = &f->reader->operand[f->operand];

    f->source = (struct uk_operand){.tensor = copy->operand[1].tensor, .expr = read->expr};
    for (int d = 0; d < f->source.tensor->stored_dims; d++) {
        const struct uk_affine *from = &copy->operand[1].index[d];
        struct uk_affine *form = &f->source.index[d];

        if (from->general)
            return false;
        *form = *from;
        for (int i = copy->prefix; i < copy->loops; i++)
            form->coefficient[copy->loop[i]->id] = 0;
        for (int i = copy->prefix; i < copy->loops; i++) {
            const struct uk_loop *l = copy->loop[i];
            int64_t times = from->coefficient[l->id];
            int at = dimension_of(copy, l);

            if (at < 0 || read->index[at].general ||
                (times && uk_affine_add(f->s, form, &read->index[at], times)))
                return false;
        }
    }
    return true;
}

/* Exchanges the reader's operand with the source; a second call restores it. */
static void swap_source(struct fusing *f) {
    struct uk_operand o = f->source;

    f->source = f->reader->operand[f->operand];
    f->reader->operand[f->operand] = o;
}

static void find_panel(struct fusing *f) {
    const struct uk_operand *read = &f->reader->operand[f->operand];

    for (int i = 0; i < f->reader->tile; i++)
        f->outer[f->reader->loop[i]->id] = uk_index_var(f->s->arena, f->reader->loop[i]->var);
    memcpy(f->made, f->outer, sizeof f->made);
    for (int i = f->copy->prefix; i < f->copy->loops; i++)
        f->made[f->copy->loop[i]->id] =
            uk_affine_value(f->s, f->reader, &read->index[dimension_of(f->copy, f->copy->loop[i])], f->outer);
}

/* True if the panel that the copy's loops from `tile` on make begins where the reader's tile does: these
 * loops are 0 there. */
static bool begins_at(const struct fusing *f, int tile) {
    for (int i = tile; i < f->copy->loops; i++) {
        const struct uk_index *e = f->made[f->copy->loop[i]->id];
        int64_t first;

        if (!e || !uk_index_is_int(e, &first) || first)
            return false;
    }
    return true;
}

/* Appends the operands of the (nested) minimum e to leaf[n ..); e itself if it is no minimum. Returns their
 * number; -1: too many. */
static int leaves_of(struct uk_index *e, struct uk_index **leaf, int n) {
    if (e->op == UK_I_MIN && n >= 0)
        return leaves_of(e->b, leaf, leaves_of(e->a, leaf, n));
    if (n < 0 || n == MOST_LEAVES)
        return -1;
    leaf[n] = e;
    return n + 1;
}

/* True if x is at least one of the leaves, and so at least their minimum, at every tile. */
static bool is_at_least(const struct fusing *f, struct uk_index *x, struct uk_index *const *leaf, int n) {
    for (int i = 0; i < n; i++)
        if (is_equal(x, leaf[i]))
            return true;
    for (int i = 0; i < n; i++)
        if (uk_proves(f->s, f->reader, f->reader->tile, uk_index_op(f->s->arena, UK_I_GE, x, leaf[i])))
            return true;
    return false;
}

static bool same_value(const struct fusing *f, struct uk_index *a, struct uk_index *b) {
    struct uk_index *x[MOST_LEAVES], *y[MOST_LEAVES];

    if (!a || !b)
        return false;
    const int n = leaves_of(a, x, 0), m = leaves_of(b, y, 0);
    bool same = n > 0 && m > 0;
    for (int i = 0; i < n && same; i++)
        same = is_at_least(f, x[i], y, m);
    for (int i = 0; i < m && same; i++)
        same = is_at_least(f, y[i], x, n);
    return same;
}

/* ---- the kernel ---- */

/* True if the tensor that both statements read is the source, and the sizes that both have are equal at every
 * tile. */
static bool agree(const struct fusing *f, int tile, const struct uk_match *copy, const struct uk_match *sum) {
    struct uk_index *made[UK_MAX_LOOPS];

    memcpy(made, f->made, sizeof made);
    for (int i = tile; i < f->copy->loops; i++)
        made[f->copy->loop[i]->id] = NULL;
    for (int n = 0; n < sum->tensors; n++) {
        int of_copy = copy->operand[n], of_sum = sum->operand[n];

        if (of_copy < 0 ? of_sum < 0 : of_sum != (of_copy ? f->operand : -1))
            return false;
    }
    for (int i = 0; i < sum->sizes; i++) {
        if (sum->size[i].role == UK_SIZE_UNUSED || sum->size[i].role == UK_SIZE_VALID)
            return false;
        if (copy->size[i].role != UK_SIZE_UNUSED &&
            !same_value(f, uk_match_size(f->s, f->copy, copy, i, made),
                        uk_match_size(f->s, f->reader, sum, i, f->outer)))
            return false;
    }
    return !copy->has_partial_tiles && !sum->has_partial_tiles &&
           sum->begins_sums == f->reader->match->begins_sums;
}

/* Stores the second statement's match in the packing; its `at` also has the panel, which only the first
 * statement has as an operand. */
static enum uk_status keep_match(struct fusing *f, const struct uk_match *copy, const struct uk_match *sum) {
    struct uk_match *m = f->packing->match = uk_alloc(f->s->arena, sizeof *m);
    struct uk_operand *at = uk_alloc(f->s->arena, sizeof *at * (size_t)sum->tensors);

    if (!m || !at)
        return uk_out_of_memory(f->s->context);
    *m = *sum;
    m->at = at;
    for (int n = 0; n < m->tensors; n++)
        at[n] = copy->operand[n] == 0           ? f->reader->operand[f->operand]
                : sum->at                       ? sum->at[n]
                : sum->operand[n] == f->operand ? f->source
                                                : f->reader->operand[sum->operand[n]];
    return UK_OK;
}

/* Tries the kernel for panels that the copy's loops from `tile` on make. */
static enum uk_status try_tile(struct fusing *f, struct uk_intrinsic *i, int tile) {
    struct uk_text why = {0};
    struct uk_match *copy, *sum;
    enum uk_status status = begins_at(f, tile) ? UK_OK : UK_NO_MATCH;

    if (!status)
        status = uk_match_statement(f->s, f->copy, tile, i, i->declaration->statements, &copy, &why);
    if (!status) {
        swap_source(f);
        status = uk_match_statement(f->s, f->reader, f->reader->tile, i, i->computes, &sum, &why);
        swap_source(f);
    }
    uk_text_free(why.text);
    if (status)
        return status;
    return agree(f, tile, copy, sum) ? keep_match(f, copy, sum) : UK_NO_MATCH;
}

static enum uk_status try_kernel(struct fusing *f, struct uk_intrinsic *i) {
    const struct uk_statement *first = i->declaration->statements;
    enum uk_status status = UK_NO_MATCH;

    if (first == i->computes || first->next != i->computes)
        return UK_NO_MATCH;
    for (int tile = f->copy->prefix; tile < f->copy->loops && status == UK_NO_MATCH; tile++)
        status = try_tile(f, i, tile);
    return status;
}

static enum uk_status find_kernel(struct fusing *f) {
    struct uk_candidate c = {0};
    struct uk_text *report = f->s->report;
    enum uk_status status, found = UK_NO_MATCH;

    f->s->report = NULL;
    while (!(status = uk_next_candidate(f->s, NULL, &c)) && c.intrinsic && found == UK_NO_MATCH)
        found = try_kernel(f, c.intrinsic);
    f->s->report = report;
    return status ? status : found;
}

enum uk_status uk_find_packing(struct uk_schedule *s, struct uk_stage *copy, struct uk_stage **reader,
                               struct uk_packing **out) {
    struct fusing *f = uk_alloc(s->arena, sizeof *f);

    *out = NULL;
    if (!f || !(f->packing = uk_alloc(s->arena, sizeof *f->packing)))
        return uk_out_of_memory(s->context);
    f->s = s;
    f->copy = copy;
    *reader = f->reader = find_reader(s, copy, &f->operand);
    if (!f->reader || f->reader->packing || !is_plain(f) || !find_loops(f) || !find_source(f))
        return s->context->failed ? uk_failure(s->context) : UK_OK;
    find_panel(f);
    enum uk_status status = find_kernel(f);
    if (status)
        return status == UK_NO_MATCH ? UK_OK : status;
    *out = f->packing;
    return UK_OK;
}

enum uk_status uk_has_packing(struct uk_schedule *s, const struct uk_fit *fit, bool *has) {
    const struct uk_kernel *row = fit->intrinsic->row;
    struct uk_candidate c = {0};
    struct uk_text *report = s->report;
    enum uk_status status = UK_OK;
    int panels = 0;

    *has = false;
    for (int o = 0; o < UK_MAX_OPERANDS; o++)
        panels += fit->panel[o].width != 0;
    s->report = NULL;
    while (row && panels == 1 && !*has && !(status = uk_next_candidate(s, NULL, &c)) && c.intrinsic)
        *has = c.intrinsic->declaration->statements != c.intrinsic->computes && c.intrinsic->row &&
               uk_kernel_mr(c.intrinsic->row) == uk_kernel_mr(row) &&
               uk_kernel_nr(c.intrinsic->row) == uk_kernel_nr(row) &&
               c.intrinsic->computes->left.tensor->type == fit->intrinsic->computes->left.tensor->type;
    s->report = report;
    return status;
}

static void leave_out(struct uk_schedule *s, struct uk_stage *copy) {
    struct uk_stage **at = &s->stages;

    while (*at != copy)
        at = &(*at)->next;
    *at = copy->next;
    copy->is_gone = true;
}

enum uk_status uk_fuse_copy(struct uk_schedule *s, struct uk_stage *copy) {
    struct uk_stage *reader;
    struct uk_packing *packing;
    enum uk_status status = uk_find_packing(s, copy, &reader, &packing);

    if (status || !packing)
        return status;
    reader->packing = packing;
    leave_out(s, copy);
    if (s->report)
        uk_put(s->report, "copy %s: stored by %s, which computes the first tile that reads it\n", copy->name,
               packing->match->intrinsic->name);
    return UK_OK;
}
