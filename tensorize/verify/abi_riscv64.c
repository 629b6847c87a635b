/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calling convention of RISC-V (LP64D): s0 to s11, fs0 to fs11, sp, gp, tp, the rounding mode in fcsr, whose flags are
 * anyone's. vxsat (P) is anyone's too.
 */
#include <stddef.h>
#include "abi.h"

enum { REGISTERS = 12, REALS = 12, GUARD_WORDS = 8, STACK_WORDS = ABI_WORDS - 8 + GUARD_WORDS };
static const int64_t canary = 0x5aa5c33c0ff01234;

struct special {
    int64_t sp, gp, tp, fcsr;
};

/* The offsets are known to abi_call_asm. */
struct call {
    void (*function)(void);         /* 0 */
    uint64_t scalar;                /* 8: fa0 */
    int64_t words[8 + STACK_WORDS]; /* 16: a0 to a7, then the stack */
    int64_t registers[REGISTERS];   /* 192: s0 to s11, before and afterwards */
    int64_t reals[REALS];           /* 288: fs0 to fs11, before and afterwards */
    struct special before, after;   /* 384, 416 */
};
_Static_assert(offsetof(struct call, registers) == 192 && offsetof(struct call, reals) == 288 &&
                   offsetof(struct call, before) == 384 && offsetof(struct call, after) == 416 &&
                   STACK_WORDS == 14,
               "see abi_call_asm");

/* Where the call is found again when even sp and gp are lost. */
__attribute__((used)) static struct call *abi_call_now;

#define EACH(f) f(0) f(1) f(2) f(3) f(4) f(5) f(6) f(7) f(8) f(9) f(10) f(11)
#define SAVE(i) "sd s" #i ", 8*" #i "(sp)\n\tfsd fs" #i ", 96+8*" #i "(sp)\n\t"
#define RESTORE(i) "ld s" #i ", 8*" #i "(sp)\n\tfld fs" #i ", 96+8*" #i "(sp)\n\t"
#define SET(i) "ld s" #i ", 192+8*" #i "(a0)\n\tfld fs" #i ", 288+8*" #i "(a0)\n\t"
#define KEEP(i) "sd s" #i ", 192+8*" #i "(t0)\n\tfsd fs" #i ", 288+8*" #i "(t0)\n\t"

/* Frame: s0 to s11, fs0 to fs11, ra (208 bytes), 14 words of stack; sp is a multiple of 16 at the call. norelax: gp may be
 * lost. */
void abi_call_asm(struct call *call);
__asm__(
    ".text\n"
    ".option push\n"
    ".option norelax\n"
    ".globl abi_call_asm\n"
    ".hidden abi_call_asm\n"
    ".type abi_call_asm, %function\n"
    "abi_call_asm:\n\t"
    "addi sp, sp, -208\n\t" EACH(
        SAVE) "sd ra, 192(sp)\n\t"
              "lla t0, abi_call_now\n\tsd a0, 0(t0)\n\t"
              "addi sp, sp, -112\n\t"
              "frcsr t0\n\t"
              "sd sp, 384(a0)\n\tsd gp, 392(a0)\n\tsd tp, 400(a0)\n\tsd t0, 408(a0)\n\t"
              "addi t0, a0, 80\n\tmv t1, sp\n\taddi t2, sp, 112\n"
              "1:\n\t"
              "ld t3, 0(t0)\n\tsd t3, 0(t1)\n\taddi t0, t0, 8\n\taddi t1, t1, 8\n\tbne t1, t2, 1b\n\t" EACH(
                  SET) "fld fa0, 8(a0)\n\t"
                       "ld t1, 0(a0)\n\t"
                       "ld a1, 24(a0)\n\tld a2, 32(a0)\n\tld a3, 40(a0)\n\tld a4, 48(a0)\n\t"
                       "ld a5, 56(a0)\n\tld a6, 64(a0)\n\tld a7, 72(a0)\n\tld a0, 16(a0)\n\t"
                       "jalr t1\n\t"
                       "lla t0, abi_call_now\n\tld t0, 0(t0)\n\t" EACH(
                           KEEP) "frcsr t1\n\t"
                                 "sd sp, 416(t0)\n\tsd gp, 424(t0)\n\tsd tp, 432(t0)\n\tsd t1, 440(t0)\n\t"
                                 "ld sp, 384(t0)\n\tld gp, 392(t0)\n\tld tp, 400(t0)\n\tld t1, "
                                 "408(t0)\n\tfscsr t1\n\t"
                                 "addi t0, t0, 80\n\tmv t1, sp\n\taddi t2, sp, 112\n"
                                 "2:\n\t"
                                 "ld t3, 0(t1)\n\tsd t3, 0(t0)\n\taddi t0, t0, 8\n\taddi t1, t1, 8\n\tbne "
                                 "t1, t2, 2b\n\t"
                                 "addi sp, sp, 112\n\t" EACH(RESTORE) "ld ra, 192(sp)\n\taddi sp, sp, 208\n\t"
                                                                      "ret\n\t"
                                                                      ".size abi_call_asm, . - abi_call_asm\n"
                                                                      ".option pop\n");

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

const char *abi_call(void (*function)(void), const int64_t *words, int count, unsigned addresses,
                     uint64_t scalar) {
    static const char *const names[REGISTERS + REALS] = {
        "s0",  "s1",  "s2",  "s3",  "s4",  "s5",  "s6",  "s7",  "s8",  "s9",  "s10",  "s11",
        "fs0", "fs1", "fs2", "fs3", "fs4", "fs5", "fs6", "fs7", "fs8", "fs9", "fs10", "fs11"};
    /* A float is one where the upper half is all ones; no double that is passed here has one of zeros. */
    struct call call = {.function = function, .scalar = scalar >> 32 ? scalar : scalar | UINT64_MAX << 32};

    (void)addresses;
    for (int i = 0; i < 8 + STACK_WORDS; i++)
        call.words[i] = i < count ? words[i] : canary;
    for (int i = 0; i < REGISTERS + REALS; i++)
        (i < REGISTERS ? call.registers + i : call.reals + (i - REGISTERS))[0] = register_canary(i);
    abi_call_asm(&call);

    const char *const special = changed(&call.before, &call.after);

    for (int i = 0; i < REGISTERS + REALS && !special; i++)
        if ((i < REGISTERS ? call.registers[i] : call.reals[i - REGISTERS]) != register_canary(i))
            return names[i];
    for (int i = count > 8 ? count : 8; i < 8 + STACK_WORDS && !special; i++)
        if (call.words[i] != canary)
            return "the caller's stack";
    return special;
}
