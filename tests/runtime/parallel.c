/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests uk_parallel_for: each index once, distinct thread numbers, nested, from several threads, after fork,
 * and if threads cannot be created.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "emulated.h"
#include "ukernels.h"

enum { COUNT = 1000, THREADS = 4, MOST = 16 };

struct run {
    atomic_int done[COUNT];
    atomic_int busy[MOST];
    atomic_int wrong, most; /* most: largest thread number seen */
    int threads;            /* limit of thread numbers */
};

static void mark(void *context, int64_t index, int64_t thread) {
    struct run *r = context;

    if (thread < 0 || thread >= r->threads || atomic_fetch_add(&r->busy[thread], 1))
        atomic_fetch_add(&r->wrong, 1);
    atomic_fetch_add(&r->done[index], 1);
    if (thread > atomic_load(&r->most))
        atomic_store(&r->most, (int)thread);
    /* Index 0 waits until another thread runs, which can take long on a busy machine. */
    for (int ms = 0; index == 0 && r->threads > 1 && ms < 10000 && !atomic_load(&r->most); ms++)
        usleep(1000);
    atomic_fetch_sub(&r->busy[thread], 1);
}

/* Runs a loop. True if each index ran once, with valid thread numbers. */
static int loop_is_right(int *threads_seen) {
    struct run *r = calloc(1, sizeof *r);
    int right = r != NULL;

    if (!r)
        return 0;
    r->threads = uk_num_threads();
    uk_parallel_for(mark, r, COUNT);
    for (int i = 0; i < COUNT; i++)
        right = right && atomic_load(&r->done[i]) == 1;
    right = right && !atomic_load(&r->wrong);
    *threads_seen = atomic_load(&r->most) + 1;
    free(r);
    return right;
}

/* pthread_create fails after `threads_left` calls: the loop then uses none of the threads, and those that
 * exist end. */
static int threads_left = -1;
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                          void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                          void *argument);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                          void *argument) {
    if (!threads_left)
        return EAGAIN;
    threads_left -= threads_left > 0;
    return __real_pthread_create(thread, attributes, start, argument);
}

static void mark_alone(void *context, int64_t index, int64_t thread) {
    int *done = context;

    done[index] += thread == 0;
}

static void without_threads(void **state) {
    int done[COUNT] = {0};

    (void)state;
    threads_left = THREADS - 2;
    uk_parallel_for(mark_alone, done, COUNT);
    assert_int_equal(threads_left,
                     0); /* it tried to create them, and did not wait for one that does not exist */
    threads_left = -1;
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(done[i], 1);
}

static void every_index_once(void **state) {
    int seen;

    (void)state;
    assert_int_equal(uk_num_threads(), THREADS);
    assert_true(loop_is_right(&seen));
    assert_true(seen > 1);
}

static void never(void *context, int64_t index, int64_t thread) {
    (void)index;
    (void)thread;
    *(int *)context = 1;
}

static void empty_loops(void **state) {
    int ran = 0;

    (void)state;
    uk_parallel_for(never, &ran, 0);
    uk_parallel_for(never, &ran, -1);
    assert_int_equal(ran, 0);
    uk_parallel_for(never, &ran, 1);
    assert_int_equal(ran, 1);
}

struct inner {
    int64_t next, thread;
    int wrong;
};

static void in_order_on_0(void *context, int64_t index, int64_t thread) {
    struct inner *i = context;

    i->wrong |= index != i->next++ || thread != 0;
}

static void outer(void *context, int64_t index, int64_t thread) {
    struct inner inner = {0};

    (void)index;
    (void)thread;
    uk_parallel_for(in_order_on_0, &inner, 50);
    if (inner.wrong || inner.next != 50)
        atomic_fetch_add((atomic_int *)context, 1);
}

static void nested_is_serial(void **state) {
    atomic_int wrong = 0;

    (void)state;
    uk_parallel_for(outer, &wrong, 20);
    assert_int_equal(atomic_load(&wrong), 0);
}

static void *caller(void *wrong) {
    int seen;

    for (int i = 0; i < 20; i++)
        if (!loop_is_right(&seen))
            atomic_fetch_add((atomic_int *)wrong, 1);
    return NULL;
}

/* Runs loops that do not wait for a second thread, as there may be none. */
static void *short_caller(void *wrong) {
    for (int i = 0; i < 100; i++) {
        struct run r = {.threads = uk_num_threads(), .most = 1};

        uk_parallel_for(mark, &r, COUNT);
        for (int j = 0; j < COUNT; j++)
            if (atomic_load(&r.done[j]) != 1 || atomic_load(&r.wrong))
                atomic_fetch_add((atomic_int *)wrong, 1);
    }
    return NULL;
}

static void several_callers(void **state) {
    pthread_t threads[3];
    atomic_int wrong = 0;

    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, caller, &wrong), 0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&wrong), 0);
}

static void after_fork(void **state) {
    int seen, status;
    pid_t child;

    (void)state;
    SKIP_UNDER_QEMU("qemu-user 7.2 cannot start threads in the child of a process with threads");
    assert_true(loop_is_right(&seen));
    child = fork();
    assert_true(child >= 0);
    if (!child) {
        alarm(20);
        _exit(loop_is_right(&seen) && seen > 1 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_true(loop_is_right(&seen));
}

static void set_threads(void **state) {
    static const int number[] = {2, 7, 3, 1, 16, 4};
    int seen;

    (void)state;
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) {
        assert_int_equal(uk_set_num_threads(number[i]), UK_OK);
        assert_int_equal(uk_num_threads(), number[i]);
        assert_true(loop_is_right(&seen));
        assert_true(seen <= number[i] && (seen > 1 || number[i] == 1));
    }
    assert_int_equal(uk_set_num_threads(3), UK_OK);
    assert_int_equal(uk_set_num_threads(-1), UK_INVALID_ARGUMENT);
    assert_int_equal(uk_set_num_threads(1025), UK_INVALID_ARGUMENT);
    assert_int_equal(uk_num_threads(), 3);
    assert_int_equal(uk_set_num_threads(0), UK_OK);
    assert_int_equal(uk_num_threads(), THREADS);
}

static void *set_to_16(void *nothing) {
    uk_set_num_threads(16);
    return nothing;
}

static void below_4(void *context, int64_t index, int64_t thread) {
    (void)index;
    if (thread >= THREADS)
        atomic_fetch_add((atomic_int *)context, 1);
    usleep(100);
}

/* A caller that has allocated memory for four threads gets at most four, even if another thread has since set
 * more. */
static void room_is_enough(void **state) {
    pthread_t other;
    atomic_int wrong = 0;

    (void)state;
    assert_int_equal(uk_num_threads(), THREADS);
    assert_int_equal(pthread_create(&other, NULL, set_to_16, NULL), 0);
    pthread_join(other, NULL);
    uk_parallel_for(below_4, &wrong, COUNT);
    assert_int_equal(atomic_load(&wrong), 0);
    assert_int_equal(uk_num_threads(), 16);
    assert_int_equal(uk_set_num_threads(0), UK_OK);
}

static atomic_bool ends;

static void *set_again_and_again(void *nothing) {
    for (int i = 0; !atomic_load(&ends); i++) {
        uk_set_num_threads(1 + i % MOST);
        usleep(200);
    }
    return nothing;
}

static void set_while_others_compute(void **state) {
    pthread_t setter, callers[3];
    atomic_int wrong = 0;

    (void)state;
    assert_int_equal(pthread_create(&setter, NULL, set_again_and_again, NULL), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&callers[i], NULL, short_caller, &wrong), 0);
    for (int i = 0; i < 3; i++)
        pthread_join(callers[i], NULL);
    atomic_store(&ends, true);
    pthread_join(setter, NULL);
    assert_int_equal(atomic_load(&wrong), 0);
    assert_int_equal(uk_set_num_threads(0), UK_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        /* First, before the thread pool exists. */
        cmocka_unit_test(without_threads), cmocka_unit_test(every_index_once),
        cmocka_unit_test(empty_loops),     cmocka_unit_test(nested_is_serial),
        cmocka_unit_test(several_callers), cmocka_unit_test(set_threads),
        cmocka_unit_test(room_is_enough),  cmocka_unit_test(set_while_others_compute),
        cmocka_unit_test(after_fork),
    };

    setenv("UK_NUM_THREADS", "4", 1);
    return cmocka_run_group_tests_name("parallel", tests, NULL, NULL);
}
