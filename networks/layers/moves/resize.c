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
#include "layers/layers.h"

struct resize {
    double scale[UK_RANK];
    int64_t out[UK_RANK];
    enum { NEAREST, LINEAR, WINDOW } method;
    bool cubic, antialias, excludes, crops;
    double a; /* Keys' parameter of the cubic (Cubic Convolution Interpolation, 1981) */
    double start[UK_RANK],
        end[UK_RANK]; /* the part that is resized, if it crops, as fractions: 1 is the last element */
    const char *transformation, *nearest;
};

/* ---- attributes and inputs ---- */

static enum uk_status modes_of(struct uk_graph *g, const struct uk_graph_node *n, struct resize *r) {
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
    r->method = r->cubic || (linear && r->antialias) ? WINDOW : linear ? LINEAR : NEAREST;
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
                              struct resize *r) {
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
                                int count, struct resize *r) {
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
                               const int *axis, int count, struct resize *r) {
    const char *policy = uk_attribute_string(n, "keep_aspect_ratio_policy", "stretch");
    double common = 0;

    for (int i = 0; i < count; i++) {
        const double scale = (double)size[i] / (double)n->input[0]->extent[axis[i]];
        if (size[i] < 1 || size[i] > UK_MAX_ELEMENTS || !(scale > 0) || isinf(scale))
            return uk_graph_fail(g, UK_REFUSED, n, "size %" PRId64 " of dimension %d is out of range",
                                 size[i], axis[i]);
        common = i == 0 ? scale : !strcmp(policy, "not_larger") ? fmin(common, scale) : fmax(common, scale);
    }
    for (int i = 0; i < count; i++) {
        const int d = axis[i];
        const bool stretch = !strcmp(policy, "stretch");
        const double kept = floor(common * (double)n->input[0]->extent[d] + 0.5);
        if (!stretch && kept > (double)UK_MAX_ELEMENTS)
            return uk_graph_fail(g, UK_REFUSED, n, "scale %g of dimension %d is out of range", common, d);
        r->out[d] = stretch ? size[i] : (int64_t)kept;
        r->scale[d] = stretch ? (double)size[i] / (double)n->input[0]->extent[d] : common;
    }
    return UK_OK;
}

static enum uk_status resize_of(struct uk_graph *g, const struct uk_graph_node *n, struct resize *r) {
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

/* ---- sources of elements ---- */

static double source_of(const struct resize *r, int d, int64_t in, int64_t i) {
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

static double nearest_of(const struct resize *r, double x) {
    if (!strcmp(r->nearest, "floor"))
        return floor(x);
    if (!strcmp(r->nearest, "ceil"))
        return ceil(x);
    return strcmp(r->nearest, "round_prefer_ceil") ? ceil(x - 0.5) : floor(x + 0.5);
}

/* ---- lists ---- */

static double weight_of(const struct resize *r, double distance) {
    const double x = fabs(distance);

    if (!r->cubic)
        return x < 1 ? 1 - x : 0;
    return x <= 1  ? ((r->a + 2) * x - (r->a + 3)) * x * x + 1
           : x < 2 ? r->a * (((x - 5) * x + 8) * x - 4)
                   : 0;
}

/* Elements of a window of dimension d. Antialias stretches the filter if the image becomes smaller. */
static int64_t taps_of(const struct resize *r, int d) {
    const int reach = r->cubic ? 2 : 1;

    return r->antialias && r->scale[d] < 1 ? -2 * (int64_t)floor(-reach / r->scale[d]) : 2 * reach;
}

/* Lists of a dimension that changes: source indices; if linear, also the next indices; their weights unless
 * nearest; if it crops, also whether a source is inside. */
static int lists_of(const struct resize *r) {
    return (r->method == NEAREST ? 1 : r->method == LINEAR ? 3 : 2) + r->crops;
}

static void put_weight(const struct uk_graph_value *x, void *weights, int64_t i, double weight) {
    if (x->type == UK_F64)
        ((double *)weights)[i] = weight;
    else
        ((float *)weights)[i] = (float)weight;
}

/* Fills the lists of output i of dimension d: its window's elements, at the edge repeated, and their weights,
 * whose sum is 1. x: its source. */
static void put_window(const struct uk_graph_value *v, const struct resize *r, int d, int64_t i, double x,
                       int64_t *places, void *weights) {
    const int64_t taps = taps_of(r, d), in = v->extent[d];
    const double stretch = r->antialias && r->scale[d] < 1 ? r->scale[d] : 1, base = ceil(x) - 1;
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

/* Appends the lists of dimension d. */
static enum uk_status append_lists(struct uk_graph *g, struct uk_graph_node *n, const struct resize *r,
                                   int d) {
    const struct uk_graph_value *v = n->input[0];
    const int64_t in = v->extent[d], out = r->out[d], all = r->method == WINDOW ? out * taps_of(r, d) : out;
    void *places, *others, *weights, *insides;

    if (uk_append_constant(g, n, UK_I64, all, &places) < 0 ||
        (r->method == LINEAR && uk_append_constant(g, n, UK_I64, out, &others) < 0) ||
        (r->method != NEAREST && uk_append_constant(g, n, v->type, all, &weights) < 0) ||
        (r->crops && uk_append_constant(g, n, UK_U8, out, &insides) < 0))
        return g->status;
    for (int64_t i = 0; i < out; i++) {
        const double x = source_of(r, d, in, i), most = (double)(in - 1);
        const double inside = fmin(fmax(x, 0), most), low = floor(inside);
        if (r->crops)
            ((uint8_t *)insides)[i] = x == inside;
        if (r->method == WINDOW) {
            put_window(v, r, d, i, x, places, weights);
            continue;
        }
        ((int64_t *)places)[i] =
            r->method == LINEAR ? (int64_t)low : (int64_t)fmin(fmax(nearest_of(r, x), 0), most);
        if (r->method == NEAREST)
            continue;
        ((int64_t *)others)[i] = (int64_t)fmin(low + 1, most);
        /* Beyond the end both places are the last element, and any weight is right. With open sizes it is
         * that of an inner element, so that the list is the beginning of a longer tensor's. */
        put_weight(v, weights, i, x > most && g->open_count ? x - floor(x) : inside - low);
    }
    return UK_OK;
}

static bool changes(const struct uk_graph_node *n, const struct resize *r, int d) {
    return r->out[d] != n->input[0]->extent[d] || r->scale[d] != 1 || r->start[d] != 0 || r->end[d] != 1;
}

enum uk_status uk_infer_resize(struct uk_graph *g, struct uk_graph_node *n) {
    struct resize r;
    enum uk_status s = uk_need_input(g, n, 0);

    if (!s)
        s = uk_extend_inputs(g, n, 4);
    if (!s)
        s = resize_of(g, n, &r);
    if (!s && r.method != NEAREST && n->input[0]->type != UK_F32 && n->input[0]->type != UK_F64)
        s = uk_graph_fail(g, UK_REFUSED, n, "mode=%s of type %s is not supported",
                          r.cubic ? "cubic" : "linear", uk_type_name(n->input[0]->type));
    if (s)
        return s;
    n->inputs = 4;
    for (int d = 0; d < n->input[0]->rank && !s; d++) {
        if (!n->input[0]->extent[d] && r.out[d])
            s = uk_graph_fail(g, UK_REFUSED, n, "dimension %d is empty", d);
        else if (changes(n, &r, d))
            s = append_lists(g, n, &r, d);
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
static void write_inside(struct uk_writer *w, const struct uk_graph_node *n, const struct resize *r,
                         const char *expression) {
    const int rank = n->input[0]->rank;
    char inside[320] = "";
    size_t used = 0;

    for (int d = 0, list = 4; d < rank && r->crops; d++)
        if (changes(n, r, d)) {
            list += lists_of(r);
            used += (size_t)snprintf(inside + used, sizeof inside - used, "%s$%c[i%d] != 0",
                                     used ? " and " : "", '0' + list - 1, d);
        }
    if (used)
        uk_write(
            w, n, "$y[%s] = select(%s, %s, %s)", uk_iterators(rank), inside, expression,
            uk_number_text(uk_attribute_float(n, "extrapolation_value", 0), n->input[0]->type == UK_F32));
    else
        uk_write(w, n, "$y[%s] = %s", uk_iterators(rank), expression);
}

static void write_nearest(struct uk_writer *w, const struct uk_graph_node *n, const struct resize *r) {
    const int rank = n->input[0]->rank;
    char right[256] = "$0[";
    size_t used = 3;

    for (int d = 0, list = 4; d < rank; d++) {
        used += (size_t)snprintf(right + used, sizeof right - used, d ? ", " : "");
        if (changes(n, r, d)) {
            uk_listed_subscript(n, list, d, right + used, sizeof right - used);
            list += lists_of(r);
        } else {
            snprintf(right + used, sizeof right - used, "i%d", d);
        }
        used += strlen(right + used);
    }
    snprintf(right + used, sizeof right - used, "]");
    write_inside(w, n, r, right);
}

/* Writes a statement that resizes dimension d of `from` to `to`. list: the first of its lists. */
static void write_dimension(struct uk_writer *w, const struct uk_graph_node *n, const struct resize *r, int d,
                            int list, const char *from, const char *to) {
    const int rank = n->input[0]->rank;
    char low[192], high[192];

    if (r->method == LINEAR) {
        by_list(n, list, d, low, sizeof low);
        by_list(n, list + 1, d, high, sizeof high);
        uk_write(w, n, "%s[%s] = %s[%s] * (1 - $%c[i%d]) + %s[%s] * $%c[i%d]", to, uk_iterators(rank), from,
                 low, '0' + list + 2, d, from, high, '0' + list + 2, d);
        return;
    }
    const int64_t taps = taps_of(r, d);
    snprintf(high, sizeof high, "$%c[%" PRId64 "*i%d + k]", '0' + list, taps, d);
    uk_subscripts(low, sizeof low, rank, d, high);
    uk_write(w, n, "%s[%s] = sum(k where k < %" PRId64 ") %s[%s] * $%c[%" PRId64 "*i%d + k]", to,
             uk_iterators(rank), taps, from, low, '0' + list + 1, taps, d);
}

static void write_weighted(struct uk_writer *w, const struct uk_graph_node *n, const struct resize *r) {
    static const char *const names[UK_RANK] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    const struct uk_graph_value *y = n->output[0];
    char from[64] = "$0", to[8];
    int64_t extent[UK_RANK];
    int left = 0;

    memcpy(extent, n->input[0]->extent, sizeof extent);
    for (int d = 0; d < y->rank; d++)
        left += changes(n, r, d);
    const bool is_apart = !left || r->crops; /* the result has a statement of its own */
    for (int d = 0, list = 4; d < y->rank; d++) {
        if (!changes(n, r, d))
            continue;
        extent[d] = r->out[d];
        const bool last = --left == 0 && !is_apart;
        snprintf(to, sizeof to, last ? "$y" : "@%s", names[d]);
        if (!last)
            uk_write_temp(w, n, names[d], y->type, y->rank, extent, y->is_laid_out ? y->order : NULL);
        write_dimension(w, n, r, d, list, from, to);
        snprintf(from, sizeof from, "%s", to);
        list += lists_of(r);
    }
    if (is_apart) {
        snprintf(from + strlen(from), sizeof from - strlen(from), "[%s]", uk_iterators(y->rank));
        write_inside(w, n, r, from);
    }
}

enum uk_status uk_write_resize(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    struct resize r;
    enum uk_status s = resize_of(w->g, n, &r);

    (void)output;
    if (s)
        return s;
    if (r.method == NEAREST)
        write_nearest(w, n, &r);
    else
        write_weighted(w, n, &r);
    return UK_OK;
}
