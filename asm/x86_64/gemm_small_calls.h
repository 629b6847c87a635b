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
 *     group(s, kind, rows, ...)    computes a group at a, b, c, acc: of columns of s->kind, and of `rows`
 *                                  rows, or up to STEP_OF_ROWS - 1 fewer
 *
 * or, with UK_RESOLVED (calls that are repeated with the same sizes and strides),
 *
 *     RUN_OF_ROWS(s, rows)         the function of a group, or
 *     PREPARE_RUNS(s)              if functions compute several groups: sets s->run and its variants
 *     PREPARE_WHOLE(s, ...)        with prepare's arguments: if the kernel has special code for the product,
 *                                  sets s and its run, and returns true
 */

/* Rows of group i, possibly more than are left: the first `longer` groups have STEP_OF_ROWS more. */
static inline int64_t rows_of_group(const struct uk_small_call *s, uint64_t i) {
    return s->rows + (i < (uint64_t)s->longer ? STEP_OF_ROWS : 0);
}

static inline int64_t at_most(int64_t rows, int64_t left) {
    return STEP_OF_ROWS == 1 || rows < left ? rows : left;
}

#ifdef UK_RESOLVED
#ifndef PREPARE_RUNS
static int run_groups(const struct uk_small_call *s, const void *a, const void *b, void *c, int acc) {
    uint64_t i = 0;
#if BEGINS_GROUPS
    struct uk_small_call own = *s, *g = &own;
#else
    const struct uk_small_call *g = s;
#endif

    for (int64_t left = s->m, rows; left > 0; left -= rows) {
        rows = at_most(rows_of_group(s, i++), left);
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
    /* For the compiler the asm statements may change s, but not this copy: if m and n are constants, only the
     * code of one or two heights of groups is left after inlining. */
    const struct uk_small_call plan = s;
    const char *from = (const char *)a - plan.before;
    char *to = (char *)c;
    uint64_t i = 0;

#pragma GCC unroll 1
    for (int64_t left = m; left > 0;) {
        const int64_t group_rows = rows_of_group(&plan, i++), rows = at_most(group_rows, left);

#if BEGINS_GROUPS
        begin_group(&s, rows);
#endif
        group(&s, plan.kind, group_rows, from, b, to, acc != 0);
        left -= rows;
        from += rows * (A_COLUMNS ? size : plan.lda);
        to += rows * plan.ldc;
    }
}
#endif
