/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include "footprint.h"

enum { FIRST_PIECES = 256 };

bool uk_footprint_begin(struct uk_footprint *f, unsigned line) {
    *f = (struct uk_footprint){.line = line};
    f->is_used = calloc(line, sizeof *f->is_used);
    f->lines = calloc(line, sizeof *f->lines);
    return f->is_used && f->lines;
}

void uk_footprint_end(struct uk_footprint *f) {
    free(f->is_used);
    free(f->lines);
    free(f->piece);
}

static int compare_pieces(const void *x, const void *y) {
    const struct uk_piece *a = x, *b = y;

    return (a->first > b->first) - (a->first < b->first);
}

/* Sorts pieces and joins those that overlap or are adjacent. Returns how many are left. */
static size_t join(struct uk_piece *piece, size_t all) {
    size_t n = 0;

    for (size_t i = 1; i < all; ++i)
        if (piece[i].first < piece[i - 1].first) {
            qsort(piece, all, sizeof *piece, compare_pieces);
            break;
        }
    for (size_t i = 1; i < all; ++i)
        if (piece[i].first > piece[n].last + 1)
            piece[++n] = piece[i];
        else if (piece[i].last > piece[n].last)
            piece[n].last = piece[i].last;
    return all ? n + 1 : 0;
}

void uk_footprint_join(struct uk_footprint *f) {
    f->n = join(f->piece, f->n);
}

static bool add_piece(struct uk_footprint *f, struct uk_piece p) {
    struct uk_piece *last = f->n ? &f->piece[f->n - 1] : NULL;

    if (last && p.first >= last->first && p.first <= last->last + 1) {
        last->last = p.last > last->last ? p.last : last->last;
        return true;
    }
    if (f->n == f->capacity)
        uk_footprint_join(f);
    if (2 * f->n >= f->capacity) {
        const size_t capacity = f->capacity ? 2 * f->capacity : FIRST_PIECES;
        struct uk_piece *piece = realloc(f->piece, capacity * sizeof *piece);

        if (!piece)
            return false;
        f->piece = piece;
        f->capacity = capacity;
    }
    f->piece[f->n++] = p;
    return true;
}

/* Number of lines of sorted pieces that are moved by `distance` bytes. */
static uint64_t count_lines(const struct uk_piece *piece, size_t n, unsigned distance, unsigned line) {
    uint64_t all = 0, end = 0;

    for (size_t i = 0; i < n; ++i) {
        const uint64_t first = (piece[i].first + distance) / line, last = (piece[i].last + distance) / line;

        all += last + 1 - (first < end ? end : first);
        end = last + 1;
    }
    return all;
}

bool uk_footprint_add(struct uk_footprint *f, uint64_t lanes, const uint64_t *address, unsigned size) {
    struct uk_piece piece[UK_AMDGPU_LANES];
    size_t n = 0;

    for (int l = 0; l < UK_AMDGPU_LANES; ++l)
        if (lanes >> l & 1)
            piece[n++] = (struct uk_piece){address[l], address[l] + size - 1};
    n = join(piece, n);
    for (unsigned distance = 0; distance < f->line; ++distance)
        if (f->is_used[distance])
            f->lines[distance] += count_lines(piece, n, distance, f->line);
    for (size_t i = 0; i < n; ++i)
        if (!add_piece(f, piece[i]))
            return false;
    return true;
}

/* A line may begin before its buffer. Distances that are only approximations may lead out of it. */
bool uk_footprint_mark(const struct uk_footprint *f, const struct uk_simt_memory *memory, uint64_t distance,
                       uint64_t *is_new) {
    for (size_t i = 0; i < f->n; ++i)
        for (uint64_t at = (f->piece[i].first + distance) / f->line;
             at <= (f->piece[i].last + distance) / f->line; ++at) {
            struct uk_simt_buffer *b = uk_simt_buffer_at(memory, at * f->line);

            if (!b || at * f->line >= b->address + b->size || at < b->address / f->line)
                continue;
            const int result = uk_simt_access_line(b, (at - b->address / f->line) * f->line, f->line);

            if (result < 0)
                return false;
            *is_new += (uint64_t)result;
        }
    return true;
}
