/* SPDX-License-Identifier: Apache-2.0 */
/* Values of UK_ISA on x86-64: all names; two instruction sets, and whether this CPU has them. */
static const char known[] =
    "generic, avx2, avxvnni, avx512, avx512vnni, avx512bf16, avx512fp16, amxint8, amxbf16";
static struct isa low(void) {
    return (struct isa){"avx2", "avx2", __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"),
                        NULL};
}
static struct isa high(void) {
    return (struct isa){"avx512", "avx512f", __builtin_cpu_supports("avx512bw"), NULL};
}
