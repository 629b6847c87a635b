/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random programs of the .uk language, from a seed: all element types and operators, several statements,
 * temporaries, reductions, scans, guards, offsets, strides, dilation.
 *
 * Results do not depend on the order of sums or on contraction: integers wrap, and floats stay so small, with
 * so few digits, that every sum and product is exact. Where that fails (after a division, a square root, a
 * wide cast) a value is no longer summed or multiplied.
 */
#ifndef RANDOM_PROGRAM_H
#define RANDOM_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>
#include "language/language.h"
#include "random.h"

enum { RANDOM_ITERATORS = 4, RANDOM_STAGES = 8, RANDOM_TENSORS = 40, RANDOM_LOOPS = 24 };

/* Values of magnitude at most max_magnitude, in multiples of 2^-fraction; if not `exact`, they are only
 * compared, converted and copied. */
struct value_range {
    double max_magnitude;
    int fraction;
    bool exact;
};

struct random_tensor {
    char name[8];
    enum uk_type type;
    int dims, iterator[RANDOM_ITERATORS];
    const char *offset[RANDOM_ITERATORS]; /* offset in the left side that writes it */
    bool part[RANDOM_ITERATORS]; /* only a part along this dimension is written, even if offset is NULL */
    struct value_range range;
};

struct random_stage {
    char name[8];
    const char *written; /* the tensor's name */
    int left, loops;     /* numbers of loops: over the left side's iterators, which come first; all */
    char loop[RANDOM_LOOPS][8];
};

struct random_program {
    uint64_t x;
    bool scatters;             /* input: some statements write at elements of an index, which GPUs refuse */
    struct uk_text head, body; /* head: tensors and scalars; body: statements */
    bool fixed[RANDOM_ITERATORS];
    int extent[RANDOM_ITERATORS]; /* if fixed */
    int inputs, scalars, strides;
    int tensors; /* number of tensors that statements write */
    struct random_tensor tensor[RANDOM_TENSORS];
    /* Per stage: the texts to which random_tensor.offset points; name of the tensor that the stage writes if
     * it reads all parts of another one. */
    char offset[RANDOM_STAGES][64], full_name[RANDOM_STAGES][8];
    int stages;
    struct random_stage stage[RANDOM_STAGES];
    /* State of the statement being generated. */
    int left[RANDOM_ITERATORS], left_count, reduced[RANDOM_ITERATORS], reduces, accesses;
    const struct random_tensor *written;
};

/* Generates a program from r->x; `scatters` is optional; all other fields must be zero. Its text is head
 * followed by body. */
void random_program_make(struct random_program *r);
void random_program_free(struct random_program *r);

/* Draws n elements of an input, within the range that programs assume: floats are integers from -2 to 2,
 * integers have any bits. */
void random_elements(uint64_t *x, enum uk_type type, void *to, int64_t n);

#endif
