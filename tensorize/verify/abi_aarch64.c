/* SPDX-License-Identifier: Apache-2.0 */
/* The calling convention of AArch64 (AAPCS64): x19 to x29, the low halves of v8 to v15, sp, FPCR. */
#include <stddef.h>
#include "abi.h"

enum { REGISTERS = 11, VECTORS = 8, GUARD_WORDS = 8, STACK_WORDS = ABI_WORDS - 8 + GUARD_WORDS };
static const int64_t canary = 0x5aa5c33c0ff01234;

/* The offsets are known to abi_call_asm. */
struct call {
    void (*function)(void);         /* 0 */
    uint64_t scalar;                /* 8: d0 */
    int64_t words[8 + STACK_WORDS]; /* 16: x0 to x7, then the stack */
    int64_t registers[REGISTERS];   /* 224: x19 to x29, before and afterwards */
    int64_t vectors[VECTORS];       /* 312: d8 to d15, before and afterwards */
    int64_t sp, sp_after;           /* 376, 384 */
    int64_t fpcr, fpcr_after;       /* 392, 400 */
};
_Static_assert(offsetof(struct call, registers) == 224 && offsetof(struct call, vectors) == 312 &&
                   offsetof(struct call, sp) == 376 && offsetof(struct call, fpcr_after) == 400 &&
                   STACK_WORDS == 18,
               "see abi_call_asm");

/* Where the call is found again when even sp is lost. */
__attribute__((used)) static struct call *abi_call_now;

/* Frame: x19 to x30, d8 to d15 (160 bytes), 18 words of stack; sp is a multiple of 16 at the call. */
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
        "sub sp, sp, #144\n\t"
        "mov x9, sp\n\t"
        "str x9, [x0, #376]\n\t"
        "mrs x9, fpcr\n\t"
        "str x9, [x0, #392]\n\t"
        "mov x9, #0\n"
        "1:\n\t"
        "add x10, x0, x9\n\t"
        "ldr x10, [x10, #80]\n\t"
        "str x10, [sp, x9]\n\t"
        "add x9, x9, #8\n\t"
        "cmp x9, #144\n\t"
        "b.ne 1b\n\t"
        "mov x9, x0\n\t"
        "add x10, x9, #224\n\t"
        "ldp x19, x20, [x10]\n\tldp x21, x22, [x10, #16]\n\tldp x23, x24, [x10, #32]\n\t"
        "ldp x25, x26, [x10, #48]\n\tldp x27, x28, [x10, #64]\n\tldr x29, [x10, #80]\n\t"
        "ldp d8, d9, [x10, #88]\n\tldp d10, d11, [x10, #104]\n\t"
        "ldp d12, d13, [x10, #120]\n\tldp d14, d15, [x10, #136]\n\t"
        "ldr d0, [x9, #8]\n\t"
        "ldp x0, x1, [x9, #16]\n\tldp x2, x3, [x9, #32]\n\t"
        "ldp x4, x5, [x9, #48]\n\tldp x6, x7, [x9, #64]\n\t"
        "ldr x9, [x9]\n\t"
        "blr x9\n\t"
        "adrp x9, abi_call_now\n\t"
        "ldr x9, [x9, :lo12:abi_call_now]\n\t"
        "add x10, x9, #224\n\t"
        "stp x19, x20, [x10]\n\tstp x21, x22, [x10, #16]\n\tstp x23, x24, [x10, #32]\n\t"
        "stp x25, x26, [x10, #48]\n\tstp x27, x28, [x10, #64]\n\tstr x29, [x10, #80]\n\t"
        "stp d8, d9, [x10, #88]\n\tstp d10, d11, [x10, #104]\n\t"
        "stp d12, d13, [x10, #120]\n\tstp d14, d15, [x10, #136]\n\t"
        "mov x10, sp\n\t"
        "str x10, [x9, #384]\n\t"
        "ldr x10, [x9, #376]\n\t"
        "mov sp, x10\n\t"
        "mrs x10, fpcr\n\t"
        "str x10, [x9, #400]\n\t"
        "ldr x10, [x9, #392]\n\t"
        "msr fpcr, x10\n\t"
        "mov x10, #0\n"
        "2:\n\t"
        "ldr x11, [sp, x10]\n\t"
        "add x12, x9, x10\n\t"
        "str x11, [x12, #80]\n\t"
        "add x10, x10, #8\n\t"
        "cmp x10, #144\n\t"
        "b.ne 2b\n\t"
        "add sp, sp, #144\n\t"
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

const char *abi_call(void (*function)(void), const int64_t *words, int count, unsigned addresses,
                     uint64_t scalar) {
    static const char *const names[REGISTERS + VECTORS] = {"x19", "x20", "x21", "x22", "x23", "x24", "x25",
                                                           "x26", "x27", "x28", "x29", "d8",  "d9",  "d10",
                                                           "d11", "d12", "d13", "d14", "d15"};
    struct call call = {.function = function, .scalar = scalar};

    (void)addresses;
    for (int i = 0; i < 8 + STACK_WORDS; i++)
        call.words[i] = i < count ? words[i] : canary;
    for (int i = 0; i < REGISTERS + VECTORS; i++)
        (i < REGISTERS ? call.registers + i : call.vectors + (i - REGISTERS))[0] = register_canary(i);
    abi_call_asm(&call);
    if (call.sp_after != call.sp)
        return "sp";
    for (int i = 0; i < REGISTERS + VECTORS; i++)
        if ((i < REGISTERS ? call.registers[i] : call.vectors[i - REGISTERS]) != register_canary(i))
            return names[i];
    if (call.fpcr_after != call.fpcr)
        return "FPCR";
    for (int i = count > 8 ? count : 8; i < 8 + STACK_WORDS; i++)
        if (call.words[i] != canary)
            return "the caller's stack";
    return NULL;
}
