/* SPDX-License-Identifier: Apache-2.0 */
/* Private to this folder: detection of features, in cpu_<arch>.c. */
#ifndef UK_CPU_H
#define UK_CPU_H

#include <stdbool.h>

/* True if this CPU and its operating system support the feature (LLVM's name); false for unknown names. */
bool uk_hardware_has(const char *feature);

#endif
