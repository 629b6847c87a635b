/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs child processes. A signal that comes meanwhile first ends the child and its descendants, so that uk
 * can remove their files before the signal ends uk too.
 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include "child.h"
#include "uk.h"

extern char **environ;

enum { SIGNALS = 4 };
static const int signals[SIGNALS] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
static struct sigaction before[SIGNALS];
static int held;                     /* calls of uk_hold_signals() not yet released */
static volatile sig_atomic_t caught; /* the last signal that came; 0: none */
static volatile pid_t child;         /* process group to end; 0: none */

static void on_signal(int number) {
    const int error = errno;

    caught = number;
    if (child)
        kill(-child, number);
    errno = error;
}

void uk_hold_signals(void) {
    struct sigaction action = {.sa_handler = on_signal};

    sigemptyset(&action.sa_mask);
    for (int i = 0; i < SIGNALS && !held; i++) {
        sigaction(signals[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN)
            sigaction(signals[i], &action, NULL);
    }
    held++;
}

void uk_release_signals(void) {
    if (--held)
        return;
    for (int i = 0; i < SIGNALS; i++)
        sigaction(signals[i], &before[i], NULL);
    if (caught)
        raise(caught);
}

void uk_begin_signals(void) {
    held = 0;
}

bool uk_is_interrupted(void) {
    return caught;
}

/* Maps uk's files to the child's standard ones; -1: inherits uk's own. Returns 0 or an errno value. */
static int add_files(posix_spawn_file_actions_t *actions, const int files[3]) {
    int error = 0;

    for (int i = 0; files && i < 3 && !error; i++)
        if (files[i] >= 0)
            error = posix_spawn_file_actions_adddup2(actions, files[i], i);
    return error;
}

int uk_start_child(char *const argv[], const int files[3], int *open_end, int *pid) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int ends[2], error = pipe(ends) ? errno : 0;

    if (error)
        return error;
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_init(&actions);
    if (!(error = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP)) &&
        !(error = posix_spawnattr_setpgroup(&attributes, 0)) && !(error = add_files(&actions, files)))
        error = posix_spawnp(pid, argv[0], &actions, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    *open_end = ends[0];
    if (error)
        close(ends[0]);
    return error;
}

int uk_run_child(char *const argv[]) {
    return uk_run_child_on(argv, NULL);
}

int uk_run_child_on(char *const argv[], const int files[3]) {
    int result = 0, end, error;
    pid_t pid;
    char byte;

    fflush(stdout);
    if (caught)
        return 0;
    if ((error = uk_start_child(argv, files, &end, &pid))) {
        errno = error;
        return -1;
    }
    child = pid;
    if (caught)
        kill(-pid, caught);
    /* Waits for descendants: a compiler ended by a signal may leave its linker running for a moment. */
    while (read(end, &byte, 1) < 0 && errno == EINTR)
        ;
    close(end);
    while (waitpid(pid, &result, 0) < 0)
        if (errno != EINTR) {
            result = -1;
            break;
        }
    child = 0;
    return result;
}
