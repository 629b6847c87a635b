/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packs m rows of length k into a panel of width UK_MR, transposed in registers: blocks of 16 rows x 4 k of
 * floats (UK_OP_spack_t), of 8 rows x 2 k of doubles (UK_OP_dpack_t). For rows m and up row m - 1 is loaded
 * again, and they are zeroed in the block; the last block of a row ends at k and overlaps the one before it,
 * and a row shorter than a block is loaded under masks. UK_OP_stranspose and UK_OP_dtranspose store rows of
 * the result ldd apart.
 *
 *     blocks of floats     v0: rows 0 4 8 12   v1: rows 1 5 9 13   v2: rows 2 6 10 14   v3: rows 3 7 11 15,
 *                          4 k in each lane; unpack by floats, then by pairs: lane q of the p-th result is
 *                          rows 4q .. 4q + 3 at k = p.
 *     blocks of doubles    v0: rows 0 2 4 6    v1: rows 1 3 5 7,
 *                          2 k in each lane; unpack: lane q of the p-th result is rows 2q, 2q + 1 at k = p.
 *     squares of floats    unpack rows 4r .. 4r + 3: lane q of the p-th result is these rows at k = 4q + p;
 *                          the lanes of the four p-th results change places as a 4 x 4 matrix.
 *
 * A square, 16 x 16, loads each line of the source once: rows that lie a multiple of 4 KB apart share a set
 * of L1, which would lose the line before its next part is loaded.
 *
 * Bound: a block of floats is 16 loads, 12 of them merged under a mask, 8 shuffles and 4 stores: 10 cycles,
 * 6.4 elements per cycle. One of doubles is 8 loads, 6 of them merged, 2 shuffles and 2 stores: 4 cycles, 4
 * elements per cycle. A square is 16 loads, 64 shuffles and 16 stores: 32 cycles with two ports for shuffles,
 * 64 with one. All as long as the source is in L1.
 */
#include <immintrin.h>
#include "registry/kernel_contract.h"

#define INLINE static inline __attribute__((always_inline))

#if defined UK_OP_dpack_t || defined UK_OP_dtranspose
#define UK_FLOATS 0
typedef double element;
typedef __m512d vector;
typedef __mmask8 mask;
enum { V = 8, DEPTH = 2, DEPTH_MASK = (1 << DEPTH) - 1 };

INLINE vector whole(vector v, mask to, const element *s) {
    const __m128d x = _mm_loadu_pd(s);

    return to == DEPTH_MASK ? _mm512_broadcast_f64x2(x) : _mm512_mask_broadcast_f64x2(v, to, x);
}

/* The same for the elements that the mask selects; it reads no others. */
INLINE vector part(vector v, mask to, const element *s) {
    __asm__("vbroadcastf64x2 (%[s]), %[v]%{%[to]%}" : [v] "+v"(v) : [s] "r"(s), [to] "Yk"(to) : "memory");
    return v;
}

INLINE void store(element *d, mask width, mask data, vector v) {
    _mm512_mask_storeu_pd(d, width, data == width ? v : _mm512_maskz_mov_pd(data, v));
}

INLINE void unpack(const vector *row, vector *v) {
    const vector first = _mm512_unpacklo_pd(row[0], row[1]), second = _mm512_unpackhi_pd(row[0], row[1]);

    v[0] = first;
    v[1] = second;
}
#else
#define UK_FLOATS 1
typedef float element;
typedef __m512 vector;
typedef __mmask16 mask;
enum { V = 16, DEPTH = 4, DEPTH_MASK = (1 << DEPTH) - 1 };

INLINE vector whole(vector v, mask to, const element *s) {
    const __m128 x = _mm_loadu_ps(s);

    return to == DEPTH_MASK ? _mm512_broadcast_f32x4(x) : _mm512_mask_broadcast_f32x4(v, to, x);
}

INLINE vector part(vector v, mask to, const element *s) {
    __asm__("vbroadcastf32x4 (%[s]), %[v]%{%[to]%}" : [v] "+v"(v) : [s] "r"(s), [to] "Yk"(to) : "memory");
    return v;
}

INLINE void store(element *d, mask width, mask data, vector v) {
    _mm512_mask_storeu_ps(d, width, data == width ? v : _mm512_maskz_mov_ps(data, v));
}

INLINE void unpack(const vector *row, vector *v) {
    const __m512d even01 = _mm512_castps_pd(_mm512_unpacklo_ps(row[0], row[1]));
    const __m512d even23 = _mm512_castps_pd(_mm512_unpacklo_ps(row[2], row[3]));
    const __m512d odd01 = _mm512_castps_pd(_mm512_unpackhi_ps(row[0], row[1]));
    const __m512d odd23 = _mm512_castps_pd(_mm512_unpackhi_ps(row[2], row[3]));

    v[0] = _mm512_castpd_ps(_mm512_unpacklo_pd(even01, even23));
    v[1] = _mm512_castpd_ps(_mm512_unpackhi_pd(even01, even23));
    v[2] = _mm512_castpd_ps(_mm512_unpacklo_pd(odd01, odd23));
    v[3] = _mm512_castpd_ps(_mm512_unpackhi_pd(odd01, odd23));
}
#endif

enum { BLOCKS = (UK_MR + V - 1) / V, LEFT = UK_MR - V * (BLOCKS - 1), LANES = V / DEPTH };

/* The source's rows: lds apart if all of a panel exist, else each at its own offset from the first. */
struct rows {
    const element *first;
    int64_t lds;
    const int64_t *offset;
    bool all;
};

INLINE const element *row(struct rows s, int r) {
    return s.first + (s.all ? r * s.lds : s.offset[r]);
}

/* The rows from row r and element p on. The struct keeps compilers from holding a pointer to each row. */
INLINE struct rows further(struct rows s, int r, int64_t p) {
    s.first += p + (s.all ? r * s.lds : 0);
    if (!s.all)
        s.offset += r;
    __asm__("" : "+r"(s.first));
    return s;
}

/* The result's rows, ldd apart. */
struct columns {
    element *d;
    int64_t ldd;
};

/* The result from row r of the source and element p on. */
INLINE struct columns from(struct columns d, int r, int64_t p) {
    d.d += r + p * d.ldd;
    return d;
}

/* Packs k elements, at most DEPTH, of `count` rows to d. The rows that `keep` selects exist, the others are
 * 0. */
INLINE void block(struct rows s, int count, uint32_t keep, int k, struct columns d) {
    const mask width = (mask)((1u << count) - 1), data = (mask)(keep & width);
    const unsigned elements = (1u << k) - 1;
    vector v[DEPTH];

    if (!keep) {
        for (int p = 0; p < k; p++)
            store(d.d + p * d.ldd, width, width, (vector){0});
        return;
    }
    for (int r = 0; r < DEPTH; r++)
        v[r] = (vector){0};
    for (int g = 0; g < LANES; g++, s = further(s, DEPTH, 0))
        for (int r = 0; r < DEPTH && DEPTH * g + r < count; r++)
            v[r] = k == DEPTH ? whole(v[r], (mask)(elements << DEPTH * g), row(s, r))
                              : part(v[r], (mask)(elements << DEPTH * g), row(s, r));
    unpack(v, v);
    for (int p = 0; p < k; p++)
        store(d.d + p * d.ldd, width, data, v[p]);
}

/* A block of k elements of all rows of the panel. */
INLINE void blocks(struct rows s, uint32_t keep, int k, struct columns d) {
#pragma GCC unroll 4
    for (int b = 0; b < BLOCKS; b++)
        block(further(s, b * V, 0), b < BLOCKS - 1 ? V : LEFT, keep >> V * b, k, from(d, V * b, 0));
}

#if UK_FLOATS
/* A square of V elements of V rows. */
INLINE void square(struct rows s, int count, uint32_t keep, struct columns d) {
    const mask width = (mask)((1u << count) - 1), data = (mask)(keep & width);
    vector v[V];

    for (int g = 0; g < V; g += DEPTH, s = further(s, DEPTH, 0)) {
        for (int r = 0; r < DEPTH; r++)
            v[g + r] = _mm512_loadu_ps(g + r < count ? row(s, r) : s.first);
        unpack(v + g, v + g);
    }
    for (int p = 0; p < DEPTH; p++) {
        const __m512 *q = v + p;
        const __m512 even01 = _mm512_shuffle_f32x4(q[0], q[DEPTH], 0x88),
                     odd01 = _mm512_shuffle_f32x4(q[0], q[DEPTH], 0xdd);
        const __m512 even23 = _mm512_shuffle_f32x4(q[2 * DEPTH], q[3 * DEPTH], 0x88);
        const __m512 odd23 = _mm512_shuffle_f32x4(q[2 * DEPTH], q[3 * DEPTH], 0xdd);

        store(d.d + p * d.ldd, width, data, _mm512_shuffle_f32x4(even01, even23, 0x88));
        store(d.d + (DEPTH + p) * d.ldd, width, data, _mm512_shuffle_f32x4(odd01, odd23, 0x88));
        store(d.d + (2 * DEPTH + p) * d.ldd, width, data, _mm512_shuffle_f32x4(even01, even23, 0xdd));
        store(d.d + (3 * DEPTH + p) * d.ldd, width, data, _mm512_shuffle_f32x4(odd01, odd23, 0xdd));
    }
}
#endif

INLINE void pack(int64_t k, struct rows s, uint32_t keep, struct columns d) {
    if (k == 1)
        blocks(s, keep, 1, d);
    else if (DEPTH > 2 && k == 2)
        blocks(s, keep, 2, d);
    else if (DEPTH > 3 && k == 3)
        blocks(s, keep, 3, d);
#if UK_FLOATS
    else if (k >= V && s.lds * sizeof(element) % 4096 == 0)
        for (int64_t p = 0; p < k; p += V) {
            const int64_t q = p < k - V ? p : k - V;

            for (int b = 0; b < BLOCKS; b++)
                square(further(s, b * V, q), b < BLOCKS - 1 ? V : LEFT, keep >> V * b, from(d, V * b, q));
        }
#endif
    else
        for (int64_t p = 0; p < k; p += DEPTH) {
            const int64_t q = p < k - DEPTH ? p : k - DEPTH;

            blocks(further(s, 0, q), keep, DEPTH, from(d, 0, q));
        }
}

INLINE void transpose(int64_t k, const element *s, int64_t lds, struct columns d, int64_t m) {
    int64_t offset[UK_MR];

    if (m == UK_MR) {
        pack(k, (struct rows){s, lds, NULL, true}, ~0u, d);
        return;
    }
    for (int i = 0; i < UK_MR; i++)
        offset[i] = (i < m ? i : m - 1) * lds;
    pack(k, (struct rows){s, lds, offset, false}, (1u << m) - 1, d);
}

#if defined UK_OP_stranspose || defined UK_OP_dtranspose
void UK_SYMBOL(int64_t k, const element *s, int64_t lds, element *d, int64_t ldd, int64_t m) {
    transpose(k, s, lds, (struct columns){d, ldd}, m);
}
#else
void UK_SYMBOL(int64_t k, const element *s, int64_t lds, element *d, int64_t m) {
    transpose(k, s, lds, (struct columns){d, UK_MR}, m);
}
#endif
