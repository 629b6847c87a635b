/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that rvp_cases calls; in a dynamic program they are in a shared object. */
#ifndef RVP_SHARED_H
#define RVP_SHARED_H

#include <signal.h>
#include <stdint.h>

extern uint64_t shared_at_start; /* result of P in its constructor */
uint64_t shared_add32(uint64_t a, uint64_t b);
int shared_sigaction(int number, const struct sigaction *action, struct sigaction *old);

#endif
