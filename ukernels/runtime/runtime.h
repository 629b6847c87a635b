/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads and memory for calls that are given none. uk_parallel_for and the number of threads (ukernels.h)
 * are in parallel.c, on pthreadpool, and in serial.c for a build without threads, which works on the caller's
 * thread alone; both also run loops on the caller's pool. memory.c keeps a few blocks of memory for the next
 * calls.
 *
 * Uses no other room.
 */
#ifndef UK_RUNTIME_H
#define UK_RUNTIME_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pthreadpool;

/* How many threads calls take; 0 before the first call of uk_count_threads. Unlike uk_num_threads it does not
 * limit later loops of this thread. */
int uk_count_threads(void);
extern _Atomic int uk_threads;

/* Whether calls take one thread, after a call of uk_count_threads. */
static inline bool uk_is_alone(void) {
    return atomic_load_explicit(&uk_threads, memory_order_relaxed) == 1;
}

int64_t uk_pool_threads(struct pthreadpool *pool);
/* uk_parallel_for on this pool; `thread` is always 0. Not from one of its tasks. */
void uk_pool_for(struct pthreadpool *pool, void (*task)(void *context, int64_t index, int64_t thread),
                 void *context, int64_t count);

/* Memory aligned to 64 bytes, which may have been used before; NULL: there is none. */
void *uk_take_memory(size_t size);
/* Gives the memory back. NULL: does nothing. */
void uk_give_memory(void *memory);

#endif
