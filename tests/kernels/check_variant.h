/* SPDX-License-Identifier: Apache-2.0 */
/* Calls variants of kernels with the kernels' own signatures. */
#ifndef TESTS_CHECK_VARIANT_H
#define TESTS_CHECK_VARIANT_H

#include "registry/registry.h"

/* A function with the parameters of the row's kernel that calls the variant; NULL: the row has none. It uses
 * the row and variant of the last request. */
void (*variant_function(const struct uk_kernel *row, int variant))(void);
/* True if everything packed since that request is right. */
bool variant_packed(void);

#endif
