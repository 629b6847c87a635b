/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Constants of bundles. They may be hundreds of megabytes, and LLVM would copy them several times on the way
 * to an object. LLVM gets variables without bytes instead, in a section of their own; the section gets its
 * bytes, and becomes read-only, once the object is made.
 */
#include <stdlib.h>
#include <string.h>
#include "link.h"

/* LLVM gives no bytes to variables of zeros in a section whose name begins with .bss; the object then has the
 * name without it. */
#define SECTION ".bss.rodata.constants"
enum { PREFIX = sizeof ".bss" - 1, DEFAULT_ALIGNMENT = 64, SECTION_ALIGNMENT = 4096 };

static const struct uk_position nowhere = {0, 0};

size_t uk_constant_alignment(const struct uk_constant *k) {
    return k->alignment ? k->alignment : DEFAULT_ALIGNMENT;
}

/* Writes the bytes of constant i to memory at a multiple of its alignment. */
static enum uk_status write_constant(struct uk_build *build, const struct uk_bundle *u, int i, void *to) {
    const struct uk_constant *k = &u->constants[i];
    enum uk_status s = UK_OK;

    if (k->bytes)
        memcpy(to, k->bytes, k->length);
    else
        s = u->make_constant(u->user, i, to);
    return s ? uk_fail(build->context, s, nowhere, "constant %s cannot be made", k->name) : UK_OK;
}

/* Makes the constant's value that of the variable, so that printed modules contain it. */
static enum uk_status print_constant(struct uk_build *build, const struct uk_bundle *u, int i,
                                     LLVMValueRef g) {
    const struct uk_constant *k = &u->constants[i];
    const size_t alignment = uk_constant_alignment(k);
    char *bytes = aligned_alloc(alignment, (k->length / alignment + 1) * alignment);

    if (!bytes)
        return uk_out_of_memory(build->context);
    const enum uk_status s = k->length ? write_constant(build, u, i, bytes) : UK_OK;
    if (!s)
        LLVMSetInitializer(g, LLVMConstStringInContext2(build->llvm, bytes, k->length, true));
    free(bytes);
    return s;
}

enum uk_status uk_constants_add(struct uk_build *build, const struct uk_bundle *u, bool is_printed) {
    enum uk_status s = UK_OK;

    for (int i = 0; i < u->constant_count && !s; i++) {
        const struct uk_constant *k = &u->constants[i];
        LLVMValueRef g = LLVMGetNamedGlobal(build->module, k->name);

        if (!g)
            continue;
        if (is_printed) {
            s = print_constant(build, u, i, g);
        } else {
            LLVMSetInitializer(g, LLVMConstNull(LLVMGlobalGetValueType(g)));
            LLVMSetSection(g, SECTION);
        }
        LLVMSetExternallyInitialized(g, !is_printed);
        LLVMSetGlobalConstant(g, is_printed);
        LLVMSetUnnamedAddress(g, LLVMNoUnnamedAddr); /* its address must be unique */
        LLVMSetAlignment(g, (unsigned)uk_constant_alignment(k));
        LLVMSetLinkage(g, LLVMInternalLinkage);
    }
    build->bundle = is_printed ? NULL : u;
    return s;
}

/* Writes the constants into their section, whose bytes are at `section`. */
static enum uk_status write_all(struct uk_build *build, const char *object, size_t length, char *section,
                                uint64_t size) {
    enum uk_status s = UK_OK;

    for (int i = 0; i < build->bundle->constant_count && !s; i++) {
        const struct uk_constant *k = &build->bundle->constants[i];
        uint64_t at;

        if (!k->length || !LLVMGetNamedGlobal(build->module, k->name))
            continue;
        s = uk_object_variable(object, length, k->name, &at) && at <= size && k->length <= size - at
                ? write_constant(build, build->bundle, i, section + at)
                : uk_fail(build->context, UK_INTERNAL, nowhere,
                          "constant %s is not where it was put in the object; please report this", k->name);
    }
    return s;
}

enum uk_status uk_constants_fill(struct uk_build *build, LLVMMemoryBufferRef object, char **bytes,
                                 size_t *length) {
    const double since = uk_now();
    const char *made = LLVMGetBufferStart(object);
    const size_t before = LLVMGetBufferSize(object),
                 at = (before + SECTION_ALIGNMENT - 1) / SECTION_ALIGNMENT * SECTION_ALIGNMENT;
    const uint64_t size = uk_object_section(made, before, SECTION);
    enum uk_status s = UK_OK;

    *length = size ? at + (size_t)size : before;
    *bytes = aligned_alloc(SECTION_ALIGNMENT, (*length / SECTION_ALIGNMENT + 1) * SECTION_ALIGNMENT);
    if (!*bytes)
        return uk_out_of_memory(build->context);
    memset(*bytes + before, 0, *length + 1 - before);
    memcpy(*bytes, made, before);
    if (size) {
        uk_object_place_section(*bytes, before, SECTION, PREFIX, at);
        s = write_all(build, *bytes, before, *bytes + at, size);
    }
    if (s) {
        free(*bytes);
        *bytes = NULL;
    }
    uk_time(build->context->times, "constants", since);
    return s;
}
