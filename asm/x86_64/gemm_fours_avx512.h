/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contiguous rows of 4 floats times a 4 x 4 matrix, as resolved calls of the kernels for 4 columns: four rows
 * share a vector.
 *
 *     zmm16        rows of C
 *     zmm17 .. 20  rows of B, each repeated in all lanes
 *     zmm21        rows of A; zmm16 and zmm22 .. 24 have one element of each row, repeated in its lane
 *
 * Bound: 4 multiply-adds and 4 shuffles for 4 rows. The kernels' general code takes 16 multiply-adds of a
 * quarter of a vector, or 4 with a load, a mask and a store for each row. Registers from 16 on need no
 * vzeroupper. The sums begin with 0, so that a product of -0 is added to 0 as in every other kernel. Four
 * rows take 10 cycles with the call; a taken jump costs 2 of them and each line of code 1. So the code is two
 * lines long, and the rarer cases (adding to C; rows that are no multiple of four) lie in another section.
 */
/* clang-format off */
#define FOUR(mask)                                                                                           \
    "vmovups (%[a]), %%zmm21" mask "\n\t"                                                                   \
    "vpermilps $0x00, %%zmm21, %%zmm16\n\t"                                                                 \
    "vpermilps $0x55, %%zmm21, %%zmm22\n\t"                                                                 \
    "vpermilps $0xaa, %%zmm21, %%zmm23\n\t"                                                                 \
    "vpermilps $0xff, %%zmm21, %%zmm24\n\t"                                                                 \
    "vfmadd213ps %%zmm0, %%zmm17, %%zmm16\n\t"                                                              \
    "vfmadd231ps %%zmm22, %%zmm18, %%zmm16\n\t"                                                             \
    "vfmadd231ps %%zmm23, %%zmm19, %%zmm16\n\t"                                                             \
    "vfmadd231ps %%zmm24, %%zmm20, %%zmm16\n\t"
#define B_OF_FOUR                                                                                            \
    "vpxor %%xmm0, %%xmm0, %%xmm0\n\t"                                                                      \
    "vbroadcastf32x4 (%[b]), %%zmm17\n\t"                                                                  \
    "vbroadcastf32x4 (%[b], %[ldb]), %%zmm18\n\t"                                                          \
    "vbroadcastf32x4 (%[b], %[ldb], 2), %%zmm19\n\t"                                                       \
    "add %[ldb], %[b]\n\t"                                                                                 \
    "vbroadcastf32x4 (%[b], %[ldb], 2), %%zmm20\n\t"
#define ON_BY_FOUR "add $64, %[a]\n\tadd $64, %[c]\n\tsub $4, %[left]\n\t"
#define CHANGED_BY_FOUR                                                                                      \
    "memory", "cc", "xmm0", "zmm16", "zmm17", "zmm18", "zmm19", "zmm20", "zmm21", "zmm22", "zmm23", "zmm24"
/* Four rows. */
__attribute__((aligned(64))) static int
run_four(const struct uk_small_call *s, const void *a, const void *b, void *c, int acc) {
    __asm__ volatile(B_OF_FOUR
                     FOUR("")
                     "test %[acc], %[acc]\n\t"
                     "jne 2f\n"
                     "1:\n\t"
                     "vmovups %%zmm16, (%[c])\n\t"
                     ".subsection 1\n"
                     "2:\n\t"
                     "vaddps (%[c]), %%zmm16, %%zmm16\n\t"
                     "jmp 1b\n\t"
                     ".previous\n\t"
                     : [b] "+&r"(b)
                     : [a] "r"(a), [c] "r"(c), [ldb] "r"(s->ldb), [acc] "r"(acc)
                     : CHANGED_BY_FOUR);
    return 0;
}

/* Any number of rows. */
__attribute__((aligned(64))) static int
run_fours(const struct uk_small_call *s, const void *a, const void *b, void *c, int acc) {
    int64_t left = s->m;

    __asm__ volatile(B_OF_FOUR
                     "sub $4, %[left]\n\t"
                     "jl 3f\n\t"
                     "test %[acc], %[acc]\n\t"
                     "jne 2f\n"
                     "1:\n\t"
                     FOUR("")
                     "vmovups %%zmm16, (%[c])\n\t"
                     ON_BY_FOUR
                     "jge 1b\n\t"
                     "cmp $-4, %[left]\n\t"
                     "jne 3f\n"
                     "6:\n\t"
                     ".subsection 1\n"
                     "2:\n\t"
                     FOUR("")
                     "vaddps (%[c]), %%zmm16, %%zmm16\n\t"
                     "vmovups %%zmm16, (%[c])\n\t"
                     ON_BY_FOUR
                     "jge 2b\n\t"
                     "cmp $-4, %[left]\n\t"
                     "je 6b\n"
                     "3:\n\t"
                     "kmovw %c[rows_of_a](%[s]), %%k1\n\t"
                     FOUR("%{%%k1%}%{z%}")
                     "test %[acc], %[acc]\n\t"
                     "je 4f\n\t"
                     "vaddps (%[c]), %%zmm16, %%zmm16%{%%k1%}\n"
                     "4:\n\t"
                     "vmovups %%zmm16, (%[c])%{%%k1%}\n\t"
                     "jmp 6b\n\t"
                     ".previous\n\t"
                     : [left] "+&r"(left), [a] "+&r"(a), [b] "+&r"(b), [c] "+&r"(c)
                     : [s] "r"(s), [ldb] "r"(s->ldb), [acc] "r"(acc), AT(rows_of_a)
                     : "k1", CHANGED_BY_FOUR);
    return 0;
}
/* clang-format on */
/* True if the product is of this kind, and then prepared. If m is no multiple of four, rows_of_a becomes the
 * mask of the last rows' elements. */
static inline bool prepare_fours(struct uk_small_call *s, int64_t k, int64_t lda, int64_t ldb, int64_t ldc,
                                 int64_t m, int64_t n) {
    if (k != 4 || n != 4 || lda != 4 || ldc != 4)
        return false;
    s->ldb = size * ldb;
    s->m = m;
    s->rows_of_a = (1u << 4 * (m % 4)) - 1;
    s->run = m == 4 ? run_four : run_fours;
    return true;
}
