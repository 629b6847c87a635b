/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic of the element types. f32, f16 and bf16 are computed in f64 and rounded after each operation,
 * which is the correctly rounded result for addition, subtraction, multiplication, division and sqrt (53 >= 2
 * * 24 + 2 bits). Integers wrap. */
#include <math.h>
#include <string.h>
#include "interpret.h"

/* Rounds to `bits` significant bits, at multiples of at least 2^finest, ties to even; beyond `max` the
 * result is infinite. */
static double round_bits(double v, int bits, int finest, double max) {
    int e;

    if (v == 0 || v - v != 0)
        return v;
    frexp(v, &e);
    int unit = e - bits > finest ? e - bits : finest;
    double r = ldexp(nearbyint(ldexp(v, -unit)), unit);

    return fabs(r) > max ? copysign(INFINITY, v) : r;
}

double uk_round_to(enum uk_type t, double v) {
    if (t == UK_F32)
        return (double)(float)v;
    if (t == UK_F16)
        return round_bits(v, 11, -24, 65504);
    return t == UK_BF16 ? round_bits(v, 8, -133, 0x1.fep127) : v;
}

union uk_value uk_wrap_to(enum uk_type t, uint64_t v) {
    switch (t) {
    case UK_I32:
        return (union uk_value){.i = (int64_t)(v & 0xffffffff) - (v & 0x80000000 ? INT64_C(1) << 32 : 0)};
    case UK_I16:
        return (union uk_value){.i = (int64_t)(v & 0xffff) - (v & 0x8000 ? 0x10000 : 0)};
    case UK_I8:
        return (union uk_value){.i = (int64_t)(v & 0xff) - (v & 0x80 ? 0x100 : 0)};
    case UK_U8:
        return (union uk_value){.i = (int64_t)(v & 0xff)};
    case UK_U16:
        return (union uk_value){.i = (int64_t)(v & 0xffff)};
    case UK_U32:
        return (union uk_value){.i = (int64_t)(v & 0xffffffff)};
    default: {
        union uk_value r;

        memcpy(&r.i, &v, sizeof v);
        return r;
    }
    }
}

static double half_value(uint16_t h) {
    int exponent = h >> 10 & 31, mantissa = h & 1023;
    double v = exponent == 31 ? (mantissa ? NAN : INFINITY)
               : exponent     ? ldexp(1024 + mantissa, exponent - 25)
                              : ldexp(mantissa, -24);

    return h & 0x8000 ? -v : v;
}

/* The bits of v, which is a value of f16. */
static uint16_t half_bits(double v) {
    uint16_t sign = signbit(v) ? 0x8000 : 0;
    int e;

    v = fabs(v);
    if (v != v)
        return sign | 0x7e00;
    if (v > 65504)
        return sign | 0x7c00;
    if (v < 0x1p-14)
        return sign | (uint16_t)ldexp(v, 24);
    frexp(v, &e);
    return sign | (uint16_t)((e + 14) << 10) | (uint16_t)(ldexp(v, 11 - e) - 1024);
}

union uk_value uk_load(enum uk_type t, const void *base, int64_t element) {
    const char *at = (const char *)base + element * (int64_t)uk_type_bytes(t);
    union uk_value v;
    uint32_t bits32;
    uint16_t bits16;
    float f;

    switch (t) {
    case UK_F64:
    case UK_I64:
    case UK_U64:
        memcpy(&v, at, 8);
        return v;
    case UK_F32:
        memcpy(&f, at, 4);
        return (union uk_value){.d = (double)f};
    case UK_F16:
        memcpy(&bits16, at, 2);
        return (union uk_value){.d = half_value(bits16)};
    case UK_BF16:
        memcpy(&bits16, at, 2);
        bits32 = (uint32_t)bits16 << 16;
        memcpy(&f, &bits32, 4);
        return (union uk_value){.d = (double)f};
    case UK_I32:
    case UK_U32:
        memcpy(&bits32, at, 4);
        return uk_wrap_to(t, bits32);
    case UK_I16:
    case UK_U16:
        memcpy(&bits16, at, 2);
        return uk_wrap_to(t, bits16);
    default:
        return uk_wrap_to(t, (unsigned char)*at);
    }
}

void uk_store(enum uk_type t, void *base, int64_t element, union uk_value v) {
    char *at = (char *)base + element * (int64_t)uk_type_bytes(t);
    uint32_t bits32;
    uint16_t bits16;
    float f;

    switch (t) {
    case UK_F64:
    case UK_I64:
    case UK_U64:
        memcpy(at, &v, 8);
        break;
    case UK_F32:
        f = (float)v.d;
        memcpy(at, &f, 4);
        break;
    case UK_F16:
        bits16 = half_bits(v.d);
        memcpy(at, &bits16, 2);
        break;
    case UK_BF16:
        f = (float)v.d;
        memcpy(&bits32, &f, 4);
        bits16 = v.d != v.d ? 0x7fc0 : (uint16_t)(bits32 >> 16);
        memcpy(at, &bits16, 2);
        break;
    case UK_I32:
    case UK_U32:
        bits32 = (uint32_t)(uint64_t)v.i;
        memcpy(at, &bits32, 4);
        break;
    case UK_I16:
    case UK_U16:
        bits16 = (uint16_t)(uint64_t)v.i;
        memcpy(at, &bits16, 2);
        break;
    default:
        *(unsigned char *)at = (unsigned char)(uint64_t)v.i;
    }
}

/* Rounds toward zero; values outside the type's range become its minimum or maximum, NaN becomes 0. */
static union uk_value saturate(enum uk_type t, double v) {
    static const double min[] = {-0x1p63, -0x1p31, -32768, -128, 0, 0, 0, 0};
    static const double max[] = {0x1p63, 2147483647, 32767, 127, 255, 65535, 4294967295, 0x1p64};
    int k = t - UK_I64;

    if (v != v)
        return (union uk_value){.i = 0};
    v = trunc(v);
    if (v <= min[k])
        return (union uk_value){.i = uk_integer_min(t)};
    if (v >= max[k])
        return (union uk_value){.i = t == UK_U64 ? -1 : uk_integer_max(t)};
    return (union uk_value){.i = t == UK_U64 ? (int64_t)(uint64_t)v : (int64_t)v};
}

/* Rounds an i64, or u64 if `from` is that, once: through f64 it would be rounded twice on the way to f32. */
static double integer_to_float(enum uk_type from, enum uk_type t, int64_t v) {
    const bool whole = from == UK_U64;

    if (t == UK_F64)
        return whole ? (double)(uint64_t)v : (double)v;
    if (t == UK_F32)
        return whole ? (double)(float)(uint64_t)v : (double)(float)v;
    /* Beyond 2^53 only the top bits matter, and whether any lower bit is set. */
    bool negative = v < 0 && !whole;
    uint64_t magnitude = negative ? -(uint64_t)v : (uint64_t)v;
    int shift = 0;

    while (magnitude >> 52) {
        magnitude = magnitude >> 1 | (magnitude & 1);
        shift++;
    }
    double r = uk_round_to(t, ldexp((double)magnitude, shift));

    return negative ? -r : r;
}

union uk_value uk_convert(enum uk_type from, enum uk_type to, union uk_value v) {
    if (uk_type_is_float(from))
        return uk_type_is_float(to) ? (union uk_value){.d = uk_round_to(to, v.d)} : saturate(to, v.d);
    if (uk_type_is_float(to))
        return (union uk_value){.d = integer_to_float(from, to, v.i)};
    return uk_wrap_to(to, (uint64_t)v.i);
}

/* min and max as C writes them. */
static double least_of(double a, double b) {
    return a < b ? a : b;
}

static double largest_of(double a, double b) {
    return a > b ? a : b;
}

static double function_of_two(enum uk_expr_op op, double a, double b) {
    switch (op) {
#define UK_FUNCTION2(id, name, class, ulps, limit, zero, real, code) \
    case UK_E_##id:                                                  \
        return real(a, b);
#include "language/functions.def"
    default:
        return NAN;
    }
}

static union uk_value binary_float(enum uk_expr_op op, enum uk_type t, double a, double b) {
    double r;

    switch (op) {
    case UK_E_ADD:
        r = a + b;
        break;
    case UK_E_SUB:
        r = a - b;
        break;
    case UK_E_MUL:
        r = a * b;
        break;
    case UK_E_DIV:
        r = a / b;
        break;
    default:
        r = function_of_two(op, a, b);
        if (uk_function_of(op)->class == UK_FUNCTION_CHOICE)
            return (union uk_value){.d = r};
    }
    return (union uk_value){.d = uk_round_to(t, r)};
}

union uk_value uk_binary(enum uk_expr_op op, enum uk_type t, union uk_value a, union uk_value b) {
    uint64_t x, y;

    if (uk_type_is_float(t))
        return binary_float(op, t, a.d, b.d);
    x = (uint64_t)a.i;
    y = (uint64_t)b.i;
    int width = 8 * (int)uk_type_bytes(t);

    switch (op) {
    case UK_E_ADD:
        return uk_wrap_to(t, x + y);
    case UK_E_SUB:
        return uk_wrap_to(t, x - y);
    case UK_E_MUL:
        return uk_wrap_to(t, x * y);
    case UK_E_DIV: /* by 0: 0; the minimum by -1: itself */
        return uk_wrap_to(t, !y                       ? 0
                             : uk_type_is_unsigned(t) ? x / y
                             : b.i == -1              ? -x
                                                      : (uint64_t)(a.i / b.i));
    case UK_E_SHL: /* a count beyond the width shifts all bits out */
        return uk_wrap_to(t, b.i < 0 || b.i >= width ? 0 : x << b.i);
    case UK_E_SHR: {
        if (uk_type_is_unsigned(t))
            return uk_wrap_to(t, b.i < 0 || b.i >= width ? 0 : x >> b.i);
        int count = b.i < 0 || b.i >= width ? width - 1 : (int)b.i;

        return (union uk_value){.i = a.i < 0 ? ~(~a.i >> count) : a.i >> count};
    }
    case UK_E_BIT_AND:
        return uk_wrap_to(t, x & y);
    case UK_E_BIT_XOR:
        return uk_wrap_to(t, x ^ y);
    case UK_E_BIT_OR:
        return uk_wrap_to(t, x | y);
    case UK_E_MIN:
        return uk_is_less(t, a, b) ? a : b;
    default:
        return uk_is_less(t, b, a) ? a : b;
    }
}

union uk_value uk_reduced(enum uk_expr_op op, enum uk_type t, union uk_value sum, union uk_value term) {
    const bool is_min_or_max = uk_type_is_float(t) && (op == UK_E_MIN || op == UK_E_MAX);

    if (is_min_or_max && (isnan(sum.d) || isnan(term.d)))
        return (union uk_value){.d = NAN};
    if (is_min_or_max &&
        sum.d == term.d) /* -0 counts as less than 0, so that the result does not depend on the order */
        return (op == UK_E_MAX) == (signbit(sum.d) != 0) ? term : sum;
    return uk_binary(op, t, sum, term);
}

static double unary_float(enum uk_expr_op op, double a) {
    switch (op) {
#define UK_FUNCTION1(id, name, class, ulps, limit, zero, real, code) \
    case UK_E_##id:                                                  \
        return real(a);
#include "language/functions.def"
    default: /* NEG */
        return -a;
    }
}

union uk_value uk_unary(enum uk_expr_op op, enum uk_type t, union uk_value a) {
    if (uk_type_is_float(t))
        return (union uk_value){.d = uk_round_to(t, unary_float(op, a.d))};
    if (op == UK_E_NEG || (a.i < 0 && t != UK_U64))
        return uk_wrap_to(t, -(uint64_t)a.i);
    return a; /* abs */
}
