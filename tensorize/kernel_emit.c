/* One kernel of the registry by itself: its bitcode, as LLVM IR, as assembly. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <llvm-c/BitReader.h>
#include "backend.h"
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

/* "avx2,fma" as LLVM wants it: "+avx2,+fma". */
static void llvm_features(const char *features, char *out, size_t size) {
    size_t n = 0;
    for (const char *f = features; *f && n + 2 < size; f++) {
        if (f == features || f[-1] == ',')
            out[n++] = '+';
        out[n++] = *f;
    }
    out[n] = 0;
}

/* Of its architecture; of this process's, where all have it. */
static const struct uk_bitcode *find_bitcode(const struct uk_kernel *k) {
    return uk_bitcode_find(strcmp(k->arch, "any") ? k->arch : uk_own_arch()->name, k->symbol);
}

/* Compiles for what its bitcode is for, with the features of the kernel's row. */
static enum uk_status assemble(struct uk_context *c, const struct uk_kernel *k, LLVMModuleRef module,
                               char **bytes, size_t *length) {
    char features[256], *error = NULL;
    const char *triple = LLVMGetTarget(module);
    LLVMTargetRef target;
    LLVMMemoryBufferRef text = NULL;
    enum uk_status s = UK_OK;
    llvm_features(k->features, features, sizeof features);
    uk_initialize_llvm();
    if (LLVMGetTargetFromTriple(triple, &target, &error)) {
        s = uk_fail(c, UK_UNSUPPORTED, nowhere, "%s: LLVM has no code generator for %s", k->symbol, triple);
    } else {
        LLVMTargetMachineRef machine = LLVMCreateTargetMachine(
            target, triple, "", features, LLVMCodeGenLevelDefault, LLVMRelocPIC, LLVMCodeModelDefault);
        if (LLVMTargetMachineEmitToMemoryBuffer(machine, module, LLVMAssemblyFile, &error, &text))
            s = uk_fail(c, UK_LINK, nowhere, "%s: its bitcode does not compile: %s", k->symbol, error);
        LLVMDisposeTargetMachine(machine);
    }
    if (!s)
        s = copy(c, LLVMGetBufferStart(text), LLVMGetBufferSize(text), bytes, length);
    if (text)
        LLVMDisposeMemoryBuffer(text);
    if (error)
        LLVMDisposeMessage(error);
    return s;
}

static enum uk_status emit_module(struct uk_context *c, const struct uk_kernel *k, enum uk_emit what,
                                  LLVMMemoryBufferRef buffer, char **bytes, size_t *length) {
    LLVMContextRef llvm = LLVMContextCreate();
    LLVMModuleRef module;
    enum uk_status s;
    if (LLVMParseBitcodeInContext2(llvm, buffer, &module)) {
        s = uk_fail(c, UK_LINK, nowhere, "%s: its bitcode cannot be read", k->symbol);
    } else {
        if (what == UK_EMIT_LLVM) {
            char *text = LLVMPrintModuleToString(module);
            s = copy(c, text, strlen(text), bytes, length);
            LLVMDisposeMessage(text);
        } else {
            s = assemble(c, k, module, bytes, length);
        }
        LLVMDisposeModule(module);
    }
    LLVMContextDispose(llvm);
    return s;
}

enum uk_status uk_kernel_emit(struct uk_context *c, const struct uk_kernel *k, enum uk_emit what,
                              char **bytes, size_t *length) {
    *bytes = NULL;
    uk_context_enter(c, NULL);
    const struct uk_bitcode *b = find_bitcode(k);
    if (!b)
        return uk_fail(c, UK_UNSUPPORTED, nowhere, "%s: this build has no bitcode of it", k->symbol);
    if (what == UK_EMIT_LINKED)
        return copy(c, (const char *)b->data, b->size, bytes, length);
    if (what != UK_EMIT_LLVM && what != UK_EMIT_ASM)
        return uk_fail(c, UK_INVALID_ARGUMENT, nowhere,
                       "%s: a kernel is emitted as UK_EMIT_LINKED (bitcode), UK_EMIT_LLVM or UK_EMIT_ASM",
                       k->symbol);
    LLVMMemoryBufferRef buffer =
        LLVMCreateMemoryBufferWithMemoryRangeCopy((const char *)b->data, b->size, k->symbol);
    enum uk_status s = emit_module(c, k, what, buffer, bytes, length);
    LLVMDisposeMemoryBuffer(buffer);
    return s;
}
