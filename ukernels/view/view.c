/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops are taken by their strides, the shortest first. One whose stride is no longer than the run so far,
 * plus a gap of less than a unit, makes the run longer; one that goes farther makes several runs of it,
 * evenly apart. A later loop whose stride leads back among places that are evenly apart, as that over the
 * rows of the output does among the rows of a window, adds only those that are new.
 */
#include "view.h"

void uk_view_add(struct uk_view *v, int64_t extent, int64_t stride) {
    const int64_t apart = stride < 0 ? -stride : stride;
    int at = v->loops;

    if (!apart || extent <= 1)
        return;
    for (; at && v->loop[at - 1].stride > apart; at--)
        v->loop[at] = v->loop[at - 1];
    v->loop[at].extent = extent;
    v->loop[at].stride = apart;
    v->loops++;
}

struct uk_runs uk_view_runs(const struct uk_view *v, int64_t unit) {
    struct {
        int64_t pitch, span; /* so many places, evenly apart */
    } level[UK_VIEW_LOOPS];
    int64_t length = v->bytes;
    int levels = 0;
    struct uk_runs r = {1, 0, 0};

    for (int i = 0; i < v->loops; i++) {
        const int64_t extent = v->loop[i].extent, on = v->loop[i].stride;
        int at = levels - 1;

        if (!levels && on < length + unit) {
            length += (extent - 1) * on;
            continue;
        }
        while (at >= 0 && on != level[at].pitch &&
               (on > level[at].pitch * level[at].span || on % level[at].pitch))
            at--;
        if (at >= 0) { /* back among those places */
            level[at].span += (extent - 1) * (on == level[at].pitch ? 1 : on / level[at].pitch);
        } else {
            level[levels].pitch = on;
            level[levels++].span = extent;
        }
    }
    for (int i = 0; i < levels; i++)
        r.runs *= (double)level[i].span;
    r.pitch = levels ? level[0].pitch : 0;
    r.length = (double)length;
    return r;
}
