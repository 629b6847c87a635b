/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Refuses `.insn`, RISC-V's directive for an instruction by its fields, in an import for another
 * architecture, whose assembler would report an unknown directive. It is searched in asm statements after
 * compilation, since #ifdef may exclude it, and in the compiler's messages about assembly and about registers
 * of asm statements.
 */
#define _GNU_SOURCE /* memmem */
#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "names.h"
#include "link/link.h"

enum { MOST_STATEMENT = 64 };

/* The length of an operand: %0 in C, $0 or ${0:z} in LLVM IR; 0 if there is none. */
static size_t operand_length(const char *at, size_t length) {
    size_t n = 1;

    if (length < 2 || (*at != '$' && *at != '%'))
        return 0;
    if (at[1] == '{' || at[1] == '[') {
        const char *end = memchr(at, at[1] == '{' ? '}' : ']', length);

        return end ? (size_t)(end - at) + 1 : 0;
    }
    while (n < length && isalnum((unsigned char)at[n]))
        n++;
    return n;
}

/* Reads the statement at `at`, with %0 in place of each operand; in `registers`, with a0 instead. */
static void read_statement(const char *at, size_t length, char text[MOST_STATEMENT],
                           char registers[MOST_STATEMENT]) {
    size_t n = 0, m = 0;

    while (length && n < MOST_STATEMENT - 4 && m < MOST_STATEMENT - 4 && !strchr("\n;#\"\\", *at)) {
        const size_t operand = operand_length(at, length), step = operand ? operand : 1;

        if (operand) {
            const size_t digit = strcspn(at, "0123456789");

            text[n++] = '%';
            text[n++] = digit < operand ? at[digit] : '0';
            registers[m++] = 'a';
            registers[m++] = '0';
        } else {
            text[n++] = registers[m++] = *at;
        }
        at += step;
        length -= step;
    }
    while (n > 0 && isspace((unsigned char)text[n - 1]))
        n--;
    text[n] = registers[m] = 0;
}

enum uk_status uk_refuse_insn(struct uk_build *b, struct uk_position at, const char *where,
                              const char *statement, size_t length) {
    char text[MOST_STATEMENT], registers[MOST_STATEMENT], name[UK_WORD_TEXT] = "";

    read_statement(statement, length, text, registers);
    const bool known = uk_rvp_print_line(registers, strlen(registers), name, sizeof name);

    if (strchr(text, '%'))
        name[strcspn(name, " ")] = 0;
    return uk_fail(b->context, UK_UNSUPPORTED, at,
                   "%s has `%s`%s%s%s, an instruction of RISC-V, but target %s is not RISC-V; compile for "
                   "riscv64%s, or put it under #ifdef __riscv, next to code for this target",
                   where, text, known ? " (" : "", name, known ? ")" : "", b->target->name,
                   known ? "-p" : "");
}

/* The first line of the text, 1-based, that contains these words; 0: none. */
static unsigned line_of(const char *text, const char *words) {
    const char *found = strstr(text, words);
    unsigned line = found != NULL;

    for (const char *p = text; found && p < found; p++)
        line += *p == '\n';
    return line;
}

enum uk_status uk_validate_insn(struct uk_build *b, const struct uk_source *s, const char *function,
                                const char *statement, size_t length) {
    struct uk_arena a = {0};
    const struct uk_import *import = s->import;
    const char *text = !import ? NULL : import->kind == UK_IMPORT_FILE ? import->bytes : import->text;
    /* LLVM IR and C agree up to the first operand. */
    size_t n = strcspn(statement, "$;#\n");
    unsigned line = 0;
    char *begin = uk_format(&a, "%.*s", (int)(n < length ? n : length), statement);

    if (begin && text)
        line = line_of(text, begin);
    const char *where = line ? uk_format(&a, "%s, line %u: the asm of %s", s->name, line, function)
                             : uk_format(&a, "%s: the asm of %s", s->name, function);
    const enum uk_status status =
        where ? uk_refuse_insn(b, s->at, where, statement, length) : uk_out_of_memory(b->context);

    uk_arena_free(&a);
    return status;
}

/* The last .insn in the first `lines` lines of a text; NULL if there is none. */
static const char *insn_before(const char *text, unsigned long lines) {
    const char *end = text, *last = NULL;

    for (; lines > 0 && *end; lines--)
        end += strcspn(end, "\n"), end += *end == '\n';
    for (const char *p = text; (p = memmem(p, (size_t)(end - p), ".insn", 5)); p++)
        last = p;
    return last;
}

/* The .insn that a compiler's message, which quotes a line of the text, refers to. NULL: the message has
 * another cause. */
static const char *insn_of(const char *message, const char *at, const char *text) {
    static const char unknown[] = "unknown directive\n", operand[] = " in asm\n";
    const size_t length = strcspn(message, "\n") + 1;
    const char *below = message + length, *colon = strchr(at, ':');

    if (!strncmp(message, unknown, strlen(unknown)))
        return memmem(below, strcspn(below, "\n"), ".insn", 5);
    if (length > strlen(operand) && colon < message &&
        !strncmp(below - strlen(operand), operand, strlen(operand)))
        return insn_before(text, strtoul(colon + 1, NULL, 10));
    return NULL;
}

bool uk_is_insn_refusal(const char *said, const char *text, const char **where, size_t *where_length,
                        const char **statement) {
    static const char error[] = ": error: ";

    for (const char *found = said; found && (found = strstr(found, error)); found++) {
        const char *at = found;

        while (at > said && at[-1] != '\n')
            at--;
        *where = at;
        *where_length = (size_t)(found - at);
        if ((*statement = insn_of(found + strlen(error), at, text)))
            return true;
    }
    return false;
}
