/* SPDX-License-Identifier: Apache-2.0 */
/* A product, as a caller describes it and as all paths see it. */
#ifndef GEMM_PRODUCT_H
#define GEMM_PRODUCT_H

#include <stdbool.h>
#include <stdint.h>
#include "cost/cost.h"
#include "minmax.h"
#include "ukernels.h"
#include "view/view.h"

/* Returns 0 from the calling function unless the condition holds. The asm keeps tests apart: compilers would
 * combine several by vector instructions, whose wide loads wait for the narrow stores of arguments, longer
 * than the smallest products take. */
#define GEMM_REQUIRE(condition) \
    do {                        \
        if (!(condition))       \
            return 0;           \
        __asm__ volatile("");   \
    } while (0)

struct gemm_type;

/* A product as the caller describes it, unchecked. */
struct gemm_shape {
    enum uk_layout layout;
    enum uk_transpose ta, tb;
    int64_t m, n, k, lda, ldb, ldc;
};

/* A checked product C[m, n] = A[m, k] B[k, n], and the number of threads that may compute it. A column-major
 * product is represented by the row-major product of the transposes, C' = B' A', unless A and B have
 * different types. */
struct gemm_product {
    const struct gemm_type *type;
    int64_t m, n, k;
    int64_t lda, ldb, ldc;                /* elements from row to row, or from column to column */
    bool a_columns, b_columns, c_columns; /* the operand is column-major; not if it is row-major as well */
    bool a_packed, b_packed;              /* the operand was packed beforehand */
    int threads;
    enum uk_c_element c_element; /* UK_C_DEFAULT unless the type is of low precision */
};

/* The product of the transposes, C' = B' A'. */
static inline struct gemm_product gemm_transposed(const struct gemm_product *p) {
    return (struct gemm_product){p->type,     p->n,        p->m,          p->k,          p->ldb,
                                 p->lda,      p->ldc,      !p->b_columns, !p->a_columns, !p->c_columns,
                                 p->b_packed, p->a_packed, p->threads,    p->c_element};
}

/* Elements from row to row and from column to column of A and B. */
static inline int64_t gemm_a_row(const struct gemm_product *p) {
    return p->a_columns ? 1 : p->lda;
}

static inline int64_t gemm_a_step(const struct gemm_product *p) {
    return p->a_columns ? p->lda : 1;
}

static inline int64_t gemm_b_step(const struct gemm_product *p) {
    return p->b_columns ? 1 : p->ldb;
}

static inline int64_t gemm_b_column(const struct gemm_product *p) {
    return p->b_columns ? p->ldb : 1;
}

/* True if a leading dimension is less than `length`, which is an error, or exceeds it by 2^30 or more: such
 * products are not small ones. */
static inline bool gemm_leading_is_invalid(int64_t ld, int64_t length) {
    return (uint64_t)(ld - length) >> 30;
}

/* True if a column-major B is row-major as well: a single column, or a row whose elements are contiguous. */
static inline bool gemm_b_is_rows(const struct gemm_product *p) {
    return (p->n == 1 && !gemm_leading_is_invalid(p->ldb, p->k)) || (p->k == 1 && p->ldb == 1);
}

/* Bytes of a cache line. */
enum { GEMM_LINE = 64 };

/* The last operation on each element of C: min(max(scale * c + biases, low), high), in the product's own
 * layout. Biases are of the product's element type; NULL: none. */
struct gemm_epilogue {
    double scale, low, high;
    const void *row_bias, *column_bias;
};

/* The epilogue of the transposed C. */
static inline struct gemm_epilogue gemm_transposed_epilogue(const struct gemm_epilogue *e) {
    return (struct gemm_epilogue){e->scale, e->low, e->high, e->column_bias, e->row_bias};
}

/* The last operations on each sum of a product of bytes, in the product's own layout (uk_gemm_quantize). A
 * step is 1 if there is a number for each row or column, and 0 if there is one for all. */
struct gemm_quantization {
    const int32_t *left_zero, *right_zero; /* zero points of A by rows, and of B by columns */
    int left_step, right_step;             /* at most one of them is 1 */
    const int32_t *row_bias, *column_bias; /* NULL: none */
    const float *scale;
    int scale_row_step, scale_column_step;
    bool is_scaled; /* false: scale is 1 */
    int32_t c_zero;
    double low, high; /* whole numbers, unless C is of floats */
};

/* The same for the transposed C. */
static inline struct gemm_quantization gemm_transposed_quantization(const struct gemm_quantization *q) {
    return (struct gemm_quantization){.left_zero = q->right_zero,
                                      .right_zero = q->left_zero,
                                      .left_step = q->right_step,
                                      .right_step = q->left_step,
                                      .row_bias = q->column_bias,
                                      .column_bias = q->row_bias,
                                      .scale = q->scale,
                                      .scale_row_step = q->scale_column_step,
                                      .scale_column_step = q->scale_row_step,
                                      .is_scaled = q->is_scaled,
                                      .c_zero = q->c_zero,
                                      .low = q->low,
                                      .high = q->high};
}

/* The operands of one run, in the product's own order. */
struct gemm_operands {
    double alpha, beta;
    const void *a, *b;
    void *c;
    const struct gemm_epilogue *epilogue;         /* NULL: none */
    const struct gemm_quantization *quantization; /* of products of bytes; NULL: none */
};

#endif
