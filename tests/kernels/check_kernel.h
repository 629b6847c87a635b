/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a kernel against the contract in ukernels.h and the reference of its operation. */
#ifndef TESTS_CHECK_KERNEL_H
#define TESTS_CHECK_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include "ukernels.h"

/* True if `function` does what the row says, for every K, edge, stride and placement of operands; else
 * `message` says what is wrong. The function may be the row's own, or the same kernel compiled
 * differently. */
bool check_kernel(const struct uk_kernel *row, void (*function)(void), char *message, size_t size);

#endif
