/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packs k rows of n elements, floats (UK_OP_spack_n) or doubles (UK_OP_dpack_n, aarch64 only), into a panel
 * of width UK_NR, a row at a time: vectors of 16 bytes, the last one of 8 where the width has it. Of n <
 * UK_NR columns, the last vector is read and written from column n - V on and overlaps the one before it;
 * fewer than V columns go one by one.
 *
 * A row is one or two cache lines, often in a page of its own, which the hardware prefetcher does not reach:
 * the row 8 rows ahead is prefetched.
 *
 * Bound: one load and one store per 16 bytes; at one store a cycle (Cortex-A76) 16 bytes per cycle, at two
 * (Neoverse V1) 32; Cortex-A53 moves 8 a cycle. As long as the source is in L1.
 */
#include <arm_neon.h>
#include "registry/kernel_contract.h"

enum { AHEAD = 8 };
#define INLINE static inline __attribute__((always_inline))

#ifdef UK_OP_dpack_n
typedef double element;
enum { V = 2 };
#define load(p) vld1q_f64(p)
#define store(p, v) vst1q_f64(p, v)
#define zero vdupq_n_f64(0)
INLINE void copy_half(double *d, const double *s) {
    *d = *s;
}
#else
typedef float element;
enum { V = 4 };
#define load(p) vld1q_f32(p)
#define store(p, v) vst1q_f32(p, v)
#define zero vdupq_n_f32(0)
INLINE void copy_half(float *d, const float *s) {
    vst1_f32(d, vld1_f32(s));
}
#endif
_Static_assert(UK_NR >= V && UK_NR % (V / 2) == 0, "a row is vectors and perhaps a half");

INLINE void copy_row(element *d, const element *s) {
    for (int j = 0; j + V <= UK_NR; j += V)
        store(d + j, load(s + j));
    if (UK_NR % V)
        copy_half(d + UK_NR / V * V, s + UK_NR / V * V);
}

/* A row of n < UK_NR columns. */
INLINE void copy_part(element *d, const element *s, int64_t n) {
    int64_t j = 0;

    for (int i = 0; i + V <= UK_NR; i += V)
        store(d + i, zero);
    store(d + UK_NR - V, zero);
#pragma GCC unroll 1
    for (; j + V <= n; j += V)
        store(d + j, load(s + j));
    if (j < n && n > V)
        store(d + n - V, load(s + n - V));
    else
#pragma GCC unroll 1
        for (; j < n; j++)
            d[j] = s[j];
}

void UK_SYMBOL(int64_t k, const element *s, int64_t lds, element *d, int64_t n) {
#pragma GCC unroll 1
    for (int64_t p = 0; p < k; p++, s += lds, d += UK_NR) {
        for (int j = 0; j < UK_NR; j += 4 * V)
            __builtin_prefetch(s + AHEAD * lds + j);
        if (n == UK_NR)
            copy_row(d, s);
        else
            copy_part(d, s, n);
    }
}
