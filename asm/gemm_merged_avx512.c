/*
 * Small products of few columns, any number of rows in one call: UK_NR columns are a half or a quarter of a vector, so
 * that R = 2 or 4 rows of C share one. One text for floats (UK_OP_sgemm_small) and doubles (UK_OP_dgemm_small).
 *
 *     sums    zmm0 ..   | c[i][0..NR) | c[i + 1][0..NR) | ...    R rows; a group has 12 vectors at most
 *     A       zmm12 ..  | a[i][p ..)  | a[i + 1][p ..)  | ...    each lane of 128 bits has a row's next STEPS steps of k
 *     b       zmm24     | b[p][0..NR) | b[p][0..NR)     | ...
 *     spread  zmm25     | a[i][p] ... | a[i + 1][p] ... | ...
 *
 * Where the rows are no multiple of R, the last vector begins before the last but one ends: both compute the same, and
 * all that is added to is loaded before anything is stored. Of fewer rows than R the absent ones are the first again.
 *
 * A turn is STEPS = 4 (doubles: 2) steps; the first turn enters where as many are left as k has over a multiple of it,
 * with masks for what lies before the rows. m rows are shared out evenly over as few groups as there can be.
 *
 * Bound: per k and R rows one multiply-add and one shuffle, and R / STEPS loads. R rows of a masked vector take R
 * multiply-adds and R loads. Where vectors of 512 bits have two units for all that, two rows in a vector gain nothing,
 * and four save half; where shuffles have their own, it is half and three quarters.
 */
#include <immintrin.h>
#include "ukernels.h"

#ifdef UK_OP_dgemm_small
typedef double element;
#define V 8
#define STEPS 2
#define P "pd"
#define LANE "64x2"
#define HALF "64x4"
#else
typedef float element;
#define V 16
#define STEPS 4
#define P "ps"
#define LANE "32x4"
#define HALF "32x8"
#endif
#define R (V / UK_NR)
static const int64_t size = sizeof(element);

/* clang-format off */
/* The rows at p, into register x: of A; of A in the first turn; of C. C is stored from c. */
#if R == 4
#define LOAD_A(c, x, p)                                                                                     \
    "vmovu" P " (" p "), %%xmm" #x "\n\t"                                                                   \
    "vinsertf" LANE " $1, (" p ", %[o1]), %%zmm" #x ", %%zmm" #x "\n\t"                                     \
    "vinsertf" LANE " $2, (" p ", %[o2]), %%zmm" #x ", %%zmm" #x "\n\t"                                     \
    "vinsertf" LANE " $3, (" p ", %[o3]), %%zmm" #x ", %%zmm" #x "\n\t"
#define MASKED(c, x, p)                                                                                     \
    "vbroadcastf" LANE " (" p "), %%zmm" #x "%{%%k2%}%{z%}\n\t"                                             \
    "vbroadcastf" LANE " (" p ", %[o1]), %%zmm" #x "%{%%k3%}\n\t"                                           \
    "vbroadcastf" LANE " (" p ", %[o2]), %%zmm" #x "%{%%k4%}\n\t"                                           \
    "vbroadcastf" LANE " (" p ", %[o3]), %%zmm" #x "%{%%k5%}\n\t"
#define MASKED_C(c, x, p) MASKED(c, 25, p) "vadd" P " %%zmm25, %%zmm" #c ", %%zmm" #c "\n\t"
/* An extraction to memory does not leave masked pages alone. */
#define STORE_LANE(i, c, at)                                                                                \
    "vextractf" LANE " $" #i ", %%zmm" #c ", %%xmm25\n\tvmovu" P " %%xmm25, (" at ")%{%[cols]%}\n\t"
#define STORE_C(c, x, p)                                                                                    \
    "vmovu" P " %%xmm" #c ", (" p ")%{%[cols]%}\n\t"                                                        \
    STORE_LANE(1, c, p ", %[o1]") STORE_LANE(2, c, p ", %[o2]") STORE_LANE(3, c, p ", %[o3]")
#define ON "lea (%[t], %[o2], 2), %[t]\n\t"
#define LOAD_B "vbroadcastf" LANE " (%[b]), %%zmm24%{%[cols]%}%{z%}\n\tadd %[ldb], %[b]\n\t"
#define MASKS(at)                                                                                           \
    "kmovw " at "(%[rest]), %%k2\n\tkmovw 4+" at "(%[rest]), %%k3\n\t"                                      \
    "kmovw 8+" at "(%[rest]), %%k4\n\tkmovw 12+" at "(%[rest]), %%k5\n\t"
#else
#define LOAD_A(c, x, p)                                                                                     \
    "vbroadcastf" LANE " (" p "), %%zmm" #x "\n\t"                                                          \
    "vbroadcastf" LANE " (" p ", %[o1]), %%zmm" #x "%{%[half]%}\n\t"
#define MASKED(c, x, p)                                                                                     \
    "vbroadcastf" LANE " (" p "), %%zmm" #x "%{%%k2%}%{z%}\n\t"                                             \
    "vbroadcastf" LANE " (" p ", %[o1]), %%zmm" #x "%{%%k3%}\n\t"
#define MASKED_C(c, x, p)                                                                                   \
    "vbroadcastf" HALF " (" p "), %%zmm25%{%%k2%}%{z%}\n\t"                                                 \
    "vbroadcastf" HALF " (" p ", %[o1]), %%zmm25%{%%k3%}\n\t"                                               \
    "vadd" P " %%zmm25, %%zmm" #c ", %%zmm" #c "\n\t"
#define STORE_C(c, x, p)                                                                                    \
    "vmovu" P " %%ymm" #c ", (" p ")%{%[cols]%}\n\t"                                                        \
    "vextractf" HALF " $1, %%zmm" #c ", %%ymm25\n\tvmovu" P " %%ymm25, (" p ", %[o1])%{%[cols]%}\n\t"
#define ON "lea (%[t], %[o1], 2), %[t]\n\t"
#define LOAD_B "vbroadcastf" HALF " (%[b]), %%zmm24%{%[cols]%}%{z%}\n\tadd %[ldb], %[b]\n\t"
#define MASKS(at) "kmovw " at "(%[rest]), %%k2\n\tkmovw 4+" at "(%[rest]), %%k3\n\t"
#endif
#define ZERO(u, c, x) "vpxord %%zmm" #c ", %%zmm" #c ", %%zmm" #c "\n\t"
#define FMA(u, c, x)                                                                                        \
    "vpermil" P " $" u ", %%zmm" #x ", %%zmm25\n\t"                                                         \
    "vfmadd231" P " %%zmm24, %%zmm25, %%zmm" #c "\n\t"

/* F(u, sum, A) of all vectors. */
#define ALL_1(F, u) F(u, 0, 12)
#define ALL_2(F, u) ALL_1(F, u) F(u, 1, 13)
#define ALL_3(F, u) ALL_2(F, u) F(u, 2, 14)
#define ALL_4(F, u) ALL_3(F, u) F(u, 3, 15)
#define ALL_5(F, u) ALL_4(F, u) F(u, 4, 16)
#define ALL_6(F, u) ALL_5(F, u) F(u, 5, 17)
#define ALL_7(F, u) ALL_6(F, u) F(u, 6, 18)
#define ALL_8(F, u) ALL_7(F, u) F(u, 7, 19)
#define ALL_9(F, u) ALL_8(F, u) F(u, 8, 20)
#define ALL_10(F, u) ALL_9(F, u) F(u, 9, 21)
#define ALL_11(F, u) ALL_10(F, u) F(u, 10, 22)
#define ALL_12(F, u) ALL_11(F, u) F(u, 11, 23)

/* F(sum, A, where) of all vectors: one after the other from t on, and the last one. */
#define BUT_0(F)
#define BUT_1(F) BUT_0(F) F(0, 12, "%[t]") ON
#define BUT_2(F) BUT_1(F) F(1, 13, "%[t]") ON
#define BUT_3(F) BUT_2(F) F(2, 14, "%[t]") ON
#define BUT_4(F) BUT_3(F) F(3, 15, "%[t]") ON
#define BUT_5(F) BUT_4(F) F(4, 16, "%[t]") ON
#define BUT_6(F) BUT_5(F) F(5, 17, "%[t]") ON
#define BUT_7(F) BUT_6(F) F(6, 18, "%[t]") ON
#define BUT_8(F) BUT_7(F) F(7, 19, "%[t]") ON
#define BUT_9(F) BUT_8(F) F(8, 20, "%[t]") ON
#define BUT_10(F) BUT_9(F) F(9, 21, "%[t]") ON
#define BUT_11(F) BUT_10(F) F(10, 22, "%[t]") ON
#define EACH_1(F) BUT_0(F) F(0, 12, "%[last]")
#define EACH_2(F) BUT_1(F) F(1, 13, "%[last]")
#define EACH_3(F) BUT_2(F) F(2, 14, "%[last]")
#define EACH_4(F) BUT_3(F) F(3, 15, "%[last]")
#define EACH_5(F) BUT_4(F) F(4, 16, "%[last]")
#define EACH_6(F) BUT_5(F) F(5, 17, "%[last]")
#define EACH_7(F) BUT_6(F) F(6, 18, "%[last]")
#define EACH_8(F) BUT_7(F) F(7, 19, "%[last]")
#define EACH_9(F) BUT_8(F) F(8, 20, "%[last]")
#define EACH_10(F) BUT_9(F) F(9, 21, "%[last]")
#define EACH_11(F) BUT_10(F) F(10, 22, "%[last]")
#define EACH_12(F) BUT_11(F) F(11, 23, "%[last]")

#define STEP(n, u) LOAD_B ALL_##n(FMA, u)
#if STEPS == 4
#define ENTER "cmpl $2, 56(%[rest])\n\tjl 2f\n\tje 3f\n\tjmp 4f\n\t"
#define TURN(n) STEP(n, "0x00") "2:\n\t" STEP(n, "0x55") "3:\n\t" STEP(n, "0xaa") "4:\n\t" STEP(n, "0xff")
#else
#define ENTER "jmp 2f\n\t"
#define TURN(n) STEP(n, "0x00") "2:\n\t" STEP(n, "0xff")
#endif

/* n vectors. */
#define GROUP(n)                                                                                            \
    __asm__ volatile(ALL_##n(ZERO, )                                                                        \
                     "test %[turns], %[turns]\n\t"                                                          \
                     "jle 6f\n\t"                                                                           \
                     "mov %[a], %[t]\n\t"                                                                   \
                     "cmpl $0, 56(%[rest])\n\t"                                                             \
                     "je 1f\n\t"                                                                            \
                     MASKS("24")                                                                            \
                     EACH_##n(MASKED)                                                                       \
                     ENTER                                                                                  \
                     ".p2align 5\n"                                                                         \
                     "1:\n\t"                                                                               \
                     "mov %[a], %[t]\n\t"                                                                   \
                     EACH_##n(LOAD_A)                                                                       \
                     TURN(n)                                                                                \
                     "add $16, %[a]\n\t"                                                                    \
                     "add $16, %[last]\n\t"                                                                 \
                     "dec %[turns]\n\t"                                                                     \
                     "jnz 1b\n"                                                                             \
                     "6:\n\t"                                                                               \
                     "mov (%[rest]), %[a]\n\t"                                                              \
                     "mov 8(%[rest]), %[last]\n\t"                                                          \
                     "mov 64(%[rest]), %[o1]\n\t"                                                           \
                     "mov 72(%[rest]), %[o2]\n\t"                                                           \
                     "mov 80(%[rest]), %[o3]\n\t"                                                           \
                     "cmpq $0, 16(%[rest])\n\t"                                                             \
                     "je 7f\n\t"                                                                            \
                     MASKS("40")                                                                            \
                     "mov %[a], %[t]\n\t"                                                                   \
                     EACH_##n(MASKED_C)                                                                     \
                     "7:\n\t"                                                                               \
                     "mov %[a], %[t]\n\t"                                                                   \
                     EACH_##n(STORE_C)                                                                      \
                     : [turns] "+&r"(turns), [a] "+&r"(a), [last] "+&r"(last), [o1] "+&r"(o1), [o2] "+&r"(o2), \
                       [o3] "+&r"(o3), [b] "+&r"(b), [t] "=&r"(t)                                           \
                     : [ldb] "r"(ldb), [rest] "r"(&rest), "m"(rest), [cols] "Yk"(n_mask), [half] "Yk"(half) \
                     : "memory", "cc", "k2", "k3", "k4", "k5", "zmm0", "zmm1", "zmm2", "zmm3", "zmm4", "zmm5", \
                       "zmm6", "zmm7", "zmm8", "zmm9", "zmm10", "zmm11", "zmm12", "zmm13", "zmm14", "zmm15", \
                       "zmm16", "zmm17", "zmm18", "zmm19", "zmm20", "zmm21", "zmm22", "zmm23", "zmm24", "zmm25")
#define CASE(n) case n: GROUP(n); break;
/* clang-format on */

/* What a group needs once, in memory: registers are short. The offsets are known to GROUP. */
struct rest {
    element *c, *last;     /* 0, 8 */
    int64_t acc;           /* 16 */
    uint32_t first[4];     /* 24: of each row in a vector of A, what the first turn reads */
    uint32_t columns[4];   /* 40: the same of C */
    int32_t skip, padding; /* 56: steps that the first turn leaves out */
    int64_t o1, o2, o3;    /* 64, 72, 80: where the other rows of a vector of C are */
};

/* A group of `rows` rows, whose strides are in bytes; a is `skip` elements in front of the first that is read. */
static inline __attribute__((always_inline)) void group(int64_t rows, int64_t turns, const element *a,
                                                        int64_t lda, const element *b, int64_t ldb,
                                                        int64_t ldc, struct rest rest, uint32_t columns) {
    const int64_t back = rows > R ? rows - R : 0;
    const __mmask16 n_mask = (__mmask16)columns, half = V == 16 ? 0xff00 : 0xf0;
    int64_t o1 = rows > 1 ? lda : 0, o2 = rows > 2 ? 2 * lda : 0, o3 = rows > 3 ? 3 * lda : 0;
    const char *last = (const char *)a + back * lda, *t;

    rest.last = (element *)((char *)rest.c + back * ldc);
    rest.o1 = rows > 1 ? ldc : 0;
    rest.o2 = rows > 2 ? 2 * ldc : 0;
    rest.o3 = rows > 3 ? 3 * ldc : 0;
    switch ((rows + R - 1) / R) {
        CASE(1)
        CASE(2)
        CASE(3)
        CASE(4)
        CASE(5)
        CASE(6)
        CASE(7)
        CASE(8)
        CASE(9)
        CASE(10)
        CASE(11)
        CASE(12)
    }
}

void UK_SYMBOL(int64_t k, const element *a, int64_t lda, const element *b, int64_t ldb, element *c,
               int64_t ldc, int64_t acc, int64_t m, int64_t n) {
    const int64_t turns = (k + STEPS - 1) / STEPS;
    const uint32_t all = V == 16 ? 0xffff : 0xff, one_row = (1u << n) - 1;
    /* The mask once for each row of a vector, by a multiplication; likewise for each lane. */
    const uint32_t row = (1u << UK_NR) - 1, lane = (1u << STEPS) - 1;
    struct rest rest = {.c = c, .acc = acc, .skip = (int32_t)(STEPS * turns - k)};
    int64_t rows = m, longer = 0; /* so many groups, the first ones, have a vector more */

    for (int r = 0; r < R; r++) {
        rest.first[r] = (lane << rest.skip & lane) * (all / lane) & row << r * UK_NR;
        rest.columns[r] = one_row << r * UK_NR;
    }
    if (m > UK_MR) {
        const int64_t vectors = (m + R - 1) / R, groups = (m + UK_MR - 1) / UK_MR;

        rows = vectors / groups * R;
        longer = vectors % groups;
    }
    a -= rest.skip;
#pragma GCC unroll 1
    while (m > 0) {
        const int64_t even = rows + (longer-- > 0 ? R : 0), now = even < m ? even : m;

        group(now, turns, a, size * lda, b, size * ldb, size * ldc, rest, one_row * (all / row));
        a += now * lda;
        rest.c += now * ldc;
        m -= now;
    }
}
