/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The targets that have names: per architecture the plain instruction sets, then common cores.
 *
 * What the cost rule is told of a core, in vectors of its width per cycle: x86-64 as Intel's optimization manual has it.
 * For Arm's, FMAs are half the peak flop per cycle of single precision over the lanes (Cortex-A7 4; A15, A53, A55, A72 8;
 * A76, Neoverse N1, N2 16; V1, V2 32), which LLVM's models agree with where they are the core's own (llvm-mca on
 * independent FMLAs by element: N1 and N2 2, V1 and V2 4 a cycle; A72's gives 1). Loads are of 128 bits: half a load a cycle
 * where the path is 64 bits wide (A7, A53, A55: Arm's optimization guides), else as llvm-mca has them; A53 and A55 issue no
 * FMA meanwhile (ncnn's guide for both; asm/aarch64/gemm_8x3_neon.c has kernels that go round it). The issue width is that of
 * decode, in Arm's technical reference manuals. Caches are the usual configuration, the smaller one of two, and the
 * second-level cache is that of a cluster of four where the manual has one for all of its cores; those of a target without a
 * core's name are the smallest of the CPUs that have its instruction set.
 */
#include <elf.h>
#include "target.h"

/* Every feature that a kernel row or a target's name may ask for, in LLVM's spelling. */
static const char *const x86_features[] = {
    "sse2",       "sse3",       "ssse3",       "sse4.1",      "sse4.2",       "popcnt",
    "movbe",      "avx",        "avx2",        "fma",         "f16c",         "bmi",
    "bmi2",       "lzcnt",      "avxvnni",     "avxvnniint8", "avxifma",      "avx512f",
    "avx512cd",   "avx512bw",   "avx512dq",    "avx512vl",    "avx512vnni",   "avx512bf16",
    "avx512fp16", "avx512vbmi", "avx512vbmi2", "avx512ifma",  "avx512bitalg", "avx512vpopcntdq",
    "gfni",       "vaes",       "vpclmulqdq",  "amx-tile",    "amx-int8",     "amx-bf16",
    NULL};
static const char *const aarch64_features[] = {"neon", "fullfp16", "dotprod", "i8mm",
                                               "bf16", "fp16fml",  NULL};
static const char *const arm_features[] = {"neon", "vfp4", "hwdiv-arm", NULL};
static const char *const nothing[] = {NULL};

/* No target has these; code that needs them is refused by their names. */
static const char *const aarch64_others[] = {"sve", "sve2", "sme", NULL};
static const char *const arm_others[] = {"dotprod", "fullfp16", "i8mm", "bf16", "mve", NULL};

static const char *const x86_instructions[] = {"avx512.", "avx512f", NULL};
static const char *const aarch64_instructions[] = {
    "neon.sdot.",  "dotprod", "neon.udot.",   "dotprod", "neon.usdot.", "i8mm", "neon.smmla.", "i8mm",
    "neon.ummla.", "i8mm",    "neon.usmmla.", "i8mm",    "neon.bf",     "bf16", "neon.fmlal",  "fp16fml",
    "neon.fmlsl",  "fp16fml", "sve.",         "sve",     "sme.",        "sme",  NULL};
static const char *const arm_instructions[] = {
    "neon.sdot.", "dotprod",     "neon.udot.", "dotprod",      "neon.usdot.", "i8mm",    "neon.smmla.",
    "i8mm",       "neon.ummla.", "i8mm",       "neon.usmmla.", "i8mm",        "neon.bf", "bf16",
    "mve.",       "mve",         NULL};

#define UK_ARCH_ROW(name, triple) static const char triple_##name[] = triple;
#include "machine/archs.def"
#undef UK_ARCH_ROW

static const struct uk_arch x86_64 = {.name = "x86_64",
                                      .prefix = "x86_64-",
                                      .triple = triple_x86_64,
                                      .intrinsics = "llvm.x86.",
                                      .instructions = x86_instructions,
                                      .features = x86_features,
                                      .others = nothing,
                                      .half = "f16c",
                                      .cpu_option = "-march=",
                                      .elf_machine = EM_X86_64,
                                      .bits = 64};
static const struct uk_arch aarch64 = {.name = "aarch64",
                                       .prefix = "aarch64-",
                                       .triple = triple_aarch64,
                                       .intrinsics = "llvm.aarch64.",
                                       .instructions = aarch64_instructions,
                                       .features = aarch64_features,
                                       .others = aarch64_others,
                                       .half = "neon",
                                       .cpu_option = "-mcpu=",
                                       .elf_machine = EM_AARCH64,
                                       .bits = 64};
/* VFPv4 has the conversions of half precision that NEON alone may lack. */
static const struct uk_arch arm = {.name = "arm",
                                   .prefix = "armv7-",
                                   .triple = triple_arm,
                                   .intrinsics = "llvm.arm.",
                                   .instructions = arm_instructions,
                                   .features = arm_features,
                                   .others = arm_others,
                                   .half = "vfp4",
                                   .cpu_option = "-mcpu=",
                                   .elf_machine = EM_ARM,
                                   .bits = 32};
static const struct uk_arch none = {
    .name = "none", .prefix = "none-", .features = nothing, .others = nothing, .bits = 64};

const struct uk_arch *const uk_archs[] = {&x86_64, &aarch64, &arm, NULL};

#define UK_HAS_BASE "sse2"
#define UK_HAS_AVX2                                                                                    \
    UK_HAS_BASE, "sse3", "ssse3", "sse4.1", "sse4.2", "popcnt", "movbe", "avx", "avx2", "fma", "f16c", \
        "bmi", "bmi2", "lzcnt"
#define UK_HAS_AVX512 UK_HAS_AVX2, "avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"

static const char *const has_base[] = {UK_HAS_BASE, NULL};
static const char *const has_avx2[] = {UK_HAS_AVX2, NULL};
static const char *const has_avx512[] = {UK_HAS_AVX512, NULL};
static const char *const has_neon[] = {"neon", NULL};
static const char *const has_v82[] = {"neon", "fullfp16", "dotprod", NULL};
static const char *const has_v84[] = {"neon", "fullfp16", "dotprod", "i8mm", "bf16", "fp16fml", NULL};
static const char *const has_armv7[] = {"neon", "vfp4", NULL};
static const char *const has_armv7_div[] = {"neon", "vfp4", "hwdiv-arm", NULL};

#define KIB(n) ((n) << 10)
#define TARGET(name_, arch_, cpu_, has_, features_, ...)                                             \
    {                                                                                                \
        .name = name_, .arch = &arch_, .cpu = cpu_, .features = features_, .has = has_, .machine = { \
            __VA_ARGS__                                                                              \
        }                                                                                            \
    }
/* A core, which LLVM knows by the same name. */
#define CORE(name, arch, has, features, ...) TARGET(name, arch, name, has, features, __VA_ARGS__)
/* The vectors are NEON's in all of them, so that what is compiled for one runs on others like it. */
#define NO_SVE "-sve,-sve2"
#define VFP4 "+neon,+vfp4"

/* Vector bytes; FMAs, loads and instructions a cycle; caches, and how many cores share the second;
 * loads_alone. The strongest of an architecture's plain sets is first. */
const struct uk_target uk_targets[] = {
    TARGET("x86_64-avx512", x86_64, "skylake-avx512", has_avx512, "", 64, 2, 2, 4, KIB(32), KIB(1024), 1,
           false),
    TARGET("x86_64-avx2", x86_64, "haswell", has_avx2, "", 32, 2, 2, 4, KIB(32), KIB(256), 1, false),
    TARGET("x86_64-generic", x86_64, "x86-64", has_base, "", 16, 1, 2, 4, KIB(32), KIB(256), 1, false),
    TARGET("aarch64-neon", aarch64, "generic", has_neon, "", 16, 1, 1, 3, KIB(32), KIB(256), 1, false),
    CORE("cortex-a53", aarch64, has_neon, "", 16, 1, 0.5, 2, KIB(32), KIB(512), 4, true),
    CORE("cortex-a55", aarch64, has_v82, "", 16, 1, 0.5, 2, KIB(32), KIB(128), 1, true),
    CORE("cortex-a72", aarch64, has_neon, "", 16, 1, 1, 3, KIB(32), KIB(1024), 4, false),
    CORE("cortex-a76", aarch64, has_v82, "", 16, 2, 2, 4, KIB(64), KIB(512), 1, false),
    CORE("neoverse-n1", aarch64, has_v82, "", 16, 2, 2, 4, KIB(64), KIB(1024), 1, false),
    CORE("neoverse-n2", aarch64, has_v84, NO_SVE, 16, 2, 3, 5, KIB(64), KIB(1024), 1, false),
    CORE("neoverse-v1", aarch64, has_v84, NO_SVE, 16, 4, 3, 5, KIB(64), KIB(1024), 1, false),
    CORE("neoverse-v2", aarch64, has_v84, NO_SVE, 16, 4, 3, 6, KIB(64), KIB(1024), 1, false),
    TARGET("armv7-neon", arm, "generic", has_armv7, VFP4, 16, 0.5, 0.5, 2, KIB(32), KIB(256), 1, false),
    CORE("cortex-a7", arm, has_armv7_div, VFP4, 16, 0.5, 0.5, 2, KIB(32), KIB(512), 4, false),
    CORE("cortex-a15", arm, has_armv7_div, VFP4, 16, 1, 1, 3, KIB(32), KIB(1024), 4, false),
    {.name = "interp",
     .arch = &none,
     .has = nothing,
     .interpreted = true,
     .machine = {32, 2, 2, 4, KIB(32), KIB(256), 1, false}},
    {.name = NULL},
};
