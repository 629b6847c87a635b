/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes, scalars and operands for a program, drawn from a seed, with the interpreter's results. */
#ifndef RANDOM_DATA_H
#define RANDOM_DATA_H

#include <stdbool.h>
#include <stdint.h>
#include "language/language.h"

enum {
    RANDOM_DATA_TENSORS = 48,
    RANDOM_DATA_SIZES = 64,
    RANDOM_DATA_SCALARS = 64,
    RANDOM_DATA_MARGIN = 64, /* bytes before and after each operand */
    RANDOM_DATA_SHAPES = 3,
};

struct random_data {
    bool small; /* input: elements and scalars are integers of magnitude at most 4, else any bits */
    /* input: the caller sets `wanted` and `status`, by a faster reference than the interpreter */
    bool uninterpreted;
    uint64_t seed; /* seed of the operands */
    int tensors;
    int64_t size[RANDOM_DATA_SIZES];
    double scalar[RANDOM_DATA_SCALARS];
    size_t bytes[RANDOM_DATA_TENSORS];
    /* Per operand, with margins: before the call, expected, actual. */
    char *start[RANDOM_DATA_TENSORS], *wanted[RANDOM_DATA_TENSORS], *got[RANDOM_DATA_TENSORS];
    /* The first element: in `wanted`; from random_data_begin() on in `got`. */
    void *origin[RANDOM_DATA_TENSORS];
    double allowed[RANDOM_DATA_TENSORS]; /* largest difference from `wanted`; 0: equal */
    enum uk_status status;               /* the interpreter's status */
};

/* Draws the operands from x, for the sizes in d->size. Outputs that no statement reads start as NaN, integers
 * as all ones. */
void random_data_fill(struct random_data *d, struct uk_program *p, uint64_t x);
/* Draws sizes and operands from x; `which`: 0: extents of 1 to 6; 1: all are 1; 2: each is 0 with probability
 * 1/3, else 1 to 4; 3: 1 to 5. */
void random_data_make(struct random_data *d, struct uk_program *p, uint64_t x, int which);
/* Computes `wanted` and the status from `start`, again if the caller has changed it. */
void random_data_interpret(struct random_data *d, struct uk_program *p);
/* Sets operand i's tolerance: `ulps` of its largest value if it is floating-point, plus `absolute`. */
void random_data_allow(struct random_data *d, const struct uk_program *p, int i, double ulps,
                       double absolute);
/* True if `got` is as it was before the call. */
bool random_data_is_unchanged(const struct random_data *d);
/* Resets `got` to its contents before a call. */
void random_data_begin(struct random_data *d);
/* True if `got` equals `wanted` within the tolerances and its margins are unchanged; else `where` names the
 * first difference. */
bool random_data_matches(const struct random_data *d, struct uk_program *p, char where[64]);
/* Element e of an array of the type, as a number. */
double random_data_value(enum uk_type type, const void *from, size_t e);
/* Formats the sizes, such as " M=3 N=4". */
void random_data_shape(const struct uk_program *p, const struct random_data *d, char *to, size_t room);
/* Bits of the type's mantissa; 0: an integer type. */
int random_data_mantissa(enum uk_type type);
/* Bytes of operand i with its margins, rounded up. */
size_t random_data_room(const struct random_data *d, int i);
void random_data_free(struct random_data *d);

#endif
