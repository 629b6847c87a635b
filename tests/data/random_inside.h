/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by random_program.c, which generates statements, and random_value.c, which generates expressions. */
#ifndef RANDOM_INSIDE_H
#define RANDOM_INSIDE_H

#include "random_program.h"

enum { TEXT = 2048, MAX_ACCESSES = 6 };

/* An expression with its text. */
struct piece {
    char text[TEXT];
    enum uk_type type;
    struct value_range range;
};

extern const char *const random_iterators[RANDOM_ITERATORS];

static inline int below(struct random_program *r, int n) {
    return random_below(&r->x, n);
}

static inline bool is_float(enum uk_type t) {
    return t <= UK_BF16;
}

/* True if values of magnitude at most `most`, in multiples of 2^-fraction, are exact in the type. */
bool random_fits(enum uk_type t, double most, int fraction);
__attribute__((format(printf, 2, 3))) void random_put(char text[TEXT], const char *format, ...);
/* Writes the extent of an iterator: a number, or the name of a size. */
void random_extent(const struct random_program *r, int iterator, char text[16]);
/* Appends random strides, layout and alignment of a tensor to the head. */
void random_put_storage(struct random_program *r, int dims);
/* Generates an access of a new input, whose first `plain_count` subscripts are these iterators alone.
 * guarded: it may be under pad(). */
void random_input(struct random_program *r, enum uk_type type, const int *plain, int plain_count,
                  bool guarded, struct piece *out);
/* True if the statement being generated has this iterator. */
bool random_is_used(const struct random_program *r, int iterator);
enum uk_type random_type(struct random_program *r);
/* The range that contains both. */
struct value_range random_either(struct value_range a, struct value_range b);
void random_arithmetic(struct random_program *r, const struct piece *a, const struct piece *b,
                       struct piece *out);
/* Generates any expression, of at most this depth. */
void random_value(struct random_program *r, enum uk_type type, int depth, struct piece *out);

#endif
