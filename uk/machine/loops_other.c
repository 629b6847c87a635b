/* SPDX-License-Identifier: Apache-2.0 */
/* Empty table for architectures without loops; facts that need loops are not measured. */
#include "measure.h"

const struct uk_micro uk_micros[] = {{0}};
