/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the next schedule to try: local changes of fast ones, and restarts. */
#include <stdlib.h>
#include <string.h>
#include "tune.h"

enum {
    RESTART = 6,
    LONGEST_WALK = 6
}; /* one in RESTART draws begins from a start, with 2 to LONGEST_WALK changes */

bool tune_add(struct tune_search *s, struct tune_trial trial) {
    if (s->trials == s->room) {
        int room = s->room ? 2 * s->room : 64;
        struct tune_trial *more = realloc(s->trial, (size_t)room * sizeof *more);

        if (!more) {
            free(trial.steps);
            return false;
        }
        s->trial = more;
        s->room = room;
    }
    s->trial[s->trials++] = trial;
    return true;
}

struct tune_trial *tune_find(const struct tune_search *s, const char *steps) {
    for (int i = 0; i < s->trials; i++)
        if (!strcmp(s->trial[i].steps, steps))
            return &s->trial[i];
    return NULL;
}

struct tune_trial *tune_rank(const struct tune_search *s, int rank) {
    for (int i = 0; i < s->trials; i++) {
        const struct tune_trial *t = &s->trial[i];
        int faster = 0;

        for (int j = 0; j < s->trials; j++)
            faster += s->trial[j].outcome == TUNE_OK &&
                      (s->trial[j].speed > t->speed || (s->trial[j].speed == t->speed && j < i));
        if (t->outcome == TUNE_OK && faster == rank)
            return &s->trial[i];
    }
    return NULL;
}

static uint64_t draw(struct tune_search *s, uint64_t below) {
    uint64_t z = s->random += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (z ^ z >> 31) % below;
}

const struct tune_trial *tune_parent(struct tune_search *s, int *changes) {
    int starts = 0, rank = 0;

    for (int i = 0; i < s->trials; i++)
        starts += s->trial[i].is_start && s->trial[i].outcome == TUNE_OK;
    *changes = 1;
    if (starts && !draw(s, RESTART)) {
        int left = (int)draw(s, (uint64_t)starts);

        *changes = 2 + (int)draw(s, LONGEST_WALK - 1);
        for (int i = 0; i < s->trials; i++)
            if (s->trial[i].is_start && s->trial[i].outcome == TUNE_OK && !left--)
                return &s->trial[i];
    }
    while (draw(s, 2) && tune_rank(s, rank + 1))
        rank++;
    return tune_rank(s, rank);
}

void tune_free(struct tune_search *s) {
    for (int i = 0; i < s->trials; i++)
        free(s->trial[i].steps);
    free(s->trial);
    *s = (struct tune_search){0};
}
