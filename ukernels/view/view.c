/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts the bytes of a view. Loops are taken by their strides, the shortest first:
 *
 * - A loop whose stride is less than the length of the run so far plus a unit lengthens the run.
 * - A longer stride makes a level: `span` copies of all that the loops so far access, `pitch` bytes apart.
 * - A stride that is a multiple of a level's pitch, and no longer than the level, leads to copies that exist
 *   already, as successive rows of the output do among the rows of a window. It adds only the new ones.
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
        int64_t pitch, span;
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
        if (at >= 0) { /* overlaps copies of this level */
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
