/* SPDX-License-Identifier: Apache-2.0 */
/* RoiAlign: pools over samples in regions of images, which data give. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "layers/layers.h"

enum { REGIONS = 1, IMAGES = 2, COORDINATES = 4 };

static bool is_centred(const struct uk_graph_node *n) {
    return !strcmp(uk_attribute_string(n, "coordinate_transformation_mode",
                                       n->version < 16 ? "output_half_pixel" : "half_pixel"),
                   "half_pixel");
}

static enum uk_status check_attributes(struct uk_graph *g, const struct uk_graph_node *n) {
    const char *mode = uk_attribute_string(n, "mode", "avg"),
               *transformation = uk_attribute_string(n, "coordinate_transformation_mode", "half_pixel");
    const int64_t samples = uk_attribute_int(n, "sampling_ratio", 0);

    if ((strcmp(mode, "avg") && strcmp(mode, "max")) ||
        (strcmp(transformation, "half_pixel") && strcmp(transformation, "output_half_pixel")))
        return uk_graph_fail(g, UK_REFUSED, n,
                             "mode=%s with coordinate_transformation_mode=%s is not supported", mode,
                             transformation);
    if (!samples)
        return uk_graph_fail(g, UK_REFUSED, n,
                             "sampling_ratio=0, by which the number of samples depends on data, is not "
                             "supported; set a number of samples");
    return samples > 0 && samples < 1 << 15
               ? UK_OK
               : uk_graph_fail(g, UK_REFUSED, n, "sampling_ratio=%" PRId64 " is out of range", samples);
}

enum uk_status uk_infer_roi_align(struct uk_graph *g, struct uk_graph_node *n) {
    enum uk_status s = check_attributes(g, n);

    if (!s)
        s = uk_need_inputs(g, n, 3);
    if (s)
        return s;
    const struct uk_graph_value *x = n->input[0], *regions = n->input[REGIONS], *image = n->input[IMAGES];
    if (x->rank != 4 || regions->rank != 2 || regions->extent[1] != COORDINATES || image->rank != 1 ||
        image->extent[0] != regions->extent[0] || regions->type != x->type || !uk_is_real(x->type) ||
        image->type != UK_I64)
        return uk_graph_fail(
            g, UK_REFUSED, n,
            "regions of shape %s in images of numbers of shape %s do not fit images of shape %s",
            uk_value_shape(regions), uk_value_shape(image), uk_value_shape(x));
    if (x->extent[2] < 1 || x->extent[3] < 1)
        return uk_graph_fail(g, UK_REFUSED, n, "its images of shape %s have no elements", uk_value_shape(x));
    const int64_t extent[] = {regions->extent[0], x->extent[1], uk_attribute_int(n, "output_height", 1),
                              uk_attribute_int(n, "output_width", 1)};
    return uk_set_output(g, n, 0, x->type, 4, extent);
}

/* Writes the temps @i<d> and @w<d>, the subscripts and weights of the two elements next to each sample, along
 * dimension d + 2. A sample more than one element outside counts as 0. */
static void write_samples(struct uk_writer *w, const struct uk_graph_node *n, int d) {
    static const char *const names[][2] = {{"b0", "b1"}, {"l0", "l1"}, {"x0", "x1"},
                                           {"c0", "c1"}, {"i0", "i1"}, {"w0", "w1"}};
    const struct uk_graph_value *x = n->input[0];
    const int64_t all = x->extent[d + 2], samples = uk_attribute_int(n, "sampling_ratio", 0),
                  extent[] = {n->input[REGIONS]->extent[0], n->output[0]->extent[d + 2], samples, 2};
    const double scale = uk_attribute_float(n, "spatial_scale", 1);
    const char *type = uk_type_name(x->type), *by = uk_number_text(scale, x->type == UK_F32);
    const bool centred = is_centred(n);

    uk_write_temp(w, n, names[0][d], x->type, 1, extent, NULL);
    uk_write_temp(w, n, names[1][d], x->type, 1, extent, NULL);
    for (int i = 2; i < 6; i++)
        uk_write_temp(w, n, names[i][d], i == 4 ? UK_I64 : x->type, i < 4 ? 3 : 4, extent, NULL);
    uk_write(w, n, "@b%d[n] = $1[n, %d] * %s - %s", d, 1 - d, by, centred ? "0.5" : "0.0");
    uk_write(w, n, "@l%1$d[n] = %2$s$1[n, %3$d] * %4$s - %5$s - @b%1$d[n]%6$s", d, centred ? "" : "max(1, ",
             3 - d, by, centred ? "0.5" : "0.0", centred ? "" : ")");
    uk_write(w, n,
             "@x%1$d[n, o, s] = @b%1$d[n] + (%2$s(index(o)) + (%2$s(index(s)) + 0.5) / %3$" PRId64
             ".0) * (@l%1$d[n] / %4$" PRId64 ".0)",
             d, type, samples, extent[1]);
    uk_write(w, n, "@c%1$d[n, o, s] = min(%2$" PRId64 ", max(0, @x%1$d[n, o, s]))", d, all - 1);
    uk_write(w, n, "@i%1$d[n, o, s, k] = min(%2$" PRId64 ", i64(floor(@c%1$d[n, o, s])) + index(k))", d,
             all - 1);
    uk_write(w, n,
             "@w%1$d[n, o, s, k] = select(@x%1$d[n, o, s] < -1 or @x%1$d[n, o, s] > %2$" PRId64
             ", 0, 1 - abs(@c%1$d[n, o, s] - floor(@c%1$d[n, o, s]) - %3$s(index(k))))",
             d, all, type);
}

/* A mean of interpolated samples; mode=max takes the largest of all elements times their weights. */
enum uk_status uk_write_roi_align(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const bool max = !strcmp(uk_attribute_string(n, "mode", "avg"), "max");
    const int64_t samples = uk_attribute_int(n, "sampling_ratio", 0);

    (void)output;
    write_samples(w, n, 0);
    write_samples(w, n, 1);
    if (!max)
        uk_write_temp_like(w, n, "t", n->output[0]->type);
    uk_write(
        w, n,
        "%s[i0, i1, i2, i3] = %s(s, u, k, l) $0[$2[i0], i1, @i0[i0, i2, s, k], @i1[i0, i3, u, l]] * @w0[i0, "
        "i2, s, k] * @w1[i0, i3, u, l]",
        max ? "$y" : "@t", max ? "max" : "sum");
    if (!max)
        uk_write_result(w, n, "@t[i0, i1, i2, i3] / %" PRId64 ".0", samples * samples);
    return UK_OK;
}
