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
    uk_expand_int(&e, "by_bytes", uk_attribute_int(n, "accuracy_level", 0) == 4);
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

/* The parts of the statement of a product. */
struct product {
    const char *x;              /* its first operand, of whole blocks */
    char outer[64], column[16]; /* subscripts of rows, with a comma, and of columns */
    int64_t block;
    bool halves, offsets, by_bytes;
};

/* Half h of byte p: the terms of x and of the weights, of f32 or i32. */
static void put_factors(const struct product *p, int h, char x[96], char weight[64]) {
    const char *type = p->by_bytes ? "i32" : "f32";
    char place[64];

    snprintf(place, sizeof place, h ? "%s%" PRId64 " * t + p + %" PRId64 : "%s%" PRId64 " * t + p", p->outer,
             p->block, p->block / 2);
    snprintf(x, 96, p->by_bytes ? "i32(%s[%s])" : "%s[%s]", p->x, place);
    snprintf(weight, 64,
             !p->halves ? "%s($1[t, p, %s])"
             : h        ? "%s($1[t, p, %s] >> 4)"
                        : "%s(($1[t, p, %s] << 4) >> 4)",
             type, p->column);
}

/* The sum's value, in the form in which kernels state it. */
static void put_value(const struct product *p, char *text, size_t size) {
    const char *n = p->column;
    char x[2][96], w[2][64], second[256] = "", rows[128];

    for (int h = 0; h < 1 + p->halves; h++)
        put_factors(p, h, x[h], w[h]);
    if (p->by_bytes) {
        if (p->halves)
            snprintf(second, sizeof second, " + %s * %s", x[1], w[1]);
        snprintf(rows, sizeof rows, "@r[%st]", p->outer);
        if (p->offsets)
            snprintf(text, size, "(f32(%s * %s%s) * $2[t, %s] + f32(%s%s%s) * $3[t, %s]) * %s", x[0], w[0],
                     second, n, x[0], p->halves ? " + " : "", p->halves ? x[1] : "", n, rows);
        else
            snprintf(text, size, "f32(%s * %s%s) * $2[t, %s] * %s", x[0], w[0], second, n, rows);
    } else {
        const char *form = p->offsets ? "%s%s * (%s * $2[t, %s] + $3[t, %s])" : "%s%s * (%s * $2[t, %s])";

        if (p->halves)
            snprintf(second, sizeof second, form, " + ", x[1], w[1], n, n);
        snprintf(text, size, form, "", x[0], w[0], n, n);
        snprintf(text + strlen(text), size - strlen(text), "%s", second);
    }
}

/* Rounds each block of x to multiples of its largest magnitude / 127: bytes @q, and @r that quotient. */
static void round_to_bytes(struct uk_writer *w, const struct uk_graph_node *n, const struct product *p,
                           int rank, const int64_t *extent) {
    int64_t blocks[UK_RANK];

    memcpy(blocks, extent, sizeof blocks);
    blocks[rank - 1] = extent[rank - 1] / p->block;
    uk_write_temp(w, n, "m", UK_F32, rank, blocks, NULL);
    uk_write_temp(w, n, "r", UK_F32, rank, blocks, NULL);
    uk_write_temp(w, n, "q", UK_I8, rank, extent, NULL);
    uk_write(w, n, "@m[%st] = max(p where p < %" PRId64 ") abs(%s[%s%" PRId64 " * t + p])", p->outer,
             p->block, p->x, p->outer, p->block);
    uk_write(w, n, "@r[%st] = @m[%st] / 127", p->outer, p->outer);
    uk_write(w, n,
             "@q[%1$sk] = i8(round(select(@m[%1$sk / %2$" PRId64
             "] > 0, %3$s[%1$sk] * 127 / @m[%1$sk / %2$" PRId64 "], 0)))",
             p->outer, p->block, p->x);
}

enum uk_status uk_write_block_matmul(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const struct uk_graph_value *x = n->input[0], *weights = n->input[1];
    const int last = x->rank - 1;
    struct product p = {.x = "$0",
                        .block = uk_attribute_int(n, "rows_of_block", 1),
                        .offsets = uk_node_input(n, 3),
                        .by_bytes = uk_attribute_int(n, "by_bytes", 0)};
    int64_t extent[UK_RANK];
    char value[640];
    size_t used = 0;

    (void)output;
    p.halves = weights->extent[1] < p.block;
    for (int d = 0; d < last; d++)
        used += (size_t)snprintf(p.outer + used, sizeof p.outer - used, "i%d, ", d);
    snprintf(p.column, sizeof p.column, "i%d", last);
    memcpy(extent, x->extent, sizeof extent);
    extent[last] = weights->extent[0] * p.block;
    if (x->extent[last] < extent[last]) { /* the last block is a part of one */
        uk_write_temp(w, n, "x", x->type, x->rank, extent, NULL);
        uk_write(w, n, "@x[%sk] = pad($0[%sk], 0)", p.outer, p.outer);
        p.x = "@x";
    }
    if (p.by_bytes) {
        round_to_bytes(w, n, &p, x->rank, extent);
        p.x = "@q";
    }
    put_value(&p, value, sizeof value);
    uk_write(w, n, "$y[%s%s] = sum(t, p) %s", p.outer, p.column, value);
    return UK_OK;
}
