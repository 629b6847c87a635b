/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops for x86-64. Registers:
 *
 * - 0-4, 10-14: ten accumulators, which hide the latency of two multiply-adds per cycle (up to five cycles)
 * - 8, 9: operands
 * - 7: a mask
 * - 15: destination that is never read
 *
 * All are 0, because subnormal numbers would take extra time. A multiply-add of SSE2 is a multiplication and
 * an addition.
 */
#include "measure.h"

#define REPEAT(n, body) ".rept " #n "\n\t" body ".endr\n\t"
#define FIVE(body) ".irp i,0,1,2,3,4\n\t" body ".endr\n\t"
#define EIGHT(body) ".irp i,0,1,2,3,4,5,6,7\n\t" body ".endr\n\t"

#define LOOP(name, start, body, end)                                                                         \
    static void name(long iterations, char *memory) {                                                        \
        __asm__ volatile(start "1:\n\t" body "dec %0\n\t"                                                    \
                               "jnz 1b\n\t" end                                                              \
                         : "+r"(iterations), "+r"(memory)                                                    \
                         :                                                                                   \
                         : "cc", "memory", "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "xmm0", "xmm1",    \
                           "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", \
                           "xmm12", "xmm13", "xmm14", "xmm15");                                              \
    }

/* A and B: multiply-adds on independent registers; 0: on register 0 alone. */
#define FMA_A(v) "vfmadd231ps %%" v "8, %%" v "9, %%" v "\\i\n\t"
#define FMA_B(v) "vfmadd231ps %%" v "8, %%" v "9, %%" v "1\\i\n\t"
#define FMA_0(v) "vfmadd231ps %%" v "8, %%" v "9, %%" v "0\n\t"
#define SHUFFLE(v) "vunpcklps %%" v "8, %%" v "9, %%" v "15\n\t"
#define SSE_A(v) "mulps %%xmm8, %%xmm\\i\n\taddps %%xmm9, %%xmm1\\i\n\t"
#define SSE_B(v) "mulps %%xmm8, %%xmm1\\i\n\taddps %%xmm9, %%xmm\\i\n\t"
#define SSE_0(v) "mulps %%xmm8, %%xmm0\n\taddps %%xmm9, %%xmm0\n\t"
#define SSE_SHUFFLE(v) "movaps %%xmm8, %%xmm15\n\tunpcklps %%xmm9, %%xmm15\n\t"

#define LOOPS(set, v, width, move, a, b, zero, shuffle, merge, start, end)                                \
    LOOP(set##_fma, start, REPEAT(4, FIVE(a(v) b(v))), end)                                               \
    LOOP(set##_fma_chain, start, REPEAT(20, zero(v)), end)                                                \
    LOOP(set##_shuffle, start, REPEAT(40, shuffle(v)), end)                                               \
    LOOP(set##_fma_shuffle, start, REPEAT(4, FIVE(a(v) shuffle(v) b(v) shuffle(v))), end)                 \
    LOOP(set##_fma2_shuffle, start, REPEAT(4, FIVE(a(v) b(v) shuffle(v))), end)                           \
    LOOP(set##_load, start, REPEAT(5, EIGHT(move " " width "*\\i(%1), %%" v "15\n\t")), end)              \
    LOOP(set##_store, start, REPEAT(5, EIGHT(move " %%" v "8, " width "*\\i(%1)\n\t")), end)              \
    LOOP(set##_lines, start, REPEAT(5, EIGHT(move " 64*\\i(%1), %%" v "15\n\t")), end)                    \
    LOOP(set##_fma5_line, start,                                                                          \
         REPEAT(4, FIVE(a(v)) move " (%1), %%" v "15\n\t" FIVE(b(v)) move " 64(%1), %%" v "15\n\t"), end) \
    LOOP(set##_merge, start, REPEAT(5, EIGHT(merge(width))), end)                                         \
    LOOP(set##_fma2_merge, start, REPEAT(4, FIVE(a(v) b(v) merge(width))), end)                           \
    LOOP(set##_read, start, EIGHT(move " " width "*\\i(%1), %%" v "15\n\t") "add $8*" width ", %1\n\t", end)

#define AVX_START "vzeroall\n\tvpcmpeqd %%ymm7, %%ymm7, %%ymm7\n\t"
#define AVX512_START "vzeroall\n\tmov $0xffff, %%eax\n\tkmovw %%eax, %%k1\n\t"
#define SSE_START ".irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n\txorps %%xmm\\i, %%xmm\\i\n\t.endr\n\t"
#define AVX_MERGE(width) "vmaskmovps " width "*\\i(%1), %%ymm7, %%ymm15\n\t"
#define AVX512_MERGE(width) "vmovups " width "*\\i(%1), %%zmm15%{%%k1%}%{z%}\n\t"
/* Keeps the other half and depends on it, so at most one per cycle. */
#define SSE_MERGE(width) "movhps " width "*\\i(%1), %%xmm15\n\t"

LOOPS(sse2, "xmm", "16", "movups", SSE_A, SSE_B, SSE_0, SSE_SHUFFLE, SSE_MERGE, SSE_START, "")
LOOPS(avx2, "ymm", "32", "vmovups", FMA_A, FMA_B, FMA_0, SHUFFLE, AVX_MERGE, AVX_START, "vzeroupper\n\t")
LOOPS(avx512, "zmm", "64", "vmovups", FMA_A, FMA_B, FMA_0, SHUFFLE, AVX512_MERGE, AVX512_START,
      "vzeroupper\n\t")

/* Of 8 instructions, 4 are additions, 2 logical vector operations and 2 loads. That is few enough of each
 * kind for the units of 8-wide cores, and no adjacent two can be fused. */
#define MIXED                                                        \
    "add %%r8, %%rax\n\tandps %%xmm8, %%xmm0\n\tmov (%1), %%r10\n\t" \
    "add %%r8, %%rcx\n\tadd %%r8, %%rdx\n\tandps %%xmm8, %%xmm1\n\t" \
    "mov 8(%1), %%r11\n\tadd %%r8, %%r9\n\t"
LOOP(issue, SSE_START, REPEAT(10, MIXED), "")

#define DOT_A "vdpbf16ps %%zmm8, %%zmm9, %%zmm\\i\n\t"
#define DOT_B "vdpbf16ps %%zmm8, %%zmm9, %%zmm1\\i\n\t"
LOOP(avx512_bf16, AVX512_START, REPEAT(4, FIVE(DOT_A DOT_B)), "vzeroupper\n\t")

/* Tiles 4 to 7 are operands. */
#define TILE(sum) "tdpbusd %%tmm6, %%tmm4, %%tmm" #sum "\n\t"
#define TILE_LOAD(tile) "tileloadd (%1,%%rax), %%tmm" #tile "\n\t"
#define TILE_START "mov $64, %%eax\n\t" TILE_LOAD(4) TILE_LOAD(6)
LOOP(tile, TILE_START, REPEAT(4, TILE(0) TILE(1) TILE(2) TILE(3)), "")
LOOP(tile_chain, TILE_START, REPEAT(16, TILE(0)), "")
LOOP(tile_load, TILE_START, REPEAT(4, TILE_LOAD(4) TILE_LOAD(5) TILE_LOAD(6) TILE_LOAD(7)), "")

#define ROWS(set, width, features)                                                       \
    {UK_MICRO_FMA, width, features, UK_STATE_NONE, 40, set##_fma},                       \
        {UK_MICRO_FMA_CHAIN, width, features, UK_STATE_NONE, 20, set##_fma_chain},       \
        {UK_MICRO_SHUFFLE, width, features, UK_STATE_NONE, 40, set##_shuffle},           \
        {UK_MICRO_FMA_SHUFFLE, width, features, UK_STATE_NONE, 40, set##_fma_shuffle},   \
        {UK_MICRO_FMA2_SHUFFLE, width, features, UK_STATE_NONE, 20, set##_fma2_shuffle}, \
        {UK_MICRO_LOAD, width, features, UK_STATE_NONE, 40, set##_load},                 \
        {UK_MICRO_STORE, width, features, UK_STATE_NONE, 40, set##_store},               \
        {UK_MICRO_LINES, width, features, UK_STATE_NONE, 40, set##_lines},               \
        {UK_MICRO_FMA5_LINE, width, features, UK_STATE_NONE, 8, set##_fma5_line},        \
        {UK_MICRO_MERGE, width, features, UK_STATE_NONE, 40, set##_merge},               \
        {UK_MICRO_FMA2_MERGE, width, features, UK_STATE_NONE, 20, set##_fma2_merge}, {   \
        UK_MICRO_READ, width, features, UK_STATE_NONE, 8, set##_read                     \
    }

const struct uk_micro uk_micros[] = {
    {UK_MICRO_ISSUE, 0, "", UK_STATE_NONE, 80, issue},
    ROWS(sse2, 16, ""),
    ROWS(avx2, 32, "avx2,fma"),
    ROWS(avx512, 64, "avx512f"),
    {UK_MICRO_BF16, 64, "avx512bf16", UK_STATE_NONE, 40, avx512_bf16},
    {UK_MICRO_TILE, 0, "amx-int8", UK_STATE_TILES, 16, tile},
    {UK_MICRO_TILE_CHAIN, 0, "amx-int8", UK_STATE_TILES, 16, tile_chain},
    {UK_MICRO_TILE_LOAD, 0, "amx-tile", UK_STATE_TILES, 16, tile_load},
    {0},
};
