/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps SIGILL unblocked: the kernel ends a program that meets an illegal instruction while SIGILL is
 * blocked. signals.c defines the functions of libc that take a mask, instead of libc's, and removes SIGILL;
 * and sigaltstack, so that the emulation's handler has room above a handler of the program.
 */
#ifndef UK_RVP_SIGNALS_H
#define UK_RVP_SIGNALS_H

#include <signal.h>
#include <stdint.h>

/* The kernel's form of a signal set. */
typedef uint64_t uk_rvp_mask;
#define UK_RVP_BIT(signal) (UINT64_C(1) << ((signal) - 1))

uk_rvp_mask uk_rvp_bits(const sigset_t *set);
/* qemu-riscv64 7.2 reads sa_mask from the second word of libc's set, where Linux has none: both words get the
 * bits. */
void uk_rvp_set_bits(sigset_t *set, uk_rvp_mask bits);

/* A system call; returns the kernel's value, a negative error number on failure. */
long uk_rvp_system(long number, long a, long b, long c, long d, long e, long f);

#endif
