/* SPDX-License-Identifier: Apache-2.0 */
/* Lines to standard error if UK_VERBOSE is 1: the only case in which libukernels prints. */
#define _GNU_SOURCE /* secure_getenv */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "runtime.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool is_verbose;

static void read_environment(void) {
    const char *text = secure_getenv("UK_VERBOSE");

    is_verbose = text && !strcmp(text, "1");
}

bool uk_is_verbose(void) {
    pthread_once(&once, read_environment);
    return is_verbose;
}

double uk_microseconds(void) {
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

void uk_say_line(const char *format, ...) {
    char line[512];
    va_list ap;

    va_start(ap, format);
    const int n = vsnprintf(line, sizeof line - 1, format, ap);
    va_end(ap);
    if (n < 0)
        return;
    const size_t length = (size_t)n < sizeof line - 1 ? (size_t)n : sizeof line - 2;

    line[length] = '\n';
    /* A line that cannot be written is lost: a call does not fail for it. */
    if (write(STDERR_FILENO, line, length + 1) < 0)
        return;
}
