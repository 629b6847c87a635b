/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instructions of RISC-V P in imports. No assembler refuses them: the compiler does, for a target without
 * rvp, whatever text they come from; all other words are accepted. Other architectures refuse .insn. The
 * header with P's functions is found.
 *
 *     import_words CLANG
 */
#define _GNU_SOURCE /* asprintf */
#include <stdio.h>
#include <stdlib.h>
#include "importing.h"

#define ADD_4(...) "void add_4(const float *a, const float *b, float *c) {\n" __VA_ARGS__ "\n}\n"
#define ASM(text) "__asm__ volatile(\"" text "\" ::: \"a4\", \"memory\");"
#define SMAQA_SU "smaqa.su a4, a4, a5"
#define SAYS(word)                                \
    "add_4 has an instruction of RISC-V P, " word \
    ", but target riscv64 has no rvp; compile the kernel without it, or use a target with +rvp"

/* Emits an object, which fails with these words; NULL: it succeeds. */
static void emits_import(const char *import, const char *target, const char *words) {
    char *text;

    assert_true(asprintf(&text, "%s" PLAIN PROGRAM, import) > 0);
    emits(text, target, words ? UK_UNSUPPORTED : UK_OK, (const char *const[]){words, NULL});
    free(text);
}

#define C(...) "pragma import c \"\"\"\n" __VA_ARGS__ "\"\"\"\n"

static void refused(void **state) {
    static const struct {
        const char *import, *says;
    } words[] = {
        {C(ADD_4(ASM(".insn r 0x77, 0, 0x65, a4, a4, a5"))), SAYS(SMAQA_SU)},
        /* With the opcode of the first drafts, as data; with symbols as numbers; by a macro of C. */
        {C(ADD_4(ASM(".balign 4; .4byte 0xcaf7077f"))), SAYS("smaqa.su a4, a4, a5")},
        {C(ADD_4(ASM(".set n, 0x66 - 1; .insn r 119, 0, n, a4, a4, a5"))), SAYS(SMAQA_SU)},
        {C("#define P(x) \".in\" \"sn r \" #x\n" ADD_4(
             "__asm__ volatile(P(0x77) \", 2, 0x20, a4, a4, a5\");")),
         SAYS("add32 a4, a4, a5")},
        /* After an instruction of two bytes, and at an address that is aligned to two bytes only. */
        {C(ADD_4(ASM(".option norelax; .option rvc; c.nop; .insn r 0x77, 0, 0x65, a4, a4, a5"))),
         SAYS(SMAQA_SU)},
        /* Word without a row in rvp.def. */
        {C(ADD_4(ASM(".insn r 0x77, 7, 0x20, a4, a4, a5"))), SAYS("the word 0x40f77777")},
        /* In a function that the kernel calls and that is inlined. */
        {C("static void helps(void) {" ASM(".insn r 0x77, 0, 0x65, a4, a4, a5") "}\n" ADD_4("helps();")),
         SAYS(SMAQA_SU)},
        {"pragma import ll \"\"\"\ndefine void @add_4(ptr %a, ptr %b, ptr %c) {\n"
         "  call void asm sideeffect \".insn r 0x77, 0, 0x65, a4, a4, a5\", \"~{a4}\"()\n  ret "
         "void\n}\n\"\"\"\n",
         SAYS(SMAQA_SU)},
    };

    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        emits_import(words[i].import, "riscv64", words[i].says);
        emits_import(words[i].import, "riscv64-p", NULL);
        emits_import(words[i].import, "riscv64+rvp", NULL);
    }
}

static void taken(void **state) {
    static const char *const imports[] = {
        C(ADD_4("c[0] = 1; /* .insn r 0x77, 0, 0x65, a4, a4, a5 */")),
        C(ADD_4(ASM("nop # .insn r 0x77, 0, 0x65, a4, a4, a5"))),
        /* Words whose upper halves look like P's, after words and half words. */
        C(ADD_4(ASM("lui a4, 0x770; lui a4, 0x770; .option rvc; c.nop; lui a4, 0x7f0; lui a4, 0x770"))),
        /* Longer instructions, of 6 and 8 bytes. */
        C(ADD_4(ASM(".2byte 0x001f, 0x0077, 0x0077, 0x003f, 0x0077, 0x0077, 0x0077"))),
        /* Outside of code. */
        C("static const unsigned t[64] = {0xcaf70777, 0xcaf70777, 1, 2, 3};\n" ADD_4(
            "c[0] = t[(unsigned long)a / 8 % 64];" ASM("nop"))),
    };

    (void)state;
    for (size_t i = 0; i < sizeof imports / sizeof *imports; i++)
        emits_import(imports[i], "riscv64", NULL);
}

/* Machine code that is called, not inlined. */
static void objects(void **state) {
    (void)state;
    write_file("add.s", ".text\n.type other, @function\nother: ret\n.globl add_4\n.type add_4, @function\n"
                        "add_4: nop\n.insn r 0x77, 0, 0x65, a4, a4, a5\nret\n");
    write_file("nameless.s", ".text\n.globl add_4\nadd_4: .insn r 0x77, 0, 0x65, a4, a4, a5\nret\n");
    write_file("plain.s", ".text\n.globl add_4\n.type add_4, @function\nadd_4: nop\nret\n");
    run("cd %s && %s --target=riscv64-linux-gnu -march=rv64gc -c add.s", folder, clang);
    emits_import("pragma import \"add.s\"\n", "riscv64", "import \"add.s\": " SAYS(SMAQA_SU));
    emits_import("pragma import \"add.o\"\n", "riscv64", "import \"add.o\": " SAYS(SMAQA_SU));
    emits_import("pragma import \"nameless.s\"\n", "riscv64", "its code has an instruction of RISC-V P");
    emits_import("pragma import \"plain.s\"\n", "riscv64", NULL);
    emits_import("pragma import \"add.o\"\n", "riscv64-p", NULL);
}

/* Architectures without .insn: in each language, through macros, and with known and unknown words. */
static void elsewhere(void **state) {
    static const char *const targets[] = {"x86_64-avx2", "aarch64-neon", "armv7-neon"};
    static const struct {
        const char *import, *says;
    } insns[] = {
        {C(ADD_4("(void)0;\n__asm__ volatile(\".insn r 0x77, 0, 0x65, a4, a4, a5\");")),
         "import 1 of the program, line 4: the asm of add_4 has `.insn r 0x77, 0, 0x65, a4, a4, a5` "
         "(smaqa.su a4, a4, a5), an instruction of RISC-V, but target "},
        /* Clang refuses the clobber. */
        {C(ADD_4("(void)0; /* .insn i */\n__asm__(\".insn r 0x77, 0, 0x65, %0, %0, a5\\n\"\n \"nop\" ::\n "
                 "\"r\"(1) : \"a5\");")),
         "import text:6:11 has `.insn r 0x77, 0, 0x65, %0, %0, a5` (smaqa.su), an instruction of RISC-V, but "
         "target "},
        {C(ADD_4(
             "long x = (long)a;\n\n__asm__(\"nop; .insn r 0x77, 2, 0x20, %0, %1, %0 # sum\" : \"+r\"(x) : "
             "\"r\"(b)); c[0] = x;")),
         "line 5: the asm of add_4 has `.insn r 0x77, 2, 0x20, %0, %1, %0` (add32), an instruction of "
         "RISC-V, but target "},
        {C("#define P(x) \".in\" \"sn r \" #x\n" ADD_4(
             "__asm__ volatile(P(0x33) \", 0, 0x20, a4, a4, a5\");")),
         "import 1 of the program: the asm of add_4 has `.insn r 0x33, 0, 0x20, a4, a4, a5`, an instruction "
         "of RISC-V"},
        {C(ADD_4("(void)0;") "__asm__(\".insn r 0x77, 0, 0x65, a4, a4, a5\");"),
         "has `.insn r 0x77, 0, 0x65, a4, "},
        {"pragma import ll \"\"\"\ndefine void @add_4(ptr %a, ptr %b, ptr %c) {\n"
         "  call void asm sideeffect \".insn r 0x77, 0, 0x65, $0, ${0:z}, a5\", \"r\"(i32 1)\n  ret "
         "void\n}\n\"\"\"\n",
         "import 1 of the program, line 3: the asm of add_4 has `.insn r 0x77, 0, 0x65, %0, %0, a5` "
         "(smaqa.su), an"},
        {"pragma import \"insn.s\"\n", "insn.s:3:1 has `.insn r 0x77, 0, 0x65, a4, a4, a5` (smaqa.su a4, "
                                       "a4, a5), an instruction of RISC-V"},
    };
    char says[64];

    (void)state;
    write_file("insn.s", ".globl add_4\nadd_4: nop\n.insn r 0x77, 0, 0x65, a4, a4, a5\n");
    for (size_t t = 0; t < sizeof targets / sizeof *targets; t++) {
        snprintf(says, sizeof says, "but target %s is not RISC-V; compile for riscv64", targets[t]);
        for (size_t i = 0; i < sizeof insns / sizeof *insns; i++) {
            emits_import(insns[i].import, targets[t], insns[i].says);
            emits_import(insns[i].import, targets[t], says);
        }
        /* Text that the preprocessor leaves out, and other directives. */
        emits_import(C("#ifdef __riscv\n" ADD_4(ASM(".insn r 0x77, 0, 0x65, a4, a4, a5")) "#else\n" ADD_4(
                         "for (int i = 0; i < 4; i++) c[i] = a[i] + b[i]; /* .insn */") "#endif\n"),
                     targets[t], NULL);
    }
}

/* The library's headers have P's functions, which are C for other targets. */
static void headers(void **state) {
    static const char *const targets[] = {"riscv64-p", "riscv64", "x86_64-avx2", "aarch64-neon",
                                          "armv7-neon"};
    static const char import[] = C("#include <ukernels/rvp.h>\n" ADD_4(
        "c[0] = (float)uk_rvp_add32((unsigned long)a, (unsigned long)b);"));

    (void)state;
    for (size_t t = 0; t < sizeof targets / sizeof *targets; t++)
        emits_import(import, targets[t],
                     t == 1 ? "add_4 has an instruction of RISC-V P, add32 a0, a0, a1, but target riscv64"
                            : NULL);
    emits_import(C("#include <ukernels/registry/half.h>\n" ADD_4("c[0] = 1;")), "x86_64-avx2", NULL);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused),   cmocka_unit_test(taken),   cmocka_unit_test(objects),
        cmocka_unit_test(elsewhere), cmocka_unit_test(headers),
    };

    clang = argc > 1 ? argv[1] : "clang";
    return cmocka_run_group_tests_name("import_words", tests, make_folder, remove_folder);
}
