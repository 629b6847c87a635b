/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of kernels, derived from their declarations (uk_kernel_declaration): the operands, their layout in
 * memory, the value of each parameter. Benchmarks and tests of kernels need nothing else about an operation.
 */
#ifndef BENCH_ARGUMENTS_H
#define BENCH_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct uk_kernel;

enum {
    BENCH_TENSORS = 6,
    BENCH_DIMS = 5,
    BENCH_PARAMETERS = 19,
    BENCH_NAME_SIZE = 8,
    BENCH_LETTERS = 26, /* sizes are named A to Z */
    BENCH_NUMBER = -1,  /* in place of a tensor's index: the parameter is an integer */
    BENCH_SCALAR = -2   /* in place of a tensor's index: it is the scalar, an f32 or f64 */
};

/* A number, a size plus a number, or a named stride. */
struct bench_term {
    char name[BENCH_NAME_SIZE]; /* "": a number only */
    int64_t number;
};

/* A stored dimension: its index is an index of the tensor, or that divided by `divide`, or its remainder
 * modulo `modulo`. `extent` and `over` are those of the tensor's dimension, before the division: elements
 * from `extent` to `over`, if that is larger, may be read, but do not affect the result. */
struct bench_dim {
    struct bench_term extent, over, stride;
    int64_t divide, modulo; /* 0: not applied */
};

struct bench_tensor {
    char name[BENCH_NAME_SIZE], type[BENCH_NAME_SIZE];
    int dims;
    struct bench_dim dim[BENCH_DIMS];
    bool is_output, is_accumulated; /* accumulated: the statement is a reduction into it */
};

struct bench_parameter {
    int tensor; /* index of the tensor whose address it is, BENCH_NUMBER or BENCH_SCALAR */
    struct bench_term value;
};

struct bench_declaration {
    int tensors;
    struct bench_tensor tensor[BENCH_TENSORS];
    bool has_size[BENCH_LETTERS]; /* by letter: the size is a parameter */
    int64_t min_size[BENCH_LETTERS], max_size[BENCH_LETTERS],
        size_multiple[BENCH_LETTERS]; /* assumed of each size; max_size is 0 if unbounded */
    bool multiplies, scalar_is_f64;   /* the statement has products; the scalar's type */
    int parameters;                   /* of `compute` as well as of `update`: both have the same number */
    struct bench_parameter
        parameter[BENCH_PARAMETERS]; /* of `compute`; of `update` if there is no `compute` */
    struct bench_parameter update[BENCH_PARAMETERS];
    bool computes, updates; /* the declaration has `compute`; it has `update` */
    bool adds;              /* the statement adds to the output (+=) */
};

/* The sizes and layout of a call. */
struct bench_sizes {
    int64_t size[BENCH_LETTERS];
    int64_t gap; /* unused elements between rows whose stride is a parameter */
    /* An input whose rows are addressed by several strides that are parameters consists of windows: they
     * overlap, and successive windows begin `step` rows apart. */
    int64_t step;
    bool reversed; /* the last of these strides is the largest, instead of the first */
    bool updates;  /* call `update`, not `compute` */
    int64_t hint;  /* value of parameters without effect on the result */
};

/* `rows` rows of `length` elements, `stride` elements apart. The values that the call uses are the first
 * `used` of each row. The others of an input, and its `over` elements after the last row, may be read but
 * must not affect the result; the others of an output are neither read nor written. `over` is a number of
 * elements here, while bench_dim.over is an extent. */
struct bench_operand {
    const struct bench_tensor *tensor;
    int64_t rows, length, used, stride, over;
};

/* The arguments of a call. A word is an argument of 64 bits: an integer or an address. */
struct bench_arguments {
    int operands;
    struct bench_operand operand[BENCH_TENSORS];
    int count; /* of words; the scalar is not one of them */
    int64_t word[BENCH_PARAMETERS];
    int operand_of[BENCH_PARAMETERS]; /* index of the operand whose address the word is; BENCH_NUMBER: the
                                         word is an integer */
    bool is_f64;                      /* the scalar is f64, else f32 */
};

/* True if this is the name of a size (A to Z), not of a stride. */
static inline bool bench_is_size(const char *name) {
    return name[0] >= 'A' && name[0] <= 'Z' && !name[1];
}

/* The size with this name. */
static inline int64_t *bench_size(struct bench_sizes *s, char letter) {
    return &s->size[letter - 'A'];
}

/* Reads a declaration. False if no call can be derived from it; *at then points to the obstacle in the text.
 */
bool bench_declaration_read(const char *text, struct bench_declaration *d, const char **at);
/* Sets *a to the arguments of a call with these sizes, which must satisfy the declaration's assumptions. */
void bench_arguments(const struct bench_declaration *d, const struct bench_sizes *s,
                     struct bench_arguments *a);
/* Calls a kernel of this machine. The caller has set the words that are addresses. 64-bit architectures only;
 * with a scalar at most six words. */
void bench_call_kernel(void (*function)(void), const struct bench_arguments *a, double scalar);

#endif
