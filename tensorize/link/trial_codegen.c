/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trial compilation of imports that name machine instructions ("llvm.x86.sha1msg1"). If the target lacks one,
 * LLVM ends the process during code generation; so clang compiles such an import first, in a process of its
 * own, once per target.
 */
#include <stdlib.h>
#include <string.h>
#include <llvm-c/BitWriter.h>
#include "link.h"

/* True if the name is an intrinsic of a machine rather than of LLVM itself. */
static bool names_instruction(const char *name) {
    static const char *const machines[] = {"aarch64",   "amdgcn", "arm",  "bpf",  "dx",   "hexagon",
                                           "loongarch", "mips",   "nvvm", "ppc",  "r600", "riscv",
                                           "s390",      "spv",    "ve",   "wasm", "x86",  "xcore"};

    if (strncmp(name, "llvm.", 5))
        return false;
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        size_t n = strlen(machines[i]);

        if (!strncmp(name + 5, machines[i], n) && name[5 + n] == '.')
            return true;
    }
    return false;
}

static bool is_known(const struct uk_build *b, const struct uk_source *s) {
    for (const struct uk_compilable_import *t = b->context->backend->compilable_imports; t; t = t->next)
        if (t->length == s->length && !memcmp(t->bytes, s->bytes, s->length) &&
            !strcmp(t->target, b->target->name))
            return true;
    return false;
}

/* Remembers the import; running out of memory is not an error. */
static void keep(const struct uk_build *b, const struct uk_source *s) {
    struct uk_compilable_import *t = calloc(1, sizeof *t);
    size_t n = strlen(b->target->name) + 1;

    if (!t || !(t->bytes = malloc(s->length + 1)) || !(t->target = malloc(n))) {
        free(t ? t->bytes : NULL);
        free(t);
        return;
    }
    memcpy(t->bytes, s->bytes, s->length);
    memcpy(t->target, b->target->name, n);
    t->length = s->length;
    t->next = b->context->backend->compilable_imports;
    b->context->backend->compilable_imports = t;
}

enum uk_status uk_try(struct uk_build *b, const struct uk_source *s) {
    bool needed = false;

    for (LLVMValueRef f = LLVMGetFirstFunction(s->module); f; f = LLVMGetNextFunction(f))
        needed |= names_instruction(LLVMGetValueName(f));
    if (!needed || is_known(b, s))
        return UK_OK;
    LLVMMemoryBufferRef bitcode = LLVMWriteBitcodeToMemoryBuffer(s->module);
    enum uk_status status =
        uk_import_try(b, s->name, s->at, LLVMGetBufferStart(bitcode), LLVMGetBufferSize(bitcode));

    LLVMDisposeMemoryBuffer(bitcode);
    if (!status)
        keep(b, s);
    return status;
}
