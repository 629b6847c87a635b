/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SIGILL is never blocked: the kernel ends a program that meets an illegal instruction while it is. signals.c
 * defines the functions of libc that take a mask, in front of libc's, and takes SIGILL out; and sigaltstack,
 * so that there is room for the handler above a handler of the program's.
 */
#ifndef UK_RVP_SIGNALS_H
#define UK_RVP_SIGNALS_H

#include <signal.h>
#include <stdint.h>

/* The system's form of a set. */
typedef uint64_t uk_rvp_mask;
#define UK_RVP_BIT(signal) (UINT64_C(1) << ((signal) - 1))

uk_rvp_mask uk_rvp_bits(const sigset_t *set);
/* qemu-riscv64 7.2 reads sa_mask from the second word of libc's set, where Linux has none: the bits are in
 * both. */
void uk_rvp_set_bits(sigset_t *set, uk_rvp_mask bits);

/* A system call, as the kernel returns: a negative error number. */
long uk_rvp_system(long number, long a, long b, long c, long d, long e, long f);

#endif
