/* SPDX-License-Identifier: Apache-2.0 */
/* tile: splits two loops and orders the four. */
#include "schedule.h"

/* tile x y a b -> xo yo xi yi: splits x by a and y by b, then puts xo yo xi yi in the places of x and y. */
enum uk_status uk_apply_tile(struct uk_schedule *s, struct uk_step *step) {
    struct uk_stage *x, *y;
    int px, py;
    enum uk_status status;

    if ((status = uk_find_loop(s, &step->loop[0], &x, &px)) ||
        (status = uk_find_loop(s, &step->loop[1], &y, &py)))
        return status;
    if (x != y || px == py)
        return uk_fail(s->context, UK_REFUSED, step->at,
                       "tile: %s and %s must be two loops of one stage; name both with that stage",
                       step->loop[0].loop, step->loop[1].loop);
    struct uk_loop *ly = y->loop[py];
    if ((status = uk_split_loop(s, x, px, step->number[0], step->name[0], step->name[2], step->at)))
        return status;
    py = uk_loop_position(x, ly);
    if ((status = uk_split_loop(s, x, py, step->number[1], step->name[1], step->name[3], step->at)))
        return status;
    struct uk_loop *want[4];
    for (int i = 0; i < 4; i++)
        want[i] = x->loop[uk_own_position(x, step->name[i])];
    return uk_reorder_loops(s, x, want, 4, step->at);
}
