/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products of low precision: the types, and their rows of tiles. Products of bytes are summed in i32,
 * which wraps; those of bf16 in f32, those of f16 in f32 or f16. */
#include "gemm/low.h"
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

UK_LOW_CALL(sgemm)
UK_LOW_CALL(bgemm)
UK_LOW_CALL(hsgemm)

/* bf16 or f16, or converted to f32. */
static void call_bgemm_or_sgemm(const struct uk_kernel *k, const struct gemm_low_call *x) {
    (k->operation->element == UK_ELEMENT_F32 ? call_sgemm : call_bgemm)(k, x);
}

static void call_hsgemm_or_sgemm(const struct uk_kernel *k, const struct gemm_low_call *x) {
    (k->operation->element == UK_ELEMENT_F32 ? call_sgemm : call_hsgemm)(k, x);
}

static void call_hgemm(const struct uk_kernel *k, const struct gemm_low_call *x) {
    ((uk_hgemm_function *)k->function)(x->k, x->a, x->b, x->c, x->ldc, x->acc, x->rows, x->columns);
}

static void call(const struct gemm_tile_row *s, const char *b, void *c, int64_t ldc, bool adds, int64_t nr) {
    s->product->type->call(s->kernel,
                           &(struct gemm_low_call){s->k, s->a, s->a_row, b, c, ldc, adds, s->rows, nr});
}

/* Bytes from a tile's panel of B to the next. */
static int64_t b_bytes(const struct gemm_tile_row *s) {
    return s->b_tile * uk_element_bytes(s->kernel->operation->element);
}

/* ---- sums of bytes ---- */

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
static void store_integers(const struct gemm_tile_row *s, int64_t column, int64_t n, int32_t *sums,
                           int64_t lds, void *c) {
    struct gemm_tile_row own = *s;

    if (s->beta != 0)
        add_c(s, n, c, sums, lds);
    if (!s->quantization)
        own.quantization = &no_quantization;
    uk_gemm_quantize(&own, column, n, sums, lds, c);
}

/* Computes one tile whose sums are not in C. */
__attribute__((noinline)) static void integer_scratch_tile(const struct gemm_tile_row *s, const char *b,
                                                           void *c, int64_t column, int64_t nr) {
    int32_t scratch[GEMM_SCRATCH] __attribute__((aligned(64)));
    const int width = s->kernel->nr;

    call(s, b, scratch, width, false, nr);
    store_integers(s, column, nr, scratch, width, c);
}

/* The row of tiles with its sums of columns from the j-th on. */
static struct gemm_tile_row from_column(const struct gemm_tile_row *s, int64_t j) {
    struct gemm_tile_row tile = *s;

    tile.column_sums = s->column_sums ? s->column_sums + j : NULL;
    return tile;
}

static void integer_tile_row(const struct gemm_tile_row *s) {
    const char *b = s->b;
    const int32_t beta = (int32_t)s->beta;
    const int width = s->kernel->nr;

    for (int64_t j = 0; j < s->columns; j += width, b += b_bytes(s)) {
        const int64_t nr = s->columns - j < width ? s->columns - j : width;
        void *c = gemm_place_in_c(s->product, s->c, s->transposed ? j * s->ldc : j);

        if (s->transposed || !gemm_sums_in_c(s->product)) {
            const struct gemm_tile_row tile = from_column(s, j);

            integer_scratch_tile(&tile, b, c, s->column + j, nr);
            continue;
        }
        if (beta != 0 && beta != 1)
            scale_tile(s->rows, nr, beta, c, s->ldc);
        call(s, b, c, s->ldc, beta != 0, nr);
        if (s->quantization) {
            const struct gemm_tile_row tile = from_column(s, j);

            uk_gemm_quantize(&tile, s->column + j, nr, c, s->ldc, c);
        }
    }
}

/* ---- sums of floats ---- */

/* Applies the epilogue to sums of a tile. */
static void finish(const struct gemm_tile_row *s, int64_t column, int64_t n, float *sums, int64_t lds) {
    struct gemm_epilogue e = *s->epilogue;
    const float *rows = e.row_bias, *columns = e.column_bias;

    e.row_bias = rows ? rows + s->row : NULL;
    e.column_bias = columns ? columns + column : NULL;
    uk_gemm_f32.scale(s->rows, n, sums, lds, 1, &e);
}

/* Stores sums of a tile that are not in C: alpha times them, plus beta C, and the epilogue, in f32. */
static void store_reals(const struct gemm_tile_row *s, int64_t column, int64_t n, float *sums, int64_t lds,
                        void *c) {
    if (s->alpha != 1 || s->beta != 0)
        uk_gemm_merge_low(s->product, s->rows, n, s->alpha, sums, lds, s->beta, c, s->ldc);
    if (s->epilogue)
        finish(s, column, n, sums, lds);
    uk_gemm_store_low(s->product, s->rows, n, sums, lds, c, s->ldc);
}

__attribute__((noinline)) static void real_scratch_tile(const struct gemm_tile_row *s, const char *b, void *c,
                                                        int64_t column, int64_t nr) {
    float scratch[GEMM_SCRATCH] __attribute__((aligned(64)));
    const int width = s->kernel->nr;

    call(s, b, scratch, width, false, nr);
    store_reals(s, column, nr, scratch, width, c);
}

/* The same for sums in f16. */
__attribute__((noinline)) static void f16_scratch_tile(const struct gemm_tile_row *s, const char *b, void *c,
                                                       int64_t column, int64_t nr) {
    uint16_t scratch[GEMM_SCRATCH] __attribute__((aligned(64)));
    float sums[GEMM_SCRATCH] __attribute__((aligned(64)));
    const int width = s->kernel->nr;

    call(s, b, scratch, width, false, nr);
    uk_gemm_widen(s->product->type, s->rows * width, scratch, sums);
    store_reals(s, column, nr, sums, width, c);
}

/* Sums are made in C if that is possible. */
static void real_tile_row(const struct gemm_tile_row *s) {
    const char *b = s->b;
    const int width = s->kernel->nr;
    const bool is_f16 = s->product->type->sum == UK_C_F16;
    const bool direct = gemm_sums_in_c(s->product) && s->alpha == 1 && (s->beta == 0 || s->beta == 1) &&
                        !(is_f16 && s->epilogue);

    for (int64_t j = 0; j < s->columns; j += width, b += b_bytes(s)) {
        const int64_t nr = s->columns - j < width ? s->columns - j : width;
        void *c = gemm_place_in_c(s->product, s->c, j);

        if (!direct) {
            (is_f16 ? f16_scratch_tile : real_scratch_tile)(s, b, c, s->column + j, nr);
            continue;
        }
        call(s, b, c, s->ldc, s->beta != 0, nr);
        if (s->epilogue)
            finish(s, s->column + j, nr, c, s->ldc);
    }
}

/* ---- products without terms ---- */

void uk_gemm_low_scale(const struct gemm_product *p, const struct gemm_operands *o) {
    enum { ROWS = 16, COLUMNS = 32 };

    for (int64_t i = 0; i < p->m; i += ROWS)
        for (int64_t j = 0; j < p->n; j += COLUMNS) {
            const struct gemm_tile_row s = {.product = p,
                                            .rows = uk_min(p->m - i, ROWS),
                                            .ldc = p->ldc,
                                            .transposed = p->c_columns,
                                            .beta = o->beta,
                                            .epilogue = o->epilogue,
                                            .quantization = o->quantization,
                                            .row = i};
            const int64_t columns = uk_min(p->n - j, COLUMNS);
            void *c = gemm_place_in_c(p, o->c, p->c_columns ? j * p->ldc + i : i * p->ldc + j);
            int32_t sums[ROWS * COLUMNS] = {0};
            float reals[ROWS * COLUMNS] = {0};

            if (gemm_sums_bytes(p->type))
                store_integers(&s, j, columns, sums, COLUMNS, c);
            else
                store_reals(&s, j, columns, reals, COLUMNS, c);
        }
}

/* ---- types ---- */

/* Kernels that pack u8 serve i8 too: they move bytes and fill up with 0. */
#define UK_TYPE_OF_BYTES(op, both, a, b)                                        \
    {.c_elements = 1 << UK_C_I32 | 1 << UK_C_I8 | 1 << UK_C_U8 | 1 << UK_C_F32, \
     .c_element = UK_C_I32,                                                     \
     .sum = UK_C_I32,                                                           \
     .name = #op,                                                               \
     .element = both,                                                           \
     .left = a,                                                                 \
     .right = b,                                                                \
     .group = UK_ELEMENT_U8,                                                    \
     .size = 1,                                                                 \
     .c_size = sizeof(int32_t),                                                 \
     .is_low_precision = true,                                                  \
     .tile_row = integer_tile_row,                                              \
     .call = call_##op,                                                         \
     .pack_groups = uk_gemm_pack_groups,                                        \
     .copy_rows = uk_gemm_copy_low_rows}
struct gemm_type uk_gemm_u8_i8 = UK_TYPE_OF_BYTES(igemm, UK_ELEMENT_U8_I8, UK_ELEMENT_U8, UK_ELEMENT_I8),
                 uk_gemm_i8 = UK_TYPE_OF_BYTES(i8gemm, UK_ELEMENT_I8, UK_ELEMENT_I8, UK_ELEMENT_I8),
                 uk_gemm_u8 = UK_TYPE_OF_BYTES(u8gemm, UK_ELEMENT_U8, UK_ELEMENT_U8, UK_ELEMENT_U8);

/* Of kernels in the registry; elements of A and B; kernels' sums, and conversion to f32; elements that C may
 * have, the default first. */
#define UK_TYPE_OF_HALVES(op, both, elements, sums, widens, function, c, other_c) \
    {.name = #op,                                                                 \
     .element = both,                                                             \
     .left = elements,                                                            \
     .right = elements,                                                           \
     .group = elements,                                                           \
     .size = sizeof(uint16_t),                                                    \
     .c_size = (c) == UK_C_F32 ? sizeof(float) : sizeof(uint16_t),                \
     .c_elements = 1 << (c) | 1 << (other_c),                                     \
     .c_element = c,                                                              \
     .sum = sums,                                                                 \
     .is_low_precision = true,                                                    \
     .is_widened = widens,                                                        \
     .tile_row = real_tile_row,                                                   \
     .call = function,                                                            \
     .pack_groups = uk_gemm_pack_groups,                                          \
     .copy_rows = uk_gemm_copy_low_rows}
struct gemm_type uk_gemm_bf16 = UK_TYPE_OF_HALVES(bgemm, UK_ELEMENT_BF16, UK_ELEMENT_BF16, UK_C_F32, true,
                                                  call_bgemm_or_sgemm, UK_C_F32, UK_C_BF16),
                 uk_gemm_f16 = UK_TYPE_OF_HALVES(hgemm, UK_ELEMENT_F16_F32, UK_ELEMENT_F16, UK_C_F32, true,
                                                 call_hsgemm_or_sgemm, UK_C_F16, UK_C_F32),
                 uk_gemm_f16_sums = UK_TYPE_OF_HALVES(hgemm, UK_ELEMENT_F16, UK_ELEMENT_F16, UK_C_F16, false,
                                                      call_hgemm, UK_C_F16, UK_C_F32);
