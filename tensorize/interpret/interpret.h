/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room interpret: the meaning of a program, statement by statement and loop by loop; its results are correct
 * by definition. It uses language, polyhedra (rules of programs) and target (deviations that code is
 * allowed). Inside, expressions have their sizes filled in, and addresses are flat strides over numbered
 * variables. Data: struct uk_values (the inputs of a run), uk_frame (a run), uk_code (an expression ready to
 * run).
 */
#ifndef UK_INTERPRET_H
#define UK_INTERPRET_H

#include "language/language.h"

/* Inputs: sizes by number, scalars as double, tensors as addresses of their origins. */
struct uk_values {
    const int64_t *size;
    const double *scalar;
    void *const *tensor; /* in the order of the program's tensors (temps: NULL, allocated inside) */
};
/* Runs the statements in order; every type has its own rounding. uk_interpret_form runs a declaration in the
 * given form. Nothing is written unless it returns UK_OK, or UK_INVALID_INDEX after other statements. */
enum uk_status uk_interpret(struct uk_program *p, const struct uk_values *v);
enum uk_status uk_interpret_form(struct uk_intrinsic *i, enum uk_form_kind form, const struct uk_values *v);
/* Runs the loop IR on the function's tensors in their order (temps: NULL); calls run their declaration.
 * Buffers are filled with the byte `workspace_fill`. */
enum uk_status uk_interpret_function(struct uk_function *f, const struct uk_values *v, int workspace_fill);

/* i: of an integer type; d: of a float type, rounded to it. */
union uk_value {
    int64_t i;
    double d;
};

/* Points of a left side. Input: the value of every iterator, in order, for each point. Output: the element's
 * offset from the origin, and the value that it gets. */
struct uk_points {
    int count;
    const int64_t *index;
    int64_t *element;
    union uk_value *value;
};
/* uk_interpret_form for these points only, of a declaration with one statement that is not a scan; nothing is
 * written. UK_UNSUPPORTED: the ranges of the iterators alone do not prove that all subscripts are inside. */
enum uk_status uk_interpret_points(struct uk_intrinsic *i, enum uk_form_kind form, const struct uk_values *v,
                                   const struct uk_points *points);

/* uk_interpret() for some elements of tensor number `tensor` only, and for the elements that these need
 * (points.c). element[i] is an offset from the origin; result[i] gets its value, and by[i] the
 * deviation that is allowed because of other orders of sums, products that are added unrounded, and other
 * approximations of functions. Nothing else is written. */
struct uk_elements {
    int tensor;
    int64_t count;
    const int64_t *element;
    void *result;
    double *by;
    bool flushes; /* code may flush subnormal f32 numbers to 0 */
};
enum uk_status uk_interpret_elements(struct uk_program *p, const struct uk_values *v,
                                     const struct uk_elements *e);

/* Arithmetic of the element types (number.c). */
double uk_round_to(enum uk_type t, double v);
union uk_value uk_wrap_to(enum uk_type t, uint64_t v);
union uk_value uk_load(enum uk_type t, const void *base, int64_t element);
void uk_store(enum uk_type t, void *base, int64_t element, union uk_value v);
union uk_value uk_convert(enum uk_type from, enum uk_type to, union uk_value v);
union uk_value uk_binary(enum uk_expr_op op, enum uk_type t, union uk_value a, union uk_value b);
/* uk_binary for one more term of a reduction. A reduction has no order, so min and max of floats are NaN if
 * any term is. */
union uk_value uk_reduced(enum uk_expr_op op, enum uk_type t, union uk_value sum, union uk_value term);
union uk_value uk_unary(enum uk_expr_op op, enum uk_type t, union uk_value a);

enum { UK_FLAT_TERMS = 16 };

/* constant + sum of coefficient * slot + sum of coefficient * (expression that is not linear) */
struct uk_flat {
    int64_t constant;
    int terms, trees;
    int slot[UK_FLAT_TERMS];
    int64_t coefficient[UK_FLAT_TERMS];
    const struct uk_index *tree[UK_MAX_DIMS];
    int64_t tree_coefficient[UK_MAX_DIMS];
};

/* The memory of a tensor. */
struct uk_storage {
    const struct uk_tensor *tensor;
    char *base;
    int64_t elements;
    enum uk_scope scope; /* of the buffer that contains it */
    /* Each thread has its own, one after the other; `base` and `elements` are thread 0's. */
    bool is_private;
    /* The accesses to each element (race.c); NULL: races are not checked. */
    struct uk_shadow *shadow;
    double *by; /* allowed deviation of each element (deviation.c); NULL: all are exact */
};

struct uk_frame {
    struct uk_context *context;
    struct uk_arena arena; /* freed at the end of the run */
    const int64_t *size;
    const double *scalar;
    const struct uk_scalar *scalars; /* the list that gives their numbers */
    int64_t *slot;                   /* values of iterators and loop variables, by uk_var.slot */
    int slots;
    struct uk_storage *storage;
    int storages;
    const struct uk_buffer *buffers; /* of a function: the first storages, in this order */
    int fill;                        /* the byte that they are filled with */
    bool in_parallel;
    struct uk_races *races; /* of a function with kernels; else NULL */
    bool in_kernel;
    int64_t thread, threads; /* the running thread of the block; the maximum per block */
    enum uk_status status;   /* the first error of the run */
    bool overflow;
    bool flushes; /* from struct uk_elements */
};

/* A value expression prepared for evaluation. */
struct uk_code {
    enum uk_expr_op op;
    enum uk_type type, from; /* from: the type of the operands (casts, comparisons) */
    union uk_value value;    /* NUMBER, SCALAR */
    struct uk_flat address;  /* ACCESS, INDEX */
    struct uk_storage *storage;
    struct uk_flat *logical; /* PAD: the subscripts, compared with extent */
    int64_t *extent;
    int dims;
    struct uk_code *arg[3];
};

/* One access and the ranges of its subscripts. */
struct uk_bounds {
    const struct uk_access *access;
    struct uk_flat index[UK_MAX_DIMS];
    int64_t extent[UK_MAX_DIMS];
    struct uk_bounds *next;
};

/* Races (race.c): uk_races_begin allocates the records, after all storages exist; uk_races_launch,
 * _block and _barrier begin an epoch; uk_race records an access by the current thread. */
bool uk_races_begin(struct uk_frame *f);
void uk_races_launch(struct uk_frame *f, const struct uk_node *launch);
void uk_races_block(struct uk_frame *f);
void uk_races_barrier(struct uk_frame *f);
void uk_race(struct uk_frame *f, const struct uk_storage *s, int64_t at, bool writes);
struct uk_shadow *uk_shadow_at(const struct uk_storage *s, int64_t element);

/* Records an access and returns the element's place, in registers the thread's own. */
static inline int64_t uk_record_access(struct uk_frame *f, const struct uk_storage *s, int64_t at,
                                       bool writes) {
    if (s->shadow)
        uk_race(f, s, at, writes);
    return s->is_private ? at + f->thread * s->elements : at;
}

/* Records "<name> <what>" as the run's error unless it has one. Returns false. */
bool uk_frame_fail(struct uk_frame *f, enum uk_status status, struct uk_position at, const char *name,
                   const char *what);
int64_t uk_frame_value(const struct uk_var *v, void *frame);
/* Adds coefficient * e to *out; false: an integer overflowed. */
bool uk_flatten(struct uk_frame *f, const struct uk_index *e, int64_t coefficient, struct uk_flat *out);
int64_t uk_flat_value(struct uk_frame *f, const struct uk_flat *x);
/* The address of an access with logical indices or, as in the loop IR, with stored ones. */
bool uk_flatten_access(struct uk_frame *f, const struct uk_access *a, bool stored, struct uk_flat *out);
struct uk_storage *uk_find_storage(struct uk_frame *f, const struct uk_tensor *t);
/* NULL: f->status has the error. */
struct uk_code *uk_compile_value(struct uk_frame *f, const struct uk_expr *e, bool stored);
union uk_value uk_run_value(struct uk_frame *f, const struct uk_code *c);
bool uk_compare_values(enum uk_expr_op op, enum uk_type t, union uk_value a, union uk_value b);
/* True if all subscripts of the pad are inside. */
bool uk_inside(struct uk_frame *f, const struct uk_code *pad);

/* Evaluation at many indices of an iterator at once (block.c). */
enum { UK_BLOCK = 128 };
/* True if the pad's subscripts do not depend on the iterator of that slot: inside at all of its indices or at
 * none. */
bool uk_pad_is_uniform(const struct uk_code *pad, int slot);
/* True if the expression can be evaluated in blocks along the iterator of that slot. Requires that the
 * statement reads no element of its target other than the one that it writes. */
bool uk_has_blocks(const struct uk_code *c, int slot);
/* Sets value[i], i < n <= UK_BLOCK, to the result of uk_run_value() at index f->slot[slot] + i. */
void uk_run_block(struct uk_frame *f, const struct uk_code *c, int slot, int n, union uk_value *value);
/* sum[i] = uk_reduced(sum[i], term[i]) for i < n. */
void uk_reduce_block(enum uk_expr_op op, enum uk_type t, int n, union uk_value *sum,
                     const union uk_value *term);
/* Assigns or combines with the element, rounded to the type. */
void uk_assign_value(enum uk_assign assign, const struct uk_storage *s, int64_t element, union uk_value v);

/* A value and its allowed deviation: other code that computes it may differ by that much. */
struct uk_within {
    union uk_value value;
    double by;
};
/* State of a reduction or scan with deviations (deviation.c). */
struct uk_within_sum {
    struct uk_within partial;
    double magnitude; /* a sum of floats: sum of the absolute values of its terms */
    int64_t terms;
    bool is_integer; /* all terms are integers */
};
struct uk_within uk_within_value(struct uk_frame *f, const struct uk_code *c);
void uk_within_begin(struct uk_within_sum *s, union uk_value initial);
void uk_within_add(struct uk_within_sum *s, enum uk_expr_op op, enum uk_type t, struct uk_within term);
/* The result of the reduction and its allowed deviation. */
struct uk_within uk_within_end(const struct uk_frame *f, const struct uk_within_sum *s, enum uk_expr_op op,
                               enum uk_type t);

/* Callbacks of uk_visit_statement, which goes through a statement element by element.
 *
 *     prepare   false: skip the statement; may be NULL
 *     begin     false: skip the element
 *     term      called for each term of the element's sum, or once if there is none, with the iterators'
 * slots set end       called after the last term */
struct uk_visit {
    const struct uk_statement *statement;
    struct uk_storage *target;
    const struct uk_code *right;
    union uk_value initial; /* of the sum */
    bool goes_on;           /* a scan's element other than the first */
    void *user;
    bool (*prepare)(struct uk_visit *v);
    bool (*begin)(struct uk_visit *v, int64_t element);
    void (*term)(struct uk_visit *v);
    void (*end)(struct uk_visit *v, int64_t element);
};
/* Subscripts are checked where they are used. */
enum uk_status uk_visit_statement(struct uk_frame *f, struct uk_statement *s, struct uk_visit *v);
/* The operation that combines a further value with the present one. */
enum uk_expr_op uk_assign_op(enum uk_assign assign);
enum uk_expr_op uk_reduce_op(enum uk_reduce reduce);

/* Runs the declaration's statements in this form. */
enum uk_status uk_run_form(struct uk_frame *f, const struct uk_intrinsic *i, enum uk_form_kind form);
/* Runs one statement as written (form COMPUTE), or its reset or update form; check_only: only checks its
 * subscripts. */
enum uk_status uk_run_statement(struct uk_frame *f, struct uk_statement *s, enum uk_form_kind form,
                                bool check_only);
/* Checks the elements that the statement uses as subscripts (element.c). */
enum uk_status uk_check_elements(struct uk_frame *f, struct uk_statement *s);
/* True if lower <= value < upper, for an element used as a subscript; otherwise that is the run's error. */
bool uk_check_element(struct uk_frame *f, const struct uk_index *element, int64_t value, int64_t lower,
                      int64_t upper, struct uk_position at);
/* Implements uk_interpret_points after every tensor has its storage. */
enum uk_status uk_run_points(struct uk_frame *f, struct uk_statement *s, enum uk_form_kind form,
                             const struct uk_points *points);
/* UK_INVALID_ARGUMENT if an array that the program needs is NULL. */
enum uk_status uk_check_values(struct uk_program *p, const struct uk_values *v);
/* Gives each tensor its storage; does not check subscripts. */
enum uk_status uk_prepare_storage(struct uk_frame *f, struct uk_program *p, void *const *tensor,
                                  enum uk_status broken);
/* Gives each tensor its storage, and checks that sizes are not negative, nothing overflows, assumptions hold
 * and subscripts are inside. */
enum uk_status uk_prepare(struct uk_frame *f, struct uk_program *p, void *const *tensor,
                          enum uk_status broken);

#endif
