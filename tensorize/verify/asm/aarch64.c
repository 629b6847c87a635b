/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The registers that instructions of AArch64 write: the first operand, which may be a list, and the base of
 * an address with writeback; the tables below are the exceptions. sp, flags and control registers are not
 * checked.
 */
#include <string.h>
#include "asm.h"

static void writes_of_aarch64(const struct uk_asm_instruction *i, struct uk_asm_writes *w) {
    static const char *const silent = "cmp cmn tst teq b b.* beq bne bge bgt ble blt bhs blo bhi bls bcs bcc "
                                      "bmi bpl bvs bvc bl blr br ret cbz cbnz tbz "
                                      "tbnz prfm prfum fcmp fcmpe ccmp ccmn fccmp fccmpe nop dmb dsb isb "
                                      "hint yield msr dc clrex brk udf svc";

    if (uk_asm_is_one(i->name, "stxr stlxr stxrb stxrh stlxrb stlxrh stxp stlxp")) {
        uk_asm_write_first(i, 1, w);
        return;
    }
    if (uk_asm_is_one(i->name, "ld* st* prf*"))
        uk_asm_write_base(i, w);
    if (uk_asm_is_one(i->name, silent) || uk_asm_is_one(i->name, "st*"))
        return;
    if (uk_asm_is_one(i->name, "ldadd* ldclr* ldset* ldeor* ldsmax* ldsmin* ldumax* ldumin* swp*")) {
        if (i->operands > 1)
            uk_asm_write(w, i->operand[1]);
        return;
    }
    uk_asm_write_first(i, uk_asm_is_one(i->name, "ldp ldnp ldpsw ldxp ldaxp") ? 2 : 1, w);
}

/* v0.4s, v0.s[1] and q0 are v0. */
static struct uk_asm_register find_of_aarch64(struct uk_asm_text name) {
    const size_t n = uk_asm_prefix(name);
    const int number = name.length > 1 ? uk_asm_number(name.at + 1, n - 1) : -1;

    if (number < 0 || number > 31 || (n < name.length && name.at[n] != '.'))
        return (struct uk_asm_register){0};
    if (strchr("xw", *name.at))
        return (struct uk_asm_register){number < 31 ? 'g' : 0, number, 1, 64};
    if (strchr("vqdshb", *name.at))
        return (struct uk_asm_register){'v', number, 1, 128};
    return (struct uk_asm_register){0};
}

const struct uk_asm_rules uk_asm_aarch64 = {"aarch64", writes_of_aarch64, find_of_aarch64};
