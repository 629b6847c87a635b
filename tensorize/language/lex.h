/* SPDX-License-Identifier: Apache-2.0 */
/* Lexer: the .uk text as tokens. */
#ifndef UK_LEX_H
#define UK_LEX_H

#include "language.h"

enum uk_token_kind {
    UK_T_WORD,   /* a name or a reserved word */
    UK_T_INT,    /* digits */
    UK_T_NUMBER, /* digits with a point or an exponent */
    UK_T_STRING, /* "..."; s and n exclude the quotes */
    UK_T_BLOCK,  /* text between triple quotes; s and n exclude them */
    UK_T_MARK,   /* punctuation and operators */
    UK_T_NEWLINE,
    UK_T_END,
};

struct uk_token {
    enum uk_token_kind kind;
    const char *s; /* points into the text */
    size_t n;
    struct uk_position at;
    size_t match; /* of ( and [: index of the closing token */
};

/* Splits the text into tokens; the list ends with NEWLINE, END. The caller frees *tokens, on failure too. */
enum uk_status uk_lex(struct uk_context *c, const char *text, size_t length, struct uk_token **tokens);
bool uk_token_is(const struct uk_token *t, const char *word);
/* words.c: returns whether the word is reserved, so that it cannot be a name. */
bool uk_is_reserved(const char *s, size_t n);
/* The i-th reserved word, i = 0, 1, ..; NULL after the last one. */
const char *uk_reserved_word(size_t i);
/* The i-th mark of more than one byte, i = 0, 1, ..; NULL after the last one. */
const char *uk_long_mark(size_t i);
/* Converts as strtod does in the "C" locale, regardless of the process's locale. `s` ends with NUL. Returns
 * false if memory runs out. */
bool uk_text_to_double(const char *s, double *value);
/* Writes the shortest decimal that reads back as value, with a point or an exponent. Independent of the
 * locale; returns false if memory runs out. */
bool uk_double_to_text(double value, char text[40]);

#endif
