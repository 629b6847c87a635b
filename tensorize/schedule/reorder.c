/* SPDX-License-Identifier: Apache-2.0 */
/* reorder: permutes a stage's loops. */
#include <string.h>
#include "schedule.h"

enum uk_status uk_reorder_loops(struct uk_schedule *s, struct uk_stage *st, struct uk_loop **want, int n,
                                struct uk_position at) {
    struct uk_loop *old[UK_MAX_LOOPS];
    int k = 0;

    memcpy(old, st->loop, sizeof old);
    for (int i = 0; i < st->loops; i++)
        for (int j = 0; j < n; j++)
            if (old[i] == want[j]) {
                st->loop[i] = want[k++];
                break;
            }
    for (int i = 0; i < st->loops; i++)
        if (st->loop[i] != old[i]) {
            enum uk_status status = uk_may_change(s, st, i, at, "reorder");

            if (!status)
                status = uk_check_order(s, st, at, "reorder");
            if (!status)
                status = uk_check_kinds(s, st, at);
            if (status)
                memcpy(st->loop, old, sizeof old);
            return status;
        }
    return UK_OK;
}

enum uk_status uk_apply_reorder(struct uk_schedule *s, struct uk_step *step) {
    struct uk_stage *st = NULL, *first = NULL;
    struct uk_loop *want[UK_MAX_LOOPS];

    for (int i = 0; i < step->loops; i++) {
        struct uk_loop_name name = step->loop[i];
        int position;

        if (first && !name.stage)
            name.stage = first->name;
        enum uk_status status = uk_find_loop(s, &name, &st, &position);

        if (status)
            return status;
        if (first && st != first)
            return uk_fail(
                s->context, UK_REFUSED, name.at,
                "reorder: %s is a loop of stage %s, the others are of %s; reorder one stage at a time",
                name.loop, st->name, first->name);
        first = st;
        for (int j = 0; j < i; j++)
            if (want[j] == st->loop[position])
                return uk_fail(s->context, UK_REFUSED, name.at,
                               "reorder names loop %s twice; name each loop once", name.loop);
        want[i] = st->loop[position];
    }
    return uk_reorder_loops(s, first, want, step->loops, step->at);
}
