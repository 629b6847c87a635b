/* SPDX-License-Identifier: Apache-2.0 */
/* What a program's kernels execute in the simulator of GPUs: for uk run --count and uk bench --static. */
#ifndef UK_GPU_COUNTS_H
#define UK_GPU_COUNTS_H

#include "amdgpu.h"
#include "uk.h"

/* A kernel, over all of its launches. */
struct uk_gpu_kernel_counts {
    char *name;
    uint32_t vgprs, agprs, sgprs, lds_bytes, scratch_bytes, vgpr_spills, sgpr_spills;
    uint64_t launches, blocks, waves;
    uint32_t threads; /* of a block, of the last launch */
    struct uk_amdgpu_counts all;
    int instructions;
    struct uk_amdgpu_instruction *instruction; /* texts are its own */
};

struct uk_gpu_counts {
    int kernels;
    struct uk_gpu_kernel_counts *kernel;
    bool failed; /* for want of memory */
};

/* From here to the end launches are added. Exit status of the end; free the counts in any case. */
void uk_gpu_counts_begin(struct uk_gpu_counts *c);
int uk_gpu_counts_end(struct uk_gpu_counts *c);
void uk_gpu_counts_free(struct uk_gpu_counts *c);
/* For uk run: a line for each kernel, or one for each mnemonic, too. */
void uk_gpu_counts_print(const struct uk_gpu_counts *c, bool histogram);

#endif
