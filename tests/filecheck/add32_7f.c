/* SPDX-License-Identifier: Apache-2.0 */
/* Two words added by an instruction of RISC-V P with the opcode of its first drafts, which is data to an
 * assembler. */
#include <stdint.h>

void add32_7f(const int32_t *a, const int32_t *b, int32_t *c) {
    register uint64_t x __asm__("a4") = (uint32_t)a[0] | (uint64_t)(uint32_t)a[1] << 32;
    register uint64_t y __asm__("a5") = (uint32_t)b[0] | (uint64_t)(uint32_t)b[1] << 32;

    /* add32 a4, a4, a5 */
    __asm__(".balign 4\n\t.4byte 0x7f + (14 << 7) + (2 << 12) + (14 << 15) + (15 << 20) + (0x20 << 25)"
            : "+r"(x)
            : "r"(y));
    c[0] = (int32_t)x;
    c[1] = (int32_t)(x >> 32);
}
