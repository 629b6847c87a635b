/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels of products with weights of 4 and 8 bits share: the weights of a tile, two vectors of LANES
 * columns wide, in blocks of terms that share a scale and, if they are unsigned, an offset. */
#ifndef WEIGHTS_H
#define WEIGHTS_H

/* All functions are inlined, so that the ABI of vectors that the target lacks does not matter. */
#pragma GCC diagnostic ignored "-Wpsabi"
#ifdef __clang__
/* Without vectors, LLVM does not unroll all loops over lanes. */
#pragma GCC diagnostic ignored "-Wpass-failed"
#endif
#include "registry/kernel_contract.h"

#if defined __AVX2__
#include <immintrin.h>
#endif

#if defined UK_OP_sgemm_i4 || defined UK_OP_sgemm_u4 || defined UK_OP_i8gemm_i4 || defined UK_OP_i8gemm_u4
#define HAS_HALVES 1
enum { BITS = 4 };
#else
#define HAS_HALVES 0
enum { BITS = 8 };
#endif
#if defined UK_OP_sgemm_u4 || defined UK_OP_sgemm_u8 || defined UK_OP_i8gemm_u4 || defined UK_OP_i8gemm_u8
#define HAS_OFFSETS 1
typedef uint8_t weight;
#else
#define HAS_OFFSETS 0
typedef int8_t weight;
#endif
/* HALVES: a byte has one term of each half of its block. */
enum { NR = UK_NR, KR = 4, VECTORS = 2, LANES = NR / VECTORS, HALVES = 8 / BITS };
/* Prefetch distance, bytes: weights come from beyond L2, and pages end streams of the hardware's prefetchers.
 */
enum { PREFETCHED = 2560 };
#define INLINE static inline __attribute__((always_inline))

typedef float reals __attribute__((vector_size(LANES * 4)));
typedef uint32_t words __attribute__((vector_size(LANES * 4)));
typedef int32_t integers __attribute__((vector_size(LANES * 4)));
typedef uint16_t halves __attribute__((vector_size(LANES * 2)));

/* The weights of a block: its bytes, scales and offsets. */
struct block {
    const weight *w;
    reals scale[VECTORS], offset[VECTORS];
};

/* The weights of a call, at the current block. */
struct call {
    const weight *w;
    const char *s; /* scales of f32, f16 or bf16, as `type` says */
    const float *o;
    int64_t ldw, lds, ldo, type, nr;
};

/* Parameters that depend on the operation: the distance of a byte's second term of A, weights with their
 * scales and offsets. CALL: the struct call of a kernel's parameters. */
#if HAS_HALVES
#define LDH_PARAMETER int64_t ldh,
#define LDH ldh
#else
#define LDH_PARAMETER
#define LDH 0
#endif
#if HAS_OFFSETS
#define WEIGHTS_PARAMETERS \
    const weight *w, int64_t ldw, const float *s, int64_t lds, const float *o, int64_t ldo
#define OFFSETS .o = o, .ldo = ldo
#else
#define WEIGHTS_PARAMETERS const weight *w, int64_t ldw, const float *s, int64_t lds
#define OFFSETS .o = NULL
#endif
#define CALL                                                                                             \
    (struct call) {                                                                                      \
        .w = w, .s = (const char *)s, .ldw = ldw, .lds = lds, .type = acc & UK_SCALES, .nr = nr, OFFSETS \
    }

INLINE reals load(const void *x) {
    reals v;

    __builtin_memcpy(&v, x, sizeof v);
    return v;
}

INLINE void store(float *x, reals v) {
    __builtin_memcpy(x, &v, sizeof v);
}

/* Loads and stores of the first n lanes; all if n is larger, none if it is negative. Others are 0, and not
 * touched in memory. */
#if defined __AVX512F__
INLINE __mmask16 first_lanes(int64_t n) {
    return (__mmask16)(n >= LANES ? -1 : n <= 0 ? 0 : (1 << n) - 1);
}

INLINE reals load_first(const char *x, int64_t n) {
    return (reals)_mm512_maskz_loadu_ps(first_lanes(n), x);
}

INLINE halves load_first_halves(const char *x, int64_t n) {
    return (halves)_mm256_maskz_loadu_epi16(first_lanes(n), x);
}

INLINE void store_first(float *x, reals v, int64_t n) {
    _mm512_mask_storeu_ps(x, first_lanes(n), (__m512)v);
}
#else
INLINE void copy_bytes(char *to, const char *from, int64_t n) {
#pragma GCC unroll 1
    for (int64_t i = 0; i < n; i++)
        to[i] = from[i];
}

INLINE reals load_first(const char *x, int64_t n) {
    reals v = {0};

    if (n >= LANES)
        return load(x);
    copy_bytes((char *)&v, x, n * 4);
    return v;
}

INLINE halves load_first_halves(const char *x, int64_t n) {
    halves v = {0};

    if (n >= LANES)
        __builtin_memcpy(&v, x, sizeof v);
    else
        copy_bytes((char *)&v, x, n * 2);
    return v;
}

INLINE void store_first(float *x, reals v, int64_t n) {
    if (n >= LANES)
        store(x, v);
    else
#pragma GCC unroll 1
        for (int64_t j = 0; j < n; j++)
            x[j] = v[j];
}
#endif

/* The first n scales. Those of f16 are finite: their exponent is adjusted by a multiplication, which is right
 * for subnormals too. */
INLINE reals load_scales(const char *s, int64_t type, int64_t n) {
    if (type == UK_SCALES_F32)
        return load_first(s, n);
    const words x = __builtin_convertvector(load_first_halves(s, n), words);
    if (type == UK_SCALES_BF16)
        return (reals)(x << 16);
    return (reals)((words)((reals)((x & 0x7fff) << 13) * 0x1p112f) | (x & 0x8000) << 16);
}

/* What follows the last column's scales and offsets may not exist. */
INLINE void load_block(const struct call *call, struct block *b) {
    const int size = call->type == UK_SCALES_F32 ? 4 : 2;

    b->w = call->w;
#pragma GCC unroll 2
    for (int v = 0; v < VECTORS; v++) {
        const int64_t n = call->nr - v * LANES;

        b->scale[v] = load_scales(call->s + v * LANES * size, call->type, n);
        if (HAS_OFFSETS)
            b->offset[v] = load_first((const char *)(call->o + v * LANES), n);
    }
}

/* Goes `blocks` blocks on. */
INLINE void skip_blocks(struct call *call, int64_t blocks) {
    call->w += blocks * call->ldw;
    call->s += blocks * call->lds * (call->type == UK_SCALES_F32 ? 4 : 2);
    if (HAS_OFFSETS)
        call->o += blocks * call->ldo;
}

/* Scales and offsets of blocks, of f32. */
struct scales {
    const float *s, *o;
    int64_t lds, ldo; /* from block to block */
};

/* Those of the next `blocks` blocks; converted to the buffers if they cannot be read in place. */
INLINE struct scales scales_of(const struct call *call, int64_t blocks, float *scales, float *offsets) {
    struct call at = *call;

    if (call->nr >= NR && call->type == UK_SCALES_F32)
        return (struct scales){(const float *)(const void *)call->s, call->o, call->lds, call->ldo};
#pragma GCC unroll 1
    for (int64_t g = 0; g < blocks; g++) {
        struct block b;

        load_block(&at, &b);
#pragma GCC unroll 2
        for (int v = 0; v < VECTORS; v++) {
            store(scales + g * NR + v * LANES, b.scale[v]);
            if (HAS_OFFSETS)
                store(offsets + g * NR + v * LANES, b.offset[v]);
        }
        skip_blocks(&at, 1);
    }
    return (struct scales){scales, offsets, NR, NR};
}

INLINE void prefetch(const bool into_l1, const void *x) {
    const char *later = (const char *)x + PREFETCHED;

    if (into_l1)
        __builtin_prefetch(later);
    else
        __builtin_prefetch(later, 0, 2);
}

/* Reads the lines of a later block, of k bytes of each column, into L1 or L2. */
INLINE void prefetch_block(const bool into_l1, const weight *w, int64_t k, const void *scale) {
#pragma GCC unroll 1
    for (int64_t i = 0; i < NR * k; i += 64)
        prefetch(into_l1, w + i);
#pragma GCC unroll 2
    for (int i = 0; i < NR * 4; i += 64)
        prefetch(into_l1, (const char *)scale + i);
}

/* Stores the first nr lanes, or adds them to C. */
INLINE void put(float *c, reals x, int64_t acc, int64_t nr) {
    store_first(c, acc ? load_first((const char *)c, nr) + x : x, nr);
}

#endif
