/*
 * Packs k rows of n floats into a panel of width UK_NR, 1 row a step: UK_NR / 16 vectors, the last one
 * masked. Columns n and up are zeroed by the mask of the load. UK_NR is at most 32.
 *
 * A row is one or two cache lines, often in a page of its own, which the hardware does not fetch ahead: the
 * row 8 steps on is asked for.
 *
 * Bound: one load and one store of 64 bytes per 16 elements; at one such store a cycle 16 elements per cycle,
 * as long as the source is in the first cache.
 */
#include <immintrin.h>
#include "ukernels.h"

enum { AHEAD = 8 };

void UK_SYMBOL(int64_t k, const float *s, int64_t lds, float *d, int64_t n) {
    const uint32_t columns = n < 32 ? (1u << n) - 1 : ~0u, width = UK_NR < 32 ? (1u << UK_NR % 32) - 1 : ~0u;

    for (int64_t p = 0; p < k; p++, s += lds, d += UK_NR) {
        _mm_prefetch((const char *)(s + AHEAD * lds), _MM_HINT_T0);
        if (UK_NR > 16)
            _mm_prefetch((const char *)(s + AHEAD * lds + 16), _MM_HINT_T0);
        _mm512_mask_storeu_ps(d, (__mmask16)width, _mm512_maskz_loadu_ps((__mmask16)columns, s));
        if (UK_NR > 16)
            _mm512_mask_storeu_ps(d + 16, (__mmask16)(width >> 16),
                                  _mm512_maskz_loadu_ps((__mmask16)(columns >> 16), s + 16));
    }
}
