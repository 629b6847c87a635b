/* SPDX-License-Identifier: Apache-2.0 */
/* The sums of UK_OP_sgemm_runs. A kernel's source has a loop over runs around its loop over k if it is
 * compiled for that operation, and the sums stay in registers. */
#ifndef UK_ASM_RUNS_H
#define UK_ASM_RUNS_H

#include <stdint.h>

struct runs {
    int64_t runs, terms; /* terms: k of each run */
    int64_t a_on, b_on;  /* bytes from the end of a run of a row, and of its panel, to the next */
};

#endif
