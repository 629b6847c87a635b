/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A matrix of bytes times a vector of bytes, in i32: UK_MR rows at a time, whose groups of 8 are multiplied
 * by one group of the vector. smaqa.su, smaqa or umaqa adds four products to each half of a row's sum; the
 * halves are added in the end.
 *
 * Bound, for 8 rows and UNROLL groups: a load of the vector, 8 loads of rows and 8 products per group, plus 9
 * pointers, a branch and a move: 0.287 instructions per multiply-add, 0.266 without the pointers. Registers:
 * 8 sums, 9 pointers, 2 values.
 *
 * Edges: 4, 2 or 1 rows. The last bytes of a row come from a whole load that ends with them, shifted, or byte
 * by byte.
 */
#include "any_address_rvp.h"
#include "registry/rvp.h"

#if defined UK_OP_i8gemv_n
typedef int8_t left, right;
#define MAQA(s, a, x) uk_rvp_smaqa(s, a, x)
#elif defined UK_OP_u8gemv_n
typedef uint8_t left, right;
#define MAQA(s, a, x) uk_rvp_umaqa(s, a, x)
#elif defined UK_OP_i8u8gemv_n
typedef int8_t left;
typedef uint8_t right;
#define MAQA(s, a, x) uk_rvp_smaqa_su(s, a, x) /* the signed operand comes first */
#else
typedef uint8_t left;
typedef int8_t right;
#define MAQA(s, a, x) uk_rvp_smaqa_su(s, x, a)
#endif
enum { GROUP = 8, UNROLL = UK_NR / GROUP };
#define INLINE static inline __attribute__((always_inline))

/* The last `rest` bytes of a row of k, from p on, then zeros. */
INLINE uint64_t rest_at(const void *p, int64_t rest, int64_t k) {
    const uint8_t *byte = p;
    uint64_t v = 0;

    if (k >= GROUP)
        return load_8(byte + rest - GROUP) >> 8 * (GROUP - rest);
#pragma GCC unroll 1
    for (int64_t i = rest - 1; i >= 0; i--)
        v = v << 8 | byte[i];
    return v;
}

/* Compilers would otherwise replace the pointers with others, for which there are no registers. */
INLINE const left *moved(const left *row, int64_t by) {
    row += by;
    __asm__("" : "+r"(row));
    return row;
}

struct product {
    int64_t k, lda;
    const right *x;
    int64_t acc;
};

/* `count` rows, a constant. */
INLINE void rows(const struct product *p, const left *a, int32_t *c, int count) {
    const left *row[UK_MR];
    const right *x = p->x, *const end = x + p->k / GROUP * GROUP, *const unrolled = x + p->k / UK_NR * UK_NR;
    uint64_t sum[UK_MR];

#pragma GCC unroll 8
    for (int i = 0; i < count; i++) {
        row[i] = moved(a, i * p->lda);
        sum[i] = 0;
    }
#pragma GCC unroll 1
    while (x != unrolled) {
#pragma GCC unroll 8
        for (int u = 0; u < UNROLL; u++) {
            const uint64_t v = load_8(x + u * GROUP);

#pragma GCC unroll 8
            for (int i = 0; i < count; i++)
                sum[i] = MAQA(sum[i], load_8(row[i] + u * GROUP), v);
        }
#pragma GCC unroll 8
        for (int i = 0; i < count; i++)
            row[i] = moved(row[i], UK_NR);
        x += UK_NR;
    }
#pragma GCC unroll 1
    for (; x != end; x += GROUP) {
        const uint64_t v = load_8(x);

#pragma GCC unroll 8
        for (int i = 0; i < count; i++) {
            sum[i] = MAQA(sum[i], load_8(row[i]), v);
            row[i] = moved(row[i], GROUP);
        }
    }
    if (p->k % GROUP) {
        const int64_t rest = p->k % GROUP;
        const uint64_t v = rest_at(x, rest, p->k);

#pragma GCC unroll 8
        for (int i = 0; i < count; i++)
            sum[i] = MAQA(sum[i], rest_at(row[i], rest, p->k), v);
    }
#pragma GCC unroll 8
    for (int i = 0; i < count; i++)
        c[i] = (int32_t)((p->acc ? (uint32_t)c[i] : 0) + (uint32_t)sum[i] + (uint32_t)(sum[i] >> 32));
}

void UK_SYMBOL(int64_t k, const left *a, int64_t lda, const right *x, int32_t *c, int64_t acc, int64_t ahead,
               int64_t m) {
    const struct product p = {k, lda, x, acc};
    int64_t i = 0;

    (void)ahead;
#pragma GCC unroll 1
    for (; i + UK_MR <= m; i += UK_MR)
        rows(&p, a + i * lda, c + i, UK_MR);
#pragma GCC unroll 3
    for (int count = UK_MR / 2; count; count /= 2)
        if (m - i >= count) {
            rows(&p, a + i * lda, c + i, count);
            i += count;
        }
}
