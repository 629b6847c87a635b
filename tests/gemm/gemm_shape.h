/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes and operands for the tests of matrix products, and smaller sizes under an emulator. Each program
 * includes it once. */
#ifndef GEMM_SHAPE_H
#define GEMM_SHAPE_H

#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "arena.h"
#include "emulated.h"
#include "gemm/gemm.h"
#include "random.h"
#include "seed.h"

/* ---- under an emulator ---- */

/* UK_GEMM_PART=n runs one n-th of the random cases and, for the largest, of the multiply-adds, because an
 * emulator is a hundred times slower. */
static int64_t part(void) {
    return getenv("UK_GEMM_PART") ? atoll(getenv("UK_GEMM_PART")) : 1;
}

/* With UK_GEMM_PART, halves the largest of m, n, k until at most `millions` / UK_GEMM_PART million
 * multiply-adds remain. */
static void shrink(int64_t size[3], int64_t millions) {
    while (part() > 1 && size[0] * size[1] * size[2] > (millions << 20) / part())
        size[size[0] >= size[1] && size[0] >= size[2] ? 0 : size[1] >= size[2] ? 1 : 2] /= 2;
}

/* Makes caches and thus blocks smaller too, so that shrunk shapes still have several: an eighth of the
 * multiply-adds is a quarter of an operand. */
const struct uk_machine *__real_uk_machine(void);
const struct uk_machine *__wrap_uk_machine(void);
static struct uk_machine smaller;

static void make_smaller(void) {
    smaller = *__real_uk_machine();
    for (int64_t p = part(); p > 1; p /= 8) {
        smaller.cache[UK_L2].size /= 4;
        smaller.cache[UK_LLC].size /= 4;
    }
}

const struct uk_machine *__wrap_uk_machine(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, make_smaller);
    return &smaller;
}

/* ---- a case, for either type ---- */

struct shape {
    enum uk_layout layout;
    enum uk_transpose ta, tb;
    int64_t m, n, k, pad; /* excess of leading dimensions over their minimum */
    double alpha, beta;
};

/* A case whose layout and transposes are bits 0, 1 and 2 of `form`. */
static inline struct shape of_form(int64_t form, int64_t m, int64_t n, int64_t k, int64_t pad, double alpha,
                                   double beta) {
    return (struct shape){form & 1 ? UK_COLUMN_MAJOR : UK_ROW_MAJOR,
                          form & 2 ? UK_TRANSPOSE : UK_NO_TRANSPOSE,
                          form & 4 ? UK_TRANSPOSE : UK_NO_TRANSPOSE,
                          m,
                          n,
                          k,
                          pad,
                          alpha,
                          beta};
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

struct operand {
    int64_t lines, length, ld, elements;
    bool by_rows; /* a line is a row, else a column */
};

static struct operand operand(const struct shape *s, bool transposed, int64_t rows, int64_t columns) {
    struct operand o = {.by_rows = (s->layout == UK_ROW_MAJOR) != transposed};

    o.lines = o.by_rows ? rows : columns;
    o.length = o.by_rows ? columns : rows;
    o.ld = larger(o.length, 1) + s->pad;
    o.elements = o.lines && o.length ? (o.lines - 1) * o.ld + o.length : 0;
    return o;
}

static int64_t at(const struct operand *o, int64_t row, int64_t column) {
    return o->by_rows ? row * o->ld + column : column * o->ld + row;
}

static uint64_t seed = 1;

/* UK_GEMM_SEED=n sets another seed, `new` a new one. */
static void begin_seed(void) {
    if (getenv("UK_GEMM_SEED"))
        seed = seed_of(getenv("UK_GEMM_SEED"));
    print_message("UK_GEMM_SEED=%" PRIu64 "\n", seed);
}

/* Returns 24 random bits. */
static uint32_t next(void) {
    return (uint32_t)(random_next(&seed) >> 40);
}

static double small_integer(void) {
    return (double)(next() % 9) - 4;
}

static double fraction(void) {
    return (double)next() / (1 << 23) - 1;
}

#endif
