/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of one to three dimensions: groups, dilation, padding. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "layers/window.h"

/* The filter [O, C / groups, R, S] lies in memory as [R, S, C / groups, O]: output channels are what kernels read in a row. */
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

enum uk_status uk_infer_conv(struct uk_graph *g, struct uk_graph_node *n) {
    const int64_t groups = uk_attribute_int(n, "group", 1);
    int64_t extent[UK_RANK];
    struct uk_window w;
    enum uk_status s = uk_need_input(g, n, 0);

    if (!s)
        s = uk_need_input(g, n, 1);
    if (s)
        return s;
    const struct uk_graph_value *x = n->input[0], *f = n->input[1];
    if (f->rank != x->rank || groups < 1 || x->rank < 3 || f->extent[1] * groups != x->extent[1] ||
        f->extent[0] % groups)
        return uk_graph_fail(g, UK_REFUSED, n, "filter %s does not fit the input %s in %" PRId64 " groups",
                             uk_value_shape(f), uk_value_shape(x), groups);
    if ((s = uk_window_of(g, n, f->extent + 2, &w)))
        return s;
    extent[0] = x->extent[0];
    extent[1] = f->extent[0];
    memcpy(extent + 2, w.out, (size_t)w.dimensions * sizeof *extent);
    if (uk_node_input(n, 2) &&
        (uk_need_input(g, n, 2) || n->input[2]->rank != 1 || n->input[2]->extent[0] != extent[1]))
        return uk_graph_fail(g, UK_REFUSED, n, "a bias of shape %s for %" PRId64 " channels",
                             uk_value_shape(n->input[2]), extent[1]);
    return uk_set_output(g, n, 0, x->type, x->rank, extent);
}

/* The subscript of the input's channel, for output channel i1 and the c-th channel of its group; c is left out if it is the only one. */
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

enum uk_status uk_write_conv(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const struct uk_graph_value *f = n->input[1];
    const bool has_bias = uk_node_input(n, 2), one = f->extent[1] == 1;
    struct uk_window window;
    char channel[64];
    enum uk_status s = uk_window_of(w->g, n, f->extent + 2, &window);

    (void)output;
    if (s)
        return s;
    const char *i = uk_iterators(f->rank), *r = uk_window_iterators(&window);
    const bool pads = uk_window_pads(&window);
    channel_subscript(n, f, channel, sizeof channel);
    if (has_bias)
        uk_write_temp_like(w, n, "t", n->output[0]->type);
    uk_write(w, n, "%s[%s] = %s%s%s%s%s%s$0[i0, %s%s]%s * $1[i1, %s%s]", has_bias ? "@t" : "$y", i,
             one && !*r ? "" : "sum(", r, !one && *r ? ", " : "", one ? "" : "c", one && !*r ? "" : ") ",
             pads ? "pad(" : "", channel, uk_window_subscripts(&window), pads ? ", 0)" : "", one ? "0" : "c",
             uk_window_filter(&window));
    if (has_bias)
        uk_write_result(w, n, "@t[%s] + $2[i1]", i);
    return UK_OK;
}
