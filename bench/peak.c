/* SPDX-License-Identifier: Apache-2.0 */
/* The peak of this machine: enough chains of multiply-adds on registers to hide their latency; and the rates
 * of its caches and memory. */
#define _POSIX_C_SOURCE 200809L
#include "bench.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_THREADS = 64 };

int bench_isa_best(void) {
    int best = bench_isa_count - 1;

    while (best > 0 && !bench_isas[best].runs())
        best--;
    return best;
}

int bench_isa_of(const char *kernels) {
    int isa = bench_isa_count - 1;

    while (isa > 0 && !strstr(kernels, bench_isas[isa].kernels))
        isa--;
    return isa;
}

double bench_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double bench_thread_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double bench_process_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Runs the loop for at least 0.3 ms and returns its operations per second of this clock. */
static double rate_of_this_thread(const struct bench_loop *loop, double (*clock_now)(void)) {
    double rate = 0;
    if (uk_state_load(loop->state))
        return 0;
    for (long iterations = 4000; rate <= 0; iterations *= 2) {
        double start = clock_now();
        loop->iterate(iterations);
        double seconds = clock_now() - start;
        if (seconds >= 0.3e-3)
            rate = loop->operations * (double)iterations / seconds;
    }
    uk_state_release(loop->state);
    return rate;
}

struct worker {
    const struct bench_loop *loop;
    atomic_int *ready, *go; /* go: 0 wait, 1 measure, 2 exit */
    double peak;
};

static void *work(void *user) {
    struct worker *w = user;
    atomic_fetch_add(w->ready, 1);
    while (!atomic_load(w->go))
        sched_yield();
    if (atomic_load(w->go) == 1)
        w->peak = rate_of_this_thread(w->loop, bench_seconds);
    return NULL;
}

double bench_loop_rate(const struct bench_loop *loop, int threads) {
    if (threads > MAX_THREADS)
        threads = MAX_THREADS;
    struct worker worker[MAX_THREADS];
    pthread_t thread[MAX_THREADS];
    atomic_int ready = 0, go = 0;
    int made = 0;
    while (made < threads - 1) {
        worker[made] = (struct worker){loop, &ready, &go, 0};
        if (pthread_create(&thread[made], NULL, work, &worker[made]))
            break;
        made++;
    }
    while (atomic_load(&ready) < made)
        sched_yield();
    bool complete = threads <= 1 || made == threads - 1;
    atomic_store(&go, complete ? 1 : 2);
    double sum = complete ? rate_of_this_thread(loop, made ? bench_seconds : bench_thread_seconds) : 0;
    for (int i = 0; i < made; i++) {
        pthread_join(thread[i], NULL);
        sum += worker[i].peak;
    }
    return sum;
}

double bench_peak(int isa, int threads) {
    const struct bench_loop loop = {.iterate = bench_isas[isa].iterate,
                                    .operations = bench_isas[isa].operations};
    return bench_loop_rate(&loop, threads);
}

double bench_read_rate(int isa, int64_t bytes) {
    /* bytes that a sample reads at least, since shorter ones are inexact */
    const int64_t least = bytes < 4 << 20 ? 4 << 20 : bytes;
    float *memory = aligned_alloc(4096, (size_t)(bytes + 4095) / 4096 * 4096);
    double best = 0;
    if (!memory)
        return 0;
    memset(memory, 1, (size_t)bytes);
    for (int i = 0; i < 5; i++) {
        int64_t done = 0;
        double start = bench_thread_seconds();
        for (; done < least; done += bytes)
            bench_isas[isa].load(memory, (size_t)bytes);
        double rate = (double)done / (bench_thread_seconds() - start);
        best = rate > best ? rate : best;
    }
    free(memory);
    return best;
}
