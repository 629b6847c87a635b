/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products with weights of 4 and 8 bits in blocks: exact on integers, and on random data within the stated
 * bounds; with scales of each type, zero points, both orders of nibbles, gaps between rows and between
 * blocks, f32 and bf16, beta, epilogues, 1 and 3 threads. Operands and packed weights end at an inaccessible
 * page.
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "guarded.h"
#include "random.h"
#include "registry/half.h"
#include "ukernels.h"

enum { THREADS = 3, MOST_BLOCK = 128 };
static uint64_t seed = 20261201;

static int64_t draw(int64_t below) {
    return (int64_t)(random_next(&seed) % (uint64_t)below);
}

static double real(void) {
    return (double)(int64_t)(random_next(&seed) >> 11) * 0x1p-52 - 1;
}

/* A product; its weights as a caller has them, and as numbers. */
struct product {
    int bits;
    int64_t m, n, k, block, lda, ldc;
    bool is_integer;
    struct uk_weights_options options;
    struct uk_weights w;
    struct guarded a, c, packed, weight, scale, zero;
    double *terms; /* of A, m x k */
    double *value; /* w, n x k */
    double *s, *z; /* scales and zero points, n x blocks */
    float beta;
    const struct uk_sgemm_epilogue *epilogue;
    double *before; /* of C, m x n */
};

static int64_t blocks(const struct product *p) {
    return p->k / p->block;
}

static uint16_t half_of(const struct product *p, float x) {
    return p->options.scale == UK_SCALE_BF16 ? uk_to_bf16(x) : uk_to_f16(uk_round_f16(x));
}

static double put_scale(const struct product *p, char *to, double x) {
    const float f = (float)x;
    uint16_t h = half_of(p, f);

    if (p->options.scale == UK_SCALE_F32) {
        memcpy(to, &f, sizeof f);
        return (double)f;
    }
    memcpy(to, &h, sizeof h);
    return (double)(p->options.scale == UK_SCALE_BF16 ? uk_from_bf16(h) : uk_from_f16(h));
}

/* A block of a column. */
static void put_block(struct product *p, int64_t j, int64_t g) {
    const int64_t bytes = p->block * p->bits / 8;
    uint8_t *to = (uint8_t *)p->weight.data + g * p->w.weight_block + j * p->w.weight_column;
    double *value = p->value + j * p->k + g * p->block;
    char *scale = (char *)p->scale.data + g * p->w.scale_block + j * p->w.scale_column;
    const int zero = p->options.has_zeros ? (int)draw(1 << p->bits) : 1 << (p->bits - 1);

    for (int64_t t = 0; t < bytes; t++) {
        to[t] = (uint8_t)draw(256);
        if (p->bits == 8) {
            value[t] = to[t];
        } else {
            const bool pairs = p->w.nibbles == UK_NIBBLES_PAIRS;

            value[pairs ? 2 * t : t] = to[t] & 15;
            value[pairs ? 2 * t + 1 : t + p->block / 2] = to[t] >> 4;
        }
    }
    p->s[j * blocks(p) + g] =
        put_scale(p, scale, p->is_integer ? (double)draw(5) - 2 : ldexp(real(), (int)draw(20) - 18));
    p->z[j * blocks(p) + g] = zero;
    if (!p->options.has_zeros)
        return;
    uint8_t *z = (uint8_t *)p->zero.data;

    if (p->w.zero_nibbles) {
        z += j * p->w.zero_column + g / 2;
        *z = (uint8_t)(g % 2 ? (*z & 15) | zero << 4 : zero);
    } else {
        z[g * p->w.zero_block + j * p->w.zero_column] = (uint8_t)zero;
    }
}

/* Sets the steps of the caller's weights: dense, which is passed as 0, or with gaps. */
static void put_steps(struct product *p, bool dense) {
    const int64_t bytes = p->block * p->bits / 8, size = p->options.scale == UK_SCALE_F32 ? 4 : 2;
    const int64_t gap = dense ? 0 : 3;
    struct uk_weights *w = &p->w;

    w->weight_block = bytes + gap;
    w->weight_column = blocks(p) * w->weight_block + gap;
    w->scale_block = size + gap;
    w->scale_column = blocks(p) * w->scale_block + gap;
    w->zero_block = 1 + gap;
    w->zero_column = w->zero_nibbles ? (blocks(p) + 1) / 2 + gap : blocks(p) * w->zero_block + gap;
    p->weight = guard((size_t)(p->n * w->weight_column + 1));
    p->scale = guard((size_t)(p->n * w->scale_column + 1));
    p->zero = guard((size_t)(p->n * w->zero_column + 1));
    for (int64_t j = 0; j < p->n; j++)
        for (int64_t g = 0; g < blocks(p); g++)
            put_block(p, j, g);
    w->weight = p->weight.data;
    w->scale = p->scale.data;
    w->zero = p->zero.data;
    if (w->zero_nibbles)
        w->zero_block = 0;
    if (dense)
        w->weight_block = w->weight_column = w->scale_block = w->scale_column = w->zero_block =
            w->zero_column = 0;
}

/* A term of A. Integers are exact after rounding a block to bytes: its largest is 127. */
static double term(const struct product *p, int64_t q) {
    if (!p->is_integer)
        return real();
    if (p->options.sums == UK_SUMS_I32 && q % p->block == 5)
        return draw(2) ? 127 : -127;
    return (double)draw(7) - 3;
}

static double put_element(const struct product *p, void *array, int64_t at, double x) {
    if (p->options.is_bf16) {
        ((uint16_t *)array)[at] = uk_to_bf16((float)x);
        return (double)uk_from_bf16(((uint16_t *)array)[at]);
    }
    ((float *)array)[at] = (float)x;
    return (double)(float)x;
}

static double element(const struct product *p, const void *array, int64_t at) {
    return p->options.is_bf16 ? (double)uk_from_bf16(((const uint16_t *)array)[at])
                              : (double)((const float *)array)[at];
}

static void make(struct product *p, bool dense) {
    const size_t size = p->options.is_bf16 ? 2 : 4;

    p->terms = calloc((size_t)(p->m * p->k + 1), sizeof(double));
    p->value = calloc((size_t)(p->n * p->k + 1), sizeof(double));
    p->s = calloc((size_t)(p->n * blocks(p) + 1), sizeof(double));
    p->z = calloc((size_t)(p->n * blocks(p) + 1), sizeof(double));
    p->before = calloc((size_t)(p->m * p->n + 1), sizeof(double));
    assert_true(p->terms && p->value && p->s && p->z && p->before);
    put_steps(p, dense);
    p->a = guard(size * (size_t)elements(p->m, p->k, p->lda));
    p->c = guard(size * (size_t)elements(p->m, p->n, p->ldc));
    for (int64_t i = 0; i < p->m; i++) {
        for (int64_t q = 0; q < p->k; q++)
            p->terms[i * p->k + q] = put_element(p, p->a.data, i * p->lda + q, term(p, q));
        for (int64_t j = 0; j < p->n; j++) /* C is not read if beta is 0 */
            p->before[i * p->n + j] =
                put_element(p, p->c.data, i * p->ldc + j, p->beta == 0 ? (double)NAN : (double)draw(9) - 4);
    }
}

static void destroy(struct product *p) {
    struct guarded *all[] = {&p->a, &p->c, &p->packed, &p->weight, &p->scale, &p->zero};
    double *arrays[] = {p->terms, p->value, p->s, p->z, p->before};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        release(all[i]);
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
}

static enum uk_status make_plan(const struct product *p, struct uk_weights_plan *plan) {
    return (p->bits == 4 ? uk_w4gemm_plan : uk_w8gemm_plan)(plan, p->m, p->n, p->k, p->block, p->lda, p->ldc,
                                                            &p->options);
}

static enum uk_status run(const struct product *p, const struct uk_weights_plan *plan, void *workspace) {
    return (p->bits == 4 ? uk_w4gemm_run : uk_w8gemm_run)(plan, p->a.data, p->packed.data, p->beta, p->c.data,
                                                          p->epilogue, workspace);
}

/* The exact element (i, j), and the largest difference from it. */
static double exact(const struct product *p, int64_t i, int64_t j, double *bound) {
    double sum = 0, rounding = 0, steps = 0;

    for (int64_t g = 0; g < blocks(p); g++) {
        const double scale = p->s[j * blocks(p) + g], zero = p->z[j * blocks(p) + g];
        double largest = 0, weights = 0;

        for (int64_t q = g * p->block; q < (g + 1) * p->block; q++) {
            const double a = p->terms[i * p->k + q], w = p->value[j * p->k + q];

            sum += a * scale * (w - zero);
            rounding += fabs(a * scale) * (w + zero);
            weights += fabs(scale * (w - zero));
            largest = fmax(largest, fabs(a));
        }
        steps += largest / 254 * weights;
    }
    *bound = ((double)p->k + 4) * 0x1p-24 * rounding + (p->options.sums == UK_SUMS_I32 ? 1.001 * steps : 0);
    if (p->beta != 0)
        sum += (double)p->beta * p->before[i * p->n + j];
    if (p->epilogue) {
        const struct uk_sgemm_epilogue *e = p->epilogue;

        sum = (double)e->scale * sum + (double)e->row_bias[i] + (double)e->column_bias[j];
        sum = fmin(fmax(sum, (double)e->low), (double)e->high);
        *bound *= fabs((double)e->scale);
    }
    if (p->is_integer)
        *bound = 0;
    else
        *bound += fabs(sum) * 0x1p-22 + (double)fabsf(p->beta) * 0x1p-21;
    if (p->options.is_bf16) {
        *bound += (fabs(sum) + *bound) * 0x1p-8;
        if (p->is_integer)
            sum = (double)uk_from_bf16(uk_to_bf16((float)sum)), *bound = 0;
    }
    return sum;
}

static void check(const struct product *p) {
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) {
            double bound;
            const double is = element(p, p->c.data, i * p->ldc + j), right = exact(p, i, j, &bound);

            if (!(fabs(is - right) <= bound))
                fail_msg(
                    "%d bits, sums %d, %lld x %lld x %lld, block %lld: C[%lld][%lld] is %g, not %g +- %g",
                    p->bits, (int)p->options.sums, (long long)p->m, (long long)p->n, (long long)p->k,
                    (long long)p->block, (long long)i, (long long)j, is, right, bound);
        }
}

/* Computes a product twice, by 3 threads and by one with its own workspace, and compares their bits. */
static void compute(struct product *p, bool dense) {
    struct uk_weights_plan plan;

    p->options.threads = THREADS;
    make(p, dense);
    assert_int_equal(make_plan(p, &plan), UK_OK);
    p->packed = guard(uk_weights_packed_size(&plan));
    assert_int_equal((p->bits == 4 ? uk_w4gemm_pack : uk_w8gemm_pack)(&plan, &p->w, p->packed.data), UK_OK);
    const size_t bytes = p->c.bytes - (size_t)sysconf(_SC_PAGESIZE);
    char *first = malloc(bytes + 1), *kept = p->c.memory, *before = malloc(bytes + 1);

    assert_true(first && before);
    memcpy(before, kept, bytes);
    assert_int_equal(run(p, &plan, NULL), UK_OK);
    check(p);
    memcpy(first, kept, bytes);
    memcpy(kept, before, bytes);
    p->options.threads = 1;
    assert_int_equal(make_plan(p, &plan), UK_OK);
    const size_t size = (uk_weights_workspace(&plan) + 63) / 64 * 64;
    void *workspace = size ? aligned_alloc(64, size) : NULL;

    assert_int_equal(run(p, &plan, workspace), UK_OK);
    assert_memory_equal(kept, first, bytes);
    free(workspace);
    free(first);
    free(before);
    destroy(p);
}

static struct product drawn(bool is_integer) {
    static const int64_t block[] = {16, 32, 48, 64, 112, 128};
    struct product p = {.bits = draw(2) ? 4 : 8, .is_integer = is_integer};

    p.block = block[draw(6)];
    p.m = draw(3) ? 1 + draw(9) : draw(60);
    p.n = draw(3) ? 1 + draw(80) : draw(12);
    p.k = p.block * draw(9);
    p.lda = p.k + draw(2) * 7 + (p.k == 0);
    p.ldc = p.n + draw(2) * 5 + (p.n == 0);
    p.options.sums = (enum uk_sums)draw(2);
    p.options.scale = (enum uk_scale_type)draw(3);
    p.options.has_zeros = draw(2);
    p.options.is_bf16 = draw(4) == 0;
    p.beta = draw(2) ? 0 : draw(2) ? 1 : -2;
    p.w.nibbles = (enum uk_nibbles)draw(2);
    p.w.zero_nibbles = p.bits == 4 && p.options.has_zeros && draw(2);
    return p;
}

static void check_drawn(bool is_integer, int count) {
    float rows[64], columns[96];
    const struct uk_sgemm_epilogue e = {.flags = UK_EPILOGUE_SCALE | UK_EPILOGUE_CLAMP,
                                        .scale = 2,
                                        .low = -300,
                                        .high = 500,
                                        .row_bias = rows,
                                        .column_bias = columns};

    for (int i = 0; i < 96; i++)
        columns[i] = rows[i % 64] = (float)draw(50);
    for (int i = 0; i < count; i++) {
        struct product p = drawn(is_integer);

        if (draw(4) == 0)
            p.epilogue = &e;
        compute(&p, draw(2));
    }
}

static void integers_are_exact(void **state) {
    (void)state;
    check_drawn(true, 600);
}

static void reals_are_within_the_bound(void **state) {
    (void)state;
    check_drawn(false, 400);
}

/* Long sums, and more rows than a block of them; rows of A share sets of L1. */
static void large_products(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct product p = {
            .bits = i % 2 ? 4 : 8, .is_integer = true, .m = 150, .n = 135, .k = 2048, .block = 32};

        p.lda = p.k;
        p.ldc = p.n;
        p.options.sums = (enum uk_sums)(i / 2);
        compute(&p, true);
    }
}

/* Fewer panels of columns than threads, which share the rows: kernels add up few rows in another order. */
static void threads_share_rows(void **state) {
    (void)state;
    for (int i = 0; i < 8; i++) {
        struct product p = {.bits = i % 2 ? 4 : 8, .m = 13 + i, .n = 16, .k = 16384 + 64, .block = 64};

        p.lda = p.k;
        p.ldc = p.n;
        compute(&p, true);
    }
}

/* ---- special values of A, rounded to bytes ---- */

enum { COLUMNS = 20, TERMS = 64 };

static void special_rows(void **state) {
    static const float tiny = 0x1p-140f;
    uint8_t weight[COLUMNS * TERMS / 2];
    float scale[COLUMNS * 2], a[5][TERMS] = {{0}}, c[5][COLUMNS];
    const struct uk_weights w = {.weight = weight, .scale = scale};
    const struct uk_weights_options options = {.sums = UK_SUMS_I32};
    struct uk_weights_plan plan;

    (void)state;
    for (size_t i = 0; i < sizeof weight; i++)
        weight[i] = (uint8_t)draw(256);
    for (int i = 0; i < COLUMNS * 2; i++)
        scale[i] = 1;
    a[1][3] = NAN;
    a[2][40] = -INFINITY;
    for (int q = 0; q < TERMS; q++) {
        a[3][q] = 1;
        a[4][q] = q % 3 ? tiny : -127 * tiny;
    }
    assert_int_equal(uk_w4gemm_plan(&plan, 5, COLUMNS, TERMS, 32, TERMS, COLUMNS, &options), UK_OK);
    void *packed = aligned_alloc(64, (uk_weights_packed_size(&plan) + 63) / 64 * 64);

    assert_int_equal(uk_w4gemm_pack(&plan, &w, packed), UK_OK);
    assert_int_equal(uk_w4gemm_run(&plan, a, packed, 0, c, NULL, NULL), UK_OK);
    for (int j = 0; j < COLUMNS; j++) {
        double ones = 0, tinies = 0;

        for (int q = 0; q < TERMS; q++) {
            const int x = (weight[(j * TERMS + q) / 2] >> q % 2 * 4 & 15) - 8;

            ones += x;
            tinies += (q % 3 ? 1 : -127) * x;
        }
        assert_true(c[0][j] == 0);
        assert_true(isnan(c[1][j]) && isnan(c[2][j]));
        assert_true(fabs((double)c[3][j] - ones) <= 0x1p-18 * 64 * 8);
        assert_true(fabs((double)c[4][j] - tinies * (double)tiny) <= 64 * 127 * 8 * 0x1p-149);
    }
    free(packed);
}

/* ---- errors ---- */

static void assert_refused(enum uk_status is, enum uk_status status, const char *part) {
    assert_int_equal(is, status);
    if (!strstr(uk_last_message(), part))
        fail_msg("\"%s\" does not contain \"%s\"", uk_last_message(), part);
}

static void bad_plans(void **state) {
    struct uk_weights_options o = {.threads = 1};
    struct uk_weights_plan plan;

    (void)state;
    assert_refused(uk_w4gemm_plan(NULL, 1, 1, 32, 32, 32, 1, NULL), UK_INVALID_ARGUMENT, "plan is NULL");
    assert_refused(uk_w4gemm_plan(&plan, -1, 1, 32, 32, 32, 1, NULL), UK_INVALID_SIZE, "m = -1");
    assert_refused(uk_w4gemm_plan(&plan, 1, 1, 40, 40, 40, 1, NULL), UK_INVALID_SIZE, "block = 40");
    assert_refused(uk_w4gemm_plan(&plan, 1, 1, 256, 256, 256, 1, NULL), UK_INVALID_SIZE, "block = 256");
    assert_refused(uk_w4gemm_plan(&plan, 1, 1, 48, 32, 48, 1, NULL), UK_INVALID_SIZE,
                   "does not divide k = 48");
    assert_refused(uk_w8gemm_plan(&plan, 1, 1, 32, 32, 31, 1, NULL), UK_INVALID_SIZE, "lda = 31");
    assert_refused(uk_w8gemm_plan(&plan, 1, 2, 32, 32, 32, 1, NULL), UK_INVALID_SIZE, "ldc = 1");
    assert_refused(uk_w8gemm_plan(&plan, INT64_C(1) << 40, 2, 32, 32, INT64_C(1) << 30, 2, NULL),
                   UK_INVALID_SIZE, "addressed");
    o.threads = -1;
    assert_refused(uk_w4gemm_plan(&plan, 1, 1, 32, 32, 32, 1, &o), UK_INVALID_ARGUMENT, "options.threads");
    o = (struct uk_weights_options){.sums = (enum uk_sums)2};
    assert_refused(uk_w4gemm_plan(&plan, 1, 1, 32, 32, 32, 1, &o), UK_INVALID_ARGUMENT, "options.sums");
    o = (struct uk_weights_options){.scale = (enum uk_scale_type)3};
    assert_refused(uk_w4gemm_plan(&plan, 1, 1, 32, 32, 32, 1, &o), UK_INVALID_ARGUMENT, "options.scale");
    memset(&plan, 0, sizeof plan);
    assert_int_equal(uk_weights_packed_size(&plan), 0);
    assert_int_equal(uk_weights_workspace(NULL), 0);
}

static void bad_weights(void **state) {
    uint8_t weight[4 * 32] = {0}, zero[4] = {0};
    float scale[4] = {1, 1, 1, 1}, a[32] = {0}, c[4];
    char packed[4096] __attribute__((aligned(64)));
    struct uk_weights w = {.weight = weight, .scale = scale, .zero = zero};
    const struct uk_weights_options zeros = {.has_zeros = true};
    struct uk_weights_plan plan, other;

    (void)state;
    assert_int_equal(uk_w4gemm_plan(&plan, 1, 4, 32, 32, 32, 4, &zeros), UK_OK);
    assert_true(uk_weights_packed_size(&plan) <= sizeof packed);
    assert_refused(uk_w8gemm_pack(&plan, &w, packed), UK_INVALID_ARGUMENT, "uk_w8gemm_plan");
    assert_refused(uk_w4gemm_pack(&plan, NULL, packed), UK_INVALID_ARGUMENT, "weights is NULL");
    assert_refused(uk_w4gemm_pack(&plan, &w, NULL), UK_INVALID_ARGUMENT, "packed is NULL");
    w.zero = NULL;
    assert_refused(uk_w4gemm_pack(&plan, &w, packed), UK_INVALID_ARGUMENT, "weights.zero is NULL");
    w.zero = zero;
    zero[2] = 16;
    assert_refused(uk_w4gemm_pack(&plan, &w, packed), UK_INVALID_ARGUMENT, "column 2 is 16");
    zero[2] = 15;
    scale[1] = NAN;
    assert_refused(uk_w4gemm_pack(&plan, &w, packed), UK_INVALID_ARGUMENT, "column 1 is nan");
    scale[1] = -INFINITY;
    assert_refused(uk_w4gemm_pack(&plan, &w, packed), UK_INVALID_ARGUMENT, "column 1 is -inf");
    scale[1] = -1;
    w.nibbles = (enum uk_nibbles)2;
    assert_refused(uk_w4gemm_pack(&plan, &w, packed), UK_INVALID_ARGUMENT, "nibbles");
    w.nibbles = UK_NIBBLES_PAIRS;
    memset(packed, 0, sizeof packed);
    assert_refused(uk_w4gemm_run(&plan, a, packed, 0, c, NULL, NULL), UK_INVALID_ARGUMENT, "not packed");
    assert_int_equal(uk_w4gemm_pack(&plan, &w, packed), UK_OK);
    assert_refused(uk_w4gemm_run(&plan, NULL, packed, 0, c, NULL, NULL), UK_INVALID_ARGUMENT, "a is NULL");
    assert_refused(uk_w4gemm_run(&plan, a, packed, 0, NULL, NULL, NULL), UK_INVALID_ARGUMENT, "c is NULL");
    assert_refused(uk_w4gemm_run(&plan, a, NULL, 0, c, NULL, NULL), UK_INVALID_ARGUMENT, "packed is NULL");
    assert_refused(uk_w4gemm_run(&plan, a, packed, 0, c, &(struct uk_sgemm_epilogue){.scale = 2}, NULL),
                   UK_INVALID_ARGUMENT, "epilogue");
    assert_int_equal(uk_w4gemm_run(&plan, a, packed, 0, c, NULL, NULL), UK_OK);
    assert_int_equal(uk_w4gemm_plan(&other, 1, 4, 32, 16, 32, 4, &zeros), UK_OK);
    assert_refused(uk_w4gemm_run(&other, a, packed, 0, c, NULL, NULL), UK_INVALID_ARGUMENT, "another plan");
    /* Another number of rows and the other sums are for the same weights. */
    assert_int_equal(uk_w4gemm_plan(&other, 0, 4, 32, 32, 32, 4,
                                    &(struct uk_weights_options){.has_zeros = true, .sums = UK_SUMS_I32}),
                     UK_OK);
    assert_int_equal(uk_w4gemm_run(&other, a, packed, 0, c, NULL, NULL), UK_OK);
}

static void plans_explain_themselves(void **state) {
    struct uk_weights_plan plan;
    char text[400], small[10];

    (void)state;
    assert_int_equal(uk_w4gemm_plan(&plan, 16, 64, 128, 32, 128, 64, NULL), UK_OK);
    const size_t length = uk_weights_explain(&plan, text, sizeof text);

    assert_int_equal(length, strlen(text));
    assert_non_null(strstr(text, "kernel: uk_sgemm_i4_"));
    assert_int_equal(uk_weights_explain(&plan, small, sizeof small), length);
    assert_int_equal(strlen(small), sizeof small - 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_are_exact), cmocka_unit_test(reals_are_within_the_bound),
        cmocka_unit_test(large_products),     cmocka_unit_test(threads_share_rows),
        cmocka_unit_test(special_rows),       cmocka_unit_test(bad_plans),
        cmocka_unit_test(bad_weights),        cmocka_unit_test(plans_explain_themselves),
    };

    return cmocka_run_group_tests_name("products with weights in blocks", tests, NULL, NULL);
}
