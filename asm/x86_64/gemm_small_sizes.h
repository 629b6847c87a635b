/* SPDX-License-Identifier: Apache-2.0 */
/* What all kernels of small products prepare from sizes and strides: a loop unrolled by four, and rows divided
 * evenly into groups. */
static inline __attribute__((always_inline)) void
prepare_sizes(struct uk_small_call *s, int64_t k, int64_t lda, int64_t ldb, int64_t ldc, int64_t m) {
    const uint64_t iterations = (uint64_t)k + 3;

    s->unrolled = (int64_t)(iterations / 4);
    s->enter = (int32_t)(3 - iterations % 4);
    s->lda = size * lda;
    s->ldb = size * ldb;
    s->ldc = size * ldc;
    s->m = s->rows = m;
    s->longer = 0;
    s->before = A_COLUMNS ? 0 : size * s->enter;
    if (m > UK_MR) {
        const int64_t groups = (m + UK_MR - 1) / UK_MR;

        s->rows = m / groups;
        s->longer = m % groups;
    }
}
