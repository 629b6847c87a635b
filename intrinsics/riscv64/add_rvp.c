/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of i32, two in a register: add32 (UK_OP_i32add), or kadd32 (UK_OP_i32kadd), which saturates. If some
 * of the vectors begin at a multiple of 8 and others do not, elements are added one by one: loads that are
 * not aligned are slow on many cores.
 *
 * Bound: unrolled by 8 elements, 8 loads, 4 sums, 4 stores and 4 instructions of the loop: 20, 2.5 per
 * element; one by one 7.
 */
#include "registry/kernel_contract.h"
#include "registry/rvp.h"

#ifdef UK_OP_i32kadd
#define ADD uk_rvp_kadd32
#else
#define ADD uk_rvp_add32
#endif
typedef uint64_t pair __attribute__((may_alias));

/* Elements of n before the first address that is a multiple of 8. */
static inline int64_t in_front(const int32_t *p, int64_t n) {
    return n > 0 && (uintptr_t)p % 8 ? 1 : 0;
}

static inline __attribute__((always_inline)) void add_1(const int32_t *a, const int32_t *b, int32_t *c) {
    *c = (int32_t)(uint32_t)ADD((uint32_t)*a, (uint32_t)*b);
}

void UK_SYMBOL(const int32_t *a, const int32_t *b, int32_t *c, int64_t n) {
    const bool together = !((((uintptr_t)a ^ (uintptr_t)b) | ((uintptr_t)a ^ (uintptr_t)c)) % 8);
    const int64_t first = together ? in_front(a, n) : 0, unrolled = together ? (n - first) / UK_NR : 0;
    const int32_t *end = c + n;

    for (const int32_t *to = c + first; c != to; a++, b++, c++)
        add_1(a, b, c);
    for (const int32_t *to = c + unrolled * UK_NR; c != to; a += UK_NR, b += UK_NR, c += UK_NR)
#pragma GCC unroll 4
        for (int i = 0; i < UK_NR / 2; i++)
            ((pair *)c)[i] = ADD(((const pair *)a)[i], ((const pair *)b)[i]);
    for (; c != end; a++, b++, c++)
        add_1(a, b, c);
}
