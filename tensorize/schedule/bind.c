/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bind L block.x: the loop's iterations become blocks of a GPU kernel or threads of a block. Several loops
 * may have one axis: neighbouring blocks or threads are iterations of the innermost of these. Once all steps
 * are applied, the nests are checked: loops over blocks are outside all others except serial loops of the
 * host, and threads write disjoint elements.
 */
#include <string.h>
#include "schedule.h"

static const char axes[] = "xyz";

static const char *kind_name(enum uk_loop_kind kind) {
    return kind == UK_LOOP_BLOCK ? "block" : "thread";
}

/* ---- the step ---- */

int64_t uk_full_extent(const struct uk_stage *st, const struct uk_loop *l) {
    int64_t least = -1, n;

    for (int b = 0; b < st->bounds; b++) {
        bool of_blocks = !uk_index_is_int(st->bound[b].upper, &n);

        for (int i = 0; i < st->loops; i++)
            of_blocks |= st->loop[i]->kind == UK_LOOP_BLOCK && st->bound[b].form.coefficient[st->loop[i]->id];
        const int64_t c = of_blocks ? 0 : st->bound[b].form.coefficient[l->id];
        if (c > 0 && (least < 0 || (n - 1) / c + 1 < least))
            least = n <= 0 ? 0 : (n - 1) / c + 1;
    }
    return least < 0 ? uk_constant_extent(st, l) : least;
}

int64_t uk_axis_weight(const struct uk_stage *st, const struct uk_loop *l) {
    int64_t weight = 1;

    for (int i = st->loops; i-- > 0 && st->loop[i] != l;)
        if (st->loop[i]->kind == UK_LOOP_THREAD && st->loop[i]->axis == l->axis)
            weight *= uk_full_extent(st, st->loop[i]);
    return weight;
}

/* Threads of the stage, counting l among its loops over threads. */
static int64_t threads_of(const struct uk_stage *st, const struct uk_loop *l) {
    int64_t n = 1;

    for (int i = 0; i < st->loops; i++)
        if ((st->loop[i] == l || st->loop[i]->kind == UK_LOOP_THREAD) &&
            __builtin_mul_overflow(n, uk_constant_extent(st, st->loop[i]), &n))
            return INT64_MAX;
    return n;
}

static enum uk_status check_threads(struct uk_schedule *s, const struct uk_stage *st, const struct uk_loop *l,
                                    int axis, struct uk_position at) {
    const int most = s->target->machine.core.device.threads;

    if (uk_constant_extent(st, l) < 0)
        return uk_fail(s->context, UK_REFUSED, at,
                       "bind %s thread.%c: its extent is not a constant; split it by a factor and bind the "
                       "inner loop, or --define the size",
                       l->var->name, axes[axis]);
    const int64_t n = threads_of(st, l);
    if (n > most)
        return uk_fail(s->context, UK_REFUSED, at,
                       "bind %s thread.%c: a block of stage %s would have %lld threads, and at most %d are "
                       "possible; split the loop by a smaller factor",
                       l->var->name, axes[axis], st->name, (long long)n, most);
    return UK_OK;
}

static enum uk_status check_free(struct uk_schedule *s, const struct uk_stage *st, int position,
                                 const struct uk_step *step) {
    const struct uk_loop *l = st->loop[position];

    if (position >= st->tile)
        return uk_fail(s->context, UK_REFUSED, step->at,
                       "bind %s: the loop is inside a kernel; take one outside of it, or put the step before "
                       "tensorize",
                       l->var->name);
    if (uk_is_bound(l))
        return uk_fail(s->context, UK_REFUSED, step->at,
                       "bind %s %s: the loop is bound to %s.%c already; bind it once", l->var->name,
                       step->axis, kind_name(l->kind), axes[l->axis]);
    if (l->kind != UK_LOOP_SERIAL)
        return uk_fail(s->context, UK_REFUSED, step->at,
                       "bind %s %s: the loop is parallel, unrolled or vectorized already; leave that step "
                       "out, or split the loop and take one of the two",
                       l->var->name, step->axis);
    return UK_OK;
}

/* Refuses if a copy in shared memory is inside the loop: the copy was placed for a serial loop. */
static enum uk_status check_copies(struct uk_schedule *s, const struct uk_loop *l,
                                   const struct uk_step *step) {
    for (const struct uk_stage *c = s->stages; c; c = c->next)
        for (int i = 0; i < c->prefix && c->operand[0].tensor->scope == UK_SCOPE_SHARED; i++)
            if (c->loop[i] == l)
                return uk_fail(s->context, UK_REFUSED, step->at,
                               "bind %s %s: %s in shared is inside of the loop, and threads share it; put "
                               "the bind before the step that made %s",
                               l->var->name, step->axis, c->name, c->name);
    return UK_OK;
}

enum uk_status uk_apply_bind(struct uk_schedule *s, struct uk_step *step) {
    const enum uk_loop_kind kind = *step->axis == 'b' ? UK_LOOP_BLOCK : UK_LOOP_THREAD;
    const int axis = step->axis[strlen(step->axis) - 1] - 'x';
    struct uk_stage *st;
    int position;

    if (!s->target->machine.core.device.threads)
        return uk_fail(
            s->context, UK_UNSUPPORTED, step->at,
            "bind %s: the target %s has no blocks and threads, only GPUs have; make the loop parallel",
            step->loop[0].loop, s->target->name);
    enum uk_status status = uk_find_loop(s, &step->loop[0], &st, &position);
    if (status || (status = check_free(s, st, position, step)))
        return status;
    struct uk_loop *l = st->loop[position];
    if ((kind == UK_LOOP_THREAD &&
         ((status = check_threads(s, st, l, axis, step->at)) || (status = check_copies(s, l, step)))) ||
        (status = uk_check_parallel(s, st, position, false, step->at, "bind")))
        return status;
    l->kind = kind;
    l->axis = axis;
    l->at = step->at;
    return UK_OK;
}

/* ---- the kernels ---- */

/* A nest whose loops [host, inside) run over blocks. */
struct kernel {
    struct uk_schedule *s;
    struct uk_stage *root;
    int host, inside;
    int64_t *block; /* threads of a block, by axis */
};

struct uk_stage *uk_kernel_root(struct uk_stage *st) {
    while (st->parent && st->prefix)
        st = st->parent;
    return st;
}

void uk_blocks_of(const struct uk_stage *st, int *host, int *inside) {
    *host = st->loops;
    *inside = 0;
    for (int i = st->loops; i-- > 0;)
        if (st->loop[i]->kind == UK_LOOP_BLOCK) {
            *host = i;
            *inside = *inside ? *inside : i + 1;
        }
}

/* True if another nest has loops over blocks. */
static bool others_have_blocks(const struct uk_schedule *s, const struct uk_stage *root) {
    for (struct uk_stage *st = s->stages; st; st = st->next)
        for (int i = 0; i < st->loops; i++)
            if (st->loop[i]->kind == UK_LOOP_BLOCK && uk_kernel_root(st) != root)
                return true;
    return false;
}

/* True if the stage has a loop with independent iterations; otherwise one thread computes it. */
static bool can_bind(const struct uk_stage *st) {
    for (int i = 0; i < st->loops; i++)
        if (!uk_is_reduced(st, st->loop[i]) && !(st->previous && st->loop[i]->iterator == st->scanned))
            return true;
    return false;
}

static enum uk_status find_blocks(struct kernel *k) {
    struct uk_stage *st = k->root;

    uk_blocks_of(st, &k->host, &k->inside);
    const int last = k->inside - 1;
    const bool others = last < 0 && others_have_blocks(k->s, st);
    if (last < 0 && others && !can_bind(st)) {
        k->host = 0;
        return UK_OK;
    }
    if (last < 0 && !st->loops)
        return uk_fail(
            k->s->context, UK_REFUSED, st->statement->at,
            "stage %s has no loop that could be bound to blocks, and %s; compute it in a program of "
            "its own",
            st->name, others ? "other stages run on some" : "other stages run on threads");
    if (last < 0)
        return uk_fail(k->s->context, UK_REFUSED, st->statement->at,
                       "stage %s runs on no block, %s; bind its outermost loop, bind %s.%s block.x", st->name,
                       others ? "and other stages do" : "and threads are those of a block", st->name,
                       st->loop[0]->var->name);
    for (int i = 0; i <= last; i++)
        if (st->loop[i]->kind == UK_LOOP_THREAD || (i > k->host && st->loop[i]->kind != UK_LOOP_BLOCK))
            return uk_fail(k->s->context, UK_REFUSED, st->loop[last]->at,
                           "bind %s block.%c: loop %s of stage %s is outside of it and over no blocks; "
                           "reorder the loops over blocks outwards",
                           st->loop[last]->var->name, axes[st->loop[last]->axis], st->loop[i]->var->name,
                           st->name);
    return UK_OK;
}

/* Checks that an attached stage is inside all loops over blocks, and inside all or none of its parent's loops
 * over threads. */
static enum uk_status check_place(const struct kernel *k, const struct uk_stage *st) {
    const struct uk_stage *parent = st->parent;
    const struct uk_loop *around = NULL, *left = NULL, *own = NULL;

    if (st->prefix < k->inside)
        return uk_fail(k->s->context, UK_REFUSED, st->statement->at,
                       "stage %s is attached outside of loop %s, which is over blocks; attach it inside",
                       st->name, k->root->loop[k->inside - 1]->var->name);
    for (int i = 0; i < parent->loops; i++)
        if (parent->loop[i]->kind == UK_LOOP_THREAD)
            *(i < st->prefix ? &around : &left) = parent->loop[i];
    for (int i = st->prefix; i < st->loops; i++) {
        own = st->loop[i]->kind == UK_LOOP_THREAD ? st->loop[i] : own;
        if (st->loop[i]->kind == UK_LOOP_BLOCK)
            return uk_fail(k->s->context, UK_REFUSED, st->loop[i]->at,
                           "bind %s block.%c: stage %s is attached inside of the blocks of %s; bind the loop "
                           "to threads",
                           st->loop[i]->var->name, axes[st->loop[i]->axis], st->name, k->root->name);
    }
    if (around && (left || own))
        return uk_fail(
            k->s->context, UK_REFUSED, st->statement->at,
            "stage %s is attached inside of loop %s, which is over threads, and outside of loop %s, "
            "which is too; attach it inside of both or outside of both",
            st->name, around->var->name, (left ? left : own)->var->name);
    return UK_OK;
}

static enum uk_status check_loops(struct kernel *k, const struct uk_stage *st) {
    for (int i = 0; i < st->loops; i++) {
        const struct uk_loop *l = st->loop[i];

        if (l->kind == UK_LOOP_PARALLEL)
            return uk_fail(k->s->context, UK_REFUSED, l->at,
                           "parallel %s: the program runs on blocks and threads; bind the loop instead",
                           l->var->name);
        if (l->kind != UK_LOOP_THREAD || l->axis == UK_AXES)
            continue;
        const int64_t n = uk_constant_extent(st, l) * uk_axis_weight(st, l);
        if (n > k->block[l->axis])
            k->block[l->axis] = n;
    }
    return UK_OK;
}

static enum uk_status check_size(const struct kernel *k) {
    const int most = k->s->target->machine.core.device.threads;
    const int64_t n = k->block[0] * k->block[1] * k->block[2];

    if (n <= most)
        return UK_OK;
    return uk_fail(k->s->context, UK_REFUSED, k->root->statement->at,
                   "the stages in the blocks of %s take %lld threads together, and at most %d are possible; "
                   "bind their loops to the same axes, or split by smaller factors",
                   k->root->name, (long long)n, most);
}

/* True if a loop around the one at `position` is over threads of the same axis. */
static bool has_outer_digit(const struct uk_stage *st, int position) {
    for (int i = 0; i < position; i++)
        if (st->loop[i]->kind == UK_LOOP_THREAD && st->loop[i]->axis == st->loop[position]->axis)
            return true;
    return false;
}

static enum uk_status set_weights(struct kernel *k, struct uk_stage *st) {
    bool any = k->block[0] * k->block[1] * k->block[2] == 1;

    for (int i = k->host; i < k->inside; i++)
        k->root->loop[i]->block = k->block;
    for (int i = 0; i < st->loops; i++) {
        struct uk_loop *l = st->loop[i];

        if (l->kind != UK_LOOP_THREAD)
            continue;
        any = true;
        if (l->axis == UK_AXES) /* a digit of the thread's number; its weight is set already */
            continue;
        const int64_t weight = uk_axis_weight(st, l);

        l->weight = weight * (l->axis > 0 ? k->block[0] : 1) * (l->axis > 1 ? k->block[1] : 1);
        l->threads = has_outer_digit(st, i) ? uk_full_extent(st, l) : k->block[l->axis] / weight;
    }
    if (any)
        return UK_OK;
    return uk_fail(k->s->context, UK_REFUSED, st->statement->at,
                   "stage %s runs in blocks of several threads, and no loop of it is over threads; bind one, "
                   "bind %s.%s thread.x",
                   st->name, st->name, st->loops ? st->loop[st->loops - 1]->var->name : "LOOP");
}

/* Checks that a buffer which the steps made belongs to one block. */
static enum uk_status check_buffer(const struct kernel *k, const struct uk_stage *st) {
    const struct uk_tensor *t = st->operand[0].tensor;

    if (t->kind != UK_TENSOR_PACKED || t->scope != UK_SCOPE_GLOBAL || !uk_home_prefix(k->s, st))
        return UK_OK;
    return uk_fail(
        k->s->context, UK_REFUSED, t->at,
        "%s is a buffer inside of the blocks of %s, and in global memory; make it `in shared` or `in "
        "register`, or put it at root",
        t->name, k->root->name);
}

/* Refuses conflicting accesses of two threads to an element of global memory: their order is undefined. */
static enum uk_status check_races(const struct kernel *k, struct uk_stage *const *member, int members) {
    for (int a = 0; a < members; a++)
        for (int b = 0; b < members; b++)
            for (int o = 0; o < member[b]->operands; o++) {
                const struct uk_tensor *t = member[a]->operand[0].tensor;

                if (member[b]->operand[o].tensor != t || t->scope != UK_SCOPE_GLOBAL || (b < a && !o))
                    continue;
                for (int blocks = 0; blocks < 2; blocks++) {
                    if (!uk_has_shared_element(k->s, member[a], member[b], o, k->host, k->inside, blocks))
                        continue;
                    enum uk_status status = uk_isl_status(k->s);
                    return status
                               ? status
                               : uk_fail(k->s->context, UK_REFUSED, member[b]->statement->at,
                                         "stage %s %s elements of %s that stage %s writes in another %s of "
                                         "one kernel; put %s in shared, or compute the stages in kernels of "
                                         "their own",
                                         member[b]->name, o ? "reads" : "writes", t->name, member[a]->name,
                                         blocks ? "block" : "thread", t->name);
                }
            }
    return UK_OK;
}

static enum uk_status check_kernel(struct kernel *k, struct uk_stage **member) {
    enum uk_status status = find_blocks(k);
    int members = 0;

    for (struct uk_stage *st = k->s->stages; st && !status; st = st->next) {
        if (uk_kernel_root(st) != k->root)
            continue;
        member[members++] = st;
        if (st != k->root)
            status = check_place(k, st);
        if (!status && !(status = check_buffer(k, st)))
            status = check_loops(k, st);
    }
    for (int a = 0; a < UK_AXES; a++)
        k->block[a] += !k->block[a];
    if (!status)
        status = check_size(k);
    for (int i = 0; i < members && !status; i++)
        status = set_weights(k, member[i]);
    return status || !k->inside ? status : check_races(k, member, members);
}

static bool has_kernels(const struct uk_schedule *s) {
    for (const struct uk_stage *st = s->stages; st; st = st->next)
        for (int i = 0; i < st->loops; i++)
            if (uk_is_bound(st->loop[i]))
                return true;
    return false;
}

enum uk_status uk_check_kernels(struct uk_schedule *s) {
    struct uk_stage **member;
    size_t n = 1;

    if (!has_kernels(s)) {
        for (const struct uk_buffer *b = s->buffers; b; b = b->next)
            if (b->tensor->scope != UK_SCOPE_GLOBAL)
                return uk_fail(
                    s->context, UK_REFUSED, b->tensor->at,
                    "%s is memory of a block or of its threads, and no loop is bound to blocks; bind "
                    "one, or leave the scope out",
                    b->tensor->name);
        return UK_OK;
    }
    for (const struct uk_stage *st = s->stages; st; st = st->next)
        n++;
    if (!(member = uk_alloc(s->arena, n * sizeof(struct uk_stage *))))
        return uk_out_of_memory(s->context);
    for (struct uk_stage *st = s->stages; st; st = st->next) {
        struct kernel k = {.s = s, .root = st};

        if (uk_kernel_root(st) != st || uk_has_no_output(st))
            continue;
        s->at = st;
        if (!(k.block = uk_alloc(s->arena, UK_AXES * sizeof *k.block)))
            return uk_out_of_memory(s->context);
        enum uk_status status = check_kernel(&k, member);
        if (status)
            return status;
    }
    return UK_OK;
}
