/* SPDX-License-Identifier: Apache-2.0 */
/* RISC-V P 0.9.11 in C: <ukernels/rvp.h>, for kernels that are imported too. */
#include "registry/rvp.h"
