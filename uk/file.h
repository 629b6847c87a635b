/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes whole files. */
#ifndef UK_FILE_H
#define UK_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* A file that is written in pieces, under another name until it is complete. Signals are held from
 * uk_begin_pieces() to uk_end_pieces(). A device is written to, since it cannot be replaced. */
struct uk_pieces {
    const char *path;
    char *name;       /* of the temporary file; NULL: the path is that of a device */
    int file;         /* -1: it could not be opened */
    bool is_stream;   /* takes bytes only in order, as a pipe */
    uint64_t written; /* bytes of a stream so far */
    int error;        /* errno of the first failure, else 0 */
};
void uk_begin_pieces(struct uk_pieces *p, const char *path);
/* Writes bytes at the offset. False: that failed, or something failed before; errno is set. */
bool uk_put_piece(struct uk_pieces *p, uint64_t offset, const void *bytes, size_t length);
/* Gives the file its name, or removes it unless `keep`. Exit status; prints the first failure. */
int uk_end_pieces(struct uk_pieces *p, bool keep);

#endif
