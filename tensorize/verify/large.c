/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cases in which several sizes are as large as the room for operands permits. The interpreter computes only a
 * sample of the elements, and the operands have no copies: elements are drawn from a pool, and bytes between
 * rows are compared at the end, after the elements have been replaced by canaries, too.
 */
#include <stdlib.h>
#include <string.h>
#include "verify.h"

enum {
    POOL = 8191,     /* number of elements; a prime, so that no stride is a multiple of it */
    STEPS = 1 << 20, /* of the interpreter, for the whole sample */
    MIN_POINTS = 8,
    MAX_POINTS = 1 << 12,
    LARGEST_ELEMENT = 8, /* bytes */
    CHUNK = 1 << 12      /* bytes compared at a time */
};

bool uk_verify_has_large(const struct uk_verifier *v) {
    const struct uk_program *p = v->intrinsic->declaration;
    const struct uk_statement *s = v->intrinsic->computes;

    if (v->argv || v->device || s != p->statements || s->next || s->scan || s->reduce == UK_REDUCE_PROD)
        return false;
    for (const struct uk_tensor *t = p->tensors; t; t = t->next)
        if (t->layout)
            return false;
    return true;
}

bool uk_verify_is_inside(struct uk_verifier *v) {
    void *origin[UK_VERIFY_TENSORS];
    char any;

    for (int i = 0; i < UK_VERIFY_TENSORS; i++)
        origin[i] = &any;
    uk_context_enter(v->context, v->context->file);
    return !uk_interpret_points(v->intrinsic, v->form,
                                &(struct uk_values){.size = v->size, .scalar = v->scalar, .tensor = origin},
                                &(struct uk_points){0});
}

/* ---- contents of operands ---- */

/* The pool's elements twice, so that a row can begin anywhere in it. */
static unsigned char *draw_pool(struct uk_verifier *v, int n, bool poison) {
    const enum uk_type type = v->memory[n].tensor->type;
    const size_t bytes = POOL * uk_type_bytes(type);
    unsigned char *pool = malloc(2 * bytes);

    for (int i = 0; pool && i < POOL; i++)
        uk_store(type, pool, i, poison ? uk_memory_poison(v, type) : uk_verify_element(v, n, NULL));
    if (pool)
        memcpy(pool + bytes, pool, bytes);
    return pool;
}

/* The longest dimension whose elements are at most a page apart, or any; -1: the tensor has none. */
static int longest(const struct uk_box *b, size_t bytes) {
    int row = b->dims - 1;

    for (int d = 0; d < b->dims; d++)
        if ((size_t)b->stride[d] * bytes <= CHUNK &&
            ((size_t)b->stride[row] * bytes > CHUNK || b->extent[d] > b->extent[row]))
            row = d;
    return row;
}

/* Writes `count` elements, `step` bytes apart. */
static void fill_row(unsigned char *to, int64_t count, int64_t step, const unsigned char *from,
                     size_t bytes) {
#define EACH(size)                                                \
    for (int64_t i = 0; i < count; i++, to += step, from += size) \
    memcpy(to, from, size)
    if (step == (int64_t)bytes)
        memcpy(to, from, (size_t)count * bytes);
    else if (bytes == 1)
        EACH(1);
    else if (bytes == 2)
        EACH(2);
    else if (bytes == 4)
        EACH(4);
    else
        EACH(8);
#undef EACH
}

/* Fills all elements of the box, row by row; each row begins at a random place of the pool. */
static void fill_box(struct uk_verifier *v, const struct uk_memory *m, bool logical,
                     const unsigned char *pool) {
    const size_t bytes = uk_type_bytes(m->tensor->type);
    struct uk_box b;

    if (!uk_box_begin(&b, v, m->tensor, logical))
        return;
    const int row = longest(&b, bytes);
    const int64_t count = row < 0 ? 1 : b.extent[row], step = row < 0 ? 0 : b.stride[row] * (int64_t)bytes;

    if (row >= 0)
        b.extent[row] = 1;
    do {
        unsigned char *to = m->origin + uk_box_offset(&b) * (int64_t)bytes;

        for (int64_t i = 0, n; i < count; i += n) {
            n = count - i < POOL ? count - i : POOL;
            fill_row(to + i * step, n, step, pool + uk_verify_random(v, POOL) * bytes, bytes);
        }
    } while (uk_box_advance(&b));
}

/* For a tensor of zeros: fills the elements at the kept points. */
static void fill_kept(struct uk_verifier *v, const struct uk_memory *m, const unsigned char *pool) {
    const size_t bytes = uk_type_bytes(m->tensor->type);
    const int reduced = v->intrinsic->computes->iterators - v->intrinsic->computes->left_iterators;
    struct uk_box b;

    for (int i = 0; i < v->nonzero_terms && uk_box_begin(&b, v, m->tensor, true); i++) {
        int64_t at = 0;

        for (int k = 0; k < reduced; k++) {
            at += v->nonzero_at[i][k] * b.stride[v->nonzero_dim[k]];
            b.extent[v->nonzero_dim[k]] = 1;
        }
        do
            memcpy(m->origin + (at + uk_box_offset(&b)) * (int64_t)bytes,
                   pool + uk_verify_random(v, POOL) * bytes, bytes);
        while (uk_box_advance(&b));
    }
}

/* True if the tensor is stored with more elements than its shape has. */
static bool has_padding(struct uk_verifier *v, const struct uk_tensor *t) {
    for (int d = 0; d < t->stored_dims; d++)
        if (uk_verify_value(v, t->stored[d]) != uk_verify_value(v, t->shape[d]))
            return true;
    return false;
}

bool uk_memory_fill_rows(struct uk_verifier *v, int n) {
    struct uk_memory *m = &v->memory[n];
    const bool hidden = m->tensor->is_written && !uk_verify_reads_output(v, m->tensor),
               kept = v->nonzero_terms && n == v->nonzero_tensor;
    unsigned char *pool = draw_pool(v, n, hidden), *poison = draw_pool(v, n, true),
                  *zeros = calloc(2 * POOL, LARGEST_ELEMENT);
    const bool full = pool && poison && zeros;

    if (full) {
        uk_memory_fill_with_canaries(m);
        if (!m->tensor->is_written && has_padding(v, m->tensor))
            fill_box(v, m, false, poison);
        fill_box(v, m, true, kept ? zeros : pool);
        if (kept)
            fill_kept(v, m, pool);
    }
    free(pool);
    free(poison);
    free(zeros);
    return full;
}

/* ---- the sample ---- */

/* The first or the last index, one next to a power of two, or a random one. */
static int64_t draw_index(struct uk_verifier *v, int64_t extent) {
    int64_t n;

    switch (uk_verify_random(v, 8)) {
    case 0:
        return 0;
    case 1:
    case 2:
        return extent - 1;
    case 3:
    case 4:
        n = ((int64_t)1 << uk_verify_random(v, 31)) - 1 + (int64_t)uk_verify_random(v, 2);
        if (n < extent)
            return n;
        /* fall through */
    default:
        return (int64_t)uk_verify_random(v, (uint64_t)extent);
    }
}

/* The product of the extents of some iterators. */
static int64_t product(struct uk_verifier *v, int first, int end) {
    int64_t n = 1;

    for (int i = first; i < end; i++)
        n *= uk_verify_value(v, v->intrinsic->computes->extent[i]);
    return n;
}

static int64_t count_points(struct uk_verifier *v) {
    const struct uk_statement *s = v->intrinsic->computes;
    const int64_t terms = product(v, s->left_iterators, s->iterators), n = STEPS / (terms > 0 ? terms : 1);

    return n < MIN_POINTS ? MIN_POINTS : n > MAX_POINTS ? MAX_POINTS : n;
}

/* Draws the sample: all elements if there are no more than that. */
bool uk_large_draw(struct uk_verifier *v, struct uk_points *points) {
    const struct uk_statement *s = v->intrinsic->computes;
    const int64_t max_points = count_points(v), all = product(v, 0, s->left_iterators);
    const size_t n = (size_t)(all < max_points ? all : max_points), dims = (size_t)s->left_iterators;
    int64_t *index = malloc((n * dims + 1) * sizeof *index);

    *points = (struct uk_points){.count = (int)n,
                                 .index = index,
                                 .element = malloc((n + 1) * sizeof *points->element),
                                 .value = malloc((n + 1) * sizeof *points->value)};
    for (size_t i = 0; index && i < n; i++) {
        int64_t rest = (int64_t)i;

        for (size_t d = dims; d--;) {
            const int64_t extent = uk_verify_value(v, s->extent[d]);

            index[i * dims + d] = all <= max_points ? rest % extent : draw_index(v, extent);
            rest /= extent;
        }
    }
    return index && points->element && points->value;
}

void uk_large_end(struct uk_points *points) {
    free((void *)(uintptr_t)points->index);
    free(points->element);
    free(points->value);
}

static bool compare_points(struct uk_verifier *v, struct uk_memory *m, const struct uk_points *points) {
    const enum uk_type type = m->tensor->type;

    for (int i = 0; i < points->count; i++) {
        const unsigned char *got = m->origin + points->element[i] * (int64_t)uk_type_bytes(type);
        unsigned char expected[LARGEST_ELEMENT];

        uk_store(type, expected, 0, points->value[i]);
        if (memcmp(got, expected, uk_type_bytes(type)) && uk_memory_differs(v, m, got, expected))
            return false;
    }
    return true;
}

/* Replaces the elements by canaries, and checks that nothing else is left. */
static bool compare_rest(struct uk_verifier *v, struct uk_memory *m) {
    unsigned char canaries[CHUNK], elements[2 * POOL * LARGEST_ELEMENT];

    memset(canaries, UK_VERIFY_CANARY, sizeof canaries);
    memset(elements, UK_VERIFY_CANARY, sizeof elements);
    fill_box(v, m, true, elements);
    for (int i = 0; i < m->spans; i++)
        for (size_t k = 0; k < m->span[i].length; k += CHUNK) {
            const unsigned char *got = m->space + m->span[i].at + k;

            for (size_t j = 0; memcmp(got, canaries, CHUNK) && j < CHUNK; j++)
                if (got[j] != UK_VERIFY_CANARY &&
                    uk_memory_differs(v, m, got + j, canaries + LARGEST_ELEMENT))
                    return false;
        }
    return true;
}

bool uk_large_compare(struct uk_verifier *v, const struct uk_points *points) {
    for (int i = 0; i < v->tensors; i++) {
        struct uk_memory *m = &v->memory[i];

        if (m->tensor == v->intrinsic->computes->left.tensor && !compare_points(v, m, points))
            return false;
    }
    /* Operands that are only read were write-protected. */
    for (int i = 0; i < v->tensors; i++)
        if (v->memory[i].tensor->is_written && !compare_rest(v, &v->memory[i]))
            return false;
    return true;
}
