/* SPDX-License-Identifier: Apache-2.0 */
/* Integer expressions over sizes, iterators and loops, and their variables. Included by language.h. */
#ifndef UK_INDEX_H
#define UK_INDEX_H

#ifndef UK_LANGUAGE_H
#error "include language/language.h"
#endif

enum uk_var_kind { UK_VAR_SIZE, UK_VAR_ITERATOR, UK_VAR_LOOP, UK_VAR_LOADED };

struct uk_var {
    const char *name;
    enum uk_var_kind kind;
    struct uk_position at;
    int number;            /* SIZE: position in the program's list */
    int slot;              /* the interpreter's slot that holds its value */
    const void *loaded;    /* LOADED: address from which the interpreter loads the value */
    bool has_default;      /* SIZE: `size M = 1024` */
    int64_t default_value; /* used by uk run, bench and tune, and as a guess by automatic schedules */
    int scope;    /* SIZE: number of the last isl problem that had it as a parameter (uk_schedule.scope) */
    bool defined; /* SIZE: a constant, by uk_program_define() or --define */
    int64_t value;
    bool is_extent; /* SIZE: occurs in a shape, so it is >= 0; false if it occurs only in strides */
    struct uk_index
        *definition; /* of a size that a schedule introduced: its value, over the program's sizes */
    struct uk_var *next;
};

enum uk_index_op {
    UK_I_INT,
    UK_I_VAR,
    UK_I_NEG,
    UK_I_ADD,
    UK_I_SUB,
    UK_I_MUL,
    UK_I_DIV,
    UK_I_MOD, /* DIV rounds down, MOD is its remainder; the divisor is > 0 */
    UK_I_MIN,
    UK_I_MAX,
    UK_I_ELEMENT, /* element of `tensor` with the subscripts in a; if `wraps`, a negative value gets the
                     extent b added */
    UK_I_LIST,    /* list of subscripts of an ELEMENT: a is the first, b the rest */
    UK_I_EQ,
    UK_I_NE,
    UK_I_LT,
    UK_I_LE,
    UK_I_GT,
    UK_I_GE,
    UK_I_AND,
    UK_I_OR,
    UK_I_NOT,    /* comparisons and logic have the value 0 or 1 */
    UK_I_SELECT, /* a ? b : c */
};

struct uk_index {
    enum uk_index_op op;
    int64_t value;      /* INT */
    struct uk_var *var; /* VAR */
    bool is_offset; /* VAR: an iterator written as i + 0, in a left side: marks that the statement writes only
                       a part of the dimension, whose extent is the iterator's only if nothing else gives one
                     */
    bool wraps; /* ELEMENT: wrap(I[k]); b, the extent to add, is NULL until the element is a subscript of a
                   tensor */
    struct uk_tensor *tensor; /* ELEMENT */
    struct uk_index *a, *b, *c;
    int depth; /* height of the tree; 1 for a leaf */
    struct uk_position at;
};

/* Builders. They fold constants and identities of 0 and 1, and return NULL if memory runs out or an argument
 * is NULL. Sums keep the order of their terms and are written with the fewest signs and constants: x - -y
 * becomes x + y, -x + 1 becomes 1 - x, x - (y - 1) + 2 becomes x - y + 3. */
struct uk_index *uk_index_int(struct uk_arena *a, int64_t value);
struct uk_index *uk_index_var(struct uk_arena *a, struct uk_var *v);
struct uk_index *uk_index_op(struct uk_arena *a, enum uk_index_op op, struct uk_index *l, struct uk_index *r);
/* As uk_index_op, for expressions of a program's text: the terms of sums stay where the author wrote them. */
struct uk_index *uk_index_op_as_written(struct uk_arena *a, enum uk_index_op op, struct uk_index *l,
                                        struct uk_index *r);
/* As uk_index_op without folding: relations stay as written. */
struct uk_index *uk_index_node(struct uk_arena *a, enum uk_index_op op, struct uk_index *l,
                               struct uk_index *r);
struct uk_index *uk_index_select(struct uk_arena *a, struct uk_index *c, struct uk_index *l,
                                 struct uk_index *r);
/* Copies e with other operands. */
struct uk_index *uk_index_with_operands(struct uk_arena *a, const struct uk_index *e, struct uk_index *l,
                                        struct uk_index *r);
/* Returns whether e contains an element of a tensor. */
bool uk_has_element(const struct uk_index *e);
/* Returns whether e is a number, or a size that uk_program_define() made one; *value (may be NULL) is it. */
bool uk_index_is_int(const struct uk_index *e, int64_t *value);
/* Returns whether the expressions have the same structure. Numbers, and sizes that uk_program_define() made
 * numbers, compare by value. */
bool uk_index_equal(const struct uk_index *a, const struct uk_index *b);
bool uk_mentions(const struct uk_index *e, const struct uk_var *v);
/* l / r rounded down. Requires r > 0, unless r divides l. */
int64_t uk_floor_quotient(int64_t l, int64_t r);
/* Evaluates the expression; the callback returns the value of a VAR. Sets *overflow if an operation overflows
 * or a divisor is not positive. */
int64_t uk_index_eval(const struct uk_index *e, int64_t (*value)(const struct uk_var *, void *), void *user,
                      bool *overflow);

#endif
