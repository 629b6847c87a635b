/* SPDX-License-Identifier: Apache-2.0 */
/* What rvp_cases calls in a shared object, if it is a dynamic program. */
#ifndef RVP_SHARED_H
#define RVP_SHARED_H

#include <signal.h>
#include <stdint.h>

extern uint64_t shared_at_start; /* what P computed in its constructor */
uint64_t shared_add32(uint64_t a, uint64_t b);
int shared_sigaction(int number, const struct sigaction *action, struct sigaction *old);

#endif
