/* SPDX-License-Identifier: Apache-2.0 */
/* GridSample and AffineGrid: images read at places that a tensor gives, and such places. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "layers/layers.h"

/* ---- GridSample ---- */

enum { TEXT = 512, NEAREST = 1, LINEAR = 2, CUBIC = 4 };

/* Elements that are weighted in each dimension. 0: the mode is unknown. */
static int taps_of(const struct uk_graph_node *n) {
    static const struct {
        const char *mode;
        int taps;
    } modes[] = {
        {"linear", LINEAR}, {"bilinear", LINEAR}, {"nearest", NEAREST}, {"cubic", CUBIC}, {"bicubic", CUBIC}};
    const char *mode = uk_attribute_string(n, "mode", "linear");

    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (!strcmp(mode, modes[i].mode))
            return modes[i].taps;
    return 0;
}

enum uk_status uk_infer_grid_sample(struct uk_graph *g, struct uk_graph_node *n) {
    const char *padding = uk_attribute_string(n, "padding_mode", "zeros");
    int64_t extent[UK_RANK];
    enum uk_status s = uk_need_input(g, n, 0);

    if (!s)
        s = uk_need_input(g, n, 1);
    if (s)
        return s;
    const struct uk_graph_value *x = n->input[0], *grid = n->input[1];
    if (!taps_of(n) ||
        (strcmp(padding, "zeros") && strcmp(padding, "border") && strcmp(padding, "reflection")))
        return uk_graph_fail(g, UK_REFUSED, n, "mode=%s with padding_mode=%s is not supported",
                             uk_attribute_string(n, "mode", "linear"), padding);
    if (x->rank < 3 || x->rank > 5 || grid->rank != x->rank || grid->extent[0] != x->extent[0] ||
        grid->extent[x->rank - 1] != x->rank - 2 || grid->type != x->type || !uk_is_real(x->type))
        return uk_graph_fail(g, UK_REFUSED, n,
                             "a grid of shape %s does not fit an image of floats of shape %s",
                             uk_value_shape(grid), uk_value_shape(x));
    for (int d = 2; d < x->rank; d++)
        if (x->extent[d] < 1)
            return uk_graph_fail(g, UK_REFUSED, n, "its image of shape %s has no elements",
                                 uk_value_shape(x));
    extent[0] = x->extent[0];
    extent[1] = x->extent[1];
    for (int d = 2; d < x->rank; d++)
        extent[d] = grid->extent[d - 1];
    return uk_set_output(g, n, 0, x->type, x->rank, extent);
}

/* Returns the name of a temp of dimension d, which the writer keeps. */
static const char *name_of(char kind, int d) {
    static const char *const names[] = {"d0", "d1", "d2", "i0", "i1", "i2", "m0", "m1", "m2", "p0", "p1",
                                        "p2", "q0", "q1", "q2", "w0", "w1", "w2", "x0", "x1", "x2"};
    int i = d;

    while (*names[i] != kind)
        i += 3;
    return names[i];
}

/* Writes the temp @x<d>: the place in elements of dimension d + 2. The grid lists dimensions from the last
 * one, in -1 to 1: the centres of the first and the last element if align_corners is set, else the image's
 * edges. */
static void write_place(struct uk_writer *w, const struct uk_graph_node *n, int d, const char *places,
                        const int64_t *extent) {
    const struct uk_graph_value *x = n->input[0];
    const int dimensions = x->rank - 2;
    const int64_t all = x->extent[d + 2];
    const char *name = name_of('x', d);
    char grid[TEXT];

    snprintf(grid, sizeof grid, "$1[%s, %d]", places, dimensions - 1 - d);
    uk_write_temp(w, n, name, x->type, dimensions + 1, extent, NULL);
    if (uk_attribute_int(n, "align_corners", 0))
        uk_write(w, n, "@%s[%s] = (%s + 1) / 2 * %" PRId64, name, places, grid, all - 1);
    else
        uk_write(w, n, "@%s[%s] = ((%s + 1) * %" PRId64 " - 1) / 2", name, places, grid, all);
}

/* Writes the temps @i<d> and, for zeros, @m<d>: the subscript of each tap, inside the image, and whether the
 * tap is. */
static void write_taps(struct uk_writer *w, const struct uk_graph_node *n, int d, const char *places,
                       const int64_t *extent) {
    const char *padding = uk_attribute_string(n, "padding_mode", "zeros");
    const bool aligned = uk_attribute_int(n, "align_corners", 0);
    const int rank = n->input[0]->rank, taps = taps_of(n);
    const int64_t all = n->input[0]->extent[d + 2], period = aligned ? 2 * (all - 1) : 2 * all;
    const char *name = name_of('i', d), *mask = name_of('m', d);
    char at[TEXT];

    if (taps == NEAREST)
        snprintf(at, sizeof at, "(i64(round(@x%d[%s])) + index(k))", d, places);
    else
        snprintf(at, sizeof at, "(i64(floor(@x%d[%s])) + index(k - %d))", d, places, taps / 2 - 1);
    uk_write_temp(w, n, name, UK_I64, rank, extent, NULL);
    if (strcmp(padding, "reflection")) {
        uk_write(w, n, "@%s[%s, k] = min(%" PRId64 ", max(0, %s))", name, places, all - 1, at);
    } else { /* periodic; the second half of a period is the first one backwards */
        const char *turn = name_of('p', d), *whole = name_of('q', d);
        char length[48]; /* a period of at least 1, which is a divisor */
        uk_write_temp(w, n, turn, UK_I64, rank, extent, NULL);
        uk_write_temp(w, n, whole, UK_I64, rank, extent, NULL);
        snprintf(length, sizeof length, aligned ? "max(%" PRId64 ", 1)" : "%" PRId64, period);
        uk_write(w, n, "@%1$s[%2$s, k] = %3$s - %3$s / %4$s * %4$s", turn, places, at, length);
        uk_write(w, n, "@%1$s[%2$s, k] = @%3$s[%2$s, k] + select(@%3$s[%2$s, k] < 0, %4$s, 0)", whole, places,
                 turn, length);
        uk_write(w, n,
                 "@%1$s[%2$s, k] = select(@%3$s[%2$s, k] < %4$" PRId64 ", @%3$s[%2$s, k], %5$" PRId64
                 " - @%3$s[%2$s, k])",
                 name, places, whole, all, aligned ? period : period - 1);
    }
    if (!strcmp(padding, "zeros")) {
        uk_write_temp(w, n, mask, UK_U8, rank, extent, NULL);
        uk_write(w, n, "@%1$s[%2$s, k] = select(%3$s == @%4$s[%2$s, k], u8(1), u8(0))", mask, places, at,
                 name);
    }
}

/* Writes the temp @w<d>, the weight of each tap: of linear interpolation, or Keys' cubic with a = -0.75
 * (Cubic Convolution Interpolation for Digital Image Processing, 1981). */
static void write_weights(struct uk_writer *w, const struct uk_graph_node *n, int d, const char *places,
                          const int64_t *extent) {
    const struct uk_graph_value *x = n->input[0];
    const char *type = uk_type_name(x->type), *name = name_of('w', d), *distance = name_of('d', d);

    uk_write_temp(w, n, distance, x->type, x->rank, extent, NULL);
    uk_write_temp(w, n, name, x->type, x->rank, extent, NULL);
    uk_write(w, n, "@%1$s[%2$s, k] = abs(@x%3$d[%2$s] - floor(@x%3$d[%2$s]) - %4$s(index(k - %5$d)))",
             distance, places, d, type, taps_of(n) / 2 - 1);
    if (taps_of(n) == LINEAR)
        uk_write(w, n, "@%1$s[%2$s, k] = 1 - @%3$s[%2$s, k]", name, places, distance);
    else
        uk_write(
            w, n,
            "@%1$s[%2$s, k] = select(@%3$s[%2$s, k] <= 1, (1.25 * @%3$s[%2$s, k] - 2.25) * @%3$s[%2$s, k] * "
            "@%3$s[%2$s, k] + 1, ((-0.75 * @%3$s[%2$s, k] + 3.75) * @%3$s[%2$s, k] - 6) * @%3$s[%2$s, k] + "
            "3)",
            name, places, distance);
}

/* A sum over taps in each dimension of elements times weights. */
enum uk_status uk_write_grid_sample(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const struct uk_graph_value *x = n->input[0], *y = n->output[0];
    const bool zeros = !strcmp(uk_attribute_string(n, "padding_mode", "zeros"), "zeros");
    const int taps = taps_of(n);
    char places[64] = "i0", over[64] = "", at[TEXT] = "", inside[TEXT] = "", weights[TEXT] = "";
    size_t used = 2, listed = 0, put = 0, tested = 0, weighted = 0;
    int64_t extent[UK_RANK] = {y->extent[0]};

    (void)output;
    for (int d = 2; d < x->rank; d++) {
        extent[d - 1] = y->extent[d];
        used += (size_t)snprintf(places + used, sizeof places - used, ", i%d", d);
    }
    extent[x->rank - 1] = taps;
    for (int d = 0; d < x->rank - 2; d++) {
        write_place(w, n, d, places, extent);
        write_taps(w, n, d, places, extent);
        if (taps != NEAREST)
            write_weights(w, n, d, places, extent);
        listed += (size_t)snprintf(over + listed, sizeof over - listed, "%sk%d", d ? ", " : "", d);
        put += (size_t)snprintf(at + put, sizeof at - put, ", @i%d[%s, k%d]", d, places, d);
        tested += (size_t)snprintf(inside + tested, sizeof inside - tested, "%s@m%d[%s, k%d] != 0",
                                   d ? " and " : "", d, places, d);
        if (taps != NEAREST)
            weighted += (size_t)snprintf(weights + weighted, sizeof weights - weighted, " * @w%d[%s, k%d]", d,
                                         places, d);
    }
    uk_write(w, n, "$y[%s] = sum(%s) %s%s%s$0[i0, i1%s]%s%s", uk_iterators(x->rank), over,
             zeros ? "select(" : "", zeros ? inside : "", zeros ? ", " : "", at, zeros ? ", 0)" : "",
             weights);
    return UK_OK;
}

/* ---- AffineGrid ---- */

enum uk_status uk_infer_affine_grid(struct uk_graph *g, struct uk_graph_node *n) {
    int64_t size[UK_MAX_LISTED_INTS], extent[UK_RANK];
    int count = 0;
    enum uk_status s = uk_need_input(g, n, 0);

    if (!s)
        s = uk_need_ints(g, n, NULL, 1, size, &count);
    if (s)
        return s;
    const struct uk_graph_value *theta = n->input[0];
    if ((count != 4 && count != 5) || theta->rank != 3 || theta->extent[0] != size[0] ||
        theta->extent[1] != count - 2 || theta->extent[2] != count - 1 || !uk_is_real(theta->type))
        return uk_graph_fail(g, UK_REFUSED, n, "matrices of shape %s do not fit a size of %d numbers",
                             uk_value_shape(theta), count);
    extent[0] = size[0];
    for (int d = 2; d < count; d++)
        extent[d - 1] = size[d];
    extent[count - 1] = count - 2;
    return uk_set_output(g, n, 0, theta->type, count, extent);
}

/* The places of elements in -1 to 1 times a matrix; columns are x, y, z, from the last dimension, and 1. */
enum uk_status uk_write_affine_grid(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const struct uk_graph_value *y = n->output[0];
    const bool aligned = uk_attribute_int(n, "align_corners", 0);
    const char *type = uk_type_name(y->type);
    const int dimensions = y->rank - 2;
    char sum[TEXT];
    size_t used = 0;

    (void)output;
    for (int k = 0; k < dimensions; k++) {
        const int d = dimensions - k;
        char place[96];
        if (aligned)
            snprintf(place, sizeof place, "%1$s(index(2 * i%2$d)) / max(%1$s(%3$" PRId64 "), 1)", type, d,
                     y->extent[d] - 1);
        else
            snprintf(place, sizeof place, "%1$s(index(2 * i%2$d + 1)) / %1$s(%3$" PRId64 ")", type, d,
                     y->extent[d]);
        used += (size_t)snprintf(sum + used, sizeof sum - used, "$0[i0, i%d, %d] * (%s - 1) + ", y->rank - 1,
                                 k, place);
    }
    uk_write(w, n, "$y[%s] = %s$0[i0, i%d, %d]", uk_iterators(y->rank), sum, y->rank - 1, dimensions);
    return UK_OK;
}
