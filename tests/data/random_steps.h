/* SPDX-License-Identifier: Apache-2.0 */
/* Random steps for a random program: a table of kinds, of which each is one function. And drawn steps, of
 * these or others, applied without those that are refused. */
#ifndef RANDOM_STEPS_H
#define RANDOM_STEPS_H

#include "random_program.h"

enum { RANDOM_STEPS = 48, RANDOM_STEP_TEXT = 160 };

struct random_steps {
    uint64_t x;
    struct random_program *program;
    int steps, names;
    int kind[RANDOM_STEPS]; /* 1-based in the table, for the report; 0: not of it */
    char step[RANDOM_STEPS][RANDOM_STEP_TEXT];
};

/* Steps for r; free() them. NULL: no memory. */
struct random_steps *random_steps_make(struct random_program *r);

enum outcome { RIGHT, REFUSED, WRONG };
/* Schedules a program by the text, and checks the result; refused: the reason is in the context, with the
 * line of the text. */
typedef enum outcome random_steps_try(void *user, const char *text, bool quiet);
/* Tries the steps without those that are refused, which leave r and are counted in *refused. The fewest steps
 * that still go wrong are tried once more, not quietly. REFUSED: no step is to blame. */
enum outcome random_steps_apply(struct random_steps *r, const struct uk_context *c, random_steps_try *try,
                                void *user, int *refused);
/* Prints how many steps of each kind were made, and how many of them refused. */
void random_steps_report(void);

#endif
