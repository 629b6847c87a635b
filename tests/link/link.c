/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the linker: each refusal is provoked, and after each one the same context compiles a good
 * program. */
#define _DEFAULT_SOURCE /* truncate */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <llvm-c/BitWriter.h>
#include <llvm-c/IRReader.h>
#include <cmocka.h>
#include "codegen/codegen.h"
#include "link/link.h"
#include "registry/registry.h"
#include "loop_maker.h"
#include "test_context.h"

#define ADD_BODY "{ for (int i = 0; i < 16; i++) c[i] = a[i] + b[i]; }\n"
#define ADD "void add16(const float *a, const float *b, float *c) " ADD_BODY
static const char add_ll[] = "define void @add16(ptr %a, ptr %b, ptr %c) {\n"
                             "  %x = load <16 x float>, ptr %a, align 4\n"
                             "  %y = load <16 x float>, ptr %b, align 4\n"
                             "  %z = fadd <16 x float> %x, %y\n"
                             "  store <16 x float> %z, ptr %c, align 4\n"
                             "  ret void\n}\n";

/* Z = X + Y in tiles of 16 by a kernel add16, which is called for full tiles from the front, and for the last
 * tile aligned to the end. */
struct sum {
    struct maker m;
    struct uk_intrinsic *kernel;
};

static void make_sum(struct sum *s) {
    struct maker *m = &s->m;
    struct uk_tensor *t[3];

    make_begin(m, context, "sum");
    struct uk_index *n = value(m, make_size(m, "N", true));

    for (int i = 0; i < 3; i++)
        t[i] = make_tensor(m,
                           i == 0   ? "X"
                           : i == 1 ? "Y"
                                    : "Z",
                           UK_F32, (struct uk_index *[]){n, NULL}, i == 2);
    make_check(m, op(m, UK_I_GE, n, number(m, 16)), "N >= 16");
    struct uk_var *v = loop_variable(m, "i");
    struct uk_index *i = value(m, v), *last = op(m, UK_I_SUB, n, number(m, 16));
    struct uk_access front[] = {at(t[0], i, NULL), at(t[1], i, NULL), at(t[2], i, NULL)};
    struct uk_access end[] = {at(t[0], last, NULL), at(t[1], last, NULL), at(t[2], last, NULL)};

    s->kernel = make_intrinsic(m, "add16", 3);
    m->function.body = make_row(make_for(m, UK_LOOP_SERIAL, v, last, 16, make_call(m, s->kernel, front)),
                                make_call(m, s->kernel, end));
}

static void check_runs(struct sum *s) {
    struct uk_module *module;
    float x[50], y[50], z[50] = {0};
    int64_t n = 50;

    if (make_module(&s->m, "native", &module))
        fail_msg("%s", uk_context_message(context));
    for (int i = 0; i < 50; i++) {
        x[i] = (float)i;
        y[i] = (float)(3 * i);
    }
    assert_int_equal(uk_module_call(module, &n, NULL, (void *[]){x, y, z}), UK_OK);
    for (int i = 0; i < 50; i++)
        assert_true(z[i] == (float)(4 * i));
    assert_string_equal(uk_module_kernel(module, 0), "add16");
    assert_null(uk_module_kernel(module, 1));
    uk_module_destroy(module);
}

static void runs(int kind, const char *text) {
    struct sum s;

    make_sum(&s);
    make_import(&s.m, kind, text);
    check_runs(&s);
    make_end(&s.m);
}

/* Compiles for `target`; checks the status, and that the message contains all words. */
static void expect(struct sum *s, const char *target, enum uk_status status, const char *const word[]) {
    struct uk_module *module;
    enum uk_status got = make_module(&s->m, target, &module);

    assert_null(module);
    if (got != status)
        fail_msg("status %d instead of %d: %s", got, status, uk_context_message(context));
    for (int i = 0; word[i]; i++)
        if (!strstr(uk_context_message(context), word[i]))
            fail_msg("no '%s' in: %s", word[i], uk_context_message(context));
    make_end(&s->m);
    runs(UK_IMPORT_LL_TEXT, add_ll);
}

static void refused(int kind, const char *text, enum uk_status status, const char *const word[]) {
    struct sum s;

    make_sum(&s);
    make_import(&s.m, kind, text);
    expect(&s, "native", status, word);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* ---- files ---- */

static char path[2][64];

static void write_file(int which, const char *ending, const char *bytes, size_t n) {
    if (*path[which])
        unlink(path[which]);
    snprintf(path[which], sizeof path[which], "link-test-%d-%d%s", (int)getpid(), which, ending);
    FILE *f = fopen(path[which], "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static void remove_files(void) {
    for (int i = 0; i < 2; i++)
        if (*path[i])
            unlink(path[i]);
    memset(path, 0, sizeof path);
}

/* Writes add_ll as bitcode, at most `room` bytes; returns the number. */
static size_t bitcode(char *bytes, size_t room) {
    LLVMContextRef llvm = LLVMContextCreate();
    LLVMMemoryBufferRef text = LLVMCreateMemoryBufferWithMemoryRangeCopy(add_ll, sizeof add_ll - 1, "add16");
    LLVMModuleRef m;
    char *error;

    assert_false(LLVMParseIRInContext(llvm, text, &m, &error));
    LLVMMemoryBufferRef out = LLVMWriteBitcodeToMemoryBuffer(m);
    size_t n = LLVMGetBufferSize(out);

    assert_true(n <= room);
    memcpy(bytes, LLVMGetBufferStart(out), n);
    LLVMDisposeMemoryBuffer(out);
    LLVMDisposeModule(m);
    LLVMContextDispose(llvm);
    return n;
}

/* ---- what works ---- */

static void imports(void **state) {
    char bytes[16384];
    size_t n = bitcode(bytes, sizeof bytes);

    (void)state;
    runs(UK_IMPORT_C_TEXT, ADD);
    /* from the context's cache */
    runs(UK_IMPORT_C_TEXT, ADD);
    runs(UK_IMPORT_LL_TEXT, add_ll);
    write_file(0, ".bc", bytes, n);
    runs(UK_IMPORT_FILE, path[0]);
    remove_files();
    write_file(0, ".c", ADD, sizeof ADD - 1);
    runs(UK_IMPORT_FILE, path[0]);
    remove_files();
    write_file(0, ".ll", add_ll, sizeof add_ll - 1);
    runs(UK_IMPORT_FILE, path[0]);
    remove_files();
}

static void good_labels(void **state) {
    (void)state;
    runs(UK_IMPORT_C_TEXT,
         "void add16(const float *a, const float *b, float *c) {\n"
         "long n = 3; __asm__ volatile(\"again%=: dec %0\\njnz again%=\\nmov $2, %0; 1: dec %0\\n"
         "jnz 1b # x: y\" : \"+r\"(n) : : \"cc\");\n" ADD_BODY "}");
}

static void no_call_is_left(void **state) {
    const struct uk_target *t;
    char *text;
    size_t n;

    (void)state;
    for (enum uk_emit what = UK_EMIT_LLVM; what <= UK_EMIT_ASM; what++) {
        struct sum s;

        make_sum(&s);
        make_import(&s.m, UK_IMPORT_C_TEXT, ADD);
        assert_int_equal(uk_target_find(context, "x86_64-avx2", &t), UK_OK);
        if (uk_emit_code(&(struct uk_batch){.context = context,
                                            .function = (const struct uk_function *[]){&s.m.function},
                                            .count = 1,
                                            .target = t},
                         what, &text, &n))
            fail_msg("%s", uk_context_message(context));
        assert_int_equal(strlen(text), n);
        assert_true((strstr(text, "add16") != NULL) == (what <= UK_EMIT_LINKED));
        assert_true((strstr(text, "declare void @add16") != NULL) == (what == UK_EMIT_LLVM));
        free(text);
        make_end(&s.m);
    }
}

/* Two kernels' sources may have helpers of the same name. */
static void helpers_do_not_clash(void **state) {
    struct sum s;

    (void)state;
    make_sum(&s);
    make_import(&s.m, UK_IMPORT_C_TEXT, "float one(float x) { return x; }\n" ADD);
    make_import(&s.m, UK_IMPORT_C_TEXT,
                "float one(float x) { return x + 1; }\nvoid other(float *x) { *x = one(*x); }");
    check_runs(&s);
    make_end(&s.m);
}

/* ---- what is refused ---- */

static void missing_feature(void **state) {
    static const char *const need[] = {"avx2", "avx512f"};
    struct sum s;

    (void)state;
    make_sum(&s);
    make_import(&s.m, UK_IMPORT_C_TEXT, ADD);
    s.kernel->required = 2;
    s.kernel->requires_feature = (const char **)need;
    expect(&s, "x86_64-avx2", UK_UNSUPPORTED, WORDS("add16", "avx512f", "x86_64-avx2"));
}

/* Features that the code needs count, whatever the declaration says. */
static void undeclared_feature(void **state) {
    struct sum s;

    (void)state;
    make_sum(&s);
    make_import(&s.m, UK_IMPORT_C_TEXT,
                "#include <immintrin.h>\n__attribute__((target(\"avx512f\"))) void add16(const float *a, "
                "const float *b, "
                "float *c) { _mm512_storeu_ps(c, _mm512_add_ps(_mm512_loadu_ps(a), _mm512_loadu_ps(b))); }");
    expect(&s, "x86_64-avx2", UK_UNSUPPORTED, WORDS("add16", "avx512f", "x86_64-avx2"));
    make_sum(&s);
    make_import(
        &s.m, UK_IMPORT_LL_TEXT,
        "declare <16 x float> @llvm.x86.avx512.rcp14.ps.512(<16 x float>, <16 x float>, i16)\n"
        "define void @add16(ptr %a, ptr %b, ptr %c) {\n"
        "  %x = load <16 x float>, ptr %a, align 4\n"
        "  %r = call <16 x float> @llvm.x86.avx512.rcp14.ps.512(<16 x float> %x, <16 x float> %x, i16 -1)\n"
        "  store <16 x float> %r, ptr %c, align 4\n  ret void\n}\n");
    expect(&s, "x86_64-avx2", UK_UNSUPPORTED, WORDS("avx512f", "x86_64-avx2"));
}

static void bad_assembly(void **state) {
    (void)state;
    refused(UK_IMPORT_C_TEXT,
            "void add16(const float *a, const float *b, float *c) { __asm__ volatile(\"frobnicate %rax\"); }",
            UK_LINK, WORDS("assembler", "frobnicate"));
}

static void same_name(void **state) {
    struct sum s;

    (void)state;
    make_sum(&s);
    s.m.function.name = "add16";
    make_import(&s.m, UK_IMPORT_C_TEXT, ADD);
    expect(&s, "native", UK_INVALID_ARGUMENT, WORDS("add16", "rename"));
}

static void too_large(void **state) {
    (void)state;
    write_file(0, ".ll", "", 0);
    assert_int_equal(truncate(path[0], (64 << 20) + 1), 0);
    refused(UK_IMPORT_FILE, path[0], UK_IO, WORDS(path[0], "64 MiB"));
    remove_files();
}

static void wrong_type(void **state) {
    (void)state;
    refused(UK_IMPORT_C_TEXT, "void add16(const float *a, const float *b, float *c, int n)" ADD_BODY, UK_LINK,
            WORDS("add16", "void (ptr, ptr, ptr, i32)", "void (ptr, ptr, ptr)"));
    refused(UK_IMPORT_C_TEXT, "int add16(const float *a, const float *b, float *c) { return 0; }", UK_LINK,
            WORDS("i32 (ptr, ptr, ptr)"));
}

static void not_inlinable(void **state) {
    (void)state;
    refused(UK_IMPORT_C_TEXT, "__attribute__((noinline)) " ADD, UK_LINK, WORDS("add16", "noinline"));
    refused(UK_IMPORT_LL_TEXT, "define void @add16(ptr %a, ptr %b, ptr %c) noinline optnone { ret void }",
            UK_LINK, WORDS("add16", "-O2"));
    refused(
        UK_IMPORT_C_TEXT,
        "__attribute__((naked)) void add16(const float *a, const float *b, float *c) { __asm__(\"ret\"); }",
        UK_LINK, WORDS("add16", "naked"));
    refused(UK_IMPORT_C_TEXT,
            "void add16(const float *a, const float *b, float *c) { if (a[0] > 0) { c[0] = 1; add16(b, a, c "
            "+ 1); c[2] = a[3]; add16(a, b, c); } }",
            UK_LINK, WORDS("add16", "not inlined"));
}

static void literal_label(void **state) {
    (void)state;
    refused(UK_IMPORT_C_TEXT,
            "void add16(const float *a, const float *b, float *c) { long n = 3;\n"
            "__asm__ volatile(\"nop; myloop: dec %0\\njnz myloop\" : \"+r\"(n) : : \"cc\"); }",
            UK_LINK, WORDS("add16", "'myloop'", "%="));
    refused(
        UK_IMPORT_C_TEXT,
        "void add16(const float *a, const float *b, float *c) { __asm__ volatile(\"1: .Ltail :\\nnop\"); }",
        UK_LINK, WORDS("'.Ltail'"));
}

static void calls_out(void **state) {
    (void)state;
    refused(UK_IMPORT_C_TEXT,
            "float expf(float);\nvoid add16(const float *a, const float *b, float *c) { c[0] = expf(a[0]); }",
            UK_LINK, WORDS("calls expf"));
    refused(UK_IMPORT_C_TEXT, "void add16(void (*a)(void), const float *b, float *c) { a(); }", UK_LINK,
            WORDS("add16", "pointer"));
}

static void state_and_symbols(void **state) {
    (void)state;
    refused(UK_IMPORT_C_TEXT, "int calls;\nvoid add16(const float *a, const float *b, float *c) { calls++; }",
            UK_LINK, WORDS("calls", "constant"));
    refused(UK_IMPORT_C_TEXT,
            "extern float f;\nvoid add16(const float *a, const float *b, float *c) { c[0] = f; }", UK_LINK,
            WORDS("variable f"));
    refused(UK_IMPORT_C_TEXT, "__asm__(\"nop\");\n" ADD, UK_LINK, WORDS("asm outside of functions"));
    refused(UK_IMPORT_C_TEXT, ADD "void other(float *) __attribute__((alias(\"add16\")));", UK_LINK,
            WORDS("other", "alias"));
}

static void duplicate_symbol(void **state) {
    struct sum s;

    (void)state;
    write_file(0, ".c", ADD, sizeof ADD - 1);
    write_file(1, ".ll", add_ll, sizeof add_ll - 1);
    make_sum(&s);
    make_import(&s.m, UK_IMPORT_FILE, path[0]);
    make_import(&s.m, UK_IMPORT_FILE, path[1]);
    expect(&s, "native", UK_LINK, WORDS(path[0], path[1], "both define add16"));
    remove_files();
    refused(UK_IMPORT_C_TEXT, "void add17(void) {}", UK_LINK, WORDS("no import defines add16"));
}

static unsigned bit(const unsigned char *bytes, size_t at) {
    return bytes[at / 8] >> at % 8 & 1;
}

/*
 * Raises the epoch in the identification block. Its record comes last in that block: the literal code in the
 * abbreviation, then the epoch as vbr6 (0), then the block's end, so it is found from the end of the block:
 * END_BLOCK aligned to 32 bits. The block is searched for the abbreviation's id (5, the second one, 5 bits
 * wide) before 6 zeros and the end (5 zeros).
 */
static void raise_epoch(char *data) {
    unsigned char *bytes = (unsigned char *)data;
    size_t words, begin, at;

    /* 'BC' C0DE; 2 bits of id, 8 of block id, 4 of width; aligned; a word of length */
    assert_int_equal(bytes[4] & 3, 1);
    assert_int_equal((bytes[4] >> 2 | bytes[5] << 6) & 0xff, 13);
    memcpy(&words, bytes + 8, 4);
    words &= 0xffffffff;
    begin = 96;
    for (at = begin + 32 * words - 16; at > begin; at--) {
        unsigned id = 0, rest = 0;

        for (size_t i = 0; i < 5; i++)
            id |= bit(bytes, at + i) << i;
        for (size_t i = at + 5; i < begin + 32 * words; i++)
            rest |= bit(bytes, i);
        if (id == 5 && !rest)
            break;
    }
    assert_true(at > begin);
    bytes[(at + 5) / 8] |= (unsigned char)(1u << (at + 5) % 8);
}

static void newer_llvm(void **state) {
    char bytes[16384];
    size_t n = bitcode(bytes, sizeof bytes);

    (void)state;
    raise_epoch(bytes);
    write_file(0, ".bc", bytes, n);
    refused(UK_IMPORT_FILE, path[0], UK_LINK, WORDS(path[0], "newer LLVM", "epoch 1", "LLVM19."));
    remove_files();
}

static void broken_files(void **state) {
    char bytes[16384];
    size_t n = bitcode(bytes, sizeof bytes);

    (void)state;
    for (size_t cut = 4; cut < n; cut += cut < 64 ? 4 : 64) {
        write_file(0, ".bc", bytes, cut);
        refused(UK_IMPORT_FILE, path[0], UK_LINK, WORDS(path[0], "not valid bitcode"));
    }
    write_file(0, ".ll", "define void @add16(", 19);
    refused(UK_IMPORT_FILE, path[0], UK_LINK, WORDS(path[0], "not valid LLVM IR"));
    write_file(0, ".bc", "", 0);
    refused(UK_IMPORT_FILE, path[0], UK_LINK, WORDS(path[0], "not valid"));
    remove_files();
    write_file(0, ".c", "void add16(", 11);
    refused(UK_IMPORT_FILE, path[0], UK_LINK, WORDS(path[0], "does not compile", ":1:"));
    remove_files();
    refused(UK_IMPORT_FILE, "no-such-file.c", UK_IO, WORDS("no-such-file.c", "cannot open"));
    refused(UK_IMPORT_FILE, "/dev/zero.c", UK_IO, WORDS("/dev/zero.c"));
    refused(UK_IMPORT_FILE, "kernel.rs", UK_UNSUPPORTED, WORDS("kernel.rs", ".bc"));
}

/* Messages list all targets of archs.def, and the interpreter's; all of them exist. */
static void targets_are_listed(void **state) {
    static const char *const names[] = {
#define UK_TARGET_ROW(name, ...) name,
#include "machine/archs.def"
        "interp", NULL};
    const int count = sizeof names / sizeof *names;

    (void)state;
    for (int i = 0; i < count - 1; i++) {
        assert_string_equal(uk_target_name(i), names[i]);
        assert_int_not_equal(uk_target_runs(context, names[i]), UK_INVALID_ARGUMENT);
    }
    assert_null(uk_target_name(count - 1));
    assert_null(uk_target_name(-1));
    assert_string_equal(uk_tensorize_version(), uk_version());
}

static void unsuitable_targets(void **state) {
    struct sum s;

    (void)state;
    make_sum(&s);
    expect(&s, "vax", UK_INVALID_ARGUMENT, WORDS("vax", "x86_64-avx2"));
    make_sum(&s);
    expect(&s, "x86_64-avx2+mmmx", UK_INVALID_ARGUMENT, WORDS("mmmx"));
}

/* If an architecture numbers its address spaces, a kernel's pointers have that of their operand. */
static void address_spaces(void **state) {
    static const char call[] = "call void @add16(ptr addrspace(3) %", *const casts[] = {
                                                                          " to ptr addrspace(3)",
                                                                          " to ptr addrspace(5)"};
    const struct uk_kernel row = {.b_space = UK_SPACE_GLOBAL, .c_space = UK_SPACE_SHARED};
    struct uk_known_target known = {.machine = NULL};
    const struct uk_target *plain;
    LLVMTypeRef type[3];
    struct uk_arch arch;
    struct uk_build b;
    struct sum s;

    (void)state;
    make_sum(&s);
    assert_int_equal(uk_target_find(context, "x86_64-avx2", &plain), UK_OK);
    arch = *plain->arch;
    memcpy(arch.spaces, (unsigned[]){0, 1, 3, 5}, sizeof arch.spaces);
    known.target = *plain;
    known.target.arch = &arch;
    s.kernel->declaration->tensors->scope = UK_SCOPE_SHARED;
    s.kernel->declaration->tensors->next->scope = UK_SCOPE_REGISTER;
    assert_int_equal(uk_build_begin(&b, context, &s.m.function, &known.target), UK_OK);
    assert_int_equal(uk_codegen(&b), UK_OK);
    char *text = LLVMPrintModuleToString(b.module);
    const char *found = strstr(text, call);

    assert_non_null(found);
    assert_int_equal(strncmp(strchr(found, ',') + 2, "ptr addrspace(5) %", 18), 0);
    assert_int_equal(strncmp(strchr(strchr(found, ',') + 1, ',') + 2, "ptr %", 5), 0);
    for (int i = 0; i < 2; i++)
        assert_non_null(strstr(text, casts[i]));
    LLVMDisposeMessage(text);
    /* A registry row gives the spaces of its three operands, whatever the declaration's tensors say. */
    s.kernel->row = &row;
    LLVMGetParamTypes(uk_llvm_prototype(&b, s.kernel, &s.kernel->form[UK_FORM_COMPUTE], &s.m.program.arena),
                      type);
    for (int i = 0; i < 3; i++)
        assert_int_equal(LLVMGetPointerAddressSpace(type[i]), ((int[]){0, 1, 3})[i]);
    uk_build_end(&b);
    LLVMDisposeTargetMachine(known.machine);
    make_end(&s.m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(imports),
        cmocka_unit_test(good_labels),
        cmocka_unit_test(no_call_is_left),
        cmocka_unit_test(helpers_do_not_clash),
        cmocka_unit_test(missing_feature),
        cmocka_unit_test(wrong_type),
        cmocka_unit_test(undeclared_feature),
        cmocka_unit_test(bad_assembly),
        cmocka_unit_test(same_name),
        cmocka_unit_test(too_large),
        cmocka_unit_test(not_inlinable),
        cmocka_unit_test(literal_label),
        cmocka_unit_test(calls_out),
        cmocka_unit_test(state_and_symbols),
        cmocka_unit_test(duplicate_symbol),
        cmocka_unit_test(newer_llvm),
        cmocka_unit_test(broken_files),
        cmocka_unit_test(targets_are_listed),
        cmocka_unit_test(unsuitable_targets),
        cmocka_unit_test(address_spaces),
    };

    return cmocka_run_group_tests(tests, make_context, destroy_context);
}
