/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a group of a kernel of small products: their addresses and the registers of their sums. */
#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
/* clang-format off */
/* Zeroes a register. Registers below 16 have a shorter instruction, which takes no execution unit. */
#define Z(x)                                                                                                \
    ".if " #x " < 16\n\tvpxor %%xmm" #x ", %%xmm" #x ", %%xmm" #x "\n\t"                                    \
    ".else\n\tvpxord %%xmm" #x ", %%xmm" #x ", %%xmm" #x "\n\t.endif\n\t"

/* AT_ROW(i): the address of row i of a group, in A or in C. Each of up to four pointers reaches seven rows by
 * multiples of the leading dimension. LAST_OF_ROW(i): the address of the row's last vector in C, by two more
 * pointers. */
#define AT_0(p) "(%[" p "])"
#define AT_1(p) "(%[" p "], %[ld])"
#define AT_2(p) "(%[" p "], %[ld], 2)"
#define AT_3(p) "(%[" p "], %[ld3])"
#define AT_4(p) "(%[" p "], %[ld], 4)"
#define AT_5(p) "(%[" p "], %[ld5])"
#define AT_6(p) "(%[" p "], %[ld3], 2)"
#define ROW_0(a, b, c, d) AT_0(a)
#define ROW_1(a, b, c, d) AT_1(a)
#define ROW_2(a, b, c, d) AT_2(a)
#define ROW_3(a, b, c, d) AT_3(a)
#define ROW_4(a, b, c, d) AT_4(a)
#define ROW_5(a, b, c, d) AT_5(a)
#define ROW_6(a, b, c, d) AT_6(a)
#define ROW_7(a, b, c, d) AT_0(b)
#define ROW_8(a, b, c, d) AT_1(b)
#define ROW_9(a, b, c, d) AT_2(b)
#define ROW_10(a, b, c, d) AT_3(b)
#define ROW_11(a, b, c, d) AT_4(b)
#define ROW_12(a, b, c, d) AT_5(b)
#define ROW_13(a, b, c, d) AT_6(b)
#define ROW_14(a, b, c, d) AT_0(c)
#define ROW_15(a, b, c, d) AT_1(c)
#define ROW_16(a, b, c, d) AT_2(c)
#define ROW_17(a, b, c, d) AT_3(c)
#define ROW_18(a, b, c, d) AT_4(c)
#define ROW_19(a, b, c, d) AT_5(c)
#define ROW_20(a, b, c, d) AT_6(c)
#define ROW_21(a, b, c, d) AT_0(d)
#define ROW_22(a, b, c, d) AT_1(d)
#define ROW_23(a, b, c, d) AT_2(d)
#define ROW_24(a, b, c, d) AT_3(d)
#define ROW_25(a, b, c, d) AT_4(d)
#define ROW_26(a, b, c, d) AT_5(d)
#define ROW_27(a, b, c, d) AT_6(d)
#define AT_ROW(i) ROW_##i("a0", "a7", "a14", "a21")
#define LAST_OF_ROW(i) ROW_##i("b", "unrolled", , )

/* far: names the last register that the addresses of a group need: 0 none, 3 and 5 that multiple of the
 * leading dimension, 7, 14 and 21 a pointer to that row.
 *
 *     FAR_far            the operands of the asm statement
 *     TO_far             sets them from a0 and ld
 *     ON_far(bytes)      moves the pointers by `bytes`
 *     TO_LAST_far        points b and unrolled, which are free after the loop, to the last vectors of rows 0
 *                        and 7 of C, `last` bytes after the first ones */
#define FAR_0
#define FAR_3 , [ld3] "=&r"(ld3)
#define FAR_5 FAR_3, [ld5] "=&r"(ld5)
#define FAR_7 FAR_5, [a7] "=&r"(a7)
#define FAR_14 FAR_7, [a14] "=&r"(a14)
#define FAR_21 FAR_14, [a21] "=&r"(a21)
#define BEHIND(p, q) "lea (%[" p "], %[ld3], 2), %[" q "]\n\tadd %[ld], %[" q "]\n\t"
#define TO_0
#define TO_3 "lea (%[ld], %[ld], 2), %[ld3]\n\t"
#define TO_5 TO_3 "lea (%[ld], %[ld], 4), %[ld5]\n\t"
#define TO_7 TO_5 BEHIND("a0", "a7")
#define TO_14 TO_7 BEHIND("a7", "a14")
#define TO_21 TO_14 BEHIND("a14", "a21")
#define ON_0(bytes) "add " bytes ", %[a0]\n\t"
#define ON_3 ON_0
#define ON_5 ON_0
#define ON_7(bytes) ON_0(bytes) "add " bytes ", %[a7]\n\t"
#define ON_14(bytes) ON_7(bytes) "add " bytes ", %[a14]\n\t"
#define ON_21(bytes) ON_14(bytes) "add " bytes ", %[a21]\n\t"
#define TO_LAST_0 "lea (%[a0], %[last]), %[b]\n\t"
#define TO_LAST_3 TO_LAST_0
#define TO_LAST_5 TO_LAST_0
#define TO_LAST_7 TO_LAST_0 "lea (%[a7], %[last]), %[unrolled]\n\t"

/* UP_TO_n: F(rows, their `far`, M) for groups of 1 to n rows. */
#define UP_TO_4(F, M) F(1, 0, M) F(2, 0, M) F(3, 0, M) F(4, 3, M)
#define UP_TO_6(F, M) UP_TO_4(F, M) F(5, 3, M) F(6, 5, M)
#define UP_TO_9(F, M) UP_TO_6(F, M) F(7, 5, M) F(8, 7, M) F(9, 7, M)
#define UP_TO_12(F, M) UP_TO_9(F, M) F(10, 7, M) F(11, 7, M) F(12, 7, M)
#define UP_TO_14(F, M) UP_TO_12(F, M) F(13, 7, M) F(14, 7, M)
#define UP_TO_26(F, M) \
    UP_TO_14(F, M) F(15, 14, M) F(16, 14, M) F(17, 14, M) F(18, 14, M) F(19, 14, M) F(20, 14, M) F(21, 14, M) \
    F(22, 21, M) F(23, 21, M) F(24, 21, M) F(25, 21, M) F(26, 21, M)
#define UP_TO_28(F, M) UP_TO_26(F, M) F(27, 21, M) F(28, 21, M)

/* ROWS_v_r: F(u, n, row, registers of its sums) for r rows of v vectors. */
#define ROWS_1_1(F, u, n) F(u, n, 0, 0)
#define ROWS_1_2(F, u, n) ROWS_1_1(F, u, n) F(u, n, 1, 1)
#define ROWS_1_3(F, u, n) ROWS_1_2(F, u, n) F(u, n, 2, 2)
#define ROWS_1_4(F, u, n) ROWS_1_3(F, u, n) F(u, n, 3, 3)
#define ROWS_1_5(F, u, n) ROWS_1_4(F, u, n) F(u, n, 4, 4)
#define ROWS_1_6(F, u, n) ROWS_1_5(F, u, n) F(u, n, 5, 5)
#define ROWS_1_7(F, u, n) ROWS_1_6(F, u, n) F(u, n, 6, 6)
#define ROWS_1_8(F, u, n) ROWS_1_7(F, u, n) F(u, n, 7, 7)
#define ROWS_1_9(F, u, n) ROWS_1_8(F, u, n) F(u, n, 8, 8)
#define ROWS_1_10(F, u, n) ROWS_1_9(F, u, n) F(u, n, 9, 9)
#define ROWS_1_11(F, u, n) ROWS_1_10(F, u, n) F(u, n, 10, 10)
#define ROWS_1_12(F, u, n) ROWS_1_11(F, u, n) F(u, n, 11, 11)
#define ROWS_1_13(F, u, n) ROWS_1_12(F, u, n) F(u, n, 12, 12)
#define ROWS_1_14(F, u, n) ROWS_1_13(F, u, n) F(u, n, 13, 13)
#define ROWS_1_15(F, u, n) ROWS_1_14(F, u, n) F(u, n, 14, 14)
#define ROWS_1_16(F, u, n) ROWS_1_15(F, u, n) F(u, n, 15, 15)
#define ROWS_1_17(F, u, n) ROWS_1_16(F, u, n) F(u, n, 16, 16)
#define ROWS_1_18(F, u, n) ROWS_1_17(F, u, n) F(u, n, 17, 17)
#define ROWS_1_19(F, u, n) ROWS_1_18(F, u, n) F(u, n, 18, 18)
#define ROWS_1_20(F, u, n) ROWS_1_19(F, u, n) F(u, n, 19, 19)
#define ROWS_1_21(F, u, n) ROWS_1_20(F, u, n) F(u, n, 20, 20)
#define ROWS_1_22(F, u, n) ROWS_1_21(F, u, n) F(u, n, 21, 21)
#define ROWS_1_23(F, u, n) ROWS_1_22(F, u, n) F(u, n, 22, 22)
#define ROWS_1_24(F, u, n) ROWS_1_23(F, u, n) F(u, n, 23, 23)
#define ROWS_1_25(F, u, n) ROWS_1_24(F, u, n) F(u, n, 24, 24)
#define ROWS_1_26(F, u, n) ROWS_1_25(F, u, n) F(u, n, 25, 25)
#define ROWS_1_27(F, u, n) ROWS_1_26(F, u, n) F(u, n, 26, 26)
#define ROWS_1_28(F, u, n) ROWS_1_27(F, u, n) F(u, n, 27, 27)
#define ROWS_2_1(F, u, n) F(u, n, 0, 0, 1)
#define ROWS_2_2(F, u, n) ROWS_2_1(F, u, n) F(u, n, 1, 2, 3)
#define ROWS_2_3(F, u, n) ROWS_2_2(F, u, n) F(u, n, 2, 4, 5)
#define ROWS_2_4(F, u, n) ROWS_2_3(F, u, n) F(u, n, 3, 6, 7)
#define ROWS_2_5(F, u, n) ROWS_2_4(F, u, n) F(u, n, 4, 8, 9)
#define ROWS_2_6(F, u, n) ROWS_2_5(F, u, n) F(u, n, 5, 10, 11)
#define ROWS_2_7(F, u, n) ROWS_2_6(F, u, n) F(u, n, 6, 12, 13)
#define ROWS_2_8(F, u, n) ROWS_2_7(F, u, n) F(u, n, 7, 14, 15)
#define ROWS_2_9(F, u, n) ROWS_2_8(F, u, n) F(u, n, 8, 16, 17)
#define ROWS_2_10(F, u, n) ROWS_2_9(F, u, n) F(u, n, 9, 18, 19)
#define ROWS_2_11(F, u, n) ROWS_2_10(F, u, n) F(u, n, 10, 20, 21)
#define ROWS_2_12(F, u, n) ROWS_2_11(F, u, n) F(u, n, 11, 22, 23)
#define ROWS_2_13(F, u, n) ROWS_2_12(F, u, n) F(u, n, 12, 24, 25)
#define ROWS_2_14(F, u, n) ROWS_2_13(F, u, n) F(u, n, 13, 26, 27)
#define ROWS_3_1(F, u, n) F(u, n, 0, 0, 1, 2)
#define ROWS_3_2(F, u, n) ROWS_3_1(F, u, n) F(u, n, 1, 3, 4, 5)
#define ROWS_3_3(F, u, n) ROWS_3_2(F, u, n) F(u, n, 2, 6, 7, 8)
#define ROWS_3_4(F, u, n) ROWS_3_3(F, u, n) F(u, n, 3, 9, 10, 11)
#define ROWS_3_5(F, u, n) ROWS_3_4(F, u, n) F(u, n, 4, 12, 13, 14)
#define ROWS_3_6(F, u, n) ROWS_3_5(F, u, n) F(u, n, 5, 15, 16, 17)
#define ROWS_3_7(F, u, n) ROWS_3_6(F, u, n) F(u, n, 6, 18, 19, 20)
#define ROWS_3_8(F, u, n) ROWS_3_7(F, u, n) F(u, n, 7, 21, 22, 23)
#define ROWS_3_9(F, u, n) ROWS_3_8(F, u, n) F(u, n, 8, 24, 25, 26)
#define ROWS_4_1(F, u, n) F(u, n, 0, 0, 1, 2, 3)
#define ROWS_4_2(F, u, n) ROWS_4_1(F, u, n) F(u, n, 1, 4, 5, 6, 7)
#define ROWS_4_3(F, u, n) ROWS_4_2(F, u, n) F(u, n, 2, 8, 9, 10, 11)
#define ROWS_4_4(F, u, n) ROWS_4_3(F, u, n) F(u, n, 3, 12, 13, 14, 15)
#define ROWS_4_5(F, u, n) ROWS_4_4(F, u, n) F(u, n, 4, 16, 17, 18, 19)
#define ROWS_4_6(F, u, n) ROWS_4_5(F, u, n) F(u, n, 5, 20, 21, 22, 23)
/* clang-format on */
