/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks between .nf and .fi in a manual page: examples, messages, a grammar. */
#ifndef MANUAL_H
#define MANUAL_H

#include <stddef.h>

struct manual_block {
    /* the .SH above it */
    char section[64];
    /* number of its first line in the page */
    int line;
    char *text; /* without roff's escapes; each line ends in a newline */
};

/* Reads the blocks in order; *count is their number. Fails the test if the page cannot be read. */
struct manual_block *manual_read(const char *path, size_t *count);
void manual_free(struct manual_block *blocks, size_t count);
/* Returns the page's source, each line ending in a newline; the caller frees it. */
char *manual_source(const char *path);

#endif
