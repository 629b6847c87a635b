/* SPDX-License-Identifier: Apache-2.0 */
/* Comparison of kernels with their declarations. A part of tensorize.h, which includes it and has the rules
 * for all functions. */
#ifndef UK_TENSORIZE_VERIFY_H
#define UK_TENSORIZE_VERIFY_H

#include "tensorize.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* ---- kernels against their declarations ----
 *
 *     const struct uk_kernel *kernel = uk_kernel_find("uk_vadd_1x16_avx2_intrin");
 *     struct uk_verify_options few = {.cases = 20};
 *     char *report = NULL;
 *     status = uk_verify_kernel(c, kernel, &few, &report);
 *     if (report)
 *         printf("%s", report); // a line for each form
 *     uk_text_free(report);
 */

/* An argument, and a launch of one block, of a kernel in a GPU's code object. */
struct uk_verify_argument {
    void *data;
    size_t bytes;
    /* A GPU buffer: `data` is copied to it before the launch and back afterwards. false: `data` is the
     * argument itself. */
    bool is_buffer;
};
struct uk_verify_launch {
    const char *gpu; /* LLVM's name of the GPU: "gfx90a" */
    const void *image;
    size_t image_bytes;
    const char *kernel;
    /* shared_bytes: size of the block's shared memory; the kernel must not be able to use more. */
    uint32_t threads, shared_bytes;
    uint64_t seed; /* seed of the order in which waves run, if it can be chosen */
    int arguments;
    const struct uk_verify_argument *argument;
};

/* Runs code that this process cannot run. `link`: in a process of an emulator or on another machine, which
 * calls the kernels and takes cases from this process (such programs exist for aarch64, riscv64 and x86_64).
 * `launch`: code for GPUs, on one or in a simulator. Either may be NULL. */
struct uk_verify_runner {
    /* If given, it also runs kernels of this process's architecture. Links the object with `source`, a GNU
     * C17 program for Linux with the C library, and sets *argv to the command that runs it. The command must
     * pass on standard input, standard output and file descriptor 3. Called once; *argv stays valid until
     * uk_verify() returns. uk_verify() returns any status other than UK_OK. */
    enum uk_status (*link)(void *user, const char *source, const char *object, size_t length,
                           char *const **argv);
    void *user;
    /* Returns UK_WRONG_RESULT if the kernel failed, with a message of at most `room` bytes; any other status
     * except UK_OK: the kernel was not run. Called in the child process of a form, always with the same
     * image. */
    enum uk_status (*launch)(void *user, const struct uk_verify_launch *launch, char *message, size_t room);
};

/* Options of a verification. Zero-initialize; every zero means the default. */
struct uk_verify_options {
    const char *target; /* as in struct uk_options; this CPU or the runner must be able to run it */
    uint64_t seed;      /* of sizes, strides, placement and values; equal seeds make equal cases */
    /* Random cases per form, besides up to four times as many edges and large sizes. Default: 500, for GPUs
     * 100. */
    int cases;
    /* CPU time of one call, in seconds, and 20 times that in elapsed time; a longer call counts as endless.
     * Default: 60. */
    int seconds;
    const struct uk_verify_runner *runner; /* NULL: targets of other architectures and of GPUs are refused */
};

/*
 * Runs the machine code of every form of every intrinsic that the program declares and compares it with the
 * interpreter of the declaration. Runs in a child process (fork), so that a crash is a result.
 *
 * - Comparison: exact; approximate functions (man uk.5): within four units in the last place. All memory of
 * the operands is compared.
 * - Values: their sums are exact in the declared type, or have one addition that rounds. Infinities, NaN,
 *   zeros of both signs and subnormal numbers are included.
 * - Sizes: every edge that the assumptions bound; each other size beyond 65536 with the others small; several
 *   large ones together, of which a sample of elements is compared; then random sizes and strides, long and
 *   negative ones included.
 * - Memory: operands lie against pages that must not be touched, aligned as declared and no better. Operands
 *   that are only read are write-protected. Outputs that must not be read hold NaN.
 * - Machine state: callee-saved registers, the direction flag, MXCSR, the x87 state, the caller's stack, the
 *   upper halves of vector registers, and what asm statements declare.
 * - GPUs: a block of threads runs, with several tiles in shared memory; each thread has its own in registers.
 *   A kernel of a whole wave has one there in the registers of all lanes, as its layout says. It gets no
 *   subnormal f16 and bf16 if matrix instructions of the target take these as 0.
 *
 * Returns UK_OK if there is no difference, UK_WRONG_RESULT if at least one form is wrong. In both cases
 * *report has a line per form; free it with uk_text_free(). Any other status: the forms could not be run, the
 * message says why, and *report is NULL.
 */
enum uk_status uk_verify(struct uk_program *p, const struct uk_verify_options *options, char **report);
/* As uk_verify(), for the bitcode of a kernel of the registry. Without a target, a kernel for GPUs runs as on
 * the least GPU that has it. */
enum uk_status uk_verify_kernel(struct uk_context *c, const struct uk_kernel *kernel,
                                const struct uk_verify_options *options, char **report);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
