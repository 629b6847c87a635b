/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the sizes that are no extents: those of strides, and of subscripts. */
#include "verify.h"

enum {
    LARGEST_GAP = 20,
    LARGEST_OFFSET = 5, /* of sizes that occur in subscripts only */
    ONE_IN_FAR = 24,
    ONE_IN_PAGES = 6,
    LARGEST_PAGE = 4096, /* elements */
    FEW_ROWS = 130,      /* maximum number of rows that may be far apart */
    MANY_ROWS = 2048     /* maximum number of rows that have pages of their own */
};
/* A rare gap between rows: a stride truncated to 32 bits would be the row's length. */
static const int64_t far_gap = (int64_t)1 << 32;

/* ---- strides ---- */

/* The stored dimensions, innermost first: constant strides by size, then names, the last dimension first. */
static void order_dimensions(const struct uk_tensor *t, int order[UK_MAX_DIMS]) {
    int64_t key[UK_MAX_DIMS];

    for (int i = 0; i < t->stored_dims; i++) {
        int d = t->stored_dims - 1 - i, j = i;
        int64_t k;

        if (!uk_index_is_int(t->stride[d], &k))
            k = INT64_MAX;
        for (; j > 0 && key[j - 1] > k; j--) {
            key[j] = key[j - 1];
            order[j] = order[j - 1];
        }
        key[j] = k;
        order[j] = d;
    }
}

/* The number of bits in which the form passes the size. */
static int bits_of(const struct uk_verifier *v, const struct uk_var *var) {
    const struct uk_form *f = &v->intrinsic->form[v->form];
    int bits = 64;

    for (int i = 0; i < f->arguments; i++)
        if (f->argument[i].size == var && f->argument[i].ctype < UK_TYPES) {
            const int passed = 8 * (int)uk_type_bytes((enum uk_type)f->argument[i].ctype);

            bits = passed < bits ? passed : bits;
        }
    return bits;
}

/* True if no tensor with this stride has more than `max_rows` rows. */
static bool has_few_rows(struct uk_verifier *v, const struct uk_var *var, int64_t max_rows) {
    for (const struct uk_tensor *t = v->intrinsic->declaration->tensors; t; t = t->next) {
        int64_t rows = 1;
        bool strided = false;

        for (int d = 0; d < t->stored_dims; d++) {
            strided |= uk_mentions(t->stride[d], var);
            if (t->stride[d]->op == UK_I_VAR && rows <= max_rows)
                rows *= uk_verify_value(v, t->stored[d]);
        }
        if (strided && rows > max_rows)
            return false;
    }
    return true;
}

/* The gap with which the last row begins 2^31 or 2^32 elements after the first one, if the stride fits into
 * 32 bits; else 0. */
static int64_t far_gap_32(struct uk_verifier *v, int64_t rows, int64_t min_stride) {
    const int64_t stride = rows > 1 ? (INT64_C(1) << (31 + uk_verify_random(v, 2))) / (rows - 1) + 1 : 0;

    return stride >= min_stride && stride <= INT32_MAX ? stride - min_stride : 0;
}

/* The gap between `rows` rows, one of these:
 * - 0, up to the next multiple of 16, or a small number
 * - one with which offsets exceed 32 bits
 * - one with which each row ends at the end of a page if the last one does, followed by an inaccessible
 *   page */
static int64_t gap(struct uk_verifier *v, const struct uk_var *var, int64_t rows, int64_t min_stride,
                   bool edges) {
    const int bits = bits_of(v, var);

    if (!v->device && bits >= 32 && has_few_rows(v, var, MANY_ROWS)) {
        if (edges ? uk_verify_random(v, 2) : !uk_verify_random(v, ONE_IN_PAGES))
            return LARGEST_PAGE + (LARGEST_PAGE - min_stride % LARGEST_PAGE) % LARGEST_PAGE;
        if (has_few_rows(v, var, FEW_ROWS) && !uk_verify_random(v, ONE_IN_FAR))
            return bits > 32 ? far_gap : far_gap_32(v, rows, min_stride);
    }
    switch (uk_verify_random(v, 4)) {
    case 0:
        return 0;
    case 1:
        return 15 - (min_stride + 15) % 16;
    default:
        return (int64_t)uk_verify_random(v, LARGEST_GAP);
    }
}

/* The elements that `extent` rows of this stride span, added to the previous ones; at most 2^61, for which no
 * tensor has room. */
static int64_t add_span(int64_t need, int64_t extent, int64_t stride) {
    const int64_t max = INT64_C(1) << 61;
    int64_t more;

    if (extent <= 1)
        return need;
    return __builtin_mul_overflow(extent - 1, stride, &more) || more > max - need ? max : need + more;
}

static bool is_in_a_stride(const struct uk_verifier *v, const struct uk_var *var) {
    for (const struct uk_tensor *t = v->intrinsic->declaration->tensors; t; t = t->next)
        for (int d = 0; d < t->stored_dims; d++)
            if (uk_mentions(t->stride[d], var))
                return true;
    return false;
}

void uk_verify_choose_strides(struct uk_verifier *v, bool edges) {
    const struct uk_program *p = v->intrinsic->declaration;

    for (const struct uk_var *var = p->sizes; var; var = var->next)
        if (!var->is_extent)
            v->size[var->number] =
                is_in_a_stride(v, var) ? 0 : (int64_t)uk_verify_random(v, LARGEST_OFFSET + 1);
    for (int round = 0; round < 2; round++)
        for (const struct uk_tensor *t = p->tensors; t; t = t->next) {
            int order[UK_MAX_DIMS];
            int64_t need = 1;

            order_dimensions(t, order);
            for (int i = 0; i < t->stored_dims; i++) {
                const struct uk_index *stride = t->stride[order[i]];
                int64_t extent = uk_verify_value(v, t->stored[order[i]]);

                if (stride->op == UK_I_VAR && !stride->var->is_extent && v->size[stride->var->number] < need)
                    v->size[stride->var->number] = need + gap(v, stride->var, extent, need, edges);
                need = add_span(need, extent, uk_verify_value(v, stride));
            }
        }
}

/* Rows that are only read may overlap, as in the image of a convolution. */
void uk_verify_overlap_rows(struct uk_verifier *v) {
    for (const struct uk_var *var = v->intrinsic->declaration->sizes; var; var = var->next) {
        bool written = var->is_extent;

        for (const struct uk_tensor *t = v->intrinsic->declaration->tensors; t; t = t->next)
            for (int d = 0; d < t->stored_dims; d++)
                written |= t->is_written && uk_mentions(t->stride[d], var);
        if (!written && !uk_verify_random(v, 8) && v->size[var->number] < far_gap)
            v->size[var->number] = (int64_t)uk_verify_random(v, (uint64_t)v->size[var->number] + 1);
    }
}

bool uk_verify_rows_disjoint(struct uk_verifier *v, const struct uk_tensor *t) {
    int64_t need = 1;
    int order[UK_MAX_DIMS];

    order_dimensions(t, order);
    for (int i = 0; i < t->stored_dims; i++) {
        int64_t extent = uk_verify_value(v, t->stored[order[i]]),
                stride = uk_verify_value(v, t->stride[order[i]]);

        if (extent <= 1)
            continue;
        if (stride < need)
            return false;
        need = add_span(need, extent, stride);
    }
    return true;
}

bool uk_verify_fits(const struct uk_verifier *v, const struct uk_var *var) {
    const struct uk_form *f = &v->intrinsic->form[v->form];
    const int64_t n = v->size[var->number];

    for (int i = 0; i < f->arguments; i++)
        if (f->argument[i].size == var && f->argument[i].ctype < UK_TYPES &&
            uk_wrap_to((enum uk_type)f->argument[i].ctype, (uint64_t)n).i != n)
            return false;
    return true;
}

/* ---- negative strides ---- */

void uk_verify_negate(struct uk_verifier *v) {
    for (const struct uk_var *var = v->intrinsic->declaration->sizes; var; var = var->next)
        if (v->negative[var->number])
            v->size[var->number] = -v->size[var->number];
}

static bool is_passed(const struct uk_verifier *v, const struct uk_var *var) {
    const struct uk_form *f = &v->intrinsic->form[v->form];

    for (int i = 0; i < f->arguments; i++)
        if (f->argument[i].size == var)
            return true;
    return false;
}

/* Rows that do not overlap still do not if their order is reversed. */
void uk_verify_choose_signs(struct uk_verifier *v) {
    bool some = !uk_verify_random(v, 4), good;

    for (const struct uk_tensor *t = v->intrinsic->declaration->tensors; t; t = t->next)
        some = some && uk_verify_rows_disjoint(v, t);
    for (const struct uk_var *var = v->intrinsic->declaration->sizes; var; var = var->next)
        v->negative[var->number] =
            some && !var->is_extent && is_in_a_stride(v, var) && is_passed(v, var) && uk_verify_random(v, 2);
    uk_verify_negate(v);
    good = uk_verify_assumptions_hold(v);
    for (const struct uk_var *var = v->intrinsic->declaration->sizes; var; var = var->next)
        good = good && uk_verify_fits(v, var);
    uk_verify_negate(v);
    for (const struct uk_var *var = v->intrinsic->declaration->sizes; var; var = var->next)
        v->negative[var->number] = v->negative[var->number] && good;
}

bool uk_verify_assumptions_hold(struct uk_verifier *v) {
    for (const struct uk_assume *a = v->intrinsic->declaration->assumes; a; a = a->next)
        if (uk_verify_value(v, a->relation) <= 0)
            return false;
    return true;
}
