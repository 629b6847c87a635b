/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that break the contract in assembly: RISC-V. Included by broken_kernels.c. */
static void needs_alignment(PARAMETERS) {
    int64_t sink;

    if (k > 0)
        __asm__ volatile("lr.d %0, (%1)" : "=r"(sink) : "r"(b) : "memory");
    good(ARGUMENTS);
}

/* A kernel that does damage which C cannot express, then jumps to the good kernel. */
#define ASM_KERNEL(name, damage) \
    void name(PARAMETERS);       \
    __asm__(".text\n.type " #name ", %function\n" #name ":\n\t" damage "\n\ttail good\n");
#define EACH(f) f(0) f(1) f(2) f(3) f(4) f(5) f(6) f(7) f(8) f(9) f(10) f(11)
#define CLOBBERS_S(n) ASM_KERNEL(clobbers_s##n, "li s" #n ", 0")
#define CLOBBERS_FS(n) ASM_KERNEL(clobbers_fs##n, "fmv.d.x fs" #n ", zero")
EACH(CLOBBERS_S)
EACH(CLOBBERS_FS)
ASM_KERNEL(rounds_down, "fsrmi 2")
ASM_KERNEL(writes_caller_stack, "sd zero, 0(sp)")
ASM_KERNEL(illegal_instruction, "unimp")

/* Damage after the call, because the good kernel has its own frame and needs gp and tp. */
#define ASM_KERNEL_AFTER(name, damage)                                                                    \
    void name(PARAMETERS);                                                                                \
    __asm__(".text\n.type " #name ", %function\n" #name ":\n\t"                                           \
            "addi sp, sp, -16\n\tsd ra, 0(sp)\n\tcall good\n\tld ra, 0(sp)\n\taddi sp, sp, 16\n\t" damage \
            "\n\tret\n");
ASM_KERNEL_AFTER(moves_sp, "addi sp, sp, -16")
ASM_KERNEL_AFTER(moves_gp, "addi gp, gp, 16")
ASM_KERNEL_AFTER(moves_tp, "addi tp, tp, 16")

#define FINDS_S(n) {"clobbers_s" #n, clobbers_s##n, "does not preserve s" #n, NULL},
#define FINDS_FS(n) {"clobbers_fs" #n, clobbers_fs##n, "does not preserve fs" #n, NULL},

/* Rows of kernels[]. */
#define MACHINES_OWN                                                            \
    EACH(FINDS_S)                                                               \
    EACH(FINDS_FS){"rounds_down", rounds_down, "does not preserve fcsr", NULL}, \
        {"moves_sp", moves_sp, "does not preserve sp", NULL},                   \
        {"moves_gp", moves_gp, "does not preserve gp", NULL},                   \
        {"moves_tp", moves_tp, "does not preserve tp", NULL},
