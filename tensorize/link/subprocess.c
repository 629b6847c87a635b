/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the programs that the library was built with, clang and through it the linker, without a shell or
 * temporary files and with a time limit. Their inputs and outputs are files in memory.
 */
#define _GNU_SOURCE /* memfd_create, posix_spawn_file_actions_adddup2, kill */
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "link.h"

extern char **environ;

char *uk_read_all(int fd, size_t most, size_t *length) {
    struct stat st;
    size_t have = 0;

    errno = 0;
    if (fstat(fd, &st))
        return NULL;
    if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > most) {
        errno = S_ISREG(st.st_mode) ? EFBIG : EINVAL;
        return NULL;
    }
    char *bytes = malloc((size_t)st.st_size + 1);
    while (bytes && have < (size_t)st.st_size) {
        ssize_t n = pread(fd, bytes + have, (size_t)st.st_size - have, (off_t)have);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) { /* an error, or the file has become shorter */
            errno = n ? errno : EIO;
            free(bytes);
            return NULL;
        }
        have += (size_t)n;
    }
    if (bytes)
        bytes[have] = 0;
    *length = have;
    return bytes;
}

bool uk_write_all(int fd, const char *bytes, size_t n) {
    while (n) {
        ssize_t done = write(fd, bytes, n);

        if (done <= 0)
            return false;
        bytes += done;
        n -= (size_t)done;
    }
    return true;
}

enum uk_status uk_tool_files(struct uk_context *c, const char *input, size_t size, int fd[3]) {
    for (int i = 0; i < 3; i++)
        fd[i] = memfd_create("link", MFD_CLOEXEC);
    if (fd[0] >= 0 && fd[1] >= 0 && fd[2] >= 0 && uk_write_all(fd[0], input, size) &&
        !lseek(fd[0], 0, SEEK_SET))
        return UK_OK;
    return uk_fail(c, UK_IO, (struct uk_position){0, 0}, "cannot make a file in memory for the linker: %s",
                   strerror(errno));
}

void uk_tool_files_close(const int fd[3]) {
    for (int i = 0; i < 3; i++)
        if (fd[i] >= 0)
            close(fd[i]);
}

bool uk_wait_for(pid_t pid, int seconds, int *result) {
    const struct timespec pause = {0, 1000000};
    double until = uk_now() + seconds * 1e3;

    for (;;) {
        pid_t done = waitpid(pid, result, WNOHANG);

        if (done == pid)
            return true;
        if (done < 0 && errno != EINTR)
            return false;
        if (uk_now() > until) {
            kill(pid, SIGKILL);
            while (waitpid(pid, result, 0) < 0 && errno == EINTR)
                ;
            return false;
        }
        nanosleep(&pause, NULL);
    }
}

enum uk_tool_end uk_run_tool(char *const argv[], const int fd[3]) {
    posix_spawn_file_actions_t actions;
    int result = 0, error = posix_spawn_file_actions_init(&actions);
    pid_t pid;

    if (!error) {
        for (int i = 0; i < 3 && !error; i++)
            error = posix_spawn_file_actions_adddup2(&actions, fd[i], i);
        if (!error)
            error = posix_spawn(&pid, argv[0], &actions, NULL, argv, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    if (error) {
        errno = error;
        return UK_TOOL_NOT_STARTED;
    }
    if (!uk_wait_for(pid, UK_TOOL_SECONDS, &result))
        return UK_TOOL_TOO_LONG;
    return WIFEXITED(result) && !WEXITSTATUS(result) ? UK_TOOL_DONE : UK_TOOL_FAILED;
}
