/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that break the contract in assembly: AArch64. Included by broken_kernels.c. */
static void needs_alignment(PARAMETERS) {
    int64_t sink;

    if (k > 0)
        __asm__ volatile("ldaxr %0, [%1]\n\tclrex" : "=r"(sink) : "r"(b) : "memory");
    good(ARGUMENTS);
}

/* A kernel that does damage which C cannot express, then jumps to the good kernel. */
#define ASM_KERNEL(name, damage) \
    void name(PARAMETERS);       \
    __asm__(".text\n.type " #name ", %function\n" #name ":\n\t" damage "\n\tb good\n");
#define CLOBBERS_X(n) ASM_KERNEL(clobbers_x##n, "mov x" #n ", #0")
#define CLOBBERS_D(n) ASM_KERNEL(clobbers_d##n, "fmov d" #n ", xzr")
/* clang-format off */
CLOBBERS_X(19) CLOBBERS_X(20) CLOBBERS_X(21) CLOBBERS_X(22) CLOBBERS_X(23) CLOBBERS_X(24)
CLOBBERS_X(25) CLOBBERS_X(26) CLOBBERS_X(27) CLOBBERS_X(28) CLOBBERS_X(29)
CLOBBERS_D(8) CLOBBERS_D(9) CLOBBERS_D(10) CLOBBERS_D(11)
CLOBBERS_D(12) CLOBBERS_D(13) CLOBBERS_D(14) CLOBBERS_D(15)
ASM_KERNEL(sets_flush_to_zero, "mrs x9, fpcr\n\torr x9, x9, #0x1000000\n\tmsr fpcr, x9")
ASM_KERNEL(writes_caller_stack, "str xzr, [sp]")
ASM_KERNEL(illegal_instruction, "udf #0")
    /* clang-format on */

    /* After the call, because the good kernel has its own frame. */
    void moves_sp(PARAMETERS);
__asm__(".text\n.type moves_sp, %function\nmoves_sp:\n\t"
        "stp x29, x30, [sp, #-16]!\n\tbl good\n\tldp x29, x30, [sp], #16\n\tsub sp, sp, #16\n\tret\n");

#define FINDS_X(n) {"clobbers_x" #n, clobbers_x##n, "does not preserve x" #n, NULL}
#define FINDS_D(n) {"clobbers_d" #n, clobbers_d##n, "does not preserve d" #n, NULL}

/* Rows of kernels[]. */
#define MACHINES_OWN                                                                                        \
    FINDS_X(19), FINDS_X(20), FINDS_X(21), FINDS_X(22), FINDS_X(23), FINDS_X(24), FINDS_X(25), FINDS_X(26), \
        FINDS_X(27), FINDS_X(28), FINDS_X(29), FINDS_D(8), FINDS_D(9), FINDS_D(10), FINDS_D(11),            \
        FINDS_D(12), FINDS_D(13), FINDS_D(14), FINDS_D(15),                                                 \
        {"sets_flush_to_zero", sets_flush_to_zero, "does not preserve FPCR", NULL},                         \
        {"moves_sp", moves_sp, "does not preserve sp", NULL},
