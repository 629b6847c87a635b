/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of products of bytes by pairs of types, and operands that end at an inaccessible page. */
#ifndef BYTES_DATA_H
#define BYTES_DATA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "guarded.h"
#include "random.h"
#include "ukernels.h"

static uint64_t seed = 20261125;

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
                          void *c, const struct uk_igemm_epilogue *epilogue, void *workspace);
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
                                         int32_t beta, void *c, const struct uk_igemm_epilogue *epilogue,   \
                                         void *workspace) {                                                 \
        return uk_##gemm##_run(plan, a, b, beta, c, epilogue, workspace);                                   \
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

/* True if the operand is stored in lines of its first index. */
static bool is_by_first(const struct shape *s, enum uk_transpose t) {
    return (s->layout == UK_ROW_MAJOR) == (t == UK_NO_TRANSPOSE);
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

#endif
