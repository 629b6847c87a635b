/* SPDX-License-Identifier: Apache-2.0 */
/* A program compiled for one of the simulated GPUs, and calls of it. */
#ifndef TESTS_GPU_COMPILED_H
#define TESTS_GPU_COMPILED_H

#include "gpu/gpu.h"
#include "uk.h"

enum { TARGETS = 2, SIZES = 8, TENSORS = 4 };
/* Targets of the simulator's devices, in their order. */
extern const char *const targets[TARGETS];

struct compiled {
    const char *name, *target;
    struct uk_context *context;
    struct uk_program *program;
    struct uk_module *module;
};

/* Reads and compiles a program; a failure ends the test. False: its schedule names a kernel that the target
 * does not support; then there is no module. */
bool compile_file(struct compiled *p, const char *path, int ordinal);
/* The same for a text, which must outlive it. */
bool compile_text(struct compiled *p, const char *name, const char *text, int ordinal);
void compiled_end(struct compiled *p);

/* Ends the test if the device cannot be opened. */
struct uk_gpu *open_gpu(const char *kind, int ordinal);
/* Calls it with arrays in device memory of exactly their size, and copies all of them back. */
enum uk_status call_compiled(const struct compiled *p, struct uk_gpu *gpu, const int64_t *size,
                             struct uk_data *data);

#endif
