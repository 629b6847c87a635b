/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine that this process runs on: its instruction sets and what UK_ISA leaves of them (cpu.c; uk_cpu_has and what is
 * beside it in ukernels.h; cpu_<arch>.c asks the CPU), its caches and what going round them costs (caches.c). archs.def and
 * the files of archs/ have a row for each architecture, instruction set and target; arch.h says which of them this build can
 * call.
 *
 * Uses nothing of the other rooms.
 */
#ifndef UK_MACHINE_H
#define UK_MACHINE_H

#include <stdbool.h>
#include <stdint.h>
#include "arch.h"

struct uk_cache {
    int64_t size, ways;
};
struct uk_caches {
    struct uk_cache first, second, last; /* a core's share of them */
    int cores;
    int vector_units;        /* of a core, for multiply-adds and shuffles of its widest vectors */
    bool merging_takes_unit; /* one of them, for a load into a part of a register too */
    bool last_is_far; /* what comes from the last cache or goes there, comes and goes as slowly as memory's */
    double crossing;  /* cycles that a vector of B across two lines adds to a step of few */
    /* Cycles that operands in place cost tiles beside their steps, and what B's copy costs; gemm/cost.c says when. */
    struct {
        double conflict;  /* a row of A and a step, where the rows share sets of the first cache */
        double far;       /* a line that comes from the third cache, asked for a few rows ahead */
        double translate; /* a row in another page, if there are many */
        double crossing;  /* a row whose vectors do not begin with lines */
        double as_read;   /* a byte of a copy that the first panel of rows makes as it reads */
        double beside;    /* a byte of a copy of A that tiles make beside their steps */
        double unasked;   /* a line of A from behind the second cache, for which such tiles do not ask */
    } in_place;
    /* A by columns: a copy's cycles per byte; and what each tile takes again that reads it in place: a line of a step that
     * comes from the second cache, or from behind it, and a step in another page. */
    struct {
        double copy, near, far, translate;
    } columns;
    int ahead;     /* bytes of a row that products of matrix and vector ask for ahead; 0: none */
    double turned; /* by how much the estimate has to be better to turn C and not B */
};

const struct uk_caches *uk_caches(void);

#endif
