/* Pools of threads that callers bring. A build without threads works on the caller's thread alone. */
#ifndef UK_POOL_H
#define UK_POOL_H

#include <stdint.h>

struct pthreadpool;

int64_t uk_pool_threads(struct pthreadpool *pool);
/* uk_parallel_for on this pool; `thread` is always 0. Not from one of its tasks. */
void uk_pool_for(struct pthreadpool *pool, void (*task)(void *context, int64_t index, int64_t thread),
                 void *context, int64_t count);

#endif
