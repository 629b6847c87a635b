/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cost of work on a machine, in cycles of one core: plain structs in, numbers out. Both libraries use it, so
 * that they choose the same kernel for the same loop nest. It reads a machine's row only, never the CPU or
 * its caches.
 *
 *     kernel.c        instructions of a kernel's k iteration on the ports of a core
 *     nest.c          operands of a loop nest, from their views
 *     stream.c        a loop nest: its instructions, and the lines that its operands load from each cache and
 *                     from memory
 *     thresholds.def  figures that were measured on products
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

/* Instructions on vectors of one width. Merges are loads that fill a part of a register; they count as loads
 * too. Others use no port that counts: they are only issued. */
struct uk_counts {
    double fma, load, shuffle, merge, other;
};

/* Throughput of repeated instructions, in cycles: the maximum of the issue width's bound and, for each set of
 * ports, of the bound for instructions that only those ports execute. Latencies are not counted. */
double uk_cost_cycles(const struct uk_core *core, const struct uk_vectors *v, const struct uk_counts *n);

/* The fraction of vectors that cross a line: vectors of `bytes` in rows `stride` bytes apart, if one row
 * begins with a line. */
double uk_cost_splits(int64_t bytes, int64_t stride);

enum { UK_NEST_LOOPS = UK_VIEW_LOOPS, UK_NEST_OPERANDS = 5 };

/* A loop nest around a body without loops; the outermost loop first. */
struct uk_loop_nest {
    int loops, operands;
    int64_t extent[UK_NEST_LOOPS];
    struct uk_loop_operand {
        int bytes; /* of an element, and its alignment */
        /* The body accesses `runs` runs of `length` bytes, `pitch` bytes apart. */
        int64_t runs, length, pitch;
        int64_t stride[UK_NEST_LOOPS]; /* bytes per iteration; 0: each iteration accesses the same */
        bool is_written;               /* written, perhaps read too; its lines are written back */
        bool is_prefetched;            /* by instructions, early enough */
        int held; /* innermost loops that keep it in registers: it is accessed outside of them */
    } operand[UK_NEST_OPERANDS];
    double instructions, loads; /* cycles of all instructions and of the load ports, with operands in L1 */
};

/* ---- nest.c ---- */

/* A loop of a nest over three dimensions, such as a product's m, n and k: trip count and step along each
 * dimension. */
struct uk_nest_loop {
    int64_t extent, by[3];
};

/* The part of an operand that the body accesses. A copy that is made again in each iteration of the outermost
 * `anew` loops occupies the same memory each time. */
struct uk_nest_access {
    const struct uk_lattice *view;
    int line, k;             /* dimensions of its lines and of the elements of a line */
    int64_t lines, elements; /* lines, and elements of each */
    int anew;
};

/* Adds an operand to a nest that has room for it, and sets the nest's loops, the outermost first. */
struct uk_loop_operand *uk_nest_add(struct uk_loop_nest *n, const struct uk_nest_loop *loop, int loops,
                                    const struct uk_nest_access *x);

/* ---- stream.c ---- */

/* Cycles of the nest if it runs repeatedly on the same operands; at least those of its instructions. */
double uk_cost_nest(const struct uk_machine *m, const struct uk_loop_nest *n);

#endif
