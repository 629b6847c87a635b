/* The calling convention of x86-64 System V: rbx, rbp, r12 to r15, the direction flag, MXCSR, no upper halves in use. */
#include <cpuid.h>
#include <stddef.h>
#include <string.h>
#include "abi.h"

enum { REGISTERS = 6, STACK_WORDS = ABI_WORDS - 6, GUARD_WORDS = 8 };
static const int64_t canary = 0x5aa5c33c0ff01234;

/* The offsets are known to abi_call_asm. */
struct call {
    void (*function)(void);                   /* 0 */
    int64_t words[ABI_WORDS + GUARD_WORDS];   /* 8: arguments, then what lies above them on the stack */
    int64_t registers[REGISTERS];             /* 184: rbx rbp r12 r13 r14 r15 afterwards */
    int64_t flags;                            /* 232 */
    int64_t mxcsr;                            /* 240 */
    int64_t in_use;                           /* 248: in: can xgetbv(1) be asked; out: its answer */
    int64_t stack[STACK_WORDS + GUARD_WORDS]; /* 256: the stack afterwards */
    uint64_t scalar;                          /* 384: xmm0 */
};
_Static_assert(offsetof(struct call, registers) == 184 && offsetof(struct call, stack) == 256 &&
                   offsetof(struct call, scalar) == 384,
               "see abi_call_asm");

/* rbx .. r15 are 0x1111..., 0x2222..., up to 0x6666... during the call. Frame: 16 words of stack, then the
 * call's address; with 6 registers saved, rsp is a multiple of 16 at the call. */
void abi_call_asm(struct call *call);
__asm__(".text\n"
        ".globl abi_call_asm\n"
        ".hidden abi_call_asm\n"
        ".type abi_call_asm, @function\n"
        "abi_call_asm:\n\t"
        "push %rbx\n\tpush %rbp\n\tpush %r12\n\tpush %r13\n\tpush %r14\n\tpush %r15\n\t"
        "sub $136, %rsp\n\t"
        "mov %rdi, 128(%rsp)\n\t"
        "xor %eax, %eax\n"
        "1:\n\t"
        "mov 56(%rdi,%rax,8), %rcx\n\t"
        "mov %rcx, (%rsp,%rax,8)\n\t"
        "inc %eax\n\t"
        "cmp $16, %eax\n\t"
        "jne 1b\n\t"
        "cmpq $0, 248(%rdi)\n\t"
        "je 2f\n\t"
        "vzeroupper\n"
        "2:\n\t"
        "mov %rdi, %rax\n\t"
        "movsd 384(%rax), %xmm0\n\t"
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
        "mov 128(%rsp), %rdi\n\t"
        "mov %rbx, 184(%rdi)\n\t"
        "mov %rbp, 192(%rdi)\n\t"
        "mov %r12, 200(%rdi)\n\t"
        "mov %r13, 208(%rdi)\n\t"
        "mov %r14, 216(%rdi)\n\t"
        "mov %r15, 224(%rdi)\n\t"
        "pushfq\n\t"
        "popq 232(%rdi)\n\t"
        "cld\n\t"
        "stmxcsr 240(%rdi)\n\t"
        "cmpq $0, 248(%rdi)\n\t"
        "je 3f\n\t"
        "mov $1, %ecx\n\t"
        "xgetbv\n\t"
        "mov %eax, 248(%rdi)\n"
        "3:\n\t"
        "xor %eax, %eax\n"
        "4:\n\t"
        "mov (%rsp,%rax,8), %rcx\n\t"
        "mov %rcx, 256(%rdi,%rax,8)\n\t"
        "inc %eax\n\t"
        "cmp $16, %eax\n\t"
        "jne 4b\n\t"
        "add $136, %rsp\n\t"
        "pop %r15\n\tpop %r14\n\tpop %r13\n\tpop %r12\n\tpop %rbp\n\tpop %rbx\n\t"
        "ret\n\t"
        ".size abi_call_asm, . - abi_call_asm\n"
        ".section .note.GNU-stack,\"\",@progbits\n"
        ".text\n");

static void nothing(void) {
}

/* Bits 2 and 6 of xgetbv(1): the upper halves of ymm0-15 and of zmm0-15 hold something. */
enum { UPPER_HALVES = 0x44 };

/* Whether this CPU tells that (CPUID leaf 13) and this system lets vzeroupper clear it. */
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

const char *abi_call(void (*function)(void), const int64_t *words, int count, unsigned addresses,
                     uint64_t scalar) {
    static const char *const names[REGISTERS] = {"rbx", "rbp", "r12", "r13", "r14", "r15"};
    const unsigned before = __builtin_ia32_stmxcsr();
    struct call call = {.function = function, .in_use = knows_upper_halves(), .scalar = scalar};

    (void)addresses;
    for (int i = 0; i < ABI_WORDS + GUARD_WORDS; i++)
        call.words[i] = i < count ? words[i] : canary;
    abi_call_asm(&call);
    __builtin_ia32_ldmxcsr(before);
    for (int i = 0; i < REGISTERS; i++)
        if (call.registers[i] != 0x1111111111111111 * (i + 1))
            return names[i];
    if (call.flags & 0x400)
        return "the direction flag";
    if ((call.mxcsr ^ before) & 0xffc0) /* the low six bits are sticky exceptions */
        return "the control bits of MXCSR";
    for (int i = 0; i < STACK_WORDS + GUARD_WORDS; i++)
        if (i + 6 >= count && call.stack[i] != canary)
            return "the caller's stack";
    if (knows_upper_halves() && (call.in_use & UPPER_HALVES))
        return "the upper halves of vector registers (vzeroupper)";
    return NULL;
}
