/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products with weights of four or eight bits, with a scale and a zero point per block of rows: MatMulNBits
 * of com.microsoft, and BlockMatMul, which it and rewrite/weights.c become. Weights keep their bits, in the
 * order in which kernels read them; zero points become offsets of f32.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "layers/layers.h"
#include "rewrite/rewrite.h"

static enum uk_status read(struct uk_graph *g, const struct uk_graph_node *n, struct uk_weight_blocks *b) {
    enum uk_status s = uk_need_inputs(g, n, 3);

    if (!s && uk_node_input(n, 4))
        s = uk_graph_fail(g, UK_REFUSED, n, "g_idx (input 4) is not supported");
    if (!s && uk_attribute_int(n, "weight_prepacked", 0))
        s = uk_graph_fail(g, UK_REFUSED, n, "weight_prepacked=1 is not supported");
    if (s)
        return s;
    *b = (struct uk_weight_blocks){.weights = n->input[1],
                                   .scales = n->input[2],
                                   .zeros = uk_node_input(n, 3),
                                   .has_middle = true,
                                   .bits = (int)uk_attribute_int(n, "bits", 4),
                                   .rows = uk_attribute_int(n, "K", 0),
                                   .columns = uk_attribute_int(n, "N", 0),
                                   .block = uk_attribute_int(n, "block_size", 0)};
    if (!uk_is_block_supported(b->block, b->bits) || b->rows < 1 || b->columns < 1 ||
        b->rows > UK_MAX_ELEMENTS || b->columns > UK_MAX_ELEMENTS / b->rows)
        return uk_graph_fail(g, UK_REFUSED, n,
                             "bits=%d, block_size=%" PRId64 ", K=%" PRId64 " and N=%" PRId64
                             " are not supported",
                             b->bits, b->block, b->rows, b->columns);
    const int64_t blocks = uk_count_blocks(b), bytes_of_zeros = (blocks * b->bits + 7) / 8;
    const bool has_fractions = b->zeros && b->zeros->type == UK_F32;
    const struct uk_graph_value *x = n->input[0];
    if (!b->weights->data || !b->scales->data || (b->zeros && !b->zeros->data))
        return uk_graph_fail(g, UK_REFUSED, n, "its weights, scales or zero points are not constants");
    if (x->rank < 1 || x->type != UK_F32 || x->extent[x->rank - 1] != b->rows || b->weights->type != UK_U8 ||
        uk_value_elements(b->weights) != b->columns * blocks * (b->block * b->bits / 8) ||
        b->scales->type != UK_F32 || uk_value_elements(b->scales) != b->columns * blocks ||
        (b->zeros && (has_fractions ? uk_value_elements(b->zeros) != b->columns * blocks
                                    : b->zeros->type != UK_U8 ||
                                          uk_value_elements(b->zeros) != bytes_of_zeros * b->columns)))
        return uk_graph_fail(g, UK_REFUSED, n,
                             "weights of shape %s, scales of %s or zero points do not fit K=%" PRId64
                             ", N=%" PRId64 " and an input of shape %s",
                             uk_value_shape(b->weights), uk_value_shape(b->scales), b->rows, b->columns,
                             uk_value_shape(x));
    b->is_packed = b->bits == 4;
    b->weight = (struct uk_block_strides){1, blocks * b->block};
    b->scale = (struct uk_block_strides){1, blocks};
    b->zero = (struct uk_block_strides){1, has_fractions ? blocks : bytes_of_zeros * 8 / b->bits};
    return UK_OK;
}

enum uk_status uk_expand_matmul_bits(struct uk_graph *g, struct uk_graph_node *n,
                                     struct uk_graph_node **first) {
    struct uk_expansion e = uk_expansion_begin(g, n, first);
    struct uk_graph_value *bias = uk_node_input(n, 5), *laid_out[3];
    struct uk_weight_blocks b;
    enum uk_status s = read(g, n, &b);

    if (!s)
        s = uk_lay_out_blocks(g, &b, laid_out);
    if (s)
        return s;
    struct uk_graph_value *y = uk_expand_to(&e, bias ? NULL : n->output[0], "BlockMatMul", 4, n->input[0],
                                            laid_out[0], laid_out[1], laid_out[2]);
    uk_expand_domain(&e, UK_INTERNAL_DOMAIN);
    uk_expand_int(&e, "rows", b.rows);
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
    const int64_t rows = uk_attribute_int(n, "rows", 0), columns = n->input[1]->extent[2];
    if (x->rank < 1 || x->type != UK_F32 || x->extent[x->rank - 1] != rows ||
        (uk_attribute_int(n, "is_gemm", 0) && x->rank != 2))
        return uk_graph_fail(g, UK_REFUSED, n,
                             "%s of shape %s cannot be multiplied by weights of shape %" PRId64 "x%" PRId64,
                             uk_type_name(x->type), uk_value_shape(x), rows, columns);
    memcpy(extent, x->extent, sizeof extent);
    extent[x->rank - 1] = columns;
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
