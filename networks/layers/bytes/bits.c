/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MatMulNBits of com.microsoft: products with weights of four or eight bits, with a scale and a zero point
 * per block of rows. Weights keep their bits, in the order in which kernels read them; zero points become
 * offsets of f32.
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

static struct uk_graph_value *constant_of(struct uk_expansion *e, enum uk_type type, int rank,
                                          const int64_t *extent, void **data) {
    struct uk_graph_value *v = uk_value_new(e->g, e->n->name);

    if (!v || !(*data = uk_value_constant(e->g, v, type, rank, extent))) {
        e->failed = true;
        *data = NULL;
    }
    return v;
}

/* Byte p of a block of a column, in the order of kernels: of 4 bits, terms p and p + block / 2. Without zero
 * points weights are signed: less by half of their range. */
static uint8_t byte_of(const struct bits *b, int64_t column, int64_t block, int64_t p) {
    const uint8_t *from =
        (const uint8_t *)b->weights->data + (column * b->blocks + block) * (b->block * b->bits / 8);
    const int half = b->zeros ? 0 : 1 << (b->bits - 1);

    if (b->bits == 8)
        return (uint8_t)(from[p] - half);
    const int low = element_at(from, p, 4) - half, high = element_at(from, p + b->block / 2, 4) - half;
    return (uint8_t)((low & 15) | (high & 15) << 4);
}

/* Weights as [blocks, bytes of a block, N]. */
static struct uk_graph_value *weights(struct uk_expansion *e, const struct bits *b) {
    const int64_t bytes = b->block * b->bits / 8, extent[] = {b->blocks, bytes, b->columns};
    void *data;
    struct uk_graph_value *v = constant_of(e, b->zeros ? UK_U8 : UK_I8, 3, extent, &data);

    for (int64_t i = 0; data && i < b->blocks; i++)
        for (int64_t p = 0; p < bytes; p++)
            for (int64_t n = 0; n < b->columns; n++)
                ((uint8_t *)data)[(i * bytes + p) * b->columns + n] = byte_of(b, n, i, p);
    return v;
}

/* Scales, or offsets -zero * scale, as [blocks, N] of f32. */
static struct uk_graph_value *parameters(struct uk_expansion *e, const struct bits *b, bool offsets) {
    const int64_t extent[] = {b->blocks, b->columns};
    void *data;
    struct uk_graph_value *v = constant_of(e, UK_F32, 2, extent, &data);

    for (int64_t n = 0; data && n < b->columns; n++)
        for (int64_t i = 0; i < b->blocks; i++) {
            const float scale = ((const float *)b->scales->data)[n * b->blocks + i],
                        zero = b->has_fractions ? ((const float *)b->zeros->data)[n * b->blocks + i]
                                                : (float)zero_at(b, n, i);

            ((float *)data)[i * b->columns + n] = offsets ? -zero * scale : scale;
        }
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
    uk_allow_constant(g, uk_value_elements(b.weights));
    struct uk_graph_value *w = weights(&e, &b), *scale = parameters(&e, &b, false),
                          *offset = b.zeros ? parameters(&e, &b, true) : NULL;
    if (e.failed)
        return g->status ? g->status : uk_graph_no_memory(g);
    struct uk_graph_value *y =
        uk_expand_to(&e, bias ? NULL : n->output[0], "BlockMatMul", 4, n->input[0], w, scale, offset);
    uk_expand_domain(&e, UK_INTERNAL_DOMAIN);
    uk_expand_int(&e, "rows_of_block", b.block);
    if (bias)
        uk_expand_to(&e, n->output[0], "Add", 2, y, bias);
    return uk_expansion_end(&e);
}

/* ---- BlockMatMul: x, weights [blocks, bytes, N], scales and offsets [blocks, N] ---- */

enum uk_status uk_infer_block_matmul(struct uk_graph *g, struct uk_graph_node *n) {
    int64_t extent[UK_RANK];
    enum uk_status s = uk_need_inputs(g, n, 3);

    if (s)
        return s;
    const struct uk_graph_value *x = n->input[0];
    memcpy(extent, x->extent, sizeof extent);
    extent[x->rank - 1] = n->input[1]->extent[2];
    return uk_set_output(g, n, 0, x->type, x->rank, extent);
}

/* Writes the term of half h of byte p: x times the weight, without its scale if there are no offsets. */
static void put_term(char *text, size_t size, const char *x, int64_t block, bool halves, int h, bool offsets,
                     const char *outer, const char *column) {
    char place[64], weight[128];

    snprintf(place, sizeof place, h ? "%s%" PRId64 " * t + p + %" PRId64 : "%s%" PRId64 " * t + p", outer,
             block, block / 2);
    snprintf(weight, sizeof weight,
             !halves ? "f32($1[t, p, %s])"
             : h     ? "f32($1[t, p, %s] >> 4)"
                     : "f32(($1[t, p, %s] << 4) >> 4)",
             column);
    snprintf(text, size, offsets ? "%1$s[%2$s] * (%3$s * $2[t, %4$s] + $3[t, %4$s])" : "%1$s[%2$s] * %3$s", x,
             place, weight, column);
}

enum uk_status uk_write_block_matmul(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const struct uk_graph_value *x = n->input[0], *weights = n->input[1];
    const int64_t block = uk_attribute_int(n, "rows_of_block", 1), terms = weights->extent[0] * block;
    const bool halves = weights->extent[1] < block, offsets = uk_node_input(n, 3);
    const int last = x->rank - 1;
    const char *from = "$0";
    char first[320], second[320] = "", outer[64] = "", column[16];
    size_t used = 0;

    (void)output;
    for (int d = 0; d < last; d++)
        used += (size_t)snprintf(outer + used, sizeof outer - used, "i%d, ", d);
    snprintf(column, sizeof column, "i%d", last);
    if (x->extent[last] < terms) { /* the last block is a part of one */
        int64_t extent[UK_RANK];

        memcpy(extent, x->extent, sizeof extent);
        extent[last] = terms;
        uk_write_temp(w, n, "x", x->type, x->rank, extent, NULL);
        uk_write(w, n, "@x[%sk] = pad($0[%sk], 0)", outer, outer);
        from = "@x";
    }
    put_term(first, sizeof first, from, block, halves, 0, offsets, outer, column);
    if (halves)
        put_term(second, sizeof second, from, block, halves, 1, offsets, outer, column);
    uk_write(w, n, "$y[%s%s] = sum(t, p) (%s%s%s)%s%s%s", outer, column, first, halves ? " + " : "", second,
             offsets ? "" : " * $2[t, ", offsets ? "" : column, offsets ? "" : "]");
    return UK_OK;
}
