/* SPDX-License-Identifier: Apache-2.0 */
/*
 * P without an operating system: compares the emulation with the table's C. With -DUNKNOWN it executes a word
 * that is no instruction.
 */
#include "bare.h"
#include "registry/rvp.h"

static uint64_t by_p(uint64_t d, uint64_t a, uint64_t b) {
    for (unsigned n = 0; n < 1000; n++) {
        d = uk_rvp_smaqa_su(d, a + n, b ^ d);
        a = uk_rvp_kadd32(a, d);
        b = uk_rvp_srai32_u(uk_rvp_pkbt16(b, a), 3);
    }
    return d ^ a ^ b;
}

static uint64_t by_c(uint64_t d, uint64_t a, uint64_t b, uint64_t *ov) {
    for (unsigned n = 0; n < 1000; n++) {
        d = uk_rvp_c_smaqa_su(d, a + n, b ^ d, ov);
        a = uk_rvp_c_kadd32(0, a, d, ov);
        b = uk_rvp_c_srai32_u(0, uk_rvp_c_pkbt16(0, b, a, ov), 3, ov);
    }
    return d ^ a ^ b;
}

int main(void) {
    const uint64_t a = UINT64_C(0x8182838405060708), b = UINT64_C(0xfffefdfc12345678);
    static volatile uint64_t zero;
    uint64_t ov = 0, vxsat;

#ifdef UNKNOWN
    __asm__ __volatile__(".balign 4\n.4byte 0x40b57577");
#endif
    const uint64_t p = by_p(zero, a, b), c = by_c(zero, a, b, &ov);

    __asm__ __volatile__("csrr %0, 0x009" : "=r"(vxsat));
    /* sp as operand, and as result. */
    uint64_t sp, from;

    __asm__ __volatile__(
        "mv %0, sp\n.balign 4\n.insn r 0x77, 2, 0x20, %1, sp, zero\n.insn r 0x77, 2, 0x20, sp, sp, zero"
        : "=&r"(sp), "=&r"(from));
    if (from != sp)
        return 4;
    uk_rvp_put_hex(p);
    uk_rvp_put(" ");
    uk_rvp_put_hex(vxsat);
    uk_rvp_put("\n");
    return p == c && vxsat == ov && ov ? 0 : 3;
}
