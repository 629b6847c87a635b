/* SPDX-License-Identifier: Apache-2.0 */
/* GPU kernels in the simulator. */
#ifndef UK_SIMULATE_H
#define UK_SIMULATE_H

#include "verify/verify.h"

/* One simulation serves the launches of one code object. NULL: out of memory. */
struct uk_simulation *uk_simulation_begin(void);
void uk_simulation_end(struct uk_simulation *s);
/* Launches one kernel; has the signature of struct uk_verify_runner's launch. */
enum uk_status uk_simulate(void *simulation, const struct uk_verify_launch *l, char *message, size_t room);

#endif
