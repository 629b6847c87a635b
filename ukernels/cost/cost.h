/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What work costs on a machine, in cycles of one core: plain structs in, numbers out. Both libraries use it, so
 * that they choose the same kernel for the same nest. It does not look at the CPU or its caches: it reads a
 * machine's row only.
 *
 *     kernel.c    instructions of a kernel's k iteration on the ports of a core
 *
 * Uses machine.
 */
#ifndef UK_COST_H
#define UK_COST_H

#include "machine/machine.h"

/* Instructions on vectors of one width; merges are those loads that fill a part of a register, and count among the loads too.
 * Others only need to be issued. */
struct uk_counts {
    double fma, load, shuffle, merge, other;
};

/* Cycles that these instructions take where they are repeated: the most of what the issue width allows and of
 * what each set of ports takes for the instructions that may go to its ports only. Latencies are not counted. */
double uk_cost_cycles(const struct uk_core *core, const struct uk_vectors *v, const struct uk_counts *n);

#endif
