/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Depthwise convolution: windows of r x s weights over bytes whose neighbours are channels, for m pixels and
 * n channels: UK_NR channels of a pixel at a time; a remainder goes channel by channel.
 */
#include "registry/kernel_contract.h"
#include "depthwise_bytes.h"

struct window {
    int64_t r, s, ldr, lds, ldfr, ldfs, acc;
};

/* `channels` channels of a pixel, a constant. */
static inline __attribute__((always_inline)) void block(const struct window *w, const element *x,
                                                        const weight *f, int32_t *y, int channels) {
    uint32_t sum[UK_NR];

    for (int j = 0; j < channels; j++)
        sum[j] = w->acc ? (uint32_t)y[j] : 0;
#pragma GCC unroll 1
    for (int64_t r = 0; r < w->r; r++)
#pragma GCC unroll 1
        for (int64_t s = 0; s < w->s; s++) {
            const element *from = x + r * w->ldr + s * w->lds;
            const weight *by = f + r * w->ldfr + s * w->ldfs;

            for (int j = 0; j < channels; j++)
                sum[j] += (uint32_t)(from[j] * by[j]);
        }
    for (int j = 0; j < channels; j++)
        y[j] = (int32_t)sum[j];
}

void UK_SYMBOL(int64_t r, int64_t s, const element *x, int64_t ldi, int64_t ldr, int64_t lds, const weight *f,
               int64_t ldfr, int64_t ldfs, int32_t *y, int64_t ldy, int64_t acc, int64_t m, int64_t n) {
    const struct window w = {r, s, ldr, lds, ldfr, ldfs, acc};

#pragma GCC unroll 1
    for (int64_t i = 0; i < m; i++, x += ldi, y += ldy) {
        int64_t j = 0;

#pragma GCC unroll 1
        for (; j + UK_NR <= n; j += UK_NR)
            block(&w, x + j, f + j, y + j, UK_NR);
#pragma GCC unroll 1
        for (; j < n; j++)
            block(&w, x + j, f + j, y + j, 1);
    }
}
