/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the calling convention of AArch64 (AAPCS64): x19 to x29, the low halves of v8 to v15, sp and FPCR
 * are preserved. */
#define _GNU_SOURCE
#include <stddef.h>
#include <ucontext.h>
#include "abi.h"

enum {
    REGISTERS = 11,
    VECTORS = 8,
    ARGUMENTS = 8,
    GUARD_WORDS = 8,
    STACK_WORDS = ABI_VALUES - ARGUMENTS + GUARD_WORDS
};
static const int64_t canary = 0x5aa5c33c0ff01234;

/* Comments begin with the offset of the field, which abi_call_asm uses. */
struct call {
    void (*function)(void);       /* 0 */
    uint64_t scalars[ARGUMENTS];  /* 8: d0 to d7 */
    int64_t words[ARGUMENTS];     /* 72: x0 to x7 */
    int64_t stack[STACK_WORDS];   /* 136 */
    int64_t registers[REGISTERS]; /* 392: x19 to x29, before and afterwards */
    int64_t vectors[VECTORS];     /* 480: d8 to d15, before and afterwards */
    int64_t sp, sp_after;         /* 544, 552 */
    int64_t fpcr, fpcr_after;     /* 560, 568 */
};
_Static_assert(offsetof(struct call, words) == 72 && offsetof(struct call, stack) == 136 &&
                   offsetof(struct call, registers) == 392 && offsetof(struct call, vectors) == 480 &&
                   offsetof(struct call, sp) == 544 && offsetof(struct call, fpcr_after) == 568 &&
                   STACK_WORDS == 32,
               "see abi_call_asm");

/* Finds the call even if sp was not preserved. */
__attribute__((used)) static struct call *abi_call_now;

/* Frame: x19 to x30, d8 to d15 (160 bytes), 32 words of stack; sp is a multiple of 16 at the call. */
void abi_call_asm(struct call *call);
__asm__(".text\n"
        ".globl abi_call_asm\n"
        ".hidden abi_call_asm\n"
        ".type abi_call_asm, %function\n"
        "abi_call_asm:\n\t"
        "sub sp, sp, #160\n\t"
        "stp x19, x20, [sp]\n\tstp x21, x22, [sp, #16]\n\tstp x23, x24, [sp, #32]\n\t"
        "stp x25, x26, [sp, #48]\n\tstp x27, x28, [sp, #64]\n\tstp x29, x30, [sp, #80]\n\t"
        "stp d8, d9, [sp, #96]\n\tstp d10, d11, [sp, #112]\n\t"
        "stp d12, d13, [sp, #128]\n\tstp d14, d15, [sp, #144]\n\t"
        "adrp x9, abi_call_now\n\t"
        "str x0, [x9, :lo12:abi_call_now]\n\t"
        "sub sp, sp, #256\n\t"
        "mov x9, sp\n\t"
        "str x9, [x0, #544]\n\t"
        "mrs x9, fpcr\n\t"
        "str x9, [x0, #560]\n\t"
        "mov x9, #0\n"
        "1:\n\t"
        "add x10, x0, x9\n\t"
        "ldr x10, [x10, #136]\n\t"
        "str x10, [sp, x9]\n\t"
        "add x9, x9, #8\n\t"
        "cmp x9, #256\n\t"
        "b.ne 1b\n\t"
        "mov x9, x0\n\t"
        "add x10, x9, #392\n\t"
        "ldp x19, x20, [x10]\n\tldp x21, x22, [x10, #16]\n\tldp x23, x24, [x10, #32]\n\t"
        "ldp x25, x26, [x10, #48]\n\tldp x27, x28, [x10, #64]\n\tldr x29, [x10, #80]\n\t"
        "ldp d8, d9, [x10, #88]\n\tldp d10, d11, [x10, #104]\n\t"
        "ldp d12, d13, [x10, #120]\n\tldp d14, d15, [x10, #136]\n\t"
        "ldp d0, d1, [x9, #8]\n\tldp d2, d3, [x9, #24]\n\t"
        "ldp d4, d5, [x9, #40]\n\tldp d6, d7, [x9, #56]\n\t"
        "ldp x0, x1, [x9, #72]\n\tldp x2, x3, [x9, #88]\n\t"
        "ldp x4, x5, [x9, #104]\n\tldp x6, x7, [x9, #120]\n\t"
        "ldr x9, [x9]\n\t"
        "blr x9\n\t"
        "adrp x9, abi_call_now\n\t"
        "ldr x9, [x9, :lo12:abi_call_now]\n\t"
        "add x10, x9, #392\n\t"
        "stp x19, x20, [x10]\n\tstp x21, x22, [x10, #16]\n\tstp x23, x24, [x10, #32]\n\t"
        "stp x25, x26, [x10, #48]\n\tstp x27, x28, [x10, #64]\n\tstr x29, [x10, #80]\n\t"
        "stp d8, d9, [x10, #88]\n\tstp d10, d11, [x10, #104]\n\t"
        "stp d12, d13, [x10, #120]\n\tstp d14, d15, [x10, #136]\n\t"
        "mov x10, sp\n\t"
        "str x10, [x9, #552]\n\t"
        "ldr x10, [x9, #544]\n\t"
        "mov sp, x10\n\t"
        "mrs x10, fpcr\n\t"
        "str x10, [x9, #568]\n\t"
        "ldr x10, [x9, #560]\n\t"
        "msr fpcr, x10\n\t"
        "mov x10, #0\n"
        "2:\n\t"
        "ldr x11, [sp, x10]\n\t"
        "add x12, x9, x10\n\t"
        "str x11, [x12, #136]\n\t"
        "add x10, x10, #8\n\t"
        "cmp x10, #256\n\t"
        "b.ne 2b\n\t"
        "add sp, sp, #256\n\t"
        "ldp x19, x20, [sp]\n\tldp x21, x22, [sp, #16]\n\tldp x23, x24, [sp, #32]\n\t"
        "ldp x25, x26, [sp, #48]\n\tldp x27, x28, [sp, #64]\n\tldp x29, x30, [sp, #80]\n\t"
        "ldp d8, d9, [sp, #96]\n\tldp d10, d11, [sp, #112]\n\t"
        "ldp d12, d13, [sp, #128]\n\tldp d14, d15, [sp, #144]\n\t"
        "add sp, sp, #160\n\t"
        "ret\n\t"
        ".size abi_call_asm, . - abi_call_asm\n");

static int64_t register_canary(int i) {
    return canary ^ (0x0101010101010101 * (i + 1));
}

/* Makes the call; the stack's words from `words` on become canaries. */
static const char *check_call(struct call *call, int words) {
    static const char *const names[REGISTERS + VECTORS] = {"x19", "x20", "x21", "x22", "x23", "x24", "x25",
                                                           "x26", "x27", "x28", "x29", "d8",  "d9",  "d10",
                                                           "d11", "d12", "d13", "d14", "d15"};

    for (int i = words; i < STACK_WORDS; i++)
        call->stack[i] = canary;
    for (int i = 0; i < REGISTERS + VECTORS; i++)
        (i < REGISTERS ? call->registers + i : call->vectors + (i - REGISTERS))[0] = register_canary(i);
    abi_call_asm(call);
    if (call->sp_after != call->sp)
        return "sp";
    for (int i = 0; i < REGISTERS + VECTORS; i++)
        if ((i < REGISTERS ? call->registers[i] : call->vectors[i - REGISTERS]) != register_canary(i))
            return names[i];
    if (call->fpcr_after != call->fpcr)
        return "FPCR";
    for (int i = words; i < STACK_WORDS; i++)
        if (call->stack[i] != canary)
            return "the caller's stack";
    return NULL;
}

/* Passes floats in v0 to v7, integers in x0 to x7, and the rest on the stack in the order of the arguments.
 * The upper bits of short values are arbitrary. */
const char *abi_call_values(void (*function)(void), const struct abi_value *value, int count) {
    struct call call = {.function = function};
    int words = 0, integers = 0, scalars = 0;

    for (int i = 0; i < ARGUMENTS; i++)
        call.scalars[i] = (uint64_t)(call.words[i] = canary);
    for (int i = 0; i < count; i++) {
        const struct abi_value *v = &value[i];
        const uint64_t bits =
            v->is_short ? (v->bits & UINT32_MAX) | ((uint64_t)canary & ~(uint64_t)UINT32_MAX) : v->bits;

        if (v->is_real && scalars < ARGUMENTS)
            call.scalars[scalars++] = bits;
        else if (!v->is_real && integers < ARGUMENTS)
            call.words[integers++] = (int64_t)bits;
        else
            call.stack[words++] = (int64_t)bits;
    }
    return check_call(&call, words);
}

void abi_check_tiles(void) {
}

const char *abi_call(void (*function)(void), const int64_t *words, int count, unsigned addresses,
                     uint64_t scalar) {
    struct abi_value value[ABI_WORDS + 1] = {{.is_real = true, .bits = scalar}};

    (void)addresses;
    for (int i = 0; i < count; i++)
        value[i + 1].bits = (uint64_t)words[i];
    return abi_call_values(function, value, count + 1);
}

/* Decodes loads and stores by the Arm Architecture Reference Manual, C4.1. Bit 22 is set in loads, except for
 * single registers with an offset: their stores have 0 in bits 23 and 22, or 2 if the register has 128 bits.
 * Atomic operations write. */
bool abi_is_write(const void *context) {
    const ucontext_t *u = context;
    const uint32_t code = *(const uint32_t *)(uintptr_t)u->uc_mcontext.pc;
    const unsigned kind = code >> 22 & 3;

    if ((code & 0x0a000000) != 0x08000000 ||
        (code & 0x3b000000) == 0x18000000) /* not a load or store, or a load of a literal */
        return false;
    if ((code & 0x38000000) != 0x38000000)
        return !(kind & 1);
    if ((code & 0x3f200c00) == 0x38200000)
        return true;
    return kind == 0 || ((code & 0xc4000000) == 0x04000000 && kind == 2);
}
