/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packs k rows of n elements, floats (UK_OP_spack_n) or doubles (UK_OP_dpack_n), into a panel of width UK_NR,
 * a row at a time: one or two vectors, the last one masked. The mask of the load zeroes columns from n on.
 *
 * A row is one or two cache lines, often in a page of its own, which the hardware prefetcher does not reach:
 * the row 8 rows ahead is prefetched.
 *
 * Bound: one load and one store of 64 bytes per vector; at one such store a cycle 64 bytes per cycle, as long
 * as the source is in L1.
 */
#include <immintrin.h>
#include "registry/kernel_contract.h"

enum { AHEAD = 8 };

#ifdef UK_OP_dpack_n
typedef double element;
enum { V = 8 };
#define load(p, mask) _mm512_maskz_loadu_pd((__mmask8)(mask), p)
#define store(p, mask, v) _mm512_mask_storeu_pd(p, (__mmask8)(mask), v)
#else
typedef float element;
enum { V = 16 };
#define load(p, mask) _mm512_maskz_loadu_ps((__mmask16)(mask), p)
#define store(p, mask, v) _mm512_mask_storeu_ps(p, (__mmask16)(mask), v)
#endif
_Static_assert(UK_NR <= 2 * V, "two vectors");

void UK_SYMBOL(int64_t k, const element *s, int64_t lds, element *d, int64_t n) {
    const uint32_t columns = n < 32 ? (1u << n) - 1 : ~0u, width = UK_NR < 32 ? (1u << UK_NR % 32) - 1 : ~0u;

    for (int64_t p = 0; p < k; p++, s += lds, d += UK_NR) {
        _mm_prefetch((const char *)(s + AHEAD * lds), _MM_HINT_T0);
        if (UK_NR > V)
            _mm_prefetch((const char *)(s + AHEAD * lds + V), _MM_HINT_T0);
        store(d, width, load(s, columns));
        if (UK_NR > V)
            store(d + V, width >> V, load(s + V, columns >> V));
    }
}
