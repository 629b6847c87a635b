/* Parallel loops in a build without threads (-Dthreads=disabled): one after another. */
#include "pool.h"
#include "ukernels.h"

int uk_num_threads(void) {
    return 1;
}

void uk_parallel_for(void (*task)(void *context, int64_t index, int64_t thread), void *context,
                     int64_t count) {
    for (int64_t index = 0; index < count; index++)
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
