/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocations that fail: the linker puts these functions in the place of the C library's and of uk_alloc
 * (-Wl,--wrap=malloc, calloc, realloc, uk_alloc).
 */
#ifndef FAILING_ALLOC_H
#define FAILING_ALLOC_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include "base/base.h"

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t m);
void *__real_realloc(void *p, size_t n);
void *__real_uk_alloc(struct uk_arena *a, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t m);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_uk_alloc(struct uk_arena *a, size_t n);

static long left = -1;                           /* allocations until one fails; negative: none does */
static void (*seen)(const void *return_address); /* called for each allocation; NULL: nothing is */

static bool fails(const void *return_address) {
    if (seen)
        seen(return_address);
    if (left < 0 || left-- > 0)
        return false;
    errno = ENOMEM;
    return true;
}

void *__wrap_malloc(size_t n) {
    return fails(__builtin_return_address(0)) ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t m) {
    return fails(__builtin_return_address(0)) ? NULL : __real_calloc(n, m);
}

void *__wrap_realloc(void *p, size_t n) {
    return fails(__builtin_return_address(0)) ? NULL : __real_realloc(p, n);
}

/* Pieces of an arena fail one by one, not only its chunks. */
void *__wrap_uk_alloc(struct uk_arena *a, size_t n) {
    if (!fails(__builtin_return_address(0)))
        return __real_uk_alloc(a, n);
    a->failed = true;
    return NULL;
}

#endif
