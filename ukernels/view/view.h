/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where in memory the elements of an operand are, by loops with strides.
 *
 *     view.c     struct uk_view, for cost estimates: the bytes that a loop nest accesses, and how many
 *                cache lines and pages contain them
 *     lattice.c  struct uk_lattice, for addresses: an operand of a product in its array, or its copy,
 *                which is packed, read by tiles and prefetched
 *
 * In both an access is an affine function of the loops' indices. That covers rows and columns of a matrix,
 * the taps of a window with any stride and dilation, and the panels of a packed copy.
 *
 * Uses the folder registry (element types).
 */
#ifndef UK_VIEW_H
#define UK_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "registry/operation.h"

enum { UK_VIEW_LOOPS = 8 };

/* The bytes that a loop nest accesses. `bytes` is the size of an element, or of the contiguous elements that
 * the body accesses. `extent` is a trip count, `stride` is positive and in bytes. Loops are sorted by stride,
 * the shortest first: their order in the nest does not change which bytes are accessed. */
struct uk_view {
    int loops, bytes;
    struct {
        int64_t extent, stride;
    } loop[UK_VIEW_LOOPS];
};

/* Adds a loop; at most UK_VIEW_LOOPS. A loop of one iteration or of stride 0 adds nothing. A negative stride
 * counts as its absolute value, which accesses as many bytes, as far apart. */
void uk_view_add(struct uk_view *v, int64_t extent, int64_t stride);

/* The bytes of a view: `runs` runs of `length` bytes each. `pitch`: bytes from the start of a run to that of
 * the next along the shortest loop that separates runs; 0 if there is one run. */
struct uk_runs {
    double runs, length;
    int64_t pitch;
};

/* Runs of a view; gaps of less than `unit` bytes count as accessed. If each stride is a multiple of all
 * shorter ones, bytes that several iterations access, as overlapping windows do, are counted once; else some
 * may be counted more than once. */
struct uk_runs uk_view_runs(const struct uk_view *v, int64_t unit);
/* Aligned units (cache lines or pages) that the runs touch: the mean over all places of the first byte in a
 * unit that are multiples of `align`. */
static inline double uk_runs_units(const struct uk_runs *r, int64_t unit, int64_t align) {
    const int64_t apart = r->pitch & -r->pitch; /* the largest power of two that divides the pitch */
    const double granule = (double)(apart && apart < align ? apart : align < unit ? align : unit);

    return r->runs * (r->length > granule ? 1 + (r->length - granule) / (double)unit : 1);
}

/* ---- lattice.c ---- */

enum { UK_LATTICE_LOOPS = 3, UK_LATTICE_AXES = 2 };

/* A loop over lines, or over the elements of a line (both are explained at struct uk_lattice). The next index
 * is `stride` elements further in the array. Its coordinate on `axis` is larger by `step`; axis is -1 if the
 * loop moves along no axis that has a border. */
struct uk_lattice_loop {
    int64_t extent, stride;
    int axis;
    int64_t step;
};

/* Where an operand is: in the program's array, in a copy with the two strides of a matrix, or in a copy in
 * panels (uk_lattice_panels). */
enum uk_lattice_kind { UK_IN_PLACE, UK_ROWS, UK_PANELS };

/*
 * An operand of a product in an array. A *line* is a row of A or a column of B, of k elements (this word is
 * used so in the rest of this header; it is no cache line). The number of a line counts the iterations of a
 * nest of one to three loops, the last the fastest; so does the number of an element in a line. A matrix has
 * one loop of each. If A consists of the windows of an image, its lines are the output's rows and columns,
 * two loops, and the elements of a line are rows, columns and channels of a window, three.
 *
 * An axis is a dimension of the array in which an image has a border. The elements of the border are not in
 * the array: each has the value *border. An element is in the array if its coordinate on each axis is in [0,
 * axis.extent). The coordinate is axis.first at line 0 and k 0, and the `step` of each loop on this axis is
 * added per index.
 *
 * For windows of 3 x 3 in an image of 8 rows, 6 columns and 4 channels with a border of one element, axis 0
 * is that of rows:
 *
 *               extent  stride  axis  step
 *     line[0]        8      24     0     1     rows of the output
 *     line[1]        6       4     1     1     columns of the output
 *     k[0]           3      24     0     1     rows of a window
 *     k[1]           3       4     1     1     columns of a window
 *     k[2]           4       1    -1     0     channels
 *
 *     axis[0]: first -1, extent 8; axis[1]: first -1, extent 6; origin: -24 - 4
 */
struct uk_lattice {
    enum uk_element element;
    enum uk_lattice_kind kind;
    int width;      /* UK_PANELS: lines that a panel has room for */
    int64_t origin; /* elements from the array's first to element 0 of line 0; negative in a border */
    int lines, ks;  /* numbers of loops in `line` and `k` */
    struct uk_lattice_loop line[UK_LATTICE_LOOPS], k[UK_LATTICE_LOOPS];
    struct {
        int64_t first, extent; /* extent 0: not an axis */
    } axis[UK_LATTICE_AXES];
    const void *border; /* one element, if there is an axis */
};

/* A matrix of n lines, `across` elements apart, of k elements, `step` apart. Unused loops are left
 * uninitialized, because small products make one matrix per call. */
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
/*
 * A copy in panels of `taken` lines each, fewer in the last panel. A panel has room for `width` lines:
 *
 *     group == 1    [k][width]
 *     group > 1     [k/group, rounded up][width][group]; the last group of each line is padded if group
 *                   does not divide k
 */
struct uk_lattice uk_lattice_panels(enum uk_element element, int64_t n, int64_t k, int64_t taken, int width,
                                    int group);
/* Elements from one line to the next, and from one element of a line to the next, within the last of the
 * loops. uk_lattice_element_stride is a stride in the array, not the field `step` of a loop. */
static inline int64_t uk_lattice_line_stride(const struct uk_lattice *m) {
    return m->line[m->lines - 1].stride;
}
static inline int64_t uk_lattice_element_stride(const struct uk_lattice *m) {
    return m->k[m->ks - 1].stride;
}
/* Lines of a full panel. Not in panels: lines of the last loop. */
static inline int64_t uk_lattice_panel_lines(const struct uk_lattice *m) {
    return m->line[m->lines - 1].extent;
}
/* Elements of a group of a copy in panels. */
static inline int uk_lattice_group(const struct uk_lattice *m) {
    return m->ks == 1 ? 1 : (int)m->k[1].extent;
}
/* Size of a copy in elements, with its padding. */
int64_t uk_lattice_room(const struct uk_lattice *m);

/* Successive indices of a nest of loops that differ only in the last loop. There are `count`, `stride`
 * elements apart, and `step` apart on `axis`, unless that is -1. The first is `offset` elements from index 0,
 * and its coordinate on axis i is larger by axis_offset[i]. */
struct uk_lattice_run {
    int64_t count, stride, offset, axis_offset[UK_LATTICE_AXES];
    int axis;
    int64_t step;
};

/* The run that begins with `index`, of at most `most` indices. */
struct uk_lattice_run uk_lattice_run(const struct uk_lattice_loop *loop, int loops, int64_t index,
                                     int64_t most);
static inline int64_t uk_lattice_offset(const struct uk_lattice_loop *loop, int loops, int64_t index) {
    return loops == 1 ? index * loop->stride : uk_lattice_run(loop, loops, index, 1).offset;
}
/* Elements from the array's first to element k of a line; negative, or that of another element, if it is in a
 * border. */
static inline int64_t uk_lattice_at(const struct uk_lattice *m, int64_t line, int64_t k) {
    return m->origin + uk_lattice_offset(m->line, m->lines, line) + uk_lattice_offset(m->k, m->ks, k);
}
/* The address of element k of a line. */
static inline const void *uk_lattice_place(const struct uk_lattice *m, const void *array, int64_t line,
                                           int64_t k) {
    return (const char *)array + uk_lattice_at(m, line, k) * uk_element_bytes(m->element);
}
/* True if no element of these lines and these k is in a border. */
bool uk_lattice_is_inside(const struct uk_lattice *m, const struct uk_lattice_run *lines,
                          const struct uk_lattice_run *k);

#endif
