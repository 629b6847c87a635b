/* SPDX-License-Identifier: Apache-2.0 */
/* How much there is to interpret. */
#ifndef LOOP_WORK_H
#define LOOP_WORK_H

#include "language/language.h"

/* About how many statements the function's loops run for these sizes: those that a GPU's tiles have beyond
 * the edges, too. */
double loop_work(const struct uk_function *f, const int64_t *size);

#endif
