/* Parallel loops on a pool of threads. */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <pthreadpool.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
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

static pthreadpool_t get_pool(void) {
    pthread_mutex_lock(&lock);
    if (!pool)
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

/*
 * Whether a caller's pool is at work: a loop on it would wait for its lock, and for ever if the loop at work is the one
 * that we are called from. pthreadpool cannot be asked, so its lock is asked. Where that lies in a pool is found out on
 * a pool of our own: glibc's mutex has its owner in it, which is us while a task runs, and nobody before and after. Not
 * found, because another C library's mutex looks different: every pool counts as idle.
 */
struct search {
    const char *pool;
    size_t size, offset; /* of the lock; 0: not found */
    int thread;
};

enum { FREE, TAKEN };

static bool is_lock(const char *at, int state, int thread) {
    int word[4]; /* state, depth, owner, users */

    for (int i = 0; i < 4; i++)
        word[i] = __atomic_load_n((const int *)(const void *)at + i, __ATOMIC_RELAXED);
    if (state == FREE)
        return !word[0] && !word[1] && !word[2] && !word[3];
    return word[0] > 0 && word[0] <= 2 && !word[1] && word[2] == thread && word[3] == 1;
}

static void search_lock(void *argument, size_t index) {
    struct search *s = argument;

    if (index)
        return;
    for (size_t o = sizeof(void *); o + sizeof(pthread_mutex_t) <= s->size; o += _Alignof(pthread_mutex_t))
        if (is_lock(s->pool + o, TAKEN, s->thread))
            s->offset = o;
}

static pthread_once_t lock_once = PTHREAD_ONCE_INIT;
static size_t lock_offset;

static void find_lock(void) {
#ifdef __GLIBC__
    pthreadpool_t p = pthreadpool_create(2);
    struct search s = {(const char *)p, malloc_usable_size(p), 0, (int)syscall(SYS_gettid)};

    if (!p)
        return;
    pthreadpool_parallelize_1d(p, search_lock, &s, 2, PTHREADPOOL_FLAG_YIELD_WORKERS);
    if (s.offset && is_lock(s.pool + s.offset, FREE, 0))
        lock_offset = s.offset;
    pthreadpool_destroy(p);
#endif
}

static bool is_at_work(struct pthreadpool *p) {
    pthread_once(&lock_once, find_lock);
    if (!lock_offset)
        return false;
    pthread_mutex_t *m = (pthread_mutex_t *)((char *)p + lock_offset);
    if (pthread_mutex_trylock(m))
        return true;
    pthread_mutex_unlock(m);
    return false;
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

    if (pthreadpool_get_threads_count(callers) < 2 || is_at_work(callers)) {
        for (int64_t index = 0; index < count; index++)
            task(context, index, 0);
        return;
    }
    show_order();
    pthreadpool_parallelize_1d(callers, call_task, &call, (size_t)count, PTHREADPOOL_FLAG_YIELD_WORKERS);
    show_order();
}
