/* SPDX-License-Identifier: Apache-2.0 */
/* A program compiled for one of the simulated GPUs, and calls of it. */
#ifndef TESTS_GPU_COMPILED_H
#define TESTS_GPU_COMPILED_H

#include "gpu/gpu.h"
#include "run_program.h"

enum { TARGETS = 2 };
/* Targets of the simulator's devices, in their order. */
extern const char *const targets[TARGETS];

/* Reads and compiles a program in a context of its own; a failure ends the test. False: its schedule names a
 * kernel that the target does not support; then there is no module. r->repeat_arguments is the path. */
bool compile_file(struct run *r, const char *path, int ordinal);
/* The same for a text; the name must outlive it. */
bool compile_text(struct run *r, const char *name, const char *text, int ordinal);
/* The same with another limit than UK_SHORT_BYTES for kernels with short indices; 0: that limit. */
bool compile_short(struct run *r, const char *name, const char *text, int ordinal, int64_t short_bytes);
void compiled_end(struct run *r);

/* Sets the order in which simulated devices that are opened from now on take blocks and waves. */
void use_order(uint64_t order);
/* Ends the test if the device cannot be opened. */
struct uk_gpu *open_gpu(const char *kind, int ordinal);
/* Kernels of a program's code object. */
struct kernels {
    uint32_t count;
};
/* Counts the compiled program's kernels. False, after a complaint: one uses scratch memory, spills registers
 * or takes other arguments than its own. */
bool check_kernels(struct run *r, struct kernels *all);
/* For r->call: calls the module on the GPU r->device with operands in device memory of exactly their size,
 * and copies all of them back. */
int call_on_gpu(const struct run *r, const int64_t *sizes, struct random_data *d);
/* Draws operands for M, N and K; every other size is `stride`. */
void product_data(struct random_data *d, struct uk_program *p, const int64_t mnk[3], int64_t stride);

#endif
