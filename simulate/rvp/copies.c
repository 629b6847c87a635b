/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "copies.h"
#include "illegal.h"
#include "replace.h"
#include "signals.h"

static uint32_t uk_rvp_word(uint64_t at) {
    uint32_t word;

    memcpy(&word, (const void *)at, sizeof word);
    return word;
}

/* True if the code at `copy`, in [from, to), is a copy of `site`. The program may contain the same jump by
 * chance, so a neighbouring word has to be equal too, to the present one or to the one before it was
 * replaced. */
static bool uk_rvp_is_copy(uint64_t copy, uint64_t site, uint64_t from, uint64_t to) {
    for (int i = -4; i <= 4; i += 8) {
        if (copy + (uint64_t)i < from || copy + (uint64_t)i + 4 > to)
            continue;

        const uint32_t here = uk_rvp_word(copy + (uint64_t)i), there = uk_rvp_word(site + (uint64_t)i);

        if (here == there || here == uk_rvp_replaced(site + (uint64_t)i, there))
            return true;
    }
    return false;
}

/* If the word at `at` in [from, to), which is readable, is a copy of the site's jump: makes it the word of
 * P. */
static bool uk_rvp_restore(uint64_t at, const struct uk_rvp_site *site, uint64_t from, uint64_t to,
                           int protection) {
    return at != site->pc && uk_rvp_word(at) == site->jump && uk_rvp_word(site->pc) == site->jump &&
           uk_rvp_is_copy(at, site->pc, from, to) && uk_rvp_write_word(at, site->word[0], protection);
}

/* If another word of the site's run has been changed, and the run overlaps [from, to): restores the site's
 * word. */
static void uk_rvp_restore_changed(const struct uk_rvp_site *site, uint64_t from, uint64_t to,
                                   int protection) {
    bool changed = false;

    if (site->pc >= to || site->pc + 4 * site->words <= from || uk_rvp_word(site->pc) != site->jump)
        return;
    for (uint32_t k = 1; k < site->words; k++)
        changed |= uk_rvp_replaced(site->pc + 4 * k, uk_rvp_word(site->pc + 4 * k)) != site->word[k];
    if (changed)
        uk_rvp_write_word(site->pc, site->word[0], protection);
}

/* The program's range may contain unmapped pages, which msync detects. */
static void uk_rvp_restore_all(uint64_t from, uint64_t to, int protection) {
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), first = from & ~(page - 1);
    struct uk_rvp_site site;

    if (!uk_rvp_get_site(0, &site) || to <= from || to - from > UINT32_MAX ||
        uk_rvp_system(SYS_msync, (long)first, (long)(to - first), MS_ASYNC, 0, 0, 0))
        return;
    for (uint64_t at = (from + 1) & ~UINT64_C(1); at + 4 <= to; at += 2)
        for (unsigned i = 0; uk_rvp_is_jump(uk_rvp_word(at)) && uk_rvp_get_site(i, &site); i++)
            uk_rvp_restore(at, &site, from, to, protection);
    for (unsigned i = 0; uk_rvp_get_site(i, &site); i++)
        uk_rvp_restore_changed(&site, from, to, protection);
}

void __riscv_flush_icache(void *from, void *to, unsigned long flags);
void __riscv_flush_icache(void *from, void *to, unsigned long flags) {
    uk_rvp_restore_all((uint64_t)from, (uint64_t)to, PROT_READ | PROT_WRITE | PROT_EXEC);
    __asm__ __volatile__("fence.i" ::: "memory");
    uk_rvp_system(SYS_riscv_flush_icache, (long)from, (long)to, (long)flags, 0, 0, 0);
}

int mprotect(void *from, size_t bytes, int protection) {
    const long returned = uk_rvp_system(SYS_mprotect, (long)from, (long)bytes, protection, 0, 0, 0);

    if (returned) {
        errno = (int)-returned;
        return -1;
    }
    if ((protection & (PROT_READ | PROT_EXEC)) == (PROT_READ | PROT_EXEC))
        uk_rvp_restore_all((uint64_t)from, (uint64_t)from + bytes, protection);
    return 0;
}

struct uk_rvp_search {
    uint64_t pc, found;
};

static bool uk_rvp_search_mapping(const struct uk_rvp_mapping *mapping, void *data) {
    struct uk_rvp_search *search = data;
    struct uk_rvp_site site;

    if (!(mapping->protection & PROT_EXEC) || !(mapping->protection & PROT_READ))
        return false;
    for (unsigned i = 0; uk_rvp_get_site(i, &site); i++) {
        const uint64_t at = search->pc - site.stub + site.pc;

        if (at >= mapping->from && at + 4 <= mapping->to &&
            uk_rvp_restore(at, &site, mapping->from, mapping->to, mapping->protection)) {
            search->found = at;
            return true;
        }
    }
    return false;
}

uint64_t uk_rvp_came_from(uint64_t pc) {
    struct uk_rvp_search search = {pc, 0};

    uk_rvp_find_mapping(uk_rvp_search_mapping, &search);
    return search.found;
}
