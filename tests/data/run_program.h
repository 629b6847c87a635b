/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program in one way to run it - a target, threads, machine code or the interpreter on the scheduled loops
 * - compared with what the interpreter makes of its statements. A test draws programs, steps and sizes; what
 * goes wrong is printed here.
 */
#ifndef RUN_PROGRAM_H
#define RUN_PROGRAM_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "random_data.h"

struct run {
    struct uk_context *context;
    struct uk_program *program;
    /* .interpret: the loops run in the interpreter, which knows kernels by their declarations, starts the
     * workspace as NaN and reports races between a GPU's threads. */
    struct uk_options options;
    struct uk_module *module;
    struct uk_function *loops; /* of run_loops() */
    struct uk_text *report;    /* what uk_lower() reports, if wanted */
    void *workspace;           /* if that is an argument */
    /* How the module is called, if not by uk_module_call(): a GPU's through its memory. */
    int (*call)(const struct run *r, const int64_t *sizes, struct random_data *d);
    const char *again; /* for messages: the arguments that repeat this run */
    bool quiet;        /* print nothing */
    int wrong;         /* calls that were wrong, counted unless quiet */
};

/* Parses the text; a schedule of its own follows where `steps` is not NULL. What is refused ends the test. */
struct uk_program *run_parse(struct uk_context *c, const char *name, const char *text, const char *steps);
/* The loops that the options give; the report and the steps that were applied, if wanted. */
enum uk_status run_lower(struct uk_program *p, const struct uk_options *o, struct uk_text *report,
                         struct uk_text *steps, struct uk_function **f);
/* Do these steps give the same loops? */
bool run_gives_loops(struct uk_program *p, const struct uk_options *o, const char *steps,
                     const struct uk_function *f);
/* Whether this CPU runs code for that x86-64 target; NULL: it does. */
bool run_is_possible(const char *target);

/* uk_compile() by the options. */
enum uk_status run_compile(struct run *r);
/* The same in two parts, for loops that are looked at or changed between calls: a module that interprets
 * r->loops, and then one that is their machine code. */
enum uk_status run_loops(struct run *r, struct uk_text *steps);
enum uk_status run_code(struct run *r);
void run_end(struct run *r); /* destroys the module and the program */
/* One call on the data, whose `got` then holds the result; its status. */
int run_call(const struct run *r, struct random_data *d);
/* The same: is its status the interpreter's, and each element; or, where it is refused, nothing written? */
bool run_is_right(struct run *r, struct random_data *d);
/* Prints what is wrong, with the program and the sizes, and counts it; d: NULL: before any call. */
void run_complain(struct run *r, const struct random_data *d, const char *what);

/* ---- sizes ---- */

/* Makes each size that the program assumes to be equal to something so; whether that changed any. */
bool run_assume(const struct uk_program *p, int64_t *size);
bool run_is_assumed(const struct uk_program *p, const int64_t *size);
/* Is the size in a tensor's shape? Others are strides and offsets. */
bool run_is_extent(const struct uk_program *p, const struct uk_var *size);

#endif
