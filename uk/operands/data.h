/* SPDX-License-Identifier: Apache-2.0 */
/* The operands of a call, and the comparison of results. */
#ifndef UK_DATA_H
#define UK_DATA_H

#include "base/base.h"
#include "language/language.h"

struct uk_array {
    const struct uk_tensor *tensor;
    size_t elements, bytes;
    char *memory; /* includes guard bytes on both sides */
    void *origin;
    bool is_index; /* elements are subscripts and must satisfy lower <= v < upper */
    int64_t lower, upper;
};

struct uk_data {
    const struct uk_program *program;
    int count;
    struct uk_array *array;
    void **origins; /* address of each array's first element, in order */
};

/* Allocates the operands. Exit status; call uk_data_free() in any case. */
int uk_data_create(struct uk_data *d, struct uk_program *p, const int64_t *sizes);
void uk_data_free(struct uk_data *d);
/* Allocated bytes of the array, guard bytes included. */
size_t uk_data_room(const struct uk_array *a);
/* Encodes a small integer as f16 or bf16. */
unsigned uk_half_bits(enum uk_type type, double value);
/* Fills the arrays with small integers, the same in each run, so that sums of their products are exact. */
void uk_data_integers(struct uk_data *d);
/* Fills f32 arrays with random values in [-1, 1). */
void uk_data_random(struct uk_data *d);
double uk_data_value(const struct uk_array *a, size_t i);
/*
 * Largest allowed difference from the interpreter's result.
 *
 * - ulps: units in the last place of the tensor's largest magnitude
 * - absolute: a difference added to that */
struct uk_tolerance {
    double ulps, absolute;
};

/*
 * operands.c: arguments of the module's function: the arrays' addresses, with those of constant arrays
 * replaced by their packed copies.
 */
struct uk_operands {
    const struct uk_data *data;
    struct uk_module *module;
    const int64_t *sizes; /* those that are not constants of the program */
    void **origins;
};
/* Packs the constant arrays. Exit status; if UK_EXIT_OK, *status is the packing functions' result. Call
 * uk_operands_free() in any case. */
int uk_operands_create(struct uk_operands *o, const struct uk_data *data, struct uk_module *m,
                       const int64_t *sizes, enum uk_status *status);
/* Repacks the constants after the data have changed. */
int uk_operands_pack(const struct uk_operands *o, enum uk_status *status);
void uk_operands_free(struct uk_operands *o);
/* Compares all elements, padding and guard bytes. Prints the first difference and who may have caused it.
 * `each` has a tolerance per array, in order; NULL: values must be equal. */
bool uk_data_equal(const struct uk_data *got, const struct uk_data *expected, const int64_t *sizes,
                   const struct uk_tolerance *each);
/* tolerance.c: the tolerance of each array for calls on uk_data_integers(). The caller frees it; NULL: out
 * of memory. */
struct uk_tolerance *uk_tolerances(const struct uk_program *p, const int64_t *sizes);

#endif
