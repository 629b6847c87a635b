/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room interpret: what a program means, statement by statement and loop by loop: the definition of right. It
 * uses language, for what programs must be, polyhedra, and for how far code may be from it, target. Inside,
 * expressions have their sizes filled in, and addresses are flat strides over numbered variables. Data:
 * struct uk_values (what a run is given), uk_frame (a run), uk_code (an expression ready to run).
 */
#ifndef UK_INTERPRET_H
#define UK_INTERPRET_H

#include "language/language.h"

/* Values for the interpreter: sizes by number, scalars as double, tensors as addresses of their origins. */
struct uk_values {
    const int64_t *size;
    const double *scalar;
    void *const *tensor; /* in the order of the program's tensors (temps: NULL, allocated inside) */
};
/* Runs the statements in order, every type with its own rounding. `init`: false runs `=` reductions as `+=`
 * (the update form of a declaration), true as written. Nothing is written unless it returns UK_OK, or
 * UK_INVALID_INDEX after other statements. */
enum uk_status uk_interpret(struct uk_program *p, const struct uk_values *v);
enum uk_status uk_interpret_form(struct uk_intrinsic *i, enum uk_form_kind form, const struct uk_values *v);
/* Runs the loop IR, on the function's tensors in their order (temps: NULL); calls run their declaration.
 * `workspace_fill` is the byte that buffers start with. */
enum uk_status uk_interpret_function(struct uk_function *f, const struct uk_values *v, int workspace_fill);

/* Of an integer type .i, of a float type .d (rounded to the type). */
union uk_value {
    int64_t i;
    double d;
};

/* Some indices of a left side: for each a value of every iterator, in order; where the element lies, from the
 * origin; and what it becomes. */
struct uk_points {
    int count;
    const int64_t *index;
    int64_t *element;
    union uk_value *value;
};
/* As uk_interpret_form, of a declaration with one statement, which is no scan, for these elements only, and
 * nothing is written. UK_UNSUPPORTED: what bounds the iterators alone does not show that all subscripts are
 * inside. */
enum uk_status uk_interpret_points(struct uk_intrinsic *i, enum uk_form_kind form, const struct uk_values *v,
                                   const struct uk_points *points);

/* As uk_interpret(), for some elements of one tensor alone and what these need (interpret_some.c):
 * element[i], from the origin, of tensor number `tensor` becomes element i of `result`, and by[i] is how far
 * other orders of sums, products that are added before they are rounded, and other means of computing
 * approximate functions may be from it. Nothing else is written. */
struct uk_elements {
    int tensor;
    int64_t count;
    const int64_t *element;
    void *result;
    double *by;
    bool flushes; /* code may take a subnormal f32 for 0 */
};
enum uk_status uk_interpret_elements(struct uk_program *p, const struct uk_values *v,
                                     const struct uk_elements *e);

/* Numbers (interpret_number.c). */
double uk_round_to(enum uk_type t, double v);
union uk_value uk_wrap_to(enum uk_type t, uint64_t v);
union uk_value uk_load(enum uk_type t, const void *base, int64_t element);
void uk_store(enum uk_type t, void *base, int64_t element, union uk_value v);
union uk_value uk_convert(enum uk_type from, enum uk_type to, union uk_value v);
union uk_value uk_binary(enum uk_expr_op op, enum uk_type t, union uk_value a, union uk_value b);
/* As uk_binary, for one more term of a reduction: it has no order, so that min and max of floats give NaN for
 * a NaN among the terms, wherever it stands. */
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

/* Memory that a tensor stands for. */
struct uk_storage {
    const struct uk_tensor *tensor;
    char *base;
    int64_t elements;
    enum uk_scope scope; /* of the buffer that it is in */
    bool is_private;     /* each thread's own, one after the other: `base` and `elements` are thread 0's */
    struct uk_shadow
        *shadow; /* the accesses of each element (interpret_race.c); NULL: races are not checked */
    double *by;  /* how far each element may be from its value (interpret_within.c); NULL: all are exact */
};

struct uk_frame {
    struct uk_context *context;
    struct uk_arena arena; /* of this run */
    const int64_t *size;
    const double *scalar;
    const struct uk_scalar *scalars; /* the list that they are numbered in */
    int64_t *slot;                   /* values of iterators and loop variables, by uk_var.slot */
    int slots;
    struct uk_storage *storage;
    int storages;
    const struct uk_buffer *buffers; /* of a function: the first storages, in this order */
    int fill;                        /* the byte that they begin with */
    bool in_parallel;
    struct uk_races *races; /* of a function with kernels; else NULL */
    bool in_kernel;
    int64_t thread, threads; /* the one of the block that runs; the most that a block has */
    enum uk_status status;   /* what went wrong while it ran */
    bool overflow;
    bool flushes; /* of struct uk_elements */
};

/* A value expression, ready to run. */
struct uk_code {
    enum uk_expr_op op;
    enum uk_type type, from; /* from: of the operands (casts, comparisons) */
    union uk_value value;    /* NUMBER, SCALAR */
    struct uk_flat address;  /* ACCESS, INDEX */
    struct uk_storage *storage;
    struct uk_flat *logical; /* PAD: the subscripts, compared with extent */
    int64_t *extent;
    int dims;
    struct uk_code *arg[3];
};

/* One access with what its subscripts may be. */
struct uk_bounds {
    const struct uk_access *access;
    struct uk_flat index[UK_MAX_DIMS];
    int64_t extent[UK_MAX_DIMS];
    struct uk_bounds *next;
};

/* Races (interpret_race.c): allocates the records, once all storages exist; begins an epoch; records a
 * thread's access. */
bool uk_races_begin(struct uk_frame *f);
void uk_races_launch(struct uk_frame *f, const struct uk_node *launch);
void uk_races_block(struct uk_frame *f);
void uk_races_barrier(struct uk_frame *f);
void uk_race(struct uk_frame *f, const struct uk_storage *s, int64_t at, bool writes);
struct uk_shadow *uk_shadow_at(const struct uk_storage *s, int64_t element);

/* Records an access, and returns the element's place: registers are the thread's own. */
static inline int64_t uk_touch(struct uk_frame *f, const struct uk_storage *s, int64_t at, bool writes) {
    if (s->shadow)
        uk_race(f, s, at, writes);
    return s->is_private ? at + f->thread * s->elements : at;
}

/* "<name> <what>" as the run's failure, unless it has one. Returns false. */
bool uk_frame_fail(struct uk_frame *f, enum uk_status status, struct uk_position at, const char *name,
                   const char *what);
int64_t uk_frame_value(const struct uk_var *v, void *frame);
/* Adds coefficient * e; false: an integer overflowed. */
bool uk_flatten(struct uk_frame *f, const struct uk_index *e, int64_t coefficient, struct uk_flat *out);
int64_t uk_flat_value(struct uk_frame *f, const struct uk_flat *x);
/* The address of an access: of logical indices, or of stored ones as in the loop IR. */
bool uk_flatten_access(struct uk_frame *f, const struct uk_access *a, bool stored, struct uk_flat *out);
struct uk_storage *uk_find_storage(struct uk_frame *f, const struct uk_tensor *t);
/* NULL: f->status says why. */
struct uk_code *uk_compile_value(struct uk_frame *f, const struct uk_expr *e, bool stored);
union uk_value uk_run_value(struct uk_frame *f, const struct uk_code *c);
bool uk_compare_values(enum uk_expr_op op, enum uk_type t, union uk_value a, union uk_value b);
/* Whether a PAD's element exists. */
bool uk_inside(struct uk_frame *f, const struct uk_code *pad);

/* Many indices of an iterator at a time (interpret_block.c). */
enum { UK_BLOCK = 128 };
/* Whether the pad's element is inside at all indices of the iterator of that slot, or at none. */
bool uk_is_inside_alike(const struct uk_code *pad, int slot);
/* Whether the expression can be computed in blocks along the iterator of that slot: the statement reads no
 * other element of what it writes than the one that it writes. */
bool uk_has_blocks(const struct uk_code *c, int slot);
/* value[i] at index f->slot[slot] + i, for n of them, at most UK_BLOCK: what uk_run_value() gives there. */
void uk_run_block(struct uk_frame *f, const struct uk_code *c, int slot, int n, union uk_value *value);
/* sum[i] = uk_reduced(sum[i], term[i]) for n of them. */
void uk_reduce_block(enum uk_expr_op op, enum uk_type t, int n, union uk_value *sum,
                     const union uk_value *term);
/* target = or op= value, rounded to the type. */
void uk_assign_value(enum uk_assign assign, const struct uk_storage *s, int64_t element, union uk_value v);

/* A value, and how far what computes the same by other means may be from it. */
struct uk_within {
    union uk_value value;
    double by;
};
/* A sum, product, minimum or maximum so far, and a scan's (interpret_within.c). */
struct uk_within_sum {
    struct uk_within so_far;
    double magnitude; /* of a sum of floats: of its terms */
    int64_t terms;
    bool is_whole; /* all of them are integers */
};
struct uk_within uk_within_value(struct uk_frame *f, const struct uk_code *c);
void uk_within_begin(struct uk_within_sum *s, union uk_value initial);
void uk_within_add(struct uk_within_sum *s, enum uk_expr_op op, enum uk_type t, struct uk_within term);
/* What the sum may be. */
struct uk_within uk_within_end(const struct uk_frame *f, const struct uk_within_sum *s, enum uk_expr_op op,
                               enum uk_type t);

/* A statement, element by element: `prepare`, or NULL, whether it is to be gone through at all, `begin` says
 * whether the element is wanted, `term` is called for each term of its sum, or once if there is none, with
 * the iterators' slots set, and `end` behind the last one. */
struct uk_visit {
    const struct uk_statement *statement;
    struct uk_storage *target;
    const struct uk_code *right;
    union uk_value initial; /* of the sum */
    bool goes_on;           /* a scan's element that is not the first */
    void *user;
    bool (*prepare)(struct uk_visit *v);
    bool (*begin)(struct uk_visit *v, int64_t element);
    void (*term)(struct uk_visit *v);
    void (*end)(struct uk_visit *v, int64_t element);
};
/* Subscripts are checked where they are used. */
enum uk_status uk_visit_statement(struct uk_frame *f, struct uk_statement *s, struct uk_visit *v);
/* What a further value is combined with what is there by. */
enum uk_expr_op uk_assign_op(enum uk_assign assign);
enum uk_expr_op uk_reduce_op(enum uk_reduce reduce);

/* Runs the declaration's statements in this form. */
enum uk_status uk_run_form(struct uk_frame *f, const struct uk_intrinsic *i, enum uk_form_kind form);
/* Runs one statement as it is (form COMPUTE), or its reset or update form; or only checks its subscripts. */
enum uk_status uk_run_statement(struct uk_frame *f, struct uk_statement *s, enum uk_form_kind form,
                                bool check_only);
/* Tests the elements that are subscripts in the statement (interpret_element.c). */
enum uk_status uk_check_elements(struct uk_frame *f, struct uk_statement *s);
/* Whether lower <= value < upper, for an element that is a subscript; if not, that is the run's failure. */
bool uk_check_element(struct uk_frame *f, const struct uk_index *element, int64_t value, int64_t lower,
                      int64_t upper, struct uk_position at);
/* What uk_interpret_points says, where every tensor has its storage. */
enum uk_status uk_run_points(struct uk_frame *f, struct uk_statement *s, enum uk_form_kind form,
                             const struct uk_points *points);
/* What the program needs is there. */
enum uk_status uk_check_values(struct uk_program *p, const struct uk_values *v);
/* Gives each tensor its storage; subscripts are not checked. */
enum uk_status uk_prepare_storage(struct uk_frame *f, struct uk_program *p, void *const *tensor,
                                  enum uk_status broken);
/* Sizes are not negative, nothing overflows, assumptions hold; gives each tensor its storage. */
enum uk_status uk_prepare(struct uk_frame *f, struct uk_program *p, void *const *tensor,
                          enum uk_status broken);

#endif
