/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of UK_ISA on RISC-V: all names; two instruction sets, and whether this CPU has them. Linux does not
 * report P: the library uses it if UK_ISA names it, or if it was built for it.
 */
static const char known[] = "generic, rv64gc, rvp";
static struct isa low(void) {
    return (struct isa){"rv64gc", "d", true, NULL};
}
#ifdef UK_CPU_HAS
#define UNSET "0 1 1 rvp is used because the library was built for it; the system does not report it"
static struct isa high(void) {
    return (struct isa){"rvp", "rvp", true, strchr(UNSET, 'r')};
}
#else
#define UNSET "0 1 0 rvp is not used, as the system does not report it; UK_ISA=rvp uses it"
static struct isa high(void) {
    return (struct isa){"rvp", "rvp", true,
                        "rvp is used because UK_ISA says so; the system does not report it"};
}
#endif
