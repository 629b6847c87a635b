/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LinearAttention: query, key, value [batch, rows, heads * size], past state, decay, beta; y, present state.
 * A loop over the rows of a state [batch, heads, size, value_size], with d = exp(decay):
 *
 *     v' = v, or beta * (v - (k * d) state) if the rule has a correction
 *     state = state * d + k v'
 *     y = scale * q state
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "layers/layers.h"

enum { QUERY, KEY, VALUE, PAST, DECAY, BETA, INPUTS };

struct linear_attention {
    int64_t batch, rows, heads, group, size, value_size; /* group: queries' heads per head */
    bool has_decay, has_correction;
    double scale;
};

static enum uk_status check_present(struct uk_graph *g, const struct uk_graph_node *n, int input,
                                    const char *name, bool is_wanted) {
    if (!uk_node_input(n, input) == !is_wanted)
        return UK_OK;
    return uk_graph_fail(g, UK_REFUSED, n, "update_rule '%s' %s %s",
                         uk_attribute_string(n, "update_rule", "gated_delta"), is_wanted ? "needs" : "has no",
                         name);
}

static enum uk_status read_rule(struct uk_graph *g, const struct uk_graph_node *n,
                                struct linear_attention *a) {
    const char *rule = uk_attribute_string(n, "update_rule", "gated_delta");
    enum uk_status s;

    a->has_decay = !strcmp(rule, "gated") || !strcmp(rule, "gated_delta");
    a->has_correction = !strcmp(rule, "delta") || !strcmp(rule, "gated_delta");
    if (!a->has_decay && !a->has_correction && strcmp(rule, "linear") != 0)
        return uk_graph_fail(g, UK_REFUSED, n, "update_rule '%s' is not supported", rule);
    s = check_present(g, n, DECAY, "decay", a->has_decay);
    return s ? s : check_present(g, n, BETA, "beta", a->has_correction);
}

/* Refuses an input other than [batch, rows, last]. */
static enum uk_status check_input(struct uk_graph *g, const struct uk_graph_node *n,
                                  const struct linear_attention *a, int input, int64_t last) {
    const struct uk_graph_value *v = n->input[input];

    if (v->rank == 3 && v->type == n->input[QUERY]->type && v->extent[0] == a->batch &&
        v->extent[1] == a->rows && v->extent[2] == last)
        return UK_OK;
    return uk_graph_fail(g, UK_REFUSED, n,
                         "input '%s' has type %s and shape %s; it needs %s and [%" PRId64 ", %" PRId64
                         ", %" PRId64 "]",
                         v->name, uk_type_name(v->type), uk_value_shape(v),
                         uk_type_name(n->input[QUERY]->type), a->batch, a->rows, last);
}

static enum uk_status check_state(struct uk_graph *g, const struct uk_graph_node *n,
                                  const struct linear_attention *a) {
    const struct uk_graph_value *past = uk_node_input(n, PAST);
    const int64_t extent[] = {a->batch, a->heads, a->size, a->value_size};

    if (!past || (past->rank == 4 && past->type == n->input[QUERY]->type &&
                  !memcmp(past->extent, extent, sizeof extent)))
        return UK_OK;
    return uk_graph_fail(g, UK_REFUSED, n, "past_state of type %s and shape %s does not fit",
                         uk_type_name(past->type), uk_value_shape(past));
}

static enum uk_status read_shapes(struct uk_graph *g, const struct uk_graph_node *n,
                                  struct linear_attention *a) {
    const struct uk_graph_value *q = n->input[QUERY], *v = n->input[VALUE];
    const int64_t heads = uk_attribute_int(n, "kv_num_heads", 0), all = uk_attribute_int(n, "q_num_heads", 0);

    if (q->rank != 3 || v->rank != 3 || heads < 1 || all < heads || all % heads || q->extent[2] % all ||
        v->extent[2] % heads || !uk_is_real(q->type))
        return uk_graph_fail(g, UK_REFUSED, n,
                             "query and value of shapes %s and %s do not fit q_num_heads=%" PRId64
                             " and kv_num_heads=%" PRId64,
                             uk_value_shape(q), uk_value_shape(v), all, heads);
    a->batch = q->extent[0];
    a->rows = q->extent[1];
    a->heads = heads;
    a->group = all / heads;
    a->size = q->extent[2] / all;
    a->value_size = v->extent[2] / heads;
    a->scale = uk_attribute_float(n, "scale", 0);
    if (a->scale == 0)
        a->scale = 1 / sqrt((double)a->size);
    const int64_t decays = a->has_decay && n->input[DECAY]->rank == 3 ? n->input[DECAY]->extent[2] : 0,
                  betas = a->has_correction && n->input[BETA]->rank == 3 ? n->input[BETA]->extent[2] : 0;
    enum uk_status s = check_input(g, n, a, KEY, heads * a->size);
    if (!s)
        s = check_input(g, n, a, VALUE, heads * a->value_size);
    if (!s && a->has_decay)
        s = check_input(g, n, a, DECAY, decays == heads ? heads : heads * a->size);
    if (!s && a->has_correction)
        s = check_input(g, n, a, BETA, betas == 1 ? 1 : heads);
    return s ? s : check_state(g, n, a);
}

/* Returns an input of `count` numbers per row as [rows, batch, heads, a, b]. */
static struct uk_graph_value *by_row(struct uk_expansion *e, const struct linear_attention *l,
                                     struct uk_graph_value *v, int64_t heads, int64_t a, int64_t b) {
    const int64_t perm[] = {1, 0, 2}, extent[] = {l->rows, l->batch, heads, a, b};

    return uk_expand_reshape(e, NULL, uk_expand_transpose(e, NULL, v, 3, perm), 5, extent);
}

static struct uk_graph_value *first_state(struct uk_expansion *e, const struct linear_attention *a) {
    const int64_t extent[] = {a->batch, a->heads, a->size, a->value_size};

    if (uk_node_input(e->n, PAST))
        return e->n->input[PAST];
    return uk_expand_to(e, NULL, "Expand", 2, uk_expand_real(e, e->n->input[QUERY]->type, 0),
                        uk_expand_ints(e, 4, extent));
}

/* An iteration. x: inputs by row, except the past; column: keys as columns. Returns the products of the
 * row's queries and the new state. */
static struct uk_graph_value *iterate(struct uk_expansion *e, const struct linear_attention *a,
                                      struct uk_graph_value *state, struct uk_graph_value *const x[INPUTS],
                                      struct uk_graph_value *column) {
    struct uk_graph_value *k = uk_expand_element(e, NULL, column, false),
                          *q = uk_expand_element(e, NULL, x[QUERY], false),
                          *v = uk_expand_element(e, NULL, x[VALUE], false), *kept = state, *seen = k;
    const int64_t row[] = {a->batch, a->heads, 1, a->size};

    if (a->has_decay) {
        struct uk_graph_value *decay =
            uk_expand_to(e, NULL, "Exp", 1, uk_expand_element(e, NULL, x[DECAY], false));
        kept = uk_expand_to(e, NULL, "Mul", 2, state, decay);
        seen = uk_expand_to(e, NULL, "Mul", 2, k, decay);
    }
    if (a->has_correction) {
        seen = uk_expand_to(e, NULL, "MatMul", 2, uk_expand_reshape(e, NULL, seen, 4, row), state);
        v = uk_expand_to(e, NULL, "Sub", 2, v, seen);
        v = uk_expand_to(e, NULL, "Mul", 2, uk_expand_element(e, NULL, x[BETA], false), v);
    }
    struct uk_graph_value *next =
        uk_expand_to(e, NULL, "Add", 2, kept, uk_expand_to(e, NULL, "Mul", 2, k, v));
    uk_expand_next(e, state, next);
    return uk_expand_to(e, NULL, "MatMul", 2, q, next);
}

enum uk_status uk_expand_linear_attention(struct uk_graph *g, struct uk_graph_node *n,
                                          struct uk_graph_node **first) {
    struct uk_expansion e = uk_expansion_begin(g, n, first);
    struct linear_attention a;
    enum uk_status s = UK_OK;

    for (int i = 0; i < INPUTS && !s; i++)
        s = i < PAST || uk_node_input(n, i) ? uk_need_input(g, n, i) : UK_OK;
    if (s || (s = read_rule(g, n, &a)) || (s = read_shapes(g, n, &a)))
        return s;
    struct uk_graph_value *present = n->outputs > 1 ? n->output[1] : NULL, *x[INPUTS] = {NULL},
                          *column = by_row(&e, &a, n->input[KEY], a.heads, a.size, 1);
    x[QUERY] = by_row(&e, &a, n->input[QUERY], a.heads, a.group, a.size);
    x[VALUE] = by_row(&e, &a, n->input[VALUE], a.heads, 1, a.value_size);
    if (a.has_decay)
        x[DECAY] = by_row(&e, &a, n->input[DECAY], a.heads, n->input[DECAY]->extent[2] / a.heads, 1);
    if (a.has_correction)
        x[BETA] = by_row(&e, &a, n->input[BETA], n->input[BETA]->extent[2], 1, 1);
    struct uk_graph_value *init = first_state(&e, &a);
    uk_expand_loop(&e, column, 0);
    struct uk_graph_value *state = uk_expand_state(&e, NULL, init),
                          *all = uk_expand_collect(&e, NULL, iterate(&e, &a, state, x, column), false);
    uk_expand_loop_end(&e);
    if (present && present->uses)
        uk_expand_final(&e, present, state);
    const int64_t perm[] = {1, 0, 2, 3, 4}, flat[] = {a.batch, a.rows, a.heads * a.group * a.value_size};
    all = uk_expand_to(&e, NULL, "Mul", 2, all, uk_expand_real(&e, n->input[QUERY]->type, a.scale));
    uk_expand_reshape(&e, n->output[0], uk_expand_transpose(&e, NULL, all, 5, perm), 3, flat);
    return uk_expansion_end(&e);
}
