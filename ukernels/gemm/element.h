/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that depend on the element type. f32.c and f64.c include this file with ELEMENT (float or
 * double), REGISTERED (its enum uk_element), TYPE (the gemm_type to define), NAME ("sgemm") and KERNEL(op),
 * the type of the functions of an operation's kernels. */
#include <string.h>
#include "kernels.h"
#include "types.h"

/* Functions of variants, which have parameters of their own. */
typedef void panels_prefetching_function(int64_t k, const ELEMENT *a, const ELEMENT *b, ELEMENT *c,
                                         int64_t ldc, int64_t acc, int64_t mr, int64_t nr, const ELEMENT *s,
                                         int64_t lds, int64_t step);
typedef void panels_packing_function(int64_t k, const ELEMENT *a, const ELEMENT *b, ELEMENT *c, int64_t ldc,
                                     int64_t acc, int64_t mr, int64_t nr, const ELEMENT *s, int64_t lds,
                                     ELEMENT *d);
typedef void ra_prefetching_function(int64_t k, const ELEMENT *a, int64_t lda, const ELEMENT *b, ELEMENT *c,
                                     int64_t ldc, int64_t acc, int64_t mr, int64_t nr, const ELEMENT *s,
                                     int64_t lds);
typedef void rab_prefetching_function(int64_t k, const ELEMENT *a, int64_t lda, const ELEMENT *b, int64_t ldb,
                                      ELEMENT *c, int64_t ldc, int64_t acc, int64_t mr, int64_t nr,
                                      const ELEMENT *s);

static void call_prefetching(const struct gemm_tile_row *s, const ELEMENT *b, ELEMENT *c, int64_t ldc,
                             int64_t acc, int64_t nr) {
    struct gemm_next *next = s->next;

    if (next->copy) {
        ((panels_packing_function *)next->prefetching->function)(
            s->k, s->a, b, c, ldc, acc, s->rows, nr, next->part, next->parts > 1 ? next->stride : 0,
            next->copy);
        next->copy = (ELEMENT *)next->copy + 2;
        next->parts--;
    } else if (s->form == GEMM_PANELS)
        ((panels_prefetching_function *)next->prefetching->function)(s->k, s->a, b, c, ldc, acc, s->rows, nr,
                                                                     next->part, next->stride, next->step);
    else if (s->form == GEMM_RA)
        ((ra_prefetching_function *)next->prefetching->function)(s->k, s->a, s->a_row, b, c, ldc, acc,
                                                                 s->rows, nr, next->part, next->stride);
    else
        ((rab_prefetching_function *)next->prefetching->function)(s->k, s->a, s->a_row, b, s->b_step, c, ldc,
                                                                  acc, s->rows, nr, next->part);
    next->part = (const ELEMENT *)next->part + next->on;
    next->parts--;
}

/* Computes a tile of nr columns; by the kernel s->tail if its tile has at least nr. */
static void call(const struct gemm_tile_row *s, const ELEMENT *b, ELEMENT *c, int64_t ldc, int64_t acc,
                 int64_t nr) {
    const bool is_tail = s->tail && nr <= s->tail->nr;
    void (*f)(void) = is_tail ? s->tail->function : s->kernel->function;

    if (!is_tail && s->next->parts > 0 && s->form <= GEMM_RAB) {
        call_prefetching(s, b, c, ldc, acc, nr);
        return;
    }
    switch (is_tail ? s->tail_form : s->form) {
    case GEMM_PANELS:
        ((KERNEL(gemm) *)f)(s->k, s->a, b, c, ldc, acc, s->rows, nr);
        break;
    case GEMM_RA:
        ((KERNEL(gemm_ra) *)f)(s->k, s->a, s->a_row, b, c, ldc, acc, s->rows, nr);
        break;
    case GEMM_RAB:
        ((KERNEL(gemm_rab) *)f)(s->k, s->a, s->a_row, b, s->b_step, c, ldc, acc, s->rows, nr);
        break;
    case GEMM_RAP:
        ((KERNEL(gemm_rap) *)f)(s->k, s->a, s->a_row, b, s->b_step,
                                (ELEMENT *)s->packed + (b - (const ELEMENT *)s->b) * s->packed_k, c, ldc, acc,
                                s->rows, nr);
        break;
    case GEMM_SAB:
    default:
        ((KERNEL(gemm_sab) *)f)(s->k, s->a, s->a_row, s->a_step, b, s->b_step, c, ldc, acc, s->rows, nr);
        break;
    }
}

/* c = alpha t + beta c, rows ldt and ldc apart. */
static void merge(int64_t m, int64_t n, ELEMENT alpha, const ELEMENT *t, int64_t ldt, ELEMENT beta,
                  ELEMENT *c, int64_t ldc) {
    for (int64_t i = 0; i < m; i++, t += ldt, c += ldc)
        if (beta == 0)
            for (int64_t j = 0; j < n; j++)
                c[j] = alpha * t[j];
        else if (beta == 1)
            for (int64_t j = 0; j < n; j++)
                c[j] = alpha * t[j] + c[j];
        else
            for (int64_t j = 0; j < n; j++)
                c[j] = alpha * t[j] + beta * c[j];
}

static void scale_tile(int64_t m, int64_t n, ELEMENT beta, ELEMENT *c, int64_t ldc) {
    for (int64_t i = 0; i < m; i++, c += ldc)
        if (beta == 0)
            for (int64_t j = 0; j < n; j++)
                c[j] = 0;
        else
            for (int64_t j = 0; j < n; j++)
                c[j] *= beta;
}

/* Applies an epilogue to m x n elements of C, the first of which is at `row` and `column` of C. NaN stays
 * NaN: its comparisons are false. */
static void finish(int64_t m, int64_t n, ELEMENT *c, int64_t ldc, const struct gemm_epilogue *e, int64_t row,
                   int64_t column) {
    const ELEMENT scale = (ELEMENT)e->scale, low = (ELEMENT)e->low, high = (ELEMENT)e->high;
    const ELEMENT *rows = e->row_bias, *columns = e->column_bias;

    for (int64_t i = 0; i < m; i++, c += ldc) {
        const ELEMENT bias = rows ? rows[row + i] : 0;

        for (int64_t j = 0; j < n; j++)
            c[j] = scale * c[j] + bias;
        for (int64_t j = 0; columns && j < n; j++)
            c[j] += columns[column + j];
        for (int64_t j = 0; j < n; j++) {
            ELEMENT x = c[j];

            x = x < low ? low : x;
            c[j] = x > high ? high : x;
        }
    }
}

/* Computes a tile at c for any alpha. Functions with scratch are not inlined: their stack frames would add
 * up. */
__attribute__((noinline)) static void scaled_tile(const struct gemm_tile_row *s, const ELEMENT *b, ELEMENT *c,
                                                  int64_t nr) {
    ELEMENT scratch[GEMM_SCRATCH] __attribute__((aligned(64)));
    const int width = s->kernel->nr;

    call(s, b, scratch, width, 0, nr);
    merge(s->rows, nr, (ELEMENT)s->alpha, scratch, width, (ELEMENT)s->beta, c, s->ldc);
}

/* Computes a tile. If alpha is 1, the kernel writes C, which is multiplied by beta before. */
static void tile(const struct gemm_tile_row *s, const ELEMENT *b, ELEMENT *c, int64_t nr) {
    if (s->alpha != 1) {
        scaled_tile(s, b, c, nr);
        return;
    }
    if (s->beta != 0 && s->beta != 1)
        scale_tile(s->rows, nr, (ELEMENT)s->beta, c, s->ldc);
    call(s, b, c, s->ldc, s->beta != 0, nr);
}

struct gemm_type TYPE;

/* d[j] = s[j], j < n, for small n: by vectors of 16 bytes, the last two of which may overlap. */
static void copy_few(int64_t n, const ELEMENT *s, ELEMENT *d) {
    enum { LANES = 16 / sizeof(ELEMENT) };

    if (n < LANES) {
        for (int64_t j = 0; j < n; j++)
            d[j] = s[j];
        return;
    }
    for (int64_t j = 0; j + LANES < n; j += LANES)
        memcpy(d + j, s + j, 16);
    memcpy(d + n - LANES, s + n - LANES, 16);
}

static void pack(const struct gemm_type *t, int64_t k, int64_t n, const void *source, int64_t step,
                 int64_t across, int w, void *to);

/* Computes a tile of a column-major C, whose first column is `column`, with the epilogue. */
__attribute__((noinline)) static void transposed_tile(const struct gemm_tile_row *s, const ELEMENT *b,
                                                      ELEMENT *c, int64_t nr, int64_t column) {
    ELEMENT scratch[GEMM_TILE_MOST] __attribute__((aligned(64))),
        transposed[GEMM_TILE_MOST] __attribute__((aligned(64)));
    const int width = s->kernel->nr, height = s->kernel->mr;

    call(s, b, scratch, width, 0, nr);
    pack(&TYPE, nr, s->rows, scratch, 1, width, height, transposed);
    if (s->alpha == 1 && s->beta == 0)
        for (int64_t j = 0; j < nr; j++)
            copy_few(s->rows, transposed + j * height, c + j * s->ldc);
    else
        merge(nr, s->rows, (ELEMENT)s->alpha, transposed, height, (ELEMENT)s->beta, c, s->ldc);
    if (s->epilogue) {
        const struct gemm_epilogue e = gemm_transposed_epilogue(s->epilogue);

        finish(nr, s->rows, c, s->ldc, &e, column, s->row);
    }
}

static void tile_row(const struct gemm_tile_row *s) {
    const ELEMENT *b = s->b;
    ELEMENT *c = s->c;
    const int width = s->kernel->nr;

    for (int64_t j = 0; j < s->columns; j += width, b += s->b_tile) {
        const int64_t nr = s->columns - j < width ? s->columns - j : width;

        if (s->transposed) {
            transposed_tile(s, b, c + j * s->ldc, nr, s->column + j);
            continue;
        }
        tile(s, b, c + j, nr);
        if (s->epilogue)
            finish(s->rows, nr, c + j, s->ldc, s->epilogue, s->row, s->column + j);
    }
}

static void merge_real(int64_t m, int64_t n, double alpha, const void *t, int64_t ldt, double beta, void *c,
                       int64_t ldc) {
    merge(m, n, (ELEMENT)alpha, t, ldt, (ELEMENT)beta, c, ldc);
}

static void scale(int64_t m, int64_t n, void *c, int64_t ldc, double beta, const struct gemm_epilogue *e) {
    if (beta != 1)
        scale_tile(m, n, (ELEMENT)beta, c, ldc);
    if (e)
        finish(m, n, c, ldc, e, 0, 0);
}

/* ---- matrix times vector ---- */

static const ELEMENT *matrix_of(const struct gemm_vector *v, const struct gemm_operands *o, int64_t i) {
    return (const ELEMENT *)(v->is_row ? o->b : o->a) + i * (v->is_along ? v->stride : 1);
}

static ELEMENT *result_of(const struct gemm_vector *v, const struct gemm_operands *o, int64_t i) {
    return (ELEMENT *)o->c + i * v->y_step;
}

/* Applies the epilogue to `count` results from the i-th on. */
static void finish_vector(const struct gemm_vector *v, const struct gemm_operands *o, int64_t i,
                          int64_t count) {
    ELEMENT *y = result_of(v, o, i);

    if (v->is_row)
        finish(1, count, y, count, o->epilogue, 0, i);
    else
        finish(count, 1, y, v->y_step, o->epilogue, i, 0);
}

/* Merges `count` sums t into the results from the i-th on, y = alpha t + beta y, and applies the epilogue. */
static void merge_vector(const struct gemm_vector *v, const struct gemm_operands *o, const ELEMENT *t,
                         int64_t i, int64_t count) {
    ELEMENT *y = result_of(v, o, i);

    if (v->y_step == 1)
        merge(1, count, (ELEMENT)o->alpha, t, count, (ELEMENT)o->beta, y, count);
    else
        merge(count, 1, (ELEMENT)o->alpha, t, 1, (ELEMENT)o->beta, y, v->y_step);
    if (o->epilogue)
        finish_vector(v, o, i, count);
}

/* Computes results [begin, end) in scratch and merges them. */
__attribute__((noinline)) static void
merged_vector_n(const struct gemm_vector *v, const struct gemm_operands *o, int64_t begin, int64_t end) {
    const int64_t group = v->kernel->mr, most = GEMM_SUMS_ON_STACK / group * group;
    ELEMENT t[GEMM_SUMS_ON_STACK];

    for (int64_t i = begin; i < end; i += most) {
        const int64_t count = end - i < most ? end - i : most;

        ((KERNEL(gemv_n) *)v->kernel->function)(v->k, matrix_of(v, o, i), v->stride, v->is_row ? o->a : o->b,
                                                t, 0, v->ahead, count);
        merge_vector(v, o, t, i, count);
    }
}

static void vector_n(const struct gemm_vector *v, const struct gemm_operands *o, int64_t begin, int64_t end) {
    if (v->y_step != 1 || o->alpha != 1 || (o->beta != 0 && o->beta != 1)) {
        merged_vector_n(v, o, begin, end);
        return;
    }
    ((KERNEL(gemv_n) *)v->kernel->function)(v->k, matrix_of(v, o, begin), v->stride, v->is_row ? o->a : o->b,
                                            result_of(v, o, begin), o->beta != 0, v->ahead, end - begin);
    if (o->epilogue)
        finish_vector(v, o, begin, end - begin);
}

/* Splits the columns into equal parts, because the kernel would sum a short part in another order. Sums are
 * made in y if that is contiguous, alpha is 1 and beta 0. */
static void vector_t(const struct gemm_vector *v, const struct gemm_operands *o, int64_t begin, int64_t end) {
    const ELEMENT *x = v->is_row ? o->a : o->b;
    enum { MOST = GEMM_COPY_ON_STACK / sizeof(ELEMENT), LANES = 64 / sizeof(ELEMENT) };
    KERNEL(gemv_t) *f = (KERNEL(gemv_t) *)v->kernel->function;
    ELEMENT t[MOST] __attribute__((aligned(64)));
    const bool in_place = v->y_step == 1 && o->alpha == 1 && o->beta == 0;
    const int64_t widest = in_place || v->kernel->nr < MOST ? v->kernel->nr : MOST, all = end - begin;
    const int64_t parts = all <= widest ? 1 : (all + widest - 1) / widest,
                  vectors = (all + LANES - 1) / LANES;

    for (int64_t part = 0, i = begin, next; part < parts; part++, i = next) {
        next = part + 1 == parts ? end : begin + (part + 1) * vectors / parts * LANES;
        f(v->k, matrix_of(v, o, i), v->stride, x, in_place ? result_of(v, o, i) : t, 0, v->ahead, next - i);
        if (!in_place)
            merge_vector(v, o, t, i, next - i);
        else if (o->epilogue)
            finish_vector(v, o, i, next - i);
    }
}

/* ---- inner products ---- */

/* Computes C[i .. i + m, j .. j + n], for which scratch must have room. */
static void dots_columns(const struct gemm_dots *d, const struct gemm_operands *o, int64_t i, int64_t m,
                         int64_t j, int64_t n) {
    KERNEL(gemm_nt) *f = (KERNEL(gemm_nt) *)d->kernel->function;
    const ELEMENT *a = (const ELEMENT *)o->a + i * d->lda, *b = (const ELEMENT *)o->b + j * d->ldb;
    ELEMENT *c = (ELEMENT *)o->c + i * d->ldc + j, scratch[GEMM_SCRATCH];
    const bool direct = o->alpha == 1 && (o->beta == 0 || o->beta == 1);
    ELEMENT *to = direct ? c : scratch;
    const int64_t ld = direct ? d->ldc : d->kernel->nr;

    for (int64_t p = 0; p < d->k; p += d->k_block)
        f(d->k - p < d->k_block ? d->k - p : d->k_block, a + p, d->lda, b + p, d->ldb, to, ld,
          p || (direct && o->beta != 0), m, n);
    if (!direct)
        merge(m, n, (ELEMENT)o->alpha, scratch, ld, (ELEMENT)o->beta, c, d->ldc);
    if (o->epilogue)
        finish(m, n, c, d->ldc, o->epilogue, i, j);
}

static void dots(const struct gemm_dots *d, const struct gemm_operands *o, int64_t row, int64_t last_row,
                 int64_t column, int64_t last_column) {
    const int64_t width = d->kernel->nr, mr = d->kernel->mr,
                  most = uk_min(GEMM_SCRATCH / width, uk_max(TYPE.l2_quarter / d->k / mr, 2) * mr);

    for (int64_t i = row; i < last_row; i += most)
        for (int64_t j = column; j < last_column; j += width)
            dots_columns(d, o, i, last_row - i < most ? last_row - i : most, j,
                         last_column - j < width ? last_column - j : width);
}

/* ---- few rows ---- */

/* Computes n columns of C, from column j on. If alpha is 1, and beta not 0, C is multiplied by beta first,
 * and the sums are added to it, as tiles do. */
static void stream_part(const struct gemm_stream *s, const struct gemm_operands *o, int64_t j, int64_t n,
                        ELEMENT *sums) {
    const bool direct = o->alpha == 1 && o->beta == 0;
    ELEMENT *c = (ELEMENT *)o->c + j;

    ((KERNEL(gemm_rab) *)s->kernel->function)(s->k, o->a, s->lda, (const ELEMENT *)o->b + j, s->ldb,
                                              direct ? c : sums, direct ? s->ldc : n, 0, s->m, n);
    if (!direct && o->alpha == 1 && o->beta != 1)
        scale_tile(s->m, n, (ELEMENT)o->beta, c, s->ldc);
    if (!direct)
        merge(s->m, n, (ELEMENT)o->alpha, sums, n, o->alpha == 1 ? 1 : (ELEMENT)o->beta, c, s->ldc);
    if (o->epilogue)
        finish(s->m, n, c, s->ldc, o->epilogue, 0, j);
}

static void stream_columns(const struct gemm_stream *s, const struct gemm_operands *o, int64_t begin,
                           int64_t end, void *sums) {
    for (int64_t j = begin; j < end; j += s->kernel->nr)
        stream_part(s, o, j, uk_min(end - j, s->kernel->nr), sums);
}

/* ---- packing ---- */

static void pack(const struct gemm_type *t, int64_t k, int64_t n, const void *source, int64_t step,
                 int64_t across, int w, void *to) {
    const struct uk_kernel *kernel = across == 1 ? gemm_pack_of(t->pack_n, t->packs_n, w, false)
                                     : step == 1 ? gemm_pack_of(t->pack_t, t->packs_t, w, true)
                                                 : NULL;
    const ELEMENT *s = source;
    ELEMENT *d = to;

    if (kernel) {
        ((KERNEL(pack_n) *)kernel->function)(k, s, across == 1 ? step : across, d, n);
        return;
    }
    for (int64_t p = 0; p < k; p++, s += step, d += w) {
        for (int64_t j = 0; j < n; j++)
            d[j] = s[j * across];
        for (int64_t j = n; j < w; j++)
            d[j] = 0;
    }
}

/* Transposes in plain loops, for few rows, as many as copy_rows takes at a time. Stores some elements of a
 * row at a time, so that a line of the copy is stored to a few times only. */
static void transpose_plainly(int64_t m, int64_t k, const ELEMENT *s, int64_t row, int64_t step, ELEMENT *d,
                              int64_t ldd) {
    enum { SOME = 4 };

    for (int64_t q = 0; q < k; q += SOME)
        for (int64_t i = 0; i < m; i++)
            for (int64_t p = q; p < k && p < q + SOME; p++)
                d[i * ldd + p] = s[i * row + p * step];
}

/* Copies rows. Of a column-major source it takes ROWS rows at a time, so that the cache lines of the copy
 * stay in L1 until they are full. A kernel copies mr columns per call; the last call may repeat columns of
 * the one before. */
static void copy_rows(const struct gemm_type *t, int64_t m, int64_t k, const void *source, int64_t row,
                      int64_t step, void *to, int64_t ldd) {
    enum { ROWS = 64 };
    const struct uk_kernel *kernel =
        row == 1 && k >= (t->transpose_rows ? t->transpose_rows->mr : k + 1) ? t->transpose_rows : NULL;
    const ELEMENT *s = source;
    ELEMENT *d = to;

    for (int64_t i = 0; i < m && step == 1; i++)
        memcpy(d + i * ldd, s + i * row, (size_t)k * sizeof(ELEMENT));
    for (int64_t i = 0; i < m && step != 1; i += ROWS) {
        const int64_t rows = m - i < ROWS ? m - i : ROWS;

        if (!kernel)
            transpose_plainly(rows, k, s + i * row, row, step, d + i * ldd, ldd);
        for (int64_t p = 0; kernel && p < k; p += kernel->mr) {
            const int64_t q = p < k - kernel->mr ? p : k - kernel->mr;

            ((KERNEL(transpose) *)kernel->function)(rows, s + i + q * step, step, d + i * ldd + q, ldd,
                                                    kernel->mr);
        }
    }
}

static void transpose_some(const struct uk_kernel *kernel, int64_t k, const void *s, int64_t lds, void *d,
                           int64_t ldd, int64_t lines) {
    ((KERNEL(transpose) *)kernel->function)(k, s, lds, d, ldd, lines);
}

static void transpose_all(const struct uk_kernel *kernel, int64_t k, const void *s, int64_t lds, void *d,
                          int64_t lines) {
    ((KERNEL(pack_t) *)kernel->function)(k, s, lds, d, lines);
}

struct gemm_type TYPE = {
    .name = NAME,
    .element = REGISTERED,
    .size = sizeof(ELEMENT),
    .c_size = sizeof(ELEMENT),
    .left = REGISTERED,
    .right = REGISTERED,
    .tile_row = tile_row,
    .vector_n = vector_n,
    .vector_t = vector_t,
    .dots = dots,
    .stream_columns = stream_columns,
    .merge = merge_real,
    .scale = scale,
    .transpose_some = transpose_some,
    .transpose_all = transpose_all,
    .pack = pack,
    .copy_rows = copy_rows,
};
