/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates how long loops take to interpret. */
#ifndef LOOP_WORK_H
#define LOOP_WORK_H

#include "language/language.h"

/* The approximate number of statements that the function's loops execute for these sizes, including those
 * beyond the edges of a GPU's tiles. */
double loop_work(const struct uk_function *f, const int64_t *size);

#endif
