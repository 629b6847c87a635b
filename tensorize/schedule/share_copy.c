/* SPDX-License-Identifier: Apache-2.0 */
/* How the threads of a block share a copy. */
#include "schedule.h"

/* The largest divisor of the remaining threads that is at most n, the loop's trip count. */
static int64_t share(int64_t n, int64_t threads) {
    int64_t most = 1;

    for (int64_t d = 1; d <= threads && d <= n; d++)
        if (threads % d == 0)
            most = d;
    return most;
}

/* Divisors of the threads, innermost loops first. */
static void divide_threads(struct uk_copy_shares *c, int64_t threads) {
    c->trips = 1;
    c->is_even = true;
    for (int i = c->loops; i-- > 0;) {
        const int64_t n = c->extent[i];

        c->part[i] = n < 0 || threads == 1 ? 1 : share(n, threads);
        threads /= c->part[i];
        c->is_even &= n < 0 || n % c->part[i] == 0;
        if (n > 0 && __builtin_mul_overflow(c->trips, (n - 1) / c->part[i] + 1, &c->trips))
            c->trips = INT64_MAX;
    }
}

/* Improves *best by divisors of the trip counts of the first `loops` loops; *now has those of the others. */
static void divide_loops(int loops, int64_t threads, struct uk_copy_shares *now,
                         struct uk_copy_shares *best) {
    const int64_t outside = now->trips, n = loops ? now->extent[loops - 1] : 0;

    if (!loops && outside < best->trips)
        *best = *now;
    for (int64_t part = n < threads ? n : threads; part > 0; part--) {
        if (n % part || __builtin_mul_overflow(outside, n / part, &now->trips) || now->trips >= best->trips)
            continue;
        now->part[loops - 1] = part;
        divide_loops(loops - 1, threads / part, now, best);
    }
    now->trips = outside;
}

void uk_share_copy(struct uk_copy_shares *c, int64_t threads) {
    struct uk_copy_shares now = *c;
    const int last = c->loops - 1;
    bool is_constant = c->loops > 0;

    divide_threads(c, threads);
    for (int i = 0; i < c->loops; i++)
        is_constant &= c->extent[i] > 0;
    if (!is_constant)
        return;
    /* Uneven shares have tests, and after each one a thread waits for what it loads. */
    if (!c->is_even && c->trips < INT64_MAX / 2)
        c->trips *= 2;
    /* The innermost loop, whose elements are adjacent, gets as many threads as possible. */
    now.part[last] = now.extent[last] < threads ? now.extent[last] : threads;
    while (now.extent[last] % now.part[last])
        now.part[last]--;
    now.trips = now.extent[last] / now.part[last];
    now.is_even = true;
    divide_loops(last, threads / now.part[last], &now, c);
}
