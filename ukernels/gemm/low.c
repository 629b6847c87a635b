/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products of low precision: the types, and their rows of tiles. Products of bytes are summed in i32,
 * which wraps. */
#include "low.h"
#include "kernels.h"

static int32_t multiply(int32_t a, int32_t b) {
    return (int32_t)((uint32_t)a * (uint32_t)b);
}

static int32_t add(int32_t a, int32_t b) {
    return (int32_t)((uint32_t)a + (uint32_t)b);
}

/* ---- kernels ---- */

/* Calls of the kernels of one operation, which read A in panels, or its rows in place. */
#define UK_LOW_CALL(op)                                                                                     \
    static void call_##op(const struct uk_kernel *k, const struct gemm_low_call *x) {                       \
        if (k->operation->form == UK_OP_RA)                                                                 \
            ((uk_##op##_ra_function *)k->function)(x->k, x->a, x->lda, x->b, x->c, x->ldc, x->acc, x->rows, \
                                                   x->columns);                                             \
        else                                                                                                \
            ((uk_##op##_function *)k->function)(x->k, x->a, x->b, x->c, x->ldc, x->acc, x->rows,            \
                                                x->columns);                                                \
    }
UK_LOW_CALL(igemm)
UK_LOW_CALL(i8gemm)
UK_LOW_CALL(u8gemm)

static void call(const struct gemm_tile_row *s, const char *b, void *c, int64_t ldc, bool adds, int64_t nr) {
    s->product->type->call(s->kernel,
                           &(struct gemm_low_call){s->k, s->a, s->a_row, b, c, ldc, adds, s->rows, nr});
}

/* ---- rows of tiles ---- */

/* c = beta c; c is not read if beta is 0. */
static void scale_tile(int64_t m, int64_t n, int32_t beta, int32_t *c, int64_t ldc) {
    for (int64_t i = 0; i < m; i++, c += ldc)
        for (int64_t j = 0; j < n; j++)
            c[j] = beta == 0 ? 0 : multiply(beta, c[j]);
}

/* Computes one tile of a column-major C. */
__attribute__((noinline)) static void transposed_tile(const struct gemm_tile_row *s, const char *b,
                                                      int32_t *c, int64_t nr) {
    int32_t scratch[GEMM_SCRATCH] __attribute__((aligned(64)));
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
    const char *b = s->b;
    const int32_t beta = (int32_t)s->beta;
    const int width = s->kernel->nr;

    for (int64_t j = 0; j < s->columns; j += width, b += s->b_tile * s->product->type->size) {
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

/* ---- types ---- */

/* Kernels that pack u8 serve i8 too: they move bytes and fill up with 0. */
#define UK_TYPE_OF_BYTES(op, both, a, b) \
    {.name = #op,                        \
     .element = both,                    \
     .left = a,                          \
     .right = b,                         \
     .group = UK_ELEMENT_U8,             \
     .size = 1,                          \
     .c_size = sizeof(int32_t),          \
     .is_low_precision = true,           \
     .tile_row = tile_row,               \
     .call = call_##op,                  \
     .scale = scale,                     \
     .pack_groups = uk_gemm_pack_groups, \
     .copy_rows = uk_gemm_copy_low_rows}
struct gemm_type uk_gemm_u8_i8 = UK_TYPE_OF_BYTES(igemm, UK_ELEMENT_U8_I8, UK_ELEMENT_U8, UK_ELEMENT_I8),
                 uk_gemm_i8 = UK_TYPE_OF_BYTES(i8gemm, UK_ELEMENT_I8, UK_ELEMENT_I8, UK_ELEMENT_I8),
                 uk_gemm_u8 = UK_TYPE_OF_BYTES(u8gemm, UK_ELEMENT_U8, UK_ELEMENT_U8, UK_ELEMENT_U8);
