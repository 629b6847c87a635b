/* SPDX-License-Identifier: Apache-2.0 */
/* Inside uk tune: networks. */
#ifndef UK_TUNE_NETWORK_H
#define UK_TUNE_NETWORK_H

#include "network/network.h"
#include "tune.h"

/* What each layer costs with its automatic schedule, seconds or, where the search counts, instructions; zeros
 * if a signal or the end of the time came first. Exit status. */
int tune_weigh(struct uk_net_job *j, const struct tune *t, int layers, double *cost);

#endif
