/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "registry/rvp.h"
#include "shared.h"

uint64_t shared_at_start;

/* In a shared object this runs before the program's constructors. */
__attribute__((constructor)) static void starts(void) {
    const volatile uint64_t a = 0x0000000100000002, b = 0x00000003fffffffe;

    shared_at_start = uk_rvp_add32(a, b);
}

uint64_t shared_add32(uint64_t a, uint64_t b) {
    return uk_rvp_add32(a, b);
}

int shared_sigaction(int number, const struct sigaction *action, struct sigaction *old) {
    return sigaction(number, action, old);
}
