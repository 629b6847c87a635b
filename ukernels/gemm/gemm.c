/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of matrix products that programs call; before them what those of all types share, and the
 * shortcut of the smallest products. */
#include <math.h>
#include "gemm.h"
#include "pack.h"
#include "small.h"

/* The same as uk_gemm_run, and prints a line. */
static enum uk_status run_verbose(const struct gemm_plan *plan, const struct gemm_operands *o,
                                  void *workspace) {
    const double begin = uk_microseconds();
    const enum uk_status status = uk_gemm_run(plan, o, workspace);

    uk_gemm_say(plan, o, 1, plan->row_tasks * plan->column_tasks, status, uk_microseconds() - begin);
    return status;
}

/* Runs a plan with the caller's operands. */
static enum uk_status run(const struct gemm_plan *plan, const struct gemm_operands *callers,
                          void *workspace) {
    struct gemm_operands o = *callers;
    struct gemm_epilogue e;
    struct gemm_quantization q;

    if (o.epilogue && o.epilogue->scale == 0) /* A, B and C are then not read */
        o.alpha = o.beta = 0;
    if (plan->swapped) {
        o.a = callers->b;
        o.b = callers->a;
        if (o.epilogue) {
            e = gemm_transposed_epilogue(o.epilogue);
            o.epilogue = &e;
        }
        if (o.quantization) {
            q = gemm_transposed_quantization(o.quantization);
            o.quantization = &q;
        }
    }
    const enum uk_status status =
        uk_gemm_is_verbose ? run_verbose(plan, &o, workspace) : uk_gemm_run(plan, &o, workspace);

    return status == UK_INVALID_ARGUMENT ? uk_gemm_refuse(status, "%s is NULL",
                                                          !callers->c   ? "c"
                                                          : !callers->a ? "a"
                                                                        : "b")
                                         : status;
}

static enum uk_status refuse_plan(const struct gemm_type *type) {
    return uk_gemm_refuse(UK_INVALID_ARGUMENT, "the plan is not one of uk_%s_plan for this machine",
                          type->name);
}

enum uk_status uk_gemm_run_as(const struct gemm_plan *plan, const struct gemm_type *type,
                              const struct gemm_operands *callers, void *workspace) {
    return plan->product.type == type ? run(plan, callers, workspace) : refuse_plan(type);
}

enum uk_status uk_gemm_call(const struct gemm_arguments *x, double alpha, const void *a, const void *b,
                            double beta, void *c) {
    const struct gemm_plan *plan;
    const enum uk_status status = uk_gemm_planned(x, &plan);

    return status ? status : run(plan, &(struct gemm_operands){alpha, beta, a, b, c, NULL, NULL}, NULL);
}

/* ---- the shortcut: products for which checking and planning would take a good part of the time ----
 *
 * The shortcut computes products that the path of small products would compute by one call of each kernel, on
 * one thread; a column-major B of few columns is transposed on the stack first. Other products are left to a
 * plan. Results are the same bits. */

/* Computes a product with a column-major B if k is less than that of inner products; false: nothing has been
 * done. */
__attribute__((noinline)) static bool run_b_columns(const struct gemm_type *t, const struct gemm_direct *d,
                                                    const struct gemm_product *p, const void *a,
                                                    const void *b, int adds, void *c) {
    _Static_assert(GEMM_DOTS_LEAST * 2 * GEMM_VECTOR <= GEMM_COPY_ON_STACK, "copies have room");
    char copy[GEMM_COPY_ON_STACK] __attribute__((aligned(64)));
    const struct uk_kernel *k = gemm_few_transpose(t, p->n);

    if (gemm_b_is_rows(p)) {
        gemm_run_direct(t, d, p, a, b, p->n, adds, c, p->ldc);
        return true;
    }
    if (p->n > k->mr)
        return false;
    t->transpose_all(k, p->k, b, p->ldb, copy, p->n);
    gemm_run_direct(t, d, p, a, copy, k->mr, adds, c, p->ldc);
    return true;
}

/* Computes a product if the shortcut applies and its arguments are valid; false: nothing has been done. */
static inline __attribute__((always_inline)) bool run_smallest(const struct gemm_type *t,
                                                               struct gemm_product p, const void *a,
                                                               const void *b, int adds, void *c) {
    GEMM_REQUIRE(a);
    GEMM_REQUIRE(b);
    GEMM_REQUIRE(c);
    GEMM_REQUIRE(p.k < (p.b_columns ? GEMM_DOTS_LEAST : GEMM_WIDTHS));
    GEMM_REQUIRE(p.n < t->blocked_columns);
    GEMM_REQUIRE(gemm_is_small(t, &p));
    GEMM_REQUIRE(p.m * p.k <= t->l2_quarter / 4);
    GEMM_REQUIRE(p.m * p.n * p.k <= t->work_most);
    const struct gemm_direct *d = gemm_direct_for(t, p.a_columns, p.m, p.n);

    if (p.b_columns) {
        const struct gemm_product copy = p; /* so that p itself stays in registers */

        return run_b_columns(t, d, &copy, a, b, adds, c);
    }
    gemm_run_direct(t, d, &p, a, b, p.ldb, adds, c, p.ldc);
    return true;
}

/* The same for the arguments of a call. */
static inline __attribute__((always_inline)) bool
call_smallest(const struct gemm_type *t, enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb,
              int64_t m, int64_t n, int64_t k, const void *a, int64_t lda, const void *b, int64_t ldb,
              int adds, void *c, int64_t ldc) {
    GEMM_REQUIRE(((unsigned)ta | (unsigned)tb) <= 1);
    GEMM_REQUIRE(atomic_load_explicit(&t->ready, memory_order_acquire));
    if (layout == UK_ROW_MAJOR)
        return run_smallest(
            t, (struct gemm_product){t, m, n, k, lda, ldb, ldc, ta, tb, false, false, false, 1, UK_C_DEFAULT},
            a, b, adds, c);
    GEMM_REQUIRE(layout == UK_COLUMN_MAJOR);
    return run_smallest(
        t, (struct gemm_product){t, n, m, k, ldb, lda, ldc, tb, ta, false, false, false, 1, UK_C_DEFAULT}, b,
        a, adds, c);
}

/* ---- calls ---- */

bool uk_gemm_epilogue_given(unsigned flags, double scale, double low, double high, const void *row_bias,
                            const void *column_bias, struct gemm_epilogue *e) {
    const bool scales = flags & UK_EPILOGUE_SCALE, clamps = flags & UK_EPILOGUE_CLAMP;

    *e = (struct gemm_epilogue){scales ? scale : 1, clamps ? low : -HUGE_VAL, clamps ? high : HUGE_VAL,
                                row_bias, column_bias};
    return !(flags & ~(unsigned)(UK_EPILOGUE_SCALE | UK_EPILOGUE_CLAMP)) && (scales || scale == 0) &&
           (clamps || (low == 0 && high == 0));
}

size_t uk_gemm_workspace(const struct uk_gemm_plan *plan) {
    return gemm_plan_in(plan) ? gemm_plan_in(plan)->workspace : 0;
}

/* ---- packing beforehand; the caller's A is the product's B if the plan is swapped ---- */

static enum gemm_side side_of(const struct gemm_plan *plan, bool is_b) {
    return is_b != plan->swapped ? GEMM_RIGHT : GEMM_LEFT;
}

static size_t packed_size(const struct uk_gemm_plan *callers, bool is_b) {
    const struct gemm_plan *plan = gemm_plan_in(callers);
    struct gemm_plan packing;

    return plan && !uk_gemm_plan_packing(plan, &packing)
               ? uk_gemm_packed_bytes(&packing, side_of(&packing, is_b))
               : 0;
}

size_t uk_gemm_packed_a_size(const struct uk_gemm_plan *plan) {
    return packed_size(plan, false);
}

size_t uk_gemm_packed_b_size(const struct uk_gemm_plan *plan) {
    return packed_size(plan, true);
}

enum uk_status uk_gemm_pack_operand(const struct gemm_plan *plan, const struct gemm_type *type, bool is_b,
                                    const void *from, void *to) {
    struct gemm_plan packing;

    if (!plan || plan->product.type != type)
        return refuse_plan(type);
    const enum uk_status status = uk_gemm_plan_packing(plan, &packing);

    if (status)
        return status;
    if ((!from || !to) && uk_gemm_packed_bytes(&packing, side_of(&packing, is_b)))
        return uk_gemm_refuse(UK_INVALID_ARGUMENT, "%s is NULL", to ? is_b ? "b" : "a" : "packed");
    uk_gemm_pack_whole(&packing, side_of(&packing, is_b), from, to);
    return UK_OK;
}

/* ---- the other calls, per element type ---- */

#define ELEMENT float
#define BITS uint32_t
#define TYPE uk_gemm_f32
#define LOCAL(name) s##name
#define UK(name) uk_s##name
#include "calls_element.h"
#undef ELEMENT
#undef BITS
#undef TYPE
#undef LOCAL
#undef UK
#define ELEMENT double
#define BITS uint64_t
#define TYPE uk_gemm_f64
#define LOCAL(name) d##name
#define UK(name) uk_d##name
#include "calls_element.h"
