/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operands of one call, each in address space of its own in which only the pages with its elements are
 * accessible; the operand is at one end of them or at the other.
 *
 * If the rows of an operand are far apart, only those pages are mapped, at addresses where nothing else is;
 * the addresses between them are not reserved, and are invalid too. So operands whose rows are 2^32 elements
 * apart need no more memory than others.
 *
 * Bytes outside of elements hold canaries. Elements that may be read but are never used, and those of an
 * output that is not read, hold NaN or random bits; value.c chooses the others. Operands that are only
 * read are write-protected during the call.
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS, MAP_NORESERVE */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "verify.h"

enum { GUARD_PAGES = 16 };

/* Up to this number of bytes, an operand's address space is reserved as a whole. Wider operands get addresses
 * from FIRST_FAR to LAST_FAR, where Linux maps nothing by itself on architectures with 47-bit addresses;
 * neither does the address sanitizer, whose shadow ends 2 GB above 2^44. */
static const size_t max_reservation = (size_t)1 << 26;
#define FIRST_FAR ((uintptr_t)17 << 40)
#define LAST_FAR ((uintptr_t)1 << 46)

static size_t page_size(void) {
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* ---- address space ---- */

/* Adds the pages of `bytes` bytes from `first` on; extends the last span if they touch it. */
static bool add_span(struct uk_memory *m, size_t first, size_t bytes) {
    const size_t page = page_size(), at = first / page * page, end = (first + bytes + page - 1) / page * page;
    struct uk_span *last = m->spans ? &m->span[m->spans - 1] : NULL;

    if (last && at <= last->at + last->length && end >= last->at) {
        const size_t from = at < last->at ? at : last->at,
                     to = end > last->at + last->length ? end : last->at + last->length;

        *last = (struct uk_span){.at = from, .length = to - from};
        return true;
    }
    if (m->spans == m->room) {
        const int room = 2 * m->room + 4;
        struct uk_span *more = realloc(m->span, (size_t)room * sizeof *more);

        if (!more)
            return false;
        m->span = more;
        m->room = room;
    }
    m->span[m->spans++] = (struct uk_span){.at = at, .length = end - at};
    return true;
}

static int compare_addresses(const void *a, const void *b) {
    const size_t x = ((const struct uk_span *)a)->at, y = ((const struct uk_span *)b)->at;

    return (x > y) - (x < y);
}

/* The dimension of the smallest stride, if it is at most a page; else -1. */
static int dimension_of_rows(const struct uk_box *b, size_t bytes) {
    int row = -1;

    for (int d = 0; d < b->dims; d++)
        if ((size_t)llabs(b->stride[d]) <= page_size() / bytes &&
            (row < 0 || llabs(b->stride[d]) < llabs(b->stride[row])))
            row = d;
    return row;
}

/* Adds the pages of every readable element, row by row, then sorts and merges them. */
static bool add_pages(struct uk_verifier *v, struct uk_memory *m) {
    const size_t bytes = uk_type_bytes(m->tensor->type);
    struct uk_box b;

    if (!uk_box_begin(&b, v, m->tensor, false))
        return true;
    const int row = dimension_of_rows(&b, bytes);
    const int64_t step = row < 0 ? 0 : (b.extent[row] - 1) * b.stride[row];

    if (row >= 0)
        b.extent[row] = 1;
    do {
        const int64_t lowest = uk_box_offset(&b) + (step < 0 ? step : 0);

        if (!add_span(m, (size_t)(m->origin - m->space) + (size_t)lowest * bytes,
                      ((size_t)llabs(step) + 1) * bytes))
            return false;
    } while (uk_box_advance(&b));
    const int spans = m->spans;

    qsort(m->span, (size_t)spans, sizeof *m->span, compare_addresses);
    m->spans = 0;
    for (int i = 0; i < spans; i++) /* in place: there are never more than were read */
        add_span(m, m->span[i].at, m->span[i].length);
    return true;
}

/* Sets m->lowest and m->elements. */
static void find_extent(struct uk_verifier *v, struct uk_memory *m) {
    struct uk_box b;
    int64_t highest = 0;

    m->lowest = m->elements = 0;
    if (!uk_box_begin(&b, v, m->tensor, false))
        return;
    for (int d = 0; d < b.dims; d++)
        *(b.stride[d] < 0 ? &m->lowest : &highest) += (b.extent[d] - 1) * b.stride[d];
    m->elements = highest - m->lowest + 1;
}

/* Bytes from the start of the accessible pages to the lowest element, so that the origin is aligned. */
static size_t place(const struct uk_memory *m, size_t room, size_t align) {
    const size_t element = uk_type_bytes(m->tensor->type);
    const size_t below = (size_t)-m->lowest * element, bytes = (size_t)m->elements * element;

    switch (m->placement) {
    case UK_AT_END:
        return room - bytes - (room - bytes + below) % align;
    case UK_NO_BETTER_ALIGNED:
        return (below + 2 * align - 1) / (2 * align) * 2 * align + align - below;
    default:
        return (align - below % align) % align;
    }
}

static size_t align_of(const struct uk_memory *m) {
    const size_t element = uk_type_bytes(m->tensor->type);

    return m->tensor->align > (int)element ? (size_t)m->tensor->align : element;
}

/* Bytes of address space between the guards. */
static size_t middle_of(const struct uk_memory *m) {
    const size_t page = page_size();

    return ((size_t)m->elements * uk_type_bytes(m->tensor->type) + 4 * align_of(m) + page - 1) / page * page;
}

/* Chooses addresses for a wide operand, above those of the previous one, with a gap; maps nothing. */
static unsigned char *next_far_addresses(size_t bytes) {
    static uintptr_t next = FIRST_FAR;
    const uintptr_t gap = (uintptr_t)1 << 30;

    bytes = (bytes / gap + 2) * gap;
    if (next + bytes > LAST_FAR)
        next = FIRST_FAR;
    next += bytes;
    return (unsigned char *)(next - bytes); // NOLINT(performance-no-int-to-ptr)
}

/* Makes the pages of the spans accessible. Those of a wide operand are mapped at given addresses; without
 * MAP_FIXED, which would replace other mappings. */
static bool map_spans(struct uk_memory *m) {
    for (; m->mapped < m->spans; m->mapped++) {
        const struct uk_span *s = &m->span[m->mapped];
        unsigned char *at = m->space + s->at;

        if (!m->is_far) {
            if (mprotect(at, s->length, PROT_READ | PROT_WRITE))
                return false;
            continue;
        }
        void *there =
            mmap(at, s->length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (there != at) {
            if (there != MAP_FAILED)
                munmap(there, s->length);
            return false;
        }
    }
    return true;
}

static bool make(struct uk_verifier *v, struct uk_memory *m) {
    const size_t guard = GUARD_PAGES * page_size();

    find_extent(v, m);
    const size_t middle = middle_of(m);

    m->reserved = middle + 2 * guard;
    m->is_far = m->reserved > max_reservation;
    m->space = m->is_far
                   ? next_far_addresses(m->reserved)
                   : mmap(NULL, m->reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (m->space == MAP_FAILED) {
        m->space = NULL;
        return false;
    }
    m->origin = m->space + guard + place(m, middle, align_of(m)) +
                (size_t)-m->lowest * uk_type_bytes(m->tensor->type);
    if (!add_pages(v, m) || !map_spans(m))
        return false;
    for (int i = 0; i < m->spans; i++) {
        m->span[i].copy_offset = m->copy_bytes;
        m->copy_bytes += m->span[i].length;
    }
    if (v->is_large)
        return true;
    m->before = malloc(m->copy_bytes + 1);
    m->expected = malloc(m->copy_bytes + 1);
    return m->before && m->expected;
}

/* An estimate of the bytes of an operand's pages: dimensions, the smallest stride first, extend a row while
 * their steps skip no page; the others multiply the number of rows. */
static double room_for(struct uk_verifier *v, const struct uk_memory *m) {
    const double page = (double)page_size(), element = (double)uk_type_bytes(m->tensor->type);
    double row = element, rows = 1;
    bool done[UK_MAX_DIMS] = {false};
    struct uk_box b;

    if (middle_of(m) <= max_reservation || !uk_box_begin(&b, v, m->tensor, false))
        return (double)middle_of(m);
    for (int i = 0; i < b.dims; i++) {
        int next = -1;

        for (int d = 0; d < b.dims; d++)
            if (!done[d] && (next < 0 || llabs(b.stride[d]) < llabs(b.stride[next])))
                next = d;
        const double step = (double)llabs(b.stride[next]) * element, more = (double)(b.extent[next] - 1);

        done[next] = true;
        if (step <= row + page)
            row += more * step;
        else
            rows *= more + 1;
    }
    return rows * (row + 2 * page);
}

bool uk_memory_fits(struct uk_verifier *v) {
    double sum = 0, largest = 0, space = 0;

    for (const struct uk_tensor *t = v->intrinsic->declaration->tensors; t; t = t->next) {
        struct uk_memory m = {.tensor = t};

        find_extent(v, &m);
        const double room = room_for(v, &m);

        sum += room;
        largest = room > largest ? room : largest;
        space += (double)m.elements * (double)uk_type_bytes(t->type);
    }
    /* At most half of the addresses: a quarter for the operands of a case, a quarter for those with other
     * signs of strides. */
    return sum + (v->is_large ? 0 : largest) <= UK_VERIFY_BYTES &&
           space <= (double)(LAST_FAR - FIRST_FAR) / 4;
}

/* ---- contents ---- */

union uk_value uk_memory_poison(struct uk_verifier *v, enum uk_type t) {
    return uk_type_is_float(t) ? (union uk_value){.d = NAN} : uk_wrap_to(t, uk_verify_random(v, UINT64_MAX));
}

void uk_memory_fill_with_canaries(struct uk_memory *m) {
    for (int i = 0; i < m->spans; i++)
        memset(m->space + m->span[i].at, UK_VERIFY_CANARY, m->span[i].length);
}

static void fill(struct uk_verifier *v, int n) {
    struct uk_memory *m = &v->memory[n];
    enum uk_type type = m->tensor->type;
    bool hidden = m->tensor->is_written && !uk_verify_reads_output(v, m->tensor);
    struct uk_box b;

    uk_memory_fill_with_canaries(m);
    if (!m->tensor->is_written && uk_box_begin(&b, v, m->tensor, false))
        do
            uk_store(type, m->origin, uk_box_offset(&b), uk_memory_poison(v, type));
        while (uk_box_advance(&b));
    if (uk_box_begin(&b, v, m->tensor, true))
        do
            uk_store(type, m->origin, uk_box_offset(&b),
                     hidden ? uk_memory_poison(v, type) : uk_verify_element(v, n, b.index));
        while (uk_box_advance(&b));
}

static void copy(struct uk_memory *m, unsigned char *kept, bool back) {
    for (int i = 0; i < m->spans; i++) {
        unsigned char *at = m->space + m->span[i].at, *copy_of_it = kept + m->span[i].copy_offset;

        memcpy(back ? at : copy_of_it, back ? copy_of_it : at, m->span[i].length);
    }
}

bool uk_memory_make(struct uk_verifier *v) {
    v->tensors = 0;
    for (const struct uk_tensor *t = v->intrinsic->declaration->tensors; t; t = t->next) {
        struct uk_memory *m = &v->memory[v->tensors++];

        *m = (struct uk_memory){.tensor = t,
                                .placement = (enum uk_placement)uk_verify_random(v, UK_PLACEMENTS)};
        if (!make(v, m))
            return false;
        if (v->is_large ? !uk_memory_fill_rows(v, v->tensors - 1) : (fill(v, v->tensors - 1), false))
            return false;
    }
    return true;
}

static void release(struct uk_memory *m) {
    for (int i = 0; i < m->mapped && m->is_far; i++)
        munmap(m->space + m->span[i].at, m->span[i].length);
    if (m->space && !m->is_far)
        munmap(m->space, m->reserved);
    free(m->span);
    free(m->before);
    free(m->expected);
}

void uk_memory_free(struct uk_verifier *v) {
    for (int i = 0; i < v->tensors; i++)
        release(&v->memory[i]);
    v->tensors = 0;
}

void uk_memory_save(struct uk_verifier *v, bool expected) {
    for (int i = 0; i < v->tensors; i++)
        copy(&v->memory[i], expected ? v->memory[i].expected : v->memory[i].before, false);
}

void uk_memory_restore(struct uk_verifier *v) {
    for (int i = 0; i < v->tensors; i++)
        copy(&v->memory[i], v->memory[i].before, true);
}

/* ---- negative strides ---- */

/* Copies each readable element from its place under the old strides to that under the new ones, and then this
 * memory to `kept`. */
static void copy_elements(struct uk_verifier *v, const struct uk_memory *from, struct uk_memory *to,
                          unsigned char *kept) {
    const size_t bytes = uk_type_bytes(from->tensor->type);
    struct uk_box here, there;

    uk_box_begin(&there, v, from->tensor, false);
    uk_verify_negate(v);
    if (uk_box_begin(&here, v, from->tensor, false))
        do
            memcpy(to->origin + uk_box_offset(&there) * (int64_t)bytes,
                   from->origin + uk_box_offset(&here) * (int64_t)bytes, bytes);
        while (uk_box_advance(&here) && uk_box_advance(&there));
    uk_verify_negate(v);
    copy(to, kept, false);
}

bool uk_memory_mirror(struct uk_verifier *v) {
    for (int i = 0; i < v->tensors; i++) {
        struct uk_memory *from = &v->memory[i], to = {.tensor = from->tensor, .placement = from->placement};

        if (!make(v, &to)) {
            release(&to);
            return false;
        }
        uk_memory_fill_with_canaries(&to);
        copy(from, from->expected, true);
        copy_elements(v, from, &to, to.expected);
        copy(from, from->before, true);
        copy_elements(v, from, &to, to.before);
        release(from);
        *from = to;
    }
    return true;
}

/* ---- images ---- */

void uk_memory_exchange(struct uk_verifier *v, int n, unsigned char *image, unsigned char *mask, bool back) {
    const struct uk_memory *m = &v->memory[n];
    const size_t bytes = uk_type_bytes(m->tensor->type);
    struct uk_box b;

    if (!uk_box_begin(&b, v, m->tensor, false))
        return;
    do {
        const int64_t at = uk_box_offset(&b);
        unsigned char *there = image + (size_t)(at - m->lowest) * bytes,
                      *here = m->origin + at * (int64_t)bytes;

        memcpy(back ? here : there, back ? there : here, bytes);
        if (mask)
            memset(mask + (there - image), 1, bytes);
    } while (uk_box_advance(&b));
}

/* ---- write protection ---- */

void uk_memory_protect(struct uk_verifier *v, bool writable) {
    for (int i = 0; i < v->tensors; i++) {
        const struct uk_memory *m = &v->memory[i];

        for (int k = 0; k < m->spans && !m->tensor->is_written; k++)
            mprotect(m->space + m->span[k].at, m->span[k].length, PROT_READ | (writable ? PROT_WRITE : 0));
    }
}

/* ---- comparison ---- */

static int put_value(char *text, size_t room, enum uk_type t, union uk_value x) {
    if (uk_type_is_float(t) && isnan(x.d))
        return snprintf(text, room, "nan");
    return uk_type_is_float(t) ? snprintf(text, room, "%.9g", x.d) : snprintf(text, room, "%" PRId64, x.i);
}

/* "a[1, 3]", and its lane; false: no element of the tensor is at this place. */
static bool name_element(struct uk_verifier *v, const struct uk_memory *m, int64_t at, char *text,
                         size_t room) {
    const struct uk_tensor *t = m->tensor;
    struct uk_box b;
    size_t n;

    if (!uk_box_begin(&b, v, t, true))
        return false;
    do {
        if (uk_box_offset(&b) != at)
            continue;
        n = (size_t)snprintf(text, room, "%s[", t->name);
        for (int d = 0; d < t->dims && n < room; d++)
            n += (size_t)snprintf(text + n, room - n, "%s%" PRId64, d ? ", " : "", b.index[d]);
        if (n < room)
            n += (size_t)snprintf(text + n, room - n, "]");
        if (n < room)
            uk_verify_put_lane(v, (int)(m - v->memory), b.index, text + n, room - n);
        return true;
    } while (uk_box_advance(&b));
    return false;
}

void uk_memory_describe_write(struct uk_verifier *v, const void *address) {
    for (int i = 0; i < v->tensors; i++) {
        const struct uk_memory *m = &v->memory[i];
        const int64_t at = (const unsigned char *)address - m->origin,
                      bytes = (int64_t)uk_type_bytes(m->tensor->type);
        char name[128];

        if (!m->tensor->is_written && at >= m->lowest * bytes && at < (m->lowest + m->elements) * bytes &&
            name_element(v, m, (at - (at % bytes + bytes) % bytes) / bytes, name, sizeof name))
            snprintf(v->verdict->what, sizeof v->verdict->what, "writes %s, which is only read", name);
    }
}

bool uk_memory_differs(struct uk_verifier *v, struct uk_memory *m, const unsigned char *got_byte,
                       const unsigned char *expected) {
    const enum uk_type t = m->tensor->type;
    const int64_t at = got_byte - m->origin;
    const int64_t bytes = (int64_t)uk_type_bytes(t), rest = (at % bytes + bytes) % bytes;
    char name[128], got_text[40], expected_text[40], *what = v->verdict->what;
    union uk_value got, want;

    got = uk_load(t, got_byte - rest, 0);
    want = uk_load(t, expected - rest, 0);
    if (m->tensor->is_written && uk_verify_is_acceptable(v, m->tensor, got, want))
        return false;
    if (!name_element(v, m, (at - rest) / bytes, name, sizeof name)) {
        snprintf(what, sizeof v->verdict->what,
                 "writes outside of %s: byte %" PRId64 " from its start, where no element lies",
                 m->tensor->name, at);
        return true;
    }
    put_value(got_text, sizeof got_text, t, got);
    put_value(expected_text, sizeof expected_text, t, want);
    if (m->tensor->is_written)
        snprintf(what, sizeof v->verdict->what, "%s is %s, not %s", name, got_text, expected_text);
    else
        snprintf(what, sizeof v->verdict->what, "writes %s, which is only read: %s, it was %s", name,
                 got_text, expected_text);
    return true;
}

static bool compare(struct uk_verifier *v, struct uk_memory *m) {
    for (int i = 0; i < m->spans; i++) {
        const struct uk_span *s = &m->span[i];
        unsigned char *got = m->space + s->at, *expected = m->expected + s->copy_offset;

        if (!memcmp(got, expected, s->length))
            continue;
        for (size_t k = 0; k < s->length; k++)
            if (got[k] != expected[k] && uk_memory_differs(v, m, got + k, expected + k))
                return false;
    }
    return true;
}

bool uk_memory_compare(struct uk_verifier *v) {
    for (int i = 0; i < v->tensors; i++)
        if (!compare(v, &v->memory[i]))
            return false;
    return true;
}
