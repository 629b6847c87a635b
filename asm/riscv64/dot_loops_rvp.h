/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loops of gemm_dot_rvp.c in RISC-V: LOOP(r, c, t) for r = 1..4 rows and c = 1..5 columns, asm statements
 * generated from one text:
 *
 * - the sums are set to 0;
 * - a loop unrolled by U groups;
 * - the remaining groups, one at a time;
 * - the halves of the sums are added;
 * - C is written.
 */
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)

/* funct3 and funct7 of the instructions; also as text for those without an operand of the asm statement. */
enum {
#define UK_RVP(name, form, funct3, funct7, ...) FUNCT3_##name = funct3, FUNCT7_##name = funct7,
#include "registry/rvp.def"
#undef UK_RVP
};
#define ADD32(rd, rs1, rs2) UK_RVP_TEXT("2", "0x20", rd, rs1, rs2) "\n\t"
#define PKBT32(rd, rs1, rs2) UK_RVP_TEXT("2", "0x0f", rd, rs1, rs2) "\n\t"
#define PKTB32(rd, rs1, rs2) UK_RVP_TEXT("2", "0x1f", rd, rs1, rs2) "\n\t"
_Static_assert(FUNCT3_add32 == 2 && FUNCT7_add32 == 0x20 && FUNCT3_pkbt32 == 2 && FUNCT7_pkbt32 == 0x0f &&
                   FUNCT3_pktb32 == 2 && FUNCT7_pktb32 == 0x1f,
               "rvp.def has them");

/* EACH_n: f(0, x) f(1, x) ... n times. GRID_n: f(i, j) for r rows i and n columns j. */
#define EACH_1(f, x) f(0, x)
#define EACH_2(f, x) EACH_1(f, x) f(1, x)
#define EACH_3(f, x) EACH_2(f, x) f(2, x)
#define EACH_4(f, x) EACH_3(f, x) f(3, x)
#define GRID_1(r, f) EACH_##r(f, 0)
#define GRID_2(r, f) GRID_1(r, f) EACH_##r(f, 1)
#define GRID_3(r, f) GRID_2(r, f) EACH_##r(f, 2)
#define GRID_4(r, f) GRID_3(r, f) EACH_##r(f, 3)
#define GRID_5(r, f) GRID_4(r, f) EACH_##r(f, 4)
#define GRID_6(r, f) GRID_5(r, f) EACH_##r(f, 5)
#define GRID_7(r, f) GRID_6(r, f) EACH_##r(f, 6)
#define GRID_8(r, f) GRID_7(r, f) EACH_##r(f, 7)

/*
 * Registers of the sums of rows 0 to 3, one line for each column; t0 to t3 are rows and t4 a column of a
 * group. s1 and a0 stay free for the compiler's pointers, so that a function without a free register (s1 is
 * LLVM's second frame pointer) is an error and not a wrong result; s0 is one more if it is free. The sums
 * have fixed registers because LLVM's allocator sometimes fails otherwise.
 */
#define R00 "t5"
#define R10 "t6"
#define R20 "a7"
#define R30 "a6"
#define R01 "a5"
#define R11 "a4"
#define R21 "s2"
#define R31 "s3"
#define R02 "s4"
#define R12 "s5"
#define R22 "s6"
#define R32 "s7"
#define R03 "s8"
#define R13 "s9"
#define R23 "s10"
#define R33 "s11"
#define R04 "a3"
#define R14 "a2"
#define R24 "a1"
#define R34 "ra"
/* Sums of further columns, for tiles of one or two rows. */
#define R05 R20
#define R15 R30
#define R06 R21
#define R16 R31
#define R07 R22
#define R17 R32

/* clang-format off */
/* Addresses of row i of A and of column j of B, u groups after the pointers; and advancing the pointers by u
 * groups. */
#if IN_PLACE
#define ROW(i) , [a##i] "=&r"(row[i])
#define ROWS_1
#define ROWS_2 ROW(1)
#define ROWS_3 ROWS_2 ROW(2)
#define ROWS_4 ROWS_3 ROW(3)
#define POINTERS(r, access) , [a0] access "&r"(a) ROWS_##r
/* Computed inside the asm statement: compilers fail to allocate registers for that many read-write
 * operands. */
#define FIND_1
#define FIND_2 "fmv.x.d t0, %[lda]\n\t" "add %[a1], %[a0], t0\n\t"
#define FIND_3 FIND_2 "add %[a2], %[a1], t0\n\t"
#define FIND_4 FIND_3 "add %[a3], %[a2], t0\n\t"
#define FIND(r) FIND_##r
#define LDA , [lda] "f"(in_f(t.lda))
#define LOAD_A(i, u) "ld t" #i ", 8*" #u "(%[a" #i "])\n\t"
#define NEXT_ROW(i, u) "addi %[a" #i "], %[a" #i "], 8*" #u "\n\t"
#define NEXT_A(r, u) EACH_##r(NEXT_ROW, u)
#else
#define POINTERS(r, access) , [a0] access "&r"(a)
#define FIND(r)
#define LDA
#define LOAD_A(i, u) "ld t" #i ", 8*" #i "+8*" TEXT(UK_MR) "*" #u "(%[a0])\n\t"
#define NEXT_A(r, u) "addi %[a0], %[a0], 8*" TEXT(UK_MR) "*" #u "\n\t"
#endif
#define LOAD_B(j, u) "ld t4, 8*" #j "+8*" TEXT(UK_NR) "*" #u "(%[b])\n\t"
#define NEXT_B(u) "addi %[b], %[b], 8*" TEXT(UK_NR) "*" #u "\n\t"

#define SUM(i, j) , [s##i##j] "=&r"(s##i##j)
#define REGISTER(i, j) register uint64_t s##i##j __asm__(R##i##j);
#if WHOLE_SUMS
#define FUNCT3 "1"
_Static_assert(CAT(FUNCT3_, MAQA) == 1, "rvp.def has it");
#else
#define FUNCT3 "0"
_Static_assert(CAT(FUNCT3_, MAQA) == 0, "rvp.def has it");
#endif
#if A_FIRST
#define MULTIPLY(i, j) UK_RVP_TEXT(FUNCT3, "%[funct7]", "%[s" #i #j "]", "t" #i, "t4") "\n\t"
#else
#define MULTIPLY(i, j) UK_RVP_TEXT(FUNCT3, "%[funct7]", "%[s" #i #j "]", "t4", "t" #i) "\n\t"
#endif
#define COLUMN(r, j, u) LOAD_B(j, u) EACH_##r(MULTIPLY, j)
#define COLUMNS_1(r, u) COLUMN(r, 0, u)
#define COLUMNS_2(r, u) COLUMNS_1(r, u) COLUMN(r, 1, u)
#define COLUMNS_3(r, u) COLUMNS_2(r, u) COLUMN(r, 2, u)
#define COLUMNS_4(r, u) COLUMNS_3(r, u) COLUMN(r, 3, u)
#define COLUMNS_5(r, u) COLUMNS_4(r, u) COLUMN(r, 4, u)
#define COLUMNS_6(r, u) COLUMNS_5(r, u) COLUMN(r, 5, u)
#define COLUMNS_7(r, u) COLUMNS_6(r, u) COLUMN(r, 6, u)
#define COLUMNS_8(r, u) COLUMNS_7(r, u) COLUMN(r, 7, u)
#define GROUP(r, c, u) EACH_##r(LOAD_A, u) COLUMNS_##c(r, u)
#define GROUPS_1(r, c) GROUP(r, c, 0)
#define GROUPS_4(r, c) GROUP(r, c, 0) GROUP(r, c, 1) GROUP(r, c, 2) GROUP(r, c, 3)
#define GROUPS_8(r, c) GROUPS_4(r, c) GROUP(r, c, 4) GROUP(r, c, 5) GROUP(r, c, 6) GROUP(r, c, 7)
#define GROUPS_16(r, c) GROUPS_8(r, c) GROUP(r, c, 8) GROUP(r, c, 9) GROUP(r, c, 10) GROUP(r, c, 11) \
    GROUP(r, c, 12) GROUP(r, c, 13) GROUP(r, c, 14) GROUP(r, c, 15)
#define UNROLLED(r, c, u) GROUPS_##u(r, c) NEXT_A(r, u) NEXT_B(u)

/* Jumps to `to` if A's pointer is ("beq"), or is not ("bne"), at `end`. */
#define IF_AT(branch, end, to) "fmv.x.d t0, %[" end "]\n\t" branch " %[a0], t0, " to "\n\t"
#define IF_AT_R(branch, end, to) branch " %[a0], %[" end "], " to "\n\t"

/*
 * C lies at t1, with rows t2 bytes apart. The sums begin with 0 or, if t3, with C in their lower halves. At
 * the end the halves of two neighbouring sums are added in one instruction and make 8 bytes, which one store
 * writes at any address. In assembly because compilers would spill all sums before the branches.
 */
#define TO_ROW_0
#define TO_ROW_1 "add t1, t1, t2\n\t"
#define TO_ROW_2 TO_ROW_1
#define TO_ROW_3 TO_ROW_1
#define AT_C(move) "fmv.x.d t1, %[to]\n\t" move "fmv.x.d t2, %[ldc]\n\t"
#define ZERO(i, j) "li %[s" #i #j "], 0\n\t"
#define LOAD(i, j) "lwu %[s" #i #j "], 4*" #j "(t1)\n\t"
#define LOAD_ROW_1(i) LOAD(i, 0)
#define LOAD_ROW_2(i) LOAD_ROW_1(i) LOAD(i, 1)
#define LOAD_ROW_3(i) LOAD_ROW_2(i) LOAD(i, 2)
#define LOAD_ROW_4(i) LOAD_ROW_3(i) LOAD(i, 3)
#define LOAD_ROW_5(i) LOAD_ROW_4(i) LOAD(i, 4)
#define LOAD_ROW_6(i) LOAD_ROW_5(i) LOAD(i, 5)
#define LOAD_ROW_7(i) LOAD_ROW_6(i) LOAD(i, 6)
#define LOAD_ROW_8(i) LOAD_ROW_7(i) LOAD(i, 7)
#define LOAD_ROW(i, c) TO_ROW_##i LOAD_ROW_##c(i)
#define BEGIN(r, c, move) \
    "fmv.x.d t3, %[acc]\n\t" "beqz t3, 5f\n\t" AT_C(move) EACH_##r(LOAD_ROW, c) "j 6f\n\t" \
    "5:\n\t" GRID_##c(r, ZERO) "6:\n\t"
/* The same for sums that are known to begin with 0: two instructions less. */
#define BEGIN_NEW(r, c, move) GRID_##c(r, ZERO)

#if WHOLE_SUMS
#define PAIR(i, j, k)
#define LAST(i, j)
#define PUT(i, j, k) PUT_LAST(i, j) PUT_LAST(i, k)
#else
#define PAIR(i, j, k) \
    PKTB32("t0", "%[s" #i #k "]", "%[s" #i #j "]") PKBT32("t4", "%[s" #i #k "]", "%[s" #i #j "]") \
    ADD32("%[s" #i #j "]", "t0", "t4")
#define LAST(i, j) "srli t0, %[s" #i #j "], 32\n\t" "addw %[s" #i #j "], %[s" #i #j "], t0\n\t"
#define PUT(i, j, k) "sd %[s" #i #j "], 4*" #j "(t1)\n\t"
#endif
#define PUT_LAST(i, j) "sw %[s" #i #j "], 4*" #j "(t1)\n\t"

/* pair(i, j, j + 1) for pairs of columns, and last(i, j) for a last odd one. */
#define PAIRS_1(pair, last, i) last(i, 0)
#define PAIRS_2(pair, last, i) pair(i, 0, 1)
#define PAIRS_3(pair, last, i) pair(i, 0, 1) last(i, 2)
#define PAIRS_4(pair, last, i) pair(i, 0, 1) pair(i, 2, 3)
#define PAIRS_5(pair, last, i) pair(i, 0, 1) pair(i, 2, 3) last(i, 4)
#define PAIRS_6(pair, last, i) PAIRS_4(pair, last, i) pair(i, 4, 5)
#define PAIRS_7(pair, last, i) PAIRS_6(pair, last, i) last(i, 6)
#define PAIRS_8(pair, last, i) PAIRS_6(pair, last, i) pair(i, 6, 7)
#define ADD_HALVES(i, c) PAIRS_##c(PAIR, LAST, i)
#define STORE_ROW(i, c) TO_ROW_##i PAIRS_##c(PUT, PUT_LAST, i)
#define FINISH(r, c, move) EACH_##r(ADD_HALVES, c) AT_C(move) EACH_##r(STORE_ROW, c)

/*
 * The groups that the unrolled loop leaves, and operands with their ends. The loop over one column is
 * unrolled by 16: its remainder goes 4 at a time, then one by one, and registers are free for the ends.
 */
#define REST_1(r) \
    IF_AT_R("beq", "fours", "9f") "8:\n\t" UNROLLED(r, 1, 4) IF_AT_R("bne", "fours", "8b") "9:\n\t" \
    IF_AT_R("beq", "end", "4f") "3:\n\t" UNROLLED(r, 1, 1) IF_AT_R("bne", "end", "3b")
#define ENDS_1 [fours] "r"((int64_t)(t.a + t.groups / 4 * 4 * step)), [end] "r"(end)
#define REST(r, c) IF_AT("beq", "end", "4f") "3:\n\t" UNROLLED(r, c, 1) IF_AT("bne", "end", "3b")
#define ENDS [end] "f"(in_f(end))
#define REST_2(r) REST(r, 2)
#define ENDS_2 ENDS
#define REST_3(r) REST(r, 3)
#define ENDS_3 ENDS
#define REST_4(r) REST(r, 4)
#define ENDS_4 ENDS
#define REST_5(r) REST(r, 5)
#define ENDS_5 ENDS
#define REST_6(r) REST(r, 6)
#define ENDS_6 ENDS
#define REST_7(r) REST(r, 7)
#define ENDS_7 ENDS
#define REST_8(r) REST(r, 8)
#define ENDS_8 ENDS

/* The sums of all groups from the first one on, and storing them to C. */
#define PRODUCT(begin, r, c, u, jump, move) \
    begin(r, c, move) jump("beq", "unrolled", "2f") "1:\n\t" UNROLLED(r, c, u) jump("bne", "unrolled", "1b") \
    "2:\n\t" REST_##c(r) "4:\n\t" FINISH(r, c, move)

#define OPEN UK_RVP_NAMES ".balign 4\n\t" ".option push\n\t" ".option norvc\n\t"
#define CLOSE ".option pop"
#define INPUTS \
    [to] "f"(in_f((int64_t)t.to)), [ldc] "f"(in_f(t.ldc)), [acc] "f"(in_f(t.acc)) LDA, \
    [funct7] "i"(CAT(FUNCT7_, MAQA))
#define CHANGED "t0", "t1", "t2", "t3", "t4", "memory"

/* Variables of a loop unrolled by u groups, and the end of its last unrolled iteration. */
#define VARIABLES(r, c, u) \
    const left *a = t.a, *row[4]; \
    const right *b = t.b; \
    const int64_t step = IN_PLACE ? KR : MR * KR; \
    const int64_t unrolled = (int64_t)(a + t.groups / u * u * step), end = (int64_t)(a + t.groups * step); \
    GRID_##c(r, REGISTER) \
    \
    (void)row;

/* jump, constraint, value: the form in which the asm statement gets the end of the unrolled loop, an integer
 * or an F register. */
#define DEFINE(name, begin, r, c, u, jump, constraint, value) \
    static inline __attribute__((always_inline)) void name(struct tile t) { \
        VARIABLES(r, c, u) \
        __asm__ volatile(OPEN FIND(r) PRODUCT(begin, r, c, u, jump, "") CLOSE \
                         : [b] "+&r"(b)POINTERS(r, "+") GRID_##c(r, SUM) \
                         : [unrolled] constraint(value(unrolled)), ENDS_##c, INPUTS \
                         : CHANGED); \
    }
/* Columns 0 to 3, then 4 to 7: both begin with the same rows. */
#define FROM(r) "fmv.x.d %[b], %[first_b]\n\t" "fmv.x.d %[a0], %[first_a]\n\t" FIND(r)
#define DEFINE_HALVES(name, begin, r, u, jump, constraint, value) \
    static inline __attribute__((always_inline)) void name(struct tile t) { \
        VARIABLES(r, 4, u) \
        __asm__ volatile(OPEN FROM(r) PRODUCT(begin, r, 4, u, jump, "") \
                         FROM(r) "addi %[b], %[b], 8*4\n\t" PRODUCT(begin, r, 4, u, jump, "addi t1, t1, 4*4\n\t") CLOSE \
                         : [b] "=&r"(b)POINTERS(r, "=") GRID_4(r, SUM) \
                         : [first_a] "f"(in_f((int64_t)t.a)), [first_b] "f"(in_f((int64_t)t.b)), \
                           [unrolled] constraint(value(unrolled)), ENDS, INPUTS \
                         : CHANGED); \
    }

/*
 * The same without a loop for the remainder: the unrolled loop is entered in its middle, and the pointers
 * begin the same number of groups early (`early` bytes of A). An instruction takes 4 bytes, which gives the
 * length of a group's code. Without any group the entry is after all of them.
 */
#define GROUP_BYTES(r, c) (4 * ((r) + (c) * (1 + (r))))
#define ENTERED(begin, r, c, u, move) \
    begin(r, c, move) "lla t1, 1f\n\t" "fmv.x.d t0, %[entry]\n\t" "add t1, t1, t0\n\t" "jr t1\n\t" \
    "1:\n\t" UNROLLED(r, c, u) IF_AT("bne", "end", "1b") FINISH(r, c, move)
#define DEFINE_ENTERED(name, begin, r, u) \
    static inline __attribute__((always_inline)) void name(struct tile t) { \
        const left *a, *row[4]; \
        const right *b; \
        const int64_t first = (t.groups - 1) % u + 1, early = (u - first) * KR; \
        GRID_4(r, REGISTER) \
        \
        (void)row; \
        __asm__ volatile(OPEN FROM(r) ENTERED(begin, r, 4, u, "") \
                         FROM(r) "addi %[b], %[b], 8*4\n\t" ENTERED(begin, r, 4, u, "addi t1, t1, 4*4\n\t") CLOSE \
                         : [b] "=&r"(b)POINTERS(r, "=") GRID_4(r, SUM) \
                         : [first_a] "f"(in_f((int64_t)t.a - early)), [first_b] "f"(in_f((int64_t)t.b - early * NR)), \
                           [entry] "f"(in_f((u - first) * GROUP_BYTES(r, 4))), \
                           [end] "f"(in_f((int64_t)t.a + t.groups * KR)), INPUTS \
                         : CHANGED); \
    }

/* Several runs, each entered in the same way. No operands are left, so the values that change from run to run
 * lie in memory, in an array at %[frame]. */
enum {
    FIRST_A = 0, FIRST_B = 1, FIRST_END = 2, /* the first run's pointers, and the end of its A */
    ALL_RUNS = 3, ENTRY = 4,                 /* ENTRY: bytes from the loop's begin */
    BETWEEN_A = 5, BETWEEN_B = 6, APART = 7, /* from a run's end to the next one's begin; APART: from begin to begin, in A */
    /* written by the assembly: RUNS_LEFT = 8, LOOP_AT = 9, */
    FRAME = 10
};
#define MOVE_ROW(i, by) "add %[a" #i "], %[a" #i "], " by "\n\t"
#define FROM_FRAME(r) \
    "fmv.x.d t2, %[frame]\n\t" "ld %[b], 8*1(t2)\n\t" "ld %[a0], 8*0(t2)\n\t" FIND(r)
#define RUNS_PRODUCT(begin, r, c, move) \
    begin(r, c, move) "fmv.x.d t2, %[frame]\n\t" "ld t0, 8*2(t2)\n\t" "fmv.d.x %[end], t0\n\t" \
    "ld t0, 8*3(t2)\n\t" "sd t0, 8*8(t2)\n\t" \
    "lla t1, 1f\n\t" "ld t0, 8*4(t2)\n\t" "add t1, t1, t0\n\t" "sd t1, 8*9(t2)\n\t" "jr t1\n\t" \
    "1:\n\t" UNROLLED(r, c, 8) IF_AT("bne", "end", "1b") \
    "fmv.x.d t2, %[frame]\n\t" "ld t0, 8*8(t2)\n\t" "addi t0, t0, -1\n\t" "sd t0, 8*8(t2)\n\t" "beqz t0, 4f\n\t" \
    "ld t0, 8*5(t2)\n\t" EACH_##r(MOVE_ROW, "t0") "ld t0, 8*6(t2)\n\t" "add %[b], %[b], t0\n\t" \
    "ld t0, 8*7(t2)\n\t" "fmv.x.d t1, %[end]\n\t" "add t1, t1, t0\n\t" "fmv.d.x %[end], t1\n\t" \
    "ld t1, 8*9(t2)\n\t" "jr t1\n\t" \
    "4:\n\t" FINISH(r, c, move)
#define DEFINE_RUNS(name, begin, r) \
    static inline __attribute__((always_inline)) void name(struct tile t) { \
        const left *a, *row[4]; \
        const right *b; \
        double end; \
        const int64_t first = (t.groups - 1) % 8 + 1, early = (8 - first) * KR, length = t.groups * KR; \
        int64_t frame[FRAME] = { \
            [FIRST_A] = (int64_t)t.a - early, [FIRST_B] = (int64_t)t.b - early * NR, \
            [FIRST_END] = (int64_t)t.a + length, [ALL_RUNS] = t.runs, [ENTRY] = (8 - first) * GROUP_BYTES(r, 4), \
            [BETWEEN_A] = t.lds - length - early, [BETWEEN_B] = t.ldb - (length + early) * NR, [APART] = t.lds}; \
        GRID_4(r, REGISTER) \
        \
        __asm__ volatile(OPEN FROM_FRAME(r) RUNS_PRODUCT(begin, r, 4, "") \
                         FROM_FRAME(r) "addi %[b], %[b], 8*4\n\t" RUNS_PRODUCT(begin, r, 4, "addi t1, t1, 4*4\n\t") CLOSE \
                         : [b] "=&r"(b)POINTERS(r, "=") GRID_4(r, SUM), [end] "=&f"(end) \
                         : [frame] "f"(in_f((int64_t)frame)), INPUTS \
                         : CHANGED); \
    }
#define DEFINE_IN_R(r, c, u) DEFINE(loop_##r##c, BEGIN, r, c, u, IF_AT_R, "r", )
#define DEFINE_IN_F(r, c, u) DEFINE(loop_##r##c, BEGIN, r, c, u, IF_AT, "f", in_f)
/* clang-format on */

static inline double in_f(int64_t i) {
    const union {
        int64_t i;
        double f;
    } u = {i};

    return u.f;
}

DEFINE_IN_R(1, 1, 16)
DEFINE_IN_R(2, 1, 16)
DEFINE_IN_R(3, 1, 16)
DEFINE_IN_R(4, 1, 16)
DEFINE_IN_R(1, 2, 4)
DEFINE_IN_R(2, 2, 4)
DEFINE_IN_R(3, 2, 4)
DEFINE_IN_R(4, 2, 4)
DEFINE_IN_R(1, 3, 4)
DEFINE_IN_R(2, 3, 4)
DEFINE_IN_R(3, 3, 4)
DEFINE_IN_R(4, 3, 4)
DEFINE_IN_R(1, 4, 4)
DEFINE_IN_R(2, 4, 4)
DEFINE_IN_R(3, 4, 4)
#if IN_PLACE
DEFINE_IN_F(4, 4, 8)
#else
DEFINE_IN_R(4, 4, 4)
#endif
#if UK_NR == 8
DEFINE_IN_R(1, 5, 4)
DEFINE_IN_R(1, 6, 4)
DEFINE_IN_R(1, 7, 4)
DEFINE_IN_R(1, 8, 4)
DEFINE_IN_R(2, 5, 4)
DEFINE_IN_R(2, 6, 4)
DEFINE_IN_R(2, 7, 4)
DEFINE_IN_R(2, 8, 4)
#endif
#if RUNS
DEFINE_RUNS(loop_48, BEGIN, 4)
DEFINE_RUNS(loop_new, BEGIN_NEW, 4)
#elif UK_NR == 8 && IN_PLACE
DEFINE_ENTERED(loop_48, BEGIN, 4, 8)
#define TESTS_ACC 1 /* a second copy of the loop would cost the edges an instruction each */
#elif UK_NR == 8
DEFINE_HALVES(loop_48, BEGIN, 4, 8, IF_AT_R, "r", )
DEFINE_HALVES(loop_new, BEGIN_NEW, 4, 8, IF_AT_R, "r", )
#elif UK_NR == 4 && IN_PLACE
DEFINE(loop_new, BEGIN_NEW, 4, 4, 8, IF_AT, "f", in_f)
#elif UK_NR == 4
DEFINE(loop_new, BEGIN_NEW, 4, 4, 4, IF_AT_R, "r", )
#endif
#if UK_NR == 5
DEFINE_IN_R(1, 5, 4)
DEFINE_IN_R(2, 5, 4)
DEFINE_IN_R(3, 5, 4)
DEFINE_IN_F(4, 5, 4)
DEFINE(loop_new, BEGIN_NEW, 4, 5, 4, IF_AT, "f", in_f)
#endif

#define LOOP(r, c, t) loop_##r##c(t)

/* A whole tile, of all runs if the kernel has several. Most callers pass a constant `acc`. */
static inline __attribute__((always_inline)) void loop_full(struct tile t) {
#ifdef TESTS_ACC
    loop_48(t);
#else
    if (t.acc)
        CAT(loop_4, UK_NR)(t);
    else
        loop_new(t);
#endif
}
