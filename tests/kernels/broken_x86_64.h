/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that break the contract in assembly: x86-64. Included by broken_kernels.c. */
#include <immintrin.h>

static void needs_alignment(PARAMETERS) {
    if (k > 0)
        use(_mm_cvtss_f32(*(const volatile __m128 *)b));
    good(ARGUMENTS);
}

/* A kernel that does damage which C cannot express, then jumps to the good kernel. */
#define ASM_KERNEL(name, damage) \
    void name(PARAMETERS);       \
    __asm__(".text\n.type " #name ", @function\n" #name ":\n\t" damage "\n\tjmp good\n");
ASM_KERNEL(clobbers_rbx, "xor %ebx, %ebx")
ASM_KERNEL(clobbers_r15, "xor %r15d, %r15d")
ASM_KERNEL(sets_flush_to_zero, "push $0x9fc0\n\tldmxcsr (%rsp)\n\tpop %rax")
ASM_KERNEL(sets_x87_rounding, "fnstcw -8(%rsp)\n\torw $0xc00, -8(%rsp)\n\tfldcw -8(%rsp)")
ASM_KERNEL(leaves_mmx, "pxor %mm0, %mm0")
ASM_KERNEL(writes_caller_stack, "movq $0, 24(%rsp)")
ASM_KERNEL(illegal_instruction, "ud2")

/* After the call, because the good kernel needs the flag clear. It takes two arguments on the stack. */
void leaves_direction(PARAMETERS);
__asm__(".text\n.type leaves_direction, @function\nleaves_direction:\n\t"
        "sub $8, %rsp\n\tpush 24(%rsp)\n\tpush 24(%rsp)\n\tcall good\n\tadd $24, %rsp\n\tstd\n\tret\n");

static bool has_avx(void) {
    return __builtin_cpu_supports("avx");
}
void leaves_upper_halves(PARAMETERS);
__asm__(".text\n.type leaves_upper_halves, @function\nleaves_upper_halves:\n\t"
        "sub $8, %rsp\n\tpush 24(%rsp)\n\tpush 24(%rsp)\n\tcall good\n\tadd $24, %rsp\n\t"
        "vxorps %xmm0, %xmm0, %xmm0\n\tvcmpeqps %ymm0, %ymm0, %ymm15\n\tret\n");

/* Rows of kernels[]. */
#define MACHINES_OWN                                                                   \
    {"clobbers_rbx", clobbers_rbx, "does not preserve rbx", NULL},                     \
        {"clobbers_r15", clobbers_r15, "does not preserve r15", NULL},                 \
        {"sets_flush_to_zero", sets_flush_to_zero, "MXCSR", NULL},                     \
        {"sets_x87_rounding", sets_x87_rounding, "the control word of the x87", NULL}, \
        {"leaves_mmx", leaves_mmx, "the empty stack of the x87", NULL},                \
        {"leaves_direction", leaves_direction, "the direction flag", NULL},            \
        {"leaves_upper_halves", leaves_upper_halves, "vzeroupper", has_avx},
