/* SPDX-License-Identifier: Apache-2.0 */
/* The sums of UK_OP_sgemm_runs. A kernel's source has a loop over runs around its loop over k if it is
 * compiled for that operation, and the sums stay in registers. */
#ifndef UK_ASM_RUNS_H
#define UK_ASM_RUNS_H

#include <stdint.h>

struct runs {
    int64_t runs, terms; /* terms: k of each run */
    int64_t a_on, b_on;  /* bytes from the end of a run of a row, and of its panel, to the next */
    int64_t next;        /* the address that is prefetched from, and the bytes from the end of a run to */
    int64_t next_on;     /* the next: 64 are prefetched for each term */
};

#endif
