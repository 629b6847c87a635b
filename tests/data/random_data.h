/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes, scalars and operands for a program, drawn from a seed, and what the interpreter makes of them. */
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
    bool small; /* set before: all elements and scalars are integers of magnitude at most 4, not any bits */
    bool
        uninterpreted; /* set before: `wanted` and the status are the caller's, who has a quicker reference */
    uint64_t seed;     /* that the operands were drawn from */
    int tensors;
    int64_t size[RANDOM_DATA_SIZES];
    double scalar[RANDOM_DATA_SCALARS];
    size_t bytes[RANDOM_DATA_TENSORS];
    /* each in margins */
    char *start[RANDOM_DATA_TENSORS], *wanted[RANDOM_DATA_TENSORS], *got[RANDOM_DATA_TENSORS];
    void *origin[RANDOM_DATA_TENSORS];   /* of wanted, then of got */
    double allowed[RANDOM_DATA_TENSORS]; /* largest difference from `wanted`; 0: equal */
    enum uk_status status;               /* of the interpreter */
};

/* From x, for the sizes in d->size. Outputs that no statement reads start as NaN, or as integers of all ones.
 */
void random_data_fill(struct random_data *d, struct uk_program *p, uint64_t x);
/* From x; `which` of the shapes: small extents, all of them 1, one of them 0. */
void random_data_make(struct random_data *d, struct uk_program *p, uint64_t x, int which);
/* `wanted` and the status, of what `start` holds: again, where a caller has changed it. */
void random_data_interpret(struct random_data *d, struct uk_program *p);
/* Allows operand i, if it has floats, a difference of that many units in the last place of its largest value;
 * and in any case that much. */
void random_data_allow(struct random_data *d, const struct uk_program *p, int i, double ulps,
                       double absolute);
/* Is `got` what it was before the run? */
bool random_data_untouched(const struct random_data *d);
/* What `got` is before a run. */
void random_data_begin(struct random_data *d);
/* Whether `got` is `wanted` within untouched margins; else the first place where it is not. */
bool random_data_same(const struct random_data *d, struct uk_program *p, char where[64]);
/* Element `e` of memory of the type, as a number. */
double random_data_value(enum uk_type type, const void *from, size_t e);
/* The sizes, as " M=3 N=4". */
void random_data_shape(const struct uk_program *p, const struct random_data *d, char *to, size_t room);
/* Bits of the type's mantissa; 0: it is an integer's. */
int random_data_mantissa(enum uk_type type);
/* Bytes of operand i in its margins, of which the last one is rounded up. */
size_t random_data_room(const struct random_data *d, int i);
void random_data_free(struct random_data *d);

#endif
