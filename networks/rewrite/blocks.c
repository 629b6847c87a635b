/* SPDX-License-Identifier: Apache-2.0 */
/* Lays out weights of 4 and 8 bits as kernels read them. */
#include "rewrite/rewrite.h"

enum { LEAST_BLOCK = 16, MOST_BLOCK = 1 << 20 };

bool uk_is_block_supported(int64_t block, int bits) {
    return (bits == 4 || bits == 8) && block >= LEAST_BLOCK && block <= MOST_BLOCK && block * bits % 8 == 0;
}

int64_t uk_count_blocks(const struct uk_weight_blocks *b) {
    return (b->rows + b->block - 1) / b->block;
}

/* Element i of weights or zero points, from 0 to 2^bits - 1. */
static int element_at(const struct uk_weight_blocks *b, const struct uk_graph_value *v, int64_t i) {
    const uint8_t *data = v->data;
    const int half = 1 << (b->bits - 1), stored = b->is_packed ? data[i / 2] >> i % 2 * 4 : data[i];

    return (stored & (2 * half - 1)) ^ (b->is_signed ? half : 0);
}

static float zero_at(const struct uk_weight_blocks *b, int64_t block, int64_t column) {
    const int64_t i = block * b->zero.row + column * b->zero.column;

    return !b->zeros                  ? (float)(b->has_middle ? 1 << (b->bits - 1) : 0)
           : b->zeros->type == UK_F32 ? ((const float *)b->zeros->data)[i]
                                      : (float)element_at(b, b->zeros, i);
}

/* True unless all zero points are half of the range. Weights less that half are then signed, and have no
 * offsets. */
static bool has_offsets(const struct uk_weight_blocks *b) {
    for (int64_t i = 0; i < uk_count_blocks(b); i++)
        for (int64_t n = 0; n < b->columns; n++)
            if (zero_at(b, i, n) != (float)(1 << (b->bits - 1)))
                return true;
    return false;
}

/* Returns a new constant; NULL: no memory. */
static struct uk_graph_value *constant_of(struct uk_graph *g, const struct uk_weight_blocks *b,
                                          enum uk_type type, int rank, const int64_t *extent, void **data) {
    struct uk_graph_value *v = uk_value_new(g, b->weights->name);

    *data = v ? uk_value_constant(g, v, type, rank, extent) : NULL;
    return *data ? v : NULL;
}

/* Weight less `least`; 0 in rows that fill the last block. */
static int weight_at(const struct uk_weight_blocks *b, int64_t row, int64_t column, int least) {
    return row < b->rows ? element_at(b, b->weights, row * b->weight.row + column * b->weight.column) - least
                         : 0;
}

/* Weights as [blocks, bytes of a block, N]. A byte of 4-bit weights has those of rows p and p + block / 2. */
static struct uk_graph_value *lay_out_weights(struct uk_graph *g, const struct uk_weight_blocks *b,
                                              bool is_unsigned) {
    const int64_t bytes = b->block * b->bits / 8, extent[] = {uk_count_blocks(b), bytes, b->columns};
    const int least = is_unsigned ? 0 : 1 << (b->bits - 1);
    void *data;
    struct uk_graph_value *v = constant_of(g, b, is_unsigned ? UK_U8 : UK_I8, 3, extent, &data);
    uint8_t *to = data;

    for (int64_t i = 0; v && i < extent[0]; i++)
        for (int64_t p = 0; p < bytes; p++)
            for (int64_t n = 0; n < b->columns; n++) {
                const int first = weight_at(b, i * b->block + p, n, least);
                const int second = b->bits == 4 ? weight_at(b, i * b->block + p + bytes, n, least) : 0;
                *to++ = (uint8_t)(b->bits == 4 ? (first & 15) | (second & 15) << 4 : first);
            }
    uk_constant_give_back(g, b->weights);
    return v;
}

/* Scales, or offsets -zero * scale, as [blocks, N]. */
static struct uk_graph_value *lay_out_scales(struct uk_graph *g, const struct uk_weight_blocks *b,
                                             bool are_offsets) {
    const int64_t extent[] = {uk_count_blocks(b), b->columns};
    void *data;
    struct uk_graph_value *v = constant_of(g, b, UK_F32, 2, extent, &data);
    float *to = data;

    for (int64_t i = 0; v && i < extent[0]; i++)
        for (int64_t n = 0; n < extent[1]; n++) {
            const float scale = ((const float *)b->scales->data)[i * b->scale.row + n * b->scale.column];
            *to++ = are_offsets ? -zero_at(b, i, n) * scale : scale;
        }
    return v;
}

enum uk_status uk_lay_out_blocks(struct uk_graph *g, const struct uk_weight_blocks *b,
                                 struct uk_graph_value *out[3]) {
    const bool offsets = has_offsets(b);

    uk_allow_constant(g, uk_value_elements(b->weights));
    out[0] = lay_out_weights(g, b, offsets);
    out[1] = lay_out_scales(g, b, false);
    out[2] = offsets ? lay_out_scales(g, b, true) : NULL;
    return out[0] && out[1] && (out[2] || !offsets) ? UK_OK : uk_graph_no_memory(g);
}
