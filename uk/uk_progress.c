/* SPDX-License-Identifier: Apache-2.0 */
/* A sign of life on standard error while something takes long: on a terminal a line that counts the seconds,
 * elsewhere a line every few. A timer's signal writes it, so that what is waited for need not know. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <unistd.h>
#include "uk.h"

enum { SECONDS = 5 }; /* between two lines; on a terminal 1 */

static const char *what;
static bool terminal;
static volatile sig_atomic_t passed;
static struct sigaction before;

/* Only what a signal handler may call. */
static void show(int number) {
    char line[160], digits[16];
    size_t n = 0, d = sizeof digits;
    const int error = errno;

    (void)number;
    passed += terminal ? 1 : SECONDS;
    for (int v = passed; v || d == sizeof digits; v /= 10)
        digits[--d] = (char)('0' + v % 10);
    for (const char *c = terminal ? "\r\033[K" : ""; *c; c++)
        line[n++] = *c;
    for (const char *c = "uk: "; *c; c++)
        line[n++] = *c;
    while (d < sizeof digits)
        line[n++] = digits[d++];
    for (const char *c = " s: "; *c; c++)
        line[n++] = *c;
    for (const char *c = what; *c && n < sizeof line - 1; c++)
        line[n++] = *c;
    if (!terminal)
        line[n++] = '\n';
    const ssize_t written = write(STDERR_FILENO, line, n);
    (void)written; /* a failure is ignored: standard error is closed */
    errno = error;
}

void uk_progress_begin(const char *text) {
    const struct sigaction action = {.sa_handler = show, .sa_flags = SA_RESTART};

    what = text;
    terminal = isatty(STDERR_FILENO);
    passed = 0;
    sigaction(SIGALRM, &action, &before);
    const struct timeval every = {.tv_sec = terminal ? 1 : SECONDS};
    setitimer(ITIMER_REAL, &(struct itimerval){every, every}, NULL);
}

void uk_progress_end(void) {
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
    sigaction(SIGALRM, &before, NULL);
    if (terminal && passed) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
}
