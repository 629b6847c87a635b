/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of rows of i8, where each block of terms has a scale, with weights of 4 bits (UK_OP_i8gemm_i4,
 * UK_OP_i8gemm_u4) or 8 (UK_OP_i8gemm_i8, UK_OP_i8gemm_u8) in such blocks. The terms of a block are summed
 * exactly, in i32; the sum is converted to f32, and multiplied by both scales. A block with a scale that is
 * infinite or NaN is computed term by term.
 *
 * x86 multiplies u8 by i8. Signed weights are therefore made unsigned, by 8 or 128 more, and as many times
 * the sum of the row's terms is subtracted; an offset is multiplied by that sum, too. ROWS rows share the
 * unpacked weights.
 *
 *     VNNI            vpdpbusd adds four products to a sum of i32
 *     4 bits          vpmaddubsw adds two products, at most 2 * 15 * 128. Eight of those fit an i16; after
 *                     UNFLUSHED groups of both halves they are added to i32
 *     8 bits          two products would not fit an i16: vpmaddwd multiplies even and odd bytes as i16
 *
 * Bound, for a vector of weights of 4 bits, 2 * LANES * KR terms, and m rows: 3 operations to unpack, m * 2
 * to multiply (without VNNI m * 4), and per block and row about ten for the sum of its terms.
 */
#include "weights.h"

#if defined __AVX2__
#include <immintrin.h>
#endif
#if defined UK_ISA_avx512vnni
#define HAS_VNNI 1
#else
#define HAS_VNNI 0
#endif
#if defined __AVX512F__
#define V(name) _mm512_##name
#define WHOLE(name) _mm512_##name##_si512
typedef __m512i bytes;
enum { ROWS = 8 };
#elif defined __AVX2__
#define V(name) _mm256_##name
#define WHOLE(name) _mm256_##name##_si256
typedef __m256i bytes;
enum { ROWS = 4 };
#else
typedef integers bytes;
enum { ROWS = 2 };
#endif
/* ADDED: to signed weights, which makes them unsigned. NEEDS_TERMS: the sums of a row's terms are used. */
#if defined __AVX2__
enum { ADDED = HAS_OFFSETS ? 0 : 1 << (BITS - 1) };
#define NEEDS_TERMS true
#else
enum { ADDED = 0 };
#define NEEDS_TERMS HAS_OFFSETS
#endif
/* Groups whose sums are of i16, before they are added to i32; 0: sums are of i32. */
#if defined __AVX2__ && !HAS_VNNI && HAS_HALVES
#define UNFLUSHED 4
#else
#define UNFLUSHED 0
#endif

INLINE int32_t load_group(const int8_t *a) {
    int32_t x;

    __builtin_memcpy(&x, a, sizeof x);
    return x;
}

/* The sum of k terms, a multiple of KR. */
INLINE int32_t sum_terms(const int8_t *a, int64_t k) {
#if defined __AVX2__
    const __m128i ones = _mm_set1_epi8(1), pairs = _mm_set1_epi16(1);
    __m128i sum = _mm_setzero_si128();

#pragma GCC unroll 1
    for (; k >= 16; k -= 16, a += 16)
        sum = _mm_add_epi32(
            sum, _mm_madd_epi16(_mm_maddubs_epi16(ones, _mm_loadu_si128((const __m128i *)a)), pairs));
#pragma GCC unroll 1
    for (; k > 0; k -= KR, a += KR)
        sum = _mm_add_epi32(sum,
                            _mm_madd_epi16(_mm_maddubs_epi16(ones, _mm_cvtsi32_si128(load_group(a))), pairs));
    sum = _mm_add_epi32(sum, _mm_unpackhi_epi64(sum, sum));
    return _mm_cvtsi128_si32(_mm_add_epi32(sum, _mm_shuffle_epi32(sum, 1)));
#else
    int32_t sum = 0;

#pragma GCC unroll 1
    for (int64_t p = 0; p < k; p++)
        sum += a[p];
    return sum;
#endif
}

#if defined __AVX2__
INLINE bytes load_weights(const weight *w) {
    const bytes y = WHOLE(loadu)((const void *)w);

    return ADDED ? WHOLE(xor)(y, V(set1_epi8)((char)(BITS == 4 ? 0x88 : 0x80))) : y;
}

/* The bytes of half h, as u8. */
INLINE bytes half_of(bytes y, int h) {
    return BITS == 8 ? y : WHOLE(and)(h ? V(srli_epi16)(y, 4) : y, V(set1_epi8)(15));
}

/* Adds products of groups of KR bytes and the group x. */
INLINE bytes add_products(bytes sum, bytes y, int32_t x) {
    const bytes group = V(set1_epi32)(x);

#if HAS_VNNI
    return V(dpbusd_epi32)(sum, y, group);
#else
    if (BITS == 4) /* sums of i16 */
        return V(add_epi16)(sum, V(maddubs_epi16)(y, group));
    const bytes even = V(madd_epi16)(WHOLE(and)(y, V(set1_epi16)(255)),
                                     V(srai_epi16)(V(slli_epi16)(group, 8), 8)),
                odd = V(madd_epi16)(V(srli_epi16)(y, 8), V(srai_epi16)(group, 8));

    return V(add_epi32)(sum, V(add_epi32)(even, odd));
#endif
}
#else
INLINE bytes load_weights(const weight *w) {
    bytes y;

    __builtin_memcpy(&y, w, sizeof y);
    return y;
}

INLINE bytes half_of(bytes y, int h) {
    return BITS == 8 ? y : h ? (bytes)((words)y >> 4) : y;
}

INLINE bytes add_products(bytes sum, bytes y, int32_t x) {
#pragma GCC unroll 4
    for (int r = 0; r < KR; r++) {
        const words top = (words)y << (32 - BITS - 8 * r);

        sum += (HAS_OFFSETS ? (bytes)(top >> (32 - BITS)) : (bytes)top >> (32 - BITS)) *
               (int32_t)(int8_t)((uint32_t)x >> 8 * r);
    }
    return sum;
}
#endif

/* The sums of a block, of i32. */
INLINE void sum_block(const int rows, int64_t k, const weight *w, const int8_t *a, int64_t lda, int64_t ldh,
                      bytes sum[ROWS][VECTORS]) {
    const int64_t most = UNFLUSHED ? UNFLUSHED * KR : INT64_MAX;

#pragma GCC unroll 8
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
        for (int v = 0; v < VECTORS; v++)
            sum[i][v] = (bytes){0};
#pragma GCC unroll 1
    while (k > 0) {
        bytes part[ROWS][VECTORS];
        const int64_t end = k < most ? k : most;

#pragma GCC unroll 8
        for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
            for (int v = 0; v < VECTORS; v++)
                part[i][v] = (bytes){0};
#pragma GCC unroll 1
        for (int64_t p = 0; p < end; p += KR, w += NR * KR) {
#pragma GCC unroll 2
            for (int h = 0; h < HALVES; h++) {
                bytes y[VECTORS];

#pragma GCC unroll 2
                for (int v = 0; v < VECTORS; v++)
                    y[v] = half_of(load_weights(w + v * LANES * KR), h);
#pragma GCC unroll 8
                for (int i = 0; i < rows; i++) {
                    const int32_t x = load_group(a + i * lda + h * ldh + p);

#pragma GCC unroll 2
                    for (int v = 0; v < VECTORS; v++)
                        part[i][v] = add_products(part[i][v], y[v], x);
                }
            }
        }
#pragma GCC unroll 8
        for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
            for (int v = 0; v < VECTORS; v++)
#if UNFLUSHED
                sum[i][v] = V(add_epi32)(sum[i][v], V(madd_epi16)(part[i][v], V(set1_epi16)(1)));
#else
                sum[i][v] = (bytes)((integers)sum[i][v] + (integers)part[i][v]);
#endif
        k -= end;
        a += end;
    }
}

/* ---- scales that are infinite or NaN ---- */

INLINE bool has_nan(reals x) {
#if defined __AVX512F__
    return _mm512_cmp_ps_mask((__m512)x, (__m512)x, _CMP_UNORD_Q);
#elif defined __AVX2__
    return _mm256_movemask_ps(_mm256_cmp_ps((__m256)x, (__m256)x, _CMP_UNORD_Q));
#else
    bool found = false;

    for (int l = 0; l < LANES; l++)
        found |= x[l] != x[l];
    return found;
#endif
}

/* True if a scale or offset of the block, or a scale of the rows, is infinite or NaN. */
INLINE bool is_special(const struct block *b, int rows, const float *r, int64_t ldr) {
    reals x = {0};
    float y = 0;

#pragma GCC unroll 2
    for (int v = 0; v < VECTORS; v++) {
        x += b->scale[v] - b->scale[v];
        if (HAS_OFFSETS)
            x += b->offset[v] - b->offset[v];
    }
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++)
        y += r[i * ldr] - r[i * ldr];
    return has_nan(x + y);
}

INLINE int32_t weight_at(const weight *w, int h) {
    return BITS == 8 ? *w : HAS_OFFSETS ? *w >> 4 * h & 15 : (int8_t)((uint32_t)*w << (4 - 4 * h)) >> 4;
}

/* Adds a block term by term: 0 times infinity is NaN. */
INLINE void add_special(const struct block *b, int64_t k, const int8_t *a, int64_t ldh, float scale,
                        reals total[VECTORS]) {
#pragma GCC unroll 1
    for (int j = 0; j < NR; j++) {
        const float s = b->scale[j / LANES][j % LANES];
        float sum = 0;

#pragma GCC unroll 1
        for (int64_t p = 0; p < k; p++) {
            const weight *w = b->w + (p / KR * NR + j) * KR + p % KR;
            const int32_t low = a[p] * weight_at(w, 0), high = HAS_HALVES ? a[ldh + p] * weight_at(w, 1) : 0;
            float x = (float)(low + high) * s;

            if (HAS_OFFSETS)
                x += (float)(a[p] + (HAS_HALVES ? a[ldh + p] : 0)) * b->offset[j / LANES][j % LANES];
            sum += x * scale;
        }
        total[j / LANES][j % LANES] += sum;
    }
}

INLINE void strip(const int rows, int64_t blocks, int64_t k, const int8_t *a, int64_t lda, int64_t ldg,
                  int64_t ldh, const float *r, int64_t ldr, bool has_sums, struct call call, float *c,
                  int64_t ldc, int64_t acc) {
    reals total[ROWS][VECTORS];

#pragma GCC unroll 8
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
        for (int v = 0; v < VECTORS; v++)
            total[i][v] = (reals){0};
#pragma GCC unroll 1
    for (int64_t g = 0; g < blocks; g++, a += ldg) {
        struct block b;
        bytes sum[ROWS][VECTORS];

        load_block(&call, &b);
        if (!has_sums && is_special(&b, rows, r + g, ldr)) {
#pragma GCC unroll 8
            for (int i = 0; i < rows; i++)
                add_special(&b, k, a + i * lda, ldh, r[i * ldr + g], total[i]);
            next_block(&call);
            continue;
        }
        sum_block(rows, k, b.w, a, lda, ldh, sum);
#pragma GCC unroll 8
        for (int i = 0; i < rows; i++) {
            const float scale = r[i * ldr + g];
            int32_t terms = 0;

            if (NEEDS_TERMS && has_sums)
                terms = (int32_t)r[i * ldr + ldr / 2 + g];
            else if (NEEDS_TERMS)
                terms = sum_terms(a + i * lda, k) + (HAS_HALVES ? sum_terms(a + i * lda + ldh, k) : 0);
#pragma GCC unroll 2
            for (int v = 0; v < VECTORS; v++) {
                const reals x =
                    __builtin_convertvector((integers)sum[i][v] - ADDED * terms, reals) * b.scale[v];

                total[i][v] += scale * (HAS_OFFSETS ? x + (float)terms * b.offset[v] : x);
            }
        }
        next_block(&call);
    }
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
        for (int v = 0; v < VECTORS; v++)
            put(c + i * ldc + v * LANES, total[i][v], acc, call.nr - v * LANES);
}

void UK_SYMBOL(int64_t blocks, int64_t k, const int8_t *a, int64_t lda, int64_t ldg,
               LDH_PARAMETER const float *r, int64_t ldr, WEIGHTS_PARAMETERS, float *c, int64_t ldc,
               int64_t acc, int64_t mr, int64_t nr) {
    const struct call call = CALL;
    const bool has_sums = acc & UK_ROW_SUMS;

    if (k == 0) /* scales that are infinite are not multiplied by 0 */
        blocks = 0;
    acc &= 1;
    for (int64_t strips = (mr + ROWS - 1) / ROWS; strips > 0; strips--) {
        const int64_t rows = (mr + strips - 1) / strips;

        switch (rows) {
#define OF(n)                                                                       \
    case n:                                                                         \
        strip(n, blocks, k, a, lda, ldg, LDH, r, ldr, has_sums, call, c, ldc, acc); \
        break;
#if defined __AVX512F__
            OF(8)
            OF(7)
            OF(6)
            OF(5)
#endif
#if defined __AVX2__
            OF(4)
            OF(3)
#endif
            OF(2)
        default:
            strip(1, blocks, k, a, lda, ldg, LDH, r, ldr, has_sums, call, c, ldc, acc);
        }
        a += rows * lda;
        r += rows * ldr;
        c += rows * ldc;
        mr -= rows;
    }
}
