/* SPDX-License-Identifier: Apache-2.0 */
/* Polynomials of degree 2 in the open sizes, found from values at points by finite differences. */
#include <string.h>
#include "graph/graph.h"

/* Adds a term unless its factor is 0. False: too many. */
static bool add(struct uk_size_form *f, int64_t factor, int a, int b) {
    if (!factor)
        return true;
    if (f->terms == UK_FORM_TERMS)
        return false;
    f->term[f->terms++] = (struct uk_size_term){factor, a, b};
    return true;
}

/*
 * With b the base, u = b - s, and differences d[i] = y(b) - y(b - e[i]) and q[i][j], the second ones,
 * Newton's formula is
 *
 *     y = y(b) - sum d[i] u[i] + sum q[i][i] u[i] (u[i] - 1) / 2 + sum over i < j of q[i][j] u[i] u[j].
 *
 * Here it is expanded in s. Values have at most 40 bits; where products overflow nevertheless, they wrap, and
 * uk_form_holds() finds the difference.
 */
struct differences {
    int64_t first[UK_MAX_OPEN], second[UK_MAX_OPEN][UK_MAX_OPEN];
};

static bool differences_of(const struct uk_graph *g, const int64_t *value, struct differences *d) {
    const struct uk_size_points *p = &g->points;
    const int64_t base = value[p->base];

    memset(d, 0, sizeof *d);
    for (int i = 0; i < g->open_count; i++) {
        const int64_t below = value[p->below[i][0]];
        d->first[i] = base - below;
        if (p->below[i][1] >= 0)
            d->second[i][i] = base - 2 * below + value[p->below[i][1]];
        if (d->second[i][i] % 2)
            return false;
        for (int j = i + 1; j < g->open_count; j++)
            d->second[i][j] = d->second[j][i] = base - below - value[p->below[j][0]] + value[p->across[i][j]];
    }
    return true;
}

bool uk_form_fit(const struct uk_graph *g, const int64_t *value, struct uk_size_form *f) {
    const int64_t *b = g->points.size[g->points.base];
    struct differences d;
    uint64_t constant = (uint64_t)value[g->points.base];
    bool fits = differences_of(g, value, &d);

    *f = (struct uk_size_form){.terms = 0};
    for (int i = 0; i < g->open_count && fits; i++) {
        const uint64_t half = (uint64_t)(d.second[i][i] / 2), at = (uint64_t)b[i];
        uint64_t linear = (uint64_t)d.first[i] - half * (2 * at - 1);
        constant += half * (at * at - at) - (uint64_t)d.first[i] * at;
        for (int j = 0; j < g->open_count; j++)
            linear -= j == i ? 0 : (uint64_t)d.second[i][j] * (uint64_t)b[j];
        for (int j = i + 1; j < g->open_count; j++)
            constant += (uint64_t)d.second[i][j] * at * (uint64_t)b[j];
        fits = add(f, (int64_t)linear, i, -1);
    }
    for (int i = 0; i < g->open_count && fits; i++)
        for (int j = i; j < g->open_count && fits; j++)
            fits = add(f, j == i ? d.second[i][i] / 2 : d.second[i][j], i, j);
    return fits && add(f, (int64_t)constant, -1, -1);
}

bool uk_form_holds(const struct uk_graph *g, const struct uk_size_form *f, const int64_t *value) {
    for (int p = 0; p < g->points.count; p++)
        if (uk_form_value(f, g->points.size[p]) != value[p])
            return false;
    return true;
}

int64_t uk_form_value(const struct uk_size_form *f, const int64_t *sizes) {
    uint64_t all = 0;

    for (int i = 0; i < f->terms; i++) {
        const struct uk_size_term *t = &f->term[i];
        all += (uint64_t)t->factor * (uint64_t)(t->a < 0 ? 1 : sizes[t->a]) *
               (uint64_t)(t->b < 0 ? 1 : sizes[t->b]);
    }
    return (int64_t)all;
}

bool uk_form_equal(const struct uk_size_form *a, const struct uk_size_form *b) {
    bool same = a->terms == b->terms;

    for (int i = 0; i < a->terms && same; i++)
        same = a->term[i].factor == b->term[i].factor && a->term[i].a == b->term[i].a &&
               a->term[i].b == b->term[i].b;
    return same;
}

bool uk_form_subtract(struct uk_size_form *from, const struct uk_size_form *f) {
    bool fits = true;

    for (int i = 0; i < f->terms && fits; i++) {
        const struct uk_size_term *t = &f->term[i];
        int k = 0;
        while (k < from->terms && (from->term[k].a != t->a || from->term[k].b != t->b))
            k++;
        if (k == from->terms)
            fits = add(from, -t->factor, t->a, t->b);
        else if (!(from->term[k].factor -= t->factor))
            memmove(&from->term[k], &from->term[k + 1], (size_t)(--from->terms - k) * sizeof *from->term);
    }
    return fits;
}

bool uk_form_is_affine(const struct uk_size_form *f) {
    for (int i = 0; i < f->terms; i++)
        if (f->term[i].b >= 0)
            return false;
    return true;
}
