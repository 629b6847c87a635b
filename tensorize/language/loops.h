/* SPDX-License-Identifier: Apache-2.0 */
/* The loop IR, what isl's AST is copied into: the last part of language.h, whose types it is made of. */
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
    UK_LOOP_BLOCK, /* its iterations are blocks of a kernel, or threads of a block */
    UK_LOOP_THREAD
};
enum { UK_AXES = 3 }; /* x, y, z */

/* Nodes in a row are executed in order; `next` links them. */
struct uk_node {
    enum uk_node_op op;
    struct uk_node *next;
    /* FOR: for var = lower; var < upper; var += step (step > 0). PARALLEL: iterations are independent.
     * LET: var = value, visible in `body`. IF: `condition`, body, other.
     * CHECK: lower <= value < upper, or the function returns UK_INVALID_INDEX before the next nest begins. */
    struct uk_var *var;
    struct uk_index *lower, *upper;
    int64_t step;
    enum uk_loop_kind loop;
    int64_t full;     /* the extent that it has but at the edges, if that is worth code of its own; else 0 */
    bool independent; /* VECTOR: no iteration touches what another one writes; else it carries a reduction */
    bool moves; /* VECTOR: it only copies what are neighbours in memory, of a size that one access can have */
    bool stores;           /* ... to neighbours, which one access can store */
    int axis;              /* BLOCK, THREAD: 0 to 2 for x to z; 3: a digit of the thread's number */
    int64_t weight;        /* THREAD: what an iteration adds to that number */
    int slots;             /* of a pipeline that is not made yet; else 0 */
    struct uk_position at; /* of the step that made the loop what it is; CHECK: of the access */
    /* LAUNCH: `body` is a kernel, whose loops over blocks are outermost; their extents, and those of its
     * threads, 1 where an axis is not bound. BLOCK: that of the threads too. */
    struct uk_index *grid[UK_AXES];
    int64_t block[UK_AXES];
    struct uk_index *value, *condition;
    struct uk_node *body, *other;
    /* STORE: target (stored indices) = or op= expression, whose accesses have stored indices too. */
    struct uk_access target;
    enum uk_assign assign;
    struct uk_expr *expr;
    bool is_version; /* IF: `other` does what `body` does, and under any condition */
    bool is_form;   /* IF: body and other are calls that differ in their forms alone, and are best made one */
    bool any_order; /* part of a reduction, which has no order */
    /* CALL of form of intrinsic. operand[i] is the tile's origin for the i-th tensor of the declaration;
     * bind[i] the value of the declaration's i-th size, scalar[i] of its i-th scalar. */
    struct uk_intrinsic *intrinsic;
    enum uk_form_kind form;
    struct uk_access *operand;
    struct uk_index **bind;
    struct uk_expr **scalar;
    const char *stage; /* whose instance this is, for printing */
};

/* A nest has no CHECK, or is there for one alone. */
static inline const struct uk_node *uk_check_in(const struct uk_node *n) {
    while (n && n->op != UK_N_CHECK)
        n = n->body;
    return n;
}

/* Up to so many bytes, two rows of 16 sums, a tile may be a variable of the function instead
 * (codegen/work.c). */
enum { UK_VARIABLE_BYTES = 128 };

/* A buffer of the workspace. Its tensor's origin lies at `offset` bytes of the workspace (+ thread * bytes).
 */
struct uk_buffer {
    struct uk_tensor *tensor;
    struct uk_index *elements;  /* over sizes only */
    int64_t over;               /* of them, that no access is of, and a kernel may read */
    bool per_thread;            /* lives inside a parallel loop */
    const struct uk_var *slots; /* of the pipeline whose iterations have slots of it in turn; or NULL */
    const char *inside;         /* a temp of which one iteration of this loop needs only a part; or NULL */
    struct uk_buffer *next;
};

/* A temp whose elements live in those of another tensor. */
struct uk_alias {
    const struct uk_tensor *tensor, *home;
    struct uk_alias *next;
};

/* A tensor that lies in the memory of another one, an argument, `offset` bytes behind its origin. */
struct uk_section {
    const struct uk_tensor *tensor, *home;
    struct uk_index *offset; /* over sizes only */
    struct uk_section *next;
};

/* What the function reads of a constant tensor, in one block: the tensor itself, if it is read in place, and
 * the copies of it. */
struct uk_packed {
    const struct uk_tensor *tensor, *form; /* form: the argument in its place, of so many bytes */
    struct uk_index *bytes;
    bool copies;              /* there are copies in it */
    struct uk_function *pack; /* makes the form of the tensor */
    const char *size_name;    /* of the function that returns its bytes */
    struct uk_packed *next;
};

/* A condition on the sizes (value != 0) that must hold at entry, and what to say otherwise. */
struct uk_entry_check {
    struct uk_index *condition;
    const char *text; /* "M >= 0" */
    struct uk_entry_check *next;
};

struct uk_function {
    struct uk_program
        *program; /* its sizes are arguments, then `scalars`, then those of `tensor` that are no temps */
    const char *name;
    const struct uk_scalar *scalars; /* the program's; a function that packs has none */
    int tensors;                     /* the program's, or what is packed and its form */
    const struct uk_tensor **tensor;
    struct uk_entry_check *checks; /* beyond those that follow from shapes and strides */
    struct uk_buffer *buffers;
    struct uk_alias *aliases;
    struct uk_section *sections;
    struct uk_packed *packed;
    struct uk_node *body;
    bool is_parallel;   /* has an UK_LOOP_PARALLEL */
    bool work_argument; /* the workspace is its last argument, and NAME_workspace returns its size */
    int intrinsics;     /* distinct ones that are called */
    struct uk_intrinsic **intrinsic;
    struct uk_schedule *schedule; /* that made it; or NULL */
};

#endif
