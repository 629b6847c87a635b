/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products with keys and values that heads share, as exporters write them:
 *
 *     MatMul(q, Transpose(repeated(k)))          ScoreMatMul(q, k)
 *     MatMul(p, repeated(v))                     ValueMatMul(p, v)
 *     repeated(k): Unsqueeze, Expand, Reshape    [batch, groups, keys, size] to [batch, heads, keys, size]
 *
 * Those read keys and values once, and need no copies of them. So do products with a cache that is reshaped
 * for its transposition, or multiplied by a number before the product.
 */
#include <string.h>
#include "layers/attention/attention.h"

static struct uk_graph_node *made_by(const struct uk_graph_value *v, const char *type) {
    struct uk_graph_node *n = v && !v->data ? v->producer : NULL;

    while (n && !n->is_folded && !strcmp(n->type, "Identity"))
        n = n->input[0]->producer;
    return n && !n->is_folded && !*n->domain && !strcmp(n->type, type) ? n : NULL;
}

static bool has_extents(const struct uk_graph_value *v, int rank, const int64_t *extent) {
    return v->rank == rank && !memcmp(v->extent, extent, (size_t)rank * sizeof *extent);
}

/* Returns what the value repeats for the heads of a group: [batch, groups, rows, size]; NULL: v
 * repeats nothing. */
static struct uk_graph_value *shared_by_heads(const struct uk_graph_value *v) {
    const struct uk_graph_node *join = v->rank == 4 ? made_by(v, "Reshape") : NULL,
                               *repeat = join ? made_by(join->input[0], "Expand") : NULL,
                               *open = repeat ? made_by(repeat->input[0], "Unsqueeze") : NULL;

    if (!open)
        open = repeat ? made_by(repeat->input[0], "Reshape") : NULL;
    if (!open || open->input[0]->rank != 4)
        return NULL;
    const int64_t *x = open->input[0]->extent, *y = join->input[0]->extent;
    const int64_t apart[] = {x[0], x[1], 1, x[2], x[3]}, repeated[] = {x[0], x[1], y[2], x[2], x[3]},
                  joined[] = {x[0], x[1] * y[2], x[2], x[3]};
    return has_extents(open->output[0], 5, apart) && has_extents(join->input[0], 5, repeated) &&
                   has_extents(v, 4, joined)
               ? open->input[0]
               : NULL;
}

/* True if the value is an input, or made by appending or replacing rows: a copy of it would be one in each
 * run. */
static bool is_cache(const struct uk_graph_value *v) {
    static const char *const makers[] = {"Concat", "TensorScatter", "ScatterND", "ScatterElements"};

    while (v->producer && !strcmp(v->producer->type, "Identity"))
        v = v->producer->input[0];
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++)
        if (made_by(v, makers[i]))
            return true;
    return v->is_input;
}

/* Returns x if v is x times a number, which *factor is multiplied by; else v. */
static struct uk_graph_value *without_factor(struct uk_graph_value *v, double *factor) {
    const struct uk_graph_node *n = made_by(v, "Mul");

    for (int i = 0; n && i < 2; i++) {
        const struct uk_graph_value *c = n->input[i];
        if (c->data && uk_value_elements(c) == 1 && c->rank <= v->rank && n->input[!i]->rank == v->rank) {
            *factor *= uk_constant_real(c, 0);
            return n->input[!i];
        }
    }
    return v;
}

/* Returns the value whose last two dimensions, of four, a Transpose exchanged to make v, or a Transpose of
 * three dimensions between two Reshapes; NULL: v was made otherwise. */
static struct uk_graph_value *transposed(struct uk_graph *g, struct uk_graph_value *v, bool *is_reshaped) {
    const struct uk_graph_node *back = made_by(v, "Reshape"),
                               *t = made_by(back ? back->input[0] : v, "Transpose"),
                               *to = t && back ? made_by(t->input[0], "Reshape") : NULL;
    int perm[UK_RANK];

    if (!t || v->rank != 4 || uk_permutation(g, t, perm))
        return NULL;
    if (!back)
        return perm[0] == 0 && perm[1] == 1 && perm[2] == 3 ? t->input[0] : NULL;
    if (!to || to->input[0]->rank != 4)
        return NULL;
    const int64_t *x = to->input[0]->extent, flat[] = {x[0] * x[1], x[2], x[3]},
                  exchanged[] = {x[0], x[1], x[3], x[2]};
    *is_reshaped = true;
    return has_extents(t->input[0], 3, flat) && perm[0] == 0 && perm[1] == 2 && has_extents(v, 4, exchanged)
               ? to->input[0]
               : NULL;
}

struct product {
    bool is_score;
    struct uk_graph_value *of; /* keys or values: [batch, groups, keys, size] */
    double factor;
};

/* Finds what the product's right operand is made of. False: a MatMul reads it as well. */
static bool find(struct uk_graph *g, struct uk_graph_value *b, struct product *p) {
    struct uk_graph_value *v = without_factor(b, &p->factor), *shared;
    bool is_reshaped = false;
    struct uk_graph_value *k = transposed(g, v, &is_reshaped);

    p->is_score = k;
    v = k ? without_factor(k, &p->factor) : v;
    shared = shared_by_heads(v);
    p->of = shared ? shared : v;
    return shared || ((is_reshaped || (k && p->factor != 1)) && is_cache(v));
}

/* Adds the product. With one row, or with open sizes, by which there may be one, the rows of the heads of a
 * group become those of one head. */
static void add_product(struct uk_expansion *e, const struct product *p, struct uk_graph_value *q) {
    struct uk_graph_value *y = e->n->output[0];
    const int64_t *extent = q->extent, *of = p->of->extent, columns = of[p->is_score ? 2 : 3];
    const int64_t group = of[1] ? extent[1] / of[1] : 1;
    const int64_t rows[] = {extent[0], of[1], group * extent[2], extent[3]},
                  result[] = {extent[0], extent[1], extent[2], columns};
    const bool is_row = uk_choose_form(e->g, e->n, ONE_ROW, extent[2] == 1),
               is_folded = group > 1 && (is_row || e->g->open_count);

    if (p->factor != 1)
        q = uk_expand_to(e, NULL, "Mul", 2, q, uk_expand_real(e, q->type, p->factor));
    if (is_folded)
        q = uk_expand_reshape(e, NULL, q, 4, rows);
    q = uk_expand_to(e, is_folded ? NULL : y, p->is_score ? "ScoreMatMul" : "ValueMatMul", 2, q, p->of);
    uk_expand_domain(e, UK_INTERNAL_DOMAIN);
    if (is_folded)
        uk_expand_reshape(e, y, q, 4, result);
}

enum uk_status uk_expand_matmul(struct uk_graph *g, struct uk_graph_node *n, struct uk_graph_node **first) {
    struct uk_graph_value *a = uk_node_input(n, 0), *b = uk_node_input(n, 1);
    struct uk_expansion e = uk_expansion_begin(g, n, first);
    struct product p = {.factor = 1};

    if (!a || !b || a->rank != 4 || b->rank != 4 || a->extent[0] != b->extent[0] ||
        a->extent[1] != b->extent[1] || a->type != b->type || (a->type != UK_F32 && a->type != UK_F64))
        return UK_OK;
    const bool found = find(g, b, &p);
    if (!uk_choose_form(g, n, IS_SHARED, found) || !found)
        return UK_OK;
    add_product(&e, &p, a);
    return uk_expansion_end(&e);
}
