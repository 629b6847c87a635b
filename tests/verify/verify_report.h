/* SPDX-License-Identifier: Apache-2.0 */
/* What uk_verify says of programs' kernels. */
#ifndef VERIFY_REPORT_H
#define VERIFY_REPORT_H

#include "tensorize.h"

/* The program of the text; fails the test if there is none. */
struct uk_program *parse(struct uk_context *c, const char *text);
/* The report of a program; fails the test if the status is another. */
char *report_of(struct uk_context *c, const char *text, const struct uk_verify_options *options,
                enum uk_status expected);
/* Fails the test unless the line of the report that begins so contains that. */
void expect_line(const char *report, const char *begin, const char *contains);

#endif
