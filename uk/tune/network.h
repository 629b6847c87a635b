/* SPDX-License-Identifier: Apache-2.0 */
/* Tuning of networks. */
#ifndef UK_TUNE_NETWORK_H
#define UK_TUNE_NETWORK_H

#include "network/network.h"
#include "tune.h"

/* Measures each layer with its automatic schedule: seconds, or instructions if the search counts them. Zeros
 * if a signal came or the time was up. Exit status. */
int tune_weigh(struct uk_net_job *j, const struct tune *t, int layers, double *cost);

#endif
