/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parallel loops of generated programs, which run without our libraries under an emulator or on a board.
 * UK_THREADS threads, including the caller, take indices in turn. They start at the first loop and wait for
 * the next; if the system starts fewer, those do all the work. Compiled code does not nest parallel loops.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef void uk_task(void *context, int64_t index, int64_t thread);
int uk_num_threads(void);
void uk_parallel_for(uk_task *task, void *context, int64_t count);

static struct {
    pthread_mutex_t lock;
    pthread_cond_t begun, ended;
    uk_task *task;
    void *context;
    int64_t count;
    _Atomic int64_t next;
    int workers, busy; /* workers: threads other than the caller; busy: those still in the current loop */
    unsigned loops;    /* number of loops begun */
    bool started;
} uk_pool = {
    .lock = PTHREAD_MUTEX_INITIALIZER, .begun = PTHREAD_COND_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER};

static void uk_share(int64_t thread) {
    for (int64_t i; (i = atomic_fetch_add(&uk_pool.next, 1)) < uk_pool.count;)
        uk_pool.task(uk_pool.context, i, thread);
}

static void *uk_work(void *argument) {
    unsigned seen = 0;

    pthread_mutex_lock(&uk_pool.lock);
    for (;;) {
        while (uk_pool.loops == seen)
            pthread_cond_wait(&uk_pool.begun, &uk_pool.lock);
        seen = uk_pool.loops;
        pthread_mutex_unlock(&uk_pool.lock);
        uk_share((intptr_t)argument);
        pthread_mutex_lock(&uk_pool.lock);
        if (!--uk_pool.busy)
            pthread_cond_signal(&uk_pool.ended);
    }
}

static void uk_start_workers(void) {
    pthread_t thread;

    uk_pool.started = true;
    while (uk_pool.workers < UK_THREADS - 1 &&
           !pthread_create(&thread, NULL, uk_work, (void *)(intptr_t)(uk_pool.workers + 1)))
        uk_pool.workers++;
}

int uk_num_threads(void) {
    return UK_THREADS;
}

void uk_parallel_for(uk_task *task, void *context, int64_t count) {
    if (UK_THREADS == 1) {
        for (int64_t i = 0; i < count; i++)
            task(context, i, 0);
        return;
    }
    pthread_mutex_lock(&uk_pool.lock);
    if (!uk_pool.started)
        uk_start_workers();
    uk_pool.task = task;
    uk_pool.context = context;
    uk_pool.count = count;
    atomic_store(&uk_pool.next, 0);
    uk_pool.busy = uk_pool.workers;
    uk_pool.loops++;
    pthread_cond_broadcast(&uk_pool.begun);
    pthread_mutex_unlock(&uk_pool.lock);
    uk_share(0);
    pthread_mutex_lock(&uk_pool.lock);
    while (uk_pool.busy)
        pthread_cond_wait(&uk_pool.ended, &uk_pool.lock);
    pthread_mutex_unlock(&uk_pool.lock);
}
