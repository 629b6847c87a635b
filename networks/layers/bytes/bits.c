/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MatMulNBits of com.microsoft: products with weights of four or eight bits, with a scale and a zero point
 * per block of rows. Weights become bytes at compile time, their zero points subtracted if those are
 * integers. A few rows are multiplied by them directly; for more, all weights are converted first, and
 * kernels multiply.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "layers/layers.h"

struct bits {
    const struct uk_graph_value *weights, *scales, *zeros;
    int64_t rows, columns, block, blocks; /* of the weights: K, N, rows per block, blocks per column */
    int bits;
    bool has_fractions; /* the zero points are floats */
};

static enum uk_status read(struct uk_graph *g, const struct uk_graph_node *n, struct bits *b) {
    enum uk_status s = uk_need_inputs(g, n, 3);

    if (!s && uk_node_input(n, 4))
        s = uk_graph_fail(g, UK_REFUSED, n, "g_idx (input 4) is not supported");
    if (!s && uk_attribute_int(n, "weight_prepacked", 0))
        s = uk_graph_fail(g, UK_REFUSED, n, "weight_prepacked=1 is not supported");
    if (s)
        return s;
    *b = (struct bits){.weights = n->input[1],
                       .scales = n->input[2],
                       .zeros = uk_node_input(n, 3),
                       .rows = uk_attribute_int(n, "K", 0),
                       .columns = uk_attribute_int(n, "N", 0),
                       .block = uk_attribute_int(n, "block_size", 0),
                       .bits = (int)uk_attribute_int(n, "bits", 4)};
    if ((b->bits != 4 && b->bits != 8) || b->block < 16 || b->block > 1 << 20 || b->rows < 1 ||
        b->columns < 1 || b->rows > UK_MAX_ELEMENTS || b->columns > UK_MAX_ELEMENTS / b->rows)
        return uk_graph_fail(g, UK_REFUSED, n,
                             "bits=%d, block_size=%" PRId64 ", K=%" PRId64 " and N=%" PRId64
                             " are not supported",
                             b->bits, b->block, b->rows, b->columns);
    b->blocks = (b->rows + b->block - 1) / b->block;
    b->has_fractions = b->zeros && b->zeros->type == UK_F32;
    const struct uk_graph_value *x = n->input[0];
    const int64_t packed = (b->blocks * b->bits + 7) / 8 * b->columns;
    if (!b->weights->data || !b->scales->data || (b->zeros && !b->zeros->data))
        return uk_graph_fail(g, UK_REFUSED, n, "its weights, scales or zero points are not constants");
    if (x->rank < 1 || x->type != UK_F32 || x->extent[x->rank - 1] != b->rows || b->weights->type != UK_U8 ||
        b->block * b->bits % 8 ||
        uk_value_elements(b->weights) != b->columns * b->blocks * (b->block * b->bits / 8) ||
        b->scales->type != UK_F32 || uk_value_elements(b->scales) != b->columns * b->blocks ||
        (b->zeros && (b->has_fractions ? uk_value_elements(b->zeros) != b->columns * b->blocks
                                       : b->zeros->type != UK_U8 || uk_value_elements(b->zeros) != packed)))
        return uk_graph_fail(g, UK_REFUSED, n,
                             "weights of shape %s, scales of %s or zero points do not fit K=%" PRId64
                             ", N=%" PRId64 " and an input of shape %s",
                             uk_value_shape(b->weights), uk_value_shape(b->scales), b->rows, b->columns,
                             uk_value_shape(x));
    return UK_OK;
}

static int element_at(const uint8_t *data, int64_t i, int bits) {
    return bits == 8 ? data[i] : data[i / 2] >> i % 2 * 4 & 15;
}

/* The zero point of a block as an integer; rows of packed zero points are whole bytes. */
static int zero_at(const struct bits *b, int64_t column, int64_t block) {
    const int64_t stride = (b->blocks * b->bits + 7) / 8;

    return b->zeros ? element_at((const uint8_t *)b->zeros->data + column * stride, block, b->bits)
                    : 1 << (b->bits - 1);
}

/* Eight bits less a zero point may not fit a byte; then zero points are kept, as floats are. */
static bool keeps_zeros(const struct bits *b) {
    return b->has_fractions || (b->bits == 8 && b->zeros);
}

static struct uk_graph_value *constant_of(struct uk_expansion *e, enum uk_type type, int64_t rows,
                                          int64_t columns, void **data) {
    const int64_t extent[] = {rows, columns};
    struct uk_graph_value *v = uk_value_new(e->g, e->n->name);

    if (!v || !(*data = uk_value_constant(e->g, v, type, 2, extent))) {
        e->failed = true;
        *data = NULL;
    }
    return v;
}

/* Weights as [K, N]. */
static struct uk_graph_value *weights(struct uk_expansion *e, const struct bits *b) {
    const uint8_t *from = b->weights->data;
    void *data;
    struct uk_graph_value *v = constant_of(e, keeps_zeros(b) ? UK_U8 : UK_I8, b->rows, b->columns, &data);

    for (int64_t n = 0; data && n < b->columns; n++)
        for (int64_t k = 0; k < b->rows; k++) {
            const int q = element_at(from + n * b->blocks * (b->block * b->bits / 8), k, b->bits);
            ((uint8_t *)data)[k * b->columns + n] =
                (uint8_t)(keeps_zeros(b) ? q : q - zero_at(b, n, k / b->block));
        }
    return v;
}

/* Scales, or zero points, as [blocks, N] of f32. */
static struct uk_graph_value *parameters(struct uk_expansion *e, const struct bits *b, bool zeros) {
    void *data;
    struct uk_graph_value *v = constant_of(e, UK_F32, b->blocks, b->columns, &data);

    for (int64_t n = 0; data && n < b->columns; n++)
        for (int64_t i = 0; i < b->blocks; i++)
            ((float *)data)[i * b->columns + n] = !zeros ? ((const float *)b->scales->data)[n * b->blocks + i]
                                                  : b->has_fractions
                                                      ? ((const float *)b->zeros->data)[n * b->blocks + i]
                                                      : (float)zero_at(b, n, i);
    return v;
}

enum uk_status uk_expand_matmul_bits(struct uk_graph *g, struct uk_graph_node *n,
                                     struct uk_graph_node **first) {
    struct uk_expansion e = uk_expansion_begin(g, n, first);
    struct uk_graph_value *bias = uk_node_input(n, 5);
    struct bits b;
    enum uk_status s = read(g, n, &b);

    if (s)
        return s;
    uk_allow_constant(g, uk_value_elements(b.weights) * 8 / b.bits); /* bytes, of what the file has in bits */
    struct uk_graph_value *w = weights(&e, &b), *scale = parameters(&e, &b, false),
                          *zero = keeps_zeros(&b) ? parameters(&e, &b, true) : NULL;
    if (e.failed)
        return g->status ? g->status : uk_graph_no_memory(g);
    struct uk_graph_value *y =
        uk_expand_to(&e, bias ? NULL : n->output[0], "BlockMatMul", 4, n->input[0], w, scale, zero);
    uk_expand_domain(&e, UK_INTERNAL_DOMAIN);
    uk_expand_int(&e, "rows_of_block", b.block);
    if (bias)
        uk_expand_to(&e, n->output[0], "Add", 2, y, bias);
    return uk_expansion_end(&e);
}

/* ---- BlockMatMul: x, weights [K, N], scales and zero points [blocks, N] ---- */

enum uk_status uk_infer_block_matmul(struct uk_graph *g, struct uk_graph_node *n) {
    int64_t extent[UK_RANK];
    enum uk_status s = uk_need_inputs(g, n, 3);

    if (s)
        return s;
    const struct uk_graph_value *x = n->input[0];
    memcpy(extent, x->extent, sizeof extent);
    extent[x->rank - 1] = n->input[1]->extent[1];
    return uk_set_output(g, n, 0, x->type, x->rank, extent);
}

enum uk_status uk_write_block_matmul(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const struct uk_graph_value *x = n->input[0];
    const int64_t block = uk_attribute_int(n, "rows_of_block", 1);
    const int last = x->rank - 1;
    char weight[160], outer[64] = "", column[16];
    size_t used = 0;

    (void)output;
    for (int d = 0; d < last; d++)
        used += (size_t)snprintf(outer + used, sizeof outer - used, "i%d, ", d);
    snprintf(column, sizeof column, "i%d", last);
    if (uk_node_input(n, 3))
        snprintf(weight, sizeof weight,
                 "(f32($1[k, %1$s]) - $3[k / %2$" PRId64 ", %1$s]) * $2[k / %2$" PRId64 ", %1$s]", column,
                 block);
    else
        snprintf(weight, sizeof weight, "f32($1[k, %1$s]) * $2[k / %2$" PRId64 ", %1$s]", column, block);
    uk_write_temp(w, n, "w", x->type, 2, n->input[1]->extent, NULL);
    uk_write(w, n, "@w[k, %s] = %s", column, weight);
    uk_write(w, n, "$y[%s%s] = sum(k) $0[%sk] * @w[k, %s]", outer, column, outer, column);
    return UK_OK;
}
