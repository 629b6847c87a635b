/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GroupQueryAttention of the domain com.microsoft, as ONNX Runtime computes it on CPUs. Inputs: q, k, v, past
 * key, past value, lengths, all keys, cosines, sines, positions, attention_bias, sinks; results: y, present
 * key, present value.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "layers/attention/attention.h"

struct group_query {
    struct uk_attention a;
    bool is_packed, has_past;  /* has_past: at the largest sizes */
    bool has_room;             /* the past's buffer has, for the rows */
    bool is_scattered;         /* the number of keys before the first row is computed, for each batch */
    int64_t past, room;        /* keys before the first row, if it is known; rows of the past's buffer */
    int64_t rows_of_present;   /* if is_scattered */
    struct uk_graph_value *at; /* the same: keys before the first row, [batch] */
};

static enum uk_status read_groups(struct uk_graph *g, const struct uk_graph_node *n, struct group_query *q) {
    const struct uk_graph_value *x = n->input[0], *k = uk_node_input(n, 1), *v = uk_node_input(n, 2);
    const int64_t heads = uk_attribute_int(n, "num_heads", 0),
                  groups = uk_attribute_int(n, "kv_num_heads", 0);
    const int64_t parts = k ? heads : heads + 2 * groups;
    bool fits = heads > 0 && groups > 0 && heads % groups == 0 && x->rank == 3 && x->extent[2] % parts == 0;
    const int64_t size = fits ? x->extent[2] / parts : 0;

    q->is_packed = !k;
    q->a = (struct uk_attention){.type = x->type,
                                 .batch = x->extent[0],
                                 .rows = x->extent[1],
                                 .keys = x->extent[1],
                                 .heads = heads,
                                 .kv_heads = groups,
                                 .size = size,
                                 .value_size = size};
    if (fits && k)
        fits = v && uk_has_shape(k, 3, x->extent[0], x->extent[1], groups * size, 0) &&
               uk_has_shape(v, 3, x->extent[0], x->extent[1], groups * size, 0);
    return fits ? UK_OK
                : uk_graph_fail(g, UK_REFUSED, n,
                                "query, key and value do not fit num_heads=%" PRId64
                                " and kv_num_heads=%" PRId64,
                                heads, groups);
}

/* Keys that come before the rows. All keys, a constant, and one batch give their number; else it is computed
 * from the lengths, unless there is no past. If all keys are not constant, the past is a buffer that has room
 * for them.
 */
static enum uk_status read_lengths(struct uk_graph *g, const struct uk_graph_node *n, struct group_query *q) {
    const struct uk_graph_value *all = uk_node_input(n, 6), *past = uk_node_input(n, 3),
                                *lengths = uk_node_input(n, 5);
    enum uk_status s = uk_need_input(g, n, 6);

    if (s)
        return s;
    const bool is_known = all->data && uk_value_elements(all) == 1;
    q->room = past ? past->extent[2] : 0;
    const int64_t keys = is_known ? uk_constant_int(all, 0) : past ? q->room : q->a.rows;
    if (past && ((s = uk_attention_check_past(g, n, &q->a, past, q->a.size)) ||
                 (s = uk_attention_check_past(g, n, &q->a, uk_node_input(n, 4), q->a.size))))
        return s;
    q->past = keys - q->a.rows;
    if (q->past < 0 || q->past > q->room)
        return uk_graph_fail(g, UK_REFUSED, n,
                             "total_sequence_length=%" PRId64 " does not fit %" PRId64
                             " rows after a past of %" PRId64,
                             keys, q->a.rows, q->room);
    q->has_past = uk_choose_form(g, n, HAS_PAST, q->past > 0);
    q->is_scattered =
        past && uk_choose_form(g, n, IS_SCATTERED, !is_known || (q->past > 0 && q->a.batch > 1));
    q->has_room = !uk_choose_form(g, n, HAS_NO_ROOM, keys > q->room);
    q->rows_of_present = keys > q->room ? keys : q->room;
    if (q->is_scattered && (!lengths || lengths->type != UK_I32 || uk_value_elements(lengths) != q->a.batch))
        return lengths ? uk_refuse_shape(g, n, "seqlens_k", lengths) : uk_need_input(g, n, 5);
    return UK_OK;
}

/* Computes, for each batch, the number of keys before its first row: length + 1 - rows, where length is its
 * element of seqlens_k; 0 for a padded batch, which has fewer keys than rows. */
static void compute_past(struct uk_expansion *e, struct group_query *q) {
    const int64_t flat[] = {q->a.batch}, other[] = {q->a.rows - 1}, zero[] = {0},
                  per_batch[] = {q->a.batch, 1, 1, 1};
    struct uk_graph_value *at = uk_expand_to(e, NULL, "Cast", 1, e->n->input[5]);

    uk_expand_int(e, "to", 7);
    at =
        uk_expand_to(e, NULL, "Sub", 2, uk_expand_reshape(e, NULL, at, 1, flat), uk_expand_ints(e, 1, other));
    q->at = uk_expand_to(e, NULL, "Max", 2, at, uk_expand_ints(e, 1, zero));
    q->a.lengths = uk_expand_reshape(
        e, NULL, uk_expand_to(e, NULL, "Add", 2, q->at, uk_expand_ints(e, 1, &q->a.rows)), 4, per_batch);
    q->a.adds_lengths = true;
}

/* Rotates [batch, rows, heads * size] by the positions of its rows. */
static struct uk_graph_value *rotated(struct uk_expansion *e, struct uk_graph_value *v, int64_t heads,
                                      struct uk_graph_value *positions) {
    const struct uk_graph_node *n = e->n;
    const int64_t part = 2 * n->input[7]->extent[n->input[7]->rank - 1];

    v = uk_expand_to(e, NULL, "RotaryEmbedding", 4, v, positions, n->input[7], n->input[8]);
    uk_expand_domain(e, "com.microsoft");
    uk_expand_int(e, "num_heads", heads);
    uk_expand_int(e, "rotary_embedding_dim", part);
    uk_expand_int(e, "interleaved", uk_attribute_int(n, "rotary_interleaved", 0));
    return v;
}

static struct uk_graph_value *positions_of(struct uk_expansion *e, const struct group_query *q) {
    const int64_t extent[] = {1, q->a.rows}, per_batch[] = {q->a.batch, 1}, one = 1,
                  begin = q->is_scattered ? 0 : q->past, end = begin + q->a.rows;

    if (uk_node_input(e->n, 9))
        return e->n->input[9];
    struct uk_graph_value *from = uk_expand_ints(e, 1, &begin), *to = uk_expand_ints(e, 1, &end),
                          *step = uk_expand_ints(e, 1, &one),
                          *rows = uk_expand_reshape(
                              e, NULL, uk_expand_to(e, NULL, "Range", 3, from, to, step), 2, extent);
    return q->is_scattered
               ? uk_expand_to(e, NULL, "Add", 2, rows, uk_expand_reshape(e, NULL, q->at, 2, per_batch))
               : rows;
}

/* Writes the rows of v to their places in the past's buffer, or in a larger one if it has no room for them.
 */
static struct uk_graph_value *scattered(struct uk_expansion *e, const struct group_query *q,
                                        struct uk_graph_value *v, int input, int output) {
    const int64_t pads[] = {0, 0, 0, 0, 0, 0, q->rows_of_present - q->room, 0};
    struct uk_graph_value *past = e->n->input[input];

    if (!q->has_room)
        past = uk_expand_to(e, NULL, "Pad", 2, past, uk_expand_ints(e, 8, pads));
    v = uk_expand_to(e, uk_used_output(e->n, output), "TensorScatter", 3, past, v, q->at);
    uk_expand_domain(e, UK_INTERNAL_DOMAIN); /* also in models of operator sets before 24 */
    uk_expand_int(e, "axis", 2);
    return v;
}

/* Keys or values with those of the past before them; the output keeps the rest of the past's buffer. */
static struct uk_graph_value *with_past(struct uk_expansion *e, const struct group_query *q,
                                        struct uk_graph_value *v, int input, int output) {
    struct uk_graph_value *past = uk_node_input(e->n, input), *to = uk_used_output(e->n, output);
    const int64_t all = q->past + q->a.rows;
    const bool has_rest = to && (q->room > all || (q->room == all && e->g->open_count));

    if (q->is_scattered)
        return scattered(e, q, v, input, output);
    if (q->has_past)
        past = uk_expand_slice(e, past, 2, 0, q->past);
    v = uk_expand_present(e, has_rest ? NULL : to, q->has_past ? past : NULL, v);
    if (has_rest)
        uk_expand_present(e, to, v, uk_expand_slice(e, e->n->input[input], 2, all, q->room));
    return v;
}

static enum uk_status make_group_heads(struct uk_expansion *e, struct group_query *q) {
    struct uk_attention *a = &q->a;
    const struct uk_graph_node *n = e->n;
    const int64_t own = a->heads * a->size, shared = a->kv_heads * a->size;
    struct uk_graph_value *part[] = {n->input[0], uk_node_input(n, 1), uk_node_input(n, 2)};

    if (q->is_packed) {
        part[0] = uk_expand_slice(e, n->input[0], 2, 0, own);
        part[1] = uk_expand_slice(e, n->input[0], 2, own, own + shared);
        part[2] = uk_expand_slice(e, n->input[0], 2, own + shared, own + 2 * shared);
    }
    if (q->is_scattered)
        compute_past(e, q);
    if (uk_attribute_int(n, "do_rotary", 0)) {
        if (!uk_node_input(n, 7) || !uk_node_input(n, 8))
            return uk_graph_fail(e->g, UK_REFUSED, n, "do_rotary=1 needs cos_cache and sin_cache");
        struct uk_graph_value *positions = positions_of(e, q);
        part[0] = rotated(e, part[0], a->heads, positions);
        part[1] = rotated(e, part[1], a->kv_heads, positions);
    }
    a->q = uk_expand_heads(e, part[0], a->batch, a->rows, a->heads, a->size);
    a->k = with_past(e, q, uk_expand_heads(e, part[1], a->batch, a->rows, a->kv_heads, a->size), 3, 1);
    a->v = with_past(e, q, uk_expand_heads(e, part[2], a->batch, a->rows, a->kv_heads, a->size), 4, 2);
    a->keys = q->is_scattered ? q->rows_of_present : q->past + a->rows;
    a->offset = q->is_scattered ? -a->rows : q->past;
    return UK_OK;
}

/* A sink is the score of a key without a value, per head; with smooth_softmax=1 it is 0. */
static enum uk_status read_sinks(struct uk_expansion *e, struct uk_attention *a) {
    const int64_t smooth = uk_attribute_int(e->n, "smooth_softmax", 0), one[] = {1, 1, 1, 1},
                  per_head[] = {1, a->heads, 1, 1};
    struct uk_graph_value *sinks = uk_node_input(e->n, 11);

    if (smooth != 0 && smooth != 1 && smooth != -1)
        return uk_graph_fail(e->g, UK_REFUSED, e->n, "smooth_softmax=%" PRId64 " is neither 0 nor 1", smooth);
    if (sinks && (sinks->type != a->type || !uk_has_shape(sinks, 1, a->heads, 0, 0, 0)))
        return uk_refuse_shape(e->g, e->n, "head_sink", sinks);
    if (sinks)
        a->sink = uk_expand_reshape(e, NULL, sinks, 4, per_head);
    else if (smooth == 1)
        a->sink = uk_expand_reshape(e, NULL, uk_expand_real(e, a->type, 0), 4, one);
    return UK_OK;
}

enum uk_status uk_expand_group_query_attention(struct uk_graph *g, struct uk_graph_node *n,
                                               struct uk_graph_node **first) {
    struct uk_expansion e = uk_expansion_begin(g, n, first);
    const int64_t window = uk_attribute_int(n, "local_window_size", -1);
    struct group_query q;
    enum uk_status s = uk_need_shapes(g, n);

    if (s || (s = uk_need_value(g, n, "qk_output", 0)) || (s = read_groups(g, n, &q)) ||
        (s = read_lengths(g, n, &q)))
        return s;
    if (uk_used_output(n, 3))
        return uk_graph_fail(g, UK_REFUSED, n, "its output '%s' is not supported", n->output[3]->name);
    uk_attention_defaults(n, &q.a);
    q.a.fill = -INFINITY;
    q.a.is_causal = true;
    q.a.softcap = uk_attribute_float(n, "softcap", 0);
    q.a.left = window > 0 ? window - 1 : -1; /* ONNX Runtime counts the row's own key */
    if ((s = make_group_heads(&e, &q)) || (s = uk_attention_bias(&e, &q.a, uk_node_input(n, 10))) ||
        (s = read_sinks(&e, &q.a)))
        return s;
    uk_expand_attention(&e, &q.a);
    return uk_expansion_end(&e);
}
