/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Imports that nothing uses: each is read once, and refused at its place, whatever is done with the program.
 *
 *     import_unused CLANG
 */
#define _GNU_SOURCE /* asprintf, RTLD_NEXT */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "importing.h"

#define BODY "tensor X f32 [N]\ntensor Y f32 [N]\nY[i] = X[i] + X[i]\n"
#define STEPS "schedule\n  split Y.i 4 -> io ii\n  "

/* Number of files in the folder that the library has opened. */
static int opened;

int open(const char *path, int flags, ...) {
    static int (*next)(const char *, int, ...);

    if (!next) {
        void *address = dlsym(RTLD_NEXT, "open");

        memcpy(&next, &address, sizeof next);
    }
    opened += !strncmp(path, folder, strlen(folder));
    return next(path, flags, 0600);
}

/* Uses of a program, each of which has to read its imports. */
static enum uk_status compile(struct uk_program *p, const char *target) {
    const struct uk_options options = {.target = target};
    struct uk_module *m;
    enum uk_status s = uk_compile(p, &options, &m);

    assert_true(!s == !!m);
    uk_module_destroy(m);
    return s;
}

static enum uk_status explain(struct uk_program *p, const char *target) {
    const struct uk_options options = {.target = target};
    char *text;
    enum uk_status s = uk_explain(p, &options, &text);

    assert_true(!s == !!text);
    uk_text_free(text);
    return s;
}

static enum uk_status emit(struct uk_program *p, const char *target, enum uk_emit what) {
    const struct uk_options options = {.target = target};
    size_t length;
    char *bytes;
    enum uk_status s = uk_emit(p, &options, what, &bytes, &length);

    assert_true(!s == !!bytes);
    uk_text_free(bytes);
    return s;
}

/* As one of two programs, the other of which has no imports. */
static enum uk_status beside(struct uk_program *p, const char *target) {
    const struct uk_options options = {.target = target};
    struct uk_program *other = parse("other", BODY), *both[] = {other, p};
    size_t length;
    char *bytes;
    enum uk_status s = uk_emit_programs(both, 2, &options, UK_EMIT_LOOPS, &bytes, &length);

    uk_text_free(bytes);
    uk_program_destroy(other);
    return s;
}

static void says(const char *use, enum uk_status status, const char *where, const char *what) {
    char *expected;

    assert_true(asprintf(&expected, "%serror: import ", where) > 0);
    const char *message = uk_context_message(context);

    if (status == UK_OK || !strstr(message, expected) || !strstr(message, what))
        fail_msg("%s: status %d, not '%s...%s', but: %s", use, status, expected, what, message);
    free(expected);
}

static void refused_everywhere(struct uk_program *p, const char *where, const char *what) {
    static const char *const targets[] = {"native",  "interp",     "aarch64-neon",  "armv7-neon",
                                          "riscv64", "nvptx-sm80", "amdgcn-gfx90a", NULL};

    says("compile", compile(p, NULL), where, what);
    says("compile, interp", compile(p, "interp"), where, what);
    says("beside", beside(p, NULL), where, what);
    says("object", emit(p, NULL, UK_EMIT_OBJECT), where, what);
    says("llvm", emit(p, NULL, UK_EMIT_LLVM), where, what);
    says("header", emit(p, NULL, UK_EMIT_HEADER), where, what);
    for (const char *const *t = targets; *t; t++) {
        says(*t, explain(p, *t), where, what);
        says(*t, emit(p, *t, UK_EMIT_SCHEDULE), where, what);
        says(*t, emit(p, *t, UK_EMIT_LOOPS), where, what);
    }
}

/* Refused in the program's text, among the steps, and by calls. */
static void refused(const char *name, const char *what) {
    char *text, *step;

    assert_true(asprintf(&text, "# its head\npragma import \"%s\"\n" BODY, name) > 0);
    struct uk_program *p = parse("sum", text);

    refused_everywhere(p, "/sum.uk:2:15: ", what);
    uk_program_destroy(p);
    free(text);
    assert_true(asprintf(&text, BODY STEPS "pragma import \"%s\"\n", name) > 0);
    p = parse("sum", text);
    refused_everywhere(p, "/sum.uk:6:17: ", what);
    uk_program_destroy(p);
    p = parse("sum", BODY);
    assert_true(asprintf(&step, "pragma import \"%s/%s\"", folder, name) > 0);
    uk_step(p, "split Y.i 4 -> io ii");
    uk_step(p, step);
    refused_everywhere(p, " step 2: ", what);
    uk_program_destroy(p);
    p = parse("sum", BODY);
    step[strlen(step) - 1] = 0; /* the quote */
    uk_import_file(p, strchr(step, '/'));
    refused_everywhere(p, " import 1: ", what);
    uk_program_destroy(p);
    free(step);
    free(text);
}

static void files(void **state) {
    char path[256];

    (void)state;
    refused("no/such/file.ll", "cannot open: No such file");
    refused("no/such/file.c", "cannot open: No such file");
    snprintf(path, sizeof path, "%s/folder.ll", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    refused("folder.ll", "not a regular file");
    snprintf(path, sizeof path, "%s/pipe.bc", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    refused("pipe.bc", "not a regular file");
    snprintf(path, sizeof path, "%s/zero.o", folder);
    assert_int_equal(symlink("/dev/zero", path), 0);
    refused("zero.o", "not a regular file");
    write_file("large.ll", "");
    snprintf(path, sizeof path, "%s/large.ll", folder);
    assert_int_equal(truncate(path, (off_t)65 << 20), 0);
    refused("large.ll", "larger than 64 MiB");
    write_file("kernel.txt", ADD);
    refused("kernel.txt", "unknown file type");
}

static void contents(void **state) {
    (void)state;
    write_file("junk.ll", "junk\n");
    refused("junk.ll", "not valid LLVM IR");
    write_file("junk.bc", "BC\xc0\xde junk");
    refused("junk.bc", "not valid bitcode");
    write_file("empty.ll", "");
    refused("empty.ll", "it defines no function");
    write_file("junk.o", "\x7f"
                         "ELF junk");
    refused("junk.o", "not a whole relocatable ELF object");
}

/* Clang compiles for each target: a few suffice. */
static void sources(void **state) {
    struct uk_program *p;

    (void)state;
    write_file("junk.c", "void add_4(float *a {}\n");
    p = parse("sum", "pragma import \"junk.c\"\n" BODY);
    says("compile", compile(p, NULL), "/sum.uk:1:15: ", "does not compile");
    says("interp", compile(p, "interp"), "/sum.uk:1:15: ", "does not compile");
    says("explain", explain(p, "riscv64"), "/sum.uk:1:15: ", "does not compile");
    says("schedule", emit(p, "nvptx-sm80", UK_EMIT_SCHEDULE), "/sum.uk:1:15: ", "does not compile");
    uk_program_destroy(p);
    p = parse("sum", BODY STEPS "pragma import c \"\"\"junk\"\"\"\n");
    says("loops", emit(p, "amdgcn-gfx90a", UK_EMIT_LOOPS), "/sum.uk:6:17: ", "does not compile");
    uk_program_destroy(p);
    p = parse("sum", BODY);
    uk_import_llvm(p, "junk");
    says("header", emit(p, NULL, UK_EMIT_HEADER), " import 1: ", "not valid LLVM IR");
    uk_program_destroy(p);
    p = parse("sum", BODY);
    uk_import_c(p, "junk");
    says("compile", compile(p, NULL), " import 1: ", "does not compile");
    uk_program_destroy(p);
}

/* One of two intrinsics' imports is unused; verify reads it too. */
static void verified(void **state) {
    static const struct uk_verify_options few = {.cases = 1};
    struct uk_program *p;
    char *report;

    (void)state;
    write_file("add.c", ADD);
    p = parse("sum", "pragma import \"add.c\"\npragma import \"no.ll\"\n" PLAIN PROGRAM);
    says("verify", uk_verify(p, &few, &report), "/sum.uk:2:15: ", "cannot open");
    assert_null(report);
    uk_program_destroy(p);
}

/* A valid unused import is no error, and is opened once per compilation. */
static void read_once(void **state) {
    static const enum uk_emit kinds[] = {UK_EMIT_SCHEDULE, UK_EMIT_LLVM, UK_EMIT_OBJECT, UK_EMIT_HEADER};
    struct uk_program *p;

    (void)state;
    write_file("one.ll", "define void @one(ptr %p) {\n  ret void\n}\n");
    p = parse("sum", "pragma import \"one.ll\"\n" BODY);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        opened = 0;
        assert_int_equal(emit(p, NULL, kinds[i]), UK_OK);
        assert_int_equal(opened, 1);
    }
    for (int i = 0; i < 2; i++) {
        opened = 0;
        assert_int_equal(i ? compile(p, "interp") : explain(p, NULL), UK_OK);
        assert_int_equal(opened, 1);
    }
    opened = 0;
    assert_int_equal(compile(p, NULL), UK_OK);
    assert_int_equal(opened, 1);
    uk_program_destroy(p);
    write_file("add.c", ADD);
    p = parse("sum", "pragma import \"add.c\"\n" PLAIN PROGRAM);
    opened = 0;
    assert_int_equal(compile(p, NULL), UK_OK);
    assert_int_equal(opened, 1);
    uk_program_destroy(p);
}

int main(int argc, char **argv) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(files),    cmocka_unit_test(contents),  cmocka_unit_test(sources),
        cmocka_unit_test(verified), cmocka_unit_test(read_once),
    };

    if (argc != 2) {
        fprintf(stderr, "usage: import_unused CLANG\n");
        return 2;
    }
    clang = argv[1];
    return cmocka_run_group_tests_name("import_unused", tests, make_folder, remove_folder);
}
