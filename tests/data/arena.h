/* SPDX-License-Identifier: Apache-2.0 */
/* Memory between two inaccessible pages, for operands of which each byte must be exact. */
#ifndef TESTS_ARENA_H
#define TESTS_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct arena {
    unsigned char *data; /* size bytes; the bytes directly before and after fault */
    size_t size;         /* a multiple of the page size */
};

bool arena_make(struct arena *a, size_t bytes);
void arena_free(struct arena *a);

/* Runs f(argument). False: it faulted (a bad address, an illegal or misaligned instruction), and *at is the
 * address. At most one call at a time per process. */
bool run_guarded(void (*f)(void *argument), void *argument, const void **at);

#endif
