/* SPDX-License-Identifier: Apache-2.0 */
/* Adds operands to a nest: strides in bytes per loop, from an operand's lattice. Loops that run once are left
 * out. */
#include "cost.h"

struct uk_loop_operand *uk_nest_add(struct uk_loop_nest *n, const struct uk_nest_loop *loop, int loops,
                                    const struct uk_nest_access *x) {
    const struct uk_lattice *v = x->view;
    const int64_t across = uk_lattice_line_stride(v), step = uk_lattice_element_stride(v),
                  bytes = uk_element_bytes(v->element);
    const bool by_lines = step == 1 && across != 1;
    struct uk_loop_operand *o = &n->operand[n->operands++];

    *o = (struct uk_loop_operand){.bytes = (int)bytes,
                                  .runs = by_lines ? x->lines : x->elements,
                                  .length = (by_lines ? x->elements : x->lines) * bytes,
                                  .pitch = (by_lines ? across : step) * bytes};
    n->loops = 0;
    for (int i = 0; i < loops; i++)
        if (loop[i].extent > 1) {
            n->extent[n->loops] = loop[i].extent;
            o->stride[n->loops++] =
                i < x->remake_loops
                    ? 0
                    : (uk_lattice_at(v, loop[i].by[x->line], loop[i].by[x->k]) - v->origin) * bytes;
        }
    return o;
}
