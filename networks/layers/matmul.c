/* SPDX-License-Identifier: Apache-2.0 */
/* Gemm and MatMul. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "layers/layers.h"

/* Lays a constant [N, K] out as [K, N]; not for one row, whose product dot products with the rows of [N, K]
 * compute at the speed of memory. */
void uk_lay_out_gemm(struct uk_graph_node *n) {
    struct uk_graph_value *b = n->input[1];

    if (!b->data || b->is_laid_out || !uk_attribute_int(n, "transB", 0) || n->output[0]->extent[0] == 1)
        return;
    b->order[0] = 1;
    b->order[1] = 0;
    b->is_laid_out = true;
}

enum uk_status uk_infer_gemm(struct uk_graph *g, struct uk_graph_node *n) {
    const int ta = uk_attribute_int(n, "transA", 0) != 0, tb = uk_attribute_int(n, "transB", 0) != 0;
    enum uk_status s = uk_need_input(g, n, 0);

    if (!s)
        s = uk_need_input(g, n, 1);
    if (s)
        return s;
    const struct uk_graph_value *a = n->input[0], *b = n->input[1], *c = uk_node_input(n, 2);
    if (a->rank != 2 || b->rank != 2 || a->extent[!ta] != b->extent[tb] || a->type != b->type)
        return uk_graph_fail(g, UK_REFUSED, n, "shapes %s%s and %s%s cannot be multiplied", uk_value_shape(a),
                             ta ? " transposed" : "", uk_value_shape(b), tb ? " transposed" : "");
    const int64_t extent[] = {a->extent[ta], b->extent[!tb]};
    for (int d = 0; c && d < c->rank; d++)
        if (c->rank > 2 || (c->extent[d] != 1 && c->extent[d] != extent[2 - c->rank + d]))
            return uk_graph_fail(g, UK_REFUSED, n, "the addend %s does not broadcast to the product",
                                 uk_value_shape(c));
    return uk_set_output(g, n, 0, a->type, 2, extent);
}

enum uk_status uk_write_gemm(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const double alpha = uk_attribute_float(n, "alpha", 1), beta = uk_attribute_float(n, "beta", 1);
    const struct uk_graph_value *c = uk_node_input(n, 2);
    const char *a = uk_attribute_int(n, "transA", 0) ? "$0[k, i0]" : "$0[i0, k]";
    const char *b = uk_attribute_int(n, "transB", 0) ? "$1[i1, k]" : "$1[k, i1]";
    const bool plain = alpha == 1 && (!c || beta == 0);
    char scaled[48] = "", addend[96] = "", subscripts[16] = "";

    (void)output;
    if (plain) {
        uk_write(w, n, "$y[i0, i1] = sum(k) %s * %s", a, b);
        return UK_OK;
    }
    if (alpha != 1)
        snprintf(scaled, sizeof scaled, "%s * ", uk_number_text(alpha, true));
    if (c && c->rank == 2)
        snprintf(subscripts, sizeof subscripts, "%s, %s", uk_is_one(w->g, c, 0) ? "0" : "i0",
                 uk_is_one(w->g, c, 1) ? "0" : "i1");
    else if (c && c->rank == 1)
        snprintf(subscripts, sizeof subscripts, "%s", uk_is_one(w->g, c, 0) ? "0" : "i1");
    if (c && beta == 1)
        snprintf(addend, sizeof addend, " + $2[%s]", subscripts);
    else if (c && beta != 0)
        snprintf(addend, sizeof addend, " + %s * $2[%s]", uk_number_text(beta, true), subscripts);
    uk_write_temp_like(w, n, "t", n->output[0]->type);
    uk_write(w, n, "@t[i0, i1] = sum(k) %s * %s", a, b);
    uk_write_result(w, n, "%s@t[i0, i1]%s", scaled, addend);
    return UK_OK;
}

/* ---- MatMul: batched, with broadcasting; vectors on either side ---- */

enum uk_status uk_infer_matmul(struct uk_graph *g, struct uk_graph_node *n) {
    int64_t extent[UK_RANK];
    enum uk_status s = uk_need_input(g, n, 0);
    int rank = 0;

    if (!s)
        s = uk_need_input(g, n, 1);
    if (s)
        return s;
    const struct uk_graph_value *a = n->input[0], *b = n->input[1];
    if (a->rank < 1 || b->rank < 1 || a->type != b->type ||
        a->extent[a->rank - 1] != b->extent[b->rank > 1 ? b->rank - 2 : 0])
        return uk_graph_fail(g, UK_REFUSED, n, "shapes %s and %s cannot be multiplied", uk_value_shape(a),
                             uk_value_shape(b));
    const int batch_a = a->rank > 2 ? a->rank - 2 : 0, batch_b = b->rank > 2 ? b->rank - 2 : 0;
    const int batch = batch_a > batch_b ? batch_a : batch_b;
    for (int d = 0; d < batch; d++) {
        const int64_t x = d < batch - batch_a ? 1 : a->extent[d - (batch - batch_a)];
        const int64_t y = d < batch - batch_b ? 1 : b->extent[d - (batch - batch_b)];
        if (x != y && x != 1 && y != 1)
            return uk_graph_fail(g, UK_REFUSED, n, "shapes %s and %s do not broadcast", uk_value_shape(a),
                                 uk_value_shape(b));
        extent[rank++] = x == 1 ? y : x;
    }
    if (a->rank > 1)
        extent[rank++] = a->extent[a->rank - 2];
    if (b->rank > 1)
        extent[rank++] = b->extent[b->rank - 1];
    return uk_set_output(g, n, 0, a->type, rank, extent);
}

void uk_batch_subscripts(const struct uk_graph *g, char *text, size_t room, const struct uk_graph_value *v,
                         int batch, const struct uk_graph_value *y) {
    const int own = v->rank > 2 ? v->rank - 2 : 0;
    size_t used = 0;

    *text = 0;
    for (int d = 0; d < own; d++) {
        const int at = batch - own + d;
        used +=
            (size_t)snprintf(text + used, room - used, uk_is_broadcast(g, v, d, y, at) ? "0, " : "i%d, ", at);
    }
}

void uk_write_matmul_sum(struct uk_writer *w, const struct uk_graph_node *n, int right, const char *to,
                         const char *cast, const char *suffix_a, const char *suffix_b) {
    const struct uk_graph_value *a = n->input[0], *b = n->input[right], *y = n->output[0];
    const int batch = y->rank - (a->rank > 1) - (b->rank > 1);
    const char *open = cast ? "(" : "", *close = cast ? ")" : "", *type = cast ? cast : "";
    char in_a[64], in_b[64], row[16] = "", column[16] = "";

    uk_batch_subscripts(w->g, in_a, sizeof in_a, a, batch, y);
    uk_batch_subscripts(w->g, in_b, sizeof in_b, b, batch, y);
    if (a->rank > 1)
        snprintf(row, sizeof row, "i%d, ", batch);
    if (b->rank > 1)
        snprintf(column, sizeof column, ", i%d", y->rank - 1);
    uk_write(w, n, "%s[%s] = sum(k) %s%s%s$0[%s%sk]%s%s%s * %s%s%s$%c[%sk%s]%s%s%s", to,
             uk_iterators(y->rank), *suffix_a ? "(" : "", type, open, in_a, row, close, suffix_a,
             *suffix_a ? ")" : "", *suffix_b ? "(" : "", type, open, '0' + right, in_b, column, close,
             suffix_b, *suffix_b ? ")" : "");
}

enum uk_status uk_write_matmul(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    (void)output;
    uk_write_matmul_sum(w, n, 1, "$y", NULL, "", "");
    return UK_OK;
}
