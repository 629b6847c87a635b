/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words of P replaced by jumps to stubs, so that later executions cost no signal. Words that follow each
 * other are a run, which one stub executes:
 *
 *   site:  jal   x0, stub          was the first word of the run; the others stay where they are
 *   stub:  addi  sp, sp, -144      one for each site, of 20 bytes
 *          sd    t0, 8(sp)
 *          auipc t0, code
 *          jalr  t0, t0, code      saves what C functions may change, calls those of the words' rows,
 *          ld    t0, 8(sp)             and loads it
 *          addi  sp, sp, 144
 *          jal   x0, site + 4 * words
 *
 * A word in the middle that is jumped to gets a site of its own. Stubs lie in .text, as `jal` reaches 1 MiB:
 * code beyond it, and shared objects, stay as they are. The code of runs lies anywhere, behind its words and
 * their number, by which the plugin that counts instructions knows them.
 */
#ifndef UK_RVP_REPLACE_H
#define UK_RVP_REPLACE_H

#include "decode.h"

/* vxsat's bit OV of each thread. */
extern __attribute__((tls_model("initial-exec"))) _Thread_local uint64_t uk_rvp_vxsat;

/* Before the first uk_rvp_replace; without it, or if the system does not let code be written, nothing is
 * replaced. */
void uk_rvp_replace_start(void);

/*
 * Replaces the word at pc, which has just been emulated, if that is possible. It is not where a stub's use of
 * the stack would be seen (sp is an operand), out of reach, for a word that is not aligned to 4 while there
 * are threads, while another thread replaces one, and when the room for stubs is used up. All signals are to
 * be blocked.
 */
void uk_rvp_replace(uint64_t pc, uint32_t word);

static inline bool uk_rvp_is_jump(uint32_t word) {
    return (word & 0xfff) == 0x6f; /* jal x0 */
}

/* Site number i; false: there are not so many. */
struct uk_rvp_site {
    uint64_t pc, stub;
    uint32_t jump, words;
    const uint32_t *word; /* of its run */
};
bool uk_rvp_get_site(unsigned i, struct uk_rvp_site *site);

/* Writes a word of code, and leaves its pages with this protection. False: the system does not let it be
 * written. */
bool uk_rvp_write_word(uint64_t pc, uint32_t word, int protection);

/* The word that the jump `word` at pc stands for; `word` itself if it is no jump to a stub. */
uint32_t uk_rvp_replaced(uint64_t pc, uint32_t word);

#endif
