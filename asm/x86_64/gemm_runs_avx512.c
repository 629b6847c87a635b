/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums over several runs (UK_OP_sgemm_runs) for columns that leave tiles of 32 and 64 partly empty: 28 rows x
 * 1 vector of C, or 9 rows x 3 vectors; rows of A in place.
 *
 *     vectors  rows  sums of row i        b            a
 *     1        28    zmm<i>               zmm28        within the FMA
 *     3        9     zmm<3i> .. <3i + 2>  zmm27 .. 29  zmm31
 *
 * The sums stay in registers from one run to the next; what moves the pointers there is in memory, because a
 * run is long enough to hide the loads. Each k iteration prefetches a line from `next` on into L2.
 *
 * Bound: 28 FMAs and 30 loads per k iteration, or 27 and 13. At two 512-bit FMAs and two loads a cycle: 60
 * and 64 flop per cycle, of 64.
 *
 * Edges: the code of a k iteration begins with the last row, and each k iteration jumps to the last row that
 * the tile has. Panels of B have all columns, so only C is read and written under a mask.
 */
#include "registry/kernel_contract.h"
#include "../any/runs.h"
#include "element_avx512.h"

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#include "gemm_small_rows.h"

/* clang-format off */
/* DOWN: F(row, registers of its sums) from the last row to the first. A row's code begins at label 1<row>. */
#if UK_NR == V
#define ROWS(F) ROWS_1_28(F, , )
#define DOWN(F)                                                                                             \
    F(27, 27) F(26, 26) F(25, 25) F(24, 24) F(23, 23) F(22, 22) F(21, 21) F(20, 20) F(19, 19) F(18, 18)     \
    F(17, 17) F(16, 16) F(15, 15) F(14, 14) F(13, 13) F(12, 12) F(11, 11) F(10, 10) F(9, 9) F(8, 8)         \
    F(7, 7) F(6, 6) F(5, 5) F(4, 4) F(3, 3) F(2, 2) F(1, 1) F(0, 0)
#define FMA_ROW(i, x) "1" #i ":\n\tvfmadd231" P " " AT_ROW(i) "%{1to" VECTOR "%}, %%zmm28, %%zmm" #x "\n\t"
#define LOAD_B "vmovu" P " (%[b]), %%zmm28\n\t"
#define TO_A TO_21
#define A_ON ON_21
#define FAR_POINTERS , *a14, *a21
#define FAR_OPERANDS FAR_21
#define MASKS [mask] "Yk"((uint16_t)columns)
#define ZERO_ROW(u, n, i, x) Z(x)
#define ADD_ROW(u, n, i, x) ADD(0, x, "%{%[mask]%}") NEXT_ROW
#define STORE_ROW(u, n, i, x) STORE(0, x, "%{%[mask]%}") NEXT_ROW
#else
#define ROWS(F) ROWS_3_9(F, , )
#define DOWN(F)                                                                                             \
    F(8, 24, 25, 26) F(7, 21, 22, 23) F(6, 18, 19, 20) F(5, 15, 16, 17) F(4, 12, 13, 14) F(3, 9, 10, 11)    \
    F(2, 6, 7, 8) F(1, 3, 4, 5) F(0, 0, 1, 2)
#define FMA_ROW(i, x, y, z)                                                                                 \
    "1" #i ":\n\tvbroadcast" S " " AT_ROW(i) ", %%zmm31\n\t"                                                \
    "vfmadd231" P " %%zmm27, %%zmm31, %%zmm" #x "\n\t"                                                      \
    "vfmadd231" P " %%zmm28, %%zmm31, %%zmm" #y "\n\t"                                                      \
    "vfmadd231" P " %%zmm29, %%zmm31, %%zmm" #z "\n\t"
#define LOAD_B                                                                                              \
    "vmovu" P " (%[b]), %%zmm27\n\t"                                                                        \
    "vmovu" P " 64(%[b]), %%zmm28\n\t"                                                                      \
    "vmovu" P " 128(%[b]), %%zmm29\n\t"
#define TO_A TO_7
#define A_ON ON_7
#define FAR_POINTERS
#define FAR_OPERANDS FAR_7
#define MASKS                                                                                               \
    [mask] "Yk"((uint16_t)columns), [mask1] "Yk"((uint16_t)(columns >> V)), [mask2] "Yk"((uint16_t)(columns >> 2 * V))
#define ZERO_ROW(u, n, i, x, y, z) Z(x) Z(y) Z(z)
#define ADD_ROW(u, n, i, x, y, z)                                                                           \
    ADD(0, x, "%{%[mask]%}") ADD(64, y, "%{%[mask1]%}") ADD(128, z, "%{%[mask2]%}") NEXT_ROW
#define STORE_ROW(u, n, i, x, y, z)                                                                         \
    STORE(0, x, "%{%[mask]%}") STORE(64, y, "%{%[mask1]%}") STORE(128, z, "%{%[mask2]%}") NEXT_ROW
#endif
#define ADD(at, x, m) "vadd" P " " #at "(%[a0]), %%zmm" #x ", %%zmm" #x m "\n\t"
#define STORE(at, x, m) "vmovu" P " %%zmm" #x ", " #at "(%[a0])" m "\n\t"
/* Leaves after the tile's last row. */
#define NEXT_ROW                                                                                            \
    "dec %[k]\n\t"                                                                                          \
    "jz 7f\n\t"                                                                                             \
    "add %[ld], %[a0]\n\t"
#define EACH_OF_C(F)                                                                                        \
    "mov %[c], %[a0]\n\t"                                                                                   \
    "mov %[rows], %[k]\n\t" ROWS(F) "7:\n\t"
#define ENTRY(u, n, i, ...) ".long 1" #i "b - 4b\n\t"

static inline __attribute__((always_inline)) void tile(int64_t k, const element *a0, int64_t ld, const element *b,
                                                       element *c, int64_t ldc, int64_t acc, int64_t rows,
                                                       int64_t nr, struct runs r) {
    const uint64_t columns = ((uint64_t)1 << nr) - 1;
    const element *a7 FAR_POINTERS;
    int64_t ld3, ld5, entry;

    __asm__ volatile(ROWS(ZERO_ROW)
                     "test %[k], %[k]\n\t"
                     "jle 5f\n\t"
                     "mov %[rows], %[ld3]\n\t"
                     "lea 4f(%%rip), %[entry]\n\t"
                     "movslq -4(%[entry], %[ld3], 4), %[ld3]\n\t"
                     "add %[ld3], %[entry]\n\t"
                     TO_A
                     "2:\n\t"
                     ".p2align 5\n"
                     "3:\n\t" LOAD_B
                     "prefetcht1 (%[next])\n\t"
                     "jmp *%[entry]\n\t"
                     DOWN(FMA_ROW)
                     A_ON("$" BYTES)
                     "add $" BYTES "*" TEXT(UK_NR) ", %[b]\n\t"
                     "add $64, %[next]\n\t"
                     "dec %[k]\n\t"
                     "jnz 3b\n\t"
                     A_ON("%[a_on]")
                     "add %[b_on], %[b]\n\t"
                     "add %[next_on], %[next]\n\t"
                     "mov %[terms], %[k]\n\t"
                     "dec %[runs]\n\t"
                     "jnz 2b\n\t"
                     "jmp 5f\n\t"
                     ".p2align 2\n"
                     "4:\n\t" ROWS(ENTRY)
                     "5:\n\t"
                     "mov %[ldc], %[ld]\n\t"
                     "cmpq $0, %[acc]\n\t"
                     "je 6f\n\t"
                     EACH_OF_C(ADD_ROW)
                     "6:\n\t"
                     EACH_OF_C(STORE_ROW)
                     : [k] "+&r"(k), [a0] "+&r"(a0), [ld] "+&r"(ld), [b] "+&r"(b), [runs] "+&r"(r.runs),
                       [next] "+&r"(r.next), [entry] "=&r"(entry) FAR_OPERANDS
                     : [terms] "m"(r.terms), [a_on] "m"(r.a_on), [b_on] "m"(r.b_on), [next_on] "m"(r.next_on),
                       [c] "m"(c), [ldc] "m"(ldc), [acc] "m"(acc), [rows] "m"(rows), MASKS
                     : "memory", "cc", "zmm0", "zmm1", "zmm2", "zmm3", "zmm4", "zmm5", "zmm6", "zmm7", "zmm8",
                       "zmm9", "zmm10", "zmm11", "zmm12", "zmm13", "zmm14", "zmm15", "zmm16", "zmm17", "zmm18",
                       "zmm19", "zmm20", "zmm21", "zmm22", "zmm23", "zmm24", "zmm25", "zmm26", "zmm27", "zmm28",
                       "zmm29", "zmm30", "zmm31");
}
/* clang-format on */

void UK_SYMBOL(int64_t runs, int64_t k, const element *a, int64_t lda, int64_t lds, const element *b,
               int64_t ldb, element *c, int64_t ldc, int64_t acc, int64_t mr, int64_t nr, int64_t next) {
    const struct runs r = {runs, k, size * (lds - k), size * (ldb - UK_NR * k), next, size * ldb - 64 * k};

    tile(runs > 0 ? k : 0, a, size * lda, b, c, size * ldc, acc, mr, nr, r);
}
