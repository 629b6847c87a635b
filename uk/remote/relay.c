/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connects uk verify with its guest on a board, which cannot share a file. A process of uk has the guest's
 * standard input and output and the file; it sends each case over the connection and writes the reply into
 * the file.
 */
#define _GNU_SOURCE /* pipe2 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "emulate/emulate.h"
#include "remote.h"

enum { FILE_OF_CASES = 3 };
static const char word[] = "--remote-relay";

static bool copy(int in, int out, uint64_t bytes) {
    static char buffer[1 << 16];

    while (bytes) {
        const ssize_t n = read(in, buffer, bytes < sizeof buffer ? bytes : sizeof buffer);

        if (n <= 0)
            return false;
        for (ssize_t at = 0, written; at < n; at += written)
            if ((written = write(out, buffer + at, (size_t)(n - at))) <= 0)
                return false;
        bytes -= (uint64_t)n;
    }
    return true;
}

static bool exchange(int to, int from) {
    struct stat st;

    if (fstat(FILE_OF_CASES, &st))
        return false;
    const uint64_t bytes = (uint64_t)st.st_size;
    return write(to, &bytes, sizeof bytes) == sizeof bytes && !lseek(FILE_OF_CASES, 0, SEEK_SET) &&
           copy(FILE_OF_CASES, to, bytes) && !lseek(FILE_OF_CASES, 0, SEEK_SET) &&
           copy(from, FILE_OF_CASES, bytes);
}

/* Exits with the board program's status. */
static int end_as(pid_t child) {
    int status = 0;

    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) > 128 && WEXITSTATUS(status) < 128 + 32) {
        signal(WEXITSTATUS(status) - 128, SIG_DFL);
        raise(WEXITSTATUS(status) - 128);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

bool uk_is_relay(int argc, char **argv) {
    return argc > 2 && !strcmp(argv[1], word);
}

int uk_relay(char **argv) {
    int in[2], out[2];
    char byte;

    signal(SIGPIPE, SIG_IGN);
    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
        return 1;
    const pid_t child = fork();
    if (!child) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (dup2(in[0], STDIN_FILENO) >= 0 && dup2(out[1], STDOUT_FILENO) >= 0)
            execvp(argv[2], argv + 2);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    while (child > 0 && read(STDIN_FILENO, &byte, 1) == 1)
        if (!exchange(in[1], out[0]) || write(STDOUT_FILENO, &byte, 1) != 1)
            break;
    close(in[1]);
    return child > 0 ? end_as(child) : 1;
}

char *uk_relay_guest(const char *source) {
    struct uk_text t = {0};

    uk_put(&t, "#define _GNU_SOURCE\n#define main guest_main\n%s\n#undef main\n%s", source,
           uk_remote_relay[0].text);
    return t.text;
}

char *const *uk_relay_command(struct uk_board *b, const char *program) {
    static const char *argv[2 + UK_BOARD_ARGUMENTS] = {"/proc/self/exe", word};
    static char *command; /* lives as long as the process */
    char *words[UK_WORDS + 2];
    int n = 0;

    for (int i = 0; i < b->prefix.count; i++)
        words[n++] = b->prefix.word[i];
    words[n++] = (char *)program;
    words[n] = NULL;
    free(command);
    command = uk_board_script(b, "\"$@\"", words);
    if (!command) {
        uk_complain(0, "out of memory");
        return NULL;
    }
    uk_board_command(b, argv + 2, false, command);
    return (char *const *)argv;
}
