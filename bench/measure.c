/* SPDX-License-Identifier: Apache-2.0 */
/* Paired timing: all contenders in turn, round after round, with the peak measured next to each sample. */
#define _POSIX_C_SOURCE 200809L
#include "bench.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median(double *values, int count) {
    if (count <= 0)
        return 0;
    qsort(values, (size_t)count, sizeof *values, compare);
    return count % 2 ? values[count / 2] : 0.5 * (values[count / 2 - 1] + values[count / 2]);
}

void bench_random(float *values, size_t count, uint32_t seed) {
    uint32_t state = seed * 2654435761u + 1;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        values[i] = (float)(int32_t)state * 0x1p-31f;
    }
}

/* Waits until the threads of the last contender have stopped spinning. */
static void let_threads_rest(int threads) {
    if (threads > 1)
        nanosleep(&(struct timespec){.tv_nsec = 40000000}, NULL);
}

/* CPU seconds of what is timed, which leave out other processes on its CPU. */
static double own_seconds(const struct bench_plan *plan) {
    return plan->whole_process ? bench_process_seconds() : bench_thread_seconds();
}

static double clock_for(const struct bench_plan *plan) {
    return plan->threads > 1 ? bench_seconds() : own_seconds(plan);
}

static void call(const struct bench_contender *c, long calls) {
    if (c->repeat)
        c->repeat(c->user, calls);
    else
        for (long i = 0; i < calls; i++)
            c->run(c->user);
}

static double time_calls(const struct bench_contender *c, long calls, const struct bench_plan *plan) {
    double start = clock_for(plan);
    call(c, calls);
    return (clock_for(plan) - start) / (double)calls;
}

static bool is_over(const struct bench_plan *plan) {
    return plan->deadline > 0 && bench_seconds() >= plan->deadline;
}

/* The number of calls that take at least `seconds`. */
static long calls_for(const struct bench_plan *plan, const struct bench_contender *c, double seconds) {
    long calls = 1;
    if (is_over(plan))
        return 1;
    call(c, 1);
    while (!is_over(plan)) {
        double each = time_calls(c, calls, plan);
        if (each * (double)calls >= 0.1 * seconds) {
            double needed = seconds / each;
            return needed < 1 ? 1 : (long)(needed + 0.999);
        }
        calls *= 4;
    }
    return 1;
}

/*
 * Warms up by one untimed call. The scheduler may keep a woken worker on its waker's CPU for milliseconds, so
 * that both share it: with several threads, calls repeat until two successive windows agree, or for `longest`
 * seconds.
 */
static void warm_up(const struct bench_plan *plan, const struct bench_contender *c) {
    const int threads = plan->threads;
    const double window = 5e-3, longest = 20e-3, agreement = 0.05;
    double start = bench_seconds(), each = time_calls(c, 1, plan), before = 0;

    while (threads > 1 && bench_seconds() - start < longest && fabs(each - before) > agreement * each &&
           !is_over(plan)) {
        double calls = window / each;

        before = each;
        each = time_calls(c, calls < 1 ? 1 : (long)(calls + 0.999), plan);
    }
}

struct samples {
    double *seconds, *percent, *peak;
};

/* True if this thread has had its CPU to itself since these two clock readings. */
static bool was_alone(double wall, double own) {
    const double most_lost = 0.005;
    return (bench_seconds() - wall) * (1 - most_lost) <= bench_thread_seconds() - own;
}

static double peak_of(const struct bench_plan *plan) {
    return plan->loop ? bench_loop_rate(plan->loop, plan->threads)
                      : bench_peak(plan->isa, plan->threads) * (plan->doubles ? 0.5 : 1);
}

/* Takes a sample. False if the deadline came first. */
static bool sample(const struct bench_plan *plan, struct bench_contender *c, long calls, struct samples s,
                   int round) {
    let_threads_rest(plan->threads);
    double before = peak_of(plan);
    if (is_over(plan))
        return false;
    warm_up(plan, c);
    if (is_over(plan))
        return false;
    s.seconds[round] = time_calls(c, calls, plan);
    let_threads_rest(plan->threads);
    double peak = 0.5 * (before + peak_of(plan));
    s.peak[round] = peak;
    s.percent[round] = peak > 0 ? 100 * plan->flops / s.seconds[round] / peak : 0;
    return true;
}

/* Other threads on the CPU change the caches, too: a short sample that they interrupted is repeated a few
 * times. Where the process is timed, the fastest samples count instead. */
static bool undisturbed_sample(const struct bench_plan *plan, struct bench_contender *c, long calls,
                               struct samples s, int round) {
    enum { TRIES = 10 };
    const double patience = 0.1;
    double begin = bench_thread_seconds(), wall, own;
    int tries = 0;
    bool is_whole = false;
    do {
        wall = bench_seconds();
        own = bench_thread_seconds();
        if (!sample(plan, c, calls, s, round))
            break;
        is_whole = true;
    } while (plan->threads == 1 && !plan->whole_process && !was_alone(wall, own) && ++tries < TRIES &&
             bench_thread_seconds() - begin < patience);
    return is_whole;
}

/* `scratch` has space for a value per round. */
static void summarize(struct bench_contender *c, struct samples mine, const double *first, double *scratch,
                      int rounds) {
    for (int r = 0; r < rounds; r++)
        scratch[r] = mine.seconds[r] / first[r];
    c->ratio = bench_median(scratch, rounds);
    c->ratio_low = scratch[0];
    c->ratio_high = scratch[rounds - 1];
    c->percent = bench_median(mine.percent, rounds);
    c->percent_low = mine.percent[rounds / 4];
    c->percent_high = mine.percent[rounds - 1 - rounds / 4];
    for (int r = 0; r < rounds; r++)
        scratch[r] = mine.seconds[r];
    c->seconds = bench_median(scratch, rounds);
    c->fastest = scratch[0];
    c->slowest = scratch[rounds - 1];
}

/* Copies one contender's samples of all rounds to `values`. */
static struct samples samples_of(double *values, int contender, int contenders, int rounds) {
    double *mine = values + (size_t)contender * (size_t)rounds;
    const size_t each = (size_t)contenders * (size_t)rounds;
    return (struct samples){mine, mine + each, mine + 2 * each};
}

/* Measures whole rounds until the deadline. */
static int run_rounds(const struct bench_plan *plan, struct bench_contender *contender, int contenders,
                      const long *calls, double *values, int rounds) {
    for (int r = 0; r < rounds; r++)
        for (int i = 0; i < contenders; i++)
            if (!undisturbed_sample(plan, &contender[i], calls[i], samples_of(values, i, contenders, rounds),
                                    r))
                return r;
    return rounds;
}

enum uk_status bench_paired(struct bench_plan *plan, struct bench_contender *contender, int contenders) {
    const int rounds = plan->rounds > 0 ? plan->rounds : 15;
    double sample_time = plan->sample_time > 0 ? plan->sample_time : 0.015;
    size_t each = (size_t)contenders * (size_t)rounds;
    double *values = calloc(4 * each + (size_t)rounds, sizeof *values);
    long *calls = calloc((size_t)contenders + 1, sizeof *calls);
    if (!values || !calls) {
        free(values);
        free(calls);
        return UK_OUT_OF_MEMORY;
    }
    double *peaks = values + 3 * each, *scratch = values + 4 * each;
    for (int i = 0; i < contenders; i++)
        calls[i] = calls_for(plan, &contender[i], sample_time);
    const int whole = plan->rounds = run_rounds(plan, contender, contenders, calls, values, rounds);
    for (int i = 0; i < contenders && whole; i++) {
        struct samples s = samples_of(values, i, contenders, rounds);
        memcpy(peaks + i * whole, s.peak, (size_t)whole * sizeof *peaks);
        summarize(&contender[i], s, values, scratch, whole);
        contender[i].calls = calls[i];
    }
    plan->peak = bench_median(peaks, contenders * whole);
    free(values);
    free(calls);
    return UK_OK;
}
