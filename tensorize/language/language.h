/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room language: what a program is, before and after scheduling: read from text or built by calls, checked,
 * printed. It uses base.
 *
 * One expression form serves the text, the schedule, the loop IR and the code generator. A struct uk_index is
 * an integer expression (64 bits) over sizes, iterators and loop variables; a struct uk_expr is a value
 * expression over tensors. Both are immutable once built and live in an arena; sharing subtrees is fine.
 * Data: struct uk_index, uk_expr, uk_tensor, uk_statement, uk_step, uk_program, uk_intrinsic; uk_node,
 * uk_function (the loop IR).
 */
#ifndef UK_LANGUAGE_H
#define UK_LANGUAGE_H

#include "base/base.h"

enum {
    UK_MAX_DIMS = 8,
    UK_MAX_NESTING = 256,
    UK_MAX_LINE = 65536,
    UK_MAX_DEPTH = 4096,
    UK_MAX_IMPORT = 64 << 20
};

/* ---- integer expressions ---- */

enum uk_var_kind { UK_VAR_SIZE, UK_VAR_ITERATOR, UK_VAR_LOOP, UK_VAR_LOADED };

struct uk_var {
    const char *name;
    enum uk_var_kind kind;
    struct uk_position at;
    int number;            /* sizes: position in the program's list */
    int slot;              /* of the interpreter */
    const void *loaded;    /* LOADED: what the interpreter loads for its value */
    bool has_default;      /* sizes: `size M = 1024` */
    int64_t default_value; /* of uk run, bench, tune only */
    int scope;             /* sizes: parameters.c */
    bool defined;          /* sizes: --define made it a constant */
    int64_t value;
    bool is_extent;              /* sizes: stands in a shape (so >= 0); a name only in strides is false */
    struct uk_index *definition; /* a size that a schedule made: its value, over the program's sizes */
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
    UK_I_MOD, /* DIV floors, MOD is its remainder; divisor > 0 */
    UK_I_MIN,
    UK_I_MAX,
    UK_I_ELEMENT, /* of `tensor`, at the subscripts a; wraps: plus the extent b where it is negative */
    UK_I_LIST,    /* subscript a of an ELEMENT, and those behind it */
    UK_I_EQ,
    UK_I_NE,
    UK_I_LT,
    UK_I_LE,
    UK_I_GT,
    UK_I_GE,
    UK_I_AND,
    UK_I_OR,
    UK_I_NOT,    /* value 0 or 1 */
    UK_I_SELECT, /* a ? b : c */
};

struct uk_index {
    enum uk_index_op op;
    int64_t value;            /* INT */
    struct uk_var *var;       /* VAR */
    bool is_offset;           /* VAR: an iterator that is written with an offset of 0 */
    bool wraps;               /* ELEMENT: wrap(I[k]); b is NULL until it is a subscript of a tensor */
    struct uk_tensor *tensor; /* ELEMENT */
    struct uk_index *a, *b, *c;
    int depth; /* of the tree; a leaf is 1 */
    struct uk_position at;
};

/* Builders fold constants and 0/1 identities; they return NULL when memory runs out or an argument is NULL. A
 * sum is built with as few signs and constants as its terms allow in their order: x - -y is x + y, -x + 1 is
 * 1 - x, x - (y - 1) + 2 is x - y + 3. */
struct uk_index *uk_index_int(struct uk_arena *a, int64_t value);
struct uk_index *uk_index_var(struct uk_arena *a, struct uk_var *v);
struct uk_index *uk_index_op(struct uk_arena *a, enum uk_index_op op, struct uk_index *l, struct uk_index *r);
/* As uk_index_op, for what a program says: the terms of its sums stay where they were written. */
struct uk_index *uk_index_written(struct uk_arena *a, enum uk_index_op op, struct uk_index *l,
                                  struct uk_index *r);
/* As uk_index_op, but nothing is folded: relations stay as they were written. */
struct uk_index *uk_index_node(struct uk_arena *a, enum uk_index_op op, struct uk_index *l,
                               struct uk_index *r);
struct uk_index *uk_index_select(struct uk_arena *a, struct uk_index *c, struct uk_index *l,
                                 struct uk_index *r);
/* e with other operands. */
struct uk_index *uk_index_with(struct uk_arena *a, const struct uk_index *e, struct uk_index *l,
                               struct uk_index *r);
/* Is an element of a tensor in it? */
bool uk_has_element(const struct uk_index *e);
/* A number, or a size that --define made one. */
bool uk_index_is_int(const struct uk_index *e, int64_t *value);
/* The same expression; numbers, and sizes that --define made numbers, by their values. */
bool uk_index_equal(const struct uk_index *a, const struct uk_index *b);
bool uk_mentions(const struct uk_index *e, const struct uk_var *v);
/* l / r, rounded down; r > 0 or there is no remainder. */
int64_t uk_floor_quotient(int64_t l, int64_t r);
/* The expression's value; the callback gives that of a VAR. *overflow is set if an operation wraps. */
int64_t uk_index_eval(const struct uk_index *e, int64_t (*value)(const struct uk_var *, void *), void *user,
                      bool *overflow);

/* ---- tensors ---- */

enum uk_tensor_kind {
    UK_TENSOR_ARGUMENT, /* `tensor`: passed by the caller */
    UK_TENSOR_TEMP,     /* `temp` */
    UK_TENSOR_PACKED,   /* made by pack, cache_read, cache_write */
};

/* (from...) -> [lane L,] [to...], each `to` affine in `from` (UK_VAR_ITERATOR variables of this map) */
struct uk_map {
    int from_count, to_count;
    struct uk_var *from[UK_MAX_DIMS];
    struct uk_index *lane; /* or NULL */
    struct uk_index *to[UK_MAX_DIMS];
};

struct uk_tensor {
    const char *name;
    enum uk_type type;
    enum uk_tensor_kind kind;
    enum uk_scope scope;
    int dims;
    struct uk_index *shape[UK_MAX_DIMS];  /* logical */
    struct uk_map *layout;                /* NULL: physical = logical */
    int stored_dims;                      /* = dims, or layout->to_count */
    struct uk_index *stored[UK_MAX_DIMS]; /* extents of the stored dimensions (with `over`, if given) */
    struct uk_index *stride[UK_MAX_DIMS]; /* of the stored dimensions, in elements; always filled in */
    bool has_strides;                     /* written in the text */
    struct uk_index *over[UK_MAX_DIMS];   /* `over`, or NULL: may be read, never used */
    bool has_over;
    int align;        /* bytes promised for the origin; 0: the element's size */
    bool is_constant; /* `constant`: the same values in every call */
    bool is_finite;   /* `finite`: no element is infinite or a NaN */
    bool is_written, is_read;
    struct uk_position at;
    struct uk_tensor *next;
};

struct uk_scalar {
    const char *name;
    enum uk_type type;
    struct uk_position at;
    struct uk_scalar *next;
};

struct uk_access {
    struct uk_tensor *tensor;
    struct uk_index
        *index[UK_MAX_DIMS]; /* logical, tensor->dims of them (loop IR: stored, stored_dims of them) */
    struct uk_position at;
};

/* The access that an ELEMENT is. */
struct uk_access uk_element_access(const struct uk_index *e);

/* ---- value expressions ---- */

enum uk_expr_op {
    UK_E_NUMBER,
    UK_E_SCALAR,
    UK_E_ACCESS,
    UK_E_INDEX,
    UK_E_ADD,
    UK_E_SUB,
    UK_E_MUL,
    UK_E_DIV,
    UK_E_SHL,
    UK_E_SHR,
    UK_E_NEG,
#define UK_FUNCTION1(id, ...) UK_E_##id,
#define UK_FUNCTION2(id, ...) UK_E_##id,
#include "functions.def"
    UK_E_CAST,   /* to .type */
    UK_E_PAD,    /* arg[0] is an ACCESS; outside the tensor's shape the value is arg[1] */
    UK_E_SELECT, /* arg[0] ? arg[1] : arg[2] */
    UK_E_EQ,
    UK_E_NE,
    UK_E_LT,
    UK_E_LE,
    UK_E_GT,
    UK_E_GE,
    UK_E_AND,
    UK_E_OR,
    UK_E_NOT, /* only under SELECT */
};

/* What a function's result is. */
enum uk_function_class {
    UK_FUNCTION_CHOICE, /* one of its arguments */
    UK_FUNCTION_SIZE,   /* its argument, without the sign */
    UK_FUNCTION_WHOLE,  /* an integer next to its argument */
    UK_FUNCTION_REAL,   /* rounded to the type */
};

/* A row of functions.def, which says what the columns are. */
struct uk_function_row {
    const char *name;
    enum uk_function_class class;
    int arguments; /* 1 or 2 */
    int ulps;
    double limit;
    bool zero_at_zero;
};

enum {
    UK_E_FUNCTION = UK_E_NEG + 1, /* the first one */
    UK_FUNCTIONS = UK_E_CAST - UK_E_FUNCTION,
};
extern const struct uk_function_row uk_functions[UK_FUNCTIONS];

static inline bool uk_is_function(enum uk_expr_op op) {
    return (int)op >= UK_E_FUNCTION && op < UK_E_CAST;
}

/* The operator's row; NULL if it is no function. */
static inline const struct uk_function_row *uk_function_of(enum uk_expr_op op) {
    return uk_is_function(op) ? &uk_functions[op - UK_E_FUNCTION] : NULL;
}

static inline bool uk_is_function_of_class(enum uk_expr_op op, enum uk_function_class class) {
    return uk_is_function(op) && uk_function_of(op)->class == class;
}

/* Units in the last place that generated code and the interpreter may be apart; 0: they round alike. */
static inline int uk_ulps(enum uk_expr_op op) {
    return uk_is_function(op) ? uk_function_of(op)->ulps : 0;
}

struct uk_expr {
    enum uk_expr_op op;
    enum uk_type type; /* after checking; NUMBER takes the other side's */
    bool is_integer;   /* NUMBER: written without . or e */
    double number;     /* NUMBER; inf is HUGE_VAL */
    int64_t integer;   /* NUMBER, when is_integer */
    struct uk_scalar *scalar;
    struct uk_access access; /* ACCESS */
    struct uk_index *index;  /* INDEX */
    struct uk_expr *arg[3];
    int depth; /* of the tree; a leaf is 1 */
    struct uk_position at;
};

/* ---- statements, assumptions, steps, programs ---- */

struct uk_statement {
    const char *label; /* the stage's name: the label, else the tensor's name */
    bool has_label;
    struct uk_access left;
    enum uk_assign assign;
    enum uk_reduce reduce;
    bool scan;
    struct uk_index *where; /* or NULL: conjunction of relations */
    struct uk_expr *right;
    int reduced; /* the iterators of the reduction, as written */
    struct uk_var *reduced_iterator[UK_MAX_DIMS];
    int iterators; /* left ones first, then the reduced ones in the order written */
    int left_iterators;
    struct uk_var *iterator[2 * UK_MAX_DIMS];
    struct uk_index *extent[2 * UK_MAX_DIMS]; /* 0 <= iterator < extent, from rule 2 */
    int ranges;                               /* that are written: `where i < extent` after the value */
    struct uk_var *ranged[2 * UK_MAX_DIMS];
    struct uk_index *range[2 * UK_MAX_DIMS];
    struct uk_position at;
    struct uk_statement *next;
};

/* `assume`: one relation (an UK_I_ comparison); the list is a conjunction. */
struct uk_assume {
    struct uk_index *relation;
    struct uk_position at;
    struct uk_assume *next;
};

enum uk_step_kind {
#define UK_STEP_ROW(id, ...) UK_STEP_##id,
#include "steps.def"
    UK_STEPS,
};

/* What a step does to the loops around it. */
enum uk_step_role {
    UK_STEP_ROLE_LOOPS,  /* makes loops of loops: its new names are loops */
    UK_STEP_ROLE_COPY,   /* makes a copy of a tensor at a place */
    UK_STEP_ROLE_ATTACH, /* computes a stage inside another's loops */
    UK_STEP_ROLE_OTHER,
};

enum uk_step_argument {
    UK_STEP_ARGUMENT_NONE, /* ends a row's */
#define UK_STEP_ARGUMENT(name) UK_STEP_ARGUMENT_##name,
#include "steps.def"
    UK_STEP_ARGUMENTS,
};

enum { UK_MAX_STEP_ARGUMENTS = 6 };

/* A row of steps.def, which says what the columns are. */
struct uk_step_row {
    const char *word;
    enum uk_step_role role;
    int names;
    enum uk_step_argument argument[UK_MAX_STEP_ARGUMENTS + 1];
};

extern const struct uk_step_row uk_steps[UK_STEPS];
/* How many arguments of this kind the step has. */
int uk_step_arguments(enum uk_step_kind kind, enum uk_step_argument argument);

struct uk_loop_name {
    const char *stage; /* or NULL */
    const char *loop;  /* "root" where a place may be root */
    struct uk_position at;
};

struct uk_step {
    enum uk_step_kind kind;
    struct uk_position at;
    int loops;
    struct uk_loop_name *loop; /* the loops (or the place) that the step names, in order */
    int names;
    const char **name; /* after ->, in order */
    int64_t number[2]; /* split factor, tile factors, panel width */
    bool parts;        /* split parts n */
    bool has_panel, has_along;
    int64_t along;
    struct uk_map *layout; /* pack, cache_*: or NULL */
    int strides;           /* cache_*: of the layout's dimensions; 0: they lie next to each other */
    int64_t stride[UK_MAX_DIMS];
    bool has_scope;
    enum uk_scope scope;
    const char *subject; /* tensor of pack/cache_*, stage of compute_at.., kernel of tensorize ("auto") */
    int subscripts;      /* pack, cache_read: of the accesses that are meant; 0: of all */
    struct uk_index **subscript;
    const char *axis; /* bind: "block.x" to "thread.z" */
    struct uk_import *import;
    struct uk_step *next;
};

struct uk_import {
    enum { UK_IMPORT_FILE, UK_IMPORT_LL_TEXT, UK_IMPORT_C_TEXT } kind;
    const char *text; /* path, or the source */
    struct uk_position at;
    char *bytes; /* of the file, while a compilation has it (room link); else NULL */
    size_t length;
    struct uk_import *next;
};

struct uk_program {
    struct uk_context *context;
    struct uk_arena arena;
    const char *file;          /* for messages */
    const char *schedule_file; /* of steps that uk_program_schedule() has read; or NULL */
    const char *name;          /* of the generated function */
    struct uk_var *sizes;      /* by first appearance in the text */
    int size_count;
    struct uk_scalar *scalars;
    struct uk_tensor *tensors;
    struct uk_assume *assumes;
    struct uk_statement *statements;
    struct uk_intrinsic *intrinsics;
    struct uk_import *imports;
    struct uk_step *steps;    /* as written or as added */
    bool has_schedule;        /* the word `schedule` was there, or a step was added */
    enum uk_status status;    /* sticky */
    const char *failure;      /* the message of that; or NULL */
    struct uk_var *iterators; /* of all statements: one variable per name */
    struct uk_var *assumed;   /* names that so far only `assume` has used */
    bool checked;             /* by uk_check_program, and not changed since */
    bool settled;             /* by uk_program_check, likewise, for the sizes that are defined */
    struct uk_position at;    /* where the builders are in the text, or what they make */
};

/* ---- intrinsics: what a kernel computes ---- */

enum uk_form_kind { UK_FORM_COMPUTE, UK_FORM_RESET, UK_FORM_UPDATE, UK_FORMS };
/* The C type of an argument: a uk_type, or one of these. */
enum { UK_CTYPE_PTR = 100, UK_CTYPE_VOID = 101 };

struct uk_argument {
    int ctype;
    struct uk_tensor *tensor; /* ptr: address of its origin */
    struct uk_var *size;      /* an integer: the value bound to it */
    struct uk_scalar *scalar;
    int64_t number; /* when tensor, size and scalar are NULL */
    double real;
};

struct uk_form {
    bool given;
    int result; /* ctype */
    const char *symbol;
    int arguments;
    struct uk_argument *argument;
    struct uk_position at;
};

struct uk_intrinsic {
    const char *name;
    int required;
    const char **requires_feature;
    enum uk_exec_scope scope;
    /* sizes, tensors, scalars, assumes and statements; its memory is its parent's, never its own arena */
    struct uk_program *declaration;
    struct uk_statement *computes; /* the last statement; those before it copy operands of it */
    struct uk_form form[UK_FORMS];
    const struct uk_kernel *row; /* of the registry; NULL: the user's own */
    struct uk_position at;
    struct uk_intrinsic *next;
};

#include "loops.h"

/* ---- as text (print.c, print_step.c, print_program.c, print_loops.c) ---- */

/* Value expressions and accesses as text; the same printer serves programs, loops and messages. */
void uk_print_index(struct uk_text *t, const struct uk_index *e);
void uk_print_expr(struct uk_text *t, const struct uk_expr *e);
void uk_print_access(struct uk_text *t, const struct uk_access *a, int dims);
void uk_print_map(struct uk_text *t, const struct uk_map *m);
void uk_print_import(struct uk_text *t, const struct uk_import *i);
void uk_print_step(struct uk_text *t, const struct uk_step *s);
/* On one line, without its end. */
void uk_print_statement(struct uk_text *t, const struct uk_statement *s);
void uk_print_steps(struct uk_text *t, const struct uk_program *p);
void uk_print_program(struct uk_text *t, const struct uk_program *p);
void uk_print_loops(struct uk_text *t, const struct uk_function *f);

/* ---- building (program.c, program_fail.c): what the parser and the C API share beside tensorize.h ---- */

/* Whether a building call may go on: there is a program, and no call before has failed. */
static inline bool uk_may_build(const struct uk_program *p) {
    return p && !p->status;
}
/* A building call begins: sets p->at to the object that it makes, unless a text is parsed; returns the old
 * p->at, to be restored at the call's end. */
struct uk_position uk_begin_item(struct uk_program *p, enum uk_item kind, int number);
/* Makes the program's status sticky and records the message; the first one wins. Returns NULL. */
void *uk_program_fail(struct uk_program *p, enum uk_status status, struct uk_position at, const char *format,
                      ...) __attribute__((format(printf, 4, 5)));
/* Makes the status, whose message the context has, sticky. */
void uk_program_keep_failure(struct uk_program *p, enum uk_status status);
/* Returns its argument; NULL in a program without a failure is recorded as memory that ran out. */
void *uk_program_made(struct uk_program *p, void *made);
/* Whether the program made the handle, which is not NULL; fails the program if not. */
bool uk_is_own(struct uk_program *p, const char *what, const void *handle);
bool uk_is_own_tensor(struct uk_program *p, const char *function, const struct uk_tensor *t);
/* 1 is the first one; behind the last one where it is none of them. */
int uk_tensor_position(const struct uk_program *p, const struct uk_tensor *tensor);
/* c_names.c: whether a text is an identifier; whether a name is a keyword, a type or a macro in C or C++; and
 * whether a function of C may have it, which is then none of those and of no function that compilers and
 * generated code know. */
bool uk_is_identifier(const char *s);
bool uk_is_c_word(const char *name);
bool uk_may_name_function(const char *name);
struct uk_var *uk_find_var(struct uk_var *list, const char *name);
struct uk_tensor *uk_find_tensor(const struct uk_program *p, const char *name);
struct uk_scalar *uk_find_scalar(const struct uk_program *p, const char *name);
/* Its place in the list. */
int uk_scalar_number(const struct uk_scalar *list, const struct uk_scalar *s);
/* Whether `name` can be a new `what` ("size", "tensor", ...); fails the program if not. */
bool uk_name_is_free(struct uk_program *p, const char *name, const char *what);
/* A name that `assume` uses: a size, or one that must become a size. */
struct uk_index *uk_assumed(struct uk_program *p, const char *name);
struct uk_expr *uk_scalar_value(struct uk_program *p, struct uk_scalar *s);
/* A tensor of either kind; shape and strides may be set afterwards. */
struct uk_tensor *uk_add_tensor(struct uk_program *p, enum uk_tensor_kind kind, const char *name,
                                enum uk_type type);
bool uk_set_dims(struct uk_program *p, const char *what, int n, struct uk_index *const from[],
                 struct uk_index *to[]);
struct uk_expr *uk_literal(struct uk_program *p, int64_t value);
/* program_query.c: are there sizes that are no constants? */
bool uk_has_size_arguments(const struct uk_program *p);
/* -1: the statement has no such iterator. */
static inline int uk_iterator_number(const struct uk_statement *s, const struct uk_var *v) {
    for (int i = 0; i < s->iterators; i++)
        if (s->iterator[i] == v)
            return i;
    return -1;
}
static inline bool uk_is_zero(const struct uk_expr *e) {
    return e->op == UK_E_NUMBER && (e->is_integer ? e->integer == 0 : e->number == 0);
}
bool uk_type_is_float(enum uk_type t);
extern const char *const uk_scope_names[UK_SCOPE_REGISTER + 1];
/* words.c: the n names that name(0), name(1), .. are, with `and` before the last one, in the arena: "a, b and
 * c"; NULL: no memory. */
char *uk_list_words(struct uk_arena *a, int n, const char *name(int i));
/* "f64, f32 .. and u8" after that text. */
char *uk_list_types(struct uk_arena *a, const char *before);
const char *uk_step_word(int i);
const char *uk_function_name(int i);

/* ---- parse.c: parts of a program that the C API takes as text ---- */

struct uk_map *uk_parse_map(struct uk_program *p, const char *text);
/* Adds the steps (one, if `single`) of the text to the program's. file: the text's own, or NULL. */
enum uk_status uk_parse_steps(struct uk_program *p, const char *file, const char *text, size_t length,
                              bool single);
enum uk_status uk_parse_item(struct uk_program *p, const char *text);

/* Rule 3 for one statement (check_type.c), and tensors' strides and layouts (check_tensor.c). False: it
 * failed. */
bool uk_check_types(struct uk_program *p, struct uk_statement *s);
bool uk_check_tensor(struct uk_program *p, struct uk_tensor *t);
/* The sizes in e are 0 or more. */
void uk_mark_extents(const struct uk_index *e);
/* Whether e is affine over sizes, and over iterators if these are allowed. */
bool uk_check_affine(struct uk_program *p, const struct uk_index *e, bool iterators);
/* Whether two extents are the same expression, or made equal by `assume ==`. */
bool uk_same_extent(const struct uk_program *p, const struct uk_index *a, const struct uk_index *b);

/* The i-th tensor argument, from 0 on; NULL: there is none, or the program cannot be used. */
const struct uk_tensor *uk_argument_at(const struct uk_program *p, int i);
/* Stored elements from the origin to the last one, for values of the sizes; -1: overflow, or a negative
 * extent. */
int64_t uk_tensor_elements(const struct uk_tensor *t, int64_t (*value)(const struct uk_var *, void *),
                           void *user);

/* Rules 1 to 5 and 8 of the language: names, ranges, types. Called by the parser, and by uk_program_check()
 * with which every use of a program begins: what it computes outlives the memory that the use itself takes
 * and gives back. */
enum uk_status uk_check_program(struct uk_program *p);
/* The same for a program that a user gives, which may have failed before, or be NULL. */
enum uk_status uk_check_rules(struct uk_program *p);
/* element_range.c: whether elements of the tensor are subscripts, and which values lower <= v < upper these
 * may have, wherever they are read; false also if there is none. */
bool uk_element_range(const struct uk_program *p, const struct uk_tensor *t, const int64_t *size,
                      int64_t *lower, int64_t *upper);
/* check_pad.c: warns of sums that read under pad along a dimension of another size. */
enum uk_status uk_warn_of_pads(const struct uk_program *p);
/* check_sizes.c: whether a program has a statement; and whether its tensors, as far as constants give their
 * sizes, fit the target. */
enum uk_status uk_check_has_statement(const struct uk_program *p, struct uk_position at);
/* Stored dimensions from the innermost outwards: constant strides by size, then the others, last one first.
 * */
void uk_inner_first(const struct uk_tensor *t, int order[UK_MAX_DIMS]);
enum uk_status uk_check_constants(const struct uk_program *p, int64_t most_bytes);
/* The sizes of a call: extents, assumptions, strides; only the strides that are written, which keep elements
 * apart; one relation of the sizes, with what to say before and after it. */
enum uk_status uk_check_given(const struct uk_program *p, const int64_t *size, int64_t most_bytes);
enum uk_status uk_check_apart(const struct uk_program *p, const int64_t *size);
enum uk_status uk_check_relation(const struct uk_program *p, const struct uk_index *e, const int64_t *size,
                                 struct uk_position at, const char *before, const char *after);
/* Parses the items of one `intrinsic ... end` text (the expansion of a registry row). */
enum uk_status uk_parse_intrinsic(struct uk_context *c, struct uk_arena *a, const char *text,
                                  struct uk_intrinsic **out);

/* Later messages name this program; NULL: none. */
void uk_context_turn_to(struct uk_context *c, const struct uk_program *p);

#endif
