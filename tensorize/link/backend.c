/* SPDX-License-Identifier: Apache-2.0 */
/* LLVM state of a context: target machines, and cached imports and objects. */
#include <stddef.h>
#include <stdlib.h>
#include <pthread.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include "link.h"

struct uk_backend *uk_backend(struct uk_context *c) {
    if (!c->backend && !(c->backend = calloc(1, sizeof *c->backend)))
        uk_out_of_memory(c);
    return c->backend;
}

static void destroy_backend(struct uk_backend *b) {
    if (!b)
        return;
    uk_cache_clear(b);
    while (b->compiled) {
        struct uk_compiled *next = b->compiled->next;

        free(b->compiled->source);
        free(b->compiled->target);
        free(b->compiled->bitcode);
        free(b->compiled);
        b->compiled = next;
    }
    while (b->compilable_imports) {
        struct uk_compilable_import *next = b->compilable_imports->next;

        free(b->compilable_imports->bytes);
        free(b->compilable_imports->target);
        free(b->compilable_imports);
        b->compilable_imports = next;
    }
    free(b);
}

void uk_context_destroy(struct uk_context *c) {
    if (!c)
        return;
    for (struct uk_known_target *t = c->targets; t; t = t->next)
        if (t->machine)
            LLVMDisposeTargetMachine(t->machine);
    destroy_backend(c->backend);
    if (c->isl)
        uk_context_isl_destroy(c->isl);
    uk_arena_free(&c->arena);
    free(c->message);
    free(c->notes.text);
    free(c);
}

/* LLVM has no assembler for PTX, which is text that a driver compiles. */
#define LLVMInitializeNVPTXAsmParser()

static void initialize_llvm(void) {
#define UK_ARCH_ROW(name, llvm, ...)    \
    LLVMInitialize##llvm##TargetInfo(); \
    LLVMInitialize##llvm##Target();     \
    LLVMInitialize##llvm##TargetMC();   \
    LLVMInitialize##llvm##AsmPrinter(); \
    LLVMInitialize##llvm##AsmParser();
#include "machine/archs.def"
    /* No effect if the process has set the option itself: LLVM accepts each once. */
    for (int i = 0; uk_archs[i]; ++i)
        if (uk_archs[i]->llvm_option)
            LLVMParseCommandLineOptions(2, (const char *const[]){"ukernels", uk_archs[i]->llvm_option}, "");
}

void uk_initialize_llvm(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, initialize_llvm);
}

enum uk_status uk_target_machine(struct uk_context *c, const struct uk_target *t, LLVMTargetMachineRef *out) {
    struct uk_position nowhere = {0, 0};
    struct uk_known_target *k =
        (struct uk_known_target *)((char *)t - offsetof(struct uk_known_target, target));
    LLVMTargetRef llvm_target;
    char *error = NULL;

    uk_initialize_llvm();
    if (!k->machine) {
        if (LLVMGetTargetFromTriple(t->arch->triple, &llvm_target, &error)) {
            enum uk_status s =
                uk_fail(c, UK_UNSUPPORTED, nowhere, "target %s: this LLVM cannot: %s", t->name, error);

            LLVMDisposeMessage(error);
            return s;
        }
        k->machine = LLVMCreateTargetMachine(llvm_target, t->arch->triple, t->cpu, t->features,
                                             LLVMCodeGenLevelDefault, LLVMRelocPIC, LLVMCodeModelDefault);
        if (!k->machine)
            return uk_fail(c, UK_UNSUPPORTED, nowhere, "target %s: this LLVM has no code generator for %s",
                           t->name, t->arch->triple);
    }
    *out = k->machine;
    return UK_OK;
}
