/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes whole files. */
#ifndef UK_FILE_H
#define UK_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* True if the name means standard input. */
bool uk_is_stdin(const char *path);
/* The file's name as messages show it. */
const char *uk_file_text(const char *path);
/* Reads the whole file, or standard input; the caller frees the text. NULL: the reason has been printed. */
char *uk_read_file(const char *path, size_t *length);
/* Checks before a long computation that the output's folder exists. Exit status. */
int uk_check_output(const char *path);
/* Writes to a temporary file and renames it to `path`; writes to standard output if path is NULL or "-". Exit
 * status. */
int uk_write_output(const char *path, const char *bytes, size_t length);

#endif
