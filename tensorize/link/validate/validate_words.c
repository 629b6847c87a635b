/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instructions that LLVM has no names for, and takes from asm statements for any target, as `.insn` or as
 * data: RISC-V P's. An import that has them is refused where the target has no rvp. They are found in its
 * machine code: a text may make them by macros, or speak of them in comments.
 */
#include <stdio.h>
#include <string.h>
#include <llvm-c/TargetMachine.h>
#include "names.h"
#include "link/link.h"

/* The bytes of the instruction whose first half this is; the opcode 0x7f of P's first drafts would begin a
 * longer one. */
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

/* The machine code of a module that could be inlined; generating it uses the module up. */
static enum uk_status gate_module(struct uk_build *b, const struct uk_source *s) {
    LLVMModuleRef copy = LLVMCloneModule(s->module);
    LLVMMemoryBufferRef object = NULL;
    char *error = NULL;
    enum uk_status status = UK_OK;

    if (LLVMTargetMachineEmitToMemoryBuffer(b->machine, copy, LLVMObjectFile, &error, &object) ||
        b->diagnostics.length)
        status = uk_build_fail(b, UK_LINK, s->name, error);
    else
        status = uk_object_gate_words(b, s, LLVMGetBufferStart(object), LLVMGetBufferSize(object));
    if (object)
        LLVMDisposeMemoryBuffer(object);
    LLVMDisposeMessage(error);
    LLVMDisposeModule(copy);
    return status;
}

enum uk_status uk_gate_words(struct uk_build *b, const struct uk_source *s) {
    if (strcmp(b->target->arch->name, "riscv64") || uk_target_has(b->target, "rvp"))
        return UK_OK;
    if (s->is_object)
        return uk_object_gate_words(b, s, s->bytes, s->length);
    return has_asm(s->module) ? gate_module(b, s) : UK_OK;
}
