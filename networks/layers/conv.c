/* SPDX-License-Identifier: Apache-2.0 */
/* Conv and ConvTranspose in one to three dimensions, with groups, dilation and padding. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "layers/window.h"

/* Lays the filter [O, C / groups, R, S] out as [R, S, C / groups, O]: kernels read consecutive output
 * channels. */
void uk_lay_out_conv(struct uk_graph_node *n) {
    struct uk_graph_value *filter = n->input[1];
    const int rank = filter->rank;

    if (!filter->data || filter->is_laid_out)
        return;
    for (int d = 0; d < rank - 2; d++)
        filter->order[d] = d + 2;
    filter->order[rank - 2] = 1;
    filter->order[rank - 1] = 0;
    filter->is_laid_out = true;
}

/* Sets the result's shape; refuses a bias that does not have `channels` elements. */
static enum uk_status set_result(struct uk_graph *g, struct uk_graph_node *n, int64_t channels,
                                 const int64_t *extents) {
    const struct uk_graph_value *x = n->input[0], *bias = uk_node_input(n, 2);
    int64_t extent[UK_RANK] = {x->extent[0], channels};

    memcpy(extent + 2, extents, (size_t)(x->rank - 2) * sizeof *extent);
    if (bias && (uk_need_input(g, n, 2) || bias->rank != 1 || bias->extent[0] != channels))
        return uk_graph_fail(g, UK_REFUSED, n, "the bias has shape %s, but there are %" PRId64 " channels",
                             uk_value_shape(bias), channels);
    return uk_set_output(g, n, 0, x->type, x->rank, extent);
}

static enum uk_status refuse_window(struct uk_graph *g, const struct uk_graph_node *n) {
    return uk_graph_fail(g, UK_REFUSED, n, "filter %s does not fit input %s in %" PRId64 " groups",
                         uk_value_shape(n->input[1]), uk_value_shape(n->input[0]),
                         uk_attribute_int(n, "group", 1));
}

enum uk_status uk_infer_conv(struct uk_graph *g, struct uk_graph_node *n) {
    const int64_t groups = uk_attribute_int(n, "group", 1);
    struct uk_window w;
    enum uk_status s = uk_need_input(g, n, 0);

    if (!s)
        s = uk_need_input(g, n, 1);
    if (s)
        return s;
    const struct uk_graph_value *x = n->input[0], *f = n->input[1];
    if (f->rank != x->rank || groups < 1 || x->rank < 3 || x->extent[1] % groups ||
        f->extent[1] != x->extent[1] / groups || f->extent[0] % groups)
        return refuse_window(g, n);
    s = uk_window_of(g, n, f->extent + 2, &w);
    return s ? s : set_result(g, n, f->extent[0], w.out);
}

/* Writes the subscript of the input's channel for output channel i1 and the c-th channel of its group;
 * without c if the group has only one. */
static void channel_subscript(const struct uk_graph_node *n, const struct uk_graph_value *f, char *text,
                              size_t room) {
    const int64_t groups = uk_attribute_int(n, "group", 1), in = f->extent[1], out = f->extent[0] / groups;

    if (groups == 1)
        snprintf(text, room, in == 1 ? "0" : "c");
    else if (in == 1)
        snprintf(text, room, out == 1 ? "i1" : "i1 / %" PRId64, out);
    else
        snprintf(text, room, "%" PRId64 "*(i1 / %" PRId64 ") + c", in, out);
}

enum uk_status uk_write_conv_sum(struct uk_writer *w, const struct uk_graph_node *n, int filter,
                                 const struct uk_conv_form *form) {
    const struct uk_graph_value *f = n->input[filter];
    const bool one = f->extent[1] == 1;
    struct uk_window window;
    char channel[64], input[320], weight[128], over[64] = "";
    enum uk_status s = uk_window_of(w->g, n, f->extent + 2, &window);

    if (s)
        return s;
    const char *r = uk_window_iterators(&window), *open = *form->cast ? "(" : "",
               *close = *form->cast ? ")" : "";
    channel_subscript(n, f, channel, sizeof channel);
    snprintf(input, sizeof input, uk_window_pads(&window) ? "pad($0[i0, %s%s], %s)" : "$0[i0, %s%s]", channel,
             uk_window_subscripts(&window), form->pad_value);
    snprintf(weight, sizeof weight, "$%c[i1, %s%s]", '0' + filter, one ? "0" : "c",
             uk_window_filter(&window));
    if (!one || *r)
        snprintf(over, sizeof over, "sum(%s%s%s) ", r, !one && *r ? ", " : "", one ? "" : "c");
    uk_write(w, n, "%s[%s] = %s%s%s%s%s * (%s%s%s%s%s)", form->to, uk_iterators(f->rank), over, form->cast,
             open, input, close, form->cast, open, weight, close, form->filter_suffix);
    return UK_OK;
}

enum uk_status uk_write_conv(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const bool has_bias = uk_node_input(n, 2);

    (void)output;
    if (has_bias)
        uk_write_temp_like(w, n, "t", n->output[0]->type);
    enum uk_status s = uk_write_conv_sum(
        w, n, 1,
        &(struct uk_conv_form){
            .to = has_bias ? "@t" : "$y", .cast = "", .pad_value = "0", .filter_suffix = ""});
    if (!s && has_bias)
        uk_write_result(w, n, "@t[%s] + $2[i1]", uk_iterators(n->output[0]->rank));
    return s;
}

/* ---- ConvTranspose ---- */

/* Reads the window of the convolution whose gradient this operator is: that convolution's outputs are this
 * one's inputs. */
static enum uk_status transposed_window(struct uk_graph *g, const struct uk_graph_node *n,
                                        struct uk_window *w) {
    const struct uk_graph_value *x = n->input[0], *f = n->input[1];
    const char *automatic = uk_attribute_string(n, "auto_pad", "NOTSET");
    int64_t more[UK_WINDOW_DIMENSIONS], shape[UK_MAX_LISTED_INTS];
    int shapes = -1;
    enum uk_status s = uk_window_attributes(g, n, f->extent + 2, w);

    if (!s)
        s = uk_window_numbers(g, n, "output_padding", w->dimensions, 0, 0, more);
    if (!s)
        s = uk_need_ints(g, n, "output_shape", -1, shape, &shapes);
    if (!s && shapes >= 0 && shapes != w->dimensions && shapes != x->rank)
        s = uk_graph_fail(g, UK_REFUSED, n, "output_shape has %d numbers, but the image has %d dimensions",
                          shapes, w->dimensions);
    for (int i = 0; i < shapes && !s; i++)
        if (shape[i] < 0 || shape[i] > UK_MAX_IMAGE_EXTENT)
            s = uk_graph_fail(g, UK_REFUSED, n, "output_shape: %" PRId64 " is out of range", shape[i]);
    for (int d = 0; d < w->dimensions && !s; d++) {
        const int64_t full =
            w->stride[d] * (x->extent[d + 2] - 1) + (w->kernel[d] - 1) * w->dilation[d] + 1 + more[d];
        int64_t out = full - w->before[d] - w->after[d];
        if (shapes >= 0 || !strncmp(automatic, "SAME", 4)) {
            out = shapes >= 0 ? shape[shapes - w->dimensions + d] : x->extent[d + 2] * w->stride[d];
            const int64_t total = full - out > 0 ? full - out : 0;
            /* The odd element comes off the beginning, unless SAME_UPPER says the end. */
            w->before[d] = strcmp(automatic, "SAME_UPPER") ? total - total / 2 : total / 2;
        }
        w->out[d] = x->extent[d + 2];
        w->in[d] = out;
    }
    return s;
}

/* True if the windows of all elements are squares that do not overlap and fill the result. */
static bool has_square_tiles(const struct uk_window *w) {
    bool has = w->dimensions == 2 && w->stride[0] == w->stride[1] && w->stride[0] > 1;

    for (int d = 0; d < w->dimensions && has; d++)
        has = w->kernel[d] == w->stride[d] && w->dilation[d] == 1 && !w->before[d] &&
              w->in[d] == w->out[d] * w->stride[d];
    return has;
}

/* A constant filter whose windows do not overlap: a product per pixel, whose blocks of results become pixels.
 * The node stays if it is of another kind. */
enum uk_status uk_expand_conv_transpose(struct uk_graph *g, struct uk_graph_node *n,
                                        struct uk_graph_node **first) {
    struct uk_expansion e = uk_expansion_begin(g, n, first);
    struct uk_graph_value *x = uk_node_input(n, 0), *f = uk_node_input(n, 1), *bias = uk_node_input(n, 2);
    struct uk_window w;

    if (!x || !f || !f->data || x->rank != 4 || f->rank != 4 || uk_attribute_int(n, "group", 1) != 1 ||
        f->extent[0] != x->extent[1] || (bias && !bias->data))
        return UK_OK;
    const enum uk_status s = transposed_window(g, n, &w);
    if (s || !has_square_tiles(&w))
        return s;
    const int64_t block = w.stride[0], channels = f->extent[1], perm[] = {2, 3, 1, 0},
                  filters[] = {block * block * channels, f->extent[0], 1, 1},
                  biases[] = {block * block, channels};
    f = uk_expand_reshape(&e, NULL, uk_expand_transpose(&e, NULL, f, 4, perm), 4, filters);
    if (bias) {
        bias = uk_expand_to(&e, NULL, "Expand", 2, bias, uk_expand_ints(&e, 2, biases));
        bias = uk_expand_reshape(&e, NULL, bias, 1, filters);
    }
    x = uk_expand_to(&e, NULL, "Conv", 3, x, f, bias);
    uk_expand_to(&e, n->output[0], "DepthToSpace", 1, x);
    uk_expand_int(&e, "blocksize", block);
    return uk_expansion_end(&e);
}

enum uk_status uk_infer_conv_transpose(struct uk_graph *g, struct uk_graph_node *n) {
    const int64_t groups = uk_attribute_int(n, "group", 1);
    int64_t channels;
    struct uk_window w;
    enum uk_status s = uk_need_input(g, n, 0);

    if (!s)
        s = uk_need_input(g, n, 1);
    if (s)
        return s;
    const struct uk_graph_value *x = n->input[0], *f = n->input[1];
    if (x->rank < 3 || x->rank > 5 || f->rank != x->rank || groups < 1 || f->extent[0] != x->extent[1] ||
        f->extent[0] % groups)
        return refuse_window(g, n);
    if ((s = transposed_window(g, n, &w)))
        return s;
    if (__builtin_mul_overflow(f->extent[1], groups, &channels))
        return uk_graph_fail(g, UK_REFUSED, n, "%" PRId64 " groups", groups);
    return set_result(g, n, channels, w.in);
}

/* Element p of the result sums the inputs q with stride * q + dilation * r - before = p. */
enum uk_status uk_write_conv_transpose(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const struct uk_graph_value *f = n->input[1];
    const int64_t groups = uk_attribute_int(n, "group", 1), in = f->extent[0] / groups, out = f->extent[1];
    char where[512], subscripts[512] = "", channel[64] = "c", over[64] = "", column[48] = "";
    size_t used, put = 0, listed = 0;
    struct uk_window p;
    enum uk_status s = transposed_window(w->g, n, &p);

    (void)output;
    if (s)
        return s;
    used = (size_t)snprintf(where, sizeof where, "c < %" PRId64, in);
    for (int d = 0; d < p.dimensions; d++) {
        char at[96];
        snprintf(at, sizeof at, "i%d + %" PRId64 " - %" PRId64 "*r%d", d + 2, p.before[d], p.dilation[d], d);
        if (p.stride[d] > 1)
            used += (size_t)snprintf(where + used, sizeof where - used, " and (%s) %% %" PRId64 " == 0", at,
                                     p.stride[d]);
        put += (size_t)snprintf(subscripts + put, sizeof subscripts - put,
                                p.stride[d] > 1 ? ", (%s) / %" PRId64 : ", %s", at, p.stride[d]);
        listed += (size_t)snprintf(over + listed, sizeof over - listed, "r%d, ", d);
    }
    if (groups > 1)
        snprintf(channel, sizeof channel, "%" PRId64 "*(i1 / %" PRId64 ") + c", in, out);
    if (groups > 1)
        snprintf(column, sizeof column, " %% %" PRId64, out);
    uk_write_temp_like(w, n, "t", n->output[0]->type);
    uk_write(w, n, "@t[%s] = sum(%sc where %s) pad($0[i0, %s%s], 0) * $1[%s, i1%s%s]", uk_iterators(f->rank),
             over, where, channel, subscripts, channel, column,
             p.dimensions == 1   ? ", r0"
             : p.dimensions == 2 ? ", r0, r1"
                                 : ", r0, r1, r2");
    if (uk_node_input(n, 2))
        uk_write_result(w, n, "@t[%s] + $2[i1]", uk_iterators(f->rank));
    else
        uk_write_result(w, n, "@t[%s]", uk_iterators(f->rank));
    return UK_OK;
}

/* Lays the filter [C, O / groups, R, S] out as [R, S, C, O / groups]. */
void uk_lay_out_conv_transpose(struct uk_graph_node *n) {
    struct uk_graph_value *filter = n->input[1];

    if (!filter->data || filter->is_laid_out)
        return;
    for (int d = 0; d < filter->rank; d++)
        filter->order[d] = (d + 2) % filter->rank;
    filter->is_laid_out = true;
}
