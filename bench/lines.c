/* SPDX-License-Identifier: Apache-2.0 */
/* Reads texts of shapes: lines of words, where # begins a comment. */
#define _POSIX_C_SOURCE 200809L
#include "lines.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 512, LONGEST_LINE = 4096 };

enum uk_status bench_refuse_line(struct bench_lines *r, const char *format, ...) {
    va_list ap;
    int used = snprintf(r->message, r->size, "line %d: ", r->line);
    va_start(ap, format);
    if (used > 0 && (size_t)used < r->size)
        vsnprintf(r->message + used, r->size - (size_t)used, format, ap);
    va_end(ap);
    return UK_INVALID_ARGUMENT;
}

bool bench_parse_size(const char *text, int64_t *value) {
    char *end;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    *value = v;
    return end != text && !*end && !errno && v >= 1 && v <= BENCH_LARGEST_SIZE;
}

static enum uk_status read_line(struct bench_lines *r, char *line) {
    char *word[WORDS], *rest;
    int words = 0;
    line[strcspn(line, "#")] = 0;
    for (char *w = strtok_r(line, " \t\r", &rest); w && words < WORDS; w = strtok_r(NULL, " \t\r", &rest))
        word[words++] = w;
    return words ? r->read(r, word, words) : UK_OK;
}

enum uk_status bench_read_lines(struct bench_lines *r, const char *text) {
    enum uk_status status = UK_OK;
    while (*text && !status) {
        char line[LONGEST_LINE];
        size_t length = strcspn(text, "\n");
        r->line++;
        if (length >= sizeof line)
            return bench_refuse_line(r, "longer than %d letters", LONGEST_LINE - 1);
        memcpy(line, text, length);
        line[length] = 0;
        text += length + (text[length] == '\n');
        status = read_line(r, line);
    }
    return status;
}
