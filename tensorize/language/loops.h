/* SPDX-License-Identifier: Apache-2.0 */
/* The loop IR, into which lowering copies isl's AST. It is a part of language.h and uses its types. */
#ifndef UK_LOOPS_H
#define UK_LOOPS_H

#ifndef UK_LANGUAGE_H
#error "include language/language.h"
#endif

enum uk_node_op { UK_N_FOR, UK_N_IF, UK_N_LET, UK_N_CALL, UK_N_STORE, UK_N_LAUNCH, UK_N_BARRIER, UK_N_CHECK };
enum uk_loop_kind {
    UK_LOOP_SERIAL,
    UK_LOOP_PARALLEL,
    UK_LOOP_UNROLLED,
    UK_LOOP_VECTOR,
    UK_LOOP_BLOCK, /* GPU: its iterations are blocks of a grid */
    UK_LOOP_THREAD
};
enum { UK_AXES = 3 }; /* x, y, z */
/* The largest grid that all GPUs take, in blocks along each axis. */
#define UK_MAX_BLOCKS {INT32_MAX, UINT16_MAX, UINT16_MAX}

/* A node of the loop IR. Nodes of a list, linked by `next`, are executed in order. */
struct uk_node {
    enum uk_node_op op;
    struct uk_node *next;
    /* - FOR: for (var = lower; var < upper; var += step), step > 0. PARALLEL: the iterations are independent.
     * - LET: var = value, visible in `body`.
     * - IF: `body` if `condition`, else `other`.
     * - CHECK: lower <= value < upper; else the function returns UK_INVALID_INDEX before the next nest
     *   begins. */
    struct uk_var *var;
    struct uk_index *lower, *upper;
    int64_t step;
    enum uk_loop_kind loop;
    int64_t full; /* constant extent of all tiles except those at an edge: code generation makes a version of
                     the loop for it; <= 0: none is wanted */
    /* VECTOR: no iteration touches what another one writes; false: the loop carries a reduction. */
    bool independent;
    /* VECTOR: the loop only copies elements that are adjacent in memory, as many bytes as one access can
     * load. */
    bool moves;
    /* With `moves`: the destination is adjacent too, so that one access can store it. */
    bool stores;
    int axis; /* BLOCK, THREAD: 0 to 2 for x to z; 3 (THREAD): none; the iteration is the thread's number in
                 its block / weight % extent */
    /* BLOCK: the iteration is the block's number / within % extent. within: the product of the extents of
     * loops inside this one on the same axis, or NULL; is_digit: a loop around this one is on the axis too.
     */
    struct uk_index *within;
    bool is_digit;
    int64_t weight;        /* THREAD: increment of the thread's number in its block per iteration */
    int64_t threads;       /* THREAD with an axis: the number of values that this digit of the axis has */
    int slots;             /* slots of a pipelined loop; else 0 */
    struct uk_position at; /* position of the step that gave the loop its kind; CHECK: of the access */
    /* LAUNCH: `body` is a GPU kernel, whose loops over blocks are outermost. `grid` has their extents,
     * `block` those of the loops over threads; 1 for an axis that is not bound. BLOCK loops have `block`
     * too. */
    struct uk_index *grid[UK_AXES];
    int64_t block[UK_AXES];
    struct uk_index *value, *condition;
    struct uk_node *body, *other;
    /* STORE: target = or op= expr. Accesses have stored indices. */
    struct uk_access target;
    enum uk_assign assign;
    struct uk_expr *expr;
    bool is_version; /* IF: `other` computes the same as `body` and is valid under any condition */
    /* IF: body and other are calls that differ only in their forms, best merged into one call. */
    bool is_form;
    bool any_order; /* STORE: part of a reduction, whose terms may be added in any order */
    /* CALL of `form` of `intrinsic`. operand[i] is the tile's origin for the declaration's i-th tensor,
     * bind[i] the value of its i-th size, scalar[i] of its i-th scalar. */
    struct uk_intrinsic *intrinsic;
    enum uk_form_kind form;
    struct uk_access *operand;
    struct uk_index **bind;
    struct uk_expr **scalar;
    /* CALL whose forms have a hint: the next origin of that operand, which may be outside of its tensor, and
     * the call's part of what is there: elements to be added. NULL: there is no hint. */
    struct uk_access *ahead;
    struct uk_index *part;
    const char *stage; /* stage whose instance this is, for printing */
};

/* The CHECK of a nest of checks, or NULL. A nest that contains a CHECK contains nothing else. */
static inline const struct uk_node *uk_check_in(const struct uk_node *n) {
    while (n && n->op != UK_N_CHECK)
        n = n->body;
    return n;
}

/* Largest tile, in bytes, that may be a local variable instead of a buffer (codegen/work.c): two rows of 16
 * f32 sums. */
enum { UK_VARIABLE_BYTES = 128 };

/* A buffer in the workspace. Its tensor's origin is at byte `offset` of the workspace, plus thread * bytes if
 * it is per thread. */
struct uk_buffer {
    struct uk_tensor *tensor;
    struct uk_index *elements; /* over the program's sizes only */
    int64_t over;              /* trailing elements that no access touches but a kernel may read */
    bool per_thread;           /* used inside a parallel loop: one copy per thread */
    /* Variable of the pipelined loop whose iterations rotate through slots of the buffer; or NULL. */
    const struct uk_var *slots;
    const char *inside; /* for printing: the buffer holds the part of a temp that one iteration of this loop
                           uses; NULL: all of the temp */
    struct uk_buffer *next;
};

/* A temp whose elements share the memory of another tensor's. */
struct uk_alias {
    const struct uk_tensor *tensor, *home;
    struct uk_alias *next;
};

/* A tensor inside the memory of an argument, `offset` bytes after its origin. */
struct uk_section {
    const struct uk_tensor *tensor, *home;
    struct uk_index *offset; /* over the program's sizes only */
    struct uk_section *next;
};

/* A constant tensor's packed form, one block: the tensor itself, if the function reads it in place, and its
 * copies. */
struct uk_packed {
    const struct uk_tensor *tensor, *form; /* form: the argument that replaces the tensor, of `bytes` bytes */
    struct uk_index *bytes;
    bool copies;              /* the block contains copies */
    struct uk_function *pack; /* function that makes the form from the tensor */
    const char *size_name;    /* name of the function that returns `bytes` */
    struct uk_packed *next;
};

/* A condition on the sizes (value != 0) that must hold at entry, and its text for messages. */
struct uk_entry_check {
    struct uk_index *condition;
    const char *text; /* "M >= 0" */
    struct uk_entry_check *next;
};

/* GPU kernels with short indices, of 32 bits, need tensors of less than UK_SHORT_BYTES bytes, and sizes below
 * UK_SHORT_SIZE, so that the sum of two has 31 bits. */
#define UK_SHORT_BYTES ((int64_t)1 << 31)
#define UK_SHORT_SIZE (UK_SHORT_BYTES / 2)

/* One of the functions of a program with several schedules. */
struct uk_function_version {
    struct uk_index *condition; /* NULL: the last one */
    struct uk_function *function;
    struct uk_function_version *next;
};

struct uk_function {
    /* The program's sizes are arguments, then `scalars`, then those of `tensor` that are not temps. */
    struct uk_program *program;
    const char *name;
    const struct uk_scalar *scalars; /* the program's; NULL for a function that packs */
    int tensors; /* the program's; for a function that packs: the constant tensor and its form */
    const struct uk_tensor **tensor;
    struct uk_entry_check *checks; /* besides the checks that follow from shapes and strides */
    /* On a GPU: a condition on the sizes. If it holds, the kernels with short indices are taken, else those
     * with indices of 64 bits. NULL: the sizes are defined, and need no such choice, or are too large. */
    struct uk_index *fits;
    bool is_short; /* a version that is taken only if `fits` holds */
    struct uk_buffer *buffers;
    struct uk_alias *aliases;
    struct uk_section *sections;
    struct uk_packed *packed;
    struct uk_node *body;
    bool is_parallel;   /* contains an UK_LOOP_PARALLEL */
    bool work_argument; /* the last argument is the workspace, whose size NAME_workspace returns */
    int intrinsics;     /* number of different intrinsics that it calls */
    struct uk_intrinsic **intrinsic;
    struct uk_schedule *schedule; /* schedule that produced it; NULL: it has versions */
    /* The function calls the first version whose condition holds, and has no body, buffers and checks of its
     * own; or NULL. */
    struct uk_function_version *versions;
    struct uk_version *automatic; /* the schedules of the versions, if the program states none; or NULL */
};

/* The access whose element e is, or is inside of its tensor and a number elsewhere; NULL: e is another
 * expression. */
static inline const struct uk_access *uk_moved_access(const struct uk_expr *e) {
    if (e->op == UK_E_PAD && e->arg[1]->op == UK_E_NUMBER)
        e = e->arg[0];
    return e->op == UK_E_ACCESS ? &e->access : NULL;
}

#endif
