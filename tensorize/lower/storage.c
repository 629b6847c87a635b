/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides where each temp lives: in the output of its only reader, if that stores the elements where it reads
 * them; in a tile buffer for one iteration of the loops around all its accesses; or whole in the workspace.
 */
#include <string.h>
#include "lower.h"

struct placing {
    struct uk_schedule *s;
    const struct uk_tensor *t;
    int accesses;
    struct {
        struct uk_stage *stage;
        int operand;
    } *access;
};

static struct uk_operand *access_of(const struct placing *p, int i) {
    return &p->access[i].stage->operand[p->access[i].operand];
}

static bool find_accesses(struct placing *p) {
    int n = 0;

    for (const struct uk_stage *st = p->s->stages; st; st = st->next)
        for (int o = 0; o < st->operands; o++)
            n += st->operand[o].tensor == p->t;
    p->accesses = 0;
    if (!(p->access = uk_alloc(p->s->arena, sizeof *p->access * (size_t)(n + 1))))
        return false;
    for (struct uk_stage *st = p->s->stages; st; st = st->next)
        for (int o = 0; o < st->operands; o++)
            if (st->operand[o].tensor == p->t) {
                p->access[p->accesses].stage = st;
                p->access[p->accesses++].operand = o;
            }
    return true;
}

/* ---- moving accesses; kernels that are already proven must still match ---- */

static enum uk_status match_again(struct placing *p) {
    struct uk_text why = {0};
    enum uk_status status = UK_OK;

    for (int i = 0; i < p->accesses && !status; i++) {
        struct uk_stage *st = p->access[i].stage;
        struct uk_match *m;

        if (st->match && !(status = uk_match(p->s, st, st->tile, st->match->intrinsic, &m, &why)))
            uk_set_match(st, m);
    }
    uk_text_free(why.text);
    return status;
}

/* Redirects every access to `to`; undone with UK_NO_MATCH if a kernel does not match then. */
static enum uk_status move(struct placing *p, struct uk_region *r, struct uk_tensor *to) {
    struct uk_operand *before = uk_alloc(p->s->arena, sizeof *before * (size_t)p->accesses);
    const struct uk_buffer_layout plain = uk_layout_plain(p->t->dims);
    enum uk_status status = UK_OK;

    if (!before)
        return uk_out_of_memory(p->s->context);
    for (int i = 0; i < p->accesses && !status; i++) {
        before[i] = *access_of(p, i);
        if (r)
            status = uk_layout_redirect(p->s, p->access[i].stage, access_of(p, i), r, &plain, to);
        else
            access_of(p, i)->tensor = to;
    }
    if (status || (status = match_again(p)) != UK_NO_MATCH)
        return status;
    for (int i = 0; i < p->accesses; i++)
        *access_of(p, i) = before[i];
    status = match_again(p);
    return status == UK_OK ? UK_NO_MATCH : status;
}

/* ---- in the output of its reader ---- */

/* The reader, if it is a single stage that runs after the loops that write the temp, and stores every element
 * where it reads it; else NULL. */
static struct uk_stage *find_reader(const struct placing *p) {
    struct uk_stage *e = NULL, *w = NULL;

    for (int i = 0; i < p->accesses; i++) {
        struct uk_stage **as = p->access[i].operand ? &e : &w;

        if ((*as && *as != p->access[i].stage) || access_of(p, i)->pad != UK_PAD_NONE)
            return NULL;
        *as = p->access[i].stage;
    }
    if (!e || !w || e == w || !e->after || e->is_copy || uk_root_of(e) != uk_root_of(w) ||
        e->statement->assign != UK_ASSIGN || e->statement->reduce != UK_REDUCE_NONE)
        return NULL;
    const struct uk_operand *out = &e->operand[0];
    if (out->tensor->type != p->t->type || out->tensor->dims != p->t->dims || out->tensor->layout ||
        p->t->layout || out->tensor->kind == UK_TENSOR_PACKED)
        return NULL;
    for (int i = 0; i < p->accesses; i++)
        for (int d = 0; p->access[i].operand && d < p->t->dims; d++)
            if (!uk_affine_equal(&access_of(p, i)->index[d], &out->index[d]))
                return NULL;
    return e;
}

/* True if in this nest only the reader, and stages after it, access the output. */
static bool is_free_before(const struct placing *p, const struct uk_stage *e) {
    const struct uk_tensor *out = e->operand[0].tensor;
    bool before = true;

    for (const struct uk_stage *st = p->s->stages; st; st = st->next) {
        for (int o = 0; o < st->operands; o++)
            if (uk_memory_of(&st->operand[o]) == out && uk_root_of(st) == uk_root_of(e) &&
                (before || st->is_copy) && !(st == e && o == 0))
                return false;
        if (st == e)
            before = false;
    }
    return true;
}

static enum uk_status place_in_output(struct placing *p) {
    struct uk_stage *e = find_reader(p);
    struct uk_alias *alias;

    if (!e || !is_free_before(p, e))
        return UK_NO_MATCH;
    struct uk_tensor *out = e->operand[0].tensor;
    enum uk_status status = move(p, NULL, out);
    if (status)
        return status;
    if (!(alias = uk_alloc(p->s->arena, sizeof *alias)))
        return uk_out_of_memory(p->s->context);
    *alias = (struct uk_alias){.tensor = p->t, .home = out, .next = p->s->aliases};
    p->s->aliases = alias;
    if (p->s->report)
        uk_put(p->s->report, "temp %s: its elements live in %s\n", p->t->name, out->name);
    return UK_OK;
}

/* ---- a tile buffer ---- */

/* The number of loops around all accesses and outside the sums and scans that accumulate in the tensor. */
static int common_prefix(const struct placing *p) {
    int n = p->accesses ? p->access[0].stage->loops : 0;
    bool several = false;

    for (int i = 0; i < p->accesses; i++) {
        several |= p->access[i].stage != p->access[0].stage;
        n = uk_shared_loops(p->access[i].stage, p->access[i].operand == 0, p->access[0].stage->loop, n);
    }
    return several ? n : 0;
}

static bool is_parallel(const struct uk_stage *st, int prefix) {
    for (int i = 0; i < prefix; i++)
        if (st->loop[i]->kind == UK_LOOP_PARALLEL)
            return true;
    return false;
}

/* The memory of a buffer inside these loops: a block's, a thread's, or global without blocks. */
static enum uk_scope scope_inside(const struct uk_stage *st, int prefix) {
    enum uk_scope scope = UK_SCOPE_GLOBAL;

    for (int i = 0; i < prefix; i++)
        if (st->loop[i]->kind == UK_LOOP_THREAD)
            return UK_SCOPE_REGISTER;
        else if (st->loop[i]->kind == UK_LOOP_BLOCK)
            scope = UK_SCOPE_SHARED;
    return scope;
}

/* The region that all writers write; UK_NO_MATCH: they write different ones. */
static enum uk_status find_written(struct placing *p, int prefix, struct uk_region **out) {
    const char *why;

    *out = NULL;
    for (int i = 0; i < p->accesses; i++) {
        struct uk_region *r;

        if (p->access[i].operand)
            continue;
        if (!(r = uk_alloc(p->s->arena, sizeof *r)))
            return uk_out_of_memory(p->s->context);
        enum uk_status status = uk_region_of(p->s, p->access[i].stage, access_of(p, i), prefix, r, &why);
        for (int d = 0; d < r->dims && !status; d++)
            if (!uk_part_extent(p->s, &r->part[d]) || (*out && !uk_part_equal(&(*out)->part[d], &r->part[d])))
                status = UK_NO_MATCH;
        if (status)
            return status;
        *out = r;
    }
    return *out ? UK_OK : UK_NO_MATCH;
}

static enum uk_status place_in_tile(struct placing *p) {
    struct uk_schedule *s = p->s;
    const struct uk_buffer_layout plain = uk_layout_plain(p->t->dims);
    struct uk_region *r;
    int prefix = common_prefix(p);
    enum uk_status status = prefix ? find_written(p, prefix, &r) : UK_NO_MATCH;

    if (status)
        return status;
    const enum uk_scope scope = scope_inside(p->access[0].stage, prefix);
    if (uk_check_room(r, scope))
        return UK_NO_MATCH;
    struct uk_buffer *buffers = s->buffers;
    struct uk_tensor *tile = uk_layout_buffer(s, r, &plain, p->t, scope, p->t->name, p->t->at);
    if (!tile)
        return uk_out_of_memory(s->context);
    status = move(p, r, tile);
    if (status == UK_NO_MATCH)
        s->buffers = buffers;
    if (status)
        return status;
    const struct uk_loop *l = p->access[0].stage->loop[prefix - 1];
    s->buffers->per_thread = is_parallel(p->access[0].stage, prefix);
    s->buffers->inside = l->var->name;
    if (s->report)
        uk_put(s->report, "temp %s: a buffer for one iteration of %s.%s\n", p->t->name, l->stage->name,
               l->var->name);
    return UK_OK;
}

/* ---- all temps ---- */

/* Temps that the scheduler created have a buffer from the beginning. */
static void drop_buffer(struct uk_schedule *s, const struct uk_tensor *t) {
    struct uk_buffer **at = &s->buffers;

    while (*at)
        if ((*at)->tensor == t)
            *at = (*at)->next;
        else
            at = &(*at)->next;
}

/* True if a stage reads the tensor as a matrix of step `im2col`, whose accesses cannot be moved. */
static bool is_read_as_matrix(const struct placing *p) {
    for (const struct uk_stage *st = p->s->stages; st; st = st->next)
        for (int o = 1; o < st->operands; o++)
            if (uk_memory_of(&st->operand[o]) == p->t && st->operand[o].tensor != p->t)
                return true;
    return false;
}

static enum uk_status place(struct uk_schedule *s, const struct uk_tensor *t) {
    struct placing *p = uk_alloc(s->arena, sizeof *p);

    if (!p)
        return uk_out_of_memory(s->context);
    p->s = s;
    p->t = t;
    if (!find_accesses(p))
        return uk_out_of_memory(s->context);
    const bool is_fixed = is_read_as_matrix(p);
    enum uk_status status = is_fixed ? UK_NO_MATCH : place_in_output(p);
    if (status == UK_NO_MATCH && !is_fixed)
        status = place_in_tile(p);
    if (!status)
        drop_buffer(s, t);
    if (status != UK_NO_MATCH)
        return status;
    for (int i = 0; i < p->accesses; i++) {
        const struct uk_stage *st = p->access[i].stage;

        if (!p->access[i].operand && st->parent && !st->after && is_parallel(st, st->prefix))
            return uk_fail(s->context, UK_REFUSED, st->statement->at,
                           "stage %s is computed inside a parallel loop, and its kernel does not take the "
                           "buffer of each thread there; tensorize it with another one, or not at all",
                           st->name);
    }
    if (s->report)
        uk_put(s->report, "temp %s: whole, in the workspace\n", t->name);
    return UK_OK;
}

/* Buffers of copies: each thread has its own if all accesses are inside a parallel loop. */
static enum uk_status share_buffers(struct uk_schedule *s) {
    struct placing *p = uk_alloc(s->arena, sizeof *p);

    if (!p)
        return uk_out_of_memory(s->context);
    p->s = s;
    for (struct uk_buffer *b = s->buffers; b; b = b->next) {
        p->t = b->tensor;
        if (!find_accesses(p))
            return uk_out_of_memory(s->context);
        if (b->tensor->kind == UK_TENSOR_PACKED && p->accesses)
            b->per_thread = is_parallel(p->access[0].stage, common_prefix(p));
    }
    return UK_OK;
}

/* From the last temp to the first, because a temp's home may then be the home of earlier ones. */
enum uk_status uk_place_temps(struct uk_schedule *s) {
    const struct uk_tensor **temp;
    int n = 0;

    for (const struct uk_stage *st = s->stages; st; st = st->next)
        n++;
    if (!(temp = uk_alloc(s->arena, sizeof *temp * (size_t)(n + 1))))
        return uk_out_of_memory(s->context);
    n = 0;
    for (const struct uk_stage *st = s->stages; st; st = st->next) {
        const struct uk_tensor *t = st->operand[0].tensor;
        bool seen = t->kind != UK_TENSOR_TEMP;

        for (int i = 0; i < n; i++)
            seen |= temp[i] == t;
        if (!seen)
            temp[n++] = t;
    }
    while (n--) {
        enum uk_status status = place(s, temp[n]);

        if (status)
            return status;
    }
    return share_buffers(s);
}
