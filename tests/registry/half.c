/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the conversions of half.h with the compiler's _Float16: every f16 value, and floats around every
 * tie between two. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "registry/half.h"

static _Float16 f16_of_bits(uint16_t bits) {
    _Float16 h;

    memcpy(&h, &bits, sizeof h);
    return h;
}

static void every_f16(void **state) {
    (void)state;
    for (uint32_t bits = 0; bits < 65536; bits++) {
        const float v = uk_from_f16((uint16_t)bits), right = (float)f16_of_bits((uint16_t)bits);

        if (isnan(right)) {
            assert_true(isnan(v));
            assert_true(isnan(uk_from_f16(uk_to_f16(v))));
            continue;
        }
        assert_int_equal(uk_bits_of_float(v), uk_bits_of_float(right));
        assert_int_equal(uk_to_f16(v), bits);
    }
}

static void is_rounded(float v) {
    const float right = (float)(_Float16)v, r = uk_round_f16(v);

    if (isnan(right))
        assert_true(isnan(r));
    else
        assert_int_equal(uk_bits_of_float(r), uk_bits_of_float(right));
}

static void ties(void **state) {
    static const float more[] = {65519.0f, 65520.0f,  65521.0f, 1e30f, 3e38f,    INFINITY,
                                 NAN,      0x1p-149f, 0x1p-25f, 0.0f,  0x1p-126f};

    (void)state;
    for (uint32_t bits = 0; bits < 0x7c00; bits++) {
        const float low = uk_from_f16((uint16_t)bits), high = uk_from_f16((uint16_t)(bits + 1));
        const float tie = isinf(high) ? 65520.0f : low + (high - low) / 2;

        for (int sign = -1; sign <= 1; sign += 2) {
            is_rounded((float)sign * low);
            is_rounded((float)sign * tie);
            is_rounded((float)sign * nextafterf(tie, 0));
            is_rounded((float)sign * nextafterf(tie, INFINITY));
        }
    }
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        is_rounded(more[i]);
        is_rounded(-more[i]);
    }
}

static void bf16(void **state) {
    (void)state;
    for (uint32_t bits = 0; bits < 65536; bits++) {
        const float v = uk_from_bf16((uint16_t)bits);

        assert_int_equal(uk_bits_of_float(v), bits << 16);
        if (isnan(v))
            assert_true(isnan(uk_from_bf16(uk_to_bf16(v))));
        else
            assert_int_equal(uk_to_bf16(v), bits);
    }
    assert_int_equal(uk_to_bf16(0x1.01p0f), 0x3f80);        /* a tie: to even, down */
    assert_int_equal(uk_to_bf16(0x1.03p0f), 0x3f82);        /* a tie: to even, up */
    assert_int_equal(uk_to_bf16(0x1.010002p0f), 0x3f81);    /* just above a tie */
    assert_int_equal(uk_to_bf16(-0x1.fffffep127f), 0xff80); /* overflows to infinity */
    assert_true(isnan(uk_from_bf16(uk_to_bf16(
        uk_float_of_bits(0x7f800001))))); /* a NaN stays a NaN, though its upper bits are those of infinity */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_f16),
        cmocka_unit_test(ties),
        cmocka_unit_test(bf16),
    };

    return cmocka_run_group_tests_name("half", tests, NULL, NULL);
}
