/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops of the instructions that multiply bytes and bf16 on x86-64.
 *
 * Each has as many independent sums as its registers hold, 24 of 32 or 12 of 16, or four of eight tiles:
 * enough to hide the latency, at the rate of kernels whose loads cost nothing. All operands are 0.
 */
#include "bench.h"
#include <string.h>

#define ALL_YMM                                                                                       \
    "ymm0", "ymm1", "ymm2", "ymm3", "ymm4", "ymm5", "ymm6", "ymm7", "ymm8", "ymm9", "ymm10", "ymm11", \
        "ymm12", "ymm13", "ymm14", "ymm15"
#define UPPER_ZMM                                                                                      \
    "zmm16", "zmm17", "zmm18", "zmm19", "zmm20", "zmm21", "zmm22", "zmm23", "zmm24", "zmm25", "zmm26", \
        "zmm27", "zmm28", "zmm29", "zmm30", "zmm31"
#define YMM_12(body) ".irp i,0,1,2,3,4,5,6,7,8,9,10,11\n\t" body "\n\t.endr\n\t"
#define ZMM_24(body) \
    ".irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23\n\t" body "\n\t.endr\n\t"
#define LOOP(body) ".p2align 5\n1:\n\t" body "dec %0\n\tjnz 1b\n\t"
#define ZERO_UPPER ".irp i,16,17,18,19,20,21,22,23,30,31\n\tvpxorq %%zmm\\i, %%zmm\\i, %%zmm\\i\n\t.endr\n\t"

__attribute__((target("avx2"))) static void multiply_words(long iterations) {
    __asm__ volatile("vzeroall\n\t" LOOP(YMM_12("vpmaddwd %%ymm14, %%ymm15, %%ymm12\n\t"
                                                "vpaddd %%ymm12, %%ymm\\i, %%ymm\\i")) "vzeroupper"
                     : "+r"(iterations)
                     :
                     : "cc", ALL_YMM);
}

__attribute__((target("avx2,avxvnni"))) static void multiply_bytes_256(long iterations) {
    __asm__ volatile("vzeroall\n\t" LOOP(YMM_12("%{vex%} vpdpbusd %%ymm14, %%ymm15, %%ymm\\i")) "vzeroupper"
                     : "+r"(iterations)
                     :
                     : "cc", ALL_YMM);
}

#define LOOP_512(name, features, instruction)                                                              \
    __attribute__((target(features))) static void name(long iterations) {                                  \
        __asm__ volatile(                                                                                  \
            "vzeroall\n\t" ZERO_UPPER LOOP(ZMM_24(instruction " %%zmm30, %%zmm31, %%zmm\\i")) "vzeroupper" \
            : "+r"(iterations)                                                                             \
            :                                                                                              \
            : "cc", ALL_YMM, UPPER_ZMM);                                                                   \
    }
LOOP_512(multiply_bytes_512, "avx512f,avx512vnni", "vpdpbusd")
LOOP_512(multiply_bf16_512, "avx512f,avx512bf16", "vdpbf16ps")

/* The compiler keeps nothing in tiles, so they are not listed as changed. */
#define LOOP_TILES(name, instruction)                                                                   \
    static void name(long iterations) {                                                                 \
        __asm__ volatile(".irp i,0,1,2,3,4,6\n\ttilezero %%tmm\\i\n\t.endr\n\t" LOOP(                   \
                             ".irp i,0,1,2,3\n\t" instruction " %%tmm6, %%tmm4, %%tmm\\i\n\t.endr\n\t") \
                         : "+r"(iterations)                                                             \
                         :                                                                              \
                         : "cc");                                                                       \
    }
LOOP_TILES(multiply_bytes_tiles, "tdpbusd")
LOOP_TILES(multiply_bf16_tiles, "tdpbf16ps")

/* `operations`: instructions of an iteration, times products of each, times two. */
static const struct bench_loop loops[] = {
    {"tdpbusd", "amxint8", true, multiply_bytes_tiles, 4 * 16 * 16 * 64 * 2, UK_STATE_TILES},
    {"tdpbf16ps", "amxbf16", false, multiply_bf16_tiles, 4 * 16 * 16 * 32 * 2, UK_STATE_TILES},
    {"vpdpbusd", "avx512vnni", true, multiply_bytes_512, 24 * 64 * 2, UK_STATE_NONE},
    {"vpdpbusd ymm", "avxvnni", true, multiply_bytes_256, 12 * 32 * 2, UK_STATE_NONE},
    {"vdpbf16ps", "avx512bf16", false, multiply_bf16_512, 24 * 32 * 2, UK_STATE_NONE},
    {"vpmaddwd", "avx2", true, multiply_words, 12 * 16 * 2, UK_STATE_NONE},
};

const struct bench_loop *bench_loop_of(enum bench_type type, const char *kernels) {
    const bool is_bytes = bench_is_bytes(type);
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++)
        if (loops[i].is_for_bytes == is_bytes && (is_bytes || type == BENCH_BF16) &&
            strstr(kernels, loops[i].kernels))
            return &loops[i];
    return NULL;
}
