/* SPDX-License-Identifier: Apache-2.0 */
/* The plainest loops over memory, to hold bandwidth-bound kernels against. */
#include "bench.h"

/* Four vectors a turn. */
#define LOAD(move, v, width)                                                                       \
    move " (%0), %%" v "0\n\t" move " " #width "(%0), %%" v "1\n\t" move " 2*" #width "(%0), %%" v \
         "2\n\t" move " 3*" #width "(%0), %%" v "3\n\t"
#define STORE(move, v, width)                                                                                \
    move " (%1), %%" v "0\n\t" move " " #width "(%1), %%" v "1\n\t" move " 2*" #width "(%1), %%" v           \
         "2\n\t" move " 3*" #width "(%1), %%" v "3\n\t" move " %%" v "0, (%1)\n\t" move " %%" v "1, " #width \
         "(%1)\n\t" move " %%" v "2, 2*" #width "(%1)\n\t" move " %%" v "3, 3*" #width "(%1)\n\t"            \
         "add $4*" #width ", %1\n\t"
#define LOOP(body, width, last)                                \
    __asm__ volatile("1:\n\t" body "add $4*" #width ", %0\n\t" \
                     "cmp %2, %0\n\t"                          \
                     "jb 1b\n\t" last                          \
                     : "+r"(from), "+r"(to)                    \
                     : "r"((const char *)from + bytes)         \
                     : "cc", "memory", "xmm0", "xmm1", "xmm2", "xmm3")

void bench_load(enum bench_isa isa, const float *from, size_t bytes) {
    const float *to = from;

    if (!bytes)
        return;
    if (isa == BENCH_AVX512)
        LOOP(LOAD("vmovups", "zmm", 64), 64, "vzeroupper");
    else if (isa == BENCH_AVX2)
        LOOP(LOAD("vmovups", "ymm", 32), 32, "vzeroupper");
    else
        LOOP(LOAD("movups", "xmm", 16), 16, "");
}

void bench_load_and_store(enum bench_isa isa, const float *from, float *to, size_t bytes) {
    if (!bytes)
        return;
    if (isa == BENCH_AVX512)
        LOOP(LOAD("vmovups", "zmm", 64) STORE("vmovups", "zmm", 64), 64, "vzeroupper");
    else if (isa == BENCH_AVX2)
        LOOP(LOAD("vmovups", "ymm", 32) STORE("vmovups", "ymm", 32), 32, "vzeroupper");
    else
        LOOP(LOAD("movups", "xmm", 16) STORE("movups", "xmm", 16), 16, "");
}
