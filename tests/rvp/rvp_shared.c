/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "registry/rvp.h"
#include "rvp_shared.h"

uint64_t shared_add32(uint64_t a, uint64_t b) {
    return uk_rvp_add32(a, b);
}

int shared_sigaction(int number, const struct sigaction *action, struct sigaction *old) {
    return sigaction(number, action, old);
}
