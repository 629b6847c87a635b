/* SPDX-License-Identifier: Apache-2.0 */
/* Pointer chains in random order, which hardware does not prefetch: each load depends on the previous one. */
#include "measure.h"

enum { PAIR = 2 * UK_LINE, WINDOW = 32 * 4096 / PAIR };
const struct uk_chain uk_lines = {.stride = PAIR, .window = WINDOW};
const struct uk_chain uk_lines_flushed = {.stride = PAIR, .window = WINDOW, .is_flushed = true};

void uk_random_order(struct uk_lab *lab, int64_t elements, int64_t window) {
    for (int64_t first = 0; first < elements; first += window)
        for (int64_t i = first; i < elements && i < first + window; i++) {
            const int64_t j = first + uk_lab_random(lab, (uint32_t)(i - first) + 1);
            lab->order[i] = lab->order[j];
            lab->order[j] = (uint32_t)i;
        }
}

static char *place(const struct uk_lab *lab, const struct uk_chain *c, int64_t i) {
    return (c->uses_small_pages ? lab->small : lab->large) + i * c->stride +
           (c->is_spread ? i % 64 * UK_LINE : 0);
}

static char *follow(char *p, int64_t steps) {
    for (; steps > 0; steps--)
        p = *(char *volatile *)p;
    return p;
}

/* Builds the pointer chain and walks it once to warm the caches; then flushes its lines if asked to. */
static void make_chain(struct uk_lab *lab, const struct uk_measured *p) {
    const struct uk_chain *c = p->what;

    uk_random_order(lab, p->a, c->window ? c->window : p->a);
    for (int64_t i = 0; i < p->a; i++)
        *(char **)place(lab, c, lab->order[i]) = place(lab, c, lab->order[(i + 1) % p->a]);
    lab->at = place(lab, c, lab->order[0]);
    lab->at = follow(lab->at, p->a < 4096 ? 4096 / p->a * p->a : p->a);
    for (int64_t i = 0; i < p->a && c->is_flushed; i++)
        uk_flush(place(lab, c, i));
    uk_flush_end();
}

/* Walks the chain. After flushing, its lines come from memory. */
static double run_chain(struct uk_lab *lab, const struct uk_measured *p) {
    const struct uk_chain *c = p->what;
    const int64_t steps = c->is_flushed ? 2048 : p->a < 2048 ? 8192 : 4096;

    lab->at = follow(lab->at, steps);
    return (double)steps;
}

const struct uk_trial uk_chase = {.prepare = make_chain, .run = run_chain};

double uk_chase_cycles(const struct uk_lab *lab, const struct uk_chain *chain, int64_t elements) {
    return uk_point_cycles(lab, &uk_chase, chain, elements, 0);
}

double uk_memory_latency(const struct uk_lab *lab) {
    return uk_chase_cycles(lab, &uk_lines_flushed, uk_bytes_in(lab, 4) / uk_lines_flushed.stride);
}

int64_t uk_bytes_in(const struct uk_lab *lab, int level) {
    const struct uk_core *c = &lab->machine.core;

    /* L2: a quarter, because pages map to its sets at random. Beyond L2: no more than is reused before other
     * cores' lines evict it. */
    switch (level) {
    case 1:
        return c->l1.size / 2;
    case 2:
        return c->l2.size / 4;
    case 3:
        return 4 * c->l2.size < lab->bytes ? 4 * c->l2.size : lab->bytes;
    default:
        return 2 << 20;
    }
}
