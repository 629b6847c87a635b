/*
 * 8 rows x 12 columns of C, in i32, from panels of groups of 4 bytes: sdot (UK_OP_i8gemm) or udot (UK_OP_u8gemm), each
 * adding four products of 4 columns and of one row, a lane.
 *
 *                       b: v2 (columns 0-3)   v3 (4-7)     v4 (8-11)
 *     a: v0.4b[0] row 0      c00                c01           c02
 *        ...      ...        ...                ...           ...
 *        v0.4b[3] row 3      c30                c31           c32
 *     a: v1.4b[0] row 4      c40                c41           c42
 *        ...      ...        ...                ...           ...
 *        v1.4b[3] row 7      c70                c71           c72
 *
 * Bound: 24 dot products, 5 loads, 33 instructions per group. Two dot products a cycle (Cortex-A76, Neoverse N1): 12
 * cycles, 64 multiply-adds a cycle; four (Neoverse V1): 6 cycles. 24 accumulators cover their latency of 4 three times
 * over. In-order cores (Cortex-A55: one a cycle) find each load at least 4 dot products ahead of its use: the order
 * serves both. What has been used is loaded again for the next group, but in the last one, so that nothing behind the
 * panels is read.
 *
 * Edges cost as the whole tile; rows and columns that it lacks are not stored.
 */
#include "rows_neon.h"

#ifdef UK_OP_u8gemm
typedef uint8_t element;
#define OP "udot"
#else
typedef int8_t element;
#define OP "sdot"
#endif
enum { KR = 4 };

/* clang-format off */
/* Row i with vector j of columns, in v<b>; its bytes are lane l of v<a>. */
#define DOT(i, j, b, a, l) OP " %[c" #i #j "].4s, v" #b ".16b, v" #a ".4b[" #l "]\n\t"
#define UPPER(j, b) DOT(0, j, b, 0, 0) DOT(1, j, b, 0, 1) DOT(2, j, b, 0, 2) DOT(3, j, b, 0, 3)
#define LOWER(j, b) DOT(4, j, b, 1, 0) DOT(5, j, b, 1, 1) DOT(6, j, b, 1, 2) DOT(7, j, b, 1, 3)
#define LOAD(q, from) "ldr q" #q ", [%[" #from "]]\n\t"
#define LOAD_AT(q, from, at) "ldr q" #q ", [%[" #from "], " #at "]\n\t"
#define ZERO(x) "movi %[" #x "].4s, 0\n\t"

/* clang-format on */

void UK_SYMBOL(int64_t k, const element *a, const element *b, total *c, int64_t ldc, int64_t acc, int64_t mr,
               int64_t nr) {
    int64_t groups = k / KR;
    vector c00, c01, c02, c10, c11, c12, c20, c21, c22, c30, c31, c32, c40, c41, c42, c50, c51, c52, c60, c61,
        c62, c70, c71, c72;

    /* clang-format off */
    __asm__ volatile(
        ZERO(c00) ZERO(c01) ZERO(c02) ZERO(c10) ZERO(c11) ZERO(c12) ZERO(c20) ZERO(c21) ZERO(c22) ZERO(c30)
        ZERO(c31) ZERO(c32) ZERO(c40) ZERO(c41) ZERO(c42) ZERO(c50) ZERO(c51) ZERO(c52) ZERO(c60) ZERO(c61)
        ZERO(c62) ZERO(c70) ZERO(c71) ZERO(c72)
        "cbz %[n], 3f\n\t"
        LOAD(0, a) LOAD(2, b) LOAD_AT(1, a, 16) LOAD_AT(3, b, 16)
        "subs %[n], %[n], 1\n\t"
        "b.eq 2f\n\t"
        "1:\n\t"
        UPPER(0, 2) LOAD_AT(4, b, 32) LOWER(0, 2) LOAD_AT(2, b, 48)
        UPPER(1, 3) "add %[a], %[a], 32\n\t" LOWER(1, 3) LOAD_AT(3, b, 64)
        UPPER(2, 4) LOAD(0, a) "add %[b], %[b], 48\n\t" LOWER(2, 4) LOAD_AT(1, a, 16)
        "subs %[n], %[n], 1\n\t"
        "b.ne 1b\n\t"
        "2:\n\t"
        UPPER(0, 2) LOAD_AT(4, b, 32) LOWER(0, 2) UPPER(1, 3) LOWER(1, 3) UPPER(2, 4) LOWER(2, 4)
        "3:"
        : [a] "+&r"(a), [b] "+&r"(b), [n] "+&r"(groups), [c00] "=&w"(c00), [c01] "=&w"(c01), [c02] "=&w"(c02),
          [c10] "=&w"(c10), [c11] "=&w"(c11), [c12] "=&w"(c12), [c20] "=&w"(c20), [c21] "=&w"(c21),
          [c22] "=&w"(c22), [c30] "=&w"(c30), [c31] "=&w"(c31), [c32] "=&w"(c32), [c40] "=&w"(c40),
          [c41] "=&w"(c41), [c42] "=&w"(c42), [c50] "=&w"(c50), [c51] "=&w"(c51), [c52] "=&w"(c52),
          [c60] "=&w"(c60), [c61] "=&w"(c61), [c62] "=&w"(c62), [c70] "=&w"(c70), [c71] "=&w"(c71),
          [c72] "=&w"(c72)
        :
        : "v0", "v1", "v2", "v3", "v4", "cc", "memory");
    /* clang-format on */
    store_row(c, (const vector[]){c00, c01, c02}, 3, acc, nr);
    if (mr > 1)
        store_row(c + ldc, (const vector[]){c10, c11, c12}, 3, acc, nr);
    if (mr > 2)
        store_row(c + 2 * ldc, (const vector[]){c20, c21, c22}, 3, acc, nr);
    if (mr > 3)
        store_row(c + 3 * ldc, (const vector[]){c30, c31, c32}, 3, acc, nr);
    if (mr > 4)
        store_row(c + 4 * ldc, (const vector[]){c40, c41, c42}, 3, acc, nr);
    if (mr > 5)
        store_row(c + 5 * ldc, (const vector[]){c50, c51, c52}, 3, acc, nr);
    if (mr > 6)
        store_row(c + 6 * ldc, (const vector[]){c60, c61, c62}, 3, acc, nr);
    if (mr > 7)
        store_row(c + 7 * ldc, (const vector[]){c70, c71, c72}, 3, acc, nr);
}
