/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks one schedule: its loops are interpreted on integer-valued data and compared exactly with the
 * program. The workspace and the elements between a tensor's rows start as NaN. Parallel loops run forwards
 * and backwards, and no two of their iterations may store to the same element.
 */
#ifndef SCHEDULE_CHECK_H
#define SCHEDULE_CHECK_H

#include <stdbool.h>
#include <stdint.h>
#include "random_steps.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

enum shape { MATMUL, MATMUL_BATCH, ADD, ADD_ROWS, SHAPES };

/* A program: C = A * B, a batch of 3 such products, or sums of vectors or matrices. */
struct kind {
    enum shape shape;
    bool a_transposed, b_transposed, accumulate, strided, swapped;
    int64_t fixed[3]; /* M, N, K as constants; 0: a size */
};

/* Number of the sizes M, N, K to run with; in each of the first three, one is 0. */
enum { CHECK_SIZES = 20 };

/* Number of wrong results so far. */
extern int check_wrong;
/* Calls on a GPU that its simulator does not support. They count as right; a test should have few. */
extern int check_unsimulated;
/* Neither prints nor counts wrong results. */
extern bool check_quiet;
/* The program name and options that repeat the random schedules, for messages. */
extern const char *check_again;
/* Also runs machine code; the target must be one that this machine runs. */
extern bool check_compile;

/* Applies the steps (a text; "": an automatic schedule) and checks the result for n sizes, by number. Prints
 * what is wrong; the reason of a refusal is in the context. */
enum outcome check_schedule(struct uk_context *c, const struct kind *k, const char *target, int threads,
                            const char *steps, const int *sizes, int n);

#endif
