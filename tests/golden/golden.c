/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Golden programs: golden/FILE.uk holds programs, their steps, and the compiler's output for each, in
 * comments below the program:
 *
 *     # What split refuses.
 *     #= begin
 *     tensor A f32 [M, K]
 *     ...
 *     schedule
 *     #= program zero: A factor of 0.
 *       split C.m 0 -> mo mi
 *     #= error
 *     #  zero:6:13: error: the factor is 0; take 1 or more
 *
 * Lines after `#= begin` are prepended to all programs up to the next `#= begin`; line numbers in messages
 * count them. A file without `#= program` is one program, which other tests can compile, under the file's
 * name.
 *
 * A section begins with `#= KIND [TARGET] [plain-loops] [nearest] [threads=N] [show=KERNEL ...] [SIZE=VALUE
 * ...]`. KIND is loops, schedule, explain, notes (printed by a successful compilation) or error (the message
 * of a refusal). TARGET is by default x86_64-avx512. Kernels are required, except with plain-loops; with
 * nearest only ten candidates are listed. Every section is one compilation. If the program can be lowered, it
 * is also scheduled again by its printed steps: the loops must be the same.
 *
 *     golden DIRECTORY [--update] [--third] [--write FOLDER] [FILE | FILE/PROGRAM ...]
 *
 * --third tries, or writes, every third program; --write only writes the programs, each to a file.
 *
 * A new row of the registry must not change the expected texts: lines about a candidate of the registry are
 * left out, unless the program or `show` names it.
 *
 * --update rewrites the sections in place; read the difference before you keep it.
 */
#define _POSIX_C_SOURCE 200809L /* scandir, strdup */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "section.h"

enum { MAX_PROGRAMS = 1024 };

static const char *directory;
static bool update, third;

/* ---- the compiler's output ---- */

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

/* Checks that the printed steps, applied to the program again, give the same loops. */
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

/* True for a line "  uk_KERNEL ..." about a kernel that the section does not name. */
static bool is_left_out(const char *line, const struct program *p, const struct section *s) {
    size_t n = strcspn(line + strspn(line, " "), " :\n");

    if (strncmp(line, "  uk_", 5) || holds(p->text.bytes, p->text.length, line + 2, n))
        return false;
    for (int i = 0; i < s->shown; i++)
        if (strlen(s->show[i]) == n && !memcmp(s->show[i], line + 2, n))
            return false;
    return true;
}

/* The line that a message is about, from its "NAME:LINE:". */
static int line_of(const char *message, const char *name) {
    const size_t n = strlen(name);

    return !strncmp(message, name, n) && message[n] == ':' ? atoi(message + n + 1) : 0;
}

/* The program with the step that the message advises, in place of the refused one or before it; NULL text: it
 * advises none. */
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

/* Checks that a step which a message advises is accepted, and the refused one then too, or refused with other
 * advice, at most twice. */
static void check_advice(const struct program *of, const struct section *s, const char *message) {
    struct section plain = *s;
    struct text program = {0};
    char *said = strdup(message);

    plain.plain_loops = true;
    put(&program, of->text.bytes, of->text.length);
    for (int tries = 0; said; tries++) {
        const int line = line_of(said, of->name);
        struct text advised = take_advice(&program, said, line);
        struct uk_context *c = uk_context_create();
        struct uk_program *p = NULL;
        char *out = NULL;

        free(program.bytes);
        program = advised;
        enum uk_status status = UK_OK;
        if (advised.bytes && !(status = uk_program_parse(c, of->name, advised.bytes, advised.length, &p)))
            status = produce_from(p, &plain, &out);
        if (status && (tries == 2 || line_of(uk_context_message(c), of->name) < line))
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

/* The compiler's text for the section; every line ends with a newline. */
static struct text produce(const struct program *of, const struct section *s) {
    struct uk_context *c = uk_context_create();
    struct uk_program *p = NULL;
    struct text result = {0};
    char *out = NULL;

    assert_non_null(c);
    enum uk_status status = uk_program_parse(c, of->name, of->text.bytes, of->text.length, &p);
    if (!status)
        status = produce_from(p, s, &out);
    if ((status != UK_OK) != wants_error(s))
        fail_msg("%s: %.*s: %s", of->path, (int)s->head_length, s->head,
                 status ? uk_context_message(c) : "it is not refused");
    if (!wants_notes(s) && strstr(uk_context_notes(c), "warning:"))
        fail_msg("%s: %s", of->path, uk_context_notes(c));
    const char *text = status ? uk_context_message(c) : wants_notes(s) ? uk_context_notes(c) : out;
    for (const char *line = text; *line; line = next_line(line))
        if (!is_left_out(line, of, s)) {
            put(&result, line, strcspn(line, "\n"));
            put(&result, "\n", 1);
        }
    put(&result, "", 0);
    if (!strcmp(s->kind, "loops"))
        check_steps(c, p, s);
    if (status)
        check_advice(of, s, uk_context_message(c));
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

/* Prints the lines that differ, aligned such that one side skips as few as possible; - is expected, + is the
 * result. */
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

static void write_file(const char *path, const struct text *file, const struct program *p,
                       const struct text *now) {
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    fwrite(file->bytes, 1, p->sections, f);
    for (int i = 0; i < p->count; i++) {
        fprintf(f, "%.*s\n", (int)p->s[i].head_length, p->s[i].head);
        for (const char *line = now[i].bytes; *line; line = next_line(line)) {
            int n = (int)strcspn(line, "\n");

            fprintf(f, n ? "#  %.*s\n" : "#%.*s\n", n, line);
        }
    }
    if (p->end < file->length)
        fprintf(f, "\n%s", file->bytes + p->end);
    assert_int_equal(fclose(f), 0);
}

struct place {
    /* the file's name without .uk */
    char stem[64];
    int number;
};

static void test_program(void **state) {
    const struct place *at = *state;
    struct program p;
    struct text now[MAX_SECTIONS];
    char path[4096];
    int different = 0;

    snprintf(path, sizeof path, "%s/%s.uk", directory, at->stem);
    struct text file = read_file(path);
    assert_true(read_program(&file, at->stem, at->number, &p));
    if (!p.count)
        fail_msg("%s has no section (#= ...)", p.path);
    for (int i = 0; i < p.count; i++)
        now[i] = produce(&p, &p.s[i]);
    for (int i = 0; i < p.count; i++)
        if (!update && strcmp(p.s[i].expected.bytes, now[i].bytes)) {
            print_error("%s: %.*s\n", p.path, (int)p.s[i].head_length, p.s[i].head);
            print_difference(p.s[i].expected.bytes, now[i].bytes);
            different++;
        }
    if (update)
        write_file(path, &file, &p, now);
    for (int i = 0; i < p.count; i++)
        free(now[i].bytes);
    free_program(&p);
    free(file.bytes);
    assert_int_equal(different, 0);
}

/* ---- finding the programs ---- */

static struct place places[MAX_PROGRAMS];
static struct CMUnitTest tests[MAX_PROGRAMS];
static size_t count;

static bool is_wanted(const struct program *p, const char *stem, char **wanted, int n) {
    for (int i = 0; i < n; i++)
        if (!strcmp(wanted[i], p->path) || !strcmp(wanted[i], stem))
            return true;
    return !n;
}

static void write_program(const struct program *p, const char *folder) {
    char path[4096];

    const int n = snprintf(path, sizeof path, "%s/%s.uk", folder, p->path);
    char *slash = n < (int)sizeof path ? strchr(path + strlen(folder) + 1, '/') : NULL;
    if (slash)
        *slash = '.';
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(p->text.bytes, 1, p->text.length, f) != p->text.length || fclose(f)) {
        perror(path);
        exit(2);
    }
}

/* Adds the wanted programs of the file to the tests, or writes them into the folder. */
static void add_file(const char *name, const char *folder, char **wanted, int n) {
    char path[4096], stem[64];
    struct program p;

    snprintf(stem, sizeof stem, "%.*s", (int)strlen(name) - 3, name);
    snprintf(path, sizeof path, "%s/%s", directory, name);
    struct text file = read_file(path);
    for (int i = 0; read_program(&file, stem, i, &p); i++, free_program(&p)) {
        if (!is_wanted(&p, stem, wanted, n))
            continue;
        for (size_t j = 0; j < count; j++)
            if (!strcmp(tests[j].name, p.path))
                fail_msg("two programs are called %s", p.path);
        if (folder && (!third || count % 3 == 0))
            write_program(&p, folder);
        if (count == MAX_PROGRAMS)
            fail_msg("more than %d programs", MAX_PROGRAMS);
        snprintf(places[count].stem, sizeof places->stem, "%s", stem);
        places[count].number = i;
        tests[count] = (struct CMUnitTest){
            .name = strdup(p.path), .test_func = test_program, .initial_state = &places[count]};
        count++;
    }
    free_program(&p);
    free(file.bytes);
}

static int is_source(const struct dirent *e) {
    const size_t n = strlen(e->d_name);

    return n > 3 && !strcmp(e->d_name + n - 3, ".uk");
}

int main(int argc, char **argv) {
    static struct CMUnitTest chosen[MAX_PROGRAMS];
    struct dirent **file = NULL;
    const char *folder = NULL;
    size_t runs = 0;
    int i = 2;

    for (; i < argc && !strncmp(argv[i], "--", 2); i++) {
        update |= !strcmp(argv[i], "--update");
        third |= !strcmp(argv[i], "--third");
        if (!strcmp(argv[i], "--write") && i + 1 < argc)
            folder = argv[++i];
    }
    if (argc < 2) {
        fprintf(stderr,
                "usage: golden DIRECTORY [--update] [--third] [--write FOLDER] [FILE | FILE/PROGRAM ...]\n");
        return 2;
    }
    directory = argv[1];
    const int files = scandir(directory, &file, is_source, alphasort);
    for (int f = 0; f < files; f++) {
        add_file(file[f]->d_name, folder, argv + i, argc - i);
        free(file[f]);
    }
    free(file);
    if (!count) {
        fprintf(stderr, "golden: no such program in %s\n", directory);
        return 2;
    }
    for (size_t j = 0; j < count; j += third ? 3 : 1)
        chosen[runs++] = tests[j];
    const int failed = folder ? 0 : _cmocka_run_group_tests("golden", chosen, runs, NULL, NULL);
    for (size_t j = 0; j < count; j++)
        free((char *)tests[j].name);
    return failed;
}
