/* SPDX-License-Identifier: Apache-2.0 */
/* Indices of nests of loops. Strides of successive loops need not continue one another, so a run of indices
 * with one stride ends where the last loop does. */
#include "minmax.h"
#include "view.h"

struct uk_lattice uk_lattice_panels(enum uk_element element, int64_t n, int64_t k, int64_t taken, int width,
                                    int group) {
    const int64_t groups = (k + group - 1) / group;

    return (struct uk_lattice){
        .element = element,
        .kind = UK_PANELS,
        .width = width,
        .lines = 2,
        .ks = group == 1 ? 1 : 2,
        .line = {{(n + taken - 1) / taken, groups * group * width, -1, 0}, {taken, group, -1, 0}},
        .k = {{groups, (int64_t)group * width, -1, 0}, {group, 1, -1, 0}}};
}

int64_t uk_lattice_room(const struct uk_lattice *m) {
    const struct uk_lattice_loop *line = &m->line[0], *k = &m->k[0];
    const int64_t lines = line->extent * line->stride, ks = k->extent * k->stride;

    return lines > ks ? lines : ks;
}

struct uk_lattice_run uk_lattice_run(const struct uk_lattice_loop *loop, int loops, int64_t index,
                                     int64_t most) {
    const struct uk_lattice_loop *last = &loop[loops - 1];
    struct uk_lattice_run r = {.stride = last->stride, .axis = last->axis, .step = last->step};

    for (int i = loops - 1; i >= 0; i--) {
        /* The first loop needs no division; a nest of one loop needs none at all. */
        const int64_t at = i ? index % loop[i].extent : index;

        index = i ? index / loop[i].extent : 0;
        if (i == loops - 1)
            r.count = uk_min(most, last->extent - at);
        r.offset += at * loop[i].stride;
        if (loop[i].axis >= 0)
            r.axis_offset[loop[i].axis] += at * loop[i].step;
    }
    return r;
}

/* The coordinate of a run's last index on an axis, less that of its first; may be negative. */
static int64_t along(const struct uk_lattice_run *r, int axis) {
    return r->axis == axis ? (r->count - 1) * r->step : 0;
}

bool uk_lattice_is_inside(const struct uk_lattice *m, const struct uk_lattice_run *lines,
                          const struct uk_lattice_run *k) {
    for (int i = 0; i < UK_LATTICE_AXES; i++) {
        const int64_t first = m->axis[i].first + lines->axis_offset[i] + k->axis_offset[i],
                      one = along(lines, i), other = along(k, i);
        const int64_t low = first + uk_min(one, 0) + uk_min(other, 0),
                      high = first + one + other - uk_min(one, 0) - uk_min(other, 0);

        if (m->axis[i].extent && (low < 0 || high >= m->axis[i].extent))
            return false;
    }
    return true;
}
