/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The measured instruction sets of x86-64: loops on registers, and simple loops over memory.
 *
 * AVX-512 uses 24 accumulators (2 pipes x 4 cycles need 8; kernels have 24), AVX2 12, which leaves registers
 * for the two factors. SSE2 has no fused multiply-add: 7 multiplications and 7 additions count as 14
 * operations on 4 lanes.
 */
#include "bench.h"

static bool has_sse2(void) {
    return true;
}

static bool has_avx2(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool has_avx512(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f");
}

/* ---- registers ---- */

/* The accumulators start at zero, as denormal values could slow the loop down. */
#define ZERO512(i) "vpxorq %%zmm" #i ", %%zmm" #i ", %%zmm" #i "\n\t"
#define FMA512(i) "vfmadd231ps %%zmm30, %%zmm31, %%zmm" #i "\n\t"
#define FMA512_8(a, b, c, d, e, f, g, h) \
    FMA512(a) FMA512(b) FMA512(c) FMA512(d) FMA512(e) FMA512(f) FMA512(g) FMA512(h)
#define FMA512_24                    \
    FMA512_8(0, 1, 2, 3, 4, 5, 6, 7) \
    FMA512_8(8, 9, 10, 11, 12, 13, 14, 15) FMA512_8(16, 17, 18, 19, 20, 21, 22, 23)

__attribute__((target("avx512f"))) static void iterate_avx512(long iterations) {
    __asm__ volatile("vzeroall\n\t" ZERO512(16) ZERO512(17) ZERO512(18) ZERO512(19) ZERO512(20) ZERO512(21)
                         ZERO512(22) ZERO512(23) ZERO512(30)
                             ZERO512(31) "\n"
                                         "1:\n\t" FMA512_24 FMA512_24 FMA512_24 FMA512_24 FMA512_24
                                         "dec %0\n\t"
                                         "jnz 1b\n\t"
                                         "vzeroupper"
                     : "+r"(iterations)
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

__attribute__((target("avx2,fma"))) static void iterate_avx2(long iterations) {
    __asm__ volatile("vzeroall\n"
                     "1:\n\t" FMA256_60 FMA256_60 "dec %0\n\t"
                     "jnz 1b\n\t"
                     "vzeroupper"
                     : "+r"(iterations)
                     :
                     : "cc", "ymm0", "ymm1", "ymm2", "ymm3", "ymm4", "ymm5", "ymm6", "ymm7", "ymm8", "ymm9",
                       "ymm10", "ymm11", "ymm12", "ymm13", "ymm14", "ymm15");
}

#define ZERO128(i) "xorps %%xmm" #i ", %%xmm" #i "\n\t"
#define PAIR128(m, a) "mulps %%xmm14, %%xmm" #m "\n\taddps %%xmm15, %%xmm" #a "\n\t"
#define PAIRS128 \
    PAIR128(0, 7) PAIR128(1, 8) PAIR128(2, 9) PAIR128(3, 10) PAIR128(4, 11) PAIR128(5, 12) PAIR128(6, 13)
#define PAIRS128_5 PAIRS128 PAIRS128 PAIRS128 PAIRS128 PAIRS128

static void iterate_sse2(long iterations) {
    /* Dirty upper halves of registers would slow every instruction down. */
    if (has_avx2())
        __asm__ volatile("vzeroupper");
    __asm__ volatile(ZERO128(0) ZERO128(1) ZERO128(2) ZERO128(3) ZERO128(4) ZERO128(5) ZERO128(6) ZERO128(7)
                         ZERO128(8) ZERO128(9) ZERO128(10) ZERO128(11) ZERO128(12) ZERO128(13) ZERO128(14)
                             ZERO128(15) "\n"
                                         "1:\n\t" PAIRS128_5 PAIRS128_5 "dec %0\n\t"
                                         "jnz 1b"
                     : "+r"(iterations)
                     :
                     : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
                       "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
}

/* ---- memory ---- */

/* Four vector loads per iteration. */
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

#define LOADS(name, move, v, width, last)                                  \
    static void load_##name(const float *from, size_t bytes) {             \
        const float *to = from;                                            \
                                                                           \
        LOOP(LOAD(move, v, width), width, last);                           \
    }                                                                      \
    static void store_##name(const float *from, float *to, size_t bytes) { \
        LOOP(LOAD(move, v, width) STORE(move, v, width), width, last);     \
    }
LOADS(sse2, "movups", "xmm", 16, "")
LOADS(avx2, "vmovups", "ymm", 32, "vzeroupper")
LOADS(avx512, "vmovups", "zmm", 64, "vzeroupper")

/* `operations` counts two per lane of a multiply-add. Peers' names: OpenBLAS's core, MKL's and
 * oneDNN's instruction sets, BLIS 0.9's arch_t (penryn, haswell, skx), LIBXSMM's target. */
const struct bench_isa bench_isas[] = {
    {"SSE2",
     "generic",
     "",
     has_sse2,
     iterate_sse2,
     14 * 10 * 4,
     load_sse2,
     store_sse2,
     {"NEHALEM", "SSE4_2", "5", "sse4", "SSE41", "SSE41", "SSE41"}},
    {"AVX2",
     "avx2",
     "avx2,fma",
     has_avx2,
     iterate_avx2,
     12 * 10 * 8 * 2,
     load_avx2,
     store_avx2,
     {"HASWELL", "AVX2", "3", "hsw", "AVX2", "AVX2", "AVX2"}},
    {"AVX-512",
     "avx512",
     "avx512f",
     has_avx512,
     iterate_avx512,
     24 * 5 * 16 * 2,
     load_avx512,
     store_avx512,
     {"SKYLAKEX", NULL, "0", NULL, NULL, "AVX512_CORE_VNNI", "AVX512_CORE_FP16"}},
};
const int bench_isa_count = sizeof bench_isas / sizeof *bench_isas;
