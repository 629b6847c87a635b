/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the parser: recursive descent over tokens; what it finds goes through the builders of tensorize.h.
 */
#ifndef UK_PARSE_H
#define UK_PARSE_H

#include "language.h"
#include "lex.h"

/* What a name in an integer expression may be. */
enum uk_name_mode {
    UK_NAMES_SIZE,      /* shapes, strides: a size, made if it is new */
    UK_NAMES_ASSUMED,   /* assume: a size that is named elsewhere too */
    UK_NAMES_STATEMENT, /* a size or else an iterator */
    UK_NAMES_MAP,       /* the names of a layout map */
    UK_NAMES_STEP,      /* a size, or what a loop or an iterator may be called when the step is applied */
};

struct uk_parser {
    struct uk_program *p;
    struct uk_token *list, *t; /* all tokens, the next one */
    enum uk_name_mode names;
    struct uk_map *map;           /* UK_NAMES_MAP */
    int nesting;                  /* of what the lexer does not count: signs, not */
    const struct uk_tensor *left; /* written by the statement that is being read */
};

/* parse_token.c: a syntax error at the next token: "expected WHAT, found 'x'; HINT". Returns NULL. */
void *uk_expected(struct uk_parser *ps, const char *what, const char *hint);
bool uk_next_is(const struct uk_parser *ps, const char *word);
/* Takes the next token if it is `word`. */
bool uk_accept(struct uk_parser *ps, const char *word);
bool uk_expect(struct uk_parser *ps, const char *word, const char *hint);
/* A name that is no word of the language, in the arena; NULL after a failure. */
const char *uk_expect_name(struct uk_parser *ps, const char *what);
bool uk_expect_int(struct uk_parser *ps, const char *what, int64_t *value);
bool uk_expect_newline(struct uk_parser *ps);
/* The type that the next token names, which is taken; UK_TYPES if it names none. */
enum uk_type uk_accept_type(struct uk_parser *ps);
enum uk_type uk_expect_type(struct uk_parser *ps);

/* All return NULL, false or -1 after a failure, which the program then has. */
struct uk_index *uk_parse_affine(struct uk_parser *ps);
/* "[" affine, ... "]": how many, at most UK_MAX_DIMS */
int uk_parse_affines(struct uk_parser *ps, struct uk_index *list[]);
/* The same of what `parse` takes. */
int uk_parse_list(struct uk_parser *ps, struct uk_index *list[], struct uk_index *parse(struct uk_parser *));
struct uk_index *uk_parse_relations(struct uk_parser *ps);
struct uk_map *uk_parse_layout(struct uk_parser *ps);
struct uk_expr *uk_parse_expression(struct uk_parser *ps);
/* parse_element.c: an element of a statement, whose subscripts may be elements too. */
struct uk_tensor *uk_parse_access(struct uk_parser *ps, struct uk_index *index[]);
bool uk_parse_statement(struct uk_parser *ps);
/* Whether a reduction begins at the next token: max(k) A[k], not the function max(a, b). */
bool uk_reduction_ahead(const struct uk_parser *ps);
/* parse_advice.c: both return NULL. Refuses a call of a function that there is not, with what to write. */
void *uk_refuse_function(struct uk_parser *ps, const char *name, const struct uk_token *called);
/* Refuses a reduction inside an expression, at the next token, with the temp that it needs. */
void *uk_refuse_reduction(struct uk_parser *ps);
bool uk_parse_tensor(struct uk_parser *ps);
/* global, shared or register */
bool uk_parse_scope(struct uk_parser *ps, enum uk_scope *scope);
bool uk_parse_scalar(struct uk_parser *ps);
bool uk_parse_assume(struct uk_parser *ps);
struct uk_import *uk_parse_import(struct uk_parser *ps);
bool uk_parse_intrinsic_item(struct uk_parser *ps, struct uk_intrinsic **out);
bool uk_parse_step(struct uk_parser *ps);

#endif
