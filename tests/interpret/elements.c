/* SPDX-License-Identifier: Apache-2.0 */
#include "elements.h"
#include <math.h>
#include <string.h>

bool is_float(enum uk_type t) {
    return t <= UK_BF16;
}

double to_bf16(long double v) {
    int e;

    if (v == 0 || isnan(v) || isinf(v))
        return (double)v;
    frexpl(v, &e);
    e = e - 8 < -133 ? -133 : e - 8;
    long double whole = floorl(ldexpl(v, -e)), rest = ldexpl(v, -e) - whole;
    if (rest > 0.5L || (rest == 0.5L && fmodl(whole, 2) != 0))
        whole += 1;
    double r = (double)ldexpl(whole, e);
    return fabs(r) >= 0x1p128 ? copysign(INFINITY, (double)v) : copysign(r, (double)v);
}

double rounded(enum uk_type t, long double v) {
    switch (t) {
    case UK_F64:
        return (double)v;
    case UK_F32:
        return (double)(float)v;
    case UK_F16:
        return (double)(_Float16)(double)v;
    default:
        return to_bf16(v);
    }
}

void put_value(enum uk_type t, void *to, int n, struct value v) {
    const float f = (float)v.d;
    const _Float16 h = (_Float16)v.d;
    uint32_t bits;

    memcpy(&bits, &f, sizeof bits);
    const uint16_t b = (uint16_t)(bits >> 16);
    const void *from = t == UK_F64    ? (const void *)&v.d
                       : t == UK_F32  ? (const void *)&f
                       : t == UK_F16  ? (const void *)&h
                       : t == UK_BF16 ? (const void *)&b
                                      : (const void *)&v.i;

    memcpy((char *)to + (size_t)n * uk_type_bytes(t), from, uk_type_bytes(t)); /* little-endian */
}

struct value get_value(enum uk_type t, const void *from, int n) {
    const char *at = (const char *)from + (size_t)n * uk_type_bytes(t);
    struct value v = {0};
    int8_t i8;
    int16_t i16;
    int32_t i32;
    uint32_t bits = 0;
    float f;
    _Float16 h;

    switch (t) {
    case UK_F64:
        memcpy(&v.d, at, 8);
        break;
    case UK_F16:
        memcpy(&h, at, 2);
        v.d = (double)h;
        break;
    case UK_F32:
    case UK_BF16:
        memcpy((char *)&bits + (t == UK_BF16 ? 2 : 0), at, uk_type_bytes(t));
        memcpy(&f, &bits, 4);
        v.d = (double)f;
        break;
    case UK_I64:
        memcpy(&v.i, at, 8);
        break;
    case UK_I32:
        memcpy(&i32, at, 4);
        v.i = i32;
        break;
    case UK_I16:
        memcpy(&i16, at, 2);
        v.i = i16;
        break;
    case UK_I8:
        memcpy(&i8, at, 1);
        v.i = i8;
        break;
    case UK_U64: /* the bits */
        memcpy(&v.i, at, 8);
        break;
    default:
        memcpy(&v.i, at, uk_type_bytes(t)); /* little-endian */
        break;
    }
    return v;
}

bool same_value(enum uk_type t, struct value a, struct value b) {
    if (!is_float(t))
        return a.i == b.i;
    return (isnan(a.d) && isnan(b.d)) || (a.d == b.d && !signbit(a.d) == !signbit(b.d));
}
