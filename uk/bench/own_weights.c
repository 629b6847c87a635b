/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our products with weights of 4 and 8 bits in blocks as contenders of uk bench gemm: programs compiled for
 * the shape, and uk_w4gemm and uk_w8gemm; each with sums in f32, and with rows rounded to bytes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bench.h"
#include "benchmarks.h"

enum { BUFFER = 1 }; /* of bench_call.state: what a program's operands are in */

/* ---- programs ---- */

/* The weights as the program declares them, [k / block, bytes of a block, n], signed, with the second half of
 * a block's terms in the upper halves of its bytes; then the scales, [k / block, n]. */
static void *arrange(const struct bench_product *p) {
    const int bits = bench_weight_bits(p->type);
    const int64_t blocks = p->k / BENCH_BLOCK, bytes = BENCH_BLOCK * bits / 8, half = BENCH_BLOCK / 2;
    const size_t weights = (size_t)(p->n * blocks * bytes), scales = (size_t)(p->n * blocks) * sizeof(float);
    uint8_t *to = malloc(weights + scales);
    float *scale = to ? (float *)(void *)(to + weights) : NULL;
    for (int64_t j = 0; to && j < p->n; j++)
        for (int64_t g = 0; g < blocks; g++) {
            const uint8_t *from = (const uint8_t *)p->b + (j * blocks + g) * bytes;
            for (int64_t t = 0; t < bytes; t++) {
                const int64_t u = t + half;
                to[(g * bytes + t) * p->n + j] =
                    bits == 8
                        ? from[t] ^ 0x80
                        : (uint8_t)((from[t / 2] >> t % 2 * 4 & 15) | (from[u / 2] >> u % 2 * 4 & 15) << 4) ^
                              0x88;
            }
            scale[g * p->n + j] = p->scale[j * blocks + g];
        }
    return to;
}

static bool begin_program(struct bench_call *call) {
    const struct bench_product *p = call->product;
    const int bits = bench_weight_bits(p->type);
    const int64_t blocks = p->k / BENCH_BLOCK, bytes = BENCH_BLOCK * bits / 8;
    char text[2048], terms[512];
    uint8_t *arranged = call->state[BUFFER] = arrange(p);
    if (!arranged || p->beta != 0) {
        free(arranged);
        return false;
    }
    const bool by_bytes = call->library->by_bytes;
    const char *type = by_bytes ? "i32" : "f32", *x = by_bytes ? "Q" : "A";
    if (bits == 4)
        snprintf(terms, sizeof terms,
                 by_bytes ? "%1$s(%2$s[i, %3$d * t + p]) * %1$s((B[t, p, j] << 4) >> 4) + "
                            "%1$s(%2$s[i, %3$d * t + p + %4$d]) * %1$s(B[t, p, j] >> 4)"
                          : "%2$s[i, %3$d * t + p] * (%1$s((B[t, p, j] << 4) >> 4) * S[t, j]) + "
                            "%2$s[i, %3$d * t + p + %4$d] * (%1$s(B[t, p, j] >> 4) * S[t, j])",
                 type, x, BENCH_BLOCK, BENCH_BLOCK / 2);
    else
        snprintf(terms, sizeof terms,
                 by_bytes ? "%1$s(%2$s[i, %3$d * t + p]) * %1$s(B[t, p, j])"
                          : "%2$s[i, %3$d * t + p] * (%1$s(B[t, p, j]) * S[t, j])",
                 type, x, BENCH_BLOCK);
    size_t used = (size_t)snprintf(text, sizeof text,
                                   "tensor A f32 [%" PRId64 ", %" PRId64 "]\n"
                                   "tensor B i8 [%" PRId64 ", %" PRId64 ", %" PRId64 "] constant\n"
                                   "tensor S f32 [%" PRId64 ", %" PRId64 "] constant\n"
                                   "tensor C f32 [%" PRId64 ", %" PRId64 "]\n",
                                   p->m, p->k, blocks, bytes, p->n, blocks, p->n, p->m, p->n);
    if (by_bytes)
        used += (size_t)snprintf(
            text + used, sizeof text - used,
            "temp M f32 [%1$" PRId64 ", %2$" PRId64 "]\ntemp R f32 [%1$" PRId64 ", %2$" PRId64 "]\n"
            "temp Q i8 [%1$" PRId64 ", %3$" PRId64
            "]\nM[i, t] = max(p where p < %4$d) abs(A[i, %4$d * t + p])\n"
            "R[i, t] = M[i, t] / 127\n"
            "Q[i, p] = i8(round(select(M[i, p / %4$d] > 0, A[i, p] * 127 / M[i, p / %4$d], 0)))\n",
            p->m, blocks, p->k, BENCH_BLOCK);
    snprintf(text + used, sizeof text - used,
             by_bytes ? "C[i, j] = sum(t, p) f32(%s) * S[t, j] * R[i, t]\n" : "C[i, j] = sum(t, p) %s\n",
             terms);
    void *const scales = arranged + p->n * blocks * bytes;
    if (uk_bench_begin_program(call, text, (void *const[]){(void *)(uintptr_t)p->a, arranged, scales, p->c}))
        return true;
    free(arranged);
    return false;
}

static void end_program(struct bench_call *call) {
    uk_bench_end_program(call);
    free(call->state[BUFFER]);
}

/* ---- functions of libukernels ---- */

struct called {
    struct uk_weights_plan plan;
    void *packed, *workspace;
};

static void end_called(struct bench_call *call) {
    struct called *c = call->state[0];
    free(c->packed);
    free(c->workspace);
    free(c);
}

static bool begin_called(struct bench_call *call) {
    const struct bench_product *p = call->product;
    const bool is_4 = bench_weight_bits(p->type) == 4;
    const struct uk_weights_options options = {.threads = call->library->threads,
                                               .sums = call->library->by_bytes ? UK_SUMS_I32 : UK_SUMS_F32};
    const struct uk_weights weights = {.weight = p->b, .scale = p->scale};
    struct called *c = call->state[0] = calloc(1, sizeof *c);
    if (!c)
        return false;
    enum uk_status status = (is_4 ? uk_w4gemm_plan : uk_w8gemm_plan)(&c->plan, p->m, p->n, p->k, BENCH_BLOCK,
                                                                     p->lda, p->ldc, &options);
    if (!status) {
        c->packed = aligned_alloc(4096, (uk_weights_packed_size(&c->plan) + 4095) / 4096 * 4096);
        c->workspace = aligned_alloc(4096, (uk_weights_workspace(&c->plan) + 4096) / 4096 * 4096);
        status = c->packed && c->workspace ? UK_OK : UK_OUT_OF_MEMORY;
    }
    if (!status)
        status = (is_4 ? uk_w4gemm_pack : uk_w8gemm_pack)(&c->plan, &weights, c->packed);
    if (status)
        end_called(call);
    return !status;
}

static void repeat_called(struct bench_call *call, long calls) {
    const struct bench_product *p = call->product;
    const struct called *c = call->state[0];
    const bool is_4 = bench_weight_bits(p->type) == 4;
    for (long i = 0; i < calls; i++)
        (is_4 ? uk_w4gemm_run : uk_w8gemm_run)(&c->plan, p->a, c->packed, (float)p->beta, p->c, NULL,
                                               c->workspace);
}

/* ---- the contenders ---- */

void uk_bench_own_weights(struct bench_library *libraries, enum bench_type type, int isa, int threads,
                          void *own) {
    static const char *const names[] = {"ukernels", "by bytes", "called", "called by bytes"};
    for (int i = 0; i < UK_BENCH_OWN_PACKED; i++) {
        struct bench_library *l = &libraries[i];
        const bool is_program = i < 2;
        *l = (struct bench_library){.name = names[i],
                                    .forms = {[BENCH_CALL] = true, [BENCH_RESOLVED] = true},
                                    .begin = is_program ? begin_program : begin_called,
                                    .repeat = is_program ? uk_bench_repeat_program : repeat_called,
                                    .end = is_program ? end_program : end_called,
                                    .handle = {own},
                                    .is_own = true,
                                    .by_bytes = i % 2,
                                    .threads = threads};
        snprintf(l->detail, sizeof l->detail, "%s, %s, %d thread%s, %s",
                 is_program         ? "compiled"
                 : type == BENCH_W4 ? "uk_w4gemm_run"
                                    : "uk_w8gemm_run",
                 bench_isas[isa].name, threads, threads > 1 ? "s" : "",
                 l->by_bytes ? "rows rounded to bytes" : "sums in f32");
    }
}
