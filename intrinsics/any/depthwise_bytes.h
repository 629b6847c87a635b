/* SPDX-License-Identifier: Apache-2.0 */
/* The types of depthwise kernels of bytes: an element of x and a weight; and loads of a few bytes. Operations
 * are named after the type of x, and after that of the weights if they are u8. */
#include <stdint.h>

#if defined UK_OP_u8u8dwc || defined UK_OP_u8u8dw3 || defined UK_OP_u8u8dw3_s2 || defined UK_OP_u8u8dw5 || \
    defined UK_OP_u8u8dw5_s2 || defined UK_OP_u8u8dwt || defined UK_OP_u8u8dwt_s2
#define UK_X_IS_SIGNED 0
#define UK_WEIGHT_IS_SIGNED 0
#elif defined UK_OP_i8u8dwc || defined UK_OP_i8u8dw3 || defined UK_OP_i8u8dw3_s2 || defined UK_OP_i8u8dw5 || \
    defined UK_OP_i8u8dw5_s2 || defined UK_OP_i8u8dwt || defined UK_OP_i8u8dwt_s2
#define UK_X_IS_SIGNED 1
#define UK_WEIGHT_IS_SIGNED 0
#elif defined UK_OP_i8dwc || defined UK_OP_i8dw3 || defined UK_OP_i8dw3_s2 || defined UK_OP_i8dw5 || \
    defined UK_OP_i8dw5_s2 || defined UK_OP_i8dwt || defined UK_OP_i8dwt_s2
#define UK_X_IS_SIGNED 1
#define UK_WEIGHT_IS_SIGNED 1
#else
#define UK_X_IS_SIGNED 0
#define UK_WEIGHT_IS_SIGNED 1
#endif

#if UK_X_IS_SIGNED
typedef int8_t element;
#else
typedef uint8_t element;
#endif
#if UK_WEIGHT_IS_SIGNED
typedef int8_t weight;
#else
typedef uint8_t weight;
#endif

/* Loads the n first of up to eight bytes; the others are 0. */
static inline __attribute__((always_inline, unused)) uint64_t first_bytes(const void *from, int64_t n) {
    const uint8_t *p = from;
    uint64_t all = 0;
    uint32_t four;
    uint16_t two;

    if (n >= 8) {
        __builtin_memcpy(&all, p, sizeof all);
        return all;
    }
    if (n & 1)
        all = p[n - 1];
    if (n & 2) {
        __builtin_memcpy(&two, p + (n & 4), sizeof two);
        all = all << 16 | two;
    }
    if (n & 4) {
        __builtin_memcpy(&four, p, sizeof four);
        all = all << 32 | four;
    }
    return all;
}
