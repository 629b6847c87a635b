/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last operations on a tile of sums of bytes: zero points, biases, scales, clamps, and the type of C.
 *
 * With zero points x of a row of A and y of a column of B, at most one of them by row or column,
 *
 *     sum of (a - x) (b - y) = sum of a b + row + column - u v
 *
 * where `row` and `column` contain what depends on only one of them, and u v is 0 unless a zero point depends
 * on the row or the column.
 */
#include <string.h>
#include "gemm/low.h"
#include "rounding.h"

/* Columns at a time. */
enum { COLUMNS = 64 };

struct columns {
    int64_t first, count; /* of the tile */
    uint32_t term[COLUMNS], v[COLUMNS];
    float scale[COLUMNS];
};

static uint32_t at(const int32_t *values, int64_t i) {
    return values ? (uint32_t)values[i] : 0;
}

static void prepare(const struct gemm_tile_row *s, int64_t column, struct columns *x) {
    const struct gemm_quantization *q = s->quantization;

    for (int64_t j = 0; j < x->count; j++) {
        const int64_t c = column + x->first + j;
        const uint32_t sum = at(s->column_sums, x->first + j);

        x->term[j] = at(q->column_bias, c) - (q->left_step ? 0 : (uint32_t)*q->left_zero * sum);
        x->v[j] = q->right_step ? (uint32_t)q->right_zero[c] : sum;
        x->scale[j] = q->scale_row_step ? 1 : q->scale[c * q->scale_column_step];
    }
}

/* Sets `to` to a row of sums with zero points and biases, modulo 2^32. */
static void add_terms(const struct gemm_tile_row *s, const struct columns *restrict x, int64_t i,
                      const int32_t *restrict sums, int32_t *restrict to) {
    const struct gemm_quantization *q = s->quantization;
    const uint32_t k = (uint32_t)s->product->k, left = (uint32_t)q->left_zero[(s->row + i) * q->left_step],
                   sum = at(s->row_sums, i) - k * left;
    const uint32_t row = at(q->row_bias, s->row + i) - (q->right_step ? 0 : (uint32_t)*q->right_zero * sum),
                   u = q->right_step  ? sum
                       : q->left_step ? left
                                      : 0;

    for (int64_t j = 0; j < x->count; j++)
        to[j] = (int32_t)((uint32_t)sums[j] + row + x->term[j]);
    for (int64_t j = 0; u && j < x->count; j++)
        to[j] = (int32_t)((uint32_t)to[j] - u * x->v[j]);
}

/* ---- the types of C ---- */

static void to_bytes(const struct gemm_quantization *q, const struct columns *restrict x, float row_scale,
                     const int32_t *restrict sums, uint8_t *restrict to) {
    const int32_t zero = q->c_zero;
    const float low = (float)(q->low - zero), high = (float)(q->high - zero);

    for (int64_t j = 0; j < x->count; j++) {
        float y = (float)sums[j] * (row_scale * x->scale[j]);

        y = y < low ? low : y;
        y = y > high ? high : y;
        to[j] = (uint8_t)(uk_round_f32(y) + zero);
    }
}

static void to_floats(const struct gemm_quantization *q, const struct columns *restrict x, float row_scale,
                      const int32_t *restrict sums, float *restrict to) {
    const float low = (float)q->low, high = (float)q->high;

    for (int64_t j = 0; j < x->count; j++) {
        float y = (float)sums[j] * (row_scale * x->scale[j]);

        y = y < low ? low : y;
        to[j] = y > high ? high : y;
    }
}

/* Bounds that exceed those of C, and that uk_round_f64 takes with any zero point. */
static double bounded(double y) {
    enum { BITS = 40 };
    const double most = (double)(INT64_C(1) << BITS);

    return y < -most ? -most : y > most ? most : y;
}

static void to_words(const struct gemm_quantization *q, const struct columns *x, float row_scale,
                     const int32_t *sums, int32_t *to) {
    for (int64_t j = 0; j < x->count; j++) {
        const float scaled = (float)sums[j] * (row_scale * x->scale[j]);
        const int64_t y =
            (q->is_scaled ? uk_round_f64(bounded((double)scaled)) : (int64_t)sums[j]) + q->c_zero;

        to[j] = (int32_t)(y < (int64_t)q->low ? (int64_t)q->low : uk_min(y, (int64_t)q->high));
    }
}

static void convert(const struct gemm_tile_row *s, const struct columns *x, int64_t i, const int32_t *sums,
                    void *to) {
    const struct gemm_quantization *q = s->quantization;
    const float row_scale = q->scale_row_step ? q->scale[s->row + i] : 1;
    const bool keeps = !q->is_scaled && !q->c_zero && q->low <= INT32_MIN && q->high >= INT32_MAX;

    switch (s->product->c_element) {
    case UK_C_I8:
    case UK_C_U8:
        to_bytes(q, x, row_scale, sums, to);
        break;
    case UK_C_F32:
        to_floats(q, x, row_scale, sums, to);
        break;
    default:
        if (keeps)
            memcpy(to, sums, (size_t)x->count * sizeof *sums);
        else
            to_words(q, x, row_scale, sums, to);
        break;
    }
}

/* Copies elements to places that are `apart` elements apart. */
static void spread(int64_t count, int size, const char *from, int64_t apart, char *to) {
    for (int64_t j = 0; j < count; j++)
        memcpy(to + j * apart * size, from + j * size, (size_t)size);
}

void uk_gemm_quantize(const struct gemm_tile_row *s, int64_t column, int64_t count, const int32_t *sums,
                      int64_t lds, void *c) {
    const int size = gemm_c_bytes(s->product);
    const int64_t row_step = s->transposed ? 1 : s->ldc, column_step = s->transposed ? s->ldc : 1;
    struct columns x;

    for (x.first = 0; x.first < count; x.first += COLUMNS) {
        x.count = uk_min(count - x.first, COLUMNS);
        prepare(s, column, &x);
        for (int64_t i = 0; i < s->rows; i++) {
            int32_t row[COLUMNS], converted[COLUMNS];
            char *to = (char *)c + (i * row_step + x.first * column_step) * size;

            add_terms(s, &x, i, sums + i * lds + x.first, row);
            convert(s, &x, i, row, column_step == 1 ? (void *)to : converted);
            if (column_step != 1)
                spread(x.count, size, (const char *)converted, column_step, to);
        }
    }
}
