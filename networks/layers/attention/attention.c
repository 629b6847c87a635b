/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention: the products of rows with keys, scaled and masked, which is one layer; the softmax; the products
 * with values. Heads share keys and values in groups: head h reads those of h / group.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "layers/attention/attention.h"

/* ---- nodes ---- */

struct uk_graph_value *uk_expand_heads(struct uk_expansion *e, struct uk_graph_value *v, int64_t batch,
                                       int64_t rows, int64_t heads, int64_t size) {
    const int64_t extent[] = {batch, rows, heads, size}, perm[] = {0, 2, 1, 3};

    return uk_expand_transpose(e, NULL, uk_expand_reshape(e, NULL, v, 4, extent), 4, perm);
}

struct uk_graph_value *uk_expand_present(struct uk_expansion *e, struct uk_graph_value *to,
                                         struct uk_graph_value *past, struct uk_graph_value *v) {
    if (!past)
        return to ? uk_expand_to(e, to, "Identity", 1, v) : v;
    v = uk_expand_to(e, to, "Concat", 2, past, v);
    uk_expand_int(e, "axis", 2);
    return v;
}

enum { STAGE_PRODUCT, STAGE_SOFTCAP, STAGE_MASK, STAGE_SOFTMAX };

/* Adds the steps after `from` up to `to` as one node. */
static struct uk_graph_value *masked(struct uk_expansion *e, const struct uk_attention *a,
                                     struct uk_graph_value *v, int from, int to) {
    const bool masks = to >= STAGE_MASK;

    v = uk_expand_to(e, NULL, "Mask", 4, v, masks ? a->mask : NULL, masks ? a->lengths : NULL,
                     masks ? a->addend : NULL);
    uk_expand_domain(e, UK_INTERNAL_DOMAIN);
    uk_expand_float(e, "scale", from < STAGE_PRODUCT ? a->scale : 1);
    uk_expand_float(e, "softcap", from < STAGE_SOFTCAP && to >= STAGE_SOFTCAP ? a->softcap : 0);
    uk_expand_float(e, "fill", a->fill);
    uk_expand_int(e, "is_causal", masks && a->is_causal);
    uk_expand_int(e, "offset", a->offset);
    uk_expand_int(e, "adds_lengths", a->adds_lengths);
    uk_expand_int(e, "group", a->group);
    uk_expand_int(e, "left", masks ? a->left : -1);
    uk_expand_int(e, "right", masks ? a->right : -1);
    return v;
}

static struct uk_graph_value *cast(struct uk_expansion *e, struct uk_graph_value *v, enum uk_type type) {
    v = uk_expand_to(e, NULL, "Cast", 1, v);
    uk_expand_int(e, "to", type == UK_F64 ? 11 : type == UK_F16 ? 10 : type == UK_BF16 ? 16 : 1);
    return v;
}

static struct uk_graph_value *softmax(struct uk_expansion *e, const struct uk_attention *a,
                                      struct uk_graph_value *v) {
    const bool may_be_empty = isinf(a->fill) && (a->mask || a->lengths || a->addend || a->left >= 0 ||
                                                 a->right >= 0 || (a->is_causal && a->offset < 0));

    if (a->precision != a->type)
        v = cast(e, v, a->precision);
    v = uk_expand_to(e, NULL, may_be_empty || a->sink ? "MaskedSoftmax" : "Softmax", a->sink ? 2 : 1, v,
                     a->sink);
    if (may_be_empty || a->sink)
        uk_expand_domain(e, UK_INTERNAL_DOMAIN);
    else
        uk_expand_int(e, "axis", -1);
    return a->precision != a->type ? cast(e, v, a->type) : v;
}

/* With one row, the heads that share keys become the rows of one head: their products are one. */
static void fold_groups(struct uk_expansion *e, struct uk_attention *a) {
    const int64_t group = a->heads / a->kv_heads;
    struct uk_graph_value **masks[] = {&a->mask, &a->addend};

    for (int i = 0; i < 2; i++) {
        const struct uk_graph_value *m = *masks[i];
        if (m && m->rank > 2 && m->extent[m->rank - 3] != 1) {
            const int64_t extent[] = {m->rank == 4 ? m->extent[0] : 1, a->kv_heads, group,
                                      m->extent[m->rank - 1]};
            *masks[i] = uk_expand_reshape(e, NULL, *masks[i], 4, extent);
        }
    }
    const int64_t extent[] = {a->batch, a->kv_heads, group, a->size}, sinks[] = {1, a->kv_heads, group, 1};
    if (a->sink && a->sink->extent[1] != 1)
        a->sink = uk_expand_reshape(e, NULL, a->sink, 4, sinks);
    a->q = uk_expand_reshape(e, NULL, a->q, 4, extent);
    a->group = group;
}

static bool has_rows_or_heads(const struct uk_graph_value *mask) {
    return mask && ((mask->rank > 1 && mask->extent[mask->rank - 2] != 1) ||
                    (mask->rank > 2 && mask->extent[mask->rank - 3] != 1));
}

/* With open sizes a run may have one row or many: the heads of a group become the rows of one head, position
 * by position, unless scores are a result, a mask has rows or sinks differ by head. */
static bool can_fold(const struct uk_expansion *e, const struct uk_attention *a) {
    return e->g->open_count && a->heads > a->kv_heads && !a->scores && !has_rows_or_heads(a->mask) &&
           !has_rows_or_heads(a->addend) && !has_rows_or_heads(a->sink);
}

static void fold_rows(struct uk_expansion *e, struct uk_attention *a) {
    const int64_t group = a->heads / a->kv_heads, apart[] = {a->batch, a->kv_heads, group, a->rows, a->size},
                  perm[] = {0, 1, 3, 2, 4}, joined[] = {a->batch, a->kv_heads, a->rows * group, a->size};

    a->q = uk_expand_transpose(e, NULL, uk_expand_reshape(e, NULL, a->q, 5, apart), 5, perm);
    a->q = uk_expand_reshape(e, NULL, a->q, 4, joined);
    a->group = group;
}

/* Returns the heads of fold_rows() in the order of the result's dimensions. */
static struct uk_graph_value *unfolded(struct uk_expansion *e, const struct uk_attention *a,
                                       struct uk_graph_value *v) {
    const int64_t apart[] = {a->batch, a->kv_heads, a->rows, a->group, a->value_size},
                  flat[] = {0, 2, 1, 3, 4}, heads[] = {0, 1, 3, 2, 4};

    return uk_expand_transpose(e, NULL, uk_expand_reshape(e, NULL, v, 5, apart), 5,
                               a->is_flat ? flat : heads);
}

/* The product of the softmax with values, as y. */
static void weighted(struct uk_expansion *e, const struct uk_attention *a, struct uk_graph_value *v,
                     bool is_row) {
    const int64_t perm[] = {0, 2, 1, 3}, flat[] = {a->batch, a->rows, a->heads * a->value_size},
                  apart[] = {a->batch, a->heads, a->rows, a->value_size};

    v = uk_expand_to(e, a->is_flat || a->group > 1 ? NULL : a->y, "ValueMatMul", 2, v, a->v);
    uk_expand_domain(e, UK_INTERNAL_DOMAIN);
    if (a->group > 1 && !is_row)
        v = unfolded(e, a, v);
    else if (a->is_flat && !is_row)
        v = uk_expand_transpose(e, NULL, v, 4, perm);
    if (a->is_flat)
        uk_expand_reshape(e, a->y, v, 3, flat);
    else if (a->group > 1)
        uk_expand_reshape(e, a->y, v, 4, apart);
}

void uk_expand_attention(struct uk_expansion *e, struct uk_attention *a) {
    const int split = a->scores && a->stage < STAGE_MASK ? a->stage : -1;
    const int64_t scores[] = {a->batch, a->heads, a->rows, a->keys};
    struct uk_graph_value *v, *stage[4];

    const bool is_row = uk_choose_form(e->g, e->n, ONE_ROW, a->rows == 1),
               is_folded = uk_choose_form(e->g, e->n, IS_FOLDED, can_fold(e, a));
    a->group = 1;
    if (is_row && a->heads > a->kv_heads)
        fold_groups(e, a);
    else if (is_folded)
        fold_rows(e, a);
    v = uk_expand_to(e, NULL, "ScoreMatMul", 2, a->q, a->k);
    uk_expand_domain(e, UK_INTERNAL_DOMAIN);
    if (split >= 0)
        v = stage[split] = masked(e, a, v, -1, split);
    v = stage[STAGE_MASK] = masked(e, a, v, split, STAGE_MASK);
    v = stage[STAGE_SOFTMAX] = softmax(e, a, v);
    if (a->scores)
        uk_expand_reshape(e, a->scores, stage[a->stage], 4, scores);
    weighted(e, a, v, is_row);
}

/* ---- ScoreMatMul: q [batch, heads, rows, size], k [batch, groups, keys, size] ---- */

/* Refuses the node unless both inputs have four dimensions and one type, and groups divide heads. */
static enum uk_status check_heads(struct uk_graph *g, const struct uk_graph_node *n) {
    enum uk_status s = uk_need_input(g, n, 0);

    if (!s)
        s = uk_need_input(g, n, 1);
    if (s)
        return s;
    const struct uk_graph_value *a = n->input[0], *b = n->input[1];
    if (a->rank != 4 || b->rank != 4 || a->type != b->type || a->extent[0] != b->extent[0] || !b->extent[1] ||
        a->extent[1] % b->extent[1])
        return uk_graph_fail(g, UK_REFUSED, n, "heads of shapes %s and %s do not fit", uk_value_shape(a),
                             uk_value_shape(b));
    return UK_OK;
}

/* Writes the subscript of the group that head i1 belongs to. */
static const char *group_of(const struct uk_graph_node *n, char *text, size_t room) {
    const int64_t each = n->input[0]->extent[1] / n->input[1]->extent[1];

    snprintf(text, room, each == 1 ? "i1" : "i1 / %" PRId64, each);
    return text;
}

enum uk_status uk_infer_score_matmul(struct uk_graph *g, struct uk_graph_node *n) {
    enum uk_status s = check_heads(g, n);

    if (s)
        return s;
    const struct uk_graph_value *q = n->input[0], *k = n->input[1];
    const int64_t extent[] = {q->extent[0], q->extent[1], q->extent[2], k->extent[2]};
    return q->extent[3] == k->extent[3]
               ? uk_set_output(g, n, 0, q->type, 4, extent)
               : uk_graph_fail(g, UK_REFUSED, n, "heads of shapes %s and %s do not fit", uk_value_shape(q),
                               uk_value_shape(k));
}

enum uk_status uk_write_score_matmul(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    char group[40];

    (void)output;
    uk_write(w, n, "$y[i0, i1, i2, i3] = sum(k) $0[i0, i1, i2, k] * $1[i0, %s, i3, k]",
             group_of(n, group, sizeof group));
    return UK_OK;
}

/* ---- ValueMatMul: p [batch, heads, rows, keys], v [batch, groups, keys, size] ---- */

enum uk_status uk_infer_value_matmul(struct uk_graph *g, struct uk_graph_node *n) {
    enum uk_status s = check_heads(g, n);

    if (s)
        return s;
    const struct uk_graph_value *p = n->input[0], *v = n->input[1];
    const int64_t extent[] = {p->extent[0], p->extent[1], p->extent[2], v->extent[3]};
    return p->extent[3] == v->extent[2]
               ? uk_set_output(g, n, 0, p->type, 4, extent)
               : uk_graph_fail(g, UK_REFUSED, n, "heads of shapes %s and %s do not fit", uk_value_shape(p),
                               uk_value_shape(v));
}

enum uk_status uk_write_value_matmul(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    char group[40];

    (void)output;
    uk_write(w, n, "$y[i0, i1, i2, i3] = sum(k) $0[i0, i1, i2, k] * $1[i0, %s, k, i3]",
             group_of(n, group, sizeof group));
    return UK_OK;
}

/* ---- Mask: scores, mask, lengths, addend ---- */

/* Writes the condition on keys that the rows' positions set; "": none. */
static void write_positions(const struct uk_graph_node *n, char *text, size_t room) {
    const int64_t offset = uk_attribute_int(n, "offset", 0), left = uk_attribute_int(n, "left", -1),
                  right = uk_attribute_int(n, "right", -1);
    const int64_t group = uk_attribute_int(n, "group", 1); /* rows at one position */
    char row[80], position[32];
    size_t used = 0;

    snprintf(position, sizeof position, group == 1 ? "i2" : "i2 / %" PRId64, group);
    snprintf(row, sizeof row, "index(%s) + %s(%" PRId64 ")", position,
             uk_attribute_int(n, "adds_lengths", 0) ? "i64($2) + " : "", offset);
    *text = 0;
    if (uk_attribute_int(n, "is_causal", 0))
        used += (size_t)snprintf(text, room, "index(i3) <= %s", row);
    if (left >= 0)
        used += (size_t)snprintf(text + used, room - used, "%sindex(i3) + %" PRId64 " >= %s",
                                 used ? " and " : "", left, row);
    if (right >= 0)
        snprintf(text + used, room - used, "%sindex(i3) <= %s + %" PRId64, used ? " and " : "", row, right);
}

const char *uk_express_mask(struct uk_graph *g, const struct uk_graph_node *n) {
    const bool single = n->input[0]->type != UK_F64;
    const double scale = uk_attribute_float(n, "scale", 1), softcap = uk_attribute_float(n, "softcap", 0),
                 fill = uk_attribute_float(n, "fill", -INFINITY);
    const char *e = "$0", *cap = uk_number_text(softcap, single),
               *conditions[] = {uk_node_input(n, 1) ? "$1 > 0" : "",
                                uk_node_input(n, 2) ? "index(i3) < i64($2)" : "", NULL};
    char positions[480];

    if (scale != 1)
        e = uk_format(&g->arena, "%s * $0", uk_number_text(scale, single));
    if (e && softcap > 0)
        e = uk_format(&g->arena, "%s * tanh((%s) / %s)", cap, e, cap);
    if (e && uk_node_input(n, 3))
        e = uk_format(&g->arena, "(%s) + $3", e);
    write_positions(n, positions, sizeof positions);
    conditions[2] = positions;
    for (int i = 0; i < 3 && e; i++)
        if (*conditions[i] && (i == 2 || isinf(fill)))
            e = uk_format(&g->arena, "select(%s, %s, (-inf))", conditions[i], e);
        else if (*conditions[i])
            e = uk_format(&g->arena, "(%s) + select(%s, {x}(0), {x}(%s))", e, conditions[i],
                          uk_number_text(fill, single));
    return e;
}

/* The other inputs are broadcast to the scores, whose shape the result has. */
enum uk_status uk_infer_mask(struct uk_graph *g, struct uk_graph_node *n) {
    const struct uk_graph_value *x = uk_node_input(n, 0), *y = n->output[0];
    enum uk_status s = uk_infer_broadcast(g, n);

    if (!s && (y->rank != x->rank || memcmp(y->extent, x->extent, (size_t)x->rank * sizeof *x->extent)))
        s = uk_graph_fail(g, UK_REFUSED, n, "a mask does not fit scores of shape %s", uk_value_shape(x));
    return s;
}

/* ---- MaskedSoftmax: scores, sinks or none. Rows of -inf become 0 ---- */

enum uk_status uk_infer_masked_softmax(struct uk_graph *g, struct uk_graph_node *n) {
    enum uk_status s = uk_need_input(g, n, 0);

    if (!s && n->input[0]->rank != 4)
        s = uk_graph_fail(g, UK_REFUSED, n, "scores have %d dimensions", n->input[0]->rank);
    return s ? s : uk_set_output(g, n, 0, n->input[0]->type, 4, n->input[0]->extent);
}

/* A sink counts in the maximum @m and the sum @s. */
static void write_sinks(struct uk_writer *w, const struct uk_graph_node *n, const char *kept,
                        const char *all) {
    const struct uk_graph_value *sink = n->input[1];
    const char *head = sink->extent[1] == 1 ? "0" : "i1", *row = sink->extent[2] == 1 ? "0" : "i2";

    uk_write_temp(w, n, "t", sink->type, 3, n->input[0]->extent, NULL);
    uk_write_temp(w, n, "r", sink->type, 3, n->input[0]->extent, NULL);
    uk_write(w, n, "@t[%s] = max(i3) $0[%s]", kept, all);
    uk_write(w, n, "@m[%1$s] = max($1[0, %2$s, %3$s, 0], @t[%1$s])", kept, head, row);
    uk_write(w, n, "@e[%1$s] = exp($0[%1$s] - select(@m[%2$s] == (-inf), 0, @m[%2$s]))", all, kept);
    uk_write(w, n, "@r[%s] = sum(i3) @e[%s]", kept, all);
    uk_write(w, n,
             "@s[%1$s] = @r[%1$s] + exp($1[0, %2$s, %3$s, 0] - select(@m[%1$s] == (-inf), 0, @m[%1$s]))",
             kept, head, row);
}

enum uk_status uk_write_masked_softmax(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const struct uk_graph_value *x = n->input[0];
    const char *all = uk_iterators(4), *kept = uk_iterators(3);

    (void)output;
    uk_write_temp(w, n, "m", x->type, 3, x->extent, NULL);
    uk_write_temp(w, n, "s", x->type, 3, x->extent, NULL);
    uk_write_temp_like(w, n, "e", x->type);
    if (uk_node_input(n, 1)) {
        write_sinks(w, n, kept, all);
    } else {
        uk_write(w, n, "@m[%s] = max(i3) $0[%s]", kept, all);
        uk_write(w, n, "@e[%1$s] = exp($0[%1$s] - select(@m[%2$s] == (-inf), 0, @m[%2$s]))", all, kept);
        uk_write(w, n, "@s[%s] = sum(i3) @e[%s]", kept, all);
    }
    uk_write_result(w, n, "@e[%1$s] / select(@s[%2$s] == 0, 1, @s[%2$s])", all, kept);
    return UK_OK;
}

/* ---- Attention of ONNX: q, k, v, mask, past key, past value, lengths; y, present key, present value, scores
 * ---- */

/* The size of a head in an input of three or four dimensions; sets *rows. 0: heads do not divide the input.
 */
static int64_t size_of(const struct uk_graph_value *v, int64_t heads, int64_t *rows) {
    *rows = v->extent[v->rank == 4 ? 2 : 1];
    if (v->rank == 4)
        return v->extent[1] == heads ? v->extent[3] : 0;
    return v->extent[2] % heads ? 0 : v->extent[2] / heads;
}

static enum uk_status read_heads(struct uk_graph *g, const struct uk_graph_node *n, struct uk_attention *a) {
    const struct uk_graph_value *q = n->input[0], *k = n->input[1], *v = n->input[2];
    const bool flat = q->rank == 3;
    int64_t keys;

    if ((q->rank != 3 && q->rank != 4) || k->rank != q->rank || v->rank != q->rank || k->type != q->type ||
        v->type != q->type)
        return uk_graph_fail(g, UK_REFUSED, n, "inputs of shapes %s, %s and %s do not fit", uk_value_shape(q),
                             uk_value_shape(k), uk_value_shape(v));
    a->heads = flat ? uk_attribute_int(n, "q_num_heads", 0) : q->extent[1];
    a->kv_heads = flat ? uk_attribute_int(n, "kv_num_heads", 0) : k->extent[1];
    if (a->heads < 1 || a->kv_heads < 1 || a->heads % a->kv_heads)
        return uk_graph_fail(g, UK_REFUSED, n,
                             "q_num_heads=%" PRId64 " and kv_num_heads=%" PRId64 " do not fit", a->heads,
                             a->kv_heads);
    a->type = a->precision = q->type;
    a->batch = q->extent[0];
    a->size = size_of(q, a->heads, &a->rows);
    const int64_t size = size_of(k, a->kv_heads, &a->keys);
    a->value_size = size_of(v, a->kv_heads, &keys);
    if (!a->size || size != a->size || !a->value_size || keys != a->keys || k->extent[0] != a->batch ||
        v->extent[0] != a->batch)
        return uk_graph_fail(g, UK_REFUSED, n,
                             "inputs of shapes %s, %s and %s do not fit %" PRId64 " and %" PRId64 " heads",
                             uk_value_shape(q), uk_value_shape(k), uk_value_shape(v), a->heads, a->kv_heads);
    a->is_flat = flat;
    return UK_OK;
}

static enum uk_status read_attributes(struct uk_graph *g, const struct uk_graph_node *n,
                                      struct uk_attention *a) {
    const int64_t precision = uk_attribute_int(n, "softmax_precision", 0);

    a->scale = uk_attribute_float(n, "scale", 1 / sqrt((double)a->size));
    a->softcap = uk_attribute_float(n, "softcap", 0);
    a->fill = -INFINITY;
    a->is_causal = uk_attribute_int(n, "is_causal", 0);
    a->left = uk_attribute_int(n, "left_window_size", -1);
    a->right = uk_attribute_int(n, "right_window_size", -1);
    a->stage = (int)uk_attribute_int(n, "qk_matmul_output_mode", 0);
    if (precision)
        a->precision = precision == 1    ? UK_F32
                       : precision == 11 ? UK_F64
                       : precision == 10 ? UK_F16
                       : precision == 16 ? UK_BF16
                                         : UK_TYPES;
    if (a->precision == UK_TYPES || a->stage < 0 || a->stage > 3)
        return uk_graph_fail(g, UK_REFUSED, n,
                             "softmax_precision=%" PRId64 " or qk_matmul_output_mode=%d is not "
                             "supported",
                             precision, a->stage);
    return UK_OK;
}

/* Adds the past. Keys and values are [batch, heads, rows, size] from here on. */
static enum uk_status read_past(struct uk_expansion *e, struct uk_attention *a) {
    const struct uk_graph_node *n = e->n;
    struct uk_graph_value *past[] = {uk_node_input(n, 4), uk_node_input(n, 5)};
    const int64_t size[] = {a->size, a->value_size};
    enum uk_status s = UK_OK;

    for (int i = 0; i < 2 && (past[0] || past[1]) && !s; i++) {
        if ((s = uk_need_input(e->g, n, 4 + i)))
            break;
        const int64_t wanted[] = {a->batch, a->kv_heads, past[0]->extent[2], size[i]};
        if (past[i]->rank != 4 || past[i]->type != a->type || memcmp(past[i]->extent, wanted, sizeof wanted))
            s = uk_graph_fail(e->g, UK_REFUSED, n, "a past of shape %s does not fit",
                              uk_value_shape(past[i]));
    }
    if (s)
        return s;
    a->q = n->input[0];
    a->k = n->input[1];
    a->v = n->input[2];
    if (a->is_flat) {
        a->q = uk_expand_heads(e, a->q, a->batch, a->rows, a->heads, a->size);
        a->k = uk_expand_heads(e, a->k, a->batch, a->keys, a->kv_heads, a->size);
        a->v = uk_expand_heads(e, a->v, a->batch, a->keys, a->kv_heads, a->value_size);
    }
    a->k = uk_expand_present(e, n->outputs > 1 ? n->output[1] : NULL, past[0], a->k);
    a->v = uk_expand_present(e, n->outputs > 2 ? n->output[2] : NULL, past[1], a->v);
    a->offset = past[0] ? past[0]->extent[2] : 0;
    a->keys += a->offset;
    return UK_OK;
}

/* Pads a mask that has fewer keys: what it lacks is masked. */
static struct uk_graph_value *padded(struct uk_expansion *e, const struct uk_attention *a,
                                     struct uk_graph_value *mask) {
    const bool is_float = mask->type == a->type;
    int64_t pads[2 * UK_RANK] = {0};

    if (!mask->rank || mask->extent[mask->rank - 1] >= a->keys)
        return mask;
    pads[2 * mask->rank - 1] = a->keys - mask->extent[mask->rank - 1];
    struct uk_graph_value *list = uk_expand_ints(e, 2 * mask->rank, pads),
                          *value = is_float ? uk_expand_real(e, a->type, -INFINITY) : NULL;
    return uk_expand_to(e, NULL, "Pad", 3, mask, list, value);
}

static enum uk_status read_masks(struct uk_expansion *e, struct uk_attention *a) {
    struct uk_graph_value *mask = uk_node_input(e->n, 3), *lengths = uk_node_input(e->n, 6);
    const int64_t per_batch[] = {a->batch, 1, 1, 1};
    enum uk_status s = mask ? uk_need_input(e->g, e->n, 3) : UK_OK;

    if (!s && lengths)
        s = uk_need_input(e->g, e->n, 6);
    if (s)
        return s;
    if (mask && mask->type != a->type && !mask->is_boolean)
        return uk_graph_fail(e->g, UK_REFUSED, e->n, "a mask of type %s is not supported",
                             uk_type_name(mask->type));
    if (lengths &&
        (uk_value_elements(lengths) != a->batch || lengths->type != UK_I64 || uk_node_input(e->n, 4)))
        return uk_graph_fail(e->g, UK_REFUSED, e->n,
                             "nonpad_kv_seqlen of shape %s does not fit, or there is a past",
                             uk_value_shape(lengths));
    if (lengths) {
        a->lengths = uk_expand_reshape(e, NULL, lengths, 4, per_batch);
        a->offset = -a->rows;
        a->adds_lengths = true;
    }
    if (mask && mask->type == a->type)
        a->addend = padded(e, a, mask);
    else if (mask)
        a->mask = padded(e, a, mask);
    return UK_OK;
}

enum uk_status uk_expand_onnx_attention(struct uk_graph *g, struct uk_graph_node *n,
                                        struct uk_graph_node **first) {
    struct uk_expansion e = uk_expansion_begin(g, n, first);
    struct uk_attention a = {.y = n->output[0], .scores = n->outputs > 3 ? n->output[3] : NULL};
    enum uk_status s = uk_need_inputs(g, n, 3);

    if (s || (s = read_heads(g, n, &a)) || (s = read_attributes(g, n, &a)) || (s = read_past(&e, &a)) ||
        (s = read_masks(&e, &a)))
        return s;
    uk_expand_attention(&e, &a);
    return uk_expansion_end(&e);
}
