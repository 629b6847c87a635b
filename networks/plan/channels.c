/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pads the channels of convolutions of bytes to a multiple of four, since kernels sum products in groups of
 * four channels. The input is copied; added channels hold its zero point, and the filter gets zeros there.
 * Convolutions that gather their windows (gather_windows.c) need no padding.
 */
#include <inttypes.h>
#include <string.h>
#include "layers/bytes/quantized.h"
#include "plan/plan.h"

enum { GROUP = 4, ZERO_OF_INPUT = 2, FILTER = 3 };

static enum uk_status write_padded(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const char *all = uk_iterators(n->input[0]->rank);

    (void)output;
    uk_write(w, n, "$y[%s] = pad($0[%s], %" PRId64 ")", all, all, uk_constant_int(n->input[1], 0));
    return UK_OK;
}

static const struct uk_operator pad_operator = {
    .name = "PadChannels", .domain = "", .channels_last = true, .write = write_padded};

const struct uk_graph_value *uk_padded_channels_of(const struct uk_graph_value *v) {
    v = uk_value_inside_border(v);
    return v->producer && v->producer->op == &pad_operator ? v->producer->input[0] : NULL;
}

static struct uk_graph_value *padded_filter(struct uk_graph *g, const struct uk_graph_value *f,
                                            int64_t channels) {
    struct uk_graph_value *v = uk_value_new(g, f->name);
    int64_t extent[UK_RANK], inside = 1;

    memcpy(extent, f->extent, sizeof extent);
    extent[1] = channels;
    for (int d = 2; d < f->rank; d++)
        inside *= f->extent[d];
    char *data = v ? uk_value_constant(g, v, f->type, f->rank, extent) : NULL;
    if (!data)
        return NULL;
    v->uses = 1;
    for (int64_t o = 0; o < f->extent[0]; o++)
        memcpy(data + o * channels * inside, (const char *)f->data + o * f->extent[1] * inside,
               (size_t)(f->extent[1] * inside));
    return v;
}

struct uk_graph_node *uk_enlarge_input(struct uk_graph *g, const struct uk_operator *op,
                                       struct uk_graph_node *conv, struct uk_graph_node **place) {
    struct uk_graph_value *x = conv->input[0], *zero = conv->input[ZERO_OF_INPUT],
                          *y = uk_value_new(g, x->name);
    struct uk_graph_node *n = y ? uk_node_new(g, op, x->name, 2) : NULL;

    if (!n)
        return NULL;
    uk_copy_type_and_shape(y, x);
    y->producer = n;
    y->uses = 1;
    n->input[0] = x;
    n->input[1] = zero;
    zero->uses++;
    n->output[0] = y;
    n->region = conv->region;
    n->next = *place;
    *place = n;
    conv->input[0] = y;
    return n;
}

enum uk_status uk_plan_channels(struct uk_graph *g) {
    for (struct uk_graph_node **place = &g->nodes; *place; place = &(*place)->next) {
        struct uk_graph_node *n = *place;
        if (!uk_has_part_of_group(n) || uk_gathers_windows(g, n))
            continue;
        const int64_t channels = (n->input[FILTER]->extent[1] + GROUP - 1) / GROUP * GROUP;
        struct uk_graph_value *filter = padded_filter(g, n->input[FILTER], channels);
        if (!filter || !uk_enlarge_input(g, &pad_operator, n, place))
            return uk_graph_no_memory(g);
        n->input[0]->extent[1] = channels;
        if (!uk_follow_points(g, n->input[0], n->input[0]->producer->input[0]))
            return uk_graph_no_memory(g);
        n->input[FILTER] = filter;
        place = &(*place)->next;
    }
    return UK_OK;
}
