/* The references of reference.c: they take the kernel's MR and NR in front of what its kernels take. */
#ifndef UK_REFERENCE_H
#define UK_REFERENCE_H

#include "ukernels.h"

void uk_reference_sgemm(int64_t MR, int64_t NR, int64_t k, const float *a, const float *b, float *c,
                        int64_t ldc, int64_t acc, int64_t mr, int64_t nr);
void uk_reference_sgemm_ra(int64_t MR, int64_t NR, int64_t k, const float *a, int64_t lda, const float *b,
                           float *c, int64_t ldc, int64_t acc, int64_t mr, int64_t nr);
void uk_reference_sgemm_rab(int64_t MR, int64_t NR, int64_t k, const float *a, int64_t lda, const float *b,
                            int64_t ldb, float *c, int64_t ldc, int64_t acc, int64_t mr, int64_t nr);
void uk_reference_sgemm_sab(int64_t MR, int64_t NR, int64_t k, const float *a, int64_t lda, int64_t csa,
                            const float *b, int64_t ldb, float *c, int64_t ldc, int64_t acc, int64_t mr,
                            int64_t nr);
void uk_reference_spack_s(int64_t MR, int64_t NR, int64_t k, const float *s, int64_t ldk, int64_t lds,
                          float *d, int64_t n);
void uk_reference_sdw(int64_t MR, int64_t NR, int64_t k, const float *x, int64_t ldx, int64_t csx,
                      const float *f, int64_t ldf, float *y, int64_t ldy, int64_t acc, int64_t m, int64_t n);
void uk_reference_spack_t(int64_t MR, int64_t NR, int64_t k, const float *s, int64_t lds, float *d,
                          int64_t m);
void uk_reference_spack_n(int64_t MR, int64_t NR, int64_t k, const float *s, int64_t lds, float *d,
                          int64_t n);
void uk_reference_vadd(int64_t MR, int64_t NR, const float *a, const float *b, float *c, int64_t n);
void uk_reference_sdot(int64_t MR, int64_t NR, int64_t k, const float *a, const float *b, float *c,
                       int64_t acc);
void uk_reference_saxpy(int64_t MR, int64_t NR, int64_t n, float alpha, const float *x, float *y);
void uk_reference_sgemv_n(int64_t MR, int64_t NR, int64_t k, const float *a, int64_t lda, const float *x,
                          float *c, int64_t acc, int64_t m);
void uk_reference_sgemv_t(int64_t MR, int64_t NR, int64_t k, const float *a, int64_t lda, const float *x,
                          float *y, int64_t acc, int64_t n);

#endif
