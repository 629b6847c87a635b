/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a program in one configuration (a target, threads, machine code or the interpreter on scheduled loops)
 * and compares the result with the interpreter's of its statements. Tests draw programs, steps and sizes;
 * failures are printed here.
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
    /* With .interpret, loops run in the interpreter, which knows kernels by their declarations, fills the
     * workspace with NaN and reports races between a GPU's threads. */
    struct uk_options options;
    struct uk_module *module;
    struct uk_function *loops; /* set by run_loops() */
    struct uk_text *report;    /* the report of uk_lower(); NULL: not wanted */
    void *workspace;           /* NULL unless the workspace is an argument */
    void *device;              /* for `call` */
    /* Calls the module, for instance through a GPU's memory; NULL: uk_module_call(). */
    int (*call)(const struct run *r, const int64_t *sizes, struct random_data *d);
    const char *repeat_arguments; /* for messages: arguments that repeat this run */
    bool is_quiet;                /* prints nothing */
    int wrong;                    /* number of wrong calls, unless is_quiet */
};

/* Parses the text, followed by the schedule `steps` unless that is NULL. Fails the test if it is refused. */
struct uk_program *run_parse(struct uk_context *c, const char *name, const char *text, const char *steps);
/* Lowers the program by the options; also returns the report and the applied steps, if wanted. */
enum uk_status run_lower(struct uk_program *p, const struct uk_options *o, struct uk_text *report,
                         struct uk_text *steps, struct uk_function **f);
/* True if the steps give the same loops. */
bool run_gives_loops(struct uk_program *p, const struct uk_options *o, const char *steps,
                     const struct uk_function *f);
/* True if this CPU runs code for the x86-64 target; NULL: true. */
bool run_is_possible(const char *target);

/* Calls uk_compile() with the options. */
enum uk_status run_compile(struct run *r);
/* run_compile() in two parts, so that tests can inspect or change the loops between: a module that interprets
 * r->loops, then one of their machine code. */
enum uk_status run_loops(struct run *r, struct uk_text *steps);
enum uk_status run_code(struct run *r);
void run_end(struct run *r); /* destroys the module and the program */
/* Calls the module once on the data; d->got receives the results. Returns the status. */
int run_call(const struct run *r, struct random_data *d);
/* Calls the module; true if status and elements equal the interpreter's, or, if the call was refused, nothing
 * was written. */
bool run_is_right(struct run *r, struct random_data *d);
/* Prints a failure with the program and the sizes, and counts it; d = NULL: it happened before any call. */
void run_complain(struct run *r, const struct random_data *d, const char *what);

/* ---- sizes ---- */

/* Makes sizes equal that the program assumes equal; true if any changed. */
bool run_assume(const struct uk_program *p, int64_t *size);
bool run_is_assumed(const struct uk_program *p, const int64_t *size);
/* True if the size occurs in a tensor's shape; others are strides and offsets. */
bool run_is_extent(const struct uk_program *p, const struct uk_var *size);

#endif
