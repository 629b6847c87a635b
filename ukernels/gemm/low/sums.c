/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of the lines of an operand of bytes (lines of struct uk_lattice), which take zero points off products:
 *
 *     sum of (a - x) (b - y) = sum of a b - x sum of b - y sum of a + k x y
 */
#include "gemm/low.h"

/* Columns, and rows of their sums in 16 bits, at a time: 128 bytes cannot leave an int16_t. */
enum { COLUMNS = 64, ROWS = 2 * 64 };

#define UK_SUMS(element)                                                                                     \
    static void sum_rows_##element(int64_t n, int64_t k, const element *s, int64_t across, int32_t *sums) {  \
        for (int64_t i = 0; i < n; i++, s += across) {                                                       \
            int32_t sum = 0;                                                                                 \
                                                                                                             \
            for (int64_t p = 0; p < k; p++)                                                                  \
                sum += s[p];                                                                                 \
            sums[i] = sum;                                                                                   \
        }                                                                                                    \
    }                                                                                                        \
                                                                                                             \
    static void sum_columns_##element(int64_t n, int64_t k, const element *s, int64_t step, int32_t *sums) { \
        for (int64_t p = 0; p < k; p += ROWS) {                                                              \
            const int64_t last = uk_min(k, p + ROWS);                                                        \
            int16_t some[COLUMNS] = {0};                                                                     \
                                                                                                             \
            for (int64_t q = p; q < last; q++)                                                               \
                for (int64_t j = 0; j < n; j++)                                                              \
                    some[j] = (int16_t)(some[j] + s[q * step + j]);                                          \
            for (int64_t j = 0; j < n; j++)                                                                  \
                sums[j] = (p ? sums[j] : 0) + some[j];                                                       \
        }                                                                                                    \
    }
UK_SUMS(uint8_t)
UK_SUMS(int8_t)

void uk_gemm_low_sums(const struct uk_lattice *m, const void *array, int64_t line, int64_t n, int32_t *sums) {
    const int64_t across = uk_lattice_line_stride(m), step = uk_lattice_element_stride(m), k = m->k->extent;
    const bool is_signed = m->element == UK_ELEMENT_I8;
    const void *s = uk_lattice_place(m, array, line, 0);

    if (step == 1 && is_signed)
        sum_rows_int8_t(n, k, s, across, sums);
    else if (step == 1)
        sum_rows_uint8_t(n, k, s, across, sums);
    else
        for (int64_t j = 0; j < n; j += COLUMNS) {
            const int64_t columns = uk_min(n - j, COLUMNS);

            if (is_signed)
                sum_columns_int8_t(columns, k, (const int8_t *)s + j, step, sums + j);
            else
                sum_columns_uint8_t(columns, k, (const uint8_t *)s + j, step, sums + j);
        }
}
