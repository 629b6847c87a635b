/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The architecture whose kernels this build can call. UK_ARCH_<name> numbers the architectures in the order
 * of archs.def; the build defines UK_ARCH_HERE as the one it is for.
 */
#ifndef UK_ARCH_H
#define UK_ARCH_H

enum {
#define UK_ARCH_ROW(name, ...) UK_ARCH_##name,
#include "archs.def"
    UK_ARCH_any
};

/* Whether kernels of the architecture run here: a constant. */
#define UK_IS_HERE(arch) (UK_ARCH_##arch == UK_ARCH_HERE || UK_ARCH_##arch == UK_ARCH_any)

#endif
