/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the calling convention of x86-64 System V. A callee preserves rbx, rbp, r12 to r15, the direction
 * flag, the control bits of MXCSR, the control word and the empty stack of the x87, and the caller's stack
 * above the arguments; it leaves no upper halves of vector registers in use.
 */
#define _GNU_SOURCE /* REG_ERR */
#include <cpuid.h>
#include <stddef.h>
#include <string.h>
#include <ucontext.h>
#include "abi.h"

enum { REGISTERS = 6, INTEGERS = 6, VECTORS = 8, STACK_WORDS = 64, GUARD_WORDS = 32 };
_Static_assert(ABI_VALUES + GUARD_WORDS <= STACK_WORDS, "see struct call");
static const int64_t canary = 0x5aa5c33c0ff01234;

/* The result of fnstenv, without the addresses at its end. */
struct x87 {
    uint32_t control, status, tag, rest[4];
};

/* Comments begin with the offset of the field, which abi_call_asm uses. */
struct call {
    void (*function)(void);       /* 0 */
    int64_t integers[INTEGERS];   /* 8: rdi rsi rdx rcx r8 r9 */
    int64_t vectors[VECTORS];     /* 56: the low halves of xmm0 to xmm7 */
    int64_t stack[STACK_WORDS];   /* arguments, then canaries; afterwards the contents of the stack */
    int64_t registers[REGISTERS]; /* 632: rbx rbp r12 r13 r14 r15 afterwards */
    int64_t flags;                /* 680 */
    int64_t mxcsr;                /* 688 */
    int64_t in_use;               /* before: xgetbv(1) exists; afterwards: its result */
    int64_t control;              /* of the x87, before the call */
    struct x87 x87;               /* 712 */
};
_Static_assert(offsetof(struct call, stack) == 120 && offsetof(struct call, registers) == 632 &&
                   offsetof(struct call, x87) == 712,
               "see abi_call_asm");

/* During the call rbx .. r15 are 0x1111..., 0x2222..., up to 0x6666... Frame: 64 words of stack, then the
 * address of the call; with 6 registers saved, rsp is a multiple of 16 at the call. */
void abi_call_asm(struct call *call);
__asm__(
    ".text\n"
    ".globl abi_call_asm\n"
    ".hidden abi_call_asm\n"
    ".type abi_call_asm, @function\n"
    "abi_call_asm:\n\t"
    "push %rbx\n\tpush %rbp\n\tpush %r12\n\tpush %r13\n\tpush %r14\n\tpush %r15\n\t"
    "sub $520, %rsp\n\t"
    "mov %rdi, 512(%rsp)\n\t"
    "fnstcw 704(%rdi)\n\t"
    "xor %eax, %eax\n"
    "1:\n\t"
    "mov 120(%rdi,%rax,8), %rcx\n\t"
    "mov %rcx, (%rsp,%rax,8)\n\t"
    "inc %eax\n\t"
    "cmp $64, %eax\n\t"
    "jne 1b\n\t"
    "cmpq $0, 696(%rdi)\n\t"
    "je 2f\n\t"
    "vzeroupper\n"
    "2:\n\t"
    "mov %rdi, %rax\n\t"
    "movsd 56(%rax), %xmm0\n\tmovsd 64(%rax), %xmm1\n\tmovsd 72(%rax), %xmm2\n\tmovsd 80(%rax), %xmm3\n\t"
    "movsd 88(%rax), %xmm4\n\tmovsd 96(%rax), %xmm5\n\tmovsd 104(%rax), %xmm6\n\tmovsd 112(%rax), %xmm7\n\t"
    "mov 8(%rax), %rdi\n\t"
    "mov 16(%rax), %rsi\n\t"
    "mov 24(%rax), %rdx\n\t"
    "mov 32(%rax), %rcx\n\t"
    "mov 40(%rax), %r8\n\t"
    "mov 48(%rax), %r9\n\t"
    "movabs $0x1111111111111111, %rbx\n\t"
    "movabs $0x2222222222222222, %rbp\n\t"
    "movabs $0x3333333333333333, %r12\n\t"
    "movabs $0x4444444444444444, %r13\n\t"
    "movabs $0x5555555555555555, %r14\n\t"
    "movabs $0x6666666666666666, %r15\n\t"
    "cld\n\t"
    "call *(%rax)\n\t"
    "mov 512(%rsp), %rdi\n\t"
    "mov %rbx, 632(%rdi)\n\t"
    "mov %rbp, 640(%rdi)\n\t"
    "mov %r12, 648(%rdi)\n\t"
    "mov %r13, 656(%rdi)\n\t"
    "mov %r14, 664(%rdi)\n\t"
    "mov %r15, 672(%rdi)\n\t"
    "pushfq\n\t"
    "popq 680(%rdi)\n\t"
    "cld\n\t"
    "stmxcsr 688(%rdi)\n\t"
    "fnstenv 712(%rdi)\n\t"
    "fninit\n\t"
    "fldcw 704(%rdi)\n\t"
    "cmpq $0, 696(%rdi)\n\t"
    "je 3f\n\t"
    "mov $1, %ecx\n\t"
    "xgetbv\n\t"
    "mov %eax, 696(%rdi)\n"
    "3:\n\t"
    "xor %eax, %eax\n"
    "4:\n\t"
    "mov (%rsp,%rax,8), %rcx\n\t"
    "mov %rcx, 120(%rdi,%rax,8)\n\t"
    "inc %eax\n\t"
    "cmp $64, %eax\n\t"
    "jne 4b\n\t"
    "add $520, %rsp\n\t"
    "pop %r15\n\tpop %r14\n\tpop %r13\n\tpop %r12\n\tpop %rbp\n\tpop %rbx\n\t"
    "ret\n\t"
    ".size abi_call_asm, . - abi_call_asm\n"
    ".section .note.GNU-stack,\"\",@progbits\n"
    ".text\n");

static void nothing(void) {
}

/* Bits 2 and 6 of xgetbv(1): the upper halves of ymm0-15 and of zmm0-15 may be other than 0. The bits are
 * set, too, after an instruction that loads a wide vector whose upper half is 0, for which compilers emit no
 * vzeroupper. */
enum { UPPER_HALVES = 0x44, UPPER_OF_ZMM = 0x40, ZMM = 64, XMM = 16, UPPER_REGISTERS = 16 };

#define STORE(r, bytes, n) "vmovups %%" r #n ", " #bytes "*" #n "(%0)\n\t"
/* clang-format off */
#define STORE_ALL(r, bytes) \
    STORE(r, bytes, 0) STORE(r, bytes, 1) STORE(r, bytes, 2) STORE(r, bytes, 3) \
    STORE(r, bytes, 4) STORE(r, bytes, 5) STORE(r, bytes, 6) STORE(r, bytes, 7) \
    STORE(r, bytes, 8) STORE(r, bytes, 9) STORE(r, bytes, 10) STORE(r, bytes, 11) \
    STORE(r, bytes, 12) STORE(r, bytes, 13) STORE(r, bytes, 14) STORE(r, bytes, 15) \
    "vzeroupper"
/* clang-format on */

/* True if an upper half is not 0. To be called directly after abi_call_asm, whose registers these still
 * are. */
static bool upper_halves_hold(int64_t in_use) {
    unsigned char registers[UPPER_REGISTERS * ZMM];
    const int bytes = in_use & UPPER_OF_ZMM ? ZMM : ZMM / 2;

    if (!(in_use & UPPER_HALVES))
        return false;
    if (in_use & UPPER_OF_ZMM)
        __asm__ volatile(STORE_ALL("zmm", 64)::"r"(registers) : "memory");
    else
        __asm__ volatile(STORE_ALL("ymm", 32)::"r"(registers) : "memory");
    for (int i = 0; i < UPPER_REGISTERS * bytes; i++)
        if (i % bytes >= XMM && registers[i])
            return true;
    return false;
}

/* True if this CPU reports upper halves (CPUID leaf 13) and vzeroupper clears the bits on this system. */
static int64_t knows_upper_halves(void) {
    static int64_t known = -1;
    unsigned a, b, c, d;

    if (known < 0) {
        struct call call = {.function = nothing, .in_use = 1};

        known = __builtin_cpu_supports("avx") && __get_cpuid_count(13, 1, &a, &b, &c, &d) && (a & 4);
        if (known) {
            abi_call_asm(&call);
            known = !(call.in_use & UPPER_HALVES);
        }
    }
    return known;
}

/* Lays out the arguments: integers and addresses in rdi to r9, floats in xmm0 to xmm7, the rest on the stack.
 * Returns the number of words on the stack. */
static int lay_out(struct call *call, const struct abi_value *value, int count) {
    int integers = 0, vectors = 0, words = 0;

    for (int i = 0; i < INTEGERS; i++)
        call->integers[i] = canary;
    for (int i = 0; i < VECTORS; i++)
        call->vectors[i] = canary;
    for (int i = 0; i < STACK_WORDS; i++)
        call->stack[i] = canary;
    for (int i = 0; i < count; i++) {
        int64_t bits;

        memcpy(&bits, &value[i].bits, sizeof bits);
        if (value[i].is_real ? vectors < VECTORS : integers < INTEGERS)
            *(value[i].is_real ? &call->vectors[vectors++] : &call->integers[integers++]) = bits;
        else
            call->stack[words++] = bits;
    }
    return words;
}

static bool checks_tiles;

void abi_check_tiles(void) {
    checks_tiles = true;
}

enum { TILE_BYTES = 64 };

static void store_tiles(unsigned char to[TILE_BYTES]) {
    if (checks_tiles)
        __asm__ volatile("sttilecfg (%0)" ::"r"(to) : "memory");
}

const char *abi_call_values(void (*function)(void), const struct abi_value *value, int count) {
    static const char *const names[REGISTERS] = {"rbx", "rbp", "r12", "r13", "r14", "r15"};
    const unsigned before = __builtin_ia32_stmxcsr();
    struct call call = {.function = function, .in_use = knows_upper_halves()};
    const int words = lay_out(&call, value, count);
    unsigned char tiles[2][TILE_BYTES] = {{0}};

    store_tiles(tiles[0]);
    abi_call_asm(&call);
    const bool upper_halves = knows_upper_halves() && upper_halves_hold(call.in_use);
    __builtin_ia32_ldmxcsr(before);
    for (int i = 0; i < REGISTERS; i++)
        if (call.registers[i] != 0x1111111111111111 * (i + 1))
            return names[i];
    if (call.flags & 0x400)
        return "the direction flag";
    if ((call.mxcsr ^ before) & 0xffc0) /* the low six bits are sticky exceptions */
        return "the control bits of MXCSR";
    if ((call.x87.control ^ (uint64_t)call.control) & 0xf3f) /* precision, rounding, exceptions */
        return "the control word of the x87";
    if ((call.x87.tag & 0xffff) != 0xffff)
        return "the empty stack of the x87 (emms)";
    for (int i = words; i < STACK_WORDS; i++)
        if (call.stack[i] != canary)
            return "the caller's stack";
    store_tiles(tiles[1]);
    if (memcmp(tiles[0], tiles[1], TILE_BYTES))
        return "the configuration of matrix tiles";
    if (upper_halves)
        return "the upper halves of vector registers (vzeroupper)";
    return NULL;
}

const char *abi_call(void (*function)(void), const int64_t *words, int count, unsigned addresses,
                     uint64_t scalar) {
    struct abi_value value[ABI_WORDS + 1] = {{.is_real = true, .bits = scalar}};

    (void)addresses;
    for (int i = 0; i < count; i++)
        value[i + 1].bits = (uint64_t)words[i];
    return abi_call_values(function, value, count + 1);
}

bool abi_is_write(const void *context) {
    const ucontext_t *u = context;

    return u->uc_mcontext.gregs[REG_ERR] & 2;
}
