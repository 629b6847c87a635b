/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Golden programs: golden/NAME.uk holds a program, its steps, and what the compiler has to say about it, in
 * comments below the program:
 *
 *     #= loops x86_64-avx512
 *     #  split(M, N, K; A, B, C)
 *     #  ...
 *
 * A section begins with `#= KIND [TARGET] [plain-loops] [nearest] [threads=N] [show=KERNEL ...] [SIZE=VALUE
 * ...]`; KIND is loops, schedule, explain, notes (what is said of a compilation that went well) or error (the
 * message of one that must be refused), TARGET is x86_64-avx512 unless it is said. Kernels are required
 * unless it says plain-loops, and with nearest only ten candidates are named. Every section is one
 * compilation. What can be lowered is also scheduled again from its printed steps: the loops must be the
 * same.
 *
 *     golden DIRECTORY [--update] [--third] [NAME...]
 *
 * --third: every third file.
 *
 * A new row of the registry must not change what is expected here: what is said about a candidate of the
 * registry is left out unless the program or `show` names it.
 *
 * --update rewrites the sections in place; read the difference before you keep it.
 */
#define _POSIX_C_SOURCE 200809L /* strdup, strtok_r */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "section.h"

enum { MAX_FILES = 512 };

static const char *directory;
static bool update;

/* ---- what the compiler says ---- */

static bool wants_error(const struct section *s) {
    return !strcmp(s->kind, "error");
}

static bool wants_notes(const struct section *s) {
    return !strcmp(s->kind, "notes");
}

static enum uk_status produce_from(struct uk_program *p, const struct section *s, char **out) {
    const struct uk_options o = section_options(s);
    enum uk_status status = define_sizes(p, s);
    size_t length;

    if (status)
        return status;
    if (!strcmp(s->kind, "explain")) {
        status = uk_explain(p, &o, out);
        return status == UK_NO_MATCH && *out ? UK_OK : status;
    }
    if (strcmp(s->kind, "loops") && strcmp(s->kind, "schedule") && !wants_notes(s) && !wants_error(s))
        fail_msg("#= %s: a section is loops, schedule, explain, notes or error", s->kind);
    return uk_emit(p, &o, !strcmp(s->kind, "schedule") ? UK_EMIT_SCHEDULE : UK_EMIT_LOOPS, out, &length);
}

/* The printed steps, applied to the program again, give the same loops. */
static void check_steps(struct uk_context *c, struct uk_program *p, const struct section *s) {
    const struct uk_options o = section_options(s);
    char *steps = NULL, *before = NULL, *after = NULL;
    size_t n, length;

    if (uk_emit(p, &o, UK_EMIT_SCHEDULE, &steps, &n) || uk_emit(p, &o, UK_EMIT_LOOPS, &before, &length))
        fail_msg("%s", uk_context_message(c));
    if (n && (uk_program_schedule(p, "steps", steps, n) || uk_emit(p, &o, UK_EMIT_LOOPS, &after, &length)))
        fail_msg("the printed steps are refused: %s\n%s", uk_context_message(c), steps);
    if (n) {
        assert_string_equal(before, after);
        uk_text_free(after);
    }
    uk_text_free(steps);
    uk_text_free(before);
}

static const char *next_line(const char *line) {
    line += strcspn(line, "\n");
    return line + (*line == '\n');
}

static bool holds(const char *text, size_t length, const char *name, size_t n) {
    for (size_t i = 0; i + n <= length; i++)
        if (!memcmp(text + i, name, n))
            return true;
    return false;
}

/* A line "  uk_KERNEL ..." about a kernel that the section does not name. */
static bool is_left_out(const char *line, const struct text *file, size_t end, const struct section *s) {
    size_t n = strcspn(line + strspn(line, " "), " :\n");

    if (strncmp(line, "  uk_", 5) || holds(file->bytes, end, line + 2, n))
        return false;
    for (int i = 0; i < s->shown; i++)
        if (strlen(s->show[i]) == n && !memcmp(s->show[i], line + 2, n))
            return false;
    return true;
}

/* "NAME:LINE:": the line that a message is about. */
static int line_of(const char *message, const char *name) {
    const size_t n = strlen(name);

    return !strncmp(message, name, n) && message[n] == ':' ? atoi(message + n + 1) : 0;
}

/* The program with the step that the message advises: in the place of the refused one, or before it. There is
 * none if the message names none. */
static struct text take_advice(const struct text *program, const char *message, int line_number) {
    static const char *const begins[] = {"; put `", "; write `"}, *const ends[] = {"` before it",
                                                                                   "` in its place"};
    struct text advised = {0};

    for (int i = 0; i < 2; i++) {
        const char *from = strstr(message, begins[i]), *to = from ? strstr(from, ends[i]) : NULL;
        const char *line = program->bytes;

        if (!to)
            continue;
        from += strlen(begins[i]);
        for (int k = 1; k < line_number; k++)
            line = next_line(line);
        put(&advised, program->bytes, (size_t)(line - program->bytes));
        put(&advised, from, (size_t)(to - from));
        put(&advised, "\n", 1);
        line = i ? next_line(line) : line;
        put(&advised, line, strlen(line));
    }
    return advised;
}

/* A step that a message advises is accepted, and so is then the refused one, or it is refused with other
 * advice: at most twice. */
static void check_advice(const char *name, const struct text *file, size_t end, const struct section *s,
                         const char *message) {
    struct section plain = *s;
    struct text program = {0};
    char *said = strdup(message);

    plain.plain_loops = true;
    put(&program, file->bytes, end);
    for (int tries = 0; said; tries++) {
        const int line = line_of(said, name);
        struct text advised = take_advice(&program, said, line);
        struct uk_context *c = uk_context_create();
        struct uk_program *p = NULL;
        char *out = NULL;

        free(program.bytes);
        program = advised;
        enum uk_status status = UK_OK;
        if (advised.bytes && !(status = uk_program_parse(c, name, advised.bytes, advised.length, &p)))
            status = produce_from(p, &plain, &out);
        if (status && (tries == 2 || line_of(uk_context_message(c), name) < line))
            fail_msg("%s\nthat leads to: %s", said, uk_context_message(c));
        if (status && !strstr(uk_context_message(c), "; put `") &&
            !strstr(uk_context_message(c), "; write `"))
            fail_msg("%s\nthat leads to: %s", said, uk_context_message(c));
        free(said);
        said = status ? strdup(uk_context_message(c)) : NULL;
        uk_text_free(out);
        uk_program_destroy(p);
        uk_context_destroy(c);
    }
    free(program.bytes);
}

/* The section's text, every line ended. */
static struct text produce(const char *name, const struct text *file, size_t end, const struct section *s) {
    struct uk_context *c = uk_context_create();
    struct uk_program *p = NULL;
    struct text result = {0};
    char *out = NULL;

    assert_non_null(c);
    enum uk_status status = uk_program_parse(c, name, file->bytes, end, &p);
    if (!status)
        status = produce_from(p, s, &out);
    if ((status != UK_OK) != wants_error(s))
        fail_msg("%s: %.*s: %s", name, (int)s->head_length, s->head,
                 status ? uk_context_message(c) : "it is not refused");
    if (!wants_notes(s) && strstr(uk_context_notes(c), "warning:"))
        fail_msg("%s: %s", name, uk_context_notes(c));
    const char *text = status ? uk_context_message(c) : wants_notes(s) ? uk_context_notes(c) : out;
    for (const char *line = text; *line; line = next_line(line))
        if (!is_left_out(line, file, end, s)) {
            put(&result, line, strcspn(line, "\n"));
            put(&result, "\n", 1);
        }
    put(&result, "", 0);
    if (!strcmp(s->kind, "loops"))
        check_steps(c, p, s);
    if (status)
        check_advice(name, file, end, s, uk_context_message(c));
    uk_text_free(out);
    uk_program_destroy(p);
    uk_context_destroy(c);
    return result;
}

/* ---- comparing ---- */

static void print_line(char mark, const char *line) {
    print_error("%c %.*s\n", mark, (int)strcspn(line, "\n"), line);
}

static bool same_line(const char *a, const char *b) {
    size_t n = strcspn(a, "\n");

    return *a && *b && n == strcspn(b, "\n") && !memcmp(a, b, n);
}

/* Lines that both have, where the one side skips the fewest; - is expected, + is what came. */
static void print_difference(const char *a, const char *b) {
    while (*a || *b) {
        if (same_line(a, b)) {
            print_line(' ', a);
            a = next_line(a);
            b = next_line(b);
            continue;
        }
        const char *in_a = a, *in_b = b;
        while (*in_a && !same_line(in_a, b))
            in_a = next_line(in_a);
        while (*in_b && !same_line(in_b, a))
            in_b = next_line(in_b);
        if (*a && (!*b || *in_a || !*in_b)) {
            print_line('-', a);
            a = next_line(a);
        } else {
            print_line('+', b);
            b = next_line(b);
        }
    }
}

static void write_file(const char *path, const struct text *file, size_t end, const struct section *s,
                       const struct text *now, int count) {
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    fwrite(file->bytes, 1, end, f);
    for (int i = 0; i < count; i++) {
        fprintf(f, "%s%.*s\n", i ? "\n" : "", (int)s[i].head_length, s[i].head);
        for (const char *line = now[i].bytes; *line; line = next_line(line)) {
            int n = (int)strcspn(line, "\n");

            fprintf(f, n ? "#  %.*s\n" : "#%.*s\n", n, line);
        }
    }
    assert_int_equal(fclose(f), 0);
}

static void test_file(void **state) {
    const char *name = *state;
    struct section s[MAX_SECTIONS];
    struct text now[MAX_SECTIONS];
    char path[4096];
    int count, different = 0;

    snprintf(path, sizeof path, "%s/%s", directory, name);
    struct text file = read_file(path);
    size_t end = read_sections(&file, s, &count);
    if (!count)
        fail_msg("%s has no section (#= ...)", name);
    for (int i = 0; i < count; i++)
        now[i] = produce(name, &file, end, &s[i]);
    for (int i = 0; i < count; i++)
        if (!update && strcmp(s[i].expected.bytes, now[i].bytes)) {
            print_error("%s: %.*s\n", name, (int)s[i].head_length, s[i].head);
            print_difference(s[i].expected.bytes, now[i].bytes);
            different++;
        }
    if (update)
        write_file(path, &file, end, s, now, count);
    for (int i = 0; i < count; i++) {
        free(s[i].expected.bytes);
        free(now[i].bytes);
    }
    free(file.bytes);
    assert_int_equal(different, 0);
}

/* ---- finding the files ---- */

static bool is_wanted(const char *name, char **wanted, int n) {
    size_t stem = strlen(name);
    bool any = false;

    if (stem < 4 || strcmp(name + stem - 3, ".uk"))
        return false;
    for (int i = 0; i < n; i++) {
        if (!strncmp(wanted[i], "--", 2))
            continue;
        any = true;
        if (!strcmp(wanted[i], name) ||
            (strlen(wanted[i]) == stem - 3 && !strncmp(wanted[i], name, stem - 3)))
            return true;
    }
    return !any;
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const struct CMUnitTest *)a)->name, ((const struct CMUnitTest *)b)->name);
}

int main(int argc, char **argv) {
    static struct CMUnitTest tests[MAX_FILES];
    bool third = false;
    size_t n = 0;

    if (argc < 2) {
        fprintf(stderr, "usage: golden DIRECTORY [--update] [--third] [NAME...]\n");
        return 2;
    }
    directory = argv[1];
    for (int i = 2; i < argc; i++) {
        update |= !strcmp(argv[i], "--update");
        third |= !strcmp(argv[i], "--third");
    }
    DIR *d = opendir(directory);
    if (!d) {
        perror(directory);
        return 2;
    }
    for (struct dirent *e; (e = readdir(d)) && n < MAX_FILES;)
        if (is_wanted(e->d_name, argv + 2, argc - 2)) {
            char *name = strdup(e->d_name);

            tests[n++] = (struct CMUnitTest){.name = name, .test_func = test_file, .initial_state = name};
        }
    closedir(d);
    if (!n || n == MAX_FILES) {
        fprintf(stderr, "golden: %s in %s\n", n ? "too many files" : "no such file", directory);
        return 2;
    }
    qsort(tests, n, sizeof *tests, by_name);
    static struct CMUnitTest chosen[MAX_FILES];
    size_t runs = 0;
    for (size_t i = 0; i < n; i += third ? 3 : 1)
        chosen[runs++] = tests[i];
    int failed = _cmocka_run_group_tests("golden", chosen, runs, NULL, NULL);
    for (size_t i = 0; i < n; i++)
        free(tests[i].initial_state);
    return failed;
}
