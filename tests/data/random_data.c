/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "random_data.h"
#include "random_program.h"
#include "same_element.h"

enum { MARGIN_BYTE = 0xa5 };

static size_t room_of(size_t bytes) {
    return (bytes + 3 * RANDOM_DATA_MARGIN - 1) / RANDOM_DATA_MARGIN * RANDOM_DATA_MARGIN;
}

size_t random_data_room(const struct random_data *d, int i) {
    return room_of(d->bytes[i]);
}

static char *block(size_t bytes) {
    const size_t room = room_of(bytes);
    char *p = aligned_alloc(RANDOM_DATA_MARGIN, room);

    assert_non_null(p);
    memset(p, MARGIN_BYTE, room);
    return p;
}

/* Extents by which: small ones, all of them 1, one of them 0. Strides are wider than any row. */
static int64_t size_of(const char *name, uint64_t *x, int which) {
    static const int64_t most[] = {6, 1, 4, 5};

    if (name[0] == 's')
        return 40 + random_below(x, 4);
    if (which == 2 && !random_below(x, 3))
        return 0;
    return 1 + random_below(x, (int)most[which]);
}

void random_data_make(struct random_data *d, struct uk_program *p, uint64_t x, int which) {
    assert_true(uk_program_sizes(p) <= RANDOM_DATA_SIZES);
    for (int i = 0; i < uk_program_sizes(p); i++)
        d->size[i] = size_of(uk_program_size_name(p, i), &x, which);
    random_data_fill(d, p, x);
}

/* Of a tensor whose elements are subscripts: such as are inside. */
static void fill_indices(const struct random_data *d, const struct uk_program *p, int i, int64_t n,
                         uint64_t *x) {
    const enum uk_type type = uk_program_tensor_type(p, i);
    const struct uk_tensor *t = uk_find_tensor(p, uk_program_tensor_name(p, i));
    int64_t lower, upper;

    if (!uk_element_range(p, t, d->size, &lower, &upper))
        return;
    for (int64_t e = 0; e < n; e++) {
        const int64_t v = lower + (int64_t)(random_next(x) % (uint64_t)(upper - lower));

        memcpy(d->start[i] + RANDOM_DATA_MARGIN + e * (int64_t)uk_type_bytes(type), &v, uk_type_bytes(type));
    }
}

void random_data_fill(struct random_data *d, struct uk_program *p, uint64_t x) {
    d->tensors = uk_program_tensors(p);
    assert_true(d->tensors <= RANDOM_DATA_TENSORS && uk_program_sizes(p) <= RANDOM_DATA_SIZES &&
                uk_program_scalars(p) <= RANDOM_DATA_SCALARS);
    for (int i = 0; i < uk_program_scalars(p); i++)
        d->scalar[i] = random_below(&x, 3);
    for (int i = 0; i < d->tensors; i++) {
        const enum uk_type type = uk_program_tensor_type(p, i);
        const int64_t n = uk_program_tensor_elements(p, i, d->size);

        assert_true(n >= 0);
        d->bytes[i] = (size_t)n * uk_type_bytes(type);
        d->start[i] = block(d->bytes[i]);
        d->wanted[i] = block(d->bytes[i]);
        d->got[i] = block(d->bytes[i]);
        random_elements(&x, type, d->start[i] + RANDOM_DATA_MARGIN, n);
        fill_indices(d, p, i, n, &x);
        memcpy(d->wanted[i], d->start[i], d->bytes[i] + 2 * RANDOM_DATA_MARGIN);
        d->origin[i] = d->wanted[i] + RANDOM_DATA_MARGIN;
    }
    d->status = uk_program_interpret(p, d->size, d->scalar, d->origin);
}

void random_data_begin(struct random_data *d) {
    for (int i = 0; i < d->tensors; i++) {
        memcpy(d->got[i], d->start[i], d->bytes[i] + 2 * RANDOM_DATA_MARGIN);
        d->origin[i] = d->got[i] + RANDOM_DATA_MARGIN;
    }
}

void random_data_free(struct random_data *d) {
    for (int i = 0; i < d->tensors; i++) {
        free(d->start[i]);
        free(d->wanted[i]);
        free(d->got[i]);
    }
}

int random_data_mantissa(enum uk_type type) {
    static const int bits[UK_TYPES] = {[UK_F64] = 52, [UK_F32] = 23, [UK_F16] = 10, [UK_BF16] = 7};

    return bits[type];
}

bool random_data_same(const struct random_data *d, struct uk_program *p, char where[64]) {
    for (int i = 0; i < d->tensors; i++) {
        const enum uk_type type = uk_program_tensor_type(p, i);
        const size_t bytes = uk_type_bytes(type);

        snprintf(where, 64, "the margins of %.20s", uk_program_tensor_name(p, i));
        if (memcmp(d->got[i], d->start[i], RANDOM_DATA_MARGIN) ||
            memcmp(d->got[i] + RANDOM_DATA_MARGIN + d->bytes[i],
                   d->start[i] + RANDOM_DATA_MARGIN + d->bytes[i], RANDOM_DATA_MARGIN))
            return false;
        for (size_t e = 0; e < d->bytes[i]; e += bytes) {
            snprintf(where, 64, "%.20s, element %zu", uk_program_tensor_name(p, i), e / bytes);
            if (!same_element((int)bytes, random_data_mantissa(type), d->got[i] + RANDOM_DATA_MARGIN + e,
                              d->wanted[i] + RANDOM_DATA_MARGIN + e))
                return false;
        }
    }
    return true;
}

void random_data_shape(const struct uk_program *p, const struct random_data *d, char *to, size_t room) {
    size_t n = 0;

    for (int i = 0; i < uk_program_sizes(p) && n < room; i++)
        n += (size_t)snprintf(to + n, room - n, " %s=%" PRId64, uk_program_size_name(p, i), d->size[i]);
}
