/* SPDX-License-Identifier: Apache-2.0 */
#include "check_element.h"
#include <math.h>
#include "registry/half.h"

bool is_integer(enum element type) {
    return type == U8 || type == I8 || type == I16 || type == I32 || type == I64;
}

size_t bytes_of(enum element type) {
    static const unsigned char bytes[] = {
        [F32] = 4, [F64] = 8, [F16] = 2, [BF16] = 2, [U8] = 1, [I8] = 1, [I16] = 2, [I32] = 4, [I64] = 8};

    return bytes[type];
}

void get(enum element type, const void *array, int64_t x, double *values, int64_t n) {
#define GET(element, convert)                                         \
    for (int64_t i = 0; i < n; i++)                                   \
        values[i] = (double)convert(((const element *)array)[x + i]); \
    break
    switch (type) {
    case F64:
        GET(double, );
    case F16:
        GET(uint16_t, uk_from_f16);
    case BF16:
        GET(uint16_t, uk_from_bf16);
    case U8:
        GET(uint8_t, );
    case I8:
        GET(int8_t, );
    case I16:
        GET(int16_t, );
    case I32:
        GET(int32_t, );
    case I64:
        GET(int64_t, );
    default:
        GET(float, );
    }
#undef GET
}

static uint16_t bits_of_f16(double value) {
    return uk_to_f16(uk_round_f16((float)value));
}

static uint16_t bits_of_bf16(double value) {
    return uk_to_bf16((float)value);
}

void put(enum element type, void *array, int64_t x, const double *values, int64_t n) {
#define PUT(element, convert)                                    \
    for (int64_t i = 0; i < n; i++)                              \
        ((element *)array)[x + i] = (element)convert(values[i]); \
    break
    switch (type) {
    case F64:
        PUT(double, );
    case F16:
        PUT(uint16_t, bits_of_f16);
    case BF16:
        PUT(uint16_t, bits_of_bf16);
    case U8:
        PUT(uint8_t, );
    case I8:
        PUT(int8_t, );
    case I16:
        PUT(int16_t, );
    case I32:
        PUT(int32_t, );
    case I64:
        PUT(int64_t, );
    default:
        PUT(float, );
    }
#undef PUT
}

void put_nan(enum element type, void *array, int64_t x, int64_t end) {
    const double nothing = is_integer(type) ? 0x5f : (double)NAN;

    for (; x < end; x++)
        put(type, array, x, &nothing, 1);
}
