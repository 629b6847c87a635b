/* SPDX-License-Identifier: Apache-2.0 */
/* Pad, with a value or with elements of the input. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "layers/moves/list.h"

enum { SUBSCRIPTS = 512, FIRST_LIST = 4 };

struct padding {
    int64_t before[UK_RANK], after[UK_RANK];
};

static bool is_moderate(int64_t pad) {
    return pad >= -UK_MAX_ELEMENTS && pad <= UK_MAX_ELEMENTS;
}

static enum uk_status padding_of(struct uk_graph *g, const struct uk_graph_node *n, struct padding *p) {
    const int rank = n->input[0]->rank;
    const char *mode = uk_attribute_string(n, "mode", "constant");
    int64_t pads[UK_MAX_LISTED_INTS], axes[UK_MAX_LISTED_INTS];
    int count, listed;
    enum uk_status s =
        uk_need_ints(g, n, uk_attribute_find(n, "paddings") ? "paddings" : "pads", 1, pads, &count);

    if (!s)
        s = uk_need_ints(g, n, NULL, 3, axes, &listed);
    if (s)
        return s;
    if (strcmp(mode, "constant") && strcmp(mode, "reflect") && strcmp(mode, "edge") && strcmp(mode, "wrap"))
        return uk_graph_fail(g, UK_REFUSED, n, "mode=%s is not supported", mode);
    const int dimensions = listed < 0 ? rank : listed;
    if (count != 2 * dimensions)
        return uk_graph_fail(g, UK_REFUSED, n, "pads has %d numbers for %d dimensions", count, dimensions);
    *p = (struct padding){.before = {0}};
    for (int i = 0; i < dimensions && !s; i++) {
        int d = i;
        if (listed >= 0)
            s = uk_need_axis(g, n, axes[i], rank, &d);
        if (s)
            break;
        p->before[d] = pads[i];
        p->after[d] = pads[i + dimensions];
        if (!is_moderate(pads[i]) || !is_moderate(pads[i + dimensions]))
            s = uk_graph_fail(g, UK_REFUSED, n, "its result is too large for 64 bits");
    }
    return s;
}

static bool pads_constant(const struct uk_graph_node *n) {
    return !strcmp(uk_attribute_string(n, "mode", "constant"), "constant");
}

/* Returns the index, 0 <= index < all, of the element that padding repeats at place i. */
static int64_t padded_from(const char *mode, int64_t i, int64_t all) {
    const int64_t period = 2 * (all - 1);

    if (!strcmp(mode, "edge"))
        return i < 0 ? 0 : i < all ? i : all - 1;
    if (!strcmp(mode, "wrap"))
        return (i % all + all) % all;
    if (all == 1)
        return 0;
    i = (i % period + period) % period;
    return i < all ? i : period - i;
}

/* Returns the statement of a list: #0 elements are removed before those, #1 of them, that are repeated. `at`:
 * the place among them that element i0 continues. Numbers that may be 0 are no divisors. */
static const char *list_text(const char *mode, int64_t before) {
    static _Thread_local char text[640];
    char at[64], turn[32] = "max(2 * #1 - 2, 1)", rest[160];

    snprintf(at, sizeof at,
             strcmp(mode, "reflect") ? "(index(i0) - %" PRId64 ")" : "abs(index(i0) - %" PRId64 ")", before);
    if (!strcmp(mode, "wrap"))
        snprintf(turn, sizeof turn, "#1");
    snprintf(rest, sizeof rest, "(%1$s - %1$s / %2$s * %2$s)", at, turn);
    if (!strcmp(mode, "edge"))
        snprintf(text, sizeof text, "$y[i0] = #0 + min(max(%s, 0), #1 - 1)", at);
    else if (!strcmp(mode, "wrap"))
        snprintf(text, sizeof text, "$y[i0] = #0 + select(%1$s < 0, %1$s + #1, %1$s)", rest);
    else
        snprintf(text, sizeof text, "$y[i0] = #0 + min(%1$s, %2$s - %1$s)", rest, turn);
    return text;
}

/* Appends, for the modes that repeat elements, a list of source indices for each dimension that is padded, as
 * inputs from number FIRST_LIST on. Negative padding removes elements first; what remains is repeated. */
static enum uk_status append_lists(struct uk_graph *g, struct uk_graph_node *n, const struct padding *p,
                                   const int64_t *extent) {
    const char *mode = uk_attribute_string(n, "mode", "constant");
    enum uk_status s = uk_extend_inputs(g, n, FIRST_LIST);

    n->inputs = FIRST_LIST;
    for (int d = 0; d < n->input[0]->rank && !s; d++) {
        const int64_t first = p->before[d] < 0 ? -p->before[d] : 0, last = p->after[d] < 0 ? -p->after[d] : 0;
        const int64_t all = n->input[0]->extent[d] - first - last, count = extent[d] > 0 ? extent[d] : 0;
        const struct uk_list_program list = {.text = list_text(mode, p->before[d] + first),
                                             .number = {first, all}};
        void *data;
        if (!uk_choose_form(g, n, d, p->before[d] || p->after[d]))
            continue;
        if (all < 1 && count)
            return uk_graph_fail(g, UK_REFUSED, n, "dimension %d has no elements to repeat", d);
        s = uk_extend_inputs(g, n, FIRST_LIST + d);
        if (!s)
            s = uk_append_list(g, n, UK_I64, count, &list, &data);
        for (int64_t i = 0; i < count && !s; i++)
            ((int64_t *)data)[i] = first + padded_from(mode, i - p->before[d] - first, all);
    }
    return s;
}

enum uk_status uk_infer_pad(struct uk_graph *g, struct uk_graph_node *n) {
    int64_t extent[UK_RANK];
    struct padding p;
    enum uk_status s = uk_need_input(g, n, 0);

    if (!s)
        s = padding_of(g, n, &p);
    if (!s && uk_node_input(n, 2) &&
        (uk_need_input(g, n, 2) || uk_value_elements(n->input[2]) != 1 || n->input[2]->rank > 1))
        s = uk_graph_fail(g, UK_REFUSED, n, "the padding value is not a scalar");
    for (int d = 0; !s && d < n->input[0]->rank; d++)
        extent[d] = n->input[0]->extent[d] + p.before[d] + p.after[d];
    if (!s && !pads_constant(n))
        s = append_lists(g, n, &p, extent);
    if (!s)
        s = uk_set_output(g, n, 0, n->input[0]->type, n->input[0]->rank, extent);
    if (!s)
        n->output[0]->is_boolean = n->input[0]->is_boolean;
    return s;
}

enum uk_status uk_write_pad(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const struct uk_graph_value *x = n->input[0], *value = uk_node_input(n, 2);
    struct padding p;
    char right[SUBSCRIPTS] = "", outside[48];
    size_t used = 0;
    enum uk_status s = padding_of(w->g, n, &p);

    (void)output;
    if (s)
        return s;
    for (int d = 0; d < x->rank && !pads_constant(n); d++) {
        used += (size_t)snprintf(right + used, sizeof right - used, d ? ", " : "");
        if (uk_node_input(n, FIRST_LIST + d))
            uk_listed_subscript(n, FIRST_LIST + d, d, right + used, sizeof right - used);
        else
            snprintf(right + used, sizeof right - used, "i%d", d);
        used += strlen(right + used);
    }
    if (!pads_constant(n)) {
        uk_write(w, n, "$y[%s] = $0[%s]", uk_iterators(x->rank), right);
        return UK_OK;
    }
    for (int d = 0; d < x->rank; d++)
        used += (size_t)snprintf(right + used, sizeof right - used, "%si%d - %" PRId64, d ? ", " : "", d,
                                 p.before[d]);
    if (value)
        snprintf(outside, sizeof outside, value->rank ? "$2[0]" : "$2[]");
    else
        snprintf(outside, sizeof outside, "%s", uk_number_text(uk_attribute_float(n, "value", 0), true));
    uk_write(w, n, "$y[%s] = pad($0[%s], %s)", uk_iterators(x->rank), right, outside);
    return UK_OK;
}
