/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs for GPUs have two modules: the kernels', which becomes an image for the device's driver, and that
 * of the function which launches them. Once the image is in the second module, the build proceeds as for a
 * CPU.
 */
#include <stdlib.h>
#include <string.h>
#include "link.h"

/* The baseline of this process's architecture. Launch code needs no more, and the same program gives the same
 * bytes on every host. */
static const char *host_name(void) {
    const struct uk_target *least = NULL;
    size_t fewest = 0;

    for (const struct uk_target *t = uk_targets; t->name; t++) {
        size_t n = 0;

        while (t->has[n])
            n++;
        if (t->arch == uk_own_arch() && (!least || n < fewest)) {
            least = t;
            fewest = n;
        }
    }
    return least ? least->name : "native";
}

enum uk_status uk_host_begin(struct uk_build *b) {
    LLVMTargetMachineRef machine;
    enum uk_status s = uk_target_find(b->context, host_name(), &b->host);

    if (!s)
        s = uk_target_machine(b->context, b->host, &machine);
    if (s)
        return s;
    b->host_module = LLVMModuleCreateWithNameInContext(b->function->name, b->llvm);
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(machine);

    LLVMSetTarget(b->host_module, b->host->arch->triple);
    LLVMSetModuleDataLayout(b->host_module, layout);
    LLVMDisposeTargetData(layout);
    return UK_OK;
}

static enum uk_status copy_text(struct uk_build *b, LLVMMemoryBufferRef text, char **bytes, size_t *length) {
    const size_t n = LLVMGetBufferSize(text);

    if (!(*bytes = malloc(n + 1)))
        return uk_out_of_memory(b->context);
    memcpy(*bytes, LLVMGetBufferStart(text), n);
    (*bytes)[n] = 0;
    *length = n;
    return UK_OK;
}

enum uk_status uk_build_image(struct uk_build *b, char **bytes, size_t *length) {
    const bool is_text = b->target->arch->kernel.is_text;
    LLVMMemoryBufferRef object;
    double since = uk_now();
    enum uk_status s = uk_build_assemble(b, is_text ? LLVMAssemblyFile : LLVMObjectFile, &object);

    uk_time(b->context->times, "assemble", since);
    if (s)
        return s;
    s = is_text ? copy_text(b, object, bytes, length)
                : uk_link_code_object(b->context, b->target, LLVMGetBufferStart(object),
                                      LLVMGetBufferSize(object), bytes, length);
    LLVMDisposeMemoryBuffer(object);
    return s;
}

/* Replaces the host's declaration of the global by this internal constant. */
static void define(struct uk_build *b, const char *name, LLVMValueRef value, unsigned align) {
    LLVMValueRef declared = LLVMGetNamedGlobal(b->host_module, name), g;

    if (!declared)
        return;
    g = LLVMAddGlobal(b->host_module, LLVMTypeOf(value), "");
    LLVMSetInitializer(g, value);
    LLVMSetGlobalConstant(g, true);
    LLVMSetAlignment(g, align);
    LLVMReplaceAllUsesWith(declared, g);
    LLVMDeleteGlobal(declared);
    LLVMSetValueName2(g, name, strlen(name));
    LLVMSetLinkage(g, LLVMInternalLinkage);
}

enum uk_status uk_build_to_host(struct uk_build *b) {
    enum { ALIGN = 4096 /* a page, which a driver may map */ };
    LLVMTypeRef word = LLVMIntTypeInContext(b->llvm, (unsigned)b->host->arch->bits);
    char *image = NULL;
    size_t length = 0;
    enum uk_status s =
        LLVMGetNamedGlobal(b->host_module, UK_IMAGE) ? uk_build_image(b, &image, &length) : UK_OK;

    if (s)
        return s;
    if (image) {
        define(b, UK_IMAGE, LLVMConstStringInContext2(b->llvm, image, length, true), ALIGN);
        define(b, UK_IMAGE_BYTES, LLVMConstInt(word, length, false), sizeof(void *));
    }
    free(image);
    LLVMDisposeModule(b->module);
    b->module = b->host_module;
    b->target = b->host;
    b->host_module = NULL;
    b->host = NULL;
    b->uses_library = true;
    s = uk_target_machine(b->context, b->target, &b->machine);
    return s ? s : uk_run_passes(b, "default<O1>");
}

bool uk_is_of_host(enum uk_emit what) {
    return what == UK_EMIT_OBJECT || what == UK_EMIT_SHARED || what == UK_EMIT_HOST;
}
