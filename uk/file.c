/* SPDX-License-Identifier: Apache-2.0 */
/* Reads whole files; writes files, at once or in pieces, so that they appear only when complete. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "child.h"
#include "file.h"
#include "uk.h"
#include "base/base.h"
#include "language/language.h"

bool uk_is_stdin(const char *path) {
    return !strcmp(path, "-");
}

const char *uk_file_text(const char *path) {
    return uk_is_stdin(path) ? "<stdin>" : path;
}

static char *read_failed(const char *path, const char *why, char *text) {
    uk_complain(0, "%s: %s", uk_file_text(path), why);
    free(text);
    return NULL;
}

/* Reads to the end, without knowing the length. */
static char *read_all(FILE *f, const char *path, size_t *length) {
    size_t room = 1 << 16;
    char *text = malloc(room);
    *length = 0;
    while (text && !feof(f) && !ferror(f)) {
        *length += fread(text + *length, 1, room - 1 - *length, f);
        if (*length > UK_MAX_IMPORT)
            return read_failed(path, "longer than 64 MiB", text);
        if (*length < room - 1)
            continue;
        char *more = realloc(text, room *= 2);
        if (!more)
            return read_failed(path, "out of memory", text);
        text = more;
    }
    if (!text)
        return read_failed(path, "out of memory", NULL);
    text[*length] = 0;
    return text;
}

char *uk_read_file(const char *path, size_t *length) {
    FILE *f = uk_is_stdin(path) ? stdin : fopen(path, "rb");
    struct stat s;
    char *text = NULL;
    if (!f || fstat(fileno(f), &s)) {
        uk_complain(0, "%s: cannot read: %s", uk_file_text(path), strerror(errno));
    } else if (f != stdin && (!S_ISREG(s.st_mode) || s.st_size > UK_MAX_IMPORT)) {
        uk_complain(0, "%s: not a regular file of 64 MiB or less", path);
    } else if ((text = read_all(f, path, length)) && ferror(f)) {
        uk_complain(0, "%s: cannot read: %s", uk_file_text(path), strerror(errno));
        free(text);
        text = NULL;
    }
    if (f && f != stdin)
        fclose(f);
    return text;
}

static int write_failed(const char *path) {
    return uk_complain(UK_EXIT_WRONG, "%s: cannot write: %s", path, strerror(errno));
}

int uk_check_output(const char *path) {
    const char *slash = path ? strrchr(path, '/') : NULL;
    struct stat s;
    char *folder;
    int status = UK_EXIT_OK;

    if (!path || !strcmp(path, "-"))
        return UK_EXIT_OK;
    if (!stat(path, &s) && !S_ISREG(s.st_mode)) {
        errno = EISDIR;
        return S_ISDIR(s.st_mode) || access(path, W_OK) ? write_failed(path) : UK_EXIT_OK;
    }
    folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    if (!folder)
        return uk_complain(UK_EXIT_WRONG, "%s: out of memory", path);
    if (access(folder, W_OK | X_OK))
        status = write_failed(path);
    free(folder);
    return status;
}

/* ---- files in pieces ---- */

/* Opens a temporary file beside the path, with the mode of any new file, which mkstemp() does not give it. */
static bool open_temporary(struct uk_pieces *p) {
    const size_t room = strlen(p->path) + sizeof ".XXXXXX";

    p->name = malloc(room);
    if (!p->name)
        return false;
    snprintf(p->name, room, "%s.XXXXXX", p->path);
    p->file = mkstemp(p->name);
    const mode_t mask = umask(0);
    umask(mask);
    return p->file >= 0 && !fchmod(p->file, 0666 & ~mask);
}

void uk_begin_pieces(struct uk_pieces *p, const char *path) {
    struct stat s;

    *p = (struct uk_pieces){.path = path, .file = -1};
    uk_hold_signals();
    errno = 0;
    if (!stat(path, &s) && !S_ISREG(s.st_mode))
        p->file = open(path, O_WRONLY | O_CLOEXEC);
    else if (!open_temporary(p))
        p->error = errno;
    if (p->file < 0 && !p->error)
        p->error = errno ? errno : ENOMEM;
    p->is_stream = p->file >= 0 && lseek(p->file, 0, SEEK_CUR) < 0;
}

/* Writes some of the bytes; returns their number, or -1 with errno set. */
static ssize_t put_some(struct uk_pieces *p, uint64_t offset, const char *bytes, size_t length) {
    if (!p->is_stream)
        return pwrite(p->file, bytes, length, (off_t)offset);
    if (offset != p->written) {
        errno = ESPIPE;
        return -1;
    }
    const ssize_t n = write(p->file, bytes, length);
    p->written += n > 0 ? (uint64_t)n : 0;
    return n;
}

bool uk_put_piece(struct uk_pieces *p, uint64_t offset, const void *bytes, size_t length) {
    const char *at = bytes;

    while (length && !p->error) {
        const ssize_t n = put_some(p, offset, at, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            p->error = n ? errno : EIO;
            break;
        }
        at += n;
        offset += (uint64_t)n;
        length -= (size_t)n;
    }
    errno = p->error;
    return !p->error;
}

int uk_end_pieces(struct uk_pieces *p, bool keep) {
    if (p->file >= 0 && close(p->file) && !p->error)
        p->error = errno;
    if (keep && !p->error && p->name && rename(p->name, p->path))
        p->error = errno;
    if (p->name && p->file >= 0 && (!keep || p->error))
        unlink(p->name);
    free(p->name);
    uk_release_signals();
    errno = p->error;
    return p->error ? write_failed(p->path) : UK_EXIT_OK;
}

int uk_write_output(const char *path, const char *bytes, size_t length) {
    struct uk_pieces p;

    if (!path || !strcmp(path, "-"))
        return fwrite(bytes, 1, length, stdout) == length ? UK_EXIT_OK : write_failed("standard output");
    uk_begin_pieces(&p, path);
    uk_put_piece(&p, 0, bytes, length);
    return uk_end_pieces(&p, true);
}
