/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places the barriers of a kernel: one between a thread's write to shared memory and another thread's access
 * to the same element. Barriers are outside of the loops over threads, where all threads of the block execute
 * them. A loop's body is analysed twice, as accesses of one iteration may conflict with those of the next.
 * There is no barrier if isl proves that conflicting accesses are by the same thread.
 */
#include "lower.h"

enum { MAX_ACCESSES = 64 };

/* A stage's access to shared memory; operand 0 writes. */
struct access {
    struct uk_stage *stage;
    int operand;
};

struct placing {
    struct uk_schedule *s;
    int accesses;
    struct access access[MAX_ACCESSES];
    /* Bit b of element a: isl has answered for accesses a and b; different threads may conflict. */
    uint64_t asked[MAX_ACCESSES], crossing[MAX_ACCESSES];
    /* Accesses inside a pipeline to its slots, which the barrier of each iteration separates. */
    uint64_t slots;
    bool failed;
};

static int number_of(struct placing *p, struct uk_stage *st, int operand) {
    int i = 0;

    while (i < p->accesses && (p->access[i].stage != st || p->access[i].operand != operand))
        i++;
    if (i == MAX_ACCESSES) {
        p->failed = true;
        return 0;
    }
    if (i == p->accesses)
        p->access[p->accesses++] = (struct access){st, operand};
    return i;
}

/* The accesses, as a set, of the stages with instances among the nodes. */
static uint64_t accesses_of(struct placing *p, const struct uk_node *n) {
    uint64_t set = 0;

    for (; n; n = n->next) {
        struct uk_stage *st =
            n->op == UK_N_STORE || n->op == UK_N_CALL ? uk_stage_find(p->s, n->stage) : NULL;

        for (int o = 0; st && o < st->operands; o++)
            if (st->operand[o].tensor->scope == UK_SCOPE_SHARED)
                set |= UINT64_C(1) << number_of(p, st, o);
        set |= accesses_of(p, n->body) | accesses_of(p, n->other);
    }
    return set;
}

/* True if two threads of a block may access one element, at least one of them writing. */
static bool conflict(struct placing *p, int a, int b) {
    const struct access *w = &p->access[a], *x = &p->access[b];
    int host, inside;

    if (w->operand && x->operand)
        return false;
    if (w->stage->operand[w->operand].tensor != x->stage->operand[x->operand].tensor)
        return false;
    if (w->operand)
        return conflict(p, b, a);
    if (!(p->asked[a] >> b & 1)) {
        uk_blocks_of(w->stage, &host, &inside);
        p->asked[a] |= UINT64_C(1) << b;
        if (uk_has_shared_element(p->s, w->stage, x->stage, x->operand, host, inside, false))
            p->crossing[a] |= UINT64_C(1) << b;
    }
    return p->crossing[a] >> b & 1;
}

static bool any_conflict(struct placing *p, uint64_t before, uint64_t now) {
    for (int a = 0; a < p->accesses; a++)
        for (int b = 0; b < p->accesses && before >> a & 1; b++)
            if ((now >> b & 1) && conflict(p, a, b))
                return true;
    return false;
}

/* True if the node is a thread's part, in which a barrier is not possible, or a choice between such parts. */
static bool is_of_threads(const struct uk_node *n) {
    bool all = n->op == UK_N_IF;

    for (const struct uk_node *in = n->body; in && all; in = in->next)
        all = is_of_threads(in);
    for (const struct uk_node *in = n->other; in && all; in = in->next)
        all = is_of_threads(in);
    return all || n->op == UK_N_STORE || n->op == UK_N_CALL ||
           (n->op == UK_N_FOR && n->loop == UK_LOOP_THREAD);
}

static bool insert(struct placing *p, struct uk_node **at) {
    struct uk_node *barrier = uk_alloc(p->s->arena, sizeof *barrier);

    if (!barrier)
        return false;
    *barrier = (struct uk_node){.op = UK_N_BARRIER, .next = *at, .stage = (*at)->stage};
    *at = barrier;
    return true;
}

static bool place(struct placing *p, struct uk_node **at, uint64_t *since);

static uint64_t slots_of(struct placing *p, const struct uk_node *loop) {
    uint64_t set = 0;

    for (int a = 0; a < p->accesses; a++)
        if (uk_has_slots(p->s, p->access[a].stage->operand[p->access[a].operand].tensor, loop))
            set |= UINT64_C(1) << a;
    return set;
}

static bool place_in_pipeline(struct placing *p, struct uk_node *n, uint64_t *since) {
    const uint64_t all = accesses_of(p, n->body), outside = p->slots;
    bool placed = true;

    p->slots |= slots_of(p, n);
    for (int pass = 0; pass < 2 && placed; pass++)
        placed = place(p, &n->body, since);
    p->slots = outside;
    *since |= all;
    return placed;
}

static bool place_inside(struct placing *p, struct uk_node *n, uint64_t *since) {
    uint64_t other = *since;

    switch (n->op) {
    case UK_N_FOR:
        if (n->slots)
            return place_in_pipeline(p, n, since);
        for (int pass = 0; pass < (n->loop == UK_LOOP_BLOCK ? 1 : 2); pass++) {
            if (!place(p, &n->body, since))
                return false;
            *since |= other; /* the loop may have no iteration */
        }
        return true;
    case UK_N_IF:
        if (!place(p, &n->body, since) || !place(p, &n->other, &other))
            return false;
        *since |= other;
        return true;
    default:
        return place(p, &n->body, since);
    }
}

/* The accesses in a loop, except those to slots, which have barriers of their own. */
static uint64_t inside_of(struct placing *p, const struct uk_node *loop) {
    const uint64_t all = accesses_of(p, loop->body);

    return all & ~p->slots & ~(loop->slots ? slots_of(p, loop) : 0);
}

/* Places barriers in a list; *since: accesses after the last barrier. */
static bool place(struct placing *p, struct uk_node **at, uint64_t *since) {
    for (; *at; at = &(*at)->next) {
        if ((*at)->op == UK_N_BARRIER) {
            *since = 0;
            continue;
        }
        if (!is_of_threads(*at)) {
            if ((*at)->op == UK_N_FOR && any_conflict(p, *since, inside_of(p, *at))) {
                if (!insert(p, at)) /* once, instead of in each iteration */
                    return false;
                at = &(*at)->next;
                *since = 0;
            }
            if (!place_inside(p, *at, since))
                return false;
            continue;
        }
        struct uk_node *next = (*at)->next;
        (*at)->next = NULL;
        const uint64_t now = accesses_of(p, *at) & ~p->slots;
        (*at)->next = next;
        if (any_conflict(p, *since, now)) {
            if (!insert(p, at))
                return false;
            at = &(*at)->next;
            *since = 0;
        }
        *since |= now;
    }
    return true;
}

enum uk_status uk_place_barriers(struct uk_schedule *s, struct uk_node *launch) {
    struct placing *p = uk_alloc(s->arena, sizeof *p);
    uint64_t since = 0;

    if (launch->block[0] * launch->block[1] * launch->block[2] == 1)
        return UK_OK;
    if (!p)
        return uk_out_of_memory(s->context);
    p->s = s;
    if (!place(p, &launch->body, &since))
        return uk_out_of_memory(s->context);
    if (p->failed)
        return uk_fail(
            s->context, UK_REFUSED, (struct uk_position){0},
            "the stages in the blocks of %s have more than %d accesses to shared memory; copy fewer "
            "tensors",
            launch->stage, MAX_ACCESSES);
    return uk_isl_status(s);
}
