/* SPDX-License-Identifier: Apache-2.0 */
/* The time of a compilation, by stage. */
#define _POSIX_C_SOURCE 200809L /* for clock_gettime */
#include <string.h>
#include <time.h>
#include "base.h"

double uk_now(void) {
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

void uk_time(struct uk_times *t, const char *stage, double since) {
    for (int i = 0; t && i < t->count; i++)
        if (!strcmp(t->stage[i].name, stage)) {
            t->stage[i].milliseconds += uk_now() - since;
            return;
        }
    if (t && t->count < UK_MAX_TIMES)
        t->stage[t->count++] = (struct uk_stage_time){stage, uk_now() - since};
}
