/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The peak of this machine: chains of multiply-adds on registers, so many that their latency is hidden.
 *
 * AVX-512 uses 24 accumulators (2 pipes x 4 cycles need 8; more does not hurt and is what kernels have), AVX2
 * 12, which leaves registers for the two factors. SSE2 has no fused multiply-add: 7 multiplications and 7
 * additions count as 14 operations on 4 lanes.
 */
#define _POSIX_C_SOURCE 200809L
#include "bench.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

enum { MAX_THREADS = 64 };

const char *bench_isa_name(enum bench_isa isa) {
    static const char *const name[] = {"SSE2", "AVX2", "AVX-512"};
    return name[isa];
}

bool bench_isa_runs(enum bench_isa isa) {
    __builtin_cpu_init();
    switch (isa) {
    case BENCH_AVX512:
        return __builtin_cpu_supports("avx512f");
    case BENCH_AVX2:
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case BENCH_SSE2:
        break;
    }
    return true;
}

enum bench_isa bench_isa_best(void) {
    if (bench_isa_runs(BENCH_AVX512))
        return BENCH_AVX512;
    return bench_isa_runs(BENCH_AVX2) ? BENCH_AVX2 : BENCH_SSE2;
}

double bench_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Operations that one turn of the loop counts for. */
enum { AVX512_TURN = 24 * 5 * 16 * 2, AVX2_TURN = 12 * 10 * 8 * 2, SSE2_TURN = 14 * 10 * 4 };

/* The accumulators start at zero: a denormal left in one of them could cost time. */
#define ZERO512(i) "vpxorq %%zmm" #i ", %%zmm" #i ", %%zmm" #i "\n\t"
#define FMA512(i) "vfmadd231ps %%zmm30, %%zmm31, %%zmm" #i "\n\t"
#define FMA512_8(a, b, c, d, e, f, g, h) \
    FMA512(a) FMA512(b) FMA512(c) FMA512(d) FMA512(e) FMA512(f) FMA512(g) FMA512(h)
#define FMA512_24                    \
    FMA512_8(0, 1, 2, 3, 4, 5, 6, 7) \
    FMA512_8(8, 9, 10, 11, 12, 13, 14, 15) FMA512_8(16, 17, 18, 19, 20, 21, 22, 23)

__attribute__((target("avx512f"))) static void turn_avx512(long turns) {
    __asm__ volatile("vzeroall\n\t" ZERO512(16) ZERO512(17) ZERO512(18) ZERO512(19) ZERO512(20) ZERO512(21)
                         ZERO512(22) ZERO512(23) ZERO512(30)
                             ZERO512(31) "\n"
                                         "1:\n\t" FMA512_24 FMA512_24 FMA512_24 FMA512_24 FMA512_24
                                         "dec %0\n\t"
                                         "jnz 1b\n\t"
                                         "vzeroupper"
                     : "+r"(turns)
                     :
                     : "cc", "zmm0", "zmm1", "zmm2", "zmm3", "zmm4", "zmm5", "zmm6", "zmm7", "zmm8", "zmm9",
                       "zmm10", "zmm11", "zmm12", "zmm13", "zmm14", "zmm15", "zmm16", "zmm17", "zmm18",
                       "zmm19", "zmm20", "zmm21", "zmm22", "zmm23", "zmm30", "zmm31");
}

#define FMA256(i) "vfmadd231ps %%ymm14, %%ymm15, %%ymm" #i "\n\t"
#define FMA256_12 \
    FMA256(0)     \
    FMA256(1)     \
    FMA256(2) FMA256(3) FMA256(4) FMA256(5) FMA256(6) FMA256(7) FMA256(8) FMA256(9) FMA256(10) FMA256(11)
#define FMA256_60 FMA256_12 FMA256_12 FMA256_12 FMA256_12 FMA256_12

__attribute__((target("avx2,fma"))) static void turn_avx2(long turns) {
    __asm__ volatile("vzeroall\n"
                     "1:\n\t" FMA256_60 FMA256_60 "dec %0\n\t"
                     "jnz 1b\n\t"
                     "vzeroupper"
                     : "+r"(turns)
                     :
                     : "cc", "ymm0", "ymm1", "ymm2", "ymm3", "ymm4", "ymm5", "ymm6", "ymm7", "ymm8", "ymm9",
                       "ymm10", "ymm11", "ymm12", "ymm13", "ymm14", "ymm15");
}

#define ZERO128(i) "xorps %%xmm" #i ", %%xmm" #i "\n\t"
#define PAIR128(m, a) "mulps %%xmm14, %%xmm" #m "\n\taddps %%xmm15, %%xmm" #a "\n\t"
#define PAIRS128 \
    PAIR128(0, 7) PAIR128(1, 8) PAIR128(2, 9) PAIR128(3, 10) PAIR128(4, 11) PAIR128(5, 12) PAIR128(6, 13)
#define PAIRS128_5 PAIRS128 PAIRS128 PAIRS128 PAIRS128 PAIRS128

static void turn_sse2(long turns) {
    /* Upper halves that somebody left in use would slow every instruction down. */
    if (bench_isa_runs(BENCH_AVX2))
        __asm__ volatile("vzeroupper");
    __asm__ volatile(ZERO128(0) ZERO128(1) ZERO128(2) ZERO128(3) ZERO128(4) ZERO128(5) ZERO128(6) ZERO128(7)
                         ZERO128(8) ZERO128(9) ZERO128(10) ZERO128(11) ZERO128(12) ZERO128(13) ZERO128(14)
                             ZERO128(15) "\n"
                                         "1:\n\t" PAIRS128_5 PAIRS128_5 "dec %0\n\t"
                                         "jnz 1b"
                     : "+r"(turns)
                     :
                     : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
                       "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
}

/* Runs the loop for at least 0.3 ms; operations per second. */
static double peak_of_this_thread(enum bench_isa isa) {
    static void (*const turn[])(long) = {turn_sse2, turn_avx2, turn_avx512};
    static const double operations[] = {SSE2_TURN, AVX2_TURN, AVX512_TURN};
    long turns = 4000;
    for (;;) {
        double start = bench_seconds();
        turn[isa](turns);
        double seconds = bench_seconds() - start;
        if (seconds >= 0.3e-3)
            return operations[isa] * (double)turns / seconds;
        turns *= 2;
    }
}

struct worker {
    enum bench_isa isa;
    atomic_int *ready, *go; /* go: 0 wait, 1 measure, 2 leave */
    double peak;
};

static void *work(void *user) {
    struct worker *w = user;
    atomic_fetch_add(w->ready, 1);
    while (!atomic_load(w->go))
        sched_yield();
    if (atomic_load(w->go) == 1)
        w->peak = peak_of_this_thread(w->isa);
    return NULL;
}

double bench_peak(enum bench_isa isa, int threads) {
    if (threads > MAX_THREADS)
        threads = MAX_THREADS;
    struct worker worker[MAX_THREADS];
    pthread_t thread[MAX_THREADS];
    atomic_int ready = 0, go = 0;
    int made = 0;
    while (made < threads - 1) {
        worker[made] = (struct worker){isa, &ready, &go, 0};
        if (pthread_create(&thread[made], NULL, work, &worker[made]))
            break;
        made++;
    }
    while (atomic_load(&ready) < made)
        sched_yield();
    bool complete = threads <= 1 || made == threads - 1;
    atomic_store(&go, complete ? 1 : 2);
    double sum = complete ? peak_of_this_thread(isa) : 0;
    for (int i = 0; i < made; i++) {
        pthread_join(thread[i], NULL);
        sum += worker[i].peak;
    }
    return sum;
}
