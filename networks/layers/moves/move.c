/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that move elements: Concat, Split, Slice, Expand, Tile, DepthToSpace, SpaceToDepth. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "layers/layers.h"

enum { SUBSCRIPTS = 512 };

/* Appends " where i0 < 3 and ..." for dimensions whose iterator is bounded by no tensor's extent: it
 * subscripts only a larger input. */
static void write_ranges(struct uk_writer *w, const struct uk_graph_value *y, const bool *ranged) {
    const char *before = " where ";

    uk_text_cut(&w->statements, w->statements.length - 1);
    for (int d = 0; d < y->rank; d++) {
        if (!ranged[d])
            continue;
        uk_put(&w->statements, "%si%d < %" PRId64, before, d, y->extent[d]);
        before = " and ";
    }
    uk_put(&w->statements, "\n");
}

/* ---- Concat ---- */

enum uk_status uk_infer_concat(struct uk_graph *g, struct uk_graph_node *n) {
    enum { MOST = 64 };
    int64_t extent[UK_RANK], sum = 0;
    enum uk_status s =
        n->inputs > MOST
            ? uk_graph_fail(g, UK_REFUSED, n, "it has %d inputs; at most %d are supported", n->inputs, MOST)
            : UK_OK;
    int axis;

    for (int i = 0; (i < n->inputs || i == 0) && !s; i++)
        s = uk_need_input(g, n, i);
    if (!s)
        s = uk_need_axis(g, n, uk_attribute_int(n, "axis", 1), n->input[0]->rank, &axis);
    if (s)
        return s;
    memcpy(extent, n->input[0]->extent, sizeof extent);
    for (int i = 0; i < n->inputs; i++) {
        const struct uk_graph_value *v = n->input[i];
        bool fits = v->rank == n->input[0]->rank && v->type == n->input[0]->type;
        for (int d = 0; d < v->rank && fits; d++)
            fits = d == axis || v->extent[d] == extent[d];
        if (!fits || __builtin_add_overflow(sum, v->extent[axis], &sum))
            return uk_graph_fail(g, UK_REFUSED, n, "shapes %s and %s do not fit together along axis %d",
                                 uk_value_shape(n->input[0]), uk_value_shape(v), axis);
    }
    extent[axis] = sum;
    s = uk_set_output(g, n, 0, n->input[0]->type, n->input[0]->rank, extent);
    if (!s)
        n->output[0]->is_boolean = n->input[0]->is_boolean;
    return s;
}

enum uk_status uk_write_concat(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const int rank = n->output[0]->rank;
    char left[SUBSCRIPTS], offset[48];
    int64_t from = 0;
    int axis;
    enum uk_status s = uk_need_axis(w->g, n, uk_attribute_int(n, "axis", 1), rank, &axis);

    (void)output;
    for (int i = 0; i < n->inputs && !s; i++) {
        if (uk_value_elements(n->input[i]) && !uk_is_in_place(w->g, n, i)) {
            snprintf(offset, sizeof offset, "i%d + %" PRId64, axis, from);
            uk_subscripts(left, sizeof left, rank, axis, offset);
            uk_write(w, n, "part%d: $y[%s] = $%c[%s]", i, left, '0' + i, uk_iterators(rank));
        }
        from += n->input[i]->extent[axis];
    }
    if (!s && !uk_value_elements(n->output[0])) /* a program needs at least one statement */
        uk_write(w, n, "$y[%1$s] = $0[%1$s]", uk_iterators(rank));
    return s;
}

/* ---- Split ---- */

/* Computes the extents of the parts; sets *axis. */
static enum uk_status parts_of(struct uk_graph *g, const struct uk_graph_node *n, int64_t *part, int *axis) {
    int count;
    enum uk_status s = uk_need_axis(g, n, uk_attribute_int(n, "axis", 0), n->input[0]->rank, axis);

    if (!s)
        s = uk_need_ints(g, n, "split", 1, part, &count);
    if (s)
        return s;
    const int64_t all = n->input[0]->extent[*axis], outputs = uk_attribute_int(n, "num_outputs", n->outputs);
    int64_t sum = 0;
    if (n->outputs > UK_MAX_LISTED_INTS || outputs != n->outputs || (count >= 0 && count != n->outputs))
        return uk_graph_fail(g, UK_REFUSED, n, "it has %d outputs for %d parts; at most %d are supported",
                             n->outputs, count, UK_MAX_LISTED_INTS);
    for (int i = 0; i < n->outputs; i++) {
        const int64_t equal = (all + n->outputs - 1) / n->outputs, left = all - sum;
        if (count < 0)
            part[i] = left < equal ? left : equal; /* the last part may be smaller */
        if (part[i] < 0 || part[i] > left)
            break;
        sum += part[i];
    }
    if (sum != all || (count < 0 && n->version < 18 && all % n->outputs))
        return uk_graph_fail(g, UK_REFUSED, n, "the parts do not add up to dimension %d of %s", *axis,
                             uk_value_shape(n->input[0]));
    return UK_OK;
}

enum uk_status uk_infer_split(struct uk_graph *g, struct uk_graph_node *n) {
    int64_t part[UK_MAX_LISTED_INTS], extent[UK_RANK];
    int axis;
    enum uk_status s = uk_need_input(g, n, 0);

    if (!s)
        s = parts_of(g, n, part, &axis);
    for (int i = 0; i < n->outputs && !s; i++) {
        memcpy(extent, n->input[0]->extent, sizeof extent);
        extent[axis] = part[i];
        s = uk_set_output(g, n, i, n->input[0]->type, n->input[0]->rank, extent);
        if (!s && n->output[i])
            n->output[i]->is_boolean = n->input[0]->is_boolean;
    }
    return s;
}

enum uk_status uk_write_split(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    int64_t part[UK_MAX_LISTED_INTS], from = 0;
    char right[SUBSCRIPTS], offset[48];
    bool ranged[UK_RANK] = {false};
    int axis;
    enum uk_status s = parts_of(w->g, n, part, &axis);

    if (s)
        return s;
    for (int i = 0; i < output; i++)
        from += part[i];
    snprintf(offset, sizeof offset, "i%d + %" PRId64, axis, from);
    uk_subscripts(right, sizeof right, n->input[0]->rank, axis, offset);
    uk_write(w, n, "$y[%s] = $0[%s]", uk_iterators(n->input[0]->rank), right);
    ranged[axis] = from == 0 && part[output] != n->input[0]->extent[axis];
    write_ranges(w, n->output[output], ranged);
    return UK_OK;
}

/* ---- Slice: element start + step * i of each dimension ---- */

struct slice {
    int64_t start[UK_RANK], step[UK_RANK], extent[UK_RANK];
};

static int64_t clamped(int64_t v, int64_t low, int64_t high) {
    return v < low ? low : v > high ? high : v;
}

static enum uk_status slice_of(struct uk_graph *g, const struct uk_graph_node *n, struct slice *sl) {
    const struct uk_graph_value *x = n->input[0];
    int64_t start[UK_MAX_LISTED_INTS], end[UK_MAX_LISTED_INTS], axes[UK_MAX_LISTED_INTS],
        step[UK_MAX_LISTED_INTS];
    int starts, ends, count, steps;
    enum uk_status s = uk_need_ints(g, n, "starts", 1, start, &starts);

    if (!s)
        s = uk_need_ints(g, n, "ends", 2, end, &ends);
    if (!s)
        s = uk_need_ints(g, n, "axes", 3, axes, &count);
    if (!s)
        s = uk_need_ints(g, n, NULL, 4, step, &steps);
    if (!s &&
        (starts < 0 || ends != starts || (count >= 0 && count != starts) || (steps >= 0 && steps != starts)))
        s = uk_graph_fail(g, UK_REFUSED, n, "starts, ends, axes and steps have different lengths");
    for (int d = 0; d < x->rank; d++) {
        sl->start[d] = 0;
        sl->step[d] = 1;
        sl->extent[d] = x->extent[d];
    }
    for (int i = 0; i < starts && !s; i++) {
        int d;
        if ((s = uk_need_axis(g, n, count < 0 ? i : axes[i], x->rank, &d)))
            break;
        const int64_t all = x->extent[d], by = steps < 0 ? 1 : step[i];
        if (!by)
            return uk_graph_fail(g, UK_REFUSED, n, "the step is 0");
        int64_t from = start[i] < 0 ? start[i] + all : start[i], to = end[i] < 0 ? end[i] + all : end[i];
        if (end[i] < -all)
            to = -1; /* a negative step ends after element 0 */
        from = by > 0 ? clamped(from, 0, all) : clamped(from, 0, all - 1);
        to = by > 0 ? clamped(to, 0, all) : clamped(to, -1, all - 1);
        const int64_t span = by > 0 ? to - from : from - to, size = by > 0            ? by
                                                                    : by == INT64_MIN ? INT64_MAX
                                                                                      : -by;
        sl->start[d] = span > 0 && all > 0 ? from : 0;
        sl->extent[d] = span > 0 && all > 0 ? (span - 1) / size + 1 : 0;
        sl->step[d] = sl->extent[d] > 1 ? by : 1; /* a step that is never taken may have any size */
    }
    return s;
}

enum uk_status uk_infer_slice(struct uk_graph *g, struct uk_graph_node *n) {
    struct slice sl;
    enum uk_status s = uk_need_input(g, n, 0);

    if (!s)
        s = slice_of(g, n, &sl);
    if (!s)
        s = uk_set_output(g, n, 0, n->input[0]->type, n->input[0]->rank, sl.extent);
    if (!s)
        n->output[0]->is_boolean = n->input[0]->is_boolean;
    return s;
}

enum uk_status uk_write_slice(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const int rank = n->input[0]->rank;
    struct slice sl;
    char right[SUBSCRIPTS] = "";
    bool ranged[UK_RANK] = {false};
    size_t used = 0;
    enum uk_status s = slice_of(w->g, n, &sl);

    (void)output;
    for (int d = 0; d < rank; d++) {
        const char *comma = d ? ", " : "";
        if (sl.step[d] < 0)
            used += (size_t)snprintf(right + used, sizeof right - used, "%s%" PRId64 " - %" PRId64 "*i%d",
                                     comma, sl.start[d], -sl.step[d], d);
        else
            used += (size_t)snprintf(right + used, sizeof right - used, "%s%" PRId64 "*i%d + %" PRId64, comma,
                                     sl.step[d], d, sl.start[d]);
        ranged[d] = sl.start[d] == 0 && sl.step[d] == 1 && sl.extent[d] != n->input[0]->extent[d];
    }
    if (!s) {
        uk_write(w, n, "$y[%s] = $0[%s]", uk_iterators(rank), right);
        write_ranges(w, n->output[0], ranged);
    }
    return s;
}

bool uk_part_of_input(struct uk_graph *g, const struct uk_graph_node *n, int output, int64_t from[UK_RANK]) {
    int64_t part[UK_MAX_LISTED_INTS];
    struct slice sl;
    int axis;

    for (int d = 0; d < UK_RANK; d++)
        from[d] = 0;
    if (!strcmp(n->type, "Split")) {
        if (parts_of(g, n, part, &axis))
            return false;
        for (int i = 0; i < output; i++)
            from[axis] += part[i];
        return true;
    }
    if (slice_of(g, n, &sl))
        return false;
    for (int d = 0; d < n->input[0]->rank; d++) {
        from[d] = sl.start[d];
        if (sl.step[d] != 1)
            return false;
    }
    return true;
}

/* ---- Expand, Tile ---- */

enum uk_status uk_infer_expand(struct uk_graph *g, struct uk_graph_node *n) {
    int64_t to[UK_MAX_LISTED_INTS], extent[UK_RANK];
    int count;
    enum uk_status s = uk_need_input(g, n, 0);

    if (!s)
        s = uk_need_ints(g, n, NULL, 1, to, &count);
    if (s)
        return s;
    const struct uk_graph_value *x = n->input[0];
    const int rank = count > x->rank ? count : x->rank;
    if (count < 0 || rank > UK_RANK)
        return uk_graph_fail(g, UK_REFUSED, n, "the shape has %d dimensions, which is too many", count);
    for (int d = 0; d < rank; d++) {
        const int64_t own = d < rank - x->rank ? 1 : x->extent[d - (rank - x->rank)];
        const int64_t other = d < rank - count ? 1 : to[d - (rank - count)];
        if (own != other && own != 1 && other != 1)
            return uk_graph_fail(g, UK_REFUSED, n, "dimension %d of %s does not expand to %" PRId64, d,
                                 uk_value_shape(x), other);
        extent[d] = own == 1 ? other : own;
    }
    s = uk_set_output(g, n, 0, x->type, rank, extent);
    if (!s)
        n->output[0]->is_boolean = x->is_boolean;
    return s;
}

enum uk_status uk_infer_tile(struct uk_graph *g, struct uk_graph_node *n) {
    int64_t repeats[UK_MAX_LISTED_INTS], extent[UK_RANK];
    int count;
    enum uk_status s = uk_need_input(g, n, 0);

    if (!s)
        s = uk_need_ints(g, n, NULL, 1, repeats, &count);
    if (!s && count != n->input[0]->rank)
        s = uk_graph_fail(g, UK_REFUSED, n, "repeats has %d numbers, but the input has %d dimensions", count,
                          n->input[0]->rank);
    for (int d = 0; !s && d < count; d++)
        if (repeats[d] < 0 || __builtin_mul_overflow(n->input[0]->extent[d], repeats[d], &extent[d]))
            s = uk_graph_fail(g, UK_REFUSED, n, "repeats has the number %" PRId64 ", which is out of range",
                              repeats[d]);
    if (!s)
        s = uk_set_output(g, n, 0, n->input[0]->type, count, extent);
    if (!s)
        n->output[0]->is_boolean = n->input[0]->is_boolean;
    return s;
}

/* Repetitions of open dimensions in one program at most. */
enum { MOST_PARTS = 64 };

/* Extent of dimension d at the point; -1: at the current one. */
static int64_t extent_at(const struct uk_graph_value *v, int d, int point) {
    return point < 0 || !v->at ? v->extent[d] : v->at[point][d];
}

/* Returns how many statements dimension d needs, one for each repetition: a subscript cannot be divided by an
 * extent that is open. 0: the repetitions depend on open sizes, too. */
static int64_t parts_of_tile(const struct uk_graph *g, const struct uk_graph_value *x,
                             const struct uk_graph_value *y, int d) {
    int64_t most = 0;
    bool is_open = false;

    for (int p = 0; x->at && p < g->points.count; p++) {
        is_open |= x->at[p][d] != x->at[0][d];
        if (x->at[p][d])
            most = most > extent_at(y, d, p) / x->at[p][d] ? most : extent_at(y, d, p) / x->at[p][d];
    }
    for (int p = 0; is_open && p < g->points.count; p++)
        most = extent_at(y, d, p) == most * x->at[p][d] ? most : 0;
    return is_open ? most : 1;
}

/* Writes the statement of part number `part`: a number in the mixed base of the parts of each dimension. */
static void write_tile(struct uk_writer *w, const struct uk_graph_node *n, const int64_t *parts,
                       int64_t part) {
    const struct uk_graph_value *x = n->input[0], *y = n->output[0];
    char left[SUBSCRIPTS] = "", right[SUBSCRIPTS] = "", label[24] = "";
    size_t in_left = 0, in_right = 0;

    if (part)
        snprintf(label, sizeof label, "part%" PRId64 ": ", part);
    for (int d = 0; d < x->rank; d++) {
        const char *comma = d ? ", " : "";
        const bool is_repeated = parts[d] == 1 && x->extent[d] != extent_at(y, d, -1) && x->extent[d] != 1;
        in_left += (size_t)snprintf(left + in_left, sizeof left - in_left,
                                    parts[d] == 1 ? "%si%d" : "%si%d + %" PRId64, comma, d,
                                    part % parts[d] * x->extent[d]);
        in_right += (size_t)(is_repeated ? snprintf(right + in_right, sizeof right - in_right,
                                                    "%si%d %% %" PRId64, comma, d, x->extent[d])
                             : uk_is_broadcast(w->g, x, d, y, d)
                                 ? snprintf(right + in_right, sizeof right - in_right, "%s0", comma)
                                 : snprintf(right + in_right, sizeof right - in_right, "%si%d", comma, d));
        part /= parts[d];
    }
    uk_write(w, n, "%s$y[%s] = $0[%s]", label, left, right);
}

enum uk_status uk_write_tile(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    int64_t parts[UK_RANK], all = 1;

    (void)output;
    for (int d = 0; d < n->input[0]->rank && all && all <= MOST_PARTS; d++)
        all *= parts[d] = parts_of_tile(w->g, n->input[0], n->output[0], d);
    if (!all)
        return uk_graph_fail(w->g, UK_REFUSED, n,
                             "a dimension and the number of its repetitions both depend on open sizes");
    if (all > MOST_PARTS)
        return uk_graph_fail(w->g, UK_REFUSED, n, "open dimensions are repeated more than %d times",
                             MOST_PARTS);
    for (int64_t part = 0; part < all; part++)
        write_tile(w, n, parts, part);
    return UK_OK;
}

/* ---- DepthToSpace, SpaceToDepth ---- */

enum uk_status uk_infer_blocks(struct uk_graph *g, struct uk_graph_node *n) {
    const bool to_space = !strcmp(n->type, "DepthToSpace");
    const int64_t b = uk_attribute_int(n, "blocksize", 0);
    enum uk_status s = uk_need_input(g, n, 0);

    if (s)
        return s;
    const struct uk_graph_value *x = n->input[0];
    const bool fits =
        x->rank == 4 && b > 0 && b < 1 << 15 && (to_space || x->extent[1] < UK_MAX_ELEMENTS >> 18) &&
        (to_space ? x->extent[1] % (b * b) == 0 : x->extent[2] % b == 0 && x->extent[3] % b == 0);
    if (!fits)
        return uk_graph_fail(g, UK_REFUSED, n, "blocks of %" PRId64 " do not divide %s", b,
                             uk_value_shape(x));
    const int64_t extent[] = {x->extent[0], to_space ? x->extent[1] / (b * b) : x->extent[1] * b * b,
                              to_space ? x->extent[2] * b : x->extent[2] / b,
                              to_space ? x->extent[3] * b : x->extent[3] / b};
    return uk_set_output(g, n, 0, x->type, 4, extent);
}

enum uk_status uk_write_blocks(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const int64_t b = uk_attribute_int(n, "blocksize", 0), channels = n->output[0]->extent[1],
                  in = n->input[0]->extent[1];

    (void)output;
    const bool crd = !strcmp(uk_attribute_string(n, "mode", "DCR"), "CRD");
    if (strcmp(n->type, "DepthToSpace") && crd)
        uk_write(w, n,
                 "$y[i0, i1, i2, i3] = $0[i0, i1 / %2$" PRId64 ", %1$" PRId64 "*i2 + (i1 / %1$" PRId64
                 ") %% %1$" PRId64 ", %1$" PRId64 "*i3 + i1 %% %1$" PRId64 "]",
                 b, b * b);
    else if (strcmp(n->type, "DepthToSpace") != 0)
        uk_write(w, n,
                 "$y[i0, i1, i2, i3] = $0[i0, i1 %% %2$" PRId64 ", %1$" PRId64 "*i2 + (i1 / %2$" PRId64
                 ") / %1$" PRId64 ", %1$" PRId64 "*i3 + (i1 / %2$" PRId64 ") %% %1$" PRId64 "]",
                 b, in);
    else if (crd)
        uk_write(w, n,
                 "$y[i0, i1, i2, i3] = $0[i0, %2$" PRId64 "*i1 + %1$" PRId64 "*(i2 %% %1$" PRId64
                 ") + i3 %% %1$" PRId64 ", i2 / %1$" PRId64 ", i3 / %1$" PRId64 "]",
                 b, b * b);
    else
        uk_write(w, n,
                 "$y[i0, i1, i2, i3] = $0[i0, %3$" PRId64 "*(i2 %% %1$" PRId64 ") + %2$" PRId64
                 "*(i3 %% %1$" PRId64 ") + i1, i2 / %1$" PRId64 ", i3 / %1$" PRId64 "]",
                 b, channels, channels * b);
    return UK_OK;
}
