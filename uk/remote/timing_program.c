/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times a function on the board, next to a loop of multiply-adds on registers in each sample, because clock
 * rates vary. With several threads wall-clock time is measured, and the loop runs on all threads.
 *
 * Output: a line with the CPU, its governor, its range of frequencies in kHz and the number of threads; then
 * a line per round with seconds per call, operations per second of the loop, and kHz before and after.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined __AVX512F__
enum { UK_LANES = 16 };
#elif defined __AVX__
enum { UK_LANES = 8 };
#elif defined __riscv
enum { UK_LANES = 1 };
#else
enum { UK_LANES = 4 };
#endif

#if defined __x86_64__
#define UK_REGISTER "v"
#elif defined __riscv
#define UK_REGISTER "f"
#else
#define UK_REGISTER "w"
#endif

#if defined __riscv
typedef float uk_lanes;
#else
typedef float uk_lanes __attribute__((vector_size(4 * UK_LANES)));
#endif
/* On ARM, LLVM fuses only by this intrinsic. The chain is a factor, else all chains would have one common
 * product. */
#if defined __arm__
#include <arm_neon.h>
#define UK_MULTIPLY_ADD(chain, x, y) \
    ((uk_lanes)vfmaq_f32((float32x4_t)(chain), (float32x4_t)(x), (float32x4_t)(y)))
#else
#define UK_MULTIPLY_ADD(chain, x, y) ((chain) * (x) + (y))
#endif
/* Chains of multiply-adds: enough to hide their latency, and no more than registers. */
#if defined __x86_64__ && !defined __AVX512F__ || defined __arm__
enum { UK_CHAINS = 12 };
#else
enum { UK_CHAINS = 20 };
#endif

static double uk_seconds(void) {
    struct timespec t;

    clock_gettime(UK_THREADS > 1 ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

__attribute__((noinline, optnone)) static void uk_use(uk_lanes v) {
    (void)v;
}

/* All values are 0, which no result of the loop changes. */
__attribute__((noinline)) static void uk_multiply_adds(long iterations) {
#pragma clang fp contract(fast)
    uk_lanes chain[UK_CHAINS] = {0}, x = {0}, y = {0};

    for (long i = 0; i < iterations; i++) {
        __asm__ volatile("" : "+" UK_REGISTER(x), "+" UK_REGISTER(y));
#pragma clang loop unroll(full)
        for (int k = 0; k < UK_CHAINS; k++)
            chain[k] = UK_MULTIPLY_ADD(chain[k], x, y);
    }
#pragma clang loop unroll(full)
    for (int k = 1; k < UK_CHAINS; k++)
        chain[0] += chain[k];
    uk_use(chain[0]);
}

static void uk_peak_task(void *iterations, int64_t index, int64_t thread) {
    (void)index, (void)thread;
    uk_multiply_adds(*(const long *)iterations);
}

/* Operations per second of all threads, over at least 0.3 ms. */
static double uk_peak(void) {
    for (long iterations = 2000;; iterations *= 2) {
        const double start = uk_seconds();

        uk_parallel_for(uk_peak_task, &iterations, UK_THREADS);
        const double seconds = uk_seconds() - start;
        if (seconds >= 0.3e-3)
            return 2.0 * UK_LANES * UK_CHAINS * UK_THREADS * (double)iterations / seconds;
    }
}

/* Reads a line of a file about the CPU; "": there is none. */
static const char *uk_cpu_file(const char *name, char text[64]) {
    char path[128];
    FILE *f;

    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpufreq/%s", sched_getcpu(), name);
    f = fopen(path, "r");
    if (!f || !fgets(text, 64, f))
        *text = 0;
    if (f)
        fclose(f);
    text[strcspn(text, "\n")] = 0;
    return text;
}

static long uk_frequency(const char *name) {
    char text[64];

    return strtol(uk_cpu_file(name, text), NULL, 10);
}

static double uk_time_calls(int32_t (*call)(void), long calls, int32_t *status) {
    const double start = uk_seconds();

    for (long i = 0; i < calls; i++)
        *status |= call();
    return (uk_seconds() - start) / (double)calls;
}

static long uk_calls_for(int32_t (*call)(void), double sample, int32_t *status) {
    for (long calls = 1;; calls *= 4) {
        const double each = uk_time_calls(call, calls, status);

        if (each * (double)calls >= 0.1 * sample)
            return each >= sample ? 1 : (long)(sample / each + 0.999);
    }
}

/* Times the call. Arguments: number of rounds, seconds of rest before each. */
static int uk_timing(int32_t (*call)(void), char **argv) {
    const int rounds = atoi(argv[0]), rest = argv[1] ? atoi(argv[1]) : 0;
    char text[64];
    int32_t status = 0;
    const long calls = uk_calls_for(call, 0.015, &status);

    uk_peak(); /* starts the threads if the calls did not */
    uk_cpu_file("scaling_governor", text);
    printf("cpu %d %s %ld %ld %d\n", sched_getcpu(), *text ? text : "-", uk_frequency("cpuinfo_min_freq"),
           uk_frequency("cpuinfo_max_freq"), uk_pool.workers + 1);
    for (int i = 0; i < rounds; i++) {
        if (rest)
            nanosleep(&(struct timespec){.tv_sec = rest}, NULL);
        const double first = uk_peak();
        status |= call();
        const long before = uk_frequency("scaling_cur_freq");
        const double seconds = uk_time_calls(call, calls, &status);
        const long after = uk_frequency("scaling_cur_freq");

        printf("round %.9g %.9g %ld %ld\n", seconds, 0.5 * (first + uk_peak()), before, after);
    }
    return status ? 3 : 0;
}
