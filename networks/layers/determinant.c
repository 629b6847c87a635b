/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Det: Gaussian elimination with the largest pivot of each column. A step computes the matrix without the
 * pivot's row and the first column, in the order of the rows that remain; the determinant's sign changes if
 * the pivot's row has an odd number. Each step is a few statements, so that matrices must be small.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "layers/layers.h"

enum { MAX_ROWS = 32 };

enum uk_status uk_infer_det(struct uk_graph *g, struct uk_graph_node *n) {
    enum uk_status s = uk_need_input(g, n, 0);

    if (s)
        return s;
    const struct uk_graph_value *x = n->input[0];
    const int batch = x->rank - 2;
    if (batch < 0 || x->extent[batch] != x->extent[batch + 1] || !uk_is_real(x->type))
        return uk_graph_fail(g, UK_REFUSED, n,
                             "an input of type %s and shape %s does not have square matrices of floats",
                             uk_type_name(x->type), uk_value_shape(x));
    if (x->extent[batch] > MAX_ROWS)
        return uk_graph_fail(g, UK_REFUSED, n,
                             "matrices of %" PRId64 " rows are not supported; at most %d are",
                             x->extent[batch], MAX_ROWS);
    return uk_set_output(g, n, 0, x->type, batch, x->extent);
}

/* Declares a temp of step k with `more` dimensions of that extent after the batch's. */
static void write_temp(struct uk_writer *w, const struct uk_graph_node *n, const char *name, int k,
                       enum uk_type type, int more, int64_t extent) {
    const int batch = n->input[0]->rank - 2;
    const char *numbered = uk_format(&w->g->arena, "%s%d", name, k);
    int64_t extents[UK_RANK];

    if (!numbered) {
        w->failed = true;
        return;
    }
    memcpy(extents, n->input[0]->extent, (size_t)batch * sizeof *extents);
    for (int i = 0; i < more; i++)
        extents[batch + i] = extent;
    uk_write_temp(w, n, numbered, type, batch + more, extents, NULL);
}

/* Writes step k, from `from`, a matrix of that many rows, to @a<k>. `all` is "i0, i1" of the batch, `before`
 * the same and a comma. */
static void write_step(struct uk_writer *w, const struct uk_graph_node *n, int k, const char *from,
                       int64_t rows, const char *all, const char *before) {
    const enum uk_type type = n->input[0]->type;

    write_temp(w, n, "largest", k, type, 0, 0);
    write_temp(w, n, "place", k, UK_I64, 0, 0);
    write_temp(w, n, "pivot", k, type, 0, 0);
    write_temp(w, n, "det", k, type, 0, 0);
    write_temp(w, n, "row", k, UK_I64, 1, rows - 1);
    write_temp(w, n, "factor", k, type, 1, rows - 1);
    write_temp(w, n, "a", k, type, 2, rows - 1);
    uk_write(w, n, "@largest%d[%s] = max(i where i < %" PRId64 ") abs(%s[%si, 0])", k, all, rows, from,
             before);
    uk_write(w, n,
             "@place%1$d[%2$s] = min(i where i < %3$" PRId64
             ") select(abs(%4$s[%5$si, 0]) == @largest%1$d[%2$s], index(i), %6$" PRId64 ")",
             k, all, rows, from, before, rows - 1);
    uk_write(w, n, "@pivot%1$d[%2$s] = %3$s[%4$s@place%1$d[%2$s], 0]", k, all, from, before);
    uk_write(w, n, "@row%1$d[%3$si] = index(i) + select(@place%1$d[%2$s] <= index(i), 1, 0)", k, all, before);
    uk_write(w, n,
             "@factor%1$d[%3$si] = select(@pivot%1$d[%2$s] == 0, 0, %4$s[%3$s@row%1$d[%3$si], 0] / "
             "@pivot%1$d[%2$s])",
             k, all, before, from);
    uk_write(w, n,
             "@a%1$d[%3$si, j] = %4$s[%3$s@row%1$d[%3$si], j + 1] - @factor%1$d[%3$si] * "
             "%4$s[%3$s@place%1$d[%2$s], j + 1]",
             k, all, before, from);
    uk_write(w, n, "@det%1$d[%2$s] = @pivot%1$d[%2$s] * select((@place%1$d[%2$s] & 1) != 0, -1, 1)", k, all);
    if (k)
        uk_write(w, n, "times%1$d: @det%1$d[%2$s] *= @det%3$d[%2$s]", k, all, k - 1);
}

enum uk_status uk_write_det(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const struct uk_graph_value *x = n->input[0];
    const int batch = x->rank - 2;
    const int rows = (int)x->extent[batch];
    char all[64], before[72] = "", from[16] = "$0";

    (void)output;
    snprintf(all, sizeof all, "%s", uk_iterators(batch));
    if (batch)
        snprintf(before, sizeof before, "%s, ", all);
    for (int k = 0; k < rows - 1; k++) {
        write_step(w, n, k, from, rows - k, all, before);
        snprintf(from, sizeof from, "@a%d", k);
    }
    if (!rows)
        uk_write(w, n, "$y[%s] = 1", all);
    else if (rows == 1)
        uk_write(w, n, "$y[%s] = %s[%s0, 0]", all, from, before);
    else
        uk_write(w, n, "$y[%s] = %s[%s0, 0] * @det%d[%s]", all, from, before, rows - 2, all);
    return UK_OK;
}
