/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine that this process runs on, and others: instruction sets and what UK_ISA leaves of them (cpu.c;
 * uk_cpu_has and what is beside it in ukernels.h; cpu_<arch>.c detects features); cores and what lies behind
 * their caches (machine.c). archs.def and the files of archs/ have a row for each architecture, instruction
 * set and target; cores.def one for each core, uncores.def one for each way in which cores share a last cache
 * and memory; arch.h says which kernels this build can call.
 *
 * A row has facts: what a manual or a microbenchmark (`uk machine --measure`) states without a product of
 * matrices. What follows from them for one is in ukernels/cost/. Cycles are the core's.
 *
 * Uses nothing of the other rooms.
 */
#ifndef UK_MACHINE_H
#define UK_MACHINE_H

#include <stdbool.h>
#include <stdint.h>
#include "arch.h"

/* An operation on one vector: the issue ports of which it takes one, a bit each, and for how many cycles; or
 * all ports for a fraction of one. No ports: it is not there, or takes none. */
struct uk_ports {
    unsigned ports;
    double cycles;
};

/* Vectors of one width. */
struct uk_vectors {
    int bytes, registers;
    struct uk_ports fma, shuffle, load, store;
    struct uk_ports merge; /* beside a load into a part of a register, whether the rest is kept or cleared */
    double split; /* cycles that a load across two lines holds up multiply-adds whose ports are all busy */
};

struct uk_cache {
    int64_t size; /* bytes, of all cores' that share it */
    int ways;
    double latency; /* from a load's address to its value */
    double bytes;   /* a cycle, into the cache above or a register */
    int lines;      /* misses that may be in flight at once */
};

/* A GPU: the resources that a kernel may use; all 0: the target has no blocks and threads. */
struct uk_device {
    int threads;                          /* of a block, at most */
    int64_t shared_bytes, register_bytes; /* of a block, of a thread, that buffers may have */
    int lanes;                            /* of a wave */
    int registers, granule; /* 4-byte vector registers that the waves of a SIMD share, a lane; a wave takes a
                               multiple of granule */
    int waves;              /* of a SIMD, at most */
    int simds, units;       /* of a compute unit; compute units */
    double shared_rate;     /* bytes a cycle of a compute unit's shared memory */
};

enum { UK_WIDTHS = 2 };

/* A row of cores.def. */
struct uk_core {
    const char *name; /* "zen3" */
    int arch;         /* UK_ARCH_x86_64 */
    const char *cpus; /* what cpuinfo reports of such cores: "amd 19:00-0f", "arm d0c", ..; or "" */
    const char *isa;  /* of archs.def: such cores have this instruction set and the rows of their architecture
                         before it */
    const char *uncore; /* what it usually stands on */
    double issue;       /* instructions a cycle */
    int reorder; /* instructions in flight, of those that wait for their turn; 0: they begin in order */
    int fma_latency;
    struct uk_vectors vectors[UK_WIDTHS]; /* the narrower ones first; bytes of 0: there are none */
    struct uk_cache l1, l2;
    int l2_cores; /* that share L2 */
    struct {
        int streams;   /* streams that are followed at once */
        int64_t ahead; /* bytes from a stream's load to the farthest line that is fetched for it */
        bool past_page;
    } prefetch;
    double split; /* cycles that a load of a vector across two lines takes more than others do, one after the
                     other */
    bool serial_transfers; /* between L1, L2 and the last cache: one after the other, and none while loads
                              read L1 */
    double alias;          /* cycles that a load waits for a store before it a multiple of 4 KB away */
    double absent; /* cycles of a store to a line that is in neither cache, one after the other, from the last
                      cache */
    struct {
        int first, second; /* entries; second of 0: there is one level */
        double latency;    /* cycles that a load takes longer where only the second level has its page */
        double walk;       /* and where none has, with the page's table in L2 */
        int64_t page;
    } tlb;
    struct uk_device device;
};

/* A row of uncores.def. */
struct uk_uncore {
    const char *name;      /* "ccx" */
    struct uk_cache cache; /* the last one, of which the size is one core's part; 0: there is none */
    int cores;             /* that share it */
    double latency;        /* of memory */
    double bytes;          /* of memory, a cycle for one core */
};

/* A core in its surroundings: with the caches of this CPU where cpuinfo reports plausible ones. */
struct uk_machine {
    struct uk_core core;
    struct uk_uncore uncore;
    struct uk_cache
        part[3]; /* one core's of its first, second and last cache; the last one may be the second */
    int cores;
};

/* The row of this name, of any architecture, unchanged; NULL: there is none. */
const struct uk_core *uk_core_find(const char *name);
/* The i-th row of cores.def; NULL: there are fewer. */
const struct uk_core *uk_core_at(int i);
/* The row whose cores report these numbers: "amd", 0x19, 0x01, as `cpus` has them; NULL: none does. */
const struct uk_core *uk_core_of(int arch, const char *vendor, unsigned family, unsigned model);
/* Whether its cores run kernels of that instruction set. */
bool uk_core_has(const struct uk_core *core, const char *isa);
/* A row as a machine of its own: its usual uncore, one core. */
struct uk_machine uk_machine_of(const struct uk_core *core);
/* The widest vectors of at most so many bytes; if there are none, the narrowest. */
const struct uk_vectors *uk_core_vectors(const struct uk_core *core, int bytes);
/* How many of these operations begin each cycle. */
double uk_ports_rate(const struct uk_ports *p);

/* This process's: the row of its core, or the one that UK_MACHINE in the environment names, with this CPU's
 * caches in either case only if it is its own. Set once. */
const struct uk_machine *uk_machine(void);
/* What is wrong with UK_MACHINE, as uk_cpu_status has it, which calls this. */
bool uk_machine_is_refused(const char **text);

#endif
