/* SPDX-License-Identifier: Apache-2.0 */
/* Operands that end at an inaccessible page. Sources that include this define _DEFAULT_SOURCE
 * (MAP_ANONYMOUS). */
#ifndef GUARDED_H
#define GUARDED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

struct guarded {
    char *memory;
    size_t bytes;
    void *data;
};

static struct guarded guard(size_t bytes) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (bytes + page - 1) / page * page;
    struct guarded g = {.bytes = whole + page};

    g.memory = mmap(NULL, g.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(g.memory, MAP_FAILED);
    assert_int_equal(mprotect(g.memory + whole, page, PROT_NONE), 0);
    g.data = g.memory + whole - bytes;
    return g;
}

static void release(struct guarded *g) {
    munmap(g->memory, g->bytes);
}

static int64_t elements(int64_t lines, int64_t length, int64_t ld) {
    return lines && length ? (lines - 1) * ld + length : 0;
}

__attribute__((unused)) static int64_t place(bool by_first, int64_t i, int64_t j, int64_t ld) {
    return by_first ? i * ld + j : j * ld + i;
}

#endif
