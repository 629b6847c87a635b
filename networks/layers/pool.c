/* SPDX-License-Identifier: Apache-2.0 */
/* Pools over windows and over whole images. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "layers/window.h"

enum uk_status uk_infer_pool(struct uk_graph *g, struct uk_graph_node *n) {
    int64_t extent[UK_RANK];
    struct uk_window w;
    enum uk_status s = uk_need_input(g, n, 0);

    if (!s && !uk_attribute_find(n, "kernel_shape"))
        s = uk_graph_fail(g, UK_REFUSED, n, "kernel_shape is missing");
    if (!s)
        s = uk_window_of(g, n, NULL, &w);
    if (s)
        return s;
    memcpy(extent, n->input[0]->extent, 2 * sizeof *extent);
    memcpy(extent + 2, w.out, (size_t)w.dimensions * sizeof *extent);
    s = uk_set_output(g, n, 0, n->input[0]->type, n->input[0]->rank, extent);
    return s || strcmp(n->type, "MaxPool") ? s : uk_set_output(g, n, 1, UK_I64, n->input[0]->rank, extent);
}

const char *uk_minimum_text(enum uk_type t) {
    return t == UK_U8 || t == UK_U16 || t == UK_U32 || t == UK_U64 ? "0"
           : t == UK_I8                                            ? "(-128)"
           : t == UK_I16                                           ? "(-32768)"
           : t == UK_I32                                           ? "(-2147483648)"
           : t == UK_I64                                           ? "(-9223372036854775807)"
                                                                   : "(-inf)";
}

/* Writes a temp with the number of elements of dimension d that each output averages: those of the image, or
 * of its padding as well. */
static void write_count(struct uk_writer *w, const struct uk_graph_node *n, const struct uk_window *p, int d,
                        const char *name, enum uk_type type) {
    const bool include = uk_attribute_int(n, "count_include_pad", 0);
    const int64_t lowest = include ? -p->before[d] : 0, end = p->in[d] + (include ? p->after[d] : 0);

    uk_write_temp(w, n, name, type, 1, &p->out[d], NULL);
    uk_write(w, n,
             "@%s[i%d] = sum(r%d where r%d < %" PRId64 ") select(index(%" PRId64 "*i%d + %" PRId64
             "*r%d) >= %" PRId64 " and index(%" PRId64 "*i%d + %" PRId64 "*r%d) < %" PRId64 ", %s(1), 0)",
             name, d, d, d, p->kernel[d], p->stride[d], d, p->dilation[d], d, lowest + p->before[d],
             p->stride[d], d, p->dilation[d], d, end + p->before[d], uk_type_name(type));
}

void uk_write_window_count(struct uk_writer *w, const struct uk_graph_node *n, const struct uk_window *p,
                           enum uk_type type, char *text, size_t room) {
    static const char *const name[] = {"m", "k", "l"};
    double all = 1;

    for (int d = 0; d < p->dimensions; d++)
        all *= (double)p->kernel[d];
    if (!uk_window_pads(p)) {
        snprintf(text, room, "%.17g", all);
        return;
    }
    for (int d = 0; d < p->dimensions; d++)
        write_count(w, n, p, d, name[d], type);
    snprintf(text, room, "(@m[i2]%s%s)", p->dimensions > 1 ? " * @k[i3]" : "",
             p->dimensions > 2 ? " * @l[i4]" : "");
}

/* Writes the number of an element of an image, counted column by column, from @first[all], its number row by
 * row. */
static void by_columns(const struct uk_window *p, const char *all, char *text, size_t room) {
    int64_t columns = 1, rows = 1;
    size_t used = 0;

    for (int d = 0; d < p->dimensions; d++)
        rows *= p->in[d];
    for (int d = 0; d < p->dimensions && rows; d++) {
        const int64_t row = rows / p->in[d];
        used += (size_t)snprintf(text + used, room - used,
                                 "%1$s(@first[%2$s] / %3$" PRId64 " - @first[%2$s] / %4$" PRId64
                                 " * %5$" PRId64 ") * %6$" PRId64,
                                 d ? " + " : "", all, row, rows, p->in[d], columns);
        columns *= p->in[d];
        rows = row;
    }
}

/* Writes MaxPool's output 1, the place of each maximum in the whole tensor: of several the first one, and of
 * NaN the first NaN. Places are row-major; with storage_order=1 those in an image are column-major. A window
 * that lies in the padding has -1. */
static void write_indices(struct uk_writer *w, const struct uk_graph_node *n, const struct uk_window *p) {
    const char *none = "9223372036854775807", *all = uk_iterators(n->output[0]->rank);
    char over[32] = "", ranges[768] = "", at[320] = "", place[320] = "", number[640] = "";
    size_t listed = 0, ranged = 0, used = 0, put = 0;
    int64_t image = 1, step;

    for (int d = 0; d < p->dimensions; d++)
        image *= p->in[d];
    step = image;
    for (int d = 0; d < p->dimensions; d++) {
        char position[96];
        snprintf(position, sizeof position, "%" PRId64 "*i%d + %" PRId64 "*r%d - %" PRId64, p->stride[d],
                 d + 2, p->dilation[d], d, p->before[d]);
        step = p->in[d] ? step / p->in[d] : 0;
        used += (size_t)snprintf(at + used, sizeof at - used, ", %s", position);
        put += (size_t)snprintf(place + put, sizeof place - put, "%sindex(%s) * %" PRId64, d ? " + " : "",
                                position, step);
        listed += (size_t)snprintf(over + listed, sizeof over - listed, "%sr%d", d ? ", " : "", d);
        ranged += (size_t)snprintf(ranges + ranged, sizeof ranges - ranged,
                                   "%sr%d < %" PRId64 " and 0 <= %s and %s < %" PRId64, d ? " and " : "", d,
                                   p->kernel[d], position, position, p->in[d]);
    }
    snprintf(number, sizeof number, "@first[%s]", all);
    if (uk_attribute_int(n, "storage_order", 0))
        by_columns(p, all, number, sizeof number);
    uk_write_temp_like(w, n, "m", n->input[0]->type);
    uk_write_temp_like(w, n, "first", UK_I64);
    uk_write(w, n, "@m[%s] = max(%s where %s) $0[i0, i1%s]", all, over, ranges, at);
    uk_write(w, n,
             "@first[%1$s] = min(%2$s where %3$s) select($0[i0, i1%4$s] == @m[%1$s] or $0[i0, i1%4$s] != "
             "$0[i0, i1%4$s], %5$s, %6$s)",
             all, over, ranges, at, place, none);
    uk_write(w, n,
             "$y[%1$s] = select(@first[%1$s] == %2$s, -1, index(i0) * %3$" PRId64 " + index(i1) * %4$" PRId64
             " + %5$s)",
             all, none, image * n->input[0]->extent[1], image, number);
}

enum uk_status uk_write_pool(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const bool average = !strcmp(n->type, "AveragePool");
    const int rank = n->output[0]->rank;
    struct uk_window p;
    enum uk_status s = uk_window_of(w->g, n, NULL, &p);

    if (!s && output)
        write_indices(w, n, &p);
    if (s || output)
        return s;
    char count[64];
    const bool pads = uk_window_pads(&p), any = *uk_window_iterators(&p);
    if (average) /* first: the division may then follow the sum row by row */
        uk_write_window_count(w, n, &p, n->output[0]->type, count, sizeof count);
    if (average)
        uk_write_temp_like(w, n, "t", n->output[0]->type);
    uk_write(w, n, "%s[%s] = %s%s%s%s%s%s$0[i0, i1%s]%s%s%s", average ? "@t" : "$y", uk_iterators(rank),
             !any      ? ""
             : average ? "sum("
                       : "max(",
             uk_window_iterators(&p), any ? " where " : "", uk_window_ranges(&p), any ? ") " : "",
             pads ? "pad(" : "", uk_window_subscripts(&p), pads ? ", " : "",
             !pads     ? ""
             : average ? "0"
                       : uk_minimum_text(n->output[0]->type),
             pads ? ")" : "");
    if (average)
        uk_write_result(w, n, "@t[%s] / %s", uk_iterators(rank), count);
    return UK_OK;
}

/* ---- LpPool, GlobalLpPool: the p-norm of a window ---- */

/* Writes the p-th power of an element's magnitude. */
static void put_power(char *text, size_t room, int64_t p, const char *element) {
    if (p == 1)
        snprintf(text, room, "abs(%s)", element);
    else if (p == 2)
        snprintf(text, room, "%1$s * %1$s", element);
    else
        snprintf(text, room, "pow(abs(%s), %" PRId64 ")", element, p);
}

static void write_root(struct uk_writer *w, const struct uk_graph_node *n, int64_t p) {
    const char *all = uk_iterators(n->output[0]->rank);

    if (p == 1)
        uk_write_result(w, n, "@t[%s]", all);
    else if (p == 2)
        uk_write_result(w, n, "sqrt(@t[%s])", all);
    else
        uk_write_result(w, n, "pow(@t[%s], %.17g)", all, 1 / (double)p);
}

enum uk_status uk_write_lp_pool(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const int64_t p = uk_attribute_int(n, "p", 2);
    char element[256], term[640];
    struct uk_window at;
    enum uk_status s = uk_window_of(w->g, n, NULL, &at);

    (void)output;
    if (s)
        return s;
    const bool any = *uk_window_iterators(&at);
    snprintf(element, sizeof element, uk_window_pads(&at) ? "pad($0[i0, i1%s], 0)" : "$0[i0, i1%s]",
             uk_window_subscripts(&at));
    put_power(term, sizeof term, p, element);
    uk_write_temp_like(w, n, "t", n->output[0]->type);
    uk_write(w, n, "@t[%s] = %s%s%s%s%s%s", uk_iterators(n->output[0]->rank), any ? "sum(" : "",
             uk_window_iterators(&at), any ? " where " : "", uk_window_ranges(&at), any ? ") " : "", term);
    write_root(w, n, p);
    return UK_OK;
}

enum uk_status uk_write_global_lp_pool(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    static const char *const over[] = {"", "", "", "r0", "r0, r1", "r0, r1, r2"};
    const int rank = n->input[0]->rank;
    const int64_t p = uk_attribute_int(n, "p", 2);
    char element[64], term[160];

    (void)output;
    snprintf(element, sizeof element, "$0[i0, i1, %s]", over[rank]);
    put_power(term, sizeof term, p, element);
    uk_write_temp_like(w, n, "t", n->output[0]->type);
    uk_write(w, n, "@t[%s] = sum(%s) %s", uk_iterators(rank), over[rank], term);
    write_root(w, n, p);
    return UK_OK;
}

/* ---- global pools ---- */

enum uk_status uk_infer_global_pool(struct uk_graph *g, struct uk_graph_node *n) {
    int64_t extent[UK_RANK] = {0};
    enum uk_status s = uk_need_input(g, n, 0);

    if (!s && (n->input[0]->rank < 3 || n->input[0]->rank > 5))
        s = uk_graph_fail(g, UK_REFUSED, n, "its input %s has %d dimensions; 3 to 5 are supported",
                          uk_value_shape(n->input[0]), n->input[0]->rank);
    if (s)
        return s;
    for (int d = 0; d < n->input[0]->rank; d++)
        extent[d] = d < 2 ? n->input[0]->extent[d] : 1;
    return uk_set_output(g, n, 0, n->input[0]->type, n->input[0]->rank, extent);
}

enum uk_status uk_write_global_pool(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    static const char *const left[] = {"", "", "", "r0", "r0, r1", "r0, r1, r2"};
    const struct uk_graph_value *x = n->input[0];
    const bool average = !strcmp(n->type, "GlobalAveragePool");
    double all = 1;

    (void)output;
    for (int d = 2; d < x->rank; d++)
        all *= (double)x->extent[d];
    if (average)
        uk_write_temp_like(w, n, "t", n->output[0]->type);
    uk_write(w, n, "%s[%s] = %s(%s) $0[i0, i1, %s]", average ? "@t" : "$y", uk_iterators(x->rank),
             average ? "sum" : "max", left[x->rank], left[x->rank]);
    if (average)
        uk_write_result(w, n, "@t[%s] / %.17g", uk_iterators(x->rank), all);
    return UK_OK;
}
