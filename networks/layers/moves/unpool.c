/* SPDX-License-Identifier: Apache-2.0 */
/* MaxUnpool and Col2Im: images from the maxima, and from the blocks, that windows over them gave. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "layers/window.h"

/* ---- MaxUnpool: elements written at places in the image that MaxPool read, 0 elsewhere ---- */

/* Reads the image's shape, to which places refer. It begins at the first element of the result, whose shape
 * may be larger. */
static enum uk_status image_of(struct uk_graph *g, const struct uk_graph_node *n, int64_t *extent) {
    const struct uk_graph_value *x = n->input[0];
    int64_t kernel[UK_WINDOW_DIMENSIONS], stride[UK_WINDOW_DIMENSIONS], pads[2 * UK_WINDOW_DIMENSIONS];
    const int dimensions = x->rank - 2;

    if (dimensions < 1 || dimensions > UK_WINDOW_DIMENSIONS)
        return uk_graph_fail(g, UK_REFUSED, n,
                             "its input of shape %s has %d dimensions; 3 to 5 are supported",
                             uk_value_shape(x), x->rank);
    enum uk_status s = uk_window_numbers(g, n, "kernel_shape", dimensions, 1, 0, kernel);
    if (!s)
        s = uk_window_numbers(g, n, "strides", dimensions, 1, 1, stride);
    if (!s)
        s = uk_window_numbers(g, n, "pads", 2 * dimensions, 0, 0, pads);
    memcpy(extent, x->extent, 2 * sizeof *extent);
    for (int d = 0; d < dimensions && !s; d++) {
        extent[d + 2] = (x->extent[d + 2] - 1) * stride[d] + kernel[d] - pads[d] - pads[dimensions + d];
        if (x->extent[d + 2] > UK_MAX_IMAGE_EXTENT || extent[d + 2] < 0)
            s = uk_graph_fail(g, UK_REFUSED, n, "dimension %d of its input of shape %s does not fit the pads",
                              d + 2, uk_value_shape(x));
    }
    return s;
}

enum uk_status uk_infer_max_unpool(struct uk_graph *g, struct uk_graph_node *n) {
    int64_t image[UK_RANK], shape[UK_MAX_LISTED_INTS];
    int count = -1;
    enum uk_status s = uk_need_input(g, n, 0);

    if (!s)
        s = uk_need_input(g, n, 1);
    if (s)
        return s;
    const struct uk_graph_value *x = n->input[0], *at = n->input[1];
    if (!uk_attribute_find(n, "kernel_shape"))
        return uk_graph_fail(g, UK_REFUSED, n, "kernel_shape is missing");
    if (at->type != UK_I64 || !uk_same_extents(g, at, x))
        return uk_graph_fail(g, UK_REFUSED, n,
                             "places of type %s and shape %s do not fit elements of shape %s",
                             uk_type_name(at->type), uk_value_shape(at), uk_value_shape(x));
    s = image_of(g, n, image);
    if (!s)
        s = uk_need_ints(g, n, NULL, 2, shape, &count);
    bool fits = count < 0 || count == x->rank;
    for (int d = 0; d < count && fits; d++)
        fits = d < 2 ? shape[d] == image[d] : shape[d] >= image[d];
    if (!s && !fits)
        s = uk_graph_fail(g, UK_REFUSED, n, "output_shape does not contain the image of dimensions 2 to %d",
                          x->rank - 1);
    return s ? s : uk_set_output(g, n, 0, x->type, x->rank, count < 0 ? image : shape);
}

/* Writes the temps @p0, @p1, ...: the subscripts in the image of the place of each element. A place outside
 * of the image has a subscript outside. */
static void write_places(struct uk_writer *w, const struct uk_graph_node *n, const int64_t *image) {
    static const char *const name[UK_RANK] = {"p0", "p1", "p2", "p3", "p4"};
    const struct uk_graph_value *x = n->input[0];
    const char *all = uk_iterators(x->rank);
    int64_t step = 1;

    for (int d = x->rank - 1; d >= 0; d--) {
        const int64_t row = step * image[d];
        uk_write_temp(w, n, name[d], UK_I64, x->rank, x->extent, NULL);
        if (!d)
            uk_write(w, n, "@%s[%s] = $1[%s] / %" PRId64, name[d], all, all, step);
        else
            uk_write(w, n, "@%1$s[%2$s] = ($1[%2$s] - $1[%2$s] / %3$" PRId64 " * %3$" PRId64 ") / %4$" PRId64,
                     name[d], all, row, step);
        step = row;
    }
}

enum uk_status uk_write_max_unpool(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const struct uk_graph_value *x = n->input[0], *y = n->output[0];
    const char *all = uk_iterators(x->rank);
    char part[256] = "i0, i1", place[256] = "", where[256] = "";
    int64_t image[UK_RANK], total = 1;
    size_t parted = 6, put = 0, ranged = 0;
    enum uk_status s = image_of(w->g, n, image);

    (void)output;
    if (s)
        return s;
    for (int d = 0; d < x->rank; d++) {
        total *= image[d];
        put += (size_t)snprintf(place + put, sizeof place - put, "%s@p%d[%s]", d ? ", " : "", d, all);
        ranged += (size_t)snprintf(where + ranged, sizeof where - ranged, "%si%d < %" PRId64,
                                   d ? " and " : "", d, image[d]);
        if (d >= 2)
            parted += (size_t)snprintf(part + parted, sizeof part - parted,
                                       y->extent[d] == image[d] ? ", i%d" : ", i%d + 0", d);
    }
    if (!total || total != uk_value_elements(y))
        uk_write(w, n, "$y[%s] = 0", all);
    if (!total)
        return UK_OK;
    write_places(w, n, image);
    uk_write_temp(w, n, "image", x->type, x->rank, image, NULL);
    uk_write(w, n, "@image[%s] = 0", all);
    uk_write(w, n, "scatter: @image[%s] = $0[%s]", place, all);
    uk_write(w, n, "unpooled: $y[%s] = @image[%s] where %s", part, all, where);
    return UK_OK;
}

/* ---- Col2Im: the sum of blocks, which overlap, at their places in an image ---- */

/* Reads the window over the result that blocks are of: its outputs are the blocks. */
static enum uk_status blocks_of(struct uk_graph *g, const struct uk_graph_node *n, struct uk_window *p) {
    int64_t image[UK_MAX_LISTED_INTS], block[UK_MAX_LISTED_INTS], pads[2 * UK_WINDOW_DIMENSIONS];
    int dimensions, blocks = 0;
    enum uk_status s = uk_need_ints(g, n, NULL, 1, image, &dimensions);

    if (!s)
        s = uk_need_ints(g, n, NULL, 2, block, &blocks);
    if (s)
        return s;
    if (dimensions < 1 || dimensions > UK_WINDOW_DIMENSIONS || blocks != dimensions)
        return uk_graph_fail(g, UK_REFUSED, n,
                             "an image of %d dimensions with blocks of %d is not supported; 1 to 3 are",
                             dimensions, blocks);
    *p = (struct uk_window){.dimensions = dimensions};
    s = uk_window_numbers(g, n, "strides", dimensions, 1, 1, p->stride);
    if (!s)
        s = uk_window_numbers(g, n, "dilations", dimensions, 1, 1, p->dilation);
    if (!s)
        s = uk_window_numbers(g, n, "pads", 2 * dimensions, 0, 0, pads);
    for (int d = 0; d < dimensions && !s; d++) {
        p->in[d] = image[d];
        p->kernel[d] = block[d];
        p->before[d] = pads[d];
        p->after[d] = pads[dimensions + d];
        if (image[d] < 0 || image[d] > UK_MAX_IMAGE_EXTENT || block[d] < 1 || block[d] > UK_MAX_IMAGE_EXTENT)
            s = uk_graph_fail(g, UK_REFUSED, n, "blocks of %" PRId64 " in a dimension of %" PRId64, block[d],
                              image[d]);
        const int64_t room = image[d] + pads[d] + pads[dimensions + d] - (block[d] - 1) * p->dilation[d] - 1;
        p->out[d] = room < 0 ? 0 : room / p->stride[d] + 1;
    }
    return s;
}

enum uk_status uk_infer_col2im(struct uk_graph *g, struct uk_graph_node *n) {
    double elements = 1, blocks = 1;
    int64_t extent[UK_RANK];
    struct uk_window p;
    enum uk_status s = uk_need_inputs(g, n, 3);

    if (!s)
        s = blocks_of(g, n, &p);
    if (s)
        return s;
    const struct uk_graph_value *x = n->input[0];
    for (int d = 0; d < p.dimensions; d++) {
        elements *= (double)p.kernel[d];
        blocks *= (double)p.out[d];
        extent[d + 2] = p.in[d];
    }
    if (x->rank != 3 || elements > (double)UK_MAX_ELEMENTS || x->extent[1] % (int64_t)elements ||
        (double)x->extent[2] != blocks)
        return uk_graph_fail(
            g, UK_REFUSED, n,
            "its input of shape %s is not [N, channels * %.0f, %.0f], the elements of a block "
            "and the number of blocks",
            uk_value_shape(x), elements, blocks);
    extent[0] = x->extent[0];
    extent[1] = x->extent[1] / (int64_t)elements;
    return uk_set_output(g, n, 0, x->type, p.dimensions + 2, extent);
}

/* Element i of the image is element r of block b where stride * b + dilation * r - before = i. */
enum uk_status uk_write_col2im(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    char over[32] = "", where[640] = "", row[256] = "i1", column[640] = "0";
    size_t listed = 0, ranged = 0;
    struct uk_window p;
    enum uk_status s = blocks_of(w->g, n, &p);

    (void)output;
    for (int d = 0; d < p.dimensions && !s; d++) {
        char at[96], inner[640];
        snprintf(at, sizeof at, "i%d + %" PRId64 " - %" PRId64 "*r%d", d + 2, p.before[d], p.dilation[d], d);
        listed += (size_t)snprintf(over + listed, sizeof over - listed, "%sr%d", d ? ", " : "", d);
        ranged += (size_t)snprintf(
            where + ranged, sizeof where - ranged,
            "%sr%d < %" PRId64 " and 0 <= %s and %s < %" PRId64 " and (%s) %% %" PRId64 " == 0",
            d ? " and " : "", d, p.kernel[d], at, at, p.out[d] * p.stride[d], at, p.stride[d]);
        snprintf(inner, sizeof inner, "%s", row);
        snprintf(row, sizeof row, "%" PRId64 "*(%.200s) + r%d", p.kernel[d], inner, d);
        snprintf(inner, sizeof inner, "%s", column);
        snprintf(column, sizeof column, "%" PRId64 "*(%.400s) + (%s) / %" PRId64, p.out[d], inner, at,
                 p.stride[d]);
    }
    if (!s)
        uk_write(w, n, "$y[%s] = sum(%s where %s) $0[i0, %s, %s]", uk_iterators(p.dimensions + 2), over,
                 where, row, column);
    return s;
}
