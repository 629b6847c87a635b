/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention and MultiHeadAttention of the domain com.microsoft, as ONNX Runtime computes them on CPUs. Masks
 * add a number, by default -10000, so that rows without any key are means of all values.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "layers/attention/attention.h"

/* ---- what the operators share ---- */

enum uk_status uk_need_value(struct uk_graph *g, const struct uk_graph_node *n, const char *name,
                             int64_t wanted) {
    const int64_t v = uk_attribute_int(n, name, wanted);

    return v == wanted ? UK_OK : uk_graph_fail(g, UK_REFUSED, n, "%s=%" PRId64 " is not supported", name, v);
}

enum uk_status uk_need_none(struct uk_graph *g, const struct uk_graph_node *n, int input, const char *name) {
    return uk_node_input(n, input)
               ? uk_graph_fail(g, UK_REFUSED, n, "%s (input %d) is not supported", name, input)
               : UK_OK;
}

enum uk_status uk_need_shapes(struct uk_graph *g, const struct uk_graph_node *n) {
    enum uk_status s = uk_need_input(g, n, 0);

    for (int i = 1; i < n->inputs && !s; i++)
        s = n->input[i] ? uk_need_input(g, n, i) : UK_OK;
    return s;
}

bool uk_has_shape(const struct uk_graph_value *v, int rank, int64_t a, int64_t b, int64_t c, int64_t d) {
    const int64_t extent[] = {a, b, c, d};

    return v->rank == rank && !memcmp(v->extent, extent, (size_t)rank * sizeof *extent);
}

enum uk_status uk_refuse_shape(struct uk_graph *g, const struct uk_graph_node *n, const char *what,
                               const struct uk_graph_value *v) {
    return uk_graph_fail(g, UK_REFUSED, n, "%s of shape %s is not supported", what, uk_value_shape(v));
}

/* Reads a mask of integers: lengths [batch], or a mask [batch, keys] or [batch, rows, keys]. */
static enum uk_status read_mask(struct uk_expansion *e, struct uk_attention *a, struct uk_graph_value *mask) {
    const int64_t flat[] = {a->batch, 1, 1, a->keys}, full[] = {a->batch, 1, a->rows, a->keys},
                  lengths[] = {a->batch, 1, 1, 1};

    a->fill = uk_attribute_float(e->n, "mask_filter_value", -10000);
    if (!mask)
        return UK_OK;
    if (mask->type != UK_I32)
        return uk_graph_fail(e->g, UK_REFUSED, e->n, "a mask of type %s is not supported",
                             uk_type_name(mask->type));
    if (uk_has_shape(mask, 1, a->batch, 0, 0, 0))
        a->lengths = uk_expand_reshape(e, NULL, mask, 4, lengths);
    else if (uk_has_shape(mask, 2, a->batch, a->keys, 0, 0))
        a->mask = uk_expand_reshape(e, NULL, mask, 4, flat);
    else if (uk_has_shape(mask, 3, a->batch, a->rows, a->keys, 0))
        a->mask = uk_expand_reshape(e, NULL, mask, 4, full);
    else
        return uk_refuse_shape(e->g, e->n, "a mask", mask);
    return UK_OK;
}

enum uk_status uk_attention_bias(struct uk_expansion *e, struct uk_attention *a,
                                 struct uk_graph_value *bias) {
    const int64_t extent[] = {a->batch, a->heads, a->rows, a->keys};

    for (int d = 0; bias && d < 4; d++)
        if (bias->rank != 4 || bias->type != a->type ||
            (bias->extent[d] != extent[d] && (d > 1 || bias->extent[d] != 1)))
            return uk_refuse_shape(e->g, e->n, "attention_bias", bias);
    a->addend = bias;
    return UK_OK;
}

enum uk_status uk_attention_check_past(struct uk_graph *g, const struct uk_graph_node *n,
                                       const struct uk_attention *a, const struct uk_graph_value *past,
                                       int64_t size) {
    if (!past || past->rank != 4 || past->type != a->type ||
        !uk_has_shape(past, 4, a->batch, a->kv_heads, past->extent[2], size))
        return past ? uk_refuse_shape(g, n, "a past", past)
                    : uk_graph_fail(g, UK_REFUSED, n, "a past needs keys and values");
    return UK_OK;
}

struct uk_graph_value *uk_used_output(const struct uk_graph_node *n, int i) {
    return i < n->outputs && n->output[i] && n->output[i]->uses ? n->output[i] : NULL;
}

void uk_attention_defaults(const struct uk_graph_node *n, struct uk_attention *a) {
    const double scale = uk_attribute_float(n, "scale", 0);

    a->scale = scale ? scale : 1 / sqrt((double)a->size);
    a->precision = a->type;
    a->left = a->right = -1;
    a->is_flat = true;
    a->y = n->output[0];
}

/* ---- Attention: x, weights, bias, mask, past, attention_bias; y, present ---- */

/* Products of x with the columns of weights for queries, keys or values, as heads. */
static struct uk_graph_value *projected(struct uk_expansion *e, const struct uk_attention *a, int64_t from,
                                        int64_t size) {
    struct uk_graph_value *x = e->n->input[0], *bias = uk_node_input(e->n, 2),
                          *w = uk_expand_slice(e, e->n->input[1], 1, from, from + size * a->heads);

    x = uk_expand_to(e, NULL, "MatMul", 2, x, w);
    if (bias)
        x = uk_expand_to(e, NULL, "Add", 2, x, uk_expand_slice(e, bias, 0, from, from + size * a->heads));
    return uk_expand_heads(e, x, a->batch, a->rows, a->heads, size);
}

static enum uk_status read_projection(struct uk_graph *g, const struct uk_graph_node *n,
                                      struct uk_attention *a) {
    const struct uk_graph_value *x = n->input[0], *w = n->input[1], *bias = uk_node_input(n, 2);
    const struct uk_attribute *sizes = uk_attribute_find(n, "qkv_hidden_sizes");
    const int64_t all = w->rank == 2 ? w->extent[1] : 0, heads = uk_attribute_int(n, "num_heads", 0);
    const int64_t q = sizes && sizes->count == 3 ? sizes->ints[0] : all / 3,
                  k = sizes && sizes->count == 3 ? sizes->ints[1] : all / 3,
                  v = sizes && sizes->count == 3 ? sizes->ints[2] : all / 3;

    if (x->rank != 3 || heads < 1 || q != k || q < heads || q % heads || v < heads || v % heads ||
        q + k + v != all || w->extent[0] != x->extent[2] || (bias && !uk_has_shape(bias, 1, all, 0, 0, 0)))
        return uk_graph_fail(g, UK_REFUSED, n,
                             "weights of shape %s do not fit an input of shape %s and num_heads=%" PRId64,
                             uk_value_shape(w), uk_value_shape(x), heads);
    *a = (struct uk_attention){.type = x->type,
                               .batch = x->extent[0],
                               .rows = x->extent[1],
                               .keys = x->extent[1],
                               .heads = heads,
                               .kv_heads = heads,
                               .size = q / heads,
                               .value_size = v / heads};
    return UK_OK;
}

/* Adds the past, [2, batch, heads, rows, size], and makes the present. */
static enum uk_status add_past(struct uk_expansion *e, struct uk_attention *a) {
    struct uk_graph_value *past = uk_node_input(e->n, 4), *present = uk_used_output(e->n, 1),
                          *part[] = {a->k, a->v};
    const int64_t before = past && past->rank == 5 ? past->extent[3] : 0;
    const int64_t each[] = {a->batch, a->heads, before, a->size},
                  one[] = {1, a->batch, a->heads, before + a->keys, a->size};

    if ((past || present) && a->value_size != a->size)
        return uk_graph_fail(e->g, UK_REFUSED, e->n, "a past with values of another size is not supported");
    if (past && (past->rank != 5 || past->type != a->type || past->extent[0] != 2 ||
                 memcmp(past->extent + 1, each, sizeof each)))
        return uk_refuse_shape(e->g, e->n, "a past", past);
    for (int i = 0; i < 2 && past; i++)
        part[i] = uk_expand_present(
            e, NULL, uk_expand_reshape(e, NULL, uk_expand_slice(e, past, 0, i, i + 1), 4, each), part[i]);
    a->k = part[0];
    a->v = part[1];
    a->offset = before;
    a->keys += before;
    if (present) {
        uk_expand_to(e, present, "Concat", 2, uk_expand_reshape(e, NULL, a->k, 5, one),
                     uk_expand_reshape(e, NULL, a->v, 5, one));
        uk_expand_int(e, "axis", 0);
    }
    return UK_OK;
}

enum uk_status uk_expand_projected_attention(struct uk_graph *g, struct uk_graph_node *n,
                                             struct uk_graph_node **first) {
    struct uk_expansion e = uk_expansion_begin(g, n, first);
    struct uk_attention a;
    enum uk_status s = uk_need_shapes(g, n);

    if (!s)
        s = uk_need_input(g, n, 1);
    if (s || (s = uk_need_value(g, n, "do_rotary", 0)) ||
        (s = uk_need_value(g, n, "past_present_share_buffer", 0)) ||
        (s = uk_need_none(g, n, 6, "past_sequence_length")) || (s = read_projection(g, n, &a)))
        return s;
    uk_attention_defaults(n, &a);
    a.is_causal = uk_attribute_int(n, "unidirectional", 0);
    const int64_t hidden = a.size * a.heads;
    a.q = projected(&e, &a, 0, a.size);
    a.k = projected(&e, &a, hidden, a.size);
    a.v = projected(&e, &a, 2 * hidden, a.value_size);
    if ((s = add_past(&e, &a)) || (s = read_mask(&e, &a, uk_node_input(n, 3))) ||
        (s = uk_attention_bias(&e, &a, uk_node_input(n, 5))))
        return s;
    uk_expand_attention(&e, &a);
    return uk_expansion_end(&e);
}

/* ---- MultiHeadAttention: q, k, v, bias, mask, attention_bias, past key, past value; y, present key and
 * value ---- */

/* Part i of the bias added to [batch, rows, hidden]. */
static struct uk_graph_value *biased(struct uk_expansion *e, struct uk_graph_value *v, int64_t from,
                                     int64_t count) {
    struct uk_graph_value *bias = uk_node_input(e->n, 3);

    return bias ? uk_expand_to(e, NULL, "Add", 2, v, uk_expand_slice(e, bias, 0, from, from + count)) : v;
}

/* Reads the shapes of query, key and value. Keys and values may be heads already; ONNX Runtime has no other
 * packed forms on CPUs. */
static enum uk_status read_inputs(struct uk_graph *g, const struct uk_graph_node *n, struct uk_attention *a) {
    const struct uk_graph_value *q = n->input[0], *k = uk_node_input(n, 1), *v = uk_node_input(n, 2),
                                *bias = uk_node_input(n, 3);
    const int64_t heads = uk_attribute_int(n, "num_heads", 0), hidden = q->extent[2], batch = q->extent[0];
    bool fits = heads > 0 && q->rank == 3 && k && v && k->rank == v->rank && hidden % heads == 0;

    if (!fits)
        return uk_graph_fail(g, UK_REFUSED, n,
                             "num_heads=%" PRId64 " does not fit, or packed inputs, which are not "
                             "supported",
                             heads);
    const bool flat = k->rank == 3;
    const int64_t keys = k->extent[flat ? 1 : 2], size = hidden / heads, last = v->extent[v->rank - 1];
    if (flat)
        fits = uk_has_shape(k, 3, batch, keys, hidden, 0) && uk_has_shape(v, 3, batch, keys, last, 0) &&
               last % heads == 0;
    else
        fits = uk_has_shape(k, 4, batch, heads, keys, size) && uk_has_shape(v, 4, batch, heads, keys, last) &&
               !bias;
    *a = (struct uk_attention){.type = q->type,
                               .batch = batch,
                               .rows = q->extent[1],
                               .keys = keys,
                               .heads = heads,
                               .kv_heads = heads,
                               .size = size,
                               .value_size = flat ? last / heads : last};
    if (fits && bias)
        fits = uk_has_shape(bias, 1, heads * (2 * size + a->value_size), 0, 0, 0);
    return fits ? UK_OK
                : uk_graph_fail(g, UK_REFUSED, n, "query, key, value and bias do not fit num_heads=%" PRId64,
                                heads);
}

static void make_heads(struct uk_expansion *e, struct uk_attention *a) {
    struct uk_graph_value *q = e->n->input[0], *k = e->n->input[1], *v = e->n->input[2];
    const int64_t hidden = a->heads * a->size;

    a->q = uk_expand_heads(e, biased(e, q, 0, hidden), a->batch, a->rows, a->heads, a->size);
    a->k = k;
    a->v = v;
    if (k->rank == 3) {
        a->k = uk_expand_heads(e, biased(e, k, hidden, hidden), a->batch, a->keys, a->heads, a->size);
        a->v = uk_expand_heads(e, biased(e, v, 2 * hidden, a->heads * a->value_size), a->batch, a->keys,
                               a->heads, a->value_size);
    }
}

enum uk_status uk_expand_multi_head_attention(struct uk_graph *g, struct uk_graph_node *n,
                                              struct uk_graph_node **first) {
    struct uk_expansion e = uk_expansion_begin(g, n, first);
    struct uk_graph_value *past_key = uk_node_input(n, 6), *past_value = uk_node_input(n, 7);
    struct uk_attention a;
    enum uk_status s = uk_need_shapes(g, n);

    if (s || (s = uk_need_none(g, n, 8, "past_sequence_length")) ||
        (s = uk_need_none(g, n, 9, "cache_indirection")) || (s = read_inputs(g, n, &a)))
        return s;
    if ((past_key || past_value) && ((s = uk_attention_check_past(g, n, &a, past_key, a.size)) ||
                                     (s = uk_attention_check_past(g, n, &a, past_value, a.value_size))))
        return s;
    if (uk_used_output(n, 3))
        return uk_graph_fail(g, UK_REFUSED, n, "its output '%s' is not supported", n->output[3]->name);
    uk_attention_defaults(n, &a);
    a.is_causal = uk_attribute_int(n, "unidirectional", 0);
    make_heads(&e, &a);
    a.k = uk_expand_present(&e, uk_used_output(n, 1), past_key, a.k);
    a.v = uk_expand_present(&e, uk_used_output(n, 2), past_value, a.v);
    a.offset = past_key ? past_key->extent[2] : 0;
    a.keys += a.offset;
    if ((s = read_mask(&e, &a, uk_node_input(n, 4))) || (s = uk_attention_bias(&e, &a, uk_node_input(n, 5))))
        return s;
    uk_expand_attention(&e, &a);
    return uk_expansion_end(&e);
}
