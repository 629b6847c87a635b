/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The registers that instructions of AMD's GPUs write: the first operand, except for stores, jumps, waits and
 * barriers. Implicit results in vcc or scc (carries, comparisons) are not checked, like flags elsewhere.
 */
#include <string.h>
#include "asm.h"

static void writes(const struct uk_asm_instruction *i, struct uk_asm_writes *w) {
    static const char *const silent =
        "global_store_* flat_store_* buffer_store_* scratch_store_* ds_write* ds_store* s_store* "
        "s_branch s_cbranch_* s_waitcnt* s_barrier s_nop s_endpgm s_setprio s_sleep s_cmp_* s_cmpk_* "
        "s_bitcmp*";

    if (!uk_asm_is_one(i->name, silent))
        uk_asm_write_first(i, 1, w);
}

/* v0, s0 and a0, or ranges: v[2:5]. */
static struct uk_asm_register find(struct uk_asm_text name) {
    static const char letters[] = "vsa", files[] = "vgk";
    const char *const letter = name.length > 1 ? memchr(letters, *name.at, 3) : NULL;
    const char *at = name.at + 1;
    size_t length = name.length - 1;

    if (!letter)
        return (struct uk_asm_register){0};
    if (length > 2 && *at == '[' && at[length - 1] == ']') {
        const char *colon = memchr(at, ':', length);
        const size_t first = colon ? (size_t)(colon - at) - 1 : length - 2;
        const int from = uk_asm_number(at + 1, first);
        const int to = colon ? uk_asm_number(colon + 1, length - first - 3) : from;

        return from < 0 || to < from ? (struct uk_asm_register){0}
                                     : (struct uk_asm_register){files[letter - letters], from, to - from + 1,
                                                                32 * (to - from + 1)};
    }
    return uk_asm_number(at, length) < 0
               ? (struct uk_asm_register){0}
               : (struct uk_asm_register){files[letter - letters], uk_asm_number(at, length), 1, 32};
}

const struct uk_asm_rules uk_asm_amdgcn = {"amdgcn", writes, find};
