/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kinds of blocks. Blocks of a launch are of one kind if their waves execute the same instructions with the
 * same EXEC, so that all counts of instructions of one are those of the others.
 *
 * slice.c finds this out without running the blocks: it executes only the instructions on which branches,
 * EXEC and addresses of buffers depend, a few percent of a product's. kinds.c runs blocks of each kind.
 */
#ifndef UK_AMDGPU_KINDS_H
#define UK_AMDGPU_KINDS_H

#include "footprint.h"

/* Number of an instruction that accesses no buffer, and the address of an access that no wave executed. */
#define UK_NO_ACCESS UINT32_MAX
#define UK_NO_ADDRESS UINT64_MAX

struct uk_slice {
    const struct uk_amdgpu_code *code;
    uint32_t *next;    /* per instruction: the first one of the slice from here on */
    uint32_t *access;  /* per instruction: its number among those that access buffers, or UK_NO_ACCESS */
    uint32_t accesses; /* number of these */
    uint8_t *writes;   /* per instruction, enum uk_slice_writes */
    uint64_t *live;    /* per instruction: registers before it on which the slice depends */
};

enum uk_slice_result { UK_SLICE_DONE, UK_SLICE_DATA, UK_SLICE_NO_MEMORY };

/* false: no memory. uk_slice_end may follow in any case. */
bool uk_slice_begin(struct uk_slice *, const struct uk_amdgpu_code *);
void uk_slice_end(struct uk_slice *);

/* Executes the slice for the block run->block.id. Sets *kind to a number that is the same for blocks of a
 * kind, and address[a] to the first lane's address at the first execution of access a. UK_SLICE_DATA: a
 * branch, EXEC or an address depends on data, or the code has jumps by registers. */
enum uk_slice_result uk_slice_block(struct uk_slice *, struct uk_amdgpu_run_state *,
                                    const struct uk_amdgpu_descriptor *, uint64_t *kind, uint64_t *address);

/* kinds.c: runs one or two blocks of each kind, and adds the other blocks' counts and times. false: kinds
 * cannot be told, and nothing was executed. */
bool uk_run_kinds(struct uk_amdgpu_run_state *, const struct uk_amdgpu_descriptor *);

#endif
