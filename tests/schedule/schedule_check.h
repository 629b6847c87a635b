/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One schedule, checked: the loops that come of it are interpreted on integer-valued data and compared
 * exactly with the program as it is written. The workspace starts as NaN, and so does what a tensor's strides
 * leave between its rows. Parallel loops are run forwards and backwards, and no two of their iterations may
 * store to one element.
 */
#ifndef SCHEDULE_CHECK_H
#define SCHEDULE_CHECK_H

#include <stdbool.h>
#include <stdint.h>
#include "random_steps.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

enum shape { MATMUL, MATMUL_BATCH, ADD, ADD_ROWS, SHAPES };

/* A program: C = A * B, for 3 of them, A + B of vectors or of matrices. */
struct kind {
    enum shape shape;
    bool a_transposed, b_transposed, accumulate, strided, swapped;
    int64_t fixed[3]; /* M, N, K as constants; 0: a size */
};

/* M, N, K to run with; the first three have an empty one. */
enum { CHECK_SIZES = 20 };

struct uk_context;
/* What the checks use; made and destroyed by the caller. */
extern struct uk_context *check_context;
/* Of this test so far. */
extern int check_wrong;
/* Calls on a GPU that its simulator cannot do: they count as right, and a test has few of them. */
extern int check_unsimulated;
/* Print nothing and count nothing. */
extern bool check_quiet;
/* For messages: how the random schedules are repeated. */
extern const char *check_again;
/* Run the machine code too; the target must be one that this machine runs. */
extern bool check_compile;

/* Applies the steps (text, or "" for a schedule that the compiler chooses) and checks the result for some
 * sizes, by their numbers. What is wrong is printed; a refusal's reason is in the context. */
enum outcome check_schedule(const struct kind *k, const char *target, int threads, const char *steps,
                            const int *sizes, int n);

#endif
