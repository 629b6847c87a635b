/* SPDX-License-Identifier: Apache-2.0 */
/* Values of UK_ISA on AArch64: all names; two instruction sets, and whether this CPU has them. */
#include <asm/hwcap.h>
#include <sys/auxv.h>

static const char known[] = "generic, neon, f16, dotprod, i8mm, bf16";
static struct isa low(void) {
    return (struct isa){"neon", "neon", getauxval(AT_HWCAP) & HWCAP_ASIMD, NULL};
}
static struct isa high(void) {
    return (struct isa){"dotprod", "dotprod", getauxval(AT_HWCAP) & HWCAP_ASIMDDP, NULL};
}
