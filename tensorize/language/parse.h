/* SPDX-License-Identifier: Apache-2.0 */
/* The parser: recursive descent over tokens. It makes the program by the building calls of tensorize.h. */
#ifndef UK_PARSE_H
#define UK_PARSE_H

#include "language.h"
#include "lex.h"

/* How the parser resolves a name in an integer expression. */
enum uk_name_mode {
    UK_NAMES_SIZE,      /* shapes, strides: a size, created on first use */
    UK_NAMES_ASSUMED,   /* assume: a size, which another item must name too */
    UK_NAMES_STATEMENT, /* a size if there is one of that name, else an iterator */
    UK_NAMES_MAP,       /* a name of the layout map */
    UK_NAMES_CONDITION, /* condition of a schedule: a size that the program has */
    UK_NAMES_STEP,      /* a size, or else a loop or an iterator, resolved when the step is applied */
};

struct uk_parser {
    struct uk_program *p;
    struct uk_token *list, *t; /* all tokens; the next token */
    enum uk_name_mode names;
    struct uk_map *map; /* the map, in mode UK_NAMES_MAP */
    int nesting;        /* depth of nesting that has no brackets (the lexer limits those): signs, `not` */
    const struct uk_tensor *left; /* tensor that the current statement writes */
};

/* parse/token.c. Fails the program at the next token: "expected WHAT, found 'x'; HINT". Returns NULL. */
void *uk_expected(struct uk_parser *ps, const char *what, const char *hint);
bool uk_next_is(const struct uk_parser *ps, const char *word);
/* Takes the next token if it is `word`. */
bool uk_accept(struct uk_parser *ps, const char *word);
bool uk_expect(struct uk_parser *ps, const char *word, const char *hint);
/* Takes a name that is not a reserved word; the copy lives in the arena. NULL: it failed. */
const char *uk_expect_name(struct uk_parser *ps, const char *what);
bool uk_expect_int(struct uk_parser *ps, const char *what, int64_t *value);
bool uk_expect_newline(struct uk_parser *ps);
/* Takes the next token if it names a type; else returns UK_TYPES. */
enum uk_type uk_accept_type(struct uk_parser *ps);
enum uk_type uk_expect_type(struct uk_parser *ps);

/* Parsers of grammar rules. After failing the program they return NULL, false or -1. */
struct uk_index *uk_parse_affine(struct uk_parser *ps);
/* "[" affine, ... "]": returns the number of expressions, at most UK_MAX_DIMS */
int uk_parse_affines(struct uk_parser *ps, struct uk_index *list[]);
/* As uk_parse_affines, with `parse` for the list's elements. */
int uk_parse_list(struct uk_parser *ps, struct uk_index *list[], struct uk_index *parse(struct uk_parser *));
struct uk_index *uk_parse_relations(struct uk_parser *ps);
/* Returns the relation (enum uk_relation) that the next token represents; -1: it is no relation. */
int uk_relation_ahead(const struct uk_parser *ps);
/* Counts a sign, which nests without brackets; the caller subtracts it from ps->nesting after the operand.
 * Fails the program if they nest too deeply. */
bool uk_enter_sign(struct uk_parser *ps);
struct uk_map *uk_parse_layout(struct uk_parser *ps);
struct uk_expr *uk_parse_expression(struct uk_parser *ps);
/* parse/element.c: an element of a tensor; its subscripts may be elements too. */
struct uk_tensor *uk_parse_access(struct uk_parser *ps, struct uk_index *index[]);
bool uk_parse_statement(struct uk_parser *ps);
/* Returns whether the next tokens begin a reduction, max(k) A[k], rather than a call max(a, b). */
bool uk_reduction_ahead(const struct uk_parser *ps);
/* parse/advice.c: both fail the program and return NULL. Refuses the call of an unknown function and says
 * what to write instead. */
void *uk_refuse_function(struct uk_parser *ps, const char *name, const struct uk_token *called);
/* Refuses a reduction inside an expression, at the next token, and proposes the temp that it needs. */
void *uk_refuse_reduction(struct uk_parser *ps);
bool uk_parse_tensor(struct uk_parser *ps);
/* global, shared or register */
bool uk_parse_scope(struct uk_parser *ps, enum uk_scope *scope);
bool uk_parse_sizes(struct uk_parser *ps);
bool uk_parse_scalar(struct uk_parser *ps);
bool uk_parse_assume(struct uk_parser *ps);
struct uk_import *uk_parse_import(struct uk_parser *ps);
bool uk_parse_intrinsic_item(struct uk_parser *ps, struct uk_intrinsic **out);
bool uk_parse_step(struct uk_parser *ps);

#endif
