/* SPDX-License-Identifier: Apache-2.0 */
/* Measures each layer's cost in runs of the whole network. A child process compiles with the automatic
 * schedules, runs, and times or counts; the parent never runs generated code. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "bench.h"
#include "network.h"

/* ---- in the child ---- */

/* Counts instructions per layer. */
static int count_layers(struct uk_net_job *j, int layers, double *cost) {
    struct uk_net_counted *counted = calloc((size_t)layers + 1, sizeof *counted);
    struct uk_emulated_counts counts = {0};
    const int status =
        counted ? uk_net_count_layers(j, &counts, counted) : uk_complain(UK_EXIT_WRONG, "out of memory");

    for (int i = 0; i < layers && !status; i++)
        cost[i] = counted[i].instructions;
    uk_counts_free(&counts);
    free(counted);
    return status;
}

static int measure(struct uk_net_job *j, bool is_counted, int layers, double *cost) {
    int status = uk_network_schedule(j->network, "", "", 0, NULL) ? uk_net_failed(j) : uk_net_take_inputs(j);

    if (!status)
        status = uk_net_prepare(j);
    if (status)
        return status;
    uk_net_fill(j);
    uk_net_fill_states(j);
    return is_counted ? count_layers(j, layers, cost) : uk_net_time_layers(j, layers, cost);
}

static void be_child(struct uk_net_job *j, bool is_counted, int layers, double *cost, int out) {
    const int nowhere = open("/dev/null", O_RDWR);
    const size_t bytes = (size_t)layers * sizeof *cost;

    prctl(PR_SET_PDEATHSIG, SIGTERM);
    signal(SIGINT, SIG_IGN); /* the parent ends the child, which then removes its files */
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_IGN);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    dup2(nowhere, STDOUT_FILENO);
    const int status = measure(j, is_counted, layers, cost);
    uk_net_end(j);
    if (uk_board_in_use())
        uk_board_forget(uk_board_in_use());
    _exit(status ? status : write(out, cost, bytes) == (ssize_t)bytes ? 0 : UK_EXIT_WRONG);
}

/* ---- in the parent ---- */

/* Receives the child's costs. False: interrupted, time is up, or the child has ended. */
static bool receive(int in, double end, volatile int *interrupted, char *to, size_t bytes) {
    while (bytes && !*interrupted && bench_seconds() < end) {
        struct pollfd p = {.fd = in, .events = POLLIN};

        if (poll(&p, 1, 200) <= 0)
            continue;
        const ssize_t n = read(in, to, bytes);
        if (n <= 0)
            return false;
        to += n;
        bytes -= (size_t)n;
    }
    return !bytes;
}

static int ended(const struct uk_net_job *j, int status) {
    if (WIFSIGNALED(status))
        return uk_complain(UK_EXIT_WRONG, "%s ended by signal %d, %s; uk run --check says in which layer",
                           uk_network_name(j->network), WTERMSIG(status), strsignal(WTERMSIG(status)));
    return WEXITSTATUS(status) ? WEXITSTATUS(status) : UK_EXIT_WRONG;
}

int tune_weigh(struct uk_net_job *j, const struct tune *t, int layers, double *cost) {
    int pipes[2], status;

    fflush(NULL);
    if (pipe2(pipes, O_CLOEXEC))
        return uk_complain(UK_EXIT_WRONG, "no pipe: %s", strerror(errno));
    const pid_t child = fork();
    if (!child) {
        close(pipes[0]);
        be_child(j, t->bench.is_counted, layers, cost, pipes[1]);
    }
    close(pipes[1]);
    const bool whole = child > 0 && receive(pipes[0], t->bench.end, t->interrupted, (char *)cost,
                                            (size_t)layers * sizeof *cost);
    close(pipes[0]);
    if (child < 0)
        return uk_complain(UK_EXIT_WRONG, "no process: %s", strerror(errno));
    const bool late = !whole && (*t->interrupted || bench_seconds() >= t->bench.end);
    if (late)
        kill(child, SIGTERM);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (late && uk_board_in_use()) {
        uk_board_stop(uk_board_in_use());
        uk_board_forget(uk_board_in_use());
    }
    if (!whole)
        memset(cost, 0, (size_t)layers * sizeof *cost);
    return whole || late ? UK_EXIT_OK : ended(j, status);
}
