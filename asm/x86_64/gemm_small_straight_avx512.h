/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resolved calls with up to UK_NR <= 8 rows and k iterations: straight-line code for each number of rows and
 * of k iterations, without a loop or a jump.
 *
 *     sums    row i: zmm<24 + i>, or its part
 *     b       row p: zmm<16 + p>, loaded once
 *     a       within the FMA
 *
 * Bound: the FMAs, two a cycle: 8 x 8 x 8 takes 32 cycles, 36 with the call. Smaller products take a cycle
 * for each line of code and two for each jump, and every other instruction may take an FMA's issue slot.
 * Hence:
 *
 * - An element of A is a memory operand of its FMA, without an index: with one, the FMA would be two of the
 *   six operations that issue in a cycle.
 * - Each of four rows at a time has its own pointer, so that eight sums are in flight even if another thread
 *   shares the core's queues.
 * - Nothing is computed from k.
 * - Registers from 16 on are used, which need no vzeroupper.
 */
/* clang-format off */
/* F(k iteration, its register of b, ...) for the first k iterations. */
#define K_ITERATIONS_1(F, ...) F(0, 16, __VA_ARGS__)
#define K_ITERATIONS_2(F, ...) K_ITERATIONS_1(F, __VA_ARGS__) F(1, 17, __VA_ARGS__)
#define K_ITERATIONS_3(F, ...) K_ITERATIONS_2(F, __VA_ARGS__) F(2, 18, __VA_ARGS__)
#define K_ITERATIONS_4(F, ...) K_ITERATIONS_3(F, __VA_ARGS__) F(3, 19, __VA_ARGS__)
#define K_ITERATIONS_5(F, ...) K_ITERATIONS_4(F, __VA_ARGS__) F(4, 20, __VA_ARGS__)
#define K_ITERATIONS_6(F, ...) K_ITERATIONS_5(F, __VA_ARGS__) F(5, 21, __VA_ARGS__)
#define K_ITERATIONS_7(F, ...) K_ITERATIONS_6(F, __VA_ARGS__) F(6, 22, __VA_ARGS__)
#define K_ITERATIONS_8(F, ...) K_ITERATIONS_7(F, __VA_ARGS__) F(7, 23, __VA_ARGS__)
/* Loads the rows of b under the mask, two per address. */
#define LOAD_EVEN(b) "vmovu" P " (%[b]), %%" W "mm" #b "%{%%k1%}%{z%}\n\t"
#define LOAD_ODD(b) "vmovu" P " (%[b], %[ld]), %%" W "mm" #b "%{%%k1%}%{z%}\n\t"
#define ON_B "lea (%[b], %[ld], 2), %[b]\n\t"
#define LOAD_2(b, c) LOAD_EVEN(b) LOAD_ODD(c) ON_B
#define B_OF_1 LOAD_EVEN(16)
#define B_OF_2 LOAD_EVEN(16) LOAD_ODD(17)
#define B_OF_3 LOAD_2(16, 17) LOAD_EVEN(18)
#define B_OF_4 LOAD_2(16, 17) LOAD_EVEN(18) LOAD_ODD(19)
#define B_OF_5 LOAD_2(16, 17) LOAD_2(18, 19) LOAD_EVEN(20)
#define B_OF_6 LOAD_2(16, 17) LOAD_2(18, 19) LOAD_EVEN(20) LOAD_ODD(21)
#define B_OF_7 LOAD_2(16, 17) LOAD_2(18, 19) LOAD_2(20, 21) LOAD_EVEN(22)
#define B_OF_8 LOAD_2(16, 17) LOAD_2(18, 19) LOAD_2(20, 21) LOAD_EVEN(22) LOAD_ODD(23)
/* One to four rows, of k iterations each. */
#define FMA_OF(p, b, a, x)                                                                                  \
    "vfmadd231" P " " BYTES "*" #p "(%[" #a "])%{1to" LANES "%}, %%" W "mm" #b ", %%" W "mm" #x "\n\t"
#define FMA_1(p, b, x) FMA_OF(p, b, a, x)
#define FMA_2(p, b, x, y) FMA_1(p, b, x) FMA_OF(p, b, a1, y)
#define FMA_3(p, b, x, y, z) FMA_2(p, b, x, y) FMA_OF(p, b, a2, z)
#define FMA_4(p, b, x, y, z, w) FMA_3(p, b, x, y, z) FMA_OF(p, b, a3, w)
#define ONE(k, x) Z(x) K_ITERATIONS_##k(FMA_1, x)
#define TWO(k, x, y) "lea (%[a], %[ld]), %[a1]\n\t" Z(x) Z(y) K_ITERATIONS_##k(FMA_2, x, y)
#define THREE(k, x, y, z)                                                                                   \
    "lea (%[a], %[ld]), %[a1]\n\tlea (%[a], %[ld], 2), %[a2]\n\t"                                           \
    Z(x) Z(y) Z(z) K_ITERATIONS_##k(FMA_3, x, y, z)
#define FOUR_ROWS(k, x, y, z, w)                                                                            \
    "lea (%[a], %[ld]), %[a1]\n\tlea (%[a], %[ld], 2), %[a2]\n\tlea (%[a1], %[ld], 2), %[a3]\n\t"           \
    Z(x) Z(y) Z(z) Z(w) K_ITERATIONS_##k(FMA_4, x, y, z, w)
#define NEXT_3 "lea (%[a2], %[ld]), %[a]\n\t"
#define NEXT_4 "lea (%[a3], %[ld]), %[a]\n\t"
#define SUMS_1(k) ONE(k, 24)
#define SUMS_2(k) TWO(k, 24, 25)
#define SUMS_3(k) THREE(k, 24, 25, 26)
#define SUMS_4(k) FOUR_ROWS(k, 24, 25, 26, 27)
#define SUMS_5(k) SUMS_3(k) NEXT_3 TWO(k, 27, 28)
#define SUMS_6(k) SUMS_3(k) NEXT_3 THREE(k, 27, 28, 29)
#define SUMS_7(k) SUMS_4(k) NEXT_4 THREE(k, 28, 29, 30)
#define SUMS_8(k) SUMS_4(k) NEXT_4 FOUR_ROWS(k, 28, 29, 30, 31)
/* C_n: F(address, sum) for the first n rows of C from pointer `at` on; %[b] holds ldc. */
#define PAIR(F, at, x, y) F("(%[" #at "])", x) F("(%[" #at "], %[b])", y)
#define TO(at) "lea (%[" #at "], %[b], 2), %[" #at "]\n\t"
#define C_1(F, at) F("(%[" #at "])", 24)
#define C_2(F, at) PAIR(F, at, 24, 25)
#define C_3(F, at) C_2(F, at) TO(at) F("(%[" #at "])", 26)
#define C_4(F, at) C_2(F, at) TO(at) PAIR(F, at, 26, 27)
#define C_5(F, at) C_4(F, at) TO(at) F("(%[" #at "])", 28)
#define C_6(F, at) C_4(F, at) TO(at) PAIR(F, at, 28, 29)
#define C_7(F, at) C_6(F, at) TO(at) F("(%[" #at "])", 30)
#define C_8(F, at) C_6(F, at) TO(at) PAIR(F, at, 30, 31)
#define STORE_SUM(at, x) "vmovu" P " " REG(x) ", " at "%{%%k1%}\n\t"
#define ADD_SUM(at, x) "vadd" P " " at ", " REG(x) ", " REG(x) "%{%%k1%}\n\t"
#define STRAIGHT(m, k)                                                                                      \
    __attribute__((aligned(64))) static int run_##m##_by_##k(                                    \
        const struct uk_small_call *s, const void *a, const void *b, void *c, int acc) {                    \
        const char *a1, *a2, *a3;                                                                           \
        int64_t ld;                                                                                         \
                                                                                                            \
        __asm__ volatile("mov %c[ldb](%[s]), %[ld]\n\t"                                                     \
                         "kmovw %c[mask](%[s]), %%k1\n\t"                                                   \
                         B_OF_##k                                                                           \
                         "mov %c[lda](%[s]), %[ld]\n\t"                                                     \
                         "mov %c[ldc](%[s]), %[b]\n\t"                                                      \
                         SUMS_##m(k)                                                                        \
                         "test %[acc], %[acc]\n\t"                                                          \
                         "jne 2f\n"                                                                         \
                         "1:\n\t"                                                                           \
                         C_##m(STORE_SUM, c)                                                                \
                         ".subsection 1\n"                                                                  \
                         "2:\n\t"                                                                           \
                         "mov %[c], %[a]\n\t"                                                               \
                         C_##m(ADD_SUM, a)                                                                  \
                         "jmp 1b\n\t"                                                                       \
                         ".previous\n\t"                                                                    \
                         : [a] "+&r"(a), [a1] "=&r"(a1), [a2] "=&r"(a2), [a3] "=&r"(a3), [b] "+&r"(b), [c] "+&r"(c), [ld] "=&r"(ld) \
                         : [s] "r"(s), [acc] "r"(acc), AT(mask), AT(lda), AT(ldb), AT(ldc)                  \
                         : "memory", "cc", "k1", "zmm16", "zmm17", "zmm18", "zmm19", "zmm20", "zmm21", "zmm22", \
                           "zmm23", "zmm24", "zmm25", "zmm26", "zmm27", "zmm28", "zmm29", "zmm30", "zmm31"); \
        return 0;                                                                                       \
    }
/* clang-format on */
#define OF_2(F, m) F(m, 1) F(m, 2)
#define OF_4(F, m) OF_2(F, m) F(m, 3) F(m, 4)
#define OF_8(F, m) OF_4(F, m) F(m, 5) F(m, 6) F(m, 7) F(m, 8)
#if UK_NR == 2
#define STRAIGHTS(F) OF_2(F, 1) OF_2(F, 2)
#elif UK_NR == 4
#define STRAIGHTS(F) OF_4(F, 1) OF_4(F, 2) OF_4(F, 3) OF_4(F, 4)
#else
#define STRAIGHTS(F) OF_8(F, 1) OF_8(F, 2) OF_8(F, 3) OF_8(F, 4) OF_8(F, 5) OF_8(F, 6) OF_8(F, 7) OF_8(F, 8)
#endif
STRAIGHTS(STRAIGHT)

#define STRAIGHT_OF(m, k) run_##m##_by_##k,
static uk_small_run *const run_straight[] = {STRAIGHTS(STRAIGHT_OF)};

/* True if the product has up to UK_NR rows and k iterations, and then prepared. */
static inline bool prepare_straight(struct uk_small_call *s, int64_t k, int64_t lda, int64_t ldb, int64_t ldc,
                                    int64_t m, int64_t n) {
    if (m > UK_NR || k > UK_NR)
        return false;
    s->lda = size * lda;
    s->ldb = size * ldb;
    s->ldc = size * ldc;
    s->mask[0] = (1u << n) - 1;
    s->run = run_straight[(m - 1) * UK_NR + k - 1];
    return true;
}
