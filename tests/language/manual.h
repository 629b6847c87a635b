/* SPDX-License-Identifier: Apache-2.0 */
/* What stands between .nf and .fi in a manual page: examples, messages, a grammar. */
#ifndef MANUAL_H
#define MANUAL_H

#include <stddef.h>

struct manual_block {
    char section[64]; /* the .SH that it is below */
    int line;         /* of its first line in the page */
    char *text;       /* without roff's escapes; each line ends in a newline */
};

/* The blocks in their order; *count of them. Fails the test if the page cannot be read. */
struct manual_block *manual_read(const char *path, size_t *count);
void manual_free(struct manual_block *blocks, size_t count);
/* The page's source, each line ending in a newline; the caller's. */
char *manual_source(const char *path);

#endif
