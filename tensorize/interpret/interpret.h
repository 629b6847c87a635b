/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room interpret: the meaning of a program, statement by statement and loop by loop; its results are correct
 * by definition. It uses language, polyhedra (rules of programs) and target (deviations that code is
 * allowed). Before a run, expressions are compiled: sizes become numbers, and addresses linear functions of
 * numbered variables. Data: struct uk_values (the inputs of a run), uk_frame (a run), uk_code (an expression
 * ready to run).
 *
 * Words: a *form* is one of the three functions of a kernel (enum uk_form_kind: compute, reset, update). The
 * *written tensor* is that on a statement's left side. An *element* is given by its offset from the tensor's
 * origin, in elements.
 */
#ifndef UK_INTERPRET_H
#define UK_INTERPRET_H

#include "language/language.h"

/* Inputs: sizes by number, scalars as double, tensors as addresses of their origins. */
struct uk_values {
    const int64_t *size;
    const double *scalar;
    void *const *tensor; /* in the order of the program's tensors (temps: NULL, allocated for the run) */
};
/* Runs the statements in order; every operation rounds to its type. uk_interpret_form runs the given form of
 * a declaration. If they fail, nothing has been written; except that after UK_INVALID_INDEX the statements
 * before the failing one have been executed. */
enum uk_status uk_interpret(struct uk_program *p, const struct uk_values *v);
enum uk_status uk_interpret_form(struct uk_intrinsic *i, enum uk_form_kind form, const struct uk_values *v);
/* Runs the loop IR on the function's tensors in their order (temps: NULL). A call of a kernel runs its
 * declaration. Buffers are first filled with the byte `workspace_fill`. */
enum uk_status uk_interpret_function(struct uk_function *f, const struct uk_values *v, int workspace_fill);

/* A number of an element type. */
union uk_value {
    int64_t i; /* of an integer type; u64: its bits */
    double d;  /* of a float type, rounded to it */
};

/* Points of a statement's left side, at which elements are computed. */
struct uk_points {
    int count;
    const int64_t *index;  /* in: for each point, the values of the left side's iterators, in order */
    int64_t *element;      /* out: the element at the point */
    union uk_value *value; /* out: the value that it gets */
};
/* Computes the form only at these points and writes nothing to tensors; the declaration has one statement,
 * which is not a scan. UK_UNSUPPORTED: the ranges of the iterators alone do not prove that all subscripts are
 * inside their tensors. */
enum uk_status uk_interpret_points(struct uk_intrinsic *i, enum uk_form_kind form, const struct uk_values *v,
                                   const struct uk_points *points);

/* Elements of one tensor whose values after a run are wanted. */
struct uk_elements {
    int tensor; /* number of the tensor in the program */
    int64_t count;
    const int64_t *element; /* in: the elements */
    void *result;           /* out: their values, in the tensor's type */
    /* out: the deviation that compiled code is allowed, because it may add the terms of a sum in another
     * order, add products unrounded, and approximate functions differently. */
    double *by;
    bool flushes; /* code may flush subnormal f32 numbers to 0 */
    /* Sums of products of f16 or bf16 may take subnormal numbers as 0, and give 0 for subnormal sums. */
    bool matrix_flushes;
};
/* points.c: computes these elements, and those that they need; writes nothing else. */
enum uk_status uk_interpret_elements(struct uk_program *p, const struct uk_values *v,
                                     const struct uk_elements *e);

/* ---- activation.c: functions that the C library lacks ---- */

double uk_real_gelu(double x);
double uk_real_gelu_tanh(double x);
double uk_real_swish(double x, double factor);

/* ---- number.c: arithmetic of the element types ---- */

double uk_round_to(enum uk_type t, double v);
union uk_value uk_wrap_to(enum uk_type t, uint64_t v);
/* True if a < b, of an integer type. */
static inline bool uk_is_less(enum uk_type t, union uk_value a, union uk_value b) {
    return t == UK_U64 ? (uint64_t)a.i < (uint64_t)b.i : a.i < b.i;
}
/* Element number `element` of the array at `base`. */
union uk_value uk_load(enum uk_type t, const void *base, int64_t element);
void uk_store(enum uk_type t, void *base, int64_t element, union uk_value v);
union uk_value uk_convert(enum uk_type from, enum uk_type to, union uk_value v);
union uk_value uk_binary(enum uk_expr_op op, enum uk_type t, union uk_value a, union uk_value b);
/* uk_binary for one more term of a reduction. A reduction has no order, so min and max of floats are NaN if
 * any term is. */
union uk_value uk_reduced(enum uk_expr_op op, enum uk_type t, union uk_value sum, union uk_value term);
union uk_value uk_unary(enum uk_expr_op op, enum uk_type t, union uk_value a);

enum { UK_FLAT_TERMS = 16 };

/* An integer expression: constant + the sum of coefficient[i] * (value in slot[i]), i < terms, + the sum of
 * tree_coefficient[i] * (value of the nonlinear expression tree[i]), i < trees. */
struct uk_flat {
    int64_t constant;
    int terms, trees;
    int slot[UK_FLAT_TERMS]; /* uk_var.slot of iterators and loop variables */
    int64_t coefficient[UK_FLAT_TERMS];
    const struct uk_index *tree[UK_MAX_DIMS];
    int64_t tree_coefficient[UK_MAX_DIMS];
};

/* The memory of a tensor. */
struct uk_storage {
    const struct uk_tensor *tensor;
    char *base;          /* address of the origin */
    int64_t elements;    /* number of elements from the origin to the last one */
    enum uk_scope scope; /* memory scope of the buffer that contains it */
    /* Each thread has memory of its own, one thread after the other; `base` and `elements` are those of
     * thread 0. */
    bool is_private;
    struct uk_shadow *shadow; /* records of the accesses to each element (race.c); NULL: not checked */
    double *by;               /* allowed deviation of each element (deviation.c); NULL: all are exact */
};

/* The state of a run, of a program or of a function of the loop IR. */
struct uk_frame {
    struct uk_context *context;
    struct uk_arena arena; /* freed at the end of the run */
    const int64_t *size;
    const double *scalar;
    const struct uk_scalar *scalars; /* the program's list, whose order numbers them */
    int64_t *slot;                   /* values of iterators and loop variables, by uk_var.slot */
    int slots;
    struct uk_storage *storage;
    int storages;
    /* A function's buffers; storage[0], storage[1], .. belong to them, in the order of this list. */
    const struct uk_buffer *buffers;
    int fill;         /* the byte that buffers are filled with */
    bool in_parallel; /* inside a parallel loop */
    /* In a function that launches GPU kernels: what race.c records; else NULL. */
    struct uk_races *races;
    bool in_kernel;          /* inside a launch */
    int64_t thread, threads; /* number of the running thread in its block; maximum of threads per block */
    bool only_checks;        /* no element is accessed, so temps get no memory */
    enum uk_status status;   /* the first error of the run */
    bool overflow;           /* an integer expression has exceeded 64 bits */
    bool flushes;            /* as in struct uk_elements */
    bool matrix_flushes;     /* as in struct uk_elements, for the present statement */
};

/* A value expression prepared for evaluation. */
struct uk_code {
    enum uk_expr_op op;
    enum uk_type type, from;    /* from: the type of the operands (casts, comparisons) */
    union uk_value value;       /* NUMBER, SCALAR */
    struct uk_flat address;     /* ACCESS: the element; INDEX: the value */
    struct uk_storage *storage; /* ACCESS */
    /* PAD: its `dims` subscripts; the value is arg[0] if 0 <= logical[d] < extent[d] for all of them, else
     * arg[1]. */
    struct uk_flat *logical;
    int64_t *extent;
    int dims;
    struct uk_code *arg[3];
};

/* An access whose subscripts have to be checked when they are used: index[d] is to be in 0..extent[d] - 1. */
struct uk_bounds {
    const struct uk_access *access;
    struct uk_flat index[UK_MAX_DIMS];
    int64_t extent[UK_MAX_DIMS];
    struct uk_bounds *next;
};

/* ---- race.c: races between the threads of a GPU kernel ----
 *
 * Two accesses race if different threads make them without a barrier between them and one is a write. Time is
 * divided into epochs: a launch, a block and a barrier each begin one. */

/* Allocates the records, after all storages exist. False: no memory. */
bool uk_races_begin(struct uk_frame *f);
/* Begin an epoch. */
void uk_races_launch(struct uk_frame *f, const struct uk_node *launch);
void uk_races_block(struct uk_frame *f);
void uk_races_barrier(struct uk_frame *f);
/* Records an access to element `at` by the current thread; a race becomes the run's error. */
void uk_race(struct uk_frame *f, const struct uk_storage *s, int64_t at, bool writes);
struct uk_shadow *uk_shadow_at(const struct uk_storage *s, int64_t element);

/* Records an access to element `at` and returns its number in the storage; if the storage is private, that in
 * the memory of the current thread. */
static inline int64_t uk_record_access(struct uk_frame *f, const struct uk_storage *s, int64_t at,
                                       bool writes) {
    if (s->shadow)
        uk_race(f, s, at, writes);
    return s->is_private ? at + f->thread * s->elements : at;
}

/* Records "<name> <what>" as the run's error unless it has one. Returns false. */
bool uk_frame_fail(struct uk_frame *f, enum uk_status status, struct uk_position at, const char *name,
                   const char *what);
/* The value of a size, iterator or loop variable in the run; `frame` is a struct uk_frame. For
 * uk_index_eval. */
int64_t uk_frame_value(const struct uk_var *v, void *frame);
/* Adds coefficient * e to *out; false: an integer overflowed. */
bool uk_flatten(struct uk_frame *f, const struct uk_index *e, int64_t coefficient, struct uk_flat *out);
int64_t uk_flat_value(struct uk_frame *f, const struct uk_flat *x);
/* The element of an access, as an expression. stored: the access has indices of stored dimensions, as in the
 * loop IR, not logical ones. False: f->status has the error, or an integer overflowed. */
bool uk_flatten_access(struct uk_frame *f, const struct uk_access *a, bool stored, struct uk_flat *out);
struct uk_storage *uk_find_storage(struct uk_frame *f, const struct uk_tensor *t);
/* Prepares a value expression; `stored` as above. NULL: f->status has the error. */
struct uk_code *uk_compile_value(struct uk_frame *f, const struct uk_expr *e, bool stored);
union uk_value uk_run_value(struct uk_frame *f, const struct uk_code *c);
bool uk_compare_values(enum uk_expr_op op, enum uk_type t, union uk_value a, union uk_value b);
/* True if all subscripts of the pad are inside the tensor's shape. */
bool uk_inside(struct uk_frame *f, const struct uk_code *pad);

/* ---- block.c: evaluation at many indices of an iterator at once ---- */

enum { UK_BLOCK = 128 }; /* maximum number of indices */
/* True if the pad's subscripts do not depend on the iterator of that slot: inside at all of its indices or at
 * none. */
bool uk_pad_is_uniform(const struct uk_code *pad, int slot);
/* True if the expression can be evaluated in blocks along the iterator of that slot. Requires that each
 * instance of the statement reads no element of the written tensor except the one that it writes. */
bool uk_has_blocks(const struct uk_code *c, int slot);
/* Sets value[i], i < n <= UK_BLOCK, to the result of uk_run_value() at index f->slot[slot] + i. */
void uk_run_block(struct uk_frame *f, const struct uk_code *c, int slot, int n, union uk_value *value);
/* sum[i] = uk_reduced(sum[i], term[i]) for i < n. */
void uk_reduce_block(enum uk_expr_op op, enum uk_type t, int n, union uk_value *sum,
                     const union uk_value *term);
/* Stores v in the element, or combines v with it, as `assign` says; rounds to the type. */
void uk_assign_value(enum uk_assign assign, const struct uk_storage *s, int64_t element, union uk_value v);

/* ---- deviation.c: allowed deviations ---- */

/* A value and the largest absolute difference from it that compiled code may have. */
struct uk_bounded_value {
    union uk_value value;
    double deviation;
};
/* State of a reduction or scan with deviations. */
struct uk_bounded_sum {
    struct uk_bounded_value partial;
    double magnitude; /* a sum of floats: sum of the absolute values of its terms */
    int64_t terms;
    bool is_integer; /* all terms are integers */
};
struct uk_bounded_value uk_bounded_value_of(struct uk_frame *f, const struct uk_code *c);
void uk_bounded_sum_begin(struct uk_bounded_sum *s, union uk_value initial);
void uk_bounded_sum_add(struct uk_bounded_sum *s, enum uk_expr_op op, enum uk_type t,
                        struct uk_bounded_value term);
/* The result of the reduction and its allowed deviation. */
struct uk_bounded_value uk_bounded_sum_end(const struct uk_frame *f, const struct uk_bounded_sum *s,
                                           enum uk_expr_op op, enum uk_type t);

/* Callbacks of uk_visit_statement, which goes through a statement element by element.
 *
 *     prepare   called once, before the first element; false: skip the statement; may be NULL
 *     begin     called before the terms of an element; false: skip the element
 *     term      called for each term of the element's sum, or once if the right side is no sum; the slots of
 *               all iterators are set
 *     end       called after the last term
 *
 * The caller sets `user` and the callbacks; uk_visit_statement sets the rest. */
struct uk_visit {
    const struct uk_statement *statement;
    struct uk_storage *target; /* of the written tensor */
    const struct uk_code *right;
    union uk_value initial; /* value of an empty sum */
    bool continues_scan;    /* the element continues a scan: it is not the first one */
    void *user;
    bool (*prepare)(struct uk_visit *v);
    bool (*begin)(struct uk_visit *v, int64_t element);
    void (*term)(struct uk_visit *v);
    void (*end)(struct uk_visit *v, int64_t element);
};
/* Visits the statement's elements. Does not check all subscripts beforehand, as uk_prepare does: a subscript
 * that is outside of its tensor fails when an instance with it is visited. */
enum uk_status uk_visit_statement(struct uk_frame *f, struct uk_statement *s, struct uk_visit *v);
/* The operation that combines a new value, or term, with the present one. */
enum uk_expr_op uk_assign_op(enum uk_assign assign);
enum uk_expr_op uk_reduce_op(enum uk_reduce reduce);

/* Runs this form of the declaration: the statement that it computes, and before it, unless the form is reset,
 * the earlier ones, which copy. */
enum uk_status uk_run_form(struct uk_frame *f, const struct uk_intrinsic *i, enum uk_form_kind form);
/* Runs one statement as written (UK_FORM_COMPUTE), or its reset or update form. check_only: only checks its
 * subscripts and writes nothing. */
enum uk_status uk_run_statement(struct uk_frame *f, struct uk_statement *s, enum uk_form_kind form,
                                bool check_only);
/* element.c: checks the values of all elements that the statement uses as subscripts. */
enum uk_status uk_check_elements(struct uk_frame *f, struct uk_statement *s);
/* Checks the value of an element that is used as a subscript. False: it is not in lower..upper - 1, which
 * becomes the run's error, or the run has one already. */
bool uk_check_element(struct uk_frame *f, const struct uk_index *element, int64_t value, int64_t lower,
                      int64_t upper, struct uk_position at);
/* Implements uk_interpret_points after every tensor has its storage. */
enum uk_status uk_run_points(struct uk_frame *f, struct uk_statement *s, enum uk_form_kind form,
                             const struct uk_points *points);
/* UK_INVALID_ARGUMENT if an array that the program needs is NULL. */
enum uk_status uk_check_values(struct uk_program *p, const struct uk_values *v);
/* Gives each tensor its storage, at tensor[n] for tensor number n. Fails with `broken` if an assumption does
 * not hold, with another status if an extent is negative or overflows. Does not check subscripts. */
enum uk_status uk_prepare_storage(struct uk_frame *f, struct uk_program *p, void *const *tensor,
                                  enum uk_status broken);
/* uk_prepare_storage, which then checks that the subscripts of all statements are inside their tensors. */
enum uk_status uk_prepare(struct uk_frame *f, struct uk_program *p, void *const *tensor,
                          enum uk_status broken);

#endif
