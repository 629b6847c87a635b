/* SPDX-License-Identifier: Apache-2.0 */
/* Inside machine: detection of features, by cpu_<arch>.c. */
#ifndef UK_CPU_H
#define UK_CPU_H

#include <stdbool.h>

/* Whether this CPU and its system have a feature of the architecture's rows; false for names that it does not
 * know. */
bool uk_hardware_has(const char *feature);

#endif
