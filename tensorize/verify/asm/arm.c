/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The registers that instructions of 32-bit Arm write: the first operand, which may be a list, and the base
 * of an address with writeback; the tables below are the exceptions. sp, flags and control registers are not
 * checked.
 */
#include <string.h>
#include "asm.h"

static bool is_address(struct uk_asm_text t) {
    return t.length > 1 && *t.at == '[';
}

void uk_asm_write_base(const struct uk_asm_instruction *i, struct uk_asm_writes *w) {
    for (int k = 0; k < i->operands; k++) {
        const struct uk_asm_text t = i->operand[k];
        size_t n = 1;

        if (!is_address(t) || (t.at[t.length - 1] != '!' && k + 1 == i->operands))
            continue;
        while (n < t.length && !strchr(",] :", t.at[n]))
            n++;
        uk_asm_write(w, (struct uk_asm_text){t.at + 1, n - 1});
    }
}

static void writes_of_arm(const struct uk_asm_instruction *i, struct uk_asm_writes *w) {
    static const char *const silent =
        "cmp* cmn* tst* teq* b beq bne bge bgt ble blt bhs blo bhi bls bcs bcc bmi bpl bvs bvc bl blx bx pld "
        "pldw vcmp* "
        "vmsr nop dmb dsb isb push vpush str* stm* vst* msr svc udf it ite itt bkpt";
    int count = 1;

    if (uk_asm_is_one(i->name, "ldr* str* vld1* vld2* vld3* vld4* vst1* vst2* vst3* vst4* pld"))
        uk_asm_write_base(i, w);
    if (uk_asm_is_one(i->name, "ldm* stm* vldm* vstm*") && i->operands == 2) {
        struct uk_asm_text base = i->operand[0];

        if (base.length && base.at[base.length - 1] == '!')
            uk_asm_write(w, (struct uk_asm_text){base.at, base.length - 1});
        if (*i->name.at == 'l' || i->name.at[1] == 'l')
            uk_asm_write(w, i->operand[1]);
        return;
    }
    if (uk_asm_is_one(i->name, silent))
        return;
    if (uk_asm_is_one(i->name, "ldrd* smull* umull* smlal* umlal* vswp* vtrn* vzip* vuzp*"))
        count = 2;
    if (uk_asm_is_one(i->name, "vmov vmov.*") && i->operands == 3 &&
        (*i->operand[0].at == 'r' || *i->operand[0].at == '$'))
        count = 2;
    uk_asm_write_first(i, count, w);
}

static struct uk_asm_register find_of_arm(struct uk_asm_text name) {
    const size_t n = uk_asm_prefix(name);
    const int number = name.length > 1 ? uk_asm_number(name.at + 1, n - 1) : -1;
    int wide = 1;

    if (uk_asm_is_one(name, "ip"))
        return (struct uk_asm_register){'g', 12, 1, 32};
    if (uk_asm_is_one(name, "lr"))
        return (struct uk_asm_register){'g', 14, 1, 32};
    if (number < 0 || number > 31 || (n < name.length && name.at[n] != '['))
        return (struct uk_asm_register){0};
    if (*name.at == 'r')
        return (struct uk_asm_register){number < 13 || number == 14 ? 'g' : 0, number, 1, 32};
    if (*name.at == 'q')
        wide = 4;
    else if (*name.at == 'd')
        wide = 2;
    else if (*name.at != 's')
        return (struct uk_asm_register){0};
    return (struct uk_asm_register){'v', number * wide, wide, 32};
}

const struct uk_asm_rules uk_asm_arm = {"arm", writes_of_arm, find_of_arm};
