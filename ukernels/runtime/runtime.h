/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads and memory for calls whose caller provides neither.
 *
 *     parallel.c  uk_parallel_for and the number of threads (ukernels.h), on pthreadpool
 *     serial.c    the same for a build without threads: loops run on the calling thread
 *     quota.c     the CPU quota of the process's control groups
 *     memory.c    blocks of memory that are kept for later calls
 *     verbose.c   lines to standard error, if UK_VERBOSE is 1
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

enum { UK_MAX_POOL_THREADS = 1024 };

/* The number of threads of a call. Unlike uk_num_threads it does not limit later loops of this thread.
 * uk_threads caches it; 0 before the first call. */
int uk_count_threads(void);
extern _Atomic int uk_threads;

/* Do calls run on one thread? Valid after a call of uk_count_threads. */
static inline bool uk_is_alone(void) {
    return atomic_load_explicit(&uk_threads, memory_order_relaxed) == 1;
}

/* CPUs that the quota of the process's control groups allows, rounded up, at most UK_MAX_POOL_THREADS; 0: no
 * quota. `root`: the folder that has proc/ and sys/; "" outside tests. */
int uk_cpu_quota(const char *root);

/* Is UK_NUM_THREADS set to what is no number of threads? Valid after a call of uk_count_threads. */
bool uk_threads_are_refused(void);

/* Is UK_VERBOSE=1 in the environment of the first call? Never in a program with privileges of its own. */
bool uk_is_verbose(void);
/* Time of a clock that only goes forward. */
double uk_microseconds(void);
/* Writes a line to standard error by one write(2), so that lines of several threads stay whole. */
void uk_say_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

int64_t uk_pool_threads(struct pthreadpool *pool);
/* uk_parallel_for on this pool; `thread` is always 0. Not from one of its tasks. */
void uk_pool_for(struct pthreadpool *pool, void (*task)(void *context, int64_t index, int64_t thread),
                 void *context, int64_t count);

/* Memory aligned to 64 bytes, not initialized; NULL if there is none. Any thread; returned by uk_give_memory.
 */
void *uk_take_memory(size_t size);
/* Returns memory of uk_take_memory. NULL: does nothing. */
void uk_give_memory(void *memory);

#endif
