/* SPDX-License-Identifier: Apache-2.0 */
/* Inside room auto: the choice of a program's versions (uk.5: schedule where) by estimated losses. */
#ifndef UK_AUTO_VERSIONS_H
#define UK_AUTO_VERSIONS_H

#include "auto.h"

/* Maximum number of schedules to choose versions from. */
enum { UK_MAX_CHOICES = 4 * 64 };

/* Schedules and conditions to choose from, at sample points: values of the sizes. */
struct uk_version_search {
    int points, choices, conditions;
    /* loss[point * UK_MAX_CHOICES + choice]: what the schedule loses there to the best one. */
    const double *loss;
    /* holds[condition * points + point] */
    const bool *holds;
    /* A version is added only if it lowers the loss of all points by more than this. */
    double min_gain;
};

/* A list of conditions, the first that holds being taken, and the choice of each version; the last version
 * has no condition. loss: of all points together. */
struct uk_version_list {
    int count, condition[UK_MAX_VERSIONS - 1], choice[UK_MAX_VERSIONS];
    double loss;
};

/* Finds a list with little loss: conditions are inserted one by one where each helps most, then replaced as
 * long as that helps. */
struct uk_version_list uk_choose_versions(const struct uk_version_search *w);

#endif
