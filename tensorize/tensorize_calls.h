/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of libuktensorize that are built by calls. A part of tensorize.h, which includes it and has the
 * rules for all functions. */
#ifndef UK_TENSORIZE_CALLS_H
#define UK_TENSORIZE_CALLS_H

#include "tensorize.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* ---- programs by calls ----
 *
 * The calls below build the same program as a text; C = A * B for instance:
 *
 *     struct uk_program *p;
 *     uk_program_create(c, "matmul", &p);
 *     struct uk_index *M = uk_size(p, "M"), *K = uk_size(p, "K"), *N = uk_size(p, "N");
 *     struct uk_index *m = uk_iterator(p, "m"), *n = uk_iterator(p, "n"), *k = uk_iterator(p, "k");
 *     struct uk_tensor *A = uk_tensor(p, "A", UK_F32, 2, (struct uk_index *[]){M, K}, NULL);
 *     struct uk_tensor *B = uk_tensor(p, "B", UK_F32, 2, (struct uk_index *[]){K, N}, NULL);
 *     struct uk_tensor *C = uk_tensor(p, "C", UK_F32, 2, (struct uk_index *[]){M, N}, NULL);
 *     struct uk_expr *product = uk_multiply(p, uk_element(p, A, (struct uk_index *[]){m, k}),
 *                                           uk_element(p, B, (struct uk_index *[]){k, n}));
 *     uk_statement(p, NULL, C, (struct uk_index *[]){m, n}, UK_ASSIGN,
 *                  &(struct uk_reduction){.kind = UK_REDUCE_SUM, .iterators = 1, .iterator = {k}}, product);
 *     uk_tile(p, "C.n", "C.m", 16, 6, (const char *[]){"no", "mo", "ni", "mi"});
 *     uk_reorder(p, 2, (const char *[]){"mi", "ni"});
 *     uk_pack(p, "B", "no", 16, -1, "BP");
 *     uk_tensorize(p, "mi", "auto");
 *     if (uk_compile(p, &(struct uk_options){.target = "x86_64-avx2"}, &module))
 *         fprintf(stderr, "%s\n", uk_context_message(c));
 *
 * A program without steps gets an automatic schedule. If one of the calls fails, uk_compile() returns the
 * failure.
 *
 * Handles belong to the program, may be used any number of times, and are freed with it. A call that fails
 * returns NULL and makes the program's status sticky. This NULL, or a program that is NULL, may be passed to
 * further calls, which then do nothing. uk_program_check() checks the rules of the language, and so does
 * every other use of the program; a violation is sticky too. */
struct uk_index;  /* an integer over sizes, iterators and constants; or a relation between two of them */
struct uk_expr;   /* a value over elements of tensors, scalars and numbers; or a comparison of two of them */
struct uk_tensor; /* write `struct` in C++ too: a function has the same name */

/* Makes an empty program. `name` is that of the generated function: a C identifier that is not a word of C or
 * C++ or a name of their libraries. On failure *out is NULL: UK_INVALID_ARGUMENT, UK_OUT_OF_MEMORY. */
enum uk_status uk_program_create(struct uk_context *c, const char *name, struct uk_program **out);
/*
 * Checks the rules of the language:
 *
 * - names, ranges of iterators, types; a violation is sticky;
 * - that a layout gives each element a place of its own, and that temps are written before they are read.
 *   Both may depend on sizes that uk_program_define() makes constants; a violation is not sticky.
 */
enum uk_status uk_program_check(struct uk_program *p);

/* Operators have the same name for integers and for values: uk_index_add(), uk_add(). */

/* A size: an int64_t argument of the function, named by a C identifier. Its first use determines its place
 * among the arguments. */
struct uk_index *uk_size(struct uk_program *p, const char *name);
/* As uk_size(), with a default (>= 0), which `uk run` uses and automatic schedules assume. */
struct uk_index *uk_size_default(struct uk_program *p, const char *name, int64_t value);
/* An iterator of statements. Its range follows from the dimensions that it indexes alone. */
struct uk_index *uk_iterator(struct uk_program *p, const char *name);
/* A constant integer. */
struct uk_index *uk_integer(struct uk_program *p, int64_t value);
/* The sum and the difference. */
struct uk_index *uk_index_add(struct uk_program *p, struct uk_index *a, struct uk_index *b);
struct uk_index *uk_index_subtract(struct uk_program *p, struct uk_index *a, struct uk_index *b);
/* The product. One side must be a constant; strides may also multiply sizes. */
struct uk_index *uk_index_multiply(struct uk_program *p, struct uk_index *a, struct uk_index *b);
/* The quotient rounded down, and its remainder (0 <= remainder < divisor). The divisor is a constant > 0. */
struct uk_index *uk_index_floordiv(struct uk_program *p, struct uk_index *a, int64_t divisor);
struct uk_index *uk_index_mod(struct uk_program *p, struct uk_index *a, int64_t divisor);
/* tensor[index...], an element of a tensor of integers (one index per dimension), as a whole subscript of an
 * element that a statement reads or writes. Before the statement runs, all such elements are tested; the
 * function returns UK_INVALID_INDEX if one is outside its dimension. Instances of a statement that write one
 * element do so in the order of the statement's iterators. */
struct uk_index *uk_index_element(struct uk_program *p, struct uk_tensor *t, struct uk_index *const index[]);
/* As the element, but counts from the end if it is negative: the extent of the dimension that it is a
 * subscript of is added. */
struct uk_index *uk_index_wrap(struct uk_program *p, struct uk_index *element);

enum uk_relation { UK_EQUAL, UK_NOT_EQUAL, UK_LESS, UK_LESS_EQUAL, UK_GREATER, UK_GREATER_EQUAL };
/* A relation between two integers, for assumptions and `where`. */
struct uk_index *uk_index_compare(struct uk_program *p, enum uk_relation r, struct uk_index *a,
                                  struct uk_index *b);
/* True if both relations are. */
struct uk_index *uk_index_and(struct uk_program *p, struct uk_index *a, struct uk_index *b);
/* Assumes the relation. The function tests it at entry and returns UK_INVALID_SIZE if it does not hold. */
void uk_assume(struct uk_program *p, struct uk_index *relation);

/* uk_tensor() makes a tensor argument; uk_temp() makes a temp, which lives in the workspace. dims is at
 * most 8. shape has one extent per dimension; strides has one distance in elements per dimension; NULL:
 * row-major. */
struct uk_tensor *uk_tensor(struct uk_program *p, const char *name, enum uk_type type, int dims,
                            struct uk_index *const shape[], struct uk_index *const strides[]);
struct uk_tensor *uk_temp(struct uk_program *p, const char *name, enum uk_type type, int dims,
                          struct uk_index *const shape[], struct uk_index *const strides[]);
/* Gives the tensor a layout: a map as in the text, "(i, p) -> [p / 4, i, p % 4]". Strides are then given here
 * (one per stored dimension, in elements; NULL: contiguous), and NULL to uk_tensor(). */
void uk_tensor_layout(struct uk_program *p, struct uk_tensor *t, const char *map,
                      struct uk_index *const strides[]);
/* States that the origin's address is a multiple of `bytes`, a power of two. The function checks it at entry
 * and returns UK_INVALID_ARGUMENT if it is not. */
void uk_tensor_align(struct uk_program *p, struct uk_tensor *t, int bytes);
/* Gives, per dimension, extents that include elements beyond the shape. Kernels may read these; their values
 * have no effect. */
void uk_tensor_over(struct uk_program *p, struct uk_tensor *t, struct uk_index *const over[]);
/* States that the tensor has the same values in every call. Copies that the schedule makes of it alone are
 * made ahead, by NAME_pack_TENSOR (see "constant tensors" below). */
void uk_tensor_constant(struct uk_program *p, struct uk_tensor *t);
/* States that no element of a tensor of floats is infinite or NaN. If one is, values computed from it are
 * unspecified. */
void uk_tensor_finite(struct uk_program *p, struct uk_tensor *t);
/* Sets the memory of a temp: global; on GPUs also shared by a block, or registers of a thread. */
enum uk_scope { UK_SCOPE_GLOBAL, UK_SCOPE_SHARED, UK_SCOPE_REGISTER };
void uk_tensor_scope(struct uk_program *p, struct uk_tensor *t, enum uk_scope scope);
/* A scalar argument of the function, as a value. */
struct uk_expr *uk_scalar(struct uk_program *p, const char *name, enum uk_type type);

/* tensor[index...], an element as a value, with one index per dimension of the tensor. */
struct uk_expr *uk_element(struct uk_program *p, struct uk_tensor *t, struct uk_index *const index[]);
/* The element, or `outside` if an index is outside the shape. */
struct uk_expr *uk_pad(struct uk_program *p, struct uk_expr *element, struct uk_expr *outside);
/* Constants, not NaN. A constant takes the type of the operand that it is combined with. uk_number() makes an
 * integer if the value is one and its magnitude is below 2^53, else a real number. uk_real_number() makes a
 * real number (2.0 in the text), which is refused where an integer is required. */
struct uk_expr *uk_number(struct uk_program *p, double value);
struct uk_expr *uk_integer_number(struct uk_program *p, int64_t value);
struct uk_expr *uk_real_number(struct uk_program *p, double value);
/* The integer as a value of type i64. */
struct uk_expr *uk_index_value(struct uk_program *p, struct uk_index *index);
/* Arithmetic. Both operands have the same type, which is the result's. Integers wrap; each operation on
 * floats rounds to nearest, ties to even, but a product that is a term of a sum may be added unrounded.
 * uk_divide() takes floats only. */
struct uk_expr *uk_add(struct uk_program *p, struct uk_expr *a, struct uk_expr *b);
struct uk_expr *uk_subtract(struct uk_program *p, struct uk_expr *a, struct uk_expr *b);
struct uk_expr *uk_multiply(struct uk_program *p, struct uk_expr *a, struct uk_expr *b);
struct uk_expr *uk_divide(struct uk_program *p, struct uk_expr *a, struct uk_expr *b);
/* a << b and a >> b, of integers. >> keeps the sign of signed types. A negative b, or one of at least the
 * width of the type, shifts everything out. */
struct uk_expr *uk_shift_left(struct uk_program *p, struct uk_expr *a, struct uk_expr *b);
struct uk_expr *uk_shift_right(struct uk_program *p, struct uk_expr *a, struct uk_expr *b);
/* Bitwise and, exclusive or, inclusive or (& ^ | in the text), of integers. */
struct uk_expr *uk_bit_and(struct uk_program *p, struct uk_expr *a, struct uk_expr *b);
struct uk_expr *uk_bit_xor(struct uk_program *p, struct uk_expr *a, struct uk_expr *b);
struct uk_expr *uk_bit_or(struct uk_program *p, struct uk_expr *a, struct uk_expr *b);
/* The value with the opposite sign; of a zero float, the zero of the other sign. */
struct uk_expr *uk_negate(struct uk_program *p, struct uk_expr *a);
/*
 * Calls a function of the language with n arguments:
 *
 * - "min" and "max": two or more;
 * - "pow" (C99's, a to the power of b) and "swish" (a / (1 + exp(-a b))): two;
 * - "exp", "log" (natural), "tanh", "erf", "erfc", "log1p", "expm1", "sin", "cos", "tan", "asin", "acos",
 *   "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "gelu", "gelu_tanh", "sqrt", "abs", "floor",
 *   "ceil", "round" (to nearest, ties to even): one.
 */
struct uk_expr *uk_call(struct uk_program *p, const char *function, int n, struct uk_expr *const argument[]);
/* Converts the value to the type. Integers wrap; floats that become integers are truncated toward zero and
 * saturate; others are rounded to nearest. */
struct uk_expr *uk_cast(struct uk_program *p, enum uk_type type, struct uk_expr *a);
/* condition ? a : b. Conditions are comparisons, combined by uk_and(), uk_or() and uk_not(). */
struct uk_expr *uk_select(struct uk_program *p, struct uk_expr *condition, struct uk_expr *a,
                          struct uk_expr *b);
/* Conditions, for uk_select() only: comparisons of two values of one type, and their combinations. */
struct uk_expr *uk_compare(struct uk_program *p, enum uk_relation r, struct uk_expr *a, struct uk_expr *b);
struct uk_expr *uk_and(struct uk_program *p, struct uk_expr *a, struct uk_expr *b);
struct uk_expr *uk_or(struct uk_program *p, struct uk_expr *a, struct uk_expr *b);
struct uk_expr *uk_not(struct uk_program *p, struct uk_expr *a);

enum uk_assign { UK_ASSIGN, UK_ASSIGN_ADD, UK_ASSIGN_MULTIPLY, UK_ASSIGN_MAX, UK_ASSIGN_MIN };
enum uk_reduce { UK_REDUCE_NONE, UK_REDUCE_SUM, UK_REDUCE_PROD, UK_REDUCE_MAX, UK_REDUCE_MIN };
struct uk_reduction {
    enum uk_reduce kind;
    bool scan; /* inclusive scan along the iterators, which the left side has too */
    int iterators;
    struct uk_index *iterator[8];
    struct uk_index *where; /* only terms for which it holds are reduced; or NULL: all */
};
/* Adds tensor[index...] = value for all values of the iterators, optionally (else NULL) with a reduction
 * over some of them. `label` is the stage's name (NULL: the tensor's). There is one index per dimension:
 * an iterator, or an iterator plus an offset, or what uk_index_element() or uk_index_wrap() returns. With an
 * offset, even 0, the statement writes a part of the tensor. */
void uk_statement(struct uk_program *p, const char *label, struct uk_tensor *t,
                  struct uk_index *const index[], enum uk_assign assign, const struct uk_reduction *reduction,
                  struct uk_expr *value);
/* Sets the range of an iterator of the last statement: 0 <= iterator < extent, whatever it indexes, as
 * `where` does. */
void uk_statement_range(struct uk_program *p, struct uk_index *iterator, struct uk_index *extent);

/* A kernel of the caller. uk_intrinsic() takes its declaration, an `intrinsic ... end` text. The others take
 * the code that defines it: a file as for `pragma import` (relative paths start at the folder of the
 * program's file), LLVM IR as text, or C. Files are read when the program is compiled, even if no kernel of
 * them is used. */
void uk_intrinsic(struct uk_program *p, const char *text);
void uk_import_file(struct uk_program *p, const char *path);
void uk_import_llvm(struct uk_program *p, const char *text);
void uk_import_c(struct uk_program *p, const char *text);

/* Steps of the schedule, in order; their meaning is in uk.5. Loops are named "stage.loop" or "loop", places
 * "root" or a loop. The calls record steps; compiling the program checks them one by one and fails with the
 * reason at the first that is not legal. uk_step() takes any step as text. */
void uk_step(struct uk_program *p, const char *text);
/* Begins one of at most four schedules, to which the following steps belong. `relation`: the sizes for which
 * it is taken, a relation over sizes or several of them joined by uk_index_and(). NULL: all sizes for which
 * no earlier schedule is; the last schedule has no relation, all others have one. Without this call the
 * program has one schedule. */
void uk_schedule_where(struct uk_program *p, struct uk_index *relation);
/* Splits the loop: loop = factor * outer + inner, factor >= 1. */
void uk_split(struct uk_program *p, const char *loop, int64_t factor, const char *outer, const char *inner);
/* As uk_split(), into `parts` iterations of the outer loop (>= 1). The inner loops have equal lengths except
 * the last. */
void uk_split_parts(struct uk_program *p, const char *loop, int64_t parts, const char *outer,
                    const char *inner);
/* Splits both loops by their factors and orders them: outer of a, outer of b, inner of a, inner of b. `names`
 * are in this order. */
void uk_tile(struct uk_program *p, const char *a, const char *b, int64_t factor_a, int64_t factor_b,
             const char *const names[4]);
/* Fuses two loops: name = a * extent(b) + b; b must be directly inside a. The extent must be a constant,
 * unless in every access of the stage the stride of a is that extent times the stride of b, by default
 * strides or by `assume`. The two are then one axis, which may be split and tensorized like any other. */
void uk_fuse(struct uk_program *p, const char *a, const char *b, const char *name);
/* Reorders n loops of one stage among their places, outermost first. The stage's other loops stay where they
 * are. */
void uk_reorder(struct uk_program *p, int n, const char *const loops[]);
/* Unrolls the loop. Its trip count must be a constant of at most 64, or 1024 together with the unrolled loops
 * around it. Where the last iterations are missing, a loop runs instead of the copies. */
void uk_unroll(struct uk_program *p, const char *loop);
/* Runs the innermost loop of a stage in vectors of the target. The loop may carry a reduction, whose terms
 * are then added in another order. Compiling fails if the target cannot vectorize the loop. */
void uk_vectorize(struct uk_program *p, const char *loop);
/* Runs the iterations of n directly nested loops in parallel, by uk_parallel_for(). They must be
 * independent. */
void uk_parallel(struct uk_program *p, int n, const char *const loops[]);
/* Maps the loop's iterations, which must be independent, to blocks of a GPU's grid or threads of a block.
 * Loops over blocks may share an axis. axis: "block.x" ... "thread.z". Available on targets of GPUs and
 * "interp". */
void uk_bind(struct uk_program *p, const char *loop, const char *axis);
/* Software pipelining: buffers in UK_SCOPE_SHARED that each iteration of the loop fills get `slots` slots, 2
 * to 4. The data of later iterations are loaded while the current ones are read. */
void uk_pipeline(struct uk_program *p, const char *loop, int slots);
/* Copies the part of the tensor that is used inside the place into panels of width `panel`; the last one is
 * padded with zeros. along: the dimension that is cut into panels, from 0; -1: the only one that no reduction
 * runs over. name: the copy's name, or NULL. place: also "stage.root". To select one of several accesses, use
 * uk_step(): "pack A[k, m] at root panel 8". */
void uk_pack(struct uk_program *p, const char *tensor, const char *place, int64_t panel, int along,
             const char *name);
/* Reads the tensor through a copy of the part that is used inside the place. name: the copy's name, or
 * NULL. */
void uk_cache_read(struct uk_program *p, const char *tensor, const char *place, enum uk_scope scope,
                   const char *name);
/* Computes into a buffer, which is copied to the tensor at the end of each iteration of the place. name: the
 * buffer's name, or NULL. */
void uk_cache_write(struct uk_program *p, const char *tensor, const char *place, enum uk_scope scope,
                    const char *name);
/* Computes the stage inside a loop of another stage, as much as one iteration of that loop needs.
 * uk_compute_at(): before the other stage uses it. uk_reverse_compute_at(): after the other stage, which it
 * reads (an epilogue). */
void uk_compute_at(struct uk_program *p, const char *stage, const char *loop);
void uk_reverse_compute_at(struct uk_program *p, const char *stage, const char *loop);
/* Replaces reads of the stage's tensor, a temp, by the stage's expression. */
void uk_compute_inline(struct uk_program *p, const char *stage);
/* Splits a reduction. The new stage `name` reduces over all loops except this one into a buffer, whose first
 * dimension (last, if the loop is the innermost one) is the loop; the stage then reduces over that dimension.
 * `name` keeps the loops and what was done to them; the loop carries no dependence there, so it may be
 * parallel or vectorized. The stage starts again with new loops, one per dimension of its output, and the
 * loop under its old name; earlier steps on the old loops apply to `name` only. */
void uk_rfactor(struct uk_program *p, const char *loop, const char *name);
/* Replaces the nest that begins with the loop by calls of the kernel, if it is proved that both compute the
 * same; else compiling fails with UK_NO_MATCH. kernel: a name of the registry or of an intrinsic of the
 * program, or "auto" for the kernel with the least estimated cost. */
void uk_tensorize(struct uk_program *p, const char *loop, const char *kernel);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
