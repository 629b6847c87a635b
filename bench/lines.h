/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of shapes: lines of words, where # begins a comment. */
#ifndef BENCH_LINES_H
#define BENCH_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "ukernels.h"

/* The largest dimension: BLAS has 32-bit sizes. */
enum { BENCH_LARGEST_SIZE = 1 << 24 };

struct bench_lines {
    /* Reads a line of at least one word. */
    enum uk_status (*read)(struct bench_lines *r, char **word, int words);
    void *user;
    int line; /* number of the present one */
    char *message;
    size_t size; /* of the message */
};

/* Reads all lines; ends with the first failure. */
enum uk_status bench_read_lines(struct bench_lines *r, const char *text);
/* Writes a message that begins with the line's number. Returns UK_INVALID_ARGUMENT. */
enum uk_status bench_refuse_line(struct bench_lines *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* True if the word is a size from 1 to BENCH_LARGEST_SIZE. */
bool bench_parse_size(const char *text, int64_t *value);

#endif
