/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that break the contract in assembly: 32-bit ARM. Included by broken_kernels.c. */
static void needs_alignment(PARAMETERS) {
    int64_t sink;

    if (k > 0)
        __asm__ volatile("ldrexd %Q0, %R0, [%1]\n\tclrex" : "=r"(sink) : "r"(b) : "memory");
    good(ARGUMENTS);
}

/* A kernel that does damage which C cannot express, then jumps to the good kernel. */
#define ASM_KERNEL(name, damage) \
    void name(PARAMETERS);       \
    __asm__(".text\n.arm\n.balign 4\n.type " #name ", %function\n" #name ":\n\t" damage "\n\tb good\n");
#define CLOBBERS_R(n) ASM_KERNEL(clobbers_r##n, "mov r" #n ", #0")
#define CLOBBERS_D(n) ASM_KERNEL(clobbers_d##n, "vmov d" #n ", lr, lr")
/* clang-format off */
CLOBBERS_R(4) CLOBBERS_R(5) CLOBBERS_R(6) CLOBBERS_R(7) CLOBBERS_R(8) CLOBBERS_R(9) CLOBBERS_R(10) CLOBBERS_R(11)
CLOBBERS_D(8) CLOBBERS_D(9) CLOBBERS_D(10) CLOBBERS_D(11) CLOBBERS_D(12) CLOBBERS_D(13) CLOBBERS_D(14) CLOBBERS_D(15)
ASM_KERNEL(sets_flush_to_zero, "vmrs ip, fpscr\n\torr ip, ip, #0x1000000\n\tvmsr fpscr, ip")
ASM_KERNEL(writes_caller_stack, "mov ip, #0\n\tstr ip, [sp, #40]")
ASM_KERNEL(illegal_instruction, "udf #0")
    /* clang-format on */

    /* After the call, because the good kernel has its own frame. It takes ten words on the stack. */
    void moves_sp(PARAMETERS);
__asm__(".text\n.arm\n.balign 4\n.type moves_sp, %function\nmoves_sp:\n\t"
        "push {r4, lr}\n\tsub sp, sp, #40\n\tmov r4, #0\n"
        "1:\n\tadd ip, sp, r4\n\tldr ip, [ip, #48]\n\tstr ip, [sp, r4]\n\tadd r4, r4, #4\n\tcmp r4, "
        "#40\n\tbne 1b\n\tbl good\n\tadd sp, sp, #40\n\tpop {r4, lr}\n\tsub sp, sp, #8\n\tbx lr\n");

#define FINDS_R(n) {"clobbers_r" #n, clobbers_r##n, "does not preserve r" #n, NULL}
#define FINDS_D(n) {"clobbers_d" #n, clobbers_d##n, "does not preserve d" #n, NULL}

/* Rows of kernels[]. */
#define MACHINES_OWN                                                                                  \
    FINDS_R(4), FINDS_R(5), FINDS_R(6), FINDS_R(7), FINDS_R(8), FINDS_R(9), FINDS_R(10), FINDS_R(11), \
        FINDS_D(8), FINDS_D(9), FINDS_D(10), FINDS_D(11), FINDS_D(12), FINDS_D(13), FINDS_D(14),      \
        FINDS_D(15),                                                                                  \
        {"sets_flush_to_zero", sets_flush_to_zero, "does not preserve the modes of FPSCR", NULL},     \
        {"moves_sp", moves_sp, "does not preserve sp", NULL},
