/* SPDX-License-Identifier: Apache-2.0 */
/* Draws sizes of operators. */
#include "draw.h"
#include "operators.h"
#include <string.h>

enum { LINE = 16, TRIES = 200 };

/* The forms of drawn sizes. */
enum form { ODD, MULTIPLE, POWER };

static int64_t *size_of(struct bench_op_case *c, const char *name) {
    for (int i = 0; i < c->count; i++)
        if (!strcmp(c->size[i].name, name))
            return &c->size[i].value;
    return NULL;
}

/* The number below `value` that has the form, if it is in the range, else `value`. */
static int64_t formed(const struct bench_op_draw *d, int64_t value, enum form form) {
    int64_t v = form == ODD ? (value - 1) | 1 : value / LINE * LINE;
    for (int64_t power = 1; form == POWER && power <= value; power *= 2)
        v = power;
    return v >= d->least && v <= d->most ? v : value;
}

/* Sets the last drawn size to the largest with at most `wanted` bytes. False if none of its range has about
 * as many. */
static bool fit_last(const struct bench_op_draw *d, int64_t *size, struct bench_op_case *c, double wanted,
                     enum form form, bench_op_bytes *bytes, void *user) {
    int64_t low = d->least, high = d->most + 1; /* bytes(low) <= wanted < bytes(high) */
    *size = low;
    if ((double)bytes(user, c) > wanted)
        return false;
    while (high - low > 1) {
        const int64_t middle = *size = low + (high - low) / 2;
        const double has = (double)bytes(user, c);
        if (has >= 0 && has <= wanted)
            low = middle;
        else
            high = middle;
    }
    *size = formed(d, low, form);
    return (double)bytes(user, c) >= wanted / 2;
}

uint64_t bench_op_draw_begin(const struct bench_op *op, uint64_t seed) {
    return bench_draw_begin(seed, op->name);
}

bool bench_op_draw_sizes(const struct bench_op *op, struct bench_op_case *c, double least, double most,
                         bench_op_bytes *bytes, void *user, uint64_t *state) {
    for (int try = 0; try < TRIES && op->draws; try++) {
        const double wanted = bench_draw_log(state, least, most);
        const enum form form = bench_draw(state) % 2 ? ODD : bench_draw(state) % 3 ? MULTIPLE : POWER;
        for (int i = 0; i < op->draws; i++) {
            const struct bench_op_draw *d = &op->draw[i];
            int64_t *size = size_of(c, d->name);
            if (!size)
                return false;
            if (i == op->draws - 1 && fit_last(d, size, c, wanted, form, bytes, user))
                return true;
            *size = formed(d, (int64_t)bench_draw_log(state, (double)d->least, (double)d->most + 1), form);
        }
    }
    return false;
}
