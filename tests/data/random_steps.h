/* SPDX-License-Identifier: Apache-2.0 */
/* Random steps for a random program: a table of kinds, of which each is one function. */
#ifndef RANDOM_STEPS_H
#define RANDOM_STEPS_H

#include "random_program.h"

enum { RANDOM_STEPS = 16, RANDOM_STEP_TEXT = 160 };

struct random_steps {
    uint64_t x;
    struct random_program *program;
    int steps, names;
    int kind[RANDOM_STEPS]; /* of the table, for the report */
    char step[RANDOM_STEPS][RANDOM_STEP_TEXT];
};

/* Steps for r; free() them. NULL: no memory. */
struct random_steps *random_steps_make(struct random_program *r);
/* Removes step i: because it is refused (which is counted), or to see whether it is needed. */
void random_steps_leave_out(struct random_steps *r, int i, bool refused);
/* Prints how many steps of each kind were made, and how many of them refused. */
void random_steps_report(void);

#endif
