/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine that this process runs on: its instruction sets and what UK_ISA leaves of them (cpu.c; uk_cpu_has and what is
 * beside it in ukernels.h; cpu_<arch>.c detects features), its caches and what it costs to miss them (caches.c). archs.def and
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
    bool last_is_far; /* reading and writing the last cache is about as slow as memory */
    double crossing;  /* cycles that a vector of B across two lines adds to a step of few */
    /* Cycles that operands in place cost tiles beside the multiply-adds, and cycles of B's copy; gemm/cost.c says when. */
    struct {
        double conflict;  /* a row of A and a step, where the rows share sets of the first cache */
        double far;       /* a line from the third cache, prefetched a few rows ahead */
        double translate; /* a row in another page, if there are many */
        double crossing;  /* a row whose vectors do not begin with lines */
        double as_read;   /* a byte of a copy that the first panel of rows makes as it reads */
        double beside;    /* a byte of a copy of A that tiles make beside their steps */
        double unasked;   /* a line of A from behind the second cache, which such tiles do not prefetch */
    } in_place;
    /* A column-major A: cycles per byte of a copy; and for each tile that reads it in place: of a line that comes from the second
     * cache, of one from behind it, and of a step in another page. */
    struct {
        double copy, near, far, translate;
    } columns;
    int ahead;     /* bytes of a row that matrix-vector products prefetch ahead; 0: none */
    double transposed; /* factor by which the estimate has to be better for C to be transposed and not B */
};

const struct uk_caches *uk_caches(void);

#endif
