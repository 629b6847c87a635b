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
 *     RUNS     rows of several runs   panels, one per run
 *     RUNS_RAB rows of several runs   rows, any stride
 */
enum gemm_form { GEMM_PANELS, GEMM_RA, GEMM_RAB, GEMM_SAB, GEMM_RAP, GEMM_RUNS, GEMM_RUNS_RAB, GEMM_FORMS };

struct gemm_tile {
    int mr, nr;
    int kr;                      /* terms of a group of the panels that its kernels read */
    enum uk_element left, right; /* of the panels of A and of B */
    int lanes;                   /* elements of a vector */
    const struct uk_core *core;
    const struct uk_vectors *vectors;                 /* the core's vectors of that width */
    double cycles;                                    /* of a k iteration of a whole tile of f32 or f64 */
    const struct uk_kernel *kernel[GEMM_FORMS];       /* by form; NULL: none */
    const struct uk_variant *prefetching[GEMM_FORMS]; /* variants that prefetch for later tiles; or NULL */
    const struct uk_variant *packing; /* variant of PANELS, packs rows of the next micro-panel; or NULL */
};

/*
 * Prefetches that the tiles of a row still have to make. Each tile prefetches one part:
 *
 *     RA       GEMM_PREFETCHED_ROWS columns of a column-major B that is packed next
 *     RAB      a line of each row of B, which is read in place
 *     PANELS   two shares of the next micro-panel of A; or two of the rows that it is packed from, which the
 *              tile also packs
 */
enum { GEMM_PREFETCHED_ROWS = 3 };
struct gemm_next {
    const struct uk_variant *prefetching; /* of the tile's kernel */
    const void *part;
    int64_t on;     /* elements from one part to the next */
    int64_t parts;  /* remaining parts; if rows are packed, remaining rows */
    int64_t stride; /* elements from row to row of a part, or column to column */
    int64_t step;   /* PANELS: elements from one k iteration's prefetch to the next */
    void *copy;     /* PANELS: destination of the packed rows; NULL: they are only prefetched */
};

/* A row of tiles: C[rows, columns] of one block of k. */
struct gemm_tile_row {
    const struct gemm_product *product;
    const struct uk_kernel *kernel, *tail; /* tail: for last columns that fit its width; or NULL */
    enum gemm_form form, tail_form;
    int64_t k, rows, columns;
    const void *a;
    int64_t a_row, a_step; /* elements from row to row, and from one k iteration to the next */
    const void *b;
    int64_t b_step, b_tile; /* elements from one k iteration to the next, and from tile to tile */
    void *packed;           /* RAP: destination of B's micro-panels, one per tile */
    int64_t packed_k;       /* k iterations of each */
    void *c;
    int64_t ldc;
    bool transposed;                              /* C is column-major, columns ldc apart */
    double alpha, beta;                           /* beta is 1 after the first block of k */
    const struct gemm_epilogue *epilogue;         /* NULL before the last block of k */
    const struct gemm_quantization *quantization; /* likewise */
    const int32_t *row_sums, *column_sums; /* of A's rows from `row` on, of B's columns; NULL: not needed */
    int64_t row, column;                   /* of the first element, for the bias */
    struct gemm_next *next;                /* remaining prefetches */
};

/* The arguments of a kernel of low precision; lda is that of kernels that read the rows of A in place. */
struct gemm_low_call {
    int64_t k;
    const void *a;
    int64_t lda;
    const void *b;
    void *c;
    int64_t ldc;
    /* Volatile, as one load of two of them, which are passed on in memory, would wait for both stores, and
     * these for the stores of C before them. */
    volatile int64_t acc, rows, columns;
};

/* A matrix-vector product: results y[i * y_step], i < count, from a matrix with `stride` between its rows. */
struct gemm_vector {
    const struct uk_kernel *kernel;
    int64_t k, count, stride, y_step;
    int64_t ahead; /* prefetch distance in elements for a matrix larger than L2; 0: none */
    bool is_along; /* inner products along contiguous rows of the matrix; else sums of contiguous rows */
    bool is_row;   /* y is a row of C, else a column */
};

/* A product whose kernel computes all m rows of C; rows of A, B and C are lda, ldb and ldc apart. */
struct gemm_stream {
    const struct uk_kernel *kernel;
    int64_t m, k, lda, ldb, ldc;
};

/* A product by inner products; rows of A, columns of B and rows of C are lda, ldb and ldc apart. */
struct gemm_dots {
    const struct uk_kernel *kernel;
    int64_t k, k_block; /* k iterations; those that are summed at a time */
    int64_t lda, ldb, ldc;
};

enum { GEMM_TILES_MOST = 16, GEMM_PACKS_MOST = 16, GEMM_COLUMN_SPLITS = 3, GEMM_FEW_COLUMNS = 4 };

/* The kernels of a small product (small.h), each of which computes some of its columns, from the first column
 * on, and any number of rows in one call. */
struct gemm_direct {
    struct {
        const struct uk_kernel *kernel;
        /* Prepares a call of the kernel. */
        void (*prepare)(struct uk_small_call *s, int64_t k, int64_t lda, int64_t ldb, int64_t ldc, int64_t m,
                        int64_t n);
        int columns; /* the last kernel takes the remaining columns */
    } column_split[GEMM_COLUMN_SPLITS];
    int column_splits; /* kernels in use; 0: no kernel computes this many columns */
    /* many_rows: kernels that replace these from that number of rows and of k iterations on; NULL: none. */
    int many_rows_from, many_iterations_from;
    const struct gemm_direct *many_rows;
};

/* An element type: the functions that depend on it, and its kernels for one machine. */
struct gemm_type {
    const char *name;            /* "sgemm" */
    enum uk_element element;     /* of its kernels in the registry */
    enum uk_element left, right; /* of A and of B */
    int size, c_size;            /* of an element of A and B, and of C */
    /* If is_low_precision: the elements that C may have, as bits 1 << enum uk_c_element, the default, and
     * that of sums. Otherwise 0. */
    unsigned c_elements;
    enum uk_c_element c_element, sum;
    bool is_low_precision; /* the type is one of low.h */
    bool is_widened;       /* kernels of f32 may compute it, by panels that are converted to f32 */
    enum uk_element group; /* if is_low_precision: that of the kernels that pack A and B */
    /* If is_low_precision: calls a kernel. */
    void (*call)(const struct uk_kernel *kernel, const struct gemm_low_call *x);
    /* Computes a row of tiles. */
    void (*tile_row)(const struct gemm_tile_row *s);
    /* Results [begin, end) of a matrix-vector product by inner products, and by sums of rows; the operand
     * that is the vector is contiguous. */
    void (*vector_n)(const struct gemm_vector *v, const struct gemm_operands *o, int64_t begin, int64_t end);
    void (*vector_t)(const struct gemm_vector *v, const struct gemm_operands *o, int64_t begin, int64_t end);
    /* Rows [row, last_row) and columns [column, last_column) of C by inner products. */
    void (*dots)(const struct gemm_dots *d, const struct gemm_operands *o, int64_t row, int64_t last_row,
                 int64_t column, int64_t last_column);
    /* Columns [begin, end) of C by a kernel for all rows. `sums` has room for m rows of the kernel's nr, or
     * of all columns. */
    void (*stream_columns)(const struct gemm_stream *s, const struct gemm_operands *o, int64_t begin,
                           int64_t end, void *sums);
    /* c = alpha t + beta c; rows ldt and ldc apart */
    void (*merge)(int64_t m, int64_t n, double alpha, const void *t, int64_t ldt, double beta, void *c,
                  int64_t ldc);
    /* C[i, j] = beta C[i, j], then the epilogue */
    void (*scale)(int64_t m, int64_t n, void *c, int64_t ldc, double beta, const struct gemm_epilogue *e);
    /* Panel of width w: d[p*w + j] = j < n ? s[p*step + j*across] : 0 */
    void (*pack)(const struct gemm_type *t, int64_t k, int64_t n, const void *s, int64_t step, int64_t across,
                 int w, void *d);
    /* The same if is_low_precision, into a panel of the copy `to`. k iterations begin and end at groups,
     * unless the operand ends. */
    void (*pack_groups)(const struct gemm_type *t, const struct uk_lattice *to, int64_t k, int64_t n,
                        const void *s, int64_t step, int64_t across, void *d);
    /* d[i*ldd + p] = s[i*row + p*step] */
    void (*copy_rows)(const struct gemm_type *t, int64_t m, int64_t k, const void *s, int64_t row,
                      int64_t step, void *d, int64_t ldd);
    /* d[p*ldd + i] = i < lines ? s[i*lds + p] : 0, i < mr, p < k, by a kernel of mr >= lines rows;
     * transpose_all: ldd is mr. */
    void (*transpose_some)(const struct uk_kernel *kernel, int64_t k, const void *s, int64_t lds, void *d,
                           int64_t ldd, int64_t lines);
    void (*transpose_all)(const struct uk_kernel *kernel, int64_t k, const void *s, int64_t lds, void *d,
                          int64_t lines);
    /* The machine that products are planned for, on which all fields from here on depend. */
    const struct uk_machine *machine;
    struct gemm_tile tile[GEMM_TILES_MOST];
    int tiles, all_tiles; /* those of products; all: the others only sum several runs, for convolutions */
    /* The best tile for n < GEMM_WIDTHS columns. */
    const struct gemm_tile *for_columns[GEMM_WIDTHS];
    const struct gemm_tile *in_place_for_columns[GEMM_WIDTHS]; /* of tiles that read B in place; or NULL */
    /* Kernels of small products, for a row-major A, [0], and for a column-major A, [1]: all of them; the
     * choice for n columns, [n]; the choice for n columns and at most GEMM_FEW_COLUMNS rows. */
    const struct uk_kernel *small_kernel[2][GEMM_TILES_MOST];
    int small_kernels[2];
    struct gemm_direct direct[2][GEMM_WIDTHS], direct_few_rows[2][GEMM_FEW_COLUMNS + 1];
    struct gemm_direct many_rows[2][GEMM_WIDTHS]; /* targets of direct[][].many_rows */
    int blocked_columns; /* products of at least as many columns are computed in blocks of columns; at most
                            GEMM_WIDTHS; 0: the type has no kernels of small products */
    const struct uk_kernel *transpose;        /* of columns of B; NULL: none, or no small kernels */
    const struct uk_kernel *transpose_few[2]; /* pack_t of one vector of columns, and of two; or NULL */
    const struct uk_kernel *transpose_rows;   /* of any rows; or NULL */
    int64_t l1_way_bytes;                     /* a power of two */
    int l1_ways;
    int64_t l2_quarter;     /* elements */
    int64_t prefetch_ahead; /* distance in bytes, in a matrix from L3 or memory */
    int64_t work_most; /* multiply-adds that take 2 * GEMM_TASK cycles: up to this, one thread is enough */
    const struct uk_vectors *vectors;             /* the widest of its tiles */
    double fma_cycles;                            /* throughput of multiply-adds of the widest vectors */
    int fma_latency;                              /* cycles */
    _Atomic bool ready;                           /* all fields are set, and calls may use the shortcut */
    const struct uk_kernel *gemv_n, *gemv_t, *nt; /* of the operations of these names; or NULL */
    const struct uk_kernel *stream;               /* for a few long rows of C, A and B in place; or NULL */
    int nt_lanes;                                 /* elements of nt's vectors */
    const struct uk_kernel *pack_n[GEMM_PACKS_MOST], *pack_t[GEMM_PACKS_MOST];
    int packs_n, packs_t;
    /* If is_low_precision: of all groups of a panel, from lines side by side, and contiguous along k. */
    const struct uk_kernel *panel_n[GEMM_PACKS_MOST], *panel_t[GEMM_PACKS_MOST];
    int panels_n, panels_t;
    const struct uk_kernel *widening,
        *narrowing; /* if is_low_precision: of conversions to f32 and back; or NULL */
};

/* Elements of scratch on the stack, of which a call uses at most 16 KB: of the largest tile of low precision,
 * 18 rows of 64 columns. A tile of a column-major C needs two scratches of GEMM_TILE_MOST. */
enum { GEMM_SCRATCH = 18 * 64 };

/* ---- f32.c, f64.c, low/types.c ---- */
extern struct gemm_type uk_gemm_f32, uk_gemm_f64, uk_gemm_u8_i8, uk_gemm_i8, uk_gemm_u8, uk_gemm_bf16,
    uk_gemm_f16, uk_gemm_f16_sums;

/* The element at `index` of A or B, and of C if it is of the type's own. */
static inline const void *gemm_at(const struct gemm_type *t, const void *base, int64_t index) {
    return (const char *)base + index * t->size;
}

static inline void *gemm_at_written(const struct gemm_type *t, void *base, int64_t index) {
    return (char *)base + index * t->c_size;
}

/* True if products sum bytes: they may have zero points. */
static inline bool gemm_sums_bytes(const struct gemm_type *t) {
    return t->is_low_precision && t->size == 1;
}

static inline int gemm_c_element_bytes(const struct gemm_type *t, enum uk_c_element c) {
    switch (c) {
    case UK_C_I8:
    case UK_C_U8:
        return 1;
    case UK_C_F16:
    case UK_C_BF16:
        return 2;
    case UK_C_F32:
    case UK_C_I32:
        return 4;
    default:
        return t->c_size;
    }
}

/* True if sums are elements of C, where blocks of k can add them up. */
static inline bool gemm_sums_in_c(const struct gemm_product *p) {
    return p->c_element == p->type->sum;
}

/* Bytes of an element of C. */
static inline int gemm_c_bytes(const struct gemm_product *p) {
    return gemm_c_element_bytes(p->type, p->c_element);
}

static inline void *gemm_place_in_c(const struct gemm_product *p, void *c, int64_t index) {
    return (char *)c + index * gemm_c_bytes(p);
}

/* The kernel among `count` whose mr, or nr, is the panels' width; NULL: none. */
static inline const struct uk_kernel *gemm_pack_of(const struct uk_kernel *const *kernels, int count,
                                                   int width, bool by_mr) {
    for (int i = 0; i < count; i++)
        if ((by_mr ? kernels[i]->mr : kernels[i]->nr) == width)
            return kernels[i];
    return NULL;
}

/* k rounded up to whole groups of terms. */
static inline int64_t gemm_padded(int64_t k, int group) {
    return group == 1 ? k : uk_ceil_div(k, group) * group;
}

/* True if this number of rows of a row-major operand evict each other from L1. Rows that are a multiple of a
 * way's size apart map to the same sets, in which they may take half of the ways: the rest is for the other
 * operands. */
static inline bool gemm_rows_share_sets(const struct gemm_type *t, int64_t rows, int64_t leading) {
    return !(leading * t->size & (t->l1_way_bytes - 1)) && rows > t->l1_ways / 2;
}

/* ---- kernels.c ---- */

/* Returns `own`, one of the types above, with its kernels: the first call finds those of all types. */
const struct gemm_type *uk_gemm_look_up(const struct gemm_type *own);
/* The element type of `own` for the machine of this row, kept until the process ends. Its plans can be
 * explained but not run. UK_INVALID_ARGUMENT: no CPU has such a row. */
enum uk_status uk_gemm_type_on(const char *name, const struct gemm_type *own, const struct gemm_type **type);

#endif
