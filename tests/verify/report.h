/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of uk_verify on programs' kernels. */
#ifndef VERIFY_REPORT_H
#define VERIFY_REPORT_H

#include "tensorize.h"

/* Parses the text; fails the test if it is refused. */
struct uk_program *parse(struct uk_context *c, const char *text);
/* Returns the report on a program; fails the test if the status is another one. */
char *report_of(struct uk_context *c, const char *text, const struct uk_verify_options *options,
                enum uk_status expected);
/* Fails the test unless the report's line that begins with `begin` contains `contains`. */
void expect_line(const char *report, const char *begin, const char *contains);

#endif
