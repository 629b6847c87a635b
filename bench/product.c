/* SPDX-License-Identifier: Apache-2.0 */
/* The operands of a product, and the check of a library's result. */
#define _POSIX_C_SOURCE 200809L
#include "bench.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "registry/half.h"

/* Padding before and after an operand, in elements: BLIS 0.9 accesses memory next to small operands. */
enum { ROOM = 4096 };

const struct bench_elements bench_elements[BENCH_TYPES] = {
    [BENCH_F32] = {"f32", 4, 4, false},  [BENCH_F64] = {"f64", 8, 8, false},
    [BENCH_U8I8] = {"u8i8", 1, 4, true}, [BENCH_I8I8] = {"i8i8", 1, 4, true},
    [BENCH_BF16] = {"bf16", 2, 4, true}, [BENCH_F16] = {"f16", 2, 4, true},
    [BENCH_W4] = {"w4", 4, 4, true},     [BENCH_W8] = {"w8", 4, 4, true},
};

/* Stores the i-th element of a factor, made of random bits: any byte; a number in [-1, 1); of bf16 and f16 a
 * whole number from -8 to 7, so that sums of up to 2^18 products are exact in f32. */
static void store_random(enum bench_type type, void *to, size_t i, int32_t bits) {
    const double real = (double)bits * 0x1p-31;
    const float whole = (float)(bits >> 28);
    if (type == BENCH_F64)
        ((double *)to)[i] = real;
    else if (bench_weight_bits(type)) /* exact if blocks are rounded to 127 steps */
        ((float *)to)[i] = i % BENCH_BLOCK ? whole : 127;
    else if (type == BENCH_F32)
        ((float *)to)[i] = (float)real;
    else if (bench_is_bytes(type))
        ((uint8_t *)to)[i] = (uint8_t)(bits >> 24);
    else
        ((uint16_t *)to)[i] = type == BENCH_BF16 ? uk_to_bf16(whole) : uk_to_f16(whole);
}

/* Zeroed elements of `size` bytes, between padding. */
static void *operand(size_t count, size_t size) {
    const size_t bytes = (count + 2 * ROOM) * size;
    char *memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (!memory)
        return NULL;
    memset(memory, 0, bytes);
    return memory + ROOM * size;
}

static void *factor(const struct bench_product *p, int64_t rows, int64_t columns, uint32_t seed) {
    const size_t count = (size_t)rows * (size_t)columns;
    void *memory = operand(count, bench_elements[p->type].factor);
    uint32_t state = seed;
    for (size_t i = 0; memory && i < count; i++) {
        state = state * 1664525u + 1013904223u;
        store_random(p->type, memory, i, (int32_t)state);
    }
    return memory;
}

/* Weights of any bits, and scales of 1 and 2. */
static enum uk_status make_weights(struct bench_product *p) {
    const size_t bytes = (size_t)p->n * (size_t)p->k * (size_t)bench_weight_bits(p->type) / 8,
                 blocks = (size_t)p->n * (size_t)(p->k / BENCH_BLOCK);
    uint8_t *b = operand(bytes, 1);
    float *scale = operand(blocks, sizeof *scale);
    uint32_t state = 2;
    for (size_t i = 0; b && i < bytes; i++)
        b[i] = (uint8_t)((state = state * 1664525u + 1013904223u) >> 24);
    for (size_t i = 0; scale && i < blocks; i++)
        scale[i] = (float)(1 + ((state = state * 1664525u + 1013904223u) >> 31));
    p->b = b;
    p->scale = scale;
    return b && scale ? UK_OK : UK_OUT_OF_MEMORY;
}

enum uk_status bench_product_create(struct bench_product *p, const struct bench_shape *s,
                                    enum bench_type type) {
    *p = (struct bench_product){.type = type,
                                .a_transposed = s->a_transposed,
                                .b_transposed = s->b_transposed,
                                .m = s->m,
                                .n = s->n,
                                .k = s->k,
                                .lda = s->a_transposed ? s->m : s->k,
                                .ldb = s->b_transposed ? s->k : s->n,
                                .ldc = s->n,
                                .beta = s->beta};
    if (bench_weight_bits(type) && (s->k % BENCH_BLOCK || s->a_transposed || s->b_transposed))
        return UK_INVALID_SIZE;
    p->a = factor(p, s->m, s->k, 1);
    if (!bench_weight_bits(type))
        p->b = factor(p, s->k, s->n, 2);
    else if (make_weights(p))
        return UK_OUT_OF_MEMORY;
    p->c = operand((size_t)s->m * (size_t)s->n, bench_elements[type].sum);
    return p->a && p->b && p->c ? UK_OK : UK_OUT_OF_MEMORY;
}

static void free_operand(const void *operand, size_t size) {
    if (operand)
        free((char *)(uintptr_t)operand - ROOM * size);
}

void bench_product_free(struct bench_product *p) {
    const struct bench_elements *e = &bench_elements[p->type];
    free_operand(p->a, e->factor);
    free_operand(p->b, p->scale ? 1 : e->factor);
    free_operand(p->scale, sizeof *p->scale);
    free_operand(p->c, e->sum);
    *p = (struct bench_product){0};
}

double bench_product_flops(const struct bench_product *p) {
    return 2.0 * (double)p->m * (double)p->n * (double)p->k;
}

double bench_product_bytes(const struct bench_product *p) {
    double m = (double)p->m, n = (double)p->n, k = (double)p->k;
    const struct bench_elements *e = &bench_elements[p->type];
    return (double)e->factor * m * k + bench_b_bytes(p->type, p->k, p->n) +
           (double)e->sum * (p->beta != 0 ? 2 : 1) * m * n;
}

/* The weight of term l of column j, times its scale. */
static double weight_at(const struct bench_product *p, int64_t l, int64_t j) {
    const uint8_t *b = p->b;
    const int64_t i = j * p->k + l;
    const int bits = bench_weight_bits(p->type), w = bits == 8 ? b[i] : b[i / 2] >> i % 2 * 4 & 15;
    return (double)p->scale[i / BENCH_BLOCK] * (w - (1 << (bits - 1)));
}

/* `is_a`: of A, else of B. */
static double factor_at(const struct bench_product *p, bool is_a, int64_t i) {
    const void *from = is_a ? p->a : p->b;
    switch (p->type) {
    case BENCH_F32:
    case BENCH_W4:
    case BENCH_W8:
        return (double)((const float *)from)[i];
    case BENCH_BF16:
        return (double)uk_from_bf16(((const uint16_t *)from)[i]);
    case BENCH_F16:
        return (double)uk_from_f16(((const uint16_t *)from)[i]);
    case BENCH_U8I8:
    case BENCH_I8I8:
        return is_a && p->type == BENCH_U8I8 ? ((const uint8_t *)from)[i] : ((const int8_t *)from)[i];
    default:
        return ((const double *)from)[i];
    }
}

static double sum_at(const struct bench_product *p, int64_t i) {
    return bench_is_bytes(p->type) ? ((const int32_t *)p->c)[i]
           : p->type == BENCH_F64  ? ((const double *)p->c)[i]
                                   : (double)((const float *)p->c)[i];
}

/* True if C[i, j] is right. Tolerance for a sum of k products in any order: (k + 2) u sum |a b|, u = unit
 * roundoff. Sums of whole numbers that no order rounds must be equal. */
static bool right_element(const struct bench_product *p, int64_t i, int64_t j, double before) {
    double sum = p->beta != 0 ? p->beta * before : 0, largest = fabs(sum);
    for (int64_t l = 0; l < p->k; l++) {
        double a = factor_at(p, true, p->a_transposed ? l * p->lda + i : i * p->lda + l);
        double b = p->scale ? weight_at(p, l, j)
                            : factor_at(p, false, p->b_transposed ? j * p->ldb + l : l * p->ldb + j);
        sum += a * b;
        largest += fabs(a * b);
    }
    const bool is_exact = bench_is_bytes(p->type) || (bench_elements[p->type].is_packed && largest <= 0x1p24);
    const double rounding = is_exact ? 0 : p->type == BENCH_F64 ? 0x1p-53 : 0x1p-24;
    /* Written so that a NaN fails. */
    return fabs(sum_at(p, i * p->ldc + j) - sum) <= rounding * (double)(p->k + 2) * largest;
}

/* What C holds before the call: numbers that depend on the index; or, if C must not be read, NaN, and of
 * whole numbers one that is no likely sum. */
static double before_call(const struct bench_product *p, int64_t i) {
    if (bench_is_bytes(p->type))
        return p->beta != 0 ? (double)(i % 9 - 4) : INT32_MIN;
    return p->beta != 0 ? 0.25 * (double)(i % 9 - 4) : (double)NAN;
}

static void fill_c(const struct bench_product *p) {
    for (int64_t i = 0; i < p->m * p->ldc; i++)
        if (p->type == BENCH_F64)
            ((double *)p->c)[i] = before_call(p, i);
        else if (bench_is_bytes(p->type))
            ((int32_t *)p->c)[i] = (int32_t)before_call(p, i);
        else
            ((float *)p->c)[i] = (float)before_call(p, i);
}

/* The distance of compared elements: 1, or more if checking all would take longer than a few milliseconds.
 * Odd and no multiple of a row's length, so that samples cover rows and columns. */
static int64_t sample_step(const struct bench_product *p) {
    const int64_t multiply_adds = 4000000, all = p->m * p->n;
    int64_t samples = multiply_adds / (p->k + 1) + 256;
    if (samples >= all)
        return 1;
    int64_t step = all / samples | 1;
    return p->n > 1 && step % p->n == 0 ? step + 2 : step;
}

static bool right_at(const struct bench_product *p, int64_t at) {
    return right_element(p, at / p->n, at % p->n, before_call(p, at));
}

int64_t bench_product_wrong(const struct bench_product *p, struct bench_call *call, int64_t *compared) {
    const int64_t all = p->m * p->n, step = sample_step(p), edges[] = {p->n - 1, all - p->n, all - 1};
    int64_t wrong = 0;
    fill_c(p);
    call->library->repeat(call, 1);
    *compared = (all + step - 1) / step + 3;
    for (int64_t at = 0; at < all; at += step)
        wrong += !right_at(p, at);
    for (int i = 0; i < 3; i++)
        wrong += !right_at(p, edges[i]);
    return wrong;
}

bool bench_product_check(const struct bench_product *p, struct bench_call *call) {
    int64_t compared;
    return !bench_product_wrong(p, call, &compared);
}
