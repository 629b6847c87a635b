/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Common part of simulators of devices whose threads run in waves and blocks: memory with bounds checks, and
 * a record of the waves that accessed it.
 *
 * A buffer has its own region of 16 GiB of device addresses, so an address that is wrong by less than that
 * lies in no other buffer, and the message can name the buffer that it misses. Device addresses are not host
 * addresses.
 *
 * A shadow has a cell for each 4 bytes, or, on a page with a smaller or unaligned access, for each byte: the
 * wave that wrote it last, and those that have read it since. Pages without an access take no memory. Time is
 * counted in epochs; a block's barrier ends one. Two accesses, one of which writes, conflict if they are by
 * two blocks, or by two waves of a block in one epoch.
 */
#ifndef UK_SIMT_H
#define UK_SIMT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { UK_SIMT_MAX_WAVES = 32, UK_SIMT_MAX_INSTRUCTIONS = 1 << 27 };
#define UK_SIMT_MAX_BUFFER (((uint64_t)1 << 34) - (1 << 20))

/* `block` and `epoch` begin at 1. `instruction` is the simulator's index of it. */
struct uk_simt_access {
    uint32_t block, epoch, wave, instruction;
    bool write;
};

struct uk_simt_cell {
    uint32_t write_block, write_epoch, write_who;
    /* Reads in the latest epoch: the waves, the first read, and the last one by another wave than the
     * first's. */
    uint32_t read_block, read_epoch, read_waves, read_who, read_other;
};

enum { UK_SIMT_PAGE = 1 << 11 /* bytes of a buffer */ };

struct uk_simt_page {
    unsigned granule;
    struct uk_simt_cell *cells; /* NULL: no access yet */
};

struct uk_simt_shadow {
    uint64_t pages;
    struct uk_simt_page *page;
};

struct uk_simt_buffer {
    uint64_t address, size;
    uint8_t *bytes;
    bool constant;
    struct uk_simt_shadow shadow;
    uint64_t *lines; /* a bit for each line: accessed by the launch; NULL: none yet */
};

struct uk_simt_memory {
    struct uk_simt_buffer *buffers;
    uint32_t n, next;
};

/* false: no memory, or no address left. The bytes are `fill`, or 0 in buffers of 256 MiB and more. */
bool uk_simt_alloc(struct uk_simt_memory *, uint64_t size, uint8_t fill, uint64_t *address);
/* false: no buffer begins at the address. */
bool uk_simt_free(struct uk_simt_memory *, uint64_t address);
void uk_simt_free_all(struct uk_simt_memory *);
/* The buffer in whose region the address lies, inside the buffer or not; or NULL. */
struct uk_simt_buffer *uk_simt_buffer_at(const struct uk_simt_memory *, uint64_t address);
static inline bool uk_simt_inside(const struct uk_simt_buffer *b, uint64_t address, uint64_t size) {
    return address >= b->address && address - b->address <= b->size &&
           size <= b->size - (address - b->address);
}

/* Marks the line of `line` bytes as accessed. Returns 1: for the first time; 0: again; -1: no memory. */
int uk_simt_access_line(struct uk_simt_buffer *, uint64_t offset, unsigned line);

bool uk_simt_shadow_begin(struct uk_simt_shadow *, uint64_t size);
void uk_simt_shadow_end(struct uk_simt_shadow *);
/* The cell of a byte; NULL: its page has had no access. */
const struct uk_simt_cell *uk_simt_cell_at(const struct uk_simt_shadow *, uint64_t offset);
/* Records an access, 0 < size. Returns 0: no conflict; 1: a conflict with `other`; -1: no memory. */
int uk_simt_record_access(struct uk_simt_shadow *, uint64_t offset, unsigned size,
                          const struct uk_simt_access *, struct uk_simt_access *other);

/* The instruction of a cell's write_who or read_who. */
static inline uint32_t uk_simt_instruction(uint32_t who) {
    return who / UK_SIMT_MAX_WAVES;
}

/* The next number of the sequence that the seed determines. */
uint32_t uk_simt_random(uint64_t *state);

#endif
