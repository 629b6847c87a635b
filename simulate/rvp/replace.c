/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/single_threaded.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "replace.h"
#include "signals.h"

_Thread_local uint64_t uk_rvp_vxsat;

/* Room for the stubs of SITES words in the program's text, of BODIES different ones; aligned, as it is made writable. */
enum { SITES = 8192, SITE_WORDS = 8, BODIES = 1024, BODY_WORDS = 42 };
#define BYTES_TEXT "434176"
_Static_assert(4 * (SITES * SITE_WORDS + BODIES * BODY_WORDS) == 434176, "BYTES_TEXT");
__asm__(".pushsection .text\n"
        ".balign 4096\n"
        ".globl uk_rvp_stubs\n"
        ".hidden uk_rvp_stubs\n"
        ".type uk_rvp_stubs, @function\n"
        "uk_rvp_stubs:\n"
        ".zero " BYTES_TEXT "\n"
        ".size uk_rvp_stubs, " BYTES_TEXT "\n"
        ".popsection");
extern __attribute__((visibility("hidden"))) uint32_t uk_rvp_stubs[];

static bool uk_rvp_replaces;
static uint64_t uk_rvp_page;
/* The process that is replacing a word, or 0. A child of fork may see its parent's number, which then does not count. */
static atomic_int uk_rvp_busy;
static atomic_uint uk_rvp_n_sites;
static uint32_t uk_rvp_n_bodies;
/* The words that have a body, by hash; the body's number plus 1. */
static struct { uint32_t word, body; } uk_rvp_bodies[2 * BODIES];

enum { ZERO = 0, RA = 1, SP = 2, TP = 4, T0 = 5, A0 = 10, A1, A2, A3 };
/* The registers that a called function may change, as a mask. */
#define SAVED 0xf003fce2u
/* Their places come first in the frame, then the address in the stub to which a body returns. */
enum { LINK = 128, FRAME = 144 };

static int uk_rvp_slot(unsigned reg) {
    return 8 * __builtin_popcount(SAVED & ((1u << reg) - 1));
}

static uint32_t uk_rvp_i_type(unsigned opcode, unsigned funct3, unsigned rd, unsigned rs1, int immediate) {
    return opcode | rd << 7 | funct3 << 12 | rs1 << 15 | (uint32_t)immediate << 20;
}
static uint32_t uk_rvp_addi(unsigned rd, unsigned rs1, int immediate) {
    return uk_rvp_i_type(0x13, 0, rd, rs1, immediate);
}
static uint32_t uk_rvp_ld(unsigned rd, unsigned rs1, int offset) {
    return uk_rvp_i_type(0x03, 3, rd, rs1, offset);
}
static uint32_t uk_rvp_sd(unsigned rs2, unsigned rs1, int offset) {
    const uint32_t o = (uint32_t)offset;

    return 0x23 | (o & 31) << 7 | 3u << 12 | rs1 << 15 | rs2 << 20 | (o >> 5 & 127) << 25;
}

static bool uk_rvp_reaches(int64_t offset) {
    return offset >= -(1 << 20) && offset < 1 << 20;
}
static uint32_t uk_rvp_jal(unsigned rd, int64_t offset) {
    const uint32_t o = (uint32_t)offset;

    return 0x6f | rd << 7 | (o >> 12 & 255) << 12 | (o >> 11 & 1) << 20 | (o >> 1 & 1023) << 21 |
           (o >> 20 & 1) << 31;
}
static int64_t uk_rvp_jal_offset(uint32_t word) {
    const uint32_t o = (word >> 12 & 255) << 12 | (word >> 20 & 1) << 11 | (word >> 21 & 1023) << 1;

    return (int64_t)o - (word >> 31 ? 1 << 20 : 0);
}

/* lui and addi: the upper part is rounded, as addi's immediate has a sign. */
static int32_t uk_rvp_upper(int64_t value) {
    return (int32_t)((value + 0x800) & ~INT64_C(0xfff));
}

static uint32_t *uk_rvp_emit_move(uint32_t *at, unsigned to, unsigned from) {
    if (from && SAVED >> from & 1)
        *at++ = uk_rvp_ld(to, SP, uk_rvp_slot(from));
    else
        *at++ = uk_rvp_addi(to, from, 0);
    return at;
}

static uint32_t *uk_rvp_emit_call(uint32_t *at, const void *f) {
    const int64_t offset = (int64_t)((uint64_t)f - (uint64_t)at);

    if (uk_rvp_reaches(offset)) {
        *at++ = uk_rvp_jal(RA, offset);
    } else {
        const int32_t upper = uk_rvp_upper(offset);

        *at++ = 0x17 | RA << 7 | (uint32_t)upper; /* auipc ra */
        *at++ = uk_rvp_i_type(0x67, 0, RA, RA, (int)(offset - upper));
    }
    return at;
}

/*
 * Registers that were saved are read from memory, so that setting one argument cannot overwrite another; the called function
 * preserves the others.
 */
static void uk_rvp_make_body(uint32_t *at, const struct uk_rvp_row *row, uint32_t word) {
    const unsigned rd = word >> 7 & 31, rs1 = word >> 15 & 31, rs2 = word >> 20 & 31;

    for (unsigned r = 1; r < 32; r++)
        if (SAVED >> r & 1 && r != T0)
            *at++ = uk_rvp_sd(r, SP, uk_rvp_slot(r));
    *at++ = uk_rvp_sd(T0, SP, LINK);
    if (uk_rvp_reads_rd(row))
        at = uk_rvp_emit_move(at, A0, rd);
    at = uk_rvp_emit_move(at, A1, rs1);
    if (uk_rvp_reads_rs2(row))
        at = uk_rvp_emit_move(at, A2, rs2);
    else
        *at++ = uk_rvp_addi(A2, ZERO, (int)uk_rvp_immediate(row, word));
    if (row->saturates) {
        /* The same distance from tp in each thread. */
        const int64_t offset = (int64_t)((uint64_t)&uk_rvp_vxsat - (uint64_t)__builtin_thread_pointer());
        const int32_t upper = uk_rvp_upper(offset);

        *at++ = 0x37 | A3 << 7 | (uint32_t)upper;               /* lui a3 */
        *at++ = 0x33 | A3 << 7 | A3 << 15 | (uint32_t)TP << 20; /* add a3, a3, tp */
        *at++ = uk_rvp_addi(A3, A3, (int)(offset - upper));
    }
    at = uk_rvp_emit_call(at, (const void *)row->value);
    if (rd && SAVED >> rd & 1)
        *at++ = uk_rvp_sd(A0, SP, uk_rvp_slot(rd));
    else if (rd)
        *at++ = uk_rvp_addi(rd, A0, 0);
    for (unsigned r = 1; r < 32; r++)
        if (SAVED >> r & 1 && r != T0)
            *at++ = uk_rvp_ld(r, SP, uk_rvp_slot(r));
    *at++ = uk_rvp_ld(T0, SP, LINK);
    *at = uk_rvp_i_type(0x67, 0, ZERO, T0, 0); /* jr t0 */
}

static bool uk_rvp_protect(uint64_t from, uint64_t bytes, int protection) {
    return !uk_rvp_system(SYS_mprotect, (long)from, (long)bytes, protection, 0, 0, 0);
}

static void uk_rvp_flush(const void *from, size_t bytes) {
    __asm__ __volatile__("fence.i" ::: "memory");
    /* On all harts; a system without this call has one hart. */
    syscall(SYS_riscv_flush_icache, (const char *)from, (const char *)from + bytes, 0);
}

/* The word's body, made if it has none; NULL: no room. */
static uint32_t *uk_rvp_body(const struct uk_rvp_row *row, uint32_t word) {
    uint32_t *bodies = uk_rvp_stubs + SITES * SITE_WORDS;
    size_t i = word * 2654435761u >> 21;

    _Static_assert(2 * BODIES == 1 << 11, "the hash has 11 bits");
    while (uk_rvp_bodies[i].body && uk_rvp_bodies[i].word != word)
        i = (i + 1) % (2 * BODIES);
    if (!uk_rvp_bodies[i].body) {
        if (uk_rvp_n_bodies == BODIES)
            return NULL;
        uk_rvp_make_body(bodies + uk_rvp_n_bodies * BODY_WORDS, row, word);
        uk_rvp_bodies[i].word = word;
        uk_rvp_bodies[i].body = ++uk_rvp_n_bodies;
    }
    return bodies + (uk_rvp_bodies[i].body - 1) * BODY_WORDS;
}

/* By one store if it is aligned, else by two, which is safe with a single thread only. */
bool uk_rvp_write_word(uint64_t pc, uint32_t word, int protection) {
    const uint64_t first = pc & ~(uk_rvp_page - 1), end = (pc + 3) | (uk_rvp_page - 1);

    if (!uk_rvp_protect(first, end + 1 - first, PROT_READ | PROT_WRITE | PROT_EXEC))
        return false;
    if (pc % 4) {
        memcpy((void *)pc, &word, 4);
    } else {
        atomic_store_explicit((_Atomic uint32_t *)pc, word, memory_order_release);
    }
    uk_rvp_flush((void *)pc, 4);
    if (protection != (PROT_READ | PROT_WRITE | PROT_EXEC))
        uk_rvp_protect(first, end + 1 - first, protection);
    return true;
}

static void uk_rvp_make_site(uint64_t pc, const struct uk_rvp_row *row, uint32_t word) {
    uint32_t *stub = uk_rvp_stubs + uk_rvp_n_sites * SITE_WORDS;
    const int64_t there = (int64_t)((uint64_t)stub - pc), back = (int64_t)(pc + 4 - (uint64_t)(stub + 5));

    if (uk_rvp_n_sites == SITES || !uk_rvp_reaches(there) || !uk_rvp_reaches(back))
        return;

    uint32_t *body = uk_rvp_body(row, word);

    if (!body)
        return;
    stub[0] = uk_rvp_addi(SP, SP, -FRAME);
    stub[1] = uk_rvp_sd(T0, SP, uk_rvp_slot(T0));
    stub[2] = uk_rvp_jal(T0, (char *)body - (char *)(stub + 2));
    stub[3] = uk_rvp_ld(T0, SP, uk_rvp_slot(T0));
    stub[4] = uk_rvp_addi(SP, SP, FRAME);
    stub[5] = uk_rvp_jal(ZERO, back);
    stub[7] = word;
    uk_rvp_flush(uk_rvp_stubs, 4 * (SITES * SITE_WORDS + BODIES * BODY_WORDS));
    /* Taken before the jump is seen: a fork in between may lose a stub, never use it twice. */
    atomic_fetch_add(&uk_rvp_n_sites, 1);
    if (!uk_rvp_write_word(pc, uk_rvp_jal(ZERO, there), PROT_READ | PROT_WRITE | PROT_EXEC))
        atomic_fetch_sub(&uk_rvp_n_sites, 1);
}

void uk_rvp_replace_start(void) {
    uk_rvp_page = (uint64_t)sysconf(_SC_PAGESIZE);

    const uint64_t first = (uint64_t)uk_rvp_stubs & ~(uk_rvp_page - 1);
    const uint64_t end =
        ((uint64_t)uk_rvp_stubs + sizeof(uint32_t) * (SITES * SITE_WORDS + BODIES * BODY_WORDS) - 1) |
        (uk_rvp_page - 1);

    uk_rvp_replaces = uk_rvp_protect(first, end + 1 - first, PROT_READ | PROT_WRITE | PROT_EXEC);
}

void uk_rvp_replace(uint64_t pc, uint32_t word) {
    const struct uk_rvp_row *row = uk_rvp_find(word);
    const int me = (int)syscall(SYS_getpid);
    int busy = 0;

    if (!uk_rvp_replaces || !row || (word >> 7 & 31) == SP || (word >> 15 & 31) == SP ||
        (uk_rvp_reads_rs2(row) && (word >> 20 & 31) == SP) || (pc % 4 && !__libc_single_threaded))
        return;
    if (!atomic_compare_exchange_strong(&uk_rvp_busy, &busy, me) &&
        (busy == me || !atomic_compare_exchange_strong(&uk_rvp_busy, &busy, me)))
        return;
    /* Another thread may have replaced it since. */
    uint32_t now;

    memcpy(&now, (const void *)pc, 4);
    if (now == word)
        uk_rvp_make_site(pc, row, word);
    atomic_store(&uk_rvp_busy, 0);
}

uint32_t uk_rvp_replaced(uint64_t pc, uint32_t word) {
    if (!uk_rvp_is_jump(word))
        return word;

    const uint64_t offset = pc + (uint64_t)uk_rvp_jal_offset(word) - (uint64_t)uk_rvp_stubs;

    if (offset >= 4 * SITES * SITE_WORDS || offset % (4 * SITE_WORDS))
        return word;
    return uk_rvp_stubs[offset / 4 + 7];
}

bool uk_rvp_get_site(unsigned i, struct uk_rvp_site *site) {
    const uint32_t *stub = uk_rvp_stubs + i * SITE_WORDS;

    if (i >= atomic_load(&uk_rvp_n_sites))
        return false;
    site->stub = (uint64_t)stub;
    site->pc = (uint64_t)(stub + 5) + (uint64_t)uk_rvp_jal_offset(stub[5]) - 4;
    site->word = stub[7];
    site->jump = uk_rvp_jal(ZERO, (int64_t)(site->stub - site->pc));
    return true;
}
