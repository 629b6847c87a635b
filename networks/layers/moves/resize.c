/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resize and Upsample, nearest and linear, one dimension after the other. Source elements and their weights
 * are known at compile time: lists for each dimension that changes are appended to the node's inputs.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "layers/layers.h"

struct resize {
    double scale[UK_RANK];
    int64_t out[UK_RANK];
    bool linear, crops;
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
    bool is_known = false;

    r->linear = !strcmp(mode, "linear") || !strcmp(mode, "bilinear");
    r->transformation =
        uk_attribute_string(n, "coordinate_transformation_mode", old ? "asymmetric" : "half_pixel");
    r->nearest = uk_attribute_string(n, "nearest_mode", old ? "floor" : "round_prefer_floor");
    r->crops = !strcmp(r->transformation, "tf_crop_and_resize");
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        is_known |= !strcmp(r->transformation, known[i]);
    if ((!r->linear && strcmp(mode, "nearest")) || uk_attribute_int(n, "antialias", 0))
        return uk_graph_fail(g, UK_REFUSED, n, "mode=%s%s is not supported; nearest and linear are", mode,
                             uk_attribute_int(n, "antialias", 0) ? " with antialias" : "");
    if (!is_known || (r->crops && !r->linear))
        return uk_graph_fail(g, UK_REFUSED, n, "coordinate_transformation_mode=%s%s is not supported",
                             r->transformation, is_known ? " with mode=nearest" : "");
    return UK_OK;
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

/* Appends the lists of dimension d: source indices; if linear, also the next indices and their weights; if it
 * crops, also whether a source is inside. */
static enum uk_status append_lists(struct uk_graph *g, struct uk_graph_node *n, const struct resize *r,
                                   int d) {
    const int64_t in = n->input[0]->extent[d], out = r->out[d];
    void *places, *others, *weights, *insides;

    if (uk_append_constant(g, n, UK_I64, out, &places) < 0 ||
        (r->linear && (uk_append_constant(g, n, UK_I64, out, &others) < 0 ||
                       uk_append_constant(g, n, UK_F32, out, &weights) < 0)) ||
        (r->crops && uk_append_constant(g, n, UK_U8, out, &insides) < 0))
        return g->status;
    for (int64_t i = 0; i < out; i++) {
        const double x = source_of(r, d, in, i), most = (double)(in - 1);
        if (!r->linear) {
            ((int64_t *)places)[i] = (int64_t)fmin(fmax(nearest_of(r, x), 0), most);
            continue;
        }
        const double inside = fmin(fmax(x, 0), most), low = floor(inside);
        ((int64_t *)places)[i] = (int64_t)low;
        ((int64_t *)others)[i] = (int64_t)fmin(low + 1, most);
        /* Beyond the end both places are the last element, and any weight is right. With open sizes it is
         * that of an inner element, so that the list is the beginning of a longer tensor's. */
        ((float *)weights)[i] = (float)(x > most && g->open_count ? x - floor(x) : inside - low);
        if (r->crops)
            ((uint8_t *)insides)[i] = x == inside;
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
    if (!s && r.linear && n->input[0]->type != UK_F32)
        s = uk_graph_fail(g, UK_REFUSED, n, "mode=linear of type %s is not supported",
                          uk_type_name(n->input[0]->type));
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
    size_t used = 0;

    for (int k = 0; k < n->input[0]->rank; k++) {
        used += (size_t)snprintf(text + used, room - used, k ? ", " : "");
        if (k == d)
            uk_listed_subscript(n, list, d, text + used, room - used);
        else
            snprintf(text + used, room - used, "i%d", k);
        used += strlen(text + used);
    }
}

static void write_nearest(struct uk_writer *w, const struct uk_graph_node *n, const struct resize *r) {
    const int rank = n->input[0]->rank;
    char right[256] = "";
    size_t used = 0;

    for (int d = 0, list = 4; d < rank; d++) {
        used += (size_t)snprintf(right + used, sizeof right - used, d ? ", " : "");
        if (changes(n, r, d))
            uk_listed_subscript(n, list++, d, right + used, sizeof right - used);
        else
            snprintf(right + used, sizeof right - used, "i%d", d);
        used += strlen(right + used);
    }
    uk_write(w, n, "$y[%s] = $0[%s]", uk_iterators(rank), right);
}

static void write_linear(struct uk_writer *w, const struct uk_graph_node *n, const struct resize *r) {
    static const char *const names[UK_RANK] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    const int rank = n->input[0]->rank;
    const char *from = "$0";
    char text[8], low[192], high[192], before[32] = "", behind[48] = "";
    int64_t extent[UK_RANK];
    int left = 0;

    memcpy(extent, n->input[0]->extent, sizeof extent);
    for (int d = 0; d < rank; d++)
        left += changes(n, r, d);
    if (!left)
        uk_write(w, n, "$y[%s] = $0[%s]", uk_iterators(rank), uk_iterators(rank));
    for (int d = 0, list = 4; d < rank; d++) {
        if (!changes(n, r, d))
            continue;
        extent[d] = r->out[d];
        const bool last = --left == 0;
        if (!last)
            uk_write_temp(w, n, names[d], UK_F32, rank, extent,
                          n->output[0]->is_laid_out ? n->output[0]->order : NULL);
        by_list(n, list, d, low, sizeof low);
        by_list(n, list + 1, d, high, sizeof high);
        if (r->crops) { /* the extrapolation value is the same in each dimension, and so is a mean of it */
            snprintf(before, sizeof before, "select($%c[i%d] != 0, ", '0' + list + 3, d);
            snprintf(behind, sizeof behind, ", %s)",
                     uk_number_text(uk_attribute_float(n, "extrapolation_value", 0), true));
        }
        uk_write(w, n, "%s%s[%s] = %s%s[%s] * (1 - $%c[i%d]) + %s[%s] * $%c[i%d]%s", last ? "$y" : "@",
                 last ? "" : names[d], uk_iterators(rank), before, from, low, '0' + list + 2, d, from, high,
                 '0' + list + 2, d, behind);
        snprintf(text, sizeof text, "@%s", names[d]);
        from = text;
        list += r->crops ? 4 : 3;
    }
}

enum uk_status uk_write_resize(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    struct resize r;
    enum uk_status s = resize_of(w->g, n, &r);

    (void)output;
    if (s)
        return s;
    if (r.linear)
        write_linear(w, n, &r);
    else
        write_nearest(w, n, &r);
    return UK_OK;
}
