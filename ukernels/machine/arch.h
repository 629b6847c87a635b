/* SPDX-License-Identifier: Apache-2.0 */
/* Whose kernels this build can call: UK_OWN_<name> is 1 for the architecture it is for, as in archs.def, and for any. */
#ifndef UK_ARCH_H
#define UK_ARCH_H

enum {
    UK_OWN_any = 1,
#if defined __x86_64__
    UK_OWN_x86_64 = 1,
#else
    UK_OWN_x86_64 = 0,
#endif
#if defined __aarch64__
    UK_OWN_aarch64 = 1,
#else
    UK_OWN_aarch64 = 0,
#endif
#if defined __arm__
    UK_OWN_arm = 1,
#else
    UK_OWN_arm = 0,
#endif
};

#endif
