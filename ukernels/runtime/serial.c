/* SPDX-License-Identifier: Apache-2.0 */
/* Parallel loops in a build without threads (-Dthreads=disabled): one after another. */
#include "runtime.h"
#include "ukernels.h"

_Atomic int uk_threads = 1;

int uk_count_threads(void) {
    return 1;
}

bool uk_threads_are_refused(void) {
    return false;
}

int uk_num_threads(void) {
    return 1;
}

enum uk_status uk_set_num_threads(int threads) {
    return threads < 0 || threads > UK_MAX_POOL_THREADS ? UK_INVALID_ARGUMENT : UK_OK;
}

void uk_parallel_for(void (*task)(void *context, int64_t index, int64_t thread), void *context,
                     int64_t count) {
    for (int64_t index = 0; task && index < count; index++)
        task(context, index, 0);
}

int64_t uk_pool_threads(struct pthreadpool *pool) {
    (void)pool;
    return 1;
}

void uk_pool_for(struct pthreadpool *pool, void (*task)(void *context, int64_t index, int64_t thread),
                 void *context, int64_t count) {
    (void)pool;
    uk_parallel_for(task, context, count);
}
