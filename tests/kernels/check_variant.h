/* SPDX-License-Identifier: Apache-2.0 */
/* Variants of kernels, called as the kernels themselves. */
#ifndef TESTS_CHECK_VARIANT_H
#define TESTS_CHECK_VARIANT_H

#include "registry/registry.h"

/* A function with the parameters of the row's kernel that calls its variant; NULL: the row has none. It is of
 * the row and the variant that were asked for last. */
void (*variant_function(const struct uk_kernel *row, int variant))(void);
/* Whether all that it has packed since is right. */
bool variant_packed(void);

#endif
