/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The registers that instructions of RISC-V write: the first operand, except for stores and jumps. For .insn
 * it is the first register operand, after the numbers of its format. Control registers are not checked.
 */
#include <string.h>
#include "asm.h"

static void writes(const struct uk_asm_instruction *i, struct uk_asm_writes *w) {
    static const char *const silent =
        "sb sh sw sd fsh fsw fsd c.sw c.sd c.fsw c.fsd b beq bne blt bge bltu bgeu beqz bnez blez bgez "
        "bltz bgtz bgt ble bgtu bleu c.beqz c.bnez j jr ret call tail c.j c.jr nop fence fence.i "
        "ecall ebreak pause csrw csrs csrc csrwi csrsi csrci prefetch.*";

    if (uk_asm_is_one(i->name, ".insn")) {
        /* .insn r opcode, funct3, funct7, rd, rs1, rs2; i opcode, funct3, rd, ...; u and j opcode, rd. The
         * other formats write nothing. */
        const char *const format = i->operands ? i->operand[0].at : "";
        const int rd = *format == 'r'                     ? 3
                       : *format == 'i'                   ? 2
                       : *format == 'u' || *format == 'j' ? 1
                                                          : UK_ASM_OPERANDS;

        if (rd < i->operands)
            uk_asm_write(w, i->operand[rd]);
        return;
    }
    if (!uk_asm_is_one(i->name, silent))
        uk_asm_write_first(i, 1, w);
}

/* By number or by the ABI's names; x0, sp, gp and tp are not checked. */
static struct uk_asm_register find(struct uk_asm_text name) {
    static const struct {
        const char *name;
        char file;
        int min, first; /* registers `name`min to `name`max are numbers `first` and on */
        int max;
    } names[] = {{"x", 'g', 5, 5, 31},   {"f", 'v', 0, 0, 31}, {"a", 'g', 0, 10, 7},   {"s", 'g', 2, 18, 11},
                 {"s", 'g', 0, 8, 1},    {"t", 'g', 3, 28, 6}, {"t", 'g', 0, 5, 2},    {"fa", 'v', 0, 10, 7},
                 {"fs", 'v', 2, 18, 11}, {"fs", 'v', 0, 8, 1}, {"ft", 'v', 8, 28, 11}, {"ft", 'v', 0, 0, 7}};

    if (uk_asm_is_one(name, "ra x1"))
        return (struct uk_asm_register){'g', 1, 1, 64};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const size_t n = strlen(names[i].name);
        const int number = name.length > n && !strncmp(name.at, names[i].name, n)
                               ? uk_asm_number(name.at + n, name.length - n)
                               : -1;

        if (number >= names[i].min && number <= names[i].max)
            return (struct uk_asm_register){names[i].file, names[i].first + number - names[i].min, 1, 64};
    }
    return (struct uk_asm_register){0};
}

const struct uk_asm_rules uk_asm_riscv64 = {"riscv64", writes, find};
