/* SPDX-License-Identifier: Apache-2.0 */
/* Tests UK_VERBOSE=1: one line per call, written at once, also from threads and after fork; otherwise no
 * output. Each case runs in its own process, because the environment is read once. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "ukernels.h"

enum { ROOM = 1 << 16, THREADS = 4, CALLS = 25 };

static char said[ROOM];
static float a[64], b[64], c[64];
static double x[64], y[64], z[64];
static int writes; /* number of writes to standard error */

ssize_t __real_write(int fd, const void *text, size_t size);
ssize_t __wrap_write(int fd, const void *text, size_t size);

ssize_t __wrap_write(int fd, const void *text, size_t size) {
    writes += fd == STDERR_FILENO;
    return __real_write(fd, text, size);
}

/* Collects what `body` writes to standard error in that environment; returns the number of writes. */
static int run(void (*body)(void), const char *verbose, const char *threads, const char *isa) {
    int ends[2], status;
    size_t length = 0;

    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();

    assert_true(child >= 0);
    if (!child) {
        unsetenv("UK_VERBOSE");
        if (verbose)
            setenv("UK_VERBOSE", verbose, 1);
        if (threads)
            setenv("UK_NUM_THREADS", threads, 1);
        if (isa)
            setenv("UK_ISA", isa, 1);
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        body();
        _exit(writes);
    }
    close(ends[1]);
    for (ssize_t n; length < ROOM - 1 && (n = read(ends[0], said + length, ROOM - 1 - length)) > 0;)
        length += (size_t)n;
    said[length] = 0;
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int lines_with(const char *text) {
    int count = 0;

    for (const char *at = said; *at; at = strchr(at, '\n') + 1) {
        const char *end = strchr(at, '\n');

        assert_non_null(end);
        count += memmem(at, (size_t)(end - at), text, strlen(text)) != NULL;
    }
    return count;
}

static int call(void) {
    return uk_sgemm(UK_ROW_MAJOR, UK_NO_TRANSPOSE, UK_TRANSPOSE, 2, 3, 4, 1, a, 4, b, 5, 0, c, 6);
}

static void call_all(void) {
    struct uk_gemm_plan plan;

    call();
    uk_dgemm(UK_COLUMN_MAJOR, UK_TRANSPOSE, UK_NO_TRANSPOSE, 2, 3, 4, 2, x, 5, y, 6, 1, z, 7);
    uk_sgemm_plan(&plan, UK_ROW_MAJOR, UK_NO_TRANSPOSE, UK_NO_TRANSPOSE, 3, 2, 4, 4, 2, 2, NULL);
    uk_sgemm_run(&plan, 1, a, b, 0, c, NULL, NULL);
    uk_sgemm_batch_strided(UK_ROW_MAJOR, UK_NO_TRANSPOSE, UK_NO_TRANSPOSE, 2, 2, 2, 1, a, 2, 4, b, 2, 4, 0, c,
                           2, 4, 3);
    uk_sgemm(UK_ROW_MAJOR, UK_NO_TRANSPOSE, UK_NO_TRANSPOSE, 2, 2, 2, 1, NULL, 2, b, 2, 0, c, 2);
}

static void a_line_says_what_a_call_did(void **state) {
    (void)state;
    assert_int_equal(run(call_all, "1", "1", NULL), 6);
    assert_int_equal(lines_with("ukernels"), 6);
    assert_int_equal(lines_with(": core "), 1);
    assert_int_equal(lines_with(", 1 threads"), 1);
    assert_int_equal(lines_with("ukernels: sgemm row-major NT 2 x 3 x 4 lda 4 ldb 5 ldc 6 alpha 1 beta 0: "),
                     1);
    assert_int_equal(
        lines_with("ukernels: dgemm column-major TN 2 x 3 x 4 lda 5 ldb 6 ldc 7 alpha 2 beta 1: "), 1);
    assert_int_equal(lines_with("sgemm row-major NN 3 x 2 x 4 lda 4 ldb 2 ldc 2 alpha 1 beta 0: "), 1);
    assert_int_equal(lines_with("sgemm row-major NN 2 x 2 x 2 batch 3 lda 2 ldb 2 ldc 2 "), 1);
    assert_int_equal(lines_with(", uk_sgemm"), 4);
    assert_int_equal(lines_with(", 1 thread, "), 5);
    assert_int_equal(lines_with(" us"), 5);
    assert_int_equal(lines_with(" us, invalid argument"), 1);
}

static void nothing_is_said_unasked(void **state) {
    static const char *const values[] = {NULL, "", "0", "2"};

    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        assert_int_equal(run(call_all, values[i], "1", NULL), 0);
        assert_string_equal(said, "");
    }
}

static void call_twice(void) {
    call();
    call();
}

static void unknown_values_are_said_once(void **state) {
    (void)state;
    run(call_twice, "1", "zero", "nothing");
    assert_int_equal(lines_with("UK_NUM_THREADS"), 1);
    assert_int_equal(lines_with("UK_ISA"), 1);
    assert_int_equal(lines_with("ukernels"), 5);
}

static void *call_often(void *unused) {
    for (int i = 0; i < CALLS; i++)
        call();
    return unused;
}

static void call_in_threads(void) {
    pthread_t thread[THREADS];

    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, call_often, NULL))
            _exit(255);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
}

static void lines_of_threads_are_whole(void **state) {
    (void)state;
    run(call_in_threads, "1", "1", NULL);
    assert_int_equal(lines_with("ukernels: sgemm row-major NT 2 x 3 x 4 lda 4 "), THREADS * CALLS);
    assert_int_equal(lines_with(" us"), THREADS * CALLS);
}

static void call_before_and_after_fork(void) {
    call();
    const pid_t child = fork();

    if (!child) {
        call();
        _exit(0);
    }
    waitpid(child, NULL, 0);
    call();
}

static void children_say_it_too(void **state) {
    (void)state;
    run(call_before_and_after_fork, "1", "1", NULL);
    assert_int_equal(lines_with("ukernels: sgemm "), 3);
    assert_int_equal(lines_with(": core "), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_says_what_a_call_did), cmocka_unit_test(nothing_is_said_unasked),
        cmocka_unit_test(unknown_values_are_said_once), cmocka_unit_test(lines_of_threads_are_whole),
        cmocka_unit_test(children_say_it_too)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
