/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares products of bytes exactly with 64-bit sums, for each pair of types: layouts, transposes, leading
 * dimensions, sizes around tiles and groups of terms, long sums of extreme bytes, drawn ones, factors of C,
 * threads, packed operands, batches, memory that cannot be allocated, and refusals. Each operand ends at an
 * inaccessible page.
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bytes_data.h"
#include "drawn.h"

/* Fails each allocation of the library while it is set. */
static bool has_no_memory;
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    errno = ENOMEM;
    return has_no_memory ? NULL : __real_aligned_alloc(alignment, size);
}

/* The expected C, in a copy whose gaps between lines are unchanged. */
static int32_t *expected_of(const struct shape *s, const struct operands *o) {
    const bool a_first = is_by_first(s, s->ta), b_first = is_by_first(s, s->tb),
               rows = s->layout == UK_ROW_MAJOR;
    int32_t *c = malloc((size_t)o->c_count * sizeof *c + 1);

    assert_non_null(c);
    memcpy(c, o->c.data, (size_t)o->c_count * sizeof *c);
    for (int64_t i = 0; i < s->m; i++)
        for (int64_t j = 0; j < s->n; j++) {
            int32_t *at = &c[place(rows, i, j, s->ldc)];
            uint64_t sum = s->beta == 0 ? 0 : (uint64_t)s->beta * (uint64_t)(int64_t)*at;

            for (int64_t p = 0; p < s->k; p++)
                sum += (uint64_t)(byte_at(o->a.data, s->type->a_is_signed, place(a_first, i, p, s->lda)) *
                                  byte_at(o->b.data, s->type->b_is_signed, place(b_first, p, j, s->ldb)));
            *at = (int32_t)(uint32_t)sum;
        }
    return c;
}

static void compare(const struct shape *s, const struct operands *o, const int32_t *expected,
                    const char *what) {
    const int32_t *c = o->c.data;

    for (int64_t i = 0; i < o->c_count; i++)
        if (c[i] != expected[i])
            fail_msg("%s%s: layout %d ta %d tb %d, %lld x %lld x %lld, ld %lld %lld %lld, beta %d: element "
                     "%lld is %d, not %d",
                     s->type->name, what, s->layout, s->ta, s->tb, (long long)s->m, (long long)s->n,
                     (long long)s->k, (long long)s->lda, (long long)s->ldb, (long long)s->ldc, s->beta,
                     (long long)i, c[i], expected[i]);
}

/* ---- one product, computed in every way ---- */

static enum uk_status call(const struct shape *s, const struct operands *o) {
    return s->type->call(s->layout, s->ta, s->tb, s->m, s->n, s->k, o->a.data, s->lda, o->b.data, s->ldb,
                         s->beta, o->c.data, s->ldc);
}

/* Computes by a plan, with each operand packed beforehand or not, into memory that ends where the packed
 * operand does. */
static enum uk_status by_plan(const struct shape *s, const struct operands *o, int threads, bool packs_a,
                              bool packs_b) {
    const struct uk_gemm_options options = {.threads = threads, .a_packed = packs_a, .b_packed = packs_b};
    struct uk_gemm_plan plan;
    enum uk_status status =
        s->type->plan(&plan, s->layout, s->ta, s->tb, s->m, s->n, s->k, s->lda, s->ldb, s->ldc, &options);

    if (status)
        return status;
    struct guarded a = guard(uk_gemm_packed_a_size(&plan)), b = guard(uk_gemm_packed_b_size(&plan)),
                   work = guard((uk_gemm_workspace(&plan) + 63) / 64 * 64);
    if (packs_a)
        status = s->type->pack_a(&plan, o->a.data, a.data);
    if (packs_b && !status)
        status = s->type->pack_b(&plan, o->b.data, b.data);
    if (!status)
        status = s->type->run(&plan, packs_a ? a.data : o->a.data, packs_b ? b.data : o->b.data, s->beta,
                              o->c.data, NULL, work.data);
    release(&a);
    release(&b);
    release(&work);
    return status;
}

enum { THREADS = 3 };

static void check(const struct shape *s, bool extreme) {
    struct operands o = operands_of(s, extreme);
    int32_t *before = malloc((size_t)o.c_count * sizeof *before + 1), *expected = expected_of(s, &o);
    const size_t bytes = (size_t)o.c_count * sizeof *before;

    assert_non_null(before);
    memcpy(before, o.c.data, bytes);
    assert_int_equal(call(s, &o), UK_OK);
    compare(s, &o, expected, "");
    for (int way = 0; way < 4; way++) {
        memcpy(o.c.data, before, bytes);
        assert_int_equal(by_plan(s, &o, way % 2 ? THREADS : 1, way & 1, way & 2), UK_OK);
        compare(s, &o, expected, "_run");
    }
    free(before);
    free(expected);
    free_operands(&o);
}

static const int32_t betas[] = {0, 1, -3, INT_MIN, 7};

static void sizes_around_tiles(void **state) {
    static const int64_t sizes[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 14, 15, 17, 31, 33};
    enum { SIZES = sizeof sizes / sizeof *sizes };

    (void)state;
    for (int form = 0; form < 8; form++)
        for (int i = 0; i < 150; i++) {
            const struct shape s = shape_of(
                i + form, form, sizes[random_below(&seed, SIZES)], sizes[random_below(&seed, SIZES)],
                sizes[random_below(&seed, SIZES)], i % 3 ? 0 : (int)random_below(&seed, 5), betas[i % 5]);

            check(&s, i % 7 == 6);
        }
}

/* Several blocks of terms and of columns, and sums that overflow i32. */
static void large_products(void **state) {
    static const int64_t sizes[][3] = {
        {70, 90, 3000}, {13, 700, 1200}, {300, 40, 130}, {2, 3, 70000}, {150, 160, 513}};

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int form = (int)i % 2; form < 8; form += 2) {
            const struct shape s = shape_of((int)i + form / 2, form, sizes[i][0], sizes[i][1], sizes[i][2],
                                            (int)i % 3, betas[(size_t)form % 5]);

            check(&s, i == 3);
        }
}

static void drawn_products(void **state) {
    const int count = begin_drawing(&seed);

    (void)state;
    for (int i = 0; i < count; i++) {
        int64_t size[3];

        draw_sizes(&seed, size);
        const struct shape s = shape_of(i, random_below(&seed, 8), size[0], size[1], size[2],
                                        random_below(&seed, 3), betas[i % 5]);
        check(&s, i % 7 == 6);
    }
}

/* ---- batches ---- */

enum { ITEMS = 37 };

static void batches(void **state) {
    (void)state;
    for (int form = 0; form < 8; form++) {
        const struct shape s = shape_of(form, form, 5 + form, 9, 11, form % 2, betas[form % 5]);
        struct operands o[ITEMS];
        int32_t *expected[ITEMS];
        const uint8_t *a[ITEMS];
        const int8_t *b[ITEMS];
        int32_t *c[ITEMS];

        for (int i = 0; i < ITEMS; i++) {
            o[i] = operands_of(&s, false);
            expected[i] = expected_of(&s, &o[i]);
            a[i] = o[i].a.data;
            b[i] = o[i].b.data;
            c[i] = o[i].c.data;
        }
        const int64_t a_size = o[0].a_count, b_size = o[0].b_count, c_size = o[0].c_count;
        uint8_t *all_a = malloc((size_t)(ITEMS * a_size));
        int8_t *all_b = malloc((size_t)(ITEMS * b_size));
        int32_t *all_c = malloc((size_t)(ITEMS * c_size) * sizeof *all_c);
        assert_true(all_a && all_b && all_c);
        for (int i = 0; i < ITEMS; i++) {
            memcpy(all_a + i * a_size, a[i], (size_t)a_size);
            memcpy(all_b + i * b_size, b[i], (size_t)b_size);
            memcpy(all_c + i * c_size, c[i], (size_t)c_size * sizeof *all_c);
        }
        assert_int_equal(
            s.type->batch(s.layout, s.ta, s.tb, s.m, s.n, s.k, a, s.lda, b, s.ldb, s.beta, c, s.ldc, ITEMS),
            UK_OK);
        assert_int_equal(s.type->strided(s.layout, s.ta, s.tb, s.m, s.n, s.k, all_a, s.lda, a_size, all_b,
                                         s.ldb, b_size, s.beta, all_c, s.ldc, c_size, ITEMS),
                         UK_OK);
        for (int i = 0; i < ITEMS; i++) {
            compare(&s, &o[i], expected[i], "_batch");
            memcpy(o[i].c.data, all_c + i * c_size, (size_t)c_size * sizeof *all_c);
            compare(&s, &o[i], expected[i], "_batch_strided");
            free(expected[i]);
            free_operands(&o[i]);
        }
        free(all_a);
        free(all_b);
        free(all_c);
    }
}

/* ---- refusals ---- */

/* Without memory for the workspace nothing is written. */
static void out_of_memory(void **state) {
    (void)state;
    for (int type = 0; type < TYPES; type++) {
        const struct shape s = shape_of(type, type, 90, 70, 300, 1, 3);
        struct operands o = operands_of(&s, false);
        const size_t bytes = (size_t)o.c_count * sizeof(int32_t);
        void *before = malloc(bytes);

        assert_non_null(before);
        memcpy(before, o.c.data, bytes);
        uk_release_memory();
        has_no_memory = true;
        const enum uk_status status = call(&s, &o);
        has_no_memory = false;
        assert_int_equal(status, UK_OUT_OF_MEMORY);
        assert_memory_equal(o.c.data, before, bytes);
        free(before);
        free_operands(&o);
    }
}

/* Plans of a pair of types are refused by the functions of others. */
static void plans_of_other_types(void **state) {
    int8_t a[64] = {0};
    int32_t c[16] = {0};
    struct uk_gemm_plan plan;

    (void)state;
    for (int of = 0; of < TYPES; of++) {
        assert_int_equal(
            types[of]->plan(&plan, UK_ROW_MAJOR, UK_NO_TRANSPOSE, UK_NO_TRANSPOSE, 4, 4, 4, 4, 4, 4, NULL),
            UK_OK);
        for (int by = 0; by < TYPES; by++) {
            const enum uk_status expected = of == by ? UK_OK : UK_INVALID_ARGUMENT;

            assert_int_equal(types[by]->run(&plan, a, a, 0, c, NULL, NULL), expected);
            if (of != by) {
                assert_int_equal(types[by]->pack_a(&plan, a, a), expected);
                assert_int_equal(types[by]->pack_b(&plan, a, a), expected);
            }
        }
    }
}

static void bad_arguments(void **state) {
    uint8_t a[4] = {1, 1, 1, 1};
    int8_t b[4] = {1, 1, 1, 1};
    int32_t c[4] = {5, 5, 5, 5};
    const enum uk_transpose no = UK_NO_TRANSPOSE;
    struct uk_gemm_plan plan, real;

    (void)state;
    assert_int_equal(uk_igemm((enum uk_layout)7, no, no, 2, 2, 2, a, 2, b, 2, 0, c, 2), UK_INVALID_ARGUMENT);
    assert_int_equal(uk_igemm(UK_ROW_MAJOR, (enum uk_transpose)2, no, 2, 2, 2, a, 2, b, 2, 0, c, 2),
                     UK_INVALID_ARGUMENT);
    assert_int_equal(uk_igemm(UK_ROW_MAJOR, no, no, -1, 2, 2, a, 2, b, 2, 0, c, 2), UK_INVALID_SIZE);
    assert_int_equal(uk_igemm(UK_ROW_MAJOR, no, no, 2, 2, 2, a, 1, b, 2, 0, c, 2), UK_INVALID_SIZE);
    assert_int_equal(uk_igemm(UK_ROW_MAJOR, no, no, 2, 2, 2, a, 2, b, 2, 0, c, 1), UK_INVALID_SIZE);
    assert_int_equal(uk_igemm(UK_ROW_MAJOR, no, no, 2, 2, 2, a, INT64_MAX / 2, b, 2, 0, c, 2),
                     UK_INVALID_SIZE);
    assert_int_equal(uk_igemm(UK_ROW_MAJOR, no, no, 2, 2, 2, a, 2, b, 2, 0, c, INT64_MAX / 128),
                     UK_INVALID_SIZE);
    assert_int_equal(uk_igemm(UK_ROW_MAJOR, no, no, 2, 2, 2, NULL, 2, b, 2, 0, c, 2), UK_INVALID_ARGUMENT);
    assert_int_equal(uk_igemm(UK_ROW_MAJOR, no, no, 2, 2, 2, a, 2, b, 2, 0, NULL, 2), UK_INVALID_ARGUMENT);
    assert_int_equal(uk_igemm_plan(NULL, UK_ROW_MAJOR, no, no, 2, 2, 2, 2, 2, 2, NULL), UK_INVALID_ARGUMENT);
    assert_int_equal(uk_igemm_plan(&plan, UK_ROW_MAJOR, no, no, 2, 2, 2, 2, 2, 2, NULL), UK_OK);
    assert_int_equal(uk_sgemm_plan(&real, UK_ROW_MAJOR, no, no, 2, 2, 2, 2, 2, 2, NULL), UK_OK);
    assert_int_equal(uk_igemm_run(NULL, a, b, 0, c, NULL, NULL), UK_INVALID_ARGUMENT);
    assert_int_equal(uk_igemm_run(&real, a, b, 0, c, NULL, NULL), UK_INVALID_ARGUMENT);
    assert_int_equal(uk_sgemm_run(&plan, 1, (const float *)(const void *)c, (const float *)(const void *)c, 0,
                                  (float *)(void *)c, NULL, NULL),
                     UK_INVALID_ARGUMENT);
    assert_int_equal(uk_igemm_pack_a(&plan, NULL, a), UK_INVALID_ARGUMENT);
    assert_int_equal(uk_igemm_pack_b(&real, b, b), UK_INVALID_ARGUMENT);
    assert_int_equal(uk_igemm_batch_strided(UK_ROW_MAJOR, no, no, 2, 2, 2, a, 2, 0, b, 2, 0, 0, c, 2, 1, 2),
                     UK_INVALID_SIZE);
    for (int i = 0; i < 4; i++)
        assert_int_equal(c[i], 5);
}

static void plans_are_explained(void **state) {
    struct uk_gemm_plan plan;
    char text[1024];

    (void)state;
    assert_int_equal(
        uk_igemm_plan(&plan, UK_COLUMN_MAJOR, UK_NO_TRANSPOSE, UK_TRANSPOSE, 64, 65, 66, 64, 65, 64, NULL),
        UK_OK);
    assert_true(uk_gemm_explain(&plan, text, sizeof text) < sizeof text);
    assert_non_null(strstr(text, "product: igemm, 64 x 65 x 66"));
    assert_non_null(strstr(text, "kernel: uk_igemm_"));
    assert_non_null(strstr(text, "B: packed in panels"));
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_around_tiles), cmocka_unit_test(large_products),
        cmocka_unit_test(drawn_products),     cmocka_unit_test(batches),
        cmocka_unit_test(out_of_memory),      cmocka_unit_test(plans_of_other_types),
        cmocka_unit_test(bad_arguments),      cmocka_unit_test(plans_are_explained),
    };

    if (uk_set_num_threads(THREADS))
        return 1;
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
