/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our products of bytes, bf16 and f16 as contenders of uk bench gemm: programs compiled for the shape, and
 * functions of libukernels where they exist, each with B packed beforehand and without.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bench.h"
#include "benchmarks.h"

/* ---- programs ---- */

static bool begin_program(struct bench_call *call) {
    static const char *const types[BENCH_TYPES][3] = {[BENCH_U8I8] = {"u8", "i8", "i32"},
                                                      [BENCH_I8I8] = {"i8", "i8", "i32"},
                                                      [BENCH_BF16] = {"bf16", "bf16", "f32"},
                                                      [BENCH_F16] = {"f16", "f16", "f32"}};
    const struct bench_product *p = call->product;
    const char *const *type = types[p->type];
    const bool ta = p->a_transposed, tb = p->b_transposed;
    char text[1024];
    snprintf(text, sizeof text,
             "tensor A %s [%" PRId64 ", %" PRId64 "]\n"
             "tensor B %s [%" PRId64 ", %" PRId64 "]%s\n"
             "tensor C %s [%" PRId64 ", %" PRId64 "]\n"
             "C[i, j] %s sum(p) %s(A[%s]) * %s(B[%s])\n",
             type[0], ta ? p->k : p->m, ta ? p->m : p->k, type[1], tb ? p->n : p->k, tb ? p->k : p->n,
             call->library->weights_are_arguments ? "" : " constant", type[2], p->m, p->n,
             p->beta != 0 ? "+=" : "=", type[2], ta ? "p, i" : "i, p", type[2], tb ? "j, p" : "p, j");
    return uk_bench_begin_program(
        call, text, (void *const[]){(void *)(uintptr_t)p->a, (void *)(uintptr_t)p->b, p->c, NULL});
}

/* ---- functions of libukernels ---- */

typedef enum uk_status plan_function(struct uk_gemm_plan *plan, enum uk_layout layout, enum uk_transpose ta,
                                     enum uk_transpose tb, int64_t m, int64_t n, int64_t k, int64_t lda,
                                     int64_t ldb, int64_t ldc, const struct uk_gemm_options *options);

#define BYTES(op)                                                                                   \
    static enum uk_status pack_##op(const struct uk_gemm_plan *plan, const void *b, void *packed) { \
        return uk_##op##_pack_b(plan, b, packed);                                                   \
    }                                                                                               \
    static enum uk_status run_##op(const struct uk_gemm_plan *plan, const struct bench_product *p,  \
                                   const void *b, void *workspace) {                                \
        return uk_##op##_run(plan, p->a, b, (int32_t)p->beta, p->c, NULL, workspace);               \
    }
#define HALVES(op)                                                                                  \
    static enum uk_status pack_##op(const struct uk_gemm_plan *plan, const void *b, void *packed) { \
        return uk_##op##_pack_b(plan, b, packed);                                                   \
    }                                                                                               \
    static enum uk_status run_##op(const struct uk_gemm_plan *plan, const struct bench_product *p,  \
                                   const void *b, void *workspace) {                                \
        return uk_##op##_run(plan, 1, p->a, b, (float)p->beta, p->c, NULL, workspace);              \
    }
BYTES(igemm)
BYTES(i8gemm)
HALVES(bgemm)
HALVES(hgemm)

/* A product that programs can call. */
static const struct called_product {
    enum bench_type type;
    const char *name;
    plan_function *plan;
    enum uk_status (*pack)(const struct uk_gemm_plan *plan, const void *b, void *packed);
    enum uk_status (*run)(const struct uk_gemm_plan *plan, const struct bench_product *p, const void *b,
                          void *workspace);
} called_products[] = {
    {BENCH_U8I8, "uk_igemm", uk_igemm_plan, pack_igemm, run_igemm},
    {BENCH_I8I8, "uk_i8gemm", uk_i8gemm_plan, pack_i8gemm, run_i8gemm},
    {BENCH_BF16, "uk_bgemm", uk_bgemm_plan, pack_bgemm, run_bgemm},
    {BENCH_F16, "uk_hgemm", uk_hgemm_plan, pack_hgemm, run_hgemm},
};

static const struct called_product *called_product_of(enum bench_type type) {
    for (size_t i = 0; i < sizeof called_products / sizeof *called_products; i++)
        if (called_products[i].type == type)
            return &called_products[i];
    return NULL;
}

struct called {
    struct uk_gemm_plan plan;
    void *packed, *workspace; /* NULL: not needed */
};

static void end_called(struct bench_call *call) {
    struct called *c = call->state[0];
    free(c->packed);
    free(c->workspace);
    free(c);
}

/* NULL also for no bytes. */
static void *allocate(size_t bytes) {
    return bytes ? aligned_alloc(4096, (bytes + 4095) / 4096 * 4096) : NULL;
}

static bool begin_called(struct bench_call *call) {
    const struct bench_product *p = call->product;
    const struct called_product *product = called_product_of(p->type);
    const bool is_packed = !call->library->weights_are_arguments;
    const struct uk_gemm_options options = {.threads = call->library->threads,
                                            .b_packed = is_packed,
                                            .c_element = p->type == BENCH_F16 ? UK_C_F32 : UK_C_DEFAULT};
    struct called *c = call->state[0] = calloc(1, sizeof *c);
    if (!c)
        return false;
    enum uk_status status = product->plan(
        &c->plan, UK_ROW_MAJOR, p->a_transposed ? UK_TRANSPOSE : UK_NO_TRANSPOSE,
        p->b_transposed ? UK_TRANSPOSE : UK_NO_TRANSPOSE, p->m, p->n, p->k, p->lda, p->ldb, p->ldc, &options);
    const size_t bytes = status || !is_packed ? 0 : uk_gemm_packed_b_size(&c->plan),
                 work = status ? 0 : uk_gemm_workspace(&c->plan);
    c->packed = allocate(bytes);
    c->workspace = allocate(work);
    if (!status && ((bytes && !c->packed) || (work && !c->workspace)))
        status = UK_OUT_OF_MEMORY;
    if (!status && bytes)
        status = product->pack(&c->plan, p->b, c->packed);
    if (status)
        end_called(call);
    return !status;
}

static void repeat_called(struct bench_call *call, long calls) {
    const struct bench_product *p = call->product;
    const struct called_product *product = called_product_of(p->type);
    const struct called *c = call->state[0];
    for (long i = 0; i < calls; i++)
        product->run(&c->plan, p, c->packed ? c->packed : p->b, c->workspace);
}

/* ---- the libraries ---- */

static void describe(struct bench_library *l, const char *what, int isa, int threads) {
    snprintf(l->detail, sizeof l->detail, "%s, %s, %d thread%s, B %s", what, bench_isas[isa].name, threads,
             threads > 1 ? "s" : "",
             l->weights_are_arguments ? "packed in each call if at all" : "packed beforehand");
}

void uk_bench_own_packed(struct bench_library *libraries, const struct uk_arguments *a, enum bench_type type,
                         int isa, int threads) {
    static struct uk_bench_own_options own;
    static const char *const names[] = {"ukernels", "B unpacked", "called", "called, B unpacked"};
    const struct called_product *product = called_product_of(type);
    char program[64];
    own = (struct uk_bench_own_options){.target = a->target};
    if (bench_weight_bits(type)) {
        uk_bench_own_weights(libraries, type, isa, threads, &own);
        return;
    }
    snprintf(program, sizeof program, "ukernels %s, compiled", uk_version());
    for (int i = 0; i < UK_BENCH_OWN_PACKED; i++) {
        struct bench_library *l = &libraries[i];
        const bool is_program = i < 2;
        *l = (struct bench_library){.name = names[i],
                                    .forms = {[BENCH_CALL] = true, [BENCH_RESOLVED] = true},
                                    .missing = !is_program && !product,
                                    .begin = is_program ? begin_program : begin_called,
                                    .repeat = is_program ? uk_bench_repeat_program : repeat_called,
                                    .end = is_program ? uk_bench_end_program : end_called,
                                    .handle = {&own},
                                    .is_own = true,
                                    .threads = threads,
                                    .weights_are_arguments = i % 2};
        if (l->missing)
            snprintf(l->detail, sizeof l->detail, "libukernels has no function for %s",
                     bench_elements[type].name);
        else
            describe(l, is_program ? program : product->name, isa, threads);
    }
}
