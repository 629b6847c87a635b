/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Temporary local folder of a connection. A separate process removes it when a pipe closes that only uk holds
 * open, so nothing remains even if uk is killed.
 */
#define _XOPEN_SOURCE 700
#define _GNU_SOURCE /* pipe2 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "remote.h"

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw) {
    (void)st;
    (void)type;
    (void)ftw;
    remove(path);
    return 0;
}

/* Removes the folder; retries, because a compiler that uk started may still be writing to it. */
static void remove_folder(const char *folder) {
    enum { TRIES = 50, OPEN = 16 };

    for (int i = 0; i < TRIES && !access(folder, F_OK); i++) {
        if (i)
            nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
        nftw(folder, remove_one, OPEN, FTW_DEPTH | FTW_PHYS);
    }
}

enum { FILES = 1024 };

/* Runs the guard, in a session of its own so that it receives no signal of the terminal. */
static void be_guard(const char *folder, int end) {
    const int nowhere = open("/dev/null", O_RDWR);
    char byte;

    setsid();
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    for (int i = 0; i < 3; i++)
        dup2(nowhere, i);
    /* Closes what uk holds open for other connections. */
    for (int i = 3; i < FILES; i++)
        if (i != end)
            close(i);
    while (read(end, &byte, 1) < 0 && errno == EINTR)
        ;
    remove_folder(folder);
    _exit(0);
}

/* The parent folder: short enough for a socket's path, and without characters that are special to ssh. */
static const char *place(void) {
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/_.-";
    const char *where = getenv("TMPDIR");

    return where && *where == '/' && strlen(where) < 40 && !where[strspn(where, plain)] ? where : "/tmp";
}

int uk_guard_begin(struct uk_guard *g) {
    int ends[2];

    snprintf(g->folder, sizeof g->folder, "%s/uk-remote-XXXXXX", place());
    if (pipe2(ends, O_CLOEXEC)) {
        g->folder[0] = 0;
        return uk_complain(UK_EXIT_WRONG, "no pipe: %s", strerror(errno));
    }
    if (!mkdtemp(g->folder)) {
        g->folder[0] = 0;
        close(ends[0]);
        close(ends[1]);
        return uk_complain(UK_EXIT_WRONG, "cannot make a folder in %s: %s", place(), strerror(errno));
    }
    fflush(NULL);
    g->child = fork();
    if (!g->child) {
        close(ends[1]);
        be_guard(g->folder, ends[0]);
    }
    close(ends[0]);
    g->pipe = ends[1];
    if (g->child < 0) {
        rmdir(g->folder);
        g->folder[0] = 0;
        close(g->pipe);
        return uk_complain(UK_EXIT_WRONG, "cannot start a process: %s", strerror(errno));
    }
    return UK_EXIT_OK;
}

void uk_guard_end(struct uk_guard *g) {
    if (!g->folder[0])
        return;
    close(g->pipe);
    while (waitpid(g->child, NULL, 0) < 0 && errno == EINTR)
        ;
    g->folder[0] = 0;
}
