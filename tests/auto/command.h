/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of the command uk that tests of automatic schedules use. */
#ifndef COMMAND_H
#define COMMAND_H

#include "run_program.h"

/* Sets the tolerance of each operand to that of `uk run --check`. The data are small integers. */
void allow_tolerances(struct random_data *d, const struct uk_program *p);

#endif
