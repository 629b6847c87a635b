/* SPDX-License-Identifier: Apache-2.0 */
/* Attention as nodes, for the operators of ONNX and of com.microsoft. */
#ifndef UK_ATTENTION_H
#define UK_ATTENTION_H

#include "layers/layers.h"

/* Choices of forms: there is one row; there are keys before it; heads share keys or values; their rows are
 * those of one head; the number of keys before the first row is computed; the past's buffer has no room for
 * the rows. */
enum { ONE_ROW, HAS_PAST, IS_SHARED, IS_FOLDED, IS_SCATTERED, HAS_NO_ROOM };

struct uk_attention {
    /* [batch, heads, rows, size], [batch, kv_heads, keys, size], [batch, kv_heads, keys, value_size] */
    struct uk_graph_value *q, *k, *v;
    enum uk_type type;
    int64_t batch, heads, kv_heads, rows, keys, size, value_size;
    double scale, softcap; /* softcap 0: none */
    /* Broadcast to [batch, heads, rows, keys], or NULL: a mask, whose zeros are masked; an addend; the keys
     * that count, per batch, [batch, 1, 1, 1]. */
    struct uk_graph_value *mask, *addend, *lengths;
    double fill; /* added where mask or lengths mask; -inf: rows without any key give 0 */
    bool is_causal;
    int64_t offset;              /* keys before the first row */
    bool adds_lengths;           /* to the offset */
    int64_t left, right;         /* keys that a row sees before and after its own; -1: all */
    enum uk_type precision;      /* of the softmax */
    struct uk_graph_value *sink; /* [1, heads or 1, 1, 1], or NULL: the score of a key without a value */
    bool is_flat; /* the result is [batch, rows, heads * value_size], else [batch, heads, rows, value_size] */
    struct uk_graph_value *y, *scores; /* scores: NULL, or those after the product, softcap, mask, softmax */
    int64_t group;                     /* heads that are rows of one; set here */
    int stage;                         /* 0 to 3 */
};

/* Returns the value as [batch, heads, rows, size], from [batch, rows, heads * size]. */
struct uk_graph_value *uk_expand_heads(struct uk_expansion *e, struct uk_graph_value *v, int64_t batch,
                                       int64_t rows, int64_t heads, int64_t size);
/* Returns past and new keys or values, as `to` unless that is NULL. past: NULL or [batch, heads, rows, size].
 */
struct uk_graph_value *uk_expand_present(struct uk_expansion *e, struct uk_graph_value *to,
                                         struct uk_graph_value *past, struct uk_graph_value *v);
/* ---- contrib_attention.c: what operators of com.microsoft share ---- */

/* Refuse an attribute other than `wanted`; an input; the node unless its inputs have known shapes, input 0
 * among them. */
enum uk_status uk_need_value(struct uk_graph *g, const struct uk_graph_node *n, const char *name,
                             int64_t wanted);
enum uk_status uk_need_none(struct uk_graph *g, const struct uk_graph_node *n, int input, const char *name);
enum uk_status uk_need_shapes(struct uk_graph *g, const struct uk_graph_node *n);
/* True if the value has that rank and these extents; those beyond the rank do not count. */
bool uk_has_shape(const struct uk_graph_value *v, int rank, int64_t a, int64_t b, int64_t c, int64_t d);
enum uk_status uk_refuse_shape(struct uk_graph *g, const struct uk_graph_node *n, const char *what,
                               const struct uk_graph_value *v);
/* Sets the addend, unless bias is NULL; refuses one that does not fit. */
enum uk_status uk_attention_bias(struct uk_expansion *e, struct uk_attention *a, struct uk_graph_value *bias);
/* Refuses a past other than [batch, kv_heads, any, size]. */
enum uk_status uk_attention_check_past(struct uk_graph *g, const struct uk_graph_node *n,
                                       const struct uk_attention *a, const struct uk_graph_value *past,
                                       int64_t size);
/* Returns output i if another node, or the network, reads it; else NULL. */
struct uk_graph_value *uk_used_output(const struct uk_graph_node *n, int i);
/* Sets the scale, and what is the same in all of these operators. */
void uk_attention_defaults(const struct uk_graph_node *n, struct uk_attention *a);

/* ---- attention.c ---- */

/* Adds the nodes from q, k, v to y and scores; changes *a. */
void uk_expand_attention(struct uk_expansion *e, struct uk_attention *a);

#endif
