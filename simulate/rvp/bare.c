/* SPDX-License-Identifier: Apache-2.0 */
#include "bare.h"
#include "decode.h"

/* Addresses of qemu's board "virt". */
#define UART ((volatile uint8_t *)0x10000000)
#define FINISHER ((volatile uint32_t *)0x100000)

void uk_rvp_trapped(uint64_t x[32]);

void uk_rvp_put(const char *text) {
    for (; *text; text++)
        *UART = (uint8_t)*text;
}

void uk_rvp_put_hex(uint64_t number) {
    int shift = 60;

    while (shift > 0 && !(number >> shift))
        shift -= 4;
    for (; shift >= 0; shift -= 4)
        *UART = (uint8_t)"0123456789abcdef"[number >> shift & 15];
}

_Noreturn void uk_rvp_exit(int status) {
    *FINISHER = status ? (uint32_t)status << 16 | 0x3333 : 0x5555;
    for (;;)
        __asm__ __volatile__("wfi");
}

/* Prints the trap and exits with 132, the status that a shell reports for SIGILL. */
static _Noreturn void uk_rvp_fail(uint64_t cause, uint64_t pc, uint64_t value) {
    uk_rvp_put("simulate/rvp: trap with cause ");
    uk_rvp_put_hex(cause);
    uk_rvp_put(" at 0x");
    uk_rvp_put_hex(pc);
    uk_rvp_put(cause == 2 ? ", the word 0x" : ", value 0x");
    uk_rvp_put_hex(value);
    uk_rvp_put(cause == 2 && uk_rvp_is_opcode((uint32_t)value)
                   ? " is no instruction of P 0.9.11 in ukernels/registry/rvp.def\n"
                   : "\n");
    uk_rvp_exit(132);
}

/* Called by uk_rvp_trap (bare.S), with the registers. */
void uk_rvp_trapped(uint64_t x[32]) {
    static uint64_t vxsat;
    uint64_t cause, pc, value;

    __asm__ __volatile__("csrr %0, mcause" : "=r"(cause));
    __asm__ __volatile__("csrr %0, mepc" : "=r"(pc));
    __asm__ __volatile__("csrr %0, mtval" : "=r"(value));
    if (cause != 2)
        uk_rvp_fail(cause, pc, value);

    const uint16_t *half = (const uint16_t *)pc;
    const uint32_t word = (half[0] & 3) == 3 ? half[0] | (uint32_t)half[1] << 16 : half[0];

    x[0] = 0;
    if (!uk_rvp_execute(word, x, &vxsat))
        uk_rvp_fail(cause, pc, word);
    __asm__ __volatile__("csrw mepc, %0" ::"r"(pc + 4));
}
