/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of Resize: for each element of a dimension the elements that it is computed from, and their weights.
 * The functions that compute them have their programs, for open sizes, next to them: both compute in f64 in
 * the same order, so that a tie is rounded alike.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "layers/moves/list.h"
#include "layers/moves/resize.h"

enum { FIRST_LIST = 4 };

int uk_resize_lists(const struct uk_resize *r) {
    return (r->method == UK_NEAREST ? 1 : r->method == UK_LINEAR ? 3 : 2) + r->crops;
}

int uk_resize_list(const struct uk_resize *r, int d) {
    return FIRST_LIST + d * uk_resize_lists(r);
}

int64_t uk_resize_taps(const struct uk_resize *r, int d) {
    const int reach = r->cubic ? 2 : 1;

    return r->antialias && r->scale[d] < 1 ? -2 * (int64_t)floor(-reach / r->scale[d]) : 2 * reach;
}

/* ---- sources of elements ---- */

static double source_of(const struct uk_resize *r, int d, int64_t in, int64_t i) {
    const double scale = r->scale[d], out = scale * (double)in;

    if (!strcmp(r->transformation, "asymmetric"))
        return (double)i / scale;
    if (!strcmp(r->transformation, "align_corners"))
        return out == 1 ? 0 : (double)i * (double)(in - 1) / (out - 1);
    if (r->crops && r->out[d] == 1)
        return 0.5 * (r->start[d] + r->end[d]) * (double)(in - 1);
    if (r->crops)
        return (r->start[d] + (double)i * (r->end[d] - r->start[d]) / (double)(r->out[d] - 1)) *
               (double)(in - 1);
    if (!strcmp(r->transformation, "pytorch_half_pixel") && r->out[d] == 1)
        return 0;
    const double centre = (double)in / 2, moved = centre * (1 - (double)r->out[d] / out);
    return ((double)i + 0.5) / scale - 0.5 + (strcmp(r->transformation, "half_pixel_symmetric") ? 0 : moved);
}

/* Numbers of the programs: the extents of the dimension before and after, and the scale's two. */
#define IN "f64(#0)"
#define OUT "f64(#1)"
/* A product that no addition is fused with. */
#define ROUNDED(product) "max(" product ", -1e300)"

/* Returns the scale as text, in a static buffer that later calls reuse. */
static const char *scale_text(const struct uk_resize *r, int d) {
    return r->from[d] ? "(f64(#2) / f64(#3))" : uk_number_text(r->scale[d], false);
}

/* Appends "@x[i0] = the source of element i0", clamped to the image if is_inside. */
static void put_source(struct uk_text *t, const struct uk_resize *r, int d, bool is_inside) {
    const char *scale = scale_text(r, d);

    uk_put(t, "@x[i0] = %s", is_inside ? "min(max(" : "");
    if (!strcmp(r->transformation, "asymmetric"))
        uk_put(t, "f64(index(i0)) / %s", scale);
    else if (!strcmp(r->transformation, "align_corners"))
        uk_put(t,
               "select(" ROUNDED("%1$s * " IN) " == 1, 0, f64(index(i0)) * (" IN
                                               " - 1) / (" ROUNDED("%1$s * " IN) " - 1))",
               scale);
    else if (r->crops)
        uk_put(t,
               "select(" OUT " == 1, %1$s * (" IN " - 1), (%2$s + f64(index(i0)) * %3$s / (" OUT
               " - 1)) * (" IN " - 1))",
               uk_number_text(0.5 * (r->start[d] + r->end[d]), false), uk_number_text(r->start[d], false),
               uk_number_text(r->end[d] - r->start[d], false));
    else if (!strcmp(r->transformation, "pytorch_half_pixel"))
        uk_put(t, "select(" OUT " == 1, 0, (f64(index(i0)) + 0.5) / %s - 0.5)", scale);
    else if (!strcmp(r->transformation, "half_pixel_symmetric"))
        uk_put(t,
               "(f64(index(i0)) + 0.5) / %1$s - 0.5 + " ROUNDED(IN " / 2 * (1 - " OUT " / (%1$s * " IN "))"),
               scale);
    else
        uk_put(t, "(f64(index(i0)) + 0.5) / %s - 0.5", scale);
    uk_put(t, is_inside ? ", 0), " IN " - 1)\n" : "\n");
}

static double nearest_of(const struct uk_resize *r, double x) {
    if (!strcmp(r->nearest, "floor"))
        return floor(x);
    if (!strcmp(r->nearest, "ceil"))
        return ceil(x);
    return strcmp(r->nearest, "round_prefer_ceil") ? ceil(x - 0.5) : floor(x + 0.5);
}

static void put_nearest(struct uk_text *t, const struct uk_resize *r) {
    uk_put(t, "$y[i0] = i64(min(max(%s, 0), " IN " - 1))",
           !strcmp(r->nearest, "floor")              ? "floor(@x[i0])"
           : !strcmp(r->nearest, "ceil")             ? "ceil(@x[i0])"
           : strcmp(r->nearest, "round_prefer_ceil") ? "ceil(@x[i0] - 0.5)"
                                                     : "floor(@x[i0] + 0.5)");
}

/* ---- windows ---- */

static double weight_of(const struct uk_resize *r, double distance) {
    const double x = fabs(distance);

    if (!r->cubic)
        return x < 1 ? 1 - x : 0;
    return x <= 1  ? ((r->a + 2) * x - (r->a + 3)) * x * x + 1
           : x < 2 ? r->a * (((x - 5) * x + 8) * x - 4)
                   : 0;
}

/* Appends the weight at the distance @d. */
static void put_weight_of(struct uk_text *t, const struct uk_resize *r) {
    const char *x = "@d[i0, k]";

    if (!r->cubic)
        uk_put(t, "max(1 - %s, 0)", x);
    else
        uk_put(t,
               "select(%1$s <= 1, (%2$s * %1$s - %3$s) * %1$s * %1$s + 1, select(%1$s < 2, (((%1$s - 5) * "
               "%1$s + "
               "8) * %1$s - 4) * %4$s, 0))",
               x, uk_number_text(r->a + 2, false), uk_number_text(r->a + 3, false),
               uk_number_text(r->a, false));
}

static void put_weight(const struct uk_graph_value *x, void *weights, int64_t i, double weight) {
    if (x->type == UK_F64)
        ((double *)weights)[i] = weight;
    else
        ((float *)weights)[i] = (float)weight;
}

/* Fills the lists of output i of dimension d: its window's elements, at the edge repeated, and their weights,
 * whose sum is 1. x: its source. */
static void put_window(const struct uk_graph_value *v, const struct uk_resize *r, int d, int64_t i, double x,
                       int64_t *places, void *weights) {
    const int64_t taps = uk_resize_taps(r, d), in = v->extent[d];
    const double base = ceil(x) - 1, stretch = r->antialias ? fmin(r->scale[d], 1) : 1;
    double sum = 0;

    for (int pass = 0; pass < 2; pass++)
        for (int64_t k = 0; k < taps; k++) {
            const double at = base + (double)(k + 1 - taps / 2);
            const bool out = at < 0 || at > (double)(in - 1);
            const double weight = r->excludes && out ? 0 : weight_of(r, (at - x) * stretch);
            if (!pass) {
                sum += weight;
                continue;
            }
            places[i * taps + k] = (int64_t)fmin(fmax(at, 0), (double)(in - 1));
            put_weight(v, weights, i * taps + k,
                       (r->antialias || r->excludes) && sum != 0 ? weight / sum : weight);
        }
}

/* Appends the statements for places of elements of windows, or for their weights. */
static void put_places(struct uk_text *t, int64_t taps) {
    uk_put(t,
           "$y[i0] = i64(min(max(ceil(@x[i0 / %1$" PRId64 "]) + f64(index(i0 %% %1$" PRId64 ")) - %2$" PRId64
           ", 0), " IN " - 1))",
           taps, taps / 2);
}

static void put_weights(struct uk_text *t, const struct uk_graph_value *v, const struct uk_resize *r, int d) {
    const int64_t taps = uk_resize_taps(r, d);
    const char *type = uk_type_name(v->type);
    char at[96];

    snprintf(at, sizeof at, "(ceil(@x[i0]) + f64(index(k)) - %" PRId64 ")", taps / 2);
    uk_put(t,
           r->antialias ? "@d[i0, k] = abs((%1$s - @x[i0]) * min(%2$s, 1))\n"
                        : "@d[i0, k] = abs(%1$s - @x[i0])\n",
           at, scale_text(r, d));
    uk_put(t, "@t[i0, k] = ");
    if (r->excludes)
        uk_put(t, "select(%1$s < 0 or %1$s > " IN " - 1, 0, ", at);
    put_weight_of(t, r);
    uk_put(t, r->excludes ? ")\n" : "\n");
    if (r->antialias || r->excludes)
        uk_put(t,
               "@s[i0] = sum(k where k < %1$" PRId64 ") @t[i0, k]\n"
               "$y[i0] = %2$s(@t[i0 / %1$" PRId64 ", i0 %% %1$" PRId64 "] / select(@s[i0 / %1$" PRId64
               "] == 0, 1, @s[i0 / %1$" PRId64 "]))",
               taps, type);
    else
        uk_put(t, "$y[i0] = %2$s(@t[i0 / %1$" PRId64 ", i0 %% %1$" PRId64 "])", taps, type);
}

/* ---- the lists of a dimension ---- */

enum list { PLACES, OTHERS, WEIGHTS, INSIDES, LISTS };

static enum uk_type type_of(const struct uk_graph_value *v, enum list kind) {
    return kind == WEIGHTS ? v->type : kind == INSIDES ? UK_U8 : UK_I64;
}

static bool has_list(const struct uk_resize *r, enum list kind) {
    return kind == OTHERS    ? r->method == UK_LINEAR
           : kind == WEIGHTS ? r->method != UK_NEAREST
           : kind == INSIDES ? r->crops
                             : true;
}

/* Appends the statements that compute a list. */
static void put_list(struct uk_text *t, const struct uk_graph_value *v, const struct uk_resize *r, int d,
                     enum list kind) {
    put_source(t, r, d, r->method == UK_LINEAR && kind != INSIDES);
    if (kind == INSIDES)
        uk_put(t, "$y[i0] = select(@x[i0] == min(max(@x[i0], 0), " IN " - 1), u8(1), u8(0))");
    else if (r->method == UK_WINDOW && kind == PLACES)
        put_places(t, uk_resize_taps(r, d));
    else if (r->method == UK_WINDOW)
        put_weights(t, v, r, d);
    else if (r->method == UK_NEAREST)
        put_nearest(t, r);
    else if (kind == PLACES)
        uk_put(t, "$y[i0] = i64(floor(@x[i0]))");
    else if (kind == OTHERS)
        uk_put(t, "$y[i0] = i64(min(floor(@x[i0]) + 1, " IN " - 1))");
    else
        uk_put(t, "$y[i0] = %s(@x[i0] - floor(@x[i0]))", uk_type_name(v->type));
}

static void fill(const struct uk_graph_value *v, const struct uk_resize *r, int d, void *const list[LISTS]) {
    const int64_t in = v->extent[d];

    for (int64_t i = 0; i < r->out[d]; i++) {
        const double x = source_of(r, d, in, i), most = (double)(in - 1);
        const double inside = fmin(fmax(x, 0), most), low = floor(inside);
        if (r->crops)
            ((uint8_t *)list[INSIDES])[i] = x == inside;
        if (r->method == UK_WINDOW) {
            put_window(v, r, d, i, x, list[PLACES], list[WEIGHTS]);
            continue;
        }
        ((int64_t *)list[PLACES])[i] =
            r->method == UK_LINEAR ? (int64_t)low : (int64_t)fmin(fmax(nearest_of(r, x), 0), most);
        if (r->method == UK_NEAREST)
            continue;
        ((int64_t *)list[OTHERS])[i] = (int64_t)fmin(low + 1, most);
        put_weight(v, list[WEIGHTS], i, inside - low);
    }
}

enum uk_status uk_resize_append(struct uk_graph *g, struct uk_graph_node *n, const struct uk_resize *r,
                                int d) {
    const struct uk_graph_value *v = n->input[0];
    const bool has_taps = r->method == UK_WINDOW;
    void *list[LISTS] = {NULL};
    enum uk_status s = uk_extend_inputs(g, n, uk_resize_list(r, d));

    for (enum list k = 0; k < LISTS && !s; k++) {
        struct uk_text text = {0};
        if (!has_list(r, k))
            continue;
        put_list(&text, v, r, d, k);
        const struct uk_list_program p = {
            .text = text.text,
            .rows = r->out[d],
            .taps = uk_resize_taps(r, d),
            .number = {v->extent[d], r->out[d], r->to[d], r->from[d] ? r->from[d] : 1}};
        s = text.text ? uk_append_list(g, n, type_of(v, k),
                                       has_taps && k != INSIDES ? p.rows * p.taps : p.rows, &p, &list[k])
                      : uk_graph_no_memory(g);
        free(text.text);
    }
    if (!s)
        fill(v, r, d, list);
    return s;
}
