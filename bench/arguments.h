/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of kernels, by their declarations (uk_kernel_declaration): which operands there are, how they lie in
 * memory and what each parameter is. So benchmarks and tests of kernels follow from the row of an operation.
 */
#ifndef BENCH_ARGUMENTS_H
#define BENCH_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct uk_kernel;

enum {
    BENCH_TENSORS = 4,
    BENCH_DIMS = 5,
    BENCH_PARAMETERS = 15,
    BENCH_NAME_SIZE = 8,
    BENCH_LETTERS = 26, /* sizes are called A to Z */
    BENCH_NUMBER = -1,  /* for a tensor's place: a number, a scalar */
    BENCH_SCALAR = -2
};

/* A number; or a size, and a number that is added to it; or the name of a stride. */
struct bench_term {
    char name[BENCH_NAME_SIZE]; /* "": none */
    int64_t number;
};

/* A dimension as it is stored, one of the tensor's or a part of one: extent / divide, or the remainder by
 * `modulo`. */
struct bench_dim {
    struct bench_term extent, over,
        stride;             /* over: the extent of what may be read, and written where it is an output */
    int64_t divide, modulo; /* 0: neither */
};

struct bench_tensor {
    char name[BENCH_NAME_SIZE], type[BENCH_NAME_SIZE];
    int dims;
    struct bench_dim dim[BENCH_DIMS];
    bool is_output, is_accumulated; /* accumulated: an update adds to it */
};

struct bench_parameter {
    int tensor; /* whose address it is, or one of these */
    struct bench_term value;
};

struct bench_declaration {
    int tensors;
    struct bench_tensor tensor[BENCH_TENSORS];
    bool has[BENCH_LETTERS]; /* which sizes are parameters */
    int64_t least[BENCH_LETTERS], most[BENCH_LETTERS],
        multiple[BENCH_LETTERS];    /* what is assumed of them; most: 0 if unbounded */
    bool multiplies, scalar_is_f64; /* it is made of products; the type of its scalar, if it has one */
    int parameters;
    struct bench_parameter parameter[BENCH_PARAMETERS]; /* of `compute`, or, without it, of `update` */
    struct bench_parameter update[BENCH_PARAMETERS];
    bool computes, updates;
    bool adds; /* `compute` adds to what is there */
};

/* What a call is made for. */
struct bench_sizes {
    int64_t size[BENCH_LETTERS];
    int64_t gap; /* elements between rows whose stride is a parameter */
    /* Rows that are read by two strides or more overlap, as those of windows do: so many rows from one window
     * to the next. */
    int64_t step;
    bool reversed; /* the last of such strides is the greatest, not the first */
    bool updates;
    int64_t hint; /* for parameters that do not change the result */
};

/* `rows` rows of `length` elements, `stride` apart. Of each, `used` elements from the first are the call's;
 * the rest and `over` more behind the last row may be read and must not matter. */
struct bench_operand {
    const struct bench_tensor *tensor;
    int64_t rows, length, used, stride, over;
};

struct bench_arguments {
    int operands;
    struct bench_operand operand[BENCH_TENSORS];
    int count; /* of words: scalars have none */
    int64_t word[BENCH_PARAMETERS];
    int operand_of[BENCH_PARAMETERS]; /* whose address the word is to become; -1: BENCH_NUMBER */
    bool is_f64;                      /* the scalar */
};

/* Whether the name is that of a size, not of a stride. */
static inline bool bench_is_size(const char *name) {
    return name[0] >= 'A' && name[0] <= 'Z' && !name[1];
}

/* The size of a letter. */
static inline int64_t *bench_size(struct bench_sizes *s, char letter) {
    return &s->size[letter - 'A'];
}

/* False: the declaration has something that no benchmark can derive a call from; *at then points there, into
 * the text. */
bool bench_declaration_read(const char *text, struct bench_declaration *d, const char **at);
/* The arguments of a call with these sizes, each within what is assumed. */
void bench_arguments(const struct bench_declaration *d, const struct bench_sizes *s,
                     struct bench_arguments *a);
/* Calls a kernel of this machine with them; the words of addresses are filled in. On 64-bit architectures;
 * with a scalar for kernels of no more than six words. */
void bench_call_kernel(void (*function)(void), const struct bench_arguments *a, double scalar);

#endif
