/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counterpart of relay.c on the board, linked with a guest of uk verify, whose main is renamed. The guest
 * runs in a child process and shares an in-memory file with this one. A case comes as a byte count and its
 * bytes, and is returned with the same count.
 */
#include <fcntl.h>
#include <stdint.h>
#include <sys/wait.h>

static int relay_all(int in, int out, uint64_t bytes) {
    static char buffer[1 << 16];

    while (bytes) {
        const ssize_t n = read(in, buffer, bytes < sizeof buffer ? bytes : sizeof buffer);

        if (n <= 0)
            return 0;
        for (ssize_t at = 0, written; at < n; at += written)
            if ((written = write(out, buffer + at, (size_t)(n - at))) <= 0)
                return 0;
        bytes -= (uint64_t)n;
    }
    return 1;
}

/* Exits with the guest's status. */
static int relay_end(pid_t child) {
    int status = 0;

    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) {
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
    }
    return WEXITSTATUS(status);
}

static int relay_cases(int to, int from) {
    uint64_t bytes, got = 0;
    ssize_t n;
    char byte = 0;

    while ((n = read(STDIN_FILENO, (char *)&bytes + got, sizeof bytes - got)) > 0) {
        if ((got += (uint64_t)n) < sizeof bytes)
            continue;
        got = 0;
        if (ftruncate(GUEST_FILE, (off_t)bytes) || lseek(GUEST_FILE, 0, SEEK_SET) ||
            !relay_all(STDIN_FILENO, GUEST_FILE, bytes) || write(to, &byte, 1) != 1 ||
            read(from, &byte, 1) != 1)
            return 0;
        if (lseek(GUEST_FILE, 0, SEEK_SET) || !relay_all(GUEST_FILE, STDOUT_FILENO, bytes))
            return 0;
    }
    return 1;
}

int main(void) {
    int to[2], from[2];
    const int file = memfd_create("uk verify", 0);

    if (file < 0 || (file != GUEST_FILE && dup2(file, GUEST_FILE) < 0) || pipe(to) || pipe(from))
        return 2;
    signal(SIGPIPE, SIG_IGN);
    const pid_t child = fork();
    if (child < 0)
        return 2;
    if (!child) {
        dup2(to[0], STDIN_FILENO);
        dup2(from[1], STDOUT_FILENO);
        close(to[1]);
        close(from[0]);
        return guest_main();
    }
    close(to[0]);
    close(from[1]);
    relay_cases(to[1], from[0]);
    close(to[1]);
    return relay_end(child);
}
