/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libuktensorize: tensor expression -> schedule -> proven micro-kernel calls -> machine code.
 *
 * A program is written as text (the .uk language) or built by the calls below; both make the same object.
 * Steps change its schedule; they are checked when the program is compiled, and the first one that is not
 * legal is the error. uk_compile() turns a program into machine code in this process, uk_emit() into an
 * object, a header, assembly.
 *
 *     static const char text[] = "tensor A f32 [M, K]\n"
 *                                "tensor B f32 [K, N]\n"
 *                                "tensor C f32 [M, N]\n"
 *                                "C[m, n] = sum(k) A[m, k] * B[k, n]\n";
 *     int (*matmul)(int64_t M, int64_t K, int64_t N, const float *A, const float *B, float *C);
 *     struct uk_context *c = uk_context_create();
 *     struct uk_program *p = NULL;
 *     struct uk_module *m = NULL;
 *     if (uk_program_parse(c, "matmul.uk", text, strlen(text), &p) || uk_compile(p, NULL, &m)) {
 *         fprintf(stderr, "%s\n", uk_context_message(c));
 *     } else {
 *         void *address = uk_module_function(m);
 *         memcpy(&matmul, &address, sizeof matmul);
 *         status = matmul(2, 3, 2, a, b, result); // a: 2 x 3, b: 3 x 2, result: 2 x 2, all row-major
 *     }
 *     uk_module_destroy(m);
 *     uk_program_destroy(p);
 *     uk_context_destroy(c);
 *
 * Units: sizes, strides and offsets count elements; only alignments and workspaces count bytes. A tensor's
 * address is that of its origin, the element whose indices are all 0. f16 and bf16 elements and scalars are
 * passed as their bits, in uint16_t. GPUs: the function of a program that is compiled for one launches
 * kernels. It has the device, opened by uk_gpu_open() of gpu.h, as its first argument, and device addresses
 * in place of pointers, the workspace's among them:
 *
 *     int matmul(struct uk_gpu *gpu, int64_t M, int64_t K, int64_t N, uk_gpu_address A, uk_gpu_address B,
 *     uk_gpu_address C);
 *
 * It may return before the kernels have run: uk_gpu_wait() and downloads wait for them. The image is loaded
 * at the first call with a device. Threads: a context and all that was made with it belong to one thread at a
 * time; different contexts are independent. The generated function may be called from many threads at once.
 * Ownership: programs and modules are destroyed before their context, in any order among themselves; a module
 * of the target "interp" runs its program's loops, and is destroyed before the program. Destroying NULL does
 * nothing. Texts and bytes that a function returns through a char ** belong to the caller, who frees them
 * with uk_text_free(). Names and messages that are returned as const char * belong to the object that was
 * asked. Arguments are copied, or not needed after the call. Errors: functions return enum uk_status; the
 * text is in uk_context_message() until the next call with the same context. Outputs are NULL then, and the
 * program is as it was. Calls that build a program are sticky instead: after the first failure the later ones
 * do nothing, and the failure comes back from uk_program_status() and, with its message, from every use of
 * the program. The library prints nothing and does not end the process, except that LLVM and GMP end it where
 * their own allocations fail.
 */
#ifndef UK_TENSORIZE_H
#define UK_TENSORIZE_H

#include "ukernels.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct uk_context;
struct uk_program;
struct uk_module;
struct uk_options;

enum uk_type { UK_F64, UK_F32, UK_F16, UK_BF16, UK_I64, UK_I32, UK_I16, UK_I8, UK_U8, UK_TYPES };

/* The type's name in texts, "f32", and the bytes of an element. "no type" and 0: there is none. */
const char *uk_type_name(enum uk_type t);
size_t uk_type_bytes(enum uk_type t);

/* The version of the library that is loaded, as uk_version() is that of libukernels: "0.2.0". */
const char *uk_tensorize_version(void);

/* ---- context ---- */

/* Makes a context. NULL: no memory. */
struct uk_context *uk_context_create(void);
/* Frees the context, after everything that was made with it. */
void uk_context_destroy(struct uk_context *c);
/* The last error, "FILE:LINE:COLUMN: error: what; what to do", or "". Valid until the next call with c. For a
 * program made by calls the message has the function's name in place of the file, and the item that the call
 * makes in place of the line: "matmul: step 2: error: ...". Items are counted from 1 by kind (statement,
 * step, tensor, scalar, assumption, intrinsic, import); "before statement 2" is an expression that is made
 * before that statement. */
const char *uk_context_message(const struct uk_context *c);
/* Notes and warnings of the last call with c that succeeded, each ended by a newline; "" if there are none.
 * Notes, "FILE:LINE:COLUMN: note: ...", say for instance that a stage runs as plain loops, or that the kernel
 * of an imported object is called and not inlined. Warnings, "FILE:LINE:COLUMN: warning: ...", are about
 * probable mistakes. Valid until the next call. */
const char *uk_context_notes(const struct uk_context *c);
/* Frees a text that the library returned. */
void uk_text_free(char *text);

/* ---- programs from text ---- */

/* Parses and checks a whole program. `file` names it in messages and gives the function's name: its stem,
 * with _ for what is no letter or digit, before a digit in front, and behind a word of C, C++ or their
 * library (if_). The text need not end in a NUL; it is copied. On failure *out is NULL. */
enum uk_status uk_program_parse(struct uk_context *c, const char *file, const char *text, size_t length,
                                struct uk_program **out);
/* Replaces the program's steps by those of a text, a `schedule` section or the steps alone; `file` is its
 * name in messages. If the text does not parse the steps stay as they were. Whether steps are legal is
 * checked when compiling. */
enum uk_status uk_program_schedule(struct uk_program *p, const char *file, const char *text, size_t length);
/* Frees the program. Modules compiled from it stay valid, except those of the target "interp". */
void uk_program_destroy(struct uk_program *p);
/* The program as text that parses to the same program; free with uk_text_free. */
enum uk_status uk_program_print(struct uk_program *p, char **text);
/* Makes a size a constant >= 0: the function then has no argument for it. UK_INVALID_ARGUMENT: no size of
 * that name. */
enum uk_status uk_program_define(struct uk_program *p, const char *size, int64_t value);
/* UK_OK, or the first failure among the calls that built the program. */
enum uk_status uk_program_status(const struct uk_program *p);

/* The name of the generated function. */
const char *uk_program_name(const struct uk_program *p);
/* The arguments of the generated function, in order: sizes, scalars, tensors; i counts from 0. Sizes that
 * have been defined are still counted here. For a program with an error these, and its name, are 0, NULL, -1,
 * UK_TYPES or false. */
int uk_program_sizes(const struct uk_program *p);
const char *uk_program_size_name(const struct uk_program *p, int i);
/* The `size` item's value, or -1. */
int64_t uk_program_size_default(const struct uk_program *p, int i);
int uk_program_scalars(const struct uk_program *p);
const char *uk_program_scalar_name(const struct uk_program *p, int i);
enum uk_type uk_program_scalar_type(const struct uk_program *p, int i);
int uk_program_tensors(const struct uk_program *p); /* temps are not counted */
const char *uk_program_tensor_name(const struct uk_program *p, int i);
enum uk_type uk_program_tensor_type(const struct uk_program *p, int i);
bool uk_program_tensor_written(const struct uk_program *p, int i);
/* Whether a statement reads it; `+=` and the like read what they add to. */
bool uk_program_tensor_read(const struct uk_program *p, int i);
bool uk_program_tensor_constant(const struct uk_program *p, int i);
/* What the origin's address has to be a multiple of, in bytes: what the program states, or one element. 0: no
 * such tensor. */
int uk_program_tensor_alignment(const struct uk_program *p, int i);
/* The tensor as it lies in memory: its dimensions, which are those of its layout, if it has one; and for
 * these sizes (all of them, in order) how many elements dimension d has, those of `over` among them, and how
 * far apart they are. -1: there is none, or overflow. */
int uk_program_tensor_dims(const struct uk_program *p, int i);
int64_t uk_program_tensor_extent(const struct uk_program *p, int i, int d, const int64_t *sizes);
int64_t uk_program_tensor_stride(const struct uk_program *p, int i, int d, const int64_t *sizes);
/* How many elements the tensor's memory must have, from the origin to the last one, for these sizes (all of
 * them, defined ones too, in order). -1: overflow. */
int64_t uk_program_tensor_elements(const struct uk_program *p, int i, const int64_t *sizes);

/* The sizes for which arrays of the caller are the program's tensors. extents[i] has an element for each
 * dimension of tensor i as it lies in memory, or is NULL: nothing is known of that tensor. strides[i] is the
 * same for the distances of its elements; strides, or one of them, NULL: they are as the program says.
 * `sizes` has all of them, in order; what is negative is not known, and is found if an extent, a stride or an
 * assumption with == is linear in it. A stride that nothing gives becomes the least possible one.
 * UK_INVALID_SIZE: a size cannot be found, an array is not what the program says, or an assumption does not
 * hold; the message names which. `sizes` may have changed then. */
enum uk_status uk_program_solve_sizes(struct uk_program *p, const int64_t *const extents[],
                                      const int64_t *const strides[], int64_t *sizes);
/* Explains why the generated function returns UK_INVALID_SIZE for these sizes (all of them, in order): the
 * message names the first condition that does not hold, in the program's terms: a negative size, a stride
 * that is too small, an assumption, an access outside of its tensor; then a condition of the schedule for the
 * options (NULL: all defaults). UK_OK: the function accepts the sizes. Slow: it interprets the program's
 * accesses. */
enum uk_status uk_program_check_sizes(struct uk_program *p, const struct uk_options *options,
                                      const int64_t *sizes);
/* Interprets the program as written, statement by statement, without any schedule: this defines the right
 * result. Slow. sizes: all uk_program_sizes(), in order; scalars: one double for each, NULL if there are
 * none; tensors: the addresses of the origins, in order. Tensors must not overlap, which is not checked.
 * Returns UK_INVALID_SIZE and UK_INVALID_ARGUMENT where the function does, with nothing written;
 * UK_INVALID_INDEX where it does, with what statements before have written. */
enum uk_status uk_program_interpret(struct uk_program *p, const int64_t *sizes, const double *scalars,
                                    void *const *tensors);
/* The same for some elements of one tensor, and what these need: element[i], counted from the origin, of the
 * tensor of that number (temps not counted) becomes element i of `result`, of the tensor's type. error[i] is
 * how far code for the target of the options (NULL: this CPU) may be from it: 0 where each operation has one
 * right result; more where sums of floats may be in any order, products may be added before they are rounded,
 * functions are approximate (4 units in the last place), and, on ARMv7, a subnormal f32 is taken for 0, as
 * far as these can change the element, an integer that is rounded from floats at a tie among them; infinite
 * where nothing is known. count: at most 2^30. Nothing else is written. Reads outside of tensors are errors
 * if these elements need them. */
enum uk_status uk_program_interpret_elements(struct uk_program *p, const struct uk_options *options,
                                             const int64_t *sizes, const double *scalars,
                                             void *const *tensors, int tensor, int64_t count,
                                             const int64_t *element, void *result, double *error);

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
 * returns NULL and makes the program's status sticky; this NULL, and a program that is NULL, may be passed on
 * to other calls. The rules of the language are checked by uk_program_check(), and before the program is used
 * in any other way; a violation is sticky, too.
 */
struct uk_index;  /* an integer: of sizes, iterators and constants; or a relation between two of them */
struct uk_expr;   /* a value: of elements of tensors, scalars and numbers; or a comparison of two of them */
struct uk_tensor; /* in C++, too, written with `struct`: a function has the same name */

/* An empty program; `name` is that of the generated function, a C identifier that neither C and C++ nor their
 * library have a meaning for. On failure *out is NULL. */
enum uk_status uk_program_create(struct uk_context *c, const char *name, struct uk_program **out);
/* Checks the rules of the language: names, ranges of iterators, types; that layouts give each element a place
 * of its own; and that temps are written before they are read. The last two may depend on sizes that
 * uk_program_define() makes constants, and are no sticky failures. */
enum uk_status uk_program_check(struct uk_program *p);

/* Operators have the same name for integers and for values: uk_index_add(), uk_add(). */

/* A size: an int64_t argument of the function. The first use fixes its place among the arguments. */
struct uk_index *uk_size(struct uk_program *p, const char *name);
/* The same with a default, which `uk run` uses and automatic schedules assume. */
struct uk_index *uk_size_default(struct uk_program *p, const char *name, int64_t value);
/* An iterator of statements; its range follows from the dimensions that it alone indexes. */
struct uk_index *uk_iterator(struct uk_program *p, const char *name);
struct uk_index *uk_integer(struct uk_program *p, int64_t value);
struct uk_index *uk_index_add(struct uk_program *p, struct uk_index *a, struct uk_index *b);
struct uk_index *uk_index_subtract(struct uk_program *p, struct uk_index *a, struct uk_index *b);
/* The product. One side must be a constant, except in strides, where sizes may be multiplied. */
struct uk_index *uk_index_multiply(struct uk_program *p, struct uk_index *a, struct uk_index *b);
/* The quotient rounded down, and its remainder (>= 0), for a constant divisor > 0. */
struct uk_index *uk_index_floordiv(struct uk_program *p, struct uk_index *a, int64_t divisor);
struct uk_index *uk_index_mod(struct uk_program *p, struct uk_index *a, int64_t divisor);
/* tensor[index...], an element of a tensor of integers, as a whole subscript of an element that a statement
 * reads. Before the statement runs, all such elements are tested: UK_INVALID_INDEX if one is outside of the
 * dimension. */
struct uk_index *uk_index_element(struct uk_program *p, struct uk_tensor *t, struct uk_index *const index[]);
/* The same element; where it is negative, plus the extent of the dimension that it is a subscript of. */
struct uk_index *uk_index_wrap(struct uk_program *p, struct uk_index *element);

enum uk_relation { UK_EQUAL, UK_NOT_EQUAL, UK_LESS, UK_LESS_EQUAL, UK_GREATER, UK_GREATER_EQUAL };
struct uk_index *uk_index_compare(struct uk_program *p, enum uk_relation r, struct uk_index *a,
                                  struct uk_index *b);
/* True where both relations are. */
struct uk_index *uk_index_and(struct uk_program *p, struct uk_index *a, struct uk_index *b);
/* Assumes the relation, which the function tests at entry: UK_INVALID_SIZE. */
void uk_assume(struct uk_program *p, struct uk_index *relation);

/* A tensor argument; and a temp, which lives in the workspace. `strides` in elements, or NULL: row-major.
 * dims <= 8. */
struct uk_tensor *uk_tensor(struct uk_program *p, const char *name, enum uk_type type, int dims,
                            struct uk_index *const shape[], struct uk_index *const strides[]);
struct uk_tensor *uk_temp(struct uk_program *p, const char *name, enum uk_type type, int dims,
                          struct uk_index *const shape[], struct uk_index *const strides[]);
/* Gives the tensor a layout: a map as in the text, "(i, p) -> [p / 4, i, p % 4]". Strides, one for each
 * stored dimension, or NULL, are then given here, and NULL to uk_tensor. */
void uk_tensor_layout(struct uk_program *p, struct uk_tensor *t, const char *map,
                      struct uk_index *const strides[]);
/* States that the origin's address is a multiple of `bytes`, a power of two; the function checks it at entry.
 * */
void uk_tensor_align(struct uk_program *p, struct uk_tensor *t, int bytes);
/* Elements beyond the shape that kernels may read, and whose values have no effect: the extents that include
 * them. */
void uk_tensor_over(struct uk_program *p, struct uk_tensor *t, struct uk_index *const over[]);
/* States that the tensor has the same values in every call: what the schedule copies of it alone is copied
 * before, by NAME_pack_TENSOR (see below, constant tensors). */
void uk_tensor_constant(struct uk_program *p, struct uk_tensor *t);
/* States that no element of a tensor of floats is infinite or a NaN; where one is, the values that are
 * computed of it are any. */
void uk_tensor_finite(struct uk_program *p, struct uk_tensor *t);
/* Where a temp lives: in global memory; on GPUs also in shared memory of a block, or registers of a thread.
 * */
enum uk_scope { UK_SCOPE_GLOBAL, UK_SCOPE_SHARED, UK_SCOPE_REGISTER };
void uk_tensor_scope(struct uk_program *p, struct uk_tensor *t, enum uk_scope scope);
/* A scalar argument, as a value. */
struct uk_expr *uk_scalar(struct uk_program *p, const char *name, enum uk_type type);

/* tensor[index...], with an index for each dimension of the tensor. */
struct uk_expr *uk_element(struct uk_program *p, struct uk_tensor *t, struct uk_index *const index[]);
/* The element, or `outside` where an index lies outside the shape. */
struct uk_expr *uk_pad(struct uk_program *p, struct uk_expr *element, struct uk_expr *outside);
/* A constant, not NaN; it takes the type of the operand that it is combined with. uk_number() makes an
 * integer if the value is one, below 2^53. uk_real_number() makes a real number (2.0 in the text), which is
 * refused where an integer is required. */
struct uk_expr *uk_number(struct uk_program *p, double value);
struct uk_expr *uk_integer_number(struct uk_program *p, int64_t value);
struct uk_expr *uk_real_number(struct uk_program *p, double value);
/* An integer as a value of type i64. */
struct uk_expr *uk_index_value(struct uk_program *p, struct uk_index *index);
struct uk_expr *uk_add(struct uk_program *p, struct uk_expr *a, struct uk_expr *b);
struct uk_expr *uk_subtract(struct uk_program *p, struct uk_expr *a, struct uk_expr *b);
struct uk_expr *uk_multiply(struct uk_program *p, struct uk_expr *a, struct uk_expr *b);
struct uk_expr *uk_divide(struct uk_program *p, struct uk_expr *a, struct uk_expr *b); /* floats only */
struct uk_expr *uk_shift_left(struct uk_program *p, struct uk_expr *a, struct uk_expr *b);
struct uk_expr *uk_shift_right(struct uk_program *p, struct uk_expr *a, struct uk_expr *b);
struct uk_expr *uk_negate(struct uk_program *p, struct uk_expr *a);
/* A function of the language by its name: "min" and "max" of two or more; "pow" (C99's, a to the power of b)
 * of two; "exp", "log" (natural), "tanh", "erf", "sqrt", "abs", "round" (to the nearest, ties to even),
 * "floor", "ceil" of one. */
struct uk_expr *uk_call(struct uk_program *p, const char *function, int n, struct uk_expr *const argument[]);
/* Converts: integers wrap; floats that become integers are truncated toward zero and saturate; others are
 * rounded to nearest. */
struct uk_expr *uk_cast(struct uk_program *p, enum uk_type type, struct uk_expr *a);
/* condition ? a : b. Conditions are comparisons, combined by uk_and, uk_or and uk_not. */
struct uk_expr *uk_select(struct uk_program *p, struct uk_expr *condition, struct uk_expr *a,
                          struct uk_expr *b);
struct uk_expr *uk_compare(struct uk_program *p, enum uk_relation r, struct uk_expr *a, struct uk_expr *b);
struct uk_expr *uk_and(struct uk_program *p, struct uk_expr *a, struct uk_expr *b);
struct uk_expr *uk_or(struct uk_program *p, struct uk_expr *a, struct uk_expr *b);
struct uk_expr *uk_not(struct uk_program *p, struct uk_expr *a);

enum uk_assign { UK_ASSIGN, UK_ASSIGN_ADD, UK_ASSIGN_MULTIPLY, UK_ASSIGN_MAX, UK_ASSIGN_MIN };
enum uk_reduce { UK_REDUCE_NONE, UK_REDUCE_SUM, UK_REDUCE_PROD, UK_REDUCE_MAX, UK_REDUCE_MIN };
struct uk_reduction {
    enum uk_reduce kind;
    bool scan; /* inclusive along the iterators, which are on the left too */
    int iterators;
    struct uk_index *iterator[8];
    struct uk_index *where; /* terms for which it does not hold are left out; or NULL */
};
/* tensor[index...] = value, for all values of the iterators, or with a reduction over some of them. `label`
 * is the stage's name (NULL: the tensor's). An index is an iterator, or one plus an offset, also of 0, that
 * makes it a part of the tensor. */
void uk_statement(struct uk_program *p, const char *label, struct uk_tensor *t,
                  struct uk_index *const index[], enum uk_assign assign, const struct uk_reduction *reduction,
                  struct uk_expr *value);
/* Of the statement made last: the iterator runs from 0 to below the extent, whatever it indexes, as after
 * `where`. */
void uk_statement_range(struct uk_program *p, struct uk_index *iterator, struct uk_index *extent);

/* A kernel of the caller: its declaration, an `intrinsic ... end` text, and the code that defines it: a file
 * as `pragma import` takes it (a relative path starts at the folder of the program's file), LLVM IR as text,
 * or C. Files are read when the program is compiled, also those that no kernel is taken from. */
void uk_intrinsic(struct uk_program *p, const char *text);
void uk_import_file(struct uk_program *p, const char *path);
void uk_import_llvm(struct uk_program *p, const char *text);
void uk_import_c(struct uk_program *p, const char *text);

/* Steps of the schedule, in order, with the meaning that the language gives them (uk.5); loops are named
 * "stage.loop" or "loop", places "root" or a loop. Steps are recorded here, and checked one after the other
 * when the program is compiled: the first that is not legal is the error, with the reason. uk_step() takes
 * any step as text. */
void uk_step(struct uk_program *p, const char *text);
/* loop = factor * outer + inner. */
void uk_split(struct uk_program *p, const char *loop, int64_t factor, const char *outer, const char *inner);
/* The same with `parts` iterations of the outer loop, whose inner loops have equal lengths except the last.
 * */
void uk_split_parts(struct uk_program *p, const char *loop, int64_t parts, const char *outer,
                    const char *inner);
/* Splits both loops by their factors and reorders to outer of a, outer of b, inner of a, inner of b; names
 * are in this order. */
void uk_tile(struct uk_program *p, const char *a, const char *b, int64_t factor_a, int64_t factor_b,
             const char *const names[4]);
/* name = a * extent of b + b; b is the loop directly inside a. The extent must be a constant, unless in every
 * access of the stage the stride of a is that extent times the stride of b, as by default strides or by
 * `assume`: then the two are one axis, which may be split and tensorized like any other. */
void uk_fuse(struct uk_program *p, const char *a, const char *b, const char *name);
/* Reorders n loops of one stage among their places, outermost first; its other loops stay where they are. */
void uk_reorder(struct uk_program *p, int n, const char *const loops[]);
/* Copies the body for each iteration of the loop: a constant number of at most 64, 1024 with the unrolled
 * loops around it. Where the last iterations are missing, a loop runs in place of the copies. */
void uk_unroll(struct uk_program *p, const char *loop);
/* Runs the innermost loop of a stage in vectors of the target. The loop may carry a reduction, which is then
 * summed in another order. A loop that cannot be vectorized on the target is an error when the program is
 * compiled. */
void uk_vectorize(struct uk_program *p, const char *loop);
/* Runs the iterations of the loops, which are directly nested, in parallel by uk_parallel_for(). They must be
 * independent. */
void uk_parallel(struct uk_program *p, int n, const char *const loops[]);
/* Makes the loop's iterations, which must be independent, blocks of a GPU's grid or threads of a block. axis:
 * "block.x" ... "thread.z". Targets of GPUs have them, and "interp". */
void uk_bind(struct uk_program *p, const char *loop, const char *axis);
/* Software pipelining: buffers in UK_SCOPE_SHARED that each iteration of the loop fills get 2 to 4 slots, and
 * the data of a later iteration is loaded while this one's is read. */
void uk_pipeline(struct uk_program *p, const char *loop, int slots);
/* Copies the part of the tensor that is used inside the place into panels of that width, the last one padded
 * with zeros. along: the dimension that is cut into panels; -1: the only one that no reduction runs over.
 * name: the copy's, or NULL. place: "stage.root" too. To choose one of several accesses, use uk_step(): "pack
 * A[k, m] at root panel 8". */
void uk_pack(struct uk_program *p, const char *tensor, const char *place, int64_t panel, int along,
             const char *name);
/* Reads the tensor through a copy of the part that is used inside the place; name: the copy's, or NULL. */
void uk_cache_read(struct uk_program *p, const char *tensor, const char *place, enum uk_scope scope,
                   const char *name);
/* Computes into a buffer that is copied to the tensor when the place's iteration is done. */
void uk_cache_write(struct uk_program *p, const char *tensor, const char *place, enum uk_scope scope,
                    const char *name);
/* Computes the stage inside a loop of another stage, for what an iteration of that loop needs: before its
 * use; or after the other stage, which it reads (an epilogue). */
void uk_compute_at(struct uk_program *p, const char *stage, const char *loop);
void uk_reverse_compute_at(struct uk_program *p, const char *stage, const char *loop);
/* Substitutes the stage's expression where its tensor, a temp, is read. */
void uk_compute_inline(struct uk_program *p, const char *stage);
/* Stage `name` reduces over all loops but this one, into a buffer whose first dimension (last, if the loop is
 * the innermost one) is the loop; the stage then reduces over that alone. `name` keeps the loops and what was
 * done to them, and this loop carries nothing there: it may be parallel or vectorized. The stage starts anew;
 * its loop keeps its name. */
void uk_rfactor(struct uk_program *p, const char *loop, const char *name);
/* Replaces the nest that begins with the loop by calls of the kernel, if it is proved that both compute the
 * same; else UK_NO_MATCH. kernel: a name of the registry or of an intrinsic of the program, or "auto": the
 * one of least estimated cost. */
void uk_tensorize(struct uk_program *p, const char *loop, const char *kernel);

/* ---- compiling ----
 *
 * A program becomes a module, which is machine code in this process, or any stage of the compilation as
 * bytes, for any target; an object for a server with AVX2, for instance, and the header that goes with it:
 *
 *     struct uk_options options = {.target = "x86_64-avx2"};
 *     char *object = NULL, *header = NULL;
 *     size_t object_bytes, header_bytes;
 *     if (uk_emit(p, &options, UK_EMIT_OBJECT, &object, &object_bytes) ||
 *         uk_emit(p, &options, UK_EMIT_HEADER, &header, &header_bytes))
 *         fprintf(stderr, "%s\n", uk_context_message(c));
 */

/* Zero-initialize; every zero means the default. NULL in place of the options: all defaults. */
struct uk_options {
    /* "native" (default), which is this CPU; or a name that uk_target_name() lists: an instruction set
     * ("x86_64-avx2"), a core ("cortex-a53"), a GPU ("amdgcn-gfx90a"), each with "+feature..." in LLVM's
     * spelling ("+f16" is "+fullfp16"); or "interp", whose modules interpret the loops. */
    const char *target;
    /* A stage that no kernel computes runs as plain loops, and a note says which and why; if this is set it
     * is UK_NO_MATCH instead, except for cheap copies, which uk_explain names: those that take less time than
     * the tensorized stage that reads them, at 2 cycles an element against 16 terms a cycle, sizes being
     * taken as not defined. */
    bool require_kernels;
    /* uk_explain and messages list all kernels that do not fit, not only the nearest ten. */
    bool all_candidates;
    int threads; /* how many the function will run on, up to 1024: automatic schedules make a loop parallel
                    only if this is > 1 */
    /* The function allocates nothing: its last argument is `void *work`, memory of NAME_workspace(sizes...)
     * bytes at a multiple of 64, which nothing else uses during the call. NAME_workspace takes the sizes that
     * NAME takes, and returns -1 where they are negative or the memory would be too large: NAME refuses them
     * too. */
    bool workspace_argument;
    /* uk_compile generates no code: uk_module_call interprets the loops as scheduled for the target, blocks
     * and threads of GPUs one after the other, and reports races between threads. */
    bool interpret;
    /* The automatic schedule is the loops of the statements, without kernels: what kernels are compared with.
     * Steps that a program has are taken all the same. */
    bool plain_loops;
};

enum uk_emit {
    UK_EMIT_SCHEDULE,  /* the steps as text, those that auto chose included */
    UK_EMIT_LOOPS,     /* the loop IR, as text */
    UK_EMIT_LLVM,      /* LLVM IR before linking: the kernels are declarations */
    UK_EMIT_LINKED,    /* with the kernels' bodies, still called */
    UK_EMIT_OPTIMIZED, /* after inlining: no call to a kernel is left */
    UK_EMIT_ASM,
    UK_EMIT_OBJECT,
    UK_EMIT_HEADER,
    UK_EMIT_SHARED, /* a shared object, linked by clang and lld; it names the libraries that it needs: libc,
                     * libm, and libukernels where a loop is parallel or the target a GPU */
    /* Of programs for GPUs; UK_EMIT_LLVM to UK_EMIT_ASM are of their kernels, and objects and headers of the
     * host's part. */
    UK_EMIT_DEVICE, /* what the device's driver loads: AMD's code object */
    UK_EMIT_HOST,   /* LLVM IR of the function that launches the kernels, optimized */
};

/* Schedules, lowers, links and inlines kernels, and compiles for this process. On failure *out is NULL.
 * options may be NULL. */
enum uk_status uk_compile(struct uk_program *p, const struct uk_options *options, struct uk_module **out);
/* Frees the module. Its functions must not be running, nor be called afterwards. */
void uk_module_destroy(struct uk_module *m);
/* The generated function; cast it to the type that UK_EMIT_HEADER prints. Lives as long as the module. */
void *uk_module_function(const struct uk_module *m);
/* Calls it with arguments in arrays, of which only those may be NULL that are empty: sizes that are not
 * defined, scalars, tensors (and after them the workspace, if that is an argument), each in order; returns
 * its status. On GPUs the device stands before the tensors, whose addresses are converted to pointers. */
int uk_module_call(const struct uk_module *m, const int64_t *sizes, const double *scalars,
                   void *const *tensors);
/* ---- constant tensors ----
 *
 * In the place of a constant tensor TENSOR the function NAME takes the form that NAME_pack_TENSOR(sizes...,
 * tensor, packed) makes of it, of NAME_packed_TENSOR(sizes...) bytes, a multiple of 64. The calls below do
 * the same:
 *
 *     static const char text[] = "tensor W f32 [N] constant\n"
 *                                "tensor Y f32 [N]\n"
 *                                "Y[i] = W[i] + W[i]\n";
 *     if (uk_program_parse(c, "twice.uk", text, strlen(text), &first) || uk_compile(first, NULL, &m)) {
 *         fprintf(stderr, "%s\n", uk_context_message(c));
 *     } else {
 *         packed = aligned_alloc(64, (size_t)uk_module_packed_bytes(m, &n, 0));
 *         status = uk_module_pack(m, &n, 0, weights, packed);
 *         if (!status)
 *             status = uk_module_call(m, &n, NULL, (void *[]){packed, result});
 *     }
 *
 * A module that interprets the loops of another target (`interpret` of the options) packs for that target's
 * code, large tensors by code for this process. An automatic schedule, of which code may have another one,
 * has to be written down for that, by uk_program_schedule() with what UK_EMIT_SCHEDULE prints: else
 * UK_REFUSED, with a message. */

/* Bytes of the packed form of a tensor, counted as uk_program_tensors() does; sizes are those that are not
 * defined, in order. -1: they are refused, or the tensor is not constant. Modules of bundles with a source
 * have none. */
int64_t uk_module_packed_bytes(const struct uk_module *m, const int64_t *sizes, int tensor);
/* Makes it, at a multiple of 64 or of the tensor's alignment, if that is more. A status, as that of the
 * function. */
int uk_module_pack(struct uk_module *m, const int64_t *sizes, int tensor, const void *data, void *packed);

/* The i-th phase of the compilation and its milliseconds, for i = 0, 1, ... until the name is NULL. */
const char *uk_module_time(const struct uk_module *m, int i, double *milliseconds);
/* The i-th kernel that was linked in, and inlined unless uk_context_notes says otherwise, for i = 0, 1, ...
 * until NULL. */
const char *uk_module_kernel(const struct uk_module *m, int i);

/* One stage of the compilation as bytes (text but for UK_EMIT_OBJECT and UK_EMIT_SHARED), for any target;
 * free with uk_text_free. The same program gives the same bytes. */
enum uk_status uk_emit(struct uk_program *p, const struct uk_options *options, enum uk_emit what,
                       char **bytes, size_t *length);

/* ---- several programs as one ----
 *
 * Each program keeps its function; the kernels that they share are linked in once:
 *
 *     struct uk_program *both[] = {first, second};
 *     if (uk_compile_programs(both, 2, NULL, &m))
 *         fprintf(stderr, "%s\n", uk_context_message(c));
 *     else
 *         address = uk_module_find(m, "second");
 */

/* The functions of all programs in one module, each as uk_compile() makes it alone. The programs are of one
 * context, and their names differ; uk_module_function() and uk_module_call() are the first one's. Not for
 * "interp". */
enum uk_status uk_compile_programs(struct uk_program *const programs[], int count,
                                   const struct uk_options *options, struct uk_module **out);
/* The function of that name, NAME_workspace included, or NULL. Modules of one program have it too; of the
 * target "interp" none. */
void *uk_module_find(const struct uk_module *m, const char *name);
/* One object, shared object, header or module with the functions of all programs, in their order; schedules
 * and loops come one after the other, each under a comment with its name. */
enum uk_status uk_emit_programs(struct uk_program *const programs[], int count,
                                const struct uk_options *options, enum uk_emit what, char **bytes,
                                size_t *length);
/* As uk_module_time(), of the context's last uk_compile() or uk_emit(), or of those of programs and bundles.
 * */
const char *uk_context_time(const struct uk_context *c, int i, double *milliseconds);

/* ---- programs, constants and C as one ----
 *
 * Functions in C, or in LLVM's IR, that call those of programs, with read-only data; what they have is seen
 * from outside, and nothing else:
 *
 *     struct uk_options as_argument = {.workspace_argument = true};
 *     const float one[3] = {1, 1, 1};
 *     struct uk_constant ones = {.name = "ones", .bytes = one, .length = sizeof one};
 *     struct uk_bundle bundle = {
 *         .programs = &first,
 *         .count = 1,
 *         .constants = &ones,
 *         .constant_count = 1,
 *         .source = "int add_one(const float *x, float *y) {"
 *                   "    return first(3, x, (const void *)ones, y, 0);"
 *                   "}",
 *         .exported = (const char *const[]){"add_one"},
 *         .exported_count = 1,
 *     };
 *     if (uk_compile_bundle(&bundle, &as_argument, &m))
 *         fprintf(stderr, "%s\n", uk_context_message(c));
 *     else
 *         address = uk_module_find(m, "add_one");
 */

/* `const unsigned char NAME[length]` in the source. */
struct uk_constant {
    const char *name;
    const void *bytes;
    size_t length;
    size_t alignment; /* a power of two, at most 4096; 0: 64 */
};

/* Zero-initialize. Without source, constants and exported names it is what uk_emit_programs() makes of the
 * programs. */
struct uk_bundle {
    struct uk_program *const *programs; /* of one context; at least one */
    int count;
    const struct uk_constant *constants; /* 1 GiB in all; those that the source names are in the code */
    int constant_count;
    /* C, or NULL. In front of it stand the header that UK_EMIT_HEADER prints for the programs, and the
     * constants. It is compiled as `pragma import c` is: for the target, freestanding, with the headers of
     * the compiler alone. It may call the programs' functions, their NAME_workspace, and what code of
     * programs calls of the C library and libukernels: memcpy, memset, memmove, expf, exp, tanhf, tanh, fmaf,
     * fma, roundevenf, roundeven, uk_parallel_for, uk_num_threads. Or LLVM's IR as text, see
     * source_is_llvm. */
    const char *source;
    /* The functions of the source and of programs that others can call. Two bundles that export different
     * names may be linked into one program. */
    const char *const *exported;
    int exported_count;
    /* The source is LLVM's IR: nothing is started to compile it. It declares the functions that it calls;
     * after it stands `@NAME = external constant [LENGTH x i8]` for each constant. */
    bool source_is_llvm;
};

/* The bundle as code in this process: uk_module_find() has the exported functions, uk_module_function() the
 * first of them. For CPUs. The constants' bytes are not needed afterwards. A bundle with a source is not
 * called by uk_module_call(). */
enum uk_status uk_compile_bundle(const struct uk_bundle *bundle, const struct uk_options *options,
                                 struct uk_module **out);
/* The same as an object, a shared object, or as text; schedules and loops are those of the programs. No
 * UK_EMIT_HEADER, unless it is programs alone: what the source exports its author declares. */
enum uk_status uk_emit_bundle(const struct uk_bundle *bundle, const struct uk_options *options,
                              enum uk_emit what, char **bytes, size_t *length);

/* A text that lists, for every stage and tensorize step, the kernels that were considered: those that fit,
 * the cheapest first, then the others with their first difference, those that got furthest first, ten of them
 * or all_candidates; and the chosen one. */
enum uk_status uk_explain(struct uk_program *p, const struct uk_options *options, char **text);
/* The i-th target's name, i = 0, 1, ..., those of one architecture side by side and "interp" last; NULL where
 * there are no more. */
const char *uk_target_name(int i);
/* UK_OK if this process can run code for the target (as in struct uk_options), or interpret its loops;
 * UK_UNSUPPORTED, with a message, if it is for another architecture or for features that this CPU lacks. */
enum uk_status uk_target_runs(struct uk_context *c, const char *target);
/* UK_OK if code for the target may call the kernel; UK_UNSUPPORTED if the target lacks a feature
 * that it needs or is not of its architecture, with the name of that in `lacking`, cut to size. */
enum uk_status uk_kernel_fits(struct uk_context *c, const struct uk_kernel *kernel, const char *target,
                              char *lacking, size_t size);
/* The fraction, above 0 and at most 1, of the FMA peak that the kernel can reach on the target (NULL: this
 * CPU): from the instruction counts in its row, and the FMAs, loads and instructions that the target issues a
 * cycle. 0 if the kernel has no FMAs. */
enum uk_status uk_kernel_peak_share(struct uk_context *c, const struct uk_kernel *kernel, const char *target,
                                    double *share);
/* One kernel of the registry: its bitcode (UK_EMIT_LINKED), that as text (UK_EMIT_LLVM), or compiled
 * (UK_EMIT_ASM), for the target or, if that is NULL, for the kernel's own instruction set; free with
 * uk_text_free. */
enum uk_status uk_kernel_emit(struct uk_context *c, const struct uk_kernel *kernel, const char *target,
                              enum uk_emit what, char **bytes, size_t *length);

/* ---- kernels against their declarations ----
 *
 *     const struct uk_kernel *kernel = uk_kernel_find("uk_vadd_1x16_avx2_intrin");
 *     struct uk_verify_options few = {.cases = 20};
 *     char *report = NULL;
 *     status = uk_verify_kernel(c, kernel, &few, &report);
 *     if (report)
 *         printf("%s", report); // a line for each form
 *     uk_text_free(report);
 */

/* A launch of one block of a kernel of a GPU's code object. */
struct uk_verify_argument {
    void *data;
    size_t bytes;
    bool is_buffer; /* of the GPU's, to which data goes before the launch and from which it comes back; else
                       the argument itself */
};
struct uk_verify_launch {
    const char *gpu; /* LLVM's name of it: "gfx90a" */
    const void *image;
    size_t image_bytes;
    const char *kernel;
    uint32_t threads, shared_bytes; /* shared_bytes: as many and no more can be used */
    uint64_t seed;                  /* of the order in which waves run, where that can be chosen */
    int arguments;
    const struct uk_verify_argument *argument;
};

/* Where code runs that this process does not: in a process of an emulator or on another machine, which calls
 * the kernels and takes cases from this one (there are such programs for aarch64, riscv64 and x86_64); and
 * code for GPUs, on one or in a simulator. Either may be NULL. */
struct uk_verify_runner {
    /* Where it is given, kernels of this process's architecture run so, too. Links the object with `source`,
     * a program in GNU C17 with the C library, for Linux, and sets *argv to the command that runs it, which
     * has to pass its standard input and output and file 3 on. Called once; *argv stays until uk_verify
     * returns. Anything but UK_OK is what that returns. */
    enum uk_status (*link)(void *user, const char *source, const char *object, size_t length,
                           char *const **argv);
    void *user;
    /* UK_WRONG_RESULT: the kernel did something wrong, which the message says. Anything else but UK_OK: it
     * was not run. Called in the child process of a form, always with the same image. */
    enum uk_status (*launch)(void *user, const struct uk_verify_launch *launch, char *message, size_t room);
};

/* Zero-initialize; every zero means the default. */
struct uk_verify_options {
    const char *target; /* as in struct uk_options; this CPU must run it, or the runner */
    uint64_t seed;      /* of sizes, strides, places and values; the same seed makes the same cases */
    int cases;   /* for each form, at random, after up to four times as many edges and large sizes; 500, for
                    GPUs 100 */
    int seconds; /* of CPU time for one call, and on the clock 20 times as many: then it is endless; 60 */
    const struct uk_verify_runner *runner; /* NULL: other architectures' targets and GPUs' are refused */
};

/* Runs the machine code of every form of every intrinsic that the program declares beside the interpreter of
 * the declaration and compares exactly (exp, log, tanh, erf and pow: within four units in the last place), on
 * values whose sums are exact in the declared type, or of whose sums one addition rounds; infinities, NaN,
 * zeros of both signs and subnormal numbers are among them. Every edge that the assumptions bound is tried,
 * each other size beyond 65536 with the others small, several of them together (of whose elements a sample is
 * compared), then random sizes and strides, long and negative ones among them; operands lie against pages
 * that must not be touched and are aligned as declared and no better; what is only read cannot be written; an
 * output that is not to be read holds NaN; all memory of the operands is compared; callee-saved registers,
 * the direction flag, MXCSR, the state of the x87, the caller's stack and the upper halves of vector
 * registers are looked at, and what asm statements declare. It runs in a child process (fork), so that a
 * crash is a result. On a GPU a block of threads runs, with several tiles in shared memory, each with its own
 * in registers. UK_OK: no difference. UK_WRONG_RESULT: at least one form is wrong. In both cases *report has
 * a line for each form, free it with uk_text_free. Anything else: the forms could not be run, the message
 * says why, *report is NULL. */
enum uk_status uk_verify(struct uk_program *p, const struct uk_verify_options *options, char **report);
/* The same for the bitcode of a kernel of the registry. One for GPUs is run, without a target, as on the
 * least GPU that has it. */
enum uk_status uk_verify_kernel(struct uk_context *c, const struct uk_kernel *kernel,
                                const struct uk_verify_options *options, char **report);

/* ---- searching schedules: what uk tune is made of ----
 *
 * A search measures schedules, which are texts of steps, and keeps the best. It begins with
 * uk_schedule_start() and goes on with uk_schedule_change(); each text is taken by uk_program_schedule() and
 * then compiled. These calls leave the program as it was. Texts are freed with uk_text_free. One draw:
 *
 *     char *steps = NULL, *other = NULL;
 *     uint64_t random = 1;
 *     int cursor = 0;
 *     status = uk_schedule_start(p, NULL, &cursor, &steps);
 *     if (!status && uk_schedule_change(p, NULL, steps, &random, &other) == UK_OK)
 *         status = uk_program_schedule(p, "drawn", other, strlen(other));
 *     uk_text_free(steps);
 *     uk_text_free(other);
 */

/* The automatic schedule, then, for each statement, the automatic schedule with each of the kernels that fit
 * it, and, unless kernels are required, with none. *cursor is 0 before the first call; *steps is NULL after
 * the last one. An empty text, of the first call only, stands for plain loops. */
enum uk_status uk_schedule_start(struct uk_program *p, const struct uk_options *options, int *cursor,
                                 char **steps);
/* A legal schedule that differs from `steps` by one random choice: the factor of a split, a split more or
 * less, the order of loops, the place of a copy, a kernel of the same tile... *random is the generator's
 * state: equal states give equal schedules. UK_REFUSED: none was found. */
enum uk_status uk_schedule_change(struct uk_program *p, const struct uk_options *options, const char *steps,
                                  uint64_t *random, char **changed);
/* A lower bound of the schedule's time, from the instruction counts of its kernels and the `size` items of
 * the program: as the number of f32 operations that the target does at its peak in that time. 0: nothing is
 * known. */
enum uk_status uk_schedule_bound(struct uk_program *p, const struct uk_options *options, const char *steps,
                                 double *operations);
/* An estimate: the same with the likely time of float sums in plain loops, one addition after the other. It
 * is no bound, since short sums overlap, but it recognizes schedules that are many times slower than the
 * best. */
enum uk_status uk_schedule_cost(struct uk_program *p, const struct uk_options *options, const char *steps,
                                double *operations);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
