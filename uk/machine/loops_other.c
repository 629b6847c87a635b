/* SPDX-License-Identifier: Apache-2.0 */
/* No loops: of an architecture that has none, what needs them is not measured. */
#include "measure.h"

const struct uk_micro uk_micros[] = {{0}};
