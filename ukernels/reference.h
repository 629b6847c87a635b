/* SPDX-License-Identifier: Apache-2.0 */
/* The references of reference.c: they take the kernel's MR, NR and KR in front of what its kernels take. */
#ifndef UK_REFERENCE_H
#define UK_REFERENCE_H

#include "ukernels.h"

#define UK_REFERENCE_PARAMETERS(...) __VA_ARGS__
#define UK_OP_ROW(name, parameters, declaration) \
    void uk_reference_##name(int64_t MR, int64_t NR, int64_t KR, UK_REFERENCE_PARAMETERS parameters);
#include "ops.def"
#undef UK_OP_ROW

#endif
