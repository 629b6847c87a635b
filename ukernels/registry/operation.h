/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of the operations of ops.def, by which programs choose among kernels. */
#ifndef UK_OPERATION_H
#define UK_OPERATION_H

#include <stdbool.h>

/* The type of the elements that are multiplied, added or moved. */
enum uk_element {
    UK_ELEMENT_F16,
    UK_ELEMENT_F16_F32, /* products of f16, summed in f32 */
    UK_ELEMENT_BF16,
    UK_ELEMENT_F32,
    UK_ELEMENT_F64,
    UK_ELEMENT_I8,
    UK_ELEMENT_U8,
    UK_ELEMENT_U8_I8, /* products of A in u8 by B in i8 */
    UK_ELEMENT_I8_U8, /* products of A in i8 by B in u8 */
    UK_ELEMENT_I16,
    UK_ELEMENT_I32,
    UK_ELEMENT_I64,
};

/* Bytes of an element; of a pair of types, of an element of either. */
static inline int uk_element_bytes(enum uk_element e) {
    switch (e) {
    case UK_ELEMENT_F64:
    case UK_ELEMENT_I64:
        return 8;
    case UK_ELEMENT_F32:
    case UK_ELEMENT_I32:
        return 4;
    case UK_ELEMENT_F16:
    case UK_ELEMENT_F16_F32:
    case UK_ELEMENT_BF16:
    case UK_ELEMENT_I16:
        return 2;
    default:
        return 1;
    }
}

/* What an operation computes and how it reads its operands. ops.def has the formulas. */
enum uk_op_form {
    /* Products of one tile: */
    UK_OP_PANELS,   /* A and B in panels */
    UK_OP_RA,       /* A in rows, B in panels */
    UK_OP_RUNS,     /* each row of A is several runs of k elements; B in panels, one per run */
    UK_OP_RUNS_RAB, /* the same with B in rows */
    UK_OP_RAB,      /* A and B in rows */
    UK_OP_SAB,      /* A by two strides, B in rows */
    UK_OP_RAP,      /* as RAB; also packs B into a panel */
    /* Products of any number of rows in one call: */
    UK_OP_SMALL,    /* A and B in rows */
    UK_OP_SMALL_TA, /* A in columns, B in rows */
    UK_OP_NT,       /* A in rows, B in columns */
    UK_OP_WEIGHTS,  /* A in rows, B in panels of weights that share scales in blocks of terms */
    /* A GPU thread's part of a product, A and B in shared memory: */
    UK_OP_SHARED,
    /* A GPU wave's part of a product, by its matrix cores: */
    UK_OP_WAVE,
    /* Vectors: */
    UK_OP_DOT,        /* inner product */
    UK_OP_AXPY,       /* y += alpha x */
    UK_OP_GEMV_N,     /* matrix times vector */
    UK_OP_GEMV_T,     /* transposed matrix times vector */
    UK_OP_ADD,        /* c = a + b, any number of elements */
    UK_OP_ADD_VECTOR, /* c = a + b, at most NR elements */
    /* Conversions of vectors, any number of elements: */
    UK_OP_WIDEN,  /* f16 to f32 */
    UK_OP_NARROW, /* f32 to f16 */
    /* Copies into a panel, or into one group of each of its rows: */
    UK_OP_PACK_N, /* from rows of the panel's width */
    UK_OP_PACK_T, /* from rows along k: transposes */
    UK_OP_PACK_S, /* by two strides */
    /* Copies into a panel of groups, all groups in one call: */
    UK_OP_PANEL_N, /* as PACK_N */
    UK_OP_PANEL_T, /* as PACK_T */
    /* Transposes a matrix of any number of columns: */
    UK_OP_TRANSPOSE,
    /* Depthwise products: */
    UK_OP_DEPTHWISE,          /* each column has its own weights */
    UK_OP_DEPTHWISE_ROW,      /* all columns share the weights */
    UK_OP_DEPTHWISE_WINDOW,   /* a window of weights slides over a plane */
    UK_OP_DEPTHWISE_CHANNELS, /* each column has its own window of weights */
    UK_OP_DEPTHWISE_TILE,     /* the same, for rows and columns of an image, with its borders */
    /* Maximum or sum of a window: */
    UK_OP_WINDOW,
};

struct uk_operation {
    enum uk_element element;
    enum uk_op_form form;
    int window;       /* DEPTHWISE_WINDOW: rows, and columns, of a window */
    int stride;       /* DEPTHWISE_WINDOW, DEPTHWISE_TILE: columns from one window to the next */
    int bits;         /* WEIGHTS: of a weight, 4 or 8 */
    bool has_offsets; /* WEIGHTS: weights are unsigned, and blocks have offsets */
};

/* The operation of a kernel. For libuktensorize and uk; this header is not installed. */
struct uk_kernel;
#pragma GCC visibility push(default)
const struct uk_operation *uk_kernel_operation(const struct uk_kernel *kernel);
/* The least number of terms of a window for which the kernel is meant: for fewer another row is faster. */
int uk_kernel_least_terms(const struct uk_kernel *kernel);
#pragma GCC visibility pop

#endif
