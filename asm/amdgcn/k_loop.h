/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop over k of a thread's tile of UK_MR x UK_NR, unrolled by two. The file that includes this defines
 *
 *     sum_row                      a row of sums
 *     multiply(sum, x, y)          adds the products of one k iteration
 *     MOST_AHEAD                   elements of the largest tile for which the groups of the next k iteration
 * are read before those of this one are used: the latency of shared memory then passes during arithmetic, but
 * this takes registers, and so waves
 */
static inline __attribute__((always_inline)) void read_both(group *x, group *y, const UK_SHARED float *a,
                                                            int sa, const UK_SHARED float *b, int sb) {
    read_groups(x, UK_MR / GROUP, a, sa);
    read_groups(y, UK_NR / GROUP, b, sb);
}

static inline __attribute__((always_inline)) void add_ahead(sum_row *sum, int left, const UK_SHARED float *a,
                                                            int da, int sa, const UK_SHARED float *b, int db,
                                                            int sb) {
    group x[2][UK_MR / GROUP], y[2][UK_NR / GROUP];

    if (left)
        read_both(x[0], y[0], a, sa, b, sb);
    for (; left > 2; left -= 2, a += 2 * da, b += 2 * db) {
        read_both(x[1], y[1], a + da, sa, b + db, sb);
        multiply(sum, x[0], y[0]);
        read_both(x[0], y[0], a + 2 * da, sa, b + 2 * db, sb);
        multiply(sum, x[1], y[1]);
    }
    if (left == 2)
        read_both(x[1], y[1], a + da, sa, b + db, sb);
    if (left)
        multiply(sum, x[0], y[0]);
    if (left == 2)
        multiply(sum, x[1], y[1]);
}

static inline __attribute__((always_inline)) void add_one(sum_row *sum, const UK_SHARED float *a, int sa,
                                                          const UK_SHARED float *b, int sb) {
    group x[UK_MR / GROUP], y[UK_NR / GROUP];

    read_both(x, y, a, sa, b, sb);
    multiply(sum, x, y);
}

static inline __attribute__((always_inline)) void add_products(sum_row *sum, int left,
                                                               const UK_SHARED float *a, int da, int sa,
                                                               const UK_SHARED float *b, int db, int sb) {
    if (UK_MR * UK_NR <= MOST_AHEAD) {
        add_ahead(sum, left, a, da, sa, b, db, sb);
        return;
    }
    for (; left >= 2; left -= 2, a += 2 * da, b += 2 * db) {
        add_one(sum, a, sa, b, sb);
        add_one(sum, a + da, sa, b + db, sb);
    }
    if (left)
        add_one(sum, a, sa, b, sb);
}
