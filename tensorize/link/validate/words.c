/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds RISC-V P instructions, which LLVM has no names for and accepts in asm statements for any target, as
 * `.insn` or data. An import with them is refused if the target lacks rvp. The search is in machine code: a
 * text may produce them by macros or mention them in comments.
 */
#include <stdio.h>
#include <string.h>
#include <llvm-c/TargetMachine.h>
#include "names.h"
#include "link/link.h"

/* The length of the instruction that begins with this halfword. Opcode 0x7f, used by P's first drafts, would
 * begin a longer one. */
static size_t instruction_bytes(unsigned half) {
    if ((half & 3) != 3)
        return 2;
    if ((half & 0x1c) != 0x1c || uk_rvp_is_opcode(half))
        return 4;
    return (half & 0x3f) == 0x1f ? 6 : 8;
}

bool uk_find_word(const char *code, size_t size, size_t *at, char text[UK_WORD_TEXT]) {
    const unsigned char *bytes = (const unsigned char *)code;

    for (size_t i = 0, n; i + 4 <= size; i += n) {
        const uint32_t half = bytes[i] | (uint32_t)bytes[i + 1] << 8;
        const uint32_t word = half | (uint32_t)bytes[i + 2] << 16 | (uint32_t)bytes[i + 3] << 24;

        n = instruction_bytes(half);
        if (n != 4 || !uk_rvp_is_opcode(word))
            continue;
        *at = i;
        if (!uk_rvp_print(word, text, UK_WORD_TEXT))
            snprintf(text, UK_WORD_TEXT, "the word 0x%08x", (unsigned)word);
        return true;
    }
    return false;
}

static bool has_asm(LLVMModuleRef m) {
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(f); bb; bb = LLVMGetNextBasicBlock(bb))
            for (LLVMValueRef i = LLVMGetFirstInstruction(bb); i; i = LLVMGetNextInstruction(i))
                if (LLVMIsACallInst(i) && LLVMIsAInlineAsm(LLVMGetCalledValue(i)))
                    return true;
    return false;
}

/* Checks the machine code of a module that could be inlined, on a copy, since code generation consumes a
 * module. */
static enum uk_status gate_module(struct uk_build *b, const struct uk_source *s) {
    LLVMModuleRef copy = LLVMCloneModule(s->module);
    LLVMMemoryBufferRef object = NULL;
    char *error = NULL;
    enum uk_status status = UK_OK;

    if (LLVMTargetMachineEmitToMemoryBuffer(b->machine, copy, LLVMObjectFile, &error, &object) ||
        b->diagnostics.length)
        status = uk_build_fail(b, UK_LINK, s->name, error);
    else
        status = uk_object_validate_words(b, s, LLVMGetBufferStart(object), LLVMGetBufferSize(object));
    if (object)
        LLVMDisposeMemoryBuffer(object);
    LLVMDisposeMessage(error);
    LLVMDisposeModule(copy);
    return status;
}

enum uk_status uk_validate_words(struct uk_build *b, const struct uk_source *s) {
    if (strcmp(b->target->arch->name, "riscv64") || uk_target_has(b->target, "rvp"))
        return UK_OK;
    if (s->is_object)
        return uk_object_validate_words(b, s, s->bytes, s->length);
    return has_asm(s->module) ? gate_module(b, s) : UK_OK;
}
