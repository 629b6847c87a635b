/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RISC-V P 0.9.11 for programs without an operating system, in machine mode, as qemu-system-riscv64 -M virt
 * -bios none runs them: their entry, and the trap that emulates a word of P (bare.c). Link with bare.ld.
 */
    .section .text.start, "ax"
    .globl _start
    .type _start, @function
_start:
    csrr t0, mhartid
    bnez t0, 2f
    .option push
    .option norelax
    la gp, __global_pointer$
    .option pop
    la sp, uk_rvp_stack_end
    la t0, uk_rvp_trap_stack_end
    csrw mscratch, t0
    la t0, uk_rvp_trap
    csrw mtvec, t0
    li t0, 0x6000 /* floating point on */
    csrs mstatus, t0
    la t0, uk_rvp_bss
    la t1, uk_rvp_bss_end
1:  bgeu t0, t1, 3f
    sd zero, 0(t0)
    addi t0, t0, 8
    j 1b
2:  wfi /* the other harts */
    j 2b
3:  call main
    call uk_rvp_exit
    .size _start, . - _start

/* Saves the registers into an array (element 2 is sp) on a stack of its own, whose end is in mscratch between
 * traps. */
    .text
    .balign 4
    .type uk_rvp_trap, @function
uk_rvp_trap:
    csrrw sp, mscratch, sp
    addi sp, sp, -256
    .irp r, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    sd x\r, 8 * \r(sp)
    .endr
    csrr t0, mscratch
    sd t0, 16(sp)
    mv a0, sp
    call uk_rvp_trapped
    ld t0, 16(sp)
    csrw mscratch, t0
    .irp r, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    ld x\r, 8 * \r(sp)
    .endr
    addi sp, sp, 256
    csrrw sp, mscratch, sp
    mret
    .size uk_rvp_trap, . - uk_rvp_trap

    .bss
    .balign 16
    .space 4096
uk_rvp_trap_stack_end:
    .space 65536
uk_rvp_stack_end:
