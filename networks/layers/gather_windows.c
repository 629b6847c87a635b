/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions of bytes with few channels, such as images. Kernels sum products in groups of four or eight
 * terms; a window's row of three pixels by three channels has nine terms, one too many for its groups.
 * Instead of row by row, the terms of each window are gathered into a temp with contiguous rows before the
 * multiplication: 27 terms for 3x3, not three times 9. A window's row is contiguous in memory, so the image's
 * columns and channels are handled as one dimension.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "layers/bytes/quantized.h"

enum { GROUP = 4, ZERO_OF_INPUT = 2, FILTER = 3, ZERO_OF_FILTER = 5 };

bool uk_has_part_of_group(const struct uk_graph_node *n) {
    if (n->is_folded || *n->domain || strcmp(n->type, "QLinearConv") != 0 ||
        uk_attribute_int(n, "group", 1) != 1 || n->input[FILTER]->extent[1] % GROUP == 0 ||
        !n->input[ZERO_OF_INPUT])
        return false;
    /* With a zero point, 0 in the filter means a weight other than zero. */
    const struct uk_graph_value *zero = n->input[ZERO_OF_FILTER];
    for (int64_t i = 0; zero && i < uk_value_elements(zero); i++)
        if (uk_constant_int(zero, i))
            return false;
    return true;
}

/* Reads the window of a convolution that is gathered. The temp may be at most as large as the result, which
 * bounds memory. */
static bool window_of(struct uk_graph *g, const struct uk_graph_node *n, struct uk_window *w) {
    const struct uk_graph_value *f = n->input[FILTER];

    if (!uk_has_part_of_group(n) || f->rank != 4 || uk_window_of(g, n, f->extent + 2, w))
        return false;
    const int64_t window = w->kernel[0] * w->kernel[1];
    return window > 1 && w->dilation[1] == 1 && window * f->extent[1] <= f->extent[0];
}

bool uk_gathers_windows(struct uk_graph *g, const struct uk_graph_node *n) {
    struct uk_window w;

    return window_of(g, n, &w);
}

/* True if the value is no slice and in the order N, H, W, C. */
static bool is_image(const struct uk_graph_value *v) {
    return v->is_laid_out && !uk_is_strided(v) && v->order[0] == 0 && v->order[1] == 2 && v->order[2] == 3;
}

bool uk_write_gathered(struct uk_writer *w, const struct uk_graph_node *n, const char *to) {
    const struct uk_graph_value *x = n->input[0], *f = n->input[FILTER];
    char outside[32] = "";
    struct uk_window p;

    if (!window_of(w->g, n, &p) || !is_image(x) || !f->is_laid_out)
        return false;
    const bool pads = uk_window_pads(&p);
    const int64_t c = f->extent[1], row = p.kernel[1] * c,
                  image[] = {x->extent[0], x->extent[2], x->extent[3] * c},
                  filter[] = {p.kernel[0], row, f->extent[0]},
                  gathered[] = {x->extent[0], p.out[0], p.out[1], p.kernel[0], row};
    if (!uk_write_shaped(w, x, 3, image) || !uk_write_shaped(w, f, 3, filter))
        return false;
    uk_write_temp(w, n, "p", x->type, 5, gathered, NULL);
    if (pads)
        snprintf(outside, sizeof outside, ", %" PRId64 ")", uk_constant_int(n->input[ZERO_OF_INPUT], 0));
    uk_write(w, n,
             "@p[i0, i2, i3, r0, q] = %s$0[i0, %" PRId64 "*i2 + %" PRId64 "*r0 - %" PRId64 ", %" PRId64
             "*i3 + q - %" PRId64 "]%s",
             pads ? "pad(" : "", p.stride[0], p.dilation[0], p.before[0], p.stride[1] * c, p.before[1] * c,
             outside);
    uk_write(w, n, "%s[i0, i1, i2, i3] = sum(r0, q) i32(@p[i0, i2, i3, r0, q]) * i32($3[r0, q, i1])", to);
    return true;
}
