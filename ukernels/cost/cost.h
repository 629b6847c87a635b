/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What work costs on a machine, in cycles of one core: plain structs in, numbers out. Both libraries use it, so that they choose the
 * same kernel for the same nest. It asks neither which CPU this is nor for its caches: a machine's row says all.
 *
 *     kernel.c    instructions of a kernel's step on the ports of a core
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

/* Cycles in which they can begin, one time after another, whatever takes longest: the issue width, or the instructions that
 * share some ports, for every set of ports. Latencies are not in it. */
double uk_cost_cycles(const struct uk_core *core, const struct uk_vectors *v, const struct uk_counts *n);

#endif
