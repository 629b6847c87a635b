/* SPDX-License-Identifier: Apache-2.0 */
/* Memory between two pages that fault, for operands whose every byte counts. */
#ifndef TESTS_ARENA_H
#define TESTS_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct arena {
    unsigned char *data; /* size bytes; the byte before and the byte after fault */
    size_t size;         /* a multiple of the page */
};

bool arena_make(struct arena *a, size_t bytes);
void arena_free(struct arena *a);

/* Runs f(argument); false if it made a fault (a bad address, an illegal or misaligned instruction), whose
 * address is then in *at. One at a time in a process. */
bool run_guarded(void (*f)(void *argument), void *argument, const void **at);

#endif
