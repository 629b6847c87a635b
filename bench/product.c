/* SPDX-License-Identifier: Apache-2.0 */
/* The operands of a product, and the check of a library's result. */
#define _POSIX_C_SOURCE 200809L
#include "bench.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Padding before and after an operand, in elements: BLIS 0.9 accesses memory next to small operands. */
enum { ROOM = 4096 };

static size_t size_of(const struct bench_product *p) {
    return p->type == BENCH_F64 ? sizeof(double) : sizeof(float);
}

/* Random values in [-1, 1). */
static void *operand(const struct bench_product *p, int64_t rows, int64_t columns, uint32_t seed) {
    size_t count = (size_t)rows * (size_t)columns, all = count + 2 * ROOM;
    char *memory = aligned_alloc(4096, (all * size_of(p) + 4095) / 4096 * 4096);
    if (!memory)
        return NULL;
    memset(memory, 0, all * size_of(p));
    uint32_t state = seed;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        double value = (double)(int32_t)state * 0x1p-31;
        if (p->type == BENCH_F64)
            ((double *)memory)[ROOM + i] = value;
        else
            ((float *)memory)[ROOM + i] = (float)value;
    }
    return memory + ROOM * size_of(p);
}

enum uk_status bench_product_create(struct bench_product *p, const struct bench_shape *s,
                                    enum bench_type type) {
    *p = (struct bench_product){.type = type,
                                .a_transposed = s->a_transposed,
                                .b_transposed = s->b_transposed,
                                .m = s->m,
                                .n = s->n,
                                .k = s->k,
                                .lda = s->a_transposed ? s->m : s->k,
                                .ldb = s->b_transposed ? s->k : s->n,
                                .ldc = s->n,
                                .beta = s->beta};
    p->a = operand(p, s->m, s->k, 1);
    p->b = operand(p, s->k, s->n, 2);
    p->c = operand(p, s->m, s->n, 3);
    return p->a && p->b && p->c ? UK_OK : UK_OUT_OF_MEMORY;
}

static void free_operand(const struct bench_product *p, const void *operand) {
    if (operand)
        free((char *)(uintptr_t)operand - ROOM * size_of(p));
}

void bench_product_free(struct bench_product *p) {
    free_operand(p, p->a);
    free_operand(p, p->b);
    free_operand(p, p->c);
    *p = (struct bench_product){0};
}

double bench_product_flops(const struct bench_product *p) {
    return 2.0 * (double)p->m * (double)p->n * (double)p->k;
}

double bench_product_bytes(const struct bench_product *p) {
    double m = (double)p->m, n = (double)p->n, k = (double)p->k;
    return (double)size_of(p) * (m * k + k * n + (p->beta != 0 ? 2 : 1) * m * n);
}

static double element(const struct bench_product *p, const void *from, int64_t i) {
    return p->type == BENCH_F64 ? ((const double *)from)[i] : (double)((const float *)from)[i];
}

/* True if C[i, j] is right. Tolerance for a sum of k products in any order: (k + 2) u sum |a b|, u = unit
 * roundoff. */
static bool right_element(const struct bench_product *p, int64_t i, int64_t j, double before) {
    double sum = p->beta != 0 ? p->beta * before : 0, largest = fabs(sum);
    for (int64_t l = 0; l < p->k; l++) {
        double a = element(p, p->a, p->a_transposed ? l * p->lda + i : i * p->lda + l);
        double b = element(p, p->b, p->b_transposed ? j * p->ldb + l : l * p->ldb + j);
        sum += a * b;
        largest += fabs(a * b);
    }
    double rounding = p->type == BENCH_F64 ? 0x1p-53 : 0x1p-24;
    /* Written so that a NaN fails. */
    return fabs(element(p, p->c, i * p->ldc + j) - sum) <= rounding * (double)(p->k + 2) * largest;
}

/* Fills C before the call: with numbers that depend on the index, or with NaN if C must not be read. */
static double before_call(const struct bench_product *p, int64_t i) {
    return p->beta != 0 ? 0.25 * (double)(i % 9 - 4) : (double)NAN;
}

static void fill_c(const struct bench_product *p) {
    for (int64_t i = 0; i < p->m * p->ldc; i++)
        if (p->type == BENCH_F64)
            ((double *)p->c)[i] = before_call(p, i);
        else
            ((float *)p->c)[i] = (float)before_call(p, i);
}

/* The distance of compared elements: 1, or more if checking all would take longer than a few milliseconds.
 * Odd and no multiple of a row's length, so that samples cover rows and columns. */
static int64_t sample_step(const struct bench_product *p) {
    const int64_t multiply_adds = 4000000, all = p->m * p->n;
    int64_t samples = multiply_adds / (p->k + 1) + 256;
    if (samples >= all)
        return 1;
    int64_t step = all / samples | 1;
    return p->n > 1 && step % p->n == 0 ? step + 2 : step;
}

static bool right_at(const struct bench_product *p, int64_t at) {
    return right_element(p, at / p->n, at % p->n, before_call(p, at));
}

bool bench_product_check(const struct bench_product *p, struct bench_call *call) {
    int64_t all = p->m * p->n, step = sample_step(p);
    fill_c(p);
    call->library->repeat(call, 1);
    for (int64_t at = 0; at < all; at += step)
        if (!right_at(p, at))
            return false;
    return right_at(p, p->n - 1) && right_at(p, all - p->n) && right_at(p, all - 1);
}
