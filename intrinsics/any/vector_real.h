/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors of floats, or of doubles if DOUBLE is 1: `real` is the element; a vector of this architecture has V
 * of them. */
#ifndef VECTOR_REAL_H
#define VECTOR_REAL_H

#include "registry/kernel_contract.h"

#if DOUBLE
typedef double real;
#else
typedef float real;
#endif
/* load_part and store_part take only the first n elements, 0 < n < V; the others of a load are 0. */
#if defined __AVX512F__ && DOUBLE
#include <immintrin.h>
enum { V = 8 };
typedef __m512d vector;
#define MASK(n) ((__mmask8)((1u << (n)) - 1))
#define load(p) _mm512_loadu_pd(p)
#define load_part(p, n) _mm512_maskz_loadu_pd(MASK(n), p)
#define store(p, v) _mm512_storeu_pd(p, v)
#define store_part(p, n, v) _mm512_mask_storeu_pd(p, MASK(n), v)
#define all(x) _mm512_set1_pd(x)
#define fma(a, b, c) _mm512_fmadd_pd(a, b, c)
#define sum(v) _mm512_reduce_add_pd(v)
#elif defined __AVX512F__
#include <immintrin.h>
enum { V = 16 };
typedef __m512 vector;
#define MASK(n) ((__mmask16)((1u << (n)) - 1))
#define load(p) _mm512_loadu_ps(p)
#define load_part(p, n) _mm512_maskz_loadu_ps(MASK(n), p)
#define store(p, v) _mm512_storeu_ps(p, v)
#define store_part(p, n, v) _mm512_mask_storeu_ps(p, MASK(n), v)
#define all(x) _mm512_set1_ps(x)
#define fma(a, b, c) _mm512_fmadd_ps(a, b, c)
#define sum(v) _mm512_reduce_add_ps(v)
#elif defined __AVX2__ && DOUBLE
#include "../../asm/x86_64/store_first_avx2.h"
enum { V = 4 };
typedef __m256d vector;
#define MASK(n) _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_set_epi64x(3, 2, 1, 0))
#define load(p) _mm256_loadu_pd(p)
#define load_part(p, n) _mm256_maskload_pd(p, MASK(n))
#define store(p, v) _mm256_storeu_pd(p, v)
#define store_part(p, n, v) store_first_pd(p, n, v)
#define all(x) _mm256_set1_pd(x)
#define fma(a, b, c) _mm256_fmadd_pd(a, b, c)
static inline __attribute__((always_inline)) double sum(vector v) {
    __m128d x = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));

    return _mm_cvtsd_f64(_mm_add_sd(x, _mm_unpackhi_pd(x, x)));
}
#elif defined __AVX2__
#include "../../asm/x86_64/store_first_avx2.h"
enum { V = 8 };
typedef __m256 vector;
#define MASK(n) _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(n)), _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0))
#define load(p) _mm256_loadu_ps(p)
#define load_part(p, n) _mm256_maskload_ps(p, MASK(n))
#define store(p, v) _mm256_storeu_ps(p, v)
#define store_part(p, n, v) store_first_ps(p, n, v)
#define all(x) _mm256_set1_ps(x)
#define fma(a, b, c) _mm256_fmadd_ps(a, b, c)
static inline __attribute__((always_inline)) float sum(vector v) {
    __m128 x = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));

    x = _mm_add_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)));
}
#elif defined UK_ISA_neon || defined UK_ISA_armv7neon
#include <arm_neon.h>
#if DOUBLE
enum { V = 2 };
typedef float64x2_t vector;
#define load(p) vld1q_f64(p)
#define load_part(p, n) vld1q_lane_f64(p, vdupq_n_f64(0), 0)
#define store(p, v) vst1q_f64(p, v)
#define store_part(p, n, v) vst1q_lane_f64(p, v, 0)
#define all(x) vdupq_n_f64(x)
#define fma(a, b, c) vfmaq_f64(c, a, b)
#define sum(v) vaddvq_f64(v)
#else
enum { V = 4 };
typedef float32x4_t vector;
#define load(p) vld1q_f32(p)
#define store(p, v) vst1q_f32(p, v)
#define all(x) vdupq_n_f32(x)
#define fma(a, b, c) vfmaq_f32(c, a, b)
static inline __attribute__((always_inline, unused)) vector load_part(const float *p, int64_t n) {
    vector v = vld1q_lane_f32(p, vdupq_n_f32(0), 0);

    if (n > 1)
        v = vld1q_lane_f32(p + 1, v, 1);
    return n > 2 ? vld1q_lane_f32(p + 2, v, 2) : v;
}
static inline __attribute__((always_inline, unused)) void store_part(float *p, int64_t n, vector v) {
    vst1q_lane_f32(p, v, 0);
    if (n > 1)
        vst1q_lane_f32(p + 1, v, 1);
    if (n > 2)
        vst1q_lane_f32(p + 2, v, 2);
}
static inline __attribute__((always_inline, unused)) float sum(vector v) {
    const float32x2_t x = vadd_f32(vget_low_f32(v), vget_high_f32(v));

    return vget_lane_f32(vpadd_f32(x, x), 0);
}
#endif
#else
enum { V = 1 };
typedef real vector;
#define load(p) (*(p))
#define load_part(p, n) 0
#define store(p, v) (*(p) = (v))
#define store_part(p, n, v) (void)(v)
#define all(x) (x)
#define fma(a, b, c) ((a) * (b) + (c))
#define sum(v) (v)
#endif

#define INLINE static inline __attribute__((always_inline, unused))

/* The sums of the lanes of four vectors, in one vector: with AVX this takes half the shuffles of four
 * separate sums. */
#if defined __AVX2__ && DOUBLE
typedef __m256d four_sums;
#define add_fours(a, b) _mm256_add_pd(a, b)
#define load_four(p) _mm256_loadu_pd(p)
#define store_four(p, v) _mm256_storeu_pd(p, v)
INLINE four_sums sum_four(vector v0, vector v1, vector v2, vector v3) {
#ifdef __AVX512F__
    const __m512d low = _mm512_add_pd(_mm512_unpacklo_pd(v0, v1), _mm512_unpackhi_pd(v0, v1)),
                  high = _mm512_add_pd(_mm512_unpacklo_pd(v2, v3), _mm512_unpackhi_pd(v2, v3));
    const __m256d a = _mm256_add_pd(_mm512_castpd512_pd256(low), _mm512_extractf64x4_pd(low, 1)),
                  b = _mm256_add_pd(_mm512_castpd512_pd256(high), _mm512_extractf64x4_pd(high, 1));
#else
    const __m256d a = _mm256_hadd_pd(v0, v1), b = _mm256_hadd_pd(v2, v3);
#endif

    return _mm256_add_pd(_mm256_permute2f128_pd(a, b, 0x20), _mm256_permute2f128_pd(a, b, 0x31));
}
#elif defined __AVX2__
typedef __m128 four_sums;
#define add_fours(a, b) _mm_add_ps(a, b)
#define load_four(p) _mm_loadu_ps(p)
#define store_four(p, v) _mm_storeu_ps(p, v)
INLINE four_sums sum_four(vector v0, vector v1, vector v2, vector v3) {
#ifdef __AVX512F__
    const __m512d low =
                      _mm512_castps_pd(_mm512_add_ps(_mm512_unpacklo_ps(v0, v1), _mm512_unpackhi_ps(v0, v1))),
                  high =
                      _mm512_castps_pd(_mm512_add_ps(_mm512_unpacklo_ps(v2, v3), _mm512_unpackhi_ps(v2, v3)));
    const __m512 all = _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(low, high)),
                                     _mm512_castpd_ps(_mm512_unpackhi_pd(low, high)));
    const __m256 half = _mm256_add_ps(_mm512_castps512_ps256(all),
                                      _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(all), 1)));
#else
    const __m256 half = _mm256_hadd_ps(_mm256_hadd_ps(v0, v1), _mm256_hadd_ps(v2, v3));
#endif

    return _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
}
#else
typedef struct {
    real of[4];
} four_sums;
INLINE four_sums load_four(const real *p) {
    return (four_sums){{p[0], p[1], p[2], p[3]}};
}
INLINE void store_four(real *p, four_sums s) {
    for (int i = 0; i < 4; i++)
        p[i] = s.of[i];
}
INLINE four_sums add_fours(four_sums a, four_sums b) {
    return (four_sums){{a.of[0] + b.of[0], a.of[1] + b.of[1], a.of[2] + b.of[2], a.of[3] + b.of[3]}};
}
INLINE four_sums sum_four(vector v0, vector v1, vector v2, vector v3) {
    return (four_sums){{sum(v0), sum(v1), sum(v2), sum(v3)}};
}
#endif

/* c[0..3] (+)= the sums of the lanes of four vectors. */
INLINE void add_four(four_sums sums, real *c, int64_t acc) {
    store_four(c, acc ? add_fours(load_four(c), sums) : sums);
}

#endif
