/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Borders of padding: a convolution whose windows reach beyond its input reads a larger image instead, which
 * holds the input and the padding around it. Its loops need no checks at the image's edges.
 *
 * The producer of the input writes it directly into the image (slices.c). A layer of its own writes the
 * border in each run, since other values share its memory over time.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "layers/bytes/quantized.h"
#include "plan/plan.h"

/* Limits on borders:
 * - Rows of at least SHORTEST_ROW elements: the producer's tiles end with each row, and most should be full.
 * - More than FEW_CHANNELS channels: windows over fewer are copied in any case.
 * - At most 1 / LARGEST_PART of the input's memory in addition. */
enum { SHORTEST_ROW = 28, FEW_CHANNELS = 4, LARGEST_PART = 4 };
enum { FILTER = 3, SUBSCRIPTS = 256 };

/* ---- the border ---- */

int64_t uk_border_before(const struct uk_graph_node *border, int d) {
    return border->attribute->ints[d];
}

static int64_t outside_of(const struct uk_graph_node *border) {
    return uk_constant_int(border->input[1], 0);
}

/* Writes one side of dimension d, except elements that sides of earlier dimensions cover: none is written
 * twice. */
static void write_side(struct uk_writer *w, const struct uk_graph_node *n, int d, int64_t from,
                       int64_t count) {
    const struct uk_graph_value *x = n->input[0], *y = n->output[0];
    char left[SUBSCRIPTS], where[SUBSCRIPTS];
    size_t at = 0, used = 0;

    for (int k = 0; k < y->rank; k++) {
        const int64_t first = k == d  ? from
                              : k < d ? uk_border_before(n, k)
                                      : 0,
                      all = k == d  ? count
                            : k < d ? x->extent[k]
                                    : y->extent[k];
        at += (size_t)snprintf(left + at, sizeof left - at, "%si%d + %" PRId64, k ? ", " : "", k, first);
        used +=
            (size_t)snprintf(where + used, sizeof where - used, "%si%d < %" PRId64, k ? " and " : "", k, all);
    }
    uk_write(w, n, "side%d_%d: $y[%s] = %s(%" PRId64 ") where %s", d, from > 0, left, uk_type_name(y->type),
             outside_of(n), where);
}

static enum uk_status write_border(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const struct uk_graph_value *x = n->input[0], *y = n->output[0];

    (void)output;
    for (int d = 0; d < y->rank; d++) {
        const int64_t before = uk_border_before(n, d), end = before + x->extent[d];
        if (before)
            write_side(w, n, d, 0, before);
        if (end < y->extent[d])
            write_side(w, n, d, end, y->extent[d] - end);
    }
    return UK_OK;
}

static const struct uk_operator border_operator = {
    .name = "Border", .domain = "", .channels_last = true, .is_union = true, .write = write_border};

bool uk_is_border(const struct uk_graph_node *n) {
    return n->op == &border_operator;
}

const struct uk_graph_value *uk_value_inside_border(const struct uk_graph_value *v) {
    return v->producer && uk_is_border(v->producer) ? v->producer->input[0] : v;
}

void uk_border_fill(const struct uk_graph_value *v, void *memory) {
    if (uk_value_inside_border(v) != v)
        memset(memory, (int)outside_of(v->producer), (size_t)uk_value_elements(v));
}

/* ---- choice of convolutions ---- */

/* True for a convolution of bytes. f32 gains nothing: partial tiles at row ends cost more than the border
 * saves. */
static bool is_conv_of_bytes(const struct uk_graph_node *n) {
    return !n->is_folded && !*n->domain && !strcmp(n->type, "QLinearConv");
}

/* True if the value is computed for this convolution only, in whichever layout, and the convolution does not
 * gather windows, which needs contiguous rows. */
static bool is_own(struct uk_graph *g, const struct uk_graph_value *v, const struct uk_graph_node *by) {
    const struct uk_graph_node *n = v->producer;

    return n && n->region == by->region && !n->op->loop && v->uses == 1 && !v->data && !n->is_folded &&
           !n->op->is_view && !n->op->is_union && !n->op->is_part && !uk_gathers_windows(g, n);
}

/* True if an extent of the image depends on open sizes: so does what its border must be then. */
static bool is_open(const struct uk_graph *g, const struct uk_graph_value *x) {
    bool open = false;

    for (int p = 0; x->at && p < g->points.count; p++)
        for (int d = 1; d < x->rank; d++)
            open |= x->at[p][d] != x->extent[d];
    return open;
}

/* Gives the image's extents and the input's offset in it. False: there is no padding, or a border does not
 * pay. */
static bool image_of(struct uk_graph *g, const struct uk_graph_node *n, int64_t *extent, int64_t *before) {
    const struct uk_graph_value *x = is_conv_of_bytes(n) ? n->input[0] : NULL;
    struct uk_graph_value image;
    struct uk_window w;

    if (!x || x->extent[x->rank - 1] < SHORTEST_ROW || x->extent[1] <= FEW_CHANNELS ||
        uk_value_elements(x) < 1 || !is_own(g, x, n) || is_open(g, x) ||
        uk_window_of(g, n, n->input[FILTER]->extent + 2, &w) || !uk_window_pads(&w))
        return false;
    image = *x;
    for (int d = 0; d < x->rank; d++) {
        const int k = d - 2;
        before[d] = k < 0 ? 0 : w.before[k];
        if (k >= 0) {
            const int64_t end = (w.out[k] - 1) * w.stride[k] + (w.kernel[k] - 1) * w.dilation[k] + 1;
            image.extent[d] = end > before[d] + x->extent[d] ? end : before[d] + x->extent[d];
        }
    }
    memcpy(extent, image.extent, sizeof image.extent);
    const int64_t more = uk_value_elements(&image) - uk_value_elements(x);
    return more > 0 && more <= uk_value_elements(x) / LARGEST_PART;
}

/* ---- insertion ---- */

static void forget_padding(struct uk_graph_node *n) {
    int kept = 0;

    for (int i = 0; i < n->attributes; i++)
        if (strcmp(n->attribute[i].name, "pads") != 0 && strcmp(n->attribute[i].name, "auto_pad") != 0)
            n->attribute[kept++] = n->attribute[i];
    n->attributes = kept;
}

/* Inserts a node before `place` that puts the border around the convolution's input; NULL: no memory. */
static struct uk_graph_node *surround(struct uk_graph *g, struct uk_graph_node *conv, const int64_t *extent,
                                      const int64_t *before, struct uk_graph_node **place) {
    struct uk_graph_node *n = uk_enlarge_input(g, &border_operator, conv, place);
    int64_t *ints = n ? uk_alloc(&g->arena, UK_RANK * sizeof *ints) : NULL;

    if (!ints || !(n->attribute = uk_alloc(&g->arena, sizeof *n->attribute)))
        return NULL;
    memcpy(ints, before, UK_RANK * sizeof *ints);
    n->attributes = 1;
    *n->attribute =
        (struct uk_attribute){.name = "before", .kind = UK_A_INTS, .count = n->output[0]->rank, .ints = ints};
    memcpy(n->output[0]->extent, extent, UK_RANK * sizeof *extent);
    if (!uk_follow_points(g, n->output[0], n->input[0]))
        return NULL;
    forget_padding(conv);
    return n;
}

enum uk_status uk_plan_borders(struct uk_graph *g) {
    int64_t extent[UK_RANK] = {0}, before[UK_RANK] = {0};

    for (struct uk_graph_node **place = &g->nodes; *place; place = &(*place)->next) {
        struct uk_graph_node *n = *place;
        if (!image_of(g, n, extent, before))
            continue;
        if (!surround(g, n, extent, before, place))
            return uk_graph_no_memory(g);
        place = &(*place)->next;
    }
    return UK_OK;
}
