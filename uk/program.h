/* SPDX-License-Identifier: Apache-2.0 */
/* The program of run, compile, explain and tune, with its context and options. */
#ifndef UK_PROGRAM_H
#define UK_PROGRAM_H

#include "uk.h"
#include "base/base.h"
#include "language/language.h"

struct uk_job {
    struct uk_context *context;
    struct uk_program *program;
    struct uk_options options;
    char *text, *steps; /* contents of the program's file and of --schedule's; NULL: not read, or not given */
    size_t length, steps_length;
    double parse_time; /* seconds to parse the text */
};

/* Creates the context and options, then reads the program, its schedule and its constants. Exit status; call
 * uk_job_end() in any case. */
int uk_job_begin(struct uk_job *job, const struct uk_arguments *a);
/* Like uk_job_begin(), but only creates the context and the options. */
int uk_job_prepare(struct uk_job *job, const struct uk_arguments *a);
void uk_job_end(struct uk_job *job);
/* Like uk_job_begin(), in the job's existing context. */
int uk_job_load(struct uk_job *job, const struct uk_arguments *a);
/* Like uk_job_begin(), in the job's context and from the texts it has already read. */
int uk_job_parse(struct uk_job *job, const struct uk_arguments *a);
/* Prints the context's message and returns the exit status that corresponds to this library status. */
int uk_job_failed(const struct uk_job *job, enum uk_status status);
/* Prints the notes and warnings of the last call on the context. */
void uk_job_notes(const struct uk_job *job);

#endif
