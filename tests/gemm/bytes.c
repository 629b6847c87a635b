/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares products of bytes exactly with 64-bit sums, for each pair of types: layouts, transposes, leading
 * dimensions, sizes around tiles and groups of terms, long sums of extreme bytes, factors of C, threads,
 * packed operands, batches, memory that cannot be allocated, and refusals. Each operand ends at an
 * inaccessible page.
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>
#include "random.h"
#include "ukernels.h"

static uint64_t seed = 20261125;

/* Fails each allocation of the library while it is set. */
static bool has_no_memory;
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    errno = ENOMEM;
    return has_no_memory ? NULL : __real_aligned_alloc(alignment, size);
}

/* The functions of one pair of types. */
struct type {
    const char *name;
    bool a_is_signed, b_is_signed;
    enum uk_status (*call)(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb, int64_t m,
                           int64_t n, int64_t k, const void *a, int64_t lda, const void *b, int64_t ldb,
                           int32_t beta, int32_t *c, int64_t ldc);
    enum uk_status (*plan)(struct uk_gemm_plan *plan, enum uk_layout layout, enum uk_transpose ta,
                           enum uk_transpose tb, int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb,
                           int64_t ldc, const struct uk_gemm_options *options);
    enum uk_status (*run)(const struct uk_gemm_plan *plan, const void *a, const void *b, int32_t beta,
                          int32_t *c, void *workspace);
    enum uk_status (*pack_a)(const struct uk_gemm_plan *plan, const void *a, void *packed);
    enum uk_status (*pack_b)(const struct uk_gemm_plan *plan, const void *b, void *packed);
    enum uk_status (*batch)(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb, int64_t m,
                            int64_t n, int64_t k, const void *a, int64_t lda, const void *b, int64_t ldb,
                            int32_t beta, int32_t *const *c, int64_t ldc, int64_t count);
    enum uk_status (*strided)(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb, int64_t m,
                              int64_t n, int64_t k, const void *a, int64_t lda, int64_t stride_a,
                              const void *b, int64_t ldb, int64_t stride_b, int32_t beta, int32_t *c,
                              int64_t ldc, int64_t stride_c, int64_t count);
};

#define TYPE(gemm, left, right, a_is_signed, b_is_signed)                                                   \
    static enum uk_status gemm##_any(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb,     \
                                     int64_t m, int64_t n, int64_t k, const void *a, int64_t lda,           \
                                     const void *b, int64_t ldb, int32_t beta, int32_t *c, int64_t ldc) {   \
        return uk_##gemm(layout, ta, tb, m, n, k, a, lda, b, ldb, beta, c, ldc);                            \
    }                                                                                                       \
    static enum uk_status gemm##_run_any(const struct uk_gemm_plan *plan, const void *a, const void *b,     \
                                         int32_t beta, int32_t *c, void *workspace) {                       \
        return uk_##gemm##_run(plan, a, b, beta, c, workspace);                                             \
    }                                                                                                       \
    static enum uk_status gemm##_pack_a_any(const struct uk_gemm_plan *plan, const void *a, void *packed) { \
        return uk_##gemm##_pack_a(plan, a, packed);                                                         \
    }                                                                                                       \
    static enum uk_status gemm##_pack_b_any(const struct uk_gemm_plan *plan, const void *b, void *packed) { \
        return uk_##gemm##_pack_b(plan, b, packed);                                                         \
    }                                                                                                       \
    static enum uk_status gemm##_batch_any(enum uk_layout layout, enum uk_transpose ta,                     \
                                           enum uk_transpose tb, int64_t m, int64_t n, int64_t k,           \
                                           const void *a, int64_t lda, const void *b, int64_t ldb,          \
                                           int32_t beta, int32_t *const *c, int64_t ldc, int64_t count) {   \
        return uk_##gemm##_batch(layout, ta, tb, m, n, k, (const left *const *)a, lda,                      \
                                 (const right *const *)b, ldb, beta, c, ldc, count);                        \
    }                                                                                                       \
    static enum uk_status gemm##_strided_any(                                                               \
        enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb, int64_t m, int64_t n, int64_t k, \
        const void *a, int64_t lda, int64_t stride_a, const void *b, int64_t ldb, int64_t stride_b,         \
        int32_t beta, int32_t *c, int64_t ldc, int64_t stride_c, int64_t count) {                           \
        return uk_##gemm##_batch_strided(layout, ta, tb, m, n, k, a, lda, stride_a, b, ldb, stride_b, beta, \
                                         c, ldc, stride_c, count);                                          \
    }                                                                                                       \
    static const struct type gemm##_type = {                                                                \
        "uk_" #gemm,    a_is_signed,       b_is_signed,       gemm##_any,       uk_##gemm##_plan,           \
        gemm##_run_any, gemm##_pack_a_any, gemm##_pack_b_any, gemm##_batch_any, gemm##_strided_any};
TYPE(igemm, uint8_t, int8_t, false, true)
TYPE(i8gemm, int8_t, int8_t, true, true)
TYPE(u8gemm, uint8_t, uint8_t, false, false)
static const struct type *const types[] = {&igemm_type, &i8gemm_type, &u8gemm_type};
enum { TYPES = sizeof types / sizeof *types };

struct shape {
    const struct type *type;
    enum uk_layout layout;
    enum uk_transpose ta, tb;
    int64_t m, n, k, lda, ldb, ldc;
    int32_t beta;
};

/* ---- operands that end at an inaccessible page ---- */

struct guarded {
    char *memory;
    size_t bytes;
    void *data;
};

static struct guarded guard(size_t bytes) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (bytes + page - 1) / page * page;
    struct guarded g = {.bytes = whole + page};

    g.memory = mmap(NULL, g.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(g.memory, MAP_FAILED);
    assert_int_equal(mprotect(g.memory + whole, page, PROT_NONE), 0);
    g.data = g.memory + whole - bytes;
    return g;
}

static void release(struct guarded *g) {
    munmap(g->memory, g->bytes);
}

static int64_t elements(int64_t lines, int64_t length, int64_t ld) {
    return lines && length ? (lines - 1) * ld + length : 0;
}

/* True if the operand is stored in lines of its first index. */
static bool is_by_first(const struct shape *s, enum uk_transpose t) {
    return (s->layout == UK_ROW_MAJOR) == (t == UK_NO_TRANSPOSE);
}

static int64_t place(bool by_first, int64_t i, int64_t j, int64_t ld) {
    return by_first ? i * ld + j : j * ld + i;
}

struct operands {
    struct guarded a, b, c;
    int64_t a_count, b_count, c_count;
};

static struct operands operands_of(const struct shape *s, bool extreme) {
    const bool a = is_by_first(s, s->ta), b = is_by_first(s, s->tb), c = s->layout == UK_ROW_MAJOR;
    struct operands o = {.a_count = elements(a ? s->m : s->k, a ? s->k : s->m, s->lda),
                         .b_count = elements(b ? s->k : s->n, b ? s->n : s->k, s->ldb),
                         .c_count = elements(c ? s->m : s->n, c ? s->n : s->m, s->ldc)};

    o.a = guard((size_t)o.a_count);
    o.b = guard((size_t)o.b_count);
    o.c = guard((size_t)o.c_count * sizeof(int32_t));
    for (int64_t i = 0; i < o.a_count; i++)
        ((uint8_t *)o.a.data)[i] = !extreme ? (uint8_t)random_next(&seed) : s->type->a_is_signed ? 128 : 255;
    for (int64_t i = 0; i < o.b_count; i++)
        ((uint8_t *)o.b.data)[i] = !extreme ? (uint8_t)random_next(&seed) : s->type->b_is_signed ? 128 : 255;
    for (int64_t i = 0; i < o.c_count; i++)
        ((int32_t *)o.c.data)[i] = (int32_t)random_next(&seed);
    return o;
}

static void free_operands(struct operands *o) {
    release(&o->a);
    release(&o->b);
    release(&o->c);
}

static int64_t byte_at(const void *x, bool is_signed, int64_t i) {
    return is_signed ? ((const int8_t *)x)[i] : ((const uint8_t *)x)[i];
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
                              o->c.data, work.data);
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

static struct shape shape_of(int type, int form, int64_t m, int64_t n, int64_t k, int pad, int32_t beta) {
    struct shape s = {.type = types[type % TYPES],
                      .layout = form & 1 ? UK_COLUMN_MAJOR : UK_ROW_MAJOR,
                      .ta = form & 2 ? UK_TRANSPOSE : UK_NO_TRANSPOSE,
                      .tb = form & 4 ? UK_TRANSPOSE : UK_NO_TRANSPOSE,
                      .m = m,
                      .n = n,
                      .k = k,
                      .beta = beta};

    s.lda = (is_by_first(&s, s.ta) ? k : m) + pad;
    s.ldb = (is_by_first(&s, s.tb) ? n : k) + pad;
    s.ldc = (s.layout == UK_ROW_MAJOR ? n : m) + pad;
    s.lda += !s.lda;
    s.ldb += !s.ldb;
    s.ldc += !s.ldc;
    return s;
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

            assert_int_equal(types[by]->run(&plan, a, a, 0, c, NULL), expected);
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
    assert_int_equal(uk_igemm_run(NULL, a, b, 0, c, NULL), UK_INVALID_ARGUMENT);
    assert_int_equal(uk_igemm_run(&real, a, b, 0, c, NULL), UK_INVALID_ARGUMENT);
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_around_tiles),
        cmocka_unit_test(large_products),
        cmocka_unit_test(batches),
        cmocka_unit_test(out_of_memory),
        cmocka_unit_test(plans_of_other_types),
        cmocka_unit_test(bad_arguments),
        cmocka_unit_test(plans_are_explained),
    };

    if (uk_set_num_threads(THREADS))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
