/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products of bytes, u8 times i8, summed in i32, which wraps: functions of the type, and those that
 * programs call. */
#include "gemm.h"
#include "kernels.h"

static int32_t multiply(int32_t a, int32_t b) {
    return (int32_t)((uint32_t)a * (uint32_t)b);
}

static int32_t add(int32_t a, int32_t b) {
    return (int32_t)((uint32_t)a + (uint32_t)b);
}

/* c = beta c; c is not read if beta is 0. */
static void scale_tile(int64_t m, int64_t n, int32_t beta, int32_t *c, int64_t ldc) {
    for (int64_t i = 0; i < m; i++, c += ldc)
        for (int64_t j = 0; j < n; j++)
            c[j] = beta == 0 ? 0 : multiply(beta, c[j]);
}

static void call(const struct gemm_tile_row *s, const int8_t *b, int32_t *c, int64_t ldc, bool adds,
                 int64_t nr) {
    ((uk_igemm_function *)s->kernel->function)(s->k, s->a, b, c, ldc, adds, s->rows, nr);
}

/* Computes one tile of a column-major C. */
__attribute__((noinline)) static void transposed_tile(const struct gemm_tile_row *s, const int8_t *b,
                                                      int32_t *c, int64_t nr) {
    int32_t scratch[GEMM_TILE_MOST] __attribute__((aligned(64)));
    const int32_t beta = (int32_t)s->beta;
    const int width = s->kernel->nr;

    call(s, b, scratch, width, false, nr);
    if (beta != 1)
        scale_tile(nr, s->rows, beta, c, s->ldc);
    for (int64_t j = 0; j < nr; j++)
        for (int64_t i = 0; i < s->rows; i++)
            c[j * s->ldc + i] = add(c[j * s->ldc + i], scratch[i * width + j]);
}

static void tile_row(const struct gemm_tile_row *s) {
    const int8_t *b = s->b;
    const int32_t beta = (int32_t)s->beta;
    const int width = s->kernel->nr;

    for (int64_t j = 0; j < s->columns; j += width, b += s->b_tile) {
        const int64_t nr = s->columns - j < width ? s->columns - j : width;
        int32_t *c = (int32_t *)s->c + (s->transposed ? j * s->ldc : j);

        if (s->transposed) {
            transposed_tile(s, b, c, nr);
            continue;
        }
        if (beta != 0 && beta != 1)
            scale_tile(s->rows, nr, beta, c, s->ldc);
        call(s, b, c, s->ldc, beta != 0, nr);
    }
}

static void scale(int64_t m, int64_t n, void *c, int64_t ldc, double beta, const struct gemm_epilogue *e) {
    (void)e;
    if (beta != 1)
        scale_tile(m, n, (int32_t)beta, c, ldc);
}

/* Packs groups of terms, which are contiguous in the lines of the operand (step == 1) or across them. */
static void pack(const struct gemm_type *t, int64_t k, int64_t n, const void *source, int64_t step,
                 int64_t across, int w, void *to) {
    const struct uk_kernel *kernel = step == 1 ? t->pack_t[0] : t->pack_n[0];
    const uint8_t *s = source;
    uint8_t *d = to;

    for (int64_t p = 0; p < k; p += t->kr, d += (int64_t)t->kr * w)
        ((uk_u8pack_n_function *)kernel->function)(k - p < t->kr ? k - p : t->kr, s + p * step,
                                                   step == 1 ? across : step, d, n, w);
}

struct gemm_type uk_gemm_i32 = {
    .name = "igemm",
    .element = UK_ELEMENT_U8_I8,
    .group = UK_ELEMENT_U8, /* kernels that pack u8 serve i8 too: they move bytes and fill up with 0 */
    .size = 1,
    .c_size = sizeof(int32_t),
    .is_mixed = true,
    .tile_row = tile_row,
    .scale = scale,
    .pack = pack,
};

/* ---- calls ---- */

enum uk_status uk_igemm(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb, int64_t m,
                        int64_t n, int64_t k, const uint8_t *a, int64_t lda, const int8_t *b, int64_t ldb,
                        int32_t beta, int32_t *c, int64_t ldc) {
    const struct gemm_type *type = uk_gemm_type_i32();

    return uk_gemm_call(
        &(struct gemm_arguments){
            type, {layout, ta, tb, m, n, k, lda, ldb, ldc}, gemm_call_threads(), false, false},
        1, a, b, beta, c);
}

enum uk_status uk_igemm_batch(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb, int64_t m,
                              int64_t n, int64_t k, const uint8_t *const *a, int64_t lda,
                              const int8_t *const *b, int64_t ldb, int32_t beta, int32_t *const *c,
                              int64_t ldc, int64_t count) {
    return uk_gemm_batch(uk_gemm_type_i32(), &(struct gemm_shape){layout, ta, tb, m, n, k, lda, ldb, ldc}, 1,
                         (const void *)a, (const void *)b, beta, (const void *)c, count);
}

enum uk_status uk_igemm_batch_strided(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb,
                                      int64_t m, int64_t n, int64_t k, const uint8_t *a, int64_t lda,
                                      int64_t stride_a, const int8_t *b, int64_t ldb, int64_t stride_b,
                                      int32_t beta, int32_t *c, int64_t ldc, int64_t stride_c,
                                      int64_t count) {
    return uk_gemm_batch_strided(uk_gemm_type_i32(),
                                 &(struct gemm_shape){layout, ta, tb, m, n, k, lda, ldb, ldc}, 1, a, stride_a,
                                 b, stride_b, beta, c, stride_c, count);
}

enum uk_status uk_igemm_plan(struct uk_gemm_plan *plan, enum uk_layout layout, enum uk_transpose ta,
                             enum uk_transpose tb, int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb,
                             int64_t ldc, const struct uk_gemm_options *options) {
    if (!plan)
        return uk_gemm_refuse(UK_INVALID_ARGUMENT, "plan is NULL");
    return uk_gemm_prepare((struct gemm_prepared *)(void *)plan, uk_gemm_type_i32(),
                           &(struct gemm_shape){layout, ta, tb, m, n, k, lda, ldb, ldc}, options, NULL);
}

enum uk_status uk_igemm_run(const struct uk_gemm_plan *plan, const uint8_t *a, const int8_t *b, int32_t beta,
                            int32_t *c, void *workspace) {
    if (!gemm_plan_in(plan))
        return uk_gemm_refuse(UK_INVALID_ARGUMENT, "the plan is NULL, or no plan was made in it");
    return uk_gemm_run_as(gemm_plan_in(plan), &uk_gemm_i32, 1, a, b, beta, c, NULL, workspace);
}

enum uk_status uk_igemm_pack_a(const struct uk_gemm_plan *plan, const uint8_t *a, uint8_t *packed) {
    return uk_gemm_pack_operand(gemm_plan_in(plan), &uk_gemm_i32, false, a, packed);
}

enum uk_status uk_igemm_pack_b(const struct uk_gemm_plan *plan, const int8_t *b, int8_t *packed) {
    return uk_gemm_pack_operand(gemm_plan_in(plan), &uk_gemm_i32, true, b, packed);
}
