/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of rows of i8, where each block of terms has a scale, with weights of 4 bits (UK_OP_i8gemm_i4,
 * UK_OP_i8gemm_u4) or 8 (UK_OP_i8gemm_i8, UK_OP_i8gemm_u8) in such blocks. The terms of a block are summed
 * exactly, in i32; the sum is converted to f32, and multiplied by both scales. Totals that are not finite are
 * computed again, term by term.
 *
 * x86 multiplies u8 by i8. Signed weights are therefore made unsigned, by 8 or 128 more; the block's sum
 * begins with minus as many times the sum of the row's terms. An offset is multiplied by that sum, too. The
 * sums of AHEAD blocks are computed at a time, and the scales brought to f32, so that the loop over blocks
 * has no branches and the totals, half of the registers, are spilled without moves. ROWS rows share the
 * unpacked weights; at most LANES columns take one of the tile's two vectors.
 *
 *     VNNI            vpdpbusd adds four products to a sum of i32
 *     4 bits          vpmaddubsw adds two products, at most 2 * 15 * 128. Eight of those fit an i16; after
 *                     UNFLUSHED groups of both halves they are added to i32
 *     8 bits          two products would not fit an i16: vpmaddwd multiplies even and odd bytes as i16
 *
 * Bound, for a vector of weights of 4 bits, 2 * LANES * KR terms, and m rows: 3 operations to unpack, m * 2
 * to multiply (without VNNI m * 4); and per block and row 3 for each vector of totals, and for the sum of its
 * terms one to ten.
 */
#include "weights.h"

#if defined UK_ISA_avx512vnni && defined __AVX512F__
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
/* Blocks whose rows' terms are summed at a time. */
enum { AHEAD = 32 };
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

/* ---- sums of the terms of rows ---- */

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

/* The sums of the terms of blocks of a strip of rows, as a block's sums begin with them: times -ADDED, or of
 * f32 if they multiply offsets. */
#if HAS_OFFSETS
typedef float term_sum;
#else
typedef int32_t term_sum;
#endif

INLINE term_sum of_terms(int32_t terms) {
    return HAS_OFFSETS ? (term_sum)terms : -ADDED * (term_sum)terms;
}

#if HAS_VNNI
enum { SUMMED = 16, TERMS = 32 };

/* The sums of SUMMED dense blocks of TERMS terms: two are in a vector. Sums of four terms are packed to i16
 * and added in pairs, twice. Element j of quarter q of x[i] is then the sum of 16 terms, of quarter q of
 * vector 4 i + j. */
INLINE void sum_dense_blocks(const int8_t *a, term_sum *to) {
    const __m512i ones = _mm512_set1_epi8(1), pairs = _mm512_set1_epi16(1),
                  order = _mm512_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15);
    __m512i x[8];

#pragma GCC unroll 8
    for (int n = 0; n < 8; n++)
        x[n] = _mm512_dpbusd_epi32(_mm512_setzero_si512(), ones, _mm512_loadu_si512(a + n * 64));
#pragma GCC unroll 2
    for (int count = 4; count >= 2; count /= 2)
#pragma GCC unroll 4
        for (int n = 0; n < count; n++)
            x[n] = _mm512_madd_epi16(_mm512_packs_epi32(x[2 * n], x[2 * n + 1]), pairs);
    const __m512i sums =
        _mm512_permutexvar_epi32(order, _mm512_add_epi32(_mm512_shuffle_i32x4(x[0], x[1], 0x88),
                                                         _mm512_shuffle_i32x4(x[0], x[1], 0xdd)));

#if HAS_OFFSETS
    _mm512_storeu_ps(to, _mm512_cvtepi32_ps(sums));
#else
    _mm512_storeu_si512(to, _mm512_mullo_epi32(sums, _mm512_set1_epi32(-ADDED)));
#endif
}
#endif

/* Those of `blocks` blocks of a row; `given`: the sums, or NULL. */
INLINE void sum_row(int64_t blocks, int64_t k, const int8_t *a, int64_t ldg, int64_t ldh, const float *given,
                    term_sum *to) {
    int64_t g = 0;

    if (given) {
#pragma GCC unroll 1
        for (; g + LANES <= blocks; g += LANES) {
            const reals x = load(given + g) * (HAS_OFFSETS ? 1.0f : -(float)ADDED);
#if HAS_OFFSETS
            store(to + g, x);
#else
            const integers y = __builtin_convertvector(x, integers);

            __builtin_memcpy(to + g, &y, sizeof y);
#endif
        }
#pragma GCC unroll 1
        for (; g < blocks; g++)
            to[g] = of_terms((int32_t)given[g]);
        return;
    }
#if HAS_VNNI
    if (k * HALVES == TERMS && ldg == TERMS && (!HAS_HALVES || ldh == k))
#pragma GCC unroll 1
        for (; g + SUMMED <= blocks; g += SUMMED)
            sum_dense_blocks(a + g * ldg, to + g);
#endif
#pragma GCC unroll 1
    for (; g < blocks; g++) {
        const int8_t *x = a + g * ldg;

        to[g] = of_terms(sum_terms(x, k) + (HAS_HALVES ? sum_terms(x + ldh, k) : 0));
    }
}

/* ---- products of a block ---- */

#if defined __AVX2__
INLINE bytes load_weights(const weight *w) {
    return WHOLE(loadu)((const void *)w);
}

/* The weights of half h, ADDED to them, as u8. */
INLINE bytes half_of(bytes y, int h) {
    const bytes x = BITS == 8 ? y : WHOLE(and)(h ? V(srli_epi16)(y, 4) : y, V(set1_epi8)(15));

    return ADDED ? WHOLE(xor)(x, V(set1_epi8)((char)ADDED)) : x;
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

/* Adds the products of a block of k > 0 bytes of each column to sums of i32. */
INLINE void sum_block(const int rows, const int vectors, int64_t k, const weight *w, const int8_t *a,
                      int64_t lda, int64_t ldh, bytes sum[ROWS][VECTORS]) {
    const int64_t most = UNFLUSHED ? UNFLUSHED * KR : INT64_MAX;

#pragma GCC unroll 1
    do {
        bytes part[ROWS][VECTORS];
        const int64_t end = k < most ? k : most;

#pragma GCC unroll 8
        for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
            for (int v = 0; v < vectors; v++)
                part[i][v] = UNFLUSHED ? (bytes){0} : sum[i][v];
        int64_t p = 0;
#pragma GCC unroll 1
        do {
#pragma GCC unroll 2
            for (int h = 0; h < HALVES; h++) {
                bytes y[VECTORS];

#pragma GCC unroll 2
                for (int v = 0; v < vectors; v++)
                    y[v] = half_of(load_weights(w + v * LANES * KR), h);
#pragma GCC unroll 8
                for (int i = 0; i < rows; i++) {
                    const int32_t x = load_group(a + i * lda + h * ldh + p);

#pragma GCC unroll 2
                    for (int v = 0; v < vectors; v++)
                        part[i][v] = add_products(part[i][v], y[v], x);
                }
            }
            p += KR;
            w += NR * KR;
        } while (p < end);
#pragma GCC unroll 8
        for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
            for (int v = 0; v < vectors; v++)
#if UNFLUSHED
                sum[i][v] = V(add_epi32)(sum[i][v], V(madd_epi16)(part[i][v], V(set1_epi16)(1)));
#else
                sum[i][v] = part[i][v];
#endif
        k -= end;
        a += end;
    } while (k > 0);
}

/* ---- strips of rows ---- */

/* The rows of a strip, and the blocks of a call. */
struct strip {
    int64_t blocks, k;
    const int8_t *a;
    int64_t lda, ldg, ldh;
    const float *r; /* scales; if has_sums, sums of terms ldr / 2 further */
    int64_t ldr;
    bool has_sums;
};

/* Adds block g to the totals; `terms`: the sums of its rows' terms, AHEAD from row to row. */
INLINE void add_block(const int rows, const int vectors, const struct strip *s, int64_t g, const weight *w,
                      const float *scale, const float *offset, const term_sum *terms,
                      reals total[ROWS][VECTORS]) {
    bytes sum[ROWS][VECTORS];

#pragma GCC unroll 8
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            sum[i][v] = (bytes)((integers){0} + (ADDED ? (int32_t)terms[i * AHEAD] : 0));
    sum_block(rows, vectors, s->k, w, s->a + g * s->ldg, s->lda, s->ldh, sum);
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++) {
        const float row = s->r[i * s->ldr + g];

#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) {
            reals x = __builtin_convertvector((integers)sum[i][v], reals) * load(scale + v * LANES);

            if (HAS_OFFSETS)
                x += (float)terms[i * AHEAD] * load(offset + v * LANES);
            total[i][v] += row * x;
        }
    }
}

INLINE void add_blocks(const int rows, const int vectors, const struct strip *s, struct call call,
                       reals total[ROWS][VECTORS]) {
    term_sum terms[ROWS][AHEAD];
    float scales[AHEAD * NR], offsets[HAS_OFFSETS ? AHEAD * NR : 1];

#pragma GCC unroll 1
    for (int64_t g = 0; g < s->blocks; g += AHEAD) {
        const int64_t n = s->blocks - g < AHEAD ? s->blocks - g : AHEAD;
        struct scales x = scales_of(&call, n, scales, offsets);
        const weight *w = call.w;

        if (NEEDS_TERMS)
#pragma GCC unroll 1
            for (int i = 0; i < rows; i++)
                sum_row(n, s->k, s->a + i * s->lda + g * s->ldg, s->ldg, s->ldh,
                        s->has_sums ? s->r + i * s->ldr + s->ldr / 2 + g : NULL, terms[i]);
#pragma GCC unroll 1
        for (int64_t h = 0; h < n; h++) {
            prefetch_block(true, w, s->k, x.s);
            add_block(rows, vectors, s, g + h, w, x.s, x.o, &terms[0][h], total);
            w += call.ldw;
            x.s += x.lds;
            x.o += x.ldo;
        }
        skip_blocks(&call, n);
    }
}

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

/* Half h of a byte. */
INLINE int32_t weight_at(const weight *w, int h) {
    return BITS == 8 ? *w : HAS_OFFSETS ? *w >> 4 * h & 15 : (int8_t)((uint32_t)*w << (4 - 4 * h)) >> 4;
}

/* The sum of row i and column j term by term: 0 times a scale that is infinite is NaN. */
INLINE float sum_special(const struct strip *s, struct call call, int i, int j) {
    float sum = 0;

#pragma GCC unroll 1
    for (int64_t g = 0; g < s->blocks; g++) {
        const int8_t *a = s->a + i * s->lda + g * s->ldg;
        struct block b;

        load_block(&call, &b);
#pragma GCC unroll 1
        for (int64_t p = 0; p < s->k; p++) {
            const weight *w = b.w + (p / KR * NR + j) * KR + p % KR;
            const int32_t low = a[p] * weight_at(w, 0),
                          high = HAS_HALVES ? a[s->ldh + p] * weight_at(w, 1) : 0;
            float x = (float)(low + high) * b.scale[j / LANES][j % LANES];

            if (HAS_OFFSETS)
                x += (float)(a[p] + (HAS_HALVES ? a[s->ldh + p] : 0)) * b.offset[j / LANES][j % LANES];
            sum += x * s->r[i * s->ldr + g];
        }
        skip_blocks(&call, 1);
    }
    return sum;
}

/* Computes totals that are not finite again: a scale that is infinite or NaN makes its totals so. */
INLINE void correct_special(const int rows, const int vectors, const struct strip *s, struct call call,
                            reals total[ROWS][VECTORS]) {
    const int width = vectors * LANES;
    float y[ROWS * NR];
    reals x = {0};

#pragma GCC unroll 8
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) {
            store(y + i * width + v * LANES, total[i][v]);
            x += total[i][v] - total[i][v];
        }
    if (!has_nan(x))
        return;
#pragma GCC unroll 1
    for (int n = 0; n < rows * width; n++)
        if (!(y[n] - y[n] == 0))
            y[n] = sum_special(s, call, n / width, n % width);
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            total[i][v] = load(y + i * width + v * LANES);
}

INLINE void strip(const int rows, const int vectors, const struct strip *s, struct call call, float *c,
                  int64_t ldc, int64_t acc) {
    reals total[ROWS][VECTORS] = {0};

    add_blocks(rows, vectors, s, call, total);
    if (!s->has_sums)
        correct_special(rows, vectors, s, call, total);
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            put(c + i * ldc + v * LANES, total[i][v], acc, call.nr - v * LANES);
}

/* The product of `vectors` vectors of columns, in as few strips as possible. */
INLINE void multiply_columns(const int vectors, struct strip next, struct call call, float *c, int64_t ldc,
                             int64_t acc, int64_t mr) {
#pragma GCC unroll 1
    for (int64_t strips = (mr + ROWS - 1) / ROWS; strips > 0; strips--) {
        const int64_t rows = (mr + strips - 1) / strips;

        switch (rows) {
#define OF(n)                                        \
    case n:                                          \
        strip(n, vectors, &next, call, c, ldc, acc); \
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
            strip(1, vectors, &next, call, c, ldc, acc);
        }
        next.a += rows * next.lda;
        next.r += rows * next.ldr;
        c += rows * ldc;
        mr -= rows;
    }
}

void UK_SYMBOL(int64_t blocks, int64_t k, const int8_t *a, int64_t lda, int64_t ldg,
               LDH_PARAMETER const float *r, int64_t ldr, WEIGHTS_PARAMETERS, float *c, int64_t ldc,
               int64_t acc, int64_t mr, int64_t nr) {
    const struct call call = CALL;
    const struct strip first = {.blocks = k == 0 ? 0 : blocks, /* infinite scales are not multiplied by 0 */
                                .k = k,
                                .a = a,
                                .lda = lda,
                                .ldg = ldg,
                                .ldh = LDH,
                                .r = r,
                                .ldr = ldr,
                                .has_sums = acc & UK_ROW_SUMS};

    if (nr > LANES)
        multiply_columns(VECTORS, first, call, c, ldc, acc & 1, mr);
    else
        multiply_columns(1, first, call, c, ldc, acc & 1, mr);
}
