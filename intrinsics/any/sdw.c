/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sum of a depthwise convolution over one axis of its window: each channel j of m pixels i; channels are
 * not added up. ROWS pixels x VECTORS vectors of channels at a time stay in registers over all p; f is loaded
 * once for the pixels. sdw_r: j are pixels of one channel, i their rows, and f is one number for all of them.
 *
 * Bound: an FMA needs a load of x, so at two loads a cycle two FMAs a cycle is the maximum; there are VECTORS
 * loads of f for ROWS * VECTORS FMAs. Convolutions of large images are bound by memory before that.
 */
#include "registry/kernel_contract.h"

#ifdef UK_ISA_neon
#include <arm_neon.h>
enum { LANES = 4, ROWS = 4, VECTORS = 4 };
typedef float32x4_t vector;
#define ZERO vdupq_n_f32(0)
#define FMA(a, b, c) vfmaq_f32(c, a, b)
#define ADD(a, b) vaddq_f32(a, b)
#define BROADCAST(p) vdupq_n_f32(*(p))
#define LOAD(p) vld1q_f32(p)
#define STORE(p, v) vst1q_f32(p, v)
/* Loads 0 < n < LANES elements lane by lane, without masks. */
static inline __attribute__((always_inline)) vector load_some(const float *p, int64_t n) {
    vector v = vld1q_lane_f32(p, ZERO, 0);

    if (n > 1)
        v = vld1q_lane_f32(p + 1, v, 1);
    return n > 2 ? vld1q_lane_f32(p + 2, v, 2) : v;
}
static inline __attribute__((always_inline)) void store_some(float *p, int64_t n, vector v) {
    vst1q_lane_f32(p, v, 0);
    if (n > 1)
        vst1q_lane_f32(p + 1, v, 1);
    if (n > 2)
        vst1q_lane_f32(p + 2, v, 2);
}
#define LOAD_SOME(p, n) load_some(p, n)
#define STORE_SOME(p, n, v) store_some(p, n, v)
#elif defined UK_ISA_rv64gc
enum { LANES = 1, ROWS = 4, VECTORS = 4 };
typedef float vector;
#define ZERO 0
#define FMA(a, b, c) ((a) * (b) + (c))
#define ADD(a, b) ((a) + (b))
#define BROADCAST(p) (*(p))
#define LOAD(p) (*(p))
#define STORE(p, v) (*(p) = (v))
/* LANES is 1: a partial vector does not occur. */
#define LOAD_SOME(p, n) LOAD(p)
#define STORE_SOME(p, n, v) STORE(p, v)
#elif defined __AVX512F__
#include <immintrin.h>
enum { LANES = 16, ROWS = 4, VECTORS = 4 };
typedef __m512 vector;
#define MASK(n) ((__mmask16)((n) >= 16 ? 0xffff : (n) <= 0 ? 0 : (1u << (n)) - 1))
#define ZERO _mm512_setzero_ps()
#define FMA(a, b, c) _mm512_fmadd_ps(a, b, c)
#define ADD(a, b) _mm512_add_ps(a, b)
#define BROADCAST(p) _mm512_set1_ps(*(p))
#define LOAD(p) _mm512_loadu_ps(p)
#define STORE(p, v) _mm512_storeu_ps(p, v)
#define LOAD_SOME(p, n) _mm512_maskz_loadu_ps(MASK(n), p)
#define STORE_SOME(p, n, v) _mm512_mask_storeu_ps(p, MASK(n), v)
#else
#include "../../asm/x86_64/store_first_avx2.h"
enum { LANES = 8, ROWS = 4, VECTORS = 2 };
typedef __m256 vector;
#define MASK(n) _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(n)), _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0))
#define ZERO _mm256_setzero_ps()
#define FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#define ADD(a, b) _mm256_add_ps(a, b)
#define BROADCAST(p) _mm256_set1_ps(*(p))
#define LOAD(p) _mm256_loadu_ps(p)
#define STORE(p, v) _mm256_storeu_ps(p, v)
#define LOAD_SOME(p, n) _mm256_maskload_ps(p, MASK(n))
#define STORE_SOME(p, n, v) store_first_ps(p, n, v)
#endif

/* WEIGHT: the weights of vector v, which has `left` channels. PER_CHANNEL: the stride of f per channel. */
#ifdef UK_OP_sdw_r
#define WEIGHT(f, v, left) ((void)(v), BROADCAST(f))
enum { PER_CHANNEL = 0 };
#else
#define WEIGHT(f, v, left) (left < LANES ? LOAD_SOME(f + v * LANES, left) : LOAD(f + v * LANES))
enum { PER_CHANNEL = 1 };
#endif

struct block {
    int64_t k, ldx, csx, ldf, ldy, acc;
};

/* A block of `rows` pixels x `vectors` vectors, the last of which has `left` channels. */
static inline __attribute__((always_inline)) void block(const struct block *b, const float *x, const float *f,
                                                        float *y, int rows, int vectors, int64_t left) {
    vector sum[ROWS][VECTORS], weight[VECTORS];

    for (int i = 0; i < rows; i++)
        for (int v = 0; v < vectors; v++)
            sum[i][v] = ZERO;
#pragma GCC unroll 1
    for (int64_t p = 0; p < b->k; p++, x += b->csx, f += b->ldf) {
        for (int v = 0; v < vectors; v++)
            weight[v] = WEIGHT(f, v, left);
        for (int i = 0; i < rows; i++)
            for (int v = 0; v < vectors; v++) {
                const float *from = x + i * b->ldx + v * LANES;

                sum[i][v] = FMA(left < LANES ? LOAD_SOME(from, left) : LOAD(from), weight[v], sum[i][v]);
            }
    }
    for (int i = 0; i < rows; i++, y += b->ldy)
        for (int v = 0; v < vectors; v++) {
            float *to = y + v * LANES;

            if (left < LANES)
                STORE_SOME(to, left, b->acc ? ADD(LOAD_SOME(to, left), sum[i][v]) : sum[i][v]);
            else
                STORE(to, b->acc ? ADD(LOAD(to), sum[i][v]) : sum[i][v]);
        }
}

/* All pixels of `vectors` vectors. */
static inline __attribute__((always_inline)) void pixels(const struct block *b, const float *x,
                                                         const float *f, float *y, int64_t m, int vectors,
                                                         int64_t left) {
    int64_t i = 0;

#pragma GCC unroll 1
    for (; i + ROWS <= m; i += ROWS)
        block(b, x + i * b->ldx, f, y + i * b->ldy, ROWS, vectors, left);
#pragma GCC unroll 1
    for (; i < m; i++)
        block(b, x + i * b->ldx, f, y + i * b->ldy, 1, vectors, left);
}

void UK_SYMBOL(int64_t k, const float *x, int64_t ldx, int64_t csx, const float *f, int64_t ldf, float *y,
               int64_t ldy, int64_t acc, int64_t m, int64_t n) {
    const struct block b = {k, ldx, csx, ldf, ldy, acc};
    int64_t j = 0;

#pragma GCC unroll 1
    for (; j + VECTORS * LANES <= n; j += VECTORS * LANES)
        pixels(&b, x + j, f + PER_CHANNEL * j, y + j, m, VECTORS, LANES);
#pragma GCC unroll 1
    for (; j + LANES <= n; j += LANES)
        pixels(&b, x + j, f + PER_CHANNEL * j, y + j, m, 1, LANES);
    if (j < n)
        pixels(&b, x + j, f + PER_CHANNEL * j, y + j, m, 1, n - j);
}
