/* SPDX-License-Identifier: Apache-2.0 */
/* Converts f16 and bf16 to f32 and back, where panels are packed for kernels of f32, and where sums in f32
 * become elements of C. */
#include <string.h>
#include "gemm/low.h"
#include "kernels.h"
#include "registry/half.h"

/* Elements of a row that are converted at a time. */
enum { SOME = 64 };

static void widen(const struct gemm_type *t, int64_t n, const uint16_t *restrict s, float *restrict d) {
    if (t->widening)
        ((uk_hwiden_function *)t->widening->function)(s, d, n);
    else if (t->left == UK_ELEMENT_BF16)
        for (int64_t j = 0; j < n; j++)
            d[j] = uk_from_bf16(s[j]);
    else
        for (int64_t j = 0; j < n; j++)
            d[j] = uk_from_f16(s[j]);
}

static void narrow(const struct gemm_type *t, int64_t n, const float *restrict s, uint16_t *restrict d) {
    if (t->narrowing)
        ((uk_hnarrow_function *)t->narrowing->function)(s, d, n);
    else if (t->left == UK_ELEMENT_BF16)
        for (int64_t j = 0; j < n; j++)
            d[j] = uk_to_bf16(s[j]);
    else
        for (int64_t j = 0; j < n; j++)
            d[j] = uk_to_f16(uk_round_f16(s[j]));
}

/* ---- panels ---- */

/* Packs lines side by side. */
static void widen_lines(const struct gemm_type *t, int64_t k, int64_t n, const uint16_t *s, int64_t step,
                        float *d, int64_t width) {
    for (int64_t p = 0; p < k; p++, s += step, d += width) {
        widen(t, n, s, d);
        for (int64_t j = n; j < width; j++)
            d[j] = 0;
    }
}

/* Packs lines that are contiguous along k: some elements of all lines are converted, then transposed as those
 * of f32 are. */
static void widen_columns(const struct gemm_type *t, int64_t k, int64_t n, const uint16_t *s, int64_t across,
                          float *d, int64_t width) {
    enum { ALONG = 32, MOST = 2 * GEMM_TILE_MOST };
    const int64_t most = uk_min(ALONG, MOST / n);
    float some[MOST];

    for (int64_t p = 0; p < k; p += most) {
        const int64_t count = uk_min(k - p, most);

        for (int64_t j = 0; j < n; j++)
            widen(t, count, s + j * across + p, some + j * most);
        uk_gemm_f32.pack(&uk_gemm_f32, count, n, some, 1, most, (int)width, d + p * width);
    }
}

void uk_gemm_pack_widened(const struct gemm_type *t, int64_t k, int64_t n, const void *s, int64_t step,
                          int64_t across, int64_t width, void *d) {
    if (across == 1)
        widen_lines(t, k, n, s, step, d, width);
    else
        widen_columns(t, k, n, s, across, d, width);
}

/* ---- rows ---- */

void uk_gemm_widen_rows(const struct gemm_type *t, int64_t m, int64_t k, const uint16_t *s, int64_t row,
                        int64_t step, float *d, int64_t ldd) {
    uint16_t some[SOME];

    for (int64_t i = 0; i < m; i++, s += row, d += ldd)
        if (step == 1)
            widen(t, k, s, d);
        else
            for (int64_t p = 0; p < k; p += SOME) {
                const int64_t count = uk_min(k - p, SOME);

                for (int64_t q = 0; q < count; q++)
                    some[q] = s[(p + q) * step];
                widen(t, count, some, d + p);
            }
}

/* ---- C ---- */

void uk_gemm_widen(const struct gemm_type *t, int64_t n, const uint16_t *s, float *d) {
    widen(t, n, s, d);
}

void uk_gemm_merge_low(const struct gemm_product *p, int64_t m, int64_t n, double alpha, float *sums,
                       int64_t lds, double beta, const void *c, int64_t ldc) {
    const float a = (float)alpha, b = (float)beta;

    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j += SOME) {
            const int64_t count = uk_min(n - j, SOME);
            float *sum = sums + i * lds + j, old[SOME] = {0};

            if (b != 0 && p->c_element == UK_C_F32)
                memcpy(old, (const float *)c + i * ldc + j, (size_t)count * sizeof *old);
            else if (b != 0)
                widen(p->type, count, (const uint16_t *)c + i * ldc + j, old);
            for (int64_t q = 0; q < count; q++)
                sum[q] = a * sum[q] + (b != 0 ? b * old[q] : 0);
        }
}

void uk_gemm_store_low(const struct gemm_product *p, int64_t m, int64_t n, const float *sums, int64_t lds,
                       void *c, int64_t ldc) {
    for (int64_t i = 0; i < m; i++, sums += lds)
        if (p->c_element == UK_C_F32)
            memcpy((float *)c + i * ldc, sums, (size_t)n * sizeof *sums);
        else
            narrow(p->type, n, sums, (uint16_t *)c + i * ldc);
}
