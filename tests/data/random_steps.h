/* SPDX-License-Identifier: Apache-2.0 */
/* Random schedule steps for a random program, from a table with one function per kind; and application of
 * steps, omitting those that are refused. */
#ifndef RANDOM_STEPS_H
#define RANDOM_STEPS_H

#include "random_program.h"

enum { RANDOM_STEPS = 48, RANDOM_STEP_TEXT = 160 };

struct random_steps {
    uint64_t x;
    struct random_program *program;
    int steps, names;
    int kind[RANDOM_STEPS]; /* 1-based index in the table, for the report; 0: not from the table */
    char step[RANDOM_STEPS][RANDOM_STEP_TEXT];
};

/* Draws steps for the program; the caller frees them with free(). NULL: out of memory. */
struct random_steps *random_steps_make(struct random_program *r);

enum outcome { RIGHT, REFUSED, WRONG };
/* Schedules a program by the text and checks its result. REFUSED: the context has the reason, with a line of
 * the text. */
typedef enum outcome random_steps_try(void *user, const char *text, bool quiet);
/* Tries the steps; refused ones are removed from r and counted in *refused. If the result is wrong, a minimal
 * list of steps is tried again, not quietly. REFUSED: the program was refused regardless of steps. */
enum outcome random_steps_apply(struct random_steps *r, const struct uk_context *c, random_steps_try *try,
                                void *user, int *refused);
/* Prints the number of steps of each kind, and of refused ones. */
void random_steps_report(void);

#endif
