/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of A's rows. */
#include "gemm/weights.h"
#include "registry/half.h"
#include <stdatomic.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

/* From 0 to the largest magnitude of a block. */
enum { STEPS = INT8_MAX };

INLINE void widen(const uint16_t *restrict s, int64_t n, float *restrict d) {
    for (int64_t p = 0; p < n; p++)
        d[p] = uk_from_bf16(s[p]);
}

/* The largest magnitude, as bits, which order as numbers do; infinity and NaN are above all numbers. */
INLINE int32_t largest(const float *x, int64_t n) {
    int32_t most = 0;

    for (int64_t p = 0; p < n; p++) {
        const int32_t bits = (int32_t)uk_bits_of_float(__builtin_fabsf(x[p]));

        most = bits > most ? bits : most;
    }
    return most;
}

/* Rounds n terms to multiples of the scale that is returned, and sets *sum to the sum of these. A number plus
 * 1.5 * 2^23 has the nearest whole number in its last byte. */
INLINE float round_terms(const float *restrict x, int64_t n, int8_t *restrict q, float *sum) {
    const float most = uk_float_of_bits((uint32_t)largest(x, n)), up = most < 0x1p-60f ? 0x1p60f : 1;

    *sum = 0;
    if (!(most > 0 && most - most == 0)) { /* zero, infinite or NaN */
        memset(q, 0, (size_t)n);
        return most == 0 ? 0 : most - most;
    }
    const float steps = STEPS / (most * up);

    int32_t all = 0;

    for (int64_t p = 0; p < n; p++)
        q[p] = (int8_t)uk_bits_of_float(x[p] * up * steps + 0x1.8p23f);
    for (int64_t p = 0; p < n; p++)
        all += q[p];
    *sum = (float)all;
    return most / STEPS;
}

INLINE void copy_row(const struct weights_plan *p, const char *from, void *to, float *scales) {
    const int64_t element = p->options.is_bf16 ? 2 : 4;
    float some[WEIGHTS_BLOCK_MOST];

    if (!weights_by_bytes(p) && !p->options.is_bf16)
        memcpy(to, from, (size_t)(p->k * element));
    else if (!weights_by_bytes(p))
        widen((const uint16_t *)(const void *)from, p->k, to);
    for (int64_t g = 0; g < p->blocks && weights_by_bytes(p); g++) {
        const char *s = from + g * p->block * element;
        const float *x = (const float *)(const void *)s;

        if (p->options.is_bf16) {
            widen((const uint16_t *)(const void *)s, p->block, some);
            x = some;
        }
        scales[g] = round_terms(x, p->block, (int8_t *)to + g * p->block, &scales[p->blocks + g]);
    }
}

#define PARAMETERS \
    const struct weights_plan *p, const void *a, int64_t begin, int64_t end, void *to, float *scales
#define ARGUMENTS p, a, begin, end, to, scales

INLINE void copy(PARAMETERS) {
    const int64_t of_a = p->options.is_bf16 ? 2 : 4, of_copy = weights_by_bytes(p) ? 1 : 4;

    for (int64_t i = begin; i < end; i++)
        copy_row(p, (const char *)a + i * p->lda * of_a, (char *)to + i * p->ld * of_copy,
                 scales + i * 2 * p->blocks);
}

typedef void copy_function(PARAMETERS);

static void copy_any(PARAMETERS) {
    copy(ARGUMENTS);
}

#if defined __x86_64__
__attribute__((target("avx2"))) static void copy_avx2(PARAMETERS) {
    copy(ARGUMENTS);
}

static copy_function *function_for_cpu(void) {
    return uk_cpu_has("avx2") ? copy_avx2 : copy_any;
}
#else
static copy_function *function_for_cpu(void) {
    return copy_any;
}
#endif

void uk_weights_copy_rows(PARAMETERS) {
    static copy_function *_Atomic chosen; /* the same for all threads; NULL at first */
    copy_function *function = atomic_load_explicit(&chosen, memory_order_relaxed);

    if (!function) {
        function = function_for_cpu();
        atomic_store_explicit(&chosen, function, memory_order_relaxed);
    }
    function(ARGUMENTS);
}
