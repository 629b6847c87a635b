/* SPDX-License-Identifier: Apache-2.0 */
/* Measures stores: a load that falsely depends on a store a multiple of 4 KB away (4K aliasing), and stores
 * that miss. */
#include <math.h>
#include "measure.h"

enum { STEPS = 4096, STORES = 4096, ALIASED = 8192, ALONE = 8192 + 512 };

/* ---- a load after a store ---- */

/* Parameter a: bytes from a store to the load after it. The load's address depends on the previous load. */
static double load_after_store(struct uk_lab *lab, const struct uk_measured *p) {
    volatile uint64_t *const stored = (volatile uint64_t *)(lab->large + UK_LINE + 8);
    const char *const loaded = (const char *)stored + p->a;
    uint64_t x = 0;

    for (int i = 0; i < STEPS; i++) {
        *stored = 0;
        x = *(const volatile uint64_t *)(loaded + x);
    }
    uk_hide_value(x);
    return STEPS;
}

static void clear(struct uk_lab *lab, const struct uk_measured *p) {
    *(volatile uint64_t *)(lab->large + UK_LINE + 8 + p->a) = 0;
    load_after_store(lab, p);
}

static const struct uk_trial after_store = {.prepare = clear, .run = load_after_store};

/* ---- stores that miss ---- */

/* Brings lines into the last-level cache, in address order, or in random order if `a` is set; those stored to
 * next are the least recently read. */
static void send_away(struct uk_lab *lab, const struct uk_measured *p) {
    const int64_t lines = uk_bytes_in(lab, 3) / UK_LINE;

    uk_random_order(lab, lines, uk_lines.window * 2);
    for (int64_t i = 0; i < lines; i++)
        lab->order[i] = (uint32_t)(p->a ? lab->order[i] : i) * UK_LINE;
    for (int pass = 0; pass < UK_PASSES; pass++)
        for (int64_t i = 0; i < lines; i++)
            *(volatile char *)(lab->large + lab->order[i]);
}

static double store_lines(struct uk_lab *lab, const struct uk_measured *p) {
    for (int i = 0; i < STORES; i++)
        *(volatile uint64_t *)(lab->large + lab->order[i]) = 0;
    (void)p;
    return STORES;
}

static const struct uk_trial store_miss = {.prepare = send_away, .run = store_lines};

void uk_lines_begin(struct uk_lab *lab) {
    uk_point_add(lab, &after_store, NULL, ALIASED, 0);
    uk_point_add(lab, &after_store, NULL, ALONE, 0);
    uk_point_add(lab, &store_miss, NULL, 0, 0);
    uk_point_add(lab, &store_miss, NULL, 1, 0);
}

void uk_lines_end(struct uk_lab *lab) {
    uk_lab_add_answer(lab, "alias",
                      fmax(0, uk_point_cycles(lab, &after_store, NULL, ALIASED, 0) -
                                  uk_point_cycles(lab, &after_store, NULL, ALONE, 0)));
    uk_lab_add_reason(
        lab, "serial_transfers",
        "it needs a loop of loads, lines from L2 and multiply-adds, for which there is no microbenchmark");
    uk_lab_add_reason(
        lab, "hint_hides",
        "it needs kernels with operands beyond L2, with and without their prefetches, for which "
        "there is no microbenchmark");
    uk_lab_add_answer(lab, "store_miss", uk_point_cycles(lab, &store_miss, NULL, 0, 0));
    uk_lab_add_extra_answer(lab, "store_miss, at random", "cycles",
                            uk_point_cycles(lab, &store_miss, NULL, 1, 0), NAN);
}
