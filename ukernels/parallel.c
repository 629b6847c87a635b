/* Parallel loops on a pool of threads. */
#define _GNU_SOURCE
#include <pthread.h>
#include <pthreadpool.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>
#include "pool.h"
#include "ukernels.h"

enum { MAX_THREADS = 1024 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int threads;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthreadpool_t pool; /* under lock; NULL until needed, and again in a child after fork */
static _Thread_local bool inside;

struct loop {
    void (*task)(void *context, int64_t index, int64_t thread);
    void *context;
    int64_t count;
    atomic_int_least64_t next;
};

/* The parent's threads do not exist in the child, so its pool is of no use there and cannot be destroyed. Its
 * memory stays. The lock may have been held by a thread that is gone. */
static void forget_pool(void) {
    pool = NULL;
    pthread_mutex_init(&lock, NULL);
}

static int cpus(void) {
    cpu_set_t set;

    if (!sched_getaffinity(0, sizeof set, &set))
        return CPU_COUNT(&set);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online < 1 ? 1 : online > MAX_THREADS ? MAX_THREADS : (int)online;
}

static void start(void) {
    const char *text = getenv("UK_NUM_THREADS");
    char *end;
    long n = text ? strtol(text, &end, 10) : 0;

    threads = text && end != text && !*end && n >= 1 && n <= MAX_THREADS ? (int)n : cpus();
    pthread_atfork(NULL, NULL, forget_pool);
}

int uk_num_threads(void) {
    pthread_once(&once, start);
    return threads;
}

static void *wait_for(void *held) {
    pthread_mutex_lock(held);
    pthread_mutex_unlock(held);
    return NULL;
}

/* Whether the system gives a pool its threads: it waits forever for those that it could not create. Twice as many, since
 * limits count the ones that have been tried for a moment after they have ended. */
static bool are_threads_left(void) {
    pthread_t tried[2 * MAX_THREADS];
    pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
    const int most = 2 * (threads - 1);
    int count = 0;

    pthread_mutex_lock(&held);
    while (count < most && !pthread_create(&tried[count], NULL, wait_for, &held))
        count++;
    pthread_mutex_unlock(&held);
    for (int i = 0; i < count; i++)
        pthread_join(tried[i], NULL);
    pthread_mutex_destroy(&held);
    return count == most;
}

static pthreadpool_t get_pool(void) {
    pthread_mutex_lock(&lock);
    if (!pool && are_threads_left())
        pool = pthreadpool_create((size_t)threads);
    pthreadpool_t p = pool;
    pthread_mutex_unlock(&lock);
    return p;
}

/* The pool orders what the caller and its workers do. Tools that cannot see into it, such as ThreadSanitizer,
 * see the same from this: everybody passes here before and after. */
static void show_order(void) {
    static atomic_int passed;

    atomic_fetch_add_explicit(&passed, 1, memory_order_acq_rel);
}

/* One of `threads` workers of a loop: takes the next index that is left, so that slow tasks do not hold up
 * others. */
static void work(void *argument, size_t thread) {
    struct loop *loop = argument;
    int64_t index;

    show_order();
    inside = true;
    while ((index = atomic_fetch_add_explicit(&loop->next, 1, memory_order_relaxed)) < loop->count)
        loop->task(loop->context, index, (int64_t)thread);
    inside = false;
    show_order();
}

void uk_parallel_for(void (*task)(void *context, int64_t index, int64_t thread), void *context,
                     int64_t count) {
    struct loop loop = {.task = task, .context = context, .count = count};
    int64_t workers = uk_num_threads() < count ? uk_num_threads() : count;
    pthreadpool_t p = inside || workers < 2 ? NULL : get_pool();

    if (p) {
        show_order();
        pthreadpool_parallelize_1d(p, work, &loop, (size_t)workers, PTHREADPOOL_FLAG_YIELD_WORKERS);
        show_order();
        return;
    }
    for (int64_t index = 0; index < count; index++)
        task(context, index, 0);
}

int64_t uk_pool_threads(struct pthreadpool *callers) {
    return (int64_t)pthreadpool_get_threads_count(callers);
}

struct call {
    void (*task)(void *context, int64_t index, int64_t thread);
    void *context;
};

static void call_task(void *argument, size_t index) {
    const struct call *c = argument;

    show_order();
    c->task(c->context, (int64_t)index, 0);
    show_order();
}

void uk_pool_for(struct pthreadpool *callers, void (*task)(void *context, int64_t index, int64_t thread),
                 void *context, int64_t count) {
    struct call call = {task, context};

    show_order();
    pthreadpool_parallelize_1d(callers, call_task, &call, (size_t)count, PTHREADPOOL_FLAG_YIELD_WORKERS);
    show_order();
}
