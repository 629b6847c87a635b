/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sin, cos and tan. An argument of at least 1 in magnitude is M 2^e with an integer M; its product with 2 /
 * pi is computed modulo 4 in integers (Payne and Hanek), from those bits of 2 / pi that matter for this e.
 * The nearest integer n to the product is the quadrant, and the rest, in (-1/2, 1/2), times pi / 2 the angle
 * r in it, a pair. It has enough bits for all arguments: f32 come no closer to a multiple of pi / 2 than
 * 2^-30, f64 no closer than 2^-61.
 */
#include <math.h>
#include "numbers.h"

/* x = r + n pi / 2, for n modulo 4; n is an integer of the type's width. */
struct angle {
    struct uk_math_pair r;
    LLVMValueRef n;
};

enum { MAX_WORDS = 19, WINDOW = 4 };

static LLVMValueRef shifted(const struct uk_math *m, LLVMValueRef v, unsigned places) {
    return LLVMBuildLShr(m->g->b, v, LLVMConstInt(LLVMTypeOf(v), places, false), "");
}

static LLVMValueRef masked(const struct uk_math *m, LLVMValueRef v, uint64_t mask) {
    return LLVMBuildAnd(m->g->b, v, LLVMConstInt(LLVMTypeOf(v), mask, false), "");
}

/* The bits of 2 / pi after the first `exponent` ones, as three words of the type's width. Before 2 / pi there
 * are as many zeros as an M has bits, and one more: the first two bits belong to the quadrant. */
static void bits_of_two_by_pi(const struct uk_math *m, LLVMValueRef exponent, LLVMValueRef bits[3]) {
    static const uint32_t single[] = {0x00000051, 0x7cc1b727, 0x220a94fe, 0x13abe8fa,
                                      0x9a6ee06d, 0xb14acc9e, 0x21c820ff};
    static const uint64_t twice[] = {
        0x000000000000028b, 0xe60db9391054a7f0, 0x9d5f47d4d377036d, 0x8a5664f10e4107f9, 0x458eaf7aef1586dc,
        0x91b8e909374b8019, 0x24bba827464873f8, 0x77ac72c4a69cfba2, 0x08d7d4baed1213a6, 0x71c09ad17df904e6,
        0x4758e60d4ce7d272, 0x117e2ef7e4a0ec7f, 0xe25fff7816603fbc, 0xbc462d6829b47db4, 0xd9fb3c9f2c26dd3d,
        0x18fd9a797fa8b5d4, 0x9eeb1faf97c5ecf4, 0x1ce7de294a4ba9af, 0xed7ec47e35742158};
    const int words = m->is_double ? sizeof twice / sizeof *twice : sizeof single / sizeof *single;
    LLVMValueRef word[MAX_WORDS], number = shifted(m, exponent, m->is_double ? 6 : 5);

    for (int i = 0; i < words; i++)
        word[i] = uk_math_integer(m, m->is_double ? twice[i] : single[i]);
    for (int half = (words - WINDOW + 1) / 2; half; half /= 2) {
        LLVMValueRef upper =
            LLVMBuildICmp(m->g->b, LLVMIntNE, masked(m, number, (uint64_t)half), uk_math_integer(m, 0), "");

        for (int i = 0; i < half + WINDOW - 1; i++)
            word[i] = LLVMBuildSelect(m->g->b, upper, word[i + half], word[i], "");
    }
    for (int i = 0; i < 3; i++)
        bits[i] = uk_cg_intrinsic(m->g, "llvm.fshl", m->integer,
                                  (LLVMValueRef[]){word[i], word[i + 1], exponent}, 3);
}

/* r = (high + low) pi / 2. */
static struct uk_math_pair times_half_pi(const struct uk_math *m, LLVMValueRef high, LLVMValueRef low) {
    return uk_math_multiply_pairs(m, (struct uk_math_pair){high, low}, uk_math_half_pi(m));
}

static LLVMValueRef whole_number(const struct uk_math *m, LLVMValueRef v, double unit) {
    LLVMValueRef number = LLVMBuildSIToFP(m->g->b, LLVMBuildTrunc(m->g->b, v, m->g->i32, ""), m->type, "");

    return uk_math_multiply(m, number, uk_math_number(m, unit));
}

/* The product has 64 bits, 62 of them after the point. */
static struct angle single_angle(const struct uk_math *m, LLVMValueRef mantissa, const LLVMValueRef bits[3]) {
    LLVMBuilderRef b = m->g->b;
    LLVMTypeRef wide = m->g->i64;
    LLVMValueRef whole = LLVMBuildZExt(b, mantissa, wide, ""), product[3];

    for (int i = 0; i < 3; i++)
        product[i] = LLVMBuildMul(b, whole, LLVMBuildZExt(b, bits[i], wide, ""), "");
    LLVMValueRef sum = LLVMBuildShl(b, product[0], LLVMConstInt(wide, 32, false), "");

    sum = LLVMBuildAdd(b, sum, LLVMBuildAdd(b, product[1], shifted(m, product[2], 32), ""), "");
    LLVMValueRef n = shifted(m, LLVMBuildAdd(b, sum, LLVMConstInt(wide, UINT64_C(1) << 61, false), ""), 62);

    sum = LLVMBuildSub(b, sum, LLVMBuildShl(b, n, LLVMConstInt(wide, 62, false), ""), "");
    /* Parts that are numbers of the type: 22 bits and a sign, 24 bits, 16 bits. */
    LLVMValueRef first = LLVMBuildAShr(b, sum, LLVMConstInt(wide, 40, false), "");
    const struct uk_math_pair both =
        uk_math_sum(m, whole_number(m, first, 0x1p-22),
                    whole_number(m, masked(m, shifted(m, sum, 16), 0xffffff), 0x1p-46));
    LLVMValueRef last = whole_number(m, masked(m, sum, 0xffff), 0x1p-62);

    return (struct angle){times_half_pi(m, both.high, uk_math_add(m, both.low, last)),
                          LLVMBuildTrunc(b, n, m->g->i32, "")};
}

/* (limb - bias) * unit; limb is below 2^33. */
static LLVMValueRef limb_number(const struct uk_math *m, LLVMValueRef limb, double bias, double unit) {
    LLVMValueRef bits = LLVMBuildOr(m->g->b, limb, uk_math_integer(m, UINT64_C(0x4330000000000000)), "");
    LLVMValueRef number = uk_math_subtract(m, uk_math_from_bits(m, bits), uk_math_number(m, 0x1p52 + bias));

    return uk_math_multiply(m, number, uk_math_number(m, unit));
}

/* The product in limbs of 32 bits, the highest first: modulo 2^192, without the lowest 64 bits; 126 bits are
 * after the point. */
static struct angle double_angle(const struct uk_math *m, LLVMValueRef mantissa, const LLVMValueRef bits[3]) {
    const uint64_t mask = UINT32_MAX;
    LLVMBuilderRef b = m->g->b;
    LLVMValueRef low = masked(m, mantissa, mask), high = shifted(m, mantissa, 32), limb[6], product[5];
    LLVMValueRef carry = uk_math_integer(m, 0);

    for (int i = 0; i < 6; i++)
        limb[i] = i & 1 ? masked(m, bits[i / 2], mask) : shifted(m, bits[i / 2], 32);
    for (int i = 4; i >= 0; i--) { /* no sum exceeds 64 bits */
        LLVMValueRef x = LLVMBuildAdd(b, LLVMBuildMul(b, low, limb[i], ""), carry, "");
        LLVMValueRef y = LLVMBuildAdd(b, LLVMBuildMul(b, high, limb[i + 1], ""), masked(m, x, mask), "");

        product[i] = masked(m, y, mask);
        carry = LLVMBuildAdd(b, shifted(m, x, 32), shifted(m, y, 32), "");
    }
    LLVMValueRef n = shifted(m, LLVMBuildAdd(b, product[0], uk_math_integer(m, UINT64_C(1) << 29), ""), 30);
    LLVMValueRef first = LLVMBuildAdd(b, product[0], uk_math_integer(m, UINT64_C(1) << 31), "");

    first = LLVMBuildSub(b, first, LLVMBuildShl(b, n, uk_math_integer(m, 30), ""), "");
    const struct uk_math_pair both =
        uk_math_sum(m, limb_number(m, first, 0x1p31, 0x1p-30), limb_number(m, product[1], 0, 0x1p-62));
    LLVMValueRef rest =
        uk_math_add(m, limb_number(m, product[2], 0, 0x1p-94), limb_number(m, product[3], 0, 0x1p-126));
    /* Where the argument is close to a multiple of pi / 2, the first limbs are 0. */
    const struct uk_math_pair all = uk_math_sum(m, both.high, uk_math_add(m, both.low, rest));

    return (struct angle){times_half_pi(m, all.high, all.low), n};
}

/* The angle of |x|; arbitrary for infinities and NaN. */
static struct angle angle_of(const struct uk_math *m, LLVMValueRef size) {
    const unsigned places = m->is_double ? 52 : 23;
    const uint64_t unit = m->is_double ? 1023 : 127; /* the exponent's bias, and the largest exponent */
    LLVMBuilderRef b = m->g->b;
    LLVMValueRef whole = uk_math_bits(m, size),
                 small = LLVMBuildFCmp(b, LLVMRealOLT, size, uk_math_number(m, 1), "");
    LLVMValueRef exponent = LLVMBuildSub(b, shifted(m, whole, places), uk_math_integer(m, unit), "");
    LLVMValueRef mantissa = masked(m, whole, (UINT64_C(1) << places) - 1), bits[3];

    mantissa = LLVMBuildOr(b, mantissa, uk_math_integer(m, UINT64_C(1) << places), "");
    bits_of_two_by_pi(m, masked(m, exponent, unit), bits);
    struct angle a = m->is_double ? double_angle(m, mantissa, bits) : single_angle(m, mantissa, bits);

    a.r.high = LLVMBuildSelect(b, small, size, a.r.high, "");
    a.r.low = LLVMBuildSelect(b, small, uk_math_number(m, 0), a.r.low, "");
    a.n = LLVMBuildSelect(b, small, uk_math_integer(m, 0), a.n, "");
    return a;
}

/* (sin(r) - r) / r^3, of r^2 up to 1 */
static LLVMValueRef sin_series(const struct uk_math *m, LLVMValueRef z) {
    static const double single[] = {0x1.69c23d3585de1p-19, -0x1.9ffeda5acf5d0p-13, 0x1.1110ed2ca21a9p-7,
                                    -0x1.5555551a4f616p-3},
                        twice[] = {-0x1.a8456d916ccc1p-41, 0x1.611a6a41f0f5ep-33,  -0x1.ae6445f2930c4p-26,
                                   0x1.71de3a464fc96p-19,  -0x1.a01a01a00b3e6p-13, 0x1.11111111110a4p-7,
                                   -0x1.5555555555555p-3};

    return uk_math_polynomial(m, z, &UK_POLYNOMIAL(single, twice));
}

/* (cos(r) - 1 + r^2 / 2) / r^4, of r^2 up to 1 */
static LLVMValueRef cos_series(const struct uk_math *m, LLVMValueRef z) {
    static const double single[] = {-0x1.21e01d17fd8b3p-22, 0x1.a002c9efd6997p-16, -0x1.6c169c0c23012p-10,
                                    0x1.5555552bf9713p-5},
                        twice[] = {0x1.a879a59bba741p-45,  -0x1.938ca1c424e70p-37, 0x1.1eed84fe1c21cp-29,
                                   -0x1.27e4fb6ce4cd1p-22, 0x1.a01a01a00d582p-16,  -0x1.6c16c16c16b9cp-10,
                                   0x1.5555555555555p-5};

    return uk_math_polynomial(m, z, &UK_POLYNOMIAL(single, twice));
}

static struct uk_math_pair sin_of(const struct uk_math *m, struct uk_math_pair r) {
    LLVMValueRef z = uk_math_multiply(m, r.high, r.high);
    LLVMValueRef slope = uk_math_multiply_add(m, z, uk_math_number(m, -0.5), uk_math_number(m, 1));
    LLVMValueRef low = uk_math_multiply(m, r.low, slope);

    low = uk_math_multiply_add(m, uk_math_multiply(m, r.high, z), sin_series(m, z), low);
    return uk_math_sum(m, r.high, low);
}

/* 1 - r^2 / 2 + r^4 p(r^2), with r^2 as a pair. */
static struct uk_math_pair cos_of(const struct uk_math *m, struct uk_math_pair r) {
    const struct uk_math_pair z = uk_math_product(m, r.high, r.high);
    LLVMValueRef half = uk_math_number(m, -0.5);
    struct uk_math_pair first = uk_math_sum(m, uk_math_number(m, 1), uk_math_multiply(m, z.high, half));
    LLVMValueRef low = uk_math_multiply_add(m, z.low, half, first.low);

    low = uk_math_subtract(m, low, uk_math_multiply(m, r.high, r.low));
    low = uk_math_multiply_add(m, uk_math_multiply(m, z.high, z.high), cos_series(m, z.high), low);
    return uk_math_sum(m, first.high, low);
}

static LLVMValueRef is_odd(const struct uk_math *m, LLVMValueRef n) {
    return LLVMBuildICmp(m->g->b, LLVMIntNE, masked(m, n, 1), uk_math_integer(m, 0), "");
}

static LLVMValueRef defined_if_finite(const struct uk_math *m, LLVMValueRef size, LLVMValueRef v) {
    return uk_math_where(m, LLVMRealOLT, size, INFINITY, v, uk_math_number(m, NAN));
}

/* sin(r + n pi / 2) */
static LLVMValueRef sin_in_quadrant(const struct uk_math *m, struct uk_math_pair r, LLVMValueRef n) {
    const struct uk_math_pair v = uk_math_select_pair(m, is_odd(m, n), cos_of(m, r), sin_of(m, r));
    LLVMValueRef sign =
        LLVMBuildShl(m->g->b, masked(m, n, 2), uk_math_integer(m, m->is_double ? 62 : 30), "");

    return uk_math_from_bits(m, LLVMBuildXor(m->g->b, uk_math_bits(m, v.high), sign, ""));
}

/* v with the opposite sign if x is negative; -0 is. */
static LLVMValueRef with_sign_of(const struct uk_math *m, LLVMValueRef v, LLVMValueRef x) {
    LLVMValueRef sign = masked(m, uk_math_bits(m, x), m->is_double ? UINT64_C(1) << 63 : UINT64_C(1) << 31);

    return uk_math_from_bits(m, LLVMBuildXor(m->g->b, uk_math_bits(m, v), sign, ""));
}

LLVMValueRef uk_math_sin(const struct uk_math *m, LLVMValueRef x) {
    LLVMValueRef size = uk_math_size(m, x);
    const struct angle a = angle_of(m, size);

    return defined_if_finite(m, size, with_sign_of(m, sin_in_quadrant(m, a.r, a.n), x));
}

LLVMValueRef uk_math_cos(const struct uk_math *m, LLVMValueRef x) {
    LLVMValueRef size = uk_math_size(m, x);
    const struct angle a = angle_of(m, size);
    LLVMValueRef next = LLVMBuildAdd(m->g->b, a.n, uk_math_integer(m, 1), "");

    return defined_if_finite(m, size, sin_in_quadrant(m, a.r, next));
}

/* sin / cos, or in odd quadrants -cos / sin */
LLVMValueRef uk_math_tan(const struct uk_math *m, LLVMValueRef x) {
    LLVMValueRef size = uk_math_size(m, x);
    const struct angle a = angle_of(m, size);
    const struct uk_math_pair s = sin_of(m, a.r), c = cos_of(m, a.r);
    LLVMValueRef odd = is_odd(m, a.n);
    const struct uk_math_pair q =
        uk_math_quotient(m, uk_math_select_pair(m, odd, c, s), uk_math_select_pair(m, odd, s, c));
    LLVMValueRef v = uk_math_add(m, q.high, q.low);

    v = LLVMBuildSelect(m->g->b, odd, uk_math_negate(m, v), v, "");
    return defined_if_finite(m, size, with_sign_of(m, v, x));
}
