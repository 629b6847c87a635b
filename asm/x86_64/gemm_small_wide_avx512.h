/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resolved calls of two to four vectors of columns with AVX-512: functions that compute all groups of the
 * same number of rows of a call, because a call of a function per group would take a dozen cycles; and
 * variants of them for operands that are not in L1.
 *
 * s->ahead, if rows of A come from the LLC or memory: each unrolled iteration prefetches lines of two rows of
 * the next group, whose streams are too many and too short for the hardware prefetcher. With two vectors it
 * prefetches 128 bytes of each row of the next group in the 28 k iterations in which a group of 14 rows reads
 * 112 bytes of each of its own.
 *
 * s->prefetching, if C is not in L1: each unrolled iteration prefetches for writing the lines of one row of
 * the group, or of two or four rows if there are few unrolled iterations. Stores retire in order, and the
 * lines that they request at the end of a group leave no line fill buffers for A and B; prefetches that are
 * spread over the iterations do. Kernels of two vectors, whose calls go along rows of C, also prefetch from
 * L2 the B of the next call.
 */
/* clang-format off */
/* run_M_r: computes all groups of r rows that a call has. */
#define RUN(r, far, M)                                                                                      \
    static int run_##M##_##r(const struct uk_small_call *s, const void *a, const void *b, void *c, int acc) { \
        const char *from = (const char *)a - s->before;                                                     \
        char *to = c;                                                                                       \
                                                                                                            \
        for (int64_t left = r > s->rows ? s->longer : s->shorter;;) {                                       \
            group_##M(s, r, from, b, to, acc);                                                              \
            if (!--left)                                                                                    \
                return 0;                                                                                   \
            from += r * (A_COLUMNS ? size : s->lda);                                                        \
            to += r * s->ldc;                                                                               \
        }                                                                                                   \
    }
#define FUNCTION(r, far, M) run_##M##_##r,
/* The functions for groups of `min_rows` rows and more, and run_M(s), which returns the function of a call:
 * run_two_M if the call has groups of both lengths, which computes the longer ones first. */
#define RUNS_BY(M, LIST, min_rows)                                                                          \
    LIST(RUN, M)                                                                                            \
    static uk_small_run *const M##_functions[] = {LIST(FUNCTION, M)};                                  \
    static int run_two_##M(const struct uk_small_call *s, const void *a, const void *b, void *c, int acc) { \
        const int64_t rows = s->longer * (s->rows + 1);                                                     \
                                                                                                            \
        M##_functions[s->rows + 1 - min_rows](s, a, b, c, acc);                                             \
        return M##_functions[s->rows - min_rows](s, (const char *)a + rows * (A_COLUMNS ? size : s->lda), b,\
                                              (char *)c + rows * s->ldc, acc);                              \
    }                                                                                                       \
    static inline uk_small_run *run_##M(const struct uk_small_call *s) {                                 \
        return s->longer ? run_two_##M : M##_functions[s->rows - min_rows];                                 \
    }
RUNS_BY(WHOLE, GROUPS, 1)

#if !A_COLUMNS
/* FETCH prefetches LINES lines of two rows of the next group, then of the next two rows; after the last rows
 * it continues with the next lines of the first two. */
#define FETCH_LINE(bytes) "prefetcht0 " bytes "(%[f])\n\tprefetcht0 " bytes "(%[f], %[ld])\n\t"
#define FETCH_1 FETCH_LINE("")
#define FETCH_2 FETCH_1 FETCH_LINE("64")
#define FETCH_3 FETCH_2 FETCH_LINE("128")
#define FETCH_4 FETCH_3 FETCH_LINE("192")
#if NV == 2 && V == 8
#define LINES 4
#elif NV == 3 && V == 8
#define LINES 3
#elif NV == 4 && V == 16
#define LINES 1
#else
#define LINES 2
#endif
#define FETCH_(lines) FETCH_##lines
#define FETCH_LINES(lines) FETCH_(lines)
#define FETCH(r)                                                                                            \
    FETCH_LINES(LINES)                                                                                      \
    "lea (%[f], %[ld], 2), %[f]\n\t"                                                                        \
    "dec %[pairs]\n\t"                                                                                      \
    "jnz 7f\n\t"                                                                                            \
    "imul $(" #r " + 1) / 2 * 2, %[ld], %[pairs]\n\t"                                                       \
    "sub %[pairs], %[f]\n\t"                                                                                \
    "add $64 * " TEXT(LINES) ", %[f]\n\t"                                                                   \
    "mov $(" #r " + 1) / 2, %[pairs]\n"                                                                     \
    "7:\n\t"
#define CASE_AHEAD(r, far, M) \
    case r: GROUP(r, far, WHOLE, , FETCH(r), , [f] "+&r"(f), [pairs] "+&r"(pairs)); break;
/* Groups of UK_MR and of UK_MR - 1 rows. */
#if NV == 2
#define TALL_GROUPS(F, M) F(13, 7, M) F(14, 7, M)
#elif NV == 3
#define TALL_GROUPS(F, M) F(8, 7, M) F(9, 7, M)
#else
#define TALL_GROUPS(F, M) F(5, 3, M) F(6, 5, M)
#endif
GROUP_BY(AHEAD, TALL_GROUPS, CASE_AHEAD, const char *f = a0 + s->before + rows * s->lda; int64_t pairs = (rows + 1) / 2;)
RUNS_BY(AHEAD, TALL_GROUPS, (UK_MR - 1))
#endif

#if NV != 3
/* Groups that prefetch C. Shorter groups occur only in products of few rows. */
#if NV == 2
#define PREFETCHING_MIN_ROWS 8
#define PREFETCHING_GROUPS(F, M) F(8, 7, M) F(9, 7, M) F(10, 7, M) F(11, 7, M) F(12, 7, M) F(13, 7, M) F(14, 7, M)
#define PREFETCH_B "prefetcht0 128 + 60(%[b])\n\tprefetcht0 128 + 124(%[b])\n\t"
#define PREFETCH_LINES "prefetchw 60(%[f])\n\tprefetchw 124(%[f])\n\t"
#else
#define PREFETCHING_MIN_ROWS 4
#define PREFETCHING_GROUPS(F, M) F(4, 3, M) F(5, 3, M) F(6, 5, M)
#define PREFETCH_B
#define PREFETCH_LINES "prefetchw 60(%[f])\n\tprefetchw 124(%[f])\n\tprefetchw 188(%[f])\n\tprefetchw 252(%[f])\n\t"
#endif
/* Prefetches the lines in which the vectors of a row end, if any row is left. */
#define PREFETCH_ROW "dec %[left]\n\tjs 7f\n\t" PREFETCH_LINES "add %c[ldc](%[s]), %[f]\n\t"
#define PREFETCH(r)                                                                                         \
    PREFETCH_ROW "cmpq $" #r ", %c[all_unrolled](%[s])\n\tjge 7f\n\t"                                       \
    PREFETCH_ROW "cmpq $(" #r " + 1) / 2, %c[all_unrolled](%[s])\n\tjge 7f\n\t"                             \
    PREFETCH_ROW PREFETCH_ROW "7:\n\t"
#define CASE_PREFETCHING(r, far, M) \
    case r: GROUP(r, far, WHOLE, PREFETCH_B, PREFETCH(r), , [f] "+&r"(f), [left] "+&r"(left)); break;
GROUP_BY(PREFETCHING, PREFETCHING_GROUPS, CASE_PREFETCHING, const char *f = c; int64_t left = rows;)
RUNS_BY(PREFETCHING, PREFETCHING_GROUPS, PREFETCHING_MIN_ROWS)
#endif
/* clang-format on */

/* Sets the call's functions. */
static inline void prepare_runs(struct uk_small_call *s) {
    s->shorter = (s->m + UK_MR - 1) / UK_MR - s->longer;
    s->run = run_WHOLE(s);
#if NV != 3
    if (s->rows >= PREFETCHING_MIN_ROWS)
        s->prefetching = run_PREFETCHING(s);
#endif
#if !A_COLUMNS
    if (s->rows >= UK_MR - 1)
        s->ahead = run_AHEAD(s);
#endif
}
