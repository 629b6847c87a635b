/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix products of any size and layout, by the kernels of the registry: uk_sgemm, uk_dgemm, uk_igemm and so
 * on, their batches and plans.
 *
 *     product.h        a product: as a caller describes it, and as every path sees it
 *     gemm.c, batch.c  the calls, and the shortcut of the smallest products
 *     calls_element.h  calls of one element type; gemm.c includes it
 *     low.h            products of low precision: the types, their plans, and copies of operands
 *     weights.h        products with weights of 4 or 8 bits in blocks, which have plans of their own
 *     plan.c           checks arguments, chooses the path, remembers plans
 *     paths.c          the table of paths; runs a plan
 *     vector.c         the path of matrix-vector products
 *     dots.c           the path of products that are computed as inner products
 *     stream.c         the path of products of few rows, which read B in the order of memory
 *     small.h          the path of small products, whose kernels read operands in place and compute all rows
 *                      in one call: small_kernels.c chooses kernels by the number of columns, small_plan.c
 *                      the order of their calls, small_cost.c estimates, small_run.c runs
 *     tiles.h          the path of tiles: tiles_plan.c chooses kernel, blocks and threads, cost.c estimates,
 *                      tiles_run.c runs blocks, panels, rows of tiles
 *     pack.c           copies of operands
 *     text.c           uk_last_message, uk_gemm_explain, UK_VERBOSE=1
 *     kernels.c        the registry's kernels by element type and form (types.h)
 *     element.h        functions that depend on the element type; f32.c and f64.c include it
 *
 * A path is an algorithm for products. Before a product runs, a plan is made for it, by the path with the
 * fewest estimated cycles on one thread (plan.c). The path determines the order in which the terms of an
 * element are added, and results must depend neither on the number of threads nor on whether operands were
 * packed beforehand. Estimates therefore depend only on sizes, strides and the machine's row of cores.def. If
 * the chosen path cannot use several threads or packed operands, tiles compute the product, and add the terms
 * in the order of that path. Plans are made without operands: no decision reads one, or its address.
 *
 * The loops over blocks and packed panels are those of Goto and van de Geijn, "Anatomy of high-performance
 * matrix multiplication" (ACM TOMS 34, 2008), with the micro-kernel as the unit, as in BLIS (Van Zee and van
 * de Geijn, ACM TOMS 41, 2015). Unlike there, an operand may be read in place, where cost.c estimates that
 * this is faster than packing it.
 *
 * Uses the folders machine (the row of a core), registry (kernels), view (operands in arrays), cost (cycles)
 * and runtime (threads, memory).
 */
#ifndef GEMM_H
#define GEMM_H

#include "runtime/runtime.h"
#include "types.h"

/*
 * Orders of the calls of a small product's kernels:
 *
 *     GEMM_AT_ONCE              each kernel computes all rows of its columns in one call
 *     GEMM_BLOCKS_OF_ROWS       blocks of rows one after another; the next rows of A are prefetched
 *     GEMM_BLOCKS_OF_COLUMNS    blocks of columns one after another, all rows of each in one call
 *     GEMM_ALONG_ROWS           a few rows at a time, along C's rows
 */
enum gemm_order { GEMM_AT_ONCE, GEMM_BLOCKS_OF_ROWS, GEMM_BLOCKS_OF_COLUMNS, GEMM_ALONG_ROWS };
/* Copies of a column-major B: none; all columns, which are few, transposed; some columns at a time,
 * transposed. */
enum gemm_copies { GEMM_COPIES_NOTHING, GEMM_COPIES_FEW, GEMM_COPIES_TRANSPOSED };

/* How a small product is computed. */
struct gemm_small {
    const struct gemm_direct *kernels; /* for all columns; if width is not 0, for a block of them */
    int64_t columns;                   /* that are copied at a time; without copies all */
    int64_t ldb;                       /* elements from row to row of B, or of its copy */
    int64_t bytes;                     /* of the copy, or 0 */
    int width;                         /* columns of a block; 0: there are no blocks of columns */
    unsigned char order, copies;       /* enum gemm_order, enum gemm_copies */
    bool prefetches;                   /* rows of C are prefetched */
};

/* Prepared calls of kernels that compute columns next to each other, from the first column on. */
struct gemm_calls {
    struct uk_small_call call[GEMM_COLUMN_SPLITS];
    uk_small_run *run[GEMM_COLUMN_SPLITS]; /* the function that makes the call */
    int64_t bytes[GEMM_COLUMN_SPLITS];     /* of a row of the kernel's columns */
    int count;
};

/* How a product is computed by tiles. */
struct gemm_way {
    const struct gemm_tile *tile;
    enum gemm_form form;
    enum uk_lattice_kind a, b; /* tiles read A and B in place, or copies in rows or panels */
    bool prefetches;           /* tiles are computed by the variant that prefetches */
    int64_t rows;              /* of a panel of A */
    int64_t kc;                /* k iterations of a block */
    double cycles;             /* estimated, on one thread */
};

struct gemm_path;

struct gemm_plan {
    struct gemm_product product;
    const struct gemm_path *path;
    double cycles;                   /* estimated, on one thread */
    bool swapped;                    /* the caller's A and B are the product's B and A */
    bool whole;                      /* k must be one block */
    bool is_certain;                 /* set by gemm_path.cycles: later paths need not be estimated */
    bool is_wanted;                  /* the caller named the path, however many cycles it takes */
    int64_t row_tasks, column_tasks; /* the grid that threads share */
    struct pthreadpool *pool;        /* NULL: the library's */
    int64_t a_block, b_block;        /* elements of the copies of A and B; by tiles: those of each task */
    int64_t sums_block;              /* elements that the sums of A's rows and B's columns take, per task */
    size_t workspace;                /* bytes that a run needs; 0: none */
    union {                          /* by the path: */
        struct gemm_small small;     /* small products */
        struct gemm_vector vector;   /* matrix-vector products */
        struct gemm_dots dots;       /* inner products */
        struct gemm_stream stream;   /* few rows */
    };
    /* Of the path of tiles; nc is used for matrix-vector products too. */
    struct gemm_way way;
    int64_t mc, nc;                       /* rows and columns of a block */
    int64_t a_padding;                    /* elements before the panels of A, for a first panel that is copied
                                             in rows, which take more memory; or 0 */
    const struct uk_kernel *tail;         /* of the last columns; NULL: the tile's */
    const struct uk_kernel *first;        /* of the first rows, which also packs B; NULL: the tile's */
    const struct uk_variant *prefetching; /* the tile's variant that prefetches what is read next; or NULL */
    unsigned char tail_form;              /* enum gemm_form of `tail` */
};

/* The contents of the caller's struct uk_gemm_plan. That struct's size is part of the ABI, and larger, so
 * that fields can be added here. */
struct gemm_prepared {
    /* Of the kernels of a small product. The first field: functions in `resolved` get the address of its
     * first call, and run_calls of small_run.c finds all calls there. */
    struct gemm_calls calls;
    /* Functions that compute a product of floats, [0], or of doubles, [1], by `calls` alone, if alpha is 1
     * and beta 0 or 1; NULL: not possible. resolved_swapped: if the caller's A is the product's B. */
    uk_small_run *resolved[2];
    uk_small_run *resolved_swapped[2];
    struct gemm_plan plan;
};
_Static_assert(sizeof(struct gemm_prepared) <= sizeof(struct uk_gemm_plan) &&
                   _Alignof(struct gemm_prepared) <= _Alignof(struct uk_gemm_plan),
               "a plan has to fit into the caller's struct uk_gemm_plan");

static inline const struct gemm_prepared *gemm_prepared_in(const struct uk_gemm_plan *callers) {
    return (const struct gemm_prepared *)(const void *)callers;
}

/* The plan; NULL: there is none. */
static inline const struct gemm_plan *gemm_plan_in(const struct uk_gemm_plan *callers) {
    return callers && gemm_prepared_in(callers)->plan.path ? &gemm_prepared_in(callers)->plan : NULL;
}

/* ---- paths ---- */

/* A text that grows in a buffer of `size` bytes. `length`: bytes of the whole text, as of snprintf, even if
 * the buffer holds only its beginning. */
struct gemm_text {
    char *buffer;
    size_t size, length;
};

/* How operands are packed beforehand. */
enum gemm_packs {
    GEMM_PACKS_NOTHING,
    GEMM_PACKS_PANELS,
    GEMM_PACKS_ALONG_K,  /* rows of A, and columns of B */
    GEMM_PACKS_AS_STORED /* in the order of the source, rows uk_gemm_leading apart */
};

struct gemm_path {
    const char *name;
    enum gemm_packs packs;
    /* Estimates cycles on one thread, of a plan in which product, whole and is_wanted are set; HUGE_VAL: the
     * path does not apply. May set is_certain and the path's own fields. */
    double (*cycles)(struct gemm_plan *plan);
    /* Completes the plan for the product's threads and packed operands; NULL: it is complete. UK_NO_MATCH:
     * the path cannot use them, and tiles compute the product with k in one block. */
    enum uk_status (*plan)(struct gemm_plan *plan);
    /* Computes the product; alpha is not 0. The workspace has as many bytes as the plan says; NULL: none, or
     * memory could not be allocated, which only the path of small products accepts. */
    void (*run)(const struct gemm_plan *plan, const struct gemm_operands *o, void *workspace);
    void (*explain)(struct gemm_text *t, const struct gemm_plan *plan);
};

extern const struct gemm_path uk_gemm_scale, uk_gemm_small, uk_gemm_vector, uk_gemm_dots, uk_gemm_stream,
    uk_gemm_tiles;
/* All paths, in the order in which they are estimated (gemm_plan.is_certain); then NULL. */
extern const struct gemm_path *const uk_gemm_paths[];

/* The number of threads that the product may use and that are worth waking: each has at least GEMM_TASK
 * cycles of work. */
static inline int64_t gemm_threads(const struct gemm_plan *p) {
    const double worth = p->cycles / GEMM_TASK;

    return worth < 1 ? 1 : worth < p->product.threads ? (int64_t)worth : p->product.threads;
}

/* Sets the plan's workspace to `count` times the copies of A and B and the sums; SIZE_MAX if that is not
 * addressable. */
static inline void gemm_set_workspace(struct gemm_plan *plan, int64_t count) {
    const uint64_t all = (uint64_t)(count * (plan->a_block + plan->b_block + plan->sums_block));

    if (__builtin_mul_overflow(all, (size_t)plan->product.type->size, &plan->workspace))
        plan->workspace = SIZE_MAX;
}

/* The context of a path's tasks (gemm_parallel); each task computes a part of the product. */
struct gemm_task {
    const struct gemm_plan *plan;
    const struct gemm_operands *o;
    char *work;
};

/* Sets [*begin, *end) to a task's share of `whole` rows or columns: tasks get whole panels of `size`. */
static inline void gemm_share(int64_t task, int64_t tasks, int64_t whole, int64_t size, int64_t *begin,
                              int64_t *end) {
    *begin = 0;
    *end = whole;
    if (tasks == 1)
        return;
    const int64_t count = uk_ceil_div(whole, size);

    *begin = task * count / tasks * size;
    *end = uk_min((task + 1) * count / tasks * size, whole);
}

/* ---- plan.c ---- */

/* A path that a caller wants instead of the one with the fewest cycles; for tiles also the symbol of the
 * kernel and the length of blocks of k. NULL or 0: the best. */
struct gemm_wanted {
    const char *path, *kernel;
    int64_t kc;
};

/* The number of threads that a plan may use, by the caller's options. */
int64_t uk_gemm_threads(int threads, struct pthreadpool *pool);

/* Everything that the plan of a call depends on. */
struct gemm_arguments {
    const struct gemm_type *type;
    struct gemm_shape shape;
    int threads;
    bool a_packed, b_packed;
    enum uk_c_element c_element;
};

/* The number of threads that a call may use. Valid after uk_gemm_look_up. */
static inline int gemm_call_threads(void) {
    return atomic_load_explicit(&uk_threads, memory_order_relaxed);
}

/* Checks a call's arguments and sets *plan to its plan, one of the last that this thread has made or a new
 * one. It is valid until the thread's next call. The type has been looked up. */
enum uk_status uk_gemm_planned(const struct gemm_arguments *x, const struct gemm_plan **plan);
/* Sets *packing to the plan whose panels the operands are packed in beforehand: `plan`; if it is one of a
 * path that reads operands in place, the plan by tiles that computes packed ones. */
enum uk_status uk_gemm_plan_packing(const struct gemm_plan *plan, struct gemm_plan *packing);
/* Checks a product's arguments and the options, and makes its plan. options and wanted may be NULL. On
 * failure *plan is not written. */
enum uk_status uk_gemm_resolve(struct gemm_plan *plan, const struct gemm_type *type,
                               const struct gemm_shape *shape, const struct uk_gemm_options *options,
                               const struct gemm_wanted *wanted);
/* The same for a plan that the caller keeps: also prepares calls of a small product's kernels. */
enum uk_status uk_gemm_prepare(struct gemm_prepared *plan, const struct gemm_type *type,
                               const struct gemm_shape *shape, const struct uk_gemm_options *options,
                               const struct gemm_wanted *wanted);
#pragma GCC visibility push(default)
/* Makes a plan as uk_sgemm_plan or uk_dgemm_plan does, by the path that is wanted. UK_INVALID_ARGUMENT: no
 * path has that name. UK_NO_MATCH: it cannot compute this product. For uk gemm and tests: this header is not
 * installed. */
enum uk_status uk_gemm_plan_as(struct uk_gemm_plan *plan, bool is_double, const struct gemm_shape *shape,
                               const struct uk_gemm_options *options, const struct gemm_wanted *wanted);
#pragma GCC visibility pop

/* ---- tiles_plan.c ---- */

/* Replaces *p, a plan by any path for a row-major C, by one with the i-th of all ways of tiles, with the
 * kernel and the block of k that are wanted: for measuring which way is the best. UK_NO_MATCH: this way does
 * not apply to the product. UK_INVALID_ARGUMENT: i is beyond the last way. */
enum uk_status uk_gemm_plan_choice(struct gemm_plan *p, int i, const struct gemm_wanted *wanted);
/* The same with the way of the fewest cycles. UK_NO_MATCH: none applies. */
enum uk_status uk_gemm_plan_wanted(struct gemm_plan *p, const struct gemm_wanted *wanted);

/* ---- paths.c ---- */

/* Runs a plan. `workspace` may be NULL: memory is then taken from runtime/. UK_INVALID_ARGUMENT: an operand
 * is NULL, and no message is stored. */
enum uk_status uk_gemm_run(const struct gemm_plan *plan, const struct gemm_operands *o, void *workspace);
/* Runs `count` tasks on the plan's threads, and waits for them. */
static inline void gemm_parallel(const struct gemm_plan *plan,
                                 void (*task)(void *context, int64_t index, int64_t thread), void *context,
                                 int64_t count) {
    if (count == 1)
        task(context, 0, 0);
    else if (plan->pool)
        uk_pool_for(plan->pool, task, context, count);
    else
        uk_parallel_for(task, context, count);
}
/* True if an operand that would be read or written is NULL. */
bool uk_gemm_lacks_operand(const struct gemm_plan *plan, const struct gemm_operands *o);

/* ---- text.c ---- */

/* Stores the message that uk_last_message returns, and returns the status. */
enum uk_status uk_gemm_refuse(enum uk_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Appends to a text. */
void uk_gemm_add(struct gemm_text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* True if each call prints a line (UK_VERBOSE=1). Set when kernels have been looked up. */
extern bool uk_gemm_is_verbose;
/* Sets uk_gemm_is_verbose, and prints what all calls have in common. */
void uk_gemm_begin_verbose(void);
/* Prints the line of a call, of `count` products, on standard error. Arguments are those of the caller,
 * except that an operand that is row-major and column-major at once is printed as row-major. */
void uk_gemm_say(const struct gemm_plan *plan, const struct gemm_operands *o, int64_t count, int64_t threads,
                 enum uk_status status, double microseconds);

/* ---- gemm.c: shared by the calls of all types; a and b are the caller's, not the product's ---- */

/* Computes a product by the plan of its arguments, whose type has been looked up. */
enum uk_status uk_gemm_call(const struct gemm_arguments *x, double alpha, const void *a, const void *b,
                            double beta, void *c);
/* Sets *e to the caller's epilogue; false: a flag is unknown, or a value is given whose flag is missing. */
bool uk_gemm_epilogue_given(unsigned flags, double scale, double low, double high, const void *row_bias,
                            const void *column_bias, struct gemm_epilogue *e);
/* Runs the caller's plan, and packs its operand A or B into `to`; refuse plans that are not of this type, on
 * this machine. The operands are in the caller's order and layout. */
enum uk_status uk_gemm_run_as(const struct gemm_plan *plan, const struct gemm_type *type,
                              const struct gemm_operands *callers, void *workspace);
enum uk_status uk_gemm_pack_operand(const struct gemm_plan *plan, const struct gemm_type *type, bool is_b,
                                    const void *from, void *to);

/* ---- batch.c: many products of one shape, C = alpha A B + beta C ---- */

/* `bases`: the first matrices, and elements from one to the next; or, unless is_strided, arrays of pointers
 * to all matrices. */
struct gemm_batch {
    int64_t count;
    struct gemm_operands bases;
    bool is_strided;
    int64_t stride_a, stride_b, stride_c;
};
enum uk_status uk_gemm_batch(const struct gemm_batch *batch, const struct gemm_type *type,
                             const struct gemm_shape *shape);

#endif
