/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops and branches in the driver, and the addresses of values, which depend on sizes and iterations. The
 * names of region K's variables and labels begin with rK: %rK.t is the iteration.
 */
#include <inttypes.h>
#include <stdio.h>
#include "emit/driver.h"

enum { NAME = 64 };

/* ---- addresses ---- */

/* Writes %NAME, the form times the factor; `fixed` in place of the form if that is NULL. */
static void put_form(struct uk_text *t, const struct uk_size_form *f, int64_t fixed, int64_t factor,
                     const char *name) {
    if (f)
        uk_driver_put_form(t, f, factor, name);
    else
        uk_put(t, "  %%%s = add i64 0, %" PRId64 "\n", name, fixed * factor);
}

/* Writes %NAME.at, the number of the part of its storage that v is. In a step the block of memory may hold
 * any number as iteration: if no part has it, the first part is taken. */
static void put_part(struct uk_driver *d, const struct uk_graph_value *v, const char *name) {
    const struct uk_graph_region *r = v->mover;
    struct uk_text *t = &d->text;
    char parts[NAME + 8], iteration[NAME + 8];

    snprintf(parts, sizeof parts, "%s.parts", name);
    put_form(t, v->storage->form, v->storage->extent[0], 1, parts);
    snprintf(iteration, sizeof iteration, "r%d.t", r->number);
    if (d->is_step) {
        snprintf(iteration, sizeof iteration, "%s.t", name);
        uk_put(t,
               "  %%%1$s.counter = getelementptr i8, ptr %%m, i64 %2$" PRId64 "\n"
               "  %%%1$s.t = load i64, ptr %%%1$s.counter\n",
               name, r->counter->offset);
    }
    uk_put(t,
           v->is_reversed ? "  %%%1$s.last = sub i64 %%%1$s.parts, 1\n"
                            "  %%%1$s.from = sub i64 %%%1$s.last, %%%2$s\n"
                          : "  %%%1$s.from = add i64 0, %%%2$s\n",
           name, iteration);
    uk_put(t,
           d->is_step ? "  %%%1$s.exists = icmp ult i64 %%%1$s.t, %%%1$s.parts\n"
                        "  %%%1$s.at = select i1 %%%1$s.exists, i64 %%%1$s.from, i64 0\n"
                      : "  %%%1$s.at = add i64 0, %%%1$s.from\n",
           name);
}

/* Writes %NAME, the offset of v in its storage in bytes. False: it is fixed, and part of *fixed now. */
static bool put_offset(struct uk_driver *d, const struct uk_graph_value *v, int64_t *fixed,
                       const char *name) {
    const int64_t bytes = (int64_t)uk_type_bytes(v->type);
    char each[NAME + 8];

    if (v->mover) {
        snprintf(each, sizeof each, "%s.each", name);
        put_part(d, v, name);
        put_form(&d->text, v->form ? &v->form[UK_RANK + 1] : NULL, uk_value_elements(v), bytes, each);
        uk_put(&d->text, "  %%%1$s = mul i64 %%%1$s.at, %%%1$s.each\n", name);
        return true;
    }
    if (v->is_slice && v->form) {
        uk_driver_put_form(&d->text, &v->form[UK_RANK], bytes, name);
        return true;
    }
    *fixed += v->is_slice ? v->slice_at * bytes : 0;
    return false;
}

void uk_driver_put_pointer(struct uk_driver *d, const struct uk_graph_value *v, int64_t fixed,
                           const char *name) {
    struct uk_text *t = &d->text;
    char term[NAME], sum[NAME + 8] = "";
    int terms = 0;

    for (; v; v = v->storage) {
        snprintf(term, sizeof term, "%.40s.o%d", name, terms);
        fixed += v->storage ? 0 : v->offset;
        if (!put_offset(d, v, &fixed, term))
            continue;
        if (*sum)
            uk_put(t, "  %%%1$s.sum = add i64 %%%1$s, %%%2$s\n", term, sum);
        snprintf(sum, sizeof sum, "%s%s", term, *sum ? ".sum" : "");
        terms++;
    }
    if (*sum)
        uk_put(t, "  %%%1$s.base = getelementptr i8, ptr %%m, i64 %%%2$s\n", name, sum);
    uk_put(t, "  %%%1$s = getelementptr i8, ptr %%%2$s%3$s, i64 %4$" PRId64 "\n", name, *sum ? name : "m",
           *sum ? ".base" : "", fixed);
}

/* ---- loops ---- */

/* Writes %rK.trips. */
static void put_trips(struct uk_driver *d, const struct uk_graph_region *r) {
    char name[NAME];

    snprintf(name, sizeof name, "r%d.trips", r->number);
    if (r->trips >= 0 || !r->count) {
        put_form(&d->text, r->form, r->trips >= 0 ? r->trips : INT64_MAX, 1, name);
        return;
    }
    snprintf(name, sizeof name, "r%d.count", r->number);
    uk_driver_put_pointer(d, r->count, 0, name);
    uk_put(&d->text, "  %%r%1$d.trips = load i64, ptr %%r%1$d.count\n", r->number);
}

static void put_loop(struct uk_driver *d, const struct uk_graph_region *r) {
    struct uk_text *t = &d->text;
    char name[NAME];

    uk_put(t, "  br label %%r%1$d.begin\nr%1$d.begin:\n", r->number);
    put_trips(d, r);
    uk_put(t,
           "  br label %%r%1$d.head\n"
           "r%1$d.head:\n"
           "  %%r%1$d.t = phi i64 [ 0, %%r%1$d.begin ], [ %%r%1$d.next, %%r%1$d.again ]\n"
           "  %%r%1$d.more = icmp slt i64 %%r%1$d.t, %%r%1$d.trips\n",
           r->number);
    if (r->condition) {
        snprintf(name, sizeof name, "r%d.condition", r->number);
        uk_driver_put_pointer(d, r->condition, 0, name);
        uk_put(t,
               "  %%r%1$d.byte = load i8, ptr %%r%1$d.condition\n"
               "  %%r%1$d.test = icmp %2$s i8 %%r%1$d.byte, 0\n"
               "  %%r%1$d.both = and i1 %%r%1$d.more, %%r%1$d.test\n",
               r->number, r->is_negated ? "eq" : "ne");
    }
    uk_put(t,
           "  br i1 %%r%1$d.%2$s, label %%r%1$d.body, label %%r%1$d.end\n"
           "r%1$d.body:\n"
           "  %%r%1$d.counter = getelementptr i8, ptr %%m, i64 %3$" PRId64 "\n"
           "  store i64 %%r%1$d.t, ptr %%r%1$d.counter\n",
           r->number, r->condition ? "both" : "more", r->counter->offset);
}

static void put_loop_end(struct uk_driver *d, const struct uk_graph_region *r) {
    uk_put(&d->text,
           "  br label %%r%1$d.again\n"
           "r%1$d.again:\n"
           "  %%r%1$d.next = add i64 %%r%1$d.t, 1\n"
           "  br label %%r%1$d.head\n"
           "r%1$d.end:\n",
           r->number);
}

static void enter(struct uk_driver *d, const struct uk_graph_region *from, const struct uk_graph_region *to) {
    if (from == to)
        return;
    enter(d, from, to->outside);
    put_loop(d, to);
}

void uk_driver_change_region(struct uk_driver *d, const struct uk_graph_region *from,
                             const struct uk_graph_region *to) {
    for (; from && !uk_region_contains(from, to); from = from->outside)
        put_loop_end(d, from);
    enter(d, from, to);
}
