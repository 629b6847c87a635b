/* SPDX-License-Identifier: Apache-2.0 */
/* PTX has virtual registers, which an asm statement declares in a scope of its own: there is nothing to
 * check. */
#include "asm.h"

static void writes(const struct uk_asm_instruction *i, struct uk_asm_writes *w) {
    (void)i, (void)w;
}

static struct uk_asm_register find(struct uk_asm_text name) {
    (void)name;
    return (struct uk_asm_register){0};
}

const struct uk_asm_rules uk_asm_nvptx64 = {"nvptx", writes, find};
