/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers in shared memory and registers: their requirements; no loop over threads may surround a shared
 * buffer. */
#include <inttypes.h>
#include <string.h>
#include "schedule.h"

static const char *const scopes[] = {
    [UK_SCOPE_GLOBAL] = "global", [UK_SCOPE_SHARED] = "shared", [UK_SCOPE_REGISTER] = "register"};

enum uk_status uk_check_scope(struct uk_schedule *s, const struct uk_step *step, const char *what) {
    const bool root = step->loops && !strcmp(step->loop[0].loop, "root");

    if (!step->has_scope || step->scope == UK_SCOPE_GLOBAL)
        return UK_OK;
    if (!s->target->machine.core.device.threads)
        return uk_fail(
            s->context, UK_REFUSED, step->at,
            "%s %s in %s: the target %s has no memory of that scope, only GPUs have; leave `in %s` out", what,
            step->subject, scopes[step->scope], s->target->name, scopes[step->scope]);
    if (root)
        return uk_fail(s->context, UK_REFUSED, step->at,
                       "%s %s at root in %s: that memory is a block's or a thread's; name a loop inside the "
                       "loops over blocks",
                       what, step->subject, scopes[step->scope]);
    return UK_OK;
}

const char *uk_check_room(const struct uk_region *r, enum uk_scope scope) {
    for (int d = 0; d < r->dims && scope != UK_SCOPE_GLOBAL; d++)
        if (uk_part_constant_extent(&r->part[d]) < 0)
            return scope == UK_SCOPE_SHARED
                       ? "the extent of a buffer in shared must be a constant; split the loops inside by a "
                         "factor"
                       : "the extent of a buffer in register must be a constant; split the loops inside by a "
                         "factor";
    return NULL;
}

const char *uk_take_layout(struct uk_schedule *s, const struct uk_step *step, int dims,
                           struct uk_buffer_layout *out) {
    if (step->layout->from_count != dims)
        return "the layout and the tensor differ in the number of dimensions";
    const char *why = uk_layout_of_map(step->layout, out);
    const char *shared = why ? uk_shared_place(s, step->subject, step->layout, NULL) : NULL;

    if (shared)
        shared =
            uk_format(s->arena,
                      "the layout is not one to one: %s of the copy; write quotients and remainders that "
                      "belong together, as [i / 4, j, i %% 4]",
                      shared);
    if (shared)
        return shared;
    if (!why && step->strides && step->strides != out->stored)
        return "the numbers of strides and of dimensions of the layout differ; give one stride for each "
               "dimension";
    for (int k = 0; k < step->strides && !why; k++) {
        out->stride[k] = step->stride[k];
        if (step->stride[k] < 1)
            return "a stride of the layout is 0; take 1 or more";
    }
    return why;
}

/* The number of values of a digit of the region, if constant; else -1. */
static int64_t digits_of(const struct uk_digit *digit, const struct uk_region *r) {
    const int64_t most = uk_part_constant_extent(&r->part[digit->dim]);

    return digit->modulus ? digit->modulus : most < 0 ? -1 : (most + digit->divisor - 1) / digit->divisor;
}

const char *uk_check_strides(const struct uk_buffer_layout *l, const struct uk_region *r,
                             enum uk_scope scope) {
    if (!l->stored || !l->stride[0])
        return NULL;
    if (scope == UK_SCOPE_REGISTER)
        return "registers have no strides; leave them out";
    for (int k = l->stored; k-- > 1;) {
        int64_t inside, n = digits_of(&l->digit[k], r);

        if (n < 0 || __builtin_mul_overflow(n, l->stride[k], &inside))
            return "strides need constant extents in all dimensions except the first; split the loops inside "
                   "by "
                   "a "
                   "factor";
        if (inside > l->stride[k - 1])
            return "a stride is smaller than the size of the dimensions after it; enlarge it";
    }
    return NULL;
}

/* Orders the first n loops of a stage as in `order`, which contains them. */
static void order_loops(struct uk_stage *st, int n, struct uk_loop *const *order, int all) {
    struct uk_loop *now[UK_MAX_LOOPS];
    int k = 0;

    for (int i = 0; i < all; i++)
        if (uk_loop_position(st, order[i]) >= 0 && uk_loop_position(st, order[i]) < n)
            now[k++] = order[i];
    memcpy(st->loop, now, sizeof now[0] * (size_t)k);
}

/* Updates the stages attached inside loops that moved: loops that no longer surround them in the parent
 * become their own. Loops after the first `all` did not move. */
static void move_attached(struct uk_schedule *s, struct uk_stage *st, struct uk_loop *const *order, int all) {
    for (struct uk_stage *c = s->stages; c; c = c->next) {
        const int was = c->prefix;
        int same = 0;

        if (c->parent != st || !was)
            continue;
        order_loops(c, was, order, all);
        while (same < was && (same >= all || c->loop[same] == order[same]))
            same++;
        c->prefix = same;
        for (struct uk_stage *d = s->stages; d; d = d->next)
            if (d->parent == c)
                order_loops(d, was < d->prefix ? was : d->prefix, order, all);
    }
}

enum uk_status uk_sink_threads(struct uk_schedule *s, struct uk_stage *st, int *prefix,
                               struct uk_position at) {
    struct uk_loop *order[UK_MAX_LOOPS];
    int n = 0;

    for (int i = 0; i < *prefix; i++)
        if (st->loop[i]->kind != UK_LOOP_THREAD)
            order[n++] = st->loop[i];
    const int threads = *prefix - n;
    for (int i = 0; i < *prefix; i++) {
        if (st->loop[i]->kind == UK_LOOP_THREAD)
            order[n++] = st->loop[i];
        if (st->loop[i]->kind == UK_LOOP_THREAD && i < st->prefix)
            return uk_fail(s->context, UK_REFUSED, at,
                           "stage %s is attached inside of loop %s, which is over threads; memory that these "
                           "share cannot be filled there, attach the stage outside of that loop",
                           st->name, st->loop[i]->var->name);
    }
    if (!threads)
        return UK_OK;
    memcpy(st->loop, order, sizeof order[0] * (size_t)n);
    *prefix -= threads;
    move_attached(s, st, order, n);
    return UK_OK;
}

/* ---- memory limits ---- */

/* Bytes of the scope that the kernel's stages use: per block (shared) or per thread (registers). */
static int64_t bytes_of(const struct uk_schedule *s, const struct uk_stage *root, enum uk_scope scope) {
    int64_t sum = 0, n;

    for (const struct uk_buffer *b = s->buffers; b; b = b->next) {
        bool here = false;

        for (struct uk_stage *st = s->stages; st && b->tensor->scope == scope; st = st->next)
            here |= st->operand[0].tensor == b->tensor && uk_kernel_root(st) == root;
        if (here && (!uk_index_is_int(b->elements, &n) ||
                     __builtin_mul_overflow(n, (int64_t)uk_type_bytes(b->tensor->type), &n) ||
                     __builtin_add_overflow(sum, n, &sum)))
            return INT64_MAX;
    }
    return sum;
}

enum uk_status uk_check_memory(struct uk_schedule *s) {
    const int64_t most[] = {[UK_SCOPE_SHARED] = s->target->machine.core.device.shared_bytes,
                            [UK_SCOPE_REGISTER] = s->target->machine.core.device.register_bytes};

    for (struct uk_stage *st = s->stages; st && s->target->machine.core.device.threads; st = st->next)
        for (int scope = UK_SCOPE_SHARED; scope <= UK_SCOPE_REGISTER; scope++) {
            const int64_t n = uk_kernel_root(st) == st ? bytes_of(s, st, (enum uk_scope)scope) : 0;

            s->at = st;
            if (n > most[scope])
                return uk_fail(s->context, UK_REFUSED, st->statement->at,
                               "the kernel of stage %s has %" PRId64
                               " bytes in %s for a %s, and target %s has %" PRId64
                               "; split its loops by smaller factors",
                               st->name, n, scopes[scope], scope == UK_SCOPE_SHARED ? "block" : "thread",
                               s->target->name, most[scope]);
        }
    return UK_OK;
}
