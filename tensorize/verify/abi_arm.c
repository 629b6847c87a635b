/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the calling convention of 32-bit Arm (AAPCS, hard-float): r4 to r11, d8 to d15, sp and the mode bits
 * of FPSCR are preserved. */
#include <stddef.h>
#include "abi.h"

/* Arguments take at most 2 * ABI_WORDS words, 4 of them in registers. */
enum { REGISTERS = 8, VECTORS = 8, STACK_WORDS = 40 };
static const uint32_t canary = 0x5aa5c33c;

/* Comments begin with the offset of the field, which abi_call_asm uses. */
struct call {
    void (*function)(void);          /* 0 */
    uint32_t words[4 + STACK_WORDS]; /* 4: r0 to r3, then the stack */
    uint32_t registers[REGISTERS];   /* 180: r4 to r11, before and afterwards */
    uint32_t sp, sp_after;           /* 212, 216 */
    uint32_t fpscr, fpscr_after;     /* 220, 224 */
    uint64_t scalar;                 /* 232: d0 */
    uint64_t vectors[VECTORS];       /* 240: d8 to d15, before and afterwards */
};
_Static_assert(offsetof(struct call, registers) == 180 && offsetof(struct call, sp) == 212 &&
                   offsetof(struct call, scalar) == 232 && offsetof(struct call, vectors) == 240,
               "see abi_call_asm");

/* Finds the call even if sp was not preserved. */
__attribute__((used)) static struct call *abi_call_now;

/* Frame: r3 to r11 and lr, d8 to d15 (104 bytes), 40 words of stack; sp is a multiple of 8 at the call. */
void abi_call_asm(struct call *call);
__asm__(".text\n"
        ".syntax unified\n"
        ".arm\n"
        ".balign 4\n"
        ".globl abi_call_asm\n"
        ".hidden abi_call_asm\n"
        ".type abi_call_asm, %function\n"
        "abi_call_asm:\n\t"
        "push {r3-r11, lr}\n\t"
        "vpush {d8-d15}\n\t"
        "movw r1, :lower16:(abi_call_now - (1f + 8))\n\t"
        "movt r1, :upper16:(abi_call_now - (1f + 8))\n"
        "1:\n\t"
        "add r1, pc, r1\n\t"
        "str r0, [r1]\n\t"
        "sub sp, sp, #160\n\t"
        "str sp, [r0, #212]\n\t"
        "vmrs r1, fpscr\n\t"
        "str r1, [r0, #220]\n\t"
        "add r2, r0, #20\n\t"
        "mov r1, #0\n"
        "2:\n\t"
        "ldr r3, [r2, r1]\n\t"
        "str r3, [sp, r1]\n\t"
        "add r1, r1, #4\n\t"
        "cmp r1, #160\n\t"
        "bne 2b\n\t"
        "vldr d0, [r0, #232]\n\t"
        "add r1, r0, #240\n\t"
        "vldmia r1, {d8-d15}\n\t"
        "add r1, r0, #180\n\t"
        "ldmia r1, {r4-r11}\n\t"
        "ldr ip, [r0]\n\t"
        "add r0, r0, #4\n\t"
        "ldmia r0, {r0-r3}\n\t"
        "blx ip\n\t"
        "movw r1, :lower16:(abi_call_now - (3f + 8))\n\t"
        "movt r1, :upper16:(abi_call_now - (3f + 8))\n"
        "3:\n\t"
        "add r1, pc, r1\n\t"
        "ldr r0, [r1]\n\t"
        "str sp, [r0, #216]\n\t"
        "ldr sp, [r0, #212]\n\t"
        "add r1, r0, #180\n\t"
        "stmia r1, {r4-r11}\n\t"
        "add r1, r0, #240\n\t"
        "vstmia r1, {d8-d15}\n\t"
        "vmrs r1, fpscr\n\t"
        "str r1, [r0, #224]\n\t"
        "ldr r1, [r0, #220]\n\t"
        "vmsr fpscr, r1\n\t"
        "add r2, r0, #20\n\t"
        "mov r1, #0\n"
        "4:\n\t"
        "ldr r3, [sp, r1]\n\t"
        "str r3, [r2, r1]\n\t"
        "add r1, r1, #4\n\t"
        "cmp r1, #160\n\t"
        "bne 4b\n\t"
        "add sp, sp, #160\n\t"
        "vpop {d8-d15}\n\t"
        "pop {r3-r11, pc}\n\t"
        ".size abi_call_asm, . - abi_call_asm\n"
#if defined __thumb__
        ".thumb\n"
#endif
);

static uint32_t register_canary(int i) {
    return canary ^ (0x01010101u * (uint32_t)(i + 1));
}

static uint64_t vector_canary(int i) {
    return (uint64_t)register_canary(REGISTERS + i) << 32 | register_canary(2 * REGISTERS + i);
}

/* Lays out the arguments: an address takes one word, a 64-bit value two words, the first at an even place.
 * Returns the number of words. */
static int lay_out(uint32_t *out, const int64_t *words, int count, unsigned addresses) {
    int n = 0;

    for (int i = 0; i < count; i++) {
        if (!(addresses >> i & 1)) {
            n += n % 2;
            out[n + 1] = (uint32_t)((uint64_t)words[i] >> 32);
        }
        out[n] = (uint32_t)words[i];
        n += addresses >> i & 1 ? 1 : 2;
    }
    return n;
}

void abi_check_tiles(void) {
}

const char *abi_call(void (*function)(void), const int64_t *words, int count, unsigned addresses,
                     uint64_t scalar) {
    static const char *const names[REGISTERS] = {"r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11"};
    static const char *const vectors[VECTORS] = {"d8", "d9", "d10", "d11", "d12", "d13", "d14", "d15"};
    struct call call = {.function = function, .scalar = scalar};
    int used;

    for (int i = 0; i < 4 + STACK_WORDS; i++)
        call.words[i] = canary;
    used = lay_out(call.words, words, count, addresses);
    for (int i = 0; i < REGISTERS; i++)
        call.registers[i] = register_canary(i);
    for (int i = 0; i < VECTORS; i++)
        call.vectors[i] = vector_canary(i);
    abi_call_asm(&call);
    if (call.sp_after != call.sp)
        return "sp";
    for (int i = 0; i < REGISTERS; i++)
        if (call.registers[i] != register_canary(i))
            return names[i];
    for (int i = 0; i < VECTORS; i++)
        if (call.vectors[i] != vector_canary(i))
            return vectors[i];
    if ((call.fpscr ^ call.fpscr_after) &
        0x07ff9f00) /* the other bits are conditions and sticky exceptions */
        return "the modes of FPSCR";
    for (int i = used > 4 ? used : 4; i < 4 + STACK_WORDS; i++)
        if (call.words[i] != canary)
            return "the caller's stack";
    return NULL;
}
