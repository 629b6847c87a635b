/* SPDX-License-Identifier: Apache-2.0 */
/* Times of compiled programs. */
#ifndef UK_TIME_PROGRAM_H
#define UK_TIME_PROGRAM_H

#include "operands/data.h"
#include "program.h"

/* time.c: times a compiled program and compares it with the peak and with the peers. Exit status. */
int uk_time_program(const struct uk_job *job, const struct uk_arguments *a, struct uk_module *m,
                    const int64_t *sizes, const double *scalars, struct uk_data *data);
/* The instruction set whose peak a target's speed is compared with. */
int uk_target_isa(const char *target);

#endif
