/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the code generator: the state of one function being written. */
#ifndef UK_GENERATOR_H
#define UK_GENERATOR_H

#include "codegen.h"

/* The value of a variable; not_negative lets division and remainder be unsigned. */
struct uk_binding {
    const struct uk_var *var;
    LLVMValueRef value;
    bool not_negative;
    bool varies; /* from thread to thread of a block */
    struct uk_binding *next;
};

/* Where a tensor lies: base, plus thread * stride bytes for a per-thread buffer. */
struct uk_place {
    const struct uk_tensor *tensor;
    LLVMValueRef base;
    LLVMValueRef thread_stride;    /* NULL: one for all */
    LLVMMetadataRef scope, others; /* alias scopes: this tensor's, and those of all others (NULL: none) */
    struct uk_place *next;
};

struct uk_given_scalar {
    const struct uk_scalar *scalar;
    LLVMValueRef value;
    struct uk_given_scalar *next;
};

/* Threads that loops around spread over: number / weight % extent, of the thread's number in its block. */
struct uk_spread {
    int64_t weight, extent;
    struct uk_spread *outer;
};

/* The function that is written, inside of another one. */
struct uk_cg_frame {
    struct uk_cg_frame *outer;
    LLVMBasicBlockRef entry; /* reads the context; ends when the function does */
    unsigned fields;
    struct uk_cg_capture *captures;
    /* the outer function's state */
    LLVMValueRef function, thread;
    LLVMBasicBlockRef here;
    bool in_parallel;
};

struct uk_codegen {
    struct uk_build *build;
    const struct uk_target *target; /* that of the build; or of the host's part of it */
    const struct uk_function *f;
    struct uk_arena arena; /* of bindings; gone with the generator */
    enum uk_status status; /* the first failure; what is generated after it is discarded */
    LLVMContextRef llvm;
    LLVMModuleRef module;
    LLVMBuilderRef b;
    LLVMTypeRef i1, i8, i16, i32, i64, f32, f64, ptr;
    LLVMTypeRef size;          /* size_t of the target */
    LLVMValueRef function;     /* being written */
    LLVMValueRef thread;       /* 0 outside a parallel loop */
    struct uk_cg_frame *frame; /* of a function inside another one; or NULL */
    bool in_parallel;
    struct uk_binding *bindings;
    struct uk_place *places;
    struct uk_given_scalar *scalars;
    /* Not NULL: index arithmetic is checked, and overflow is or-ed into it (an i1). */
    LLVMValueRef *overflow;
    LLVMValueRef
        bad_index; /* a variable: an element that is a subscript is outside; NULL: none was tested yet */
    int tasks;
    unsigned first;            /* parameters of the function before those of the program */
    struct uk_codegen *device; /* of the host's part: writes kernels */
    /* In a kernel: which, the numbers of the thread and the block by axis, and its loops over threads. */
    const struct uk_node *launch;
    LLVMValueRef thread_id[UK_AXES], block_id[UK_AXES];
    struct uk_spread *spread;
    bool is_one_each;      /* each thread that gets here has an iteration of its own */
    bool in_edge;          /* in the version of a loop that is for less than its full extent */
    LLVMMetadataRef group; /* of accesses in a loop whose iterations are independent, or NULL */
    bool chooses;          /* the innermost loop reads memory behind a branch */
};

/* codegen_index.c */
LLVMValueRef uk_cg_index(struct uk_codegen *g, const struct uk_index *e);
LLVMValueRef uk_cg_condition(struct uk_codegen *g, const struct uk_index *e);
bool uk_cg_not_negative(const struct uk_codegen *g, const struct uk_index *e);
/* Have all variables of e a value here? */
bool uk_cg_is_known(const struct uk_codegen *g, const struct uk_index *e);
void uk_cg_bind(struct uk_codegen *g, const struct uk_var *v, LLVMValueRef value, bool not_negative);
/* l op r for ADD, SUB and MUL: checked where the generator is in that mode, else "cannot overflow". */
LLVMValueRef uk_cg_arithmetic(struct uk_codegen *g, enum uk_index_op op, LLVMValueRef l, LLVMValueRef r);
/* The address of an access; inside says that it is an element of the tensor, not only the origin of a tile.
 */
LLVMValueRef uk_cg_address(struct uk_codegen *g, const struct uk_access *a, bool inside);

/* codegen_expr.c: f16 and bf16 values are floats, rounded after each operation. */
LLVMValueRef uk_cg_expr(struct uk_codegen *g, const struct uk_expr *e);
void uk_cg_store(struct uk_codegen *g, const struct uk_node *n);

/* codegen_cast.c: the types of values in registers and in memory; a result of an operation on f32, rounded to
 * f16 or bf16; conversions. */
LLVMTypeRef uk_cg_register_type(struct uk_codegen *g, enum uk_type t);
LLVMTypeRef uk_cg_memory_type(struct uk_codegen *g, enum uk_type t);
LLVMValueRef uk_cg_rounded(struct uk_codegen *g, enum uk_type type, LLVMValueRef v);
LLVMValueRef uk_cg_cast(struct uk_codegen *g, enum uk_type from, enum uk_type to, LLVMValueRef v);
LLVMValueRef uk_cg_from_double(struct uk_codegen *g, enum uk_type type, LLVMValueRef v);
LLVMValueRef uk_cg_to_memory(struct uk_codegen *g, enum uk_type type, LLVMValueRef v);
LLVMValueRef uk_cg_from_memory(struct uk_codegen *g, enum uk_type type, LLVMValueRef v);

/* codegen_fused.c: the value by instructions that LLVM does not select by itself; NULL: there are none for
 * it. */
LLVMValueRef uk_cg_fused(struct uk_codegen *g, const struct uk_expr *e);
/* A loop between constants, of such values, as words of several; false: it is none. */
bool uk_cg_fused_row(struct uk_codegen *g, const struct uk_node *n, int64_t lower, int64_t upper);
/* How many iterations of the loop, a divisor of their number, stand in its body: more than one where they are
 * such rows, since what counts the loop would cost them more than their code. */
int uk_cg_fused_rows_at_once(struct uk_codegen *g, const struct uk_node *n, int64_t iterations);
/* Any loop of such values: blocks of several come first. Returns where the rest begins. */
LLVMValueRef uk_cg_fused_blocks(struct uk_codegen *g, const struct uk_node *n, LLVMValueRef lower,
                                LLVMValueRef upper);

/* codegen_hint.c: once all places are known; for each load and store; around the body of a loop. */
void uk_cg_alias_scopes(struct uk_codegen *g);
void uk_cg_whole_vectors(struct uk_codegen *g, LLVMValueRef f);
void uk_cg_mark_access(struct uk_codegen *g, LLVMValueRef instruction, const struct uk_tensor *t);
LLVMMetadataRef uk_cg_enter_loop(struct uk_codegen *g, const struct uk_node *n);
void uk_cg_leave_loop(struct uk_codegen *g, const struct uk_node *n, LLVMValueRef branch,
                      LLVMMetadataRef outer);

/* codegen_check.c: whether no object of the target has so many bytes, or ends there: addresses of 32 bits are
 * compared as 64, and no offset into an object may exceed 2^31 - 1. False where addresses have 64 bits, whose
 * overflow is detected. */
LLVMValueRef uk_cg_too_large(struct uk_codegen *g, LLVMValueRef bytes);
LLVMValueRef uk_cg_beyond(struct uk_codegen *g, LLVMValueRef end);
/* codegen_check.c: a function of the same arguments that returns the status and accesses no operand. */
LLVMValueRef uk_cg_entry_checks(struct uk_codegen *g, LLVMTypeRef type, LLVMValueRef work_bytes);

/* codegen_work.c: the workspace's address, with the buffers' places in it; NULL where there are none. */
enum { UK_WORK_ALIGN = 64 };
LLVMValueRef uk_cg_workspace(struct uk_codegen *g);
/* Is the tensor a buffer that is a variable of the function's? */
bool uk_cg_is_variable(const struct uk_codegen *g, const struct uk_tensor *t);
/* NAME_workspace: the bytes of the workspace for these sizes, or -1. */
LLVMValueRef uk_cg_work_bytes(struct uk_codegen *g);
/* The same of the form that the function, which packs, makes of a constant tensor. */
LLVMValueRef uk_cg_form_bytes(struct uk_codegen *g, const char *name);
/* The places of tensors that lie inside of arguments. */
void uk_cg_sections(struct uk_codegen *g);

/* codegen_task.c: a parallel loop as a function of (context, index, thread), and the call that runs it. */
void uk_cg_parallel(struct uk_codegen *g, const struct uk_node *n);
/* A nest as a function of its own, and the call. */
void uk_cg_nest(struct uk_codegen *g, const struct uk_node *n);

/* codegen_frame.c: a value of the function being written, or of one around it, in the former. NULL of NULL.
 * */
LLVMValueRef uk_cg_local(struct uk_codegen *g, LLVMValueRef v);
/* Made in the entry block, so that a loop does not grow the stack. */
LLVMValueRef uk_cg_variable(struct uk_codegen *g, LLVMTypeRef type, const char *name);
/* Begins NAME.LABELn(context, ...), a function of the module's own. */
LLVMValueRef uk_cg_enter(struct uk_codegen *g, struct uk_cg_frame *f, LLVMTypeRef type, const char *label);
/* Ends it. Returns the context, which is written where the outer function goes on. */
LLVMValueRef uk_cg_leave(struct uk_codegen *g, struct uk_cg_frame *f);

/* codegen_launch.c: the kernel, and its launch by the host's function. */
void uk_cg_launch(struct uk_codegen *g, const struct uk_node *n);

/* codegen_thread.c: what differs in kernels. Is there no loop over threads in the node but those around it?
 * Then it is for those threads alone that they spread over. */
bool uk_cg_is_for_some(const struct uk_codegen *g, const struct uk_node *n);
void uk_cg_kernel_node(struct uk_codegen *g, const struct uk_node *n);
/* A loop over blocks or threads. */
void uk_cg_spread(struct uk_codegen *g, const struct uk_node *n);
void uk_cg_barrier(struct uk_codegen *g);
/* The most that e can be, INT64_MAX if nothing says so. */
int64_t uk_cg_most(const struct uk_index *e);

/* codegen_vector.c: in a kernel, a vector loop between constants whose iterations move neighbours in memory;
 * false: it is none. */
bool uk_cg_move_vector(struct uk_codegen *g, const struct uk_node *n, int64_t lower, int64_t upper);

/* codegen_copy.c: a loop that copies bytes, of the target's registers; where what is left to be copied by
 * bytes begins. */
bool uk_cg_copies_words(const struct uk_codegen *g, const struct uk_node *n);
LLVMValueRef uk_cg_copy_words(struct uk_codegen *g, const struct uk_node *n, LLVMValueRef lower,
                              LLVMValueRef upper);

/* codegen.c: a generator of the build's code into the module, with a builder that is to be disposed of. */
struct uk_codegen uk_cg_begin(struct uk_build *build, const struct uk_target *target, LLVMModuleRef module);

/* codegen_node.c */
void uk_cg_node(struct uk_codegen *g, const struct uk_node *n);
void uk_cg_nodes(struct uk_codegen *g, const struct uk_node *n);

/* codegen_build.c */
LLVMValueRef uk_cg_int(struct uk_codegen *g, int64_t v);
void uk_cg_place(struct uk_codegen *g, const struct uk_tensor *t, LLVMValueRef base, LLVMValueRef stride);
/* Returns `status` at once if `bad`; goes on in a block of that name. */
void uk_cg_leave_if(struct uk_codegen *g, LLVMValueRef bad, LLVMValueRef status, const char *name);
void uk_cg_fail(struct uk_codegen *g, enum uk_status status, const char *what, const char *name);
LLVMBasicBlockRef uk_cg_block(struct uk_codegen *g, const char *name);
LLVMValueRef uk_cg_declare(struct uk_codegen *g, const char *name, LLVMTypeRef type);
LLVMValueRef uk_cg_intrinsic(struct uk_codegen *g, const char *name, LLVMTypeRef type, LLVMValueRef *arg,
                             int n);
LLVMAttributeRef uk_cg_enum_attribute(struct uk_codegen *g, const char *name, uint64_t value);
void uk_cg_attribute(struct uk_codegen *g, LLVMValueRef f, unsigned at, const char *name, uint64_t value);

#endif
