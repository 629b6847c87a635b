/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entry points of a kernel of small products. Its file defines
 *
 *     element, size, A_COLUMNS     the type of elements, its bytes, and 1 if A is column-major
 *     prepare(s, ...)              sets the fields that depend on sizes and strides
 *     begin_group(s, rows)         if BEGINS_GROUPS: sets the fields that depend on the rows of a group, if
 *                                  there are several
 *     STEP_OF_ROWS                 rows that each of the first `longer` groups has in excess of the others
 *     IS_FEW(n), run_few           optional: the function of whole calls of n columns for which IS_FEW holds
 *
 * and, without UK_RESOLVED,
 *
 *     group(s, rows, a, b, c, acc) computes a group
 *
 * or, with UK_RESOLVED (calls that are repeated with the same sizes and strides),
 *
 *     RUN_OF_ROWS(s, rows)         the function of a group, or
 *     PREPARE_RUNS(s)              if functions compute several groups: sets s->run and its variants
 *     PREPARE_WHOLE(s, ...)        with prepare's arguments: if the kernel has special code for the product,
 *                                  sets s and its run, and returns true
 */

/* Rows of the next group: the first `longer` groups have STEP_OF_ROWS more rows than the others. */
static inline int64_t next_rows(const struct uk_small_call *s, int64_t *longer, int64_t left) {
    const int64_t rows = s->rows + ((*longer)-- > 0 ? STEP_OF_ROWS : 0);

    return rows < left ? rows : left;
}

#ifdef UK_RESOLVED
#ifndef PREPARE_RUNS
static int run_groups(const struct uk_small_call *s, const void *a, const void *b, void *c, int acc) {
    int64_t longer = s->longer;
#if BEGINS_GROUPS
    struct uk_small_call own = *s, *g = &own;
#else
    const struct uk_small_call *g = s;
#endif

    for (int64_t left = s->m, rows; left > 0; left -= rows) {
        rows = next_rows(s, &longer, left);
#if BEGINS_GROUPS
        begin_group(g, rows);
#endif
        RUN_OF_ROWS(g, rows)(g, a, b, c, acc);
        a = (const char *)a + rows * (A_COLUMNS ? size : s->lda);
        c = (char *)c + rows * s->ldc;
    }
    return 0;
}

static inline void prepare_runs(struct uk_small_call *s) {
    s->run = s->m > UK_MR ? run_groups : RUN_OF_ROWS(s, s->m);
}
#define PREPARE_RUNS prepare_runs
#endif

void PASTE(UK_SYMBOL, _resolved)(struct uk_small_call *s, int64_t k, int64_t lda, int64_t ldb, int64_t ldc,
                                 int64_t m, int64_t n);
void PASTE(UK_SYMBOL, _resolved)(struct uk_small_call *s, int64_t k, int64_t lda, int64_t ldb, int64_t ldc,
                                 int64_t m, int64_t n) {
#ifdef PREPARE_WHOLE
    if (PREPARE_WHOLE(s, k, lda, ldb, ldc, m, n))
        return;
#endif
    prepare(s, k, lda, ldb, ldc, m, n);
    PREPARE_RUNS(s);
}
#else
void UK_SYMBOL(int64_t k, const element *a, int64_t lda, const element *b, int64_t ldb, element *c,
               int64_t ldc, int64_t acc, int64_t m, int64_t n) {
    struct uk_small_call s;

#ifdef IS_FEW
    if (IS_FEW(n)) {
        prepare(&s, k, lda, ldb, ldc, m, n);
        run_few(&s, a, b, c, acc != 0);
        return;
    }
#endif
    prepare(&s, k, lda, ldb, ldc, m, n);
    const char *from = (const char *)a - s.before;
    char *to = (char *)c;
    int64_t longer = s.longer;

#pragma GCC unroll 1
    for (int64_t left = m; left > 0;) {
        const int64_t rows = next_rows(&s, &longer, left);

#if BEGINS_GROUPS
        begin_group(&s, rows);
#endif
        group(&s, rows, from, b, to, acc != 0);
        left -= rows;
        from += rows * (A_COLUMNS ? size : s.lda);
        to += rows * s.ldc;
    }
}
#endif
