/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small products of few columns, up to UK_NR, with any number of rows in one call; A and B are read in place.
 * Lanes of a vector are rows of C, and there is a vector of sums for each column: V = 16 rows of A, or 8 of
 * doubles, are transposed in registers (UK_OP_sgemm_small, UK_OP_dgemm_small), or, if A is column-major,
 * loaded directly (UK_OP_sgemm_small_ta, UK_OP_dgemm_small_ta); b is broadcast.
 *
 *     sum[j]         column j of V rows, 4 lanes of L = 4 rows (doubles: 2)
 *     v[i], w[i]     A's rows in halves of a vector, UNROLL = 2 L elements of each: v[i] has rows i and
 *                    L + i, w[i] rows 2 L + i and 3 L + i. unpack combines them to lanes of L rows, of
 *                    k iterations i and L + i, first for one half's rows, then for the other's. Then one
 *                    shuffle of v[i] and w[i] gives all rows of k iteration i, another one those of L + i.
 *
 * An unrolled iteration multiplies UNROLL k iterations. Meanwhile it loads and unpacks the rows for the next
 * UNROLL, with a few shuffles in each k iteration: all 512-bit shuffles use one port on Intel's cores, and in
 * one block they would take cycles of their own. The last unrolled iteration loads the last UNROLL elements
 * of k and skips those that have been multiplied, so that no k iteration needs a mask.
 *
 * The m rows are divided evenly into as few groups as possible; in a group of fewer than V rows the last lane
 * overlaps the one before it. Both compute the same, and a C that is added to is loaded for a whole group
 * before it is stored. If whole groups leave up to L rows, of up to L columns, these are interleaved with the
 * last group, with the columns of a row in half a vector and b loaded under a mask: after the group, each of
 * their k iterations would wait for the one before. Products with fewer rows than a group, or fewer k
 * iterations than UNROLL, are computed only in that way.
 *
 * With a column-major A there are sums for several vectors of rows, as a single chain of sums would wait for
 * the latency of an FMA; the last vector overlaps the one before it, and C is added to it before that one is
 * stored. For this the sums are kept in memory, so that the code that adds them to C exists once: one copy
 * for each number of vectors would be three quarters of the kernel.
 *
 * Bound: for V rows and a k iteration n multiply-adds, 3 shuffles and a load into half a register, (n + 4) /
 * 2 cycles if all of these share two ports, and 3 at least; doubles take a shuffle less. C takes 20 shuffles
 * for L columns; doubles 8. A vector of columns takes V / 2 cycles, 4 columns with four rows in a vector 11 /
 * 2 (gemm_merged_avx512.c). With a column-major A it is n / 2 cycles, and at least 4 for all vectors of rows
 * together.
 */
#include "gemm_small_lanes_avx512.h"
#include "registry/small_call.h"

#if defined UK_OP_sgemm_small_ta || defined UK_OP_dgemm_small_ta
#define A_COLUMNS 1
#else
#define A_COLUMNS 0
#endif
/* A kernel has to be one function, so its parts are inlined; prepared calls (UK_RESOLVED, small_call.h) may
 * call functions. */
#ifdef UK_RESOLVED
#define PART static
#else
#define PART INLINE
#endif

#if A_COLUMNS
/* The sums of G vectors of rows and n columns; the last vector overlaps the one before it if there are fewer
 * rows. */
INLINE void group(const struct uk_small_call *s, int64_t rows, const element *a, const element *b,
                  vector sums[8][UNROLL], int n, int G) {
    const int64_t size = sizeof(element), last = rows - V;
    vector sum[8][UNROLL], x[8];

#pragma GCC unroll 8
    for (int g = 0; g < G; g++)
#pragma GCC unroll 8
        for (int j = 0; j < n; j++)
            sum[g][j] = WHOLE(setzero)();
#pragma GCC unroll 1
    for (int64_t p = s->iterations; p > 0; p--) {
#pragma GCC unroll 8
        for (int g = 0; g < G; g++)
            x[g] = WHOLE(loadu)(g < G - 1 ? a + g * V : at(a, last * size));
#pragma GCC unroll 8
        for (int j = 0; j < n; j++)
#pragma GCC unroll 8
            for (int g = 0; g < G; g++)
                sum[g][j] = WHOLE(fmadd)(x[g], WHOLE(set1)(b[j]), sum[g][j]);
        a = at(a, s->lda);
        b = at(b, s->ldb);
    }
#pragma GCC unroll 8
    for (int g = 0; g < G; g++)
#pragma GCC unroll 8
        for (int j = 0; j < n; j++)
            sums[g][j] = sum[g][j];
}

/* Pointers to C's rows from `row` on, one for each lane. */
INLINE void lanes_of(element *const to, int64_t row, int64_t ldc, element *c[LANES]) {
#pragma GCC unroll 4
    for (int q = 0; q < LANES; q++) {
        c[q] = at(to, (row + q * L) * ldc);
        ALONE(c[q]);
    }
}

INLINE void take_sums(const vector sums[UNROLL], int n, int j, vector v[L]) {
#pragma GCC unroll 4
    for (int i = 0; i < L; i++)
        v[i] = j + i < n ? sums[j + i] : WHOLE(setzero)();
}

/* Adds C to the sums of G vectors, if acc, and stores them. C is added to the last vector before the one that
 * it overlaps is stored. */
INLINE void finish(const struct uk_small_call *s, int64_t rows, vector sums[8][UNROLL], element *to, int acc,
                   int n, int64_t G) {
    element *c[LANES];
    vector v[L], last[L];

#pragma GCC unroll 2
    for (int j = 0; j < n; j += L, to += L) {
        take_sums(sums[G - 1], n, j, last);
        lanes_of(to, rows - V, s->ldc, c);
        complete(last, c, s->ldc, some_columns(n, j), acc);
#pragma GCC unroll 1
        for (int64_t g = 0; g < G - 1; g++) {
            take_sums(sums[g], n, j, v);
            lanes_of(to, g * V, s->ldc, c);
            complete(v, c, s->ldc, some_columns(n, j), acc);
            store(v, c, s->ldc, some_columns(n, j));
        }
        lanes_of(to, rows - V, s->ldc, c);
        store(last, c, s->ldc, some_columns(n, j));
    }
}

#else
/* Part u of UNROLL of transposing the lanes of v's and w's vectors. A vector of the unrolled iteration before
 * is replaced only after its last k iteration has been multiplied. */
INLINE void unpack_part(int u, vector v[L], vector w[L]) {
#ifdef UK_DOUBLE
    if (u < UNROLL - 1)
        return;
    shuffle_two(&v[0], &v[1], v[0], v[1], false);
    shuffle_two(&w[0], &w[1], w[0], w[1], false);
#else
    vector *x = u % 2 ? v : w, even = x[1];

    if (u > 0 && u <= L) { /* v[0] and v[1], or v[2] and v[3], by pairs of rows */
        const int i = u > 2 ? 2 : 0;

        shuffle_two(&x[i], &x[i + 1], x[i], x[i + 1], false);
    } else if (u == L + 1 || u == L + 2) { /* k iterations 0 and 1; vectors 1 and 3 hold the others */
        shuffle_two(&x[0], &even, x[0], x[2], true);
        x[2] = x[1];
        x[1] = even;
    } else if (u == UNROLL - 1) {
        shuffle_two(&v[2], &v[3], v[2], v[3], true);
        shuffle_two(&w[2], &w[3], w[2], w[3], true);
    }
#endif
}

INLINE void unpack(vector v[L], vector w[L]) {
#pragma GCC unroll 8
    for (int u = 0; u < UNROLL; u++)
        unpack_part(u, v, w);
}

INLINE void load(const element *const a[LANES], int64_t lda, vector v[L], vector w[L]) {
#pragma GCC unroll 4
    for (int i = 0; i < L; i++) {
        v[i] = TWO_HALVES(HALF(loadu)(at(a[0], i * lda)), HALF(loadu)(at(a[1], i * lda)));
        w[i] = TWO_HALVES(HALF(loadu)(at(a[2], i * lda)), HALF(loadu)(at(a[3], i * lda)));
    }
}

/* All rows of k iteration u of an unrolled one. */
INLINE vector at_iteration(int u, const vector v[L], const vector w[L]) {
    vector x = u < L ? SHUFFLE_LANES(v[u % L], w[u % L], 0x88) : SHUFFLE_LANES(v[u % L], w[u % L], 0xdd);

    PIN(x);
    return x;
}

/* A k iteration of n columns. */
INLINE void k_iteration(vector x, const element *b, int n, vector *sum) {
#pragma GCC unroll 8
    for (int j = 0; j < n; j++)
        sum[j] = WHOLE(fmadd)(x, WHOLE(set1)(b[j]), sum[j]);
}

/* A group of `rows` rows, L to V, and n columns, interleaved with the next R rows, each with its columns in
 * half a vector. */
INLINE void group(const struct uk_small_call *s, int64_t rows, const element *from, const element *b,
                  element *to, int acc, int n, int R) {
    const int64_t lda = s->lda, ldb = s->ldb, last = rows - L;
    const int64_t row[LANES] = {0, L < last ? L : last, 2 * L < last ? 2 * L : last, last};
    const element *a[LANES];
    element *c[LANES];
    const element *next = at(from, rows * lda);
    const __mmask8 columns = (__mmask8)((1u << n) - 1);
    half row_sum[L];
    vector sum[UNROLL], v[L], w[L];

#pragma GCC unroll 4
    for (int q = 0; q < LANES; q++) {
        a[q] = at(from, row[q] * lda);
        ALONE(a[q]);
    }
#pragma GCC unroll 8
    for (int j = 0; j < UNROLL; j++)
        sum[j] = WHOLE(setzero)();
#pragma GCC unroll 4
    for (int i = 0; i < R; i++)
        row_sum[i] = HALF(setzero)();
    load(a, lda, v, w);
    unpack(v, w);
#pragma GCC unroll 1
    for (int64_t unrolled = s->unrolled; unrolled > 0; unrolled--) {
        const int64_t on = unrolled > 1 ? UNROLL * (int64_t)sizeof(element) : s->a_last;
        vector next_v[L], next_w[L];

#pragma GCC unroll 4
        for (int q = 0; q < LANES; q++) {
            a[q] = at(a[q], on);
            ALONE(a[q]);
        }
        load(a, lda, next_v, next_w);
#pragma GCC unroll 8
        for (int u = 0; u < UNROLL; u++) {
            k_iteration(at_iteration(u, v, w), b, n, sum);
            row_step(next + u, lda, b, columns, R, row_sum);
            b = at(b, ldb);
            ALONE(b);
            unpack_part(u, next_v, next_w);
        }
#pragma GCC unroll 4
        for (int i = 0; i < L; i++) {
            v[i] = next_v[i];
            w[i] = next_w[i];
        }
        next = at(next, on);
    }
#define FROM(u)                                          \
    case u:                                              \
        k_iteration(at_iteration(u, v, w), b, n, sum);   \
        row_step(next + u, lda, b, columns, R, row_sum); \
        b = at(b, ldb);                                  \
        __attribute__((fallthrough));
    switch (s->enter) { UNROLL_FROM(FROM) default :; }
    ALONE(to); /* keeps pointers to C's rows out of the loop, which has no free registers */
#pragma GCC unroll 4
    for (int q = 0; q < LANES; q++) {
        c[q] = at(to, row[q] * s->ldc);
        ALONE(c[q]);
    }
#pragma GCC unroll 2
    for (int j = 0; j < n; j += L) {
        complete(sum + j, c, s->ldc, some_columns(n, j), acc);
        store(sum + j, c, s->ldc, some_columns(n, j));
#pragma GCC unroll 4
        for (int q = 0; q < LANES; q++) {
            c[q] += L;
            ALONE(c[q]);
        }
    }
    store_rows(at(to, rows * s->ldc), s->ldc, columns, acc, R, row_sum);
}

#endif

/* R rows, each with its columns in half a vector. */
INLINE void few_rows_of(const struct uk_small_call *s, const element *a, const element *b, element *c,
                        int acc, int n, int R) {
    const __mmask8 columns = (__mmask8)((1u << n) - 1);
    const int64_t size = sizeof(element), ldb = s->ldb;
    const int64_t row = A_COLUMNS ? size : s->lda, next = A_COLUMNS ? s->lda : size;
    half sum[L];

#pragma GCC unroll 4
    for (int i = 0; i < R; i++)
        sum[i] = HALF(setzero)();
    /* Not unrolled: a loop of few iterations, whose end is well predicted. */
#pragma GCC unroll 1
    for (int64_t p = s->iterations / UNROLL; p > 0; p--)
#pragma GCC unroll 8
        for (int u = 0; u < UNROLL; u++) {
            row_step(a, row, b, columns, R, sum);
            a = at(a, next);
            b = at(b, ldb);
        }
#pragma GCC unroll 1
    for (int64_t p = s->iterations % UNROLL; p > 0; p--) {
        row_step(a, row, b, columns, R, sum);
        a = at(a, next);
        b = at(b, ldb);
    }
    store_rows(c, s->ldc, columns, acc, R, sum);
}

INLINE void few_rows(const struct uk_small_call *s, int64_t rows, const element *a, const element *b,
                     element *c, int acc, int n) {
#define ROWS_OF(r)                          \
    case r:                                 \
        few_rows_of(s, a, b, c, acc, n, r); \
        break;
    switch (rows) { ROWS(ROWS_OF) }
}

/* All rows of a product without groups. */
PART void all_few(const struct uk_small_call *s, const element *a, const element *b, element *c, int acc,
                  int64_t n) {
#pragma GCC unroll 1
    for (int64_t left = s->m; left > 0; left -= L) {
        few_rows(s, left < L ? left : L, a, b, c, acc, (int)n);
        a = at(a, A_COLUMNS ? L * (int64_t)sizeof(element) : L * s->lda);
        c = at(c, L * s->ldc);
    }
}

INLINE bool is_few(const struct uk_small_call *s) {
    return A_COLUMNS ? s->m < V : !s->a1;
}

#if A_COLUMNS
/* All rows by vectors, as many at a time as there are sums for, divided evenly; the longer groups come last,
 * so that no group has fewer rows than a vector. */
INLINE void all_rows(const struct uk_small_call *s, const element *a, const element *b, element *c, int acc,
                     int n) {
    const int max_vectors = n <= 2 ? 8 : n <= 4 ? 4 : 2;
    const int64_t vectors = (s->m + V - 1) / V, groups = (vectors + max_vectors - 1) / max_vectors;
    int64_t left = s->m;
    vector sums[8][UNROLL];

#pragma GCC unroll 1
    for (int64_t i = 0; i < groups; i++) {
        const int64_t some = vectors / groups + (i >= groups - vectors % groups);
        const int64_t rows = some * V < left ? some * V : left;

#define GROUP(g)                                                           \
    case g:                                                                \
        group(s, rows, a, b, sums, n, g <= max_vectors ? g : max_vectors); \
        break;
        if (max_vectors == 8)
            switch (some) { GROUP(1) GROUP(2) GROUP(3) GROUP(4) GROUP(5) GROUP(6) GROUP(7) GROUP(8) }
        else if (max_vectors == 4)
            switch (some) { GROUP(1) GROUP(2) GROUP(3) GROUP(4) }
        else
            switch (some) { GROUP(1) GROUP(2) }
        finish(s, rows, sums, c, acc, n, some);
        a += rows;
        c = at(c, rows * s->ldc);
        left -= rows;
    }
}
#else
/* All groups, the last one together with the rows that the groups leave; or all rows without groups. */
INLINE void all_rows(const struct uk_small_call *s, const element *a, const element *b, element *c, int acc,
                     int n) {
    int64_t longer = s->longer, beyond = n <= L ? s->half : 0;

#pragma GCC unroll 1
    for (int64_t groups = s->a1 - (beyond != 0), rows; groups > 0; groups--) {
        rows = s->rows + (longer-- > 0);
        group(s, rows, a, b, c, acc, n, 0);
        a = at(a, rows * s->lda);
        c = at(c, rows * s->ldc);
    }
#define BEYOND(r)                                           \
    case r:                                                 \
        group(s, s->rows, a, b, c, acc, n, n <= L ? r : 0); \
        return;
    switch (beyond) { ROWS(BEYOND) }
}
#endif

INLINE void prepare(struct uk_small_call *s, int64_t k, int64_t lda, int64_t ldb, int64_t ldc, int64_t m,
                    int64_t n) {
    const int64_t size = sizeof(element), beyond = k < UNROLL || m <= L ? m : m % V > L || n > L ? 0 : m % V;

    s->iterations = k;
    s->unrolled = k < UNROLL ? 0 : (k - 1) / UNROLL;
    s->a_last = size * (k - s->unrolled * UNROLL);
    s->enter = (int32_t)(UNROLL + s->unrolled * UNROLL - k);
    s->lda = size * lda;
    s->ldb = size * ldb;
    s->ldc = size * ldc;
    s->m = m;
    s->half = (uint32_t)(beyond < m ? beyond : 0);
    s->a1 = (m - beyond + V - 1) / V; /* the number of groups */
    s->rows = s->a1 ? (m - beyond) / s->a1 : 0;
    s->longer = s->a1 ? (m - beyond) % s->a1 : 0;
}

#ifdef UK_RESOLVED
#define RUN(n)                                                                                          \
    static int run_##n(const struct uk_small_call *s, const void *a, const void *b, void *c, int acc) { \
        if (is_few(s))                                                                                  \
            all_few(s, a, b, c, acc, n);                                                                \
        else                                                                                            \
            all_rows(s, a, b, c, acc, n);                                                               \
        return 0;                                                                                       \
    }
COLUMNS(RUN)
#define RUN_OF(n) run_##n,
static uk_small_run *const run[UK_NR] = {COLUMNS(RUN_OF)};

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)

void PASTE(UK_SYMBOL, _resolved)(struct uk_small_call *s, int64_t k, int64_t lda, int64_t ldb, int64_t ldc,
                                 int64_t m, int64_t n);
void PASTE(UK_SYMBOL, _resolved)(struct uk_small_call *s, int64_t k, int64_t lda, int64_t ldb, int64_t ldc,
                                 int64_t m, int64_t n) {
    prepare(s, k, lda, ldb, ldc, m, n);
    s->run = run[n - 1];
}
#else
void UK_SYMBOL(int64_t k, const element *a, int64_t lda, const element *b, int64_t ldb, element *c,
               int64_t ldc, int64_t acc, int64_t m, int64_t n) {
    struct uk_small_call s;

    prepare(&s, k, lda, ldb, ldc, m, n);
    if (is_few(&s)) {
        all_few(&s, a, b, c, acc != 0, n);
        return;
    }
#define ALL_OF(n)                           \
    case n:                                 \
        all_rows(&s, a, b, c, acc != 0, n); \
        return;
    switch (n) { COLUMNS(ALL_OF) }
}
#endif
