/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trip counts of loops that a condition ends, as in
 *
 *     while (i < n) i += step;
 *
 * with a comparison of numbers that are known or grow by a known step. Frameworks whose loops have conditions
 * only write all of them so.
 */
#include <math.h>
#include <string.h>
#include "layers/layers.h"

/* Numbers are integers up to MOST_COUNTED, which f32 represents, so that casts keep them. */
enum { COUNT, CONDITION, FIRST_STATE, MOST_COUNTED = 1 << 24, NEVER = INT32_MAX };

struct counted {
    const struct uk_graph_node *n;
    const struct uk_subgraph *body;
};

/* In iteration t: first + t * step. */
struct line {
    int64_t first, step;
};

static const struct uk_graph_node *producer(const struct counted *c, const struct uk_graph_value *v) {
    const struct uk_graph_node *n = v->producer;

    return n && n->number >= c->body->first && n->number < c->body->end && !*n->domain ? n : NULL;
}

static bool is_counted(double x) {
    return fabs(x) <= MOST_COUNTED && x == floor(x);
}

static bool has_counted_type(enum uk_type type) {
    return type == UK_I32 || type == UK_I64 || type == UK_F32 || type == UK_F64;
}

/* Reads a constant of one element, which may be that of a Constant in the body. */
static bool number_of(const struct counted *c, const struct uk_graph_value *v, int64_t *out) {
    const struct uk_graph_node *n = producer(c, v);
    const struct uk_attribute *a = n && !strcmp(n->type, "Constant") ? uk_attribute_find(n, "value") : NULL;

    if (a && a->kind == UK_A_TENSOR)
        v = a->tensor;
    if (!v->data || !has_counted_type(v->type) || uk_value_elements(v) != 1)
        return false;
    const double x = uk_constant_real(v, 0);
    *out = is_counted(x) ? (int64_t)x : 0;
    return is_counted(x);
}

static bool keeps_number(const struct uk_graph_node *n) {
    static const char *const types[] = {"Identity", "Reshape", "Squeeze", "Unsqueeze"};
    const int64_t to = uk_attribute_int(n, "to", 0);
    bool is_boolean = false;

    if (!strcmp(n->type, "Cast"))
        return has_counted_type(uk_onnx_type(to, &is_boolean)) && !is_boolean;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(n->type, types[i]))
            return true;
    return false;
}

/* Follows v to the value to which the body adds constants to get it; *sum: their sum. */
static const struct uk_graph_value *without_addends(const struct counted *c, const struct uk_graph_value *v,
                                                    int64_t *sum) {
    const struct uk_graph_node *n;
    int64_t addend;

    *sum = 0;
    while ((n = producer(c, v)) && uk_node_input(n, 0)) {
        const struct uk_graph_value *a = n->input[0], *b = uk_node_input(n, 1);
        const bool adds = b && !strcmp(n->type, "Add"), subtracts = b && !strcmp(n->type, "Sub");
        if (keeps_number(n)) {
            v = a;
        } else if ((adds || subtracts) && number_of(c, b, &addend)) {
            v = a;
            *sum += adds ? addend : -addend;
        } else if (adds && number_of(c, a, &addend)) {
            v = b;
            *sum += addend;
        } else {
            break;
        }
        if (!is_counted((double)*sum))
            return NULL;
    }
    return v;
}

/* Finds how a value of the body grows. Returns false unless it is known and grows by a known step. */
static bool line_of(const struct counted *c, const struct uk_graph_value *v, struct line *out) {
    int64_t sum, first;

    if (!(v = without_addends(c, v, &sum)))
        return false;
    if (number_of(c, v, &first)) {
        *out = (struct line){first + sum, 0};
        return true;
    }
    if (v == c->body->input[COUNT]) {
        *out = (struct line){sum, 1};
        return true;
    }
    for (int i = FIRST_STATE; i < c->body->inputs; i++)
        if (v == c->body->input[i] && number_of(c, c->n->input[i], &first)) {
            out->first = first + sum;
            return without_addends(c, c->body->output[i - 1], &out->step) == v;
        }
    return false;
}

/* ---- conditions ---- */

/* Comparisons: whether they hold for equal numbers, and whether for a first one that is less. */
static const struct comparison {
    const char *type;
    bool if_equal, if_less;
} comparisons[] = {
    {"Less", false, true},
    {"LessOrEqual", true, true},
    {"Greater", false, false},
    {"GreaterOrEqual", true, false},
};

enum { COMPARISONS = sizeof comparisons / sizeof *comparisons };

/* Finds the first t at which a - b is not below `end`, or NEVER. Returns false if numbers grow too large
 * before. */
static bool reaches(const struct line *a, const struct line *b, int64_t end, int64_t *t) {
    const int64_t distance = end - (a->first - b->first), step = a->step - b->step;

    *t = distance <= 0 ? 0 : step > 0 ? (distance + step - 1) / step : NEVER;
    return *t == NEVER ? !a->step && !b->step
                       : is_counted((double)(a->first + *t * a->step)) &&
                             is_counted((double)(b->first + *t * b->step));
}

static bool comparison_ends(const struct counted *c, const struct uk_graph_node *n, bool is_negated,
                            int64_t *iteration) {
    const struct comparison *k = comparisons;
    struct line a, b;

    while (k < comparisons + COMPARISONS && strcmp(k->type, n->type) != 0)
        k++;
    if (k == comparisons + COMPARISONS || n->inputs < 2 || !n->input[0] || !n->input[1] ||
        !line_of(c, n->input[0], &a) || !line_of(c, n->input[1], &b))
        return false;
    const bool if_less = k->if_less != is_negated, if_equal = k->if_equal != is_negated;
    return if_less ? reaches(&a, &b, if_equal, iteration) : reaches(&b, &a, if_equal, iteration);
}

/* Finds the first iteration at whose end the boolean is false, or NEVER. Returns false unless it is a
 * comparison of counted numbers, or a conjunction of these. depth: conjunctions around it. */
static bool ends(const struct counted *c, const struct uk_graph_value *v, int depth, int64_t *iteration) {
    enum { DEEPEST = 16 };
    const struct uk_graph_node *n;
    bool is_negated = false;

    while ((n = producer(c, v)) && uk_node_input(n, 0)) {
        const bool is_not = !strcmp(n->type, "Not");
        if (!is_not && strcmp(n->type, "Identity") != 0 && strcmp(n->type, "Cast") != 0 &&
            strcmp(n->type, "Squeeze") != 0)
            break;
        is_negated ^= is_not;
        v = n->input[0];
    }
    if (!n || !uk_node_input(n, 0))
        return false;
    if (strcmp(n->type, "And") != 0)
        return comparison_ends(c, n, is_negated, iteration);
    int64_t other;
    if (is_negated || depth >= DEEPEST || !uk_node_input(n, 1) ||
        !ends(c, n->input[0], depth + 1, iteration) || !ends(c, n->input[1], depth + 1, &other))
        return false;
    *iteration = other < *iteration ? other : *iteration;
    return true;
}

int64_t uk_loop_trips(const struct uk_graph_node *n, const struct uk_subgraph *body) {
    const struct counted c = {n, body};
    const struct uk_graph_value *first = uk_node_input(n, CONDITION);
    int64_t iteration;

    if (first && !first->data)
        return -1;
    if (first && !uk_constant_int(first, 0))
        return 0;
    return ends(&c, body->output[0], 0, &iteration) && iteration != NEVER ? iteration + 1 : -1;
}
