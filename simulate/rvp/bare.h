/* SPDX-License-Identifier: Apache-2.0 */
/* Runtime of a program without an operating system: a serial port, and exit. */
#ifndef UK_RVP_BARE_H
#define UK_RVP_BARE_H

#include <stdint.h>

void uk_rvp_put(const char *text);
void uk_rvp_put_hex(uint64_t number);

/* Ends qemu with this status; so does the return of main. */
_Noreturn void uk_rvp_exit(int status);

#endif
