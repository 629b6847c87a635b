/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room language: programs of tensor expressions with their schedules. A program is read from text or built by
 * calls, then checked; it can be printed again. Uses room base.
 *
 * One expression form serves the text, the schedule, the loop IR and the code generator. A struct uk_index is
 * an integer expression (64 bits) over sizes, iterators and loop variables; a struct uk_expr is a value
 * expression over tensors. Both live in an arena and do not change once built, so trees may share subtrees.
 *
 * Data structures: struct uk_index (index.h), uk_expr, uk_tensor, uk_statement, uk_step, uk_program,
 * uk_intrinsic; uk_node and uk_function (the loop IR, loops.h).
 */
#ifndef UK_LANGUAGE_H
#define UK_LANGUAGE_H

#include "base/base.h"

enum {
    UK_MAX_DIMS = 8,
    UK_MAX_NESTING = 256,    /* open brackets, or signs and `not` in a row */
    UK_MAX_LINE = 65536,     /* characters */
    UK_MAX_DEPTH = 4096,     /* height of an expression's tree */
    UK_MAX_IMPORT = 64 << 20 /* bytes of a program's text, or of an imported file */
};

#include "index.h"

/* ---- tensors ---- */

enum uk_tensor_kind {
    UK_TENSOR_ARGUMENT, /* `tensor`: memory of the caller */
    UK_TENSOR_TEMP,     /* `temp` */
    UK_TENSOR_PACKED,   /* made by pack, cache_read, cache_write */
};

/* A layout map: (from...) -> [lane L,] [to...]. Each `to` is affine in `from`, which are UK_VAR_ITERATOR
 * variables of this map alone. */
struct uk_map {
    int from_count, to_count;
    struct uk_var *from[UK_MAX_DIMS];
    struct uk_index *lane; /* or NULL */
    struct uk_index *to[UK_MAX_DIMS];
};

struct uk_im2col;

struct uk_tensor {
    const char *name;
    enum uk_type type;
    enum uk_tensor_kind kind;
    enum uk_scope scope;
    int dims;
    struct uk_index *shape[UK_MAX_DIMS]; /* extents of the logical dimensions */
    struct uk_map *layout;               /* NULL: the stored dimensions are the logical ones */
    int stored_dims;                     /* dims, or layout->to_count */
    struct uk_index
        *stored[UK_MAX_DIMS]; /* extents of the stored dimensions, including the elements of `over` */
    struct uk_index
        *stride[UK_MAX_DIMS]; /* of the stored dimensions, in elements; never NULL after the check */
    bool has_strides;         /* the text gives the strides */
    struct uk_index *over[UK_MAX_DIMS]; /* extents that include elements kernels may read without effect; NULL
                                           without `over` */
    bool has_over;
    int align;        /* bytes of which the origin's address is a multiple; 0: the element's size */
    bool is_constant; /* `constant`, or converted from such a tensor: the same values in every call */
    bool is_finite;   /* `finite`: no element is infinite or a NaN */
    bool is_written, is_read;
    /* A buffer in registers: with what a copy to shared memory will store; and that is loaded as vectors. */
    bool is_ahead, is_vectors;
    /* Not in memory: step `im2col` made it, and its elements are computed from another tensor. Or NULL. */
    const struct uk_im2col *im2col;
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
    /* Logical subscripts, tensor->dims of them; in the loop IR stored ones, stored_dims of them. */
    struct uk_index *index[UK_MAX_DIMS];
    struct uk_position at;
};

/* The access that the ELEMENT e makes. */
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
    UK_E_BIT_AND,
    UK_E_BIT_XOR,
    UK_E_BIT_OR,
    UK_E_NEG,
#define UK_FUNCTION1(id, ...) UK_E_##id,
#define UK_FUNCTION2(id, ...) UK_E_##id,
#include "functions.def"
    UK_E_CAST,   /* converts to .type */
    UK_E_PAD,    /* arg[0], an ACCESS; arg[1] where a subscript is outside the tensor's shape */
    UK_E_SELECT, /* arg[0] ? arg[1] : arg[2] */
    UK_E_EQ,
    UK_E_NE,
    UK_E_LT,
    UK_E_LE,
    UK_E_GT,
    UK_E_GE,
    UK_E_AND,
    UK_E_OR,
    UK_E_NOT, /* UK_E_EQ to UK_E_NOT: conditions, which occur only under SELECT */
};

/* The kind of result that a function has. */
enum uk_function_class {
    UK_FUNCTION_CHOICE, /* one of its arguments */
    UK_FUNCTION_SIZE,   /* the magnitude of its argument */
    UK_FUNCTION_WHOLE,  /* the integer next to its argument, by the function's rounding */
    UK_FUNCTION_REAL,   /* a real number, rounded to the type */
};

/* A row of functions.def, which documents the columns. */
struct uk_function_row {
    const char *name;
    enum uk_function_class class;
    int arguments; /* 1 or 2; class CHOICE: 2 or more */
    int ulps;
    double limit;
    bool zero_at_zero;
};

enum {
    UK_E_FUNCTION = UK_E_NEG + 1, /* the first function */
    UK_FUNCTIONS = UK_E_CAST - UK_E_FUNCTION,
};
extern const struct uk_function_row uk_functions[UK_FUNCTIONS];

static inline bool uk_is_bitwise(enum uk_expr_op op) {
    return op == UK_E_BIT_AND || op == UK_E_BIT_XOR || op == UK_E_BIT_OR;
}

static inline bool uk_is_function(enum uk_expr_op op) {
    return (int)op >= UK_E_FUNCTION && op < UK_E_CAST;
}

/* The operator's row, or NULL if it is not a function. */
static inline const struct uk_function_row *uk_function_of(enum uk_expr_op op) {
    return uk_is_function(op) ? &uk_functions[op - UK_E_FUNCTION] : NULL;
}

static inline bool uk_is_function_of_class(enum uk_expr_op op, enum uk_function_class class) {
    return uk_is_function(op) && uk_function_of(op)->class == class;
}

/* Error bound of the function's generated code, in units in the last place; 0: exact or correctly rounded,
 * and bit-identical to the interpreter. */
static inline int uk_ulps(enum uk_expr_op op) {
    return uk_is_function(op) ? uk_function_of(op)->ulps : 0;
}

struct uk_expr {
    enum uk_expr_op op;
    enum uk_type
        type; /* valid after the check; a NUMBER takes the type of the operand that it is combined with */
    bool is_integer; /* NUMBER: written without a point or an exponent */
    double number;   /* NUMBER; infinity is HUGE_VAL */
    int64_t integer; /* NUMBER with is_integer */
    struct uk_scalar *scalar;
    struct uk_access access; /* ACCESS */
    struct uk_index *index;  /* INDEX */
    struct uk_expr *arg[3];
    int depth; /* height of the tree; 1 for a leaf */
    struct uk_position at;
};

/* ---- statements, assumptions, steps, programs ---- */

struct uk_statement {
    const char *label; /* the stage's name: the label, or without one the tensor's name */
    bool has_label;
    struct uk_access left;
    enum uk_assign assign;
    enum uk_reduce reduce;
    bool scan;
    struct uk_index *where; /* conjunction of relations, or NULL */
    struct uk_expr *right;
    int reduced; /* iterators of the reduction, in the order written */
    struct uk_var *reduced_iterator[UK_MAX_DIMS];
    int iterators; /* those of the left side first, then the reduced ones in the order written */
    int left_iterators;
    struct uk_var *iterator[2 * UK_MAX_DIMS];
    struct uk_index *extent[2 * UK_MAX_DIMS]; /* 0 <= iterator < extent; found by rule 2 (check.c) */
    /* Ranges that the text gives by `where i < extent` after the value. */
    int ranges;
    struct uk_var *ranged[2 * UK_MAX_DIMS];
    struct uk_index *range[2 * UK_MAX_DIMS];
    struct uk_position at;
    struct uk_statement *next;
};

/* An `assume` item: one relation (a comparison UK_I_EQ to UK_I_GE). The list is a conjunction. */
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

/* How a step changes the loops around it. */
enum uk_step_role {
    UK_STEP_ROLE_LOOPS,  /* replaces loops by new ones, whose names follow `->` */
    UK_STEP_ROLE_COPY,   /* copies a tensor at a place */
    UK_STEP_ROLE_ATTACH, /* computes a stage inside another stage's loops */
    UK_STEP_ROLE_OTHER,
};

enum uk_step_argument {
    UK_STEP_ARGUMENT_NONE, /* ends the list of a row */
#define UK_STEP_ARGUMENT(name) UK_STEP_ARGUMENT_##name,
#include "steps.def"
    UK_STEP_ARGUMENTS,
};

enum { UK_MAX_STEP_ARGUMENTS = 6 };

/* A row of steps.def, which documents the columns. */
struct uk_step_row {
    const char *word;
    enum uk_step_role role;
    int names;
    unsigned char argument[UK_MAX_STEP_ARGUMENTS + 1]; /* enum uk_step_argument each; 0 after the last */
};

extern const struct uk_step_row uk_steps[UK_STEPS];
/* Counts the step's arguments of this kind. */
int uk_step_arguments(enum uk_step_kind kind, enum uk_step_argument argument);

struct uk_loop_name {
    const char *stage; /* or NULL */
    const char *loop;  /* "root" where the step allows a place outside all loops */
    struct uk_position at;
};

struct uk_step {
    enum uk_step_kind kind;
    struct uk_position at;
    int loops;
    struct uk_loop_name *loop; /* loops (or the place) that the step names, in the order of the text */
    int names;
    const char **name;         /* new names after `->`, in order */
    int64_t number[2];         /* split factor, tile factors, panel width, pipeline slots */
    bool parts;                /* `split L parts n` */
    bool has_panel, has_along; /* pack: `panel` WIDTH was given, in number[0]; and `along` DIMENSION */
    int64_t along;
    struct uk_map *layout; /* pack, cache_*: the layout map; or NULL */
    int strides;           /* cache_*: number of given strides of the layout; 0: stored contiguously */
    int64_t stride[UK_MAX_DIMS];
    bool has_scope;
    enum uk_scope scope;
    const char *subject; /* tensor of pack and cache_*, stage of compute_* and reverse_compute_at, kernel of
                            tensorize (or "auto") */
    int subscripts; /* pack, cache_read: subscripts that select the accesses; 0: all accesses of the tensor */
    struct uk_index **subscript;
    const char *axis; /* bind: "block.x" .. "thread.z" */
    struct uk_import *import;
    int version; /* number of the schedule that has the step, from 0 */
    struct uk_step *next;
};

enum { UK_MAX_VERSIONS = 4 };

/* One of several schedules of a program. At entry the first one whose condition holds is taken. */
struct uk_version {
    struct uk_index *condition; /* a relation over sizes, or a conjunction of them; NULL: the last schedule */
    struct uk_position at;
    /* Automatic schedules: for a GPU, the tile of the product; for a CPU, by uk_var.number, the values of
     * sizes that the schedule is made for, 0: any. Else NULL. */
    const struct uk_wanted_tile *wanted_tile;
    const int64_t *estimate;
    struct uk_version *next;
};

struct uk_import {
    enum { UK_IMPORT_FILE, UK_IMPORT_LL_TEXT, UK_IMPORT_C_TEXT } kind;
    const char *text; /* a path, or the source text */
    struct uk_position at;
    char *bytes; /* the file's content during a compilation (room link); else NULL */
    size_t length;
    struct uk_import *next;
};

struct uk_program {
    struct uk_context *context;
    struct uk_arena arena;
    const char *file;          /* name of the text in messages */
    const char *schedule_file; /* name of the text that uk_program_schedule() read last; or NULL */
    const char *name;          /* name of the generated function */
    struct uk_var *sizes;      /* in the order of their first appearance */
    int size_count;
    struct uk_scalar *scalars;
    struct uk_tensor *tensors;
    struct uk_assume *assumes;
    struct uk_statement *statements;
    struct uk_intrinsic *intrinsics;
    struct uk_import *imports;
    struct uk_step *steps;       /* in the order written or added, of all schedules */
    bool has_schedule;           /* the text has a `schedule` section, or a step was added */
    struct uk_version *versions; /* NULL: one schedule for all sizes */
    enum uk_status status;       /* sticky: the first failure of a building call */
    const char *failure;         /* message of that failure; or NULL */
    struct uk_var *iterators;    /* of all statements; statements share the variable of a name */
    struct uk_var *assumed;      /* names that only `assume` has used so far */
    bool is_checked;             /* by uk_check_program(), and unchanged since */
    bool is_checked_for_sizes;   /* by uk_program_check(), for the sizes that are defined now; and unchanged
                                    since */
    struct uk_position at;       /* position in the text, or item of the call, that the builders are at */
};

/* ---- intrinsics: declarations of kernels ---- */

enum uk_form_kind { UK_FORM_COMPUTE, UK_FORM_RESET, UK_FORM_UPDATE, UK_FORMS };
/* C types of arguments, besides those of enum uk_type. */
enum { UK_CTYPE_PTR = 100, UK_CTYPE_VOID = 101 };

struct uk_argument {
    int ctype;
    struct uk_tensor *tensor; /* PTR: passes the address of its origin */
    struct uk_var *size;      /* integer types: passes the value bound to the size */
    struct uk_scalar *scalar;
    /* I64: passes an address that is only prefetched from, of the elements that the loops around the call
     * move this tensor to next (struct uk_node.ahead). No operand: nothing is proved about it. */
    struct uk_tensor *hint;
    int64_t number; /* passed if tensor, size, scalar and hint are all NULL */
    double real;
};

struct uk_form {
    bool is_declared;
    int result; /* C type of the result */
    const char *symbol;
    int arguments;
    struct uk_argument *argument;
    struct uk_position at;
};

/* A digit of the number of a lane: axis / divisor % extent times weight. */
struct uk_lane_digit {
    int axis; /* number of the iterator of the wave's statement */
    int64_t divisor, extent, weight;
};

struct uk_intrinsic {
    const char *name;
    int required;
    const char **requires_feature;
    enum uk_state state; /* that the thread holds during its calls */
    enum uk_exec_scope scope;
    /* Sizes, tensors, scalars, assumptions and statements. Memory comes from the arena of the program that
     * declares the intrinsic, never from its own. */
    struct uk_program *declaration;
    struct uk_statement *computes; /* the last statement; the ones before it copy its operands */
    struct uk_form form[UK_FORMS];
    const struct uk_kernel *row; /* row of the registry; NULL for the user's own kernel */
    /* Of a kernel whose output is spread over the lanes of a wave: the same kernel as one lane sees it; room
     * match makes it when it is needed first. */
    struct uk_intrinsic *lane;
    /* Of such: the wave's kernel, and what tells its lanes apart. */
    const struct uk_intrinsic *wave;
    int lane_digits;
    struct uk_lane_digit lane_digit[UK_MAX_DIMS];
    struct uk_position at;
    struct uk_intrinsic *next;
};

#include "loops.h"

/* ---- printing (the files in print/) ---- */

/* Append the argument's text in the language to t; the loop IR and messages use the same printer. */
void uk_print_index(struct uk_text *t, const struct uk_index *e);
void uk_print_expr(struct uk_text *t, const struct uk_expr *e);
void uk_print_access(struct uk_text *t, const struct uk_access *a, int dims);
void uk_print_map(struct uk_text *t, const struct uk_map *m);
void uk_print_import(struct uk_text *t, const struct uk_import *i);
void uk_print_step(struct uk_text *t, const struct uk_step *s);
/* One line, without its end. */
void uk_print_statement(struct uk_text *t, const struct uk_statement *s);
/* The first line of a schedule; condition NULL: one without `where`. */
void uk_print_condition(struct uk_text *t, const struct uk_index *condition);
/* The steps; if there are several schedules, each with its first line. */
void uk_print_steps(struct uk_text *t, const struct uk_program *p);
void uk_print_program(struct uk_text *t, const struct uk_program *p);
void uk_print_loops(struct uk_text *t, const struct uk_function *f);

/* ---- building (program.c, program_fail.c): shared by the parser and the calls of tensorize.h ---- */

/* Returns whether a building call may proceed: p is not NULL and no earlier call failed. */
static inline bool uk_may_build(const struct uk_program *p) {
    return p && !p->status;
}
/* Begins a building call: sets p->at to the item that it makes, unless a text is being parsed. Returns the
 * old p->at, which the caller restores at its end. */
struct uk_position uk_begin_item(struct uk_program *p, enum uk_item kind, int number);
/* Records a failure: status and message become sticky; later failures are ignored. Returns NULL. */
void *uk_program_fail(struct uk_program *p, enum uk_status status, struct uk_position at, const char *format,
                      ...) __attribute__((format(printf, 4, 5)));
/* Makes a status sticky whose message the context already has. */
void uk_program_keep_failure(struct uk_program *p, enum uk_status status);
/* Returns `made`. Records UK_OUT_OF_MEMORY if it is NULL and the program has no failure. */
void *uk_program_check_memory(struct uk_program *p, void *made);
/* Returns whether the program made the handle, which is not NULL; else fails the program. `what` and
 * `function` name it in the message. */
bool uk_is_own(struct uk_program *p, const char *what, const void *handle);
bool uk_is_own_tensor(struct uk_program *p, const char *function, const struct uk_tensor *t);
/* 1-based position of the tensor in the program's list; count + 1 if not found (NULL: the next one to be
 * made). */
int uk_tensor_position(const struct uk_program *p, const struct uk_tensor *tensor);
/* c_names.c. uk_is_identifier: the text is a C identifier. uk_is_c_word: the name is a keyword, type or macro
 * of C or C++. uk_may_name_function: a C function may have the name, which is no such word and not a library
 * function that compilers or generated code know. */
bool uk_is_identifier(const char *s);
bool uk_is_c_word(const char *name);
bool uk_may_name_function(const char *name);
/* Makes a C identifier of at most `longest` characters of a file's stem: _ replaces each character that is
 * not a letter or digit of ASCII, and precedes a leading digit. `word` of at most 8 letters precedes a name
 * that is empty, or whose beginning is reserved. NULL: no memory. */
char *uk_name_of_stem(struct uk_arena *a, const char *stem, size_t length, size_t longest, const char *word);
struct uk_var *uk_find_var(struct uk_var *list, const char *name);
struct uk_tensor *uk_find_tensor(const struct uk_program *p, const char *name);
struct uk_scalar *uk_find_scalar(const struct uk_program *p, const char *name);
/* 0-based position of s in the list. */
int uk_scalar_number(const struct uk_scalar *list, const struct uk_scalar *s);
/* Returns whether a new `what` ("size", "tensor", ..) may be called `name`; else fails the program. */
bool uk_name_is_free(struct uk_program *p, const char *name, const char *what);
/* A name in an `assume` item: a size, or a name that must become one later. */
struct uk_index *uk_assumed(struct uk_program *p, const char *name);
struct uk_expr *uk_scalar_value(struct uk_program *p, struct uk_scalar *s);
/* Adds a tensor of any kind; the caller may set its shape and strides afterwards. */
struct uk_tensor *uk_add_tensor(struct uk_program *p, enum uk_tensor_kind kind, const char *name,
                                enum uk_type type);
/* Copies n integers of the program (extents, strides, subscripts) to `to`; `what` names one in messages.
 * Returns false after failing the program. */
bool uk_set_dims(struct uk_program *p, const char *what, int n, struct uk_index *const from[],
                 struct uk_index *to[]);
/* program_value.c: a subscript of a dimension of that extent. A copy with the extent to add if it is
 * wrap(..); NULL after failing the program. */
struct uk_index *uk_wrapped_by(struct uk_program *p, struct uk_index *e, struct uk_index *extent);
/* An integer literal. */
struct uk_expr *uk_literal(struct uk_program *p, int64_t value);
/* program_query.c: returns whether the generated function has size arguments, that is, sizes that are not
 * defined. */
bool uk_has_size_arguments(const struct uk_program *p);
/* Position of v among the statement's iterators, or -1. */
static inline int uk_iterator_number(const struct uk_statement *s, const struct uk_var *v) {
    for (int i = 0; i < s->iterators; i++)
        if (s->iterator[i] == v)
            return i;
    return -1;
}
/* True if a subscript of the left side is an element of a tensor. Instances then may write one element
 * several times, in the order of the iterators. */
static inline bool uk_scatters(const struct uk_statement *s) {
    for (int d = 0; d < s->left.tensor->dims; d++)
        if (s->left.index[d]->op == UK_I_ELEMENT)
            return true;
    return false;
}
static inline bool uk_is_zero(const struct uk_expr *e) {
    return e->op == UK_E_NUMBER && (e->is_integer ? e->integer == 0 : e->number == 0);
}
bool uk_type_is_float(enum uk_type t);
static inline bool uk_type_is_unsigned(enum uk_type t) {
    return t >= UK_U8 && t <= UK_U64;
}
/* Bits of an integer type without its sign. */
static inline int uk_integer_bits(enum uk_type t) {
    return 8 * (int)uk_type_bytes(t) - !uk_type_is_unsigned(t);
}
/* Ends of an integer type. The largest u64 is beyond int64_t: its place is taken by INT64_MAX. */
static inline int64_t uk_integer_max(enum uk_type t) {
    const int bits = uk_integer_bits(t);

    return bits >= 63 ? INT64_MAX : (INT64_C(1) << bits) - 1;
}
static inline int64_t uk_integer_min(enum uk_type t) {
    return uk_type_is_unsigned(t) ? 0 : -uk_integer_max(t) - 1;
}
extern const char *const uk_scope_names[UK_SCOPE_REGISTER + 1];
/* words.c: "a, b and c" of the n names name(0), name(1), .. in the arena. NULL: out of memory. */
char *uk_list_words(struct uk_arena *a, int n, const char *name(int i));
/* `before`, then "f64, f32 .. and u8". */
char *uk_list_types(struct uk_arena *a, const char *before);
const char *uk_step_word(int i);
const char *uk_function_name(int i);

/* ---- parse.c: parts of a program that the C API takes as text ---- */

/* Parses a layout map; NULL after failing the program. */
struct uk_map *uk_parse_map(struct uk_program *p, const char *text);
/* Appends the steps of the text (exactly one, if `single`) to the program's; or, if the text begins with
 * `schedule`, its schedules to a program that has none. `file` is the text's name in
 * messages; NULL: the program's. */
enum uk_status uk_parse_steps(struct uk_program *p, const char *file, const char *text, size_t length,
                              bool single);
/* versions.c. uk_begin_schedule: begins a schedule at p->at; later steps belong to it. Fails the program
 * after a schedule without a condition. uk_current_version: number of the schedule that was begun last. */
bool uk_begin_schedule(struct uk_program *p, struct uk_index *condition);
int uk_current_version(const struct uk_program *p);
/* Checks that the conditions are affine over sizes and that only the last schedule has none. Returns false
 * after failing the program. */
bool uk_check_versions(struct uk_program *p);
/* The program's assumptions and, as further ones, the relations of the condition; the copies live in `a`.
 * After a failed allocation a->failed is set. */
struct uk_assume *uk_assumptions_with(struct uk_arena *a, const struct uk_program *p,
                                      struct uk_index *condition);
/* Fails if the program has several schedules; for searches, which change one. */
enum uk_status uk_refuse_versions(const struct uk_program *p);
/* The first version of the function whose condition holds for the sizes, size[n] for size number n; or the
 * function itself, if it has no versions. A condition whose value overflows does not hold. On a GPU sizes
 * that are too large for short indices take the last version. */
const struct uk_function *uk_version_for(const struct uk_function *f, const int64_t *size);
/* Parses one item, an intrinsic for instance, and adds it to the program. */
enum uk_status uk_parse_item(struct uk_program *p, const char *text);

/* Parses one `intrinsic .. end` text, as a registry row expands to. */
enum uk_status uk_parse_intrinsic(struct uk_context *c, struct uk_arena *a, const char *text,
                                  struct uk_intrinsic **out);

/* Makes later messages name this program; NULL: no program. */
void uk_context_set_program(struct uk_context *c, const struct uk_program *p);

#include "check.h"

#endif
