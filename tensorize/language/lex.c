/* SPDX-License-Identifier: Apache-2.0 */
/* Lexer of .uk texts. A line break ends an item, unless the line is plainly unfinished. */
#define _POSIX_C_SOURCE 200809L
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lex.h"

struct lexer {
    struct uk_context *context;
    const char *s, *end, *line_start;
    int line;
    struct uk_token *token;
    size_t count, room;
    size_t open[UK_MAX_NESTING]; /* token numbers of the open ( and [ */
    int depth;
};

bool uk_token_is(const struct uk_token *t, const char *word) {
    return (t->kind == UK_T_WORD || t->kind == UK_T_MARK) && strlen(word) == t->n &&
           !memcmp(word, t->s, t->n);
}

bool uk_text_to_double(const char *s, double *value) {
    locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);

    if (!plain)
        return false;
    locale_t old = uselocale(plain);

    *value = strtod(s, NULL);
    uselocale(old);
    freelocale(plain);
    return true;
}

bool uk_double_to_text(double value, char text[40]) {
    locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);

    if (!plain)
        return false;
    locale_t old = uselocale(plain);

    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, 32, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    uselocale(old);
    freelocale(plain);
    if (!strpbrk(text, ".e"))
        strcat(text, ".0"); /* has at most 31 characters so far: two more fit */
    return true;
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static struct uk_position current_position(const struct lexer *x) {
    return (struct uk_position){x->line, (int)(x->s - x->line_start) + 1};
}

static enum uk_status emit(struct lexer *x, enum uk_token_kind kind, const char *s, size_t n,
                           struct uk_position at) {
    if (x->count == x->room) {
        size_t room = x->room ? 2 * x->room : 256;
        struct uk_token *t = realloc(x->token, room * sizeof *t);

        if (!t)
            return uk_out_of_memory(x->context);
        x->token = t;
        x->room = room;
    }
    x->token[x->count++] = (struct uk_token){.kind = kind, .s = s, .n = n, .at = at};
    return UK_OK;
}

/* Advances to the next line, after checking the length of the line that ends. */
static enum uk_status next_line(struct lexer *x) {
    if (x->s - x->line_start > UK_MAX_LINE)
        return uk_fail(x->context, UK_SYNTAX, (struct uk_position){x->line, UK_MAX_LINE + 1},
                       "the line is longer than %d bytes; break it after a comma or an operator",
                       UK_MAX_LINE);
    if (x->s < x->end)
        x->s++;
    x->line_start = x->s;
    x->line++;
    return UK_OK;
}

/* True if the item continues in the next line, judging by the last token. */
static bool unfinished(const struct lexer *x) {
    static const char *const open[] = {
        ",", "=",  "->", "+",  "-",  "*",  "/",  "%",  "<<",   ">>",   "&",   "^",  "|",
        "<", "<=", ">",  ">=", "==", "!=", "+=", "*=", "max=", "min=", "and", "or", "not"};

    if (x->depth)
        return true;
    if (!x->count)
        return false;
    for (size_t i = 0; i < sizeof open / sizeof *open; i++)
        if (uk_token_is(&x->token[x->count - 1], open[i]))
            return true;
    return false;
}

static enum uk_status lex_string(struct lexer *x) {
    struct uk_position at = current_position(x);
    const char *s = ++x->s;

    while (x->s < x->end && *x->s && *x->s != '"' && *x->s != '\n' && *x->s != '\r')
        x->s++;
    if (x->s == x->end || *x->s != '"')
        return uk_fail(x->context, UK_SYNTAX, at, "the string is not closed; add \" on the same line");
    return emit(x, UK_T_STRING, s, (size_t)(x->s++ - s), at);
}

static enum uk_status lex_block(struct lexer *x) {
    struct uk_position at = current_position(x);
    const char *s = x->s += 3;

    while (x->end - x->s < 3 || memcmp(x->s, "\"\"\"", 3)) {
        if (x->end - x->s < 3)
            return uk_fail(x->context, UK_SYNTAX, at,
                           "the imported text is not closed; end it with three quotes");
        if (!*x->s)
            return uk_fail(x->context, UK_SYNTAX, current_position(x),
                           "a NUL byte is not in the language; remove it");
        if (*x->s == '\n') {
            enum uk_status status = next_line(x);

            if (status)
                return status;
        } else {
            x->s++;
        }
    }
    enum uk_status status = emit(x, UK_T_BLOCK, s, (size_t)(x->s - s), at);

    x->s += 3;
    return status;
}

static enum uk_status lex_number(struct lexer *x) {
    struct uk_position at = current_position(x);
    const char *s = x->s, *q;
    enum uk_token_kind kind = UK_T_INT;

    while (x->s < x->end && is_digit(*x->s))
        x->s++;
    if (x->s + 1 < x->end && *x->s == '.' && is_digit(x->s[1])) {
        kind = UK_T_NUMBER;
        for (x->s++; x->s < x->end && is_digit(*x->s); x->s++)
            ;
    }
    q = x->s;
    if (q < x->end && (*q == 'e' || *q == 'E')) {
        q++;
        if (q < x->end && (*q == '+' || *q == '-'))
            q++;
        if (q < x->end && is_digit(*q)) {
            kind = UK_T_NUMBER;
            while (q < x->end && is_digit(*q))
                q++;
            x->s = q;
        }
    }
    if (x->s < x->end && is_letter(*x->s))
        return uk_fail(x->context, UK_SYNTAX, at,
                       "a number runs into a name; put a space or an operator between them");
    return emit(x, kind, s, (size_t)(x->s - s), at);
}

static enum uk_status lex_word(struct lexer *x) {
    struct uk_position at = current_position(x);
    const char *s = x->s;

    while (x->s < x->end && (is_letter(*x->s) || is_digit(*x->s)))
        x->s++;
    size_t n = (size_t)(x->s - s);

    if (n == 3 && (!memcmp(s, "max", 3) || !memcmp(s, "min", 3)) && x->s < x->end && *x->s == '=' &&
        !(x->s + 1 < x->end && x->s[1] == '=')) {
        x->s++;
        return emit(x, UK_T_MARK, s, 4, at);
    }
    return emit(x, UK_T_WORD, s, n, at);
}

/* Updates the list of open brackets for the mark just emitted. */
static enum uk_status bracket(struct lexer *x) {
    struct uk_token *t = &x->token[x->count - 1];

    if (*t->s == '(' || *t->s == '[') {
        if (x->depth == UK_MAX_NESTING)
            return uk_fail(x->context, UK_SYNTAX, t->at, "more than %d brackets inside each other; simplify",
                           UK_MAX_NESTING);
        x->open[x->depth++] = x->count - 1;
    } else if (*t->s == ')' || *t->s == ']') {
        char want = *t->s == ')' ? '(' : '[';

        if (!x->depth || *x->token[x->open[x->depth - 1]].s != want)
            return uk_fail(x->context, UK_SYNTAX, t->at, "%c closes nothing; add %c before it or remove it",
                           *t->s, want);
        x->token[x->open[--x->depth]].match = x->count - 1;
    }
    return UK_OK;
}

/* Two-byte marks, then those that lex_word makes. */
static const char *const long_marks[] = {"->", "<=", ">=", "==",   "!=",   "<<",
                                         ">>", "+=", "*=", "max=", "min=", NULL};
enum { TWO = 9 };

const char *uk_long_mark(size_t i) {
    return long_marks[i];
}

static enum uk_status lex_mark(struct lexer *x) {
    struct uk_position at = current_position(x);
    enum uk_status status;
    size_t n = 0;

    for (size_t i = 0; i < TWO; i++)
        if (x->end - x->s >= 2 && !memcmp(x->s, long_marks[i], 2))
            n = 2;
    if (!n && *x->s && strchr("()[],=+-*/%<>&^|.:", *x->s))
        n = 1;
    if (!n) {
        unsigned char byte = (unsigned char)*x->s;

        if (byte > ' ' && byte < 127)
            return uk_fail(x->context, UK_SYNTAX, at, "'%c' is not in the language; remove it", byte);
        return uk_fail(x->context, UK_SYNTAX, at, "byte 0x%02x is not in the language; %s", byte,
                       byte >= 128 ? "only ASCII is allowed outside comments and imported text"
                                   : "remove it");
    }
    status = emit(x, UK_T_MARK, x->s, n, at);
    x->s += n;
    return status ? status : n == 1 ? bracket(x) : UK_OK;
}

static enum uk_status lex_break(struct lexer *x) {
    struct uk_position at = current_position(x);
    const char *s = x->s;
    enum uk_status status = UK_OK;
    bool continues_scan = unfinished(x);

    status = next_line(x);
    if (!status && !continues_scan && x->count && x->token[x->count - 1].kind != UK_T_NEWLINE)
        status = emit(x, UK_T_NEWLINE, s, 0, at);
    return status;
}

static enum uk_status lex_one(struct lexer *x) {
    if (*x->s == '\n')
        return lex_break(x);
    if (!*x->s)
        return uk_fail(x->context, UK_SYNTAX, current_position(x),
                       "a NUL byte is not in the language; remove it");
    if (*x->s == ' ' || *x->s == '\t' || (*x->s == '\r' && x->s + 1 < x->end && x->s[1] == '\n')) {
        x->s++;
        return UK_OK;
    }
    if (*x->s == '#') {
        while (x->s < x->end && *x->s != '\n' && *x->s)
            x->s++;
        return UK_OK;
    }
    if (x->end - x->s >= 3 && !memcmp(x->s, "\"\"\"", 3))
        return lex_block(x);
    if (*x->s == '"')
        return lex_string(x);
    if (is_digit(*x->s))
        return lex_number(x);
    return is_letter(*x->s) ? lex_word(x) : lex_mark(x);
}

enum uk_status uk_lex(struct uk_context *c, const char *text, size_t length, struct uk_token **tokens) {
    struct lexer x = {.context = c, .s = text, .end = text + length, .line_start = text, .line = 1};
    enum uk_status status = UK_OK;

    *tokens = NULL;
    if (length > UK_MAX_IMPORT)
        return uk_fail(c, UK_SYNTAX, (struct uk_position){0, 0}, "the text has more than %d bytes; split it",
                       UK_MAX_IMPORT);
    while (!status && x.s < x.end)
        status = lex_one(&x);
    if (!status && x.depth)
        status = uk_fail(c, UK_SYNTAX, x.token[x.open[x.depth - 1]].at, "%c is not closed; add %c",
                         *x.token[x.open[x.depth - 1]].s, *x.token[x.open[x.depth - 1]].s == '(' ? ')' : ']');
    struct uk_position at = current_position(&x);

    if (!status && x.s - x.line_start > UK_MAX_LINE)
        status = next_line(&x);
    if (!status)
        status = emit(&x, UK_T_NEWLINE, x.end, 0, at);
    if (!status)
        status = emit(&x, UK_T_END, x.end, 0, at);
    *tokens = x.token;
    return status;
}
