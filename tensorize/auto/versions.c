/* SPDX-License-Identifier: Apache-2.0 */
/* Searches the list of conditions whose schedules lose the least to the best schedule of each sample point.
 */
#include "versions.h"

/* times that each condition of the list is replaced by a better one */
enum { SWEEPS = 3 };

/* Chooses the versions' schedules, and adds up the losses. */
static void choose_schedules(const struct uk_version_search *w, struct uk_version_list *l) {
    double sum[UK_MAX_VERSIONS][UK_MAX_CHOICES] = {0};

    for (int point = 0; point < w->points; point++) {
        int v = 0;

        while (v < l->count && !w->holds[l->condition[v] * w->points + point])
            v++;
        for (int i = 0; i < w->choices; i++)
            sum[v][i] += w->loss[point * UK_MAX_CHOICES + i];
    }
    l->loss = 0;
    for (int v = 0; v <= l->count; v++) {
        l->choice[v] = 0;
        for (int i = 1; i < w->choices; i++)
            l->choice[v] = sum[v][i] < sum[v][l->choice[v]] ? i : l->choice[v];
        l->loss += sum[v][l->choice[v]];
    }
}

/* Puts the condition into the list that is best there. */
static void improve(const struct uk_version_search *w, int at, struct uk_version_list *best) {
    struct uk_version_list l = *best;

    for (int i = 0; i < w->conditions; i++) {
        l.condition[at] = i;
        choose_schedules(w, &l);
        *best = l.loss < best->loss ? l : *best;
    }
}

struct uk_version_list uk_choose_versions(const struct uk_version_search *w) {
    struct uk_version_list best = {.count = 0};

    choose_schedules(w, &best);
    for (int n = 0; n + 1 < UK_MAX_VERSIONS; n++) {
        const struct uk_version_list before = best;
        struct uk_version_list longer;

        for (int at = 0; at <= n; at++) {
            longer = before;
            for (int i = n; i > at; i--)
                longer.condition[i] = longer.condition[i - 1];
            longer.count = n + 1;
            improve(w, at, &longer);
            best = longer.loss < best.loss ? longer : best;
        }
        if (before.loss - best.loss <= w->min_gain)
            return before;
        for (int i = 0; i < SWEEPS * best.count; i++)
            improve(w, i % best.count, &best);
    }
    return best;
}
