/* SPDX-License-Identifier: Apache-2.0 */
/* Parallel loops on a pool of threads. */
#define _GNU_SOURCE
#include <pthread.h>
#include <pthreadpool.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>
#include "runtime.h"
#include "ukernels.h"

/* A pool, and the number of loops that run on it. A pool of another size replaces it when the number of
 * threads has changed; the last loop that runs on the old one destroys that. */
struct team {
    pthreadpool_t pool;
    int threads, loops;
};

_Atomic int uk_threads;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int by_default;
static bool is_refused; /* UK_NUM_THREADS */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct team
    *team; /* guarded by lock, with all of its fields; NULL until needed, and again in a child after fork */
static _Thread_local bool inside;
/* The last result of uk_num_threads in this thread, which may have allocated memory per thread: its loops use
 * no more threads. 0: not called yet. */
static _Thread_local int returned;

struct loop {
    void (*task)(void *context, int64_t index, int64_t thread);
    void *context;
    int64_t count;
    atomic_int_least64_t next;
};

/* The parent's threads do not exist in the child, so its pool cannot be used or destroyed there: its memory
 * is leaked. The lock may have been held by a thread that does not exist in the child. */
static void forget_pool(void) {
    team = NULL;
    pthread_mutex_init(&lock, NULL);
}

/* CPUs that the process may run on, at most its CPU quota. If there are more threads than that, the system
 * stops them for a part of each period, while others wait for them. */
static int cpus(void) {
    cpu_set_t set;
    const int quota = uk_cpu_quota("");
    const long online =
        !sched_getaffinity(0, sizeof set, &set) ? CPU_COUNT(&set) : sysconf(_SC_NPROCESSORS_ONLN);
    const long most = quota ? quota : UK_MAX_POOL_THREADS;

    return online < 1 ? 1 : online > most ? (int)most : (int)online;
}

static void start(void) {
    const char *text = getenv("UK_NUM_THREADS");
    char *end;
    long n = text ? strtol(text, &end, 10) : 0;

    is_refused = text && (end == text || *end || n < 1 || n > UK_MAX_POOL_THREADS);
    by_default = text && !is_refused ? (int)n : cpus();
    atomic_store_explicit(&uk_threads, by_default, memory_order_relaxed);
    pthread_atfork(NULL, NULL, forget_pool);
}

int uk_count_threads(void) {
    pthread_once(&once, start);
    return atomic_load_explicit(&uk_threads, memory_order_relaxed);
}

bool uk_threads_are_refused(void) {
    return is_refused;
}

int uk_num_threads(void) {
    return returned = uk_count_threads();
}

enum uk_status uk_set_num_threads(int threads) {
    if (threads < 0 || threads > UK_MAX_POOL_THREADS)
        return UK_INVALID_ARGUMENT;
    pthread_once(&once, start);
    atomic_store_explicit(&uk_threads, threads ? threads : by_default, memory_order_relaxed);
    returned = 0;
    return UK_OK;
}

static void *wait_for(void *held) {
    pthread_mutex_lock(held);
    pthread_mutex_unlock(held);
    return NULL;
}

/* True if the system can create the threads of a pool: pthreadpool would wait forever for threads that it
 * could not create. Tries twice as many, since limits count a thread for a short time after its end. */
static bool are_threads_left(int threads) {
    pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
    const int most = 2 * (threads - 1);
    pthread_t *tried = malloc((size_t)most * sizeof *tried);
    int count = 0;

    if (!tried)
        return false;
    pthread_mutex_lock(&held);
    while (count < most && !pthread_create(&tried[count], NULL, wait_for, &held))
        count++;
    pthread_mutex_unlock(&held);
    for (int i = 0; i < count; i++)
        pthread_join(tried[i], NULL);
    pthread_mutex_destroy(&held);
    free(tried);
    return count == most;
}

static struct team *new_team(int threads) {
    struct team *t = are_threads_left(threads) ? malloc(sizeof *t) : NULL;

    if (t)
        *t = (struct team){pthreadpool_create((size_t)threads), threads, 0};
    if (t && !t->pool) {
        free(t);
        return NULL;
    }
    return t;
}

static void end_team(struct team *t) {
    if (!t)
        return;
    pthreadpool_destroy(t->pool);
    free(t);
}

/* The pool for one loop, to be returned by leave_team; NULL if none can be made. */
static struct team *join_team(int threads) {
    struct team *t, *old = NULL;

    pthread_mutex_lock(&lock);
    if (team && team->threads != threads) {
        old = team->loops ? NULL : team;
        team = NULL;
    }
    if (!team)
        team = new_team(threads);
    t = team;
    if (t)
        t->loops++;
    pthread_mutex_unlock(&lock);
    end_team(old);
    return t;
}

static void leave_team(struct team *t) {
    pthread_mutex_lock(&lock);
    const bool is_last = !--t->loops && t != team;
    pthread_mutex_unlock(&lock);
    if (is_last)
        end_team(t);
}

/* Tells ThreadSanitizer, by accesses of a variable before and after a loop, that pthreadpool synchronizes the
 * caller with its workers, which it cannot see. */
static void show_order(void) {
    static atomic_int passed;

    atomic_fetch_add_explicit(&passed, 1, memory_order_acq_rel);
}

/* A worker of a loop: takes the next index that is left, so that slow tasks do not delay others. */
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

    if (!task)
        return;
    const int threads = uk_count_threads(), most = returned && returned < threads ? returned : threads;
    const int64_t workers = most < count ? most : count;
    struct team *t = inside || workers < 2 ? NULL : join_team(threads);

    if (t) {
        show_order();
        pthreadpool_parallelize_1d(t->pool, work, &loop, (size_t)workers, PTHREADPOOL_FLAG_YIELD_WORKERS);
        show_order();
        leave_team(t);
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
