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

/* The last operations on sums that are stored to a C of i32 as they are. */
static const struct gemm_quantization no_quantization = {
    .left_zero = &(const int32_t){0},
    .right_zero = &(const int32_t){0},
    .scale = &(const float){1},
    .low = INT32_MIN,
    .high = INT32_MAX,
};

/* Adds beta times C to sums of a tile, whose first element in C is c. */
static void add_c(const struct gemm_tile_row *s, int64_t n, const int32_t *c, int32_t *sums, int64_t lds) {
    const int64_t row_step = s->transposed ? 1 : s->ldc, column_step = s->transposed ? s->ldc : 1;

    for (int64_t i = 0; i < s->rows; i++)
        for (int64_t j = 0; j < n; j++)
            sums[i * lds + j] =
                add(sums[i * lds + j], multiply((int32_t)s->beta, c[i * row_step + j * column_step]));
}

/* Stores sums of a tile that are not in C. Sums of a block of k that is not the last are stored to C as they
 * are. */
static void store_tile(const struct gemm_tile_row *s, int64_t column, int64_t n, int32_t *sums, int64_t lds,
                       void *c) {
    struct gemm_tile_row own = *s;

    if (s->beta != 0)
        add_c(s, n, c, sums, lds);
    if (!s->quantization)
        own.quantization = &no_quantization;
    uk_gemm_quantize(&own, column, n, sums, lds, c);
}

/* Computes one tile whose sums are not in C. */
__attribute__((noinline)) static void scratch_tile(const struct gemm_tile_row *s, const char *b, void *c,
                                                   int64_t column, int64_t nr) {
    int32_t scratch[GEMM_SCRATCH] __attribute__((aligned(64)));
    const int width = s->kernel->nr;

    call(s, b, scratch, width, false, nr);
    store_tile(s, column, nr, scratch, width, c);
}

static void tile_row(const struct gemm_tile_row *s) {
    const char *b = s->b;
    const int32_t beta = (int32_t)s->beta;
    const int width = s->kernel->nr;

    for (int64_t j = 0; j < s->columns; j += width, b += s->b_tile * s->product->type->size) {
        const int64_t nr = s->columns - j < width ? s->columns - j : width;
        struct gemm_tile_row tile = *s;
        void *c = gemm_place_in_c(s->product, s->c, s->transposed ? j * s->ldc : j);

        tile.column_sums = s->column_sums ? s->column_sums + j : NULL;
        if (s->transposed || s->product->c_element != UK_C_DEFAULT) {
            scratch_tile(&tile, b, c, s->column + j, nr);
            continue;
        }
        if (beta != 0 && beta != 1)
            scale_tile(s->rows, nr, beta, c, s->ldc);
        call(s, b, c, s->ldc, beta != 0, nr);
        if (s->quantization)
            uk_gemm_quantize(&tile, s->column + j, nr, c, s->ldc, c);
    }
}

void uk_gemm_low_scale(const struct gemm_product *p, const struct gemm_operands *o) {
    enum { ROWS = 16, COLUMNS = 32 };

    for (int64_t i = 0; i < p->m; i += ROWS)
        for (int64_t j = 0; j < p->n; j += COLUMNS) {
            const struct gemm_tile_row s = {.product = p,
                                            .rows = uk_min(p->m - i, ROWS),
                                            .ldc = p->ldc,
                                            .transposed = p->c_columns,
                                            .beta = o->beta,
                                            .quantization = o->quantization,
                                            .row = i};
            int32_t sums[ROWS * COLUMNS] = {0};

            store_tile(&s, j, uk_min(p->n - j, COLUMNS), sums, COLUMNS,
                       gemm_place_in_c(p, o->c, p->c_columns ? j * p->ldc + i : i * p->ldc + j));
        }
}

/* ---- types ---- */

/* Kernels that pack u8 serve i8 too: they move bytes and fill up with 0. */
#define UK_TYPE_OF_BYTES(op, both, a, b)                                        \
    {.c_elements = 1 << UK_C_I32 | 1 << UK_C_I8 | 1 << UK_C_U8 | 1 << UK_C_F32, \
     .c_element = UK_C_I32,                                                     \
     .name = #op,                                                               \
     .element = both,                                                           \
     .left = a,                                                                 \
     .right = b,                                                                \
     .group = UK_ELEMENT_U8,                                                    \
     .size = 1,                                                                 \
     .c_size = sizeof(int32_t),                                                 \
     .is_low_precision = true,                                                  \
     .tile_row = tile_row,                                                      \
     .call = call_##op,                                                         \
                                                                                \
     .pack_groups = uk_gemm_pack_groups,                                        \
     .copy_rows = uk_gemm_copy_low_rows}
struct gemm_type uk_gemm_u8_i8 = UK_TYPE_OF_BYTES(igemm, UK_ELEMENT_U8_I8, UK_ELEMENT_U8, UK_ELEMENT_I8),
                 uk_gemm_i8 = UK_TYPE_OF_BYTES(i8gemm, UK_ELEMENT_I8, UK_ELEMENT_I8, UK_ELEMENT_I8),
                 uk_gemm_u8 = UK_TYPE_OF_BYTES(u8gemm, UK_ELEMENT_U8, UK_ELEMENT_U8, UK_ELEMENT_U8);
