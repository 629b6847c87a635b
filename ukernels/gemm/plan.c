/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which path a product takes: the first of the table that applies; and what is wrong with its sizes.
 * Column-major products are computed as the row-major product of the transposes: C' = B' A'.
 *
 * What decides the order in which an element's products are added (the path, the tile, kc, the kernel's form)
 * depends on shape and strides only: not on threads, nor on what has been packed beforehand.
 */
#include <string.h>
#include "path.h"

/* Panels of few lines are as wide as a tile: what is packed has up to 64 times as many elements. */
static bool too_large(int64_t lines, int64_t ld, int size) {
    int64_t elements, bytes;
    ptrdiff_t last; /* where addresses have 32 bits, so has this */

    return __builtin_mul_overflow(lines, ld, &elements) ||
           __builtin_mul_overflow(elements, GEMM_PANEL_GROWTH * size, &bytes) ||
           __builtin_mul_overflow(elements, size, &last);
}

/* Of an operand stored in `lines` rows (columns, if column-major) of `length`. */
static bool stride_is_invalid(int64_t lines, int64_t length, int64_t ld, int size) {
    return ld < 1 || ld < length || too_large(lines, ld, size);
}

static enum uk_status check(const struct gemm_shape *s, const struct gemm_type *type) {
    const bool rows = s->layout == UK_ROW_MAJOR;
    const int size = type->size;
    const bool a_rows = rows == (s->ta == UK_NO_TRANSPOSE), b_rows = rows == (s->tb == UK_NO_TRANSPOSE);

    if ((s->layout != UK_ROW_MAJOR && s->layout != UK_COLUMN_MAJOR) ||
        (s->ta != UK_NO_TRANSPOSE && s->ta != UK_TRANSPOSE) ||
        (s->tb != UK_NO_TRANSPOSE && s->tb != UK_TRANSPOSE))
        return UK_INVALID_ARGUMENT;
    if (s->m < 0 || s->n < 0 || s->k < 0)
        return UK_INVALID_SIZE;
    if (stride_is_invalid(a_rows ? s->m : s->k, a_rows ? s->k : s->m, s->lda, size) ||
        stride_is_invalid(b_rows ? s->k : s->n, b_rows ? s->n : s->k, s->ldb, size) ||
        stride_is_invalid(rows ? s->m : s->n, rows ? s->n : s->m, s->ldc, type->c_size))
        return UK_INVALID_SIZE;
    return UK_OK;
}

static void set_threads(struct gemm_plan *p, const struct uk_gemm_options *o) {
    const int64_t most = o->pool ? uk_pool_threads(o->pool) : uk_count_threads();

    p->pool = o->pool;
    p->threads = (int)(o->threads > 0 ? uk_min(o->threads, most) : most);
}

struct gemm_plan uk_gemm_plan_of(const struct gemm_type *type, const struct gemm_product *p, bool swapped) {
    return (struct gemm_plan){
        .m = p->m,
        .n = p->n,
        .k = p->k,
        .a_row = p->a_columns ? 1 : p->lda,
        .a_step = p->a_columns ? p->lda : 1,
        .b_step = p->b_columns ? 1 : p->ldb,
        .b_column = p->b_columns ? p->ldb : 1,
        .ldc = p->ldc,
        .row_tasks = 1,
        .column_tasks = 1,
        .type = type,
        .swapped = swapped,
    };
}

/* A product whose A and B have types of their own, and cannot be exchanged: a column-major C is the
 * transposed C of the tiles. */
static enum uk_status resolve_mixed(struct gemm_plan *plan, const struct gemm_type *type,
                                    const struct gemm_shape *s, const struct uk_gemm_options *options) {
    const bool rows = s->layout == UK_ROW_MAJOR;
    const struct gemm_product product = {s->m,
                                         s->n,
                                         s->k,
                                         s->lda,
                                         s->ldb,
                                         s->ldc,
                                         rows == (s->ta == UK_TRANSPOSE),
                                         rows == (s->tb == UK_TRANSPOSE)};
    struct gemm_plan p = uk_gemm_plan_of(type, &product, false);
    enum uk_status status = UK_OK;

    p.transposed = !rows;
    p.a_packed = options->a_packed;
    p.b_packed = options->b_packed;
    set_threads(&p, options);
    p.path = p.m && p.n && p.k ? &uk_gemm_tiles : &uk_gemm_scale;
    if (p.path == &uk_gemm_tiles)
        status = uk_gemm_plan_groups(&p);
    if (!status)
        *plan = p;
    return status;
}

/* By the first path that applies, or by the one that is wanted. */
static enum uk_status plan_paths(struct gemm_plan *p, const struct gemm_wanted *wanted) {
    enum uk_status status = UK_INVALID_ARGUMENT;

    p->is_wanted = wanted;
    for (const struct gemm_path *const *path = uk_gemm_paths; *path; path++) {
        if (wanted && strcmp(wanted->path, (*path)->name))
            continue;
        p->path = *path;
        status = wanted && *path == &uk_gemm_tiles ? uk_gemm_plan_wanted(p, wanted) : p->path->plan(p);
        if (wanted || status != UK_NO_MATCH)
            break;
    }
    return status;
}

static enum uk_status resolve_real(struct gemm_plan *plan, const struct gemm_type *type,
                                   const struct gemm_shape *shape, const struct uk_gemm_options *options,
                                   const struct gemm_wanted *wanted) {
    const struct gemm_product product = gemm_product_of(shape);
    struct gemm_plan p = uk_gemm_plan_of(type, &product, shape->layout != UK_ROW_MAJOR);

    set_threads(&p, options);
    p.a_packed = p.swapped ? options->b_packed : options->a_packed;
    p.b_packed = p.swapped ? options->a_packed : options->b_packed;
    p.whole = uk_gemm_is_whole(type, &product);
    const enum uk_status status = plan_paths(&p, wanted);
    if (!status)
        *plan = p;
    return status;
}

static enum uk_status resolve(struct gemm_plan *plan, const struct gemm_type *type,
                              const struct gemm_shape *shape, const struct uk_gemm_options *options,
                              const struct gemm_wanted *wanted) {
    static const struct uk_gemm_options defaults = {0};
    enum uk_status status = check(shape, type);

    if (status)
        return status;
    if (!options)
        options = &defaults;
    if (options->threads < 0)
        return UK_INVALID_ARGUMENT;
    if (options->machine && (status = uk_gemm_type_on(options->machine, type, &type)))
        return status;
    return type->is_mixed ? resolve_mixed(plan, type, shape, options)
                          : resolve_real(plan, type, shape, options, wanted);
}

enum uk_status uk_gemm_resolve(struct gemm_plan *plan, const struct gemm_type *type,
                               const struct gemm_shape *shape, const struct uk_gemm_options *options) {
    return resolve(plan, type, shape, options, NULL);
}

enum uk_status uk_gemm_plan_as(struct uk_gemm_plan *plan, bool is_double, const struct gemm_shape *shape,
                               const struct uk_gemm_options *options, const struct gemm_wanted *wanted) {
    return resolve((struct gemm_plan *)(void *)plan, is_double ? uk_gemm_type_f64() : uk_gemm_type_f32(),
                   shape, options, wanted);
}
