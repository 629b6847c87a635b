/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What work costs on a machine, in cycles of one core: plain structs in, numbers out. Both libraries use it,
 * so that they choose the same kernel for the same nest. It does not look at the CPU or its caches: it reads
 * a machine's row only.
 *
 *     kernel.c    instructions of a kernel's k iteration on the ports of a core
 *     thresholds.def  what had to be measured on products
 *     nest.c      operands of a loop nest by their views
 *     stream.c    a loop nest: its instructions, and the lines that its operands bring from each cache and
 *                 from memory
 *
 * Uses machine, view (the lines of an operand).
 */
#ifndef UK_COST_H
#define UK_COST_H

#include "machine/machine.h"
#include "minmax.h"
#include "view/view.h"

enum {
#define UK_THRESHOLD(name, value, ...) name = value,
#define UK_LIMIT(name, value, ...) name = value,
#define UK_FACTOR(...)
#include "thresholds.def"
};
#define UK_THRESHOLD(...)
#define UK_LIMIT(...)
#define UK_FACTOR(name, value, ...) static const double name = value;
#include "thresholds.def"

/* Instructions on vectors of one width; merges are those loads that fill a part of a register, and count
 * among the loads too. Others only need to be issued. */
struct uk_counts {
    double fma, load, shuffle, merge, other;
};

/* Cycles that these instructions take where they are repeated: the most of what the issue width allows and of
 * what each set of ports takes for the instructions that may go to its ports only. Latencies are not counted.
 * */
double uk_cost_cycles(const struct uk_core *core, const struct uk_vectors *v, const struct uk_counts *n);

/* The part of vectors of so many bytes that lie across two lines, in rows so many bytes apart, of which one
 * begins with a line. */
double uk_cost_splits(int64_t bytes, int64_t stride);

enum { UK_NEST_LOOPS = UK_VIEW_LOOPS, UK_NEST_OPERANDS = 5 };

/* A loop nest around a body of straight code, the outermost loop first. */
struct uk_loop_nest {
    int loops, operands;
    int64_t extent[UK_NEST_LOOPS];
    struct uk_loop_operand {
        int bytes; /* of an element, to which it is aligned */
        /* What the body accesses of it: so many runs of so many bytes, `pitch` bytes apart. */
        int64_t runs, length, pitch;
        int64_t stride[UK_NEST_LOOPS]; /* bytes that the loop moves it; 0: the loop accesses the same again */
        bool is_written;               /* as well as read, or only; its lines go back */
        bool is_prefetched;            /* by instructions, as early as is needed */
        int held; /* so many of the innermost loops have it in registers: the body accesses it outside of them
                   */
    } operand[UK_NEST_OPERANDS];
    double instructions,
        loads; /* cycles of all instructions, and of those of the ports that load, with all operands in L1 */
};

/* ---- nest.c ---- */

/* One of the loops of a nest over three dimensions, such as a product's m, n and k: how far it moves on along
 * each. */
struct uk_nest_loop {
    int64_t extent, by[3];
};

/* What the body accesses of an operand: so many lines, and elements of each. Copies that are made in each
 * iteration of some of the outermost loops begin anew there, in the same memory. */
struct uk_nest_access {
    const struct uk_lattice *view;
    int line, k; /* the dimensions that its lines and its elements lie along */
    int64_t lines, elements;
    int anew;
};

/* Adds an operand to a nest, which has room for it, and gets these loops; the outermost is the first. */
struct uk_loop_operand *uk_nest_add(struct uk_loop_nest *n, const struct uk_nest_loop *loop, int loops,
                                    const struct uk_nest_access *x);

/* ---- stream.c ---- */

/* Cycles that the nest takes where it runs again and again on the same operands; never less than its
 * instructions do. */
double uk_cost_nest(const struct uk_machine *m, const struct uk_loop_nest *n);

#endif
