/* SPDX-License-Identifier: Apache-2.0 */
/* Launches in the loop IR: each outermost loop over blocks becomes, with its body, a launch with its grid. */
#include <inttypes.h>
#include <string.h>
#include "lower.h"

/* True if both are the same loop over one block, which restore_loop put around two parts of its body. */
static bool is_same_block(const struct uk_node *a, const struct uk_node *b) {
    int64_t one;

    return a->op == UK_N_FOR && b && b->op == UK_N_FOR && a->loop == UK_LOOP_BLOCK &&
           b->loop == UK_LOOP_BLOCK && a->stage == b->stage && !strcmp(a->var->name, b->var->name) &&
           uk_index_is_int(a->upper, &one) && one == 1 && uk_index_is_int(b->upper, &one) && one == 1;
}

static void join_blocks(struct uk_node *n) {
    for (; n; n = n->next) {
        while (is_same_block(n, n->next)) {
            struct uk_node **end = &n->body;

            while (*end)
                end = &(*end)->next;
            *end = n->next->body;
            n->next = n->next->next;
        }
        join_blocks(n->body);
        join_blocks(n->other);
    }
}

/* A loop over blocks in the rest of a kernel, or NULL. */
static const struct uk_node *find_block(const struct uk_node *n) {
    const struct uk_node *found = NULL;

    for (; n && !found; n = n->next) {
        if (n->op == UK_N_FOR && n->loop == UK_LOOP_BLOCK)
            return n;
        found = find_block(n->body);
        found = found ? found : find_block(n->other);
    }
    return found;
}

/* True if e depends on a variable of a loop in the launch outside `to`; extents of a grid may not. */
static bool depends_inside(const struct uk_index *e, const struct uk_node *launch, const struct uk_node *to) {
    for (const struct uk_node *n = launch->body; n != to; n = n->body)
        if (n->var && uk_mentions(e, n->var))
            return true;
    return false;
}

static enum uk_status no_grid(struct uk_schedule *s, const struct uk_node *n) {
    return uk_fail(s->context, UK_REFUSED, (struct uk_position){0},
                   "stage %s: the number of blocks of loop %s depends on another block's number; bind loops "
                   "whose extents depend on sizes alone",
                   n->stage, n->var->name);
}

/* Adds a loop to the grid. On an axis that has loops already, these are outside of it. */
static bool add_to_grid(struct uk_schedule *s, struct uk_node *launch, struct uk_node *loop) {
    struct uk_arena *a = s->arena;
    struct uk_index **grid = &launch->grid[loop->axis];

    for (struct uk_node *n = launch->body; n != loop; n = n->body) {
        if (n->op != UK_N_FOR || n->loop != UK_LOOP_BLOCK || n->axis != loop->axis)
            continue;
        loop->is_digit = true;
        n->within = n->within ? uk_index_op(a, UK_I_MUL, n->within, loop->upper) : loop->upper;
        if (!n->within)
            return false;
    }
    *grid = loop->is_digit ? uk_index_op(a, UK_I_MUL, *grid, loop->upper) : loop->upper;
    return *grid;
}

/* Finds the grid: loops over blocks must be nested directly, with only conditions between them. */
static enum uk_status find_grid(struct uk_schedule *s, struct uk_node *launch) {
    const struct uk_node *rest;

    for (struct uk_node *n = launch->body; n; n = n->body) {
        if (n->op == UK_N_FOR && n->loop == UK_LOOP_BLOCK) {
            if (depends_inside(n->upper, launch, n))
                return no_grid(s, n);
            if (!add_to_grid(s, launch, n))
                return uk_out_of_memory(s->context);
        } else if (!(rest = find_block(n))) {
            break;
        } else if (n->op == UK_N_FOR) {
            return no_grid(s, rest);
        }
        if (n != launch->body && (n->next || n->other) && (rest = find_block(n)))
            return no_grid(s, rest);
    }
    return UK_OK;
}

/* ---- registers, including those of pipelines ---- */

static bool stores_to(const struct uk_node *n, const struct uk_tensor *t) {
    for (; n; n = n->next)
        if ((n->op == UK_N_STORE && n->target.tensor == t) || stores_to(n->body, t) || stores_to(n->other, t))
            return true;
    return false;
}

/* Checks that the registers fit, with those into which pipelines load ahead. */
static enum uk_status check_registers(struct uk_schedule *s, const struct uk_node *launch) {
    const int64_t limit = s->target->machine.core.device.register_bytes;
    int64_t sum = 0, n;

    for (const struct uk_buffer *b = s->buffers; b; b = b->next)
        if (b->tensor->scope == UK_SCOPE_REGISTER && stores_to(launch->body, b->tensor) &&
            (!uk_index_is_int(b->elements, &n) ||
             __builtin_mul_overflow(n, (int64_t)uk_type_bytes(b->tensor->type), &n) ||
             __builtin_add_overflow(sum, n, &sum)))
            sum = INT64_MAX / 2;
    if (sum <= limit)
        return UK_OK;
    return uk_fail(
        s->context, UK_REFUSED, (struct uk_position){0},
        "the kernel of stage %s has %" PRId64
        " bytes in register for a thread, with what pipelines load ahead, and target %s has %" PRId64
        "; split its loops by smaller factors, or leave the pipeline out",
        launch->stage, sum, s->target->name, limit);
}

static void append(struct uk_node **list, struct uk_node *n) {
    while (*list)
        list = &(*list)->next;
    *list = n;
}

static bool has_part(const struct uk_index *all, const struct uk_index *part) {
    return uk_index_equal(all, part) ||
           (all->op == UK_I_AND && (has_part(all->a, part) || has_part(all->b, part)));
}

/* The conjunction of two conditions without duplicates. */
static struct uk_index *conjoin(struct uk_arena *a, struct uk_index *all, struct uk_index *more) {
    if (more->op == UK_I_AND)
        return (all = conjoin(a, all, more->a)) ? conjoin(a, all, more->b) : NULL;
    return has_part(all, more) ? all : uk_index_op(a, UK_I_AND, all, more);
}

/* Joins consecutive copies with two versions each into two versions of all of them: at the end of one copy
 * its loads would be waited for before the next copy's loads begin. */
static bool join_versions(struct uk_schedule *s, struct uk_node *n) {
    for (; n; n = n->next) {
        for (struct uk_node *next;
             n->op == UK_N_IF && n->is_version && (next = n->next) && next->op == UK_N_IF && next->is_version;
             n->next = next->next) {
            if (!(n->condition = conjoin(s->arena, n->condition, next->condition)))
                return false;
            append(&n->body, next->body);
            append(&n->other, next->other);
        }
        if (!join_versions(s, n->body) || !join_versions(s, n->other))
            return false;
    }
    return true;
}

/* The first stage in the nodes that stores or calls. */
static const char *stage_in(const struct uk_node *n) {
    const char *found = NULL;

    for (; n && !found; n = n->next) {
        if (n->op == UK_N_STORE || n->op == UK_N_CALL)
            return n->stage;
        found = stage_in(n->body);
        found = found ? found : stage_in(n->other);
    }
    return found;
}

/* True if the node is a whole kernel: a loop over blocks, or a stage without a loop to bind, which one thread
 * computes. */
static bool is_kernel(const struct uk_schedule *s, const struct uk_node *n) {
    const struct uk_node alone = {
        .op = n->op, .loop = n->loop, .body = n->body, .other = n->other, .stage = n->stage};

    return (n->op == UK_N_FOR && n->loop == UK_LOOP_BLOCK) ||
           (s->target->arch && s->target->arch->is_device && !find_block(&alone) && stage_in(&alone));
}

static enum uk_status make_launches(struct uk_schedule *s, struct uk_node **nodes) {
    enum uk_status status = UK_OK;

    for (; *nodes && !status; nodes = &(*nodes)->next) {
        struct uk_node *n = *nodes, *launch;

        if (!is_kernel(s, n)) {
            if (!(status = make_launches(s, &n->body)))
                status = make_launches(s, &n->other);
            continue;
        }
        if (!(launch = uk_alloc(s->arena, sizeof *launch)))
            return uk_out_of_memory(s->context);
        *launch = (struct uk_node){.op = UK_N_LAUNCH, .next = n->next, .body = n};
        n->next = NULL;
        launch->stage = n->op == UK_N_FOR && n->loop == UK_LOOP_BLOCK ? n->stage : stage_in(n);
        for (int a = 0; a < UK_AXES; a++) {
            launch->block[a] = launch->stage == n->stage && n->loop == UK_LOOP_BLOCK ? n->block[a] : 1;
            if (!(launch->grid[a] = uk_index_int(s->arena, 1)))
                return uk_out_of_memory(s->context);
        }
        *nodes = launch;
        s->at = uk_stage_find(s, launch->stage);
        if (!(status = find_grid(s, launch)) && !(status = uk_make_pipelines(s, &launch->body)) &&
            !(status = check_registers(s, launch)) && !(status = uk_load_copies_first(s, &launch->body)))
            status = uk_place_barriers(s, launch);
        if (!status && (!join_versions(s, launch->body) || !uk_make_vectors(s, launch->body)))
            status = uk_out_of_memory(s->context);
    }
    return status;
}

enum uk_status uk_make_launches(struct uk_schedule *s, struct uk_node **nodes) {
    join_blocks(*nodes);
    return make_launches(s, nodes);
}
