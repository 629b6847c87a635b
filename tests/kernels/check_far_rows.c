/* SPDX-License-Identifier: Apache-2.0 */
/* Operands with rows on separate pages: so far apart that strides need 64 bits, or each at the end of a page
 * with none after it. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "check_call.h"

enum { PAGES_APART = 8192 /* elements: a multiple of the page size, at least two pages */ };
static const int64_t far_gap = (int64_t)1 << 32; /* a stride cut to 32 bits equals the row's length */

static bool is_far(const struct operand *o) {
    return o->rows > 1 && o->length && o->stride > PAGES_APART / 2;
}

/* Finds the pages that hold a row. */
static void row_pages(const struct operand *o, int64_t r, char **start, size_t *bytes) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), element = bytes_of(o->type);
    char *first = o->at + (size_t)(r * o->stride) * element;

    *start = first - (uintptr_t)first % page;
    *bytes = (size_t)(first - *start) + (size_t)(o->length + o->over) * element;
}

/* False under qemu-user with 64-bit addresses: it visits every mapped page, which would be millions. Then
 * only the rows' pages are mapped, at addresses otherwise unused. */
static bool reserves_whole(void) {
    return !getenv("UK_UNDER_QEMU") || sizeof(void *) == 4;
}

/* Bytes before the first element so that each row ends at a page's end. */
static size_t padding(const struct operand *o) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), element = bytes_of(o->type);
    const size_t row = (size_t)(o->length + o->over) * element;
    const size_t align = (size_t)o->align > element ? (size_t)o->align : element;

    return (page - row % page) % page / align * align;
}

/* True if each row of a is on the same pages as that row of b. */
static bool same_pages(const struct operand *a, const struct operand *b) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), a_element = bytes_of(a->type),
                 b_element = bytes_of(b->type);
    const size_t a_row = (size_t)(a->length + a->over) * a_element,
                 b_row = (size_t)(b->length + b->over) * b_element;
    bool same = a->rows == b->rows;

    for (int64_t r = 0; r < b->rows && same; r++) {
        const size_t a_at = padding(a) + (size_t)(r * a->stride) * a_element;
        const size_t b_at = padding(b) + (size_t)(r * b->stride) * b_element;

        same = a_at / page == b_at / page && (a_at + a_row - 1) / page == (b_at + b_row - 1) / page;
    }
    return same;
}

void check_release_rows(struct far_rows *a) {
    size_t bytes;
    char *start;

    if (a->space.data && reserves_whole())
        munmap(a->space.data, a->space.size);
    for (int64_t r = 0; a->space.data && !reserves_whole() && r < a->of.rows; r++) {
        row_pages(&a->of, r, &start, &bytes);
        munmap(start, bytes);
    }
    a->space.data = NULL;
}

/* Reserves address space for the i-th operand, of which only the pages with its rows are accessible. Reuses
 * the last one if the pages are the same, because mapping takes longer than the call. */
static bool reserve_rows(struct check *c, int i) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    struct far_rows *a = &c->far_row[i];
    struct operand *o = &c->plan.operand[i];
    void *hint = (void *)(uintptr_t)((UINT64_C(16) + 4 * (uint64_t)i) << 40);
    const bool whole = reserves_whole();
    size_t bytes;
    char *start;

    if (a->space.data && same_pages(&a->of, o)) {
        o->at = (char *)a->space.data + padding(o);
        return true;
    }
    check_release_rows(a);
    a->space.size = (size_t)operand_extent(o) * bytes_of(o->type) + padding(o);
    a->space.data = whole ? mmap(hint, a->space.size, PROT_NONE, flags, -1, 0) : hint;
    if (a->space.data == MAP_FAILED) {
        a->space.data = NULL;
        return false;
    }
    o->at = (char *)a->space.data + padding(o);
    a->of = *o;
    for (int64_t r = 0; r < o->rows; r++) {
        row_pages(o, r, &start, &bytes);
        if (whole ? mprotect(start, bytes, PROT_READ | PROT_WRITE)
                  : mmap(start, bytes, PROT_READ | PROT_WRITE, flags, -1, 0) != start)
            return false;
    }
    return true;
}

/* Copies the tile's elements, row by row, to `dense` or from it. */
static void copy_tile(const struct operand *o, void *dense, bool from) {
    const size_t element = bytes_of(o->type), row = (size_t)o->used * element;

    for (int64_t r = 0; r < o->rows; r++) {
        char *there = (char *)dense + (size_t)r * row, *here = o->at + (size_t)(r * o->stride) * element;

        memcpy(from ? here : there, from ? there : here, row);
    }
}

static bool run_far(struct check *c, const char *how) {
    const struct operand *o = c->plan.operand;
    const int n = c->plan.operands;
    const char *broken;
    const void *at;

    for (int i = 0; i < n; i++)
        for (int64_t r = 0; r < o[i].rows; r++)
            check_put_values(c, &o[i], r * o[i].stride);
    check_set_addresses(c);
    for (int i = 0; i < n; i++)
        copy_tile(&o[i], c->before[i], false);
    check_reference(c);
    for (int i = 0; i < n; i++) {
        copy_tile(&o[i], c->magnitude[i], false);
        copy_tile(&o[i], c->before[i], true);
    }
    if (!check_run(c, &broken, &at))
        return check_fail(c, "faulted with %s", how);
    for (int i = 0; i < n; i++) {
        copy_tile(&o[i], c->before[i], false);
        if (o[i].output &&
            memcmp(c->before[i], c->magnitude[i], (size_t)(o[i].rows * o[i].used) * bytes_of(o[i].type)))
            return check_fail(c, "wrong result with %s", how);
    }
    return true;
}

/* Checks a call of c->shape whose gap puts rows on separate pages. */
static bool check_pages(struct check *c, const char *how) {
    check_plan(c->row, &c->op, &c->shape, &c->plan);
    for (int i = 0; i < c->plan.operands; i++) {
        struct operand *o = &c->plan.operand[i];

        o->at = (char *)c->arena[i].data;
        if (is_far(o) && !reserve_rows(c, i))
            return check_fail(c, "no address space for rows that are so far apart");
    }
    return run_far(c, how);
}

bool check_far_rows(struct check *c) {
    c->shape = (struct shape){.k = CHECK_FAR_K,
                              .mr = c->row->mr,
                              .nr = c->row->nr,
                              .acc = c->op.has_acc,
                              .gap = far_gap,
                              .step = 1};
    if (c->op.min_rows < 2 && c->op.max_rows > 2)
        c->shape.mr = 2;
    return check_pages(c, "strides that need 64 bits");
}

bool check_neighbours(struct check *c, int64_t mr, int64_t nr, int64_t acc) {
    c->shape = (struct shape){.k = CHECK_FAR_K, .mr = mr, .nr = nr, .acc = acc, .step = 1};
    check_plan(c->row, &c->op, &c->shape, &c->plan);
    for (int i = 0; i < c->plan.operands; i++) {
        const struct operand *o = &c->plan.operand[i];

        if (!o->output || o->rows < 2 || o->never_read)
            continue;
        c->shape.gap = PAGES_APART - o->stride;
        check_plan(c->row, &c->op, &c->shape, &c->plan);
        return o->stride != PAGES_APART || check_pages(c, "nothing between the rows of its output");
    }
    return true;
}
