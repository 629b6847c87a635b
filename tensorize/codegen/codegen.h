/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room codegen: loops to LLVM IR. It uses language, target, stages, what lower knows of fused values, and of
 * interpret the arithmetic for constants. Data: struct uk_build (one compilation); struct uk_codegen
 * (generator.h).
 */
#ifndef UK_CODEGEN_H
#define UK_CODEGEN_H

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>
#include "language/language.h"
#include "target/target.h"

/* An imported object that the build's own is linked with. */
struct uk_object {
    char *bytes;
    size_t length;
    struct uk_object *next;
};

/* One compilation: the module as it goes through code generation, linking and optimization. */
struct uk_build {
    struct uk_context *context;
    const struct uk_function *function;
    const struct uk_target *target;
    LLVMTargetMachineRef machine;
    LLVMContextRef llvm;
    LLVMModuleRef module;
    /* For a GPU `module` has the kernels, and this the function that launches them; else NULL. */
    LLVMModuleRef host_module;
    const struct uk_target *host;
    struct uk_text diagnostics; /* LLVM's messages since it was last emptied */
    bool left_scalar;           /* LLVM could not vectorize a loop that a step vectorizes */
    struct uk_object *objects;  /* those that kernels are called in */
    bool trampoline;            /* also emit NAME.call, which takes its arguments in arrays */
    bool uses_library;          /* one of the functions calls libukernels; set by uk_build_all */
    const struct uk_bundle
        *bundle; /* whose constants are zeros in the module, and are put into the object; or NULL */
};

/* Before a failure that other loops of the same program may not have. */
static inline void uk_build_blames_loops(const struct uk_build *b) {
    b->context->refused_code = b->function;
}

/* The global of the host's module that has the kernels' image, and that with its size; both are declarations
 * yet. */
#define UK_IMAGE "uk.image"
#define UK_IMAGE_BYTES "uk.image.bytes"

/* codegen.c: the function, its entry checks, its parallel tasks; kernels are declarations. */
enum uk_status uk_codegen(struct uk_build *b);
/* codegen.c: the LLVM type in memory and in signatures of a ctype or enum uk_type. */
LLVMTypeRef uk_llvm_type(LLVMContextRef llvm, int ctype);
/* That of one of the kernel's forms, with the address spaces that its operands have on the target. */
LLVMTypeRef uk_llvm_prototype(const struct uk_build *b, const struct uk_intrinsic *in,
                              const struct uk_form *form, struct uk_arena *a);

#endif
