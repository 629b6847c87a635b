/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of the lines of an operand of bytes (lines of struct uk_lattice), which take zero points off products:
 *
 *     sum of (a - x) (b - y) = sum of a b - x sum of b - y sum of a + k x y
 *
 * Bytes are added in 16 bits, a vector of them at a time. On x86 the code exists for AVX2 too, which widens
 * bytes as it loads them.
 */
#include <stdatomic.h>
#include <string.h>
#include "gemm/low.h"

#define INLINE static inline __attribute__((always_inline))

/* Elements of a vector; vectors whose sums in 16 bits cannot leave an int16_t. */
enum { LANES = 16, VECTORS = INT16_MAX / UINT8_MAX };

typedef int16_t words __attribute__((vector_size(LANES * sizeof(int16_t))));
typedef uint8_t u8_bytes __attribute__((vector_size(LANES)));
typedef int8_t i8_bytes __attribute__((vector_size(LANES)));

/* A run of n elements, `step` apart. */
struct run {
    const void *s;
    int64_t n, step;
    bool is_signed;
};

/* Adds a vector of elements to lanes. (A function that returned it would need vectors of its width.) */
INLINE void add_vector(const struct run *r, int64_t at, words *lanes) {
    u8_bytes u;
    i8_bytes i;

    if (r->is_signed) {
        memcpy(&i, (const int8_t *)r->s + at, sizeof i);
        *lanes += __builtin_convertvector(i, words);
    } else {
        memcpy(&u, (const uint8_t *)r->s + at, sizeof u);
        *lanes += __builtin_convertvector(u, words);
    }
}

INLINE int32_t element(const struct run *r, int64_t at) {
    return r->is_signed ? ((const int8_t *)r->s)[at] : ((const uint8_t *)r->s)[at];
}

/* The sum of a contiguous run. */
INLINE int32_t sum_along(const struct run *r) {
    int32_t sum = 0;
    int64_t p = 0;

    while (p + LANES <= r->n) {
        const int64_t last = uk_min(r->n - LANES, p + (VECTORS - 1) * LANES);
        words lanes = {0};

        for (; p <= last; p += LANES)
            add_vector(r, p, &lanes);
        for (int l = 0; l < LANES; l++)
            sum += lanes[l];
    }
    for (; p < r->n; p++)
        sum += element(r, p);
    return sum;
}

/* Sets sums to those of LANES runs side by side, from `r` on. */
INLINE void sum_beside(const struct run *r, int32_t *sums) {
    memset(sums, 0, LANES * sizeof *sums);
    for (int64_t p = 0; p < r->n; p += VECTORS) {
        const int64_t last = uk_min(r->n, p + VECTORS);
        words lanes = {0};

        for (int64_t q = p; q < last; q++)
            add_vector(r, q * r->step, &lanes);
        for (int l = 0; l < LANES; l++)
            sums[l] += lanes[l];
    }
}

/* Sets sums to those of n runs, `across` elements apart, from `first` on. is_signed is a
 * constant where this is inlined. */
INLINE void sum_runs(const struct run *first, bool is_signed, int64_t across, int64_t n, int32_t *sums) {
    struct run r = {first->s, first->n, first->step, is_signed};
    int64_t j = 0;

    for (; r.step != 1 && across == 1 && j + LANES <= n; j += LANES) {
        sum_beside(&r, sums + j);
        r.s = (const char *)r.s + LANES;
    }
    for (; j < n; j++) {
        sums[j] = 0;
        if (r.step == 1)
            sums[j] = sum_along(&r);
        else
            for (int64_t p = 0; p < r.n; p++)
                sums[j] += element(&r, p * r.step);
        r.s = (const char *)r.s + across;
    }
}

INLINE void sum_all(const struct run *r, int64_t across, int64_t n, int32_t *sums) {
    if (r->is_signed)
        sum_runs(r, true, across, n, sums);
    else
        sum_runs(r, false, across, n, sums);
}

typedef void sum_function(const struct run *r, int64_t across, int64_t n, int32_t *sums);

static void sum_any(const struct run *r, int64_t across, int64_t n, int32_t *sums) {
    sum_all(r, across, n, sums);
}

#if defined __x86_64__
__attribute__((target("avx2"))) static void sum_avx2(const struct run *r, int64_t across, int64_t n,
                                                     int32_t *sums) {
    sum_all(r, across, n, sums);
}

static sum_function *function_for_cpu(void) {
    return uk_cpu_has("avx2") ? sum_avx2 : sum_any;
}
#else
static sum_function *function_for_cpu(void) {
    return sum_any;
}
#endif

void uk_gemm_low_sums(const struct uk_lattice *m, const void *array, int64_t line, int64_t n, int32_t *sums) {
    static sum_function *_Atomic chosen; /* the same for all threads; NULL at first */
    const struct run r = {uk_lattice_place(m, array, line, 0), m->k->extent, uk_lattice_element_stride(m),
                          m->element == UK_ELEMENT_I8};
    sum_function *function = atomic_load_explicit(&chosen, memory_order_relaxed);

    if (!function) {
        function = function_for_cpu();
        atomic_store_explicit(&chosen, function, memory_order_relaxed);
    }
    function(&r, uk_lattice_line_stride(m), n, sums);
}
