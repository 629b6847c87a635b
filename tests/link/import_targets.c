/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Imports that need what the target lacks: instructions and registers in asm statements, instructions by
 * LLVM's names, features of Arm cores, and objects and bitcode of another architecture.
 *
 *     import_targets_test CLANG
 */
#define _GNU_SOURCE /* asprintf */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "importing.h"

/* ---- names in asm statements ---- */

static char *with_asm(const char *statement) {
    char *text;

    assert_true(
        asprintf(&text,
                 "pragma import c \"\"\"\nvoid add_4(const float *a, const float *b, float *c) {\n%s\n}\n"
                 "\"\"\"\n" PLAIN PROGRAM,
                 statement) > 0);
    return text;
}
static void refuses_asm(const char *statement, const char *target, enum uk_status status, const char *says) {
    char *text = with_asm(statement);

    emits(text, target, status, WORDS(says));
    free(text);
}

static void takes_asm(const char *statement, const char *target) {
    char *text = with_asm(statement);

    emits(text, target, UK_OK, WORDS(""));
    free(text);
}

#define SAYS(what, feature, target)                                                  \
    "import 1 of the program: the asm of add_4 names " what ", which needs " feature \
    ", which target " target " does not have; write it without, or use a target with +" feature

/* LLVM's assembler for x86 accepts all instructions, whatever the target has. */
static void asm_of_x86(void **state) {
    static const struct {
        const char *statement, *target, *says;
    } refused[] = {
        {"__asm__ volatile(\"vmovups (%0), %%zmm0\" :: \"r\"(a) : \"memory\");", "x86_64-avx2",
         SAYS("zmm0", "avx512f", "x86_64-avx2")},
        {"__asm__ volatile(\"nop\" ::: \"zmm17\");", "x86_64-avx2", SAYS("zmm17", "avx512f", "x86_64-avx2")},
        {"__asm__ volatile(\"nop\" ::: \"k1\");", "x86_64-avx2", SAYS("k1", "avx512f", "x86_64-avx2")},
        {"__asm__ volatile(\"nop\\n\\tkmovw %%eax, %%k1\" ::: \"memory\");", "x86_64-avx2",
         SAYS("kmovw", "avx512f", "x86_64-avx2")},
        {"__asm__ volatile(\"vmovups (%0), %%ymm1%{%%k2%}\" :: \"r\"(a) : \"memory\");", "x86_64-avx2",
         SAYS("k2", "avx512f", "x86_64-avx2")},
        {"__asm__ volatile(\"1: vaddps %%ymm1, %%ymm16, %%ymm2\" ::: \"memory\");", "x86_64-avx2",
         SAYS("ymm16", "avx512vl", "x86_64-avx2")},
        {"__asm__ volatile(\"vpdpbusd %%ymm0, %%ymm1, %%ymm2\" ::: \"memory\");", "x86_64-avx2",
         SAYS("vpdpbusd", "avx512vnni", "x86_64-avx2")},
        {"__asm__ volatile(\"vpternlogd $1, %%ymm0, %%ymm1, %%ymm2\" ::: \"memory\");", "x86_64-avx2",
         SAYS("vpternlogd", "avx512f", "x86_64-avx2")},
        {"__asm__ volatile(\"nop; vdpbf16ps %%zmm0, %%zmm1, %%zmm2\" ::: \"memory\");", "x86_64-avx512",
         SAYS("vdpbf16ps", "avx512bf16", "x86_64-avx512")},
        {"__asm__ volatile(\"vaddph %%zmm0, %%zmm1, %%zmm2\" ::: \"memory\");", "x86_64-avx512",
         SAYS("vaddph", "avx512fp16", "x86_64-avx512")},
        {"__asm__ volatile(\"vfmadd231ps %%xmm0, %%xmm1, %%xmm2\" ::: \"memory\");", "x86_64-generic",
         SAYS("vfmadd231ps", "fma", "x86_64-generic")},
        {"__asm__ volatile(\"vaddps %%xmm0, %%xmm1, %%xmm2\" ::: \"memory\");", "x86_64-generic",
         SAYS("vaddps", "avx", "x86_64-generic")},
    };
    static const char intel[] =
        "pragma import ll \"\"\"\ndefine void @add_4(ptr %a, ptr %b, ptr %c) {\n"
        "  call void asm sideeffect inteldialect \"vmovups zmm3, [rax]\", \"\"()\n  ret void\n}\n"
        "\"\"\"\n" PLAIN PROGRAM;

    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        refuses_asm(refused[i].statement, refused[i].target, UK_UNSUPPORTED, refused[i].says);
    emits(intel, "x86_64-avx2", UK_UNSUPPORTED, WORDS(SAYS("zmm3", "avx512f", "x86_64-avx2")));
    takes_asm(
        "__asm__ volatile(\"vmovups (%0), %%zmm0%{%%k1%}\" :: \"r\"(a) : \"zmm0\", \"k1\", \"memory\");",
        "x86_64-avx512");
    takes_asm("__asm__ volatile(\"k1%=: vfmadd231ps (%0), %%ymm1, %%ymm2\" :: \"r\"(a) : \"ymm2\");",
              "x86_64-avx2");
    takes_asm("__asm__ volatile(\"addps %%xmm1, %%xmm2\" ::: \"xmm2\");", "x86_64-generic");
}

/* The program loads and releases the tiles' configuration around its kernels' calls. */
static void matrix_tiles(void **state) {
#define TILES(requires, statement)                                                            \
    "pragma import c \"\"\"\n#include <immintrin.h>\n__attribute__((target(\"amx-int8\")))\n" \
    "void add_4(const float *a, const float *b, float *c) {\n" statement                      \
    "\n}\n\"\"\"\n" DECLARATION(requires, "void add_4(ptr a, ptr b, ptr c)") PROGRAM
    static const char target[] = "sapphirerapids", without[] = "x86_64-avx512";

    (void)state;
    emits(TILES("requires amx-tile state tiles", "_tile_loadd(0, a, 64);"), target, UK_OK, WORDS(""));
    emits(TILES("requires amx-tile", "_tile_loadd(0, a, 64);"), target, UK_LINK,
          WORDS("add_4",
                "calls llvm.x86.tileloadd64, but intrinsic add_4 does not say that it needs matrix tiles",
                "'state tiles'"));
    emits(TILES("", "_tile_dpbusd(0, 1, 2);"), target, UK_LINK,
          WORDS("calls llvm.x86.tdpbusd", "'state tiles'"));
    emits(TILES("requires amx-tile state tiles", "_tile_release();"), target, UK_LINK,
          WORDS("calls llvm.x86.tilerelease", "the state of the core", "leave it out"));
    emits(TILES("requires amx-tile state tiles", "_tile_loadconfig(a);"), target, UK_LINK,
          WORDS("calls llvm.x86.ldtilecfg", "leave it out"));
    refuses_asm("__asm__ volatile(\"tilerelease\");", target, UK_LINK, "tilerelease");
    emits(TILES("state tiles", "_tile_loadd(0, a, 64);"), without, UK_NO_MATCH,
          WORDS("add_4", "amx-tile", "x86_64-avx512"));
#undef TILES
}

/* LLVM's assemblers for Arm refuse such instructions, unless a directive in the text enables them. */
static void asm_of_arm(void **state) {
    (void)state;
    refuses_asm("__asm__ volatile(\"sdot v0.4s, v1.16b, v2.16b\" ::: \"v0\");", "aarch64-neon", UK_LINK,
                "instruction requires: dotprod");
    refuses_asm(
        "__asm__ volatile(\".arch_extension dotprod\\n\\tsdot v0.4s, v1.16b, v2.16b\" ::: \"v0\");",
        "aarch64-neon", UK_UNSUPPORTED,
        "the asm of add_4 has .arch_extension, which lets the assembler take instructions that target "
        "aarch64-neon lacks; leave it out");
    refuses_asm("__asm__ volatile(\"vsdot.s8 q0, q1, q2\" ::: \"q0\");", "armv7-neon", UK_LINK,
                "instruction requires: dotprod");
    refuses_asm("__asm__ volatile(\".fpu neon-fp-armv8\\n\\tnop\" ::: \"q0\");", "armv7-neon", UK_UNSUPPORTED,
                "has .fpu, which lets the assembler");
    takes_asm("__asm__ volatile(\"sdot v0.4s, v1.16b, v2.16b\" ::: \"v0\");", "aarch64-neon+dotprod");
}

/* LLVM would end the process on an instruction that the target lacks. */
static void instructions(void **state) {
    static const char text[] =
        "pragma import c \"\"\"\n#include <immintrin.h>\n"
        "__attribute__((target(\"sha\"))) void add_4(const float *a, const float *b, float *c) {\n"
        "__m128i x = _mm_loadu_si128((const __m128i *)a);\n"
        "_mm_storeu_si128((__m128i *)c, _mm_sha1msg1_epu32(x, x)); }\n\"\"\"\n" PLAIN PROGRAM;
    static const char other[] =
        "pragma import ll \"\"\"\ndeclare <16 x float> @llvm.aarch64.neon.fmax.v16f32(<16 x float>, <16 x "
        "float>)\n"
        "define void @add_4(ptr %a, ptr %b, ptr %c) {\n  %x = load <16 x float>, ptr %a, align 4\n"
        "  %r = call <16 x float> @llvm.aarch64.neon.fmax.v16f32(<16 x float> %x, <16 x float> %x)\n"
        "  store <16 x float> %r, ptr %c, align 4\n  ret void\n}\n\"\"\"\n" PLAIN PROGRAM;

    (void)state;
    for (int i = 0; i < 2; i++)
        refuses(text, "x86_64-avx2", UK_UNSUPPORTED,
                WORDS("sum.uk:1:15", "import 1 of the program: target x86_64-avx2 lacks an instruction",
                      "sha1msg1"));
    refuses(
        other, "x86_64-avx2", UK_UNSUPPORTED,
        WORDS(
            "llvm.aarch64.neon.fmax.v16f32 is an instruction of aarch64, but target x86_64-avx2 is x86_64"));
}
/* ---- other architectures ---- */
/* Needs more than NEON: by an attribute in C, or only by the instruction's name. */
#define DOT(attribute)                                          \
    "pragma import c \"\"\"\n#include <arm_neon.h>\n" attribute \
    "void add_4(const float *a, const float *b, float *c) {\n"  \
    "uint8x16_t x = vld1q_u8((const uint8_t *)a);\n"            \
    "vst1q_u32((uint32_t *)c, vdotq_u32(vld1q_u32((const uint32_t *)b), x, x)); }\n\"\"\"\n" PLAIN PROGRAM
#define NAMED(name, from, to)                                                                         \
    "pragma import ll \"\"\"\ndeclare " to " @" name "(" to ", " from ", " from ")\n"                 \
    "define void @add_4(ptr %a, ptr %b, ptr %c) {\n  %x = load " from ", ptr %a, align 4\n"           \
    "  %y = load " to ", ptr %b, align 4\n  %r = call " to " @" name "(" to " %y, " from " %x, " from \
    " %x)\n"                                                                                          \
    "  store " to " %r, ptr %c, align 4\n  ret void\n}\n\"\"\"\n" PLAIN PROGRAM

static void features_of_arm(void **state) {
    static const char sdot[] = NAMED("llvm.aarch64.neon.sdot.v4i32.v16i8", "<16 x i8>", "<4 x i32>");
    static const char smmla[] = NAMED("llvm.aarch64.neon.smmla.v4i32.v16i8", "<16 x i8>", "<4 x i32>");
    static const char bfdot[] = NAMED("llvm.aarch64.neon.bfdot.v4f32.v8bf16", "<8 x bfloat>", "<4 x float>");
    static const char old[] = NAMED("llvm.arm.neon.sdot.v4i32.v16i8", "<16 x i8>", "<4 x i32>");

    (void)state;
    emits(DOT("__attribute__((target(\"dotprod\"))) "), "aarch64-neon", UK_UNSUPPORTED,
          WORDS("add_4 needs dotprod, which target aarch64-neon does not have", "+dotprod"));
    emits(DOT("__attribute__((target(\"dotprod\"))) "), "aarch64-neon+dotprod", UK_OK, WORDS(""));
    emits(DOT(""), "cortex-a76", UK_OK, WORDS(""));
    emits(DOT(""), "cortex-a72", UK_LINK, WORDS("does not compile", "dotprod"));
    emits(sdot, "cortex-a53", UK_UNSUPPORTED, WORDS("needs dotprod, which target cortex-a53 does not have"));
    emits(sdot, "neoverse-n1", UK_OK, WORDS(""));
    emits(smmla, "neoverse-n1", UK_UNSUPPORTED, WORDS("needs i8mm, which target neoverse-n1 does not have"));
    emits(smmla, "neoverse-n1+i8mm", UK_OK, WORDS(""));
    emits(bfdot, "aarch64-neon+dotprod+f16+i8mm", UK_UNSUPPORTED, WORDS("needs bf16"));
    emits(bfdot, "neoverse-v1", UK_OK, WORDS(""));
    emits(old, "armv7-neon", UK_UNSUPPORTED, WORDS("needs dotprod, which target armv7-neon does not have"));
    emits(
        old, "neoverse-v1", UK_UNSUPPORTED,
        WORDS("llvm.arm.neon.sdot.v4i32.v16i8 is an instruction of arm, but target neoverse-v1 is aarch64"));
}

/* Instructions without a feature name of the architecture are first compiled by clang. */
static void instructions_of_arm(void **state) {
    static const char aes[] = NAMED("llvm.aarch64.crypto.sha256h", "<4 x i32>", "<4 x i32>");

    (void)state;
    emits(aes, "aarch64-neon", UK_UNSUPPORTED,
          WORDS("target aarch64-neon lacks an instruction that it uses", "sha256h"));
    emits(aes, "cortex-a76", UK_OK, WORDS(""));
}

static void other_architectures(void **state) {
    static const char import[] = "pragma import \"add.bc\"\n" PLAIN PROGRAM,
                      machine[] = "pragma import \"add.o\"\n" PLAIN PROGRAM;
    static const struct {
        const char *name, *triple;
    } arch[] = {
#define UK_ARCH_ROW(name, llvm, triple, ...) {#name, triple},
#define UK_DEVICE_ROW(...)
#include "machine/archs.def"
    };
    enum { ARCHS = sizeof arch / sizeof *arch };
    const char *target[ARCHS] = {NULL};

#define UK_TARGET_ROW(name_, arch_, ...) \
    for (int i = 0; i < ARCHS; i++)      \
        target[i] = target[i] || strcmp(arch[i].name, #arch_) ? target[i] : name_;
#include "machine/archs.def"
    (void)state;
    write_file("object.c", ADD);
    for (int from = 0; from < ARCHS; from++) {
        run("%s --target=%s -O1 -fno-vectorize -ffreestanding -emit-llvm -c %s/object.c -o %s/add.bc", clang,
            arch[from].triple, folder, folder);
        run("%s --target=%s -O1 -fPIC -fno-vectorize -ffreestanding -c %s/object.c -o %s/add.o", clang,
            arch[from].triple, folder, folder);
        for (int to = 0; to < ARCHS; to++) {
            emits(import, target[to], from == to ? UK_OK : UK_LINK,
                  from == to ? WORDS("")
                             : WORDS("is compiled for", target[to], "use a target of its architecture"));
            emits(machine, target[to], from == to ? UK_OK : UK_LINK,
                  from == to ? WORDS("") : WORDS("not an object for", arch[to].name));
        }
    }
    emits("pragma import c \"\"\"\n#include <immintrin.h>\n" ADD "\"\"\"\n" PLAIN PROGRAM, "aarch64-neon",
          UK_LINK, WORDS("does not compile"));
    refuses(PLAIN PROGRAM, "armv7-neon", UK_UNSUPPORTED,
            WORDS("target armv7-neon: its code is for arm, and this CPU is", "emit an object"));
}
int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asm_of_x86),          cmocka_unit_test(asm_of_arm),
        cmocka_unit_test(matrix_tiles),        cmocka_unit_test(instructions),
        cmocka_unit_test(features_of_arm),     cmocka_unit_test(instructions_of_arm),
        cmocka_unit_test(other_architectures),
    };

    if (argc != 2) {
        fprintf(stderr, "usage: import_targets_test CLANG\n");
        return 2;
    }
    clang = argv[1];
    return cmocka_run_group_tests_name("import_targets", tests, make_folder, remove_folder);
}
