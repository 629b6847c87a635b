/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Imports by `pragma import`: machine code as well as bitcode, the same content twice, declarations that do
 * not fit, and other refusals. Files are made in a folder of the test's own, objects by clang.
 *
 *     import_test CLANG [--all]     --all: four times as many broken objects
 */
#define _GNU_SOURCE /* asprintf */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "importing.h"

static bool all;
static const struct uk_options strict = {.require_kernels = true};

/* Checks that Z is computed correctly; returns the compiler's notes, which the caller frees. */
static char *works(const char *imports) {
    char *text, *notes;
    struct uk_module *m;
    float x[11], y[11], z[11] = {0};
    const int64_t n = 11;

    assert_true(asprintf(&text, "%s%s%s", imports, PLAIN, PROGRAM) > 0);
    struct uk_program *p = parse("sum", text);

    if (uk_compile(p, &strict, &m))
        fail_msg("%s", uk_context_message(context));
    notes = strdup(uk_context_notes(context));
    for (int i = 0; i < 11; i++) {
        x[i] = (float)i;
        y[i] = (float)(5 * i);
    }
    assert_int_equal(uk_module_call(m, &n, NULL, (void *[]){x, y, z}), UK_OK);
    for (int i = 0; i < 11; i++)
        assert_true(z[i] == (float)(6 * i));
    uk_module_destroy(m);
    uk_program_destroy(p);
    free(text);
    return notes;
}

static void silent(const char *imports) {
    char *notes = works(imports);

    assert_string_equal(notes, "");
    free(notes);
}
static void refuses_object(const char *c, const char *const word[]) {
    write_object("bad.o", c);
    refuses("pragma import \"bad.o\"\n" PLAIN PROGRAM, NULL, UK_LINK, word);
}

/* ---- machine code ---- */

static void objects(void **state) {
    static const char said[] =
        "sum.uk:1:15: note: import \"add.o\": add_4 is machine code: it is called, not inlined";

    (void)state;
    write_object("add.o", ADD);
    char *notes = works("pragma import \"add.o\"\n");

    if (!strstr(notes, said))
        fail_msg("%s", notes);
    free(notes);
    write_file("add.s", "# it's text\n .globl add_4\nadd_4:\n movups (%rdi), %xmm0\n movups (%rsi), %xmm1\n"
                        " addps %xmm1, %xmm0\n movups %xmm0, (%rdx)\n ret\n");
    notes = works("pragma import \"add.s\"\n");
    assert_non_null(strstr(notes, "import \"add.s\": add_4 is machine code"));
    free(notes);
    write_file("add.S",
               "#define NAME add_4\n .globl NAME\nNAME:\n movups (%rdi), %xmm0\n movups (%rsi), %xmm1\n"
               " addps %xmm1, %xmm0\n movups %xmm0, (%rdx)\n ret\n");
    free(works("pragma import \"add.S\"\n"));
    /* An object may have a table, a helper and calls of memcpy; one that nothing calls may need anything. */
    write_object("table.o",
                 "#include <stddef.h>\nvoid *memcpy(void *, const void *, size_t);\n"
                 "static const float zero[] = {0, 0, 0, 0, 1};\n"
                 "__attribute__((noinline)) static float of(int i) { return zero[i]; }\n"
                 "void add_4(const float *a, const float *b, float *c) { float t[4];\n"
                 "  for (int i = 0; i < 4; i++) t[i] = a[i] + b[i] + of(i); memcpy(c, t, 16); }\n");
    write_object("other.o", "void puts(const char *); int n; void other(void) { n++; puts(\"\"); }\n");
    free(works("pragma import \"table.o\"\npragma import \"other.o\"\n"));
}

/* An object that exports only the function, which a C program links. */
static void object_output(void **state) {
    struct uk_program *p = parse("linked", "pragma import \"add.o\"\n" PLAIN PROGRAM);
    char *bytes, *again, path[256];
    size_t length, again_length;

    (void)state;
    write_object("add.o", ADD);
    assert_int_equal(uk_emit(p, &strict, UK_EMIT_OBJECT, &bytes, &length), UK_OK);
    assert_int_equal(uk_emit(p, &strict, UK_EMIT_OBJECT, &again, &again_length), UK_OK);
    assert_int_equal(length, again_length);
    assert_memory_equal(bytes, again, length);
    snprintf(path, sizeof path, "%s/linked.o", folder);
    FILE *f = fopen(path, "wb");

    assert_int_equal(fwrite(bytes, 1, length, f), length);
    assert_int_equal(fclose(f), 0);
    uk_text_free(bytes);
    uk_text_free(again);
    uk_program_destroy(p);
    /* The program's own add_4 is a different function. */
    write_file(
        "main.c",
        "#include <stdint.h>\n"
        "int linked(int64_t n, const float *x, const float *y, float *z);\nint add_4(void) { return 3; }\n"
        "int main(void) { float x[5] = {1, 2, 3, 4, 5}, z[5];\n"
        "return linked(5, x, x, z) || z[0] != 2 || z[3] != 8 || z[4] != 10 || add_4() != 3; }\n");
    run("%s %s/main.c %s/linked.o -o %s/main && %s/main", clang, folder, folder, folder, folder);
}

static void objects_refused(void **state) {
    (void)state;
    refuses_object(
        "float expf(float);\nvoid add_4(float *a, float *b, float *c) { c[0] = expf(a[0] + b[0]); }",
        WORDS("import \"bad.o\": needs expf, which is not in it", "ld -r"));
    refuses_object("static int n; int *at(void) { return &n; }\n" ADD "void count(void) { n++; }",
                   WORDS("import \"bad.o\"", "variables", ".bss"));
    refuses_object("int n = 3;\n" ADD, WORDS("variables", ".data"));
    refuses_object("_Thread_local int n; int *at(void) { return &n; }\n" ADD, WORDS("import \"bad.o\""));
    refuses_object("#include <stddef.h>\nvoid *memset(void *p, int c, size_t n) { return p; }\n" ADD,
                   WORDS("defines memset", "rename it"));
    refuses_object("int sum(void) { return 1; }\n" ADD, WORDS("defines sum", "rename it"));
    refuses_object("static __attribute__((used)) " ADD "void other(void) {}",
                   WORDS("no import defines add_4"));
    refuses_object("float add_4[4];", WORDS("no import defines add_4"));
    write_object("add.o", ADD);
    write_object("twin.o", "void twin(void) {}\n" ADD);
    refuses("pragma import \"add.o\"\npragma import \"twin.o\"\n" PLAIN PROGRAM, NULL, UK_LINK,
            WORDS("twin.o", "add.o", "both define add_4"));
    refuses("pragma import \"add.o\"\npragma import c \"\"\"\n" ADD "\"\"\"\n" PLAIN PROGRAM, NULL, UK_LINK,
            WORDS("import 2 of the program", "both define add_4"));
    run("%s -shared -fPIC %s/object.c -o %s/shared.o", clang, folder, folder);
    refuses("pragma import \"shared.o\"\n" PLAIN PROGRAM, NULL, UK_LINK, WORDS("relocatable", "cc -c"));
    run("%s -m32 -c %s/object.c -o %s/small.o", clang, folder, folder);
    refuses("pragma import \"small.o\"\n" PLAIN PROGRAM, NULL, UK_LINK,
            WORDS("small.o", "not an object for x86_64"));
    run("%s --target=aarch64-linux-gnu -c %s/object.c -o %s/arm.o", clang, folder, folder);
    refuses("pragma import \"arm.o\"\n" PLAIN PROGRAM, NULL, UK_LINK, WORDS("not an object for x86_64"));
    write_file("bad.s", " .globl add_4\nadd_4:\n frobnicate %rax\n");
    refuses("pragma import \"bad.s\"\n" PLAIN PROGRAM, NULL, UK_LINK,
            WORDS("bad.s", "does not compile", "bad.s:3", "frobnicate"));
}

/* Objects cut anywhere, or with one byte changed, are refused or harmless, and never a crash. */
static void break_objects(const char *triple, const char *target) {
    const struct uk_options options = {.target = target, .require_kernels = true};
    char path[256], bytes[8192];

    write_file("object.c", ADD);
    run("%s --target=%s -O1 -fno-vectorize -ffreestanding -c %s/object.c -o %s/whole.o", clang, triple,
        folder, folder);
    snprintf(path, sizeof path, "%s/whole.o", folder);
    FILE *f = fopen(path, "rb");
    size_t n = fread(bytes, 1, sizeof bytes, f);

    fclose(f);
    assert_true(n > 64 && n < sizeof bytes);
    snprintf(path, sizeof path, "%s/broken.o", folder);
    for (size_t i = 0; i < 2 * n; i += all ? 7 : 29) {
        struct uk_program *p = parse("sum", "pragma import \"broken.o\"\n" PLAIN PROGRAM);
        char *out, saved = bytes[i / 2];
        size_t length;

        bytes[i / 2] = (char)(saved ^ 0x55);
        f = fopen(path, "wb");
        assert_int_equal(fwrite(bytes, 1, i % 2 ? n : i / 2, f), i % 2 ? n : i / 2);
        fclose(f);
        bytes[i / 2] = saved;
        if (!uk_emit(p, &options, UK_EMIT_OBJECT, &out, &length))
            uk_text_free(out);
        else if (!(i % 2))
            assert_non_null(strstr(uk_context_message(context), "broken.o"));
        uk_program_destroy(p);
    }
}

static void broken_objects(void **state) {
    (void)state;
    break_objects("x86_64-linux-gnu", "x86_64-avx2");
    break_objects("armv7-linux-gnueabihf", "armv7-neon");
}

/* ---- the same twice ---- */

static void duplicates(void **state) {
    (void)state;
    write_file("one.c", ADD);
    write_file("two.c", ADD);
    write_file("quoted.c", "#include \"one.c\"\n");
    silent("pragma import \"one.c\"\npragma import \"one.c\"\n");
    silent("pragma import \"one.c\"\npragma import \"two.c\"\npragma import \"./one.c\"\n");
    silent("pragma import \"one.c\"\npragma import c \"\"\"" ADD "\"\"\"\n");
    silent("pragma import \"quoted.c\"\n");
    write_object("add.o", ADD);
    run("cp %s/add.o %s/copy.o", folder, folder);
    free(works("pragma import \"add.o\"\npragma import \"copy.o\"\n"));
    write_file("three.c", ADD "void more(float *c) { *c = 1; }\n");
    refuses("pragma import \"one.c\"\npragma import \"three.c\"\n" PLAIN PROGRAM, NULL, UK_LINK,
            WORDS("three.c", "one.c", "both define add_4", "rename"));
}

/* Files that an import includes may change, so such an import is compiled again; the others are compiled
 * once. */
static void changes(void **state) {
    (void)state;
    write_file("inner.h", ADD);
    write_file("outer.c", "#  include \"inner.h\"\n");
    silent("pragma import \"outer.c\"\n");
    write_file("inner.h", "void other(void) {}\n");
    refuses("pragma import \"outer.c\"\n" PLAIN PROGRAM, NULL, UK_LINK, WORDS("no import defines add_4"));
}

/* An import may also be in the schedule. */
static void in_schedule(void **state) {
    char *text;
    struct uk_module *m;

    (void)state;
    write_file("one.c", ADD);
    assert_true(asprintf(&text, "%s%s  pragma import \"one.c\"\n", PLAIN, PROGRAM) > 0);
    struct uk_program *p = parse("sum", text);

    assert_int_equal(uk_compile(p, &strict, &m), UK_OK);
    uk_module_destroy(m);
    uk_program_destroy(p);
    free(text);
}

/* ---- declarations and sources that do not fit ---- */

#define IMPORT "pragma import c \"\"\"\n" ADD "\"\"\"\n"

static void prototypes(void **state) {
    (void)state;
    refuses(
        IMPORT DECLARATION("", "void add_4(ptr a, ptr b)") PROGRAM, NULL, UK_LINK,
        WORDS("import 1 of the program: add_4 is void (ptr, ptr, ptr)", "declares it as void (ptr, ptr)"));
    refuses(
        IMPORT DECLARATION("", "i32 add_4(ptr a, ptr b, ptr c)") PROGRAM, NULL, UK_LINK,
        WORDS("add_4 is void (ptr, ptr, ptr)", "declares it as i32 (ptr, ptr, ptr)", "make the two agree"));
    refuses(IMPORT DECLARATION("", "void add_5(ptr a, ptr b, ptr c)") PROGRAM, NULL, UK_LINK,
            WORDS("kernel add_4: no import defines add_5", "pragma import"));
    refuses(IMPORT DECLARATION("requires avx512f", "void add_4(ptr a, ptr b, ptr c)") PROGRAM, "x86_64-avx2",
            UK_NO_MATCH, WORDS("add_4 needs avx512f, which the target x86_64-avx2 lacks"));
}
/* The function's return type is ignored. */
static void result_ignored(void **state) {
    static const char text[] =
        "pragma import c \"\"\"\nint add_4(const float *a, const float *b, float *c) {\n"
        "for (int i = 0; i < 4; i++) c[i] = a[i] + b[i];\nreturn 77; }\n\"\"\"\n" DECLARATION(
            "", "i32 add_4(ptr a, ptr b, ptr c)") PROGRAM;
    struct uk_program *p = parse("sum", text);
    const float x[4] = {1, 2, 3, 4};
    const int64_t n = 4;
    float z[4];
    struct uk_module *m;

    (void)state;
    assert_int_equal(uk_compile(p, &strict, &m), UK_OK);
    assert_int_equal(uk_module_call(m, &n, NULL, (void *[]){(void *)(uintptr_t)x, (void *)(uintptr_t)x, z}),
                     UK_OK);
    assert_true(z[3] == 8);
    uk_module_destroy(m);
    uk_program_destroy(p);
}

/* Two intrinsics may have one function, if its prototype is the same in both. */
static void shared_symbol(void **state) {
    static const char twice[] =
        "intrinsic twice\n  tensor a f32 [4]\n  tensor c f32 [4]\n  c[i] = a[i] + a[i]\n"
        "  compute void add_4(ptr a, ptr a, ptr c)\nend\n";
    static const char other[] =
        "intrinsic twice\n  tensor a f32 [4]\n  tensor c f32 [4]\n  c[i] = a[i] + a[i]\n"
        "  compute void add_4(ptr a, ptr c)\nend\n";
    static const char both[] = "tensor X f32 [N]\ntensor Y f32 [N]\ntensor Z f32 [N]\nZ[i] = X[i] + Y[i]\n"
                               "tensor W f32 [N]\nW[i] = X[i] + X[i]\nschedule\n  split Z.i 4 -> io ii\n"
                               "  tensorize ii add_4\n  split W.i 4 -> jo ji\n  tensorize ji twice\n";
    const int64_t n = 8;
    float x[8], y[8], z[8], w[8];
    char *text;
    struct uk_module *m;

    (void)state;
    assert_true(asprintf(&text, "%s%s%s%s", IMPORT, PLAIN, twice, both) > 0);
    struct uk_program *p = parse("sum", text);

    if (uk_compile(p, &strict, &m))
        fail_msg("%s", uk_context_message(context));
    for (int i = 0; i < 8; i++)
        x[i] = y[i] = (float)i;
    assert_int_equal(uk_module_call(m, &n, NULL, (void *[]){x, y, z, w}), UK_OK);
    assert_true(z[7] == 14 && w[7] == 14);
    uk_module_destroy(m);
    uk_program_destroy(p);
    free(text);
    assert_true(asprintf(&text, "%s%s%s%s", IMPORT, PLAIN, other, both) > 0);
    refuses(text, NULL, UK_LINK, WORDS("two intrinsics give this kernel different prototypes", "add_4"));
    free(text);
}

/* Sizes and strides beyond a kernel's 32 bits are refused at entry, before anything is written. */
static void narrow_sizes(void **state) {
    static const char text[] =
        "pragma import c \"\"\"\nvoid clear(float *c, int ldc) { for (int i = 0; i < 2; i++)"
        " for (int j = 0; j < 4; j++) c[(long)i * ldc + j] = 0; }\n\"\"\"\n"
        "intrinsic clear\n  tensor c f32 [2, 4] stride [ldc, 1]\n  c[i, j] = 0\n"
        "  compute void clear(ptr c, i32 ldc)\nend\n"
        "tensor C f32 [M, N] stride [ldc, 1]\nC[m, n] = 0\n"
        "schedule\n  split C.m 2 -> mo mi\n  split C.n 4 -> no ni\n  reorder mo no mi ni\n  tensorize mi "
        "clear\n";
    struct uk_program *p = parse("sum", text);
    float c[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    struct uk_module *m;

    (void)state;
    if (uk_compile(p, &strict, &m))
        fail_msg("%s", uk_context_message(context));
    assert_int_equal(uk_module_call(m, (int64_t[]){1, 4, INT64_C(1) << 31}, NULL, (void *[]){c}),
                     UK_INVALID_SIZE);
    assert_int_equal(uk_module_call(m, (int64_t[]){1, 4, (INT64_C(1) << 32) + 4}, NULL, (void *[]){c}),
                     UK_INVALID_SIZE);
    assert_true(c[0] == 1);
    assert_int_equal(uk_module_call(m, (int64_t[]){1, 4, INT32_MAX}, NULL, (void *[]){c}), UK_OK);
    assert_true(c[3] == 0 && c[4] == 1);
    assert_int_equal(uk_module_call(m, (int64_t[]){2, 4, 4}, NULL, (void *[]){c}), UK_OK);
    assert_true(c[7] == 0);
    uk_module_destroy(m);
    uk_program_destroy(p);
}
int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects),        cmocka_unit_test(object_output), cmocka_unit_test(objects_refused),
        cmocka_unit_test(broken_objects), cmocka_unit_test(duplicates),    cmocka_unit_test(changes),
        cmocka_unit_test(in_schedule),    cmocka_unit_test(prototypes),    cmocka_unit_test(result_ignored),
        cmocka_unit_test(shared_symbol),  cmocka_unit_test(narrow_sizes),
    };

    if (argc < 2) {
        fprintf(stderr, "usage: import_test CLANG [--all]\n");
        return 2;
    }
    all = argc > 2 && !strcmp(argv[2], "--all");
    clang = argv[1];
    return cmocka_run_group_tests_name("import", tests, make_folder, remove_folder);
}
