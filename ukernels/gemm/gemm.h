/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix products of any size and layout on the kernels of the registry: uk_sgemm, uk_dgemm, their batches
 * and plans.
 *
 *     gemm.c, batch.c    the calls: what is illegal, what is short enough to be computed at once; a plan in
 *                        words; calls_element.h has those of a type
 *     igemm.c, i32.c     the same of bytes
 *     plan.c             a call's path
 *     path.h, paths.c    the paths that a product can take, a table; running a plan; task.c has what all of
 *                        them need
 *     plan_tiles.c       kernel, blocks and threads of a product by tiles: the least of what cost.c
 *                        estimates; blocks.c
 *     kernels.c          the registry's kernels by element type and form (struct gemm_type, struct gemm_tile)
 *     run.c, pack.c      the path of tiles: blocks, panels, rows of tiles (struct gemm_tile_row)
 *     vector.c, dots.c   the paths of matrix-vector products, and of products computed as inner products
 *     small.c, direct.c  the path of small products, whose kernels take operands in place and all rows in one
 *                        call; which kernels
 *     small_cost.c       what the ways over C take, by the one cost; small_run.c runs the one that is planned
 *     element.h          what depends on the element type: f32.c and f64.c include it; of small products
 *                        direct_element.h, small_element.h
 *
 * The loops over blocks and packed panels are those of Goto and van de Geijn, "Anatomy of high-performance
 * matrix multiplication" (ACM TOMS 34, 2008), with the micro-kernel as the unit, as in BLIS (Van Zee and van
 * de Geijn, ACM TOMS 41, 2015). Beside them an operand may be read in place, where cost.c estimates that this
 * is faster than packing it.
 *
 * Uses machine (the row of a core), registry (kernels by name), cost (cycles on a core's ports) and runtime
 * (threads, memory).
 */
#ifndef GEMM_H
#define GEMM_H

#include <stdatomic.h>
#include "cost/cost.h"
#include "machine/machine.h"
#include "registry/registry.h"
#include "registry/small_call.h"
#include "runtime/runtime.h"
#include "ukernels.h"
#include "view/view.h"

/*
 * How a kernel reads its operands. All kernels of one tile size are one struct gemm_tile.
 *
 *              A                      B
 *     PANELS   panels                 panels
 *     RA       rows, any stride       panels
 *     RAB      rows, any stride       rows, any stride
 *     SAB      any two strides        rows, any stride
 *     RAP      rows, any stride       rows, any stride, which it also packs
 *     SMALL    as RAB, but any number of rows in one call; not part of a tile
 */
enum gemm_form { GEMM_PANELS, GEMM_RA, GEMM_RAB, GEMM_SAB, GEMM_RAP, GEMM_FORMS, GEMM_SMALL = GEMM_FORMS };

struct gemm_tile {
    int mr, nr;
    int lanes; /* elements of a vector */
    const struct uk_core *core;
    const struct uk_vectors *vectors;                 /* the core's vectors of that width */
    const struct uk_kernel *kernel[GEMM_FORMS + 1];   /* by form; NULL: none */
    const struct uk_variant *prefetching[GEMM_FORMS]; /* that prefetch what the next tiles read; or NULL */
    const struct uk_variant *packing; /* of PANELS: that packs rows of the next micro-panel; or NULL */
};

struct gemm_path;

/* What is done with each element of C last, in the product's own layout. Bias and bounds are of the product's
 * type. */
struct gemm_epilogue {
    double scale, low, high;
    const void *row_bias, *column_bias;
};

/* The epilogue of the transposed C. */
static inline struct gemm_epilogue gemm_transposed_epilogue(const struct gemm_epilogue *e) {
    return (struct gemm_epilogue){e->scale, e->low, e->high, e->column_bias, e->row_bias};
}

/* What tiles prefetch into L2, a part each. Of B, what is read next: with RA GEMM_PREFETCHED_ROWS columns of
 * a column-major B, which is packed; with RAB a line of each row of B, which is read in place. Of A, with
 * PANELS, the next micro-panel: two shares of it; or two of the rows that it is packed from, which the tile
 * then packs. */
enum { GEMM_PREFETCHED_ROWS = 3 };
struct gemm_next {
    const struct uk_variant *prefetching; /* of the tile's kernel */
    const void *part;
    int64_t on;    /* elements from part to part */
    int64_t parts; /* parts that are left; where rows are packed, the rows that are left */
    int64_t stride;
    int64_t step; /* PANELS: the stride from one k iteration's prefetch to the next */
    void *copy;   /* PANELS: where the rows are packed to; NULL: they are only prefetched */
};

/* A row of tiles: C[rows, columns] of one block of k. */
struct gemm_tile_row {
    const struct uk_kernel *kernel, *tail; /* tail: of the last columns, if they are no more than its width */
    enum gemm_form form, tail_form;
    int64_t k, rows, columns;
    const void *a;
    int64_t a_row, a_step;
    const void *b;
    int64_t b_step, b_tile; /* from row to row, from tile to tile */
    void *packed; /* RAP: where B's micro-panels are packed to, one for each tile, of so many k iterations */
    int64_t packed_k;
    void *c;
    int64_t ldc;
    bool transposed;                      /* C is column-major, columns ldc apart */
    double alpha, beta;                   /* beta is 1 but for the first block */
    const struct gemm_epilogue *epilogue; /* NULL but for the last block */
    int64_t row, column;                  /* of the first element, for the bias */
    struct gemm_next *next;               /* what is left to prefetch */
};

/* A vector of results y[i * y_step], i < count, from a matrix with `stride` between its rows. */
struct gemm_vector {
    const struct uk_kernel *kernel;
    int64_t k, count;
    const void *matrix;
    int64_t stride;
    const void *x; /* contiguous */
    void *y;
    int64_t y_step;
    double alpha, beta;
    const struct gemm_epilogue *epilogue;
    int64_t row, column;
    int64_t ahead; /* the prefetch distance in bytes for a matrix that is neither in L1 nor in L2; 0: none */
    bool is_row;   /* y is a row of C, else a column */
};

/* C[m, n] of inner products; strides from row to row of A, from column to column of B. */
struct gemm_dots {
    const struct uk_kernel *kernel;
    int64_t m, n, k, k_block;
    const void *a;
    int64_t lda;
    const void *b;
    int64_t ldb;
    void *c;
    int64_t ldc;
    double alpha, beta;
    const struct gemm_epilogue *epilogue;
    int64_t row, column; /* of the first element, for the bias */
};

enum { GEMM_TILES_MOST = 16, GEMM_PACKS_MOST = 16, GEMM_COLUMN_SPLITS = 3, GEMM_FEW_COLUMNS = 4 };

/* Which kernels compute the columns of a small product, which are split among them from the first column on.
 * A kernel takes any number of rows in one call; direct.h says which products, and why. */
struct gemm_direct {
    struct {
        const struct uk_kernel *kernel;
        /* Prepares a call of the kernel. */
        void (*prepare)(struct uk_small_call *s, int64_t k, int64_t lda, int64_t ldb, int64_t ldc, int64_t m,
                        int64_t n);
        int columns; /* the last kernel takes the columns that are left */
    } column_split[GEMM_COLUMN_SPLITS];
    int column_splits; /* 0: there are no such kernels */
    /* The kernels from so many rows and k iterations on; NULL: the same ones. */
    int many_rows_from, many_iterations_from;
    const struct gemm_direct *many_rows;
};

/* How the calls of a small product's kernels go over C: all rows and columns in one call each; blocks of rows
 * one after another, of which the next ones are prefetched; blocks of columns, all rows of each in one call;
 * a few rows at a time, along C's rows. */
enum gemm_order { GEMM_AT_ONCE, GEMM_BLOCKS_OF_ROWS, GEMM_BLOCKS_OF_COLUMNS, GEMM_ALONG_ROWS };
/* What becomes of B: nothing; it is transposed, all of few columns or some at a time. */
enum gemm_copies { GEMM_COPIES_NOTHING, GEMM_COPIES_FEW, GEMM_COPIES_TRANSPOSED };

/* What small.c plans. */
struct gemm_small {
    const struct gemm_direct *kernels; /* of all columns, or of a block of them */
    int64_t columns, ldb;              /* of B, or of its copy, at a time */
    int64_t bytes;                     /* of the copy, or 0 */
    int width;                         /* columns of a block; 0: there are no blocks of columns */
    unsigned char order, last_order;   /* of the last columns, if they are fewer */
    unsigned char copies;
    bool prefetches; /* C */
};

/* What uk_sgemm_plan writes into the caller's struct uk_gemm_plan, whose size is part of the ABI and leaves
 * room for more. */
struct gemm_plan {
    struct uk_small_call call[GEMM_COLUMN_SPLITS]; /* for the kernels of `small`; first, as it is passed on */
    int64_t m, n, k;                               /* of the row-major product that is computed */
    int64_t a_row, a_step;                         /* strides of A along m and k */
    int64_t b_step, b_column;                      /* of B along k and n */
    int64_t ldc;                                   /* row stride of C; if transposed, column stride */
    int64_t rows, mc, nc, kc;                      /* a tile's rows; blocks */
    int64_t row_tasks, column_tasks;               /* the grid that threads share */
    int64_t a_block, b_block;                      /* elements of a task's packed blocks */
    int64_t a_padding; /* elements behind a first panel that is a copy in rows; or 0 */
    const struct gemm_type *type;
    const struct gemm_tile *tile;
    const struct uk_kernel *tail;         /* of the last columns; NULL: the tile's */
    const struct uk_kernel *first;        /* of the first rows, with fused packing of B; NULL: the tile's */
    const struct uk_variant *prefetching; /* the tile's variant that prefetches what is read next; or NULL */
    struct gemm_small small;              /* where that is the path */
    struct pthreadpool *pool;
    double cycles; /* estimated, on one thread */
    int threads;
    const struct gemm_path *path;
    unsigned char form, tail_form, a_source, b_source;
    bool swapped;    /* column-major, or transposed, but not both: A and B are exchanged */
    bool transposed; /* C's columns are contiguous, not its rows */
    bool a_packed, b_packed;
    bool whole;     /* k is not split into blocks */
    bool is_wanted; /* the path is wanted, whether or not another one takes less */
    /* The function that computes a product of floats, or of doubles, where alpha is 1 and beta 0 or 1,
     * without looking at the plan again; NULL: there is none. And the same where A and B are exchanged. */
    uk_small_run *resolved[2];
    uk_small_run *resolved_swapped[2];
};
_Static_assert(sizeof(struct gemm_plan) <= sizeof(struct uk_gemm_plan) &&
                   _Alignof(struct gemm_plan) <= _Alignof(struct uk_gemm_plan),
               "a plan has to fit into the caller's struct uk_gemm_plan");

static inline const struct gemm_plan *gemm_plan_in(const struct uk_gemm_plan *callers) {
    return (const struct gemm_plan *)(const void *)callers;
}

/* Whether the plan is filled in, and not NULL. */
static inline bool gemm_is_plan(const struct gemm_plan *plan) {
    return plan && plan->type;
}

/* An element type: what depends on it, and its kernels that run on this CPU. */
struct gemm_type {
    const char *name;        /* "sgemm" */
    enum uk_element element; /* of the kernels that the registry has for it */
    enum uk_element group;   /* with is_mixed: of the kernels that pack groups of terms of A and of B */
    int size, c_size;        /* of an element of A and B, and of C */
    bool is_mixed;           /* A and B have different types, by kernels that read groups of terms */
    int kr;                  /* terms of a group; with is_mixed its kernel's */
    void (*tile_row)(const struct gemm_tile_row *s);
    void (*vector_n)(const struct gemm_vector *v);
    void (*vector_t)(const struct gemm_vector *v);
    void (*dots)(const struct gemm_dots *d);
    /* C[i, j] = beta C[i, j], then the epilogue */
    void (*scale)(int64_t m, int64_t n, void *c, int64_t ldc, double beta, const struct gemm_epilogue *e);
    /* Panel of width w: d[p*w + j] = j < n ? s[p*step + j*across] : 0 */
    void (*pack)(const struct gemm_type *t, int64_t k, int64_t n, const void *s, int64_t step, int64_t across,
                 int w, void *d);
    /* d[i*ldd + p] = s[i*row + p*step] */
    void (*copy_rows)(const struct gemm_type *t, int64_t m, int64_t k, const void *s, int64_t row,
                      int64_t step, void *d, int64_t ldd);
    /* The machine that products are planned for, and what is looked up for it. */
    const struct uk_machine *machine;
    struct gemm_tile tile[GEMM_TILES_MOST];
    int tiles;
    /* The tile for n columns, of n < GEMM_WIDTHS. */
    const struct gemm_tile *for_columns[GEMM_WIDTHS];
    const struct gemm_tile *in_place_for_columns[GEMM_WIDTHS]; /* of those that take B in place; NULL: none */
    /* The kernel of GEMM_SMALL for n columns, as a tile of its own; NULL: none. */
    const struct gemm_tile *small_for_columns[GEMM_WIDTHS];
    struct gemm_tile small[GEMM_TILES_MOST];
    int small_tiles;
    /* Kernels of any number of rows for a row-major A and for a column-major one, and those that n columns
     * take; direct_few_rows: for products that also have few rows. */
    const struct uk_kernel *small_kernel[2][GEMM_TILES_MOST];
    int small_kernels[2];
    struct gemm_direct direct[2][GEMM_WIDTHS], direct_few_rows[2][GEMM_FEW_COLUMNS + 1];
    struct gemm_direct many_rows[2][GEMM_WIDTHS]; /* what some of direct point to */
    int blocked_columns; /* products of so many columns or more take several blocks of columns; at most
                            GEMM_WIDTHS */
    const struct uk_kernel *transpose,
        *transpose_few[2]; /* transposes B's columns, or NULL; pack_t of one vector of columns, and of two */
    const struct uk_kernel *transpose_rows; /* transposes any rows; or NULL */
    int64_t l1_way_bytes;                   /* a power of two */
    int few_rows;                           /* half of L1's ways */
    int64_t l2_quarter;                     /* elements */
    int64_t prefetch_ahead;                 /* bytes */
    int64_t work_most; /* multiply-adds, in twice GEMM_TASK: so many are computed by one thread even where
                          there are others */
    const struct uk_vectors *vectors; /* the widest of its tiles */
    double fma_cycles;                /* of an independent multiply-add of the widest vectors */
    int fma_latency;                  /* of one that waits for the one before */
    _Atomic bool ready;               /* all is filled in */
    const struct uk_kernel *gemv_n, *gemv_t, *nt;
    int nt_shift; /* nt's vectors have 2^nt_shift elements */
    const struct uk_kernel *pack_n[GEMM_PACKS_MOST], *pack_t[GEMM_PACKS_MOST];
    int packs_n, packs_t;
};

/* Scratch is on the stack, of which a call takes 16 KB at most: the most elements of a tile (a tile of a
 * column-major C needs two), and of scratch for several tiles. */
enum { GEMM_SCRATCH = 2 * GEMM_TILE_MOST };

/* ---- f32.c, f64.c, i32.c ---- */
extern struct gemm_type uk_gemm_f32, uk_gemm_f64, uk_gemm_i32;

/* Terms of whole groups. */
static inline int64_t gemm_padded(const struct gemm_type *t, int64_t k) {
    return t->kr == 1 ? k : (k + t->kr - 1) / t->kr * t->kr;
}

/* ---- kernels.c ---- */

/* The type with its kernels looked up. */
const struct gemm_type *uk_gemm_type_f32(void);
const struct gemm_type *uk_gemm_type_f64(void);
const struct gemm_type *uk_gemm_type_i32(void);
/* The same element type as `own`'s for the machine of this row, kept for the process: plans by it can be
 * explained, and run nowhere. UK_INVALID_ARGUMENT: there is no such row, or it is a GPU's. */
enum uk_status uk_gemm_type_on(const char *name, const struct gemm_type *own, const struct gemm_type **type);

/* ---- plan_tiles.c ---- */

/* The path of tiles, as path.h has it; the same without exchanging A and B; and of types that are mixed. */
enum uk_status uk_gemm_plan_tiles(struct gemm_plan *p);
enum uk_status uk_gemm_plan_tiles_as_given(struct gemm_plan *p);
enum uk_status uk_gemm_plan_groups(struct gemm_plan *p);
/* A way that is wanted instead of the best one: a path, and of tiles a kernel's symbol and the length of
 * blocks of k, or NULL and 0 for the best ones. */
struct gemm_wanted {
    const char *path, *kernel;
    int64_t kc;
};
/* The plan of the product by tiles that a plan has, by the i-th of all choices instead of the best, with the
 * kernel and blocks that are wanted; for measuring what the best one is. UK_NO_MATCH: that one is none for
 * this product; UK_INVALID_ARGUMENT: there are fewer. */
enum uk_status uk_gemm_plan_choice(struct gemm_plan *p, int i, const struct gemm_wanted *wanted);
/* The best one of them, or UK_NO_MATCH. */
enum uk_status uk_gemm_plan_wanted(struct gemm_plan *p, const struct gemm_wanted *wanted);

/* ---- plan.c ---- */

struct gemm_shape {
    enum uk_layout layout;
    enum uk_transpose ta, tb;
    int64_t m, n, k, lda, ldb, ldc;
};

enum uk_status uk_gemm_resolve(struct gemm_plan *plan, const struct gemm_type *type,
                               const struct gemm_shape *shape, const struct uk_gemm_options *options);
#pragma GCC visibility push(default)
/* The same as uk_sgemm_plan, or uk_dgemm_plan, in the way that is wanted. UK_INVALID_ARGUMENT: no path has
 * that name; UK_NO_MATCH: it cannot compute this product. For uk gemm and tests: programs do not have this
 * header. */
enum uk_status uk_gemm_plan_as(struct uk_gemm_plan *plan, bool is_double, const struct gemm_shape *shape,
                               const struct uk_gemm_options *options, const struct gemm_wanted *wanted);
#pragma GCC visibility pop
/* Bytes; 0: none. */
size_t uk_gemm_workspace_of(const struct gemm_plan *plan);

/* ---- gemm.c: what the calls of all types share; a, b: as the caller has them ---- */

enum uk_status uk_gemm_run_as(const struct gemm_plan *plan, const struct gemm_type *type, double alpha,
                              const void *a, const void *b, double beta, void *c, struct gemm_epilogue *e,
                              void *workspace);
enum uk_status uk_gemm_pack_operand(const struct gemm_plan *plan, const struct gemm_type *type, bool is_b,
                                    const void *from, void *to);

/* ---- run.c ---- */

struct gemm_operands {
    double alpha, beta;
    const void *a, *b; /* in the product's own order */
    void *c;
    const struct gemm_epilogue *epilogue; /* NULL: none */
};

/* `workspace` may be NULL. */
enum uk_status uk_gemm_run(const struct gemm_plan *plan, const struct gemm_operands *o, void *workspace);
/* Whether an operand that would be read or written is NULL. */
bool uk_gemm_lacks_operand(const struct gemm_plan *plan, const struct gemm_operands *o);
/* Runs `count` tasks on the plan's threads. */
void uk_gemm_parallel(const struct gemm_plan *plan,
                      void (*task)(void *context, int64_t index, int64_t thread), void *context,
                      int64_t count);

/* ---- pack.c ---- */

/* The row stride of a copy of rows of n elements. Long ones are an odd number of lines: they use all sets of
 * a cache, and vectors that are stored to them cross no lines. */
int64_t uk_gemm_leading(int64_t n, int size);
/* Bytes of so many elements; SIZE_MAX: more than can be addressed, which every allocation refuses. */
size_t uk_gemm_bytes(const struct gemm_plan *plan, int64_t elements);
/* A, and B. */
enum gemm_side { GEMM_LEFT, GEMM_RIGHT };
/* A mixed product's A and B have types of their own. */
static inline enum uk_element gemm_element_of(const struct gemm_type *t, enum gemm_side side) {
    return !t->is_mixed ? t->element : side == GEMM_LEFT ? UK_ELEMENT_U8 : UK_ELEMENT_I8;
}
/* A, with its rows as lines, or B, with its columns, as the caller has it. */
static inline struct uk_lattice gemm_in_place(const struct gemm_plan *plan, enum gemm_side side) {
    const enum uk_element element = gemm_element_of(plan->type, side);

    return side == GEMM_LEFT ? uk_lattice_matrix(element, plan->m, plan->k, plan->a_row, plan->a_step)
                             : uk_lattice_matrix(element, plan->n, plan->k, plan->b_column, plan->b_step);
}
/* Its copy for tiles: n lines of k elements; `taken`: of a panel. */
struct uk_lattice uk_gemm_copy(const struct gemm_plan *plan, const struct gemm_tile *tile,
                               enum gemm_side side, enum uk_lattice_kind kind, int64_t n, int64_t k,
                               int64_t taken);
/* The copy of a block of a product by tiles, of an operand that the plan copies. */
struct uk_lattice uk_gemm_block(const struct gemm_plan *plan, enum gemm_side side);
/* The whole operand as the plan's path has it packed. */
struct uk_lattice uk_gemm_packed(const struct gemm_plan *plan, enum gemm_side side);
/* Its bytes; 0: the path packs nothing. */
size_t uk_gemm_packed_bytes(const struct gemm_plan *plan, enum gemm_side side);

/* A copy of lines [line, line + n) of an operand, and of each elements [k, k + iterations): they become lines
 * 0 to n and elements 0 to `iterations`. In panels, 0 is written to lines that a panel does not have and
 * behind the last element of a group, and the border's value where the view leads out of the array. In rows:
 * of a matrix, a view with one loop of lines and one of k, without an axis. */
struct uk_gemm_part {
    const struct uk_lattice *from;
    const void *array;
    int64_t line, n, k, iterations;
    const struct uk_lattice *to;
};
void uk_gemm_pack(const struct gemm_type *type, const struct uk_gemm_part *part, void *copy);
/* Packs the whole operand. */
void uk_gemm_pack_whole(const struct gemm_plan *plan, enum gemm_side side, const void *from, void *to);

#endif
