/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the calling convention of RISC-V (LP64D): s0 to s11, fs0 to fs11, sp, gp, tp and the rounding mode
 * in fcsr are preserved. The flags in fcsr, and vxsat (P), are not.
 */
#define _GNU_SOURCE
#include <stddef.h>
#include <ucontext.h>
#include "abi.h"

enum {
    REGISTERS = 12,
    REALS = 12,
    ARGUMENTS = 8,
    GUARD_WORDS = 8,
    STACK_WORDS = ABI_VALUES - ARGUMENTS + GUARD_WORDS
};
static const int64_t canary = 0x5aa5c33c0ff01234;

struct special {
    int64_t sp, gp, tp, fcsr;
};

/* Comments begin with the offset of the field, which abi_call_asm uses. */
struct call {
    void (*function)(void);                 /* 0 */
    uint64_t scalars[ARGUMENTS];            /* 8: fa0 to fa7 */
    int64_t words[ARGUMENTS + STACK_WORDS]; /* 72: a0 to a7, then the stack */
    int64_t registers[REGISTERS];           /* 392: s0 to s11, before and afterwards */
    int64_t reals[REALS];                   /* 488: fs0 to fs11, before and afterwards */
    struct special before, after;           /* 584, 616 */
};
_Static_assert(offsetof(struct call, words) == 72 && offsetof(struct call, registers) == 392 &&
                   offsetof(struct call, reals) == 488 && offsetof(struct call, before) == 584 &&
                   offsetof(struct call, after) == 616 && STACK_WORDS == 32,
               "see abi_call_asm");

/* Finds the call even if sp and gp were not preserved. */
__attribute__((used)) static struct call *abi_call_now;

#define EACH(f) f(0) f(1) f(2) f(3) f(4) f(5) f(6) f(7) f(8) f(9) f(10) f(11)
#define SAVE(i) "sd s" #i ", 8*" #i "(sp)\n\tfsd fs" #i ", 96+8*" #i "(sp)\n\t"
#define RESTORE(i) "ld s" #i ", 8*" #i "(sp)\n\tfld fs" #i ", 96+8*" #i "(sp)\n\t"
#define SET(i) "ld s" #i ", 392+8*" #i "(a0)\n\tfld fs" #i ", 488+8*" #i "(a0)\n\t"
#define KEEP(i) "sd s" #i ", 392+8*" #i "(t0)\n\tfsd fs" #i ", 488+8*" #i "(t0)\n\t"
#define PASS(i) "fld fa" #i ", 8+8*" #i "(a0)\n\t"

/* Frame: s0 to s11, fs0 to fs11, ra (208 bytes), 32 words of stack; sp is a multiple of 16 at the call.
 * norelax: gp may be wrong after the call. */
void abi_call_asm(struct call *call);
/* clang-format off */
__asm__(
    ".text\n"
    ".option push\n"
    ".option norelax\n"
    ".globl abi_call_asm\n"
    ".hidden abi_call_asm\n"
    ".type abi_call_asm, %function\n"
    "abi_call_asm:\n\t"
    "addi sp, sp, -208\n\t"
    EACH(SAVE)
    "sd ra, 192(sp)\n\t"
    "lla t0, abi_call_now\n\tsd a0, 0(t0)\n\t"
    "addi sp, sp, -256\n\t"
    "frcsr t0\n\t"
    "sd sp, 584(a0)\n\tsd gp, 592(a0)\n\tsd tp, 600(a0)\n\tsd t0, 608(a0)\n\t"
    "addi t0, a0, 136\n\tmv t1, sp\n\taddi t2, sp, 256\n"
    "1:\n\t"
    "ld t3, 0(t0)\n\tsd t3, 0(t1)\n\taddi t0, t0, 8\n\taddi t1, t1, 8\n\tbne t1, t2, 1b\n\t"
    EACH(SET)
    PASS(0) PASS(1) PASS(2) PASS(3) PASS(4) PASS(5) PASS(6) PASS(7)
    "ld t1, 0(a0)\n\t"
    "ld a1, 80(a0)\n\tld a2, 88(a0)\n\tld a3, 96(a0)\n\tld a4, 104(a0)\n\t"
    "ld a5, 112(a0)\n\tld a6, 120(a0)\n\tld a7, 128(a0)\n\tld a0, 72(a0)\n\t"
    "jalr t1\n\t"
    "lla t0, abi_call_now\n\tld t0, 0(t0)\n\t"
    EACH(KEEP)
    "frcsr t1\n\t"
    "sd sp, 616(t0)\n\tsd gp, 624(t0)\n\tsd tp, 632(t0)\n\tsd t1, 640(t0)\n\t"
    "ld sp, 584(t0)\n\tld gp, 592(t0)\n\tld tp, 600(t0)\n\tld t1, 608(t0)\n\tfscsr t1\n\t"
    "addi t0, t0, 136\n\tmv t1, sp\n\taddi t2, sp, 256\n"
    "2:\n\t"
    "ld t3, 0(t1)\n\tsd t3, 0(t0)\n\taddi t0, t0, 8\n\taddi t1, t1, 8\n\tbne t1, t2, 2b\n\t"
    "addi sp, sp, 256\n\t"
    EACH(RESTORE)
    "ld ra, 192(sp)\n\taddi sp, sp, 208\n\t"
    "ret\n\t"
    ".size abi_call_asm, . - abi_call_asm\n"
    ".option pop\n");
/* clang-format on */

static int64_t register_canary(int i) {
    return canary ^ (0x0101010101010101 * (i + 1));
}

static const char *changed(const struct special *before, const struct special *after) {
    return after->sp != before->sp                 ? "sp"
           : after->gp != before->gp               ? "gp"
           : after->tp != before->tp               ? "tp"
           : (after->fcsr ^ before->fcsr) >> 5 & 7 ? "fcsr"
                                                   : NULL;
}

/* Makes the call; words from `words` on become canaries. */
static const char *check_call(struct call *call, int words) {
    static const char *const names[REGISTERS + REALS] = {
        "s0",  "s1",  "s2",  "s3",  "s4",  "s5",  "s6",  "s7",  "s8",  "s9",  "s10",  "s11",
        "fs0", "fs1", "fs2", "fs3", "fs4", "fs5", "fs6", "fs7", "fs8", "fs9", "fs10", "fs11"};

    for (int i = words; i < ARGUMENTS + STACK_WORDS; i++)
        call->words[i] = canary;
    for (int i = 0; i < REGISTERS + REALS; i++)
        (i < REGISTERS ? call->registers + i : call->reals + (i - REGISTERS))[0] = register_canary(i);
    abi_call_asm(call);

    const char *const special = changed(&call->before, &call->after);

    for (int i = 0; i < REGISTERS + REALS && !special; i++)
        if ((i < REGISTERS ? call->registers[i] : call->reals[i - REGISTERS]) != register_canary(i))
            return names[i];
    for (int i = words > ARGUMENTS ? words : ARGUMENTS; i < ARGUMENTS + STACK_WORDS && !special; i++)
        if (call->words[i] != canary)
            return "the caller's stack";
    return special;
}

void abi_check_tiles(void) {
}

const char *abi_call(void (*function)(void), const int64_t *words, int count, unsigned addresses,
                     uint64_t scalar) {
    /* A float is NaN-boxed: its upper half is all ones. No double that is passed here has an upper half of
     * 0. */
    struct call call = {.function = function, .scalars = {scalar >> 32 ? scalar : scalar | UINT64_MAX << 32}};

    (void)addresses;
    for (int i = 0; i < count; i++)
        call.words[i] = words[i];
    return check_call(&call, count);
}

/* Passes floats in fa0 to fa7, the other floats and all integers in a0 to a7 and then on the stack. 32-bit
 * integers are sign-extended. */
const char *abi_call_values(void (*function)(void), const struct abi_value *value, int count) {
    struct call call = {.function = function};
    int words = 0, scalars = 0;

    for (int i = 0; i < count; i++) {
        const struct abi_value *v = &value[i];

        if (v->is_real && scalars < ARGUMENTS)
            call.scalars[scalars++] = v->is_short ? (uint32_t)v->bits | UINT64_MAX << 32 : v->bits;
        else
            call.words[words++] = v->is_short ? (int32_t)v->bits : (int64_t)v->bits;
    }
    return check_call(&call, words);
}

bool abi_is_write(const void *context) {
    const ucontext_t *u = context;
    const uint16_t *pc = (const uint16_t *)u->uc_mcontext.__gregs[REG_PC];
    const unsigned low = *pc & 3, kind = *pc >> 13, opcode = *pc & 0x7f;

    /* 16-bit instructions: c.fsd, c.sw, c.sd, and their forms relative to sp. 32-bit instructions: stores,
     * also of F registers, and atomic operations. */
    return low != 3 ? (low == 0 || low == 2) && kind >= 5
                    : opcode == 0x23 || opcode == 0x27 || opcode == 0x2f;
}
