/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which kernels there are and what each computes. kernels.def has a row for each kernel, ops.def for each operation: its C
 * parameters and its declaration, a text of the .uk language. registry.c makes the array of struct uk_kernel from them, which
 * ukernels.h describes; rows.py reads the same rows for the build, bitcode.py compiles their sources to bitcode, kernels_json.c
 * prints the list that importers read. reference.c computes each operation in plain loops: kernels are tested against it.
 * half.h converts f16 and bf16.
 *
 * Uses machine only.
 *
 * The references take the kernel's MR, NR and KR in front of the kernel's own arguments.
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
