/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time limit of each call; all calls of a form together have none. It limits the CPU time of the process
 * that runs the call, so that other load on the machine does not matter. A call that waits forever uses no
 * CPU time, so there is a limit of wall-clock time, too.
 */
#define _GNU_SOURCE /* kill */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "verify.h"

/* In ns; -1: the process has ended. */
static int64_t cpu_time(pid_t process) {
    struct timespec used;
    clockid_t clock;

    if (clock_getcpuclockid(process, &clock) || clock_gettime(clock, &used))
        return -1;
    return used.tv_sec * INT64_C(1000000000) + used.tv_nsec;
}

void uk_verify_begin_call(struct uk_verifier *v, pid_t process) {
    struct uk_call *c = &v->verdict->call;

    c->process = process;
    c->before = cpu_time(process);
    atomic_fetch_add(&c->number, 1);
}

void uk_verify_end_call(struct uk_verifier *v) {
    atomic_fetch_add(&v->verdict->call.number, 1);
}

/* True if the call with this number still runs and has used more than `seconds`. */
static bool takes_longer(struct uk_call *c, unsigned number, int seconds) {
    const int64_t before = c->before, now = cpu_time(c->process);

    return before >= 0 && now - before > seconds * INT64_C(1000000000) && atomic_load(&c->number) == number;
}

enum uk_verify_end uk_verify_wait(pid_t child, struct uk_call *call, int seconds, int *result) {
    const struct timespec pause = {0, 1000000};
    enum uk_verify_end end = UK_VERIFY_ENDED;
    unsigned seen = 0;
    double since = 0;

    for (;;) {
        const pid_t done = waitpid(child, result, WNOHANG);
        const unsigned number = atomic_load(&call->number);

        if (done == child || (done < 0 && errno != EINTR))
            return end;
        if (number != seen) {
            seen = number;
            since = uk_now();
        } else if (end == UK_VERIFY_ENDED && number % 2) {
            if (takes_longer(call, number, seconds))
                end = UK_VERIFY_TOO_LONG;
            else if (uk_now() - since > seconds * 1e3 * UK_VERIFY_WALL_CLOCK_FACTOR)
                end = UK_VERIFY_STUCK;
            if (end != UK_VERIFY_ENDED)
                kill(child, SIGKILL);
        }
        nanosleep(&pause, NULL);
    }
}
