/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replaces words of P with jumps to stubs, so that later executions cost no signal. Consecutive words are a
 * run, which one stub executes:
 *
 *   site:  jal   x0, stub          was the first word of the run; the others stay in place
 *   stub:  addi  sp, sp, -144      one per site, 20 bytes
 *          sd    t0, 8(sp)
 *          auipc t0, code
 *          jalr  t0, t0, code      saves caller-saved registers, calls the functions of the words' rows,
 *          ld    t0, 8(sp)             and restores them
 *          addi  sp, sp, 144
 *          jal   x0, site + 4 * words
 *
 * A word in the middle that is the target of a jump gets a site of its own. Stubs lie in .text, as `jal`
 * reaches 1 MiB: code farther away, and shared objects, stay unchanged. The code of runs lies anywhere,
 * preceded by their words and the number of words, by which the plugin that counts instructions recognizes
 * them.
 */
#ifndef UK_RVP_REPLACE_H
#define UK_RVP_REPLACE_H

#include "decode.h"

/* Each thread's vxsat, bit OV. */
extern __attribute__((tls_model("initial-exec"))) _Thread_local uint64_t uk_rvp_vxsat;

/* To be called before the first uk_rvp_replace. Without it, or if the system does not allow code to be
 * written, nothing is replaced. */
void uk_rvp_replace_start(void);

/*
 * Replaces the word at pc, which has just been emulated. All signals are to be blocked. It stays as it is
 *
 * - if a stub's use of the stack would be visible (sp is an operand),
 * - if the stub is out of reach of a jump,
 * - if it is not aligned to 4 while there are threads,
 * - while another thread replaces a word,
 * - if no stub is left.
 */
void uk_rvp_replace(uint64_t pc, uint32_t word);

static inline bool uk_rvp_is_jump(uint32_t word) {
    return (word & 0xfff) == 0x6f; /* jal x0 */
}

/* The i-th site; false if there are fewer. */
struct uk_rvp_site {
    uint64_t pc, stub;
    uint32_t jump, words;
    const uint32_t *word; /* of its run */
};
bool uk_rvp_get_site(unsigned i, struct uk_rvp_site *site);

/* Writes a word of code, and leaves its pages with this protection. False: the system does not allow it. */
bool uk_rvp_write_word(uint64_t pc, uint32_t word, int protection);

/* The word of P that the jump `word` at pc replaced; `word` itself if it is not a jump to a stub. */
uint32_t uk_rvp_replaced(uint64_t pc, uint32_t word);

#endif
