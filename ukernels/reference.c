/* What every operation computes, as short as it can be said. Kernels are tested against these. */
#include "ukernels.h"
#include "reference.h"

#define real float
#define REFERENCE(op) uk_reference_s##op
#include "reference_real.h"
#undef real
#undef REFERENCE
#define real double
#define REFERENCE(op) uk_reference_d##op
#include "reference_real.h"

void uk_reference_sgemm_rap(int64_t MR, int64_t NR, int64_t k, const float *a, int64_t lda, const float *b,
                            int64_t ldb, float *d, float *c, int64_t ldc, int64_t acc, int64_t mr,
                            int64_t nr) {
    uk_reference_spack_n(MR, NR, k, b, ldb, d, nr);
    uk_reference_sgemm_rab(MR, NR, k, a, lda, b, ldb, c, ldc, acc, mr, nr);
}

void uk_reference_spack_s(int64_t MR, int64_t NR, int64_t k, const float *s, int64_t ldk, int64_t lds,
                          float *d, int64_t n) {
    (void)MR;
    for (int64_t p = 0; p < k; p++)
        for (int64_t j = 0; j < NR; j++)
            d[p * NR + j] = j < n ? s[p * ldk + j * lds] : 0;
}

#define GROUP_PACKS(t, byte)                                                                              \
    void uk_reference_##t##pack_t(int64_t MR, int64_t NR, int64_t k, const byte *s, int64_t lds, byte *d, \
                                  int64_t m, int64_t w) {                                                 \
        (void)MR;                                                                                         \
        for (int64_t i = 0; i < w; i++)                                                                   \
            for (int64_t p = 0; p < NR; p++)                                                              \
                d[i * NR + p] = i < m && p < k ? s[i * lds + p] : 0;                                      \
    }                                                                                                     \
    void uk_reference_##t##pack_n(int64_t MR, int64_t NR, int64_t k, const byte *s, int64_t lds, byte *d, \
                                  int64_t n, int64_t w) {                                                 \
        (void)NR;                                                                                         \
        for (int64_t j = 0; j < w; j++)                                                                   \
            for (int64_t p = 0; p < MR; p++)                                                              \
                d[j * MR + p] = j < n && p < k ? s[p * lds + j] : 0;                                      \
    }
GROUP_PACKS(u8, uint8_t)
GROUP_PACKS(i8, int8_t)
#undef GROUP_PACKS

void uk_reference_sdw(int64_t MR, int64_t NR, int64_t k, const float *x, int64_t ldx, int64_t csx,
                      const float *f, int64_t ldf, float *y, int64_t ldy, int64_t acc, int64_t m, int64_t n) {
    (void)MR;
    (void)NR;
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) {
            float sum = 0;

            for (int64_t p = 0; p < k; p++)
                sum += x[i * ldx + p * csx + j] * f[p * ldf + j];
            y[i * ldy + j] = acc ? y[i * ldy + j] + sum : sum;
        }
    }
}

void uk_reference_sdw_r(int64_t MR, int64_t NR, int64_t k, const float *x, int64_t ldx, int64_t csx,
                        const float *f, int64_t ldf, float *y, int64_t ldy, int64_t acc, int64_t m,
                        int64_t n) {
    (void)MR;
    (void)NR;
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) {
            float sum = 0;

            for (int64_t p = 0; p < k; p++)
                sum += x[i * ldx + p * csx + j] * f[p * ldf];
            y[i * ldy + j] = acc ? y[i * ldy + j] + sum : sum;
        }
    }
}

void uk_reference_vadd(int64_t MR, int64_t NR, const float *a, const float *b, float *c, int64_t n) {
    (void)MR;
    (void)NR;
    for (int64_t j = 0; j < n; j++)
        c[j] = a[j] + b[j];
}
