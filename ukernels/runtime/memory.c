/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workspaces of products whose caller provides none. New memory costs a page fault per page, so a few blocks
 * are kept for later calls, in slots that all threads share. If no slot has a block that is large enough, a
 * call allocates one.
 *
 * A call removes its block from the slot by an atomic exchange: threads never wait for one another, and a
 * child after fork finds consistent slots.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include "runtime.h"
#include "ukernels.h"

enum { SLOTS = 8, LEAST = 64 << 10 /* bytes: any block serves all small products */ };
static const size_t KEPT_MOST = (size_t)64 << 20; /* a larger block is freed at once */

struct block {
    size_t size;
    _Alignas(64) char memory[];
};

static _Atomic(struct block *) slot[SLOTS];

static struct block *take_from(int i) {
    if (!atomic_load_explicit(&slot[i], memory_order_relaxed))
        return NULL;
    return atomic_exchange_explicit(&slot[i], NULL, memory_order_acquire);
}

void *uk_take_memory(size_t size) {
    size_t whole;

    size = size > LEAST ? size : LEAST;
    for (int i = 0; i < SLOTS; i++) {
        struct block *b = take_from(i);

        if (b && b->size >= size)
            return b->memory;
        free(b); /* too small: freed; the caller's larger one will take its slot */
    }
    if (__builtin_add_overflow(size, sizeof(struct block) + 63, &whole))
        return NULL;
    struct block *b = aligned_alloc(64, whole / 64 * 64);
    if (!b)
        return NULL;
    b->size = size;
    return b->memory;
}

void uk_give_memory(void *memory) {
    if (!memory)
        return;
    struct block *b = (struct block *)((char *)memory - offsetof(struct block, memory));

    for (int i = 0; i < SLOTS && b->size <= KEPT_MOST; i++) {
        struct block *empty = NULL;

        if (atomic_compare_exchange_strong_explicit(&slot[i], &empty, b, memory_order_release,
                                                    memory_order_relaxed))
            return;
    }
    free(b);
}

void uk_release_memory(void) {
    for (int i = 0; i < SLOTS; i++)
        free(take_from(i));
}

/* Products in later destructors may fill slots again; the end of the process frees those blocks. */
__attribute__((destructor)) static void release_at_exit(void) {
    uk_release_memory();
}
