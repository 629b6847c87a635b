/* SPDX-License-Identifier: Apache-2.0 */
/* DeformConv: a convolution whose windows read the image at places that a tensor moves. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "layers/window.h"

enum { FILTER = 1, OFFSETS = 2, BIAS = 3, FACTORS = 4, TEXT = 192 };

static enum uk_status refuse(struct uk_graph *g, const struct uk_graph_node *n) {
    return uk_graph_fail(g, UK_REFUSED, n,
                         "a filter of shape %s with offsets of shape %s, group=%" PRId64
                         ", offset_group=%" PRId64 " does not fit an image of shape %s",
                         uk_value_shape(n->input[FILTER]), uk_value_shape(n->input[OFFSETS]),
                         uk_attribute_int(n, "group", 1), uk_attribute_int(n, "offset_group", 1),
                         uk_value_shape(n->input[0]));
}

/* True if the value has `channels` channels of the window's outputs. */
static bool has_shape(const struct uk_graph_node *n, const struct uk_graph_value *v, int64_t channels,
                      const struct uk_window *p) {
    return v->has_shape && v->rank == 4 && v->type == n->input[0]->type &&
           v->extent[0] == n->input[0]->extent[0] && v->extent[1] == channels && v->extent[2] == p->out[0] &&
           v->extent[3] == p->out[1];
}

enum uk_status uk_infer_deform_conv(struct uk_graph *g, struct uk_graph_node *n) {
    const int64_t group = uk_attribute_int(n, "group", 1), groups = uk_attribute_int(n, "offset_group", 1);
    struct uk_window p;
    enum uk_status s = uk_need_inputs(g, n, 3);

    if (s)
        return s;
    const struct uk_graph_value *x = n->input[0], *f = n->input[FILTER], *bias = uk_node_input(n, BIAS),
                                *factors = uk_node_input(n, FACTORS);
    if (x->rank != 4 || !uk_is_real(x->type) || f->rank != 4 || f->type != x->type || group < 1 ||
        groups < 1 || x->extent[1] % group || x->extent[1] % groups || f->extent[0] % group ||
        f->extent[1] != x->extent[1] / group || x->extent[2] < 1 || x->extent[3] < 1)
        return refuse(g, n);
    if ((s = uk_window_of(g, n, f->extent + 2, &p)))
        return s;
    const int64_t each = groups * p.kernel[0] * p.kernel[1];
    if (!has_shape(n, n->input[OFFSETS], 2 * each, &p) || (factors && !has_shape(n, factors, each, &p)) ||
        (bias &&
         (!bias->has_shape || bias->rank != 1 || bias->type != x->type || bias->extent[0] != f->extent[0])))
        return refuse(g, n);
    const int64_t extent[] = {x->extent[0], f->extent[0], p.out[0], p.out[1]};
    return uk_set_output(g, n, 0, x->type, 4, extent);
}

/* Writes the temps @i<d>, @m<d> and @w<d> of dimension d + 2 of the image, for each group of channels and
 * element of the filter: the subscripts of the two elements next to the place, whether the image has them,
 * and their weights. */
static void write_places(struct uk_writer *w, const struct uk_graph_node *n, const struct uk_window *p,
                         int d) {
    static const char *const names[][2] = {{"x0", "x1"}, {"i0", "i1"}, {"m0", "m1"}, {"w0", "w1"}};
    const enum uk_type type = n->input[0]->type, types[] = {type, UK_I64, UK_U8, type};
    const int64_t extent[] = {n->input[0]->extent[0],
                              uk_attribute_int(n, "offset_group", 1),
                              p->kernel[0],
                              p->kernel[1],
                              p->out[0],
                              p->out[1],
                              2};
    char at[TEXT];

    for (int i = 0; i < 4; i++)
        uk_write_temp(w, n, names[i][d], types[i], i ? 7 : 6, extent, NULL);
    uk_write(w, n,
             "@x%d[n, g, r, s, p, q] = %s(index(%" PRId64 "*%c + %" PRId64 "*%c - %" PRId64
             ")) + $2[n, %" PRId64 "*g + %" PRId64 "*r + 2*s + %d, p, q]",
             d, uk_type_name(type), p->stride[d], "pq"[d], p -> dilation[d], "rs"[d], p -> before[d],
             2 * p -> kernel[0] * p -> kernel[1], 2 * p -> kernel[1], d);
    snprintf(at, sizeof at, "(i64(floor(@x%d[n, g, r, s, p, q])) + index(k))", d);
    uk_write(w, n, "@i%d[n, g, r, s, p, q, k] = min(%" PRId64 ", max(0, %s))", d, p->in[d] - 1, at);
    uk_write(w, n, "@m%1$d[n, g, r, s, p, q, k] = select(%2$s == @i%1$d[n, g, r, s, p, q, k], u8(1), u8(0))",
             d, at);
    uk_write(
        w, n,
        "@w%1$d[n, g, r, s, p, q, k] = 1 - abs(@x%1$d[n, g, r, s, p, q] - floor(@x%1$d[n, g, r, s, p, q]) - "
        "%2$s(index(k)))",
        d, uk_type_name(type));
}

/* Interpolated elements for each element of the filter, then a sum of products. */
enum uk_status uk_write_deform_conv(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const struct uk_graph_value *x = n->input[0], *f = n->input[FILTER];
    const int64_t group = uk_attribute_int(n, "group", 1), groups = uk_attribute_int(n, "offset_group", 1);
    char at[TEXT], factor[TEXT] = "", channel[TEXT] = "c";
    struct uk_window p;
    enum uk_status s = uk_window_of(w->g, n, f->extent + 2, &p);

    (void)output;
    if (s)
        return s;
    const int64_t extent[] = {x->extent[0], x->extent[1], p.kernel[0], p.kernel[1], p.out[0], p.out[1]};
    write_places(w, n, &p, 0);
    write_places(w, n, &p, 1);
    uk_write_temp(w, n, "image", x->type, 6, extent, NULL);
    snprintf(at, sizeof at, "n, c / %" PRId64 ", r, s, p, q", x->extent[1] / groups);
    if (uk_node_input(n, FACTORS))
        snprintf(factor, sizeof factor, " * $4[n, %" PRId64 "*(c / %" PRId64 ") + %" PRId64 "*r + s, p, q]",
                 p.kernel[0] * p.kernel[1], x->extent[1] / groups, p.kernel[1]);
    uk_write(w, n,
             "@image[n, c, r, s, p, q] = sum(k, l) select(@m0[%1$s, k] != 0 and @m1[%1$s, l] != 0, $0[n, c, "
             "@i0[%1$s, k], @i1[%1$s, l]], 0) * @w0[%1$s, k] * @w1[%1$s, l]%2$s",
             at, factor);
    if (group > 1)
        snprintf(channel, sizeof channel, "%" PRId64 "*(i1 / %" PRId64 ") + c", f->extent[1],
                 f->extent[0] / group);
    if (uk_node_input(n, BIAS))
        uk_write_temp_like(w, n, "t", x->type);
    uk_write(w, n, "%s[i0, i1, i2, i3] = sum(c, r, s) @image[i0, %s, r, s, i2, i3] * $1[i1, c, r, s]",
             uk_node_input(n, BIAS) ? "@t" : "$y", channel);
    if (uk_node_input(n, BIAS))
        uk_write_result(w, n, "@t[i0, i1, i2, i3] + $3[i1]");
    return UK_OK;
}
