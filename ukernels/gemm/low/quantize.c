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
 *
 * The code is compiled for each width of vectors of x86, as the instructions that all CPUs have take several
 * times as long. Lines are converted in chunks, because GCC vectorizes only loops of constant trip counts.
 */
#include <stdatomic.h>
#include <string.h>
#include "gemm/low.h"
#include "rounding.h"

#define INLINE static inline __attribute__((always_inline))

/* Columns at a time, and elements of a line at a time: a vector, or some. */
enum { COLUMNS = 64, CHUNK = 16 };

/* What the columns add to sums, their numbers of which each row has a multiple, and their factors: arrays of
 * the caller where these are what is needed. */
struct columns {
    int64_t first, count; /* of the tile */
    const int32_t *term, *v;
    const float *scale;
    int32_t terms[COLUMNS];
};

/* What a row of the tile adds to each sum, and its factors; for all rows: bounds, and the type of C. */
struct line {
    uint32_t term, u;
    float scale;
    enum uk_c_element to;
    bool keeps, is_scaled; /* keeps: sums with their terms are stored as they are */
    int32_t zero;
    float low, high; /* C of bytes: less its zero point */
    int64_t lowest, highest;
};

static const int32_t zeros[COLUMNS];
#define FOUR 1, 1, 1, 1
#define SIXTEEN FOUR, FOUR, FOUR, FOUR
static const float ones[COLUMNS] = {SIXTEEN, SIXTEEN, SIXTEEN, SIXTEEN};

INLINE uint32_t at(const int32_t *values, int64_t i) {
    return values ? (uint32_t)values[i] : 0;
}

/* The columns' values from the first one on; zeros: there are none. */
INLINE const int32_t *from(const int32_t *values, int64_t first) {
    return values ? values + first : zeros;
}

INLINE void prepare(const struct gemm_tile_row *s, int64_t column, struct columns *x) {
    const struct gemm_quantization *q = s->quantization;
    const int32_t *const bias = from(q->column_bias, column + x->first), *const sums =
                                                                             from(s->column_sums, x->first);
    const uint32_t left = q->left_step || !s->column_sums ? 0 : (uint32_t)*q->left_zero;

    x->term = left ? x->terms : bias;
    for (int64_t j = 0; left && j < x->count; j++)
        x->terms[j] = (int32_t)((uint32_t)bias[j] - left * (uint32_t)sums[j]);
    x->v = q->right_step ? q->right_zero + column + x->first : sums;
    x->scale = q->scale_column_step ? q->scale + column + x->first : ones;
}

INLINE struct line line_of(const struct gemm_tile_row *s) {
    const struct gemm_quantization *q = s->quantization;
    const enum uk_c_element to = s->product->c_element;
    const double zero = to == UK_C_F32 ? 0 : (double)q->c_zero;

    return (struct line){
        .to = to,
        .is_scaled = q->is_scaled,
        .keeps = !q->is_scaled && !q->c_zero && q->low <= INT32_MIN && q->high >= INT32_MAX,
        .zero = q->c_zero,
        .low = (float)(q->low - zero),
        .high = (float)(q->high - zero),
        .lowest = to == UK_C_F32 ? 0 : (int64_t)q->low,
        .highest = to == UK_C_F32 ? 0 : (int64_t)q->high,
    };
}

/* Sets what row i of the tile has of its own. */
INLINE void set_row(const struct gemm_tile_row *s, int64_t i, struct line *p) {
    const struct gemm_quantization *q = s->quantization;
    const uint32_t k = (uint32_t)s->product->k, left = (uint32_t)q->left_zero[(s->row + i) * q->left_step],
                   sum = at(s->row_sums, i) - k * left;

    p->term = at(q->row_bias, s->row + i) - (q->right_step ? 0 : (uint32_t)*q->right_zero * sum);
    p->u = q->right_step ? sum : q->left_step ? left : 0;
    p->scale = q->scale_column_step ? 1 : q->scale[(s->row + i) * q->scale_row_step];
}

/* ---- the types of C; n and has_u are constants where these are inlined for whole chunks ---- */

/* A sum with its terms, modulo 2^32. */
INLINE int32_t total(const struct line *p, const struct columns *x, bool has_u, int64_t j, int32_t sum) {
    const uint32_t t = (uint32_t)sum + p->term + (uint32_t)x->term[j];

    return (int32_t)(has_u ? t - p->u * (uint32_t)x->v[j] : t);
}

INLINE void to_bytes(struct line p, const struct columns *restrict x, bool has_u, int64_t j, int64_t n,
                     const int32_t *restrict sums, uint8_t *restrict to) {
#pragma GCC unroll 1
    for (int64_t l = j; l < j + n; l++) {
        float y = (float)total(&p, x, has_u, l, sums[l]) * (p.scale * x->scale[l]);

        y = y < p.low ? p.low : y;
        y = y > p.high ? p.high : y;
        to[l] = (uint8_t)(uk_round_f32(y) + p.zero);
    }
}

INLINE void to_floats(struct line p, const struct columns *restrict x, bool has_u, int64_t j, int64_t n,
                      const int32_t *restrict sums, float *restrict to) {
#pragma GCC unroll 1
    for (int64_t l = j; l < j + n; l++) {
        float y = (float)total(&p, x, has_u, l, sums[l]) * (p.scale * x->scale[l]);

        y = y < p.low ? p.low : y;
        to[l] = y > p.high ? p.high : y;
    }
}

/* Bounds that exceed those of C, and that uk_round_f64 takes with any zero point. */
INLINE double bounded(double y) {
    enum { BITS = 40 };
    const double most = (double)(INT64_C(1) << BITS);

    return y < -most ? -most : y > most ? most : y;
}

/* C may be where the sums are. */
INLINE void to_words(struct line p, const struct columns *restrict x, bool has_u, int64_t j, int64_t n,
                     const int32_t *sums, int32_t *to) {
    for (int64_t l = j; l < j + n; l++) {
        const int32_t sum = total(&p, x, has_u, l, sums[l]);
        const float scaled = (float)sum * (p.scale * x->scale[l]);
        const int64_t y = (p.is_scaled ? uk_round_f64(bounded((double)scaled)) : (int64_t)sum) + p.zero;

        to[l] = (int32_t)(y < p.lowest ? p.lowest : uk_min(y, p.highest));
    }
}

INLINE void keep(struct line p, const struct columns *restrict x, bool has_u, int64_t j, int64_t n,
                 const int32_t *sums, int32_t *to) {
#pragma GCC unroll 1
    for (int64_t l = j; l < j + n; l++)
        to[l] = total(&p, x, has_u, l, sums[l]);
}

INLINE void convert_some(struct line p, const struct columns *x, bool has_u, int64_t j, int64_t n,
                         const int32_t *sums, void *to) {
    if (p.to == UK_C_I8 || p.to == UK_C_U8)
        to_bytes(p, x, has_u, j, n, sums, to);
    else if (p.to == UK_C_F32)
        to_floats(p, x, has_u, j, n, sums, to);
    else if (p.keeps)
        keep(p, x, has_u, j, n, sums, to);
    else
        to_words(p, x, has_u, j, n, sums, to);
}

INLINE void convert(struct line p, const struct columns *x, bool has_u, const int32_t *sums, void *to) {
    int64_t j = 0;

    for (; j + CHUNK <= x->count; j += CHUNK)
        convert_some(p, x, has_u, j, CHUNK, sums, to);
    if (j < x->count)
        convert_some(p, x, has_u, j, x->count - j, sums, to);
}

/* Copies elements to places that are `apart` elements apart. */
static void spread(int64_t count, int size, const char *from, int64_t apart, char *to) {
    for (int64_t j = 0; j < count; j++)
        memcpy(to + j * apart * size, from + j * size, (size_t)size);
}

/* Arguments of uk_gemm_quantize, and those of the functions that it calls. */
#define PARAMETERS \
    const struct gemm_tile_row *s, int64_t column, int64_t count, const int32_t *sums, int64_t lds, void *c
#define ARGUMENTS s, column, count, sums, lds, c

INLINE void quantize(PARAMETERS) {
    const int size = gemm_c_bytes(s->product);
    const int64_t row_step = s->transposed ? 1 : s->ldc, column_step = s->transposed ? s->ldc : 1;
    struct line p = line_of(s);
    struct columns x;

    for (x.first = 0; x.first < count; x.first += COLUMNS) {
        x.count = uk_min(count - x.first, COLUMNS);
        prepare(s, column, &x);
        for (int64_t i = 0; i < s->rows; i++) {
            const int32_t *row = sums + i * lds + x.first;
            int32_t converted[COLUMNS];
            char *const place = (char *)c + (i * row_step + x.first * column_step) * size;
            void *const to = column_step == 1 ? (void *)place : converted;

            set_row(s, i, &p);
            if (p.u)
                convert(p, &x, true, row, to);
            else
                convert(p, &x, false, row, to);
            if (column_step != 1)
                spread(x.count, size, (const char *)converted, column_step, place);
        }
    }
}

typedef void quantize_function(PARAMETERS);

static void quantize_any(PARAMETERS) {
    quantize(ARGUMENTS);
}

#if defined __x86_64__
__attribute__((target("avx2"))) static void quantize_avx2(PARAMETERS) {
    quantize(ARGUMENTS);
}

__attribute__((target("avx512f,avx512vl,avx512dq,avx512bw"))) static void quantize_avx512(PARAMETERS) {
    quantize(ARGUMENTS);
}

static quantize_function *function_for_cpu(void) {
    return !uk_cpu_lacks("avx512f,avx512vl,avx512dq,avx512bw", NULL, 0) ? quantize_avx512
           : uk_cpu_has("avx2")                                         ? quantize_avx2
                                                                        : quantize_any;
}
#else
static quantize_function *function_for_cpu(void) {
    return quantize_any;
}
#endif

void uk_gemm_quantize(PARAMETERS) {
    static quantize_function *_Atomic chosen; /* the same for all threads; NULL at first */
    quantize_function *function = atomic_load_explicit(&chosen, memory_order_relaxed);

    if (!function) {
        function = function_for_cpu();
        atomic_store_explicit(&chosen, function, memory_order_relaxed);
    }
    function(ARGUMENTS);
}
