/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPUs and GPUs as facts: instruction sets, cores, caches, memory; and which of them this process runs on.
 *
 *     archs.def, archs/   a row for each architecture, instruction set and target
 *     cores.def           a row for each core
 *     uncores.def         a row for each way in which cores share a last-level cache and memory
 *     machine.c           the rows of cores, and the one of this CPU
 *     cpu.c               the instruction sets of this CPU that UK_ISA leaves; cpu_<arch>.c detects features
 *     arch.h              the architecture of this build
 *
 * A row holds only what a manual or a microbenchmark (`uk machine --measure`) states without running a matrix
 * product; ukernels/cost/ derives costs from it. Cycles are those of the core's clock.
 *
 * Uses no other room.
 */
#ifndef UK_MACHINE_H
#define UK_MACHINE_H

#include <stdbool.h>
#include <stdint.h>
#include "arch.h"

/* Throughput of an operation on one vector. It occupies one of `ports` (a bit each) for `cycles`; a fraction
 * of a cycle occupies all of them. ports == 0: the core lacks the operation, or it is free. */
struct uk_ports {
    unsigned ports;
    double cycles;
};

/* Vectors of one width. */
struct uk_vectors {
    int bytes, registers;
    struct uk_ports fma, shuffle, load, store;
    struct uk_ports merge; /* in addition to the load, if it fills only a part of the register */
    double split;          /* line-split penalty on a saturated FMA pipe, in cycles */
};

struct uk_cache {
    int64_t size; /* bytes, for all cores that share it together */
    int ways;
    double latency; /* cycles from a load's address to its value */
    double bytes;   /* per cycle, into the next smaller cache or a register */
    int lines;      /* outstanding misses, at most */
};

/* Resources of a GPU that a kernel may use. All 0 for a CPU. */
struct uk_device {
    int threads;                          /* per block, at most */
    int64_t shared_bytes, register_bytes; /* for buffers of a block, of a thread */
    int lanes;                            /* per wave */
    int registers, granule; /* 4-byte vector registers per lane, shared by the waves of a SIMD; a wave gets a
                               multiple of granule */
    int waves;              /* per SIMD, at most */
    int simds, units;       /* SIMDs per compute unit; compute units */
    double shared_rate;     /* bytes per cycle of a compute unit's shared memory */
};

enum { UK_WIDTHS = 2 };

/* A row of cores.def. */
struct uk_core {
    const char *name; /* "zen3" */
    int arch;         /* UK_ARCH_x86_64 */
    const char *cpus; /* identification by cpuinfo: "amd 19:00-0f", "arm d0c"; see cores.def; or "" */
    const char
        *isa; /* of archs.def: the core has this instruction set and its architecture's rows before it */
    const char *uncore; /* of uncores.def: its usual surroundings */
    double issue;       /* instructions per cycle */
    int reorder;        /* entries of the reorder buffer; 0: issues in order */
    int fma_latency;
    struct uk_vectors vectors[UK_WIDTHS]; /* narrower first; unused entries have bytes == 0 */
    struct uk_cache l1, l2;
    int l2_cores; /* cores that share L2 */
    struct {
        int streams;    /* sequential streams that the prefetcher follows at once */
        int64_t ahead;  /* bytes from a stream's load to the farthest line prefetched for it */
        bool past_page; /* streams continue into the next page */
    } prefetch;
    double split;          /* additional cycles per load of a vector across two lines, back to back */
    bool serial_transfers; /* transfers between L1, L2 and the last-level cache overlap neither each other
                              nor loads from L1 */
    double alias;          /* cycles that a load waits for an earlier store a multiple of 4 KiB away */
    double store_miss;     /* additional cycles per store that misses L1 and L2 and hits the last-level cache,
                          back to back */
    struct {
        int first, second; /* entries of each level; second == 0: one level only */
        double latency;    /* additional cycles of a load that misses the first level and hits the second */
        double walk;       /* additional cycles of a load that misses both, with the page table in L2 */
        int64_t page;      /* bytes */
    } tlb;
    struct uk_device device;
};

/* A row of uncores.def. */
struct uk_uncore {
    const char *name;      /* "ccx" */
    struct uk_cache cache; /* the last-level cache; its size is one core's share; 0: there is none */
    int cores;             /* cores that share it */
    double latency;        /* of memory, in cycles */
    double bytes;          /* of memory, per cycle, for one core */
};

enum { UK_L1, UK_L2, UK_LLC, UK_CACHES };

/* A core with its surroundings. Of this process: with the cache sizes that cpuinfo reports, if plausible. */
struct uk_machine {
    struct uk_core core;
    struct uk_uncore uncore;
    struct uk_cache cache[UK_CACHES]; /* one core's share of each; the last-level cache may be L2 */
    int cores;
};

/* The row with this name, of any architecture, or NULL. */
const struct uk_core *uk_core_find(const char *name);
/* The i-th row of cores.def, or NULL beyond the last. */
const struct uk_core *uk_core_at(int i);
/* The row whose `cpus` contain these numbers ("amd", 0x19, 0x01), or NULL. */
const struct uk_core *uk_core_of(int arch, const char *vendor, unsigned family, unsigned model);
/* Can the core run kernels of this instruction set? */
bool uk_core_has(const struct uk_core *core, const char *isa);
/* A machine of one such core with its usual uncore. */
struct uk_machine uk_machine_of(const struct uk_core *core);
/* The widest vectors of at most `bytes`; if all are wider, the narrowest. */
const struct uk_vectors *uk_core_vectors(const struct uk_core *core, int bytes);
/* Operations per cycle; 0 if the core lacks it. */
double uk_ports_rate(const struct uk_ports *p);

/* The machine of this process: the row of its core, or the one that UK_MACHINE in the environment names.
 * Sizes of caches are this CPU's in both cases, where cpuinfo reports plausible ones. Read once; thread-safe.
 */
const struct uk_machine *uk_machine(void);
/* True if UK_MACHINE names no core of this architecture; *text then says so. For uk_cpu_status. */
bool uk_machine_is_refused(const char **text);

#endif
