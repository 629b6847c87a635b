/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Views: the bytes of an operand that a loop nest accesses. An access is an affine function of the loops'
 * indices, so a view has an element size and, for each loop, a trip count and a stride in bytes: rows and
 * columns of a matrix, the taps of a window with any stride and dilation, the panels of a packed copy.
 *
 *     view.c     runs of contiguous bytes of a view; the cache lines and pages that it touches
 *     lattice.c  operands of products in their arrays, and their copies, which are packed, read by tiles and
 *                prefetched
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

/* Adds a loop; the view needs room for it. A loop of one iteration or of stride 0 adds nothing. Strides may
 * be negative. */
void uk_view_add(struct uk_view *v, int64_t extent, int64_t stride);

/* The bytes of a view: `runs` runs of `length` bytes, which include gaps smaller than a unit, `pitch` bytes
 * apart; pitch is 0 if there is one run. */
struct uk_runs {
    double runs, length;
    int64_t pitch;
};

/* Runs of a view, with gaps of less than `unit` bytes closed. Exact, overlaps of windows included, if the
 * loops' strides are multiples of one another. */
struct uk_runs uk_view_runs(const struct uk_view *v, int64_t unit);
/* Aligned units (cache lines or pages) that the runs touch: the mean over all addresses of the first byte
 * that are multiples of `align`. */
static inline double uk_runs_units(const struct uk_runs *r, int64_t unit, int64_t align) {
    const int64_t apart = r->pitch & -r->pitch; /* the largest power of two that divides it */
    const double granule = (double)(apart && apart < align ? apart : align < unit ? align : unit);

    return r->runs * (r->length > granule ? 1 + (r->length - granule) / (double)unit : 1);
}

/* ---- lattice.c ---- */

enum { UK_LATTICE_LOOPS = 3, UK_LATTICE_AXES = 2 };

/* `stride`: elements from one index to the next, which moves the place by `step` along an axis that has a
 * border; axis is -1 if none has. */
struct uk_lattice_loop {
    int64_t extent, stride;
    int axis;
    int64_t step;
};

/* Where an operand is: in the program's array, in a copy of its lines, or in a copy in panels. */
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

/* n lines, `across` elements apart, of k elements, `step` apart. Unused loops are left uninitialized, because
 * small products make one per call. */
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
/* A copy in panels of `taken` lines, fewer in the last one, with room for `width` lines. A panel has k rows,
 * one element of each line; or groups of `group` elements of a line, the last of which is padded. */
struct uk_lattice uk_lattice_panels(enum uk_element element, int64_t n, int64_t k, int64_t taken, int width,
                                    int group);
/* Elements from a line to the next, and from an element of a line to the next, within the last loop. */
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
/* Size of a copy, in elements. */
int64_t uk_lattice_room(const struct uk_lattice *m);

/* `count` places, `stride` elements apart, and `step` apart along an axis. The first is `offset` elements,
 * and moved[axis] along each axis, from the place of index 0. */
struct uk_lattice_run {
    int64_t count, stride, offset, moved[UK_LATTICE_AXES];
    int axis;
    int64_t step;
};

/* The run of at most `most` places that begins with the index. */
struct uk_lattice_run uk_lattice_run(const struct uk_lattice_loop *loop, int loops, int64_t index,
                                     int64_t most);
static inline int64_t uk_lattice_offset(const struct uk_lattice_loop *loop, int loops, int64_t index) {
    return loops == 1 ? index * loop->stride : uk_lattice_run(loop, loops, index, 1).offset;
}
/* Elements from the array's first to that of a line and an index of k; may be in a border. */
static inline int64_t uk_lattice_at(const struct uk_lattice *m, int64_t line, int64_t k) {
    return m->origin + uk_lattice_offset(m->line, m->lines, line) + uk_lattice_offset(m->k, m->ks, k);
}
/* The same as an address. */
static inline const void *uk_lattice_place(const struct uk_lattice *m, const void *array, int64_t line,
                                           int64_t k) {
    return (const char *)array + uk_lattice_at(m, line, k) * uk_element_bytes(m->element);
}
/* Are all places in the array that a place of one run and a place of the other make together? */
bool uk_lattice_has(const struct uk_lattice *m, const struct uk_lattice_run *lines,
                    const struct uk_lattice_run *k);

#endif
