/* SPDX-License-Identifier: Apache-2.0 */
/* Derives the arguments of a call from the kernel's declaration. */
#include "arguments.h"
#include <string.h>

/* The strides of a tensor's operand, by name. */
struct strides {
    int count;
    const char *name[BENCH_TENSORS * BENCH_DIMS];
    int64_t value[BENCH_TENSORS * BENCH_DIMS];
};

static int64_t value_of(const struct bench_term *t, const struct bench_sizes *s) {
    return t->number + (bench_is_size(t->name) ? s->size[t->name[0] - 'A'] : 0);
}

static int64_t part_of(const struct bench_dim *d, int64_t extent) {
    return d->divide ? (extent + d->divide - 1) / d->divide : d->modulo ? d->modulo : extent;
}

static int64_t extent_of(const struct bench_dim *d, const struct bench_sizes *s) {
    return part_of(d, value_of(&d->extent, s));
}

/* The number of elements that may be read along a dimension. */
static int64_t reach_of(const struct bench_dim *d, const struct bench_sizes *s) {
    return part_of(d, value_of(&d->over, s));
}

static bool is_named(const struct bench_dim *d) {
    return d->stride.name[0];
}

/* In a panel, the dimension with a constant stride that goes from row to row; -1: dimensions with constant
 * strides together form a row. */
static int row_of_panel(const struct bench_tensor *t) {
    int widest = -1, numbers = 0, names = 0;
    bool padded = false;

    for (int i = 0; i < t->dims; i++) {
        const struct bench_dim *d = &t->dim[i];

        padded |= strcmp(d->extent.name, d->over.name) != 0;
        if (is_named(d)) {
            names++;
            continue;
        }
        numbers++;
        if (widest < 0 || d->stride.number > t->dim[widest].stride.number)
            widest = i;
    }
    return numbers > 1 && (!names || padded) ? widest : -1;
}

/* Value of the n-th of `count` free strides, in rows of the operand. `before`: rows spanned by the strides
 * set so far. */
static int64_t distance(const struct bench_sizes *s, bool overlaps, int n, int count, int64_t before) {
    const bool last = s->reversed ? n == 0 : n == count - 1, first = s->reversed ? n == count - 1 : n == 0;

    if (last)
        return 1;
    return overlaps && first ? s->step : before;
}

/* Sets the strides that are parameters. Rows overlap if a row has several elements and is only read. */
static void put_rows(const struct bench_tensor *t, const struct bench_sizes *s, int row,
                     struct bench_operand *o, struct strides *all) {
    int named[BENCH_DIMS], count = 0;
    bool numbers = false;
    int64_t span = row < 0 ? 1 : extent_of(&t->dim[row], s);
    bool empty = !span;

    for (int i = 0; i < t->dims; i++) {
        if (is_named(&t->dim[i]))
            named[count++] = i;
        else
            numbers = true;
    }
    const bool overlaps = numbers && !t->is_output && row < 0;

    if (row >= 0)
        span += s->gap ? 1 : 0; /* a row outside of every run of the panel */
    /* From the smallest stride to the largest. Exception: where rows overlap, the middle one of three is
     * last; it is the span of the other two. */
    for (int step = 0; step < count; step++) {
        int n = s->reversed ? step : count - 1 - step;

        if (overlaps && count == 3 && step)
            n = step == 1 ? (s->reversed ? 2 : 0) : 1;
        const struct bench_dim *d = &t->dim[named[n]];
        const int64_t extent = extent_of(d, s),
                      apart = row >= 0 ? span : distance(s, overlaps, n, count, span);

        all->name[all->count] = d->stride.name;
        all->value[all->count++] = apart * o->stride;
        if (row >= 0)
            o->rows = extent ? (extent - 1) * span + o->rows : 0;
        else
            span += extent ? (extent - 1) * apart : 0;
        empty |= !extent;
    }
    if (row < 0)
        o->rows = span;
    if (empty)
        o->rows = 0;
}

static void put_operand(const struct bench_tensor *t, const struct bench_sizes *s, struct bench_operand *o,
                        struct strides *all) {
    const int row = row_of_panel(t);
    bool rows = false, none = false, empty = false;

    *o = (struct bench_operand){.tensor = t, .length = 1, .used = 1};
    for (int i = 0; i < t->dims; i++) {
        const struct bench_dim *d = &t->dim[i];
        const int64_t extent = extent_of(d, s), reach = reach_of(d, s);

        rows |= is_named(d);
        if (is_named(d) || i == row)
            continue;
        empty |= !extent;
        none |= !reach;
        if (!strcmp(d->extent.name, d->over.name) && reach > extent) {
            o->over = reach - extent;
            o->length += extent ? (extent - 1) * d->stride.number : 0;
        } else {
            o->length += (reach - 1) * d->stride.number;
        }
        o->used += (extent - 1) * d->stride.number;
    }
    if (none)
        o->length = 0;
    if (empty)
        o->used = 0;
    o->stride = row >= 0 ? t->dim[row].stride.number : o->length + (rows ? s->gap : 0);
    o->rows = row >= 0 ? extent_of(&t->dim[row], s) : 1;
    put_rows(t, s, row, o, all);
}

static int64_t word_of(const struct bench_declaration *d, const struct bench_sizes *s,
                       const struct strides *strides, int i) {
    const struct bench_term *v = s->updates && d->updates ? &d->update[i].value : &d->parameter[i].value;

    if (!*v->name)
        return d->computes && d->updates && !d->update[i].value.number && !d->parameter[i].value.number
                   ? s->hint
                   : v->number;
    for (int n = 0; n < strides->count; n++)
        if (!strcmp(strides->name[n], v->name))
            return strides->value[n];
    return value_of(v, s);
}

void bench_arguments(const struct bench_declaration *d, const struct bench_sizes *s,
                     struct bench_arguments *a) {
    struct strides strides = {.count = 0};

    *a = (struct bench_arguments){.operands = d->tensors, .is_f64 = d->scalar_is_f64};
    for (int i = 0; i < d->tensors; i++)
        put_operand(&d->tensor[i], s, &a->operand[i], &strides);
    for (int i = 0; i < d->parameters; i++) {
        if (d->parameter[i].tensor == BENCH_SCALAR)
            continue;
        a->operand_of[a->count] = d->parameter[i].tensor;
        a->word[a->count++] = d->parameter[i].tensor < 0 ? word_of(d, s, &strides, i) : 0;
    }
}

/* Words are passed as 64-bit integers, in registers and on the stack; a scalar in the first floating-point
 * register, wherever it is in the list. Calls with few words use registers only. */
#define FEW int64_t, int64_t, int64_t, int64_t, int64_t, int64_t
#define ALL FEW, FEW, FEW, int64_t
#define FEW_OF(w, first) w[first], w[first + 1], w[first + 2], w[first + 3], w[first + 4], w[first + 5]
#define ALL_OF(w) FEW_OF(w, 0), FEW_OF(w, 6), FEW_OF(w, 12), w[18]
_Static_assert(BENCH_PARAMETERS == 19, "as many words");
typedef void few_and_float(float, FEW);
typedef void few_and_double(double, FEW);
typedef void all_and_float(float, ALL);

#if defined __clang__
__attribute__((no_sanitize("function")))
#endif
void bench_call_kernel(void (*function)(void), const struct bench_arguments *a, double scalar) {
    const int64_t *w = a->word;

    if (a->count > 6)
        ((all_and_float *)function)((float)scalar, ALL_OF(w));
    else if (a->is_f64)
        ((few_and_double *)function)(scalar, FEW_OF(w, 0));
    else
        ((few_and_float *)function)((float)scalar, FEW_OF(w, 0));
}
