/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts about CPUs and GPUs (instruction sets, cores, caches, memory), and which of them this process runs
 * on.
 *
 *     archs.def, archs/   a row for each architecture, instruction set and target
 *     cores.def           a row for each core
 *     uncores.def         a row for each way in which cores share a last-level cache and memory
 *     machine.c           the rows of cores, and the one of this CPU
 *     cpu.c               the instruction sets of this CPU that UK_ISA leaves visible; cpu_<arch>.c detects
 *                         features
 *     state.c             state of the core that kernels need: x86's tiles, which the system has to permit
 *     arch.h              the architecture of this build
 *
 * A row holds only what a manual or a microbenchmark (`uk machine --measure`) states without running a matrix
 * product; ukernels/cost/ derives costs from it. Cycles are those of the core's clock. "Line" always means a
 * cache line.
 *
 * Uses no other folder of ukernels/.
 */
#ifndef UK_MACHINE_H
#define UK_MACHINE_H

#include <stdbool.h>
#include <stdint.h>
#include "arch.h"

/* Throughput of an operation on one vector: it occupies one of `ports` (a bit each) for `cycles`, so that the
 * core completes (number of ports) / cycles of them per cycle. ports == 0: no port is ever busy with it. That
 * is so for a merge that costs nothing, and for an operation that the core lacks; the row does not tell
 * which. */
struct uk_ports {
    unsigned ports;
    double cycles;
};

/* Vectors of one width: bytes of each, number of registers, and throughput of operations on them. */
struct uk_vectors {
    int bytes, registers;
    struct uk_ports fma, shuffle, load, store;
    struct uk_ports merge; /* in addition to the load, if it fills only a part of the register */
    double split;         /* cycles by which a load across two lines delays a loop that the FMA ports bound */
    struct uk_ports bf16; /* dot products of pairs of bf16 (vdpbf16ps); no ports: as fma */
};

/* Matrix tiles of 16 rows of 64 bytes (AMX): throughput of a product of two, and of a load of one. */
struct uk_tiles {
    struct uk_ports product, load;
    int latency; /* cycles, from one product to the next that adds to its result */
    int stored;  /* cycles that a load of a tile waits for stores to its rows just before it */
};

/* A cache. `size` in bytes is that of
 *
 *     uk_core.l1, uk_core.l2    the whole cache, however many cores share it
 *     uk_uncore.cache           one core's share
 *     uk_machine.cache          one core's share
 */
struct uk_cache {
    int64_t size;
    int ways;
    double latency; /* cycles from a load's address to its value, if the line is here */
    double bytes;   /* per cycle, from here into the next smaller cache or a register */
    int lines;      /* misses of this cache that one core may have outstanding; last-level cache: those of the
                       core's L2 */
};

/* Multiply-adds per cycle, by the type of both factors: f16 is bf16 too. */
struct uk_rates {
    int f32, f64, f16, i8;
};

/* Resources of a GPU; all 0 for a CPU. AMD's words: on NVIDIA's GPUs a wave is a warp, a SIMD one of the
 * partitions of an SM, a compute unit an SM. */
struct uk_device {
    int threads;                          /* per block, at most */
    int64_t shared_bytes, register_bytes; /* for the buffers of a block, and for those of a thread */
    int lanes;                            /* per wave */
    int registers, granule; /* registers of 4 bytes, per lane of a SIMD: its waves divide them, each a
                               multiple of granule per lane */
    int waves;              /* per SIMD, at most */
    int simds, units;       /* SIMDs per compute unit; compute units */
    double shared_rate;     /* bytes per cycle of a compute unit's shared memory */
    int line;               /* bytes of a line of L2 */
    /* cycles from a load to its value: from shared memory, from L2, and from memory beyond it */
    struct {
        int shared, l2, memory;
    } latency;
    double memory_rate;     /* bytes per cycle of memory, for all compute units */
    int launch;             /* cycles between the end of a kernel and the begin of the next one */
    int code;               /* bytes of the instruction cache */
    int f64_cycles;         /* in which a SIMD computes an f64 instruction for all lanes of a wave */
    bool matrix_flush;      /* matrix instructions of f16 and bf16 take subnormal inputs as 0, and give 0 for
                               subnormal results */
    struct uk_rates fma;    /* of a compute unit, without matrix units */
    struct uk_rates matrix; /* of the matrix units of a compute unit, whose sums are f32, f64 or i32; 0: no
                               instruction has such factors */
};

enum { UK_WIDTHS = 2 };

/* A row of cores.def. */
struct uk_core {
    const char *name; /* "zen3" */
    int arch;         /* UK_ARCH_x86_64 */
    const char *cpus; /* identification by cpuinfo: "amd 19:00-0f", "arm d0c"; see cores.def; or "" */
    const char
        *isa; /* of archs.def: the core has this instruction set and its architecture's rows before it */
    const char *lacks;  /* one of these earlier rows that the core does not have; NULL: it has all */
    const char *uncore; /* the row of uncores.def in which the core usually is */
    double issue;       /* instructions per cycle */
    int reorder;        /* entries of the reorder buffer; 0: issues in order */
    int fma_latency;    /* cycles, from one FMA to the next that adds to its result */
    struct uk_vectors vectors[UK_WIDTHS]; /* narrower first; unused entries have bytes == 0 */
    struct uk_tiles tiles;                /* no ports: the core has none */
    struct uk_cache l1, l2;
    int l2_cores; /* cores that share L2 */
    struct {
        int streams;    /* sequential streams that the prefetcher follows at once */
        int64_t ahead;  /* bytes from a stream's load to the farthest line prefetched for it */
        bool past_page; /* streams continue into the next page */
    } prefetch;
    double split;          /* cycles of the load ports, in addition, per load of a vector across two lines.
                              uk_vectors.split is its effect on the FMA ports: the slower of the two bounds a loop */
    bool serial_transfers; /* transfers between L1, L2 and the last-level cache overlap neither each other
                              nor loads from L1 */
    double alias;          /* cycles that a load waits for an earlier store a multiple of 4 KiB away */
    double store_miss;     /* additional cycles per store, one after another, that misses L1 and L2 and hits
                              the last-level cache */
    double hint_hides;     /* part of the transfers from beyond L2 that is hidden by a kernel that prefetches
                              the next panel while it uses the present one; 0: not measured */
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
    struct uk_cache cache; /* the last-level cache; size 0: there is none besides the cores' own */
    int cores;             /* cores that share it */
    double latency;        /* of memory, in cycles */
    double bytes;          /* of memory, per cycle, for one core */
};

enum { UK_L1, UK_L2, UK_LLC, UK_CACHES };

/* A core and the last-level cache and memory that it uses. */
struct uk_machine {
    struct uk_core core;
    struct uk_uncore uncore;
    struct uk_cache cache[UK_CACHES]; /* one core's share of each; cache[UK_LLC] repeats L2 if the uncore has
                                         no cache */
    int cores;
};

/* device.c: the time of a launch on a GPU, in cycles. */

/* Units of a SIMD that execute an instruction of different waves each in the same cycles. */
enum uk_issue { UK_ISSUE_VECTOR, UK_ISSUE_SCALAR, UK_ISSUE_MEMORY, UK_ISSUE_SHARED, UK_ISSUES };

/* What a block uses. All but lines are cycles. */
struct uk_block_time {
    float issue[UK_ISSUES]; /* of its instructions, summed over waves */
    float matrix;           /* of the SIMDs' matrix units, summed over waves */
    float shared;           /* of shared memory */
    float lines;            /* of L2, those that an instruction accesses counted once */
    float alone;            /* from the begin of its first wave to the end of its last, if nothing else ran */
};

struct uk_device_launch {
    uint64_t blocks;
    const struct uk_block_time *block; /* in the order of dispatch: x first */
    int waves;                         /* of a block */
    int resident;                      /* blocks of a compute unit at a time */
    double distinct_lines;             /* of memory that the launch accesses */
};

enum uk_device_bound {
    UK_DEVICE_BOUND_ISSUE,
    UK_DEVICE_BOUND_MATRIX,
    UK_DEVICE_BOUND_SHARED,
    UK_DEVICE_BOUND_L2,
    UK_DEVICE_BOUND_LATENCY,
    UK_DEVICE_BOUND_MEMORY,
    UK_DEVICE_BOUNDS
};
extern const char *const uk_device_bound_names[UK_DEVICE_BOUNDS];

struct uk_launch_time {
    double cycles;
    enum uk_device_bound bound; /* what takes them: on the busiest unit, or memory */
    double busy;                /* mean of the units' cycles over those of the busiest */
    double tail;                /* part of the busiest unit's cycles in which another unit is idle */
};

/* The number of blocks that a compute unit holds, limited by registers, shared memory and waves; 0: not even
 * one. `registers` are those of a thread. */
int uk_device_resident(const struct uk_device *d, int registers, int64_t shared_bytes, int threads);
/* Registers that a kernel takes, whose accumulation registers begin at a multiple of 4. */
int uk_device_registers(int vgprs, int agprs);
/* The time of a launch: the first blocks go to the units in turn, as many as these hold; each later one to
 * the unit that is free first. A unit takes the largest of: the instructions of its busiest SIMD, the matrix
 * unit of its busiest SIMD, its shared memory, its lines at the rate of L2, and the blocks that it holds at a
 * time one such group after the other, each as long as its longest block alone. The launch takes as long as
 * its busiest unit, or as memory for the distinct lines. false: out of memory. */
bool uk_device_time(const struct uk_core *core, const struct uk_device_launch *l, struct uk_launch_time *out);

/* The row with this name, of any architecture, or NULL. */
const struct uk_core *uk_core_find(const char *name);
/* The i-th row of cores.def, or NULL beyond the last. */
const struct uk_core *uk_core_at(int i);
/* The row whose `cpus` contain these numbers ("amd", 0x19, 0x01), or NULL. */
const struct uk_core *uk_core_of(int arch, const char *vendor, unsigned family, unsigned model);
/* True if the core can run kernels of this instruction set. */
bool uk_core_has(const struct uk_core *core, const char *isa);
/* A machine of one such core with its usual uncore. */
struct uk_machine uk_machine_of(const struct uk_core *core);
/* The widest vectors of at most `bytes`; if all are wider, the narrowest. */
const struct uk_vectors *uk_core_vectors(const struct uk_core *core, int bytes);
/* Operations per cycle; 0 if `ports` is 0, although a merge is then free. */
double uk_ports_rate(const struct uk_ports *p);

/* The configuration of x86's matrix tiles that uk_state_load(UK_STATE_TILES) loads, in the layout of
 * LDTILECFG's operand. */
extern const struct uk_tile_configuration {
    uint8_t palette, start_row, reserved[14];
    uint16_t bytes[16]; /* of a row */
    uint8_t rows[16];
} uk_tile_configuration;

/* The machine of this process: the row of its core, or the one that UK_MACHINE in the environment names. In
 * both cases cache sizes are those that cpuinfo reports for this CPU, where they are plausible. Found at the
 * first call; any thread may call it. */
const struct uk_machine *uk_machine(void);
/* True if UK_MACHINE is set, not empty, and not the name of a core of this architecture: it is then ignored,
 * and *text is the message. For uk_cpu_status. */
bool uk_machine_is_refused(const char **text);

#endif
