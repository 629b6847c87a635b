/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the check of asm statements: one instruction of a template, and the registers that it writes. */
#ifndef UK_VERIFY_ASM_H
#define UK_VERIFY_ASM_H

#include <stdbool.h>
#include <stddef.h>

enum { UK_ASM_OPERANDS = 8, UK_ASM_WRITES = 40 };

/* A part of the template's text. */
struct uk_asm_text {
    const char *at;
    size_t length;
};

struct uk_asm_instruction {
    struct uk_asm_text whole, name;
    struct uk_asm_text operand[UK_ASM_OPERANDS]; /* in the order of the text; reversed for Intel's syntax */
    int operands;
};

/* The registers and operands of the statement ("$3") that an instruction writes, named as in the text or in a
 * table; a list in braces is several registers. */
struct uk_asm_writes {
    struct uk_asm_text name[UK_ASM_WRITES];
    int count;
};

/* A register or, if count is above 1, adjacent registers of a file, with the width that the name says. The
 * file of Arm's vectors counts 32-bit registers. */
struct uk_asm_register {
    char file; /* 'g' general, 'v' vector, 'k' mask; 0: a register that cannot be left undeclared */
    int number, count, bits;
};

struct uk_asm_rules {
    const char *arch; /* prefix of the triple */
    void (*writes)(const struct uk_asm_instruction *i, struct uk_asm_writes *w);
    struct uk_asm_register (*find)(struct uk_asm_text name);
};

/* asm/<arch>.c */
#define UK_ARCH_ROW(name, ...) extern const struct uk_asm_rules uk_asm_##name;
#include "machine/archs.def"

/* True if the text is one of the words, which are separated by blanks; a word with '*' at its end is a
 * prefix. */
bool uk_asm_is_one(struct uk_asm_text text, const char *words);
void uk_asm_write(struct uk_asm_writes *w, struct uk_asm_text name);
/* Adds the instruction's first `count` operands to the writes. */
void uk_asm_write_first(const struct uk_asm_instruction *i, int count, struct uk_asm_writes *w);
/* Adds the base register of an address with writeback, Arm's [x0, #16]! or [x0], #16. */
void uk_asm_write_base(const struct uk_asm_instruction *i, struct uk_asm_writes *w);
void uk_asm_write_all(struct uk_asm_writes *w, const char *const *names);
/* The length of a letter and the digits after it: of "v0" in "v0.4s" and "v0.s[1]". */
size_t uk_asm_prefix(struct uk_asm_text name);
/* The value of a text that is a decimal number; -1: it is not one. */
int uk_asm_number(const char *at, size_t length);

#endif
