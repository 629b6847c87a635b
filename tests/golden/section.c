/* SPDX-License-Identifier: Apache-2.0 */
/* Reads sections of golden programs from their files. */
#define _POSIX_C_SOURCE 200809L /* strtok_r */
#include "section.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

void put(struct text *t, const char *from, size_t n) {
    if (t->length + n + 1 > t->room) {
        t->room = 2 * (t->length + n + 1);
        t->bytes = realloc(t->bytes, t->room);
        assert_non_null(t->bytes);
    }
    memcpy(t->bytes + t->length, from, n);
    t->length += n;
    t->bytes[t->length] = 0;
}

struct text read_file(const char *path) {
    struct text t = {0};
    char buffer[4096];
    size_t n;
    FILE *f = fopen(path, "rb");

    assert_non_null(f);
    while ((n = fread(buffer, 1, sizeof buffer, f)))
        put(&t, buffer, n);
    put(&t, "", 0);
    assert_int_equal(fclose(f), 0);
    return t;
}

static void read_option(struct section *s, const char *word) {
    const char *equal = strchr(word, '=');

    if (!strcmp(word, "plain-loops")) {
        s->plain_loops = true;
    } else if (!strcmp(word, "nearest")) {
        s->nearest = true;
    } else if (!strncmp(word, "threads=", 8)) {
        s->threads = atoi(word + 8);
    } else if (!strncmp(word, "show=", 5)) {
        assert_true(s->shown < MAX_SHOWN);
        snprintf(s->show[s->shown++], sizeof s->show[0], "%s", word + 5);
    } else if (equal) {
        assert_true(s->defines < MAX_DEFINES);
        assert_true((size_t)(equal - word) < sizeof s->name[0]);
        memcpy(s->name[s->defines], word, (size_t)(equal - word));
        s->value[s->defines++] = strtoll(equal + 1, NULL, 10);
    } else {
        snprintf(s->target, sizeof s->target, "%s", word);
    }
}

static void read_head(struct section *s, const char *line, size_t n) {
    char text[512], *word, *rest = NULL;

    *s = (struct section){.head = line, .head_length = n, .target = "x86_64-avx512"};
    assert_true(n < sizeof text);
    memcpy(text, line + 2, n - 2);
    text[n - 2] = 0;
    word = strtok_r(text, " ", &rest);
    assert_non_null(word);
    snprintf(s->kind, sizeof s->kind, "%s", word);
    while ((word = strtok_r(NULL, " ", &rest)))
        read_option(s, word);
    put(&s->expected, "", 0);
}

/* Reads a marker's line: the name ends at a colon, which a description may follow. */
static void begin_program(struct program *p, const char *stem, const char *line,
                          const struct text *beginning) {
    const char *name = line + strlen("#= program ");
    const int n = (int)strcspn(name, ":\n");

    assert_in_range(n, 1, sizeof p->name - 1);
    snprintf(p->name, sizeof p->name, "%.*s", n, name);
    snprintf(p->path, sizeof p->path, "%s/%s", stem, p->name);
    if (beginning->length)
        put(&p->text, beginning->bytes, beginning->length);
}

static void add_section(struct program *p, size_t offset, const char *line, size_t n) {
    if (p->count == MAX_SECTIONS) { /* files are read before cmocka can report an assertion */
        fprintf(stderr, "golden: %s: more than %d sections; make another program\n", p->path, MAX_SECTIONS);
        exit(2);
    }
    if (!p->count)
        p->sections = offset;
    read_head(&p->s[p->count++], line, n);
}

static void add_expected(struct program *p, const char *line, size_t n) {
    const size_t prefix = n < 3 ? n : 3;

    assert_true(p->count);
    assert_memory_equal(line, "#  ", prefix);
    put(&p->s[p->count - 1].expected, line + prefix, n - prefix);
    put(&p->s[p->count - 1].expected, "\n", 1);
}

static bool begins(const char *line, const char *with) {
    return !strncmp(line, with, strlen(with));
}

bool read_program(const struct text *file, const char *stem, int number, struct program *p) {
    enum { HEAD, BEGINNING, PROGRAM, SECTION } in = HEAD;
    struct text beginning = {0};
    int at = -1; /* number of the program that the line belongs to */
    size_t n;

    *p = (struct program){.sections = file->length, .end = file->length};
    put(&p->text, "", 0);
    /* the whole file is one program */
    if (!strstr(file->bytes, "#= program ")) {
        snprintf(p->name, sizeof p->name, "%s", stem);
        snprintf(p->path, sizeof p->path, "%s", stem);
        in = PROGRAM;
        at = 0;
    }
    for (const char *line = file->bytes; *line; line += n + (line[n] == '\n')) {
        const size_t offset = (size_t)(line - file->bytes);
        const bool is_program = begins(line, "#= program ");

        n = strcspn(line, "\n");
        if (is_program || begins(line, "#= begin")) {
            if (at == number) {
                p->end = offset;
                break;
            }
            in = is_program ? PROGRAM : BEGINNING;
            at += is_program;
            if (!is_program)
                beginning.length = 0;
            else if (at == number)
                begin_program(p, stem, line, &beginning);
        } else if (begins(line, "#=")) {
            in = SECTION;
            if (at == number)
                add_section(p, offset, line, n);
        } else if (in == HEAD) {
            assert_true(!n || *line == '#');
        } else if (in == BEGINNING) {
            put(&beginning, line, n + (line[n] == '\n'));
        } else if (at == number && in == PROGRAM) {
            put(&p->text, line, n + (line[n] == '\n'));
        } else if (at == number && n) {
            add_expected(p, line, n);
        }
    }
    free(beginning.bytes);
    return at >= number;
}

void free_program(struct program *p) {
    for (int i = 0; i < p->count; i++)
        free(p->s[i].expected.bytes);
    free(p->text.bytes);
}

struct uk_options section_options(const struct section *s) {
    return (struct uk_options){.target = s->target,
                               .require_kernels = !s->plain_loops,
                               .all_candidates = !s->nearest,
                               .threads = s->threads};
}

enum uk_status define_sizes(struct uk_program *p, const struct section *s) {
    enum uk_status status = UK_OK;

    for (int i = 0; i < s->defines && !status; i++)
        status = uk_program_define(p, s->name[i], s->value[i]);
    return status;
}
