/* SPDX-License-Identifier: Apache-2.0 */
/* Golden programs' sections, read from their files. */
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

size_t read_sections(const struct text *file, struct section *s, int *count) {
    size_t end = file->length;
    const char *line = file->bytes;

    *count = 0;
    while (*line) {
        size_t n = strcspn(line, "\n");

        if (!strncmp(line, "#=", 2)) {
            assert_true(*count < MAX_SECTIONS);
            if (!*count)
                end = (size_t)(line - file->bytes);
            read_head(&s[(*count)++], line, n);
        } else if (*count && n) {
            size_t prefix = n < 3 ? n : 3;

            assert_memory_equal(line, "#  ", prefix);
            put(&s[*count - 1].expected, line + prefix, n - prefix);
            put(&s[*count - 1].expected, "\n", 1);
        }
        line += n + (line[n] == '\n');
    }
    return end;
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
