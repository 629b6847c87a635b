/* SPDX-License-Identifier: Apache-2.0 */
/* Private to codegen: the state of the function being generated. */
#ifndef UK_GENERATOR_H
#define UK_GENERATOR_H

#include "codegen.h"

/* Bounds of a value, both inclusive; INT64_MIN and INT64_MAX if none is known. */
struct uk_interval {
    int64_t low, high;
};

/* The value of a variable, of 64 bits, or of 32 bits if the range fits; a range from 0 on allows unsigned
 * division and remainder. */
struct uk_binding {
    const struct uk_var *var;
    LLVMValueRef value;
    struct uk_interval range;
    bool varies;                  /* differs between the threads of a block */
    bool is_lane;                 /* of a loop over thread.x */
    const struct uk_node *blocks; /* the loop over blocks whose variable it is; or NULL */
    struct uk_binding *next;
};

/* The address of a tensor: base, plus thread * thread_stride bytes for a per-thread buffer. */
struct uk_place {
    const struct uk_tensor *tensor;
    LLVMValueRef base;
    LLVMValueRef thread_stride;    /* NULL: shared by all threads */
    LLVMMetadataRef scope, others; /* alias scopes: this tensor's, and those of all others (NULL: none) */
    struct uk_place *next;
};

struct uk_scalar_binding {
    const struct uk_scalar *scalar;
    LLVMValueRef value;
    struct uk_scalar_binding *next;
};

/* The threads that an outer loop distributes its iterations over: iteration number = thread number / weight %
 * extent. */
struct uk_spread {
    int64_t weight, extent;
    struct uk_spread *outer;
};

/* A function generated inside another one. */
struct uk_cg_frame {
    struct uk_cg_frame *outer;
    LLVMBasicBlockRef entry; /* loads captured values; completed when the function ends */
    unsigned fields;
    struct uk_cg_capture *captures;
    /* saved state of the outer function */
    LLVMValueRef function, thread;
    LLVMBasicBlockRef insert_block;
    bool in_parallel;
};

struct uk_parameters;

struct uk_codegen {
    struct uk_build *build;
    const struct uk_target *target; /* the build's target, or the host's for the host part */
    const struct uk_function *f;
    bool is_version;       /* f is one of several versions, which only the program's function calls */
    struct uk_arena arena; /* for bindings; freed with the generator */
    enum uk_status status; /* the first failure; code generated after it is discarded */
    LLVMContextRef llvm;
    LLVMModuleRef module;
    LLVMBuilderRef b;
    LLVMTypeRef i1, i8, i16, i32, i64, f32, f64, ptr;
    LLVMTypeRef size;          /* the target's size_t */
    LLVMValueRef function;     /* the function being generated */
    LLVMValueRef thread;       /* 0 outside a parallel loop */
    LLVMValueRef hidden_zero;  /* 0, unknown to LLVM; NULL: all strides are constant, or arguments */
    struct uk_cg_frame *frame; /* of a function inside another one; or NULL */
    bool in_parallel;
    struct uk_binding *bindings;
    struct uk_place *places;
    struct uk_scalar_binding *scalars;
    /* If not NULL, index arithmetic is checked: overflow is or-ed into it (an i1). */
    LLVMValueRef *overflow;
    /* A variable: some element used as a subscript is out of range; NULL: none has been tested yet. */
    LLVMValueRef bad_index;
    int tasks;                 /* inner functions and kernels so far, for distinct names */
    unsigned first;            /* number of parameters before those of the program */
    struct uk_codegen *device; /* of a host generator: the generator of kernels */
    /* In a kernel: its launch, the thread and block numbers by axis (32 bits with short indices), and the
     * enclosing loops over threads. */
    const struct uk_node *launch;
    LLVMValueRef thread_id[UK_AXES], block_id[UK_AXES];
    struct uk_spread *spread;
    /* Sizes, and the bytes of each tensor, are small enough for indices of 32 bits (uk_function.fits). */
    bool is_short;
    enum uk_state state; /* that a kernel called by f needs */
    bool holds_state;    /* from entry to return, as a kernel is called outside of parallel loops */
    int serial_loops;    /* number of enclosing loops that are not over blocks or threads */
    const struct uk_parameters *parameters; /* of the kernel */
    /* Scalar registers do not hold all that LLVM would move out of the kernel's loops. */
    bool spares_registers;
    bool in_main_loop;     /* with spares_registers: in a loop in which threads wait for each other */
    bool calls_wave;       /* the kernel calls one of a whole wave */
    bool is_one_each;      /* every thread that reaches this point has its own iteration */
    bool in_edge;          /* inside the version of a loop for a partial tile at the edge (uk_node.full) */
    LLVMMetadataRef group; /* access group of a loop with independent iterations, or NULL */
    bool moves;            /* the access is of a loop that moves a vector */
    const struct uk_node *innermost; /* the loop around, if its body is a single store; or NULL */
    bool chooses; /* the innermost loop so far has a select that branches, since it reads memory */
};

/* state.c: sets g->state and g->holds_state. */
void uk_cg_find_state(struct uk_codegen *g);
/* True if a task with this body calls a kernel that needs the state. */
bool uk_cg_task_needs_state(const struct uk_node *body);
/* Code that asks the system for the permission, unless it was granted before; the function returns
 * UK_UNSUPPORTED if it is refused. Nothing if the function needs no state. */
void uk_cg_ask_for_state(struct uk_codegen *g);
/* Code that loads the state on the thread that runs it, and that releases it. */
void uk_cg_load_state(struct uk_codegen *g);
void uk_cg_release_state(struct uk_codegen *g);
/* True if the value differs between the threads of a block. */
bool uk_cg_varies(const struct uk_codegen *g, const struct uk_index *e);
/* launch.c: loads the kernel's parameters again, so that those which only the following nodes use take no
 * registers before. */
void uk_cg_reload_parameters(struct uk_codegen *d);
/* thread.c: the same for the variables of loops over blocks, which are computed again. */
void uk_cg_reload_blocks(struct uk_codegen *d);
/* scalars.c: the number of 64-bit values that LLVM may keep in scalar registers in the kernel's loops,
 * without its parameters. */
int64_t uk_cg_count_scalars(struct uk_codegen *d, const struct uk_node *body);
/* unroll.c: true if v selects an element of a variable: unless the index is constant, the variable has to be
 * in memory. */
bool uk_cg_selects_variable(const struct uk_codegen *g, const struct uk_node *n, const struct uk_var *v);
/* How many copies of its body the code of the loop has; 1: the loop is not unrolled here. */
int64_t uk_cg_copies_of_body(const struct uk_codegen *g, const struct uk_node *loop);
/* A thread's own value, about which LLVM knows nothing at this point: what is computed from it is not moved
 * out of loops. */
LLVMValueRef uk_cg_hide_own(struct uk_codegen *g, LLVMValueRef value);
/* The same for a value that all threads share. */
LLVMValueRef uk_cg_hide_shared(struct uk_codegen *g, LLVMValueRef value);
/* index.c: values of integer expressions, of 64 bits unless the name says otherwise. */
LLVMValueRef uk_cg_index(struct uk_codegen *g, const struct uk_index *e);
LLVMValueRef uk_cg_condition(struct uk_codegen *g, const struct uk_index *e);
/* In a kernel of a GPU: the low 32 bits of an integer expression. */
LLVMValueRef uk_cg_low_index(struct uk_codegen *g, const struct uk_index *e);
/* The value, in 32 bits if the kernel has short indices and the value's bounds fit, else in 64 bits. */
LLVMValueRef uk_cg_short_index(struct uk_codegen *g, const struct uk_index *e);
/* The values of a and b for a comparison: of 32 bits on a GPU if both have no more, else of 64 bits. */
void uk_cg_compared(struct uk_codegen *g, const struct uk_index *a, const struct uk_index *b, LLVMValueRef *l,
                    LLVMValueRef *r);
bool uk_cg_not_negative(const struct uk_codegen *g, const struct uk_index *e);
/* True if all variables of e have a value here. */
bool uk_cg_is_known(const struct uk_codegen *g, const struct uk_index *e);
void uk_cg_bind(struct uk_codegen *g, const struct uk_var *v, LLVMValueRef value, struct uk_interval range);
/* NULL: the variable has no value here. */
const struct uk_binding *uk_cg_binding(const struct uk_codegen *g, const struct uk_var *v);
/* l op r for ADD, SUB and MUL. 32 bits: modulo 2^32. 64 bits: checked if g->overflow is set, else with "no
 * signed wrap". */
LLVMValueRef uk_cg_arithmetic(struct uk_codegen *g, enum uk_index_op op, LLVMValueRef l, LLVMValueRef r);
/* address.c: the address of an access; inside: it is an element of the tensor, rather than only the origin of
 * a tile. */
LLVMValueRef uk_cg_address(struct uk_codegen *g, const struct uk_access *a, bool inside);
/* True if successive values of v select adjacent elements, in ascending order. */
bool uk_cg_is_adjacent(const struct uk_access *a, const struct uk_var *v);
/* In a kernel: makes the n values, of at most 32 bits, such that LLVM knows nothing about them, and computes
 * them here. */
void uk_cg_hide(struct uk_codegen *g, LLVMValueRef *v, unsigned n);
/* The hint of a call as an integer: the address may be anything. 0 if the call has none. */
LLVMValueRef uk_cg_hint(struct uk_codegen *g, const struct uk_node *call);

/* range.c: the bounds of e, and of a loop's variable, in all iterations of the loops so far. */
extern const struct uk_interval uk_cg_any, uk_cg_from_zero;
struct uk_interval uk_cg_range(const struct uk_codegen *g, const struct uk_index *e);
/* sum + e * times; times INT64_MAX: unknown. */
struct uk_interval uk_cg_add_product(struct uk_interval sum, struct uk_interval e, int64_t times);
struct uk_interval uk_cg_loop_range(const struct uk_codegen *g, const struct uk_node *loop);

/* expr.c: f16 and bf16 values are floats, rounded after each operation. */
/* The condition that all indices of the access are inside of its tensor. */
LLVMValueRef uk_cg_exists(struct uk_codegen *g, const struct uk_access *a);
LLVMValueRef uk_cg_expr(struct uk_codegen *g, const struct uk_expr *e);
void uk_cg_store(struct uk_codegen *g, const struct uk_node *n);
/* fused.c: true if the value depends on elements of the tensor. */
bool uk_cg_reads(const struct uk_expr *e, const struct uk_tensor *t);
/* The store of a reduction with this term in place of the node's expression. */
void uk_cg_store_term(struct uk_codegen *g, const struct uk_node *n, LLVMValueRef term);

/* extreme.c: true if the loop takes the maximum or minimum of floats into one element, and is faster if it
 * collects what the result depends on; then its code. */
bool uk_cg_is_extreme(const struct uk_codegen *g, const struct uk_node *n);
void uk_cg_extreme(struct uk_codegen *g, const struct uk_node *n, LLVMValueRef lower, LLVMValueRef upper);
/* The value that the assignment stores: `old`, of the type, combined with v. Both may be vectors. any_order:
 * LLVM may add further terms in another order. */
LLVMValueRef uk_cg_combined(struct uk_codegen *g, enum uk_assign assign, bool any_order, enum uk_type type,
                            LLVMValueRef old, LLVMValueRef v);

/* cast.c: types of values in registers and in memory; rounding of f32 results to f16 or bf16;
 * conversions. */
LLVMTypeRef uk_cg_register_type(struct uk_codegen *g, enum uk_type t);
LLVMTypeRef uk_cg_memory_type(struct uk_codegen *g, enum uk_type t);
LLVMValueRef uk_cg_rounded(struct uk_codegen *g, enum uk_type type, LLVMValueRef v);
LLVMValueRef uk_cg_cast(struct uk_codegen *g, enum uk_type from, enum uk_type to, LLVMValueRef v);
LLVMValueRef uk_cg_from_double(struct uk_codegen *g, enum uk_type type, LLVMValueRef v);
LLVMValueRef uk_cg_to_memory(struct uk_codegen *g, enum uk_type type, LLVMValueRef v);
LLVMValueRef uk_cg_from_memory(struct uk_codegen *g, enum uk_type type, LLVMValueRef v);

/* operation.c: the value of an operation for numbers of the type, f32 or f64; the vectorizer finds its forms
 * for vectors. `code` makes it for vectors of at most 512 bits, and has no effect besides its value. */
enum { UK_OPERANDS = 4 };
struct uk_vector_op {
    const char *name;
    int operands;
    LLVMValueRef (*code)(struct uk_codegen *g, LLVMTypeRef vector, LLVMValueRef *arg);
};
LLVMValueRef uk_cg_operation(struct uk_codegen *g, const struct uk_vector_op *o, LLVMTypeRef type,
                             LLVMValueRef *arg);
/* The constant for each element of the vector. */
LLVMValueRef uk_cg_splat(LLVMTypeRef vector, LLVMValueRef constant);

/* fused.c: the value of a fused expression (enum uk_fused_form of lower.h), by instructions that LLVM does
 * not select by itself; NULL: the target has none for it. */
LLVMValueRef uk_cg_fused(struct uk_codegen *g, const struct uk_expr *e);
/* Generates a short loop with constant bounds that stores the bytes of UK_FUSED_BYTE expressions, 4 or 8 per
 * store; false: it is no such loop. */
bool uk_cg_fused_row(struct uk_codegen *g, const struct uk_node *n, int64_t lower, int64_t upper);
/* Returns the factor, a divisor of the trip count, by which to unroll a loop around such a short loop, which
 * takes less time than an iteration's overhead. 1: the body is no such loop. */
int uk_cg_fused_rows_at_once(struct uk_codegen *g, const struct uk_node *n, int64_t iterations);
/* Generates the first iterations of a loop with any bounds that stores such bytes, 8 per store. Returns the
 * begin of the remainder. */
LLVMValueRef uk_cg_fused_blocks(struct uk_codegen *g, const struct uk_node *n, LLVMValueRef lower,
                                LLVMValueRef upper);

/* Generates a loop as it is. */
typedef void uk_cg_loop_function(struct uk_codegen *g, const struct uk_node *n, LLVMValueRef lower,
                                 LLVMValueRef upper);
/* scan.c: generates the first iterations of a loop over the elements of a scan, or over its rows, by vectors,
 * and by `serial` the ends of these rows. Returns the begin of the remainder; `lower` for other loops. */
LLVMValueRef uk_cg_scan(struct uk_codegen *g, const struct uk_node *n, LLVMValueRef lower, LLVMValueRef upper,
                        uk_cg_loop_function *serial);

/* hint.c: alias scopes, after all places are known; marks of each load and store; metadata of
 * loops. */
void uk_cg_alias_scopes(struct uk_codegen *g);
/* Makes LLVM use vectors of 512 bits in the function, if the target has them. */
void uk_cg_prefer_full_vectors(struct uk_codegen *g, LLVMValueRef f);
void uk_cg_mark_access(struct uk_codegen *g, LLVMValueRef instruction, const struct uk_tensor *t);
LLVMMetadataRef uk_cg_enter_loop(struct uk_codegen *g, const struct uk_node *n);
void uk_cg_leave_loop(struct uk_codegen *g, const struct uk_node *n, LLVMValueRef branch,
                      LLVMMetadataRef outer);

/* check.c: generate a condition for targets with 32-bit addresses: no object has this many bytes (more than
 * 2^31 - 1), or ends at this address (above 2^32 - 1). The numbers have 64 bits. Constant false for 64-bit
 * addresses, where these numbers are checked for overflow instead. */
LLVMValueRef uk_cg_exceeds_object(struct uk_codegen *g, LLVMValueRef bytes);
LLVMValueRef uk_cg_ends_outside_object(struct uk_codegen *g, LLVMValueRef end);
/* check.c: a function with the same arguments that returns the status and accesses no operand. */
LLVMValueRef uk_cg_entry_checks(struct uk_codegen *g, LLVMTypeRef type, LLVMValueRef work_bytes);

/* work.c: the address of the workspace, and the places of the buffers in it; NULL if there are
 * none. */
enum { UK_WORK_ALIGN = 64 };
LLVMValueRef uk_cg_workspace(struct uk_codegen *g);
/* True if the tensor is a buffer in a local variable. */
bool uk_cg_is_variable(const struct uk_codegen *g, const struct uk_tensor *t);
/* Generates NAME_workspace: the bytes of the workspace for these sizes, or -1. */
LLVMValueRef uk_cg_work_bytes(struct uk_codegen *g);
/* The same for the packed form of a constant tensor, made by the packing function. */
LLVMValueRef uk_cg_form_bytes(struct uk_codegen *g, const char *name);
/* Sets the places of tensors that lie inside arguments. */
void uk_cg_sections(struct uk_codegen *g);

/* task.c: a parallel loop as a function of (context, index, thread), and the call that runs it. */
void uk_cg_parallel(struct uk_codegen *g, const struct uk_node *n);
/* A nest as a separate function, and its call. */
void uk_cg_nest(struct uk_codegen *g, const struct uk_node *n);

/* versions.c: generates NAME followed by the suffix. It has the parameters of the functions that the versions
 * have with this suffix, and calls that of the first version whose condition holds. */
void uk_cg_choose_version(struct uk_codegen *g, const char *suffix);

/* versions.c: true if the condition on the sizes holds; it does not if its value overflows. */
LLVMValueRef uk_cg_holds(struct uk_codegen *g, const struct uk_index *condition);

/* frame.c: a value of the current function, or of one around it, for use in the current function: the latter
 * is captured, through the context. NULL for NULL. */
LLVMValueRef uk_cg_local(struct uk_codegen *g, LLVMValueRef v);
/* A variable in the entry block, so that a loop does not grow the stack. */
LLVMValueRef uk_cg_variable(struct uk_codegen *g, LLVMTypeRef type, const char *name);
/* Begins NAME.LABELn(context, ...), an internal function. */
LLVMValueRef uk_cg_enter(struct uk_codegen *g, struct uk_cg_frame *f, LLVMTypeRef type, const char *label);
/* Ends it. Returns the context, which the outer function has filled in. */
LLVMValueRef uk_cg_leave(struct uk_codegen *g, struct uk_cg_frame *f);

/* launch.c: generates the kernel, and its launch in the host's function. */
void uk_cg_launch(struct uk_codegen *g, const struct uk_node *n);

/* thread.c: code that differs in kernels. uk_cg_runs_in_some_threads: the node contains no loop over threads,
 * so it runs only in the threads that the enclosing loops distribute to. */
bool uk_cg_runs_in_some_threads(const struct uk_codegen *g, const struct uk_node *n);
/* A node of a kernel: only the threads that the loops around it use run it. */
void uk_cg_kernel_node(struct uk_codegen *g, const struct uk_node *n);
/* A loop over blocks or threads. */
void uk_cg_spread(struct uk_codegen *g, const struct uk_node *n);
void uk_cg_barrier(struct uk_codegen *g);
/* True if the nodes call a kernel of a whole wave; in_loops: also inside of serial loops among them. */
bool uk_cg_calls_wave(const struct uk_node *n, bool in_loops);
/* After the node: waits until the wave's matrix instructions have stored their results, if it is the
 * innermost serial loop around such a call, or the call without one. */
void uk_cg_end_wave(struct uk_codegen *g, const struct uk_node *n);

/* vector.c: in a kernel, a vector loop with constant bounds that moves adjacent elements; false: it
 * is not such a loop. */
bool uk_cg_move_vector(struct uk_codegen *g, const struct uk_node *n, int64_t lower, int64_t upper);

/* copy.c: copies bytes by words of the target's registers; returns the begin of the remainder, which
 * is copied byte by byte. */
bool uk_cg_copies_words(const struct uk_codegen *g, const struct uk_node *n);
LLVMValueRef uk_cg_copy_words(struct uk_codegen *g, const struct uk_node *n, LLVMValueRef lower,
                              LLVMValueRef upper);

/* codegen.c: a generator of the build's code into the module, with a builder that the caller disposes of. */
struct uk_codegen uk_cg_begin(struct uk_build *build, const struct uk_target *target, LLVMModuleRef module);

/* node.c */
void uk_cg_node(struct uk_codegen *g, const struct uk_node *n);
void uk_cg_nodes(struct uk_codegen *g, const struct uk_node *n);

/* build.c */
LLVMValueRef uk_cg_int(struct uk_codegen *g, int64_t v);
/* An integer of the type of v. */
LLVMValueRef uk_cg_int_as(LLVMValueRef v, int64_t value);
void uk_cg_place(struct uk_codegen *g, const struct uk_tensor *t, LLVMValueRef base, LLVMValueRef stride);
/* Returns `status` from the function if `bad`; continues in a block of that name. */
void uk_cg_leave_if(struct uk_codegen *g, LLVMValueRef bad, LLVMValueRef status, const char *name);
/* Branches to `then` if the condition holds, which is unlikely. */
void uk_cg_branch_rarely(struct uk_codegen *g, LLVMValueRef condition, LLVMBasicBlockRef then,
                         LLVMBasicBlockRef other);
void uk_cg_fail(struct uk_codegen *g, enum uk_status status, const char *what, const char *name);
LLVMBasicBlockRef uk_cg_block(struct uk_codegen *g, const char *name);
LLVMValueRef uk_cg_declare(struct uk_codegen *g, const char *name, LLVMTypeRef type);
LLVMValueRef uk_cg_intrinsic(struct uk_codegen *g, const char *name, LLVMTypeRef type, LLVMValueRef *arg,
                             int n);
LLVMAttributeRef uk_cg_enum_attribute(struct uk_codegen *g, const char *name, uint64_t value);
void uk_cg_attribute(struct uk_codegen *g, LLVMValueRef f, unsigned at, const char *name, uint64_t value);

#endif
