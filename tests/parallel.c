/* uk_parallel_for: every index once, threads told apart, nested, from several threads, after fork; without threads. */
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

enum { COUNT = 1000, THREADS = 4 };

struct run {
    atomic_int done[COUNT];
    atomic_int busy[THREADS];
    atomic_int wrong, most; /* most: threads seen */
};

static void mark(void *context, int64_t index, int64_t thread) {
    struct run *r = context;

    if (thread < 0 || thread >= uk_num_threads() || atomic_fetch_add(&r->busy[thread], 1))
        atomic_fetch_add(&r->wrong, 1);
    atomic_fetch_add(&r->done[index], 1);
    if (thread > atomic_load(&r->most))
        atomic_store(&r->most, (int)thread);
    /* The first index waits for another thread, which a busy machine may keep from running for long. */
    for (int ms = 0; index == 0 && ms < 10000 && !atomic_load(&r->most); ms++)
        usleep(1000);
    atomic_fetch_sub(&r->busy[thread], 1);
}

/* Whether a whole loop ran, each index once. */
static int loop_is_right(int *threads_seen) {
    struct run *r = calloc(1, sizeof *r);
    int right = r != NULL;

    if (!r)
        return 0;
    uk_parallel_for(mark, r, COUNT);
    for (int i = 0; i < COUNT; i++)
        right = right && atomic_load(&r->done[i]) == 1;
    right = right && !atomic_load(&r->wrong);
    *threads_seen = atomic_load(&r->most) + 1;
    free(r);
    return right;
}

/* The system lacks some of the threads: none is used. As many as are left are created, and end. */
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
    assert_int_equal(threads_left, 0); /* tried, before a pool waits for one that is not there */
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

int main(void) {
    const struct CMUnitTest tests[] = {
        /* First, while there is no pool. */
        cmocka_unit_test(without_threads),  cmocka_unit_test(every_index_once), cmocka_unit_test(empty_loops),
        cmocka_unit_test(nested_is_serial), cmocka_unit_test(several_callers),  cmocka_unit_test(after_fork),
    };

    setenv("UK_NUM_THREADS", "4", 1);
    return cmocka_run_group_tests_name("parallel", tests, NULL, NULL);
}
