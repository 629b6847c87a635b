/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resize and Upsample, one dimension after the other. Source elements and their weights are known at compile
 * time: lists for each dimension that changes are appended to the node's inputs. Nearest reads one element,
 * linear a mean of two; cubic, and linear with antialias, sum a window of weighted elements.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "layers/moves/resize.h"

/* ---- attributes and inputs ---- */

static enum uk_status modes_of(struct uk_graph *g, const struct uk_graph_node *n, struct uk_resize *r) {
    static const char *const known[] = {"half_pixel",    "half_pixel_symmetric", "pytorch_half_pixel",
                                        "align_corners", "asymmetric",           "tf_crop_and_resize"};
    const bool old = n->version < 11 || !strcmp(n->type, "Upsample");
    const char *mode = uk_attribute_string(n, "mode", "nearest");
    const bool linear = !strcmp(mode, "linear") || !strcmp(mode, "bilinear");
    bool is_known = false;

    r->cubic = !strcmp(mode, "cubic");
    r->antialias = uk_attribute_int(n, "antialias", 0);
    r->excludes = uk_attribute_int(n, "exclude_outside", 0);
    r->a = uk_attribute_float(n, "cubic_coeff_a", -0.75);
    r->method = r->cubic || (linear && r->antialias) ? UK_WINDOW : linear ? UK_LINEAR : UK_NEAREST;
    r->transformation =
        uk_attribute_string(n, "coordinate_transformation_mode", old ? "asymmetric" : "half_pixel");
    r->nearest = uk_attribute_string(n, "nearest_mode", old ? "floor" : "round_prefer_floor");
    r->crops = !strcmp(r->transformation, "tf_crop_and_resize");
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        is_known |= !strcmp(r->transformation, known[i]);
    if (!linear && !r->cubic && strcmp(mode, "nearest"))
        return uk_graph_fail(g, UK_REFUSED, n, "mode=%s is not supported; nearest, linear and cubic are",
                             mode);
    return is_known ? UK_OK
                    : uk_graph_fail(g, UK_REFUSED, n, "coordinate_transformation_mode=%s is not supported",
                                    r->transformation);
}

/* Reads where the part of each axis begins and ends. */
static enum uk_status part_of(struct uk_graph *g, const struct uk_graph_node *n, const int *axis, int count,
                              struct uk_resize *r) {
    struct uk_graph_value *v = uk_node_input(n, 1);
    enum uk_status s;

    for (int d = 0; d < UK_RANK; d++) {
        r->start[d] = 0;
        r->end[d] = 1;
    }
    if (!r->crops)
        return UK_OK;
    if (v && (s = uk_need_constant(g, n, v)))
        return s;
    if (!v || v->type != UK_F32 || uk_value_elements(v) != 2 * count)
        return uk_graph_fail(g, UK_REFUSED, n,
                             "roi does not have two numbers of f32 for each of %d dimensions", count);
    for (int i = 0; i < count; i++) {
        r->start[axis[i]] = uk_constant_real(v, i);
        r->end[axis[i]] = uk_constant_real(v, count + i);
    }
    return UK_OK;
}

/* Reads the scales of `count` axes from an input or the attribute. */
static enum uk_status scales_of(struct uk_graph *g, const struct uk_graph_node *n, int input, const int *axis,
                                int count, struct uk_resize *r) {
    struct uk_graph_value *v = input < 0 ? NULL : uk_node_input(n, input);
    const struct uk_attribute *a = uk_attribute_find(n, "scales");
    const bool listed = a && a->kind == UK_A_FLOATS;
    enum uk_status s;

    if (v && v->type != UK_F32)
        return uk_graph_fail(g, UK_REFUSED, n, "its scales are of type %s; f32 is required",
                             uk_type_name(v->type));
    if (v && (s = uk_need_constant(g, n, v)))
        return s;
    if (!v && !listed)
        return uk_graph_fail(g, UK_REFUSED, n, "scales are missing");
    if ((v ? uk_value_elements(v) : a->count) != count)
        return uk_graph_fail(g, UK_REFUSED, n, "scales does not have one number for each of %d dimensions",
                             count);
    for (int i = 0; i < count; i++) {
        const int d = axis[i];
        const double scale = v ? uk_constant_real(v, i) : a->floats[i],
                     out = floor((double)n->input[0]->extent[d] * scale);
        if (!(scale > 0) || !(out < 0x1p40))
            return uk_graph_fail(g, UK_REFUSED, n, "scale %g of dimension %d is out of range", scale, d);
        r->scale[d] = scale;
        r->out[d] = (int64_t)out;
    }
    return UK_OK;
}

/* Sets extents and scales from sizes: exactly those, or with one common scale that keeps the image's
 * proportions. */
static enum uk_status sizes_of(struct uk_graph *g, const struct uk_graph_node *n, const int64_t *size,
                               const int *axis, int count, struct uk_resize *r) {
    const char *policy = uk_attribute_string(n, "keep_aspect_ratio_policy", "stretch");
    double common = 0;
    int chosen = 0; /* the axis that has the common scale */

    for (int i = 0; i < count; i++) {
        const double scale = (double)size[i] / (double)n->input[0]->extent[axis[i]];
        if (size[i] < 1 || size[i] > UK_MAX_ELEMENTS || !(scale > 0) || isinf(scale))
            return uk_graph_fail(g, UK_REFUSED, n, "size %" PRId64 " of dimension %d is out of range",
                                 size[i], axis[i]);
        if (i == 0 || (!strcmp(policy, "not_larger") ? scale < common : scale > common)) {
            common = scale;
            chosen = i;
        }
    }
    for (int i = 0; i < count; i++) {
        const int d = axis[i];
        const bool stretch = !strcmp(policy, "stretch");
        const double kept = floor(common * (double)n->input[0]->extent[d] + 0.5);
        if (!stretch && kept > (double)UK_MAX_ELEMENTS)
            return uk_graph_fail(g, UK_REFUSED, n, "scale %g of dimension %d is out of range", common, d);
        r->out[d] = stretch ? size[i] : (int64_t)kept;
        r->to[d] = size[stretch ? i : chosen];
        r->from[d] = n->input[0]->extent[axis[stretch ? i : chosen]];
        r->scale[d] = stretch ? (double)size[i] / (double)n->input[0]->extent[d] : common;
    }
    return UK_OK;
}

static enum uk_status resize_of(struct uk_graph *g, const struct uk_graph_node *n, struct uk_resize *r) {
    const struct uk_graph_value *x = n->input[0];
    const bool later = n->version >= 11 && !strcmp(n->type, "Resize");
    int64_t listed[UK_MAX_LISTED_INTS], size[UK_MAX_LISTED_INTS];
    int axis[UK_RANK], count = -1, sizes = -1;
    enum uk_status s = modes_of(g, n, r);

    if (!s)
        s = uk_need_ints(g, n, "axes", -1, listed, &count);
    if (!s && count > x->rank)
        s = uk_graph_fail(g, UK_REFUSED, n, "axes has %d numbers, but the tensor has %d dimensions", count,
                          x->rank);
    if (count < 0)
        count = x->rank;
    for (int i = 0; i < count && !s; i++)
        if (uk_attribute_find(n, "axes"))
            s = uk_need_axis(g, n, listed[i], x->rank, &axis[i]);
        else
            axis[i] = i;
    for (int d = 0; d < x->rank; d++) {
        r->scale[d] = 1;
        r->from[d] = 0;
        r->out[d] = x->extent[d];
    }
    if (!s)
        s = part_of(g, n, axis, count, r);
    if (!s && later && uk_node_input(n, 3))
        s = uk_need_ints(g, n, NULL, 3, size, &sizes);
    if (s)
        return s;
    if (sizes > 0)
        return sizes == count
                   ? sizes_of(g, n, size, axis, count, r)
                   : uk_graph_fail(g, UK_REFUSED, n, "sizes has %d numbers for %d dimensions", sizes, count);
    return scales_of(g, n, uk_attribute_find(n, "scales") ? -1 : later ? 2 : 1, axis, count, r);
}

/* True if dimension d is resized, at all points of open sizes if it is at the largest. */
static bool is_resized(struct uk_graph *g, const struct uk_graph_node *n, const struct uk_resize *r, int d) {
    return uk_choose_form(g, n, d,
                          r->out[d] != n->input[0]->extent[d] || r->scale[d] != 1 || r->start[d] != 0 ||
                              r->end[d] != 1);
}

/* The same for a node that has its lists. */
static bool changes(const struct uk_graph_node *n, const struct uk_resize *r, int d) {
    return uk_node_input(n, uk_resize_list(r, d));
}

enum uk_status uk_infer_resize(struct uk_graph *g, struct uk_graph_node *n) {
    struct uk_resize r;
    enum uk_status s = uk_need_input(g, n, 0);

    if (!s)
        s = uk_extend_inputs(g, n, 4);
    if (!s)
        s = resize_of(g, n, &r);
    if (!s && r.method != UK_NEAREST && n->input[0]->type != UK_F32 && n->input[0]->type != UK_F64)
        s = uk_graph_fail(g, UK_REFUSED, n, "mode=%s of type %s is not supported",
                          r.cubic ? "cubic" : "linear", uk_type_name(n->input[0]->type));
    if (s)
        return s;
    n->inputs = 4;
    for (int d = 0; d < n->input[0]->rank && !s; d++) {
        if (!n->input[0]->extent[d] && r.out[d])
            s = uk_graph_fail(g, UK_REFUSED, n, "dimension %d is empty", d);
        else if (is_resized(g, n, &r, d))
            s = uk_resize_append(g, n, &r, d);
    }
    return s ? s : uk_set_output(g, n, 0, n->input[0]->type, n->input[0]->rank, r.out);
}

/* ---- statements ---- */

/* Writes the subscripts i0, i1, ..., with that of dimension d taken from a list. */
static void by_list(const struct uk_graph_node *n, int list, int d, char *text, size_t room) {
    char at[96];

    uk_listed_subscript(n, list, d, at, sizeof at);
    uk_subscripts(text, room, n->input[0]->rank, d, at);
}

/* Writes the result: the expression, if it crops only where all sources are inside. */
static void write_inside(struct uk_writer *w, const struct uk_graph_node *n, const struct uk_resize *r,
                         const char *expression) {
    const int rank = n->input[0]->rank;
    char inside[320] = "";
    size_t used = 0;

    for (int d = 0; d < rank && r->crops; d++)
        if (changes(n, r, d))
            used += (size_t)snprintf(inside + used, sizeof inside - used, "%s$%c[i%d] != 0",
                                     used ? " and " : "", '0' + uk_resize_list(r, d + 1) - 1, d);
    if (used)
        uk_write(
            w, n, "$y[%s] = select(%s, %s, %s)", uk_iterators(rank), inside, expression,
            uk_number_text(uk_attribute_float(n, "extrapolation_value", 0), n->input[0]->type == UK_F32));
    else
        uk_write(w, n, "$y[%s] = %s", uk_iterators(rank), expression);
}

static void write_nearest(struct uk_writer *w, const struct uk_graph_node *n, const struct uk_resize *r) {
    const int rank = n->input[0]->rank;
    char right[256] = "$0[";
    size_t used = 3;

    for (int d = 0; d < rank; d++) {
        used += (size_t)snprintf(right + used, sizeof right - used, d ? ", " : "");
        if (changes(n, r, d))
            uk_listed_subscript(n, uk_resize_list(r, d), d, right + used, sizeof right - used);
        else
            snprintf(right + used, sizeof right - used, "i%d", d);
        used += strlen(right + used);
    }
    snprintf(right + used, sizeof right - used, "]");
    write_inside(w, n, r, right);
}

/* Writes a statement that resizes dimension d of `from` to `to`. */
static void write_dimension(struct uk_writer *w, const struct uk_graph_node *n, const struct uk_resize *r,
                            int d, const char *from, const char *to) {
    const int rank = n->input[0]->rank, list = uk_resize_list(r, d);
    char low[192], high[192];

    if (r->method == UK_LINEAR) {
        by_list(n, list, d, low, sizeof low);
        by_list(n, list + 1, d, high, sizeof high);
        uk_write(w, n, "%s[%s] = %s[%s] * (1 - $%c[i%d]) + %s[%s] * $%c[i%d]", to, uk_iterators(rank), from,
                 low, '0' + list + 2, d, from, high, '0' + list + 2, d);
        return;
    }
    const int64_t taps = uk_resize_taps(r, d);
    snprintf(high, sizeof high, "$%c[%" PRId64 "*i%d + k]", '0' + list, taps, d);
    uk_subscripts(low, sizeof low, rank, d, high);
    uk_write(w, n, "%s[%s] = sum(k where k < %" PRId64 ") %s[%s] * $%c[%" PRId64 "*i%d + k]", to,
             uk_iterators(rank), taps, from, low, '0' + list + 1, taps, d);
}

static void write_weighted(struct uk_writer *w, const struct uk_graph_node *n, const struct uk_resize *r) {
    static const char *const names[UK_RANK] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    const struct uk_graph_value *y = n->output[0];
    char from[64] = "$0", to[8];
    int64_t extent[UK_RANK];
    int left = 0;

    memcpy(extent, n->input[0]->extent, sizeof extent);
    for (int d = 0; d < y->rank; d++)
        left += changes(n, r, d);
    const bool is_apart = !left || r->crops; /* the result has a statement of its own */
    for (int d = 0; d < y->rank; d++) {
        if (!changes(n, r, d))
            continue;
        extent[d] = r->out[d];
        const bool last = --left == 0 && !is_apart;
        snprintf(to, sizeof to, last ? "$y" : "@%s", names[d]);
        if (!last)
            uk_write_temp(w, n, names[d], y->type, y->rank, extent, y->is_laid_out ? y->order : NULL);
        write_dimension(w, n, r, d, from, to);
        snprintf(from, sizeof from, "%s", to);
    }
    if (is_apart) {
        snprintf(from + strlen(from), sizeof from - strlen(from), "[%s]", uk_iterators(y->rank));
        write_inside(w, n, r, from);
    }
}

enum uk_status uk_write_resize(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    struct uk_resize r;
    enum uk_status s = resize_of(w->g, n, &r);

    (void)output;
    if (s)
        return s;
    if (r.method == UK_NEAREST)
        write_nearest(w, n, &r);
    else
        write_weighted(w, n, &r);
    return UK_OK;
}
