/* SPDX-License-Identifier: Apache-2.0 */
/* Instruction counts of a program's kernels in the GPU simulator, and the cycles that they would take, for
 * uk run --count and uk bench --static. */
#ifndef UK_GPU_COUNTS_H
#define UK_GPU_COUNTS_H

#include "amdgpu.h"
#include "machine/machine.h"
#include "operands/shape.h"
#include "uk.h"

/* One kernel, summed over all of its launches. */
struct uk_gpu_kernel_counts {
    char *name;
    uint32_t vgprs, agprs, sgprs, lds_bytes, scratch_bytes, vgpr_spills, sgpr_spills;
    uint64_t launches, blocks, waves;
    uint32_t threads; /* threads per block, in the last launch */
    struct uk_amdgpu_counts all;
    int resident;               /* blocks of a compute unit at a time */
    double cycles;              /* of all launches */
    struct uk_launch_time time; /* of the longest one */
    int instructions;
    struct uk_amdgpu_instruction *instruction; /* one entry per instruction, with texts that it owns */
};

struct uk_gpu_counts {
    int kernels;
    struct uk_gpu_kernel_counts *kernel;
    const struct uk_core *core; /* the GPU's row */
    bool is_partial;            /* by kind: a launch has executed only some blocks */
    bool is_by_data;            /* a later one depends on data, which the earlier one may not have computed */
    bool failed;                /* out of memory */
};

/* Between begin and end, launches on a simulated GPU of the target are added to *c. by_kind: of blocks that
 * execute the same instructions only one or two are executed, so outputs are not computed.
 * uk_gpu_counts_end() returns the exit status; free the counts in any case. */
void uk_gpu_counts_begin(struct uk_gpu_counts *c, const char *target, bool by_kind);
int uk_gpu_counts_end(struct uk_gpu_counts *c);
void uk_gpu_counts_free(struct uk_gpu_counts *c);
/* Prints a kernel's cycles, what bounds them, and its lines of memory. */
void uk_gpu_counts_print_cycles(const struct uk_gpu_kernel_counts *k, const struct uk_core *core);
/* Prints a line per kernel; with `histogram` also one per mnemonic. */
void uk_gpu_counts_print(const struct uk_gpu_counts *c, bool histogram);
/* The factors, a bit for each of enum uk_factors, that matrix instructions have multiplied. */
unsigned uk_gpu_counts_matrix(const struct uk_gpu_counts *c);
/* Prints the cycles of all launches of the program, one after the other, and the device share: the cycles of
 * its multiply-adds at the GPU's peak rate in relation to them. */
void uk_gpu_counts_print_share(const struct uk_gpu_counts *c, const struct uk_program *p,
                               const int64_t *sizes);

#endif
