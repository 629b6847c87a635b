/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts and calls make the same programs: every program of golden/, match/ and examples/, and those of
 * parse.c, is parsed and made again by calls; both are printed, explained and compiled. The outputs are the
 * same, byte for byte, or both are refused with the same words, except for the place that a message names.
 *
 *     rebuilt SOURCE [--all | texts | NAME...]
 *
 * Of the examples, which are longer, only the schedules and loops of one target are compared, unless --all is
 * given.
 */
#define _POSIX_C_SOURCE 200809L /* strdup */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "language/language.h"
#include "rebuild.h"
#include "section.h"
#include "text_cases.h"

enum { MAX_FILES = 512 };

/* ---- programs that the parser refuses as a whole ---- */

/* Replaced by the linker. A text whose items can all be read, but that breaks a rule, is still a program:
 * uk_program_parse() destroys it, unless `keep` is set. */
void __real_uk_program_destroy(struct uk_program *p);
void __wrap_uk_program_destroy(struct uk_program *p);
enum uk_status __real_uk_check_program(struct uk_program *p);
enum uk_status __wrap_uk_check_program(struct uk_program *p);

static bool keep;
/* a program that breaks a rule, and was kept */
static struct uk_program *broken_program;

enum uk_status __wrap_uk_check_program(struct uk_program *p) {
    const bool whole = !p->status;
    const enum uk_status s = __real_uk_check_program(p);

    broken_program = keep && whole && s && s != UK_OUT_OF_MEMORY ? p : NULL;
    return s;
}

void __wrap_uk_program_destroy(struct uk_program *p) {
    if (!keep || p != broken_program)
        __real_uk_program_destroy(p);
}

/* ---- two programs ---- */

/* The message's reason, without its place. */
static const char *reason(const struct uk_context *c) {
    const char *message = uk_context_message(c), *error = strstr(message, "error: ");

    return error ? error : message;
}

struct outcome {
    enum uk_status status;
    char *bytes;
    size_t length;
    char *reason;
};

static struct outcome outcome(struct uk_context *c, enum uk_status status, char *bytes, size_t length) {
    struct outcome o = {status, bytes, length, strdup(reason(c))};

    assert_non_null(o.reason);
    return o;
}

static void forget(struct outcome *o) {
    uk_text_free(o->bytes);
    free(o->reason);
}

static void expect_same(struct outcome a, struct outcome b, const char *name, const char *what) {
    const bool same = a.status == b.status && !strcmp(a.reason, b.reason) && a.length == b.length &&
                      !a.bytes == !b.bytes && (!a.bytes || !memcmp(a.bytes, b.bytes, a.length));

    if (!same)
        fail_msg("%s: %s: %d %s\n%s\nby calls: %d %s\n%s", name, what, a.status, a.reason,
                 a.bytes && what[0] != 'o' ? a.bytes : "", b.status, b.reason,
                 b.bytes && what[0] != 'o' ? b.bytes : "");
    forget(&a);
    forget(&b);
}

static struct outcome printed(struct uk_context *c, struct uk_program *p) {
    char *text;
    const enum uk_status s = uk_program_print(p, &text);

    return outcome(c, s, text, text ? strlen(text) : 0);
}

static struct outcome explained(struct uk_context *c, struct uk_program *p, const struct uk_options *o) {
    char *text;
    const enum uk_status s = uk_explain(p, o, &text);

    return outcome(c, s, text, text ? strlen(text) : 0);
}

static struct outcome emitted(struct uk_context *c, struct uk_program *p, const struct uk_options *o,
                              enum uk_emit what) {
    size_t length;
    char *bytes;
    const enum uk_status s = uk_emit(p, o, what, &bytes, &length);

    return outcome(c, s, bytes, length);
}

static void compare_emitted(struct uk_context *c, struct uk_program *p, struct uk_program *q,
                            const char *name, const struct uk_options *o, const enum uk_emit what[],
                            int count) {
    static const char *const names[] = {[UK_EMIT_SCHEDULE] = "schedule",
                                        [UK_EMIT_LOOPS] = "loops",
                                        [UK_EMIT_LLVM] = "LLVM",
                                        [UK_EMIT_OBJECT] = "object"};

    for (int i = 0; i < count; i++)
        expect_same(emitted(c, p, o, what[i]), emitted(c, q, o, what[i]), name, names[what[i]]);
}

/* ---- texts ---- */

/* Makes both programs of a text, prints and compares them; false: the text is refused, so there are none. */
static bool compare_text(struct uk_context *c, const char *name, const char *text, size_t length,
                         struct uk_program **p, struct uk_program **q) {
    broken_program = *q = NULL;
    keep = true;
    const enum uk_status s = uk_program_parse(c, name, text, length, p);
    struct uk_program *broken = broken_program;

    keep = false;
    if (!s) {
        *q = rebuild(c, *p);
        expect_same(printed(c, *p), printed(c, *q), name, "text");
        return true;
    }
    /* A name that only `assume` mentions is no size in a text; uk_size() makes it one. */
    if (broken && broken->status == s && !broken->assumed) {
        struct outcome a = outcome(c, s, NULL, 0);

        *q = rebuild(c, broken);
        const enum uk_status by_calls = uk_program_check(*q);
        expect_same(a, outcome(c, by_calls, NULL, 0), name, "check");
        __real_uk_program_destroy(*q);
    }
    if (broken)
        __real_uk_program_destroy(broken);
    return false;
}

/* texts from which two programs were made, or were refused */
static int compared;

static void compare_only(const char *text) {
    struct uk_context *c = uk_context_create();
    struct uk_program *p, *q;

    if (compare_text(c, "f.uk", text, strlen(text), &p, &q)) {
        uk_program_destroy(p);
        uk_program_destroy(q);
    }
    compared += q != NULL;
    uk_context_destroy(c);
}

static void texts_of_the_language(void **state) {
    (void)state;
    compared = 0;
    for (size_t i = 0; i < sizeof canonical / sizeof *canonical; i++)
        compare_only(canonical[i]);
    for (size_t i = 0; i < sizeof spelled / sizeof *spelled; i++)
        compare_only(spelled[i].text);
    assert_int_equal(compared, sizeof canonical / sizeof *canonical + sizeof spelled / sizeof *spelled);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        compare_only(refused[i].text);
    assert_true(compared > 35);
}

static bool whole;

/* Compares a program that has no section. */
static void compare_plain(const struct program *of) {
    static const enum uk_emit all[] = {UK_EMIT_SCHEDULE, UK_EMIT_LOOPS, UK_EMIT_LLVM, UK_EMIT_OBJECT};
    static const char *const targets[] = {"x86_64-avx512", "x86_64-avx2"};
    const int many = whole ? 2 : 1;
    struct uk_context *c = uk_context_create();
    struct uk_program *p, *q;

    assert_true(compare_text(c, of->name, of->text.bytes, of->text.length, &p, &q));
    for (int i = 0; i < many; i++) {
        const struct uk_options o = {.target = targets[i], .threads = 1 + i};

        compare_emitted(c, p, q, of->name, &o, all, !whole ? 2 : i ? 3 : 4);
        expect_same(explained(c, p, &o), explained(c, q, &o), of->name, "explain");
    }
    uk_program_destroy(p);
    uk_program_destroy(q);
    uk_context_destroy(c);
}

static void compare_section(const struct program *of, const struct section *s) {
    static const enum uk_emit stages[] = {UK_EMIT_SCHEDULE, UK_EMIT_LLVM, UK_EMIT_LOOPS};
    const bool is_refused = !strcmp(s->kind, "error");
    struct uk_context *c = uk_context_create();
    struct uk_program *p, *q;

    if (compare_text(c, of->name, of->text.bytes, of->text.length, &p, &q)) {
        const struct uk_options o = section_options(s);
        struct outcome a = outcome(c, define_sizes(p, s), NULL, 0);
        const enum uk_status status = a.status;

        expect_same(a, outcome(c, define_sizes(q, s), NULL, 0), of->name, "define");
        if (!status && !strcmp(s->kind, "explain"))
            expect_same(explained(c, p, &o), explained(c, q, &o), of->name, "explain");
        else if (!status)
            compare_emitted(c, p, q, of->name, &o, is_refused ? stages + 2 : stages, is_refused ? 1 : 2);
        uk_program_destroy(p);
        uk_program_destroy(q);
    }
    uk_context_destroy(c);
}

/* Compares the programs of a file. Imports are relative to the file's folder or, for a program made by calls,
 * to the process's. */
static void test_file(void **state) {
    const char *name = strrchr(*state, '/') + 1;
    struct program p;
    char folder[4096], stem[64];

    snprintf(folder, sizeof folder, "%.*s", (int)(name - 1 - (const char *)*state), (const char *)*state);
    assert_int_equal(chdir(folder), 0);
    struct text file = read_file(name);
    snprintf(stem, sizeof stem, "%.*s", (int)strlen(name) - 3, name);
    for (int i = 0; read_program(&file, stem, i, &p); i++, free_program(&p)) {
        if (!p.count)
            compare_plain(&p);
        for (int j = 0; j < p.count; j++)
            compare_section(&p, &p.s[j]);
    }
    free_program(&p);
    free(file.bytes);
}

/* ---- finding the files ---- */

static bool is_wanted(const char *name, char **wanted, int n) {
    const char *dot = strrchr(name, '.');

    if (!dot || strcmp(dot, ".uk"))
        return false;
    for (int i = 0; i < n; i++)
        if (strlen(wanted[i]) == (size_t)(dot - name) && !strncmp(wanted[i], name, strlen(wanted[i])))
            return true;
    return !n;
}

static size_t add_folder(struct CMUnitTest *tests, size_t n, const char *source, const char *folder,
                         char **wanted, int count) {
    char path[4096];

    snprintf(path, sizeof path, "%s/%s", source, folder);
    DIR *d = opendir(path);
    if (!d) {
        perror(path);
        exit(2);
    }
    for (struct dirent *e; (e = readdir(d)) && n < MAX_FILES;)
        if (is_wanted(e->d_name, wanted, count)) {
            snprintf(path, sizeof path, "%s/%s/%s", source, folder, e->d_name);
            char *name = strdup(path);

            tests[n++] = (struct CMUnitTest){.name = name, .test_func = test_file, .initial_state = name};
        }
    closedir(d);
    return n;
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const struct CMUnitTest *)a)->name, ((const struct CMUnitTest *)b)->name);
}

int main(int argc, char **argv) {
    static const char *const folders[] = {"tests/golden", "tests/match", "examples"};
    static struct CMUnitTest tests[MAX_FILES + 1];
    size_t n = 0;

    if (argc < 2) {
        fprintf(stderr, "usage: rebuilt SOURCE [--all | texts | NAME...]\n");
        return 2;
    }
    whole = argc > 2 && !strcmp(argv[2], "--all");
    argc -= whole;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        const size_t before = n;

        n = add_folder(tests, n, argv[1], folders[i], argv + 2, argc - 2);
        if (argc == 2 && n == before) {
            fprintf(stderr, "rebuilt: no program in %s\n", folders[i]);
            return 2;
        }
    }
    qsort(tests, n, sizeof *tests, by_name);
    const size_t files = n;
    if (argc == 2 || !strcmp(argv[2], "texts"))
        tests[n++] = (struct CMUnitTest)cmocka_unit_test(texts_of_the_language);
    int failed = _cmocka_run_group_tests("rebuilt", tests, n, NULL, NULL);
    for (size_t i = 0; i < files; i++)
        free(tests[i].initial_state);
    return failed;
}
