/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "manual.h"

char *manual_source(const char *path) {
    FILE *f = fopen(path, "rb");
    size_t room = 1 << 20, n;
    char *text = malloc(room);

    if (!f || !text)
        fail_msg("%s cannot be read", path);
    n = fread(text, 1, room - 1, f);
    assert_true(n < room - 1);
    text[n] = 0;
    fclose(f);
    return text;
}

/* Converts one line of the page to its printed text, without fonts. Returns the end of the text. */
static char *unescape(const char *from, size_t n, char *to) {
    static const struct {
        const char *escape;
        char is;
    } escapes[] = {{"\\-", '-'},   {"\\e", '\\'},  {"\\(aq", '\''}, {"\\(dq", '"'},
                   {"\\(ga", '`'}, {"\\(ha", '^'}, {"\\(ti", '~'},  {"\\&", 0}};

    for (const char *end = from + n; from < end;) {
        size_t i = 0, count = sizeof escapes / sizeof *escapes;

        while (i < count && strncmp(from, escapes[i].escape, strlen(escapes[i].escape)))
            i++;
        if (i < count) {
            if (escapes[i].is)
                *to++ = escapes[i].is;
            from += strlen(escapes[i].escape);
        } else if (from[0] == '\\' && from[1] == 'f') {
            from += 3;
        } else {
            if (*from == '\\')
                fail_msg("an escape that this test does not know: %.10s", from);
            *to++ = *from++;
        }
    }
    *to++ = '\n';
    return to;
}

struct manual_block *manual_read(const char *path, size_t *count) {
    char *source = manual_source(path), section[64] = "", *to = NULL;
    struct manual_block *blocks = NULL;
    size_t n = 0;
    int number = 0;

    for (char *line = source; *line; line += strcspn(line, "\n") + 1) {
        size_t length = strcspn(line, "\n");

        number++;
        if (!strncmp(line, ".SH ", 4))
            snprintf(section, sizeof section, "%.*s", (int)(length - 4), line + 4);
        if (!strncmp(line, ".nf", 3)) {
            blocks = realloc(blocks, (n + 1) * sizeof *blocks);
            assert_non_null(blocks);
            blocks[n] = (struct manual_block){.line = number + 1, .text = to = malloc(strlen(line) + 1)};
            assert_non_null(to);
            memcpy(blocks[n++].section, section, sizeof section);
        } else if (!strncmp(line, ".fi", 3)) {
            assert_non_null(to);
            *to = 0;
            to = NULL;
        } else if (to) {
            to = unescape(line, length, to);
        }
    }
    assert_null(to);
    free(source);
    *count = n;
    return blocks;
}

void manual_free(struct manual_block *blocks, size_t count) {
    for (size_t i = 0; i < count; i++)
        free(blocks[i].text);
    free(blocks);
}
