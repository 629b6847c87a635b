/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random programs of the .uk language, from a seed: all element types and operators, several statements,
 * temporaries, reductions, scans, guards, offsets, strides, dilation.
 *
 * What they compute does not depend on the order of sums nor on contraction: integers wrap, and floats stay
 * so small, of so few digits, that every sum and product is exact. Where that does not hold (after a
 * division, a square root, a wide cast) a value is no longer summed or multiplied.
 */
#ifndef RANDOM_PROGRAM_H
#define RANDOM_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>
#include "language/language.h"
#include "random.h"

enum { RANDOM_ITERATORS = 4, RANDOM_STAGES = 8, RANDOM_TENSORS = 40, RANDOM_LOOPS = 24 };

/* Magnitude at most `most`, in multiples of 2^-fraction; !exact: only compared, converted, and copied. */
struct value_range {
    double most;
    int fraction;
    bool exact;
};

struct random_tensor {
    char name[8];
    enum uk_type type;
    int dims, iterator[RANDOM_ITERATORS];
    const char *offset[RANDOM_ITERATORS]; /* of the left side that writes it */
    bool part[RANDOM_ITERATORS];          /* a part of it is written, also where the offset is none */
    struct value_range range;
};

struct random_stage {
    char name[8];
    const char *written; /* tensor */
    int left, loops;
    char loop[RANDOM_LOOPS][8];
};

struct random_program {
    uint64_t x;
    struct uk_text head, body; /* tensors and scalars; statements */
    bool fixed[RANDOM_ITERATORS];
    int extent[RANDOM_ITERATORS]; /* where fixed */
    int inputs, scalars, strides;
    int tensors; /* those that statements wrote */
    struct random_tensor tensor[RANDOM_TENSORS];
    char offset[RANDOM_STAGES][64], whole[RANDOM_STAGES][8]; /* of parts, by stage */
    int stages;
    struct random_stage stage[RANDOM_STAGES];
    /* of the statement being made */
    int left[RANDOM_ITERATORS], lefts, reduced[RANDOM_ITERATORS], reduces, accesses;
    const struct random_tensor *written;
};

/* Makes one from r->x (zero else); the text is head followed by body. */
void random_program_make(struct random_program *r);
void random_program_free(struct random_program *r);

/* Elements that the ranges allow: small integers in floats, any bits in integers. */
void random_elements(uint64_t *x, enum uk_type type, void *to, int64_t n);

#endif
