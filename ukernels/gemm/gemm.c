/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products: what the calls of both element types share, and then the functions that programs call. */
#include <math.h>
#include "batch.h"
#include "path.h"

enum uk_status uk_gemm_run_as(const struct gemm_plan *plan, const struct gemm_type *type, double alpha,
                              const void *a, const void *b, double beta, void *c, struct gemm_epilogue *e,
                              void *workspace) {
    struct gemm_operands o = {alpha, beta, plan->swapped ? b : a, plan->swapped ? a : b, c, e};

    if (plan->type != type)
        return UK_INVALID_ARGUMENT;
    if (e && e->scale == 0) /* what is scaled is not read */
        o.alpha = o.beta = 0;
    if (e && plan->swapped) {
        const void *rows = e->row_bias;

        e->row_bias = e->column_bias;
        e->column_bias = rows;
    }
    return uk_gemm_run(plan, &o, workspace);
}

/* Computes a product without a plan, if that is possible and its arguments are valid. */
static bool run_unplanned(const struct gemm_type *type, const struct gemm_shape *s, const void *a,
                          const void *b, double beta, void *c) {
    const struct gemm_product p = gemm_product_of(s);
    const bool swapped = s->layout != UK_ROW_MAJOR;

    GEMM_REQUIRE((uint64_t)(p.m - 1) < GEMM_MOST && (uint64_t)(p.n - 1) < GEMM_MOST);
    GEMM_REQUIRE((uint64_t)(p.k - 1) < GEMM_MOST);
    GEMM_REQUIRE(s->layout == UK_ROW_MAJOR || s->layout == UK_COLUMN_MAJOR);
    GEMM_REQUIRE(((unsigned)s->ta | (unsigned)s->tb) <= 1);
    GEMM_REQUIRE(!gemm_leading_is_invalid(p.lda, p.a_columns ? p.m : p.k));
    GEMM_REQUIRE(!gemm_leading_is_invalid(p.ldb, p.b_columns ? p.k : p.n));
    GEMM_REQUIRE(!gemm_leading_is_invalid(p.ldc, p.n));
    GEMM_REQUIRE(a && b && c);
    return uk_gemm_run_vector(type, &p, swapped ? b : a, swapped ? a : b, beta, c) ||
           uk_gemm_run_dots(type, &p, swapped ? b : a, swapped ? a : b, beta, c);
}

static enum uk_status call(const struct gemm_type *type, const struct gemm_shape *s, double alpha,
                           const void *a, const void *b, double beta, void *c) {
    struct gemm_plan plan;
    enum uk_status status;

    if (alpha == 1 && run_unplanned(type, s, a, b, beta, c))
        return UK_OK;
    status = uk_gemm_resolve(&plan, type, s, NULL);
    return status ? status : uk_gemm_run_as(&plan, type, alpha, a, b, beta, c, NULL, NULL);
}

/* What the caller's epilogue means; false: a flag is unknown, or missing where there is a value. */
static bool epilogue_given(unsigned flags, double scale, double low, double high, const void *row_bias,
                           const void *column_bias, struct gemm_epilogue *e) {
    const bool scales = flags & UK_EPILOGUE_SCALE, clamps = flags & UK_EPILOGUE_CLAMP;

    *e = (struct gemm_epilogue){scales ? scale : 1, clamps ? low : -HUGE_VAL, clamps ? high : HUGE_VAL,
                                row_bias, column_bias};
    return !(flags & ~(unsigned)(UK_EPILOGUE_SCALE | UK_EPILOGUE_CLAMP)) && (scales || scale == 0) &&
           (clamps || (low == 0 && high == 0));
}

size_t uk_gemm_workspace(const struct uk_gemm_plan *plan) {
    return gemm_is_plan(gemm_plan_in(plan)) ? uk_gemm_workspace_of(gemm_plan_in(plan)) : 0;
}

/* ---- packing beforehand: the caller's A is the product's B if the layouts differ ---- */

static enum gemm_side side_of(const struct gemm_plan *plan, bool is_b) {
    return is_b != plan->swapped ? GEMM_RIGHT : GEMM_LEFT;
}

size_t uk_gemm_packed_a_size(const struct uk_gemm_plan *callers) {
    const struct gemm_plan *plan = gemm_plan_in(callers);

    return gemm_is_plan(plan) ? uk_gemm_packed_bytes(plan, side_of(plan, false)) : 0;
}

size_t uk_gemm_packed_b_size(const struct uk_gemm_plan *callers) {
    const struct gemm_plan *plan = gemm_plan_in(callers);

    return gemm_is_plan(plan) ? uk_gemm_packed_bytes(plan, side_of(plan, true)) : 0;
}

enum uk_status uk_gemm_pack_operand(const struct gemm_plan *plan, const struct gemm_type *type, bool is_b,
                                    const void *from, void *to) {
    if (!gemm_is_plan(plan) || plan->type != type ||
        ((!from || !to) && uk_gemm_packed_bytes(plan, side_of(plan, is_b))))
        return UK_INVALID_ARGUMENT;
    uk_gemm_pack_whole(plan, side_of(plan, is_b), from, to);
    return UK_OK;
}

/* ---- a plan in words ---- */

size_t uk_gemm_explain(const struct uk_gemm_plan *plan, char *buffer, size_t size) {
    const struct gemm_plan *p = gemm_plan_in(plan);
    struct gemm_text t = {buffer, buffer ? size : 0, 0};

    if (t.size)
        buffer[0] = 0;
    if (!gemm_is_plan(p))
        return 0;
    const long long tasks = p->row_tasks * p->column_tasks;

    uk_gemm_add(&t, "product: %s, %lld x %lld x %lld, row-major%s\n", p->type->name, (long long)p->m,
                (long long)p->n, (long long)p->k,
                p->swapped ? ", of the transposes: A and B are exchanged" : "");
    p->path->explain(&t, p);
    uk_gemm_add(&t, "threads: %lld (%lld x %lld)\n", tasks, (long long)p->row_tasks,
                (long long)p->column_tasks);
    uk_gemm_add(&t, "workspace: %zu bytes\n", uk_gemm_workspace_of(p));
    uk_gemm_add(&t, "estimate: %.0f cycles on one thread\n", p->cycles);
    return t.length;
}

/* ---- each element type's ---- */

#define ELEMENT float
#define BITS uint32_t
#define TYPE uk_gemm_f32
#define LOOKED_UP uk_gemm_type_f32
#define DIRECT(name) sdirect_##name
#define SMALL uk_gemm_small_f32
#define UK(name) uk_s##name
#include "direct_element.h"
#include "calls_element.h"
#undef ELEMENT
#undef BITS
#undef TYPE
#undef LOOKED_UP
#undef DIRECT
#undef SMALL
#undef UK
#define ELEMENT double
#define BITS uint64_t
#define TYPE uk_gemm_f64
#define LOOKED_UP uk_gemm_type_f64
#define DIRECT(name) ddirect_##name
#define SMALL uk_gemm_small_f64
#define UK(name) uk_d##name
#include "direct_element.h"
#include "calls_element.h"
