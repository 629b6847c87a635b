/* SPDX-License-Identifier: Apache-2.0 */
/* State shared by the steps of a compilation: LLVM's context and module, and LLVM's diagnostics for
 * messages. */
#include <string.h>
#include <stdlib.h>
#include <llvm-c/Target.h>
#include "link.h"

/* Collects diagnostics. Without a handler LLVM prints errors and exits. */
static void listen(LLVMDiagnosticInfoRef info, void *user) {
    static const char scalar[] = "loop not vectorized";
    struct uk_build *b = user;
    LLVMDiagnosticSeverity severity = LLVMGetDiagInfoSeverity(info);

    if (severity != LLVMDSError && severity != LLVMDSWarning)
        return;
    char *text = LLVMGetDiagInfoDescription(info);
    if (severity == LLVMDSWarning) {
        b->has_scalar_loop |= !strncmp(text, scalar, sizeof scalar - 1);
        LLVMDisposeMessage(text);
        return;
    }
    uk_put(&b->diagnostics, "%s%s", b->diagnostics.length ? "; " : "", text);
    LLVMDisposeMessage(text);
}

enum uk_status uk_build_begin(struct uk_build *b, struct uk_context *c, const struct uk_function *f,
                              const struct uk_target *t) {
    *b = (struct uk_build){.context = c, .function = f, .target = t};
    enum uk_status s = uk_backend(c) ? uk_target_machine(c, t, &b->machine) : uk_failure(c);

    if (s)
        return s;
    b->llvm = LLVMContextCreate();
    LLVMContextSetDiagnosticHandler(b->llvm, listen, b);
    b->module = LLVMModuleCreateWithNameInContext(f->name, b->llvm);
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(b->machine);

    LLVMSetTarget(b->module, t->arch->triple);
    if (t->arch->abi)
        LLVMAddModuleFlag(b->module, LLVMModuleFlagBehaviorError, "target-abi", strlen("target-abi"),
                          LLVMMDStringInContext2(b->llvm, t->arch->abi, strlen(t->arch->abi)));
    LLVMSetModuleDataLayout(b->module, layout);
    LLVMDisposeTargetData(layout);
    s = t->arch->is_device ? uk_host_begin(b) : UK_OK;
    if (s)
        uk_build_end(b);
    return s;
}

void uk_build_end(struct uk_build *b) {
    if (b->module)
        LLVMDisposeModule(b->module);
    if (b->host_module)
        LLVMDisposeModule(b->host_module);
    if (b->llvm)
        LLVMContextDispose(b->llvm);
    uk_build_forget(b);
    uk_objects_free(b);
    b->module = b->host_module = NULL;
    b->llvm = NULL;
}

/* Makes assembly or an object, as LLVM makes it. */
static enum uk_status assemble(struct uk_build *b, LLVMCodeGenFileType type, LLVMMemoryBufferRef *out) {
    char *error = NULL;

    *out = NULL;
    LLVMBool failed = LLVMTargetMachineEmitToMemoryBuffer(b->machine, b->module, type, &error, out);

    if (!failed && !b->diagnostics.length)
        return UK_OK;
    if (!failed && *out)
        LLVMDisposeMemoryBuffer(*out);
    *out = NULL;
    uk_build_blames_loops(b);
    enum uk_status s = uk_build_fail(b, UK_LINK, "the assembler refuses the code", failed ? error : NULL);

    LLVMDisposeMessage(error);
    return s;
}

/* Completes the object: adds what LLVM did not put into it. */
static enum uk_status complete(struct uk_build *b, LLVMMemoryBufferRef *object) {
    enum uk_status s = UK_OK;
    char *filled = NULL;
    size_t length;

    if (b->bundle) {
        s = uk_constants_fill(b, *object, &filled, &length);
        LLVMDisposeMemoryBuffer(*object);
        *object = s ? NULL : LLVMCreateMemoryBufferWithMemoryRangeCopy(filled, length, "filled");
        free(filled);
    }
    return s || !b->objects ? s : uk_objects_merge(b, object);
}

enum uk_status uk_build_assemble(struct uk_build *b, LLVMCodeGenFileType type, LLVMMemoryBufferRef *out) {
    const enum uk_status s = assemble(b, type, out);

    if (s)
        return s;
    return type == LLVMObjectFile            ? complete(b, out)
           : b->target->arch->kernel.is_text ? uk_fix_ptx(b->context, out)
                                             : UK_OK;
}

enum uk_status uk_build_object(struct uk_build *b, char **bytes, size_t *length) {
    LLVMMemoryBufferRef object;
    enum uk_status s = assemble(b, LLVMObjectFile, &object);

    if (!s && b->bundle && !b->objects) {
        s = uk_constants_fill(b, object, bytes, length);
    } else if (!s && !(s = complete(b, &object))) {
        *length = LLVMGetBufferSize(object);
        *bytes = malloc(*length + 1);
        if (*bytes)
            memcpy(*bytes, LLVMGetBufferStart(object), *length);
        s = *bytes ? UK_OK : uk_out_of_memory(b->context);
    }
    if (object)
        LLVMDisposeMemoryBuffer(object);
    return s;
}
