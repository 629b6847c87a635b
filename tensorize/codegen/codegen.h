/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room codegen: converts the loop IR to LLVM IR. It uses language, target, stages, fused expressions of
 * lower, and of interpret the arithmetic of constants. Data: struct uk_build (one compilation); struct
 * uk_codegen (generator.h).
 */
#ifndef UK_CODEGEN_H
#define UK_CODEGEN_H

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>
#include "language/language.h"
#include "target/target.h"

/* An imported object file, linked into the build's object. */
struct uk_object {
    char *bytes;
    size_t length;
    struct uk_object *next;
};

/* One compilation: the module during code generation, linking and optimization. */
struct uk_build {
    struct uk_context *context;
    const struct uk_function *function;
    const struct uk_target *target;
    LLVMTargetMachineRef machine;
    LLVMContextRef llvm;
    LLVMModuleRef module;
    /* Target is a GPU: `module` has the functions that run on it, and host_module, for the target `host`, the
     * function that launches them. Else NULL. */
    LLVMModuleRef host_module;
    const struct uk_target *host;
    struct uk_text diagnostics; /* LLVM's messages since it was last cleared */
    bool has_scalar_loop;       /* LLVM could not vectorize a loop that a step vectorizes */
    struct uk_object *objects;  /* objects of microkernels that are called, not inlined */
    bool trampoline;            /* also emit NAME.call, which takes its arguments in arrays */
    bool uses_library;          /* some function calls libukernels; set by uk_build_all */
    /* Constants that are zeros in the module and are written into the object afterwards; or NULL. */
    const struct uk_bundle *bundle;
};

/* Marks the following failure as one of this schedule's loops: another schedule of the same program may not
 * have it. To be called before uk_fail. */
static inline void uk_build_blames_loops(const struct uk_build *b) {
    b->context->refused_code = b->function;
}

/* Names of globals of the host's module: the image with the GPU's code, and its size. Codegen only declares
 * them in the module; link defines them (link/device.c). */
#define UK_IMAGE "uk.image"
#define UK_IMAGE_BYTES "uk.image.bytes"

/* The attribute of functions of operation.c. They are inlined once loops are vectorized. */
#define UK_OPERATION "uk-operation"

/* codegen.c: generates the function, its entry checks and its parallel tasks. Microkernels are only declared
 * in the module. */
enum uk_status uk_codegen(struct uk_build *b);
/* codegen.c: the LLVM type, in memory and in signatures, of an enum uk_type or a UK_CTYPE_ constant. */
LLVMTypeRef uk_llvm_type(LLVMContextRef llvm, int ctype);
/* The function type of one form (compute, reset, update) of a microkernel, with the address spaces of its
 * operands on the target. */
LLVMTypeRef uk_llvm_prototype(const struct uk_build *b, const struct uk_intrinsic *in,
                              const struct uk_form *form, struct uk_arena *a);

#endif
