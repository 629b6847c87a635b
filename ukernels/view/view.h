/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Views: which bytes a loop nest accesses of an operand. An access is an affine function of the loops'
 * indices, so a view is a size of an element and, for each loop, how often it runs and how many bytes further
 * it moves: rows and columns of a matrix, the taps of a window with any stride and dilation, the panels of a
 * packed copy.
 *
 *     view.c    the cache lines and pages that a view touches, and the runs of contiguous bytes that it
 *               consists of
 *     lattice.c operands of products as they lie in arrays, and their copies: what is packed, read by tiles
 *     and prefetched
 *
 * Uses registry (element types).
 */
#ifndef UK_VIEW_H
#define UK_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "registry/operation.h"

enum { UK_VIEW_LOOPS = 8 };

struct uk_view {
    int loops, bytes; /* of an element */
    struct {
        int64_t extent, stride; /* bytes */
    } loop[UK_VIEW_LOOPS];      /* by their strides, the shortest first */
};

/* Adds a loop; one of a single iteration, or of stride 0, which accesses the same elements again, adds
 * nothing. A stride may be negative. There is room for UK_VIEW_LOOPS that add. */
void uk_view_add(struct uk_view *v, int64_t extent, int64_t stride);

/* The bytes of a view as runs: `runs` of them, each of `length` bytes, gaps of less than a unit included, and
 * `pitch` bytes from one to the next; 0: there is one. */
struct uk_runs {
    double runs, length;
    int64_t pitch;
};

/* The runs in which all gaps of less than `unit` bytes are closed. A lattice whose loops' strides are
 * multiples of one another is counted exactly, overlaps of windows included. */
struct uk_runs uk_view_runs(const struct uk_view *v, int64_t unit);
/* How many aligned units of so many bytes, cache lines or pages, the runs touch, on average over all places
 * where the first byte may lie that are a multiple of `align`. */
static inline double uk_runs_units(const struct uk_runs *r, int64_t unit, int64_t align) {
    const int64_t apart = r->pitch & -r->pitch; /* the largest power of two that divides it */
    const double granule = (double)(apart && apart < align ? apart : align < unit ? align : unit);

    return r->runs * (r->length > granule ? 1 + (r->length - granule) / (double)unit : 1);
}

/* ---- lattice.c ---- */

enum { UK_LATTICE_LOOPS = 3, UK_LATTICE_AXES = 2 };

/* `stride`: elements from one index to the next; each moves the place by `step` along an axis that has a
 * border, -1: along none. */
struct uk_lattice_loop {
    int64_t extent, stride;
    int axis;
    int64_t step;
};

/* Where an operand is: where the program has it; in a copy of its lines, one after another; in a copy in
 * panels. */
enum uk_lattice_kind { UK_IN_PLACE, UK_ROWS, UK_PANELS };

/*
 * An operand of a product in an array: lines, rows of A or columns of B, of k elements. The number of a line
 * is the index of one to three loops, the last the fastest, and so is that of an element in it: rows of a
 * matrix are one loop of lines and one of k; for the windows of an image the lines are its pixels, and k is
 * the rows, columns and channels of a window. Along an axis places count from `first`, of line 0 and k 0,
 * negative in a border; what is not in [0, extent) is not in the array, and stands for the border's value.
 */
struct uk_lattice {
    enum uk_element element;
    enum uk_lattice_kind kind;
    int width;      /* PANELS: lines that a panel has room for */
    int64_t origin; /* elements from the array's first to element 0 of line 0, which may be in a border */
    int lines, ks;  /* loops */
    struct uk_lattice_loop line[UK_LATTICE_LOOPS], k[UK_LATTICE_LOOPS];
    struct {
        int64_t first, extent;
    } axis[UK_LATTICE_AXES];
    const void *border; /* an element, where there is an axis */
};

/* n lines, `across` elements apart, of k elements, `step` apart. Loops that it has not are not written: small
 * products make one a call. */
static inline struct uk_lattice uk_lattice_matrix(enum uk_element element, int64_t n, int64_t k,
                                                  int64_t across, int64_t step) {
    struct uk_lattice m;

    m.element = element;
    m.kind = UK_IN_PLACE;
    m.width = 0;
    m.origin = 0;
    m.lines = m.ks = 1;
    m.line[0] = (struct uk_lattice_loop){n, across, -1, 0};
    m.k[0] = (struct uk_lattice_loop){k, step, -1, 0};
    for (int i = 0; i < UK_LATTICE_AXES; i++)
        m.axis[i].first = m.axis[i].extent = 0;
    m.border = NULL;
    return m;
}
/* The same operand in panels of `taken` lines, or fewer in the last one, with room for `width`: k elements of
 * each line, those of one index side by side; or groups of so many elements of a line, the last one of which
 * is filled. */
struct uk_lattice uk_lattice_panels(enum uk_element element, int64_t n, int64_t k, int64_t taken, int width,
                                    int group);
/* From a line to the next, and from an element of a line to the next, as far as the last loop goes. */
static inline int64_t uk_lattice_across(const struct uk_lattice *m) {
    return m->line[m->lines - 1].stride;
}
static inline int64_t uk_lattice_step(const struct uk_lattice *m) {
    return m->k[m->ks - 1].stride;
}
/* Lines of a panel. */
static inline int64_t uk_lattice_taken(const struct uk_lattice *m) {
    return m->line[m->lines - 1].extent;
}
/* The room that a copy takes, in elements. */
int64_t uk_lattice_room(const struct uk_lattice *m);

/* Places from an index of loops on, evenly apart: `count` of them, `stride` elements and, along an axis,
 * `step` from one to the next. The first is `offset` elements from that of index 0, and so far along each
 * axis. */
struct uk_lattice_run {
    int64_t count, stride, offset, moved[UK_LATTICE_AXES];
    int axis;
    int64_t step;
};

/* The run that begins with that index, of no more than so many places. */
struct uk_lattice_run uk_lattice_run(const struct uk_lattice_loop *loop, int loops, int64_t index,
                                     int64_t most);
static inline int64_t uk_lattice_offset(const struct uk_lattice_loop *loop, int loops, int64_t index) {
    return loops == 1 ? index * loop->stride : uk_lattice_run(loop, loops, index, 1).offset;
}
/* From the array's first element to that of so many lines and indices of k on; may be in a border. */
static inline int64_t uk_lattice_at(const struct uk_lattice *m, int64_t line, int64_t k) {
    return m->origin + uk_lattice_offset(m->line, m->lines, line) + uk_lattice_offset(m->k, m->ks, k);
}
/* The same as an address. */
static inline const void *uk_lattice_place(const struct uk_lattice *m, const void *array, int64_t line,
                                           int64_t k) {
    return (const char *)array + uk_lattice_at(m, line, k) * uk_element_bytes(m->element);
}
/* Whether all places of both runs together, each of the one with each of the other, are in the array. */
bool uk_lattice_has(const struct uk_lattice *m, const struct uk_lattice_run *lines,
                    const struct uk_lattice_run *k);

#endif
