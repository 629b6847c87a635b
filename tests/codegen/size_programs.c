/* SPDX-License-Identifier: Apache-2.0 */
/* Products with automatic schedules, and with each way to pack blocks of operands. */
#include <stddef.h>
#include "sizes.h"

/* `left` and `right` are the expressions for A and B in the statement. */
#define MATMUL(shape_a, shape_b, assign, left, right) \
    "tensor A f32 [" shape_a "] stride [lda, 1]\n"    \
    "tensor B f32 [" shape_b "] stride [ldb, 1]\n"    \
    "tensor C f32 [M, N] stride [ldc, 1]\n"           \
    "C[m, n] " assign " sum(k) A[" left "] * B[" right "]\n"
#define SMALL "size M = 64, N = 64, K = 64\n"
#define LARGE "size M = 2048, N = 2048, K = 2048\n"
#define PLAIN(assign) MATMUL("M, K", "K, N", assign, "m, k", "k, n")

/* Blocks so small that the sizes have several and a partial one in every direction. */
#define BLOCKS(steps)           \
    "schedule\n"                \
    "  split C.n 96 -> nc n1\n" \
    "  split C.k 31 -> kc ki\n" \
    "  split C.m 42 -> mc m1\n" steps
#define PACK_BOTH(rows, columns, more, kernel)   \
    BLOCKS("  split n1 " columns " -> no ni\n"   \
           "  split m1 " rows " -> mo mi\n"      \
           "  reorder nc kc mc no mo mi ni ki\n" \
           "  pack B at kc panel " columns "\n"  \
           "  pack A at mc panel " rows "\n" more "  tensorize mi " kernel "\n")
#define PACK_B(rows, columns, more, kernel)      \
    BLOCKS("  split n1 " columns " -> no ni\n"   \
           "  split m1 " rows " -> mo mi\n"      \
           "  reorder nc kc mc mo no mi ni ki\n" \
           "  pack B at kc panel " columns "\n" more "  tensorize mi " kernel "\n")
#define PACK_PANELS(rows, columns, more, kernel) \
    BLOCKS("  split n1 " columns " -> no ni\n"   \
           "  split m1 " rows " -> mo mi\n"      \
           "  reorder kc nc no mc mo mi ni ki\n" \
           "  pack B at no panel " columns "\n" more "  tensorize mi " kernel "\n")
#define PACK_NONE(rows, columns, more, kernel) \
    BLOCKS("  split n1 " columns " -> no ni\n" \
           "  split m1 " rows " -> mo mi\n"    \
           "  reorder nc kc mc mo no mi ni ki\n" more "  tensorize mi " kernel "\n")

const struct program size_programs[] = {
    {.name = "auto, AVX-512", .target = "x86_64-avx512", .text = PLAIN("=")},
    {.name = "auto, AVX-512, adding", .target = "x86_64-avx512", .text = PLAIN("+="), .adds = true},
    {.name = "auto, AVX-512, 2 threads", .target = "x86_64-avx512", .text = PLAIN("="), .threads = 2},
    {.name = "auto, AVX-512, A transposed",
     .target = "x86_64-avx512",
     .text = MATMUL("K, M", "K, N", "=", "k, m", "k, n"),
     .a_transposed = true},
    {.name = "auto, AVX-512, B transposed",
     .target = "x86_64-avx512",
     .text = MATMUL("M, K", "N, K", "+=", "m, k", "n, k"),
     .adds = true,
     .b_transposed = true},
    {.name = "auto for small sizes, AVX-512", .target = "x86_64-avx512", .text = SMALL PLAIN("=")},
    {.name = "auto for small sizes, AVX-512, adding",
     .target = "x86_64-avx512",
     .text = SMALL PLAIN("+="),
     .adds = true},
    {.name = "auto for small sizes, AVX-512, A transposed",
     .target = "x86_64-avx512",
     .text = SMALL MATMUL("K, M", "K, N", "=", "k, m", "k, n"),
     .a_transposed = true},
    {.name = "auto for large sizes, AVX-512", .target = "x86_64-avx512", .text = LARGE PLAIN("=")},
    {.name = "auto for small sizes, AVX2", .target = "x86_64-avx2", .text = SMALL PLAIN("=")},
    {.name = "auto for large sizes, AVX2, 2 threads",
     .target = "x86_64-avx2",
     .text = LARGE PLAIN("+="),
     .adds = true,
     .threads = 2},
    {.name = "auto, AVX2", .target = "x86_64-avx2", .text = PLAIN("=")},
    {.name = "auto, AVX2, adding", .target = "x86_64-avx2", .text = PLAIN("+="), .adds = true},
    {.name = "auto, AVX2, both transposed",
     .target = "x86_64-avx2",
     .text = MATMUL("K, M", "N, K", "=", "k, m", "n, k"),
     .a_transposed = true,
     .b_transposed = true},
    {.name = "both packed, AVX-512",
     .target = "x86_64-avx512",
     .text = PLAIN("="),
     .schedule = PACK_BOTH("14", "32", "", "uk_sgemm_14x32_avx512_asm")},
    {.name = "both packed, AVX-512, adding, parallel",
     .target = "x86_64-avx512",
     .text = PLAIN("+="),
     .schedule = PACK_BOTH("14", "32", "  parallel mc\n", "uk_sgemm_14x32_avx512_asm"),
     .adds = true},
    {.name = "rows of A in place, AVX-512",
     .target = "x86_64-avx512",
     .text = PLAIN("="),
     .schedule = PACK_B("14", "32", "", "uk_sgemm_ra_14x32_avx512_asm")},
    {.name = "both packed, AVX2",
     .target = "x86_64-avx2",
     .text = PLAIN("="),
     .schedule = PACK_BOTH("6", "16", "", "uk_sgemm_6x16_avx2_asm")},
    {.name = "both packed, AVX2, 4x24, adding",
     .target = "x86_64-avx2",
     .text = PLAIN("+="),
     .schedule = PACK_BOTH("4", "24", "", "uk_sgemm_4x24_avx2_asm"),
     .adds = true},
    {.name = "both packed, PeachPy, parallel",
     .target = "x86_64-avx2",
     .text = PLAIN("="),
     .schedule = PACK_BOTH("6", "16", "  parallel mc\n", "uk_sgemm_6x16_avx2_peachpy")},
    {.name = "rows of A in place, AVX2, parallel",
     .target = "x86_64-avx2",
     .text = PLAIN("="),
     .schedule = PACK_B("6", "16", "  parallel mc\n", "uk_sgemm_ra_6x16_avx2_asm")},
    {.name = "the first rows pack B, AVX-512, blocks of each thread",
     .target = "x86_64-avx512",
     .text = PLAIN("="),
     .schedule = PACK_B("14", "32", "  parallel nc\n", "uk_sgemm_ra_14x32_avx512_asm")},
    {.name = "the first rows pack B panel by panel, AVX-512, adding",
     .target = "x86_64-avx512",
     .text = PLAIN("+="),
     .schedule = PACK_PANELS("14", "32", "", "uk_sgemm_ra_14x32_avx512_asm"),
     .adds = true},
    {.name = "the first rows pack B panel by panel, AVX2",
     .target = "x86_64-avx2",
     .text = PLAIN("="),
     .schedule = PACK_PANELS("6", "16", "", "uk_sgemm_ra_6x16_avx2_asm")},
    {.name = "rows of A in place, B packed before, AVX2, adding",
     .target = "x86_64-avx2",
     .text = PLAIN("+="),
     .schedule = PACK_B("6", "16", "  tensorize B_packed.d1 uk_spack_n_1x16_avx2_intrin\n",
                        "uk_sgemm_ra_6x16_avx2_asm"),
     .adds = true},
    {.name = "both in place, AVX-512",
     .target = "x86_64-avx512",
     .text = PLAIN("="),
     .schedule = PACK_NONE("14", "32", "", "uk_sgemm_rab_14x32_avx512_asm")},
    {.name = "both in place, AVX2, adding, parallel",
     .target = "x86_64-avx2",
     .text = PLAIN("+="),
     .schedule = PACK_NONE("6", "16", "  parallel mc\n", "uk_sgemm_rab_6x16_avx2_asm"),
     .adds = true},
};
const int size_program_count = sizeof size_programs / sizeof *size_programs;
