/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replaces products with constant weights that a DequantizeLinear makes of 4 or 8 bits by BlockMatMul, which
 * reads the bits:
 *
 *     MatMul(x, DequantizeLinear(w, scale, zero))
 *     Gemm(x, DequantizeLinear(w, scale, zero), bias)      without factors; the bias is added by an Add
 *
 * The weights may be transposed, by a Transpose or by transB. Conditions:
 * - such products are the only readers of the weights, and read them in one orientation;
 * - scales are in blocks along the rows that a product sums over, or one for each column, or one;
 * - kernels have such blocks, and scales are far from overflow.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "rewrite/rewrite.h"

static bool is_type(const struct uk_graph_node *n, const char *type) {
    return n && !*n->domain && !strcmp(n->type, type);
}

/* ---- a product and its weights ---- */

static bool is_transpose(const struct uk_graph_node *n) {
    const struct uk_attribute *perm = is_type(n, "Transpose") ? uk_attribute_find(n, "perm") : NULL;

    return is_type(n, "Transpose") &&
           (!perm || (perm->kind == UK_A_INTS && perm->count == 2 && perm->ints[0] == 1 && !perm->ints[1]));
}

/* True for a constant that each row of a product with so many columns can be added to. */
static bool is_row(const struct uk_graph_value *v, int64_t columns) {
    return v->data && v->rank <= 2 && (uk_value_elements(v) == 1 || v->extent[v->rank - 1] == columns) &&
           (v->rank < 2 || v->extent[0] == 1);
}

static bool is_plain_gemm(const struct uk_graph_node *n) {
    return is_type(n, "Gemm") && !uk_attribute_int(n, "transA", 0) &&
           uk_attribute_float(n, "alpha", 1) == 1 && uk_attribute_float(n, "beta", 1) == 1;
}

/* True for scales or zero points that are one for all, or have these extents. */
static bool has_extents(const struct uk_graph_value *v, int rank, const int64_t *extent) {
    return uk_value_elements(v) == 1 ||
           (v->rank == rank && !memcmp(v->extent, extent, (size_t)rank * sizeof *extent));
}

/* Sets the block, at most all rows, and the strides of scales. dimension: that of the weights that the
 * product sums over. False: the scales are of another form. */
static bool find_blocks(const struct uk_graph_node *dq, int dimension, struct uk_weight_blocks *b) {
    const int64_t block = uk_attribute_int(dq, "block_size", 0), axis = uk_attribute_int(dq, "axis", 1);
    const int along = (int)(axis < 0 ? axis + 2 : axis);

    b->block = block > 0 && block < b->rows ? block : b->rows;
    if (block <= 0) {
        b->scale.column = uk_value_elements(b->scales) > 1;
        return !block && b->scales->rank <= 1 &&
               (!b->scale.column || (along == !dimension && has_extents(b->scales, 1, &b->columns)));
    }
    int64_t extent[2];
    extent[dimension] = uk_count_blocks(b);
    extent[!dimension] = b->columns;
    b->scale = (struct uk_block_strides){dimension ? 1 : extent[1], dimension ? extent[1] : 1};
    return along == dimension && b->scales->rank == 2 && !memcmp(b->scales->extent, extent, sizeof extent);
}

/* True if scales times the largest zero point are finite, as offsets are. */
static bool has_offsets_in_range(const struct uk_graph_value *scales) {
    for (int64_t i = 0; i < uk_value_elements(scales); i++)
        if (!(fabs(uk_constant_real(scales, i)) <= FLT_MAX / 256))
            return false;
    return true;
}

static bool fits_zeros(const struct uk_weight_blocks *b) {
    return !b->zeros || (b->zeros->data && b->zeros->type == b->weights->type &&
                         b->zeros->is_nibble == b->weights->is_nibble &&
                         uk_value_elements(b->zeros) == uk_value_elements(b->scales) &&
                         has_extents(b->zeros, b->scales->rank, b->scales->extent));
}

/* Reads the weights that the node makes. False: they are of another form, or not constant. */
static bool read_weights(const struct uk_graph_node *dq, int dimension, struct uk_weight_blocks *b) {
    const struct uk_graph_value *w = uk_constant_input(dq, 0), *scales = uk_constant_input(dq, 1);
    enum { GROUP = 4 }; /* bytes of a block that kernels take at a time */

    if (!w || w->rank != 2 || (w->type != UK_U8 && w->type != UK_I8) || uk_value_elements(w) < 1 || !scales ||
        scales->type != UK_F32)
        return false;
    *b = (struct uk_weight_blocks){.weights = w,
                                   .scales = scales,
                                   .zeros = uk_node_input(dq, 2),
                                   .has_middle = w->type == UK_I8,
                                   .is_signed = w->type == UK_I8,
                                   .bits = w->is_nibble ? 4 : 8,
                                   .rows = w->extent[dimension],
                                   .columns = w->extent[!dimension],
                                   .weight = {dimension ? 1 : w->extent[1], dimension ? w->extent[1] : 1}};
    if (!find_blocks(dq, dimension, b) || !fits_zeros(b) || !uk_is_block_supported(b->block, b->bits) ||
        b->block * b->bits % (8 * GROUP) || !has_offsets_in_range(scales))
        return false;
    b->zero = b->scale;
    return true;
}

/* Returns the DequantizeLinear that makes the node's weights, if the node is a product to replace, and reads
 * them; else NULL. */
static const struct uk_graph_node *weights_of(const struct uk_graph_node *n, struct uk_weight_blocks *b) {
    const bool is_gemm = is_plain_gemm(n);

    if ((!is_gemm && !is_type(n, "MatMul")) || n->inputs < 2 || !n->input[0] || !n->input[1] ||
        n->outputs != 1 || !n->output[0])
        return NULL;
    const struct uk_graph_node *from = n->input[1]->producer;
    const bool transposes = is_transpose(from) && from->inputs == 1 && from->input[0];
    const bool is_transposed = transposes != (is_gemm && uk_attribute_int(n, "transB", 0) != 0);
    if (transposes)
        from = from->input[0]->producer;
    return is_type(from, "DequantizeLinear") && from->outputs == 1 && read_weights(from, is_transposed, b) &&
                   (!is_gemm || !uk_node_input(n, 2) || is_row(n->input[2], b->columns))
               ? from
               : NULL;
}

/* ---- readers of weights ---- */

/* By the number of a value, the result of a DequantizeLinear or of the Transpose of one. */
struct reading {
    int products;                       /* uses by products to replace that are not replaced yet */
    int64_t rows;                       /* stride of the weights' rows in them */
    bool is_apart;                      /* two products read the weights in different orientations */
    struct uk_graph_value *laid_out[3]; /* BlockMatMul's inputs; the first is NULL if not made yet */
};

/* Counts the uses of weights, and those of transposed weights that are read by products alone. */
static void count_products(const struct uk_graph *g, struct reading *reading) {
    struct uk_weight_blocks b;

    for (const struct uk_graph_node *n = g->nodes; n; n = n->next) {
        const struct uk_graph_node *dq = weights_of(n, &b);
        if (!dq)
            continue;
        struct reading *r = &reading[dq->output[0]->number];
        r->is_apart |= r->rows && r->rows != b.weight.row;
        r->rows = b.weight.row;
        reading[n->input[1]->number].products++;
    }
    for (const struct uk_graph_node *n = g->nodes; n; n = n->next)
        if (is_transpose(n) && n->outputs == 1 && n->output[0] && n->inputs == 1 && n->input[0] &&
            reading[n->output[0]->number].products == n->output[0]->uses)
            reading[n->input[0]->number].products++;
}

static bool is_read_by_products(const struct uk_graph_value *v, const struct reading *reading) {
    return reading[v->number].products == v->uses;
}

/* ---- replacing ---- */

/* Makes the Gemm's bias the addend of an Add after it. */
static enum uk_status split_bias(struct uk_graph *g, struct uk_graph_node *n) {
    struct uk_graph_node *add = uk_graph_node_new(g, "Add", n->name, 2, 1);
    struct uk_graph_value *sum = uk_value_new(g, n->name);

    if (!add || !sum)
        return uk_graph_no_memory(g);
    add->input[0] = sum;
    add->input[1] = n->input[2];
    add->output[0] = n->output[0];
    add->output[0]->producer = add;
    n->output[0] = sum;
    sum->producer = n;
    sum->uses = 1;
    add->next = n->next;
    n->next = add;
    return UK_OK;
}

/* Makes the product a BlockMatMul. The uses of the old weights and their count in `reading` shrink together,
 * so that products that follow compare as this one. */
static enum uk_status replace(struct uk_graph *g, struct uk_graph_node *n, const struct uk_weight_blocks *b,
                              struct uk_graph_value *const laid_out[3], struct reading *reading) {
    const bool is_gemm = is_type(n, "Gemm");
    struct uk_graph_value **input = uk_alloc(&g->arena, 4 * sizeof *input);
    struct uk_attribute *attribute = uk_alloc(&g->arena, 3 * sizeof *attribute);
    enum uk_status s = input && attribute ? UK_OK : uk_graph_no_memory(g);

    if (!s && uk_node_input(n, 2))
        s = split_bias(g, n);
    if (s)
        return s;
    reading[n->input[1]->number].products--;
    n->input[1]->uses--;
    input[0] = n->input[0];
    for (int i = 0; i < 3; i++)
        if ((input[1 + i] = laid_out[i]))
            input[1 + i]->uses++;
    attribute[0] = (struct uk_attribute){.name = "rows", .kind = UK_A_INT, .i = b->rows};
    attribute[1] = (struct uk_attribute){.name = "rows_of_block", .kind = UK_A_INT, .i = b->block};
    attribute[2] = (struct uk_attribute){.name = "is_gemm", .kind = UK_A_INT, .i = is_gemm};
    n->input = input;
    n->inputs = 4;
    n->attribute = attribute;
    n->attributes = 3;
    n->type = "BlockMatMul";
    n->domain = UK_INTERNAL_DOMAIN;
    return UK_OK;
}

static enum uk_status rewrite(struct uk_graph *g, struct uk_graph_node *n, struct reading *reading) {
    struct uk_weight_blocks b;
    const struct uk_graph_node *dq = weights_of(n, &b);

    if (!dq || !is_read_by_products(n->input[1], reading))
        return UK_OK;
    struct reading *r = &reading[dq->output[0]->number];
    if (r->is_apart || !is_read_by_products(dq->output[0], reading))
        return UK_OK;
    enum uk_status s = r->laid_out[0] ? UK_OK : uk_lay_out_blocks(g, &b, r->laid_out);
    return s ? s : replace(g, n, &b, r->laid_out, reading);
}

enum uk_status uk_rewrite_weights(struct uk_graph *g) {
    struct reading *reading = calloc((size_t)g->value_count + 1, sizeof *reading);
    enum uk_status s = reading ? UK_OK : uk_graph_no_memory(g);

    if (!s)
        count_products(g, reading);
    for (struct uk_graph_node *n = g->nodes; n && !s; n = n->next)
        s = rewrite(g, n, reading);
    free(reading);
    return s;
}
