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

#define AVX2 "x86_64-avx2"
#define AVX512 "x86_64-avx512"

const struct program size_programs[] = {
    {"auto, AVX-512", AVX512, .text = PLAIN("=")},
    {"auto, AVX-512, adding", AVX512, PLAIN("+="), .adds = true},
    {"auto, AVX-512, 2 threads", AVX512, PLAIN("="), .threads = 2},
    {"auto, AVX-512, A transposed", AVX512, MATMUL("K, M", "K, N", "=", "k, m", "k, n"),
     .a_transposed = true},
    {"auto, AVX-512, B transposed", AVX512, MATMUL("M, K", "N, K", "+=", "m, k", "n, k"), .adds = true,
     .b_transposed = true},
    {"auto for small sizes, AVX-512", AVX512, .text = SMALL PLAIN("=")},
    {"auto for small sizes, AVX-512, adding", AVX512, SMALL PLAIN("+="), .adds = true},
    {"auto for small sizes, AVX-512, A transposed", AVX512, SMALL MATMUL("K, M", "K, N", "=", "k, m", "k, n"),
     .a_transposed = true},
    {"auto for large sizes, AVX-512", AVX512, .text = LARGE PLAIN("=")},
    {"auto for small sizes, AVX2", AVX2, .text = SMALL PLAIN("=")},
    {"auto for large sizes, AVX2, 2 threads", AVX2, LARGE PLAIN("+="), .adds = true, .threads = 2},
    {"auto, AVX2", AVX2, .text = PLAIN("=")},
    {"auto, AVX2, adding", AVX2, PLAIN("+="), .adds = true},
    {"auto, AVX2, both transposed", AVX2, MATMUL("K, M", "N, K", "=", "k, m", "n, k"), .a_transposed = true,
     .b_transposed = true},
    {"both packed, AVX-512", AVX512, PLAIN("="),
     .schedule = PACK_BOTH("14", "32", "", "uk_sgemm_14x32_avx512_asm")},
    {"both packed, AVX-512, adding, parallel", AVX512, PLAIN("+="),
     PACK_BOTH("14", "32", "  parallel mc\n", "uk_sgemm_14x32_avx512_asm"), .adds = true},
    {"rows of A in place, AVX-512", AVX512, PLAIN("="),
     .schedule = PACK_B("14", "32", "", "uk_sgemm_ra_14x32_avx512_asm")},
    {"both packed, AVX2", AVX2, PLAIN("="), .schedule = PACK_BOTH("6", "16", "", "uk_sgemm_6x16_avx2_asm")},
    {"both packed, AVX2, 4x24, adding", AVX2, PLAIN("+="), PACK_BOTH("4", "24", "", "uk_sgemm_4x24_avx2_asm"),
     .adds = true},
    {"both packed, PeachPy, parallel", AVX2, PLAIN("="),
     .schedule = PACK_BOTH("6", "16", "  parallel mc\n", "uk_sgemm_6x16_avx2_peachpy")},
    {"rows of A in place, AVX2, parallel", AVX2, PLAIN("="),
     .schedule = PACK_B("6", "16", "  parallel mc\n", "uk_sgemm_ra_6x16_avx2_asm")},
    {"the first rows pack B, AVX-512, blocks of each thread", AVX512, PLAIN("="),
     .schedule = PACK_B("14", "32", "  parallel nc\n", "uk_sgemm_ra_14x32_avx512_asm")},
    {"the first rows pack B panel by panel, AVX-512, adding", AVX512, PLAIN("+="),
     PACK_PANELS("14", "32", "", "uk_sgemm_ra_14x32_avx512_asm"), .adds = true},
    {"the first rows pack B panel by panel, AVX2", AVX2, PLAIN("="),
     .schedule = PACK_PANELS("6", "16", "", "uk_sgemm_ra_6x16_avx2_asm")},
    {"rows of A in place, B packed before, AVX2, adding", AVX2, PLAIN("+="),
     PACK_B("6", "16", "  tensorize B_packed.d1 uk_spack_n_1x16_avx2_intrin\n", "uk_sgemm_ra_6x16_avx2_asm"),
     .adds = true},
    {"both in place, AVX-512", AVX512, PLAIN("="),
     .schedule = PACK_NONE("14", "32", "", "uk_sgemm_rab_14x32_avx512_asm")},
    {"both in place, AVX2, adding, parallel", AVX2, PLAIN("+="),
     PACK_NONE("6", "16", "  parallel mc\n", "uk_sgemm_rab_6x16_avx2_asm"), .adds = true},
};
const int size_program_count = sizeof size_programs / sizeof *size_programs;
