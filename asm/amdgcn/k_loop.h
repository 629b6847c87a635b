/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop over k of a thread's tile of UK_MR x UK_NR, unrolled by UNROLL: within these iterations offsets in
 * shared memory are part of the instructions. The file that includes this defines
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

enum { UNROLL = 8 };

/* Two k iterations; the groups of the first one have been read, and those of a third one are read. */
static inline __attribute__((always_inline)) void add_two(sum_row *sum, group x[2][UK_MR / GROUP],
                                                          group y[2][UK_NR / GROUP], const UK_SHARED float *a,
                                                          int da, int sa, const UK_SHARED float *b, int db,
                                                          int sb) {
    read_both(x[1], y[1], a + da, sa, b + db, sb);
    multiply(sum, x[0], y[0]);
    read_both(x[0], y[0], a + 2 * da, sa, b + 2 * db, sb);
    multiply(sum, x[1], y[1]);
}

static inline __attribute__((always_inline)) void add_ahead(sum_row *sum, int left, const UK_SHARED float *a,
                                                            int da, int sa, const UK_SHARED float *b, int db,
                                                            int sb) {
    group x[2][UK_MR / GROUP], y[2][UK_NR / GROUP];

    if (left)
        read_both(x[0], y[0], a, sa, b, sb);
    for (; left >= UNROLL; left -= UNROLL, a += UNROLL * da, b += UNROLL * db) {
#pragma unroll
        for (int i = 0; i < UNROLL - 2; i += 2)
            add_two(sum, x, y, a + i * da, da, sa, b + i * db, db, sb);
        read_both(x[1], y[1], a + (UNROLL - 1) * da, sa, b + (UNROLL - 1) * db, sb);
        multiply(sum, x[0], y[0]);
        if (left > UNROLL)
            read_both(x[0], y[0], a + UNROLL * da, sa, b + UNROLL * db, sb);
        multiply(sum, x[1], y[1]);
    }
    for (; left > 2; left -= 2, a += 2 * da, b += 2 * db)
        add_two(sum, x, y, a, da, sa, b, db, sb);
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
    for (; left >= UNROLL; left -= UNROLL, a += UNROLL * da, b += UNROLL * db)
#pragma unroll
        for (int i = 0; i < UNROLL; i++)
            add_one(sum, a + i * da, sa, b + i * db, sb);
    for (; left; left--, a += da, b += db)
        add_one(sum, a, sa, b, sb);
}
