/* SPDX-License-Identifier: Apache-2.0 */
/* Loops whose strides do not continue one another: a run ends with the last loop. */
#include "view.h"

static int64_t lesser(int64_t a, int64_t b) {
    return a < b ? a : b;
}

struct uk_lattice_run uk_lattice_run(const struct uk_lattice_loop *loop, int loops, int64_t index,
                                     int64_t most) {
    const struct uk_lattice_loop *last = &loop[loops - 1];
    struct uk_lattice_run r = {.stride = last->stride, .axis = last->axis, .step = last->step};

    for (int i = loops - 1; i >= 0; i--) {
        /* No division in the only loop, and none by the first extent. */
        const int64_t at = i ? index % loop[i].extent : index;

        index = i ? index / loop[i].extent : 0;
        if (i == loops - 1)
            r.count = lesser(most, last->extent - at);
        r.offset += at * loop[i].stride;
        if (loop[i].axis >= 0)
            r.moved[loop[i].axis] += at * loop[i].step;
    }
    return r;
}

/* How far a run goes along an axis, which may be back. */
static int64_t along(const struct uk_lattice_run *r, int axis) {
    return r->axis == axis ? (r->count - 1) * r->step : 0;
}

bool uk_lattice_has(const struct uk_lattice *m, const struct uk_lattice_run *lines,
                    const struct uk_lattice_run *k) {
    for (int i = 0; i < UK_LATTICE_AXES; i++) {
        const int64_t first = m->axis[i].first + lines->moved[i] + k->moved[i], one = along(lines, i),
                      other = along(k, i);
        const int64_t low = first + lesser(one, 0) + lesser(other, 0),
                      high = first + one + other - lesser(one, 0) - lesser(other, 0);

        if (m->axis[i].extent && (low < 0 || high >= m->axis[i].extent))
            return false;
    }
    return true;
}
