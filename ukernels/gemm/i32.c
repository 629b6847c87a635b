/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products of bytes, u8 times i8, summed in i32, which wraps: functions of the type. */
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
