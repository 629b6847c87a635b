/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of products with weights in blocks. */
#include "cost/cost.h"
#include "gemm/pack.h"
#include "gemm/weights.h"
#include <string.h>

const uint64_t uk_weights_magic = 0x316e617077736b75; /* "ukswpan1" */

/* ---- kernels ---- */

static bool is_of(const struct uk_kernel *k, enum uk_element left, int bits, bool has_offsets) {
    const struct uk_operation *o = k->operation;

    return o->form == UK_OP_WEIGHTS && o->element == left && o->bits == bits &&
           o->has_offsets == has_offsets && uk_kernel_runs_here(k);
}

/* The kernel of the widest tile that runs here, at most `most` columns; among equals the first one by rank.
 */
static const struct uk_kernel *find(enum uk_element left, int bits, bool has_offsets, int most) {
    const struct uk_kernel *best = NULL;

    for (int i = 0; i < uk_kernel_count(); i++) {
        const struct uk_kernel *k = uk_kernel_at(i);

        if (is_of(k, left, bits, has_offsets) && k->nr <= most && (!best || k->nr > best->nr))
            best = k;
    }
    return best;
}

/* Both ways of summing read the same panels. */
static const struct uk_kernel *kernel_of(int bits, const struct uk_weights_options *o) {
    const struct uk_kernel *k = find(UK_ELEMENT_F32, bits, o->has_zeros, INT16_MAX);

    return k && o->sums == UK_SUMS_I32 ? find(UK_ELEMENT_I8, bits, o->has_zeros, k->nr) : k;
}

/* ---- checks ---- */

/* True if a matrix of rows `ld` elements apart takes as many bytes as an address can have, or 2^56. */
static bool is_too_large(int64_t rows, int64_t ld, int64_t bytes) {
    const int most = sizeof(void *) == 4 ? 31 : 56;

    return rows > 0 && ld > ((INT64_C(1) << most) - 1) / bytes / rows;
}

static enum uk_status check_sizes(const struct weights_plan *p) {
    const struct {
        const char *name;
        int64_t value, least;
    } sizes[] = {{"m", p->m, 0}, {"n", p->n, 0}, {"k", p->k, 0}};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i].value < sizes[i].least)
            return uk_gemm_refuse(UK_INVALID_SIZE, "%s = %lld is negative", sizes[i].name,
                                  (long long)sizes[i].value);
    if (p->block < WEIGHTS_BLOCK_LEAST || p->block > WEIGHTS_BLOCK_MOST || p->block % WEIGHTS_BLOCK_LEAST)
        return uk_gemm_refuse(UK_INVALID_SIZE, "block = %lld is not a multiple of 16 from 16 to 128",
                              (long long)p->block);
    if (p->k % p->block)
        return uk_gemm_refuse(UK_INVALID_SIZE,
                              "block = %lld does not divide k = %lld; fill A and the weights up with zeros",
                              (long long)p->block, (long long)p->k);
    if (p->lda < uk_max(p->k, 1))
        return uk_gemm_refuse(UK_INVALID_SIZE, "lda = %lld is less than %lld, the elements of a row of A",
                              (long long)p->lda, (long long)uk_max(p->k, 1));
    if (p->ldc < uk_max(p->n, 1))
        return uk_gemm_refuse(UK_INVALID_SIZE, "ldc = %lld is less than %lld, the elements of a row of C",
                              (long long)p->ldc, (long long)uk_max(p->n, 1));
    if (is_too_large(p->m, p->lda, sizeof(float)) || is_too_large(p->m, p->ldc, sizeof(float)) ||
        is_too_large(1, uk_max(p->n, p->k), GEMM_LINE) || is_too_large(uk_max(p->n, GEMM_LINE), p->k, 2))
        return uk_gemm_refuse(UK_INVALID_SIZE, "A, C or the weights have more bytes than can be addressed");
    return UK_OK;
}

static enum uk_status check_options(const struct uk_weights_options *o) {
    if (o->threads < 0)
        return uk_gemm_refuse(UK_INVALID_ARGUMENT, "options.threads = %d is negative", o->threads);
    if ((unsigned)o->sums > UK_SUMS_I32)
        return uk_gemm_refuse(UK_INVALID_ARGUMENT, "options.sums = %d is no enum uk_sums", (int)o->sums);
    if ((unsigned)o->scale > UK_SCALE_BF16)
        return uk_gemm_refuse(UK_INVALID_ARGUMENT, "options.scale = %d is no enum uk_scale_type",
                              (int)o->scale);
    return UK_OK;
}

/* ---- blocks, tasks, workspace ---- */

/* Kernels add up fewer rows in another order. Blocks and tasks have at least as many, or all rows, so that C
 * does not depend on the number of threads. */
enum { ROWS_LEAST = 7 };

/* Columns are divided first: each task then reads other weights. */
static void set_tasks(struct weights_plan *p, const struct gemm_type *type) {
    const double cycles = (double)p->m * (double)p->n * (double)p->k * type->fma_cycles / p->kernel->nr * 2,
                 worth = cycles / GEMM_TASK;
    const int64_t most = uk_gemm_threads(p->options.threads, p->options.pool),
                  threads = worth < 1              ? 1
                            : worth < (double)most ? (int64_t)worth
                                                   : most;

    p->column_tasks = uk_max(uk_min(threads, weights_panels(p)), 1);
    p->row_tasks = uk_max(uk_min(threads / p->column_tasks, p->m / ROWS_LEAST), 1);
}

/* Rows of A of a block, read again for each panel of columns, take at most half of L2, or are
 * GEMM_BLOCK_TILES tiles: of fewer, the conversion of weights would take more time. */
static void set_blocks(struct weights_plan *p, const struct gemm_type *type) {
    const int64_t bytes = p->k * (weights_by_bytes(p) ? 1 : (int64_t)sizeof(float)),
                  room = 2 * type->l2_quarter * (int64_t)sizeof(float),
                  least = uk_max(GEMM_BLOCK_TILES * p->kernel->mr, 2 * ROWS_LEAST),
                  most = uk_max(room / uk_max(bytes, 1), least);

    p->row_blocks = p->row_tasks * uk_ceil_div(uk_ceil_div(p->m, p->row_tasks), most);
}

static size_t whole_lines(int64_t bytes) {
    return (size_t)uk_ceil_div(bytes, GEMM_LINE) * GEMM_LINE;
}

static void set_workspace(struct weights_plan *p, const struct gemm_type *type) {
    const bool bytes = weights_by_bytes(p);
    const int64_t element = bytes ? 1 : (int64_t)sizeof(float);

    if (bytes || p->options.is_bf16 ||
        (p->n > GEMM_COPIED_PANELS * p->kernel->nr &&
         uk_rows_share_sets(type->machine, uk_min(p->m, p->kernel->mr), p->lda * element)))
        p->ld = uk_gemm_leading(p->k, (int)element);
    p->copy = whole_lines(p->m * p->ld * element);
    if (bytes)
        p->scales = whole_lines(2 * p->m * p->blocks * (int64_t)sizeof(float));
    if (p->options.is_bf16)
        p->sums = whole_lines(p->m * p->n * (int64_t)sizeof(float));
}

enum uk_status uk_weights_make_plan(struct weights_plan *plan, int bits, int64_t m, int64_t n, int64_t k,
                                    int64_t block, int64_t lda, int64_t ldc,
                                    const struct uk_weights_options *options) {
    static const struct uk_weights_options defaults = {0};
    const struct uk_weights_options *o = options ? options : &defaults;
    struct weights_plan p = {.magic = uk_weights_magic,
                             .m = m,
                             .n = n,
                             .k = k,
                             .block = block,
                             .lda = lda,
                             .ldc = ldc,
                             .bits = bits,
                             .options = *o};
    enum uk_status status = check_sizes(&p);

    if (status || (status = check_options(o)))
        return status;
    const struct gemm_type *type = uk_gemm_look_up(&uk_gemm_f32);

    p.kernel = kernel_of(bits, o);
    if (!p.kernel)
        return uk_gemm_refuse(UK_UNSUPPORTED, "this build has no kernel for weights of %d bits", bits);
    p.blocks = k / block;
    p.block_bytes = p.kernel->nr * (weights_column_bytes(&p) + weights_scale_bytes(&p) +
                                    (o->has_zeros ? (int64_t)sizeof(float) : 0));
    p.panel_bytes = p.blocks * p.block_bytes;
    set_tasks(&p, type);
    set_blocks(&p, type);
    set_workspace(&p, type);
    *plan = p;
    return UK_OK;
}
