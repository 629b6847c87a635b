/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and prints the times measured on a board. */
#include <math.h>
#include <string.h>
#include "bench.h"
#include "remote.h"

enum { ROUNDS = 256 };

/* True if the frequency fell by more than the granularity of its readings. */
static bool has_fallen(long before, long after) {
    return before > 0 && (double)after < 0.97 * (double)before;
}

int uk_board_times_read(struct uk_board_times *t, FILE *f, const struct uk_timing *how) {
    double seconds[ROUNDS], peak[ROUNDS], percent[ROUNDS], cost[ROUNDS];
    long before, after;
    int n = 0;

    *t = (struct uk_board_times){.cpu = -1};
    if (fscanf(f, "cpu %d %31s %ld %ld %d", &t->cpu, t->governor, &t->min_frequency, &t->max_frequency,
               &t->threads) == 5)
        while (n < ROUNDS &&
               fscanf(f, " round %lf %lf %ld %ld", &seconds[n], &peak[n], &before, &after) == 4) {
            if (!t->slow_rounds) {
                t->frequency_before = before;
                t->frequency_after = after;
            }
            t->slow_rounds += has_fallen(before, after);
            percent[n] = peak[n] > 0 ? 100 * how->flops / seconds[n] / peak[n] : 0;
            cost[n] = seconds[n] * (peak[n] > 0 ? peak[n] : 1);
            n++;
        }
    if (n < how->rounds || !n)
        return uk_complain(UK_EXIT_WRONG, "measuring failed: only %d of %d rounds came back", n, how->rounds);
    if (!strcmp(t->governor, "-"))
        t->governor[0] = 0;
    t->rounds = n;
    t->seconds = bench_median(seconds, n);
    t->fastest = seconds[0];
    t->slowest = seconds[n - 1];
    t->percent = bench_median(percent, n);
    t->peak = bench_median(peak, n);
    t->cost = bench_median(cost, n);
    t->interval = (cost[n - 1 - n / 4] - cost[n / 4]) / t->cost / sqrt(n);
    return UK_EXIT_OK;
}

void uk_board_times_of_gpu(struct uk_board_times *t, double *seconds, int n, const char *name) {
    *t = (struct uk_board_times){.seconds = bench_median(seconds, n), .rounds = n};
    t->fastest = seconds[0];
    t->slowest = seconds[n - 1];
    snprintf(t->gpu, sizeof t->gpu, "%s", name);
}

/* Prints the facts about the CPU, once. */
static void print_cpu(const struct uk_board_times *t) {
    const struct uk_board *b = uk_board_in_use();
    static int said = -1;

    if (*t->gpu) {
        printf("measured by events of %s, of kernels alone\n", t->gpu);
        return;
    }
    if (said == t->cpu)
        return;
    said = t->cpu;
    printf("measured on %s: %s, CPU %d, ", b->text, *b->cpu ? b->cpu : b->machine, t->cpu);
    if (!*t->governor)
        printf("governor and frequencies unknown: Linux does not report them there\n");
    else
        printf("governor %s, %ld to %ld MHz, %ld MHz while measuring\n", t->governor, t->min_frequency / 1000,
               t->max_frequency / 1000, t->frequency_before / 1000);
}

void uk_board_times_print(const struct uk_board_times *t, const struct uk_timing *how, double bytes) {
    printf("time: %.4f ms (%.4f..%.4f)", 1e3 * t->seconds, 1e3 * t->fastest, 1e3 * t->slowest);
    if (bytes > 0)
        printf(", %.1f GB/s", 1e-9 * bytes / t->seconds);
    if (how->flops > 0)
        printf(", %.1f GFLOP/s", 1e-9 * how->flops / t->seconds);
    if (how->flops > 0 && !(bytes > 0) && !*t->gpu)
        printf(", %.1f %% of the peak of multiply-adds measured next to it there (%.1f GFLOP/s, %d thread%s)",
               t->percent, 1e-9 * t->peak, t->threads, t->threads > 1 ? "s" : "");
    printf("\n");
    print_cpu(t);
    if (t->slow_rounds)
        printf("the frequency fell in %d of %d samples, in the first of them from %ld to %ld MHz; "
               "--cooldown=SECONDS lets the board rest before each\n",
               t->slow_rounds, t->rounds, t->frequency_before / 1000, t->frequency_after / 1000);
}
