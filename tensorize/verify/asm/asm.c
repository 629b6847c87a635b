/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks that asm statements declare all registers that they change: each register that an instruction of the
 * template writes has to be an output, or a clobber by a name of at least that width; an operand that is only
 * an input must not be written.
 *
 * The check reads the template's text, instruction by instruction, without assembling it: both branches of
 * .if are read, bodies of macros are read once with unknown arguments, and data (.byte) is skipped except for
 * .insn.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "verify/verify.h"
#include "asm.h"

enum { DECLARED = 160, OPERANDS = 64, DEPTH = 8, SHOWN = 60 };

struct statement {
    const struct uk_asm_rules *rules;
    bool intel;
    struct uk_asm_register declared[DECLARED];
    int count;
    enum { OUTPUT, INPUT, NO_REGISTER } operand[OPERANDS];
    int operands;
    struct uk_text *found;
};

/* ---- words ---- */

static struct uk_asm_text trim(const char *at, const char *end) {
    while (at < end && isspace((unsigned char)*at))
        at++;
    while (end > at && isspace((unsigned char)end[-1]))
        end--;
    return (struct uk_asm_text){at, (size_t)(end - at)};
}

/* ---- declarations ---- */

static void declare(struct statement *s, const char *open, const char *end) {
    const char *close = open ? memchr(open, '}', (size_t)(end - open)) : NULL;

    if (close && s->count < DECLARED)
        s->declared[s->count++] = s->rules->find((struct uk_asm_text){open + 1, (size_t)(close - open - 1)});
}

/* One constraint: "=&r", "={rax}", "0", "*m", "~{xmm0}". */
static void read_constraint(struct statement *s, const char *at, const char *end) {
    const char *open = memchr(at, '{', (size_t)(end - at));
    const bool output = at < end && *at == '=';

    if (at < end && (*at == '~' || output))
        declare(s, open, end);
    if ((at < end && *at == '~') || s->operands == OPERANDS)
        return;
    while (at < end && strchr("=&%^!?", *at))
        at++;
    /* An input tied to an output changes with it. */
    if (at < end && (*at == '*' || strchr("moQVin", *at)) && !open)
        s->operand[s->operands++] = NO_REGISTER;
    else
        s->operand[s->operands++] = output || (at < end && isdigit((unsigned char)*at)) ? OUTPUT : INPUT;
}

static void read_constraints(struct statement *s, const char *at, size_t length) {
    const char *end = at + length;

    while (at < end) {
        const char *comma = memchr(at, ',', (size_t)(end - at));

        read_constraint(s, at, comma ? comma : end);
        at = comma ? comma + 1 : end;
    }
}

static bool is_declared(const struct statement *s, struct uk_asm_register r) {
    for (int n = r.number; n < r.number + r.count; n++) {
        bool found = false;

        for (int i = 0; i < s->count && !found; i++) {
            const struct uk_asm_register *d = &s->declared[i];

            found = d->file == r.file && n >= d->number && n < d->number + d->count && d->bits >= r.bits;
        }
        if (!found)
            return false;
    }
    return true;
}

/* ---- writes ---- */

static void complain(struct statement *s, const struct uk_asm_instruction *i, struct uk_asm_text name,
                     const char *what) {
    const int shown = i->whole.length < SHOWN ? (int)i->whole.length : SHOWN;

    if (!s->found->length)
        uk_put(s->found, "changes %.*s by '%.*s' in its asm, which %s", (int)name.length, name.at, shown,
               i->whole.at, what);
}

static void check_register(struct statement *s, const struct uk_asm_instruction *i, struct uk_asm_text name,
                           struct uk_asm_register r) {
    if (r.file && r.number >= 0 && !is_declared(s, r))
        complain(
            s, i, name,
            "is neither an output nor, by a name of that width, a clobber; declare it by its widest name");
}

/* $3 or ${3:k}, an operand of the statement: the compiler chooses the register. */
static void check_operand(struct statement *s, const struct uk_asm_instruction *i, struct uk_asm_text name) {
    const char *at = name.at + 1 + (name.length > 1 && name.at[1] == '{');
    size_t n = 0;

    while (at + n < name.at + name.length && isdigit((unsigned char)at[n]))
        n++;
    const int number = uk_asm_number(at, n);

    if (number >= 0 && number < s->operands && s->operand[number] == INPUT)
        complain(s, i, name, "is an input only; make it a read-write operand");
}

static void check_name(struct statement *s, const struct uk_asm_instruction *i, struct uk_asm_text name) {
    const bool x86 = s->rules == &uk_asm_x86_64;

    if (!name.length || *name.at == '[' || (x86 && memchr(name.at, '(', name.length)) ||
        (s->intel && memchr(name.at, '[', name.length)))
        return;
    if (*name.at == '$') {
        check_operand(s, i, name);
        return;
    }
    const char *mask = x86 ? memchr(name.at, '{', name.length) : NULL;

    if (mask)
        name = trim(name.at, mask);
    check_register(s, i, name, s->rules->find(name));
}

/* {v0.4s - v3.4s} or {d0, d1, d2}. */
static void check_list(struct statement *s, const struct uk_asm_instruction *i, struct uk_asm_text list) {
    const char *at = list.at + 1, *end = memchr(list.at, '}', list.length);

    while (end && at < end) {
        const char *comma = memchr(at, ',', (size_t)(end - at)), *stop = comma ? comma : end;
        const char *dash = memchr(at, '-', (size_t)(stop - at));
        const struct uk_asm_text first = trim(at, dash ? dash : stop),
                                 last = trim(dash ? dash + 1 : at, stop);
        struct uk_asm_register r = s->rules->find(first), to = s->rules->find(last);

        if (!dash || !r.file || !to.file)
            check_name(s, i, first);
        else
            for (; r.number <= to.number; r.number += r.count)
                check_register(s, i, list, r);
        at = comma ? comma + 1 : end;
    }
}

static void check_instruction(struct statement *s, const struct uk_asm_instruction *i) {
    struct uk_asm_writes w = {.count = 0};

    s->rules->writes(i, &w);
    for (int k = 0; k < w.count; k++) {
        struct uk_asm_text name = w.name[k];

        if (name.length && *name.at == '{')
            check_list(s, i, name);
        else
            check_name(s, i, name);
    }
}

/* ---- the template ---- */

static void split_operands(struct statement *s, struct uk_asm_instruction *i, const char *at,
                           const char *end) {
    const char *begin = at;
    int depth = 0;

    for (; at <= end && begin < end && i->operands < UK_ASM_OPERANDS; at++) {
        depth += at < end && strchr("([{", *at) ? 1 : at < end && strchr(")]}", *at) ? -1 : 0;
        if (at < end && (*at != ',' || depth > 0))
            continue;
        i->operand[i->operands++] = trim(begin, at);
        begin = at + 1;
    }
    for (int k = 0; s->intel && k < i->operands / 2; k++) {
        const struct uk_asm_text t = i->operand[k];

        i->operand[k] = i->operand[i->operands - 1 - k];
        i->operand[i->operands - 1 - k] = t;
    }
}

/* The length of a label with its colon, or 0. */
static size_t label_length(struct uk_asm_text t) {
    size_t n = 0;

    while (n < t.length && !isspace((unsigned char)t.at[n]) && t.at[n] != ':') {
        const char *close = t.at[n] == '{' ? memchr(t.at + n, '}', t.length - n) : NULL;

        n = close ? (size_t)(close - t.at) + 1 : n + 1;
    }
    return n && n < t.length && t.at[n] == ':' ? n + 1 : 0;
}

static void check_line(struct statement *s, const char *at, const char *end) {
    struct uk_asm_instruction i = {.operands = 0};
    struct uk_asm_text t = trim(at, end);

    for (size_t n; (n = label_length(t));)
        t = trim(t.at + n, end);
    if (!t.length || (*t.at == '.' && strncmp(t.at, ".insn", 5) != 0))
        return;
    do {
        i.whole = t;
        for (i.name = t, i.name.length = 0;
             i.name.length < t.length && !isspace((unsigned char)t.at[i.name.length]);)
            i.name.length++;
        t = trim(t.at + i.name.length, end);
    } while (t.length && uk_asm_is_one(i.name, "lock rep repz repnz repe repne notrack"));
    split_operands(s, &i, t.at, t.at + t.length);
    check_instruction(s, &i);
}

/* Returns the begin of a comment in the line, or the line's end. */
static const char *without_comment(const struct statement *s, const char *at, const char *end) {
    const char *mark = s->rules == &uk_asm_x86_64 ? "#" : s->rules == &uk_asm_arm ? "@" : "//";

    for (const size_t n = strlen(mark); at + n <= end; at++)
        if (!memcmp(at, mark, n))
            return at;
    return end;
}

static void check_text(struct statement *s, const char *at, const char *end) {
    while (at < end) {
        const char *line = at;

        while (at < end && *at != '\n')
            at++;
        const char *stop = without_comment(s, line, at);

        while (line < stop) {
            const char *semicolon = memchr(line, ';', (size_t)(stop - line));

            check_line(s, line, semicolon ? semicolon : stop);
            line = semicolon ? semicolon + 1 : stop;
        }
        at++;
    }
}

/* LLVM doubles dollar signs, and writes syntax variants as $(AT&T$|Intel$). Copies the text without these,
 * with = as the prefix of AT&T's immediates. Returns the end of the copy. */
static char *plain(const struct statement *s, const char *at, size_t length, char *to) {
    int variant = -1; /* the variant being read; -1: outside */

    for (size_t i = 0; i < length; i++) {
        const char next = at[i] == '$' && i + 1 < length ? at[i + 1] : 0;

        if (next == '(')
            variant = 0;
        else if (next == '|')
            variant++;
        else if (next == ')')
            variant = -1;
        else if (variant < 0 || variant == (int)s->intel)
            *to++ = next == '$' ? '=' : at[i];
        i += next == '(' || next == '|' || next == ')' || next == '$';
    }
    return to;
}

static enum uk_status check_asm(const struct uk_asm_rules *rules, LLVMValueRef callee,
                                struct uk_text *found) {
    struct statement s = {.rules = rules,
                          .intel = LLVMGetInlineAsmDialect(callee) == LLVMInlineAsmDialectIntel,
                          .found = found};
    size_t length, constraints_length;
    const char *text = LLVMGetInlineAsmAsmString(callee, &length);
    const char *constraints = LLVMGetInlineAsmConstraintString(callee, &constraints_length);
    char *copy = malloc(length + 1);

    if (!copy)
        return UK_OUT_OF_MEMORY;
    read_constraints(&s, constraints, constraints_length);
    check_text(&s, copy, plain(&s, text, length, copy));
    free(copy);
    return UK_OK;
}

/* ---- functions ---- */

static enum uk_status check_function(const struct uk_asm_rules *rules, LLVMValueRef f, int depth,
                                     struct uk_text *found) {
    enum uk_status status = UK_OK;

    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(f); bb; bb = LLVMGetNextBasicBlock(bb))
        for (LLVMValueRef i = LLVMGetFirstInstruction(bb); i && !status; i = LLVMGetNextInstruction(i)) {
            LLVMValueRef callee = LLVMIsACallInst(i) || LLVMIsACallBrInst(i) ? LLVMGetCalledValue(i) : NULL;

            if (callee && LLVMIsAInlineAsm(callee))
                status = check_asm(rules, callee, found);
            else if (callee && depth && LLVMIsAFunction(callee) && !LLVMIsDeclaration(callee))
                status = check_function(rules, callee, depth - 1, found);
        }
    return status || !found->failed ? status : UK_OUT_OF_MEMORY;
}

enum uk_status uk_verify_asm(LLVMModuleRef module, const char *symbol, struct uk_text *found) {
    static const struct uk_asm_rules *const all[] = {
#define UK_ARCH_ROW(name, ...) &uk_asm_##name,
#include "machine/archs.def"
    };
    const char *triple = LLVMGetTarget(module);
    LLVMValueRef f = LLVMGetNamedFunction(module, symbol);

    for (size_t i = 0; i < sizeof all / sizeof *all && f; i++)
        if (!strncmp(triple, all[i]->arch, strlen(all[i]->arch)))
            return check_function(all[i], f, DEPTH, found);
    return UK_OK;
}
