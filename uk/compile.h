/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of output of uk compile: the words of --emit, and the extensions of files. */
#ifndef UK_COMPILE_H
#define UK_COMPILE_H

#include "uk.h"

/* Maps a word of --emit to its enum uk_emit; -1: the word applies to networks only. */
int uk_emit_of_word(const char *word);
/* Chooses the output kind by the extension of -o's file, for when --emit is not given; no extension means an
 * object. Exit status: an unknown extension is refused. */
int uk_emit_of_extension(const char *out, int *stage);
/* Refuses binary output without -o. Returns UK_EXIT_OK for everything else. */
int uk_check_binary(const struct uk_arguments *a, int stage);

#endif
