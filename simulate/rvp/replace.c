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

/* Memory for SITES stubs in the program's text, and for the code of runs anywhere, whose pages are allocated
 * when they are written. Page-aligned, as both are made writable. */
enum { SITES = 16384, STUB_WORDS = 5, RUN_BYTES = 1 << 25 };
#define STUB_BYTES_TEXT "327680"
#define RUN_BYTES_TEXT "33554432"
_Static_assert(4 * SITES * STUB_WORDS == 327680 && RUN_BYTES == 33554432, "the texts");
#define ROOM(section, name, bytes)                                                                   \
    __asm__(".pushsection " section "\n.balign 4096\n.globl " name "\n.hidden " name "\n.type " name \
            ", @function\n" name ":\n.zero " bytes "\n.size " name ", " bytes "\n.popsection")
ROOM(".text", "uk_rvp_stubs", STUB_BYTES_TEXT);
ROOM(".bss", "uk_rvp_runs", RUN_BYTES_TEXT);
extern __attribute__((visibility("hidden"))) uint32_t uk_rvp_stubs[], uk_rvp_runs[];

static bool uk_rvp_replaces;
static uint64_t uk_rvp_page_bytes;
/* The process that is replacing a word, or 0. A child of fork may inherit its parent's number, which it
 * ignores. */
static atomic_int uk_rvp_replacing_process;
static atomic_uint uk_rvp_n_sites;
/* Each site's address, and its run: `code` is preceded by the run's words and their number. */
static struct {
    uint64_t pc;
    const uint32_t *code;
} uk_rvp_sites[SITES];
static uint32_t *uk_rvp_next_run = uk_rvp_runs;
/* The pc of this thread's last trap. */
static _Thread_local uint64_t uk_rvp_last_pc;

enum { ZERO = 0, RA = 1, SP = 2, TP = 4, T0 = 5, A0 = 10, A1, A2, A3 };
/* Mask of caller-saved registers. */
#define SAVED 0xf003fce2u
/* Offsets in a stub's frame: the saved registers, then the address in the stub to which its run returns. */
enum { LINK = 128, FRAME = 144 };
/* Limits of a run: words, instructions per word, and instructions around them. */
enum { MAX_RUN_WORDS = 64, WORD_INSTRUCTIONS = 9, FRAME_INSTRUCTIONS = 33 };

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

/* The upper part of lui and addi; rounded, because addi's immediate is signed. */
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

/* auipc and jalr; `link` gets the return address. */
static uint32_t *uk_rvp_emit_far(uint32_t *at, unsigned link, const void *to) {
    const int64_t offset = (int64_t)((uint64_t)to - (uint64_t)at);
    const int32_t upper = uk_rvp_upper(offset);

    *at++ = 0x17 | link << 7 | (uint32_t)upper;
    *at++ = uk_rvp_i_type(0x67, 0, link, link, (int)(offset - upper));
    return at;
}

/* jal if it reaches: emulators do not need to look up its target. */
static uint32_t *uk_rvp_emit_call(uint32_t *at, const void *to) {
    const int64_t offset = (int64_t)((uint64_t)to - (uint64_t)at);

    if (!uk_rvp_reaches(offset))
        return uk_rvp_emit_far(at, RA, to);
    *at++ = uk_rvp_jal(RA, offset);
    return at;
}

/*
 * Saved registers are read from and written to memory, so that setting one argument cannot overwrite another;
 * the called function preserves the others.
 */
static uint32_t *uk_rvp_emit_word(uint32_t *at, const struct uk_rvp_row *row, uint32_t word) {
    const unsigned rd = word >> 7 & 31, rs1 = word >> 15 & 31, rs2 = word >> 20 & 31;

    if (uk_rvp_reads_rd(row))
        at = uk_rvp_emit_move(at, A0, rd);
    at = uk_rvp_emit_move(at, A1, rs1);
    if (uk_rvp_reads_rs2(row))
        at = uk_rvp_emit_move(at, A2, rs2);
    else
        *at++ = uk_rvp_addi(A2, ZERO, (int)uk_rvp_immediate(row, word));
    if (row->saturates) {
        /* Every thread has the variable at the same distance from tp. */
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
    return at;
}

/* Emits the code of a run; NULL: no memory left. */
static const uint32_t *uk_rvp_emit_run(const uint32_t *word, uint32_t words) {
    uint32_t *at = uk_rvp_next_run, *code;

    if ((uint64_t)(at - uk_rvp_runs) + words * (WORD_INSTRUCTIONS + 1) + 1 + FRAME_INSTRUCTIONS >
        RUN_BYTES / 4)
        return NULL;
    for (uint32_t k = 0; k < words; k++)
        *at++ = word[k];
    *at++ = words;
    code = at;
    for (unsigned r = 1; r < 32; r++)
        if (SAVED >> r & 1 && r != T0)
            *at++ = uk_rvp_sd(r, SP, uk_rvp_slot(r));
    *at++ = uk_rvp_sd(T0, SP, LINK);
    for (uint32_t k = 0; k < words; k++)
        at = uk_rvp_emit_word(at, uk_rvp_find(word[k]), word[k]);
    for (unsigned r = 1; r < 32; r++)
        if (SAVED >> r & 1 && r != T0)
            *at++ = uk_rvp_ld(r, SP, uk_rvp_slot(r));
    *at++ = uk_rvp_ld(T0, SP, LINK);
    *at++ = uk_rvp_i_type(0x67, 0, ZERO, T0, 0); /* jr t0 */
    uk_rvp_next_run = at;
    return code;
}

static bool uk_rvp_protect(uint64_t from, uint64_t bytes, int protection) {
    return !uk_rvp_system(SYS_mprotect, (long)from, (long)bytes, protection, 0, 0, 0);
}

static void uk_rvp_flush(const void *from, size_t bytes) {
    __asm__ __volatile__("fence.i" ::: "memory");
    /* On all harts. A system without this call has one hart. */
    syscall(SYS_riscv_flush_icache, (const char *)from, (const char *)from + bytes, 0);
}

/* One store if pc is aligned, else two, which is safe only with a single thread. */
bool uk_rvp_write_word(uint64_t pc, uint32_t word, int protection) {
    const uint64_t first = pc & ~(uk_rvp_page_bytes - 1), end = (pc + 3) | (uk_rvp_page_bytes - 1);

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

/* True if a stub can execute the word: with sp as an operand its use of the stack would be visible. */
static bool uk_rvp_is_replaceable(uint32_t word) {
    const struct uk_rvp_row *row = uk_rvp_find(word);

    return row && (word >> 7 & 31) != SP && (word >> 15 & 31) != SP &&
           !(uk_rvp_reads_rs2(row) && (word >> 20 & 31) == SP);
}

static uint32_t uk_rvp_read_word(uint64_t pc) {
    uint32_t word;

    memcpy(&word, (const void *)pc, sizeof word);
    return word;
}

/* Collects consecutive replaceable words from pc on, up to the end of the page, because the next one may not
 * be mapped. */
static uint32_t uk_rvp_collect(uint64_t pc, uint32_t *word) {
    const uint64_t end = ((pc + 3) | (uk_rvp_page_bytes - 1)) + 1;
    uint32_t n = 0;

    while (n < MAX_RUN_WORDS && pc + 4 * n + 4 <= end &&
           uk_rvp_is_replaceable(uk_rvp_read_word(pc + 4 * n))) {
        word[n] = uk_rvp_read_word(pc + 4 * n);
        n++;
    }
    return n;
}

static void uk_rvp_make_site(uint64_t pc) {
    const unsigned site = uk_rvp_n_sites;
    uint32_t *stub = uk_rvp_stubs + site * STUB_WORDS, word[MAX_RUN_WORDS];
    const uint32_t words = uk_rvp_collect(pc, word);
    const int64_t there = (int64_t)((uint64_t)stub - pc),
                  back = (int64_t)(pc + 4 * words - (uint64_t)(stub + 4));

    if (site == SITES || !words || !uk_rvp_reaches(there) || !uk_rvp_reaches(back))
        return;

    const uint32_t *code = uk_rvp_emit_run(word, words);

    if (!code)
        return;
    _Static_assert(FRAME == 144 && __builtin_popcount(SAVED & ((1u << T0) - 1)) == 1,
                   "the compressed instructions");
    stub[0] = 0x7175 | 0xe416u << 16; /* addi sp, sp, -144; sd t0, 8(sp) */
    uk_rvp_emit_far(stub + 1, T0, code);
    stub[3] = 0x62a2 | 0x6149u << 16; /* ld t0, 8(sp); addi sp, sp, 144 */
    stub[4] = uk_rvp_jal(ZERO, back);
    uk_rvp_sites[site].pc = pc;
    uk_rvp_sites[site].code = code;
    uk_rvp_flush(stub, 4 * STUB_WORDS);
    uk_rvp_flush(code, (size_t)(uk_rvp_next_run - code) * 4);
    /* Counted before the jump becomes visible: a fork in between may lose a stub but never uses it twice. */
    atomic_fetch_add(&uk_rvp_n_sites, 1);
    if (!uk_rvp_write_word(pc, uk_rvp_jal(ZERO, there), PROT_READ | PROT_WRITE | PROT_EXEC))
        atomic_fetch_sub(&uk_rvp_n_sites, 1);
}

static bool uk_rvp_make_writable(const void *room, uint64_t bytes) {
    const uint64_t first = (uint64_t)room & ~(uk_rvp_page_bytes - 1);
    const uint64_t end = ((uint64_t)room + bytes - 1) | (uk_rvp_page_bytes - 1);

    return uk_rvp_protect(first, end + 1 - first, PROT_READ | PROT_WRITE | PROT_EXEC);
}

void uk_rvp_replace_start(void) {
    uk_rvp_page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    uk_rvp_replaces = uk_rvp_make_writable(uk_rvp_stubs, 4 * SITES * STUB_WORDS) &&
                      uk_rvp_make_writable(uk_rvp_runs, RUN_BYTES);
}

/* The index of the site whose jump this is; SITES: none. */
static unsigned uk_rvp_site_of(uint64_t pc, uint32_t word) {
    const uint64_t offset = pc + (uint64_t)uk_rvp_jal_offset(word) - (uint64_t)uk_rvp_stubs;

    return uk_rvp_is_jump(word) && offset < 4 * SITES * STUB_WORDS && offset % (4 * STUB_WORDS) == 0
               ? (unsigned)(offset / (4 * STUB_WORDS))
               : SITES;
}

/* True if the word at pc belongs to a run that begins before it. */
static bool uk_rvp_is_in_run(uint64_t pc) {
    for (uint64_t at = pc - 4;
         at > pc - 4 * MAX_RUN_WORDS && (at & ~(uk_rvp_page_bytes - 1)) == (pc & ~(uk_rvp_page_bytes - 1));
         at -= 4) {
        const uint32_t word = uk_rvp_read_word(at);
        const unsigned site = uk_rvp_site_of(at, word);

        if (site < SITES)
            return uk_rvp_sites[site].code[-1] > (pc - at) / 4;
        if (!uk_rvp_is_replaceable(word))
            return false;
    }
    return false;
}

void uk_rvp_replace(uint64_t pc, uint32_t word) {
    const int me = (int)syscall(SYS_getpid);
    /* On first execution the words of a run trap one after the other and need no sites of their own; a word
     * that is reached by a jump becomes a site. */
    const bool follows = uk_rvp_last_pc == pc - 4;
    int busy = 0;

    uk_rvp_last_pc = pc;
    if (!uk_rvp_replaces || !uk_rvp_is_replaceable(word) || (pc % 4 && !__libc_single_threaded) ||
        (follows && uk_rvp_is_in_run(pc)))
        return;
    if (!atomic_compare_exchange_strong(&uk_rvp_replacing_process, &busy, me) &&
        (busy == me || !atomic_compare_exchange_strong(&uk_rvp_replacing_process, &busy, me)))
        return;
    /* Another thread may have replaced it in the meantime. */
    if (uk_rvp_read_word(pc) == word)
        uk_rvp_make_site(pc);
    atomic_store(&uk_rvp_replacing_process, 0);
}

uint32_t uk_rvp_replaced(uint64_t pc, uint32_t word) {
    const unsigned site = uk_rvp_site_of(pc, word);

    return site < SITES ? uk_rvp_sites[site].code[-1 - (int64_t)uk_rvp_sites[site].code[-1]] : word;
}

bool uk_rvp_get_site(unsigned i, struct uk_rvp_site *site) {
    if (i >= atomic_load(&uk_rvp_n_sites))
        return false;

    const uint32_t *code = uk_rvp_sites[i].code;

    site->stub = (uint64_t)(uk_rvp_stubs + i * STUB_WORDS);
    site->pc = uk_rvp_sites[i].pc;
    site->words = code[-1];
    site->word = code - 1 - site->words;
    site->jump = uk_rvp_jal(ZERO, (int64_t)(site->stub - site->pc));
    return true;
}
