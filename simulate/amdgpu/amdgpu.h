/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs code objects of AMD GPUs (gfx906, gfx90a: waves of 64 lanes) on this machine, and reports their
 * errors.
 *
 *     struct uk_amdgpu *gpu = uk_amdgpu_open("gfx90a");
 *     struct uk_amdgpu_object *object;
 *     uint64_t x;
 *     if (uk_amdgpu_load(gpu, image, bytes, &object) || uk_amdgpu_alloc(gpu, 4096, &x))
 *         puts(uk_amdgpu_message(gpu));
 *     const void *arguments[] = {&x, &n};
 *     uk_amdgpu_launch(gpu, uk_amdgpu_find(object, "vadd"),
 *                      &(struct uk_amdgpu_launch){.grid = {16, 1, 1}, .block = {64, 1, 1}}, arguments, 2,
 *                      &counts);
 *
 * The library never prints or ends the process; closing a device frees all of its memory. A device is used by
 * one thread at a time; several devices may be used at once. Addresses are the device's: the host reads and
 * writes them by uk_amdgpu_read and _write only. Sizes are bytes. The simulator uses simulate (simt.h),
 * machine (facts of the GPU), gpu (driver.c registers it as a device there) and LLVM, which disassembles.
 *
 * A launch ends with UK_AMDGPU_REPORT at the first of these errors, and the message names the instructions,
 * wave and lane:
 *
 * - a register is used, or overwritten, before the s_waitcnt that its load needs
 * - an access outside a buffer, the block's LDS or the thread's scratch, by as little as one byte; a store to
 *   constant memory
 * - a race: two waves access the same bytes of LDS or of a buffer, one of them writes, and between the two
 *   there is no s_waitcnt for the first access followed by a barrier; or two blocks do; or a scalar load
 *   reads bytes that the launch has written
 * - bits of uninitialized LDS, scratch or registers in an address, a branch, EXEC, or a store to a buffer;
 *   each bit is followed through moves, shifts and logic, so that other bits of the same register may be
 *   used; in a matrix product they spread to a row or a column
 * - gfx90a: a register is used, or overwritten, fewer wait states after a matrix instruction or a dot
 *   product than it needs; a matrix instruction with a part of EXEC, or whose D overlaps C in part
 * - a VGPR or AGPR beyond the numbers in the kernel's descriptor
 * - a barrier in divergent code, waves at different barriers, or a wave that ended while others wait
 *
 * It ends with UK_AMDGPU_UNSUPPORTED at an instruction, a modifier or a mode that is not simulated.
 */
#ifndef UK_AMDGPU_H
#define UK_AMDGPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum uk_amdgpu_status {
    UK_AMDGPU_OK = 0,
    UK_AMDGPU_INVALID = 1,     /* an argument of the call; nothing was done */
    UK_AMDGPU_BAD_OBJECT = 2,  /* not a code object, or a damaged one */
    UK_AMDGPU_UNSUPPORTED = 3, /* the launch, or an instruction that it reached, is not simulated */
    UK_AMDGPU_REPORT = 4,      /* the kernel has an error; its stores until then are in the buffers */
    UK_AMDGPU_LIMIT = 5,       /* more instructions than max_steps */
    UK_AMDGPU_NO_MEMORY = 6,
    UK_AMDGPU_OTHER_GPU = 7, /* the code object is for another GPU */
};

struct uk_amdgpu;
struct uk_amdgpu_object;
struct uk_core;
struct uk_block_time;

/* The value_kind of the metadata. */
enum uk_amdgpu_argument_kind {
    UK_AMDGPU_BY_VALUE,
    UK_AMDGPU_BUFFER,
    UK_AMDGPU_LDS_POINTER,
    UK_AMDGPU_HIDDEN
};
struct uk_amdgpu_argument {
    enum uk_amdgpu_argument_kind kind;
    uint32_t offset, size;
    const char *name; /* "" if the metadata has none */
    const char *value_kind;
};

struct uk_amdgpu_kernel {
    const char *name;
    struct uk_amdgpu_object *object;
    /* Arguments that a launch takes. Hidden ones follow them in the array; the launch fills them in. */
    uint32_t n_arguments;
    uint32_t n_hidden;
    const struct uk_amdgpu_argument *arguments;
    uint32_t argument_bytes, lds_bytes, scratch_bytes;
    uint32_t vgprs, agprs, sgprs; /* vgprs without agprs */
    uint32_t vgpr_spills, sgpr_spills, max_threads, wave;
};

struct uk_amdgpu_launch {
    uint32_t grid[3];   /* blocks */
    uint32_t block[3];  /* threads, at most 1024 */
    uint32_t lds_bytes; /* in addition to the kernel's own */
    uint64_t seed;      /* determines the order of blocks and waves */
    uint64_t max_steps; /* limit of executed instructions, summed over waves; 0: 2^32 */
    /* The GPU's row of cores.def and an array with an element for each block, which the launch fills in, in
     * the order of blocks with x first; or both NULL. */
    const struct uk_core *core;
    struct uk_block_time *times;
    /* With `times`: executes only one or two blocks of each kind, and counts the others like these. Blocks
     * are of one kind if their waves execute the same instructions with the same EXEC. Buffers then have
     * results of some blocks only. All blocks are executed if a branch, EXEC or an address depends on data.
     */
    bool by_kind;
};

/* Kinds of instructions. */
enum uk_amdgpu_kind {
    /* VALU: multiply-adds and dot products: v_fma, v_fmac, v_mad, v_pk_fma, v_dot. */
    UK_AMDGPU_FMA,
    UK_AMDGPU_VALU,   /* all other VALU */
    UK_AMDGPU_MATRIX, /* matrix instructions: v_mfma */
    UK_AMDGPU_SALU,   /* and branches */
    UK_AMDGPU_SMEM,   /* scalar loads */
    UK_AMDGPU_LOAD,   /* vector loads from buffers and scratch */
    UK_AMDGPU_STORE,
    UK_AMDGPU_LDS_READ,
    UK_AMDGPU_LDS_WRITE,
    UK_AMDGPU_WAIT, /* s_waitcnt */
    UK_AMDGPU_BARRIER,
    UK_AMDGPU_OTHER, /* s_nop, s_endpgm, ... */
    UK_AMDGPU_N_KINDS
};
extern const char *const uk_amdgpu_kind_names[UK_AMDGPU_N_KINDS];

struct uk_amdgpu_counts {
    uint64_t instructions[UK_AMDGPU_N_KINDS];
    uint64_t executed_blocks;
    uint64_t kinds;                   /* of blocks; 0: all are executed, without by_kind or because of data */
    uint64_t flops;                   /* in f32 and f64, per active lane; a multiply-add is two */
    uint64_t matrix_multiply_adds;    /* of matrix instructions, integers too */
    uint64_t load_bytes, store_bytes; /* from and to buffers and scratch, per active lane */
    /* With `times`: lines of L2 that vector accesses to buffers touch, each instruction's different ones; and
     * those that no instruction before had touched. */
    uint64_t lines, distinct_lines;
    uint64_t lds_read_cycles, lds_write_cycles;       /* of LDS accesses, bank conflicts included */
    uint64_t lds_read_conflicts, lds_write_conflicts; /* the part of these cycles due to bank conflicts */
    /* The maximum over instructions: 1, no conflict; 2, a bank has to deliver two words; ... */
    uint64_t max_conflict_ways;
};

/* NULL: no memory, or the GPU is not simulated, in which case uk_amdgpu_simulates returns false. */
struct uk_amdgpu *uk_amdgpu_open(const char *gfx);
bool uk_amdgpu_simulates(const char *gfx);
/* The GPU that a code object is for; NULL: not a simulated one. */
const char *uk_amdgpu_gfx(const void *image, size_t bytes);
void uk_amdgpu_close(struct uk_amdgpu *);
/* The message of the last call that did not return UK_AMDGPU_OK; one line, without a newline. */
const char *uk_amdgpu_message(const struct uk_amdgpu *);

/* Allocates a buffer of at most 16383 MiB, filled with 0xa5, or with zeros from 256 MiB on. A buffer of 0
 * bytes has an address of its own, too. */
enum uk_amdgpu_status uk_amdgpu_alloc(struct uk_amdgpu *, size_t bytes, uint64_t *address);
enum uk_amdgpu_status uk_amdgpu_free(struct uk_amdgpu *, uint64_t address);
enum uk_amdgpu_status uk_amdgpu_write(struct uk_amdgpu *, uint64_t address, const void *data, size_t bytes);
enum uk_amdgpu_status uk_amdgpu_read(struct uk_amdgpu *, void *data, uint64_t address, size_t bytes);

/* Loads a linked code object (ET_DYN); the image is copied. */
enum uk_amdgpu_status uk_amdgpu_load(struct uk_amdgpu *, const void *image, size_t bytes,
                                     struct uk_amdgpu_object **);
void uk_amdgpu_unload(struct uk_amdgpu_object *);
uint32_t uk_amdgpu_n_kernels(const struct uk_amdgpu_object *);
const struct uk_amdgpu_kernel *uk_amdgpu_kernel(const struct uk_amdgpu_object *, uint32_t i);
const struct uk_amdgpu_kernel *uk_amdgpu_find(const struct uk_amdgpu_object *,
                                              const char *name); /* or NULL */

/* Runs the launch to its end. arguments[i] points to the bytes of the kernel's argument i. `counts` may be
 * NULL; it is also filled in if the launch ends early, with the instructions executed so far. */
enum uk_amdgpu_status uk_amdgpu_launch(struct uk_amdgpu *, const struct uk_amdgpu_kernel *,
                                       const struct uk_amdgpu_launch *, const void *const *arguments,
                                       uint32_t n_arguments, struct uk_amdgpu_counts *counts);

/* The i-th instruction of a kernel's code, with the counts of its last launch. Texts live as long as the
 * object. */
struct uk_amdgpu_instruction {
    const char *text; /* LLVM's disassembly */
    uint32_t offset;  /* bytes from the kernel's first instruction */
    enum uk_amdgpu_kind kind;
    uint64_t executed;                                     /* times, summed over waves */
    uint64_t lds_cycles, lds_conflicts, max_conflict_ways; /* as in struct uk_amdgpu_counts */
    uint64_t waited[2]; /* s_waitcnt: accesses that it completed, by vmcnt and by lgkmcnt */
};
uint32_t uk_amdgpu_n_instructions(const struct uk_amdgpu_kernel *); /* 0 before its first launch */
struct uk_amdgpu_instruction uk_amdgpu_instruction(const struct uk_amdgpu_kernel *, uint32_t i);

#ifdef __cplusplus
}
#endif

#endif
