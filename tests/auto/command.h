/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of automatic schedules use of the command uk. */
#ifndef COMMAND_H
#define COMMAND_H

#include "run_program.h"

/* Allows each operand what `uk run --check` allows it. The data are small integers. */
void allow_roundings(struct random_data *d, const struct uk_program *p);

#endif
