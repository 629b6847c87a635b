/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The AVX2 part of the kernels of small products (gemm_small.c). A masked store takes twenty operations on
 * AMD's cores, so a partial vector of columns is loaded under a mask and stored as two overlapping parts of
 * 16 or 8 bytes, or as one of 4. 16 bytes are stored directly, and two rows of four floats share a vector.
 */
static const int64_t size = sizeof(element);
#if V == 8
#define WHOLE_OF(name) _mm256_##name##_ps
#else
#define WHOLE_OF(name) _mm256_##name##_pd
#endif
/* The first n elements of a vector in memory, n <= V; no others are read or written. */
#define load_columns(p, n) load_part(p, MASK(n))
#define store_columns(p, n, v) ((n) < V ? store_first(p, n, v) : store(p, v))
#define VECTOR_BYTES "32"
#define W "y"
#define BROADCAST_ONE "vbroadcast" S " "

/* Registers of B's vectors and of an element of A. SPREADS: rows whose elements of four k iterations are
 * loaded at once and then spread by shuffles, at most. With two vectors at most two, because a shuffle may
 * take an FMA port. */
#define B0 12
#define B1 13
#define B2 14
#if NV == 1
#define T 13
#define SPREADS 4
#elif NV == 2
#define T 14
#define SPREADS 2
#else
#define T 15
#define SPREADS 0
#endif
#if A_COLUMNS
#undef SPREADS
#define SPREADS 0
#endif

/* clang-format off */
/* True for rows i < SPREADS, unless the sums of n rows need the register of row i's four elements: 15 for row
 * 0, 12 - i for row i. */
#define IS_SPREAD(n, i) "(" #i " < " TEXT(SPREADS) ") && (" #i " + " TEXT(NV) "*" #n " < 13)"
#if V == 8
#define LOAD_FOUR(at, r) "vbroadcastf128 " at ", " REG(r)
#define SPREAD_FROM(u, r) "vpermilps $0x55*" #u ", " REG(r) ", " REG(T) "\n\t"
#else
#define LOAD_FOUR(at, r) "vmovupd " at ", " REG(r)
#define SPREAD_FROM(u, r) "vpermpd $0x55*" #u ", " REG(r) ", " REG(T) "\n\t"
#endif
#define FOUR_0 15
#define FOUR_1 11
#define FOUR_2 10
#define FOUR_3 9
#define SPREAD(u, i) SPREAD_FROM(u, FOUR_##i)
#define K_LOADS
#define SET_FOURS

#if NV == 1
/* ones: from byte 32 - n on, a mask of n bytes. parts: from byte n on, the indices by which vpermps moves the
 * bytes from n on to the front of a vector. */
static const int32_t ones[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
static const int32_t parts[16] = {0, 1, 2, 3, 4, 5, 6, 7, 0, 0, 0, 0, 0, 0, 0, 0};
typedef int32_t indices __attribute__((vector_size(32), aligned(4), may_alias));

#define PART_ALL ROWS
#define PART_SET
#define PART_B "vmaskmov" P " (%[b]), %[part], %%ymm12\n\t"
#define PART_ADD(u, n, i, x)                                                                                \
    "vmaskmov" P " " AT_ROW(i) ", %[part], %%ymm12\n\tvadd" P " %%ymm12, " REG(x) ", " REG(x) "\n\t"
#define LAST_PART(x) "vpermps " REG(x) ", %%ymm13, %%ymm12\n\t"
#define STORE_16(u, n, i, x) "vmovups %%xmm" #x ", " AT_ROW(i) "\n\t"
#define STORE_8(u, n, i, x) "vmovlps %%xmm" #x ", " AT_ROW(i) "\n\t"
#define STORE_4(u, n, i, x) "vmovss %%xmm" #x ", " AT_ROW(i) "\n\t"
#define STORE_LAST_16(u, n, i, x) LAST_PART(x) STORE_16(u, n, i, 12)
#define STORE_LAST_8(u, n, i, x) LAST_PART(x) STORE_8(u, n, i, 12)
#define STORE_PARTS(r, far, bytes)                                                                          \
    ROWS(r, STORE_##bytes, 0) ON_##far("%c[c_last](%[s])")                                                  \
    "vmovups %[last_part], %%ymm13\n\t" ROWS(r, STORE_LAST_##bytes, 0)
#define PART_END(r, far)                                                                                    \
    END(r, PART_ADD, NOTHING)                                                                               \
    "cmpl $8, %c[bytes](%[s])\n\t"                                                                            \
    "jl 8f\n\t"                                                                                             \
    "cmpl $16, %c[bytes](%[s])\n\t"                                                                           \
    "jl 7f\n\t"                                                                                             \
    STORE_PARTS(r, far, 16)                                                                                 \
    "jmp 9f\n"                                                                                              \
    "7:\n\t"                                                                                                \
    STORE_PARTS(r, far, 8)                                                                                  \
    "jmp 9f\n"                                                                                              \
    "8:\n\t"                                                                                                \
    ROWS(r, STORE_4, 0)                                                                                     \
    "9:\n\t"
#define NOTHING(u, n, i, x)
#define PART_INPUTS                                                                                         \
    , [part] "x"(*(const indices *)((const char *)ones + 32 - s->bytes)), AT(bytes), AT(c_last),                \
      [last_part] "m"(*(const indices *)((const char *)parts + s->c_last))

#define ADD_16(u, n, i, x) "vadd" P " " AT_ROW(i) ", %%xmm" #x ", %%xmm" #x "\n\t"
#define SIXTEEN_SET
#define SIXTEEN_INPUTS
#if V == 8 && !A_COLUMNS
/* Two rows share a vector. Calls F(u, n, row, other row, register of their sums, register of four elements of
 * both) for each pair; an odd last row is paired with itself. */
#define PAIRS_1(F, u, n) F(u, n, 0, 0, 0, 1)
#define PAIRS_2(F, u, n) F(u, n, 0, 1, 0, 1)
#define PAIRS_3(F, u, n) PAIRS_2(F, u, n) F(u, n, 2, 2, 2, 3)
#define PAIRS_4(F, u, n) PAIRS_2(F, u, n) F(u, n, 2, 3, 2, 3)
#define PAIRS_5(F, u, n) PAIRS_4(F, u, n) F(u, n, 4, 4, 4, 5)
#define PAIRS_6(F, u, n) PAIRS_4(F, u, n) F(u, n, 4, 5, 4, 5)
#define PAIRS_7(F, u, n) PAIRS_6(F, u, n) F(u, n, 6, 6, 6, 7)
#define PAIRS_8(F, u, n) PAIRS_6(F, u, n) F(u, n, 6, 7, 6, 7)
#define PAIRS_9(F, u, n) PAIRS_8(F, u, n) F(u, n, 8, 8, 8, 9)
#define PAIRS_10(F, u, n) PAIRS_8(F, u, n) F(u, n, 8, 9, 8, 9)
#define PAIRS_11(F, u, n) PAIRS_10(F, u, n) F(u, n, 10, 10, 10, 11)
#define PAIRS_12(F, u, n) PAIRS_10(F, u, n) F(u, n, 10, 11, 10, 11)
#define SIXTEEN_ALL(r, F, u) PAIRS_##r(PAIR_##F, u, r)
#define PAIR_ZERO_ROW(u, n, i, j, x, y) Z(x)
#define PAIR_LOAD_ROW(u, n, i, j, x, y)                                                                     \
    "vmovups " AT_ROW(i) ", %%xmm" #y "\n\tvinsertf128 $1, " AT_ROW(j) ", " REG(y) ", " REG(y) "\n\t"
#define PAIR_FMA_ROW(u, n, i, j, x, y) SPREAD_FROM(u, y) FMA(12, x)
#define PAIR_PLAIN_ROW(u, n, i, j, x, y)                                                                    \
    "vbroadcastss " A_AT(u, i) ", %%xmm13\n\tvbroadcastss " A_AT(u, j) ", %%xmm15\n\t"                      \
    "vinsertf128 $1, %%xmm15, %%ymm13, %%ymm13\n\t" FMA(12, x)
#define PAIR_SPLIT_ROW(u, n, i, j, x, y) "vextractf128 $1, " REG(x) ", %%xmm" #y "\n\t"
#define SIXTEEN_B "vbroadcastf128 (%[b]), %%ymm12\n\t"
#define SIXTEEN_END(r, far) SIXTEEN_ALL(r, SPLIT_ROW, 0) END(r, ADD_16, STORE_16)
#else
#define SIXTEEN_ALL ROWS
#define SIXTEEN_B "vmovups (%[b]), %%xmm12\n\t"
#define SIXTEEN_END(r, far) END(r, ADD_16, STORE_16)
#endif
#define KINDS(F) F(WHOLE) F(PART) F(SIXTEEN)
enum kind { WHOLE, PART, SIXTEEN };
#define KIND(n) ((n) * size == 16 ? SIXTEEN : (n) < V ? PART : WHOLE)
#endif

static inline __attribute__((always_inline)) void prepare_columns(struct uk_small_call *s, int64_t m, int64_t n) {
    (void)m;
    s->kind = KIND(n);
    s->c_last = n >= V ? size * (n - V) : s->bytes >= 16 ? s->bytes - 16 : s->bytes >= 8 ? s->bytes - 8 : 0;
}

/* ymm14 stays free for the compiler, which holds the mask of a partial vector there. */
#if NV == 1
#define CLOBBERS_OF_B
#else
#define CLOBBERS_OF_B , "ymm14"
#endif
#define CLOBBERS                                                                                            \
    "ymm0", "ymm1", "ymm2", "ymm3", "ymm4", "ymm5", "ymm6", "ymm7", "ymm8", "ymm9", "ymm10", "ymm11", "ymm12", \
        "ymm13", "ymm15" CLOBBERS_OF_B
/* clang-format on */
