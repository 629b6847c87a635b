/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the check of asm statements: one instruction of a template, and what it writes. */
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
    struct uk_asm_text
        operand[UK_ASM_OPERANDS]; /* in the order of the text; of Intel's syntax the last one first */
    int operands;
};

/* Registers, and operands of the statement ("$3"), that an instruction writes: names as in the text or in a
 * table; lists in braces are several. */
struct uk_asm_writes {
    struct uk_asm_text name[UK_ASM_WRITES];
    int count;
};

/* A register: which of which file, as wide as the name says. Files of ARM's vectors count registers of 32
 * bits. */
struct uk_asm_register {
    char file; /* 'g' general, 'v' vector, 'k' mask; 0: none that a kernel could forget */
    int number, count, bits;
};

struct uk_asm_rules {
    const char *arch; /* the beginning of the triple */
    void (*writes)(const struct uk_asm_instruction *i, struct uk_asm_writes *w);
    struct uk_asm_register (*find)(struct uk_asm_text name);
};

/* verify_asm_<arch>.c */
#define UK_ARCH_ROW(name, ...) extern const struct uk_asm_rules uk_asm_##name;
#include "machine/archs.def"

/* Whether the text is one of the words, which are separated by blanks; a word that ends in '*' is any that
 * begins so. */
bool uk_asm_is_one(struct uk_asm_text text, const char *words);
void uk_asm_write(struct uk_asm_writes *w, struct uk_asm_text name);
/* Its first operands, so many. */
void uk_asm_write_first(const struct uk_asm_instruction *i, int count, struct uk_asm_writes *w);
/* [x0, #16]! or [x0], #16, as Arm writes addresses: the base changes. */
void uk_asm_write_base(const struct uk_asm_instruction *i, struct uk_asm_writes *w);
void uk_asm_write_all(struct uk_asm_writes *w, const char *const *names);
/* The length of a letter and the digits behind it: of "v0" in "v0.4s" and "v0.s[1]". */
size_t uk_asm_prefix(struct uk_asm_text name);
/* The decimal number that is all of the text; -1: it is none. */
int uk_asm_number(const char *at, size_t length);

#endif
