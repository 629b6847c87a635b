/* SPDX-License-Identifier: Apache-2.0 */
/* Element types: their kernels that run on a machine, and the functions that depend on the type. */
#ifndef GEMM_TYPES_H
#define GEMM_TYPES_H

#include <stdatomic.h>
#include "product.h"
#include "machine/machine.h"
#include "registry/registry.h"
#include "registry/small_call.h"

/*
 * How a kernel reads its operands. All kernels of one tile size are one struct gemm_tile.
 *
 *              A                      B
 *     PANELS   panels                 panels
 *     RA       rows, any stride       panels
 *     RAB      rows, any stride       rows, any stride
 *     SAB      any two strides        rows, any stride
 *     RAP      rows, any stride       rows, any stride, which it also packs
 */
enum gemm_form { GEMM_PANELS, GEMM_RA, GEMM_RAB, GEMM_SAB, GEMM_RAP, GEMM_FORMS };

struct gemm_tile {
    int mr, nr;
    int lanes; /* elements of a vector */
    const struct uk_core *core;
    const struct uk_vectors *vectors;                 /* the core's vectors of that width */
    const struct uk_kernel *kernel[GEMM_FORMS];       /* by form; NULL: none */
    const struct uk_variant *prefetching[GEMM_FORMS]; /* that prefetch what the next tiles read; or NULL */
    const struct uk_variant *packing; /* of PANELS: that packs rows of the next micro-panel; or NULL */
};

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
    /* c = alpha t + beta c; rows ldt and ldc apart */
    void (*merge)(int64_t m, int64_t n, double alpha, const void *t, int64_t ldt, double beta, void *c,
                  int64_t ldc);
    /* C[i, j] = beta C[i, j], then the epilogue */
    void (*scale)(int64_t m, int64_t n, void *c, int64_t ldc, double beta, const struct gemm_epilogue *e);
    /* Panel of width w: d[p*w + j] = j < n ? s[p*step + j*across] : 0 */
    void (*pack)(const struct gemm_type *t, int64_t k, int64_t n, const void *s, int64_t step, int64_t across,
                 int w, void *d);
    /* d[i*ldd + p] = s[i*row + p*step] */
    void (*copy_rows)(const struct gemm_type *t, int64_t m, int64_t k, const void *s, int64_t row,
                      int64_t step, void *d, int64_t ldd);
    /* d[p*ldd + i] = s[i*lds + p] by a kernel for at most its mr lines; transpose_all: ldd is its mr. */
    void (*transpose_some)(const struct uk_kernel *kernel, int64_t k, const void *s, int64_t lds, void *d,
                           int64_t ldd, int64_t lines);
    void (*transpose_all)(const struct uk_kernel *kernel, int64_t k, const void *s, int64_t lds, void *d,
                          int64_t lines);
    /* The machine that products are planned for, and what is looked up for it. */
    const struct uk_machine *machine;
    struct gemm_tile tile[GEMM_TILES_MOST];
    int tiles;
    /* The tile for n columns, of n < GEMM_WIDTHS. */
    const struct gemm_tile *for_columns[GEMM_WIDTHS];
    const struct gemm_tile *in_place_for_columns[GEMM_WIDTHS]; /* of those that take B in place; NULL: none */
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
    int l1_ways;
    int64_t l2_quarter;     /* elements */
    int64_t prefetch_ahead; /* bytes */
    int64_t work_most; /* multiply-adds, in twice GEMM_TASK: so many are computed by one thread even where
                          there are others */
    const struct uk_vectors *vectors; /* the widest of its tiles */
    double fma_cycles;                /* of an independent multiply-add of the widest vectors */
    int fma_latency;                  /* of one that waits for the one before */
    _Atomic bool ready;               /* all is filled in, and calls may take the shortcut */
    const struct uk_kernel *gemv_n, *gemv_t, *nt;
    int nt_lanes; /* elements of nt's vectors */
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

/* Whether so many rows of a row-major operand evict each other from L1: a multiple of its way apart they map
 * to the same sets, of whose ways half are left to other operands. */
static inline bool gemm_rows_share_sets(const struct gemm_type *t, int64_t rows, int64_t leading) {
    return !(leading * t->size & (t->l1_way_bytes - 1)) && rows > t->l1_ways / 2;
}

/* ---- kernels.c ---- */

/* The type with its kernels looked up. */
const struct gemm_type *uk_gemm_type_f32(void);
const struct gemm_type *uk_gemm_type_f64(void);
const struct gemm_type *uk_gemm_type_i32(void);
/* The same element type as `own`'s for the machine of this row, kept for the process: plans by it can be
 * explained, and run nowhere. UK_INVALID_ARGUMENT: there is no such row, or it is a GPU's. */
enum uk_status uk_gemm_type_on(const char *name, const struct gemm_type *own, const struct gemm_type **type);

#endif
