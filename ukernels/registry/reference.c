/* SPDX-License-Identifier: Apache-2.0 */
/* Computes each operation of ops.def in plain loops, as simply as possible: kernels are tested against these.
 */
#include "ukernels.h"
#include "half.h"
#include "registry.h"

#define real float
#define REFERENCE(op) uk_reference_s##op
#include "reference_real.h"
#undef real
#undef REFERENCE
#define real double
#define REFERENCE(op) uk_reference_d##op
#include "reference_real.h"

void uk_reference_spack_s(int64_t MR, int64_t NR, int64_t KR, int64_t k, const float *s, int64_t ldk,
                          int64_t lds, float *d, int64_t n) {
    (void)MR;
    (void)KR;
    for (int64_t p = 0; p < k; p++)
        for (int64_t j = 0; j < NR; j++)
            d[p * NR + j] = j < n ? s[p * ldk + j * lds] : 0;
}

/* Products of bytes and halves; sums in i32 wrap. A(i, p) is element (i, p) of A: IN_GROUPS, in panels of
 * groups, or IN_ROWS, in rows in place. */
#define IN_GROUPS(i, p) a[(p) / KR * KR * MR + (i) * KR + (p) % KR]
#define IN_ROWS(i, p) a[(i) * lda + (p)]
#define ADD(element, from, to, sum_type)                                                        \
    for (int64_t i = 0; i < mr; i++) {                                                          \
        for (int64_t j = 0; j < nr; j++) {                                                      \
            to sum = 0;                                                                         \
                                                                                                \
            for (int64_t p = 0; p < k; p++)                                                     \
                sum += (to)(from(element(i, p)) * from(b[p / KR * KR * NR + j * KR + p % KR])); \
            c[i * ldc + j] = (sum_type)(acc ? (to)c[i * ldc + j] + sum : sum);                  \
        }                                                                                       \
    }
#define GROUP_PANELS(op, left, right, from, to, sum_type)                                                \
    void uk_reference_##op(int64_t MR, int64_t NR, int64_t KR, int64_t k, const left *a, const right *b, \
                           sum_type *c, int64_t ldc, int64_t acc, int64_t mr, int64_t nr) {              \
        ADD(IN_GROUPS, from, to, sum_type)                                                               \
    }
#define GROUP_GEMM(op, left, right, from, to, sum_type)                                                    \
    GROUP_PANELS(op, left, right, from, to, sum_type)                                                      \
    void uk_reference_##op##_ra(int64_t MR, int64_t NR, int64_t KR, int64_t k, const left *a, int64_t lda, \
                                const right *b, sum_type *c, int64_t ldc, int64_t acc, int64_t mr,         \
                                int64_t nr) {                                                              \
        (void)MR;                                                                                          \
        ADD(IN_ROWS, from, to, sum_type)                                                                   \
    }
GROUP_GEMM(igemm, uint8_t, int8_t, (int32_t), uint32_t, int32_t)
GROUP_GEMM(i8gemm, int8_t, int8_t, (int32_t), uint32_t, int32_t)
GROUP_GEMM(u8gemm, uint8_t, uint8_t, (int32_t), uint32_t, int32_t)
GROUP_GEMM(i8u8gemm, int8_t, uint8_t, (int32_t), uint32_t, int32_t)
GROUP_GEMM(bgemm, uint16_t, uint16_t, uk_from_bf16, float, float)
GROUP_GEMM(hsgemm, uint16_t, uint16_t, uk_from_f16, float, float)
GROUP_PANELS(i16gemm, int16_t, int16_t, (int32_t), uint32_t, int32_t)
#undef GROUP_PANELS
#undef GROUP_GEMM
#define GROUP_RUNS(op, left, right, from, to, sum_type)                                                     \
    void uk_reference_##op(int64_t MR, int64_t NR, int64_t KR, int64_t runs, int64_t k, const left *a,      \
                           int64_t lda, int64_t lds, const right *b, int64_t ldb, sum_type *c, int64_t ldc, \
                           int64_t acc, int64_t mr, int64_t nr) {                                           \
        (void)MR;                                                                                           \
        for (int64_t i = 0; i < mr; i++)                                                                    \
            for (int64_t j = 0; j < nr; j++) {                                                              \
                to sum = acc ? (to)c[i * ldc + j] : 0;                                                      \
                                                                                                            \
                for (int64_t t = 0; t < runs; t++)                                                          \
                    for (int64_t p = 0; p < k; p++)                                                         \
                        sum += (to)(from(a[i * lda + t * lds + p]) *                                        \
                                    from(b[t * ldb + p / KR * KR * NR + j * KR + p % KR]));                 \
                c[i * ldc + j] = (sum_type)sum;                                                             \
            }                                                                                               \
    }
GROUP_RUNS(igemm_runs, uint8_t, int8_t, (int32_t), uint32_t, int32_t)
GROUP_RUNS(i8gemm_runs, int8_t, int8_t, (int32_t), uint32_t, int32_t)
GROUP_RUNS(u8gemm_runs, uint8_t, uint8_t, (int32_t), uint32_t, int32_t)
GROUP_RUNS(i8u8gemm_runs, int8_t, uint8_t, (int32_t), uint32_t, int32_t)
GROUP_RUNS(bgemm_runs, uint16_t, uint16_t, uk_from_bf16, float, float)
#undef GROUP_RUNS

void uk_reference_sgemm_runs(int64_t MR, int64_t NR, int64_t KR, int64_t runs, int64_t k, const float *a,
                             int64_t lda, int64_t lds, const float *b, int64_t ldb, float *c, int64_t ldc,
                             int64_t acc, int64_t mr, int64_t nr, int64_t next) {
    (void)MR;
    (void)KR;
    (void)next;
    for (int64_t i = 0; i < mr; i++)
        for (int64_t j = 0; j < nr; j++) {
            float sum = 0;

            for (int64_t t = 0; t < runs; t++)
                for (int64_t p = 0; p < k; p++)
                    sum += a[i * lda + t * lds + p] * b[t * ldb + p * NR + j];
            c[i * ldc + j] = acc ? c[i * ldc + j] + sum : sum;
        }
}

void uk_reference_sgemm_runs_rab(int64_t MR, int64_t NR, int64_t KR, int64_t runs, int64_t k, const float *a,
                                 int64_t lda, int64_t lds, const float *b, int64_t ldb, int64_t ldt, float *c,
                                 int64_t ldc, int64_t acc, int64_t mr, int64_t nr) {
    (void)MR;
    (void)NR;
    (void)KR;
    for (int64_t i = 0; i < mr; i++)
        for (int64_t j = 0; j < nr; j++) {
            float sum = 0;

            for (int64_t t = 0; t < runs; t++)
                for (int64_t p = 0; p < k; p++)
                    sum += a[i * lda + t * lds + p] * b[t * ldt + p * ldb + j];
            c[i * ldc + j] = acc ? c[i * ldc + j] + sum : sum;
        }
}

#define BYTE_GEMV(op, left, right)                                                                    \
    void uk_reference_##op(int64_t MR, int64_t NR, int64_t KR, int64_t k, const left *a, int64_t lda, \
                           const right *x, int32_t *c, int64_t acc, int64_t ahead, int64_t m) {       \
        (void)MR;                                                                                     \
        (void)NR;                                                                                     \
        (void)KR;                                                                                     \
        (void)ahead;                                                                                  \
        for (int64_t i = 0; i < m; i++) {                                                             \
            uint32_t sum = acc ? (uint32_t)c[i] : 0;                                                  \
                                                                                                      \
            for (int64_t p = 0; p < k; p++)                                                           \
                sum += (uint32_t)(a[i * lda + p] * x[p]);                                             \
            c[i] = (int32_t)sum;                                                                      \
        }                                                                                             \
    }
BYTE_GEMV(igemv_n, uint8_t, int8_t)
BYTE_GEMV(i8gemv_n, int8_t, int8_t)
BYTE_GEMV(u8gemv_n, uint8_t, uint8_t)
BYTE_GEMV(i8u8gemv_n, int8_t, uint8_t)
#undef BYTE_GEMV
#undef ADD
#undef IN_GROUPS
#undef IN_ROWS

void uk_reference_hgemm(int64_t MR, int64_t NR, int64_t KR, int64_t k, const uint16_t *a, const uint16_t *b,
                        uint16_t *c, int64_t ldc, int64_t acc, int64_t mr, int64_t nr) {
    (void)KR;
    for (int64_t i = 0; i < mr; i++) {
        for (int64_t j = 0; j < nr; j++) {
            float sum = 0;

            for (int64_t p = 0; p < k; p++)
                sum =
                    uk_round_f16(sum + uk_round_f16(uk_from_f16(a[p * MR + i]) * uk_from_f16(b[p * NR + j])));
            c[i * ldc + j] = uk_to_f16(acc ? uk_round_f16(uk_from_f16(c[i * ldc + j]) + sum) : sum);
        }
    }
}

void uk_reference_hpack_t(int64_t MR, int64_t NR, int64_t KR, int64_t k, const uint16_t *s, int64_t lds,
                          uint16_t *d, int64_t m) {
    (void)NR;
    (void)KR;
    for (int64_t p = 0; p < k; p++)
        for (int64_t i = 0; i < MR; i++)
            d[p * MR + i] = i < m ? s[i * lds + p] : 0;
}

void uk_reference_hpack_n(int64_t MR, int64_t NR, int64_t KR, int64_t k, const uint16_t *s, int64_t lds,
                          uint16_t *d, int64_t n) {
    (void)MR;
    (void)KR;
    for (int64_t p = 0; p < k; p++)
        for (int64_t j = 0; j < NR; j++)
            d[p * NR + j] = j < n ? s[p * lds + j] : 0;
}

#define GROUP_PACKS(t, element)                                                                    \
    void uk_reference_##t##pack_t(int64_t MR, int64_t NR, int64_t KR, int64_t k, const element *s, \
                                  int64_t lds, element *d, int64_t m, int64_t w) {                 \
        (void)MR;                                                                                  \
        (void)NR;                                                                                  \
        for (int64_t i = 0; i < w; i++)                                                            \
            for (int64_t p = 0; p < KR; p++)                                                       \
                d[i * KR + p] = i < m && p < k ? s[i * lds + p] : 0;                               \
    }                                                                                              \
    void uk_reference_##t##pack_n(int64_t MR, int64_t NR, int64_t KR, int64_t k, const element *s, \
                                  int64_t lds, element *d, int64_t n, int64_t w) {                 \
        (void)MR;                                                                                  \
        (void)NR;                                                                                  \
        for (int64_t j = 0; j < w; j++)                                                            \
            for (int64_t p = 0; p < KR; p++)                                                       \
                d[j * KR + p] = j < n && p < k ? s[p * lds + j] : 0;                               \
    }
GROUP_PACKS(u8, uint8_t)
GROUP_PACKS(i8, int8_t)
GROUP_PACKS(i16, int16_t)
GROUP_PACKS(b, uint16_t)
#undef GROUP_PACKS

/* Packs panels of groups. Element p of line i of the source is s[p * step + i * line]. */
#define PANELS(name, element, step, line)                                                                  \
    void uk_reference_##name(int64_t MR, int64_t NR, int64_t KR, int64_t k, const element *s, int64_t lds, \
                             element *d, int64_t ldd, int64_t n, int64_t w, int64_t g) {                   \
        (void)MR;                                                                                          \
        (void)NR;                                                                                          \
        for (int64_t p = 0; p < KR * g; p++)                                                               \
            for (int64_t i = 0; i < w; i++)                                                                \
                d[p / KR * ldd + i * KR + p % KR] = i < n && p < k ? s[p * (step) + i * (line)] : 0;       \
    }
PANELS(u8panel_t, uint8_t, 1, lds)
PANELS(i8panel_t, int8_t, 1, lds)
PANELS(u8panel_n, uint8_t, lds, 1)
PANELS(i8panel_n, int8_t, lds, 1)
PANELS(bpanel_n, uint16_t, lds, 1)
#undef PANELS
void uk_reference_sgemm_s(int64_t MR, int64_t NR, int64_t KR, int64_t k, const float *a, int64_t lda,
                          int64_t sa, const float *b, int64_t ldb, int64_t sb, float *c) {
    (void)KR;
    for (int64_t p = 0; p < k; p++)
        for (int64_t i = 0; i < MR; i++)
            for (int64_t j = 0; j < NR; j++)
                c[i * NR + j] += a[p * lda + i / 4 * sa + i % 4] * b[p * ldb + j / 4 * sb + j % 4];
}

void uk_reference_i8gemm_s(int64_t MR, int64_t NR, int64_t KR, int64_t k, const int8_t *a, int64_t lda,
                           int64_t sa, const int8_t *b, int64_t ldb, int64_t sb, int32_t *c) {
    for (int64_t p = 0; p < k; p++)
        for (int64_t i = 0; i < MR; i++)
            for (int64_t j = 0; j < NR; j++)
                c[i * NR + j] += a[p / KR * lda + i / 4 * sa + i % 4 * KR + p % KR] *
                                 b[p / KR * ldb + j / 4 * sb + j % 4 * KR + p % KR];
}

/* The whole tile of c, by rows. */
#define WAVE(op, element, from, number)                                                                    \
    void uk_reference_##op(int64_t MR, int64_t NR, int64_t KR, int64_t k, const element *a, int64_t lda,   \
                           const element *b, int64_t ldb, number *c) {                                     \
        for (int64_t p = 0; p < k; p++)                                                                    \
            for (int64_t i = 0; i < MR; i++)                                                               \
                for (int64_t j = 0; j < NR; j++)                                                           \
                    c[i * NR + j] +=                                                                       \
                        from(a[p / KR * lda + i * KR + p % KR]) * from(b[p / KR * ldb + j * KR + p % KR]); \
    }
WAVE(sgemm_w, float, , float)
WAVE(hgemm_w, uint16_t, uk_from_f16, float)
WAVE(bgemm_w, uint16_t, uk_from_bf16, float)
WAVE(i8gemm_w, int8_t, , int32_t)
#undef WAVE

/* Depthwise sums; the weights of one term are csf elements apart from column to column. */
static void depthwise(int64_t k, const float *x, int64_t ldx, int64_t csx, const float *f, int64_t ldf,
                      int64_t csf, float *y, int64_t ldy, int64_t acc, int64_t m, int64_t n) {
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) {
            float sum = 0;

            for (int64_t p = 0; p < k; p++)
                sum += x[i * ldx + p * csx + j] * f[p * ldf + j * csf];
            y[i * ldy + j] = acc ? y[i * ldy + j] + sum : sum;
        }
    }
}

void uk_reference_sdw(int64_t MR, int64_t NR, int64_t KR, int64_t k, const float *x, int64_t ldx, int64_t csx,
                      const float *f, int64_t ldf, float *y, int64_t ldy, int64_t acc, int64_t m, int64_t n) {
    (void)MR;
    (void)NR;
    (void)KR;
    depthwise(k, x, ldx, csx, f, ldf, 1, y, ldy, acc, m, n);
}

void uk_reference_sdw_r(int64_t MR, int64_t NR, int64_t KR, int64_t k, const float *x, int64_t ldx,
                        int64_t csx, const float *f, int64_t ldf, float *y, int64_t ldy, int64_t acc,
                        int64_t m, int64_t n) {
    (void)MR;
    (void)NR;
    (void)KR;
    depthwise(k, x, ldx, csx, f, ldf, 0, y, ldy, acc, m, n);
}

#define WINDOW(op, element, result, first, next)                                                       \
    void uk_reference_##op(int64_t MR, int64_t NR, int64_t KR, int64_t r, int64_t s, const element *x, \
                           int64_t ldi, int64_t ldr, int64_t lds, result *y, int64_t ldy, int64_t acc, \
                           int64_t m, int64_t n) {                                                     \
        (void)MR;                                                                                      \
        (void)NR;                                                                                      \
        (void)KR;                                                                                      \
        for (int64_t i = 0; i < m; i++)                                                                \
            for (int64_t j = 0; j < n; j++) {                                                          \
                int64_t v = acc ? y[i * ldy + j] : first;                                              \
                                                                                                       \
                for (int64_t p = 0; p < r; p++)                                                        \
                    for (int64_t q = 0; q < s; q++) {                                                  \
                        const element e = x[i * ldi + p * ldr + q * lds + j];                          \
                                                                                                       \
                        v = next;                                                                      \
                    }                                                                                  \
                y[i * ldy + j] = (result)(uint64_t)v;                                                  \
            }                                                                                          \
    }
WINDOW(u8max, uint8_t, uint8_t, 0, e > v ? e : v)
WINDOW(i8max, int8_t, int8_t, INT8_MIN, e > v ? e : v)
WINDOW(u8sum, uint8_t, int32_t, 0, v + e)
WINDOW(i8sum, int8_t, int32_t, 0, v + e)
#undef WINDOW

#define TRANSPOSE(op, element)                                                                           \
    void uk_reference_##op(int64_t MR, int64_t NR, int64_t KR, int64_t k, const element *s, int64_t lds, \
                           element *d, int64_t ldd, int64_t m) {                                         \
        (void)MR;                                                                                        \
        (void)NR;                                                                                        \
        (void)KR;                                                                                        \
        for (int64_t p = 0; p < k; p++)                                                                  \
            for (int64_t i = 0; i < m; i++)                                                              \
                d[p * ldd + i] = s[i * lds + p];                                                         \
    }
TRANSPOSE(u8transpose, uint8_t)
TRANSPOSE(i16transpose, int16_t)
TRANSPOSE(i32transpose, int32_t)
TRANSPOSE(i64transpose, int64_t)
#undef TRANSPOSE

/* m x n sums, each of a window of rows x columns bytes times weights. From one sum of a row to the next, the
 * window moves by x_step bytes and its weights by f_step. */
#define BYTE_WINDOWS(name, element, weight)                                                                  \
    static void name(int64_t rows, int64_t columns, const element *x, int64_t ldi, int64_t ldr, int64_t lds, \
                     int64_t x_step, const weight *f, int64_t ldfr, int64_t ldfs, int64_t f_step,            \
                     int32_t *y, int64_t ldy, int64_t acc, int64_t m, int64_t n) {                           \
        for (int64_t i = 0; i < m; i++)                                                                      \
            for (int64_t j = 0; j < n; j++) {                                                                \
                uint32_t sum = acc ? (uint32_t)y[i * ldy + j] : 0;                                           \
                                                                                                             \
                for (int64_t r = 0; r < rows; r++)                                                           \
                    for (int64_t s = 0; s < columns; s++)                                                    \
                        sum += (uint32_t)(x[i * ldi + r * ldr + s * lds + x_step * j] *                      \
                                          f[r * ldfr + s * ldfs + f_step * j]);                              \
                y[i * ldy + j] = (int32_t)sum;                                                               \
            }                                                                                                \
    }
#define BYTE_DEPTHWISE(op, element, weight, windows, window, step)                                          \
    void uk_reference_##op(int64_t MR, int64_t NR, int64_t KR, const element *x, int64_t ldi, int64_t ldx,  \
                           const weight *f, int64_t ldf, int64_t csf, int32_t *y, int64_t ldy, int64_t acc, \
                           int64_t m, int64_t n) {                                                          \
        (void)MR;                                                                                           \
        (void)NR;                                                                                           \
        (void)KR;                                                                                           \
        windows(window, window, x, ldi, ldx, 1, step, f, ldf, csf, 0, y, ldy, acc, m, n);                   \
    }
/* All depthwise operations for one type of bytes and one type of weights. */
#define BYTE_DEPTHWISES(name, element, weight)                                                              \
    BYTE_WINDOWS(name##_windows, element, weight)                                                           \
    BYTE_DEPTHWISE(name##dw3, element, weight, name##_windows, 3, 1)                                        \
    BYTE_DEPTHWISE(name##dw3_s2, element, weight, name##_windows, 3, 2)                                     \
    BYTE_DEPTHWISE(name##dw5, element, weight, name##_windows, 5, 1)                                        \
    BYTE_DEPTHWISE(name##dw5_s2, element, weight, name##_windows, 5, 2)                                     \
    void uk_reference_##name##dwc(int64_t MR, int64_t NR, int64_t KR, int64_t r, int64_t s,                 \
                                  const element *x, int64_t ldi, int64_t ldr, int64_t lds, const weight *f, \
                                  int64_t ldfr, int64_t ldfs, int32_t *y, int64_t ldy, int64_t acc,         \
                                  int64_t m, int64_t n) {                                                   \
        (void)MR;                                                                                           \
        (void)NR;                                                                                           \
        (void)KR;                                                                                           \
        name##_windows(r, s, x, ldi, ldr, lds, 1, f, ldfr, ldfs, 1, y, ldy, acc, m, n);                     \
    }
BYTE_DEPTHWISES(u8, uint8_t, int8_t)
BYTE_DEPTHWISES(i8, int8_t, int8_t)
BYTE_DEPTHWISES(u8u8, uint8_t, uint8_t)
BYTE_DEPTHWISES(i8u8, int8_t, uint8_t)
#undef BYTE_WINDOWS
#undef BYTE_DEPTHWISE
#undef BYTE_DEPTHWISES

/* Tiles of depthwise convolutions; windows are `step` rows and columns apart. A `total` is an element of y,
 * or for i32 its value modulo 2^32. */
#define TILES_OF_WINDOWS(op, element, weight, result, total)                                              \
    static void op##_tile(int64_t step, int64_t r, int64_t s, const element *x, int64_t ldr, int64_t lds, \
                          int64_t h, int64_t w, int64_t r0, int64_t s0, const weight *f, int64_t ldfr,    \
                          int64_t ldfs, result *y, int64_t ldyi, int64_t ldyj, int64_t acc, int64_t m,    \
                          int64_t n, int64_t channels) {                                                  \
        for (int64_t i = 0; i < m; i++)                                                                   \
            for (int64_t j = 0; j < n; j++)                                                               \
                for (int64_t c = 0; c < channels; c++) {                                                  \
                    total sum = acc ? (total)y[i * ldyi + j * ldyj + c] : 0;                              \
                                                                                                          \
                    for (int64_t p = 0; p < r; p++)                                                       \
                        for (int64_t q = 0; q < s; q++) {                                                 \
                            const int64_t u = step * i + p - r0, v = step * j + q - s0;                   \
                                                                                                          \
                            if (u >= 0 && u < h && v >= 0 && v < w)                                       \
                                sum += (total)(x[u * ldr + v * lds + c] * f[p * ldfr + q * ldfs + c]);    \
                        }                                                                                 \
                    y[i * ldyi + j * ldyj + c] = (result)sum;                                             \
                }                                                                                         \
    }                                                                                                     \
    TILE_OF_WINDOWS(op, op, element, weight, result, 1)                                                   \
    TILE_OF_WINDOWS(op, op##_s2, element, weight, result, 2)
#define TILE_OF_WINDOWS(name, op, element, weight, result, step)                                       \
    void uk_reference_##op(int64_t MR, int64_t NR, int64_t KR, int64_t r, int64_t s, const element *x, \
                           int64_t ldr, int64_t lds, int64_t h, int64_t w, int64_t r0, int64_t s0,     \
                           const weight *f, int64_t ldfr, int64_t ldfs, result *y, int64_t ldyi,       \
                           int64_t ldyj, int64_t acc, int64_t m, int64_t n, int64_t channels) {        \
        (void)MR;                                                                                      \
        (void)NR;                                                                                      \
        (void)KR;                                                                                      \
        name##_tile(step, r, s, x, ldr, lds, h, w, r0, s0, f, ldfr, ldfs, y, ldyi, ldyj, acc, m, n,    \
                    channels);                                                                         \
    }
TILES_OF_WINDOWS(sdwc, float, float, float, float)
TILES_OF_WINDOWS(u8dwt, uint8_t, int8_t, int32_t, uint32_t)
TILES_OF_WINDOWS(i8dwt, int8_t, int8_t, int32_t, uint32_t)
TILES_OF_WINDOWS(u8u8dwt, uint8_t, uint8_t, int32_t, uint32_t)
TILES_OF_WINDOWS(i8u8dwt, int8_t, uint8_t, int32_t, uint32_t)
#undef TILES_OF_WINDOWS
#undef TILE_OF_WINDOWS

void uk_reference_vadd(int64_t MR, int64_t NR, int64_t KR, const float *a, const float *b, float *c,
                       int64_t n) {
    (void)MR;
    (void)NR;
    (void)KR;
    for (int64_t j = 0; j < n; j++)
        c[j] = a[j] + b[j];
}

void uk_reference_hwiden(int64_t MR, int64_t NR, int64_t KR, const uint16_t *s, float *d, int64_t n) {
    (void)MR;
    (void)NR;
    (void)KR;
    for (int64_t j = 0; j < n; j++)
        d[j] = uk_from_f16(s[j]);
}

void uk_reference_hnarrow(int64_t MR, int64_t NR, int64_t KR, const float *s, uint16_t *d, int64_t n) {
    (void)MR;
    (void)NR;
    (void)KR;
    for (int64_t j = 0; j < n; j++)
        d[j] = uk_to_f16(uk_round_f16(s[j]));
}

void uk_reference_i32add(int64_t MR, int64_t NR, int64_t KR, const int32_t *a, const int32_t *b, int32_t *c,
                         int64_t n) {
    (void)MR;
    (void)NR;
    (void)KR;
    for (int64_t j = 0; j < n; j++)
        c[j] = (int32_t)((uint32_t)a[j] + (uint32_t)b[j]);
}

void uk_reference_i32kadd(int64_t MR, int64_t NR, int64_t KR, const int32_t *a, const int32_t *b, int32_t *c,
                          int64_t n) {
    (void)MR;
    (void)NR;
    (void)KR;
    for (int64_t j = 0; j < n; j++) {
        const int64_t sum = (int64_t)a[j] + b[j];

        c[j] = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : (int32_t)sum;
    }
}

/* Products with weights in blocks. `term` is the product of a term of A with weight `of` of byte p; a block's
 * sum is rounded once. */
static int low_half(int byte, bool is_signed) {
    return is_signed ? (int)(int8_t)(byte << 4) >> 4 : byte & 15;
}

static int high_half(int byte, bool is_signed) {
    return is_signed ? (int)(int8_t)byte >> 4 : byte >> 4 & 15;
}

#define WEIGHTS(op, left, byte, is_signed, is_4, left_scale, offset, a_parameters, r_parameters,            \
                o_parameters)                                                                               \
    void uk_reference_##op(int64_t MR, int64_t NR, int64_t KR, int64_t blocks, int64_t k, const left *a,    \
                           int64_t lda, int64_t ldg, a_parameters r_parameters const byte *w, int64_t ldw,  \
                           const float *s, int64_t lds, o_parameters float *c, int64_t ldc, int64_t acc,    \
                           int64_t mr, int64_t nr) {                                                        \
        (void)MR;                                                                                           \
        for (int64_t i = 0; i < mr; i++)                                                                    \
            for (int64_t j = 0; j < nr; j++) {                                                              \
                double sum = acc ? (double)c[i * ldc + j] : 0;                                              \
                for (int64_t t = 0; t < blocks; t++)                                                        \
                    for (int64_t p = 0; p < k; p++) {                                                       \
                        const int x = w[t * ldw + (p / KR * NR + j) * KR + p % KR];                         \
                        const left *const term = a + i * lda + t * ldg + p;                                 \
                        const double scale = (double)s[t * lds + j];                                        \
                        sum += (double)term[0] * (scale * (is_4 ? low_half(x, is_signed) : x) + (offset)) * \
                               (left_scale);                                                                \
                        if (is_4)                                                                           \
                            sum += (double)term[HIGH_HALF] * (scale * high_half(x, is_signed) + (offset)) * \
                                   (left_scale);                                                            \
                    }                                                                                       \
                c[i * ldc + j] = (float)sum;                                                                \
            }                                                                                               \
    }
#define NOTHING
#define LDH int64_t ldh,
#define ROW_SCALES const float *r, int64_t ldr,
#define OFFSETS const float *o, int64_t ldo,
#define HIGH_HALF ldh
WEIGHTS(sgemm_i4, float, int8_t, true, true, 1, 0, LDH, NOTHING, NOTHING)
WEIGHTS(sgemm_u4, float, uint8_t, false, true, 1, (double)o[t * ldo + j], LDH, NOTHING, OFFSETS)
WEIGHTS(i8gemm_i4, int8_t, int8_t, true, true, (double)r[i * ldr + t], 0, LDH, ROW_SCALES, NOTHING)
WEIGHTS(i8gemm_u4, int8_t, uint8_t, false, true, (double)r[i * ldr + t], (double)o[t * ldo + j], LDH,
        ROW_SCALES, OFFSETS)
#undef HIGH_HALF
#define HIGH_HALF 0
WEIGHTS(sgemm_i8, float, int8_t, true, false, 1, 0, NOTHING, NOTHING, NOTHING)
WEIGHTS(sgemm_u8, float, uint8_t, false, false, 1, (double)o[t * ldo + j], NOTHING, NOTHING, OFFSETS)
WEIGHTS(i8gemm_i8, int8_t, int8_t, true, false, (double)r[i * ldr + t], 0, NOTHING, ROW_SCALES, NOTHING)
WEIGHTS(i8gemm_u8, int8_t, uint8_t, false, false, (double)r[i * ldr + t], (double)o[t * ldo + j], NOTHING,
        ROW_SCALES, OFFSETS)
#undef HIGH_HALF
#undef OFFSETS
#undef ROW_SCALES
#undef LDH
#undef NOTHING
#undef WEIGHTS
