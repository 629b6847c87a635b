/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads and memory for calls, unless the caller provides his own; lines that report what calls do.
 *
 *     parallel.c  uk_parallel_for and the number of threads (ukernels.h), on pthreadpool
 *     serial.c    the same for a build without threads: loops run on the calling thread
 *     quota.c     the CPU quota of the process's control groups
 *     memory.c    blocks of memory that are kept for later calls
 *     verbose.c   lines to standard error, if UK_VERBOSE is 1
 *
 * Uses no other folder of ukernels/.
 */
#ifndef UK_RUNTIME_H
#define UK_RUNTIME_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pthreadpool;

enum { UK_MAX_POOL_THREADS = 1024 };

/* The number of threads of a call, which uk_num_threads (ukernels.h) returns too. A program may allocate
 * memory for each of the threads that uk_num_threads returned, so that later loops of the calling thread use
 * no more than these, even if uk_set_num_threads raises the number; a call of this function has no such
 * effect. uk_threads caches the number; 0 before the first call. */
int uk_count_threads(void);
extern _Atomic int uk_threads;

/* True if calls run on one thread. Valid after a call of uk_count_threads. */
static inline bool uk_is_single_threaded(void) {
    return atomic_load_explicit(&uk_threads, memory_order_relaxed) == 1;
}

/* CPUs that the quota of the process's control groups allows, rounded up, at most UK_MAX_POOL_THREADS; 0: no
 * quota. `root`: the folder that has proc/ and sys/; "" outside tests. */
int uk_cpu_quota(const char *root);

/* True if UK_NUM_THREADS is set, but is no number from 1 to UK_MAX_POOL_THREADS: it is then ignored. Valid
 * after a call of uk_count_threads. */
bool uk_threads_are_refused(void);

/* True if UK_VERBOSE was 1 in the environment at the first call. Always false in a program that runs with
 * more privileges than its user has (setuid; secure_getenv). */
bool uk_is_verbose(void);
/* Microseconds of a monotonic clock. */
double uk_microseconds(void);
/* Writes a line to standard error, in one write(2), so that lines of several threads stay whole. A line has
 * 511 bytes at most, its newline included; the rest is cut off. */
void uk_say_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

int64_t uk_pool_threads(struct pthreadpool *pool);
/* Runs the tasks like uk_parallel_for, on the caller's pool. `thread` is always 0, as pthreadpool does not
 * tell tasks which of its threads runs them. Must not be called from a task of the same pool: it would wait
 * forever. */
void uk_pool_for(struct pthreadpool *pool, void (*task)(void *context, int64_t index, int64_t thread),
                 void *context, int64_t count);

/* Allocates memory, aligned to 64 bytes, not initialized; NULL: out of memory. The caller gives it back by
 * uk_give_memory, in any thread. */
void *uk_take_memory(size_t size);
/* Takes back memory that uk_take_memory returned, and keeps some for later calls. NULL: does nothing. */
void uk_give_memory(void *memory);

#endif
