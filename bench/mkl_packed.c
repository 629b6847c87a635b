/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MKL's products of bytes, cblas_gemm_s8u8s32, and of bf16 and f16, with B packed beforehand.
 *
 * A row-major product is the column-major product of the swapped operands: our B of i8 is MKL's A of s8, and
 * our A of u8 its B of u8. MKL has no product of two i8.
 */
#define _GNU_SOURCE
#include "bench.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of mkl_cblas.h. */
enum { COLUMN_MAJOR = 102, NO_TRANSPOSE = 111, TRANSPOSE = 112, PACKED = 151, A_MATRIX = 161, FIXED = 173 };
enum { SIZE, PACK, COMPUTE, KINDS };

typedef size_t pack_size(int which, int m, int n, int k);
typedef void pack_bytes(int layout, int which, int transposed, int m, int n, int k, const void *from, int ld,
                        void *to);
typedef void compute_bytes(int layout, int ta, int tb, int offset, int m, int n, int k, float alpha,
                           const void *a, int lda, int8_t zero_a, const void *b, int ldb, int8_t zero_b,
                           float beta, int32_t *c, int ldc, const int32_t *zero_c);
typedef void pack_half(int layout, int which, int transposed, int m, int n, int k, const uint16_t *from,
                       int ld, uint16_t *to);
typedef void compute_half(int layout, int ta, int tb, int m, int n, int k, float alpha, const uint16_t *a,
                          int lda, const uint16_t *b, int ldb, float beta, float *c, int ldc);

/* The functions of a type are at KINDS times its place here. */
static const struct {
    enum bench_type type;
    const char *name;
} products[] = {{BENCH_U8I8, "s8u8s32"}, {BENCH_BF16, "bf16bf16f32"}, {BENCH_F16, "f16f16f32"}};
enum { PRODUCTS = sizeof products / sizeof *products };

static bench_function *const *functions_of(const struct bench_call *call) {
    for (int i = 0; i < PRODUCTS; i++)
        if (products[i].type == call->product->type)
            return &call->library->function[KINDS * i];
    return NULL;
}

static void end_packed(struct bench_call *call) {
    free(call->state[0]);
}

static bool begin_packed(struct bench_call *call) {
    const struct bench_product *p = call->product;
    bench_function *const *f = functions_of(call);
    const int m = (int)p->n, n = (int)p->m, k = (int)p->k, ld = (int)p->ldb,
              transposed = p->b_transposed ? TRANSPOSE : NO_TRANSPOSE;
    if (!f || !f[SIZE] || !f[PACK] || !f[COMPUTE])
        return false;
    const size_t bytes = ((pack_size *)f[SIZE])(A_MATRIX, m, n, k);
    void *packed = call->state[0] = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096 + 4096);
    if (!packed)
        return false;
    if (p->type == BENCH_U8I8)
        ((pack_bytes *)f[PACK])(COLUMN_MAJOR, A_MATRIX, transposed, m, n, k, p->b, ld, packed);
    else
        ((pack_half *)f[PACK])(COLUMN_MAJOR, A_MATRIX, transposed, m, n, k, p->b, ld, packed);
    return true;
}

static void repeat_packed(struct bench_call *call, long calls) {
    const struct bench_product *p = call->product;
    bench_function *const *f = functions_of(call);
    const int m = (int)p->n, n = (int)p->m, k = (int)p->k, lda = (int)p->ldb, ldb = (int)p->lda,
              ldc = (int)p->ldc, tb = p->a_transposed ? TRANSPOSE : NO_TRANSPOSE;
    const float beta = (float)p->beta;
    const int32_t zero = 0;
    if (p->type == BENCH_U8I8)
        for (long i = 0; i < calls; i++)
            ((compute_bytes *)f[COMPUTE])(COLUMN_MAJOR, PACKED, tb, FIXED, m, n, k, 1, call->state[0], lda, 0,
                                          p->a, ldb, 0, beta, p->c, ldc, &zero);
    else
        for (long i = 0; i < calls; i++)
            ((compute_half *)f[COMPUTE])(COLUMN_MAJOR, PACKED, tb, m, n, k, 1, call->state[0], lda, p->a, ldb,
                                         beta, p->c, ldc);
}

void bench_mkl_packed_open(struct bench_library *l, const struct bench_peer *mkl) {
    static const char *const kinds[] = {"_pack_get_size", "_pack", "_compute"};
    *l = (struct bench_library){.name = "MKL",
                                .missing = !mkl->library,
                                .forms = {[BENCH_CALL] = true, [BENCH_RESOLVED] = true},
                                .begin = begin_packed,
                                .repeat = repeat_packed,
                                .end = end_packed};
    memcpy(l->detail, mkl->detail, sizeof l->detail);
    for (int i = 0; i < KINDS * PRODUCTS && mkl->library; i++) {
        char name[64];
        snprintf(name, sizeof name, "cblas_gemm_%s%s", products[i / KINDS].name, kinds[i % KINDS]);
        BENCH_FUNCTION(mkl->library, name, l->function[i]);
    }
}
