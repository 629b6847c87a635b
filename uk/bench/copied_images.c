/* SPDX-License-Identifier: Apache-2.0 */
/* A copy of as many bytes as image and result have, as a bound of depthwise convolutions in uk bench conv. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "conv.h"
#include "machine/machine.h"

static size_t half_of(const struct bench_convolution *v) {
    return (v->x_bytes + v->y_bytes) / 2;
}

static void end_copy(struct bench_call *call) {
    free(call->state[0]);
}

static bool begin_copy(struct bench_call *call) {
    const struct bench_convolution *v = call->convolution;
    const size_t bytes = 2 * half_of(v);
    if (!bench_conv_is_depthwise(v->shape) || bytes <= (size_t)uk_machine()->core.l2.size)
        return false;
    char *both = call->state[0] = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (both)
        memset(both, 0, bytes);
    return both;
}

static void repeat_copy(struct bench_call *call, long calls) {
    char *both = call->state[0];
    const size_t half = half_of(call->convolution);
    for (long i = 0; i < calls; i++) {
        memcpy(both + half, both, half);
        __asm__ volatile("" ::: "memory"); /* the compiler keeps every copy */
    }
}

void uk_bench_copied_images(struct bench_library *copied, const struct bench_conv_options *how) {
    *copied = (struct bench_library){.name = "copy",
                                     .missing = how->threads > 1,
                                     .begin = begin_copy,
                                     .repeat = repeat_copy,
                                     .end = end_copy};
    snprintf(copied->detail, sizeof copied->detail, "%s",
             copied->missing ? "one thread only" : "memcpy of as many bytes, for depthwise shapes beyond L2");
}
