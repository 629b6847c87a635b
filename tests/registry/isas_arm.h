/* SPDX-License-Identifier: Apache-2.0 */
/* Values of UK_ISA on ARM: all names; two instruction sets, and whether this CPU has them. */
#include <asm/hwcap.h>
#include <sys/auxv.h>

static const char known[] = "generic, armv7neon";
static struct isa low(void) {
    return (struct isa){"generic", "", true, NULL};
}
static struct isa high(void) {
    return (struct isa){"armv7neon", "vfp4", getauxval(AT_HWCAP) & HWCAP_VFPv4, NULL};
}
