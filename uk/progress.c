/* SPDX-License-Identifier: Apache-2.0 */
/* Progress on standard error during long work: on a terminal a line that counts seconds, elsewhere a line
 * after 5, 10, 20, 40 ... seconds. A timer's signal handler writes it, so the work itself need not take
 * part. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>
#include "progress.h"
#include "uk.h"

enum { SECONDS = 5 }; /* between signals; 1 on a terminal */

static const char *what;
static struct uk_progress_item (*which)(const void *);
static const void *of;
static bool terminal;
static volatile sig_atomic_t passed, next;
static struct sigaction before;

struct line {
    char text[200];
    size_t length;
};

/* Formatting for the signal handler, where printf() is not allowed. */
static void put(struct line *l, const char *text) {
    const size_t n = strlen(text), room = sizeof l->text - l->length;

    memcpy(l->text + l->length, text, n < room ? n : room);
    l->length += n < room ? n : room;
}

static void put_number(struct line *l, int v) {
    char digits[16] = "";
    size_t d = sizeof digits - 1;

    for (digits[--d] = (char)('0' + v % 10); v /= 10;)
        digits[--d] = (char)('0' + v % 10);
    put(l, digits + d);
}

static void show(int number) {
    const int error = errno;
    const struct uk_progress_item item = which ? which(of) : (struct uk_progress_item){NULL, 0, 0};
    struct line l = {.length = 0};

    (void)number;
    passed += terminal ? 1 : SECONDS;
    if (!terminal && passed < next)
        return;
    next = 2 * passed;
    put(&l, terminal ? "\r\033[Kuk: " : "uk: ");
    put(&l, item.what ? item.what : what);
    if (item.of) {
        put(&l, " ");
        put_number(&l, item.number);
        put(&l, " of ");
        put_number(&l, item.of);
    }
    put(&l, ", ");
    put_number(&l, passed);
    put(&l, terminal ? " s" : " s\n");
    const ssize_t written = write(STDERR_FILENO, l.text, l.length);
    (void)written; /* ignored: standard error is closed */
    errno = error;
}

void uk_progress_begin(const char *text) {
    uk_progress_begin_items(text, NULL, NULL);
}

void uk_progress_begin_items(const char *text, struct uk_progress_item items(const void *),
                             const void *user) {
    const struct sigaction action = {.sa_handler = show, .sa_flags = SA_RESTART};

    what = text;
    which = items;
    of = user;
    terminal = isatty(STDERR_FILENO);
    passed = 0;
    next = SECONDS;
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
