/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Distributes work over the threads of a block.
 *
 * - Copies into shared memory without a loop over threads are distributed over all threads, adjacent elements
 *   to adjacent threads.
 * - Each element of a buffer in registers belongs to one thread, its owner. In the element's indices the
 *   terms of loops over threads are the digits of the owner's number; the others select the register.
 * - Stages on such a buffer without loops over threads are distributed so that each element is computed by
 *   its owner.
 */
#include <string.h>
#include "schedule.h"

static bool has_threads(const struct uk_stage *st) {
    for (int i = 0; i < st->loops; i++)
        if (st->loop[i]->kind == UK_LOOP_THREAD)
            return true;
    return false;
}

/* Splits the loop into an outer and an inner one under new names; the inner one has `factor` iterations. */
static enum uk_status divide(struct uk_schedule *s, struct uk_stage *st, int position, int64_t factor) {
    const char *name = st->loop[position]->var->name;
    const char *outer = uk_fresh_name(s, name, "o"), *inner = uk_fresh_name(s, name, "t");

    if (!outer || !inner)
        return uk_out_of_memory(s->context);
    enum uk_status status = uk_split_loop(s, st, position, factor, outer, inner, st->statement->at);
    if (!status && !(status = uk_name_add(s, outer)))
        status = uk_name_add(s, inner);
    return status;
}

/* True if a belongs before b: loops over threads come first, those of an axis by decreasing weight. */
static bool is_before(const struct uk_loop *a, const struct uk_loop *b) {
    const bool is_digit = a->kind == UK_LOOP_THREAD && b->kind == a->kind && a->axis == b->axis;

    return is_digit ? a->weight > b->weight : a->kind == UK_LOOP_THREAD && b->kind != UK_LOOP_THREAD;
}

/* Moves the loops over threads before the stage's other loops, each in the order of its axis. */
static void threads_first(struct uk_stage *st) {
    for (int i = st->prefix + 1; i < st->loops; i++)
        for (int k = i; k > st->prefix && is_before(st->loop[k], st->loop[k - 1]); k--) {
            struct uk_loop *l = st->loop[k];

            st->loop[k] = st->loop[k - 1];
            st->loop[k - 1] = l;
        }
}

/* ---- copies into shared memory ---- */

enum {
    VECTOR_BYTES = 16,
    MIN_VECTOR_BYTES = 4
}; /* widest access of a thread, narrowest of several elements */

/* True if the last loop runs over elements, of at most a word, that one access can store, but not load. */
static bool stores_vector(const struct uk_stage *st) {
    const struct uk_loop *last = st->loop[st->loops - 1];
    const struct uk_operand *to = &st->operand[0];
    const struct uk_poly from = uk_coefficient(&st->operand[1], last->id);
    const int64_t bytes = (int64_t)uk_type_bytes(to->tensor->type);
    int64_t step, sum = 0;

    if (bytes > MIN_VECTOR_BYTES || uk_constant_extent(st, last) * bytes != VECTOR_BYTES ||
        (uk_poly_is_int(&from, &step) && step == 1))
        return false;
    for (int d = 0; d < to->tensor->stored_dims; d++) {
        const int64_t c = to->index[d].coefficient[last->id];

        if (c && !uk_index_is_int(to->tensor->stride[d], &step))
            return false;
        sum += c ? c * step : 0;
    }
    return sum == 1;
}

/* True if elements in front of the source, which the copy does not load, may be a part of a vector along the
 * loop. */
static bool splits_vectors(const struct uk_operand *from, const struct uk_loop *l, int64_t vector) {
    bool splits = false;

    for (int b = 0; b < from->valid; b++) {
        const struct uk_affine *f = &from->within[b].form;
        int64_t first;

        if (f->coefficient[l->id] < 0)
            splits |= f->general || (f->rest && (!uk_index_is_int(f->rest, &first) || first % vector));
        for (int i = 0; i < UK_MAX_LOOPS && f->coefficient[l->id] < 0; i++)
            splits |= i != l->id && f->coefficient[i] % vector != 0;
    }
    return splits;
}

/* Keeps the stage's last loop, or an inner part of it, out of the distribution if it runs over adjacent
 * elements that one access loads, or stores. *left: number of loops to distribute. */
static enum uk_status keep_vector(struct uk_schedule *s, struct uk_stage *st, int *left) {
    const struct uk_operand *from = &st->operand[1];
    const int last = st->loops - 1;
    int64_t n, step;

    *left = st->loops;
    if (last < st->prefix)
        return UK_OK;
    if (stores_vector(st)) {
        *left = last;
        return UK_OK;
    }
    const struct uk_poly along = uk_coefficient(from, st->loop[last]->id);
    n = uk_constant_extent(st, st->loop[last]);
    int64_t vector = VECTOR_BYTES / (int64_t)uk_type_bytes(from->tensor->type);
    /* A row of fewer elements is one access if it has 4 or 8 bytes. */
    if (n < vector && n > 1 && vector % n == 0 && VECTOR_BYTES / vector * n >= MIN_VECTOR_BYTES)
        vector = n;
    if (!uk_poly_is_int(&along, &step) || step != 1 || n < vector || n % vector ||
        splits_vectors(from, st->loop[last], vector) ||
        (from->tensor->im2col && !uk_im2col_has_vectors(from->tensor, from->tensor->dims - 1, vector)))
        return UK_OK;
    enum uk_status status = n > vector ? divide(s, st, last, vector) : UK_OK;
    *left = st->loops - 1;
    return status;
}

static enum uk_status spread(struct uk_schedule *s, struct uk_stage *st, int64_t threads) {
    struct uk_copy_shares shares = {0};
    int64_t weight = 1;
    int left;
    enum uk_status kept = keep_vector(s, st, &left);

    if (kept)
        return kept;
    for (int i = st->prefix; i < left; i++)
        shares.extent[shares.loops++] = uk_constant_extent(st, st->loop[i]);
    uk_share_copy(&shares, threads);
    for (int i = left; i-- > st->prefix;) {
        const int64_t n = uk_constant_extent(st, st->loop[i]), part = shares.part[i - st->prefix];

        if (part == 1)
            continue;
        if (part < n) {
            enum uk_status status = divide(s, st, i, part);

            if (status)
                return status;
        }
        struct uk_loop *l = st->loop[part < n ? i + 1 : i];
        l->kind = UK_LOOP_THREAD;
        l->axis = UK_AXES;
        l->weight = weight;
        l->at = st->statement->at;
        weight *= part;
    }
    if (weight == 1 && st->loops > st->prefix) { /* thread 0 alone copies */
        struct uk_loop *l = st->loop[st->loops - 1];
        enum uk_status status = divide(s, st, st->loops - 1, 1);

        if (status)
            return status;
        l = st->loop[st->loops - 1];
        l->kind = UK_LOOP_THREAD;
        l->axis = UK_AXES;
        l->weight = 1;
    }
    threads_first(st);
    return UK_OK;
}

/* ---- registers ---- */

/* A term of an index: a loop of n iterations over threads of an axis, of this weight there. */
struct owner {
    int axis;
    int64_t weight, coefficient, n;
    const struct uk_loop *loop;
};

struct owners {
    int count[UK_MAX_DIMS];
    struct owner of[UK_MAX_DIMS][UK_MAX_LOOPS]; /* by decreasing coefficient */
};

struct registers {
    struct uk_schedule *s;
    struct uk_tensor *t;
    const struct uk_stage *first; /* the first stage with loops over threads; its access defines the owners */
    struct owners owners;
    int64_t extent[UK_MAX_DIMS]; /* extents of one thread's part */
};

static struct uk_operand *next_access(const struct registers *r, struct uk_stage *st, int *o) {
    while (++*o < st->operands)
        if (st->operand[*o].tensor == r->t)
            return &st->operand[*o];
    return NULL;
}

/* True if all stages that touch the tensor are inside this loop over threads: the tensor is private to each
 * thread there. */
static bool is_common(const struct registers *r, const struct uk_loop *l) {
    for (struct uk_stage *st = r->s->stages; st; st = st->next) {
        int o = -1;

        if (next_access(r, st, &o) && uk_loop_position(st, l) < 0)
            return false;
    }
    return true;
}

static void find_owners(const struct registers *r, const struct uk_stage *st, const struct uk_operand *x,
                        struct owners *out) {
    memset(out, 0, sizeof *out);
    for (int d = 0; d < r->t->dims; d++)
        for (int i = 0; i < st->loops; i++) {
            const struct uk_loop *l = st->loop[i];
            const int64_t c = x->index[d].coefficient[l->id];
            int k = out->count[d];

            if (l->kind != UK_LOOP_THREAD || !c)
                continue;
            for (; k > 0 && out->of[d][k - 1].coefficient < c; k--)
                out->of[d][k] = out->of[d][k - 1];
            out->of[d][k] = (struct owner){l->axis, uk_axis_weight(st, l), c, uk_full_extent(st, l), l};
            out->count[d]++;
        }
}

static bool same_owners(const struct owners *a, const struct owners *b, int dims) {
    for (int d = 0; d < dims; d++) {
        if (a->count[d] != b->count[d])
            return false;
        for (int k = 0; k < a->count[d]; k++)
            if (a->of[d][k].axis != b->of[d][k].axis || a->of[d][k].n != b->of[d][k].n ||
                a->of[d][k].weight != b->of[d][k].weight ||
                a->of[d][k].coefficient != b->of[d][k].coefficient)
                return false;
    }
    return true;
}

/* Returns a loop over threads that selects no element: each of its threads would own all of them. NULL:
 * none. */
static const struct uk_loop *idle_loop(const struct registers *r, const struct uk_stage *st,
                                       const struct uk_operand *x) {
    for (int i = 0; i < st->loops; i++)
        if (st->loop[i]->kind == UK_LOOP_THREAD && !uk_depends(x, st->loop[i]) && !is_common(r, st->loop[i]))
            return st->loop[i];
    return NULL;
}

static enum uk_status two_owners(const struct registers *r, const struct uk_stage *st) {
    return uk_fail(
        r->s->context, UK_REFUSED, r->t->at,
        "%s is in register, and its elements belong to other threads in stage %s than in stage %s; give "
        "both the same loops over threads, or put it in shared",
        r->t->name, st->name, r->first->name);
}

/* Distributes a stage without loops over threads: splits its loops so that each element is computed by its
 * owner. */
static enum uk_status take_owners(struct registers *r, struct uk_stage *st, const struct uk_operand *x) {
    for (int d = 0; d < r->t->dims; d++) {
        int at = -1, n = 0;

        for (int i = 0; i < st->loops; i++)
            if (x->index[d].coefficient[st->loop[i]->id]) {
                at = i;
                n++;
            }
        if (!r->owners.count[d])
            continue;
        if (n != 1 || at < st->prefix || x->index[d].coefficient[st->loop[at]->id] != 1 ||
            x->index[d].general)
            return two_owners(r, st);
        for (int k = 0; k < r->owners.count[d]; k++) {
            const struct owner *w = &r->owners.of[d][k];
            enum uk_status status = UK_OK;

            if (uk_constant_extent(st, st->loop[at]) > w->coefficient * w->n) {
                status = divide(r->s, st, at, w->coefficient * w->n);
                at++;
            }
            if (!status && w->coefficient > 1)
                status = divide(r->s, st, at, w->coefficient);
            if (status)
                return status;
            st->loop[at]->kind = UK_LOOP_THREAD;
            st->loop[at]->axis = w->axis;
            st->loop[at]->weight = w->weight;
            st->loop[at]->at = st->statement->at;
            at++;
        }
    }
    threads_first(st);
    return UK_OK;
}

static enum uk_status spread_registers(struct registers *r) {
    for (struct uk_stage *st = r->s->stages; st && !r->first; st = st->next) {
        int o = -1;
        const struct uk_operand *x = next_access(r, st, &o);

        if (x && has_threads(st)) {
            r->first = st;
            find_owners(r, st, x, &r->owners);
        }
    }
    for (struct uk_stage *st = r->s->stages; st && r->first; st = st->next) {
        int o = -1;
        const struct uk_operand *x = next_access(r, st, &o);

        if (!x || has_threads(st))
            continue;
        enum uk_status status = take_owners(r, st, x);
        if (status)
            return status;
    }
    return UK_OK;
}

/* Removes the digits from the index and scales down the terms above each digit. Returns false if terms below
 * a digit reach into it. */
static bool leave_digits(struct registers *r, const struct uk_stage *st, struct uk_affine *f, int d) {
    int64_t most = 0, rest = 0;

    if (f->general || (f->rest && (!uk_index_is_int(f->rest, &rest) || rest)))
        return false;
    for (int k = 0; k < r->owners.count[d]; k++) {
        const struct owner *w = &r->owners.of[d][k];
        int64_t low = 0;

        for (int i = 0; i < st->loops; i++) {
            int64_t *c = &f->coefficient[st->loop[i]->id], n = uk_constant_extent(st, st->loop[i]);
            const bool thread = st->loop[i]->kind == UK_LOOP_THREAD;

            if (!*c || (thread && *c >= w->coefficient))
                continue;
            if (*c < 0 || n < 0)
                return false;
            if (!thread && *c % (w->coefficient * w->n) == 0)
                *c /= w->n;
            else
                low += *c * (n - 1);
        }
        if (low >= w->coefficient)
            return false;
    }
    for (int i = 0; i < st->loops; i++) {
        int64_t *c = &f->coefficient[st->loop[i]->id];

        if (st->loop[i]->kind == UK_LOOP_THREAD)
            *c = 0;
        most += *c * (uk_constant_extent(st, st->loop[i]) - 1);
    }
    r->extent[d] = most >= r->extent[d] ? most + 1 : r->extent[d];
    return true;
}

/* Shrinks the buffer to one thread's part. */
static enum uk_status shrink(struct registers *r) {
    struct uk_index *elements = uk_index_int(r->s->arena, 1);
    struct uk_tensor *t = r->t;

    for (int d = t->dims; d-- > 0;) {
        if (r->owners.count[d])
            t->shape[d] = t->stored[d] = uk_index_int(r->s->arena, r->extent[d]);
        t->stride[d] = elements;
        elements = uk_index_op(r->s->arena, UK_I_MUL, elements, t->shape[d]);
    }
    for (struct uk_buffer *b = r->s->buffers; b; b = b->next)
        if (b->tensor == t)
            b->elements = elements;
    return elements ? UK_OK : uk_out_of_memory(r->s->context);
}

static enum uk_status make_private(struct registers *r) {
    for (struct uk_stage *st = r->s->stages; st; st = st->next) {
        struct uk_operand *x;
        struct owners here;
        int o = -1;

        while ((x = next_access(r, st, &o))) {
            const struct uk_loop *idle = idle_loop(r, st, x);

            if (!r->first) {
                r->first = st;
                find_owners(r, st, x, &r->owners);
            }
            find_owners(r, st, x, &here);
            if (!same_owners(&here, &r->owners, r->t->dims))
                return two_owners(r, st);
            if (idle)
                return uk_fail(
                    r->s->context, UK_REFUSED, r->t->at,
                    "%s is in register, and loop %s of stage %s, which is over threads, selects none "
                    "of its elements; put it in shared, or attach it inside of that loop",
                    r->t->name, idle->var->name, st->name);
            for (int d = 0; d < r->t->dims; d++)
                if (r->owners.count[d] && !leave_digits(r, st, &x->index[d], d))
                    return uk_fail(
                        r->s->context, UK_REFUSED, r->t->at,
                        "%s is in register, and in stage %s two threads would own the same element; "
                        "split its loops so that a step of a loop over threads is a multiple of the elements "
                        "inside it",
                        r->t->name, st->name);
        }
    }
    return shrink(r);
}

bool uk_thread_part(struct uk_schedule *s, const struct uk_stage *st, struct uk_operand *o) {
    struct registers r = {.s = s, .t = uk_alloc(s->arena, sizeof *r.t), .first = st};
    struct uk_operand part = *o;
    bool any = false;

    if (!r.t)
        return uk_out_of_memory(s->context), false;
    *r.t = *o->tensor;
    part.tensor = r.t;
    find_owners(&r, st, o, &r.owners);
    for (int d = 0; d < r.t->dims; d++) {
        any |= r.owners.count[d] > 0;
        if (r.owners.count[d] && !leave_digits(&r, st, &part.index[d], d))
            return true; /* uk_make_registers will refuse it */
    }
    if (any && shrink(&r))
        return false;
    *o = any ? part : *o;
    return true;
}

/* ---- all stages ---- */

/* The number of threads of the kernel that contains the stage. */
static int64_t threads_of_kernel(const struct uk_schedule *s, const struct uk_stage *in) {
    int64_t block[UK_AXES] = {1, 1, 1};

    for (struct uk_stage *st = s->stages; st; st = st->next)
        for (int i = 0; i < st->loops && uk_kernel_root(st) == uk_kernel_root((struct uk_stage *)in); i++) {
            const struct uk_loop *l = st->loop[i];
            const int64_t n = l->kind == UK_LOOP_THREAD && l->axis < UK_AXES
                                  ? uk_constant_extent(st, l) * uk_axis_weight(st, l)
                                  : 1;

            if (n > 1 && n > block[l->axis])
                block[l->axis] = n;
        }
    return block[0] * block[1] * block[2];
}

static enum uk_status each_register(struct uk_schedule *s, enum uk_status (*apply)(struct registers *r)) {
    enum uk_status status = UK_OK;

    for (struct uk_buffer *b = s->buffers; b && !status; b = b->next) {
        struct registers r = {.s = s, .t = b->tensor};

        if (r.t->scope == UK_SCOPE_REGISTER)
            status = apply(&r);
    }
    return status;
}

enum uk_status uk_spread_over_threads(struct uk_schedule *s) {
    enum uk_status status = each_register(s, spread_registers);

    for (struct uk_stage *st = s->stages; st && !status; st = st->next) {
        const int64_t threads =
            st->is_copy && st->operand[0].tensor->scope == UK_SCOPE_SHARED && !has_threads(st)
                ? threads_of_kernel(s, st)
                : 1;

        if (threads > 1)
            status = spread(s, st, threads);
    }
    return status;
}

enum uk_status uk_make_registers(struct uk_schedule *s) {
    return each_register(s, make_private);
}
