/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>
#include "random.h"
#include "registry/half.h"
#include "values.h"

/* Values that may be added to a sum: a bias and a residual. */
enum { ADDED = 2, LIMITS_EVERY = 4 };

/* ---- one element ---- */

static void put_float(enum uk_type type, double v, char *to) {
    const float f = (float)v;
    const uint16_t half = type == UK_F16 ? uk_to_f16(f) : uk_to_bf16(f);

    memcpy(to,
           type == UK_F64   ? (const void *)&v
           : type == UK_F32 ? (const void *)&f
                            : &half,
           uk_type_bytes(type));
}

static void put_integer(enum uk_type type, uint64_t *x, char *to) {
    uint64_t bits = random_next(x);

    if (uk_type_bytes(type) == 1 && !random_below(x, LIMITS_EVERY))
        bits = type == UK_I8 ? INT8_MAX + bits % 2 : UINT8_MAX * (bits % 2);
    memcpy(to, &bits, uk_type_bytes(type));
}

/* A number in [-1, 1) with more bits than any mantissa; but no subnormal f16, which gfx90a's matrix units
 * replace by 0. */
static double fraction(enum uk_type type, uint64_t *x) {
    double v;

    do
        v = ldexp((double)(int64_t)random_next(x), -63);
    while (type == UK_F16 && fabs(v) < 0x1p-14);
    return v;
}

/* ---- operands ---- */

/* The largest magnitude of integers in a type such that sums in the type `sum` are exact. */
static int64_t integer_limit(enum uk_type type, enum uk_type sum, int64_t terms) {
    const double exact = ldexp(1, random_data_mantissa(sum) + 1),
                 own = ldexp(1, random_data_mantissa(type) + 1);
    const double limit = fmin(own, floor(sqrt(exact / (double)(terms + ADDED))));

    return limit < 1 ? 1 : (int64_t)limit;
}

static void fill(struct random_data *d, struct uk_program *p, int i, enum values values, int64_t limit,
                 uint64_t *x) {
    const enum uk_type type = uk_program_tensor_type(p, i);
    const size_t bytes = uk_type_bytes(type), n = d->bytes[i] / bytes;
    const bool is_float = random_data_mantissa(type) > 0;
    char *at = d->start[i] + RANDOM_DATA_MARGIN;

    for (size_t e = 0; e < n; e++)
        if (!is_float)
            put_integer(type, x, at + e * bytes);
        else if (values == MANTISSAS)
            put_float(type, fraction(type, x), at + e * bytes);
        else
            put_float(type, (double)((int64_t)(random_next(x) % (uint64_t)(2 * limit + 1)) - limit),
                      at + e * bytes);
    if (values != INFINITIES || !is_float || !n || uk_find_tensor(p, uk_program_tensor_name(p, i))->is_finite)
        return;
    put_float(type, random_below(x, 2) ? HUGE_VAL : -HUGE_VAL, at + random_next(x) % n * bytes);
    put_float(type, (double)NAN, at + random_next(x) % n * bytes);
}

static int result_of(struct uk_program *p) {
    for (int i = 0; i < uk_program_tensors(p); i++)
        if (!strcmp(uk_program_tensor_name(p, i), "Y"))
            return i;
    return -1;
}

/* ---- the tolerance ---- */

/* Makes all floats positive. */
static void drop_signs(struct random_data *d, struct uk_program *p) {
    for (int i = 0; i < d->tensors; i++) {
        const enum uk_type type = uk_program_tensor_type(p, i);
        const size_t bytes = uk_type_bytes(type);
        char *at = d->start[i] + RANDOM_DATA_MARGIN;

        for (size_t e = 0; e < d->bytes[i] / bytes; e++)
            put_float(type, fabs(random_data_value(type, at, e)), at + e * bytes);
    }
}

/* Each of two sums is within (terms + ADDED + 1) u m of the exact one, if m is the sum of the magnitudes and
 * u half a unit in the last place of 1; below the normal range, each operation errs by less than the least
 * positive number. m is the result for operands without signs. */
static void allow(struct random_data *d, struct uk_program *p, int64_t terms) {
    const int y = result_of(p);
    const double roundings = (double)(terms + ADDED + 1);
    const double least = uk_program_tensor_type(p, y) == UK_F16 ? 0x1p-24 : 0x1p-126;
    struct random_data m = {.uninterpreted = true};

    memcpy(m.size, d->size, sizeof m.size);
    random_data_fill(&m, p, 0);
    for (int i = 0; i < m.tensors; i++)
        memcpy(m.start[i], d->start[i], d->bytes[i] + RANDOM_DATA_MARGIN);
    drop_signs(&m, p);
    random_data_interpret(&m, p);
    random_data_allow(&m, p, y, roundings, 2 * roundings * least);
    d->allowed[y] = m.allowed[y];
    random_data_free(&m);
}

void draw_values(struct random_data *d, struct uk_program *p, enum values values, int64_t terms, uint64_t x) {
    const int y = result_of(p);
    const enum uk_type sum = uk_program_tensor_type(p, y);

    d->uninterpreted = true;
    random_data_fill(d, p, x);
    for (int i = 0; i < d->tensors; i++)
        if (i != y)
            fill(d, p, i, values, integer_limit(uk_program_tensor_type(p, i), sum, terms), &x);
    random_data_interpret(d, p);
    if (values == MANTISSAS && random_data_mantissa(sum))
        allow(d, p, terms);
}

void use_default_sizes(struct random_data *d, const struct uk_program *p) {
    for (int i = 0; i < uk_program_sizes(p); i++)
        d->size[i] = uk_program_size_default(p, i);
}
