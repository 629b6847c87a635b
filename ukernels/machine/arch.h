/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UK_ARCH_<name>: the architectures, numbered in the order of archs.def. The build defines UK_ARCH_HERE as
 * the one that it compiles for, whose kernels it can call.
 */
#ifndef UK_ARCH_H
#define UK_ARCH_H

enum {
#define UK_ARCH_ROW(name, ...) UK_ARCH_##name,
#include "archs.def"
    UK_ARCH_any
};

/* True if this build can call the architecture's kernels. A constant expression. */
#define UK_IS_HERE(arch) (UK_ARCH_##arch == UK_ARCH_HERE || UK_ARCH_##arch == UK_ARCH_any)

#endif
