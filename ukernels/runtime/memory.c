/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The workspaces of products that are given none. Fresh memory costs a page fault for every page, which at n
 * = 1000 is 4 % of the product, so a few blocks are kept for the next calls, in slots that any call may take
 * from. Where more calls run at once than there are slots, the others allocate.
 *
 * A call owns the block that it has taken out of a slot, so that threads never wait for one another, and a
 * child after fork finds the slots as they were.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include "runtime.h"
#include "ukernels.h"

enum { SLOTS = 8, LEAST = 64 << 10 /* bytes: small products are all served by any block */ };
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

/* Products in destructors that run later keep blocks again: the end of the process frees them. */
__attribute__((destructor)) static void release_at_exit(void) {
    uk_release_memory();
}
