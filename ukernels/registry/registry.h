/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kernels there are and what each computes. kernels.def has a row for each kernel, ops.def for each operation: its C
 * parameters and its declaration, a text of the .uk language. registry.c makes of them the array of struct uk_kernel that
 * ukernels.h describes; rows.py reads the same rows for the build, bitcode.py makes bitcode of their sources, kernels_json.c
 * the list that importers read. reference.c has what each operation means, in plain loops: kernels are tested against it.
 * half.h converts f16 and bf16.
 *
 * Uses machine only.
 *
 * The references take the kernel's MR, NR and KR in front of what its kernels take.
 */
#ifndef UK_REGISTRY_H
#define UK_REGISTRY_H

#include "ukernels.h"

#define UK_REFERENCE_PARAMETERS(...) __VA_ARGS__
#define UK_OP_ROW(name, parameters, declaration) \
    void uk_reference_##name(int64_t MR, int64_t NR, int64_t KR, UK_REFERENCE_PARAMETERS parameters);
#include "ops.def"
#undef UK_OP_ROW

#endif
