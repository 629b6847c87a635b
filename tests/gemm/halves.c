/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of bf16 and f16, with sums in f32 and in f16, and each type of C: exact on integers, in all
 * layouts, with gaps between lines, by 1 and 3 threads, with operands packed beforehand, with alpha, beta and
 * epilogues. On random data within the stated bound, and the same bits however they are computed. Each
 * operand ends at an inaccessible page.
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "guarded.h"
#include "drawn.h"
#include "random.h"
#include "registry/half.h"
#include "ukernels.h"

enum { THREADS = 3, MOST = 400 };

static uint64_t seed = 20261130;

/* A type of products, and what C has in them. */
struct type {
    bool is_bf16, f16_sums;
    enum uk_c_element c;
};
static const struct type types[] = {{true, false, UK_C_DEFAULT}, {true, false, UK_C_F32},
                                    {true, false, UK_C_BF16},    {false, false, UK_C_DEFAULT},
                                    {false, false, UK_C_F16},    {false, false, UK_C_F32},
                                    {false, true, UK_C_DEFAULT}, {false, true, UK_C_F32}};
enum { TYPES = sizeof types / sizeof *types };

static bool c_is_f32(const struct type *t) {
    return t->c == UK_C_F32 || (t->c == UK_C_DEFAULT && t->is_bf16);
}

static float from_bits(const struct type *t, uint16_t x) {
    return t->is_bf16 ? uk_from_bf16(x) : uk_from_f16(x);
}

static uint16_t to_bits(const struct type *t, float x) {
    return t->is_bf16 ? uk_to_bf16(x) : uk_to_f16(uk_round_f16(x));
}

struct shape {
    const struct type *type;
    enum uk_layout layout;
    enum uk_transpose ta, tb;
    int64_t m, n, k, lda, ldb, ldc;
    float alpha, beta;
    const struct uk_sgemm_epilogue *epilogue;
};

static bool by_first(const struct shape *s, enum uk_transpose t) {
    return (s->layout == UK_ROW_MAJOR) == (t == UK_NO_TRANSPOSE);
}

static struct shape shape_of(const struct type *t, int form, int64_t m, int64_t n, int64_t k, int pad) {
    struct shape s = {.type = t,
                      .layout = form & 1 ? UK_COLUMN_MAJOR : UK_ROW_MAJOR,
                      .ta = form & 2 ? UK_TRANSPOSE : UK_NO_TRANSPOSE,
                      .tb = form & 4 ? UK_TRANSPOSE : UK_NO_TRANSPOSE,
                      .m = m,
                      .n = n,
                      .k = k,
                      .alpha = 1};

    s.lda = (by_first(&s, s.ta) ? k : m) + pad;
    s.ldb = (by_first(&s, s.tb) ? n : k) + pad;
    s.ldc = (s.layout == UK_ROW_MAJOR ? n : m) + pad;
    s.lda += !s.lda;
    s.ldb += !s.ldb;
    s.ldc += !s.ldc;
    return s;
}

struct operands {
    struct guarded a, b, c;
    int64_t a_count, b_count, c_count;
    size_t c_bytes;
};

/* Operands of integers from -2 to 2, or of random numbers from -1 to 1. */
static struct operands operands_of(const struct shape *s, bool random) {
    const bool a = by_first(s, s->ta), b = by_first(s, s->tb), c = s->layout == UK_ROW_MAJOR;
    struct operands o = {.a_count = elements(a ? s->m : s->k, a ? s->k : s->m, s->lda),
                         .b_count = elements(b ? s->k : s->n, b ? s->n : s->k, s->ldb),
                         .c_count = elements(c ? s->m : s->n, c ? s->n : s->m, s->ldc)};

    o.c_bytes = (size_t)o.c_count * (c_is_f32(s->type) ? sizeof(float) : sizeof(uint16_t));
    o.a = guard((size_t)o.a_count * sizeof(uint16_t));
    o.b = guard((size_t)o.b_count * sizeof(uint16_t));
    o.c = guard(o.c_bytes);
    for (int64_t i = 0; i < o.a_count + o.b_count; i++) {
        uint16_t *x = i < o.a_count ? (uint16_t *)o.a.data + i : (uint16_t *)o.b.data + (i - o.a_count);

        *x = to_bits(s->type, random ? (float)((double)random_next(&seed) * 0x1p-63 - 1)
                                     : (float)random_below(&seed, 5) - 2);
    }
    for (int64_t i = 0; i < o.c_count; i++) {
        const float x = (float)random_below(&seed, 9) - 4;

        if (c_is_f32(s->type))
            ((float *)o.c.data)[i] = x;
        else
            ((uint16_t *)o.c.data)[i] = to_bits(s->type, x);
    }
    return o;
}

static void free_operands(struct operands *o) {
    release(&o->a);
    release(&o->b);
    release(&o->c);
}

static double sum_of(const struct shape *s, const struct operands *o, int64_t i, int64_t j, double *size) {
    const uint16_t *a = o->a.data, *b = o->b.data;
    double sum = 0;

    *size = 0;
    for (int64_t p = 0; p < s->k; p++) {
        const double x = (double)from_bits(s->type, a[place(by_first(s, s->ta), i, p, s->lda)]) *
                         (double)from_bits(s->type, b[place(by_first(s, s->tb), p, j, s->ldb)]);

        sum += x;
        *size += fabs(x);
    }
    return sum;
}

/* Replaces C by what is expected of integers, for which all of this is exact but the last rounding. */
static void expect(const struct shape *s, const struct operands *o, void *c) {
    const struct uk_sgemm_epilogue *e = s->epilogue;

    for (int64_t i = 0; i < s->m; i++)
        for (int64_t j = 0; j < s->n; j++) {
            const int64_t at = place(s->layout == UK_ROW_MAJOR, i, j, s->ldc);
            double size, x = (double)s->alpha * sum_of(s, o, i, j, &size);

            if (s->beta != 0)
                x += (double)s->beta *
                     (double)(c_is_f32(s->type) ? ((float *)c)[at] : from_bits(s->type, ((uint16_t *)c)[at]));
            if (e) {
                x *= e->flags & UK_EPILOGUE_SCALE ? (double)e->scale : 1;
                x += e->row_bias ? (double)e->row_bias[i] : 0;
                x += e->column_bias ? (double)e->column_bias[j] : 0;
                if (e->flags & UK_EPILOGUE_CLAMP)
                    x = fmin(fmax(x, (double)e->low), (double)e->high);
            }
            if (c_is_f32(s->type))
                ((float *)c)[at] = (float)x;
            else
                ((uint16_t *)c)[at] = to_bits(s->type, (float)x);
        }
}

/* Computes by a plan, with each operand packed beforehand or not. */
static void run(const struct shape *s, const struct operands *o, int threads, bool packs_a, bool packs_b,
                void *c) {
    const struct uk_gemm_options options = {.threads = threads,
                                            .a_packed = packs_a,
                                            .b_packed = packs_b,
                                            .c_element = s->type->c,
                                            .f16_sums = s->type->f16_sums};
    const bool b16 = s->type->is_bf16;
    struct uk_gemm_plan plan;

    assert_int_equal((b16 ? uk_bgemm_plan : uk_hgemm_plan)(&plan, s->layout, s->ta, s->tb, s->m, s->n, s->k,
                                                           s->lda, s->ldb, s->ldc, &options),
                     UK_OK);
    struct guarded a = guard((uk_gemm_packed_a_size(&plan) + 3) / 4 * 4),
                   b = guard((uk_gemm_packed_b_size(&plan) + 3) / 4 * 4),
                   work = guard((uk_gemm_workspace(&plan) + 63) / 64 * 64);
    if (packs_a)
        assert_int_equal((b16 ? uk_bgemm_pack_a : uk_hgemm_pack_a)(&plan, o->a.data, a.data), UK_OK);
    if (packs_b)
        assert_int_equal((b16 ? uk_bgemm_pack_b : uk_hgemm_pack_b)(&plan, o->b.data, b.data), UK_OK);
    assert_int_equal((b16 ? uk_bgemm_run : uk_hgemm_run)(&plan, s->alpha, packs_a ? a.data : o->a.data,
                                                         packs_b ? b.data : o->b.data, s->beta, c,
                                                         s->epilogue, threads == 1 ? NULL : work.data),
                     UK_OK);
    release(&a);
    release(&b);
    release(&work);
}

/* Replaces -0 by 0. */
static void drop_signs(const struct shape *s, const struct operands *o, void *c) {
    for (int64_t i = 0; i < o->c_count; i++)
        if (c_is_f32(s->type))
            ((float *)c)[i] += 0.0f;
        else if (((uint16_t *)c)[i] == 1 << 15)
            ((uint16_t *)c)[i] = 0;
}

static void check(const struct shape *s) {
    struct operands o = operands_of(s, false);
    unsigned char *before = malloc(o.c_bytes + 1), *expected = malloc(o.c_bytes + 1);

    assert_true(before && expected);
    memcpy(before, o.c.data, o.c_bytes);
    memcpy(expected, o.c.data, o.c_bytes);
    expect(s, &o, expected);
    drop_signs(s, &o, expected);
    for (int way = 0; way < 5; way++) {
        memcpy(o.c.data, before, o.c_bytes);
        if (way < 4)
            run(s, &o, way % 2 ? THREADS : 1, way & 1, way & 2, o.c.data);
        else if (s->epilogue || s->type->c != UK_C_DEFAULT || s->type->f16_sums)
            continue;
        else if (s->type->is_bf16)
            assert_int_equal(uk_bgemm(s->layout, s->ta, s->tb, s->m, s->n, s->k, s->alpha, o.a.data, s->lda,
                                      o.b.data, s->ldb, s->beta, o.c.data, s->ldc),
                             UK_OK);
        else
            assert_int_equal(uk_hgemm(s->layout, s->ta, s->tb, s->m, s->n, s->k, s->alpha, o.a.data, s->lda,
                                      o.b.data, s->ldb, s->beta, o.c.data, s->ldc),
                             UK_OK);
        drop_signs(s, &o, o.c.data);
        if (memcmp(o.c.data, expected, o.c_bytes) != 0)
            fail_msg("type %d, layout %d ta %d tb %d, %d x %d x %d, alpha %g beta %g, epilogue %d, way %d",
                     (int)(s->type - types), s->layout, s->ta, s->tb, (int)s->m, (int)s->n, (int)s->k,
                     (double)s->alpha, (double)s->beta, s->epilogue != NULL, way);
    }
    free(before);
    free(expected);
    free_operands(&o);
}

static void exact_on_integers(void **state) {
    static const int64_t sizes[] = {0, 1, 2, 3, 5, 6, 7, 8, 9, 15, 16, 17, 24, 33, 64, 65, 80};
    static const float alphas[] = {1, 1, 2, -1, 0}, betas[] = {0, 1, -1, 0.5f};
    static float rows[MOST], columns[MOST];
    struct uk_sgemm_epilogue e[] = {
        {.flags = UK_EPILOGUE_SCALE | UK_EPILOGUE_CLAMP, .scale = 0.5f, .low = -9, .high = 20},
        {.flags = 0, .row_bias = rows, .column_bias = columns},
        {.flags = UK_EPILOGUE_SCALE, .scale = 0, .column_bias = columns},
    };

    (void)state;
    for (int i = 0; i < MOST; i++) {
        rows[i] = (float)(i % 7);
        columns[i] = (float)(i % 5) - 2;
    }
    for (int i = 0; i < 1600; i++) {
        struct shape s = shape_of(&types[i % TYPES], i / 8 % 8, sizes[random_below(&seed, 17)],
                                  sizes[random_below(&seed, 17)], (int64_t)random_below(&seed, 40),
                                  (int)random_below(&seed, 3));

        s.alpha = alphas[random_below(&seed, 5)];
        s.beta = betas[random_below(&seed, 4)];
        s.epilogue = i % 3 == 0 ? &e[random_below(&seed, 3)] : NULL;
        check(&s);
    }
    /* Several blocks of k. */
    for (int i = 0; i < 2 * TYPES; i++) {
        struct shape s = shape_of(&types[i % TYPES], i % 8, 20, 90, 1700, i % 2);

        s.alpha = (float)(1 + i / TYPES);
        s.beta = 1;
        if (!s.type->f16_sums)
            check(&s);
    }
    /* Several blocks of rows and columns; sums stay below 2^11. */
    for (int i = 0; i < 3 * TYPES; i++) {
        static const int64_t large[][3] = {{150, 160, 433}, {13, 390, 500}, {3, 70, 400}};
        const int64_t *size = large[i / TYPES];
        struct shape s = shape_of(&types[i % TYPES], i % 8, size[0], size[1], size[2], i % 3);

        s.beta = (float)(i % 2);
        s.epilogue = i % 3 == 0 ? &e[1] : NULL;
        check(&s);
    }
}

static void drawn_products(void **state) {
    const int count = begin_drawing(&seed);

    (void)state;
    for (int i = 0; i < count; i++) {
        int64_t size[3];

        draw_sizes(&seed, size);
        struct shape s = shape_of(&types[i % TYPES], random_below(&seed, 8), size[0], size[1], size[2],
                                  random_below(&seed, 3));
        s.beta = (float)random_below(&seed, 2);
        check(&s);
    }
}

/* ---- random data ---- */

static void bounds_and_bits(void **state) {
    static const int64_t sizes[][3] = {{70, 90, 1500}, {13, 120, 2300}, {1, 40, 1000}, {200, 33, 777}};

    (void)state;
    for (int i = 0; i < 4 * TYPES; i++) {
        const int64_t *size = sizes[i / TYPES];
        const struct shape s = shape_of(&types[i % TYPES], i % 8, size[0], size[1], size[2], 1);
        struct operands o = operands_of(&s, true);
        unsigned char *first = malloc(o.c_bytes);
        const double steps = s.type->f16_sums ? 0x1p-11 : 0x1p-23, last = c_is_f32(s.type)  ? 0
                                                                          : s.type->is_bf16 ? 0x1p-8
                                                                                            : 0x1p-11;

        assert_non_null(first);
        run(&s, &o, 1, false, false, o.c.data);
        memcpy(first, o.c.data, o.c_bytes);
        for (int64_t r = 0; r < s.m; r++)
            for (int64_t j = 0; j < s.n; j++) {
                const int64_t at = place(s.layout == UK_ROW_MAJOR, r, j, s.ldc);
                const double is = (double)(c_is_f32(s.type) ? ((float *)o.c.data)[at]
                                                            : from_bits(s.type, ((uint16_t *)o.c.data)[at]));
                double terms;
                const double sum = sum_of(&s, &o, r, j, &terms);

                if (!(fabs(is - sum) <= (double)(2 * s.k) * steps * terms + last * fabs(sum) + 0x1p-20))
                    fail_msg("type %d: %g, not %g", i % TYPES, is, sum);
            }
        for (int way = 1; way < 8; way++) {
            run(&s, &o, way & 4 ? THREADS : 1, way & 1, way & 2, o.c.data);
            if (memcmp(o.c.data, first, o.c_bytes) != 0)
                fail_msg("type %d, %d x %d x %d: other bits with way %d", i % TYPES, (int)s.m, (int)s.n,
                         (int)s.k, way);
        }
        free(first);
        free_operands(&o);
    }
}

/* What fills up a last group of terms does not turn infinity into NaN. */
static void infinities(void **state) {
    uint16_t a[7 * 9], b[9 * 20];
    float c[7 * 20];

    (void)state;
    for (int64_t k = 1; k <= 9; k++) {
        for (int i = 0; i < 7 * 9; i++)
            a[i] = uk_to_bf16(INFINITY);
        for (int i = 0; i < 9 * 20; i++)
            b[i] = uk_to_bf16(1);
        assert_int_equal(
            uk_bgemm(UK_ROW_MAJOR, UK_NO_TRANSPOSE, UK_NO_TRANSPOSE, 7, 20, k, 1, a, k, b, 20, 0, c, 20),
            UK_OK);
        for (int i = 0; i < 7 * 20; i++)
            assert_true(isinf(c[i]));
    }
}

static void batches(void **state) {
    enum { M = 3, N = 4, K = 5, ITEMS = 30 };
    static uint16_t a[ITEMS * M * K], b[K * N], h[ITEMS * M * N];
    static float c[ITEMS * M * N];
    const uint16_t *as[ITEMS], *bs[ITEMS];
    float *cs[ITEMS];
    uint16_t *hs[ITEMS];

    (void)state;
    for (int half = 0; half < 2; half++)
        for (int strided = 0; strided < 2; strided++) {
            const struct type *t = &types[half ? 3 : 0];
            enum uk_status status;

            for (int i = 0; i < ITEMS * M * K; i++)
                a[i] = to_bits(t, (float)(i % 5 - 2));
            for (int i = 0; i < K * N; i++)
                b[i] = to_bits(t, (float)(i % 3));
            for (int i = 0; i < ITEMS; i++) {
                as[i] = a + i * M * K;
                bs[i] = b;
                cs[i] = c + i * M * N;
                hs[i] = h + i * M * N;
            }
            memset(c, -1, sizeof c);
            memset(h, -1, sizeof h);
            if (half)
                status = strided
                             ? uk_hgemm_batch_strided(UK_ROW_MAJOR, UK_NO_TRANSPOSE, UK_NO_TRANSPOSE, M, N, K,
                                                      1, a, K, M * K, b, N, 0, 0, h, N, M * N, ITEMS)
                             : uk_hgemm_batch(UK_ROW_MAJOR, UK_NO_TRANSPOSE, UK_NO_TRANSPOSE, M, N, K, 1, as,
                                              K, bs, N, 0, hs, N, ITEMS);
            else
                status = strided
                             ? uk_bgemm_batch_strided(UK_ROW_MAJOR, UK_NO_TRANSPOSE, UK_NO_TRANSPOSE, M, N, K,
                                                      1, a, K, M * K, b, N, 0, 0, c, N, M * N, ITEMS)
                             : uk_bgemm_batch(UK_ROW_MAJOR, UK_NO_TRANSPOSE, UK_NO_TRANSPOSE, M, N, K, 1, as,
                                              K, bs, N, 0, cs, N, ITEMS);
            assert_int_equal(status, UK_OK);
            for (int x = 0; x < ITEMS * M * N; x++) {
                int sum = 0;

                for (int p = 0; p < K; p++)
                    sum += ((x / N * K + p) % 5 - 2) * ((p * N + x % N) % 3);
                assert_true((half ? uk_from_f16(h[x]) : c[x]) == (float)sum);
            }
        }
}

static void bad_arguments(void **state) {
    uint16_t a[4] = {0}, h[4] = {7, 7, 7, 7};
    float c[4] = {5, 5, 5, 5};
    const enum uk_transpose no = UK_NO_TRANSPOSE;
    const struct uk_gemm_options bytes = {.c_element = UK_C_U8}, bf16 = {.c_element = UK_C_BF16},
                                 sums = {.f16_sums = true};
    const struct uk_sgemm_epilogue unknown = {.flags = UK_EPILOGUE_RESIDUAL};
    struct uk_gemm_plan b, f16, f16_sums;

    (void)state;
    assert_int_equal(uk_bgemm_plan(&b, UK_ROW_MAJOR, no, no, 2, 2, 2, 2, 2, 2, &bytes), UK_INVALID_ARGUMENT);
    assert_int_equal(uk_bgemm_plan(&b, UK_ROW_MAJOR, no, no, 2, 2, 2, 2, 2, 2, &sums), UK_INVALID_ARGUMENT);
    assert_non_null(strstr(uk_last_message(), "f16_sums"));
    assert_int_equal(uk_hgemm_plan(&b, UK_ROW_MAJOR, no, no, 2, 2, 2, 2, 2, 2, &bf16), UK_INVALID_ARGUMENT);
    assert_int_equal(uk_bgemm_plan(NULL, UK_ROW_MAJOR, no, no, 2, 2, 2, 2, 2, 2, NULL), UK_INVALID_ARGUMENT);
    assert_int_equal(uk_bgemm_plan(&b, UK_ROW_MAJOR, no, no, 2, 2, 2, 2, 2, 2, NULL), UK_OK);
    assert_int_equal(uk_hgemm_plan(&f16, UK_ROW_MAJOR, no, no, 2, 2, 2, 2, 2, 2, NULL), UK_OK);
    assert_int_equal(uk_hgemm_plan(&f16_sums, UK_ROW_MAJOR, no, no, 2, 2, 2, 2, 2, 2, &sums), UK_OK);
    assert_int_equal(uk_bgemm_run(NULL, 1, a, a, 0, c, NULL, NULL), UK_INVALID_ARGUMENT);
    assert_int_equal(uk_bgemm_run(&f16, 1, a, a, 0, c, NULL, NULL), UK_INVALID_ARGUMENT);
    assert_int_equal(uk_hgemm_run(&b, 1, a, a, 0, h, NULL, NULL), UK_INVALID_ARGUMENT);
    assert_int_equal(uk_bgemm_run(&b, 1, a, a, 0, c, &unknown, NULL), UK_INVALID_ARGUMENT);
    assert_int_equal(uk_hgemm_run(&f16_sums, 1, NULL, a, 0, h, NULL, NULL), UK_INVALID_ARGUMENT);
    assert_int_equal(uk_hgemm_pack_a(&b, a, a), UK_INVALID_ARGUMENT);
    assert_int_equal(uk_bgemm(UK_ROW_MAJOR, no, no, 2, 2, 2, 1, a, 1, a, 2, 0, c, 2), UK_INVALID_SIZE);
    assert_int_equal(uk_hgemm(UK_ROW_MAJOR, no, no, 2, 2, 2, 1, a, 2, a, 2, 0, NULL, 2), UK_INVALID_ARGUMENT);
    for (int i = 0; i < 4; i++)
        assert_true(c[i] == 5 && h[i] == 7);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_on_integers), cmocka_unit_test(drawn_products),
        cmocka_unit_test(bounds_and_bits),   cmocka_unit_test(infinities),
        cmocka_unit_test(batches),           cmocka_unit_test(bad_arguments),
    };

    if (uk_set_num_threads(THREADS))
        return 1;
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
