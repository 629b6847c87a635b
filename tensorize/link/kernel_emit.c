/* SPDX-License-Identifier: Apache-2.0 */
/* Emits one kernel of the registry: its bitcode, LLVM IR or assembly. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <llvm-c/BitReader.h>
#include "link.h"
#include "bitcode.h"

static const struct uk_position nowhere = {0, 0};

static enum uk_status copy(struct uk_context *c, const char *from, size_t size, char **bytes,
                           size_t *length) {
    *bytes = malloc(size + 1);
    if (!*bytes)
        return uk_out_of_memory(c);
    memcpy(*bytes, from, size);
    (*bytes)[size] = 0;
    *length = size;
    return UK_OK;
}

/* Sets the block size as in a program: a function that could run in blocks of 1,024 threads would get too few
 * registers for a tile. */
static void set_block_size(const struct uk_kernel *k, LLVMModuleRef module) {
    LLVMValueRef f = LLVMGetNamedFunction(module, uk_kernel_symbol(k));

    if (uk_arch_of(k)->is_device && f)
        LLVMAddTargetDependentFunctionAttr(f, "amdgpu-flat-work-group-size", "1,256");
}

/* Makes a machine for the target, or without one for the bitcode's target with the features of the kernel's
 * row. */
static enum uk_status make_machine(struct uk_context *c, const struct uk_kernel *k, const struct uk_target *t,
                                   LLVMTargetMachineRef *machine, bool *own) {
    const struct uk_target *device = uk_target_of_device(k);
    const char *triple = uk_arch_of(k)->triple;
    char features[256], *error = NULL;
    LLVMTargetRef target;

    *own = !t;
    if (t)
        return uk_target_machine(c, t, machine);
    uk_llvm_features(uk_arch_of(k), uk_kernel_features(k), features, sizeof features);
    uk_initialize_llvm();
    if (LLVMGetTargetFromTriple(triple, &target, &error)) {
        LLVMDisposeMessage(error);
        return uk_fail(c, UK_UNSUPPORTED, nowhere, "%s: LLVM has no code generator for %s",
                       uk_kernel_symbol(k), triple);
    }
    *machine = LLVMCreateTargetMachine(target, triple, device ? device->cpu : "", features,
                                       LLVMCodeGenLevelDefault, LLVMRelocPIC, LLVMCodeModelDefault);
    return UK_OK;
}

static enum uk_status assemble(struct uk_context *c, const struct uk_kernel *k, const struct uk_target *t,
                               LLVMModuleRef module, char **bytes, size_t *length) {
    LLVMTargetMachineRef machine;
    LLVMMemoryBufferRef text;
    char *error = NULL;
    bool own;
    enum uk_status s = make_machine(c, k, t, &machine, &own);

    if (s)
        return s;
    set_block_size(k, module);
    if (LLVMTargetMachineEmitToMemoryBuffer(machine, module, LLVMAssemblyFile, &error, &text)) {
        s = uk_fail(c, UK_LINK, nowhere, "%s: its bitcode does not compile: %s", uk_kernel_symbol(k), error);
        LLVMDisposeMessage(error);
    } else {
        s = uk_name_words(c, t ? t->arch : uk_arch_of(k), LLVMGetBufferStart(text), LLVMGetBufferSize(text),
                          bytes, length);
        LLVMDisposeMemoryBuffer(text);
    }
    if (own)
        LLVMDisposeTargetMachine(machine);
    return s;
}

static enum uk_status emit_module(struct uk_context *c, const struct uk_kernel *k, const struct uk_target *t,
                                  enum uk_emit what, const struct uk_bitcode *b, char **bytes,
                                  size_t *length) {
    LLVMContextRef llvm = LLVMContextCreate();
    LLVMMemoryBufferRef buffer =
        LLVMCreateMemoryBufferWithMemoryRangeCopy((const char *)b->data, b->size, uk_kernel_symbol(k));
    LLVMModuleRef module;
    enum uk_status s;

    if (LLVMParseBitcodeInContext2(llvm, buffer, &module)) {
        s = uk_fail(c, UK_LINK, nowhere, "%s: its bitcode cannot be read", uk_kernel_symbol(k));
    } else {
        if (what == UK_EMIT_LLVM) {
            char *text = LLVMPrintModuleToString(module);
            s = copy(c, text, strlen(text), bytes, length);
            LLVMDisposeMessage(text);
        } else {
            s = assemble(c, k, t, module, bytes, length);
        }
        LLVMDisposeModule(module);
    }
    LLVMDisposeMemoryBuffer(buffer);
    LLVMContextDispose(llvm);
    return s;
}

enum uk_status uk_kernel_fits(struct uk_context *c, const struct uk_kernel *k, const char *target,
                              char *lacking, size_t size) {
    const struct uk_target *t;

    if (!c)
        return UK_INVALID_ARGUMENT;
    uk_context_enter(c, NULL);
    enum uk_status s = uk_require(c, k, "the kernel");
    if (!s && size)
        s = uk_require(c, lacking, "the place for what is lacking");
    if (!s)
        s = uk_target_find(c, target, &t);
    if (s || !uk_target_lacks_for(t, k, lacking, size))
        return s;
    return uk_fail(c, UK_UNSUPPORTED, nowhere, "kernel %s is for %s, which target %s %s", uk_kernel_symbol(k),
                   lacking, t->name, uk_target_takes(t, k) ? "lacks" : "is not");
}

enum uk_status uk_kernel_emit(struct uk_context *c, const struct uk_kernel *k, const char *target,
                              enum uk_emit what, char **bytes, size_t *length) {
    const struct uk_target *t = NULL;
    char lacking[64];

    if (bytes)
        *bytes = NULL;
    if (!c)
        return UK_INVALID_ARGUMENT;
    uk_context_enter(c, NULL);
    enum uk_status s = UK_OK;
    if ((s = uk_require(c, k, "the kernel")) || (s = uk_require(c, bytes, "the place for the bytes")) ||
        (s = uk_require(c, length, "the place for the length")))
        return s;
    s = target ? uk_kernel_fits(c, k, target, lacking, sizeof lacking) : UK_OK;
    if (!s && target)
        s = uk_target_find(c, target, &t);
    if (s)
        return s;
    if (t && t->interpreted)
        return uk_fail(c, UK_UNSUPPORTED, nowhere, "target %s has no code; use another target", target);
    const struct uk_bitcode *b = uk_bitcode_find((t ? t->arch : uk_arch_of(k))->name, uk_kernel_symbol(k));
    if (!b)
        return uk_fail(c, UK_UNSUPPORTED, nowhere, "%s: this build has no bitcode of it",
                       uk_kernel_symbol(k));
    if (what == UK_EMIT_LINKED)
        return copy(c, (const char *)b->data, b->size, bytes, length);
    if (what != UK_EMIT_LLVM && what != UK_EMIT_ASM)
        return uk_fail(
            c, UK_INVALID_ARGUMENT, nowhere,
            "%s: a kernel is emitted as UK_EMIT_LINKED (bitcode), UK_EMIT_LLVM or UK_EMIT_ASM, not "
            "as stage %d",
            uk_kernel_symbol(k), (int)what);
    return emit_module(c, k, t, what, b, bytes, length);
}
