/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include "simt.h"

/* Buffers of at least SPARSE bytes begin with zeros, so that only pages in use take memory. Regions begin at
 * FIRST; a buffer begins IN_REGION bytes after its region, so that small negative offsets are still in it. */
enum { REGION_BITS = 34, MAX_BUFFERS = 8000, SPARSE = 1 << 28 };
#define FIRST ((uint64_t)1 << 44)
#define IN_REGION ((uint64_t)0x10000)

static bool uk_simt_room(struct uk_simt_memory *memory, uint32_t n) {
    struct uk_simt_buffer *buffers;

    if (n <= memory->n)
        return true;
    n = n < 2 * memory->n ? 2 * memory->n : n < 16 ? 16 : n;
    buffers = realloc(memory->buffers, n * sizeof *buffers);
    if (!buffers)
        return false;
    memset(buffers + memory->n, 0, (n - memory->n) * sizeof *buffers);
    memory->buffers = buffers;
    memory->n = n;
    return true;
}

/* Addresses of freed buffers are reused as late as possible. */
bool uk_simt_alloc(struct uk_simt_memory *memory, uint64_t size, uint8_t fill, uint64_t *address) {
    uint32_t tried = 0;

    if (size > UK_SIMT_MAX_BUFFER)
        return false;
    for (; tried < MAX_BUFFERS; ++tried, memory->next = (memory->next + 1) % MAX_BUFFERS) {
        struct uk_simt_buffer *b;

        if (!uk_simt_room(memory, memory->next + 1))
            return false;
        b = &memory->buffers[memory->next];
        if (b->bytes)
            continue;
        *b = (struct uk_simt_buffer){FIRST + ((uint64_t)memory->next << REGION_BITS) + IN_REGION,
                                     size,
                                     size < SPARSE ? malloc(size ? size : 1) : calloc(size, 1),
                                     false,
                                     {0},
                                     NULL};
        if (!b->bytes)
            return false;
        if (size < SPARSE)
            memset(b->bytes, fill, size);
        memory->next = (memory->next + 1) % MAX_BUFFERS;
        *address = b->address;
        return true;
    }
    return false;
}

struct uk_simt_buffer *uk_simt_buffer_at(const struct uk_simt_memory *memory, uint64_t address) {
    const uint64_t region = address < FIRST ? UINT64_MAX : (address - FIRST) >> REGION_BITS;

    return region < memory->n && memory->buffers[region].bytes ? &memory->buffers[region] : NULL;
}

bool uk_simt_free(struct uk_simt_memory *memory, uint64_t address) {
    struct uk_simt_buffer *b = uk_simt_buffer_at(memory, address);

    if (!b || b->address != address)
        return false;
    uk_simt_shadow_end(&b->shadow);
    free(b->lines);
    free(b->bytes);
    *b = (struct uk_simt_buffer){0};
    return true;
}

void uk_simt_free_all(struct uk_simt_memory *memory) {
    for (uint32_t i = 0; i < memory->n; ++i)
        if (memory->buffers[i].bytes)
            uk_simt_free(memory, memory->buffers[i].address);
    free(memory->buffers);
    *memory = (struct uk_simt_memory){0};
}

int uk_simt_access_line(struct uk_simt_buffer *b, uint64_t offset, unsigned line) {
    enum { BITS = 64 };
    const uint64_t at = offset / line, bit = (uint64_t)1 << at % BITS;

    if (!b->lines && !(b->lines = calloc(b->size / line / BITS + 1, sizeof *b->lines)))
        return -1;
    if (b->lines[at / BITS] & bit)
        return 0;
    b->lines[at / BITS] |= bit;
    return 1;
}

bool uk_simt_shadow_begin(struct uk_simt_shadow *shadow, uint64_t size) {
    *shadow = (struct uk_simt_shadow){size / UK_SIMT_PAGE + 1, NULL};
    shadow->page = calloc(shadow->pages, sizeof *shadow->page);
    return shadow->page != NULL;
}

void uk_simt_shadow_end(struct uk_simt_shadow *shadow) {
    for (uint64_t i = 0; shadow->page && i < shadow->pages; ++i)
        free(shadow->page[i].cells);
    free(shadow->page);
    *shadow = (struct uk_simt_shadow){0};
}

/* Makes the cells of a page, or replaces one for 4 bytes by one for each byte. */
static bool uk_simt_refine(struct uk_simt_page *page, unsigned granule) {
    struct uk_simt_cell *cells = calloc(UK_SIMT_PAGE / granule, sizeof *cells);

    if (!cells)
        return false;
    for (unsigned i = 0; page->cells && i < UK_SIMT_PAGE / granule; ++i)
        cells[i] = page->cells[i * granule / page->granule];
    free(page->cells);
    *page = (struct uk_simt_page){granule, cells};
    return true;
}

const struct uk_simt_cell *uk_simt_cell_at(const struct uk_simt_shadow *shadow, uint64_t offset) {
    const struct uk_simt_page *page = &shadow->page[offset / UK_SIMT_PAGE];

    return page->cells ? &page->cells[offset % UK_SIMT_PAGE / page->granule] : NULL;
}

enum { WAVE_BITS = 5 };
_Static_assert(UK_SIMT_MAX_WAVES == 1 << WAVE_BITS, "");

static uint32_t uk_simt_who(const struct uk_simt_access *a) {
    return a->instruction << WAVE_BITS | a->wave;
}
static uint32_t uk_simt_wave(uint32_t who) {
    return who % UK_SIMT_MAX_WAVES;
}

static int uk_simt_conflict(struct uk_simt_access *other, uint32_t block, uint32_t epoch, uint32_t who,
                            bool write) {
    *other = (struct uk_simt_access){block, epoch, uk_simt_wave(who), who >> WAVE_BITS, write};
    return 1;
}

/* Of the blocks that read a cell only the first is kept: blocks run one after the other, and a store by any
 * other block conflicts with it. */
static int uk_simt_record_cell(struct uk_simt_cell *c, const struct uk_simt_access *a,
                               struct uk_simt_access *other) {
    const uint32_t who = uk_simt_who(a), bit = 1u << a->wave;

    if (c->write_epoch &&
        (c->write_block != a->block || (c->write_epoch >= a->epoch && uk_simt_wave(c->write_who) != a->wave)))
        return uk_simt_conflict(other, c->write_block, c->write_epoch, c->write_who, true);
    if (a->write) {
        if (c->read_epoch &&
            (c->read_block != a->block || (c->read_epoch >= a->epoch && c->read_waves & ~bit)))
            return uk_simt_conflict(
                other, c->read_block, c->read_epoch,
                uk_simt_wave(c->read_who) == a->wave && c->read_other ? c->read_other : c->read_who, false);
        c->write_block = a->block;
        c->write_epoch = a->epoch;
        c->write_who = who;
    } else if (c->read_block == a->block && c->read_epoch == a->epoch) {
        c->read_waves |= bit;
        if (uk_simt_wave(c->read_who) != a->wave)
            c->read_other = who;
    } else if (!c->read_epoch || (c->read_block == a->block && c->read_epoch < a->epoch)) {
        c->read_block = a->block;
        c->read_epoch = a->epoch;
        c->read_waves = bit;
        c->read_who = who;
        c->read_other = 0;
    }
    return 0;
}

int uk_simt_record_access(struct uk_simt_shadow *shadow, uint64_t offset, unsigned size,
                          const struct uk_simt_access *a, struct uk_simt_access *other) {
    const unsigned granule = (offset | size) % 4 ? 1 : 4;

    for (uint64_t at = offset, step; at < offset + size; at += step) {
        struct uk_simt_page *page = &shadow->page[at / UK_SIMT_PAGE];

        if ((!page->cells || page->granule > granule) && !uk_simt_refine(page, granule))
            return -1;
        step = page->granule;
        const int result = uk_simt_record_cell(&page->cells[at % UK_SIMT_PAGE / step], a, other);

        if (result)
            return result;
    }
    return 0;
}

/* xorshift64* (Marsaglia); the state is never 0. */
uint32_t uk_simt_random(uint64_t *state) {
    uint64_t x = *state ? *state : 0x9e3779b97f4a7c15u;

    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return (uint32_t)(x * 0x2545f4914f6cdd1du >> 32);
}
