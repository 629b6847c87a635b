/* SPDX-License-Identifier: Apache-2.0 */
/* Reads whole files; writes files so that they appear only when complete. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
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

/* Writes and closes the file. True if all was written. */
static bool write_and_close(FILE *f, const char *bytes, size_t length) {
    bool written = fwrite(bytes, 1, length, f) == length && !fflush(f);
    int error = errno;
    bool closed = !fclose(f);
    if (!written)
        errno = error;
    return written && closed;
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

int uk_write_output(const char *path, const char *bytes, size_t length) {
    struct stat s;
    if (!path || !strcmp(path, "-"))
        return fwrite(bytes, 1, length, stdout) == length ? UK_EXIT_OK : write_failed("standard output");
    /* A device or a pipe cannot be replaced, so it is written to. */
    if (!stat(path, &s) && !S_ISREG(s.st_mode)) {
        FILE *f = fopen(path, "wb");
        return f && write_and_close(f, bytes, length) ? UK_EXIT_OK : write_failed(path);
    }
    size_t room = strlen(path) + sizeof ".XXXXXX";
    char *name = malloc(room);
    if (!name)
        return uk_complain(UK_EXIT_WRONG, "%s: out of memory", path);
    snprintf(name, room, "%s.XXXXXX", path);
    int status = UK_EXIT_OK;
    uk_hold_signals();
    int fd = mkstemp(name);
    FILE *f = fd >= 0 ? fdopen(fd, "wb") : NULL;
    if (!f) {
        status = write_failed(path);
        if (fd >= 0)
            close(fd);
    } else {
        /* mkstemp makes the file private; give it the mode of any new file. */
        mode_t mask = umask(0);
        umask(mask);
        bool complete = !fchmod(fd, 0666 & ~mask);
        complete = write_and_close(f, bytes, length) && complete;
        if (!complete || rename(name, path))
            status = write_failed(path);
    }
    if (status && fd >= 0)
        unlink(name);
    free(name);
    uk_release_signals();
    return status;
}
