/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the caller's last operations on sums of bytes (struct uk_igemm_epilogue), before anything is
 * written. */
#include <math.h>
#include "gemm/low.h"

struct range {
    double low, high;
};

static struct range range_of_bytes(enum uk_element e) {
    return e == UK_ELEMENT_I8 ? (struct range){INT8_MIN, INT8_MAX} : (struct range){0, UINT8_MAX};
}

static struct range range_of_c(enum uk_c_element e) {
    switch (e) {
    case UK_C_I8:
        return range_of_bytes(UK_ELEMENT_I8);
    case UK_C_U8:
        return range_of_bytes(UK_ELEMENT_U8);
    case UK_C_F32:
        return (struct range){-HUGE_VAL, HUGE_VAL};
    default:
        return (struct range){INT32_MIN, INT32_MAX};
    }
}

static enum uk_status refuse_flags(void) {
    return uk_gemm_refuse(UK_INVALID_ARGUMENT,
                          "the epilogue has an unknown flag, or a value without its flag");
}

static enum uk_status check_zero(const char *name, int32_t zero, struct range r) {
    return zero >= r.low && zero <= r.high
               ? UK_OK
               : uk_gemm_refuse(UK_INVALID_ARGUMENT,
                                "epilogue.%s = %d is not from %.0f to %.0f, the numbers of the type", name,
                                (int)zero, r.low, r.high);
}

static enum uk_status check_zeros(const struct gemm_type *type, const struct uk_igemm_epilogue *e, int64_t n,
                                  enum uk_c_element c) {
    const struct range right = range_of_bytes(type->right),
                       of_c = c == UK_C_F32 ? (struct range){0, 0} : range_of_c(c);
    enum uk_status status = check_zero("a_zero", e->a_zero, range_of_bytes(type->left));

    if (!status)
        status = check_zero("b_zero", e->b_zero, e->column_zero ? (struct range){0, 0} : right);
    for (int64_t j = 0; !status && e->column_zero && j < n; j++)
        if (e->column_zero[j] < right.low || e->column_zero[j] > right.high)
            status = uk_gemm_refuse(
                UK_INVALID_ARGUMENT,
                "epilogue.column_zero[%lld] = %d is not from %.0f to %.0f, the numbers of B's type",
                (long long)j, (int)e->column_zero[j], right.low, right.high);
    return status ? status : check_zero("c_zero", e->c_zero, of_c);
}

static bool is_scale(float x) {
    return x > 0 && x < HUGE_VALF;
}

static enum uk_status check_scales(const struct uk_igemm_epilogue *e, int64_t n) {
    const bool scales = e->flags & UK_EPILOGUE_SCALE;

    if (e->column_scale ? !scales || e->scale != 0 : !scales && e->scale != 0)
        return uk_gemm_refuse(UK_INVALID_ARGUMENT, "epilogue.scale = %g, but %s", (double)e->scale,
                              scales ? "there is a column_scale; set one of them"
                                     : "UK_EPILOGUE_SCALE is not set");
    if (scales && !e->column_scale && !is_scale(e->scale))
        return uk_gemm_refuse(UK_INVALID_ARGUMENT, "epilogue.scale = %g is not positive and finite",
                              (double)e->scale);
    for (int64_t j = 0; e->column_scale && j < n; j++)
        if (!is_scale(e->column_scale[j]))
            return uk_gemm_refuse(UK_INVALID_ARGUMENT,
                                  "epilogue.column_scale[%lld] = %g is not positive and finite", (long long)j,
                                  (double)e->column_scale[j]);
    return UK_OK;
}

/* Sets q->low and q->high to the least and the greatest number of C's type within the caller's bounds. A
 * bound that is not whole is moved by 1, and its fraction cut off. */
static enum uk_status set_bounds(const struct uk_igemm_epilogue *e, enum uk_c_element c,
                                 struct gemm_quantization *q) {
    const struct range r = range_of_c(c);
    const bool clamps = e->flags & UK_EPILOGUE_CLAMP;

    q->low = clamps && !(e->low <= r.low) ? e->low : r.low;
    q->high = clamps && !(e->high >= r.high) ? e->high : r.high;
    if (c != UK_C_F32 && q->low <= r.high && q->high >= r.low) {
        q->low += (double)(int64_t)q->low < q->low;
        q->low = (double)(int64_t)q->low;
        q->high -= (double)(int64_t)q->high > q->high;
        q->high = (double)(int64_t)q->high;
    }
    return q->low <= q->high
               ? UK_OK
               : uk_gemm_refuse(UK_INVALID_ARGUMENT,
                                "epilogue.low = %g and high = %g: C's type has no number between them",
                                e->low, e->high);
}

enum uk_status uk_gemm_quantization(const struct gemm_plan *plan, const struct uk_igemm_epilogue *epilogue,
                                    int32_t beta, struct gemm_quantization *q) {
    static const struct uk_igemm_epilogue nothing;
    static const float one = 1;
    const struct uk_igemm_epilogue *e = epilogue ? epilogue : &nothing;
    const enum uk_c_element c = plan->product.c_element;
    const int64_t n = plan->swapped ? plan->product.m : plan->product.n;
    enum uk_status status;

    if (beta && c != UK_C_I32)
        return uk_gemm_refuse(UK_INVALID_ARGUMENT, "beta = %d, but C is not of i32; pass 0", (int)beta);
    if (e->flags & ~(unsigned)(UK_EPILOGUE_SCALE | UK_EPILOGUE_CLAMP) ||
        (!(e->flags & UK_EPILOGUE_CLAMP) && (e->low != 0 || e->high != 0)))
        return refuse_flags();
    *q = (struct gemm_quantization){.left_zero = &e->a_zero,
                                    .right_zero = e->column_zero ? e->column_zero : &e->b_zero,
                                    .right_step = e->column_zero != NULL,
                                    .row_bias = e->row_bias,
                                    .column_bias = e->column_bias,
                                    .scale = e->column_scale                ? e->column_scale
                                             : e->flags & UK_EPILOGUE_SCALE ? &e->scale
                                                                            : &one,
                                    .scale_column_step = e->column_scale != NULL,
                                    .is_scaled = e->flags & UK_EPILOGUE_SCALE,
                                    .c_zero = e->c_zero};
    if ((status = check_scales(e, n)) || (status = check_zeros(plan->product.type, e, n, c)))
        return status;
    return set_bounds(e, c, q);
}
