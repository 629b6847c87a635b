/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the linker: the modules that kernels come from, and the kernels that are wanted. */
#ifndef UK_LINK_H
#define UK_LINK_H

#include "backend.h"

/* An import or a built-in kernel's bitcode, parsed. */
struct uk_source {
    const char *name; /* for messages */
    struct uk_position at;
    bool built_in;
    const char *bytes; /* of an import */
    size_t length;
    bool is_object;       /* machine code: called, not inlined; has no module */
    LLVMModuleRef module; /* NULL once it is linked */
    struct uk_source *next;
};

struct uk_sources {
    struct uk_arena arena;
    struct uk_source *first;
};

/* A symbol that the loops call. */
struct uk_wanted {
    const char *symbol;
    const struct uk_intrinsic *intrinsic;
    LLVMTypeRef type; /* what the declaration's form says */
    struct uk_source *source;
};

bool uk_is_wanted(LLVMValueRef f, const struct uk_wanted *w, int count);

/* gate.c: bitcode or LLVM's text, into s->module. */
enum uk_status uk_parse_source(struct uk_build *b, struct uk_source *s, const char *data, size_t size);
/* gate.c: refuses what could not be inlined, would call out, or keeps state; w: the kernels of all sources.
 */
enum uk_status uk_gate(struct uk_build *b, const struct uk_source *s, const struct uk_wanted *w, int count);
/* gate_asm.c: of a call of inline asm in f, whether the target has what its text, constraints and clobbers name. */
enum uk_status uk_gate_asm(struct uk_build *b, const struct uk_source *s, LLVMValueRef f, LLVMValueRef code);
/* try.c: refuses an import that LLVM has no instructions for on the target. */
enum uk_status uk_try(struct uk_build *b, const struct uk_source *s);
/* object.c: ELF's mark; whether it can be read and is for the target; whether it has that function for others;
 * that it needs nothing, keeps no state and takes no name; that it becomes part of the build's object. */
bool uk_is_object(const char *bytes, size_t length);
enum uk_status uk_object_parse(struct uk_build *b, const struct uk_source *s);
bool uk_object_defines(const char *bytes, size_t length, const char *symbol);
enum uk_status uk_object_gate(struct uk_build *b, const struct uk_source *s);
enum uk_status uk_object_use(struct uk_build *b, const struct uk_source *s);
/* producer.c: who wrote this bitcode ("LLVM21.1.0"), and for which epoch; false where that cannot be read. */
bool uk_bitcode_producer(const char *data, size_t size, char producer[64], unsigned *epoch);

#endif
