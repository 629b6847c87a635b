/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bundles: programs, constants and a source (C or LLVM IR) as one piece of code.
 *
 *     bundle                              tests in this process
 *     bundle --objects FOLDER TARGET...   writes a bundle's object for each target to FOLDER/TARGET.first.o,
 * and one that exports other names to FOLDER/TARGET.second.o, which tests/cross/bundles.sh links with a
 * program
 */
#define _GNU_SOURCE /* memfd_create */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>
#include "test_context.h"

enum { N = 40, BYTES = 5 };

static const char scale_text[] = "tensor X f32 [40]\ntensor W f32 [40]\ntemp T f32 [40]\ntensor Y f32 [40]\n"
                                 "T[i] = X[i] * W[i]\nY[i] = T[i] + T[39 - i]\n";
static const char sum_text[] = "tensor X f32 [N]\ntensor Y f32 []\nY[] = sum(i) X[i]\n";
/* A program reads `weights`, and this code copies it, for which LLVM examines its contents; no code uses
 * `unused`. */
static const char source[] = "#include <stddef.h>\n"
                             "void *memcpy(void *, const void *, size_t);\n"
                             "int calls;\n"
                             "int helper(void) { return ++calls; }\n"
                             "const void *bundle_bytes(void) { return bytes; }\n"
                             "const void *bundle_far(void) { return far; }\n"
                             "void bundle_weights(float *to) {\n"
                             "    __builtin_memcpy(to, weights, 24);\n"
                             "    memcpy(to + 6, weights + 24, sizeof weights - 24);\n"
                             "}\n"
                             "int64_t bundle_memory(void) { return sum_workspace(40) + scale_workspace(); }\n"
                             "int bundle_run(const float *x, float *y, float *total, void *work) {\n"
                             "    helper();\n"
                             "    int status = scale(x, (const void *)weights, y, work);\n"
                             "    return status != UK_OK ? status : sum(40, y, total, work);\n"
                             "}\n";
/* The same in LLVM IR. */
static const char llvm_source[] = "declare i32 @scale(ptr, ptr, ptr, ptr)\n"
                                  "declare i32 @sum(i64, ptr, ptr, ptr)\n"
                                  "declare i64 @scale_workspace()\n"
                                  "declare i64 @sum_workspace(i64)\n"
                                  "declare ptr @memcpy(ptr, ptr, i64)\n"
                                  "define void @helper() { ret void }\n"
                                  "define ptr @bundle_bytes() { ret ptr @bytes }\n"
                                  "define ptr @bundle_far() { ret ptr @far }\n"
                                  "define void @bundle_weights(ptr %to) {\n"
                                  "  %p = call ptr @memcpy(ptr %to, ptr @weights, i64 160)\n"
                                  "  ret void\n"
                                  "}\n"
                                  "define i64 @bundle_memory() {\n"
                                  "  %a = call i64 @sum_workspace(i64 40)\n"
                                  "  %b = call i64 @scale_workspace()\n"
                                  "  %c = add i64 %a, %b\n"
                                  "  ret i64 %c\n"
                                  "}\n"
                                  "define i32 @bundle_run(ptr %x, ptr %y, ptr %total, ptr %work) {\n"
                                  "  call void @helper()\n"
                                  "  %a = call i32 @scale(ptr %x, ptr @weights, ptr %y, ptr %work)\n"
                                  "  %b = call i32 @sum(i64 40, ptr %y, ptr %total, ptr %work)\n"
                                  "  %c = or i32 %a, %b\n"
                                  "  ret i32 %c\n"
                                  "}\n";
static const char *const exported[] = {"bundle_run", "bundle_memory", "bundle_bytes", "bundle_far",
                                       "bundle_weights"};
static const struct uk_options options = {.target = "native", .workspace_argument = true};

static float weights[N];
static unsigned char bytes[BYTES] = {1, 2, 3, 4, 5}, far[3000];

static struct uk_constant constants[] = {
    {"weights", weights, sizeof weights, 0},
    {"bytes", bytes, sizeof bytes, 1},
    {"far", far, sizeof far, 4096},
    {"unused", far, sizeof far, 0},
    {"empty", NULL, 0, 0},
};

struct made {
    struct uk_context *context;
    struct uk_program *program[2];
    struct uk_bundle bundle;
};

static void make(struct made *m) {
    for (int i = 0; i < N; i++)
        weights[i] = (float)(i + 1);
    for (size_t i = 0; i < sizeof far; i++)
        far[i] = (unsigned char)(i % 251);
    m->context = uk_context_create();
    m->program[0] = parse_in(m->context, "scale.uk", scale_text);
    m->program[1] = parse_in(m->context, "sum.uk", sum_text);
    m->bundle = (struct uk_bundle){
        .programs = m->program,
        .count = 2,
        .constants = constants,
        .constant_count = sizeof constants / sizeof *constants,
        .source = source,
        .exported = exported,
        .exported_count = sizeof exported / sizeof *exported,
    };
}

static void end(struct made *m) {
    uk_program_destroy(m->program[0]);
    uk_program_destroy(m->program[1]);
    uk_context_destroy(m->context);
}

/* ---- behaviour of the functions ---- */

typedef void *find_function(void *from, const char *name);

static void *find(find_function *function, void *from, const char *name) {
    void *found = function(from, name);

    if (!found)
        fail_msg("there is no %s", name);
    return found;
}

#define FIND(function, name)                        \
    do {                                            \
        void *found = find(lookup, from, name);     \
        memcpy(&function, &found, sizeof function); \
    } while (0)

static void check_code(find_function *lookup, void *from) {
    int (*run)(const float *, float *, float *, void *);
    int64_t (*memory)(void);
    const void *(*get_bytes)(void), *(*get_far)(void);
    void (*get_weights)(float *);
    float x[N], y[N], total = 0;

    FIND(run, "bundle_run");
    FIND(memory, "bundle_memory");
    FIND(get_bytes, "bundle_bytes");
    FIND(get_far, "bundle_far");
    FIND(get_weights, "bundle_weights");
    for (int i = 0; i < N; i++)
        x[i] = 1;
    const int64_t size = memory();
    void *work = aligned_alloc(64, (size_t)(size + 63) / 64 * 64 + 64);

    assert_non_null(work);
    assert_int_equal(run(x, y, &total, work), UK_OK);
    for (int i = 0; i < N; i++)
        assert_true(y[i] == N + 1);
    assert_true(total == N * (N + 1));
    assert_memory_equal(get_bytes(), bytes, sizeof bytes);
    assert_memory_equal(get_far(), far, sizeof far);
    assert_int_equal((uintptr_t)get_far() % 4096, 0);
    get_weights(y);
    assert_memory_equal(y, weights, sizeof y);
    free(work);
}

static void *in_module(void *from, const char *name) {
    return uk_module_find(from, name);
}

static void check_in_this_process(const char *text, bool is_llvm) {
    static const char *const hidden[] = {"scale", "sum", "sum_workspace", "weights", "helper", "scale.call"};
    struct uk_module *m;
    struct made b;

    make(&b);
    b.bundle.source = text;
    b.bundle.source_is_llvm = is_llvm;
    if (uk_compile_bundle(&b.bundle, &options, &m))
        fail_msg("%s", uk_context_message(b.context));
    assert_ptr_equal(uk_module_function(m), uk_module_find(m, "bundle_run"));
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        assert_null(uk_module_find(m, hidden[i]));
    assert_int_equal(uk_module_call(m, (int64_t[]){1}, (double[]){1}, (void *[]){weights, weights, weights}),
                     UK_INVALID_ARGUMENT);
    end(&b);
    /* the constants were copied */
    memset(far, 0, 1);
    far[0] = 0;
    check_code(in_module, m);
    uk_module_destroy(m);
}

static void in_this_process(void **state) {
    (void)state;
    check_in_this_process(source, false);
    check_in_this_process(llvm_source, true);
}

static void shared_object(void **state) {
    struct made b;
    size_t length;
    char *object, path[64];
    int fd = memfd_create("lib", 0);

    (void)state;
    make(&b);
    if (uk_emit_bundle(&b.bundle, &options, UK_EMIT_SHARED, &object, &length))
        fail_msg("%s", uk_context_message(b.context));
    end(&b);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, object, length), length);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fail_msg("%s", dlerror());
    check_code(dlsym, library);
    assert_null(dlsym(library, "scale"));
    assert_null(dlsym(library, "helper"));
    assert_null(dlsym(library, "weights"));
    dlclose(library);
    close(fd);
    uk_text_free(object);
}

/* Constants' values appear in the texts; names that are not exported are internal. */
static void texts(void **state) {
    struct made b;
    size_t length;
    char *text;

    (void)state;
    make(&b);
    for (enum uk_emit what = UK_EMIT_LLVM; what <= UK_EMIT_ASM; what++) {
        if (uk_emit_bundle(&b.bundle, &options, what, &text, &length))
            fail_msg("%s", uk_context_message(b.context));
        assert_int_equal(length, strlen(text));
        assert_non_null(strstr(text, what == UK_EMIT_ASM ? "\"\\001\\002\\003\\004\\005\""
                                                         : "c\"\\01\\02\\03\\04\\05\""));
        assert_null(strstr(text, "unused"));
        if (what != UK_EMIT_ASM)
            assert_true(strstr(text, "define internal i32 @scale(") && strstr(text, " @bundle_run("));
        uk_text_free(text);
    }
    assert_int_equal(uk_emit_bundle(&b.bundle, &options, UK_EMIT_LOOPS, &text, &length), UK_OK);
    assert_non_null(strstr(text, "# sum\n"));
    uk_text_free(text);
    end(&b);
}

/* ---- objects for other programs ---- */

static int write_object(const struct made *b, const char *folder, const char *target, const char *name) {
    const struct uk_options for_target = {.target = target, .workspace_argument = true};
    char *object, path[4096];
    size_t length;

    if (uk_emit_bundle(&b->bundle, &for_target, UK_EMIT_OBJECT, &object, &length)) {
        fprintf(stderr, "%s: %s\n", target, uk_context_message(b->context));
        return 1;
    }
    snprintf(path, sizeof path, "%s/%s.%s.o", folder, target, name);
    FILE *f = fopen(path, "wb");
    bool written = f && fwrite(object, 1, length, f) == length;

    written &= f && !fclose(f);
    uk_text_free(object);
    return !written;
}

static int write_objects(const char *folder, char **targets) {
    static const char other[] = "int calls;\nint other_run(const float *x, float *y, void *work) {\n"
                                "    calls++;\n    return scale(x, (const void *)weights, y, work);\n}\n";
    int status = 0;

    for (char **t = targets; *t && !status; t++) {
        struct made b;

        make(&b);
        status = write_object(&b, folder, *t, "first");
        b.bundle.source = other;
        b.bundle.exported = (const char *const[]){"other_run"};
        b.bundle.exported_count = 1;
        if (!status)
            status = write_object(&b, folder, *t, "second");
        end(&b);
    }
    return status;
}

/* ---- what is refused ---- */

/* Compares the first line; LLVM and clang print the source's line after it. */
static bool is_said(const struct made *b, const char *message) {
    const char *said = uk_context_message(b->context);
    const size_t n = strcspn(said, "\n");

    return strlen(message) == n && !memcmp(said, message, n);
}

static void says(struct made *b, enum uk_status expected, const char *message) {
    struct uk_module *m = (struct uk_module *)b;
    char *object = (char *)b;
    size_t length = 1;
    enum uk_status s = uk_compile_bundle(&b->bundle, &options, &m);

    if (s != expected || m || !is_said(b, message))
        fail_msg("status %d, not \"%s\": %s", (int)s, message, uk_context_message(b->context));
    assert_int_equal(uk_emit_bundle(&b->bundle, &options, UK_EMIT_OBJECT, &object, &length), expected);
    assert_true(is_said(b, message));
    assert_true(!object && !length);
}

/* Replaces the good source by this one, which must be refused. */
static void refused_text(const char *text, bool is_llvm, const char *message) {
    struct made b;

    make(&b);
    b.bundle.source = text;
    b.bundle.source_is_llvm = is_llvm;
    says(&b, strstr(message, "lacks an instruction") ? UK_UNSUPPORTED : UK_LINK, message);
    end(&b);
}

static void refused_source(const char *text, const char *message) {
    refused_text(text, false, message);
}

static void llvm_sources(void **state) {
    (void)state;
    refused_text("\ndefine i32 @bundle_run() { ret i64 0 }\n", true,
                 "error: source: not valid LLVM IR: source:2:32: error: value doesn't match function result "
                 "type 'i32'");
    refused_text("int bundle_run(void) { return 0; }", true,
                 "error: source: not valid LLVM IR: source:1:1: error: expected top-level entity");
    refused_text("", true, "error: source: not valid LLVM IR: it defines no function");
    refused_text("define i32 @bundle_run() { ret i64 0 }", false,
                 "error: source: does not compile: source:1:1: error: unknown type name 'define'");
    refused_text(
        "declare i32 @other()\ndefine i32 @bundle_run() {\n  %a = call i32 @other()\n  ret i32 %a\n}", true,
        "error: source: calls other, which neither it nor a program defines; define it there");
    refused_text("@bytes = constant [5 x i8] zeroinitializer\ndefine ptr @bundle_run() { ret ptr @bytes }",
                 true,
                 "error: source: not valid LLVM IR: source:4:1: error: redefinition of global '@bytes'");
    refused_text("define i64 @sum_workspace(i64 %n) { ret i64 %n }", true,
                 "error: source: defines sum_workspace, a function that the programs have or call; give it "
                 "another name");
    refused_text(
        "define i32 @bundle_run() {\n  call void asm \"nonsense\", \"\"()\n  ret i32 0\n}", true,
        "error: source: target native lacks an instruction that it uses: <inline asm>:1:2: error: invalid "
        "instruction mnemonic 'nonsense'; leave it out, or use a target that has it");
}

static void sources(void **state) {
    (void)state;
    refused_source(
        "\nint bundle_run(void) { return 0 }\nint bundle_run(void) { return 0; }\n",
        "error: source: does not compile: source:2:32: error: expected ';' after return statement");
    refused_source("int x(void) { }\nint scale(int a) { return a; }",
                   "error: source: does not compile: source:2:5: error: conflicting types for 'scale'");
    refused_source("int other(int); int bundle_run(void) { return other(1); }",
                   "error: source: calls other, which neither it nor a program defines; define it there");
    refused_source("extern int other; int bundle_run(void) { return other; }",
                   "error: source: refers to other, which is neither defined there nor a constant");
    refused_source("int64_t sum_workspace(int64_t n) { return n; }",
                   "error: source: defines sum_workspace, a function that the programs have or call; give it "
                   "another name");
    refused_source(
        "void *memset(void *p, int c, unsigned long n) { return (void)c, (void)n, p; }",
        "error: source: defines memset, a function that the programs have or call; give it another name");
    refused_source("int bundle_run(void) { __asm__(\"nonsense\"); return 0; }",
                   "error: source: target native lacks an instruction that it uses: <inline asm>:1:2: "
                   "error: invalid instruction mnemonic "
                   "'nonsense'; leave it out, or use a target that has it");
    refused_source("const unsigned char bytes[5] = {1};",
                   "error: source: defines bytes, which is the name of a constant; rename it");
    refused_source(
        "asm(\".globl leak\\nleak: .byte 0\");",
        "error: source: has assembly outside of functions, whose names cannot be known; put it into one");
}

static void exports(void **state) {
    static const char *const none[] = {"bundle_walk"}, *const is_static[] = {"helper"},
                             *const constant[] = {"bytes"},
                             *const twice[] = {"bundle_run", "bundle_memory", "bundle_run"},
                             *const odd[] = {"a b"}, *const word[] = {"while"}, *const null[] = {NULL};
    static const struct {
        const char *const *names;
        int count;
        const char *message;
    } bad[] = {
        {none, 1,
         "error: exported: neither the source nor a program defines a function bundle_walk; define it in the "
         "source, without static"},
        {is_static, 1,
         "error: exported: neither the source nor a program defines a function helper; define it in the "
         "source, without static"},
        {constant, 1, "error: exported: bytes is a constant; export a function that returns its address"},
        {twice, 3,
         "error: bundle_run is the name of two exported functions; leave one out, or give it another name"},
        {odd, 1, "error: the name of an exported function, \"a b\", is not a C identifier"},
        {null, 1, "error: the name of an exported function, NULL, is not a C identifier"},
        {word, 1,
         "error: the name of an exported function, \"while\", is a word or a standard function of C or C++; "
         "use another one"},
        {NULL, 1, "error: the list of exported functions is NULL; pass its address"},
        {none, -1, "error: -1 exported functions; give 0 to 65536 of them"},
        {none, 0,
         "error: no function is exported, so nothing of the bundle could be called; name the functions that "
         "others call"},
    };
    struct made b;

    (void)state;
    make(&b);
    b.bundle.source =
        "static __attribute__((noinline)) int helper(void) { __asm__ volatile(\"\"); return 1; }\n"
        "int bundle_run(void) { return helper(); }\n";
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        b.bundle.exported = bad[i].names;
        b.bundle.exported_count = bad[i].count;
        says(&b, UK_INVALID_ARGUMENT, bad[i].message);
    }
    end(&b);
}

static void refused_constants(void **state) {
    static const struct {
        struct uk_constant constant;
        const char *message;
    } bad[] = {
        {{"weights", bytes, 1, 0},
         "error: weights is the name of two constants; leave one out, or give it another name"},
        {{"scale", bytes, 1, 0},
         "error: scale is the name of a constant and of a program's function; rename the constant"},
        {{"sum_workspace", bytes, 1, 0},
         "error: sum_workspace is the name of a constant and of a program's function; rename the constant"},
        {{"1st", bytes, 1, 0}, "error: the name of a constant, \"1st\", is not a C identifier"},
        {{NULL, bytes, 1, 0}, "error: the name of a constant, NULL, is not a C identifier"},
        {{"int", bytes, 1, 0},
         "error: the name of a constant, \"int\", is a word or a standard function of C or C++; "
         "use another one"},
        {{"k", NULL, 1, 0}, "error: the bytes of constant k are NULL; pass their address"},
        {{"k", bytes, 1, 3}, "error: the alignment of constant k is 3; use a power of two up to 4096"},
        {{"k", bytes, 1, 8192}, "error: the alignment of constant k is 8192; use a power of two up to 4096"},
        {{"k", bytes, (size_t)1 << 30, 0},
         "error: constant k of 1073741824 bytes: the constants are more than 1073741824 bytes in all; load "
         "such data when the code runs"},
    };
    struct uk_constant list[] = {constants[0], {0}};
    struct made b;

    (void)state;
    make(&b);
    b.bundle.constants = list;
    b.bundle.constant_count = 2;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        list[1] = bad[i].constant;
        says(&b, UK_INVALID_ARGUMENT, bad[i].message);
    }
    b.bundle.constant_count = -1;
    says(&b, UK_INVALID_ARGUMENT, "error: -1 constants; give 0 to 65536 of them");
    b.bundle.constant_count = 1;
    b.bundle.constants = NULL;
    says(&b, UK_INVALID_ARGUMENT, "error: the list of constants is NULL; pass its address");
    b.bundle.source = NULL;
    says(&b, UK_INVALID_ARGUMENT,
         "error: 1 constants are given, but the source is NULL and cannot use them; leave them out");
    end(&b);
}

static void refused_stages(void **state) {
    struct uk_module *m;
    struct made b;
    size_t length;
    char *text;

    (void)state;
    make(&b);
    assert_int_equal(uk_emit_bundle(&b.bundle, &options, UK_EMIT_HEADER, &text, &length), UK_UNSUPPORTED);
    assert_non_null(strstr(uk_context_message(b.context), "a bundle has no header"));
    assert_int_equal(uk_emit_bundle(&b.bundle, &(struct uk_options){.target = "amdgcn-gfx90a"},
                                    UK_EMIT_OBJECT, &text, &length),
                     UK_UNSUPPORTED);
    assert_non_null(strstr(uk_context_message(b.context), "is a GPU, but bundles are for CPUs"));
    assert_int_equal(uk_compile_bundle(&b.bundle, &(struct uk_options){.target = "interp"}, &m),
                     UK_UNSUPPORTED);
    assert_int_equal(uk_compile_bundle(&b.bundle, &(struct uk_options){.interpret = true}, &m),
                     UK_UNSUPPORTED);
    assert_int_equal(uk_compile_bundle(NULL, &options, &m), UK_INVALID_ARGUMENT);
    assert_int_equal(uk_emit_bundle(NULL, &options, UK_EMIT_OBJECT, &text, &length), UK_INVALID_ARGUMENT);
    end(&b);
}

/* Exports by name also work without a source. */
static void without_source(void **state) {
    static const char *const only[] = {"sum"};
    struct uk_module *m;
    struct made b;

    (void)state;
    make(&b);
    b.bundle = (struct uk_bundle){.programs = b.program, .count = 2, .exported = only, .exported_count = 1};
    if (uk_compile_bundle(&b.bundle, &options, &m))
        fail_msg("%s", uk_context_message(b.context));
    assert_non_null(uk_module_find(m, "sum"));
    assert_null(uk_module_find(m, "scale"));
    uk_module_destroy(m);
    end(&b);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_this_process), cmocka_unit_test(shared_object),
        cmocka_unit_test(texts),           cmocka_unit_test(sources),
        cmocka_unit_test(exports),         cmocka_unit_test(refused_constants),
        cmocka_unit_test(refused_stages),  cmocka_unit_test(without_source),
        cmocka_unit_test(llvm_sources),
    };

    if (argc > 2 && !strcmp(argv[1], "--objects"))
        return write_objects(argv[2], argv + 3);
    return cmocka_run_group_tests_name("bundle", tests, NULL, NULL);
}
