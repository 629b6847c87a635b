/* SPDX-License-Identifier: Apache-2.0 */
/* What an operation of ops.def is, beside its prototype and its declaration: the columns by which programs
 * choose among kernels. */
#ifndef UK_OPERATION_H
#define UK_OPERATION_H

/* The type of the elements that are multiplied, added or moved. */
enum uk_element {
    UK_ELEMENT_F16,
    UK_ELEMENT_BF16,
    UK_ELEMENT_F32,
    UK_ELEMENT_F64,
    UK_ELEMENT_I8,
    UK_ELEMENT_U8,
    UK_ELEMENT_U8_I8, /* products of u8 by i8 */
    UK_ELEMENT_I8_U8, /* and of i8 by u8 */
    UK_ELEMENT_I16,
    UK_ELEMENT_I32,
};

/* Of a pair of types, each. */
static inline int uk_element_bytes(enum uk_element e) {
    switch (e) {
    case UK_ELEMENT_F64:
        return 8;
    case UK_ELEMENT_F32:
    case UK_ELEMENT_I32:
        return 4;
    case UK_ELEMENT_F16:
    case UK_ELEMENT_BF16:
    case UK_ELEMENT_I16:
        return 2;
    default:
        return 1;
    }
}

enum uk_op_form {
    /* Products, by how A and B are read: both as panels; A in rows; A in rows of several runs; both in rows;
     * A by two strides and B in rows; both in rows, and B packed. */
    UK_OP_PANELS,
    UK_OP_RA,
    UK_OP_RUNS,
    UK_OP_RAB,
    UK_OP_SAB,
    UK_OP_RAP,
    /* Products of any number of rows: both in rows; A in columns; B in columns. */
    UK_OP_SMALL,
    UK_OP_SMALL_TA,
    UK_OP_NT,
    /* A GPU thread's part of a product, with both operands in shared memory. */
    UK_OP_SHARED,
    /* Of vectors: inner products; y += alpha x; a matrix times a vector; a transposed matrix times a vector.
     * */
    UK_OP_DOT,
    UK_OP_AXPY,
    UK_OP_GEMV_N,
    UK_OP_GEMV_T,
    /* c = a + b: of any number of elements; of NR at most. */
    UK_OP_ADD,
    UK_OP_ADD_VECTOR,
    /* Copies into a panel, or into one group of each row: of rows; of columns; by two strides. */
    UK_OP_PACK_N,
    UK_OP_PACK_T,
    UK_OP_PACK_S,
    /* Copies into a whole panel of groups: of rows; of columns. */
    UK_OP_PANEL_N,
    UK_OP_PANEL_T,
    UK_OP_TRANSPOSE,
    /* Depthwise: each column has its weights; a row's columns share one; a window of weights moves over a
     * plane; each column has a window of weights. */
    UK_OP_DEPTHWISE,
    UK_OP_DEPTHWISE_ROW,
    UK_OP_DEPTHWISE_WINDOW,
    UK_OP_DEPTHWISE_CHANNELS,
    /* The greatest element of a window, or its sum. */
    UK_OP_WINDOW,
};

struct uk_operation {
    enum uk_element element;
    enum uk_op_form form;
    int window,
        stride; /* DEPTHWISE_WINDOW: rows and columns of a window; columns from a window to the next */
};

/* A row's, for libuktensorize and uk; programs do not have this header. */
struct uk_kernel;
#pragma GCC visibility push(default)
const struct uk_operation *uk_kernel_operation(const struct uk_kernel *kernel);
#pragma GCC visibility pop

#endif
