/* SPDX-License-Identifier: Apache-2.0 */
/* Inside libuktensorize: the .uk text as tokens. */
#ifndef UK_LEX_H
#define UK_LEX_H

#include "language.h"

enum uk_token_kind {
    UK_T_WORD,   /* a name or a reserved word */
    UK_T_INT,    /* digits */
    UK_T_NUMBER, /* with a point or an exponent */
    UK_T_STRING, /* "...": s and n are what is between the quotes */
    UK_T_BLOCK,  /* three quotes: likewise */
    UK_T_MARK,   /* punctuation and operators */
    UK_T_NEWLINE,
    UK_T_END,
};

struct uk_token {
    enum uk_token_kind kind;
    const char *s; /* into the text */
    size_t n;
    struct uk_position at;
    size_t match; /* of ( and [: the index of the token that closes it */
};

/* Splits the text; *tokens is freed by the caller, also on failure. The list ends with NEWLINE, END. */
enum uk_status uk_lex(struct uk_context *c, const char *text, size_t length, struct uk_token **tokens);
bool uk_token_is(const struct uk_token *t, const char *word);
/* words.c: a word of the grammar, which cannot be a name. */
bool uk_is_reserved(const char *s, size_t n);
/* All of them, for i = 0, 1, ... until NULL. */
const char *uk_reserved_word(size_t i);
/* The marks of more than one byte, likewise. */
const char *uk_long_mark(size_t i);
/* As strtod and %g in the "C" locale, whatever the process has set. `s` ends in a NUL; false: out of memory.
 */
bool uk_text_to_double(const char *s, double *value);
/* The shortest decimal that reads back as value, with a point or an exponent. */
bool uk_double_to_text(double value, char text[40]);

#endif
